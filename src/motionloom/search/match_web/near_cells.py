"""Near cells of a match web: those that a match up to some mean distance may visit.

In a large library most cells of the distance matrices belong to nothing: motions that have nothing
in common. A match is a path with a mean distance of at most R: the sum over its cells of R
minus the distance is not negative. The largest such sum of all paths through a cell follows from
the largest sums of paths that end there and of paths that begin there, as in local alignment.
Cells through which every path has a negative sum are in no match, and are left out: minima,
chains, valid region and bridges are computed among the others only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.kernels import kernel
from motionloom.search.match_web.web import WebLimits

COARSER = 1.15  # a mean at 10 Hz is less than this times that of the refined path
_BEYOND = 10  # cells of chains beyond near ones, as chains begin and end there; see docs/scale.md


@dataclass(frozen=True, eq=False)
class NearCells:
    """Cells of a matrix that matches may visit, and what is left for the rest of a match.

    The columns are those of motions that have such cells.

    Attributes
    ----------
    motions : list of int
        Numbers of these motions, increasing; the others have no cells here.
    cells : ndarray of bool, shape (M, N)
    around : ndarray of bool, shape (M, N)
        These, and cells ahead and behind, where chains may go on.
    before, after : ndarray of float32, shape (M, N)
        At most the sum of `limit` minus distance over the cells of a path that leads to a cell,
        and over those of a path that leads on from it; 0 if it begins or ends there.
    limit : float
        Mean of a match, at most; squared if means are of squares.
    """

    motions: list[int]
    cells: NDArray[np.bool_]
    around: NDArray[np.bool_]
    before: NDArray[np.float32]
    after: NDArray[np.float32]
    limit: float


def near_cells(
    bounds: NDArray[np.float32], starts: NDArray[np.int64], limits: WebLimits
) -> NearCells | None:
    """Cells on a path with a mean of at most that of near matches, or None.

    Parameters
    ----------
    bounds : ndarray of float32, shape (M, N)
        Lower bounds of the distances.
    starts : ndarray of int64, shape (K + 1,)
        Where the columns of each motion begin; paths stay within a motion.
    limits : WebLimits
        Paths have at most `max_slope` cells in one row, and in one column, one after the other.

    Examples
    --------
    >>> frames = np.arange(12, dtype=np.float32)
    >>> bounds = np.abs(np.subtract.outer(frames, frames)) + np.minimum(frames, 4.0)
    >>> limits = WebLimits(near=1.0 / COARSER)
    >>> near_cells(bounds, np.array([0, 12]), limits).cells.sum(axis=1)
    array([2, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    """
    limit = COARSER * limits.near
    if limits.squares:
        limit, bounds = limit**2, bounds**2
    # A cell below the limit is a path by itself.
    motions = _motions_below(bounds, starts, np.float32(limit))
    if not len(motions):
        return None
    cells, before, after = _near(bounds, starts, motions, np.float32(limit), limits.max_slope)
    around = _along_diagonals(cells, _BEYOND)
    return NearCells(motions.tolist(), cells, around, before, after, limit)


def _along_diagonals(cells: NDArray[np.bool_], reach: int) -> NDArray[np.bool_]:
    """These cells, and those up to `reach` frames of both motions before and after them."""
    ahead, behind, done = cells.copy(), cells.copy(), 0
    while done < reach:
        step = min(done + 1, reach - done)
        ahead[step:, step:] |= ahead[:-step, :-step]
        behind[:-step, :-step] |= behind[step:, step:]
        done += step
    return ahead | behind


def with_neighbours(near: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """These cells and those before and after them in their rows and columns, as 1, others 0."""
    out = near.astype(np.uint8)
    out[1:] |= near[:-1]
    out[:-1] |= near[1:]
    out[:, 1:] |= near[:, :-1]
    out[:, :-1] |= near[:, 1:]
    return out


@kernel(error_model="numpy")
def _motions_below(bounds, starts, limit):
    """Numbers of the motions with a bound up to the limit."""
    found = np.zeros(len(starts) - 1, np.bool_)
    for k in range(len(starts) - 1):
        first, count = starts[k], starts[k + 1] - starts[k]
        for i in range(len(bounds)):
            line, below = bounds[i, first : first + count], 0
            for j in range(count):
                below += limit - line[j] >= 0.0
            if below:
                found[k] = True
                break
    return np.flatnonzero(found)


@kernel(error_model="numpy")
def _near(bounds, starts, motions, limit, max_slope):
    """Rows are processed as a whole, so that loops become vector instructions.

    Of each row, `sums[0]` are the largest sums of paths that came to a cell from another column or
    begin there, `sums[k]` of those that have gone down k times since; `line` the largest of all.
    Columns of the results are those of the motions that are asked for.
    """
    n_rows, n_columns = bounds.shape[0], 0
    for k in motions:
        n_columns += starts[k + 1] - starts[k]
    shape = (n_rows, n_columns)
    near = np.empty(shape, np.bool_)
    before, after = np.empty(shape, np.float32), np.empty(shape, np.float32)
    own = np.empty(n_columns + 1, np.float32)
    line, moved = np.empty(n_columns + 1, np.float32), np.empty(n_columns + 1, np.float32)
    sums = np.empty((max_slope, n_columns + 1), np.float32)
    zero, target = np.float32(0.0), 0
    for k in motions:
        first, count = starts[k], starts[k + 1] - starts[k]
        for turn in range(2):  # forward, then backward
            for step in range(n_rows):
                i = step if turn == 0 else n_rows - 1 - step
                values = bounds[i, first : first + count]
                for j in range(count):
                    own[j] = limit - values[j]
                # `line` and `sums` are those of the row before, or of the row after.
                for run in range(max_slope - 1, 0, -1):
                    down, above = sums[run], sums[run - 1]
                    if step == 0:
                        for j in range(count):
                            down[j] = own[j]
                    else:
                        for j in range(count):
                            down[j] = own[j] + above[j]
                if step == 0:
                    for j in range(count):
                        moved[j] = own[j]
                elif turn == 0:
                    moved[0] = own[0]
                    for j in range(1, count):
                        moved[j] = own[j] + max(zero, line[j - 1])
                else:
                    moved[count - 1] = own[count - 1]
                    for j in range(count - 1):
                        moved[j] = own[j] + max(zero, line[j + 1])
                ahead = sums[0]
                for j in range(count):
                    ahead[j] = moved[j]
                for run in range(1, max_slope):
                    down = sums[run]
                    for j in range(count):
                        moved[j] = max(moved[j], down[j])
                for _ in range(max_slope - 1):  # steps along the row
                    if turn == 0:
                        line[0] = moved[0]
                        for j in range(1, count):
                            beside = own[j] + moved[j - 1]
                            ahead[j] = max(ahead[j], beside)
                            line[j] = max(moved[j], beside)
                    else:
                        line[count - 1] = moved[count - 1]
                        for j in range(count - 1):
                            beside = own[j] + moved[j + 1]
                            ahead[j] = max(ahead[j], beside)
                            line[j] = max(moved[j], beside)
                    line, moved = moved, line
                line, moved = moved, line
                rest = (before if turn == 0 else after)[i, target : target + count]
                for j in range(count):
                    rest[j] = line[j] - own[j]
                if turn == 1:
                    others = before[i, target : target + count]
                    marks = near[i, target : target + count]
                    for j in range(count):
                        marks[j] = others[j] + line[j] >= zero
        target += count
    return near, before, after
