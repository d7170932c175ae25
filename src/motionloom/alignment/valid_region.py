"""Valid regions of distance matrices, and time alignments within them (Kovar & Gleicher 2004).

*Region.* Keep a frame of one motion fixed and vary the frame of the other. Where the distance has a
local minimum, the two frames clearly correspond. An alignment of similar motions runs along these
minima or close to them. Noise may move a minimum by a frame, and while a pose is held, the position
of the minimum is arbitrary. Each minimum is therefore extended along its row or column until the
distance exceeds the minimum by a certain fraction. The covered cells are the *valid region* [1]_.
The fraction refers to the distance in the paper, which is a sum of squares. A distance in meters is
the square root of this sum, and 15 % of the square corresponds to 7 % of the root.

*Alignment.* A path through the matrix goes one cell down, right, or both at a time, and at most
`max_slope` frames of one motion correspond to a single frame of the other, so the slope stays
between ``1 / max_slope`` and `max_slope`. The path may be restricted to a region. If there is no
such path, the motions do not correspond. For each cell, the dynamic program stores the lowest-cost
path for each number of consecutive steps to the right or down that lead to it. With a slope of at
most k there are ``2 k - 1`` states.

References
----------
.. [1] L. Kovar, M. Gleicher. Automated extraction and parameterization of motions in large
   data sets. SIGGRAPH 2004, section 3.1.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.alignment.dtw import Alignment, checked_matrix
from motionloom.errors import InvalidInput
from motionloom.kernels import kernel

ALPHA = 0.15  # fraction of the squared distance; Kovar & Gleicher 2004, section 3.1
HORIZONTAL, VERTICAL = 1, 2
MAX_SLOPE = 3  # local changes of speed by up to this factor count as timing


def matrix_minima(
    matrix: ArrayLike, *, starts: ArrayLike | None = None, edges: bool = False
) -> NDArray[np.uint8]:
    """Find the cells that are local minima of their row, their column, or both.

    Parameters
    ----------
    matrix : array_like, shape (M, N)
        Distances between the frames of two motions.
    starts : array_like of int, shape (K + 1,), optional
        Columns belong to K motions: motion k has columns ``starts[k]`` to ``starts[k + 1]``. By
        default, all columns belong to one motion.
    edges : bool
        True if the first and the last cell of a line can also be minima.

    Returns
    -------
    minima : ndarray of uint8, shape (M, N)
        0 for other cells, `HORIZONTAL` (1) for a minimum of its row, `VERTICAL` (2) for a minimum
        of its column, and their sum for both.

    Notes
    -----
    A minimum is smaller than the next cell and not larger than the one before. By default, the
    first and the last cell of a line are not minima, because the values beyond are unknown, and
    lines of minima along the edges would absorb the chains that begin there. Missing values (NaN)
    are neither minima nor neighbors of minima.

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
    """Find the cells close to a minimum of their row or column.

    Parameters
    ----------
    matrix : array_like, shape (M, N)
    alpha : float
        Tolerance. Each minimum is extended up to the first cell whose squared distance exceeds that
        of the minimum by this fraction.
    starts : array_like of int, shape (K + 1,), optional
        Column ranges of several motions; see `matrix_minima`.
    squared : bool
        True if `matrix` contains squared distances.
    minima : ndarray of uint8, shape (M, N), optional
        Minima as returned by `matrix_minima`, which is called by default.

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
    edges = np.array([0, columns] if starts is None else starts, dtype=np.int64)
    if edges.ndim != 1 or edges[0] != 0 or edges[-1] != columns or np.any(np.diff(edges) < 0):
        raise InvalidInput(
            f"starts must increase from 0 to the number of columns, {columns}; got {edges}"
        )
    return edges


@kernel
def _minima(matrix, starts, edges):
    """Mark the minima for `matrix_minima` as flags (M, N). Comparisons with NaN are false."""
    n_rows, n_columns = matrix.shape
    out = np.zeros(matrix.shape, np.uint8)
    for i in range(n_rows):
        for k in range(len(starts) - 1):
            first, last = starts[k], starts[k + 1] - 1
            if first + 1 < last:  # three slices without a branch can be vectorized
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
    """Mark cells within `factor` times a minimum (M, N), for `valid_region`.

    Each minimum is extended in its row or column until a cell is not below its limit, which also
    stops at NaN.
    """
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


def align_in_region(
    matrix: ArrayLike,
    region: ArrayLike | None = None,
    *,
    start: tuple[int, int] | None = None,
    end: tuple[int, int] | None = None,
    max_slope: int = MAX_SLOPE,
) -> Alignment | None:
    """Find the lowest-cost time alignment from one cell to another, if it exists.

    Parameters
    ----------
    matrix : array_like, shape (M, N)
        Distances between the frames of two motions. NaN cells are never visited.
    region : array_like of bool, shape (M, N), optional
        Cells that the path may visit. Default: all cells.
    start, end : tuple of int, optional
        Row and column of the first and of the last cell. Default: the matrix's corners.
    max_slope : int
        Maximum number of frames of one motion that correspond to one frame of the other.

    Returns
    -------
    alignment : Alignment or None
        Path and cost; None if no path leads from `start` to `end`.

    Raises
    ------
    InvalidInput
        If shapes do not match, a cell is outside the matrix, or `max_slope` is below 1.

    Examples
    --------
    >>> matrix = np.abs(np.subtract.outer([0.0, 1.0, 2.0], [0.0, 1.0, 1.0, 2.0]))
    >>> alignment = align_in_region(matrix)
    >>> alignment.cost, alignment.path.tolist()
    (0.0, [[0, 0], [1, 1], [1, 2], [2, 3]])

    One frame cannot correspond to four others if the limit is three:

    >>> align_in_region(np.zeros((1, 4))) is None
    True
    """
    matrix = checked_matrix(matrix)
    shape = matrix.shape
    if region is not None:
        allowed = np.asarray(region, dtype=np.bool_)
        if allowed.shape != shape:
            raise InvalidInput(f"region must have the matrix's shape {shape}; got {allowed.shape}")
        matrix = np.where(allowed, matrix, np.nan)
    if max_slope < 1:
        raise InvalidInput(f"max_slope must be at least 1; got {max_slope}")
    first = _cell("start", start, (0, 0), shape)
    last = _cell("end", end, (shape[0] - 1, shape[1] - 1), shape)
    if first[0] > last[0] or first[1] > last[1]:
        return None
    rows, columns = last[0] - first[0] + 1, last[1] - first[1] + 1
    low, high = np.zeros(rows, np.int64), np.full(rows, columns - 1)
    slopes = (0,) * max_slope
    path, cost = band_path(matrix, first[0], first[1], low, high, 0, columns - 1, slopes)
    return Alignment(cost, path + np.array(first)) if len(path) else None


def clear_alignment(
    matrix: ArrayLike,
    *,
    start: tuple[int, int] | None = None,
    end: tuple[int, int] | None = None,
    margin: int = 1,
    alpha: float = ALPHA,
    max_slope: int = MAX_SLOPE,
) -> Alignment | None:
    """Find the lowest-cost time alignment within the valid region of a matrix, if it exists.

    Segments found by a search may begin and end a few frames too early or too late, so cells near
    both ends also count as valid.

    Parameters
    ----------
    matrix : array_like, shape (M, N)
        Distances between the frames of two motions. Extra frames beyond the alignment reveal the
        minima near its ends.
    start, end : tuple of int, optional
        Row and column of the first and of the last cell. Default: the matrix's corners.
    margin : int
        Number of rows and columns after `start` and before `end` that are always valid.
    alpha : float
        Tolerance of the valid region; see `motionloom.alignment.valid_region`.
    max_slope : int

    Returns
    -------
    alignment : Alignment or None
        None if the segments do not clearly correspond (Kovar & Gleicher 2004, criterion 2).

    Examples
    --------
    >>> frames = np.arange(9.0)
    >>> clear_alignment(np.abs(np.subtract.outer(frames, frames))).cost
    0.0
    >>> clear_alignment(np.add.outer(frames, frames[::-1])) is None
    True
    """
    matrix = checked_matrix(matrix)
    first = _cell("start", start, (0, 0), matrix.shape)
    last = _cell("end", end, (matrix.shape[0] - 1, matrix.shape[1] - 1), matrix.shape)
    region = valid_region(matrix, alpha=alpha)
    region[first[0] : first[0] + margin, first[1] : first[1] + margin] = True
    region[
        max(last[0] - margin + 1, 0) : last[0] + 1, max(last[1] - margin + 1, 0) : last[1] + 1
    ] = True
    return align_in_region(matrix, region, start=first, end=last, max_slope=max_slope)


def _cell(
    name: str, given: tuple[int, int] | None, default: tuple[int, int], shape: tuple[int, ...]
) -> tuple[int, int]:
    if given is None:
        return default
    row, column = int(given[0]), int(given[1])
    if not (0 <= row < shape[0] and 0 <= column < shape[1]):
        raise InvalidInput(f"{name} must be a cell of the matrix of shape {shape}; got {given}")
    return row, column


@kernel
def band_path(matrix, row, column, low, high, first, last, slopes):
    """Find the lowest-cost path through a band of a matrix, and its cost.

    Parameters
    ----------
    matrix : ndarray, shape (M, N)
        NaN cells are never visited.
    row, column : int
        Cell (r, c) of the band is ``matrix[row + r, column + c]``.
    low, high : ndarray of int64, shape (R,)
        First and last column of each row of the band; neither may decrease.
    first, last : int
        Column of the path in the first and in the last row.
    slopes : tuple of int
        A tuple of length `max_slope`; the compiler can unroll loops because the length is known.

    Returns
    -------
    path : ndarray of int64, shape (L, 2)
        Cells of the band; empty if there is no path.
    cost : float
    """
    # States: 0 diagonal step or start; s < max_slope: s consecutive steps to the right; above:
    # consecutive steps down; then the lowest cost of all, and the lowest that may go down next.
    # Only costs are stored, not origins: taking a minimum needs no branch, but finding its
    # position does, and the position is only needed along the path.
    n_rows, width = len(low), 0
    for r in range(n_rows):
        width = max(width, high[min(r + 1, n_rows - 1)] - low[r] + 1)
    runs = len(slopes) - 1
    states = 2 * runs + 1
    least, level = states, states + 1
    # Row r and column c of the band are at [r + 1, c - low[r] + 1], surrounded by infinity.
    costs = np.empty((n_rows + 1, width + 1, states + 2))
    costs[0] = np.inf
    for r in range(n_rows):
        shift = low[r] - low[r - 1] if r > 0 else 0
        count = high[r] - low[r] + 1
        for s in range(states + 2):
            costs[r + 1, 0, s] = np.inf
        steep = np.inf  # cost, at the cell on the left, of a path that may go right next
        for w in range(1, count + 1):
            value = matrix[row + r, column + low[r] + w - 1]
            if np.isnan(value):
                value = np.inf
            diagonal = costs[r, w + shift - 1, least] + value
            if r == 0 and low[0] + w - 1 == first:
                diagonal = value
            costs[r + 1, w, 0] = diagonal
            flat = diagonal
            for run in range(runs, 1, -1):
                right = costs[r + 1, w - 1, run - 1] + value
                costs[r + 1, w, run] = right
                flat = right if right < flat else flat
            if runs > 0:
                right = steep + value
                costs[r + 1, w, 1] = right
                flat = right if right < flat else flat
            costs[r + 1, w, level] = flat
            steep, before = diagonal, level
            for run in range(runs + 1, states):
                down = costs[r, w + shift, before] + value
                costs[r + 1, w, run] = down
                steep = down if down < steep else steep
                before = run
            costs[r + 1, w, least] = steep if steep < flat else flat
        for w in range(count + 1, high[min(r + 1, n_rows - 1)] - low[r] + 2):
            for s in range(states + 2):
                costs[r + 1, w, s] = np.inf
    path = np.empty((n_rows + high[-1] - low[0] + 1, 2), np.int64)
    at = len(path)
    r, c = n_rows - 1, last
    state = _least(costs, n_rows, last - low[-1] + 1, 1, states)
    cost = costs[n_rows, last - low[-1] + 1, state]
    if cost == np.inf:
        return path[at:], cost
    while True:
        at -= 1
        path[at, 0], path[at, 1] = r, c
        if r == 0 and c == first:
            return path[at:].copy(), cost
        before = state - 1
        if state <= runs:
            c -= 1
        if state == 0 or state > runs:
            r -= 1
        if state == 0:
            before = _least(costs, r + 1, c - low[r] + 1, 1, states)
        elif state == 1:
            before = _least(costs, r + 1, c - low[r] + 1, runs + 1, states)
        elif state == runs + 1:
            before = _least(costs, r + 1, c - low[r] + 1, 1, runs + 1)
        state = before


@kernel
def _least(costs, row, column, first, last):
    """Return the lowest-cost state among 0 and `first` to `last` of a cell; 0 if tied."""
    best = 0
    for s in range(first, last):
        if costs[row, column, s] < costs[row, column, best]:
            best = s
    return best
