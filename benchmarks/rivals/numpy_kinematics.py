"""Forward kinematics in plain NumPy.

Both versions are vectorized over frames and loop over joints. `by_matrices` is the usual one, with
rotation matrices and ``@``. `by_components` is the fastest version we know: every component of a
quaternion is one row of frames, so each line below is one pass over contiguous memory.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]


def by_matrices(rotations: Floats, root: Floats, parents: list[int], offsets: Floats) -> Floats:
    """World positions (T, J, 3) from local rotations (T, J, 4) ``wxyz``, by matrices."""
    turn = _matrices(np.ascontiguousarray(rotations.transpose(1, 0, 2)))  # (J, T, 3, 3)
    place = np.empty((*turn.shape[:2], 3), rotations.dtype)
    place[0] = root
    for joint, parent in enumerate(parents):
        if joint:
            place[joint] = place[parent] + turn[parent] @ offsets[joint]
            turn[joint] = turn[parent] @ turn[joint]
    return np.ascontiguousarray(place.transpose(1, 0, 2))


def by_components(rotations: Floats, root: Floats, parents: list[int], offsets: Floats) -> Floats:
    """World positions (T, J, 3) from local rotations (T, J, 4) ``wxyz``, by components."""
    turn = rotations.transpose(1, 2, 0).copy()  # (J, 4, T); first local, then global rotations
    place = np.empty((turn.shape[0], 3, turn.shape[2]), rotations.dtype)
    place[0] = root.T
    for joint, parent in enumerate(parents):
        if joint == 0:
            continue
        aw, ax, ay, az = turn[parent]
        bw, bx, by, bz = turn[joint]
        ox, oy, oz = offsets[joint]
        tx, ty, tz = (
            2 * (ay * oz - az * oy),
            2 * (az * ox - ax * oz),
            2 * (ax * oy - ay * ox),
        )
        place[joint, 0] = place[parent, 0] + ox + aw * tx + ay * tz - az * ty
        place[joint, 1] = place[parent, 1] + oy + aw * ty + az * tx - ax * tz
        place[joint, 2] = place[parent, 2] + oz + aw * tz + ax * ty - ay * tx
        turn[joint] = (
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        )
    return np.ascontiguousarray(place.transpose(2, 0, 1))


def _matrices(q: Floats) -> Floats:
    """Rotation matrices (..., 3, 3) of unit quaternions (..., 4)."""
    w, x, y, z = np.moveaxis(q, -1, 0)
    x2, y2, z2 = x + x, y + y, z + z
    xx, yy, zz, xy, xz, yz = x * x2, y * y2, z * z2, x * y2, x * z2, y * z2
    wx, wy, wz = w * x2, w * y2, w * z2
    m = np.empty((*q.shape[:-1], 3, 3), q.dtype)
    m[..., 0, 0], m[..., 0, 1], m[..., 0, 2] = 1 - yy - zz, xy - wz, xz + wy
    m[..., 1, 0], m[..., 1, 1], m[..., 1, 2] = xy + wz, 1 - xx - zz, yz - wx
    m[..., 2, 0], m[..., 2, 1], m[..., 2, 2] = xz - wy, yz + wx, 1 - xx - yy
    return m
