"""Where a body stands and which way it faces, guessed from a few tracked points alone.

Library poses are compared with the hips over the origin and facing +Z; of a performer only
the tracked points are known. Floor places are complex numbers here, so turning the body turns
every place, every direction from one point to another, and the heading, by one factor. A
weighted sum of such places and directions therefore turns with the body, and weights that
make it the heading on the poses of a library are found by least squares.

The guess is off by some ten degrees. It is a start: the pose found with it says better which
way the body faces.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_SAMPLES = 20_000  # poses to fit on; more change the third digit of the weights
_SHORT = 0.05  # metres; shorter ways have no direction
_RIDGE = 1e-3


@dataclass(frozen=True)
class MarkerFrame:
    """Weights by which tracked points give hips and heading.

    Attributes
    ----------
    has_hips : bool
        Whether point 0 is the hips; else their place is guessed too.
    heading_weights, hips_weights : ndarray of complex
    """

    has_hips: bool
    heading_weights: NDArray[np.complex128]
    hips_weights: NDArray[np.complex128]

    @classmethod
    def fit(cls, rows: NDArray[np.float32], *, has_hips: bool) -> MarkerFrame:
        """From features of library poses.

        Parameters
        ----------
        rows : ndarray, shape (N, 3 P)
            Places of the tracked points, the hips not among them; hips over the origin,
            facing +Z.
        has_hips : bool
            Whether the hips are tracked.
        """
        some = np.asarray(rows[:: max(1, len(rows) // _SAMPLES)], np.float64)
        some = some[np.isfinite(some).all(axis=1)]
        places = some.reshape(len(some), -1, 3)
        if has_hips:
            places = np.concatenate([np.zeros_like(places[:, :1]), places], axis=1)
        centre, columns = _turning_parts(places, has_hips)
        return cls(
            has_hips,
            _weights(columns, np.ones(len(columns))),
            _weights(columns, -centre),
        )

    def __call__(self, points: Array) -> tuple[NDArray[np.complex128], NDArray[np.complex128]]:
        """Hips on the floor ``z + ix`` (T,) and facing (T,) of `points` (T, M, 3)."""
        centre, columns = _turning_parts(points, self.has_hips)
        facing = columns @ self.heading_weights
        facing /= np.maximum(np.abs(facing), 1e-9)
        hips = centre if self.has_hips else centre + columns @ self.hips_weights
        return hips, facing


def body_rows(points: Array, hips: NDArray, facing: NDArray) -> Array:
    """`points` (T, P, 3) with the hips over the origin and facing +Z, as rows (T, 3 P)."""
    floor = (points[..., 2] + 1j * points[..., 0] - hips[:, None]) * facing.conj()[:, None]
    return np.stack([floor.imag, points[..., 1], floor.real], axis=-1).reshape(len(points), -1)


def _turning_parts(places: Array, has_hips: bool):
    """Centre (T,) and what turns with the body (T, C): places, directions, ways between."""
    floor = places[..., 2] + 1j * places[..., 0]
    height = places[..., 1] - places[..., 1].mean(axis=1, keepdims=True)
    centre = floor[:, 0] if has_hips else floor.mean(axis=1)
    z = floor - centre[:, None]
    pairs = list(combinations(range(places.shape[1]), 2))
    between = np.stack([z[:, a] - z[:, b] for a, b in pairs], axis=1)
    directions = between / (np.abs(between) + _SHORT)
    return centre, np.concatenate([z, z * height, directions], axis=1)


def _weights(columns: NDArray[np.complex128], wanted: NDArray) -> NDArray[np.complex128]:
    normal = columns.conj().T @ columns / len(columns)
    normal += _RIDGE * np.trace(normal).real / len(normal) * np.eye(len(normal))
    right = columns.conj().T @ wanted.astype(np.complex128) / len(columns)
    return np.linalg.solve(normal, right).astype(np.complex128)
