"""Which way a body faces on the floor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.motion import rotations as rot

if TYPE_CHECKING:
    from motionloom.motion.motion import Motion

_SIDES = ("hip", "shoulder")


def headings(motion: Motion) -> NDArray[np.float64]:
    """Facing direction of every frame, shape (T,); see `Motion.headings`."""
    roles = motion.skeleton.roles
    sides = [side for side in _SIDES if f"left_{side}" in roles and f"right_{side}" in roles]
    if not sides:
        return np.unwrap(rot.yaw_angle(motion.rotations[:, 0]))
    left = motion.role_positions([f"left_{side}" for side in sides]).astype(np.float64)
    right = motion.role_positions([f"right_{side}" for side in sides]).astype(np.float64)
    across = (left - right).sum(axis=1)
    # Square to the line from right to left, on the floor: across x up.
    return np.unwrap(np.arctan2(-across[:, 2], across[:, 0]))
