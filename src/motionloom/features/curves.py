"""Joint rotation curves, simplified with the Douglas-Peucker method.

The rotation of a joint is relative to the body part above it and to the rest pose (see
`motionloom.features.joint_angles`). It is given as Euler angles in degrees, in the order Z, Y, X,
as in CMU files. Angles are *unwrapped*: a joint that rotates past 180 degrees continues to 181. Two
angle triples describe the same rotation. The triple closer to the previous frame is used, so that
curves jump only where the joint itself jumps. Curves of similar motions may still differ by a whole
turn, because 179.8 and -179.8 degrees in the first frame are only 0.4 degrees apart. Measures
therefore compare curves up to whole turns (`whole_turns`). Columns are NaN for joints that a
skeleton lacks; measures compare the joints that two clips have in common.

The Douglas-Peucker method approximates the curve by a straight line from the first point to the
last. If the largest distance from the line exceeds a threshold, the curve is split there, and each
half is treated in the same way. Distances are measured at the time of the point, which makes the
threshold the maximum error of the polyline in the unit of the curve. Alternatively, distances are
measured perpendicular to the line, as in [1]; a frame then counts as one degree. Each remaining
point represents the frames nearest to it, and their number is its *mass*. The masses of an N-frame
curve add up to N.

References
----------
.. [1] D. Douglas, T. Peucker. Algorithms for the reduction of the number of points required
   to represent a digitized line or its caricature. The Canadian Cartographer 10, 1973.
.. [2] G. Tam, Q. Zheng, M. Corbyn, R. Lau. Motion retrieval based on energy morphing.
   ISM 2007, section 3.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput
from motionloom.features.joint_angles import joint_rotations
from motionloom.kernels import kernel
from motionloom.motion import Motion, Skeleton
from motionloom.motion.rotations import quaternions as rot

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
"""Joints that have curves, each with its parent. The hips are relative to the heading."""

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
"""Weight of each joint according to its visibility: full weight for limbs and trunk, half
or less for the joints at their ends, and almost none for fingers. Tam et al. (2007), section 3,
rank the arm above the finger; the numbers are motionloom's."""


def joint_weights(weights: str | Mapping[str, float] = "importance") -> dict[str, float]:
    """Return the weight of each joint in `CURVE_JOINTS`.

    Parameters
    ----------
    weights : str or mapping
        ``"importance"`` (`JOINT_IMPORTANCE`), ``"equal"``, or weights for some joints, as a
        mapping or as a string like ``"left_hand=0,right_hand=0"``. Other joints keep their
        importance.

    Raises
    ------
    InvalidInput
        If a joint does not have a curve, a weight is negative or not a number, or all weights are
        zero.

    Examples
    --------
    >>> joint_weights("equal")["left_hand"], joint_weights("left_hand=2")["left_hand"]
    (1.0, 2.0)
    """
    if weights == "importance":
        return dict(JOINT_IMPORTANCE)
    if weights == "equal":
        return dict.fromkeys(CURVE_JOINTS, 1.0)
    out = dict(JOINT_IMPORTANCE)
    pairs: Iterable[tuple[str, Any]]
    if isinstance(weights, str):
        if "=" not in weights:
            raise InvalidInput(
                f"joint_weights must be importance, equal or JOINT=WEIGHT,...; got {weights!r}"
            )
        pairs = [
            (part.partition("=")[0].strip(), part.partition("=")[2]) for part in weights.split(",")
        ]
    else:
        pairs = weights.items()
    for joint, value in pairs:
        if joint not in out:
            raise InvalidInput(
                f"no curve is called {joint!r}; the curves are {', '.join(CURVE_JOINTS)}"
            )
        try:
            out[joint] = float(value)
        except (TypeError, ValueError):
            raise InvalidInput(f"the weight of {joint} must be a number; got {value!r}") from None
    if not all(0.0 <= value < float("inf") for value in out.values()) or not any(out.values()):
        raise InvalidInput("joint_weights must not be negative, and at least one must be positive")
    return out


def curve_joints(skeleton: Skeleton) -> tuple[str, ...]:
    """Return the `CURVE_JOINTS` that a skeleton has.

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
    """Return the unwrapped angles about Z, Y and X of each joint over time.

    Parameters
    ----------
    motion : Motion
        T frames.
    joints : tuple of str, length R
        A selection of `CURVE_JOINTS`.

    Returns
    -------
    curves : ndarray, shape (T, R, 3)
        Angles in degrees; NaN for joints that the skeleton lacks.

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
            raise InvalidInput(
                f"no curve is called {joint!r}; the curves are {', '.join(CURVE_JOINTS)}"
            )
    out = np.full((len(motion), len(joints), 3), np.nan)
    there = tuple(joint for joint in curve_joints(motion.skeleton) if joint in joints)
    if there:
        turns = joint_rotations(motion, there, parents=CURVE_PARENTS)
        for k, joint in enumerate(there):
            angles = np.degrees(rot.to_euler(turns[:, k], ORDER))
            out[:, joints.index(joint)] = unwrapped(angles)
    return out


