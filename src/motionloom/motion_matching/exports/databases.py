"""Writers for the formats of other motion matching programs: orangeduck, and JLPM22 for Unity.

Both store local transforms of bones below a simulation bone on the floor, with their velocities,
in little-endian order.

**orangeduck**: ``database.bin`` starts with positions, velocities, rotations ``wxyz`` and angular
velocities of bones, each stored as the numbers of rows and columns (uint32) and float32 values.
Parents and the first and last frames of ranges follow, each stored as a count (uint32) and int32
values. Contact flags of the left and the right toe come last, stored as rows, columns and one byte
per flag. ``features.bin`` contains the normalized features, stored as rows, columns and float32
values, followed by their offsets and scales, each stored as a count and float32 values. The format
is taken from its ``database.h``, ``array.h`` and ``character.h`` (commit 57b7250).

The character has 23 bones in a fixed order and plays 60 frames per second. At startup, the program
recomputes the features with its own weights, whereas ``features.bin`` uses motionloom's weights.

**Unity**: ``.mmskeleton``, ``.mmpose`` and ``.mmfeatures`` have the encoding of C#'s BinaryWriter,
in which strings are UTF-8, preceded by their length in groups of seven bits. The format is taken
from its ``PoseSerializer.cs``, ``FeatureSerializer.cs`` and ``Skeleton.cs`` (commit 35fc8ee). Unity
is left-handed, so x points in the opposite direction.

The features are the two trajectories (positions and directions, three predictions of x and z
each), then positions and velocities of both feet and the velocity of the hips. The asset
``MotionMatchingData`` in Unity must name the same features in the same order as `FEATURES`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.files import atomic_write
from motionloom.motion import Motion
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion_matching.database import MatchingDatabase, Range

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BoneTracks:
    """Transforms and velocities of B bones in N frames; bone 0 is the simulation bone.

    Attributes
    ----------
    positions, velocities, angular_velocities : ndarray, shape (N, B, 3)
        Values in the frame of the parent, in meters, m/s and rad/s.
    rotations : ndarray, shape (N, B, 4)
        Quaternions ``wxyz`` in the frame of the parent.
    """

    positions: Array
    rotations: Array
    velocities: Array
    angular_velocities: Array

    @classmethod
    def joined(cls, parts: Sequence[BoneTracks]) -> BoneTracks:
        """Concatenate the tracks of several parts."""
        names = ("positions", "rotations", "velocities", "angular_velocities")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def simulation_bone(database: MatchingDatabase, part: Range) -> tuple[Array, Array]:
    """Return floor positions (T, 3) and rotations (T, 4) of a range's simulation bone."""
    x, z, facing = np.asarray(database.places[part.start : part.stop]).T
    return np.column_stack([x, np.zeros(len(x)), z]), rot.yaw(facing)


def bone_tracks(
    database: MatchingDatabase, part: Range, parents: Sequence[int], joints: Sequence[int | None]
) -> BoneTracks:
    """Return the tracks of bones that follow joints; a bone without a joint stays at its parent.

    Parameters
    ----------
    parents : sequence of int, length B
        Parent of each bone; -1 for bone 0, the simulation bone.
    joints : sequence of int or None, length B
        Point of the skeleton that each bone follows; the entry of bone 0 is ignored.
    """
    motion = database.motion(part)
    places, turns = _world(motion)
    bone_places: list[Array] = []
    bone_turns: list[Array] = []
    positions, rotations = [], []
    for bone, (parent, joint) in enumerate(zip(parents, joints, strict=True)):
        if bone == 0:
            place, turn = simulation_bone(database, part)
        elif joint is None:
            place, turn = bone_places[parent], bone_turns[parent]
        else:
            place, turn = places[:, joint], turns[:, joint]
        bone_places.append(place)
        bone_turns.append(turn)
        if bone == 0:
            positions.append(place)
            rotations.append(turn)
            continue
        back = rot.inverse(bone_turns[parent])
        positions.append(rot.rotate(back, place - bone_places[parent]))
        rotations.append(rot.multiply(back, turn))
    local = np.stack(positions, axis=1)
    turned = rot.unroll(np.stack(rotations, axis=1))
    return BoneTracks(
        local, turned, _velocities(local, motion.fps), _angular_velocities(turned, motion.fps)
    )


