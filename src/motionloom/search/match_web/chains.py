"""Chains of a match web: locally optimal time alignments along one-dimensional minima.

A chain begins at a minimum with no other before it in its row, its column or on the diagonal,
and continues from minimum to minimum: to the next frame of both motions if that is a minimum,
else to the smaller of the two cells beside it, as long as at most `max_slope` frames of one
motion correspond to a single frame of the other. Short chains are mostly accidental and dropped
(Kovar & Gleicher 2004, section 3.2).

Two rules are ours, and can be switched off. A chain ends where it meets an earlier one, so that no
cell is in two chains. And since lines of minima cross and fork, a chain on the wrong branch is soon
too steep to continue, and the right branch has no cell that could begin a chain. So cells that no
chain has come near are searched a second time. There a chain may begin at any minimum, and must be
twice as long: with so many starts, accidental chains are longer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from motionloom.kernels import kernel

_TOO_SHORT = 2  # of cells from which the second search would find a chain that is too short


def minima_chains(
    matrix: NDArray[np.float64],
    minima: NDArray[np.uint8],
    starts: NDArray[np.int64],
    *,
    max_slope: int,
    least_length: float,
    shared_cells: bool = False,
    second_pass: bool = True,
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """All chains of a distance matrix.

    Parameters
    ----------
    matrix : ndarray, shape (M, N)
    minima : ndarray of uint8, shape (M, N)
        As from `motionloom.alignment.matrix_minima`; other cells are 0.
    starts : ndarray of int64, shape (K + 1,)
        Where the columns of each motion begin; chains stay within a motion.
    max_slope : int
    least_length : float
        Chains of fewer frames (mean of both motions) are dropped.
    shared_cells : bool
        Whether a chain continues over cells of earlier ones, as in the paper.
    second_pass : bool
        Whether cells that no chain has come near are searched again.

    Returns
    -------
    cells : ndarray of int32, shape (C, 2)
        Row and column of the cells of all chains, concatenated.
    offsets : ndarray of int64, shape (chains + 1,)
        Chain c has cells ``offsets[c]`` to ``offsets[c + 1]``.
    """
    return _chains(matrix, minima, starts, max_slope, least_length, shared_cells, second_pass)


@kernel
def _chains(matrix, minima, starts, max_slope, least_length, shared_cells, second_pass):
    n_rows = matrix.shape[0]
    cells = np.empty((1024, 2), np.int32)
    offsets = [0]
    count = 0
    path = np.empty((n_rows + matrix.shape[1], 2), np.int32)
    taken = np.zeros(matrix.shape, np.uint8)
    near = np.zeros(matrix.shape, np.uint8)  # cells that a chain has come near
    for k in range(len(starts) - 1):
        first, last = starts[k], starts[k + 1]
        places = _marked(minima, first, last)
        for look in range(2 if second_pass else 1):
            for place in places:
                i, j = place[0], place[1]
                if look == 0 and (
                    (j > first and minima[i, j - 1])
                    or (i > 0 and (minima[i - 1, j] or (j > first and minima[i - 1, j - 1])))
                ):
                    continue
                used = taken if look == 0 else near
                if used[i, j] or taken[i, j] == _TOO_SHORT:
                    continue
                length = _grow(matrix, minima, used, i, j, last, max_slope, path)
                if look == 0 and not shared_cells:
                    for step in range(length):
                        taken[path[step, 0], path[step, 1]] = 1
                covered = path[length - 1, 0] - path[0, 0] + path[length - 1, 1] - path[0, 1]
                if covered / 2.0 + 1.0 < (1 + look) * least_length:
                    if look == 1:
                        _note_short(taken, path, length)
                    continue
                while count + length > len(cells):
                    cells = np.concatenate((cells, np.empty_like(cells)))
                for step in range(length):
                    r, c = path[step, 0], path[step, 1]
                    cells[count + step] = path[step]
                    near[max(r - 1, 0) : r + 2, max(c - 1, first) : min(c + 2, last)] = 1
                count += length
                offsets.append(count)
    return cells[:count].copy(), np.array(offsets)


@kernel
def _marked(minima, first, last):
    """Rows and columns of the minima in some columns, shape (count, 2)."""
    places, count = np.empty((1024, 2), np.int64), 0
    for i in range(len(minima)):
        line = minima[i, first:last]
        for begin in range(0, len(line), 8):
            end, some = min(begin + 8, len(line)), 0
            for j in range(begin, end):
                some |= line[j]
            if some == 0:
                continue
            if count + 8 > len(places):
                places = np.concatenate((places, np.empty_like(places)))
            for j in range(begin, end):
                if line[j]:
                    places[count, 0], places[count, 1] = i, first + j
                    count += 1
    return places[:count]


@kernel
def _note_short(taken, path, length):
    """Note the cells from which the rest of a path that is too short would be found again.

    After a step ahead in both motions a path goes on as if it began there.
    """
    for step in range(1, length):
        i, j = path[step, 0], path[step, 1]
        if i > path[step - 1, 0] and j > path[step - 1, 1]:
            taken[i, j] = _TOO_SHORT


@kernel
def _grow(matrix, minima, used, i, j, last, max_slope, path):
    """Follow minima from (i, j) into `path`, up to used ones; returns their number."""
    n_rows = matrix.shape[0]
    length, right, down = 0, 1, 1  # current runs of steps to the right and down, plus one
    while True:
        path[length, 0], path[length, 1] = i, j
        length += 1
        can_right = j + 1 < last
        can_down = i + 1 < n_rows
        if can_right and can_down and minima[i + 1, j + 1]:
            i, j, right, down = i + 1, j + 1, 1, 1
        else:
            can_right = can_right and right < max_slope and minima[i, j + 1] != 0
            can_down = can_down and down < max_slope and minima[i + 1, j] != 0
            if can_right and (not can_down or matrix[i, j + 1] <= matrix[i + 1, j]):
                j, right, down = j + 1, right + 1, 1
            elif can_down:
                i, right, down = i + 1, 1, down + 1
            else:
                return length
        if used[i, j]:
            return length
