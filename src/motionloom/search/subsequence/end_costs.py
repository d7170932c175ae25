"""Subsequence DTW of one query against every frame of a library, in one pass.

The squared distances between all query frames and a tile of library frames are a matrix product,
``|x - q|^2 = |x|^2 + |q|^2 - 2 q.x``, with one multiplication per feature instead of a difference
and its square. The product is computed here instead of by BLAS for three reasons. For matrices this
long and thin, it takes the same time (100 ms for 90 frames against a million), no threads compete
for a tile that fits into one core's cache, and the first search need not wait for SciPy to load.
The dynamic program then runs over the tile while it is in the cache. With slope-limited steps, no
cell depends on another cell of its row, so a whole row is computed at once.

Float32 is precise to a tenth of a millimeter here, except near zero, where the difference of large
squares is dominated by rounding noise and is clamped. The costs therefore serve only to *choose*
ends, and the few chosen alignments are recomputed in float64 (`motionloom.alignment`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from motionloom.kernels import kernel

# Columns of a tile, chosen so that eight rows of a tile and one row of the matrix fit into the
# first-level cache. A power of two would make the rows collide in the cache.
TILE = 368
_LOOK = 6  # query frames after which a tile may be abandoned
_UNROLLED = 8  # features multiplied at a time


def end_costs(
    query: NDArray[np.float32],
    rows: NDArray[np.float32],
    starts: NDArray[np.int64],
    *,
    steps: str = "slope",
    weights: NDArray[np.float32] | None = None,
    limit: float = np.inf,
    enough: int = 0,
) -> NDArray[np.float32]:
    """Return the cost of the best alignment of the whole query that ends at each library frame.

    Parameters
    ----------
    query : ndarray, shape (M, D)
    rows : ndarray, shape (N, D)
        Feature vectors of all motions, concatenated.
    starts : ndarray, shape (K + 1,)
        Start of each motion, followed by N. Alignments never cross from one motion to the next.
    steps : {"slope", "classic"}
        See `motionloom.alignment.dtw`.
    weights : ndarray, shape (D,), optional
        Factor for each feature.
    limit : float
        Costs above this limit may be returned as infinite, which saves time with slope-limited
        steps.
    enough : int
        If not 0, costs above the smallest costs of this many tiles may also be infinite; see
        `TILE`.

    Returns
    -------
    costs : ndarray, shape (N,)
        Sum of distances along the alignment, in the unit of the features. It is infinite where too
        few frames of the motion precede the end.

    Examples
    --------
    >>> rows = np.array([[0], [1], [2], [0], [1], [2]], np.float32)
    >>> end_costs(rows[:3], rows, np.array([0, 3, 6])).round(3)
    array([inf,  1.,  0., inf,  1.,  0.], dtype=float32)
    """
    if weights is None:
        weights = np.ones(rows.shape[1], np.float32)
    factors, center = prepared_query(query, weights)
    weights, starts = weights.astype(np.float32), starts.astype(np.int64)
    if steps == "classic":
        return _classic_costs(factors, center, weights, rows, starts)
    return slope_costs(factors, center, weights, rows, starts, np.float32(limit), enough)


def prepared_query(
    query: NDArray[np.float32], weights: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the query in the form the kernels need: factors for tile rows, and its center (D,)."""
    query = np.ascontiguousarray(query, dtype=np.float32)
    n_features = query.shape[1]
    center = query.mean(axis=0, dtype=np.float64).astype(np.float32)
    shifted = (query - center) * weights
    # Padded to a multiple of eight features; the last column is the squared norm of each row.
    width = -(-n_features // _UNROLLED) * _UNROLLED
    factors = np.zeros((len(query), width + 1), np.float32)
    factors[:, :n_features] = -2.0 * shifted
    factors[:, width] = np.einsum("md,md->m", shifted, shifted)
    return factors, center


@kernel
def _load_tile(rows, first, last, center, weights, tile):
    """Write weighted rows minus `center` as columns, and their squares to the last tile row."""
    width, n_features = last - first, rows.shape[1]
    for j in range(width):
        square = np.float32(0.0)
        for d in range(n_features):
            value = (rows[first + j, d] - center[d]) * weights[d]
            tile[d, j] = value
            square += value * value
        tile[-1, j] = square


@kernel(fastmath={"contract"})
def _distances(factors, tile, width, row):
    """Write the distances between a query row and the tile to `row`."""
    last = len(factors) - 1
    squares, own = tile[last], factors[last]
    for j in range(width):
        row[j] = squares[j] + own
    for d in range(0, last, _UNROLLED):
        _add_products(factors[d : d + _UNROLLED], tile[d : d + _UNROLLED], width, row)
    for j in range(width):
        square = row[j]
        # Clamp negative squares. A missing frame (NaN) is infinitely far from every frame.
        clamped = square if square > 0.0 else np.float32(0.0)
        row[j] = np.sqrt(clamped) if square == square else np.float32(np.inf)


@kernel(fastmath={"contract"})
def _add_products(f, t, width, row):
    """Add the products of eight features to `row` (width,), as two independent sums."""
    f0, f1, f2, f3, f4, f5, f6, f7 = f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7]
    t0, t1, t2, t3, t4, t5, t6, t7 = t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7]
    for j in range(width):
        even = row[j] + f0 * t0[j] + f2 * t2[j] + f4 * t4[j] + f6 * t6[j]
        row[j] = even + (f1 * t1[j] + f3 * t3[j] + f5 * t5[j] + f7 * t7[j])


