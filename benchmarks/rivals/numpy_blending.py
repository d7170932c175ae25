"""Pose blending in plain NumPy.

It is vectorized over frames, examples and joints at once: four gathered rows per frame and example
with their Catmull-Rom weights, one weighted sum, one normalization.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from motionloom.blending.poses import ClipPoses

Floats = NDArray[np.floating]


def mixed(
    clips: ClipPoses, weights: Floats, times: Floats, transforms: Floats, place: Floats
) -> tuple[Floats, Floats]:
    """Rotations (T, J, 4) and root (T, 3) of the mean of all N clips; see `blend_poses`."""
    rows, taps = _taps(clips, times)
    q = np.einsum("tnk,tnkjc->tnjc", taps, clips.rotations[rows], optimize=True)
    path = np.einsum("tnk,tnkc->tnc", taps, clips.root[rows], optimize=True)
    q[:, :, 0] = _yawed(-transforms[..., 2], q[:, :, 0])
    floor = path[..., 2] + 1j * path[..., 0] - (transforms[..., 1] + 1j * transforms[..., 0])
    floor = (floor * np.exp(-1j * transforms[..., 2])) @ weights
    floor = place[:, 1] + 1j * place[:, 0] + floor * np.exp(1j * place[:, 2])
    total = np.einsum("n,tnjc->tjc", weights, q, optimize=True)
    total[:, 0] = _yawed(place[:, 2], total[:, 0])
    total /= np.linalg.norm(total, axis=-1, keepdims=True)
    return total, np.stack([floor.imag, path[..., 1] @ weights, floor.real], axis=-1)


def sampled(clips: ClipPoses, times: Floats) -> Floats:
    """Unit rotations (T, N, J, 4) of all N clips at `times` (T, N)."""
    rows, taps = _taps(clips, times)
    q = np.einsum("tnk,tnkjc->tnjc", taps, clips.rotations[rows], optimize=True)
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def _taps(clips: ClipPoses, times: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Four rows (T, N, 4) around each time, and their weights."""
    last = clips.lengths - 1
    at = np.clip(times, 0.0, last)
    whole = np.minimum(at.astype(np.int64), np.maximum(last - 1, 0))
    f = (at - whole)[..., None]
    rows = clips.offsets[:-1, None] + np.clip(whole[..., None] + np.arange(-1, 3), 0, last[:, None])
    powers = np.concatenate([np.ones_like(f), f, f * f, f * f * f], axis=-1)
    table = 0.5 * np.array([[0, 2, 0, 0], [-1, 0, 1, 0], [2, -5, 4, -1], [-1, 3, -3, 1]])
    return rows, powers @ table


def _yawed(yaw: Floats, q: Floats) -> Floats:
    c, s = np.cos(0.5 * yaw), np.sin(0.5 * yaw)
    w, x, y, z = np.moveaxis(q, -1, 0)
    return np.stack([c * w - s * y, c * x + s * z, c * y + s * w, c * z - s * x], axis=-1)
