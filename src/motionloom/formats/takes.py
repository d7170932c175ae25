"""Takes of a file: one for each animation and each skeleton that the animation moves.

Most files hold one take. Game characters often come with dozens of animations in one glTF or FBX
file, and a scene may hold several people. A take is named after its animation, or its skeleton if
the file has several skeletons but one animation, or both (``Run/Anna``). The take ``Run`` of
``knight.glb`` is addressed like a file in a folder: ``knight.glb/Run``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from motionloom.errors import MotionFormatError
from motionloom.formats.conventions import unique_names

MOST_TAKES = 1000  # of one file
_ROOM = 8_000_000  # joints times frames that all takes of any file may have
_GROWTH = 16  # the same limit for larger files, per byte


@dataclass(frozen=True)
class FileTake:
    """A take of a file.

    Attributes
    ----------
    name : str
        Name that is unique in the file; empty if the file has only one take.
    animation, skeleton : str, int or None
        The options of `load` that select this take.
    joints : int
        Number of joints.
    seconds : float or None
        Duration, if the file states it.
    scene : bool
        True if the same animation moves other skeletons at the same time.
    """

    name: str = ""
    animation: str | int | None = None
    skeleton: str | int | None = None
    joints: int = 0
    seconds: float | None = None
    scene: bool = False


class TakeLimit:
    """Limits the takes of one file, so that a small file cannot repeat its data many times."""

    def __init__(self, path: Path) -> None:
        self.path, self.count = path, 0
        self.left = max(_ROOM, _GROWTH * path.stat().st_size)

    def add(self, joints: int, frames: int) -> None:
        """Count a take.

        Raises
        ------
        MotionFormatError
            If the takes are too many, or too long for the size of the file.
        """
        self.left -= joints * frames
        self.count += 1
        if self.left < 0:
            raise MotionFormatError(
                "the takes of the file use the same data too often: they are too long for its "
                "size. Read one of them with the options animation and skeleton",
                path=self.path,
            )
        check_takes(self.count, self.path)


def check_takes(count: int, path: Path) -> None:
    """Raise an error if a file has too many takes."""
    if count > MOST_TAKES:
        raise MotionFormatError(
            f"the file has more than {MOST_TAKES} takes; save them in several files", path=path
        )


def named_takes(
    takes: Sequence[FileTake], animations: Sequence[str], skeletons: Sequence[str]
) -> list[FileTake]:
    """Name the takes of a file after their animations and skeletons.

    Examples
    --------
    >>> takes = [FileTake(animation=0), FileTake(animation=1)]
    >>> [take.name for take in named_takes(takes, ["rig|Run", "rig|Jump"], ["rig", "rig"])]
    ['Run', 'Jump']
    >>> named_takes([FileTake(), FileTake()], ["Waltz", "Waltz"], ["Ann", "Bob"])[1].scene
    True
    """
    if len(takes) < 2:
        return [replace(take, name="") for take in takes]
    parts = [_without_prefix(names) for names in (animations, skeletons) if len(set(names)) > 1]
    labels = ["/".join(filter(None, pair)) for pair in zip(*parts, strict=True)] if parts else []
    labels = labels or [str(number) for number in range(len(takes))]
    plain = [
        "".join(char if char.isprintable() else " " for char in label).strip() or str(number)
        for number, label in enumerate(labels)
    ]
    performers: dict[str, set[str]] = {}
    for animation, skeleton in zip(animations, skeletons, strict=True):
        performers.setdefault(animation, set()).add(skeleton)
    return [
        replace(take, name=name, scene=len(performers[animation]) > 1)
        for name, take, animation in zip(unique_names(plain), takes, animations, strict=True)
    ]


def _without_prefix(names: Sequence[str]) -> list[str]:
    """Remove the name of the rig that Blender puts before every name, as in ``rig|Run``."""
    before = {name.rpartition("|")[0] for name in names}
    if len(before) == 1:
        return [name.rpartition("|")[2] for name in names]
    return list(names)


def choices(names: Sequence[str]) -> list[str | int]:
    """Return how each of these items is selected: by name, or by number if the name is not unique.

    Examples
    --------
    >>> choices(["Run", "Jump", "Run"])
    [0, 'Jump', 2]
    """
    counts = Counter(names)
    return [name if name and counts[name] == 1 else number for number, name in enumerate(names)]
