"""Point-cloud distance matrix, computed one cell at a time in Numba.

This is the straightforward version that `motionloom.features.matrix` is compared with.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from motionloom.features.feature_sets import window_samples
from motionloom.features.point_cloud import PointCloud
from motionloom.motion import Motion


def cell_by_cell(a: Motion, b: Motion, distance: PointCloud) -> np.ndarray:
    """Distances in meters between the windows of two motions, shape (M, N)."""
    weights = np.repeat(distance.weights, len(distance.roles)) / len(distance.roles)
    return _cells(windows(a, distance), windows(b, distance), weights)


def windows(motion: Motion, distance: PointCloud) -> np.ndarray:
    """Clouds of all frames, shape (T, samples * P, 3)."""
    half = distance.samples // 2
    times = np.arange(-half, half + 1) * distance.step_seconds
    samples = window_samples(distance.places(motion), times, motion.fps)
    return samples.reshape(len(motion), -1, 3)


@nb.njit(cache=True)
def _cells(a, b, weights):
    out = np.empty((len(a), len(b)))
    total = weights.sum()
    for i in range(len(a)):
        for j in range(len(b)):
            x = z = u = v = cosine = sine = size = 0.0
            for p in range(len(weights)):
                w = weights[p]
                ax, ay, az = a[i, p, 0], a[i, p, 1], a[i, p, 2]
                bx, by, bz = b[j, p, 0], b[j, p, 1], b[j, p, 2]
                x += w * ax
                z += w * az
                u += w * bx
                v += w * bz
                cosine += w * (ax * bx + az * bz)
                sine += w * (ax * bz - az * bx)
                size += w * (ax * ax + az * az + bx * bx + bz * bz + (ay - by) * (ay - by))
            cosine -= (x * u + z * v) / total
            sine -= (x * v - z * u) / total
            size -= (x * x + z * z + u * u + v * v) / total
            out[i, j] = math.sqrt(max(size - 2.0 * math.sqrt(cosine**2 + sine**2), 0.0))
    return out
