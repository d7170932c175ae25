"""Arguments and options shared by several commands.

Most options come from settings classes, see `motionloom.cli.command`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, overload

from motionloom.cli.command import Argument, Option
from motionloom.cli.terminal import counted, progress, remark
from motionloom.errors import InvalidInput

if TYPE_CHECKING:
    from motionloom.library import Library, Match, TextMatch

LIB = Argument("The library.", metavar="LIB")
JSON = Option("Print JSON.")
WORKERS = Option("Number of processes. [one per core]", min=1, expert=True)

INSPECT = Option(
    "Draw the worst second of the motion (.png, .svg, .pdf).", metavar="FILE", expert=True
)

EXPORT = Option("Write each result, cut to its frames, to this folder.", metavar="DIR")
TO = Option("Format of exported clips: bvh, fbx, glb, ...", metavar="SUFFIX", expert=True)

DETAILS = Option("Print every figure of the quality report.", expert=True)

PICTURES = (".png", ".svg", ".pdf")


def open_library(path: Path) -> Library:
    """Open the library at a path. The import is local so that command help stays fast."""
    from motionloom.library import Library

    return Library(path)


def export_clips(
    library: Library,
    matches: Sequence[Match | TextMatch],
    folder: Path | None,
    suffix: str,
    *,
    quiet: bool,
) -> None:
    """Write each match to a file in `folder`, unless `folder` is None."""
    if folder is None:
        return
    with progress("exporting", len(matches), quiet=quiet) as advance:
        library.export(folder, matches, to=suffix, progress=advance)
    remark(f"{counted(len(matches), 'clip')} written to {folder}")


@overload
def listed(text: str) -> list[str]: ...
@overload
def listed(text: None) -> None: ...
def listed(text: str | None) -> list[str] | None:
    """Split ``NAME,NAME,...`` into a list of names; return None for None."""
    if text is None:
        return None
    return [name.strip() for name in text.split(",") if name.strip()]


def check_picture(path: Path) -> None:
    """Raise `InvalidInput` if the file name does not have the extension of a picture format."""
    if path.suffix.lower() not in PICTURES:
        suffixes = ", ".join(PICTURES)
        raise InvalidInput(f"cannot draw to {path}: the suffix must be one of {suffixes}")
