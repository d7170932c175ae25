"""``motionloom match``: responsive characters driven by motion matching."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from motionloom.cli.command import Argument, Fields, Option
from motionloom.cli.options import INSPECT, JSON, LIB, listed, open_library, writes
from motionloom.cli.terminal import (
    counted,
    draw_worst,
    print_json,
    print_quality,
    print_table,
    remark,
)
from motionloom.errors import InvalidInput
from motionloom.formats.settings import GameSettings
from motionloom.motion_matching.settings import MatchingSettings, MatchingWalkSettings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from motionloom.library import Library, MatchingDatabase
    from motionloom.motion import Motion

_ACTIONS = ("build", "walk", "courses", "coverage", "export", "fill")
_ORANGEDUCK_FPS = 60.0


def match(
    library: Annotated[Path, LIB],
    action: Annotated[str, Argument(", ".join(_ACTIONS) + ".", metavar="ACTION")],
    settings: MatchingSettings,
    walk: Annotated[MatchingWalkSettings, Fields(hide=("dynamics",))],
    game: Annotated[GameSettings, Fields(hide=("mesh", "max_error", "separate", "mirrored"))],
    file: Annotated[
        Path | None, Argument("fill: motion with frames to replace.", metavar="FILE")
    ] = None,
    gap: Annotated[
        list[str] | None,
        Option("fill: frames to replace; may be repeated.", metavar="FIRST-LAST", expert=True),
    ] = None,
    pose: Annotated[
        list[str] | None,
        Option(
            "fill: pose from a file or take, and its time in seconds; used instead of FILE. "
            "May be repeated.",
            metavar="FILE[:FRAME]@SECOND",
            expert=True,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        Option(
            "Output. walk, fill: a motion file; coverage: .html; export: a folder.",
            "-o --output",
            metavar="PATH",
        ),
    ] = None,
    course: Annotated[
        str | None,
        Option("courses: run only these steering courses.", metavar="NAME,...", expert=True),
    ] = None,
    to: Annotated[
        str,
        Option(
            "export: web, godot, unity, unreal, glb, fbx or orangeduck.",
            "--to",
            metavar="ENGINE",
        ),
    ] = "glb",
    prune: Annotated[
        bool, Option("Exclude takes that motion matching would never play.", expert=True)
    ] = False,
    inspect: Annotated[Path | None, INSPECT] = None,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Drive a responsive character by motion matching on a library's takes.

    `build` builds the database, `walk` follows a direction or a path, `export` writes files for
    engines, and `coverage` writes a report on the speeds and turns that the takes cover.

    The database is stored in the library; the other actions build it if necessary. `courses`
    measures how well the character follows steering courses: a circle, a figure eight, a zigzag,
    stops, a sprint, turns. `fill` replaces frames of a file (--gap) with motion that connects the
    frames before and after, or synthesizes a motion through several poses (--pose).
    """
    from motionloom.library import check_format, course_path

    if action not in _ACTIONS:
        raise InvalidInput(f"action must be one of {', '.join(_ACTIONS)}; got {action!r}")
    if (action == "fill") != (file is not None or bool(pose)) or (file and pose):
        raise InvalidInput(
            "match fill needs a FILE and --gap, or at least two --pose options; other actions do "
            "not accept these"
        )
    if action in ("walk", "fill"):
        if output is None:
            raise InvalidInput(f"match {action} needs -o FILE")
        writes("motion")(output)
    if action == "coverage" and (output is None or output.suffix.lower() != ".html"):
        raise InvalidInput("match coverage needs -o FILE.html")
    if action == "export":
        if output is None:
            raise InvalidInput("match export needs -o FOLDER")
        check_format(output, to)
        if to == "orangeduck" and settings.fps is None:
            settings = replace(settings, fps=_ORANGEDUCK_FPS)
    courses = listed(course)
    for name in courses or ():
        course_path(name)  # raises if there is no such course
    lib = open_library(library)
    keys = [_pose(lib, text) for text in pose or ()]
    filled = None if file is None else _gaps(file, gap or [])
    database = lib.motion_matching(settings)
    if prune and (spare := database.coverage().spare):
        remark(f"excluded, because they are never played: {', '.join(spare)}")
        kept = tuple(name for name in database.takes if name not in spare)
        database = lib.motion_matching(settings, only=kept, exclude=None)
    if action == "build":
        _print_info(database, json)
    elif action == "walk" and output is not None:
        _walk(database, walk, output, inspect, json)
    elif action == "fill" and output is not None:
        made = database.fill_gaps(*filled) if filled else database.through_poses(keys)
        _write_filled(made, output, json)
    elif action == "courses":
        _courses(database, courses, json)
    elif action == "coverage" and output is not None:
        _coverage(database, output, json)
    elif action == "export" and output is not None:
        report = database.export(output, to, game, beats=lib.beats.events(database.takes))
        if json:
            print_json({**database.info(), **report.to_json()})
            return
        remark(report.sentence())
        remark(f"{counted(len(report.files), 'file')} written to {output}")


