"""Match candidates: local minima of the alignment costs, thinned by non-maximum suppression.

The ends of alignments are visited in order of increasing cost. Each alignment is traced back in
double precision and suppressed if it overlaps a previously accepted candidate by too much.
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

    `distance` is the mean frame distance over the cells of the path, in the unit of the features.
    `path` contains pairs (query frame, timeline frame). `mirrored` is True if the mirrored query
    was aligned.
    """

    start: int
    end: int
    distance: float
    path: NDArray[np.int64]
    mirrored: bool = False


@dataclass(frozen=True)
class Limits:
    """Limits that decide which candidates become matches.

    Parameters
    ----------
    max_matches : int or None
        Maximum number of matches.
    max_distance : float
        Maximum mean distance per cell, in the unit of the features.
    max_overlap : float
        Maximum overlap of two matches, as a fraction of the shorter one.
    durations : tuple of float
        Minimum and maximum length of a match, as multiples of the query length.
    occupied : sequence of (start, end)
        Frame ranges that are already taken. A match may overlap them only up to `max_overlap`.

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
        """Return the limits for a search.

        `scale` converts distances to meters. `own` is the frame range of the query if the query is
        part of the library, otherwise None.
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
        """Return whether a match of `length` frames is allowed for a query of `query` frames."""
        shortest, longest = self.durations
        return shortest * query <= length <= longest * query

    def reached(self, count: int) -> bool:
        """Return whether `count` matches reach the maximum number of matches."""
        return self.max_matches is not None and count >= self.max_matches

    def reach(self, length: int) -> int:
        """Return the number of frames on each side within which an end must have the lowest cost.

        Alignments that end at neighboring frames are almost the same, so only the best of them
        becomes a candidate. With a `max_overlap` of 1, every end is a candidate.
        """
        return max(1, length // 4) if self.max_overlap < 1.0 else 0

    def suppression(self) -> NonMaximumSuppression:
        """Return a new `NonMaximumSuppression` that applies these limits."""
        return NonMaximumSuppression(self.max_overlap, self.occupied)


ANY = Limits()
"""Limits that restrict only the overlap between matches."""


class NonMaximumSuppression:
    """Non-maximum suppression: reject frame ranges that overlap an accepted range too much."""

    def __init__(self, max_overlap: float, occupied: Sequence[tuple[int, int]] = ()) -> None:
        self.max_overlap = max_overlap
        self._ranges: dict[int, list[tuple[int, int]]] = {}
        for start, end in occupied:
            self.keep(start, end)

    def keep(self, start: int, end: int) -> bool:
        """Accept the range unless it is suppressed, and return whether it was accepted."""
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
    """Alignments of a query with frames of a library, traced for each candidate.

    Parameters
    ----------
    matrix_of : callable
        ``matrix_of(low, high)`` returns the distances, shape (M, high - low), between the query
        frames and frames `low` to `high`, in double precision.
    starts : ndarray, shape (K + 1,)
        First frame of each motion on the timeline, followed by the number of frames N.
    length : int
        Number of query frames, M.
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
        """Return the candidates that survive non-maximum suppression, sorted by distance.

        Parameters
        ----------
        costs : ndarray, shape (N,)
            Cost of the best alignment that ends at each frame, without `warp_cost`, as returned by
            `motionloom.search.subsequence.end_costs.end_costs`.
        limits : Limits
        traced : bool
            If False, candidates have no path, are assumed to be as long as the query, and
            `limits.durations` does not apply.
        """
        ends = local_minima(costs, self.starts, limits.reach(self.length))
        return self.ending_at(ends, costs[ends], limits=limits, traced=traced)

    def ending_at(
        self, ends: NDArray[np.int64], costs: NDArray, *, limits: Limits = ANY, traced: bool = True
    ) -> list[Candidate]:
        """Return the result of `best`, restricted to alignments that end at the frames `ends`."""
        order = np.argsort(costs, kind="stable")
        kept: list[Candidate] = []
        suppression = limits.suppression()
        slack = limits.reach(self.length) if self.warp_cost else 1
        # Costs increase in this order; classic paths may have up to three cells per frame.
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
        """Realign each candidate, apply suppression again, and sort by distance.

        Only the limit on overlaps applies.
        """
        better = []
        for candidate in candidates:
            motion = int(row_of(self.starts, candidate.start))
            low = max(int(self.starts[motion]), candidate.start - self.length)
            high = min(int(self.starts[motion + 1]), candidate.end + self.length)
            aligned = self._aligned(low, high, 0)
            if aligned is not None:
                better.append(_candidate(*aligned, low))
        better.sort(key=_rank)
        suppression = limits.suppression()
        return [each for each in better if suppression.keep(each.start, each.end)]

    def _ending_near(self, end: int, slack: int) -> Candidate | None:
        """Return the best alignment that ends within `slack` frames of `end`, in float64."""
        motion = int(row_of(self.starts, end))
        first, last = int(self.starts[motion]), int(self.starts[motion + 1])
        reach = 2 * self.length + 2
        while True:
            low, high = max(first, end + 1 - reach), min(last, end + 1 + slack)
            aligned = self._aligned(low, high, max(0, end - slack - low))
            if aligned is None:
                return None
            candidate = _candidate(*aligned, low)
            if candidate.start > low or low == first:
                return candidate
            reach *= 2  # the path starts at the edge of the window and might start earlier

    def _aligned(self, low: int, high: int, near: int) -> tuple[float, NDArray[np.int64]] | None:
        """Return the cost and path of the best alignment that ends at column `near` or later."""
        costs, came = accumulated(
            self.matrix_of(low, high), steps=self.steps, subsequence=True, warp_cost=self.warp_cost
        )
        end = near + int(np.argmin(costs[-1, near:]))
        cost = float(costs[-1, end])
        return (cost, path_to(came, end, steps=self.steps)) if np.isfinite(cost) else None


def _candidate(cost: float, path: NDArray[np.int64], low: int) -> Candidate:
    """Return the candidate of a path whose column 0 is frame `low`."""
    path[:, 1] += low
    return Candidate(int(path[0, 1]), int(path[-1, 1]) + 1, cost / len(path), path)


def _rank(candidate: Candidate) -> tuple[float, int]:
    return candidate.distance, candidate.start


@kernel
def local_minima(costs, starts, reach):
    """Return frames whose finite cost is the minimum within `reach` frames of the same motion.

    `costs` has shape (N,), `starts` (K + 1,). Ties go to the first frame. If a frame is not a
    minimum, the scan jumps to the next smaller cost, because no frame in between can be a minimum.
    Most frames are therefore never compared with the frames before them.
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
