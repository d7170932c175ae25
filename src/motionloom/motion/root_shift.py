"""How the root goes along when feet are held.

A leg that stands straight would have to bend its knee by many degrees for a few millimetres
of its ankle. So the root moves first, as in Kovar, Schreiner and Gleicher (2002), who lower
it for the same reason: along with straight legs, and down to what is out of reach.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solveh_banded
from scipy.ndimage import gaussian_filter1d, maximum_filter1d

from motionloom.motion.reaching import Limb

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

_LONGEST = 0.995  # share of its length to which a leg may be pulled that was not so straight
# Weight of the root's acceleration against its way and the legs' lengths. Measured on 50
# walks of CMU: ten times more turns knees, ten times less shakes the root.
_STEADY = 2e-6
_JITTER_SECONDS = 0.05  # accelerations that change faster than this are noise
_ENVELOPE_SECONDS = 0.12


def root_shift(
    limbs: Sequence[Limb], ankles: Sequence[Array], root: Array, standing: Mask, fps: float
) -> Array:
    """How far the root moves for legs whose ankles move.

    Least squares over all frames: the distances from hip to ankle change little, weighed by
    how far the knee would turn for it; the root moves little, and is not shaken. Where a foot
    stands, jitter of the captured root is taken out: the foot does not share it any more,
    and the knee would have to make up for it.

    Parameters
    ----------
    limbs : sequence of Limb
        The legs as they are, T frames.
    ankles : sequence of ndarray, shape (T, 3)
        Where their ankles should be.
    root : ndarray, shape (T, 3)
        Path of the root.
    standing : ndarray of bool, shape (T,)
        Whether any foot stands.
    fps : float

    Returns
    -------
    shift : ndarray, shape (T, 3)
    """
    frames = len(root)
    band = np.zeros((7, frames, 3))  # upper diagonals of a (3 T, 3 T) matrix
    band[6] = 1.0
    right = np.zeros((frames, 3))
    for limb, ankle in zip(limbs, ankles, strict=True):
        line = limb.end - limb.start
        along = line / np.maximum(np.linalg.norm(line, axis=-1, keepdims=True), 1e-9)
        stiff = _stiffness(limb)
        wanted = np.sum((ankle - limb.end) * along, axis=-1)
        right += (stiff * wanted)[:, None] * along
        for row in range(3):
            for column in range(row, 3):
                part = stiff * along[:, row] * along[:, column]
                band[6 - (column - row), :, column] += part
    if frames >= 3:
        _add_steadiness(band, right, _jitter(root, standing, fps), fps)
    shift = solveh_banded(band.reshape(7, 3 * frames), right.ravel()).reshape(frames, 3)
    drop = np.zeros(frames)
    for limb, ankle in zip(limbs, ankles, strict=True):
        drop = np.maximum(drop, _lowering(limb, ankle, shift))
    shift[:, 1] -= _envelope(drop, max(round(_ENVELOPE_SECONDS * fps), 1))
    return shift


def _add_steadiness(band: Array, right: Array, jitter: Array, fps: float) -> None:
    """Add the squared second differences of the shift, less the `jitter` (T - 2, 3)."""
    weight = _STEADY * fps**4
    second = (1.0, -2.0, 1.0)
    inner = len(jitter)
    for k, c in enumerate(second):
        right[k : k + inner] -= weight * c * jitter
        for j, d in enumerate(second[k:], start=k):
            band[6 - 3 * (j - k), j : j + inner] += weight * c * d


def _jitter(root: Array, standing: Mask, fps: float) -> Array:
    """Fast part (T - 2, 3) of the second differences of the root while a foot stands."""
    bend = np.diff(root, 2, axis=0)
    bend -= gaussian_filter1d(bend, _JITTER_SECONDS * fps, axis=0)
    return bend * standing[1:-1, None]


def _stiffness(limb: Limb) -> Array:
    """Square (T,) of the knee's turn per change of distance: the straighter, the stiffer."""
    span = np.linalg.norm(limb.end - limb.start, axis=-1)
    straight = np.clip(span / limb.length, 0.0, 1.0)
    return 1.0 / np.maximum(1.0 - straight**2, 2e-3)


def _lowering(limb: Limb, ankle: Array, shift: Array) -> Array:
    """How far (T,) the hip must come down for the leg to reach its ankle."""
    length = limb.length
    before = np.linalg.norm(limb.end - limb.start, axis=-1)
    longest = np.maximum(_LONGEST * length, np.minimum(before, length))
    line = limb.start + shift - ankle
    across = np.sum(line[:, [0, 2]] ** 2, axis=-1)
    return np.maximum(line[:, 1] - np.sqrt(np.maximum(longest**2 - across, 0.0)), 0.0)


def _envelope(values: Array, width: int) -> Array:
    """A smooth curve nowhere below `values` (T,): greatest of the neighbours, then smoothed."""
    if not np.any(values > 0.0):
        return values
    above = maximum_filter1d(values, 2 * width + 1, mode="nearest")
    window = np.hanning(2 * width + 3)[1:-1]
    padded = np.pad(above, width, mode="edge")
    return np.convolve(padded, window / window.sum(), mode="valid")
