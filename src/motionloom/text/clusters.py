"""Clusters of similar takes in a library, named after their captions.

Whole takes are compared with the clip measure ``statistics``
(`motionloom.search.clips.statistics`), corrected for hubs, and joined by complete linkage: the
distance between any two takes in a cluster is at most a fraction of the median distance between
takes, so that one label fits the whole cluster. A cluster is named after the events
(`motionloom.text.captions`) that occur in most of its takes and in few others.

The default fraction, 0.65, was chosen on eight labeled sets, on which the mean purity is 0.91 and
the mean adjusted Rand index 0.51. Without the correction for hubs, they are 0.88 and 0.53.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from motionloom.motion.feet.gait import GAITS
from motionloom.parallel import Progress
from motionloom.search.clips.distances import clip_distance_table
from motionloom.search.clips.hubs import corrected
from motionloom.search.clips.retrieval import clip_table
from motionloom.search.clips.statistics import StatisticsMeasure
from motionloom.store.store import Store
from motionloom.text.caption_table import caption_table
from motionloom.text.captions import Event
from motionloom.text.cluster_details import with_details
from motionloom.text.settings import FINENESS, ClusterSettings

_STILL = {"stand", "sit", "lie", "kneel", "crouch"}  # states rather than actions
_USUAL = 0.6  # minimum fraction of the takes, or of the time, for an event to be typical

Kind = Literal["locomotion", "rest", "action", ""]
Tempos = Callable[..., Mapping[str, float | None]]


@dataclass(frozen=True)
class Cluster:
    """A group of similar takes.

    Attributes
    ----------
    name : str
        Name proposed from captions, such as ``kick right``; empty if no name fits, or without
        names.
    motions : tuple of str
        Names of the takes: the most typical take first, then the others by their distance from it.
    kind : str
        ``locomotion``, ``rest`` or ``action``; empty without names.
    seconds : float
        Total duration of the takes, in seconds.
    spread : float
        Mean distance from the most typical take, as a fraction of the median distance between two
        takes.
    rhythmic : bool
        True if the most typical take is rhythmic.
    speed : float
        Speed of the most typical takes over the floor, in meters per second.
    turn : float
        Their rate of turning to the left, in degrees per second.
    events : tuple of str
        Other events in at least half of the takes, most common first.
    """

    name: str
    motions: tuple[str, ...]
    kind: Kind
    seconds: float
    spread: float
    rhythmic: bool = False
    speed: float = 0.0
    turn: float = 0.0
    events: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.motions)


def library_clusters(
    library: Store,
    among: Collection[str] | None,
    settings: ClusterSettings,
    *,
    tempos: Tempos,
    progress: Progress | None = None,
) -> list[Cluster]:
    """Cluster the takes of a library; see `motionloom.Library.clusters`.

    `tempos` is a function that returns the tempo of each take, or None if it is not rhythmic.
    """
    total, done = len(library), 0

    def report(steps: int) -> None:
        nonlocal done
        done += steps
        if progress is not None:
            progress(steps)

    events: Mapping[str, Sequence[Event]] = {}
    if settings.names:
        described = caption_table(library, workers=settings.workers, progress=report)
        report(total - done)  # if the captions were already stored
        events = dict(zip(described.names, described.events, strict=True))
    table = clip_table(library, StatisticsMeasure())
    whole = np.flatnonzero(table.clips.whole)
    chosen = [c for c in whole if among is None or table.names[c] in among]
    if not chosen:
        return []
    some = np.array(chosen, dtype=np.int64)
    distances = corrected(clip_distance_table(library, table, some, progress=report))
    names = [table.names[c] for c in chosen]
    seconds = dict(zip(names, (table.frames / table.fps)[some].tolist(), strict=True))
    clusters = clusters_of(names, distances, events, seconds, fineness=settings.fineness)
    if not settings.names:
        return [replace(each, kind="") for each in clusters]
    heads = [cluster.motions[0] for cluster in clusters]
    number = iter(range(1, len(heads) + 1))
    rhythmic = tempos(
        heads, progress=lambda _: report(2 * total + total * next(number) // len(heads) - done)
    )
    clusters = [replace(each, rhythmic=rhythmic[each.motions[0]] is not None) for each in clusters]
    return with_details(library, clusters, events)


def clusters_of(
    names: Sequence[str],
    distances: NDArray[np.float64],
    events: Mapping[str, Sequence[Event]],
    seconds: Mapping[str, float],
    *,
    fineness: float = FINENESS,
) -> list[Cluster]:
    """Return clusters of takes, largest first.

    Parameters
    ----------
    names : sequence of str, length N
    distances : ndarray, shape (N, N)
        Symmetric distances between the takes.
    events : mapping of str to sequence of Event
        Captions of each take.
    seconds : mapping of str to float
        Duration of each take.
    fineness : float
        Maximum distance within a cluster, as a fraction of the median distance between two takes.

    Examples
    --------
    >>> far = np.abs(np.subtract.outer([0.0, 1.0, 10.0, 11.0], [0.0, 1.0, 10.0, 11.0]))
    >>> clusters = clusters_of("abcd", far, {}, dict.fromkeys("abcd", 2.0), fineness=0.5)
    >>> [cluster.motions for cluster in clusters]
    [('a', 'b'), ('c', 'd')]
    """
    median = float(np.median(distances[np.triu_indices(len(names), 1)])) if len(names) > 1 else 1.0
    facts_by_name = {name: _facts(events.get(name, ()), seconds[name]) for name in names}
    usual = Counter(word for facts in facts_by_name.values() for word in facts)
    clusters = []
    for members in _groups(distances, fineness * median):
        within = distances[np.ix_(members, members)]
        middle = int(np.argmin(within.sum(axis=1)))
        order = np.argsort(within[middle], kind="stable")
        motions = tuple(names[members[k]] for k in order)
        facts = [facts_by_name[name] for name in motions]
        name = _name(facts, usual, len(names))
        clusters.append(
            Cluster(
                name,
                motions,
                _kind(name, facts),
                sum(seconds[name] for name in motions),
                float(within[middle].mean()) / (median or 1.0),
            )
        )
    return sorted(clusters, key=lambda cluster: (-len(cluster), cluster.motions[0]))


def _groups(distances: NDArray[np.float64], limit: float) -> list[NDArray[np.int64]]:
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    if len(distances) < 2:
        return [np.arange(len(distances))] if len(distances) else []
    tree = linkage(squareform(distances, checks=False), "complete")
    number = fcluster(tree, limit, "distance")
    return [np.flatnonzero(number == k) for k in np.unique(number)]


def _facts(events: Sequence[Event], seconds: float) -> dict[str, float]:
    """Return words for the events in a take, each with the fraction of the take that it covers."""
    facts: dict[str, float] = {}
    for event in events:
        for word in {event.name, f"{event.name} {event.side}".strip()}:
            share = (event.end - event.start) / max(seconds, 1e-6)
            facts[word] = min(facts.get(word, 0.0) + share, 1.0)
    return facts


def _name(facts: Sequence[Mapping[str, float]], usual: Counter[str], takes: int) -> str:
    """Return the word that occurs in most takes of a cluster and in few others."""
    words = Counter(word for take in facts for word in take)
    scores = {}
    for word, count in words.items():
        if count < _USUAL * len(facts):
            continue
        rare = np.log((takes + 1) / usual[word])
        time = np.mean([take.get(word, 0.0) for take in facts])
        scores[word] = count / len(facts) * (rare + time) * (0.3 if word in _STILL else 1.0)
    if not scores:
        return ""
    best = max(sorted(scores), key=scores.__getitem__)
    sides = [word for word in scores if word.partition(" ")[0] == best.partition(" ")[0]]
    # Name a side only if it prevails. A cluster of kicks with both feet is not "kick right".
    chosen = best.partition(" ")[0] if len(sides) > 2 else max(sides, key=len)
    return chosen.replace("_", " ")


def _kind(name: str, facts: Sequence[Mapping[str, float]]) -> Kind:
    moving = [sum(take.get(gait, 0.0) for gait in GAITS if gait != "stand") for take in facts]
    if np.minimum(moving, 1.0).mean() >= _USUAL:
        return "locomotion"
    return "rest" if name in _STILL else "action"