@kernel
def slope_costs(factors, center, weights, rows, starts, limit, enough):
    """Compute the costs (N,) of `end_costs` with slope-limited steps, in float32.

    Parameters
    ----------
    factors, center : ndarray of float32, shapes (M, padded D + 1), (D,)
        As returned by `prepared_query`.
    weights : ndarray of float32, shape (D,)
    rows : ndarray of float32, shape (N, D)
    starts : ndarray of int64, shape (K + 1,)
    limit : float32
    enough : int
        See `end_costs`.

    Notes
    -----
    Tiles of library frames are the outer loop, and query frames are the middle loop, so that a tile
    stays in the first-level cache while the whole query passes over it. A cell depends on the two
    rows above and on up to two columns to the left, so only three rows of costs and the last two
    columns of the previous tile (`tails`) are stored. Costs only grow along a path. If two
    consecutive rows are entirely above the limit, the rest of the tile is therefore infinite,
    unless a path enters from the previous tile.
    """
    n_query, n_rows = factors.shape[0], rows.shape[0]
    infinite = np.float32(np.inf)
    out = np.empty(n_rows, np.float32)
    tile = np.zeros((factors.shape[1], TILE), np.float32)
    matrix = np.empty((n_query, TILE), np.float32)
    # Three rows of costs; their first two columns are the last two of the previous tile.
    now = np.empty(TILE + 2, np.float32)
    before = np.empty(TILE + 2, np.float32)
    earlier = np.empty(TILE + 2, np.float32)
    tails = np.full((n_query, 2), infinite, np.float32)
    least = np.full(enough, infinite, np.float32)  # smallest costs of the tiles so far, sorted
    border = 0
    for first in range(0, n_rows, TILE):
        last = min(first + TILE, n_rows)
        width = last - first
        _load_tile(rows, first, last, center, weights, tile)
        while starts[border] < first:
            border += 1
        hopeless = False
        for i in range(n_query):
            now[0], now[1] = tails[i, 0], tails[i, 1]
            if hopeless:
                # Costs only grow along a path: no cell here can be below the limit.
                now[2 : width + 2] = infinite
                tails[i, 0], tails[i, 1] = infinite, infinite
                hopeless = min(now[0], now[1]) > limit
                now, before, earlier = earlier, now, before
                continue
            here = matrix[i]
            _distances(factors[i], tile, width, here)
            if i == 0:
                for j in range(width):
                    now[j + 2] = here[j]
            elif i == 1:
                for j in range(width):
                    now[j + 2] = here[j] + min(before[j + 1], before[j])
            else:
                above = matrix[i - 1]
                for j in range(width):
                    ahead = min(before[j + 1], before[j])
                    now[j + 2] = here[j] + min(ahead, earlier[j + 1] + above[j])
            if i > 0:
                _respect_borders(now, before, earlier, matrix, i, starts, border, first, last)
            tails[i, 0], tails[i, 1] = now[width], now[width + 1]
            now, before, earlier = earlier, now, before
            if i % _LOOK == _LOOK - 1 and limit < infinite:
                hopeless = not (
                    _any_below(before, width + 2, limit) or _any_below(earlier, width + 2, limit)
                )
        best = infinite
        for j in range(width):
            cost = before[j + 2]
            out[first + j] = cost if cost <= limit else infinite
            best = min(best, cost)
        if enough > 0 and best < least[-1]:
            least[-1] = best
            least.sort()
            # Slightly larger, to allow for rounding.
            limit = min(limit, least[-1] * np.float32(1.0001) + np.float32(1e-3))
    return out


