"""``motionloom show`` and ``motionloom sheet``: draw one motion, or a page of many motions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from click.exceptions import Exit

from motionloom.cli.arguments import is_library, motion_from, segment_from
from motionloom.cli.command import Argument, Option
from motionloom.cli.options import JSON, PAGES, PICTURES, writes
from motionloom.cli.terminal import print_json, progress, remark
from motionloom.errors import InvalidInput, MotionloomError
from motionloom.settings import MotionChoice, motion_choice

if TYPE_CHECKING:
    from motionloom.motion import Motion
    from motionloom.plots import SheetClip

_FILMS = (".gif", ".mp4")


def show(
    file: Annotated[
        str,
        Argument("File or LIB:NAME to draw; may end in :START-END.", metavar="FILE|LIB:NAME"),
    ],
    output: Annotated[
        Path | None,
        Option(
            "Output: .png, .svg, .pdf, .gif, .mp4 or .html (a player). [NAME.png]",
            "-o --output",
            metavar="FILE",
            check=writes(*PICTURES, *_FILMS, *PAGES),
        ),
    ] = None,
    gif: Annotated[bool, Option("Also write a GIF with the same name.", "--gif")] = False,
    mp4: Annotated[
        bool, Option("Also write an MP4 video with the same name (needs ffmpeg).", "--mp4")
    ] = False,
    frames: Annotated[int, Option("Number of figures in the strip.", min=1, max=200)] = 8,
    view: Annotated[
        str, Option("Camera: three-quarter, side, front, back or top.")
    ] = "three-quarter",
    layout: Annotated[
        str, Option("Layout: world (figures at their positions), stages (side by side) or auto.")
    ] = "auto",
    body: Annotated[bool, Option("Draw a body instead of a stick figure.", "--body")] = False,
    width: Annotated[int | None, Option("Width of --gif and --mp4, in pixels. [480, 720]")] = None,
    fps: Annotated[float | None, Option("Frames per second of --gif and --mp4. [20, 30]")] = None,
    seconds: Annotated[
        float | None, Option("Maximum length of --gif and --mp4, in seconds. [20, all]")
    ] = None,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Draw a motion as a film strip, an animated GIF, a video or a page that plays it."""
    if mp4:
        writes(*_FILMS)(Path("film.mp4"))
    motion, first = segment_from(file)
    target = output or Path(f"{_file_name(motion.name)}.png")
    targets = [target]
    if gif:
        targets.append(target.with_suffix(".gif"))
    if mp4:
        targets.append(target.with_suffix(".mp4"))
    targets = list(dict.fromkeys(targets))
    options = {"width": width, "fps": fps, "seconds": seconds}
    film = {key: value for key, value in options.items() if value is not None}
    target.parent.mkdir(parents=True, exist_ok=True)
    strip = {"frames": frames, "layout": layout, "first_frame": first}
    for path in targets:
        _draw(motion, path, strip, film, {"view": view, "body": body})
        if not json:
            print(path)
    if json:
        print_json({"files": [str(path) for path in targets]})


def _draw(
    motion: Motion, path: Path, strip: dict[str, Any], film: dict[str, Any], look: dict[str, Any]
) -> None:
    suffix = path.suffix.lower()
    if suffix in PICTURES:
        from motionloom.plots.figures.filmstrip import write_strip

        write_strip(motion, path, **look, **strip)
        return
    if suffix in PAGES:
        from motionloom.plots.pages.html_pages import write_player_page

        write_player_page(motion, path)
        return
    from motionloom.plots.figures.animation import GIF_SECONDS, write_gif, write_mp4

    write = write_gif if suffix == ".gif" else write_mp4
    write(motion, path, **look, **film)
    if suffix == ".gif" and "seconds" not in film and motion.duration > GIF_SECONDS:
        remark(
            f"{path} shows the first {GIF_SECONDS:g} of {motion.duration:.1f} s; "
            f"--seconds {motion.duration:.0f} draws all of it"
        )


