"""Evaluation of methods on data sets that were not used to tune their settings.

Every method has a few candidate settings. On each set, a method is scored with the setting that is
best on average on all *other* sets. For comparison, it is also scored with the setting that is
tuned on all sets without the query's performer, or without the query's class. Intervals are 95 %
bootstrap intervals over the queries in a set.

A method may be a default only if, on every set that it was not tuned on, it is the best method, or
the interval of its difference from the best method extends above -0.02.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.evaluation.clips import clip_matrix
from motionloom.evaluation.labeled_sets import LabeledSet
from motionloom.evaluation.outside import score_outside
from motionloom.evaluation.retrieval import ranked_precision
from motionloom.parallel import Progress
from motionloom.search.clips.hubs import corrected
from motionloom.search.clips.retrieval import clip_table
from motionloom.search.methods import (
    AngleDtw,
    ClipDtw,
    ClipMethod,
    ClipStatistics,
    Emd,
    JointRelativeDtw,
    PointCloudDtw,
    PoseDtw,
    UniformScaling,
)
from motionloom.settings import Settings

TOLERANCE = 0.02
RESAMPLES = 2000

CLIP_CANDIDATES: dict[str, tuple[ClipMethod, ...]] = {
    "statistics": (
        *(
            ClipStatistics(travel_weight=travel, alignment_weight=alignment)
            for travel in (0.0, 0.15, 0.3, 0.6)
            for alignment in (0.0, 0.2, 0.4, 0.8)
        ),
        ClipStatistics(trend_weight=0.5),
        ClipStatistics(length_weight=0.4),
        ClipStatistics(turn_weight=0.2),
    ),
    "dtw-clip": (ClipDtw(), ClipDtw(joint_spread=False)),
    "emd": tuple(Emd(time_weight=weight) for weight in (0.25, 1.0)),
    "dtw-angles": tuple(AngleDtw(band=band) for band in (0.1, 0.3)),
    "scaling": (UniformScaling(),),
    "dtw-e15": (PoseDtw(),),
    "dtw-pc11": (PointCloudDtw(),),
    "dtw-jrd": (JointRelativeDtw(),),
}
"""Candidate settings of each clip measure."""

PLAIN = " (plain)"  # follows the name of a measure without the correction for hubs


def both_ways(
    candidates: Mapping[str, Sequence[ClipMethod]],
) -> dict[str, tuple[ClipMethod, ...]]:
    """Return candidates with each method twice: with and without the correction for hubs.

    Examples
    --------
    >>> list(both_ways({"emd": CLIP_CANDIDATES["emd"]}))
    ['emd', 'emd (plain)']
    """
    plain = {
        f"{name}{PLAIN}": tuple(replace(option, hub_correction=False) for option in options)
        for name, options in candidates.items()
    }
    return {name: tuple(candidates[name.removesuffix(PLAIN)]) for name in candidates} | plain


@dataclass(frozen=True, eq=False)
class SetScores:
    """Average precision of every query in a set, for every setting of every method.

    Attributes
    ----------
    name : str
    labels, performers : tuple of str, length Q
        Label and performer of each query.
    precisions : dict of str to dict of str to ndarray, shape (Q,)
        Average precision by method, then by setting.
    nearest : dict of str to dict of str to ndarray, shape (Q,)
        1 if the first result is correct; for queries in takes, 1 if all results are correct.
    items : int
        Number of clips or queries in the set.
    source : str
        Library that contains the clips. Sets with the same clips are held out together.
    """

    name: str
    labels: tuple[str, ...]
    performers: tuple[str, ...]
    precisions: dict[str, dict[str, NDArray[np.float64]]]
    nearest: dict[str, dict[str, NDArray[np.float64]]]
    items: int
    source: str


@dataclass(frozen=True)
class Held:
    """Score of one method on one held-out set.

    Attributes
    ----------
    setting : str
        Setting tuned on the other sets.
    score, low, high : float
        Mean average precision and its 95 % bootstrap interval.
    without_performer, without_class : float
        Mean over the queries, each scored with the setting tuned without its performer or class.
    shipped, best_here : float
        Scores with the default setting and with the best setting for this set. Both settings were
        tuned on data that includes this set.
    nearest_neighbour : float
        Fraction of clips whose first result is correct; for queries in takes, the fraction of
        queries without mistakes.
    worst : float
        Mean over the queries in the worst class.
    behind : tuple of float
        Mean and interval of the difference from the best method.
    """

    setting: str
    score: float
    low: float
    high: float
    without_performer: float
    without_class: float
    shipped: float
    best_here: float
    nearest_neighbour: float
    worst: float
    behind: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Protocol:
    """Scores of every method on every held-out set.

    Attributes
    ----------
    scores : dict of str to dict of str to Held
        Scores by set, then by method.
    items, classes : dict of str to int
        Number of clips or queries, and of classes, in each set.
    default : str
        The default method.
    """

    scores: dict[str, dict[str, Held]]
    items: dict[str, int]
    classes: dict[str, int]
    default: str

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods, in order."""
        return tuple(next(iter(self.scores.values())))

    def mean(self, method: str) -> float:
        """Return the mean score of a method over all held-out sets."""
        return float(np.mean([of_set[method].score for of_set in self.scores.values()]))

    def may_be_default(self, method: str) -> bool:
        """Return whether, on every set, a method is the best or close enough to the best."""
        return all(of_set[method].behind[2] >= -TOLERANCE for of_set in self.scores.values())

    def to_json(self) -> dict[str, Any]:
        """Return all results as plain data."""
        return {
            "default": self.default,
            "may_be_default": {name: self.may_be_default(name) for name in self.methods},
            "mean": {name: self.mean(name) for name in self.methods},
            "sets": {
                name: {
                    "items": self.items[name],
                    "classes": self.classes[name],
                    "methods": {method: vars(held_out) for method, held_out in each.items()},
                }
                for name, each in self.scores.items()
            },
        }


