"""Transfer of fingers between hands with different joint names, axes and rest poses.

Fingers rotate relative to the hand as in the source, in the axes of the hand: along the hand (from
the wrist to the knuckles), across it (from the index to the little finger), and out of the palm.
Bones then point the same way relative to the hand, also if one rig rests with straight fingers and
the other with bent ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from motionloom.motion.feet.contacts import SIDES
from motionloom.motion.kinematics.forward import joint_positions
from motionloom.motion.roles.fingers import FINGERS, finger_roles
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.skeleton import Skeleton

Array = NDArray[np.float64]


def transfer_fingers(
    source: Skeleton, target: Skeleton, since_rest: Array, world_turn: dict[int, Array]
) -> None:
    """Add the world rotations of the target's fingers to `world_turn`, for hands that both have.

    Parameters
    ----------
    source, target : Skeleton
    since_rest : ndarray, shape (T, J, 4)
        World rotations of the source's joints relative to rest.
    world_turn : dict of int to ndarray, shape (T, 4)
        World rotations of the target's joints relative to rest; must contain the wrists.
    """
    there, here = finger_roles(source), finger_roles(target)
    for side in SIDES:
        shared = [role for role in here if role.startswith(side) and role in there]
        from_hand, to_hand = _Hand.of(source, side), _Hand.of(target, side)
        if not shared or from_hand is None or to_hand is None:
            continue
        if to_hand.wrist not in world_turn:
            continue
        wrist = world_turn[to_hand.wrist]
        unturned = rot.inverse(since_rest[:, from_hand.wrist])
        for role in shared:
            # Relative to the hand, in the axes of the hand at rest.
            turn = rot.multiply(unturned, since_rest[:, there[role]])
            turn = rot.multiply(rot.multiply(rot.inverse(from_hand.axes), turn), from_hand.axes)
            to_bone, from_bone = to_hand.bone(here[role]), from_hand.bone(there[role])
            if to_bone is not None and from_bone is not None:
                turn = rot.multiply(turn, rot.between(to_bone, from_bone))
            turn = rot.multiply(rot.multiply(to_hand.axes, turn), rot.inverse(to_hand.axes))
            world_turn[here[role]] = rot.multiply(wrist, turn)


class _Hand:
    """A hand at rest: its wrist, and its axes as a rotation ``wxyz``."""

    def __init__(self, skeleton: Skeleton, wrist: int, axes: Array) -> None:
        self.wrist, self.axes = wrist, axes
        self._places = _rest_places(skeleton)
        parents = [*skeleton.parents, *skeleton.end_parents]
        self._children: dict[int, int] = {}
        for point, parent in enumerate(parents):
            self._children.setdefault(int(parent), point)

    @classmethod
    def of(cls, skeleton: Skeleton, side: str) -> _Hand | None:
        """Return the hand of one side, or None if its knuckles do not span a palm."""
        roles = finger_roles(skeleton)
        knuckles = [
            roles[f"{side}_{finger}_1"] for finger in FINGERS[1:] if f"{side}_{finger}_1" in roles
        ]
        if len(knuckles) < 2:
            return None
        places = _rest_places(skeleton)
        wrist = skeleton.joint(skeleton.roles[f"{side}_wrist"])
        along = np.mean(places[knuckles], axis=0) - places[wrist]
        across = places[knuckles[-1]] - places[knuckles[0]]
        out = np.cross(along, across)
        if np.linalg.norm(along) < 1e-6 or np.linalg.norm(out) < 1e-8:
            return None
        x, z = along / np.linalg.norm(along), out / np.linalg.norm(out)
        axes = rot.from_matrix(np.stack([x, np.cross(z, x), z], axis=-1))
        return cls(skeleton, wrist, axes)

    def bone(self, joint: int) -> Array | None:
        """Return the direction of a finger's bone in the axes of the hand, or None without one."""
        child = self._children.get(joint)
        if child is None:
            return None
        line = self._places[child] - self._places[joint]
        length = np.linalg.norm(line)
        return None if length < 1e-6 else rot.rotate(rot.inverse(self.axes), line / length)


def _rest_places(skeleton: Skeleton) -> Array:
    """Return the positions of joints and end sites at rest, with the root at the origin."""
    return joint_positions(
        skeleton.rest_rotations[None],
        np.zeros((1, 3)),
        skeleton.parents,
        skeleton.offsets,
        end_parents=skeleton.end_parents,
        end_offsets=skeleton.end_offsets,
    )[0].astype(np.float64)