def _print_info(database: MatchingDatabase, json: bool) -> None:
    info = database.info()
    if json:
        print_json(info)
        return
    slow, fast = database.speed_range
    print(
        f"{counted(info['takes'], 'take')}, {counted(len(database), 'frame')} at "
        f"{database.fps:g} fps in {counted(info['ranges'], 'range')}; "
        f"{info['features']} features; speeds {slow:.2f} to {fast:.2f} m/s"
    )
    times = [f"{name} {frames / database.fps:.1f} s" for name, frames in info["tags"].items()]
    print(f"tags: {', '.join(times) or 'none'}")
    if info["made"]:
        remark(
            "no take shows a person standing still; standing, starting and stopping are "
            "synthesized from steps"
        )
    for name, why in info["skipped"].items():
        remark(f"excluded {name}: {why}")


def _walk(
    database: MatchingDatabase,
    settings: MatchingWalkSettings,
    output: Path,
    inspect: Path | None,
    json: bool,
) -> None:
    walk = database.walk(settings)
    walk.save(output)
    draw_worst([walk], inspect)
    if json:
        quality = None if walk.quality is None else walk.quality.to_json()
        sources = [source.as_dict() for source in walk.sources]
        figures = {"frames": len(walk), "fps": walk.fps}
        print_json({"file": str(output), **figures, "quality": quality, "sources": sources})
        return
    remark(f"{len(walk)} frames at {walk.fps:g} fps written to {output}")
    print_quality(walk.quality, seed=False)


def _courses(database: MatchingDatabase, names: list[str] | None, json: bool) -> None:
    rows = [result.to_dict() for result in database.courses(names)]
    if json:
        print_json({"courses": rows})
        return
    from rich.table import Table

    table = Table()
    heads = ("course", "seconds", "path error", "response", "feet slide", "worst seam", "jumps")
    for number, head in enumerate(heads):
        table.add_column(head, justify="right" if number else "left")
    for row in rows:
        off, half = row["path_error_m"], row["response_s"]
        slide, seam = row["foot_slide_m"], row["seam_acceleration_ratio"]
        table.add_row(
            row["course"] if row["finished"] else f"{row['course']} (not finished)",
            f"{row['seconds']:.1f}",
            "" if off is None else f"{100.0 * off:.1f} cm",
            "" if half is None else f"{half:.2f} s",
            "" if slide is None else f"{100.0 * slide:.1f} cm",
            "" if seam is None else f"{seam:.2f}",
            str(row["jumps"]),
        )
    print_table(table)


def _coverage(database: MatchingDatabase, output: Path, json: bool) -> None:
    from motionloom.plots.matching_coverage import write_coverage

    report = database.coverage()
    write_coverage(report, output)
    if json:
        print_json({"file": str(output), **report.to_dict()})
        return
    for line in report.sentences():
        print(line)
    remark(f"report written to {output}")


def _gaps(file: Path, gaps: list[str]) -> tuple[Motion, NDArray[np.bool_]]:
    """Return a motion and a mask of its frames to keep."""
    import numpy as np

    from motionloom.formats import load

    motion = load(file)
    kept = np.ones(len(motion), bool)
    for text in gaps:
        first, last = _gap(text, len(motion))
        kept[first : last + 1] = False
    if kept.all():
        raise InvalidInput("match fill needs --gap FIRST-LAST, the frames to replace")
    return motion, kept


def _pose(lib: Library, text: str) -> tuple[float, Motion]:
    """Parse ``FILE[:FRAME]@SECOND`` into a time and a motion of one frame."""
    from motionloom.formats import load

    place, at, second = text.rpartition("@")
    name, colon, frame = place.rpartition(":")
    name, frame = (name, frame) if colon and frame.isdigit() else (place, "0")
    try:
        time = float(second)
    except ValueError:
        time = float("nan")
    if not at or not name or not isfinite(time):
        raise InvalidInput(f"--pose must be FILE[:FRAME]@SECOND; got {text}")
    motion = load(name) if Path(name).exists() else lib[name]
    if int(frame) >= len(motion):
        raise InvalidInput(f"{name} has frames 0 to {len(motion) - 1}; got {frame}")
    return time, motion[int(frame) : int(frame) + 1]


def _write_filled(filled: Motion, output: Path, json: bool) -> None:
    filled.save(output)
    sources = [source.as_dict() for source in filled.sources]
    if json:
        print_json({"file": str(output), "frames": len(filled), "sources": sources})
        return
    for source in filled.sources:
        remark(
            f"frames {source.start} to {source.end - 1}: frames {source.start_frame:g} to "
            f"{source.end_frame - 1:g} of {source.motion}"
        )
    remark(f"{len(filled)} frames written to {output}")


def _gap(text: str, frames: int) -> tuple[int, int]:
    """Parse ``FIRST-LAST`` into the first and last frame."""
    first, dash, last = text.partition("-")
    if not (dash and first.isdigit() and last.isdigit() and int(first) <= int(last) < frames):
        raise InvalidInput(f"--gap must be FIRST-LAST, frames 0 to {frames - 1}; got {text}")
    return int(first), int(last)