def score_clips(
    labeled: LabeledSet,
    candidates: Mapping[str, Sequence[ClipMethod]],
    *,
    outside: Sequence[str] = (),
    cache: dict[tuple[str, str, str], NDArray[np.float64]] | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> SetScores:
    """Score every setting of every method, using each labeled clip in a set once as the query.

    `outside` are methods from outside (`motionloom.evaluation.outside`). `cache` stores distances
    by library, method and setting, for sets with the same clips.
    """
    cache = {} if cache is None else cache
    labels = np.array(labeled.labels)
    queries = [q for q in range(len(labels)) if (labels[labeled.answers(q)] == labels[q]).any()]
    if not queries:
        raise InvalidInput(
            f"{labeled.name}: an evaluation requires at least two clips with the same label"
        )
    precisions: dict[str, dict[str, NDArray[np.float64]]] = {}
    nearest: dict[str, dict[str, NDArray[np.float64]]] = {}
    for method, options in candidates.items():
        precisions[method], nearest[method] = {}, {}
        for option in options:
            key = (str(labeled.library.path), option.NAME, shown(option))
            if key not in cache:
                table = clip_table(labeled.library, option.measure())
                numbers = {name: n for n, name in enumerate(table.names)}
                chosen = np.array([numbers[name] for name in labeled.clips])
                cache[key] = clip_matrix(labeled.library, table, chosen, workers=workers)[0]
            distances = corrected(cache[key]) if option.hub_correction else cache[key]
            ranked = [_ranked(distances[q], labels, labeled.answers(q), q) for q in queries]
            precisions[method][shown(option)] = np.array([each[0] for each in ranked])
            nearest[method][shown(option)] = np.array([each[1] for each in ranked])
        if progress is not None:
            progress(1)
    if outside:
        for method, (values, first) in score_outside(labeled, outside, queries).items():
            precisions[method], nearest[method] = {"default": values}, {"default": first}
    return SetScores(
        labeled.name,
        tuple(labeled.labels[q] for q in queries),
        tuple(labeled.performers[q] for q in queries),
        precisions,
        nearest,
        len(labels),
        str(labeled.library.path),
    )


def _ranked(
    gaps: NDArray[np.float64], labels: NDArray, allowed: NDArray[np.bool_], query: int
) -> tuple[float, float]:
    right = labels[allowed] == labels[query]
    own = gaps[allowed]
    return ranked_precision(own, right), float(right[np.argmin(own)])


def shown(option: Settings) -> str:
    """Format the options of a setting that differ from the defaults; ``default`` if none do.

    The correction for hubs is not shown: methods without it have names of their own.

    Examples
    --------
    >>> shown(Emd(time_weight=0.25)), shown(Emd())
    ('time_weight=0.25', 'default')
    """
    changed = [
        f"{name}={value}" for name, value in option.changed().items() if name != "hub_correction"
    ]
    return ", ".join(changed) or "default"


def chosen_elsewhere(sets: Sequence[SetScores], method: str, left_out: str) -> str:
    """Return the method setting with the highest mean over the sets that are not held out.

    If there is only one set, this is the default setting. In a tie, the default setting is
    preferred, and then the first.
    """
    source = next(each.source for each in sets if each.name == left_out)
    others = [each for each in sets if each.source != source]
    return _best(
        list(sets[0].precisions[method]),
        [{s: float(np.mean(v)) for s, v in each.precisions[method].items()} for each in others],
    )


def _best(names: list[str], means: list[dict[str, float]]) -> str:
    if not means:
        return "default"
    names = sorted(names, key=lambda name: name != "default")
    return max(names, key=lambda name: np.mean([each[name] for each in means]))


def _without(
    sets: Sequence[SetScores], method: str, here: SetScores, by: Callable[[SetScores], tuple]
) -> float:
    """Return the mean over queries, each with a setting tuned without queries that share `by`."""
    own = np.array(by(here))
    scores = np.empty(len(own))
    for value in set(own.tolist()):
        means = []
        for each in sets:
            kept = np.ones(len(each.labels), bool)
            if each.source == here.source:
                kept = np.array(by(each)) != value
            if kept.any():
                means.append({s: float(v[kept].mean()) for s, v in each.precisions[method].items()})
        setting = _best(list(here.precisions[method]), means)
        scores[own == value] = here.precisions[method][setting][own == value]
    return float(scores.mean())


def bootstrap(values: NDArray[np.float64], seed: int = 0) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of the mean of `values`.

    Examples
    --------
    >>> low, high = bootstrap(np.array([0.0, 1.0] * 50))
    >>> bool(0.38 < low < 0.45 and 0.55 < high < 0.62)
    True
    """
    rng = np.random.default_rng(seed)
    drawn = rng.integers(len(values), size=(RESAMPLES, len(values)))
    low, high = np.quantile(values[drawn].mean(axis=1), [0.025, 0.975])
    return float(low), float(high)


def judged(sets: Sequence[SetScores], *, default: str, seed: int = 0) -> Protocol:
    """Score all methods on all sets, with settings tuned without each set."""
    scores: dict[str, dict[str, Held]] = {}
    for here in sets:
        by_query, of_set = {}, {}
        for method, by_setting in here.precisions.items():
            setting = chosen_elsewhere(sets, method, here.name)
            values = by_setting[setting]
            by_query[method] = values
            low, high = bootstrap(values, seed)
            labels = np.array(here.labels)
            of_set[method] = Held(
                setting,
                float(values.mean()),
                low,
                high,
                _without(sets, method, here, lambda each: each.performers),
                _without(sets, method, here, lambda each: each.labels),
                float(by_setting.get("default", values).mean()),
                max(float(each.mean()) for each in by_setting.values()),
                float(here.nearest[method][setting].mean()),
                min(float(values[labels == label].mean()) for label in set(here.labels)),
            )
        best = max(of_set, key=lambda method: of_set[method].score)
        for method, held_out in of_set.items():
            gaps = by_query[method] - by_query[best]
            behind = (float(gaps.mean()), *bootstrap(gaps, seed))
            of_set[method] = replace(held_out, behind=behind)
        scores[here.name] = of_set
    return Protocol(
        scores,
        {each.name: each.items for each in sets},
        {each.name: len(set(each.labels)) for each in sets},
        default,
    )


def each_setting(scored: SetScores, method: str) -> SetScores:
    """Treat every setting of a method as a separate method, in addition to the method itself."""

    def spread(by_method: dict[str, dict[str, NDArray[np.float64]]]):
        alone = {f"{method}: {name}": {"default": v} for name, v in by_method[method].items()}
        return {method: by_method[method], **alone}

    return replace(scored, precisions=spread(scored.precisions), nearest=spread(scored.nearest))
