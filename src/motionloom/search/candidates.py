"""Candidates of matches: local minima of alignment costs, and non-maximum suppression.

Ends of alignments are visited in order of cost; each alignment is traced back in double
precision, and suppressed if it overlaps a candidate kept before by too much.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.alignment.dtw import accumulated, path_to
from motionloom.kernels import kernel
from motionloom.ragged import row_of
from motionloom.search.methods import SegmentOptions
from motionloom.search.methods.segments import ANY_DURATION, MAX_OVERLAP
from motionloom.search.settings import SearchSettings


@dataclass(frozen=True)
class Candidate:
    """An alignment of the query with frames ``[start, end)`` of a library's timeline.

    `distance` is the mean over the cells of the path, in the unit of the features; `path` holds
    pairs of query frame and timeline frame. `mirrored`: of the mirrored query.
    """

    start: int
    end: int
    distance: float
    path: NDArray[np.int64]
    mirrored: bool = False


@dataclass(frozen=True)
class Limits:
    """Which candidates become matches.

    Parameters
    ----------
    max_matches : int or None
        Number of matches, at most.
    max_distance : float
        Mean distance per cell, in the unit of the features.
    max_overlap : float
        Part of the shorter of two matches that they may share.
    durations : tuple of float
        Least and greatest length of a match, in lengths of the query.
    occupied : sequence of (start, end)
        Frames that matches must not overlap.

    Examples
    --------
    >>> limits = Limits(durations=(0.5, 2.0), occupied=[(0, 10)])
    >>> limits.allows(30, query=10), limits.suppression().keep(5, 15)
    (False, False)
    """

    max_matches: int | None = None
    max_distance: float = np.inf
    max_overlap: float = MAX_OVERLAP
    durations: tuple[float, float] = ANY_DURATION
    occupied: Sequence[tuple[int, int]] = ()

    @classmethod
    def of(
        cls,
        settings: SearchSettings,
        own: tuple[int, int] | None,
        *,
        scale: float = 1.0,
    ) -> Limits:
        """The limits of a search among features whose distances times `scale` are meters.

        `own` is the range of the query itself, if it is in the library.
        """
        method = settings.method
        assert isinstance(method, SegmentOptions)
        return cls(
            max_matches=settings.max,
            max_distance=np.inf if settings.max_distance is None else settings.max_distance / scale,
            max_overlap=method.max_overlap,
            durations=method.durations,
            occupied=(own,) if settings.exclude_query and own is not None else (),
        )

    def allows(self, length: int, *, query: int) -> bool:
        """Whether a match may have `length` frames, for a query of `query` frames."""
        shortest, longest = self.durations
        return shortest * query <= length <= longest * query

    def reached(self, count: int) -> bool:
        """Whether `count` matches are enough."""
        return self.max_matches is not None and count >= self.max_matches

    def reach(self, length: int) -> int:
        """Frames to either side within which an end must be the cheapest, for such a query.

        Ends near one another give almost the same alignment; with a `max_overlap` of 1 every end
        is a candidate.
        """
        return max(1, length // 4) if self.max_overlap < 1.0 else 0

    def suppression(self) -> NonMaximumSuppression:
        """Non-maximum suppression with these limits, before the first candidate."""
        return NonMaximumSuppression(self.max_overlap, self.occupied)


ANY = Limits()
"""No limits but that of overlaps."""


class NonMaximumSuppression:
    """Ranges kept so far; a range that overlaps one of them by too much is suppressed."""

    def __init__(self, max_overlap: float, occupied: Sequence[tuple[int, int]] = ()) -> None:
        self.max_overlap = max_overlap
        self._ranges: dict[int, list[tuple[int, int]]] = {}
        for start, end in occupied:
            self.keep(start, end)

    def keep(self, start: int, end: int) -> bool:
        """Keep the range unless it is suppressed; returns whether it was kept."""
        cells = range(start >> 8, (end >> 8) + 1)
        for cell in cells:
            for a, b in self._ranges.get(cell, ()):
                shared = min(b, end) - max(a, start)
                if shared > self.max_overlap * min(b - a, end - start):
                    return False
        for cell in cells:
            self._ranges.setdefault(cell, []).append((start, end))
        return True


MatrixOf = Callable[[int, int], NDArray[np.float64]]


@dataclass(frozen=True)
class Alignments:
    """Alignments of a query with frames of a library, as candidates are traced.

    Parameters
    ----------
    matrix_of : callable
        ``matrix_of(low, high)`` gives the distances (M, high - low) of the query's frames to
        frames `low` to `high`, in double precision.
    starts : ndarray, shape (K + 1,)
        Where each motion begins, and N.
    length : int
        Frames of the query, M.
    steps : {"slope", "classic"}
    warp_cost : float
        As in `motionloom.alignment.dtw.accumulated`.
    """

    matrix_of: MatrixOf
    starts: NDArray[np.int64]
    length: int
    steps: str = "slope"
    warp_cost: float = 0.0

    def best(self, costs: NDArray, *, limits: Limits = ANY, traced: bool = True) -> list[Candidate]:
        """The candidates left after non-maximum suppression, by distance.

        Parameters
        ----------
        costs : ndarray, shape (N,)
            Cost of the best alignment that ends at each frame, as from
            `motionloom.search.subsequence.end_costs.end_costs`; without `warp_cost`.
        limits : Limits
        traced : bool
            False: candidates have no path, and begin as if they were as long as the query;
            `limits.durations` is not applied to them.
        """
        ends = local_minima(costs, self.starts, limits.reach(self.length))
        return self.ending_at(ends, costs[ends], limits=limits, traced=traced)

    def ending_at(
        self, ends: NDArray[np.int64], costs: NDArray, *, limits: Limits = ANY, traced: bool = True
    ) -> list[Candidate]:
        """As `best`, of alignments that end at some frames `ends` with costs `costs`."""
        order = np.argsort(costs, kind="stable")
        kept: list[Candidate] = []
        suppression = limits.suppression()
        slack = limits.reach(self.length) if self.warp_cost else 1
        # Costs rise along the order; classic paths may have up to three cells per frame.
        cells = self.length * (1 if self.steps == "slope" else 3)
        most = limits.max_distance * cells * (1.0 + 1e-3) + 1e-3
        for end, cost in zip(ends[order].tolist(), costs[order].tolist(), strict=True):
            if cost > most:
                break
            candidate: Candidate | None
            if traced:
                candidate = self._ending_near(end, slack)
                if candidate is None or candidate.distance > limits.max_distance:
                    continue
                if not limits.allows(candidate.end - candidate.start, query=self.length):
                    continue
            else:
                start = max(int(self.starts[row_of(self.starts, end)]), end + 1 - self.length)
                no_path = np.empty((0, 2), np.int64)
                candidate = Candidate(start, end + 1, cost / self.length, no_path)
            if suppression.keep(candidate.start, candidate.end):
                kept.append(candidate)
                if limits.reached(len(kept)):
                    break
        return sorted(kept, key=_rank)

    def realigned(
        self, candidates: Sequence[Candidate], *, limits: Limits = ANY
    ) -> list[Candidate]:
        """The best alignment around each candidate, suppressed again, by distance.

        Only the limit of overlaps is applied.
        """
        better = []
        for candidate in candidates:
            motion = int(row_of(self.starts, candidate.start))
            low = max(int(self.starts[motion]), candidate.start - self.length)
            high = min(int(self.starts[motion + 1]), candidate.end + self.length)
            costs, came = accumulated(self.matrix_of(low, high), steps=self.steps, subsequence=True)
            end = int(np.argmin(costs[-1]))
            if np.isfinite(costs[-1, end]):
                better.append(self._traced(costs, came, end, low))
        better.sort(key=_rank)
        suppression = limits.suppression()
        return [each for each in better if suppression.keep(each.start, each.end)]

    def _ending_near(self, end: int, slack: int) -> Candidate | None:
        """The best alignment that ends within `slack` frames of `end`, in double precision."""
        motion = int(row_of(self.starts, end))
        first, last = int(self.starts[motion]), int(self.starts[motion + 1])
        reach = 2 * self.length + 2
        while True:
            low, high = max(first, end + 1 - reach), min(last, end + 1 + slack)
            costs, came = accumulated(
                self.matrix_of(low, high),
                steps=self.steps,
                subsequence=True,
                warp_cost=self.warp_cost,
            )
            near = max(0, end - slack - low)
            column = near + int(np.argmin(costs[-1, near:]))
            if not np.isfinite(costs[-1, column]):
                return None
            candidate = self._traced(costs, came, column, low)
            if candidate.start > low or low == first:
                return candidate
            reach *= 2  # the path begins at the edge of the window and might begin before it

    def _traced(self, costs: NDArray, came: NDArray, end: int, low: int) -> Candidate:
        """The path that ends in column `end` of a window beginning at frame `low`."""
        path = path_to(came, end, steps=self.steps)
        distance = float(costs[-1, end]) / len(path)
        path[:, 1] += low
        return Candidate(int(path[0, 1]), int(path[-1, 1]) + 1, distance, path)


def _rank(candidate: Candidate) -> tuple[float, int]:
    return candidate.distance, candidate.start


@kernel
def local_minima(costs, starts, reach):
    """Frames whose cost is finite and the least within `reach` frames of the same motion.

    `costs` (N,), `starts` (K + 1,). The first of equal costs counts. A frame that is not the least
    is left at once for the smaller one ahead of it: nothing in between can be the least, so that
    most frames are never compared with those behind them.
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
