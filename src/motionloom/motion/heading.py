"""Which way a body faces on the floor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.motion.rotations import quaternions as rot

if TYPE_CHECKING:
    from motionloom.motion.motion import Motion

_SIDES = ("hip", "shoulder")


def headings(motion: Motion) -> NDArray[np.float64]:
    """Facing direction of every frame, shape (T,); see `Motion.headings`."""
    return np.unwrap(np.angle(facing(motion)))


def facing(motion: Motion, points: NDArray[np.float32] | None = None) -> NDArray[np.complex128]:
    """Facing direction of every frame as a number on the unit circle, shape (T,).

    Parameters
    ----------
    motion : Motion
    points : ndarray, shape (T, J + E, 3), optional
        ``motion.positions(end_sites=True)``, where the caller has them already.

    Returns
    -------
    facing : ndarray of complex, shape (T,)
        ``cos(h) + i sin(h)`` of the heading `h`: 1 faces +Z, ``1j`` faces +X. A frame with
        missing values is NaN, and spoils no other.
    """
    roles = motion.skeleton.roles
    sides = [side for side in _SIDES if f"left_{side}" in roles and f"right_{side}" in roles]
    if not sides:
        return np.exp(1j * rot.yaw_angle(motion.rotations[:, 0]))
    if points is None:
        points = motion.positions(end_sites=True)
    across = np.zeros((len(points), 3))
    for side in sides:
        across += points[:, motion.skeleton.point(f"left_{side}")]
        across -= points[:, motion.skeleton.point(f"right_{side}")]
    # Square to the line from right to left, on the floor: across x up.
    direction = across[:, 0] - 1j * across[:, 2]
    length = np.abs(direction)
    upright = length > 0.0
    return np.where(
        upright | np.isnan(length), direction / np.where(upright, length, 1.0), 1.0 + 0.0j
    )
