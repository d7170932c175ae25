"""Uniform scaling: comparison of a query with the beginning of a clip at any constant speed.

The query has n frames. The first p frames of the clip are resampled to n frames, for every p from n
divided by the maximum factor up to n times the factor (or the end of the clip), and the minimum
distance is used. A clip shorter than every p is used in full. With `stretch_only`, p starts at n,
as in [1], so that the query is slowed down but never sped up.

Frame i of the query can only be compared with frames within a range that widens with i. The minimum
and maximum values in that range form an envelope, and the part of the query outside it gives a
lower bound. A clip whose bound exceeds the best cost so far does not have to be scaled. The results
are the same as without the bound.

References
----------
.. [1] E. Keogh, T. Palpanas, V. Zordan, D. Gunopulos, M. Cardle. Indexing large human-motion
   databases. VLDB 2004.
"""

from __future__ import annotations

from math import ceil, floor

import numpy as np
from numpy.typing import ArrayLike

from motionloom.alignment.banded_dtw import Nearest, checked_frames, farthest
from motionloom.errors import InvalidInput
from motionloom.kernels import kernel

FACTOR = 1.2  # Tam et al. 2007, section 4
_SLACK = 1e-9


def scaled_distance(
    query: ArrayLike, clip: ArrayLike, *, factor: float = FACTOR, stretch_only: bool = False
) -> float:
    """Return the distance from a query to the beginning of a clip at its best uniform speed.

    Parameters
    ----------
    query : array_like, shape (n, D)
    clip : array_like, shape (m, D)
    factor : float
        Maximum factor by which the clip is slowed down or sped up; at least 1.
    stretch_only : bool
        Only compare beginnings of the clip that are at least as long as the query.

    Returns
    -------
    distance : float
        Square root of the sum of squared distances between frames; NaN if values are missing.

    Raises
    ------
    InvalidInput
        If shapes do not match or the factor is less than 1.

    Examples
    --------
    >>> scaled_distance([[0.0], [1.0], [2.0]], [[0.0], [0.5], [1.0], [2.0], [7.0]], factor=1.5)
    0.5
    """
    query, rows = (
        checked_frames("query", query, np.float64),
        checked_frames("clip", clip, np.float64),
    )
    nearest = scaling_nearest(
        query, rows, [0, len(rows)], k=1, factor=factor, stretch_only=stretch_only
    )
    return float(nearest.distances[0]) if len(nearest.distances) else np.nan


def scaling_nearest(
    query: ArrayLike,
    rows: ArrayLike,
    starts: ArrayLike,
    *,
    k: int,
    factor: float = FACTOR,
    stretch_only: bool = False,
    usable: ArrayLike | None = None,
    prune: bool = True,
) -> Nearest:
    """Find the `k` clips whose beginnings are nearest to a query at their best uniform speed.

    Parameters
    ----------
    query : array_like, shape (n, D)
    rows : array_like, shape (N, D)
        Frames of all clips.
    starts : array_like of int, shape (C + 1,)
        Clip c has frames ``starts[c]`` to ``starts[c + 1]``. Clips with missing values are
        skipped; if the query has missing values, all clips are skipped.
    k : int
    factor : float
    stretch_only : bool
        See `scaled_distance`.
    usable : array_like of bool, shape (C,), optional
        Mask of the clips to compare. Default: all clips.
    prune : bool
        Skip clips whose lower bound is too large. If False, every distance is computed. The result
        is the same.

    Examples
    --------
    >>> nearest = scaling_nearest([[0.0], [1.0]], [[9.0], [9.0], [0.0], [1.5]], [0, 2, 4], k=1)
    >>> nearest.clips.tolist(), nearest.distances.tolist()
    ([1], [0.5])
    """
    query, rows = (
        checked_frames("query", query, np.float64),
        checked_frames("rows", rows, np.float64),
    )
    if query.shape[1] != rows.shape[1]:
        raise InvalidInput(
            f"query and clips must have the same number of features; got {query.shape[1]} and "
            f"{rows.shape[1]}"
        )
    starts = np.ascontiguousarray(starts, dtype=np.int64)
    ends = starts.ndim == 1 and len(starts) > 1 and (starts[0], starts[-1]) == (0, len(rows))
    if not ends or np.any(np.diff(starts) < 1):
        raise InvalidInput(
            f"starts must increase from 0 to the number of rows, {len(rows)}, with at least one "
            f"row per clip; got {starts}"
        )
    if k < 1:
        raise InvalidInput(f"k must be at least 1; got {k}")
    lengths = np.array(
        [
            scaled_lengths(len(query), int(m), factor, stretch_only=stretch_only)
            for m in np.diff(starts)
        ]
    )
    there = np.ones(len(lengths), bool) if usable is None else np.asarray(usable, dtype=bool)
    bounds = _bounds(query, rows, starts, lengths, there & np.isfinite(query).all(), prune)
    numbers = np.flatnonzero(~np.isnan(bounds))
    order = numbers[np.argsort(bounds[numbers], kind="stable")]
    nearest, costs, computed = _nearest(
        query, rows, starts, lengths, order, bounds, min(k, len(order))
    )
    best = np.lexsort((nearest, costs))
    return Nearest(nearest[best], np.sqrt(costs[best]), int(computed))