# Costs are never NaN, and a minimum that ignores NaN is a vector instruction.
@kernel(fastmath={"nnan", "nsz"})
def _any_below(costs, width, limit):
    """Return whether any of the first `width` costs is within the limit."""
    least = np.float32(np.inf)
    for j in range(width):
        least = costs[j] if costs[j] < least else least
    return least <= limit


@kernel
def _respect_borders(now, before, earlier, matrix, i, starts, border, first, last):
    """Undo steps from one motion to the next, because no step may cross a border."""
    infinite = np.float32(np.inf)
    # The previous border may lie at the second-to-last column of the previous tile.
    b = max(border - 1, 0)
    while b < len(starts) and starts[b] < last:
        j = starts[b] - first
        if 0 <= j:
            now[j + 2] = infinite
        if -1 <= j and starts[b] + 1 < last and not _is_start(starts, b, starts[b] + 1):
            cost = before[j + 2]
            if i > 1:
                cost = min(cost, earlier[j + 2] + matrix[i - 1, j + 1])
            now[j + 3] = cost + matrix[i, j + 1]
        b += 1


@kernel
def _is_start(starts, b, row):
    """Return whether a motion starts at `row`; `b` is a motion that starts before it."""
    while b < len(starts) and starts[b] < row:
        b += 1
    return b < len(starts) and starts[b] == row


@kernel
def _classic_costs(factors, center, weights, rows, starts):
    """Compute `end_costs` with classic steps. The arguments are those of `slope_costs`.

    A cell depends on the cell above it in the same column, so columns are the inner loop, and the
    distances of a tile are transposed first. Only one column of costs is stored.
    """
    n_query, n_rows = factors.shape[0], rows.shape[0]
    infinite = np.float32(np.inf)
    out = np.empty(n_rows, np.float32)
    tile = np.zeros((factors.shape[1], TILE), np.float32)
    matrix = np.empty((n_query, TILE), np.float32)
    columns = np.empty((TILE, n_query), np.float32)
    costs = np.full(n_query, infinite, np.float32)
    border = 0
    for first in range(0, n_rows, TILE):
        last = min(first + TILE, n_rows)
        width = last - first
        _load_tile(rows, first, last, center, weights, tile)
        for i in range(n_query):
            _distances(factors[i], tile, width, matrix[i])
        _transpose(matrix, columns, width)
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


@kernel
def _transpose(matrix, columns, width):
    """Transpose `matrix` (M, width) into `columns`, 16 at a time: one cache line of each."""
    for block in range(0, width, 16):
        for i in range(matrix.shape[0]):
            for j in range(block, min(block + 16, width)):
                columns[j, i] = matrix[i, j]
