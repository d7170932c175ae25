"""``motionloom walk``: walks through a motion graph."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from motionloom.cli.command import Fields, Option
from motionloom.cli.options import DETAILS, INSPECT, JSON, LIB, open_library, writes
from motionloom.cli.terminal import counted, draw_worst, print_json, print_quality, progress, remark
from motionloom.cli.walk.graph import built_graph, used_settings
from motionloom.errors import InvalidInput
from motionloom.motion_graph.settings import GraphSettings, WalkSettings
from motionloom.settings import PLANNED

# Most users rely on the graph that motionloom graph built, so its options are hidden.
_OF_GRAPHS = ("distance", "method", "max_distance", "per_minute", "transitions", "mirror")


def walk(
    library: Annotated[Path, LIB],
    settings: WalkSettings,
    graph: Annotated[dict[str, Any], GraphSettings, Fields(hide=_OF_GRAPHS)],
    output: Annotated[
        Path,
        Option(
            "Output file, in any writable format; .bvh is written as a stream.",
            "-o --output",
            metavar="FILE",
            check=writes("motion"),
        ),
    ],
    log: Annotated[
        Path | None,
        Option(
            "Write the transitions of the walk to a CSV file.", metavar="FILE", check=writes(".csv")
        ),
    ] = None,
    inspect: Annotated[Path | None, INSPECT] = None,
    details: Annotated[bool, DETAILS] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Synthesize a walk through a library's motion graph.

    The walk is random, follows a path, reaches a goal, follows a timeline of labels, or leads from
    one pose to another. Without graph options, it uses the most recently built graph.
    """
    from motionloom.formats import load
    from motionloom.library import named_frame

    if settings.random and settings.seconds is None:
        raise InvalidInput("a walk without a goal needs a duration, such as --seconds 60")
    if settings.goal is not None and settings.seconds is None:
        raise InvalidInput("a walk to a goal needs a duration, such as --seconds 8")
    lib = open_library(library)
    for place in (settings.start, settings.end):
        if place is not None:
            lib.store.entry(named_frame(place)[0])  # raises if the library has no such motion
    made = built_graph(lib, used_settings(lib, graph))
    with progress("planning", PLANNED, quiet=json) as advance:
        player, frames = made.walk_player(settings, progress=advance)
    with progress("walking", frames, quiet=json) as advance:
        report = player.save(output, frames, progress=advance)
    if log is not None:
        report.save_log(log)
    if inspect is not None:
        draw_worst([load(output).with_quality(report.quality)], inspect)
    if json:
        print_json(
            {
                "file": str(output),
                "frames": report.frames,
                "fps": made.fps,
                "quality": report.quality.to_json(),
                "sources": [source.as_dict() for source in report.sources],
                "transitions": report.transition_count,
            }
        )
        return
    transitions = counted(report.transition_count, "transition")
    remark(f"{report.frames} frames at {made.fps:g} fps, {transitions}, written to {output}")
    print_quality(report.quality, details=details)