def scaled_lengths(n: int, m: int, factor: float, *, stretch_only: bool = False) -> tuple[int, int]:
    """Return the minimum and maximum number of a clip's `m` frames to scale to `n` query frames."""
    if not factor >= 1.0:
        raise InvalidInput(f"factor must be at least 1; got {factor}")
    most = min(m, max(n, floor(n * factor + 1e-9)))
    return min(most, n if stretch_only else max(1, ceil(n / factor - 1e-9))), most


@kernel
def _place(i, p, n):
    """Return which of a clip's first p frames to compare with query frame i of n."""
    return (p * (i + 1) + n - 1) // n - 1


# Sums may be reordered, so that four run at a time.
@kernel(fastmath={"reassoc"})
def _cost(query, clip, least, most, limit):
    """Return the minimum squared distance from a query to the first `least` to `most` clip frames.

    The result is infinite if it exceeds `limit`, because sums only grow and are abandoned once they
    exceed the best result so far.
    """
    n, width = query.shape
    best = np.inf
    for p in range(least, most + 1):
        total = 0.0
        for i in range(n):
            at = _place(i, p, n)
            here = 0.0
            for k in range(width):
                gap = query[i, k] - clip[at, k]
                here += gap * gap
            total += here
            if total > best or total > limit:
                break
        else:
            best = min(best, total)
    return best


@kernel
def _bounds(query, rows, starts, lengths, usable, prune):
    """Return the query's squared excess (C,) over each clip's envelope; NaN for skipped clips.

    The result is zero without `prune`.
    """
    n, width = query.shape
    bounds = np.full(len(starts) - 1, np.nan)
    for c in range(len(bounds)):
        if not usable[c]:
            continue
        clip = rows[starts[c] : starts[c + 1]]
        if not prune:
            bounds[c] = np.nan if np.isnan(clip.sum()) else 0.0
            continue
        least, most = lengths[c, 0], lengths[c, 1]
        total = 0.0
        for i in range(n):
            first, last = _place(i, least, n), _place(i, most, n)
            for k in range(width):
                low = high = clip[first, k]
                for at in range(first + 1, last + 1):
                    low, high = min(low, clip[at, k]), max(high, clip[at, k])
                gap = max(0.0, max(low - query[i, k], query[i, k] - high))
                total += gap * gap
        bounds[c] = np.nan if np.isnan(clip.sum()) else total
    return bounds


@kernel
def _nearest(query, rows, starts, lengths, order, bounds, k):
    """Return the `k` nearest clips, their squared distances, and the number of distances begun.

    Clips are visited in the order of their `bounds` (C,), and the first bound above the k-th
    distance ends the search.
    """
    nearest = np.full(k, -1)
    costs = np.full(k, np.inf)
    computed = 0
    for c in order:
        worst = farthest(nearest, costs)
        limit = costs[worst]
        if bounds[c] * (1.0 - _SLACK) > limit:
            break
        computed += 1
        clip = rows[starts[c] : starts[c + 1]]
        cost = _cost(query, clip, lengths[c, 0], lengths[c, 1], limit)
        if cost < limit or (cost == limit and c < nearest[worst]):
            nearest[worst], costs[worst] = c, cost
    return nearest, costs, computed
