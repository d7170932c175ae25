"""Exact nearest neighbours by SciPy's kd-tree, the index of the paper."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from motionloom.ragged import offsets_of


class KDTree:
    """Index of N feature vectors by SciPy's kd-tree; same answers as `BucketIndex`."""

    def __init__(self, rows: NDArray[np.float32]) -> None:
        self._numbers = np.flatnonzero(np.isfinite(rows).all(axis=1))
        self._tree = cKDTree(rows[self._numbers]) if len(self._numbers) else None

    @classmethod
    def build(cls, rows: NDArray[np.float32]) -> KDTree:
        """Index `rows` (N, D); rows with missing values are left out."""
        return cls(rows)

    def nearest(
        self,
        queries: NDArray[np.float32],
        rows: NDArray[np.float32],
        *,
        k: int,
        radius: float = np.inf,
        epsilon: float = 0.0,
        allowed: NDArray[np.bool_] | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """As `BucketIndex.nearest`."""
        found, distances = [], []
        for query in np.asarray(queries, dtype=np.float64):
            numbers = self._candidates(query, k, radius, epsilon, allowed)
            gaps = np.sqrt(np.sum((rows[numbers].astype(np.float64) - query) ** 2, axis=1))
            order = np.lexsort([numbers, gaps])
            order = order[gaps[order] <= radius][:k]
            found.append(numbers[order])
            distances.append(gaps[order])
        sizes = [len(part) for part in found]
        offsets = offsets_of(sizes)
        if not found:
            return offsets, np.empty(0, np.int64), np.empty(0)
        return offsets, np.concatenate(found).astype(np.int64), np.concatenate(distances)

    def _candidates(self, query, k, radius, epsilon, allowed):
        """At least the k nearest that are allowed, and all at the distance of the k-th."""
        if self._tree is None or not np.isfinite(query).all():
            return np.empty(0, np.int64)
        asked = min(k, self._tree.n)
        while True:
            gaps, indices = self._tree.query(
                query, asked, eps=epsilon, distance_upper_bound=_above(radius)
            )
            gaps, indices = np.atleast_1d(gaps), np.atleast_1d(indices)
            numbers = self._numbers[indices[np.isfinite(gaps)]]
            kept = numbers if allowed is None else numbers[allowed[numbers]]
            if len(kept) >= k or asked == self._tree.n or len(numbers) < asked:
                break
            asked = min(2 * asked, self._tree.n)
        if epsilon > 0.0 or len(numbers) < asked:
            return kept
        # Of several rows at the k-th distance the tree gives any; we want the first.
        near = self._tree.query_ball_point(query, _above(float(gaps[len(numbers) - 1])))
        numbers = self._numbers[np.asarray(near, dtype=np.int64)]
        return numbers if allowed is None else numbers[allowed[numbers]]


def _above(distance: float) -> float:
    return distance * (1.0 + 1e-9) + 1e-12
