"""Scores of rankings. They need NumPy only.

- *clips*: mean average precision, and how often the first result is correct. Items at the same
  distance are scored by the mean over all their orders.
- *segments*: mean average precision, where a result is correct if its intersection over union (IoU)
  with a marked segment is at least one half. Further results on the same segment, and results on
  optional segments, are skipped. *Strict* scores require an IoU of 0.75: they measure how well
  segments are localized.
- *sentences* and *video*: recall at 10, the share of queries with a correct item among the first
  ten, and the reciprocal rank. Items that are not listed are not found.

Intervals contain 95 % of the means of 2,000 bootstrap samples of the queries, or of the performers
for sentences, which are several per take.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from retrieval_bench.sets import BenchmarkSet, Place, Query
from retrieval_bench.tables import BenchmarkError

HIT, STRICT = 0.5, 0.75  # intersection over union of a correct segment
FIRST = 10  # results that count for the recall
RESAMPLES = 2000
SECOND = {"clips": "first", "segments": "strict", "sentences": "mrr", "video": "mrr"}


@dataclass(frozen=True)
class Result:
    """A result of a query. `start` and `end` are in seconds, and used for segments only."""

    item: str
    distance: float
    start: float = 0.0
    end: float = 0.0


Ranking = Mapping[str, Sequence[Result]]


@dataclass(frozen=True, eq=False)
class SetScore:
    """Scores of one ranking.

    Attributes
    ----------
    score, low, high : float
        Mean of `values`, and its 95 % bootstrap interval.
    second : float
        Mean of the second measure of the track (`SECOND`).
    values : ndarray, shape (Q,)
        Score of each query, in the order of the set.
    """

    score: float
    low: float
    high: float
    second: float
    values: NDArray[np.float64]


def score(given: BenchmarkSet, ranking: Ranking) -> SetScore:
    """Return the scores of a ranking, which `retrieval_bench.rankings` has checked."""
    each = [_query_score(given.track, query, ranking[query.name]) for query in given.queries]
    values, second = np.array(each, dtype=np.float64).T
    groups = [q.performer for q in given.queries] if given.track == "sentences" else None
    by_name = np.argsort([query.name for query in given.queries])  # the order of `evaluate`
    low, high = bootstrap(values if groups else values[by_name], groups=groups)
    return SetScore(float(values.mean()), low, high, float(second.mean()), values)


def _query_score(track: str, query: Query, results: Sequence[Result]) -> tuple[float, float]:
    if track == "segments":
        hits = (HIT, STRICT)
        loose, strict = (
            segment_precision(results, query.marks, query.optional, hit) for hit in hits
        )
        return loose, strict
    allowed = set(query.items)
    far = {each.item: each.distance for each in results if each.item in allowed}
    if track == "clips":  # clips that are not listed come last, all at the same distance
        far = {name: far.get(name, np.inf) for name in query.items}
    right = [name in query.correct for name in far]
    distances = np.array(list(far.values()))
    if track == "clips":
        return average_precision(distances, right), first_correct(distances, right)
    if not any(right):
        return 0.0, 0.0
    return recall(distances, right, FIRST), reciprocal_rank(distances, right)


def average_precision(distances: ArrayLike, correct: ArrayLike) -> float:
    """Return the average precision of ranked items; ties count as the mean over all their orders.

    In a tie of n items with r correct ones, after `before` items with `passed` correct ones, the
    item at position p is correct in r / n of the orders. The other p - 1 items of the tie before it
    then hold (r - 1) (p - 1) / (n - 1) correct ones on average.

    Examples
    --------
    >>> round(average_precision([0.1, 0.2, 0.3], [True, False, True]), 4)
    0.8333
    >>> average_precision([1.0, 1.0], [True, False])  # the mean of 1 and 1/2
    0.75
    """
    ends, right = _ties(distances, correct)
    total, before, passed = 0.0, 0, 0
    for end in ends:
        count, hits = end - before, int(right[before:end].sum())
        if hits:
            place = np.arange(1, count + 1)
            also = (hits - 1) * (place - 1) / max(count - 1, 1)
            total += hits / count * float(((passed + 1 + also) / (before + place)).sum())
        before, passed = end, passed + hits
    if not passed:
        raise BenchmarkError("an average precision requires at least one correct item")
    return total / passed


def first_correct(distances: ArrayLike, correct: ArrayLike) -> float:
    """Return the chance that the first item is correct."""
    ends, right = _ties(distances, correct)
    return float(right[: ends[0]].mean())


def recall(distances: ArrayLike, correct: ArrayLike, first: int) -> float:
    """Return the chance that at least one of the first items is correct.

    Examples
    --------
    >>> recall([1.0, 2.0, 2.0, 2.0], [False, True, False, False], 2)
    0.33...
    """
    ends, right = _ties(distances, correct)
    before = 0
    for end in ends:
        count, hits = end - before, int(right[before:end].sum())
        drawn = min(count, first - before)
        if hits:
            # 1 minus the chance that none of the items drawn from the tie is correct
            wrong = count - hits - np.arange(drawn)
            return 1.0 - float(np.prod(np.maximum(wrong, 0) / (count - np.arange(drawn))))
        before = end
        if before >= first:
            break
    return 0.0


def reciprocal_rank(distances: ArrayLike, correct: ArrayLike) -> float:
    """Return the mean of 1 / rank of the first correct item over all orders of the ties."""
    ends, right = _ties(distances, correct)
    before = 0
    for end in ends:
        count, hits = end - before, int(right[before:end].sum())
        if hits:
            total, left = 0.0, 1.0  # `left`: chance that the positions before hold no correct item
            for place in range(count - hits + 1):
                chance = hits / (count - place)
                total += left * chance / (before + place + 1)
                left *= 1.0 - chance
            return total
        before = end
    return 0.0


def _ties(distances: ArrayLike, correct: ArrayLike) -> tuple[list[int], NDArray[np.bool_]]:
    """Return the end of each run of equal distances, and which items are correct, by distance."""
    far = np.asarray(distances, dtype=np.float64)
    order = np.argsort(far, kind="stable")
    edges = far[order][1:] != far[order][:-1]
    return [*(np.flatnonzero(edges) + 1).tolist(), len(far)], np.asarray(correct, bool)[order]


def segment_precision(
    results: Sequence[Result],
    marks: Sequence[Place],
    optional: Sequence[Place] = (),
    hit: float = HIT,
) -> float:
    """Return the average precision of segments, in the order of their distances.

    Examples
    --------
    >>> found = [Result("a", 0, 0.0, 1.0), Result("a", 1, 5.0, 6.0), Result("a", 2, 2.0, 3.5)]
    >>> marks = [Place("a", 0.0, 1.0), Place("a", 2.0, 3.0)]
    >>> round(segment_precision(found, marks), 4), segment_precision(found, marks, hit=0.75)
    (0.8333, 0.5)
    """
    hits: set[int] = set()
    precision, counted = 0.0, 0
    for each in sorted(results, key=lambda result: result.distance):
        overlaps = [overlap(each, mark) for mark in marks]
        best = int(np.argmax(overlaps))
        if overlaps[best] >= hit:
            if best not in hits:
                hits.add(best)
                counted += 1
                precision += len(hits) / counted
        elif all(overlap(each, mark) < HIT for mark in optional):
            counted += 1
    return precision / len(marks)


def overlap(result: Result, mark: Place) -> float:
    """Return the intersection over union of a result and a marked segment."""
    if result.item != mark.file:
        return 0.0
    shared = min(result.end, mark.end) - max(result.start, mark.start)
    return max(0.0, shared) / (max(result.end, mark.end) - min(result.start, mark.start))


def bootstrap(
    values: NDArray[np.float64], *, groups: Sequence[str] | None = None, seed: int = 0
) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of the mean of `values`.

    With `groups`, whole groups are drawn, such as all queries of a performer.

    Examples
    --------
    >>> low, high = bootstrap(np.array([0.0, 1.0] * 50))
    >>> bool(0.38 < low < 0.45 and 0.55 < high < 0.62)
    True
    """
    rng = np.random.default_rng(seed)
    if groups is None:
        drawn = rng.integers(len(values), size=(RESAMPLES, len(values)))
        means = values[drawn].mean(axis=1)
    else:
        names, number = np.unique(np.asarray(groups), return_inverse=True)
        sums, sizes = np.bincount(number, values), np.bincount(number)
        drawn = rng.integers(len(names), size=(RESAMPLES, len(names)))
        means = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)
