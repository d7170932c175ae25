"""Distances between joint angles, as quaternions and as Euler angles.

Joints are identified by roles, and the rotation of a joint is relative to the body part above it
and to one standing posture: files with more spine joints, other joint axes or another rest pose
give the same rotations. Heading is removed from the rotation of the pelvis.

Differences of angles are measured by their chord, ``2 sin(angle / 2)``: close to the angle if
it is small, periodic, and an inner product, so that a distance matrix is one matrix product. For
a quaternion `q` it is the inner product of the matrices ``q q^T``, which are the same for `q`
and ``-q``; for an Euler angle, that of points on the circle.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.features.body_frame import body_rotations
from motionloom.features.euclidean import euclidean_matrix
from motionloom.motion import Motion
from motionloom.motion.kinematics.body import facing
from motionloom.motion.rotations import quaternions as rot

_SIDES = ("left", "right")

JOINT_PARENTS: dict[str, str] = {
    "spine": "hips",
    "chest": "spine",
    "head": "chest",
    **{
        f"{side}_{part}": parent if parent in ("hips", "chest") else f"{side}_{parent}"
        for side in _SIDES
        for part, parent in (
            ("shoulder", "chest"), ("elbow", "shoulder"), ("wrist", "elbow"),
            ("hip", "hips"), ("knee", "hip"), ("ankle", "knee"),
        )
    },
}  # fmt: skip
"""Joints whose rotation is compared, and the parent of each."""

JOINTS: tuple[str, ...] = ("hips", *JOINT_PARENTS)
"""The pelvis, and the joints of `JOINT_PARENTS`."""


def joint_rotations(
    motion: Motion,
    joints: tuple[str, ...] = JOINTS,
    *,
    parents: Mapping[str, str] = JOINT_PARENTS,
) -> NDArray[np.float64]:
    """Rotation of each joint relative to the body part above it, ``wxyz``, shape (T, R, 4).

    Parameters
    ----------
    motion : Motion
    joints : tuple of str, length R
        Out of `JOINTS`.
    parents : mapping of str to str
        Parent of each joint. The rotation of a joint without one, such as the pelvis (``hips``),
        is relative to the world, rotated so that the body faces +Z.

    Raises
    ------
    RoleError
        If the skeleton lacks one of them.

    Examples
    --------
    >>> import motionloom as ml
    >>> rest = ml.demo.clip("walk").rest_pose()
    >>> bool(abs(joint_rotations(rest) - [1, 0, 0, 0]).max() < 1e-6)
    True
    """
    above = [parents.get(joint, "") for joint in joints]
    needed = tuple(dict.fromkeys([*joints, *filter(None, above)]))
    world = dict(zip(needed, np.moveaxis(body_rotations(motion, needed), 1, 0), strict=True))
    if "" in above:
        world[""] = rot.yaw(np.angle(facing(motion)))
    out = np.empty((len(motion), len(joints), 4))
    for k, joint in enumerate(joints):
        out[:, k] = rot.multiply(rot.inverse(world[above[k]]), world[joint])
    return out


@dataclass(frozen=True)
class QuaternionDistance:
    """Root mean square over the joints of the chord of their rotations' angle, in radians."""

    name: str = "quat"
    joints: tuple[str, ...] = JOINTS
    unit: str = "rad"

    def prepare(self, motion: Motion) -> NDArray[np.float64]:
        """Rows (T, 10 * R): the products ``q q^T`` of every joint's quaternion."""
        q = joint_rotations(motion, self.joints)
        # |qq^T - pp^T|^2 = 2 - 2 (q.p)^2 = 2 sin^2(angle / 2): half the chord squared.
        i, j = np.triu_indices(4)
        twice = np.where(i == j, np.sqrt(2.0), 2.0)  # for the symmetric half
        products = q[..., i] * q[..., j] * (twice / np.sqrt(len(self.joints)))
        return products.reshape(len(q), len(i) * len(self.joints))

    def matrix(self, a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
        """Distances (M, N) between the frames of two motions."""
        return euclidean_matrix(a, b)


@dataclass(frozen=True)
class EulerDistance:
    """Root mean square over the joints of the chords of three Euler angles, in radians."""

    name: str = "euler"
    joints: tuple[str, ...] = JOINTS
    order: str = "ZYX"
    unit: str = "rad"

    def prepare(self, motion: Motion) -> NDArray[np.float64]:
        """Rows (T, 6 * R): cosine and sine of every angle."""
        angles = rot.to_euler(joint_rotations(motion, self.joints), self.order)
        circle = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
        return circle.reshape(len(circle), 6 * len(self.joints)) / np.sqrt(len(self.joints))

    def matrix(self, a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
        """Distances (M, N) between the frames of two motions."""
        return euclidean_matrix(a, b)
