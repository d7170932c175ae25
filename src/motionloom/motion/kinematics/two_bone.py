"""Two bones that reach a point: hip, knee and ankle, or shoulder, elbow and hand.

Two bone lengths and the distance to the target make a triangle, so the bend of the middle
joint is known from the law of cosines alone. What is left is the plane of the triangle,
and a *pole*, the direction in which knee or elbow should point, gives it.

A limb that is pulled straight arrives there with a jerk: near full extension a millimetre
of target moves the knee by centimetres. The soft limit bends the distance smoothly towards
full extension without ever reaching it. Inside the limit the target is met exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput
from motionloom.motion.rotations import quaternions as rot

Array = NDArray[np.float64]


@dataclass(frozen=True)
class TwoBonePose:
    """What `two_bone_pose` finds for T frames.

    Attributes
    ----------
    upper, lower : ndarray, shape (T, 4)
        World rotations ``wxyz`` of the first and of the middle joint.
    middle, end : ndarray, shape (T, 3)
        World positions of the middle joint and of the tip.
    bend : ndarray, shape (T,)
        Angle between the two bones in radians: 0 is straight, never negative.
    reached : ndarray of bool, shape (T,)
        Whether the tip lies on the target (else the soft limit held it back).
    """

    upper: Array
    lower: Array
    middle: Array
    end: Array
    bend: Array
    reached: NDArray[np.bool_]


def two_bone_pose(
    start: ArrayLike,
    target: ArrayLike,
    pole: ArrayLike,
    *,
    upper_bone: ArrayLike,
    lower_bone: ArrayLike,
    hinge: ArrayLike,
    softness: ArrayLike = 0.01,
) -> TwoBonePose:
    """Rotations of two bones whose tip reaches a target, bent towards a pole.

    Parameters
    ----------
    start : array_like, shape (T, 3)
        World position of the first joint (hip, shoulder).
    target : array_like, shape (T, 3)
        Where the tip should be.
    pole : array_like, shape (T, 3)
        World direction in which the middle joint points; only its part square to the line
        from start to target counts.
    upper_bone, lower_bone : array_like, shape (3,) or (T, 3)
        The bones at rest, each in the frame of the joint that carries it, in metres.
    hinge : array_like, shape (3,)
        Axis at rest about which the middle joint bends by a positive angle: ``(1, 0, 0)``
        for a knee below a hip that faces +Z.
    softness : float or array_like, shape (T,)
        The last part of the reach, as a fraction, over which the limb resists being
        straightened. 0 turns the soft limit off.

    Returns
    -------
    pose : TwoBonePose

    Examples
    --------
    A leg of twice 0.4 m, the foot 0.6 m below the hip; the knee goes forward:

    >>> leg = two_bone_pose([[0, 1, 0]], [[0, 0.4, 0]], [[0, 0, 1]],
    ...                     upper_bone=[0, -0.4, 0], lower_bone=[0, -0.4, 0], hinge=[1, 0, 0])
    >>> leg.end.round(6), bool(leg.middle[0, 2] > 0.2)
    (array([[0. , 0.4, 0. ]]), True)
    """
    start, target, pole = (
        _rows("start", start),
        _rows("target", target),
        _rows("pole", pole),
    )
    upper_bone, lower_bone = (
        _rows("upper_bone", upper_bone),
        _rows("lower_bone", lower_bone),
    )
    soft = np.asarray(softness, dtype=np.float64)
    if not np.all((soft >= 0.0) & (soft < 1.0)):
        raise InvalidInput(f"softness must lie in [0, 1); got {soft}")
    length_a = np.linalg.norm(upper_bone, axis=-1)
    length_b = np.linalg.norm(lower_bone, axis=-1)
    if np.any(length_a <= 0.0) or np.any(length_b <= 0.0):
        raise InvalidInput("upper_bone and lower_bone must not have zero length")

    line = target - start
    asked = np.linalg.norm(line, axis=-1)
    reach = soft_reach(asked, length_a + length_b, softness=soft)
    shortest = np.abs(length_a - length_b) * 1.001 + 1e-6
    distance = np.maximum(reach, shortest)
    along = _unit(line, fallback=np.array([0.0, -1.0, 0.0]))
    across = _square_to(along, pole)

    # Law of cosines: angle at the first joint, between the line and the upper bone.
    cosine = (length_a**2 + distance**2 - length_b**2) / (2.0 * length_a * distance)
    cosine = np.clip(cosine, -1.0, 1.0)[:, None]
    sine = np.sqrt(1.0 - cosine**2)
    middle = start + length_a[:, None] * (cosine * along + sine * across)
    end = start + distance[:, None] * along
    # Bending turns the upper bone towards the line: about across x along.
    axis = rot.cross(across, along)
    first, second = _unit(middle - start, along), _unit(end - middle, along)
    dot = np.clip(np.sum(first * second, axis=-1), -1.0, 1.0)
    return TwoBonePose(
        upper=_frame_to_frame(upper_bone, hinge, first, axis),
        lower=_frame_to_frame(lower_bone, hinge, second, axis),
        middle=middle,
        end=end,
        bend=np.arccos(dot),
        reached=np.abs(distance - asked) < 1e-9,
    )


def soft_reach(distance: ArrayLike, length: ArrayLike, *, softness: ArrayLike) -> Array:
    """Distance (T,) a limb of `length` spans when asked for `distance`: never quite `length`.

    Equal to `distance` up to ``(1 - softness) * length``, then an exponential approach with
    the same slope.

    Examples
    --------
    >>> soft_reach([0.5, 0.99, 1.5], 1.0, softness=0.1).round(3)
    array([0.5  , 0.959, 1.   ])
    """
    distance = np.asarray(distance, dtype=np.float64)
    length = np.asarray(length, dtype=np.float64)
    zone = np.asarray(softness, dtype=np.float64) * length
    excess = np.maximum(distance - (length - zone), 0.0)
    bent = zone * -np.expm1(-excess / np.where(zone > 0.0, zone, 1.0))
    return np.minimum(distance, length - zone) + bent


def swung_direction(rest: ArrayLike, direction: ArrayLike, carried: ArrayLike) -> Array:
    """`carried` (3,) taken along by the shortest turn from `rest` (3,) to `direction` (T, 3).

    How a pole follows its limb: a knee that points forward under a hanging leg points up
    once the leg is swung forward.

    Examples
    --------
    >>> swung_direction([0, -1, 0], [[0, 0, 1]], [0, 0, 1]).round(6) + 0.0
    array([[0., 1., 0.]])
    """
    return rot.rotate(rot.between(rest, direction), np.asarray(carried, dtype=np.float64))


def _frame_to_frame(bone: Array, hinge: ArrayLike, direction: Array, axis: Array) -> Array:
    """Rotation that takes the bone to `direction` and the hinge's square part to `axis`."""
    from_bone = _unit(bone, direction)
    rest = _basis(from_bone, _square_to(from_bone, _rows("hinge", hinge)))
    world = _basis(direction, axis)
    return rot.unroll(rot.from_matrix(world @ np.swapaxes(rest, -1, -2)))


def _basis(first: Array, second: Array) -> Array:
    return np.stack([first, second, rot.cross(first, second)], axis=-1)


def _square_to(along: Array, vector: Array) -> Array:
    """Unit vectors: the part of `vector` square to `along`; any such where there is none."""
    along, vector = np.broadcast_arrays(along, vector)
    part = vector - np.sum(vector * along, axis=-1, keepdims=True) * along
    spare = np.where(np.abs(along[..., :1]) < 0.9, [1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    return _unit(part, _unit(rot.cross(along, spare), along))


def _unit(vector: Array, fallback: Array) -> Array:
    length = np.linalg.norm(vector, axis=-1, keepdims=True)
    return np.where(length > 1e-12, vector / np.where(length > 1e-12, length, 1.0), fallback)


def _rows(name: str, value: ArrayLike) -> Array:
    array = np.atleast_2d(np.asarray(value, dtype=np.float64))
    if array.ndim != 2 or array.shape[1] != 3:
        raise InvalidInput(f"{name} must have shape (T, 3) or (3,); got {array.shape}")
    return array
