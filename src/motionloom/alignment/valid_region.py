"""Valid region of time alignments: near one-dimensional minima of the distance matrix.

Hold a frame of one motion fixed and vary that of the other: where the distance has a local
minimum, the two frames clearly correspond. An alignment of similar motions runs along such
minima, or close by: noise moves them by a frame, and while a pose is held their place is
arbitrary. So each minimum is extended along its row or column until the distance exceeds it by
a given fraction. The cells covered are the *valid region* (Kovar & Gleicher 2004, section 3.1).

The fraction is that of the paper's distance, which is a sum of squares: distances in metres are its
root, and 15 % of the square are 7 % of the root.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.alignment.dtw import checked_matrix
from motionloom.errors import InvalidInput
from motionloom.kernels import kernel

ALPHA = 0.15  # of the squared distance; Kovar & Gleicher 2004, section 3.1
HORIZONTAL, VERTICAL = 1, 2


def matrix_minima(
    matrix: ArrayLike, *, starts: ArrayLike | None = None, edges: bool = False
) -> NDArray[np.uint8]:
    """Cells that are local minima of their row, of their column, or of both.

    Parameters
    ----------
    matrix : array_like, shape (M, N)
        Distances between the frames of two motions.
    starts : array_like of int, shape (K + 1,), optional
        Columns belong to K motions: motion k has columns ``starts[k]`` to ``starts[k + 1]``.
        Default: one motion.
    edges : bool
        Whether the first and the last cell of a line can be minima, too.

    Returns
    -------
    minima : ndarray of uint8, shape (M, N)
        0, or the sum of `HORIZONTAL` (1, least of its row) and `VERTICAL` (2).

    Notes
    -----
    A minimum is smaller than the next cell and not larger than the one before. By default the
    first and the last cell of a line are no minima: the values beyond are not known, and lines of
    minima along the edges would absorb the chains that begin there. Missing values (NaN) are
    neither minima nor neighbours of minima.

    Examples
    --------
    >>> matrix_minima([[3.0, 1.0, 2.0], [2.0, 0.5, 4.0], [1.0, 3.0, 5.0]])
    array([[0, 1, 0],
           [0, 3, 0],
           [0, 0, 0]], dtype=uint8)
    """
    matrix = checked_matrix(matrix)
    return _minima(matrix, _checked_starts(starts, matrix.shape[1]), edges)


def valid_region(
    matrix: ArrayLike,
    *,
    alpha: float = ALPHA,
    starts: ArrayLike | None = None,
    squared: bool = False,
    minima: NDArray[np.uint8] | None = None,
) -> NDArray[np.bool_]:
    """Cells close to a minimum of their row or column.

    Parameters
    ----------
    matrix : array_like, shape (M, N)
    alpha : float
        Minima are extended up to the first cell whose squared distance is larger by this
        fraction.
    starts : array_like of int, shape (K + 1,), optional
        As in `matrix_minima`.
    squared : bool
        Whether `matrix` holds squared distances.
    minima : ndarray of uint8, shape (M, N), optional
        As from `matrix_minima`, which is the default.

    Returns
    -------
    region : ndarray of bool, shape (M, N)

    Examples
    --------
    >>> valid_region([[9.0, 1.05, 1.0, 1.1, 1.0]]).astype(int)
    array([[0, 1, 1, 0, 0]])
    >>> valid_region([[9.0, 1.05, 1.0, 1.1, 1.2]], squared=True).astype(int)
    array([[0, 1, 1, 1, 0]])
    """
    matrix = checked_matrix(matrix)
    if not alpha >= 0.0:
        raise InvalidInput(f"alpha must not be negative; got {alpha}")
    starts = _checked_starts(starts, matrix.shape[1])
    if minima is None:
        minima = _minima(matrix, starts, False)
    factor = 1.0 + alpha if squared else math.sqrt(1.0 + alpha)
    return _extended(matrix, minima, starts, factor)


def _checked_starts(starts: ArrayLike | None, columns: int) -> NDArray[np.int64]:
    found = np.array([0, columns] if starts is None else starts, dtype=np.int64)
    if found.ndim != 1 or found[0] != 0 or found[-1] != columns or np.any(np.diff(found) < 0):
        raise InvalidInput(
            f"starts must increase from 0 to the matrix's {columns} columns; got {found}"
        )
    return found


@kernel
def _minima(matrix, starts, edges):
    n_rows, n_columns = matrix.shape
    out = np.zeros(matrix.shape, np.uint8)
    for i in range(n_rows):
        for k in range(len(starts) - 1):
            first, last = starts[k], starts[k + 1] - 1
            if first + 1 < last:  # three slices, and no branch: vector instructions
                line, marks = matrix[i, first + 1 : last], out[i, first + 1 : last]
                before, after = matrix[i, first : last - 1], matrix[i, first + 2 : last + 1]
                for j in range(len(line)):
                    marks[j] = HORIZONTAL * ((line[j] <= before[j]) & (line[j] < after[j]))
            if edges and first < last:
                if matrix[i, first] < matrix[i, first + 1]:
                    out[i, first] = HORIZONTAL
                if matrix[i, last] <= matrix[i, last - 1]:
                    out[i, last] = HORIZONTAL
        if 0 < i < n_rows - 1:
            line, marks, before, after = matrix[i], out[i], matrix[i - 1], matrix[i + 1]
            for j in range(n_columns):
                marks[j] += VERTICAL * ((line[j] <= before[j]) & (line[j] < after[j]))
    if edges and n_rows > 1:
        for j in range(n_columns):
            if matrix[0, j] < matrix[1, j]:
                out[0, j] += VERTICAL
            if matrix[n_rows - 1, j] <= matrix[n_rows - 2, j]:
                out[n_rows - 1, j] += VERTICAL
    return out


@kernel
def _extended(matrix, minima, starts, factor):
    n_rows = matrix.shape[0]
    out = np.zeros(matrix.shape, np.bool_)
    for k in range(len(starts) - 1):
        first, last = starts[k], starts[k + 1]
        for i in range(n_rows):
            for j in range(first, last):
                if minima[i, j] == 0:
                    continue
                limit = factor * matrix[i, j]
                out[i, j] = True
                if minima[i, j] & HORIZONTAL:
                    c = j - 1
                    while c >= first and matrix[i, c] < limit:
                        out[i, c] = True
                        c -= 1
                    c = j + 1
                    while c < last and matrix[i, c] < limit:
                        out[i, c] = True
                        c += 1
                if minima[i, j] & VERTICAL:
                    r = i - 1
                    while r >= 0 and matrix[r, j] < limit:
                        out[r, j] = True
                        r -= 1
                    r = i + 1
                    while r < n_rows and matrix[r, j] < limit:
                        out[r, j] = True
                        r += 1
    return out
