"""``motionloom fat-graph``: a walk steered by direction and speed."""

from __future__ import annotations

from math import degrees, radians
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from motionloom.cli.command import Fields, Option
from motionloom.cli.options import DETAILS, INSPECT, JSON, LIB, open_library, writes
from motionloom.cli.terminal import counted, draw_worst, print_json, print_quality, remark
from motionloom.errors import InvalidInput
from motionloom.fat_graph.settings import FatGraphSettings

if TYPE_CHECKING:
    from motionloom.library import FatGraph


def fat_graph(
    library: Annotated[Path, LIB],
    settings: Annotated[
        FatGraphSettings, Fields(hide=("radius", "features", "normalize", "k", "examples"))
    ],
    output: Annotated[
        Path | None,
        Option(
            "Write a walk to this file, in any writable format.",
            "-o --output",
            metavar="FILE",
            check=writes("motion"),
        ),
    ] = None,
    seconds: Annotated[float, Option("Duration of the walk (s).")] = 10.0,
    direction: Annotated[float, Option("Direction of travel, from +Z toward +X (degrees).")] = 0.0,
    speed: Annotated[float | None, Option("Speed (m/s). [any]")] = None,
    steer: Annotated[
        list[str] | None,
        Option(
            "Change direction, and optionally speed, at this time; may be repeated.",
            metavar="SECOND:DEGREES[:SPEED]",
        ),
    ] = None,
    inspect: Annotated[Path | None, INSPECT] = None,
    details: Annotated[bool, DETAILS] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Synthesize a walk steered by direction and speed, through a library's fat graph.

    Without -o, print a description of the graph: base poses, edges, and available speeds.
    """
    changes = [_change(text) for text in steer or ()]
    graph = open_library(library).fat_graph(settings)
    for name, why in graph.skipped.items():
        remark(f"excluded {name}: {why}")
    if output is None:
        _print_info(graph, json)
        return
    walk = graph.walk(seconds, direction=radians(direction), speed=speed, steering=changes)
    walk.save(output)
    draw_worst([walk], inspect)
    if json:
        quality = None if walk.quality is None else walk.quality.to_json()
        sources = [source.as_dict() for source in walk.sources]
        figures = {"frames": len(walk), "fps": walk.fps, "speeds_m_s": list(graph.speeds)}
        print_json({"file": str(output), **figures, "quality": quality, "sources": sources})
        return
    remark(f"{len(walk)} frames at {walk.fps:g} fps written to {output}")
    print_quality(walk.quality, details=details)


def _print_info(graph: FatGraph, json: bool) -> None:
    info = graph.info()
    if json:
        print_json(info)
        return
    print(
        f"{len(info['base_poses'])} base poses and {len(info['edges'])} fat edges from "
        f"{info['motions']} motions; speeds {graph.speeds[0]:.2f} to {graph.speeds[1]:.2f} m/s"
    )
    for edge in info["edges"]:
        (least, most), (slow, fast) = edge["turn"], edge["speed"]
        print(
            f"{edge['source']} to {edge['target']}: {counted(edge['clips'], 'clip')} of "
            f"{edge['seconds']:.2f} s, turn {degrees(least):+.0f} to {degrees(most):+.0f} degrees, "
            f"speed {slow:.2f} to {fast:.2f} m/s"
        )


def _change(text: str) -> tuple[float, float, float | None]:
    """Parse ``SECOND:DEGREES[:SPEED]`` into time, direction in radians, and speed."""
    parts = text.split(":")
    try:
        values = [float(part) for part in parts]
    except ValueError:
        values = []
    if len(values) not in (2, 3):
        raise InvalidInput(f"--steer must be SECOND:DEGREES or SECOND:DEGREES:SPEED; got {text}")
    return values[0], radians(values[1]), values[2] if len(values) == 3 else None
