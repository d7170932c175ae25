"""Random motions that are smooth in time: a small tree near its rest pose."""

from __future__ import annotations

from scipy.ndimage import gaussian_filter1d

from motionloom.motion import Motion, Skeleton
from motionloom.motion.rotations import quaternions as rot

TREE = Skeleton(
    ["hips", "spine", "head", "arm", "hand"],
    [-1, 0, 1, 1, 3],
    [[0, 0, 0], [0, 0.3, 0], [0, 0.3, 0], [0.2, 0.2, 0], [0.3, 0, 0]],
)


def smooth_motion(rng, *, frames: int, spread: float = 1.5) -> Motion:
    """`frames` frames at 30 fps; joints turn by up to about `spread` radians."""
    turns = gaussian_filter1d(rng.normal(size=(frames, len(TREE), 3)), 2.0, axis=0)
    root = gaussian_filter1d(rng.normal(size=(frames, 3)), 2.0, axis=0) + [0.0, 1.0, 0.0]
    return Motion(TREE, rot.exp(spread * turns), root, 30)
