"""Dynamic time warping on a distance matrix.

The rows of the matrix are the frames of a query, and the columns are the frames of another motion.
A path leads from the first row to the last, and its cost is the sum of the cells it visits.

There are two sets of steps:

``classic``
    One cell down, right, or both. Either motion may pause while the other continues, as long as
    this keeps the cost low.
``slope``
    Every query frame is visited exactly once, and the motion runs at between half and twice the
    query's speed: a step goes one down and one right, one down and two right (skipping a frame of
    the motion), or two down and one right (visiting the cell between). All paths have as many cells
    as the query has frames, so the path with the lowest sum also has the lowest mean.

In a *subsequence* alignment, the path may begin and end at any column.

References
----------
.. [1] H. Sakoe, S. Chiba. Dynamic programming algorithm optimization for spoken word
   recognition. IEEE TASSP 26, 1978.
.. [2] M. Müller. Information Retrieval for Music and Motion, chapter 4. Springer 2007.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput
from motionloom.kernels import kernel

STEPS: tuple[str, ...] = ("slope", "classic")

# The step that leads to a cell. If costs are equal, the diagonal is preferred.
_BEGIN, _DIAGONAL, _DOWN, _RIGHT = 0, 1, 2, 3
_SKIP, _HOLD = 2, 3


@dataclass(frozen=True)
class Alignment:
    """A path through a distance matrix.

    Parameters
    ----------
    cost : float
        Sum of the visited cells.
    path : ndarray of int, shape (L, 2)
        Row and column of each cell, from first to last.

    Examples
    --------
    >>> hit = lib.search("walk:0-40")[0]
    >>> hit.alignment.shape[1]
    2
    """

    cost: float
    path: NDArray[np.int64]

    @property
    def mean_cost(self) -> float:
        """Mean cost per cell."""
        return self.cost / len(self.path)


def subsequence_alignment(
    matrix: ArrayLike, *, steps: str = "slope", end: int | None = None
) -> Alignment:
    """Find the lowest-cost path from the first to the last row, starting and ending at any column.

    Parameters
    ----------
    matrix : array_like, shape (M, N)
        Non-negative distances. NaN cells are never visited.
    steps : {"slope", "classic"}
    end : int, optional
        Last column of the path. Default: the column with the lowest cost.

    Returns
    -------
    alignment : Alignment
        Has infinite cost and an empty path if there is no path.

    Raises
    ------
    InvalidInput
        If the matrix is empty, `steps` is unknown, or `end` is not a column.

    Examples
    --------
    >>> matrix = np.abs(np.subtract.outer([0.0, 1.0, 2.0], [5.0, 0.0, 1.0, 2.0, 5.0]))
    >>> alignment = subsequence_alignment(matrix)
    >>> alignment.cost, alignment.path.tolist()
    (0.0, [[0, 1], [1, 2], [2, 3]])
    """
    matrix = checked_matrix(matrix)
    costs, came = accumulated(matrix, steps=steps, subsequence=True)
    if end is None:
        end = int(np.argmin(costs[-1]))
    elif not 0 <= end < matrix.shape[1]:
        raise InvalidInput(
            f"end must be a column of the matrix, 0..{matrix.shape[1] - 1}; got {end}"
        )
    return _alignment(costs, came, end, steps)


def warp(matrix: ArrayLike, *, steps: str = "classic") -> Alignment:
    """Find the lowest-cost path from the first cell to the last, covering both motions in full.

    Parameters
    ----------
    matrix : array_like, shape (M, N)
        Non-negative distances. NaN cells are never visited.
    steps : {"classic", "slope"}

    Returns
    -------
    alignment : Alignment
        Has infinite cost and an empty path if there is no path. This happens with ``slope`` if one
        motion is more than twice as long as the other.

    Examples
    --------
    >>> alignment = warp(np.abs(np.subtract.outer([0.0, 1.0], [0.0, 0.0, 1.0])))
    >>> alignment.cost, alignment.path.tolist()
    (0.0, [[0, 0], [0, 1], [1, 2]])
    """
    matrix = checked_matrix(matrix)
    costs, came = accumulated(matrix, steps=steps, subsequence=False)
    return _alignment(costs, came, matrix.shape[1] - 1, steps)


def corresponding(path: ArrayLike, times: ArrayLike) -> NDArray[np.float64]:
    """Return the frames in the second motion that an alignment pairs with times in the first.

    Parameters
    ----------
    path : array_like of int, shape (L, 2)
        At least one pair of frames. Neither column may decrease.
    times : array_like, shape (...,)
        Frames of the first motion. Frames beyond the path are clamped to its ends.

    Returns
    -------
    frames : ndarray, shape (...,)
        Fractional frames of the second motion. If several frames are paired with one frame, their
        middle is used. Between frames, the result is interpolated linearly. For a smooth,
        invertible curve see `motionloom.alignment.Timewarp`.

    Examples
    --------
    >>> twice = [[0, 0], [0, 1], [1, 2], [1, 3], [2, 4], [2, 5]]
    >>> corresponding(twice, [0, 1, 1.5]).tolist()
    [0.5, 2.5, 3.5]
    """
    first, second = np.asarray(path, dtype=np.int64).reshape(-1, 2).T
    frames, begins, counts = np.unique(first, return_index=True, return_counts=True)
    middles = np.add.reduceat(second.astype(np.float64), begins) / counts
    return np.interp(np.asarray(times, dtype=np.float64), frames, middles)


def accumulated(
    matrix: NDArray[np.float64], *, steps: str, subsequence: bool, warp_cost: float = 0.0
) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """Return the cost of the best path to each cell, and its last step, both (M, N).

    `warp_cost` is added for every step off the diagonal. NaN cells are never visited.
    """
    check_steps(steps)
    matrix = np.where(np.isnan(matrix), np.inf, matrix)
    return (_slope if steps == "slope" else _classic)(matrix, subsequence, float(warp_cost))


def path_to(came: NDArray[np.int8], end: int, *, steps: str) -> NDArray[np.int64]:
    """Trace the path (L, 2) back from the cell in the last row and column `end`."""
    return (_slope_path if steps == "slope" else _classic_path)(came, end)


def check_steps(steps: str) -> None:
    """Raise an error unless `steps` is one of `STEPS`."""
    if steps not in STEPS:
        raise InvalidInput(f"steps must be one of {', '.join(STEPS)}; got {steps!r}")


def _alignment(costs, came, end: int, steps: str) -> Alignment:
    cost = float(costs[-1, end])
    if not np.isfinite(cost):
        return Alignment(np.inf, np.empty((0, 2), np.int64))
    return Alignment(cost, path_to(came, end, steps=steps))


def checked_matrix(matrix: ArrayLike) -> NDArray[np.float64]:
    """Convert a nonempty distance matrix to double precision."""
    matrix = np.ascontiguousarray(matrix, dtype=np.float64)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise InvalidInput(
            f"matrix must have at least one row and one column; got shape {matrix.shape}"
        )
    return matrix


@kernel
def _slope(matrix, subsequence, toll):
    """Return costs and steps (M, N) with limited slope; off-diagonal steps cost `toll` more.

    A step that stays in a column covers two rows at once: the cell between is added together with
    the step, so no other cell of the same row is needed.
    """
    n_rows, n_columns = matrix.shape
    costs = np.full(matrix.shape, np.inf)
    came = np.zeros(matrix.shape, np.int8)
    costs[0, 0] = matrix[0, 0]
    if subsequence:
        costs[0] = matrix[0]
    for i in range(1, n_rows):
        for j in range(1, n_columns):
            best, how = costs[i - 1, j - 1], _DIAGONAL
            if j > 1 and costs[i - 1, j - 2] + toll < best:
                best, how = costs[i - 1, j - 2] + toll, _SKIP
            if i > 1 and costs[i - 2, j - 1] + matrix[i - 1, j] + toll < best:
                best, how = costs[i - 2, j - 1] + matrix[i - 1, j] + toll, _HOLD
            costs[i, j] = best + matrix[i, j]
            came[i, j] = how
    return costs, came


@kernel
def _slope_path(came, end):
    """Trace the path (M, 2) back from column `end`; slope-limited paths visit each row once."""
    n_rows = came.shape[0]
    path = np.empty((n_rows, 2), np.int64)
    i, j = n_rows - 1, end
    while True:
        path[i, 0], path[i, 1] = i, j
        how = came[i, j]
        if how == _BEGIN:
            return path
        if how == _HOLD:
            i -= 1
            path[i, 0], path[i, 1] = i, j
        i -= 1
        j -= 2 if how == _SKIP else 1


@kernel
def _classic(matrix, subsequence, toll):
    """Return costs and steps (M, N) with classic steps; off-diagonal steps cost `toll` more."""
    n_rows, n_columns = matrix.shape
    costs = np.full(matrix.shape, np.inf)
    came = np.zeros(matrix.shape, np.int8)
    costs[0, 0] = matrix[0, 0]
    for j in range(1, n_columns):
        if subsequence:
            costs[0, j] = matrix[0, j]
        else:
            costs[0, j], came[0, j] = costs[0, j - 1] + matrix[0, j] + toll, _RIGHT
    for i in range(1, n_rows):
        costs[i, 0], came[i, 0] = costs[i - 1, 0] + matrix[i, 0] + toll, _DOWN
        for j in range(1, n_columns):
            best, how = costs[i - 1, j - 1], _DIAGONAL
            if costs[i - 1, j] + toll < best:
                best, how = costs[i - 1, j] + toll, _DOWN
            if costs[i, j - 1] + toll < best:
                best, how = costs[i, j - 1] + toll, _RIGHT
            costs[i, j] = best + matrix[i, j]
            came[i, j] = how
    return costs, came


@kernel
def _classic_path(came, end):
    """Trace the path (L, 2) back from column `end`."""
    path = np.empty((came.shape[0] + came.shape[1], 2), np.int64)
    i, j, at = came.shape[0] - 1, end, len(path)
    while True:
        at -= 1
        path[at, 0], path[at, 1] = i, j
        how = came[i, j]
        if how == _BEGIN:
            return path[at:].copy()
        if how != _RIGHT:
            i -= 1
        if how != _DOWN:
            j -= 1
