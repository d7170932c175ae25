"""Time alignments on the edges of a match graph: fitted to its nodes, and strung together.

Ranges of nodes move while a family grows, so an alignment that was found no longer begins
and ends where the nodes do. `fitted` cuts and prolongs it. `composed` walks several of them,
which is how far motions are aligned by way of near ones.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray


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
    last = (a[1] - a[0] - 1, b[1] - b[0] - 1)
    shifted = np.asarray(path, np.int64) - (a[0], b[0])
    inner = shifted[((shifted >= 0) & (shifted <= last)).all(axis=1)]
    if not len(inner):
        return _straight((0, 0), last)
    before = _straight((0, 0), tuple(inner[0]))[:-1]
    after = _straight(tuple(inner[-1]), last)[1:]
    return np.concatenate([before, inner, after])


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
        frames, first, count = np.unique(path[:, 0], return_index=True, return_counts=True)
        means = np.add.reduceat(path[:, 1].astype(np.float64), first) / count
        times = np.interp(times, frames, means)
    return times


def _straight(start: tuple[int, ...], end: tuple[int, ...]) -> NDArray[np.int64]:
    steps = max(end[0] - start[0], end[1] - start[1], 0)
    return np.rint(np.linspace(start, end, steps + 1)).astype(np.int64)
