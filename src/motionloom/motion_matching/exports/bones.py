"""Local transforms of bones under a simulation bone on the floor, with their velocities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.motion import Motion
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion_matching.database import MatchingDatabase, Range

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BoneTracks:
    """Bones of N frames; bone 0 is the simulation bone.

    Attributes
    ----------
    positions, velocities, angular_velocities : ndarray, shape (N, B, 3)
        In the frame of the parent; metres, m/s, rad/s.
    rotations : ndarray, shape (N, B, 4)
        ``wxyz``, in the frame of the parent.
    """

    positions: Array
    rotations: Array
    velocities: Array
    angular_velocities: Array

    @classmethod
    def joined(cls, parts: Sequence[BoneTracks]) -> BoneTracks:
        """One after the other."""
        names = ("positions", "rotations", "velocities", "angular_velocities")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def simulation_bone(database: MatchingDatabase, part: Range) -> tuple[Array, Array]:
    """Positions (T, 3) on the floor and rotations (T, 4) of the simulation bone of a range."""
    x, z, facing = np.asarray(database.places[part.start : part.stop]).T
    return np.column_stack([x, np.zeros(len(x)), z]), rot.yaw(facing)


def bone_tracks(
    database: MatchingDatabase, part: Range, parents: Sequence[int], joints: Sequence[int | None]
) -> BoneTracks:
    """Tracks of bones that follow joints of the skeleton; None stays at its parent.

    Parameters
    ----------
    parents : sequence of int, length B
        Parent of each bone; -1 for bone 0, the simulation bone.
    joints : sequence of int or None, length B
        The point of the skeleton that each bone follows; that of bone 0 is ignored.
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
    """World positions and rotations of all points; end sites turn with their joints."""
    places = motion.positions(end_sites=True).astype(np.float64)
    turns = motion.global_rotations().astype(np.float64)
    ends = turns[:, motion.skeleton.end_parents]
    return places, np.concatenate([turns, ends], axis=1)


def _velocities(values: Array, fps: float) -> Array:
    return np.gradient(values, axis=0) * fps if len(values) > 1 else np.zeros_like(values)


def _angular_velocities(rotations: Array, fps: float) -> Array:
    """Rotation per second in the frame of the parent: central differences."""
    if len(rotations) < 2:
        return np.zeros((*rotations.shape[:2], 3))
    steps = rot.log(rot.multiply(rotations[1:], rot.inverse(rotations[:-1]))) * fps
    inner = 0.5 * (steps[1:] + steps[:-1])
    return np.concatenate([steps[:1], inner, steps[-1:]])
