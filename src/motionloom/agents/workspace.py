"""The workspace of an agent: a library, synthesized motions, and a folder for files."""

from __future__ import annotations

import os
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from motionloom.errors import InvalidInput
from motionloom.files import file_stem
from motionloom.library import Library, segment_query
from motionloom.motion import Segment
from motionloom.motion.segment import split_segment

if TYPE_CHECKING:
    from motionloom.motion import Motion

_KEPT = 32  # synthesized motions in memory; the oldest are dropped
_MOST_FILES = 1000  # per run of the server
_LONGEST_NAME = 80


@dataclass
class Workspace:
    """The library, the motions that the agent has synthesized, and the output folder.

    Attributes
    ----------
    library : Library
    output : Path, optional
        Folder for files. Files are added to it; none is replaced.
    made : dict of str to Motion
        Synthesized motions by name, oldest first.
    files : int
        Number of files written so far.
    """

    library: Library
    output: Path | None = None
    made: OrderedDict[str, Motion] = field(default_factory=OrderedDict)
    files: int = 0

    def motion(self, place: str) -> Motion:
        """Return a synthesized motion, or a motion or segment of the library.

        Parameters
        ----------
        place : str
            A name, or ``NAME:START-END`` in frames or, with an s, in seconds.

        Examples
        --------
        >>> len(Workspace(lib).motion("walk:10-40"))
        30
        """
        if place in self.made:
            return self.made[place]
        name, _ = split_segment(place)
        if name in self.made:
            return Segment.parse(place, self.made[name]).cut(self.made[name])
        return segment_query(self.library, place).clip

    def keep(self, motion: Motion, name: str | None, usual: str) -> str:
        """Keep a synthesized motion in memory, and return its name.

        A name that a motion already has is numbered: ``walk``, ``walk_2``.
        """
        stem = checked_name(name or usual)
        taken = {*self.made, *self.library.names}
        chosen, number = stem, 1
        while chosen in taken:
            number += 1
            chosen = f"{stem}_{number}"
        self.made[chosen] = motion
        while len(self.made) > _KEPT:
            self.made.popitem(last=False)
        return chosen

    def write(self, motion: Motion, name: str, suffix: str, preset: str | None = None) -> Path:
        """Write a motion into the output folder, as a new file.

        Raises
        ------
        InvalidInput
            If there is no output folder, the format cannot be written, or too many files have been
            written.
        """
        from motionloom.formats import check_output

        if self.output is None:
            raise InvalidInput(
                "this server writes no files; start it with --output DIR to allow a folder"
            )
        if self.files >= _MOST_FILES:
            raise InvalidInput(f"at most {_MOST_FILES} files may be written; restart the server")
        suffix = suffix.lower().removeprefix(".")
        if not suffix.isalnum() or len(suffix) > 8:
            raise InvalidInput(f"the format must be a suffix such as bvh, glb or fbx; got {suffix}")
        stem, number = checked_name(name), 1
        path = self.output / f"{stem}.{suffix}"
        while os.path.lexists(path):
            number += 1
            path = self.output / f"{stem}_{number}.{suffix}"
        check_output(path)
        motion.save(path, **({} if preset is None else {"preset": preset}))
        self.files += 1
        return path


def checked_name(name: str) -> str:
    """Return a name that is valid for a motion and a file, without folders.

    Raises
    ------
    InvalidInput
        If the name is empty, too long, or contains other characters than letters, digits, spaces,
        dots, hyphens and underscores.

    Examples
    --------
    >>> checked_name("high kick")
    'high_kick'
    >>> checked_name("../escape")
    Traceback (most recent call last):
        ...
    motionloom.errors.InvalidInput: a name may have letters, digits, spaces, dots, hyphens and
    underscores; got '../escape'
    """
    if not name or len(name) > _LONGEST_NAME:
        raise InvalidInput(f"a name must have 1 to {_LONGEST_NAME} characters; got {len(name)}")
    stem = file_stem(name)
    if stem.lstrip("_") != name.replace(" ", "_").lstrip("_") or ".." in name:
        raise InvalidInput(
            "a name may have letters, digits, spaces, dots, hyphens and underscores; got "
            f"{name[:40]!r}"
        )
    return stem
