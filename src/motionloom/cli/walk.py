"""``motionloom walk``: new motion from a library's motion graph."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from motionloom.cli.graph import (
    BLEND,
    DISTANCE,
    METHOD,
    PER_MINUTE,
    THRESHOLD,
    chosen_graph,
    graph_settings,
)
from motionloom.cli.options import JSON, LIB, ONLY, WITHIN, WITHOUT, open_library
from motionloom.cli.terminal import print_json, progress, remark
from motionloom.errors import InvalidInput, MotionFormatError

if TYPE_CHECKING:
    from motionloom.motion_graph import MotionGraph


def walk(
    library: Annotated[Path, LIB],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Any format that can be written; .bvh streams.")
    ],
    seconds: Annotated[float | None, typer.Option(help="How long.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Another seed makes another walk.")] = 0,
    path: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Walk along x, z rows of a CSV file.")
    ] = None,
    goal: Annotated[
        str | None, typer.Option(metavar="X,Z[,DEGREES]", help="Where to be at the end.")
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(metavar="LABEL[:SECONDS]", help="What to do, one after the other."),
    ] = None,
    start: Annotated[str | None, typer.Option(metavar="NAME:FRAME", help="First pose.")] = None,
    end: Annotated[str | None, typer.Option(metavar="NAME:FRAME", help="Last pose.")] = None,
    log: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the transitions played, as CSV."),
    ] = None,
    distance: Annotated[str | None, DISTANCE] = None,
    method: Annotated[str | None, METHOD] = None,
    threshold: Annotated[float | None, THRESHOLD] = None,
    per_minute: Annotated[float | None, PER_MINUTE] = None,
    blend: Annotated[float | None, BLEND] = None,
    within: Annotated[list[str] | None, WITHIN] = None,
    only: Annotated[str | None, ONLY] = None,
    without: Annotated[str | None, WITHOUT] = None,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Make new motion from a library's motion graph.

    At random, or along a path, to a place, as labels say, from pose to pose. Without options
    of the graph it is the one built last.
    """
    from motionloom.formats import writer_options

    writer_options(output)  # this and what follows complain before the work
    if seconds is not None and not 0.0 < seconds < float("inf"):
        raise InvalidInput(f"--seconds must be more than nothing; got {seconds:g}")
    wishes = {
        "start": start,
        "end": end,
        "path": None if path is None else _path(path),
        "goal": None if goal is None else _goal(goal),
        "labels": _timeline(label, seconds),
    }
    free = not any(wishes[name] is not None for name in ("end", "path", "goal", "labels"))
    if free and seconds is None:
        raise InvalidInput("say how long: --seconds 60")
    lib = open_library(library)
    settings = graph_settings(
        lib,
        distance=distance,
        method=method,
        threshold=threshold,
        per_minute=per_minute,
        blend=blend,
        within=within,
        only=only,
        without=without,
    )
    made = chosen_graph(lib, settings)
    result = _walked(made, seconds, seed, wishes, output, log, free, quiet=json)
    if json:
        print_json(result)
        return
    quality = result["quality"]
    remark(f"{result['frames']} frames at {result['fps']:g} fps written to {output}")
    remark(
        f"feet slide {100 * quality['foot_slide_m']:.1f} cm per contact; "
        f"{result['transitions']} transitions"
    )


def _walked(
    made: MotionGraph,
    seconds: float | None,
    seed: int,
    wishes: dict[str, Any],
    output: Path,
    log: Path | None,
    free: bool,
    *,
    quiet: bool,
) -> dict[str, Any]:
    """Play the walk into its file; what ``--json`` prints of it."""
    from motionloom.blending.player import frame_count
    from motionloom.motion_graph.player import GraphPlayer, write_walk
    from motionloom.motion_graph.routes import plan

    if free:
        player = made.player(seed, start=wishes["start"])
        frames = frame_count(seconds, None, made.fps)
    else:
        route = plan(made, seconds, seed, **wishes)
        player, frames = GraphPlayer(made, seed, route=route), route.frames
    if output.suffix.lower() == ".bvh":
        with progress("walking", frames, quiet=quiet) as advance:
            written = write_walk(player, output, frames, progress=advance)
        quality, sources = written.quality, written.sources
    else:
        motion = player.record(frames=frames, name=output.stem)
        motion.save(output)
        quality = made.quality(motion)
        sources = motion.sources
    if log is not None:
        _write_log(player.log, log)
    return {
        "file": str(output),
        "frames": frames,
        "fps": made.fps,
        "quality": quality.to_json(),
        "sources": [source.as_dict() for source in sources],
        "transitions": int(player.transition_count),
    }


def _write_log(rows, path: Path) -> None:
    from motionloom.atomic_write import atomic_write

    with atomic_write(path) as scratch, scratch.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["frame", "source", "source_frame", "target", "target_frame", "error"])
        out.writerows(row.as_dict().values() for row in rows)


def _path(file: Path) -> list[tuple[float, float]]:
    """Rows of x and z; a head line and further columns are passed over."""
    rows: list[tuple[float, float]] = []
    with file.open(newline="", encoding="utf-8") as lines:
        for number, row in enumerate(csv.reader(lines), start=1):
            if not row:
                continue
            try:
                rows.append((float(row[0]), float(row[1])))
            except (ValueError, IndexError):
                if number == 1:
                    continue
                raise MotionFormatError(
                    f"expected x, z in metres; got {','.join(row)[:40]!r}", path=file, line=number
                ) from None
    return rows


def _goal(text: str) -> tuple[float, ...]:
    from math import radians

    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if len(values) not in (2, 3):
        raise InvalidInput(f"--goal must be X,Z or X,Z,DEGREES; got {text}")
    return (values[0], values[1], *(radians(value) for value in values[2:]))


def _timeline(texts: list[str] | None, seconds: float | None) -> list[tuple[str, float]] | None:
    if not texts:
        return None
    found = []
    for text in texts:
        name, colon, length = text.rpartition(":")
        if not colon:
            if len(texts) > 1 or seconds is None:
                raise InvalidInput(f"--label must be LABEL:SECONDS; got {text}")
            name, length = text, str(seconds)
        try:
            found.append((name, float(length.removesuffix("s"))))
        except ValueError:
            raise InvalidInput(f"--label must be LABEL:SECONDS; got {text}") from None
    return found
