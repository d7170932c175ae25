"""Time alignments on the edges of a match graph: fitted to its nodes, and strung together.

Ranges of nodes move while a family grows, so an alignment that was found no longer begins
and ends where the nodes do. `fitted` cuts and prolongs it. `composed` walks several of them,
which is how far motions are aligned by way of near ones.
"""

from __future__ import annotations

from collections.abc import Iterable

import numba as nb
import numpy as np
from numpy.typing import NDArray

from motionloom.alignment import corresponding


def fitted(path: NDArray[np.int64], a: tuple[int, int], b: tuple[int, int]) -> NDArray[np.int64]:
    """An alignment of range `a` with range `b`, from corner to corner.

    Parameters
    ----------
    path : ndarray of int, shape (L, 2)
        Pairs of frames, both rising, which need not lie in the ranges.
    a, b : (start, end)
        Half-open ranges of frames.

    Returns
    -------
    path : ndarray of int, shape (M, 2)
        Pairs of frames counted from the starts of `a` and `b`: the given ones that lie in both,
        and straight ways from there to (0, 0) and to the last frames.

    Examples
    --------
    >>> fitted(np.array([[9, 19], [10, 20], [11, 21], [12, 22]]), (10, 14), (20, 24)).tolist()
    [[0, 0], [1, 1], [2, 2], [3, 3]]
    """
    return _fitted(np.ascontiguousarray(path, np.int64), a[0], a[1], b[0], b[1])


@nb.njit(cache=True, nogil=True)
def _fitted(path, first_a, end_a, first_b, end_b):
    low, high = 0, len(path)
    while low < high and (path[low, 0] < first_a or path[low, 1] < first_b):
        low += 1
    while high > low and (path[high - 1, 0] >= end_a or path[high - 1, 1] >= end_b):
        high -= 1
    last_i, last_j = end_a - 1 - first_a, end_b - 1 - first_b
    out = np.empty((2 * (last_i + last_j + 2) + high - low, 2), np.int64)
    count, i, j = 1, 0, 0
    out[0] = 0
    for k in range(low, high + 1):
        to_i = path[k, 0] - first_a if k < high else last_i
        to_j = path[k, 1] - first_b if k < high else last_j
        inside = low < k < high
        steps = 1 if inside else max(to_i - i, to_j - j)
        for step in range(1, steps + 1):
            out[count, 0] = round(i + (to_i - i) * step / steps)
            out[count, 1] = round(j + (to_j - j) * step / steps)
            count += 1
        i, j = to_i, to_j
    return out[:count].copy()


def composed(paths: Iterable[NDArray[np.int64]], length: int) -> NDArray[np.float64]:
    """Where each of `length` frames comes to by one alignment after the other.

    Parameters
    ----------
    paths : iterable of ndarray of int, shape (L, 2)
        As from `fitted`; the second column of each counts the frames of the next one's first.
    length : int

    Returns
    -------
    times : ndarray, shape (length,)
        Frames of the last motion, not rounded; they never fall.

    Examples
    --------
    >>> twice = np.array([[0, 0], [0, 1], [1, 2], [1, 3], [2, 4], [2, 5]])
    >>> composed([twice], 3).tolist()
    [0.5, 2.5, 4.5]
    """
    times = np.arange(length, dtype=np.float64)
    for path in paths:
        times = corresponding(path, times)
    return times
