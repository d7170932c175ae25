"""What a user types to name a motion: ``FILE``, ``LIB:NAME``, each with a range behind it.

``kick.bvh``, ``kick.bvh:30-90`` (frames), ``takes.loom:86_01``, ``takes.loom:86_01:1480-1610``,
``takes.loom:86_01:12.5s-14s`` (seconds). Where many may be named: ``FOLDER`` or ``LIB``.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from motionloom.errors import InvalidInput

if TYPE_CHECKING:
    from motionloom.motion import Motion


def motion_from(text: str, **options) -> Motion:
    """The motion (or the part of it) that `text` names; `options` go to `motionloom.load`."""
    return cut_from(text, **options)[0]


def cut_from(text: str, **options) -> tuple[Motion, int]:
    """The same, and the frame of the whole motion that it begins with."""
    from motionloom.motion import Segment
    from motionloom.motion.segment import split_segment

    if Path(text).exists():  # a file may be called anything
        return _whole(text, **options), 0
    motion = _whole(split_segment(text)[0], **options)
    segment = Segment.parse(text, motion)
    return segment.cut(motion), segment.start_frame


def is_library(place: str | Path) -> bool:
    """Whether there is a library at `place`."""
    from motionloom.store.catalogue import FILE

    return (Path(place) / FILE).is_file()


def motions_in(
    place: Path, *, leaving: Path | None = None
) -> tuple[list[tuple[str, str]], list[dict[str, str]]]:
    """All motions of a library, or of a folder and the folders in it.

    Parameters
    ----------
    place : Path
    leaving : Path, optional
        A folder inside `place` to pass over: what an earlier run wrote.

    Returns
    -------
    motions : list of (str, str)
        What `motion_from` takes, and what to call it: a path without suffix, below `place`.
    failed : list of dict
        Folders that could not be looked into: ``file`` and ``reason``.
    """
    if is_library(place):
        from motionloom.library import Library

        with Library(place) as library:
            return [(f"{place}:{name}", name) for name in library.names], []
    from motionloom.store.ingest.sources import find_sources

    sources, unreadable = find_sources([place])
    away = None if leaving is None or leaving.resolve() == place.resolve() else leaving.resolve()
    files = [Path(source.shown) for source in sources]
    motions = [
        (str(file), str(file.relative_to(place).with_suffix("")))
        for file in files
        if away is None or not file.resolve().is_relative_to(away)
    ]
    return motions, [{"file": folder, "reason": reason} for folder, reason in unreadable]


def check_targets(jobs: Iterable[tuple[str, Path]]) -> None:
    """Refuse what would write over a source, or twice to one place; `jobs`: source, target."""
    sources: dict[Path, str] = {}
    for source, target in jobs:
        if target in sources:
            raise InvalidInput(
                f"{sources[target]} and {source} would both become {target}; do them one by one"
            )
        if Path(source).exists() and target.exists() and target.samefile(source):
            raise InvalidInput(f"{target} would overwrite what is read; give another output")
        sources[target] = source


def _whole(text: str, **options) -> Motion:
    from motionloom.formats import is_marker_file, load

    place, _, name = (text, "", "") if Path(text).exists() else text.partition(":")
    if Path(place).suffix == ".loom" or (name and Path(place).is_dir()):
        from motionloom.library import Library

        library = Library(place)  # says so, if there is none
        if name and options:
            given = ", ".join(f"--{option}" for option in options)
            raise InvalidInput(f"{given}: how a file is read; {name} was read when it was imported")
        if name:
            return library[name]
    if Path(text).is_dir():
        raise InvalidInput(f"{text} is a folder; name one motion in it, as in {text}:NAME")
    if is_marker_file(Path(text)) and Path(text).is_file():
        raise InvalidInput(f"{text} holds markers without a skeleton; this needs a motion")
    return load(text, **options)
