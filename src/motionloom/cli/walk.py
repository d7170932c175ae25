"""``motionloom walk``: new motion from a library's motion graph."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from motionloom.cli.graph import built_graph, used_settings
from motionloom.cli.options import JSON, LIB, open_library
from motionloom.cli.settings_options import settings_options
from motionloom.cli.terminal import print_json, progress, remark
from motionloom.errors import InvalidInput
from motionloom.library.settings import GraphSettings, WalkSettings


@settings_options
def walk(
    context: typer.Context,
    library: Annotated[Path, LIB],
    settings: WalkSettings,
    graph: GraphSettings,
    output: Annotated[
        Path,
        typer.Option("-o", "--output", help="In any format that can be written; .bvh streams."),
    ],
    log: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the transitions played, as CSV.")
    ] = None,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Synthesize a walk through a library's motion graph.

    At random, along a path, to a goal, by labels, or from pose to pose. Without options of the
    graph, the one built last is used.
    """
    from motionloom.formats import check_output

    check_output(output)  # before the work
    settings, graph = _with_old_timeline(settings, graph)
    if settings.random and settings.seconds is None:
        raise InvalidInput("a walk without a goal needs its duration: --seconds 60")
    lib = open_library(library)
    made = built_graph(lib, used_settings(lib, context, graph)[0])
    player, frames = made.walk_player(settings)
    with progress("walking", frames, quiet=json) as advance:
        report = player.save(output, frames, progress=advance)
    if log is not None:
        report.save_log(log)
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
    remark(f"{report.frames} frames at {made.fps:g} fps written to {output}")
    remark(
        f"feet slide {100 * report.quality.foot_slide_m:.1f} cm per contact; "
        f"{report.transition_count} transitions"
    )


def _with_old_timeline(
    settings: WalkSettings, graph: GraphSettings
) -> tuple[WalkSettings, GraphSettings]:
    """The settings where ``--label LABEL:SECONDS`` means ``--timeline``, as in release 0.1."""
    labels = [graph.label] if isinstance(graph.label, str) else list(graph.label or ())
    timeline = [label for label in labels if re.fullmatch(r".+:\d+(\.\d+)?", label)]
    if not timeline:
        return settings, graph
    chosen = tuple(label for label in labels if label not in timeline)
    return replace(settings, labels=tuple(timeline)), replace(graph, label=chosen or None)
