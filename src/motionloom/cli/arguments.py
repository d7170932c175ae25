"""Command arguments that name motions: ``FILE`` or ``LIB:NAME``, optionally with a range.

``kick.bvh``, ``kick.bvh:30-90`` (frames), ``takes.loom:86_01``, ``takes.loom:86_01:1480-1610``,
``takes.loom:86_01:12.5s-14s`` (seconds). ``knight.glb/Run`` is one take of a file with several.
Commands for many motions take ``FOLDER`` or ``LIB``.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from motionloom.cli.terminal import remark
from motionloom.errors import InvalidInput
from motionloom.formats.settings import LoadSettings

if TYPE_CHECKING:
    from motionloom.motion import Motion

_DEFAULTS = LoadSettings()


def motion_from(text: str, settings: LoadSettings = _DEFAULTS) -> Motion:
    """Return the motion, or the segment of a motion, that `text` names."""
    return segment_from(text, settings)[0]


def segment_from(text: str, settings: LoadSettings = _DEFAULTS) -> tuple[Motion, int]:
    """Return the motion or segment that `text` names, and the index of its first frame."""
    from motionloom.motion import Segment
    from motionloom.motion.segment import split_segment

    if Path(text).exists():  # a file name may look like a name with a range
        return _whole(text, settings), 0
    motion = _whole(split_segment(text)[0], settings)
    segment = Segment.parse(text, motion)
    return segment.cut(motion), segment.start_frame


def is_library(place: str | Path) -> bool:
    """Return whether there is a library at `place`."""
    if not Path(place).is_dir():
        return False
    from motionloom.library import is_library

    return is_library(place)


def motions_in(
    place: Path, *, exclude: Path | None = None
) -> tuple[list[tuple[str, str]], list[dict[str, str]]]:
    """List all motions in a library, or in a folder and its subfolders.

    Parameters
    ----------
    place : Path
    exclude : Path, optional
        Folder inside `place` to skip, such as the output of an earlier run.

    Returns
    -------
    motions : list of (str, str)
        For each motion, the argument for `motion_from` and the path relative to `place`, without
        its extension.
    failed : list of dict
        Unreadable folders: ``file`` and ``reason``.
    """
    from motionloom.library import Library, find_sources

    if is_library(place):
        with Library(place) as library:
            return [(f"{place}:{name}", name) for name in library.names], []
    sources, unreadable = find_sources([place])
    skipped = None if exclude is None or exclude.resolve() == place.resolve() else exclude.resolve()
    files = [Path(source.shown) for source in sources]
    motions = [
        (str(file), str(file.relative_to(place).with_suffix("")))
        for file in files
        if skipped is None or not file.resolve().is_relative_to(skipped)
    ]
    return motions, [{"file": folder, "reason": reason} for folder, reason in unreadable]


def print_failure(failure: Mapping[str, str]) -> None:
    """Print why a file was not read; `failure` has the keys ``file`` and ``reason``."""
    file, reason = failure["file"], failure["reason"]
    remark(f"motionloom: {reason}" if file in reason else f"motionloom: {file}: {reason}")


def print_left_out_files(folders: Iterable[str]) -> None:
    """List the motion capture files in these folders that motionloom does not read."""
    from motionloom.library import left_out, left_out_lines

    for line in left_out_lines(left_out([folder for folder in folders if not is_library(folder)])):
        remark(f"skipped {line}")


def check_targets(jobs: Iterable[tuple[str, Path]]) -> None:
    """Raise an error if a target would overwrite a source or another target.

    `jobs` contains (source, target) pairs.
    """
    sources: dict[Path, str] = {}
    for source, target in jobs:
        if target in sources:
            raise InvalidInput(
                f"{sources[target]} and {source} would both be written to {target}; convert "
                f"them one at a time"
            )
        if Path(source).exists() and target.exists() and target.samefile(source):
            raise InvalidInput(f"{target} would overwrite an input file; choose another output")
        sources[target] = source


def _whole(text: str, settings: LoadSettings) -> Motion:
    from motionloom.formats import (
        holds_motion,
        is_marker_file,
        is_motion_file,
        load,
        split_take,
    )

    place, _, name = (text, "", "") if Path(text).exists() else text.partition(":")
    if Path(place).suffix == ".loom" or (name and is_library(place)):
        from motionloom.library import Library

        library = Library(place)  # raises if there is none
        given = [f"--{option.replace('_', '-')}" for option in settings.changed()]
        if name and given:
            raise InvalidInput(
                f"{', '.join(given)} can be used only with files; {name} was already read when it "
                f"was imported"
            )
        if name:
            return library[name]
    if name and Path(place).is_dir():
        raise InvalidInput(
            f"{place} is a folder, not a library; name a file in it, or import it: "
            f"motionloom import LIB {place}"
        )
    if Path(text).is_dir():
        if is_library(text):
            raise InvalidInput(f"{text} is a library; name one of its motions, as in {text}:NAME")
        raise InvalidInput(
            f"{text} is a folder; name one of its files, as in {Path(text, 'TAKE.bvh')}"
        )
    if split_take(Path(text))[1]:
        return load(text, **settings.changed())
    if not Path(text).exists() and ":" in text:
        raise InvalidInput(
            f"{text}: no such file. Write a range of frames as {place}:START-END, or of seconds "
            f"as {place}:1.5s-4s"
        )
    if not Path(text).exists() and not is_motion_file(Path(text)):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), text)
    file = Path(text)
    if is_marker_file(file) and file.is_file() and not (settings.layout or holds_motion(file)):
        raise InvalidInput(
            f"{text} contains markers without a skeleton, but this command needs a motion. "
            f"Create one with motionloom reconstruct, or map joints to markers with --layout"
        )
    return load(text, **settings.changed())
