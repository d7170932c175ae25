"""Functions shared by all formats: conversion of axes and units, frame rates and repairs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput, MotionFormatError
from motionloom.files import read_regular
from motionloom.formats.inference import UP_AXES, Unit, rotation_to_y_up
from motionloom.motion import Markers, Motion, Origin, Scene, Skeleton
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.segment import positive_rate


def with_user_roles(skeleton: Skeleton, roles: str | Path | Mapping[str, str] | None) -> Skeleton:
    """Return the skeleton with roles from a mapping or a mapping file; unchanged if None."""
    if roles is None:
        return skeleton
    from motionloom.motion.roles.assignment import load_role_map

    return skeleton.with_roles(roles if isinstance(roles, Mapping) else load_role_map(roles))


def to_y_up(motion: Motion, up: str) -> Motion:
    """Rotate a motion, including its rest pose, from the up axis `up` to +Y."""
    return motion if up == "y" else _turned(motion, rotation_to_y_up(up))


def from_y_up(motion: Motion, up: str) -> Motion:
    """Rotate a motion, including its rest pose, from +Y to the up axis `up` of a file."""
    return motion if up == "y" else _turned(motion, rot.inverse(rotation_to_y_up(up)))


def _turned(motion: Motion, turn: NDArray[np.float64]) -> Motion:
    """Rotate all offsets and conjugate all rotations, so that the rest pose also stands upright."""

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


def scaled_to_meters(motion: Motion, meters: float, **fields: Any) -> Motion:
    """Return the motion with all lengths multiplied by `meters` per unit, and with other fields."""
    moved = motion.translations
    return replace(
        motion,
        skeleton=_scaled(motion.skeleton, meters),
        root=motion.root * meters,
        translations=None if moved is None else moved * meters,
        **fields,
    )


@lru_cache(maxsize=64)
def _scaled(skeleton: Skeleton, meters: float) -> Skeleton:
    """Scale a skeleton. The result is cached, so the motions of a performer share it."""
    return skeleton.scaled(meters)


def check_up(up: str | None) -> None:
    """Raise `InvalidInput` unless `up` is an axis or None."""
    if up is not None and up not in UP_AXES:
        raise InvalidInput(f"up must be one of {', '.join(UP_AXES)}; got {up!r}")


def check_fps(fps: float | None) -> None:
    """Raise `InvalidInput` unless `fps` is positive or None."""
    if fps is not None:
        positive_rate(fps)


def refuse_folder(path: Path, kind: str) -> None:
    """Raise `MotionFormatError` if `path` is a folder, not `kind` (``"a BVH file"``)."""
    if path.is_dir():
        raise MotionFormatError(f"this is a folder, not {kind}", path=path)


def file_bytes(path: Path, kind: str) -> bytes:
    """Read all bytes of a file; `kind` is used in the error message for a folder."""
    refuse_folder(path, kind)
    return read_regular(path, largest=1 << 40)  # maximum size of a take


def labeled_points(
    motion: Motion | Markers | Scene,
) -> tuple[tuple[str, ...], NDArray[np.floating]]:
    """Return the labels of joints and end sites, or of markers, and their positions (T, P, 3).

    Labels in a scene are ``CHARACTER:LABEL``. A character that ends early has gaps (NaN).
    """
    if isinstance(motion, Markers):
        return motion.labels, motion.positions
    if isinstance(motion, Motion):
        return motion.skeleton.point_names, motion.positions(end_sites=True)
    labels: list[str] = []
    columns = []
    for name, character in characters(motion):
        points = character.positions(end_sites=True)
        labels += [f"{name}:{label}" for label in character.skeleton.point_names]
        missing = motion.frames - len(points)
        columns.append(np.pad(points, ((0, missing), (0, 0), (0, 0)), constant_values=np.nan))
    return tuple(labels), np.concatenate(columns, axis=1)


def characters(motion: Motion | Scene | Sequence[Motion]) -> list[tuple[str, Motion]]:
    """Return the name and motion of each character."""
    if isinstance(motion, Scene):
        return list(zip(motion.names, motion.motions, strict=True))
    motions = [motion] if isinstance(motion, Motion) else motion
    return [(each.name, each) for each in motions]


def unique_names(names: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """Return `names` in order, numbering duplicates and names that are in `taken`.

    Examples
    --------
    >>> unique_names(["arm", "leg", "arm"], taken=["leg"])
    ['arm', 'leg_2', 'arm_2']
    """
    used = set(taken)
    numbers: dict[
        str, int
    ] = {}  # last number used per name; keeps the time linear for ten thousand equal names
    free = []
    for name in names:
        number, candidate = numbers.get(name, 1), name
        while candidate in used:
            number += 1
            candidate = f"{name}_{number}"
        numbers[name] = number
        used.add(candidate)
        free.append(candidate)
    return free


_NOMINAL = (
    12.0, 15.0, 23.976, 24.0, 25.0, 29.97, 30.0, 48.0, 50.0, 59.94, 60.0, 72.0, 75.0, 90.0,
    100.0, 119.88, 120.0, 144.0, 150.0, 180.0, 200.0, 239.76, 240.0, 250.0, 300.0, 360.0,
    480.0, 500.0, 1000.0,
)  # fmt: skip
_TOLERANCE = (
    3e-4  # .0083333 differs from 1/120 by 4e-6 and 0.0083 by 4e-3; 59.94 differs from 60 by 1e-3
)


@lru_cache(maxsize=256)
def nominal_rate(fps: float) -> float:
    """Return the nearest nominal frame rate if it is close enough, otherwise `fps`.

    Examples
    --------
    >>> nominal_rate(1 / 0.0083333), nominal_rate(1 / 0.0333667), nominal_rate(31.7)
    (120.0, 29.97, 31.7)
    """
    nearest = min(_NOMINAL, key=lambda rate: abs(rate - fps))
    return nearest if abs(nearest - fps) <= _TOLERANCE * nearest else fps


def started(path: str | Path, *, up: str | None, fps: float | None, strict: bool) -> Repairs:
    """Check the options shared by all readers, and return an empty `Repairs` for a file."""
    check_up(up)
    check_fps(fps)
    return Repairs(path, strict=strict)


class Repairs:
    """Repairs made by a reader, as sentences. In strict mode, the first one raises an error."""

    def __init__(self, path: str | Path, *, strict: bool = False) -> None:
        self.path = Path(path)
        self.strict = strict
        self._found: dict[str, tuple[int | None, int]] = {}

    def add(self, sentence: str, *, line: int | None = None) -> None:
        """Record a repair. Repeated sentences are counted."""
        if self.strict:
            raise MotionFormatError(
                f"this is an error in strict mode: {sentence}", path=self.path, line=line
            )
        first, count = self._found.get(sentence, (line, 0))
        self._found[sentence] = (first, count + 1)

    def sentences(self) -> tuple[str, ...]:
        """Return all repairs in order, each with its first line and number of occurrences."""
        out = []
        for sentence, (line, count) in self._found.items():
            place = f"line {line}: " if line is not None else ""
            often = f" ({count} times)" if count > 1 else ""
            out.append(f"{place}{sentence}{often}")
        return tuple(out)

    def origin(
        self, format: str, unit: Unit, *, up: str, frame_time: float, warnings: Sequence[str]
    ) -> Origin:
        """Return the origin of a motion read from this file, with the repairs made so far."""
        return Origin(
            path=str(self.path),
            format=format,
            unit_m=unit.meters,
            unit_reason=unit.reason,
            up=up,
            frame_time=frame_time,
            repairs=self.sentences(),
            warnings=tuple(warnings),
        )
