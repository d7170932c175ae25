"""Joint angles of the body, and the frames in which they are beyond the range of a human.

Rigs differ in their axes and rest poses, so angles are measured in the axes of the body: relative
to the neutral pose (`motionloom.motion.retargeting.neutral_pose`), x points left, y up and z ahead.
The rotation of a body part relative to the part that carries it is split into *swing* (where the
bone points), *twist* (rotation about the bone) and, for knees and elbows, *flexion*.

Limits are wider than those in textbooks, because captured skeletons put joints where markers allow
it. They were set on CMU's performers with even numbers: fewer than 1 % of their takes exceed a
limit in more than 2 % of the frames, and those that do show a flipped head, foot or limb. Ankles
are not judged: the feet of many captured dances roll about their length without being misplaced.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.motion.feet.contacts import SIDES
from motionloom.motion.retargeting.neutral_pose import global_rest_rotations, neutral_pose
from motionloom.motion.retargeting.observed_pose import observed_pose
from motionloom.motion.rotations import quaternions as rot

if TYPE_CHECKING:
    from motionloom.motion.motion import Motion

Array = NDArray[np.float64]

_TILTED = np.radians(60.0), np.radians(120.0)
_UP, _DOWN, _LEFT = np.array([0.0, 1, 0]), np.array([0.0, -1, 0]), np.array([1.0, 0, 0])


@dataclass(frozen=True)
class JointRange:
    """Range of a joint: the body part `role` relative to the part `base`.

    Attributes
    ----------
    base, role : str
    bone : ndarray, shape (3,)
        Direction of the part in the neutral pose.
    swing, twist : float
        Largest angle of the bone and largest rotation about it, in radians.
    hinge : ndarray, shape (3,), optional
        Axis about which a knee or an elbow bends, in the neutral pose.
    straight : float
        Smallest flexion of a hinge, in radians; a negative value is hyperextension.
    """

    base: str
    role: str
    bone: Array
    swing: float
    twist: float = np.pi
    hinge: Array | None = None
    straight: float = 0.0


def _ranges() -> tuple[JointRange, ...]:
    degrees = np.pi / 180.0
    ranges = [
        JointRange("hips", "chest", _UP, 110 * degrees, 90 * degrees),
        JointRange("chest", "neck", _UP, 85 * degrees, 100 * degrees),
        JointRange("neck", "head", _UP, 60 * degrees, 75 * degrees),
        JointRange("chest", "head", _UP, 100 * degrees, 115 * degrees),
    ]
    for side, sign in zip(SIDES, (1.0, -1.0), strict=True):
        ranges += [
            JointRange(
                f"{side}_hip", f"{side}_knee", _DOWN, np.pi, np.pi, _LEFT, -30 * degrees
            ),
            JointRange(
                f"{side}_shoulder", f"{side}_elbow", sign * _LEFT, np.pi, np.pi, -sign * _UP,
                -30 * degrees,
            ),
            JointRange(f"{side}_elbow", f"{side}_wrist", sign * _LEFT, 115 * degrees),
        ]  # fmt: skip
    return tuple(ranges)


RANGES = _ranges()


@dataclass(frozen=True, eq=False)
class JointAngles:
    """Rotations of a body part relative to the part that carries it, in the axes of the body.

    Attributes
    ----------
    limits : JointRange
    relative : ndarray, shape (T, 4)
        Rotation ``wxyz`` relative to the neutral pose.
    """

    limits: JointRange
    relative: Array

    @property
    def swing(self) -> Array:
        """Angle between the bone and its neutral direction, shape (T,)."""
        bone = self.limits.bone
        return np.arccos(np.clip(rot.rotate(self.relative, bone) @ bone, -1.0, 1.0))

    @property
    def twist(self) -> Array:
        """Rotation about the bone, from -pi to pi, shape (T,)."""
        angle = 2.0 * np.arctan2(self.relative[..., 1:] @ self.limits.bone, self.relative[..., 0])
        return (angle + np.pi) % (2.0 * np.pi) - np.pi

    @property
    def flexion(self) -> Array | None:
        """Angle of a hinge, negative where it bends the wrong way; None for other joints."""
        hinge, bone = self.limits.hinge, self.limits.bone
        if hinge is None:
            return None
        tip = rot.rotate(self.relative, bone)
        across = np.cross(hinge, bone)
        return np.arctan2(tip @ across, tip @ bone)

    @property
    def excess(self) -> Array:
        """Angle by which the joint exceeds its range, in radians, shape (T,)."""
        limits = self.limits
        if limits.hinge is not None:
            assert self.flexion is not None
            # A folded limb (180 degrees) has no side.
            open_ = np.abs(self.flexion) < np.radians(150.0)
            return np.where(open_, np.maximum(limits.straight - self.flexion, 0.0), 0.0)
        swing, twist = self.swing, np.abs(self.twist)
        # The twist of a bone that points the other way is not defined.
        twisted = np.where(swing < np.radians(120.0), twist - limits.twist, 0.0)
        return np.maximum(np.maximum(swing - limits.swing, twisted), 0.0)


def body_turns(motion: Motion) -> dict[str, Array]:
    """Return the world rotation (T, 4) of each body part relative to the neutral pose, by role.

    Examples
    --------
    >>> import motionloom as ml
    >>> body_turns(ml.demo.clip("walk"))["head"].shape
    (138, 4)
    """
    skeleton = motion.skeleton
    rest = neutral_pose(skeleton)
    turns = dict(rest.turns)
    since_rest = rot.multiply(
        motion.global_rotations().astype(np.float64),
        rot.inverse(global_rest_rotations(skeleton)),
    )
    joints = {
        role: skeleton.joint(name)
        for role, name in skeleton.roles.items()
        if name in skeleton.names and role in turns
    }

    def turn(role: str) -> Array:
        return rot.multiply(since_rest[:, joints[role]], rot.inverse(turns[role]))

    if rest.unknown and len(motion):
        seen = observed_pose(motion, rest).turns
        turns |= {role: seen[role] for role in seen if role not in ("neck", "head")}
        # A head that is upside down throughout would look upright relative to its mean. All bones
        # of the trunk lie along one axis in such rigs, so the rest pose shows how the head is held
        # unless the head is neither upright nor upside down.
        if {"chest", "head"} <= joints.keys():
            angle = float(np.median(rot.angle_between(turn("chest"), turn("head"))))
            if _TILTED[0] < angle < _TILTED[1]:
                turns |= {role: seen[role] for role in ("neck", "head") if role in seen}
    return {role: turn(role) for role in joints}


def joint_angles(motion: Motion) -> list[JointAngles]:
    """Return the angles of all joints that have a range and that the skeleton has.

    Examples
    --------
    >>> import motionloom as ml
    >>> angles = joint_angles(ml.demo.clip("walk"))
    >>> max(float(each.excess.max()) for each in angles)
    0.0
    """
    turns = body_turns(motion)
    return [
        JointAngles(limits, rot.multiply(rot.inverse(turns[limits.base]), turns[limits.role]))
        for limits in RANGES
        if limits.base in turns and limits.role in turns
    ]
