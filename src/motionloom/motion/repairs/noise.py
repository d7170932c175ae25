"""Repair of noise, spikes and missing frames in the rotations and the path of a motion.

The smoother of `motionloom.motion.denoising` works on points. A rotation is therefore represented
by two points on its axes, a hand's breadth to an arm's length away from the joint: noise in a
rotation then has the size that it has at the end of the bones below. Local rotations are smoothed,
because bones keep their lengths that way.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from motionloom.motion.denoising import QUIET, denoise_positions
from motionloom.motion.motion import Motion
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.rotations.directions import unit

Array = NDArray[np.float64]

_LEVER = 0.25  # meters
_LEAST_FRAMES = 6


def missing_frames(motion: Motion) -> NDArray[np.bool_]:
    """Return a mask (T,) of the frames with missing or infinite values."""
    finite = np.isfinite(motion.rotations).all(axis=(1, 2))
    return ~(finite & np.isfinite(motion.root).all(axis=1))


def without_gaps(motion: Motion) -> Motion:
    """Return `motion` with missing frames filled from the frames around them.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk")
    >>> root = walk.root.copy()
    >>> root[40:50] = np.nan
    >>> filled = without_gaps(replace(walk, root=root))
    >>> bool(abs(filled.root - walk.root).max() < 0.05)
    True
    """
    return _denoised(motion, only_missing=True)


def without_noise(motion: Motion) -> Motion:
    """Return `motion` with its rotations and its path smoothed; impacts stay.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk, rng = ml.demo.clip("walk"), np.random.default_rng(0)
    >>> noise = rot.exp(rng.normal(scale=0.02, size=(*walk.rotations.shape[:2], 3)))
    >>> noisy = replace(walk, rotations=rot.multiply(walk.rotations, noise))
    >>> def error(motion):
    ...     return float(abs(motion.positions() - walk.positions()).mean())
    >>> error(without_noise(noisy)) < 0.7 * error(noisy)
    True
    """
    return _denoised(motion, only_missing=False)


def _denoised(motion: Motion, *, only_missing: bool) -> Motion:
    q = motion.rotations.astype(np.float64)
    root = motion.root.astype(np.float64)
    missing = missing_frames(motion)
    if len(motion) < _LEAST_FRAMES or missing.all():
        return motion
    axes = rot.to_matrix(np.where(np.isfinite(q), q, np.nan))[..., :2]  # (T, J, 3, 2)
    points = np.concatenate([_LEVER * axes[..., 0], _LEVER * axes[..., 1], root[:, None]], axis=1)
    points[missing] = np.nan
    quiet = QUIET if only_missing else 0.0
    smooth = denoise_positions(points, fps=motion.fps, quiet=quiet).positions
    joints = q.shape[1]
    first, second = smooth[:, :joints], smooth[:, joints : 2 * joints]
    turned = rot.from_matrix(_orthonormal(first, second))
    changed = missing if only_missing else np.ones(len(q), bool)
    q[changed] = turned[changed]
    root[changed] = smooth[changed, -1]
    return replace(motion, rotations=rot.unroll(q), root=root)


def _orthonormal(first: Array, second: Array) -> Array:
    """Return rotation matrices (..., 3, 3) whose first two columns are nearest to two vectors."""
    a, b = unit(first), unit(second)
    middle, across = unit(a + b), unit(a - b)
    half = np.sqrt(0.5)
    x, y = half * (middle + across), half * (middle - across)
    return np.stack([x, y, np.cross(x, y)], axis=-1)
