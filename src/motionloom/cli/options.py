"""Arguments and options shared by several commands.

Most options come from settings classes, see `motionloom.cli.command`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, overload

from motionloom.cli.command import Argument, Check, Option
from motionloom.cli.terminal import counted, progress, remark
from motionloom.errors import InvalidInput

if TYPE_CHECKING:
    from motionloom.library import Library, Match, TextMatch

PICTURES = (".png", ".svg", ".pdf")
PAGES = (".html", ".htm")


def writes(*suffixes: str, kind: str = "motion") -> Check:
    """Return a check for the name of an output file: its suffix, and what writing it needs.

    Parameters
    ----------
    *suffixes : str
        Allowed suffixes; ``"motion"`` stands for all motion formats.
    kind : {"motion", "scene"}
        Content to write, if the suffix is one of a motion format.

    Examples
    --------
    >>> writes(*PICTURES)(Path("walk.txt"))
    Traceback (most recent call last):
    motionloom.errors.InvalidInput: cannot draw to walk.txt: the suffix must be one of .png, ...
    """

    def check(path: Path) -> None:
        from motionloom.formats import FORMATS, check_output

        suffix = path.suffix.lower()
        is_motion = suffix in FORMATS and kind in FORMATS[suffix].writes
        if suffixes == ("motion",) or (is_motion and {"motion", suffix} & {*suffixes}):
            check_output(path, kind)
        elif suffix not in suffixes:
            formats = [each for each in FORMATS if kind in FORMATS[each].writes]
            names = [n for s in suffixes for n in (formats if s == "motion" else [s])]
            verb = "draw to" if {*suffixes} & {*PICTURES} else "write"
            raise InvalidInput(
                f"cannot {verb} {path}: the suffix must be {'one of ' * (len(names) > 1)}"
                f"{', '.join(names)}; "
                f"got {path.suffix!r}"
            )
        if suffix == ".mp4":
            from motionloom.plots.figures.animation import ffmpeg

            ffmpeg()
        if path.is_dir():
            raise InvalidInput(f"{path} is a folder; name a file")

    return check


def check_suffix(suffix: str, others: Sequence[str] = ()) -> None:
    """Raise an error if motions cannot be written with this suffix, given without its dot.

    The message also names `others`.
    """
    from motionloom.formats import check_output
    from motionloom.library.dataset import motion_suffix

    check_output(Path(f"clip.{motion_suffix(suffix, others)}"))


check_picture = writes(*PICTURES)

LIB = Argument("The library.", metavar="LIB")
JSON = Option("Print JSON.")
WORKERS = Option("Number of processes. [one per core]", min=1, expert=True)

INSPECT = Option(
    "Draw the worst second of the motion (.png, .svg, .pdf).",
    metavar="FILE",
    expert=True,
    check=check_picture,
)

EXPORT = Option("Write each result, cut to its frames, to this folder.", metavar="DIR")
TO = Option(
    "Format of exported clips: bvh, fbx, glb, ... [bvh]",
    metavar="SUFFIX",
    expert=True,
    check=check_suffix,
)

DETAILS = Option("Print every figure of the quality report.", expert=True)


def open_library(path: Path) -> Library:
    """Open the library at a path. The import is local so that command help stays fast."""
    from motionloom.library import Library

    return Library(path)


def check_export(folder: Path | None, suffix: str | None) -> None:
    """Raise `InvalidInput` if there is a format for exported clips, but no folder."""
    if folder is None and suffix is not None:
        raise InvalidInput(f"--to requires --export DIR, the folder for clips in {suffix}")


def export_clips(
    library: Library,
    matches: Sequence[Match | TextMatch],
    folder: Path | None,
    suffix: str | None,
    *,
    quiet: bool,
) -> None:
    """Write each match to a file in `folder`, unless `folder` is None."""
    if folder is None:
        return
    with progress("exporting", len(matches), quiet=quiet) as advance:
        library.export(folder, matches, to=suffix or "bvh", progress=advance)
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