def unwrapped(angles: ArrayLike) -> NDArray[np.float64]:
    """Make Euler angles continuous over time by using equivalent angles.

    Parameters
    ----------
    angles : array_like, shape (T, 3)
        Angles in degrees about three different axes.

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


@kernel
def _unwrap(angles):
    """Unwrap angles (T, 3) in degrees in place, bringing each frame close to the previous frame."""
    other = np.empty(3)
    for t in range(1, len(angles)):
        # Adding half a turn to the outer angles and reflecting the middle one gives the same
        # rotation.
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


def whole_turns(a: NDArray, b: NDArray) -> NDArray[np.float64]:
    """Return the multiples of 360 degrees that bring the column means of `b` closest to `a`.

    Parameters
    ----------
    a, b : ndarray, shapes (..., D)
        Means of the columns, in degrees.

    Examples
    --------
    >>> whole_turns(np.array([179.8, 10.0]), np.array([-179.8, -20.0])).tolist()
    [360.0, 0.0]
    """
    # A difference of exactly half a turn is not changed, which keeps the distance symmetric.
    apart = (np.asarray(a, np.float64) - np.asarray(b, np.float64)) / 360.0
    return 360.0 * np.sign(apart) * np.abs(np.ceil(np.abs(apart) - 0.5)) + 0.0


THRESHOLD = 10.0  # degrees; Tam et al. 2007, section 4.3


def kept_frames(
    curve: ArrayLike, *, threshold: float = THRESHOLD, perpendicular: bool = False
) -> NDArray[np.int64]:
    """Return the frames of a curve that the Douglas-Peucker method keeps.

    Parameters
    ----------
    curve : array_like, shape (T, D)
        At least one point; all numbers finite.
    threshold : float
        Maximum distance from the straight lines, in the curve's unit.
    perpendicular : bool
        If True, measure distances perpendicular to the line, with a frame as one unit of the curve.
        Otherwise, measure them at the time of the frame.

    Returns
    -------
    frames : ndarray of int64, shape (n,)
        Frame numbers in ascending order, always including the first and the last frame.

    Raises
    ------
    InvalidInput
        If the curve has no points or contains numbers that are not finite, or if the threshold is
        negative.

    Examples
    --------
    >>> kept_frames([[0.0], [1.0], [20.0], [1.0], [0.0]], threshold=5.0).tolist()
    [0, 1, 2, 3, 4]
    >>> kept_frames([[0.0], [11.0], [20.0], [11.0], [0.0]], threshold=5.0).tolist()
    [0, 2, 4]
    """
    points = np.ascontiguousarray(curve, dtype=np.float64)
    if points.ndim != 2 or 0 in points.shape:
        raise InvalidInput(
            f"curve must have shape (T, D) with T and D at least 1; got {points.shape}"
        )
    if not np.isfinite(points).all():
        bad = int(np.flatnonzero(~np.isfinite(points).all(axis=1))[0])
        raise InvalidInput(f"curve must contain only finite numbers; frame {bad} does not")
    if not threshold >= 0.0:
        raise InvalidInput(f"threshold must not be negative; got {threshold}")
    return np.flatnonzero(split(points, threshold, perpendicular))


def masses(frames: ArrayLike, count: int, *, following: bool = False) -> NDArray[np.float64]:
    """Return how many of the `count` frames each kept frame represents.

    Parameters
    ----------
    frames : array_like of int, shape (n,)
        Kept frames in ascending order, from 0 to ``count - 1``.
    count : int
    following : bool
        Count the frames from each kept frame up to the next. By default, frames count toward the
        nearest kept frame.

    Returns
    -------
    masses : ndarray, shape (n,)
        Masses whose sum is `count`.

    Examples
    --------
    >>> masses([0, 2, 7], 8).tolist()
    [1.5, 3.5, 3.0]
    >>> masses([0, 2, 7], 8, following=True).tolist()
    [2.0, 5.0, 1.0]
    """
    frames = np.asarray(frames, dtype=np.float64)
    if following:
        return np.diff(frames, append=float(count))
    # A frame midway between two kept frames counts half for each.
    edges = np.concatenate([[-0.5], 0.5 * (frames[1:] + frames[:-1]), [count - 0.5]])
    return np.diff(edges)


@kernel
def split(points, threshold, perpendicular):
    """Return a mask of the kept points (T, D), computed with a stack of segments to split.

    A segment is split at the point farthest from the line between its ends, as long as this
    distance exceeds `threshold`. The distance is measured at the time of the point or, with
    `perpendicular`, to the nearest point of the line, with a frame as one unit.
    """
    count, width = points.shape
    keep = np.zeros(count, np.bool_)
    keep[0] = keep[count - 1] = True
    waiting = np.empty((count + 1, 2), np.int64)
    waiting[0, 0], waiting[0, 1] = 0, count - 1
    left = 1
    while left > 0:
        left -= 1
        first, last = waiting[left, 0], waiting[left, 1]
        worst, where = threshold * threshold, -1
        for t in range(first + 1, last):
            share = (t - first) / (last - first)
            if perpendicular:
                along, line = 1.0 * (t - first) * (last - first), 1.0 * (last - first) ** 2
                for k in range(width):
                    step = points[last, k] - points[first, k]
                    along += (points[t, k] - points[first, k]) * step
                    line += step * step
                share = along / line
                gap = (t - first - share * (last - first)) ** 2
            else:
                gap = 0.0
            for k in range(width):
                place = points[first, k] + share * (points[last, k] - points[first, k])
                gap += (points[t, k] - place) ** 2
            if gap > worst:
                worst, where = gap, t
        if where >= 0:
            keep[where] = True
            waiting[left, 0], waiting[left, 1] = first, where
            waiting[left + 1, 0], waiting[left + 1, 1] = where, last
            left += 2
    return keep
