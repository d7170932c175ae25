"""Douglas-Peucker: a curve over time by as few of its points as tell its shape.

A straight line from the first point to the last; where the curve is farthest from it, if
that is farther than a threshold, the line is split, and each half treated alike. How far a
point is from the line is measured at the point's own time, so that the threshold is the
greatest error of the line through the points that are kept, in the curve's own unit.

Each point that is kept stands for the frames nearer to it than to any other: its *mass*.
The masses of a curve of N frames add up to N.

References
----------
.. [1] D. Douglas, T. Peucker. Algorithms for the reduction of the number of points required
   to represent a digitized line or its caricature. The Canadian Cartographer 10, 1973.
.. [2] G. Tam, Q. Zheng, M. Corbyn, R. Lau. Motion retrieval based on energy morphing.
   ISM 2007, section 3.1.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput

THRESHOLD = 10.0  # degrees; Tam et al. 2007, section 4.3


def kept_frames(curve: ArrayLike, *, threshold: float = THRESHOLD) -> NDArray[np.int64]:
    """Frames of a curve that Douglas-Peucker keeps.

    Parameters
    ----------
    curve : array_like, shape (T, D)
        At least one point; all numbers finite.
    threshold : float
        Greatest distance from the straight lines, in the curve's unit.

    Returns
    -------
    frames : ndarray of int64, shape (n,)
        Ascending; the first and the last frame are always kept.

    Raises
    ------
    InvalidInput
        If the curve has no points or holds numbers that are not finite, or the threshold is
        negative.

    Examples
    --------
    >>> kept_frames([[0.0], [1.0], [20.0], [1.0], [0.0]], threshold=5.0).tolist()
    [0, 1, 2, 3, 4]
    >>> kept_frames([[0.0], [11.0], [20.0], [11.0], [0.0]], threshold=5.0).tolist()
    [0, 2, 4]
    """
    points = np.ascontiguousarray(curve, dtype=np.float64)
    if points.ndim != 2 or 0 in points.shape:
        raise InvalidInput(f"curve must have shape (T, D), at least one each; got {points.shape}")
    if not np.isfinite(points).all():
        bad = int(np.flatnonzero(~np.isfinite(points).all(axis=1))[0])
        raise InvalidInput(f"curve must hold finite numbers; frame {bad} does not")
    if not threshold >= 0.0:
        raise InvalidInput(f"threshold must not be negative; got {threshold}")
    return np.flatnonzero(split(points, threshold))


def masses(frames: ArrayLike, count: int) -> NDArray[np.float64]:
    """How many of `count` frames each kept frame stands for.

    Parameters
    ----------
    frames : array_like of int, shape (n,)
        Ascending, from 0 to ``count - 1``.
    count : int

    Returns
    -------
    masses : ndarray, shape (n,)
        Their sum is `count`.

    Examples
    --------
    >>> masses([0, 2, 7], 8).tolist()
    [1.5, 3.5, 3.0]
    """
    frames = np.asarray(frames, dtype=np.float64)
    # A frame half-way between two counts half for each.
    edges = np.concatenate([[-0.5], 0.5 * (frames[1:] + frames[:-1]), [count - 0.5]])
    return np.diff(edges)


@nb.njit(cache=True, nogil=True)
def split(points, threshold):
    """Which points are kept, by a list of stretches still to be looked at."""
    count, width = points.shape
    keep = np.zeros(count, np.bool_)
    keep[0] = keep[count - 1] = True
    waiting = np.empty((count + 1, 2), np.int64)
    waiting[0, 0], waiting[0, 1] = 0, count - 1
    left = 1
    while left > 0:
        left -= 1
        first, last = waiting[left, 0], waiting[left, 1]
        worst, where = threshold * threshold, -1
        for t in range(first + 1, last):
            share = (t - first) / (last - first)
            gap = 0.0
            for k in range(width):
                line = points[first, k] + share * (points[last, k] - points[first, k])
                gap += (points[t, k] - line) ** 2
            if gap > worst:
                worst, where = gap, t
        if where >= 0:
            keep[where] = True
            waiting[left, 0], waiting[left, 1] = first, where
            waiting[left + 1, 0], waiting[left + 1, 1] = where, last
            left += 2
    return keep
