"""From the cost of ending at each frame to a few matches that do not overlap.

Ends are taken in order of cost, each is followed back in double precision, and dropped if it
covers too much of a match taken before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numba as nb
import numpy as np
from numpy.typing import NDArray

from motionloom.alignment.dtw import accumulated, path_to
from motionloom.ragged import row_of

# Adjacent repetitions of an action may share this part of the shorter of the two.
MAX_OVERLAP = 0.3


@dataclass(frozen=True)
class Limits:
    """What may be found.

    Parameters
    ----------
    max_matches : int or None
        At most so many.
    max_distance : float
        Mean distance per cell, in the unit of the rows.
    max_overlap : float
        Part of the shorter of two matches that they may share.
    durations : tuple of float
        Least and greatest length of a match, in lengths of the query.
    occupied : sequence of (start, end)
        Rows that matches must keep away from.

    Examples
    --------
    >>> limits = Limits(durations=(0.5, 2.0), occupied=[(0, 10)])
    >>> limits.allows(30, query=10), limits.taken().add(5, 15)
    (False, False)
    """

    max_matches: int | None = None
    max_distance: float = np.inf
    max_overlap: float = MAX_OVERLAP
    durations: tuple[float, float] = (0.0, np.inf)
    occupied: Sequence[tuple[int, int]] = ()

    def allows(self, length: int, *, query: int) -> bool:
        """Whether a match may have so many rows, for a query of `query` rows."""
        shortest, longest = self.durations
        return shortest * query <= length <= longest * query

    def reached(self, count: int) -> bool:
        """Whether so many matches are all that are wanted."""
        return self.max_matches is not None and count >= self.max_matches

    def taken(self) -> NonMaximumSuppression:
        """Where matches are, when there are none yet."""
        return NonMaximumSuppression(self.max_overlap, self.occupied)


ANY = Limits()
"""All that can be found, each place once."""


class NonMaximumSuppression:
    """Row ranges taken so far; a new one is refused if it shares too much with one."""

    def __init__(self, max_overlap: float, occupied: Sequence[tuple[int, int]] = ()) -> None:
        self.max_overlap = max_overlap
        self._ranges: dict[int, list[tuple[int, int]]] = {}
        for start, end in occupied:
            self.add(start, end)

    def add(self, start: int, end: int) -> bool:
        """Take the range if it overlaps none too much; tell whether it was taken."""
        cells = range(start >> 8, (end >> 8) + 1)
        for cell in cells:
            for a, b in self._ranges.get(cell, ()):
                shared = min(b, end) - max(a, start)
                if shared > self.max_overlap * min(b - a, end - start):
                    return False
        for cell in cells:
            self._ranges.setdefault(cell, []).append((start, end))
        return True


@dataclass(frozen=True)
class Candidate:
    """An alignment of the query with rows ``[start, end)`` of all rows of a library.

    `distance` is the mean over the path's cells, in the unit of the rows; `path` holds
    pairs of query row and library row.
    """

    start: int
    end: int
    distance: float
    path: NDArray[np.int64]


MatrixOf = Callable[[int, int], NDArray[np.float64]]


def non_overlapping(
    costs: NDArray,
    matrix_of: MatrixOf,
    starts: NDArray[np.int64],
    *,
    length: int,
    steps: str,
    limits: Limits = ANY,
) -> list[Candidate]:
    """The best matches among the ends, in order of distance.

    Parameters
    ----------
    costs : ndarray, shape (N,)
        As from `motionloom.search.subsequence_kernel.end_costs`.
    matrix_of : callable
        ``matrix_of(low, high)`` gives distances (M, high - low) of the query's rows to rows
        `low` to `high`, in double precision.
    starts : ndarray, shape (K + 1,)
    length : int
        Rows of the query, M.
    steps : str
    limits : Limits
    """
    ends = local_minima(costs, starts, max(1, length // 4))
    order = ends[np.argsort(costs[ends], kind="stable")]
    kept: list[Candidate] = []
    taken = limits.taken()
    for end in order.tolist():
        # Costs rise along the order; classic paths may have up to three cells a row.
        cells = length * (1 if steps == "slope" else 3)
        if costs[end] > limits.max_distance * cells * (1.0 + 1e-3) + 1e-3:
            break
        found = aligned_at(end, matrix_of, starts, length=length, steps=steps)
        if found is None or found.distance > limits.max_distance:
            continue
        if not limits.allows(found.end - found.start, query=length):
            continue
        if taken.add(found.start, found.end):
            kept.append(found)
            if limits.reached(len(kept)):
                break
    return sorted(kept, key=lambda found: (found.distance, found.start))


def aligned_at(
    end: int, matrix_of: MatrixOf, starts: NDArray[np.int64], *, length: int, steps: str
) -> Candidate | None:
    """The best alignment that ends within a row of `end`, in double precision."""
    motion = int(row_of(starts, end))
    first, last = int(starts[motion]), int(starts[motion + 1])
    reach = 2 * length + 2
    while True:
        low, high = max(first, end + 1 - reach), min(last, end + 2)
        costs, came = accumulated(matrix_of(low, high), steps=steps, subsequence=True)
        near = max(0, end - 1 - low)
        column = near + int(np.argmin(costs[-1, near : end + 2 - low]))
        if not np.isfinite(costs[-1, column]):
            return None
        path = path_to(came, column, steps=steps)
        if path[0, 1] > 0 or low == first:
            break
        reach *= 2  # it began at the window's edge, and might have begun before
    distance = float(costs[-1, column]) / len(path)
    path[:, 1] += low
    return Candidate(int(path[0, 1]), int(path[-1, 1]) + 1, distance, path)


def realigned(
    found: Sequence[Candidate],
    matrix_of: MatrixOf,
    starts: NDArray[np.int64],
    *,
    length: int,
    steps: str,
    limits: Limits = ANY,
) -> list[Candidate]:
    """Rough matches made exact: the best alignment around each, once, in order of distance.

    Of `limits` those of overlaps count.
    """
    better = []
    for one in found:
        motion = int(row_of(starts, one.start))
        low = max(int(starts[motion]), one.start - length)
        high = min(int(starts[motion + 1]), one.end + length)
        costs, came = accumulated(matrix_of(low, high), steps=steps, subsequence=True)
        end = int(np.argmin(costs[-1]))
        if np.isfinite(costs[-1, end]):
            path = path_to(came, end, steps=steps)
            distance = float(costs[-1, end]) / len(path)
            path[:, 1] += low
            better.append(Candidate(int(path[0, 1]), int(path[-1, 1]) + 1, distance, path))
    better.sort(key=lambda one: (one.distance, one.start))
    taken = limits.taken()
    return [one for one in better if taken.add(one.start, one.end)]


@nb.njit(cache=True, nogil=True)
def local_minima(costs, starts, reach):
    """Rows whose cost is finite and the least within `reach` rows of the same motion.

    Of equal costs the first counts.
    """
    out = np.empty(len(costs), np.int64)
    count = 0
    for m in range(len(starts) - 1):
        first, last = starts[m], starts[m + 1]
        j = first
        while j < last:
            here = costs[j]
            if not np.isfinite(here):
                j += 1
                continue
            least = True
            ahead = min(last, j + reach + 1)
            step = 1
            for other in range(j + 1, ahead):
                if costs[other] < here:
                    least, step = False, other - j
                    break
            if least:
                for other in range(max(first, j - reach), j):
                    if costs[other] <= here:
                        least = False
                        break
                if least:
                    out[count] = j
                    count += 1
            j += step
    return out[:count].copy()
