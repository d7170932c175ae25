"""``database.bin`` and ``features.bin`` of orangeduck's Motion-Matching.

Little endian. ``database.bin`` has positions, velocities, rotations ``wxyz`` and angular
velocities of bones, each as rows and columns (uint32) and float32; then parents and first and last
frames of ranges, each as a count (uint32) and int32; then contact flags of the left and the right
toe as rows, columns and one byte each. ``features.bin`` has normalized features as rows, columns
and float32; then their offsets and scales, each as a count and float32. Facts from its
``database.h``, ``array.h`` and ``character.h`` (commit 57b7250).

It has 23 bones, in a fixed order, and plays 60 frames per second. Its program builds features
again at start, with weights of its own; ``features.bin`` has ours.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.files import atomic_write
from motionloom.motion_matching.database import MatchingDatabase
from motionloom.motion_matching.exports.bones import BoneTracks, bone_tracks

FPS = 60.0
# Bone: role, or None where we have none, and parent.
_LEG = ("hip", "knee", "ankle", "foot")
_ARM = ("collar", "shoulder", "elbow", "wrist")
ROLES = (
    None, "hips",
    *(f"left_{part}" for part in _LEG), *(f"right_{part}" for part in _LEG),
    "spine", None, "chest", "neck", "head",
    *(f"left_{part}" for part in _ARM), *(f"right_{part}" for part in _ARM),
)  # fmt: skip
PARENTS = (-1, 0, 1, 2, 3, 4, 1, 6, 7, 8, 1, 10, 11, 12, 13, 12, 15, 16, 17, 12, 19, 20, 21)
_LARGEST = 1e30  # scale of features without weight


def write_orangeduck(database: MatchingDatabase, folder: Path) -> list[Path]:
    """Write both files; returns their paths."""
    if abs(database.fps - FPS) > 1e-6:
        raise InvalidInput(
            f"orangeduck's program plays {FPS:g} frames per second; the database has "
            f"{database.fps:g}: build it at {FPS:g} fps"
        )
    skeleton = database.skeleton
    joints = [
        None if role is None or role not in skeleton.roles else skeleton.point(role)
        for role in ROLES
    ]
    tracks = BoneTracks.joined(
        [bone_tracks(database, part, PARENTS, joints) for part in database.ranges]
    )
    parts = database.ranges
    contacts = np.asarray(database.contacts).reshape(-1, 2, 2).any(axis=2)
    files = [folder / "database.bin", folder / "features.bin"]
    with atomic_write(files[0]) as scratch:
        scratch.write_bytes(
            _table(tracks.positions)
            + _table(tracks.velocities)
            + _table(tracks.rotations)
            + _table(tracks.angular_velocities)
            + _row(np.array(PARENTS), "<i4")
            + _row(np.array([part.start for part in parts]), "<i4")
            + _row(np.array([part.stop for part in parts]), "<i4")
            + _size(*contacts.shape)
            + contacts.astype(np.uint8).tobytes()
        )
    normal = database.normalization
    scale = np.minimum(normal.scale, _LARGEST)
    with atomic_write(files[1]) as scratch:
        scratch.write_bytes(
            _size(*database.rows.shape)
            + database.rows.astype("<f4").tobytes()
            + _row(normal.offset, "<f4")
            + _row(scale, "<f4")
        )
    return files


def _size(*counts: int) -> bytes:
    return np.array(counts, "<u4").tobytes()


def _table(values: NDArray) -> bytes:
    """Rows and columns of elements, then float32."""
    return _size(*values.shape[:2]) + values.astype("<f4").tobytes()


def _row(values: NDArray, kind: str) -> bytes:
    return _size(len(values)) + values.astype(kind).tobytes()
