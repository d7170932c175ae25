"""Unit quaternions ``wxyz`` in arrays of any leading shape.

Every function takes arrays whose last axis is the quaternion (or vector) and broadcasts over the
other axes. Euler sequences are written as in BVH: ``"ZYX"`` lists the channels from left to
right, and the rotation is the product of the three in that order (intrinsic; SciPy uses the same
capital letters).

Functions whose name ends in ``_into`` are for Numba code: they write one rotation to `out`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput
from motionloom.kernels import kernel

Array = NDArray[Any]

IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
_AXIS = {"X": 0, "Y": 1, "Z": 2}


def multiply(a: ArrayLike, b: ArrayLike) -> Array:
    """Product of rotations: first `b`, then `a`.

    Parameters
    ----------
    a, b : array_like, shape (..., 4)

    Returns
    -------
    product : ndarray, shape (..., 4)

    Examples
    --------
    >>> quarter = from_axis_angle([0, 1, 0], np.pi / 2)
    >>> multiply(quarter, quarter).round(6) + 0.0
    array([0., 0., 1., 0.])
    """
    a, b = np.asarray(a), np.asarray(b)
    aw, ax, ay, az = a[..., 0], a[..., 1], a[..., 2], a[..., 3]
    bw, bx, by, bz = b[..., 0], b[..., 1], b[..., 2], b[..., 3]
    return _joined(
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )


def _joined(*components: Array) -> Array:
    """Stack components of one shape and type (...) as the last axis; half the time of `np.stack`.

    Motions are short, so the fixed cost of a call matters.
    """
    first = components[0]
    out = np.empty((*first.shape, len(components)), first.dtype)
    for k, component in enumerate(components):
        out[..., k] = component
    return out


def inverse(q: ArrayLike) -> Array:
    """Inverse of unit quaternions, shape (..., 4)."""
    return np.asarray(q) * np.array([1.0, -1.0, -1.0, -1.0], dtype=np.asarray(q).dtype)


def rotate(q: ArrayLike, vectors: ArrayLike) -> Array:
    """Rotate vectors.

    Parameters
    ----------
    q : array_like, shape (..., 4)
    vectors : array_like, shape (..., 3)

    Returns
    -------
    turned : ndarray, shape (..., 3)

    Examples
    --------
    A quarter turn about the vertical rotates the character's forward (+Z) to its left (+X):

    >>> rotate(from_axis_angle([0, 1, 0], np.pi / 2), [0, 0, 1]).round(6) + 0.0
    array([1., 0., 0.])
    """
    q, v = np.asarray(q), np.asarray(vectors)
    w, u = q[..., :1], q[..., 1:]
    t = 2.0 * cross(u, v)
    return v + w * t + cross(u, t)


def cross(a: ArrayLike, b: ArrayLike) -> Array:
    """Cross product (..., 3); three times as fast as NumPy's on a few hundred rows.

    Examples
    --------
    >>> cross([1, 0, 0], [0, 1, 0])
    array([0, 0, 1])
    """
    a, b = np.asarray(a), np.asarray(b)
    ax, ay, az = a[..., 0], a[..., 1], a[..., 2]
    bx, by, bz = b[..., 0], b[..., 1], b[..., 2]
    return _joined(ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx)


def normalize(q: ArrayLike) -> Array:
    """Scale quaternions (..., 4) to unit length; zero quaternions become the identity."""
    q = np.asarray(q, dtype=np.float64)
    length = np.linalg.norm(q, axis=-1, keepdims=True)
    return np.where(length > 0.0, q / np.where(length > 0.0, length, 1.0), IDENTITY)


def from_axis_angle(axis: ArrayLike, angle: ArrayLike) -> Array:
    """Rotation by `angle` (...,) radians about `axis` (..., 3), which may have any length."""
    axis = np.asarray(axis, dtype=np.float64)
    half = 0.5 * np.asarray(angle, dtype=np.float64)[..., None]
    length = np.linalg.norm(axis, axis=-1, keepdims=True)
    vector = np.sin(half) * axis / np.where(length > 0.0, length, 1.0)
    return np.concatenate([np.broadcast_to(np.cos(half), (*vector.shape[:-1], 1)), vector], -1)


def from_euler(angles: ArrayLike, order: str) -> Array:
    """Rotation from Euler angles.

    Parameters
    ----------
    angles : array_like, shape (..., N)
        Angles in radians, one per letter of `order`.
    order : str
        Axes from left to right, for example ``"ZYX"``. Any number of axes is allowed, and axes may
        repeat.

    Returns
    -------
    q : ndarray, shape (..., 4)

    Examples
    --------
    >>> from_euler([np.pi / 2, 0, 0], "ZYX").round(4)
    array([0.7071, 0.    , 0.    , 0.7071])
    """
    angles = np.asarray(angles, dtype=np.float64)
    order = order.upper()
    if set(order) - set("XYZ") or angles.shape[-1:] != (len(order),):
        raise InvalidInput(
            f"angles must have one column for each letter (X, Y or Z) of order {order!r}; "
            f"got shape {angles.shape}"
        )
    q = np.broadcast_to(IDENTITY, (*angles.shape[:-1], 4))
    for column, axis in enumerate(order):
        turn = np.zeros((*angles.shape[:-1], 4))
        turn[..., 0] = np.cos(0.5 * angles[..., column])
        turn[..., 1 + _AXIS[axis]] = np.sin(0.5 * angles[..., column])
        q = multiply(q, turn)
    return q


def to_euler(q: ArrayLike, order: str) -> Array:
    """Euler angles of rotations, for any of the twelve sequences.

    Parameters
    ----------
    q : array_like, shape (..., 4)
    order : str
        Three axes, such as ``"ZYX"`` or ``"XYX"``, with no axis twice in a row.

    Returns
    -------
    angles : ndarray, shape (..., 3)
        Angles in radians, from left to right. The middle angle lies in [-pi/2, pi/2] if all axes
        differ, and in [0, pi] if the first and last axes are the same. In gimbal lock the last
        angle is zero.

    Notes
    -----
    The angles are computed directly from the quaternion's components, without a matrix [1]_.

    References
    ----------
    .. [1] E. Bernardes, S. Viollet. Quaternion to Euler angles conversion: a direct,
       general and computationally efficient method. PLoS ONE 17(11), 2022.

    Examples
    --------
    >>> to_euler(from_euler([0.3, -0.2, 0.1], "ZXY"), "ZXY").round(6)
    array([ 0.3, -0.2,  0.1])
    """
    order = order.upper()
    if len(order) != 3 or set(order) - set("XYZ") or order[0] == order[1] or order[1] == order[2]:
        raise InvalidInput(
            f"order must be three letters X, Y or Z, with none twice in a row; got {order!r}"
        )
    q = np.asarray(q, dtype=np.float64)
    # The method is stated for extrinsic sequences; an intrinsic one is its reverse.
    i, j, k = (_AXIS[axis] for axis in reversed(order))
    proper = i == k
    if proper:
        k = 3 - i - j
    sign = float((i - j) * (j - k) * (k - i) // 2)
    w, x, y, z = q[..., 0], q[..., 1 + i], q[..., 1 + j], q[..., 1 + k] * sign
    if proper:
        a, b, c, d = w, x, y, z
    else:
        a, b, c, d = w - y, x + z, y + w, z - x
    middle = 2.0 * np.arctan2(np.hypot(c, d), np.hypot(a, b))
    half_sum = np.arctan2(b, a)
    half_difference = np.arctan2(d, c)
    locked_low = np.abs(middle) <= 1e-7
    locked_high = np.abs(middle - np.pi) <= 1e-7
    first = half_sum - half_difference  # extrinsic first = intrinsic last
    third = half_sum + half_difference
    first = np.where(locked_low | locked_high, 0.0, first)
    third = np.where(locked_low, 2.0 * half_sum, third)
    third = np.where(locked_high, 2.0 * half_difference, third)
    if not proper:
        third = third * sign
        middle = middle - np.pi / 2
    return np.stack([_wrapped(third), middle, _wrapped(first)], axis=-1)


def _wrapped(angles: Array) -> Array:
    """Wrap angles within two turns to [-pi, pi]; angles already in range keep their exact bits."""
    turns = np.where(angles > np.pi, 1.0, 0.0) - np.where(angles < -np.pi, 1.0, 0.0)
    return np.clip(angles - 2.0 * np.pi * turns, -np.pi, np.pi)


def to_matrix(q: ArrayLike) -> Array:
    """Rotation matrices (..., 3, 3) of unit quaternions (..., 4)."""
    q = np.asarray(q)
    w, x, y, z = q[..., 0], q[..., 1], q[..., 2], q[..., 3]
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def from_matrix(matrix: ArrayLike) -> Array:
    """Unit quaternions (..., 4) of rotation matrices (..., 3, 3), w >= 0."""
    m = np.asarray(matrix, dtype=np.float64)
    # Four candidate pivots; the largest keeps the division far from zero (Shepperd 1978).
    diagonal = np.stack([m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]], axis=-1)
    trace = diagonal.sum(axis=-1)
    squares = np.concatenate(
        [(1.0 + trace)[..., None], 1.0 - trace[..., None] + 2.0 * diagonal], axis=-1
    )
    wx, wy, wz = (
        m[..., 2, 1] - m[..., 1, 2],
        m[..., 0, 2] - m[..., 2, 0],
        m[..., 1, 0] - m[..., 0, 1],
    )
    xy, xz, yz = (
        m[..., 0, 1] + m[..., 1, 0],
        m[..., 0, 2] + m[..., 2, 0],
        m[..., 1, 2] + m[..., 2, 1],
    )
    s = squares
    candidates = np.stack(
        [
            np.stack([s[..., 0], wx, wy, wz], axis=-1),
            np.stack([wx, s[..., 1], xy, xz], axis=-1),
            np.stack([wy, xy, s[..., 2], yz], axis=-1),
            np.stack([wz, xz, yz, s[..., 3]], axis=-1),
        ],
        axis=-2,
    )
    best = np.argmax(squares, axis=-1)[..., None, None]
    q = np.take_along_axis(candidates, best, axis=-2)[..., 0, :]
    q = normalize(q)
    return np.where(q[..., :1] < 0.0, -q, q)


def between(a: ArrayLike, b: ArrayLike) -> Array:
    """Shortest rotation (..., 4) from direction `a` (..., 3) to direction `b`."""
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    a = a / np.linalg.norm(a, axis=-1, keepdims=True)
    b = b / np.linalg.norm(b, axis=-1, keepdims=True)
    a, b = np.broadcast_arrays(a, b)
    w = 1.0 + np.sum(a * b, axis=-1, keepdims=True)
    q = np.concatenate([w, cross(a, b)], axis=-1)
    # Opposite directions: any half turn about a perpendicular axis will do.
    helper = np.where(np.abs(a[..., :1]) < 0.9, [1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    axis = cross(a, helper)
    half_turn = np.concatenate([np.zeros_like(w), axis], axis=-1)
    return normalize(np.where(w < 1e-9, half_turn, q))


def log(q: ArrayLike) -> Array:
    """Rotation vectors (..., 3): axis times angle, angle in [0, pi]."""
    q = np.asarray(q, dtype=np.float64)
    q = np.where(q[..., :1] < 0.0, -q, q)
    sine = np.linalg.norm(q[..., 1:], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(sine, q[..., :1])
    small = sine < 1e-9
    return np.where(small, 2.0, angle / np.where(small, 1.0, sine)) * q[..., 1:]


def exp(vectors: ArrayLike) -> Array:
    """Unit quaternions (..., 4) of rotation vectors (..., 3)."""
    v = np.asarray(vectors, dtype=np.float64)
    half = 0.5 * np.linalg.norm(v, axis=-1, keepdims=True)
    return np.concatenate([np.cos(half), 0.5 * np.sinc(half / np.pi) * v], axis=-1)


def angle_between(a: ArrayLike, b: ArrayLike) -> Array:
    """Angle in radians (...,), 0 to pi, of the rotation from `a` to `b` (..., 4)."""
    relative = multiply(inverse(np.asarray(a, np.float64)), np.asarray(b, np.float64))
    sine = np.linalg.norm(relative[..., 1:], axis=-1)
    return 2.0 * np.arctan2(sine, np.abs(relative[..., 0]))


def slerp(a: ArrayLike, b: ArrayLike, t: ArrayLike) -> Array:
    """Interpolate at fraction `t` (...,) along the shortest great arc from `a` to `b` (..., 4).

    Examples
    --------
    >>> half = slerp(IDENTITY, from_axis_angle([0, 0, 1], 1.0), 0.5)
    >>> bool(np.isclose(angle_between(IDENTITY, half), 0.5))
    True
    """
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    t = np.asarray(t, dtype=np.float64)[..., None]
    dot = np.sum(a * b, axis=-1, keepdims=True)
    b = np.where(dot < 0.0, -b, b)
    angle = np.arccos(np.clip(np.abs(dot), 0.0, 1.0))
    sine = np.sin(angle)
    near = sine < 1e-6  # here the straight line and the arc differ by less than rounding
    safe = np.where(near, 1.0, sine)
    weight_a = np.where(near, 1.0 - t, np.sin((1.0 - t) * angle) / safe)
    weight_b = np.where(near, t, np.sin(t * angle) / safe)
    return normalize(weight_a * a + weight_b * b)


def unroll(q: ArrayLike) -> Array:
    """Flip signs along the first axis so that neighbors (T, ..., 4) lie in one hemisphere."""
    q = np.array(q)
    if len(q) > 1:
        flips = np.where(np.sum(q[1:] * q[:-1], axis=-1) < 0.0, -1, 1)
        q[1:] *= np.cumprod(flips, axis=0)[..., None].astype(q.dtype)
    return q


def yaw(angle: ArrayLike) -> Array:
    """Rotation (..., 4) by `angle` (...,) radians about the vertical, +Y."""
    half = 0.5 * np.asarray(angle, dtype=np.float64)
    q = np.zeros((*half.shape, 4))
    q[..., 0], q[..., 2] = np.cos(half), np.sin(half)
    return q


def yaw_angle(q: ArrayLike) -> Array:
    """Yaw (...,) in radians, -pi to pi, of the rotation about +Y nearest to each of (..., 4).

    This is the twist part of the swing-twist decomposition. It is smooth as long as the body does
    not turn upside down.
    """
    q = np.asarray(q, dtype=np.float64)
    w, y = q[..., 0], q[..., 2]
    return np.arctan2(2.0 * w * y, w * w - y * y)  # twice the angle of the half-angle tangent


@kernel
def multiply_into(a, b, out):
    """Compute ``out = a * b``, each (4,): first `b`, then `a`. `out` must not be `a` or `b`."""
    out[0] = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3]
    out[1] = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2]
    out[2] = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1]
    out[3] = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]


@kernel
def rotate_into(q, v, out):
    """Rotate the vector `v` (3,) by `q` (4,) and write it to ``out``, which may be `v`."""
    # v + w t + u x t with t = 2 u x v: fewer products than with a matrix.
    tx = 2.0 * (q[2] * v[2] - q[3] * v[1])
    ty = 2.0 * (q[3] * v[0] - q[1] * v[2])
    tz = 2.0 * (q[1] * v[1] - q[2] * v[0])
    x = v[0] + q[0] * tx + q[2] * tz - q[3] * ty
    y = v[1] + q[0] * ty + q[3] * tx - q[1] * tz
    z = v[2] + q[0] * tz + q[1] * ty - q[2] * tx
    out[0], out[1], out[2] = x, y, z


@kernel
def log_into(q, out):
    """Write the rotation vector (3,) of `q` (4,), with an angle of at most pi, to ``out``."""
    # q and -q are the same rotation; the one with w >= 0 rotates by at most half a turn.
    sign = 1.0 if q[0] >= 0.0 else -1.0
    square = q[1] * q[1] + q[2] * q[2] + q[3] * q[3]
    if square > 0.04:
        length = math.sqrt(square)
        factor = sign * 2.0 * math.atan2(length, sign * q[0]) / length
    else:  # the series of asin(s) / s, accurate to eight digits up to 23 degrees
        factor = 1.0 + square * (
            1 / 6 + square * (3 / 40 + square * (15 / 336 + square * 105 / 3456))
        )
        factor *= sign * 2.0
    out[0], out[1], out[2] = factor * q[1], factor * q[2], factor * q[3]


@kernel
def exp_into(v, out):
    """Write the quaternion (4,) of the rotation vector `v` (3,) to ``out``."""
    angle = math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    factor = math.sin(0.5 * angle) / angle if angle > 1e-8 else 0.5  # the limit at 0
    out[0] = math.cos(0.5 * angle)
    out[1], out[2], out[3] = factor * v[0], factor * v[1], factor * v[2]


@kernel
def right_jacobian_into(v, out):
    """Write the right Jacobian to ``out`` (3, 3): ``exp(v + d) = exp(v) * exp(out @ d)``."""
    # I - a [v] + b [v]^2 with the cross-product matrix [v]; a and b at 0 are their limits.
    x, y, z = v[0], v[1], v[2]
    square = x * x + y * y + z * z
    if square > 1e-8:
        angle = math.sqrt(square)
        a = (1.0 - math.cos(angle)) / square
        b = (angle - math.sin(angle)) / (square * angle)
    else:
        a, b = 0.5, 1.0 / 6.0
    out[0, 0] = 1.0 - b * (y * y + z * z)
    out[1, 1] = 1.0 - b * (x * x + z * z)
    out[2, 2] = 1.0 - b * (x * x + y * y)
    out[0, 1], out[1, 0] = a * z + b * x * y, -a * z + b * x * y
    out[0, 2], out[2, 0] = -a * y + b * x * z, a * y + b * x * z
    out[1, 2], out[2, 1] = a * x + b * y * z, -a * x + b * y * z


@kernel
def rotate_floor(c, s, x, z):
    """Return the floor position (x, z) rotated by an angle with cosine `c` and sine `s`.

    This is the counterpart of `PlanarTransform` for kernels, which use arrays of ``x, z, yaw``.
    """
    return c * x + s * z, c * z - s * x
