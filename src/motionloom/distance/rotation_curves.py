"""Rotation curves: the angles of each joint over time, as animators see them in a curve editor.

A joint's rotation is taken from the body part above it and from the rest pose (see
`motionloom.distance.joint_angles`), and written as Euler angles in the order Z, Y, X, the
order of CMU's files, in degrees. Angles are *unwrapped*: a joint that turns on past 180
degrees goes on to 181, and of the two triples of angles that mean the same rotation the one
nearer to the frame before is taken, so that curves jump only where the joint does.

Joints that a skeleton does not have leave columns without numbers; measures compare the
joints that two clips have in common.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.distance.joint_angles import joint_rotations
from motionloom.errors import InvalidInput
from motionloom.motion import Motion, Skeleton
from motionloom.motion import rotations as rot

ORDER = "ZYX"

_SIDES = ("left", "right")
_TRUNK = {"hips": "", "spine": "hips", "chest": "spine", "neck": "chest", "head": "neck"}
_LIMBS = {
    "collar": "chest", "shoulder": "chest", "elbow": "shoulder", "wrist": "elbow",
    "hand": "wrist", "hip": "hips", "knee": "hip", "ankle": "knee", "foot": "ankle",
}  # fmt: skip

CURVE_PARENTS: dict[str, str] = {
    **_TRUNK,
    **{
        f"{side}_{limb}": parent if parent in _TRUNK else f"{side}_{parent}"
        for side in _SIDES
        for limb, parent in _LIMBS.items()
    },
}
"""Joints that have curves, and the body part each is measured from; the hips, from the way
the body faces."""

CURVE_JOINTS: tuple[str, ...] = tuple(CURVE_PARENTS)

_IMPORTANCE = {
    "hips": 1.0, "spine": 1.0, "chest": 1.0, "neck": 0.5, "head": 0.5,
    "collar": 0.25, "shoulder": 1.0, "elbow": 1.0, "wrist": 0.5, "hand": 0.1,
    "hip": 1.0, "knee": 1.0, "ankle": 0.5, "foot": 0.25,
}  # fmt: skip

JOINT_IMPORTANCE: dict[str, float] = {
    joint: _IMPORTANCE[joint.removeprefix("left_").removeprefix("right_")]
    for joint in CURVE_PARENTS
}
"""How much a joint counts by what an onlooker sees of it: limbs and trunk fully, the joints
that end them half or less, fingers hardly at all (Tam et al. 2007, section 3: the arm above
the finger; the numbers are ours)."""


def curve_joints(skeleton: Skeleton) -> tuple[str, ...]:
    """Those of `CURVE_JOINTS` whose curves a skeleton has.

    Examples
    --------
    >>> import motionloom as ml
    >>> curve_joints(ml.demo.clip("walk").skeleton)[:3]
    ('hips', 'spine', 'chest')
    """
    roles = skeleton.roles
    return tuple(
        joint
        for joint, parent in CURVE_PARENTS.items()
        if joint in roles and (parent in roles or not parent)
    )


def rotation_curves(motion: Motion, joints: tuple[str, ...] = CURVE_JOINTS) -> NDArray[np.float64]:
    """Angles about Z, Y and X of each joint over time, unwrapped.

    Parameters
    ----------
    motion : Motion
        T frames.
    joints : tuple of str, length R
        Out of `CURVE_JOINTS`.

    Returns
    -------
    curves : ndarray, shape (T, R, 3)
        Degrees. NaN for joints that the skeleton lacks.

    Raises
    ------
    InvalidInput
        If a joint is not one of `CURVE_JOINTS`.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk")
    >>> knees = rotation_curves(walk, ("left_knee", "right_knee"))
    >>> knees.shape == (len(walk), 2, 3), bool(np.ptp(knees[:, 0], axis=0).max() > 30.0)
    (True, True)
    """
    for joint in joints:
        if joint not in CURVE_PARENTS:
            raise InvalidInput(f"no curve is called {joint!r}; there are {', '.join(CURVE_JOINTS)}")
    out = np.full((len(motion), len(joints), 3), np.nan)
    there = tuple(joint for joint in curve_joints(motion.skeleton) if joint in joints)
    if there:
        turns = joint_rotations(motion, there, parents=CURVE_PARENTS)
        for k, joint in enumerate(there):
            angles = np.degrees(rot.to_euler(turns[:, k], ORDER))
            out[:, joints.index(joint)] = unwrapped(angles)
    return out


def unwrapped(angles: ArrayLike) -> NDArray[np.float64]:
    """Euler angles over time without jumps of whole turns or to the other triple.

    Parameters
    ----------
    angles : array_like, shape (T, 3)
        Degrees, of an order with three different axes.

    Returns
    -------
    angles : ndarray, shape (T, 3)
        The same rotations; the first frame is unchanged.

    Examples
    --------
    >>> unwrapped([[170.0, 0.0, 0.0], [-170.0, 0.0, 0.0]]).tolist()
    [[170.0, 0.0, 0.0], [190.0, 0.0, 0.0]]
    """
    angles = np.array(angles, dtype=np.float64)
    if angles.ndim != 2 or angles.shape[1] != 3:
        raise InvalidInput(f"angles must have shape (T, 3); got {angles.shape}")
    _unwrap(angles)
    return angles


@nb.njit(cache=True, nogil=True)
def _unwrap(angles):
    other = np.empty(3)
    for t in range(1, len(angles)):
        # Turning the outer angles by half a turn and folding the middle one over is the
        # same rotation.
        other[0], other[1], other[2] = (
            angles[t, 0] + 180.0,
            180.0 - angles[t, 1],
            angles[t, 2] + 180.0,
        )
        plain, folded = 0.0, 0.0
        for k in range(3):
            angles[t, k] -= 360.0 * np.rint((angles[t, k] - angles[t - 1, k]) / 360.0)
            other[k] -= 360.0 * np.rint((other[k] - angles[t - 1, k]) / 360.0)
            plain += (angles[t, k] - angles[t - 1, k]) ** 2
            folded += (other[k] - angles[t - 1, k]) ** 2
        if folded < plain:
            for k in range(3):
                angles[t, k] = other[k]
