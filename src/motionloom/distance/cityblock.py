"""City-block (L1) distances between all rows of two tables.

The work is bound by loads and stores, not by arithmetic. Columns of `b` lie behind each
other (transposed) so that a column meets many cells at once, in registers of single
precision; eight columns are added per pass over a tile that stays in the nearest cache.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from motionloom.distance.tables import matching_tables

_TILE = 512  # cells of a row worked on together: nine such stretches fit a 32 KB cache


def cityblock_grid(a: ArrayLike, b: ArrayLike) -> NDArray[np.float32]:
    """Sum of absolute differences between every row of `a` and every row of `b`.

    Parameters
    ----------
    a, b : array_like, shapes (M, D), (N, D)
        Taken in single precision.

    Returns
    -------
    distances : ndarray of float32, shape (M, N)
        Rows with a missing (NaN) value are at distance NaN from every other.

    Examples
    --------
    >>> cityblock_grid([[0.0, 1.0]], [[3.0, 5.0], [0.0, 1.0]])
    array([[7., 0.]], dtype=float32)
    """
    rows_a, rows_b = matching_tables(a, b, np.float32)
    return _grid(np.ascontiguousarray(rows_a), np.ascontiguousarray(rows_b.T))


@njit(cache=True)
def _grid(a, columns):
    """Kernel: rows (M, D) and columns (D, N) -> (M, N); NaN stays NaN."""
    count, size = a.shape
    width = columns.shape[1]
    out = np.zeros((count, width), dtype=np.float32)
    whole = size - size % 8
    for first in range(0, width, _TILE):
        last = min(first + _TILE, width)
        for i in range(count):
            row = out[i, first:last]
            for d in range(0, whole, 8):
                a0, a1, a2, a3 = a[i, d], a[i, d + 1], a[i, d + 2], a[i, d + 3]
                a4, a5, a6, a7 = a[i, d + 4], a[i, d + 5], a[i, d + 6], a[i, d + 7]
                b0, b1 = columns[d, first:last], columns[d + 1, first:last]
                b2, b3 = columns[d + 2, first:last], columns[d + 3, first:last]
                b4, b5 = columns[d + 4, first:last], columns[d + 5, first:last]
                b6, b7 = columns[d + 6, first:last], columns[d + 7, first:last]
                for j in range(last - first):
                    row[j] += (
                        abs(a0 - b0[j]) + abs(a1 - b1[j]) + abs(a2 - b2[j]) + abs(a3 - b3[j])
                    ) + (abs(a4 - b4[j]) + abs(a5 - b5[j]) + abs(a6 - b6[j]) + abs(a7 - b7[j]))
            for d in range(whole, size):
                value, column = a[i, d], columns[d, first:last]
                for j in range(last - first):
                    row[j] += abs(value - column[j])
    return out
