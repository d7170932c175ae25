"""Scalar rotation kernels for Numba code: one rotation at a time, quaternions ``wxyz``."""

from __future__ import annotations

import math

from motionloom.kernels import kernel


@kernel
def multiply_into(a, b, out):
    """``out = a * b``: first `b`, then `a`. `out` must be neither of them."""
    out[0] = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3]
    out[1] = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2]
    out[2] = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1]
    out[3] = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]


@kernel
def rotate_into(q, v, out):
    """``out``: the vector `v` (3,) rotated by `q` (4,)."""
    tx = 2.0 * (q[2] * v[2] - q[3] * v[1])
    ty = 2.0 * (q[3] * v[0] - q[1] * v[2])
    tz = 2.0 * (q[1] * v[1] - q[2] * v[0])
    x = v[0] + q[0] * tx + q[2] * tz - q[3] * ty
    y = v[1] + q[0] * ty + q[3] * tx - q[1] * tz
    z = v[2] + q[0] * tz + q[1] * ty - q[2] * tx
    out[0], out[1], out[2] = x, y, z


@kernel
def log_into(q, out):
    """``out``: the rotation vector (3,) of `q`, of at most half a turn."""
    sign = 1.0 if q[0] >= 0.0 else -1.0
    square = q[1] * q[1] + q[2] * q[2] + q[3] * q[3]
    if square > 0.04:
        length = math.sqrt(square)
        factor = sign * 2.0 * math.atan2(length, sign * q[0]) / length
    else:  # the series of asin(s) / s, good to eight digits up to 23 degrees
        factor = 1.0 + square * (
            1 / 6 + square * (3 / 40 + square * (15 / 336 + square * 105 / 3456))
        )
        factor *= sign * 2.0
    out[0], out[1], out[2] = factor * q[1], factor * q[2], factor * q[3]


@kernel
def exp_into(v, out):
    """``out``: the quaternion (4,) of the rotation vector `v` (3,)."""
    angle = math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    factor = math.sin(0.5 * angle) / angle if angle > 1e-8 else 0.5
    out[0] = math.cos(0.5 * angle)
    out[1], out[2], out[3] = factor * v[0], factor * v[1], factor * v[2]


@kernel
def right_jacobian_into(v, out):
    """``out`` (3, 3): ``exp(v + d) = exp(v) * exp(out @ d)`` for a small `d` (right Jacobian)."""
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
    """Floor position (x, z) after a rotation by `yaw`, given its cosine `c` and sine `s`.

    `PlanarTransform` for kernels, which keep transforms as arrays of ``x, z, yaw``.
    """
    return c * x + s * z, c * z - s * x
