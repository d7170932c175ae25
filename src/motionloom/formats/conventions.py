"""A figure as its file has it, brought to our conventions: roles, y up, metres."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput, MotionFormatError
from motionloom.formats.posture import UP_AXES, turn_upright
from motionloom.motion import Motion, Skeleton
from motionloom.motion import rotations as rot


def with_given_roles(skeleton: Skeleton, roles: str | Path | Mapping[str, str] | None) -> Skeleton:
    """The skeleton with the user's roles: a mapping, a mapping file, or none."""
    if roles is None:
        return skeleton
    from motionloom.motion.roles import load_role_map

    return skeleton.with_roles(roles if isinstance(roles, Mapping) else load_role_map(roles))


def upright(motion: Motion, up: str) -> Motion:
    """A motion from a file whose up axis is `up`, with +Y up; the rest pose turns with it."""
    return motion if up == "y" else _turned(motion, turn_upright(up))


def laid_along(motion: Motion, up: str) -> Motion:
    """A motion for a file whose up axis is `up`: the opposite of `upright`."""
    return motion if up == "y" else _turned(motion, rot.inverse(turn_upright(up)))


def _turned(motion: Motion, turn: NDArray[np.float64]) -> Motion:
    """Every offset turned and every rotation conjugated: all local frames go along.

    So the rest pose of the turned skeleton stands, too.
    """

    def conjugate(q):
        return rot.multiply(rot.multiply(turn, q), rot.inverse(turn))

    skeleton, moved = motion.skeleton, motion.translations
    return replace(
        motion,
        skeleton=replace(
            skeleton,
            offsets=rot.rotate(turn, skeleton.offsets),
            end_offsets=rot.rotate(turn, skeleton.end_offsets),
            rest=None if skeleton.rest is None else conjugate(skeleton.rest),
        ),
        rotations=conjugate(motion.rotations.astype(np.float64)),
        root=rot.rotate(turn, motion.root.astype(np.float64)),
        translations=None if moved is None else rot.rotate(turn, moved.astype(np.float64)),
    )


def in_metres(motion: Motion, metres: float) -> Motion:
    """The same motion, all lengths multiplied by `metres` per unit."""
    moved = motion.translations
    return replace(
        motion,
        skeleton=_scaled(motion.skeleton, metres),
        root=motion.root * metres,
        translations=None if moved is None else moved * metres,
    )


@lru_cache(maxsize=64)
def _scaled(skeleton: Skeleton, metres: float) -> Skeleton:
    """One object for the motions of one performer: they share its roles, too."""
    return skeleton.scaled(metres)


def check_up(up: str | None) -> None:
    """Raise `InvalidInput` unless `up` is an axis or None."""
    if up is not None and up not in UP_AXES:
        raise InvalidInput(f"up must be one of {', '.join(UP_AXES)}; got {up!r}")


def check_fps(fps: float | None) -> None:
    """Raise `InvalidInput` unless `fps` is positive or None."""
    if fps is not None and not (np.isfinite(fps) and fps > 0.0):
        raise InvalidInput(f"fps must be positive; got {fps}")


def file_bytes(path: Path, kind: str) -> bytes:
    """All bytes of a file; a folder is refused by name of the format."""
    if path.is_dir():
        raise MotionFormatError(f"this is a folder, not {kind}", path=path)
    return path.read_bytes()


def free_name(name: str, taken: set[str]) -> str:
    """`name`, or `name` with a number behind it if it is taken."""
    if name not in taken:
        return name
    number = 2
    while f"{name}_{number}" in taken:
        number += 1
    return f"{name}_{number}"