def _world(motion: Motion) -> tuple[Array, Array]:
    """Return world positions and rotations of all points; end sites rotate with their joints."""
    places = motion.positions(end_sites=True).astype(np.float64)
    turns = motion.global_rotations().astype(np.float64)
    ends = turns[:, motion.skeleton.end_parents]
    return places, np.concatenate([turns, ends], axis=1)


def _velocities(values: Array, fps: float) -> Array:
    return np.gradient(values, axis=0) * fps if len(values) > 1 else np.zeros_like(values)


def _angular_velocities(rotations: Array, fps: float) -> Array:
    """Return the angular velocities in the frame of the parent, from central differences."""
    if len(rotations) < 2:
        return np.zeros((*rotations.shape[:2], 3))
    steps = rot.log(rot.multiply(rotations[1:], rot.inverse(rotations[:-1]))) * fps
    inner = 0.5 * (steps[1:] + steps[:-1])
    return np.concatenate([steps[:1], inner, steps[-1:]])


FPS = 60.0
# Role of each bone (None if there is no matching role) and its parent.
_LEG = ("hip", "knee", "ankle", "foot")
_ARM = ("collar", "shoulder", "elbow", "wrist")
ROLES = (
    None, "hips",
    *(f"left_{part}" for part in _LEG), *(f"right_{part}" for part in _LEG),
    "spine", None, "chest", "neck", "head",
    *(f"left_{part}" for part in _ARM), *(f"right_{part}" for part in _ARM),
)  # fmt: skip
PARENTS = (-1, 0, 1, 2, 3, 4, 1, 6, 7, 8, 1, 10, 11, 12, 13, 12, 15, 16, 17, 12, 19, 20, 21)
LARGEST_SCALE = 1e30  # scale of features whose weight is zero


