"""Subsequence DTW over a whole library: exact, and one pass (``method="dtw"``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from motionloom.alignment.dtw import accumulated
from motionloom.distance import FrameDistance
from motionloom.motion import Motion
from motionloom.motion.segment import intervals
from motionloom.ragged import offsets_of, row_of
from motionloom.search.candidates import ANY, Candidate, Limits, non_overlapping
from motionloom.search.subsequence_kernel import TILE, end_costs

_STILL = 0.1  # a joint that hardly moves counts a tenth of the one that moves most


def moving_weights(query: NDArray[np.float32], *, point_size: int = 3) -> NDArray[np.float32]:
    """Weights of a row's numbers: each point counts by how far it moves in the query.

    What stands still in the query says little about it: a punch is a punch in any stance.
    The mean square of the weights is 1, so that distances stay in metres.

    Parameters
    ----------
    query : ndarray, shape (M, D)
        D is a multiple of `point_size`, or every number is a point of its own.

    Returns
    -------
    weights : ndarray of float32, shape (D,)

    Examples
    --------
    >>> query = np.array([[0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0]], np.float32)
    >>> moving_weights(query).round(2)
    array([1.41, 1.41, 1.41, 0.14, 0.14, 0.14], dtype=float32)
    """
    variances = query.var(axis=0, dtype=np.float64)
    if len(variances) % point_size:
        point_size = 1
    moved = np.sqrt(variances.reshape(-1, point_size).sum(axis=1))
    if moved.max() <= 0.0:
        return np.ones(len(variances), np.float32)
    weights = np.repeat(np.maximum(moved / moved.max(), _STILL), point_size)
    return (weights / np.sqrt(np.mean(weights**2))).astype(np.float32)


def dtw_matches(
    query: NDArray[np.float32],
    rows: NDArray[np.float32],
    starts: NDArray[np.int64],
    *,
    steps: str = "slope",
    weights: NDArray[np.float32] | None = None,
    allowed: NDArray[np.bool_] | None = None,
    limits: Limits = ANY,
) -> list[Candidate]:
    """All stretches of a library that the query can be aligned with, the nearest first.

    Parameters
    ----------
    query : ndarray, shape (M, D)
    rows : ndarray, shape (N, D)
    starts : ndarray, shape (K + 1,)
    steps, weights
        As in `motionloom.search.subsequence_kernel.end_costs`.
    allowed : ndarray of bool, shape (K,), optional
        Motions to search.
    limits : Limits

    Examples
    --------
    >>> rows = np.array([[0], [5], [1], [2], [3], [9], [0]], np.float32)
    >>> found = dtw_matches(rows[2:5], rows, np.array([0, 7]))[0]
    >>> found.start, found.end, found.distance
    (2, 5, 0.0)
    """

    def matrix_of(low: int, high: int) -> NDArray[np.float64]:
        return differences(query, rows[low:high], weights)

    def found_with(enough: int) -> list[Candidate]:
        costs = np.full(len(rows), np.inf, np.float32)
        for first, last in _stretches(allowed, len(starts) - 1):
            low, high = int(starts[first]), int(starts[last])
            costs[low:high] = end_costs(
                query,
                rows[low:high],
                np.asarray(starts[first : last + 1]) - low,
                steps=steps,
                weights=weights,
                limit=limits.max_distance * len(query) * 1.001 + 1e-2,
                enough=enough,
            )
        return non_overlapping(
            costs,
            matrix_of,
            starts,
            length=len(query),
            steps=steps,
            limits=limits,
        )

    if limits.max_matches is None:
        return found_with(0)
    # A match reaches over so many tiles at most; as many neighbours may be one match.
    enough = limits.max_matches * (2 + 2 * len(query) // TILE)
    found = found_with(enough if enough * 3 * TILE < len(rows) else 0)
    if not limits.reached(len(found)) and enough * 3 * TILE < len(rows):
        found = found_with(0)  # filters took too many
    return found


def dtw_matches_by_distance(
    query: NDArray[Any],
    motions: Sequence[Motion],
    distance: FrameDistance,
    *,
    steps: str = "slope",
    limits: Limits = ANY,
) -> list[Candidate]:
    """The same with any frame distance, motion by motion.

    `query` is what the distance has prepared, one row per frame; rows of what is found count
    the frames of all motions.
    """
    starts = offsets_of([len(motion) for motion in motions])
    matrices = [np.asarray(distance.matrix(query, distance.prepare(m)), float) for m in motions]
    matrices = [np.where(np.isfinite(matrix), matrix, np.inf) for matrix in matrices]
    ends = [accumulated(matrix, steps=steps, subsequence=True)[0][-1] for matrix in matrices]

    def matrix_of(low: int, high: int) -> NDArray[np.float64]:
        m = int(row_of(starts, low))
        return np.ascontiguousarray(matrices[m][:, low - starts[m] : high - starts[m]])

    return non_overlapping(
        np.concatenate(ends),
        matrix_of,
        starts,
        length=len(query),
        steps=steps,
        limits=limits,
    )


def differences(
    query: NDArray, rows: NDArray, weights: NDArray | None = None
) -> NDArray[np.float64]:
    """Distances (M, N) between rows, in double precision; infinite for missing frames."""
    factors = np.ones(query.shape[1]) if weights is None else weights.astype(np.float64)
    return _differences(query.astype(np.float64) * factors, np.asarray(rows), factors)


def _stretches(allowed: NDArray[np.bool_] | None, count: int) -> list[tuple[int, int]]:
    """First and last + 1 of the runs of motions that are allowed."""
    return [(0, count)] if allowed is None else intervals(allowed)


@nb.njit(cache=True, nogil=True)
def _differences(query, rows, weights):
    """Distances (M, N) by differences, in double precision; infinite for missing frames."""
    matrix = np.empty((len(query), len(rows)))
    for i in range(len(query)):
        for j in range(len(rows)):
            square = 0.0
            for d in range(query.shape[1]):
                difference = query[i, d] - weights[d] * rows[j, d]
                square += difference * difference
            matrix[i, j] = np.sqrt(square) if square == square else np.inf
    return matrix
