"""Nearest clips by the Earth Mover's Distance, without computing most distances.

Clips are taken in the order of a lower bound (see `motionloom.search.heaps`), and the search
ends where the bound exceeds the k-th best distance found; a distance is given up as soon as
the joints done and the bounds of the others exceed it. The answer is that of computing all.

The distance is a metric, and a metric index would use that: a clip as far from some third one
as the query is near to it cannot be near. On 3,000 pieces of CMU takes the best of 24 such
third clips rules out 30 % of all; the bound used here rules out 88 %, and those that it leaves
are nearly all left by the third clips, too. So there is no tree.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

from motionloom.alignment.banded_dtw import Nearest, farthest
from motionloom.errors import InvalidInput
from motionloom.search.heaps import Heaps, joint_bounds, limited_distance

_SLACK = 1e-9  # of a bound: sums in another order are rounded otherwise


def energy_matrix_rows(
    heaps: Heaps, weights: NDArray[np.float64], first: int, last: int
) -> NDArray[np.float64]:
    """Distances from clips `first` to `last` to all before them, NaN behind the diagonal."""
    return _matrix_rows(heaps.points, heaps.mass, heaps.starts, weights, len(heaps), first, last)


def energy_nearest(
    query: Heaps,
    heaps: Heaps,
    weights: NDArray[np.float64],
    *,
    k: int,
    prune: bool = True,
) -> Nearest:
    """The `k` clips nearest to the only one of `query`.

    Parameters
    ----------
    query, heaps : Heaps
    weights : ndarray, shape (J,)
        Of the joints.
    k : int
    prune : bool
        Without it every distance is computed, to the same end.
    """
    if k < 1:
        raise InvalidInput(f"k must be at least 1; got {k}")
    bounds = joint_bounds(heaps.quantiles, query.quantiles[0], weights) * (1.0 - _SLACK)
    if not prune:
        bounds[:] = 0.0
    totals = bounds.sum(axis=1)
    order = np.argsort(totals, kind="stable")
    found, gaps, computed = _nearest(
        query.points, query.mass, query.starts, heaps.points, heaps.mass, heaps.starts,
        weights, bounds, totals, order, min(k, len(order)),
    )  # fmt: skip
    best = np.lexsort((found, gaps))
    return Nearest(found[best], gaps[best], int(computed))


@nb.njit(cache=True, nogil=True)
def _matrix_rows(points, mass, starts, weights, count, first, last):
    out = np.full((last - first, count), np.nan)
    nothing = np.zeros(len(weights))
    for a in range(first, last):
        for b in range(a):
            out[a - first, b] = limited_distance(
                points, mass, starts, a, points, mass, starts, b, weights, nothing, np.inf
            )
        out[a - first, a] = 0.0
    return out


@nb.njit(cache=True, nogil=True)
def _nearest(points_a, mass_a, starts_a, points, mass, starts, weights, bounds, totals, order, k):
    found = np.full(k, -1)
    gaps = np.full(k, np.inf)
    computed = 0
    for c in order:
        worst = farthest(found, gaps)
        limit = gaps[worst]
        if totals[c] > limit:
            break
        computed += 1
        gap = limited_distance(
            points_a, mass_a, starts_a, 0, points, mass, starts, c, weights, bounds[c], limit
        )
        if gap < limit or (gap == limit and c < found[worst]):
            found[worst], gaps[worst] = c, gap
    return found, gaps, computed
