"""Second pass of a search: refine match boundaries and re-rank by movement.

The pass over a library compares poses frame by frame; nothing else is fast enough. Its few
candidates are then examined more closely.

*Boundaries.* Each candidate is aligned again with joint speeds included, because poses do not
show when an action begins that starts from standing still. Deviating from the query's tempo
costs a little, so that a match keeps time where nothing happens. If the query begins at rest,
so does the match: as long before the first movement as in the query. The same holds for ends.
A walk from standing to standing is found from standing to standing, whatever the number of its
steps.

*Rank* (``rank="movement"``). Along the alignment, the difference of two motions has a constant
part (another stance, another build, another place of idle arms) and the rest (another
movement). The constant part counts less. A segment that moves less than the query is farther
from it, by a factor of up to the square root of two; otherwise standing still would be near
everything. Both corrections fade as the query itself moves less, so that a held pose is
searched as a pose.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from motionloom.alignment.dtw import accumulated, path_to
from motionloom.kernels import kernel
from motionloom.ragged import row_of
from motionloom.search.candidates import ANY, Candidate, Limits

# One set of numbers for all of: six captured actions with each of their 55 occurrences as
# query, 212 actions of the built-in corpus, 19 labelled exercises. Halving or doubling any of
# them changes little.
_WARP = 0.1  # cost per frame of deviating from the query's tempo, in the query's size
_STANCE = 0.3  # weight of a constant difference
_STILL = 0.03  # metres; a query that moves no more than this is a pose
_REST = 0.25  # of the query's mean speed: below it, joints are at rest
_REST_SECONDS = 0.1  # shorter pauses are not rest
_CANDIDATE_OVERLAP = 0.5  # candidates may share this part; the better one is kept


def candidates_overlap(max_overlap: float) -> float:
    """Part that candidates may share, so that the better of two is still among them."""
    return max(_CANDIDATE_OVERLAP, max_overlap)


def rerank(
    found: Sequence[Candidate],
    query: NDArray[np.float32],
    vectors: NDArray[np.float32],
    starts: NDArray[np.int64],
    *,
    weights: NDArray[np.float32] | None,
    query_speed: NDArray[np.float64],
    rate: float,
    scale: float,
    seconds: float = 0.15,
    steps: str = "slope",
    rank: str = "movement",
    limits: Limits = ANY,
) -> list[Candidate]:
    """Candidates with refined boundaries, re-ranked.

    Parameters
    ----------
    found, query, vectors, starts, weights, steps
        As in `motionloom.search.subsequence.dtw.dtw_matches`.
    query_speed : ndarray, shape (M, D)
        Change of the query's features per second.
    rate : float
        Frames per second.
    scale : float
        Factor from distances of feature vectors to metres.
    seconds : float
        Weight of speeds: a metre per second counts as this many metres.
    rank : {"movement", "distance"}
        ``distance``: order and distances are kept. ``movement``: both are those of the
        movement; see above.
    limits : Limits
        In the distances of `rank`.
    """
    profile = _QueryProfile(query, query_speed, weights, rate, scale, seconds, steps)
    better = []
    for one in found:
        m = int(row_of(starts, one.start))
        first, last = int(starts[m]), int(starts[m + 1])
        better.append(profile.refined(one, vectors, first, last, rank))
    if rank == "movement":
        better.sort(key=lambda one: (one.distance, one.start))
    suppression = limits.suppression()
    kept = [
        one
        for one in better
        if suppression.keep(one.start, one.end)
        and one.distance <= limits.max_distance
        and limits.allows(one.end - one.start, query=len(query))
    ]
    return kept[: limits.max_matches]


def speeds(
    rows: NDArray[np.float32], low: int, high: int, first: int, last: int, rate: float
) -> NDArray[np.float64]:
    """Change per second of frames `low` to `high` of a motion with frames `first` to `last`."""
    before, after = max(first, low - 1), min(last, high + 1)
    around = np.asarray(rows[before:after], dtype=np.float64)
    if len(around) < 2:
        return np.zeros((high - low, rows.shape[1]))
    return np.gradient(around, axis=0)[low - before : high - before] * rate


def differences(
    query: NDArray, vectors: NDArray, weights: NDArray | None = None
) -> NDArray[np.float64]:
    """Distances (M, N) of feature vectors in double precision; infinite for missing frames."""
    factors = np.ones(query.shape[1]) if weights is None else weights.astype(np.float64)
    return _differences(query.astype(np.float64) * factors, np.asarray(vectors), factors)


@kernel
def _differences(query, rows, weights):
    matrix = np.empty((len(query), len(rows)))
    for i in range(len(query)):
        for j in range(len(rows)):
            square = 0.0
            for d in range(query.shape[1]):
                difference = query[i, d] - weights[d] * rows[j, d]
                square += difference * difference
            matrix[i, j] = np.sqrt(square) if square == square else np.inf
    return matrix


class _QueryProfile:
    """The query with its speeds, its size and its frames of rest."""

    def __init__(self, query, speed, weights, rate, scale, seconds, steps) -> None:
        self.factors = np.ones(query.shape[1]) if weights is None else weights.astype(np.float64)
        self.length, self.rate, self.scale = len(query), rate, scale
        self.seconds, self.steps = seconds, steps
        speed = np.nan_to_num(speed)  # beside a missing frame
        self.both = self._with_speed(query, speed)
        self.size = self._size(self.both)
        paces = self._paces(speed)
        self.resting = _REST * float(np.sqrt(np.mean(paces**2)))
        moving = np.flatnonzero(paces >= self.resting)
        least = max(2, round(_REST_SECONDS * rate))
        # Frames of rest before the first movement and after the last; None if it has none.
        lead, tail = int(moving[0]), self.length - 1 - int(moving[-1])
        self.lead = lead if lead >= least and self.resting > 0.0 else None
        self.tail = tail if tail >= least and self.resting > 0.0 else None

    def refined(self, one: Candidate, rows, first: int, last: int, rank: str) -> Candidate:
        """A candidate in a motion with frames `first` to `last`, aligned again."""
        margin = self.length // 3
        low, high = max(first, one.start - margin), min(last, one.end + margin)
        speed = np.nan_to_num(speeds(rows, low, high, first, last, self.rate))
        near = self._with_speed(rows[low:high], speed)
        costs, came = accumulated(
            differences(self.both, near),
            steps=self.steps,
            subsequence=True,
            warp_cost=_WARP * self.size,
        )
        end = int(np.argmin(costs[-1]))
        if not np.isfinite(costs[-1, end]):
            return one
        path = path_to(came, end, steps=self.steps)
        distance = one.distance
        if rank == "movement":
            distance = self._movement_distance(near[path[:, 1]], path[:, 0])
        path[:, 1] += low
        if self.lead is not None or self.tail is not None:
            path = self._from_rest_to_rest(path, rows, first, last)
        return Candidate(int(path[0, 1]), int(path[-1, 1]) + 1, distance, path)

    def _movement_distance(self, met: NDArray[np.float64], frames: NDArray[np.int64]) -> float:
        """Mean difference along the path, in the unit of the features; see the module."""
        pose = _STILL / self.scale
        share = pose**2 / (self.size**2 + pose**2)
        apart = self.both[frames] - met
        n_places = len(self.factors)
        stance = apart[:, :n_places].mean(axis=0)
        apart[:, :n_places] -= (1.0 - _STANCE) * (1.0 - share) * stance
        other = min(self._size(met), self.size)
        mean_square = 0.5 * (self.size**2 + other**2) + pose**2
        factor = np.sqrt((self.size**2 + pose**2) / mean_square)
        return float(np.mean(np.sqrt(np.einsum("nd,nd->n", apart, apart))) * factor)

    def _from_rest_to_rest(self, path, rows, first: int, last: int):
        """The path with its ends moved to where the motion leaves rest and returns to it."""
        lead, tail = self.lead or 0, self.tail or 0
        frames, columns = path[:, 0], path[:, 1]
        inner = (frames >= lead) & (frames < self.length - tail)
        if not inner.any():
            return path
        leaves, stops = int(columns[inner][0]), int(columns[inner][-1])
        low = max(first, leaves - self.length)
        high = min(last, stops + self.length + 1)
        paces = self._paces(speeds(rows, low, high, first, last, self.rate))
        # Missing frames bound a motion like its ends.
        gaps = low + np.flatnonzero(np.isnan(paces))
        first = int((gaps[gaps < leaves] + 1).max(initial=first))
        last = int(gaps[gaps > stops].min(initial=last))
        resting = paces[max(0, first - low) : last - low] < self.resting
        low, high = max(low, first), min(high, last)
        if self.lead is not None:
            found = _first_movement(resting, leaves - low, low == first)
            leaves = leaves if found is None else low + found
        if self.tail is not None:
            back = _first_movement(resting[::-1], high - 1 - stops, high == last)
            stops = stops if back is None else high - 1 - back
        if stops <= leaves:
            return path
        parts = [np.stack([frames[inner], np.clip(columns[inner], leaves, stops)], axis=1)]
        if lead:
            ahead = np.arange(lead)
            parts.insert(0, np.stack([ahead, np.maximum(leaves - lead + ahead, first)], axis=1))
        if tail:
            after = np.arange(1, tail + 1)
            ends = np.minimum(stops + after, last - 1)
            parts.append(np.stack([self.length - 1 - tail + after, ends], axis=1))
        return np.concatenate(parts)

    def _with_speed(self, places, speed) -> NDArray[np.float64]:
        return np.hstack([places * self.factors, self.seconds * speed * self.factors])

    def _size(self, both: NDArray[np.float64]) -> float:
        """Extent of a movement: root mean square of speeds, and of places about their mean."""
        n_places = len(self.factors)
        moved = both[:, :n_places].var(axis=0).sum() + np.mean(both[:, n_places:] ** 2, 0).sum()
        return float(np.sqrt(moved))

    def _paces(self, speed: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.sqrt(np.square(speed * self.factors).sum(axis=1))


def _first_movement(resting: NDArray[np.bool_], at: int, at_the_end: bool) -> int | None:
    """Where the movement at `at` begins, or the next movement if there is rest.

    None if it begins outside the window; the end of a motion counts as rest.
    """
    if resting[at]:
        moving = np.flatnonzero(~resting[at:])
        return at + int(moving[0]) if len(moving) else None
    rests = np.flatnonzero(resting[:at])
    if len(rests):
        return int(rests[-1]) + 1
    return 0 if at_the_end else None
