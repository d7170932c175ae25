"""``.mmskeleton``, ``.mmpose`` and ``.mmfeatures`` of JLPM22's MotionMatching for Unity.

Little endian, as C#'s BinaryWriter writes: texts are UTF-8 with their length in front, in groups of
seven bits. Facts from its ``PoseSerializer.cs``, ``FeatureSerializer.cs``, ``Skeleton.cs`` (commit
35fc8ee). Unity is left-handed: x points the other way.

The features are the two trajectories (positions and directions, three predictions of x and z
each), then positions and velocities of both feet and the velocity of the hips. The asset
``MotionMatchingData`` in Unity must name the same features in the same order as `FEATURES`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from motionloom.files import atomic_write
from motionloom.motion_matching.database import MatchingDatabase
from motionloom.motion_matching.exports.bones import BoneTracks, bone_tracks

# Name, floats of each element, elements, and columns of our features (x mirrored for Unity).
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
_LARGEST = 1e30
_FLIP = np.array([-1.0, 1.0, 1.0])  # of positions and velocities
_FLIP_TURN = np.array([1.0, -1.0, -1.0])  # of angular velocities, and of x, y, z of quaternions


def write_unity(database: MatchingDatabase, folder: Path, name: str = "motionloom") -> list[Path]:
    """Write the three files; returns their paths."""
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
    scale = np.minimum(normal.scale, _LARGEST)
    mean = (normal.offset * sign)[order]
    rows = (np.asarray(database.rows) * sign)[:, order].astype("<f4")
    out = _number(len(rows), 27, 27, len(FEATURES))
    out += np.column_stack([mean, scale[order]]).astype("<f4").tobytes()
    for name, floats, elements, _ in FEATURES:
        out += _text(name) + _number(floats, elements)
    valid = database.searchable.astype("<u4")
    return out + np.concatenate([valid[:, None], rows.view("<u4")], axis=1).tobytes()


def _ranges(mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """First and last frames (not included) of the parts where a mask holds."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


def _number(*values: int) -> bytes:
    return np.array(values, "<u4").tobytes()


def _text(text: str) -> bytes:
    """UTF-8 with its length in front, seven bits per byte, the lowest first."""
    coded = text.encode("utf-8")
    length, front = len(coded), b""
    while length >= 0x80:
        front += bytes([length & 0x7F | 0x80])
        length >>= 7
    return front + bytes([length]) + coded
