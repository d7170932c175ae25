"""``motionloom act``: turn a written script into a motion."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from motionloom.cli.command import Argument, Option
from motionloom.cli.options import JSON, LIB, open_library, writes
from motionloom.cli.terminal import print_json, print_quality, progress, remark
from motionloom.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterable

    from motionloom.library import PlannedPhrase


def act(
    library: Annotated[Path, LIB],
    script: Annotated[str, Argument("Phrases, such as 'walk 3 s, sit down'.", metavar="SCRIPT")],
    output: Annotated[
        Path | None,
        Option(
            "Output file, in any writable format.",
            "-o --output",
            metavar="FILE",
            check=writes("motion"),
        ),
    ] = None,
    plan: Annotated[
        bool, Option("Print the segments that would be used, without writing a motion.", "--plan")
    ] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Turn a written script into a motion: find each phrase in the library and join the segments.

    Phrases can contain durations (3 s), repetitions (twice) and simultaneous actions (wave while
    walking). A phrase can also be a segment, take:30-90, so that you can edit a printed plan and
    use it as a script.
    """
    if output is None and not plan:
        raise InvalidInput("name the output file with -o FILE, or use --plan")
    lib = open_library(library)
    with progress("describing", len(lib), quiet=json) as advance:
        lib.captions.describe(progress=advance)
    if plan or output is None:
        rows = lib.act(script).plan
        print_json([_row(each) for each in rows]) if json else _print_plan(rows)
        return
    acted = lib.act(script)
    acted.motion.save(output)
    quality = acted.motion.quality
    if json:
        print_json(
            {
                "file": str(output),
                "frames": len(acted.motion),
                "fps": acted.motion.fps,
                "quality": quality.to_json() if quality is not None else None,
                "sources": [source.as_dict() for source in acted.motion.sources],
                "plan": [_row(each) for each in acted.plan],
            }
        )
        return
    _print_plan(acted.plan)
    print_quality(quality)
    remark(f"{acted.motion.duration:.1f} s written to {output}")


def _row(each: PlannedPhrase) -> dict:
    return {"segment": str(each), **asdict(each)}


def _print_plan(rows: Iterable[PlannedPhrase]) -> None:
    for each in rows:
        print(f"{each.phrase}  {each}  {each.text}  (seam {each.seam:.2f})")