def sheet(
    place: Annotated[Path, Argument("A library, or a folder of files.", metavar="LIB|FOLDER")],
    choice: MotionChoice,
    output: Annotated[
        Path,
        Option("Output page (.html).", "-o --output", metavar="FILE", check=writes(*PAGES)),
    ] = Path("sheet.html"),
    title: Annotated[str | None, Option("Heading of the page. [name of the input]")] = None,
    max_clips: Annotated[
        int | None, Option("Maximum number of motions.", "--max", metavar="N", min=1)
    ] = None,
    seconds: Annotated[
        float, Option("Maximum length of each animation, in seconds.", min=0.1)
    ] = 6.0,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Write a page with a small animated figure for every motion of a library or folder.

    The page is one file that works without a server or an internet connection. Files that cannot be
    read are listed at the end; the exit code is then 1.
    """
    from motionloom.plots.pages.html_pages import contact_sheet

    source = _source(place, choice)
    total = len(source.loads)
    source.loads = source.loads[:max_clips]
    output.parent.mkdir(parents=True, exist_ok=True)
    with progress("drawing", len(source.loads), quiet=json) as advance:
        clips = _clips(source, advance)
        made = contact_sheet(clips, output, title=title or source.name, seconds=seconds)
    for failure in source.failed:
        remark(f"{failure['file']}: {failure['reason']}")
    if json:
        failed = source.failed
        print_json(
            {"file": str(output), "clips": made.clips, "bytes": made.bytes, "failed": failed}
        )
    else:
        cut = f", {made.cut} of them cut to {seconds:g} s" if made.cut else ""
        print(f"{output}: {made.clips} clips{cut}, {made.bytes / 1e6:.1f} MB")
        if total > len(source.loads):
            print(
                f"{total - len(source.loads)} more motions are not shown "
                f"(limited by --max {max_clips})"
            )
    if source.failed:
        if not json:
            remark(f"{len(source.failed)} motions could not be drawn, see above")
        raise Exit(1)


@dataclass
class _Source:
    """The motions on a sheet, each with its title and a function that loads it."""

    name: str
    loads: list[tuple[str, Callable[[], SheetClip]]] = field(default_factory=list)
    failed: list[dict[str, str]] = field(default_factory=list)


def _source(place: Path, choice: MotionChoice) -> _Source:
    if not place.exists():
        raise InvalidInput(f"{place}: no such library or folder")
    if place.suffix == ".loom" or is_library(place):
        return _library_source(place, choice)
    if choice != MotionChoice():
        raise InvalidInput(f"--label, --only and --exclude need a library; {place} is a folder")
    return _folder_source(place)


def _library_source(place: Path, choice: MotionChoice) -> _Source:
    from motionloom.library import Library
    from motionloom.plots import SheetClip

    library = Library(place)

    def load(name: str) -> SheetClip:
        return SheetClip(name, library[name], library.labels[name])

    if not library.names:
        raise InvalidInput(f"{place}: the library is empty; import motions first")
    source = _Source(place.resolve().stem)
    chosen: dict[str, Any] = motion_choice(choice)
    names = library.select(**chosen)
    source.loads = [(name, partial(load, name)) for name in names]
    return source


def _folder_source(place: Path) -> _Source:
    from motionloom.library import assign_names, find_sources
    from motionloom.plots import SheetClip

    files, unreadable = find_sources([place])
    names = assign_names(files, {})

    def load(path: str, title: str, labels: tuple[str, ...]) -> SheetClip:
        return SheetClip(title, motion_from(path), labels)

    source = _Source(place.resolve().name)
    source.failed = [{"file": folder, "reason": reason} for folder, reason in unreadable]
    for file in files:
        shown, title = file.shown, names[file.path]
        labels = Path(shown).relative_to(place).parts[:-1]
        source.loads.append((shown, partial(load, shown, title, labels)))
    return source


def _clips(source: _Source, advance: Callable[[int], None]) -> Iterator[SheetClip]:
    """Load clips one at a time; failures are recorded and skipped."""
    for name, load in source.loads:
        try:
            clip = load()
            if len(clip.motion) == 0:
                raise InvalidInput("the motion has no frames")
            yield clip
        except (MotionloomError, OSError) as error:
            reason = str(error).removeprefix(f"{name}:").strip()
            source.failed.append({"file": name, "reason": reason})
        advance(1)


def _file_name(name: str) -> str:
    """Return `name` without characters that are invalid in file names."""
    return re.sub(r'[\x00-\x1f/\\:*?"<>|]+', "_", name).strip(". ") or "motion"