def write_orangeduck(database: MatchingDatabase, folder: Path) -> list[Path]:
    """Write both files and return their paths."""
    if abs(database.fps - FPS) > 1e-6:
        raise InvalidInput(
            f"orangeduck's program needs a database with {FPS:g} frames per second; this one has "
            f"{database.fps:g}. Build it with fps={FPS:g}"
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
    scale = np.minimum(normal.scale, LARGEST_SCALE)
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
    """Encode a table: the numbers of rows and columns, then float32 values."""
    return _size(*values.shape[:2]) + values.astype("<f4").tobytes()


def _row(values: NDArray, kind: str) -> bytes:
    return _size(len(values)) + values.astype(kind).tobytes()


# Name, floats per element, number of elements, and columns of our features (x is mirrored for
# Unity).
FEATURES = (
    ("FuturePosition", 2, 3, slice(15, 21)),
    ("FutureDirection", 2, 3, slice(21, 27)),
    ("LeftFootPosition", 3, 1, slice(0, 3)),
    ("RightFootPosition", 3, 1, slice(3, 6)),
    ("LeftFootVelocity", 3, 1, slice(6, 9)),
    ("RightFootVelocity", 3, 1, slice(9, 12)),
    ("HipsVelocity", 3, 1, slice(12, 15)),
)
SIMULATION_BONE = "SimulationBone"
# Unity's HumanBodyBones by role.
_BONES = {
    "hips": 0, "left_hip": 1, "right_hip": 2, "left_knee": 3, "right_knee": 4, "left_ankle": 5,
    "right_ankle": 6, "spine": 7, "chest": 8, "neck": 9, "head": 10, "left_collar": 11,
    "right_collar": 12, "left_shoulder": 13, "right_shoulder": 14, "left_elbow": 15,
    "right_elbow": 16, "left_wrist": 17, "right_wrist": 18, "left_foot": 19, "right_foot": 20,
}  # fmt: skip
_NO_BONE = 55
_FLIP = np.array([-1.0, 1.0, 1.0])  # for positions and velocities
_FLIP_TURN = np.array([1.0, -1.0, -1.0])  # for angular velocities and x, y, z of quaternions


def write_unity(database: MatchingDatabase, folder: Path, name: str = "motionloom") -> list[Path]:
    """Write the three files and return their paths."""
    files = [folder / f"{name}{suffix}" for suffix in (".mmskeleton", ".mmpose", ".mmfeatures")]
    skeleton = database.skeleton
    parents = [-1, 0, *(int(parent) + 1 for parent in skeleton.parents[1:])]
    tracks = BoneTracks.joined(
        [
            bone_tracks(database, part, parents, [None, *range(len(skeleton))])
            for part in database.ranges
        ]
    )
    with atomic_write(files[0]) as scratch:
        scratch.write_bytes(_skeleton(database, parents))
    with atomic_write(files[1]) as scratch:
        scratch.write_bytes(_poses(database, tracks))
    with atomic_write(files[2]) as scratch:
        scratch.write_bytes(_features(database))
    return files


def _skeleton(database: MatchingDatabase, parents: list[int]) -> bytes:
    skeleton = database.skeleton
    bones = {skeleton.roles[role]: bone for role, bone in _BONES.items() if role in skeleton.roles}
    names = [SIMULATION_BONE, *skeleton.names]
    offsets = np.concatenate([np.zeros((1, 3)), skeleton.offsets]) * _FLIP
    out = _number(len(names))
    for joint, name in enumerate(names):
        out += _text(name) + _number(joint, max(parents[joint], 0))
        out += offsets[joint].astype("<f4").tobytes() + _number(bones.get(name, _NO_BONE))
    return out


def _poses(database: MatchingDatabase, tracks: BoneTracks) -> bytes:
    frame_time = np.array([1.0 / database.fps], "<f4").tobytes()
    out = _number(len(database.ranges))
    for part in database.ranges:
        out += _number(part.start, part.stop) + frame_time
    tags = {name: _ranges(database.tag(name)) for name in database.tags}
    count, bones = tracks.positions.shape[:2]
    out += _number(count, bones, len(tags))
    turns = tracks.rotations[..., [1, 2, 3, 0]] * np.array([*_FLIP_TURN, 1.0])
    columns = [
        tracks.positions * _FLIP,
        turns,
        tracks.velocities * _FLIP,
        tracks.angular_velocities * _FLIP_TURN,
    ]
    poses = np.concatenate([part.reshape(count, -1) for part in columns], axis=1).astype("<f4")
    feet = np.asarray(database.contacts).reshape(-1, 2, 2).any(axis=2).astype("<u4")
    both = np.concatenate([poses.view("<u4"), feet], axis=1)
    out += both.tobytes()
    for name, parts in tags.items():
        out += _text(name) + _number(len(parts))
        out += b"".join(_number(start, stop) for start, stop in parts)
    return out


def _features(database: MatchingDatabase) -> bytes:
    normal = database.normalization
    order = np.concatenate([np.arange(27)[columns] for *_, columns in FEATURES])
    sign = np.ones(27)
    sign[[0, 3, 6, 9, 12, *range(15, 27, 2)]] = -1.0  # x
    scale = np.minimum(normal.scale, LARGEST_SCALE)
    mean = (normal.offset * sign)[order]
    rows = (np.asarray(database.rows) * sign)[:, order].astype("<f4")
    out = _number(len(rows), 27, 27, len(FEATURES))
    out += np.column_stack([mean, scale[order]]).astype("<f4").tobytes()
    for name, floats, elements, _ in FEATURES:
        out += _text(name) + _number(floats, elements)
    valid = database.searchable.astype("<u4")
    return out + np.concatenate([valid[:, None], rows.view("<u4")], axis=1).tobytes()


def _ranges(mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return ``[start, end)`` of each run where a mask is True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


def _number(*values: int) -> bytes:
    return np.array(values, "<u4").tobytes()


def _text(text: str) -> bytes:
    """Encode a string as UTF-8, preceded by its length in groups of seven bits, lowest first."""
    coded = text.encode("utf-8")
    length, front = len(coded), b""
    while length >= 0x80:
        front += bytes([length & 0x7F | 0x80])
        length >>= 7
    return front + bytes([length]) + coded
