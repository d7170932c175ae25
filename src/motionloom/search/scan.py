"""Subsequence DTW of one query against every frame of a library, in one pass.

Squared distances of all query frames to a tile of library frames are one matrix product:
with rows ``(x, |x|^2, 1)`` and ``(-2 q, 1, |q|^2)`` it gives ``|x - q|^2`` at once. The
dynamic programme then runs over the tile while it is in the cache. With slope-limited steps
no cell depends on a cell of its own row, so that a whole row is computed at a time.

Float32 is precise to a tenth of a millimetre here, except near zero, where the difference
of large squares is left with rounding noise; it is clamped. So the costs serve to *choose*
ends; the few chosen are computed again in float64 (`motionloom.alignment`).
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

_TILE = (
    976  # columns: 90 query frames of it fit into the cache; no power of two, whose rows collide
)


def end_costs(
    query: NDArray[np.float32],
    rows: NDArray[np.float32],
    starts: NDArray[np.int64],
    *,
    steps: str = "slope",
    weights: NDArray[np.float32] | None = None,
) -> NDArray[np.float32]:
    """Cost of the best alignment of the whole query that ends at each library frame.

    Parameters
    ----------
    query : ndarray, shape (M, D)
    rows : ndarray, shape (N, D)
        All motions one after the other.
    starts : ndarray, shape (K + 1,)
        Row at which each motion begins, and N. Alignments never cross these.
    steps : {"slope", "classic"}
        See `motionloom.alignment.dtw`.
    weights : ndarray, shape (D,), optional
        What the numbers of a row are multiplied by.

    Returns
    -------
    costs : ndarray, shape (N,)
        Sum of distances along the alignment, in the unit of the rows; infinite where the
        motion has not gone on for long enough.

    Examples
    --------
    >>> rows = np.array([[0], [1], [2], [0], [1], [2]], np.float32)
    >>> end_costs(rows[:3], rows, np.array([0, 3, 6])).round(3)
    array([inf,  1.,  0., inf,  1.,  0.], dtype=float32)
    """
    if weights is None:
        weights = np.ones(rows.shape[1], np.float32)
    query = np.ascontiguousarray(query, dtype=np.float32)
    centre = query.mean(axis=0, dtype=np.float64).astype(np.float32)
    shifted = (query - centre) * weights
    squares = np.einsum("md,md->m", shifted, shifted)[:, None]
    factors = np.hstack([-2.0 * shifted, np.ones_like(squares), squares]).astype(np.float32)
    kernel = _slope_costs if steps == "slope" else _classic_costs
    return kernel(factors, centre, weights.astype(np.float32), rows, starts.astype(np.int64))


@nb.njit(cache=True, nogil=True)
def _load_tile(rows, first, last, centre, weights, tile):
    """Weighted rows as columns, less `centre`; then their squares, then ones."""
    width, n_features = last - first, rows.shape[1]
    for j in range(width):
        square = np.float32(0.0)
        for d in range(n_features):
            value = (rows[first + j, d] - centre[d]) * weights[d]
            tile[d, j] = value
            square += value * value
        tile[n_features, j] = square
        tile[n_features + 1, j] = 1.0


@nb.njit(cache=True, nogil=True)
def _distances(squares, i, width):
    row = squares[i]
    for j in range(width):
        square = row[j]
        # Clamped; a missing frame (NaN) is infinitely far from everything.
        clamped = square if square > 0.0 else np.float32(0.0)
        row[j] = np.sqrt(clamped) if square == square else np.float32(np.inf)


@nb.njit(cache=True, nogil=True)
def _slope_costs(factors, centre, weights, rows, starts):
    n_query, n_rows = factors.shape[0], rows.shape[0]
    infinite = np.float32(np.inf)
    out = np.empty(n_rows, np.float32)
    tile = np.zeros((factors.shape[1], _TILE), np.float32)
    grid = np.empty((n_query, _TILE), np.float32)
    # Three rows of costs; their first two columns are the last two of the tile before.
    now = np.empty(_TILE + 2, np.float32)
    before = np.empty(_TILE + 2, np.float32)
    earlier = np.empty(_TILE + 2, np.float32)
    tails = np.full((n_query, 2), infinite, np.float32)
    border = 0
    for first in range(0, n_rows, _TILE):
        last = min(first + _TILE, n_rows)
        width = last - first
        _load_tile(rows, first, last, centre, weights, tile)
        np.dot(factors, tile, grid)
        while starts[border] < first:
            border += 1
        for i in range(n_query):
            _distances(grid, i, width)
            here = grid[i]
            now[0], now[1] = tails[i, 0], tails[i, 1]
            if i == 0:
                for j in range(width):
                    now[j + 2] = here[j]
            elif i == 1:
                for j in range(width):
                    now[j + 2] = here[j] + min(before[j + 1], before[j])
            else:
                above = grid[i - 1]
                for j in range(width):
                    one = min(before[j + 1], before[j])
                    now[j + 2] = here[j] + min(one, earlier[j + 1] + above[j])
            if i > 0:
                _respect_borders(now, before, earlier, grid, i, starts, border, first, last)
            tails[i, 0], tails[i, 1] = now[width], now[width + 1]
            now, before, earlier = earlier, now, before
        out[first:last] = before[2 : width + 2]
    return out


@nb.njit(cache=True, nogil=True)
def _respect_borders(now, before, earlier, grid, i, starts, border, first, last):
    """Undo what came from the motion before: no step reaches back over a border."""
    infinite = np.float32(np.inf)
    # The border before this tile's first may lie at its last column but one.
    b = max(border - 1, 0)
    while b < len(starts) and starts[b] < last:
        j = starts[b] - first
        if 0 <= j:
            now[j + 2] = infinite
        if -1 <= j and starts[b] + 1 < last and not _is_start(starts, b, starts[b] + 1):
            cost = before[j + 2]
            if i > 1:
                cost = min(cost, earlier[j + 2] + grid[i - 1, j + 1])
            now[j + 3] = cost + grid[i, j + 1]
        b += 1


@nb.njit(cache=True, nogil=True)
def _is_start(starts, b, row):
    while b < len(starts) and starts[b] < row:
        b += 1
    return b < len(starts) and starts[b] == row


@nb.njit(cache=True, nogil=True)
def _classic_costs(factors, centre, weights, rows, starts):
    n_query, n_rows = factors.shape[0], rows.shape[0]
    infinite = np.float32(np.inf)
    out = np.empty(n_rows, np.float32)
    tile = np.zeros((factors.shape[1], _TILE), np.float32)
    grid = np.empty((n_query, _TILE), np.float32)
    columns = np.empty((_TILE, n_query), np.float32)
    costs = np.full(n_query, infinite, np.float32)
    border = 0
    for first in range(0, n_rows, _TILE):
        last = min(first + _TILE, n_rows)
        width = last - first
        _load_tile(rows, first, last, centre, weights, tile)
        np.dot(factors, tile, grid)
        for i in range(n_query):
            _distances(grid, i, width)
        _transpose(grid, columns, width)
        for j in range(width):
            while starts[border] < first + j:
                border += 1
            if starts[border] == first + j:
                costs[:] = infinite
            column = columns[j]
            diagonal = costs[0]
            costs[0] = column[0]
            for i in range(1, n_query):
                best = min(min(diagonal, costs[i]), costs[i - 1])
                diagonal = costs[i]
                costs[i] = column[i] + best
            out[first + j] = costs[n_query - 1]
    return out


@nb.njit(cache=True, nogil=True)
def _transpose(grid, columns, width):
    for block in range(0, width, 16):
        for i in range(grid.shape[0]):
            for j in range(block, min(block + 16, width)):
                columns[j, i] = grid[i, j]
