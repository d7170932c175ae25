"""Second pass of a search: reranking by movement, or refinement of boundaries.

The first pass over a library compares poses frame by frame, because anything else would be too
slow. The surroundings of its few candidates are then examined more closely, including joint speeds.

*Ranking* (``rank="movement"``). An action is often repeated nearby in a different stance, such as a
crouch, or with the idle arms in another position. The pose distance has no separate minimum there,
but the distance of movements does. The surroundings of the candidates are therefore searched again
by poses and speeds together, which yields the matches. Along an alignment, the difference between
two motions consists of a constant part (different stance, build, or placement of idle arms) and a
varying part (a different movement). The constant part counts less. A segment that moves less than
the query is farther from it, by a factor of up to the square root of two; otherwise, standing still
would be near everything. Both corrections fade as the query itself moves less, so a static pose is
searched as a pose.

*Boundaries.* Poses do not show when an action starts if it starts from standing still. With
``rank="distance"``, each candidate is realigned including joint speeds, and keeps its rank. In both
modes, deviating from the query's tempo has a small cost, so a match keeps time where nothing
happens. If the query starts at rest, the match also starts at rest, with the same time before the
first movement. The same applies to the end. A walk that starts and ends with standing is matched by
walks that start and end with standing, regardless of the number of steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.alignment.dtw import accumulated, path_to
from motionloom.features import LibraryFeatures
from motionloom.kernels import kernel
from motionloom.ragged import offsets_of, row_of
from motionloom.search.candidates import ANY, Alignments, Candidate, Limits, local_minima
from motionloom.search.methods.segments import SPEED_SECONDS
from motionloom.search.query import Query
from motionloom.search.subsequence.end_costs import end_costs

# All evaluations use these values: six captured actions with each of their 55 occurrences as the
# query, 212 actions of the built-in corpus, and 19 labeled exercises. Halving or doubling any value
# changes little.
_WARP = 0.1  # cost per frame of deviating from the query's tempo, relative to the query's size
_STANCE = 0.3  # weight of a constant difference
_STILL = 0.03  # meters; a query that moves no more than this is a pose
_REST = 0.25  # fraction of the query's mean speed below which joints are at rest
_REST_SECONDS = 0.1  # shorter pauses do not count as rest
_CANDIDATE_OVERLAP = 0.5  # if candidates overlap by more than this fraction, the better one is kept
_AROUND = 30.0  # seconds searched before and after a candidate for the same movement
MORE = 3  # candidates per requested match
_TOGETHER = 64  # paths traced at a time
_DIAGONAL, _SKIP, _HOLD = 1, 2, 3  # steps of an alignment


def wider(limits: Limits) -> Limits:
    """Return relaxed limits for `rerank` candidates: any distance, and more candidates.

    More candidates are needed because their order changes.
    """
    most = None if limits.max_matches is None else MORE * limits.max_matches
    overlap = max(_CANDIDATE_OVERLAP, limits.max_overlap)
    return replace(limits, max_distance=np.inf, max_overlap=overlap, max_matches=most)


def second_pass(
    candidates: Sequence[Candidate],
    query: Query,
    features: LibraryFeatures,
    vectors: NDArray[np.float32],
    **options: Any,
) -> list[Candidate]:
    """Return the result of `rerank` for a query and the features of its library."""
    span = query.span(features)
    if span is None:
        speed = speeds(vectors, 0, len(vectors), 0, len(vectors), features.rate)
    else:
        motion = _motion_at(features.starts, span[0])
        speed = speeds(features.rows, *span, *motion, features.rate)
    return rerank(
        candidates,
        vectors,
        features.rows,
        features.starts,
        query_speed=speed,
        rate=features.rate,
        scale=features.feature_set.scale,
        **options,
    )


def rerank(
    candidates: Sequence[Candidate],
    query: NDArray[np.float32],
    vectors: NDArray[np.float32],
    starts: NDArray[np.int64],
    *,
    weights: NDArray[np.float32] | None = None,
    query_speed: NDArray[np.float64],
    rate: float,
    scale: float,
    seconds: float = SPEED_SECONDS,
    steps: str = "slope",
    rank: str = "movement",
    limits: Limits = ANY,
) -> list[Candidate]:
    """Return matches near the candidates ranked by movement, or candidates with new boundaries.

    Parameters
    ----------
    candidates, query, vectors, starts, weights, steps
        As in `motionloom.search.subsequence.dtw.dtw_matches`.
    query_speed : ndarray, shape (M, D)
        Change of the query's features per second.
    rate : float
        Frames per second.
    scale : float
        Factor that converts distances between feature vectors to meters.
    seconds : float
        Weight of speeds: one meter per second counts as this many meters.
    rank : {"movement", "distance"}
        ``movement`` returns the movements near the candidates, sorted by their movement distance;
        see the module docstring. ``distance`` returns the candidates with unchanged order and
        distances.
    limits : Limits
        Limits of the matches; `max_distance` refers to the distance that `rank` selects.
    """
    profile = _QueryProfile(query, query_speed, weights, rate, scale, seconds, steps)
    if rank == "movement" and candidates:
        near = _Surroundings(profile, candidates, vectors, starts)
        better = [profile.ranked(path, vectors, *ends) for path, ends in near.paths(limits)]
        better.sort(key=lambda each: (each.distance, each.start))
    else:
        better = [
            profile.refined(each, vectors, *_motion_at(starts, each.start)) for each in candidates
        ]
    suppression = limits.suppression()
    kept = [
        each
        for each in better
        if suppression.keep(each.start, each.end)
        and each.distance <= limits.max_distance
        and limits.allows(each.end - each.start, query=len(query))
    ]
    return kept[: limits.max_matches]


def speeds(
    rows: NDArray[np.float32], low: int, high: int, first: int, last: int, rate: float
) -> NDArray[np.float64]:
    """Return the change per second in frames `low` to `high` of a motion (`first` to `last`)."""
    before, after = max(first, low - 1), min(last, high + 1)
    around = np.asarray(rows[before:after], dtype=np.float64)
    if len(around) < 2:
        return np.zeros((high - low, rows.shape[1]))
    return np.gradient(around, axis=0)[low - before : high - before] * rate


def differences(
    query: NDArray, vectors: NDArray, weights: NDArray | None = None
) -> NDArray[np.float64]:
    """Return float64 distances (M, N) between feature vectors; infinite for missing frames."""
    factors = np.ones(query.shape[1]) if weights is None else weights.astype(np.float64)
    return _differences(query.astype(np.float64) * factors, np.asarray(vectors), factors)


@kernel
def _differences(query, rows, weights):
    """Compute distances (M, N) between weighted queries (M, D) and weighted rows (N, D).

    Missing values (NaN) are infinitely far away.
    """
    columns = np.empty((rows.shape[1], len(rows)))
    for j in range(len(rows)):
        for d in range(rows.shape[1]):
            columns[d, j] = weights[d] * rows[j, d]
    matrix = np.zeros((len(query), len(rows)))
    for i in range(len(query)):
        line = matrix[i]
        for d in range(query.shape[1]):  # along columns: several cells per instruction
            value, column = query[i, d], columns[d]
            for j in range(len(line)):
                difference = value - column[j]
                line[j] += difference * difference
        for j in range(len(line)):
            line[j] = np.sqrt(line[j]) if line[j] == line[j] else np.inf
    return matrix


def _motion_at(starts: NDArray[np.int64], frame: int) -> tuple[int, int]:
    """Return the half-open frame range of the motion that contains a frame."""
    m = int(row_of(starts, frame))
    return int(starts[m]), int(starts[m + 1])


class _Surroundings:
    """Library frames near the candidates, with their speeds."""

    def __init__(self, profile: _QueryProfile, candidates, vectors, starts) -> None:
        self.profile = profile
        reach = round(_AROUND * profile.rate)
        self.spans: list[tuple[int, int]] = []  # without overlaps, each within one motion
        self.motions: list[tuple[int, int]] = []
        for candidate in sorted(candidates, key=lambda candidate: candidate.start):
            first, last = _motion_at(starts, candidate.start)
            low, high = max(first, candidate.start - reach), min(last, candidate.end + reach)
            if self.spans and low <= self.spans[-1][1] and first == self.motions[-1][0]:
                self.spans[-1] = self.spans[-1][0], max(high, self.spans[-1][1])
            else:
                self.spans.append((low, high))
                self.motions.append((first, last))
        self.starts = offsets_of([high - low for low, high in self.spans])
        self.table = np.empty((self.starts[-1], profile.both.shape[1]), np.float32)
        for span, motion, at in zip(self.spans, self.motions, self.starts, strict=False):
            profile.write_rows(vectors, *span, *motion, self.table[at:])

    def paths(self, limits: Limits) -> Iterator[tuple[NDArray[np.int64], tuple[int, int]]]:
        """Yield the best alignments by poses and speeds, in library frames, and their motions."""
        query, steps = self.profile.both.astype(np.float32), self.profile.steps
        costs = end_costs(query, self.table, self.starts, steps=steps)
        limits = replace(wider(limits), occupied=(), durations=ANY.durations)
        if steps == "slope":
            paths = self._slope_paths(query, costs, limits)
        else:
            both, toll = self.profile.both, self.profile.warp_cost
            alignments = Alignments(
                lambda low, high: differences(both, self.table[low:high]),
                self.starts,
                len(both),
                steps,
                toll,
            )
            paths = (candidate.path for candidate in alignments.best(costs, limits=limits))
        for path in paths:
            n = int(np.searchsorted(self.starts, path[0, 1], side="right")) - 1
            path[:, 1] += self.spans[n][0] - int(self.starts[n])
            yield path, self.motions[n]

    def _slope_paths(self, query, costs, limits: Limits) -> Iterator[NDArray[np.int64]]:
        """Yield the same paths as `Alignments.best`, traced many at a time in single precision."""
        slack = limits.reach(len(query))
        ends = local_minima(costs, self.starts, slack)
        ends = ends[np.argsort(costs[ends], kind="stable")]
        suppression, count = limits.suppression(), 0
        toll = np.float32(self.profile.warp_cost)
        for at in range(0, len(ends), _TOGETHER):
            some = ends[at : at + _TOGETHER]
            columns = _slope_columns(query, self.table, self.starts, some, slack, toll)
            for column in columns[columns[:, 0] >= 0]:
                if suppression.keep(int(column[0]), int(column[-1]) + 1):
                    yield np.stack([np.arange(len(query)), column], axis=1)
                    count += 1
                    if limits.reached(count):
                        return


@kernel
def _slope_columns(query, table, starts, ends, slack, toll):
    """Return the frame of each query frame (K, M), for alignments near K ends; -1 if none."""
    n_rows = len(query)
    out = np.full((len(ends), n_rows), -1, np.int64)
    for k in range(len(ends)):
        n = np.searchsorted(starts, ends[k], side="right") - 1
        # A path has at most two columns per row.
        low = max(starts[n], ends[k] - slack - 2 * n_rows)
        high = min(starts[n + 1], ends[k] + slack + 1)
        near = max(0, ends[k] - slack - low)
        if _slope_path(query, table[low:high], near, toll, out[k]):
            out[k] += low
    return out


@kernel(fastmath={"contract"})
def _slope_path(query, rows, near, toll, out):
    """Write the path (M,) of the best alignment that ends at column `near` or later, if any.

    The query is (M, D), the rows are (N, D), and the path is a column per row. Steps are those of
    `motionloom.alignment.dtw`, and each step off the diagonal costs `toll` more. Only the cells
    from which these ends can be reached are visited: a step advances by half a column to two
    columns per row.
    """
    n_rows, n_columns, n_features = len(query), len(rows), query.shape[1]
    columns = np.empty((n_features, n_columns), np.float32)
    for j in range(n_columns):
        for d in range(n_features):
            columns[d, j] = rows[j, d]
    infinite = np.float32(np.inf)
    costs = np.full((n_rows, n_columns), infinite, np.float32)
    matrix = np.zeros((n_rows, n_columns), np.float32)
    came = np.zeros((n_rows, n_columns), np.int8)
    for i in range(n_rows):
        left = n_rows - 1 - i
        low, high = max(near - 2 * left, 0), n_columns - left // 2
        here = matrix[i, low:high]
        for d in range(n_features):
            value, column = query[i, d], columns[d, low:high]
            for j in range(len(here)):
                difference = value - column[j]
                here[j] += difference * difference
        for j in range(len(here)):
            here[j] = np.sqrt(here[j]) if here[j] == here[j] else infinite
        if i == 0:
            costs[0, low:high] = here
            continue
        for j in range(max(low, 1), high):
            best, how = costs[i - 1, j - 1], _DIAGONAL
            if j > 1 and costs[i - 1, j - 2] + toll < best:
                best, how = costs[i - 1, j - 2] + toll, _SKIP
            if i > 1 and costs[i - 2, j - 1] + matrix[i - 1, j] + toll < best:
                best, how = costs[i - 2, j - 1] + matrix[i - 1, j] + toll, _HOLD
            costs[i, j] = best + matrix[i, j]
            came[i, j] = how
    end = near + np.argmin(costs[-1, near:])
    if not costs[-1, end] < infinite:
        return False
    i, j = n_rows - 1, end
    out[i] = j
    while i > 0:
        how = came[i, j]
        if how == _HOLD:
            i -= 1
            out[i] = j
        i -= 1
        j -= 2 if how == _SKIP else 1
        out[i] = j
    return True


class _QueryProfile:
    """Query with its speeds, size and frames of rest."""

    def __init__(self, query, speed, weights, rate, scale, seconds, steps) -> None:
        self.factors = np.ones(query.shape[1]) if weights is None else weights.astype(np.float64)
        self.length, self.rate, self.scale = len(query), rate, scale
        self.seconds, self.steps = seconds, steps
        speed = np.nan_to_num(speed)  # next to a missing frame
        self.both = self._with_speed(query, speed)
        self.size = self._size(self.both)
        paces = self._paces(speed)
        self.resting = _REST * float(np.sqrt(np.mean(paces**2)))
        moving = np.flatnonzero(paces >= self.resting)
        least = max(2, round(_REST_SECONDS * rate))
        # Frames of rest before the first movement and after the last; None if there is none.
        lead, tail = int(moving[0]), self.length - 1 - int(moving[-1])
        self.lead = lead if lead >= least and self.resting > 0.0 else None
        self.tail = tail if tail >= least and self.resting > 0.0 else None

    @property
    def warp_cost(self) -> float:
        return _WARP * self.size

    def rows(self, vectors, low: int, high: int, first: int, last: int) -> NDArray[np.float64]:
        """Return frames `low` to `high` of a motion (`first` to `last`), with their speeds."""
        out = np.empty((high - low, self.both.shape[1]))
        self.write_rows(vectors, low, high, first, last, out)
        return out

    def write_rows(self, vectors, low: int, high: int, first: int, last: int, out) -> None:
        """Write the result of `rows` to an array."""
        _write_rows(vectors, low, high, first, last, self.factors, self.rate, self.seconds, out)

    def refined(self, candidate: Candidate, vectors, first: int, last: int) -> Candidate:
        """Realign a candidate in a motion (`first` to `last`), including speeds."""
        margin = self.length // 3
        low, high = max(first, candidate.start - margin), min(last, candidate.end + margin)
        costs, came = accumulated(
            differences(self.both, self.rows(vectors, low, high, first, last)),
            steps=self.steps,
            subsequence=True,
            warp_cost=self.warp_cost,
        )
        end = int(np.argmin(costs[-1]))
        if not np.isfinite(costs[-1, end]):
            return candidate
        path = path_to(came, end, steps=self.steps)
        path[:, 1] += low
        return self._settled(path, candidate.distance, vectors, first, last)

    def ranked(self, path: NDArray[np.int64], vectors, first: int, last: int) -> Candidate:
        """Return a candidate with its movement distance, in a motion (`first` to `last`)."""
        pose = _STILL / self.scale
        share = pose**2 / (self.size**2 + pose**2)
        stance = (1.0 - _STANCE) * (1.0 - share)
        start, end = int(path[0, 1]), int(path[-1, 1]) + 1
        near = self.rows(vectors, start, end, first, last)
        distance = _movement_distance(self.both, near, path, start, self.size, pose, stance)
        return self._settled(path, distance, vectors, first, last)

    def _settled(self, path, distance: float, vectors, first: int, last: int) -> Candidate:
        if self.lead is not None or self.tail is not None:
            path = self._from_rest_to_rest(path, vectors, first, last)
        return Candidate(int(path[0, 1]), int(path[-1, 1]) + 1, distance, path)

    def _from_rest_to_rest(self, path, rows, first: int, last: int):
        """Move the ends of a path to where the motion leaves rest and returns to rest."""
        lead, tail = self.lead or 0, self.tail or 0
        frames, columns = path[:, 0], path[:, 1]
        inner = (frames >= lead) & (frames < self.length - tail)
        if not inner.any():
            return path
        leaves, stops = int(columns[inner][0]), int(columns[inner][-1])
        low = max(first, leaves - self.length)
        high = min(last, stops + self.length + 1)
        paces = self._paces(speeds(rows, low, high, first, last, self.rate))
        # Missing frames delimit a motion like its ends.
        gaps = low + np.flatnonzero(np.isnan(paces))
        first = int((gaps[gaps < leaves] + 1).max(initial=first))
        last = int(gaps[gaps > stops].min(initial=last))
        resting = paces[max(0, first - low) : last - low] < self.resting
        low, high = max(low, first), min(high, last)
        if self.lead is not None:
            movement = _first_movement(resting, leaves - low, low == first)
            leaves = leaves if movement is None else low + movement
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
        """Return the extent of a movement: RMS of speeds and of positions around their mean."""
        n_places = len(self.factors)
        moved = both[:, :n_places].var(axis=0).sum() + np.mean(both[:, n_places:] ** 2, 0).sum()
        return float(np.sqrt(moved))

    def _paces(self, speed: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.sqrt(np.square(speed * self.factors).sum(axis=1))


@kernel
def _write_rows(rows, low, high, first, last, factors, rate, seconds, out):
    """Write weighted frames `low` to `high` and their speeds to `out` (at least high - low, 2 D).

    A speed is 0 if a frame before or after is missing.
    """
    n_features = rows.shape[1]
    for j in range(low, high):
        before, after = max(j - 1, first), min(j + 1, last - 1)
        for d in range(n_features):
            out[j - low, d] = rows[j, d] * factors[d]
            change = np.float64(rows[after, d]) - np.float64(rows[before, d])
            speed = change / max(after - before, 1) * rate
            speed = speed if speed == speed else 0.0
            out[j - low, n_features + d] = seconds * speed * factors[d]


@kernel
def _movement_distance(query, rows, path, first, size, pose, stance):
    """Return the mean difference along a path, in the unit of the features.

    `query` (M, 2 D) and `rows` (N, 2 D) are poses and speeds, and row 0 is frame `first`. `size` is
    the extent of the query's movement, `pose` that of a pose held still. The fraction `stance` of a
    constant difference of poses does not count.
    """
    n_cells, n_places = len(path), query.shape[1] // 2
    constant = np.zeros(n_places)
    mean, square = np.zeros(n_places), 0.0
    for n in range(n_cells):
        a, b = query[path[n, 0]], rows[path[n, 1] - first]
        for d in range(n_places):
            constant[d] += (a[d] - b[d]) / n_cells
            mean[d] += b[d] / n_cells
            square += b[n_places + d] ** 2 / n_cells
    total = 0.0
    for n in range(n_cells):
        a, b = query[path[n, 0]], rows[path[n, 1] - first]
        apart = 0.0
        for d in range(n_places):
            apart += (a[d] - b[d] - stance * constant[d]) ** 2
            apart += (a[n_places + d] - b[n_places + d]) ** 2
            square += (b[d] - mean[d]) ** 2 / n_cells
        total += np.sqrt(apart)
    other = min(square, size**2)
    return total / n_cells * np.sqrt((size**2 + pose**2) / (0.5 * (size**2 + other) + pose**2))


def _first_movement(resting: NDArray[np.bool_], at: int, at_the_end: bool) -> int | None:
    """Return the start of the movement at `at`, or of the next one if `at` is at rest.

    The result is None if the movement starts outside the window. The end of a motion counts as
    rest.
    """
    if resting[at]:
        moving = np.flatnonzero(~resting[at:])
        return at + int(moving[0]) if len(moving) else None
    rests = np.flatnonzero(resting[:at])
    if len(rests):
        return int(rests[-1]) + 1
    return 0 if at_the_end else None
