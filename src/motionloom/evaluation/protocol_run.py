"""Run the evaluation protocol over several sets, and write its results to a page.

Query sets are plug-ins that define subsequence queries and the true occurrences of their actions.

==================== =======================================================================
``corpus-takes``     actions in long takes of the built-in corpus, searched within the take
``cmu-queries``      marked actions of CMU takes (`queries/dev.csv`), each occurrence a query
``cmu-marks``        more CMU actions, marked for this project (`cmu_marks.csv` in this folder)
``bandai-sessions``  sequences of Bandai-Namco clips of one style, searched in all styles
==================== =======================================================================

As in `motionloom.evaluation.retrieval`, a match is a hit if its intersection over union with an
occurrence is at least one half.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom import demo
from motionloom.errors import InvalidInput
from motionloom.evaluation.clips import motion_labels
from motionloom.evaluation.labeled_sets import (
    CLIP_SETS,
    DataFolder,
    bandai_clips,
    clip_set,
    own_set,
    remove_folder,
)
from motionloom.evaluation.outside import check_outside
from motionloom.evaluation.protocol import (
    CLIP_CANDIDATES,
    Protocol,
    SetScores,
    both_ways,
    each_setting,
    judged,
    score_clips,
    shown,
)
from motionloom.evaluation.retrieval import Range, read_tasks, score
from motionloom.evaluation.settings import PAPER_NAMES, ProtocolSettings
from motionloom.files import atomic_write
from motionloom.formats import load
from motionloom.motion import Motion
from motionloom.parallel import Progress
from motionloom.search.methods import Dtw
from motionloom.search.retrieval import search
from motionloom.search.settings import SearchSettings
from motionloom.store.store import Store

DTW_CANDIDATES: dict[str, tuple[Dtw, ...]] = {
    "dtw": (
        Dtw(),
        Dtw(speed_seconds=0.4),
        Dtw(weights="moving"),
        Dtw(rank="distance"),
        Dtw(weights="moving", rank="distance"),
        Dtw(rank="distance", speed_seconds=0.0),
    )
}
"""Candidate settings of subsequence DTW; each is also evaluated as a separate method."""


Place = tuple[str, float, float]


@dataclass(frozen=True)
class MarkedQuery:
    """A query, and the occurrences of its action: motion name, start and end in seconds."""

    place: Place
    action: str
    performer: str
    occurrences: tuple[Place, ...]
    optional: tuple[Place, ...] = ()


@dataclass(frozen=True, eq=False)
class QuerySet:
    """A set of queries, and the library that they search."""

    name: str
    library: Store
    queries: tuple[MarkedQuery, ...]


Made = tuple[list[Motion], list[MarkedQuery]]
_MOST_QUERIES = 6  # maximum number of queries for an action in one take
_NEITHER = {"walk": ("spiral_walk", "march")}


def corpus_takes(data: DataFolder) -> Made:
    """Return actions in two performers' long takes; actions on the other side are not counted."""
    motions, queries = [], []
    for take in ("take_locomotion", "take_strikes", "take_reaches", "take_dances"):
        for performer in (0, 2):
            made = demo.annotated(take, performer=performer)
            motions.append(made.motion)
            fps, actions = made.motion.fps, made.truth.actions

            def at(action, name: str = made.name, fps: float = fps) -> Place:
                return name, action.start_frame / fps, action.end_frame / fps

            alike: dict[tuple, list] = {}
            for act in actions:
                alike.setdefault((act.action, _limb(act)), []).append(act)
            for (action, limb), same in alike.items():
                if len(same) < 2:
                    continue
                neither = tuple(
                    at(a)
                    for a in actions
                    if a.action in _NEITHER.get(action, ())
                    or (a.action == action and _limb(a) != limb)
                )
                every = tuple(at(a) for a in same)
                queries += [
                    MarkedQuery(each, action, str(performer), every, neither)
                    for each in _some(every)
                ]
    return motions, queries


def _limb(action) -> object:
    given = action.parameters
    return given.get("leg") or given.get("arm") or given.get("side")


def cmu_queries(data: DataFolder) -> Made:
    """Return manually marked actions in CMU takes; several occurrences of each are queries."""
    tasks = read_tasks(data.folder("queries") / "dev.csv")
    files = data.takes()
    motions = [load(files[name]) for name in sorted({task.motion for task in tasks})]
    queries = []
    for task in tasks:
        every = tuple((task.motion, *each) for each in task.occurrences)
        optional = tuple((task.motion, *each) for each in task.optional)
        queries += [
            MarkedQuery(each, task.name, task.motion.split("_")[0], every, optional)
            for each in _some(every)
        ]
    return motions, queries


def cmu_marks(data: DataFolder) -> Made:
    """Return repeated actions in other CMU takes, with times in seconds.

    Actions are cut where the height or reach of a joint passes a limit or reverses, and each was
    checked by hand. Actions on the other side and weaker actions (a low kick among high kicks) are
    optional.
    """
    with Path(__file__).with_name("cmu_marks.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    files = data.takes()
    motions = [load(files[name]) for name in sorted({row["take"] for row in rows})]
    queries = []
    for row in rows:
        every, optional = (
            marked_places(row["take"], row[name]) for name in ("occurrences", "optional")
        )
        action, subject = f"{row['action']} {row['take']}", row["take"].split("_")[0]
        queries += [MarkedQuery(each, action, subject, every, optional) for each in _some(every)]
    return motions, queries


def marked_places(take: str, text: str) -> tuple[Place, ...]:
    """Parse ranges ``START-END;START-END``, in seconds from the start of a take."""
    ends = (part.split("-") for part in text.split(";") if part)
    return tuple((take, float(start), float(end)) for start, end in ends)


def bandai_sessions(data: DataFolder) -> Made:
    """Return shuffled sequences of each style's clips, with queries for content and style."""
    rng = np.random.default_rng(0)
    by_style: dict[str, list] = {}
    for clip in bandai_clips(data):
        by_style.setdefault(clip.performer, []).append(clip)
    motions: list[Motion] = []
    marks: dict[str, list[Place]] = {}
    for style, clips in sorted(by_style.items()):
        order = [clips[k] for k in rng.permutation(len(clips))]
        first = order[0].motion
        parts = [clip.motion for clip in order]
        motions.append(
            Motion(
                first.skeleton,
                np.concatenate([part.rotations for part in parts]),
                np.concatenate([part.root for part in parts]),
                first.fps,
                name=style,
            )
        )
        ends = np.cumsum([0, *(len(part) for part in parts)]) / first.fps
        for clip, a, b in zip(order, ends[:-1].tolist(), ends[1:].tolist(), strict=True):
            marks.setdefault(clip.label, []).append((style, a, b))
    queries = []
    for content, every in marks.items():
        for style in by_style:
            own = [each for each in every if each[0] == style]
            queries.append(MarkedQuery(own[rng.integers(len(own))], content, style, tuple(every)))
    return motions, queries


QUERY_SETS: dict[str, Callable[[DataFolder], Made]] = {
    "corpus-takes": corpus_takes,
    "cmu-queries": cmu_queries,
    "cmu-marks": cmu_marks,
    "bandai-sessions": bandai_sessions,
}
"""Sets of queries by name. Add a row to add a set."""


def _some(every: Sequence[Place]) -> list[Place]:
    picked = np.linspace(0, len(every) - 1, min(len(every), _MOST_QUERIES)).round().astype(int)
    return [every[k] for k in picked]


def query_set(name: str, data: DataFolder) -> QuerySet:
    """Return a query set by name; create the library of its motions if it does not exist."""
    motions, queries = QUERY_SETS[name](data)
    path = data.kept / f"{name}.loom"
    if not path.exists():
        data.kept.mkdir(parents=True, exist_ok=True)
        scratch = Path(f"{path.with_suffix('')}.making.loom")
        remove_folder(scratch)
        library = Store.create(scratch)
        for motion in motions:
            library.add_motion(motion)
        scratch.rename(path)
    return QuerySet(name, Store(path), tuple(queries))


def score_queries(
    given: QuerySet,
    candidates: dict[str, tuple[Dtw, ...]],
    *,
    progress: Progress | None = None,
) -> SetScores:
    """Score every query with every setting. Queries within one take are searched in that take."""
    precisions: dict[str, dict[str, NDArray[np.float64]]] = {}
    nearest: dict[str, dict[str, NDArray[np.float64]]] = {}
    for method, options in candidates.items():
        precisions[method], nearest[method] = {}, {}
        for option in options:
            values = [_precision(given.library, query, option) for query in given.queries]
            precisions[method][shown(option)] = np.array(values)
            nearest[method][shown(option)] = (np.array(values) >= 1.0).astype(np.float64)
        if progress is not None:
            progress(1)
    return SetScores(
        given.name,
        tuple(query.action for query in given.queries),
        tuple(query.performer for query in given.queries),
        precisions,
        nearest,
        len(given.queries),
        str(given.library.path),
    )


def _precision(library: Store, query: MarkedQuery, method: Dtw) -> float:
    name, start, end = query.place
    entry = library.entry(name)
    first, last = round(start * entry.fps), min(round(end * entry.fps), entry.frames)
    takes = {motion for motion, *_ in query.occurrences}
    settings = SearchSettings(
        method=method,
        max=None if len(takes) == 1 else 5 * len(query.occurrences),
        only=tuple(takes) if len(takes) == 1 else None,
    )
    hits = search(library, f"{name}:{first}-{last}", settings)
    # Motions are placed on one time axis, far from each other.
    far = {motion: 1e6 * n for n, motion in enumerate(library.names)}

    def on_axis(motion: str, start: float, end: float) -> Range:
        return far[motion] + start, far[motion] + end

    return score(
        [on_axis(hit.motion, hit.start, hit.end) for hit in hits],
        [on_axis(*each) for each in query.occurrences],
        [on_axis(*each) for each in query.optional],
    ).average_precision


CLIP_DEFAULT, QUERY_DEFAULT = "statistics", "dtw: default"
_MARKS = ("<!-- protocol -->", "<!-- end protocol -->")


@dataclass(frozen=True, eq=False)
class Protocols:
    """Protocol results for whole clips and for queries; None where no set was selected."""

    clips: Protocol | None
    queries: Protocol | None

    def to_json(self) -> dict[str, Any]:
        """Return all results as plain data."""
        return {
            "clips": None if self.clips is None else self.clips.to_json(),
            "queries": None if self.queries is None else self.queries.to_json(),
        }

    def page(self) -> str:
        """Format both tables as Markdown."""
        parts = []
        if self.clips is not None:
            parts.append("### Whole clips\n\n" + table(self.clips))
        if self.queries is not None:
            parts.append("### Queries\n\n" + table(self.queries))
        return "\n\n".join(parts)


def chosen_sets(sets: tuple[str, ...] | None) -> tuple[list[str], list[str]]:
    """Return the names of the selected clip sets, and of the selected query sets.

    Examples
    --------
    >>> chosen_sets(("corpus", "cmu-queries"))
    (['corpus'], ['cmu-queries'])
    """
    all_sets = [*CLIP_SETS, *QUERY_SETS]
    names = all_sets if sets == ("all",) else list(sets or ())
    for name in names:
        if name not in all_sets:
            raise InvalidInput(
                f"there is no labeled set {name!r}; choose from {', '.join(all_sets)}"
            )
    return [n for n in names if n in CLIP_SETS], [n for n in names if n in QUERY_SETS]


def run_protocol(
    settings: ProtocolSettings,
    *,
    methods: tuple[Any, ...] | None = None,
    own: Store | None = None,
    labels: str | Path | Mapping[str, str] | None = None,
    label_column: str | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Protocols:
    """Score every method on every set, with settings tuned without that set.

    Parameters
    ----------
    settings : ProtocolSettings
        Selection of sets, and the folder that contains their data.
    methods : tuple of str, optional
        Clip measures. Default: all.
    own : Store, optional
        A user's labeled library, which becomes an additional set of clips. For `labels` and
        `label_column`, see `motionloom.Library.evaluate`.
    """
    clips, queries = chosen_sets(settings.sets)
    check_outside(settings.outside or ())
    data = DataFolder(settings.data, settings.keep)
    candidates = both_ways({name: CLIP_CANDIDATES[name] for name in _known(methods)})
    sets = [clip_set(name, data) for name in clips]
    if own is not None:
        sets.append(own_set(own, motion_labels(own, labels, label_column)[0]))
    cache: dict[tuple[str, str, str], NDArray[np.float64]] = {}
    scored = [
        score_clips(
            each,
            candidates,
            outside=settings.outside or (),
            cache=cache,
            workers=workers,
            progress=progress,
        )
        for each in sets
    ]
    asked = [
        each_setting(score_queries(query_set(name, data), DTW_CANDIDATES, progress=progress), "dtw")
        for name in queries
    ]
    default = CLIP_DEFAULT if CLIP_DEFAULT in candidates else next(iter(candidates))
    return Protocols(
        judged(scored, default=default) if scored else None,
        judged(asked, default=QUERY_DEFAULT) if asked else None,
    )


def _known(methods: tuple[Any, ...] | None) -> list[str]:
    names = [PAPER_NAMES.get(name, name) for name in methods or CLIP_CANDIDATES]
    for name in names:
        if name not in CLIP_CANDIDATES:
            measures = ", ".join(CLIP_CANDIDATES)
            raise InvalidInput(f"there is no clip measure {name!r}; choose from {measures}")
    return names


def table(protocol: Protocol) -> str:
    """Return a Markdown table of all methods on all held-out sets, with intervals and settings."""
    sets = list(protocol.scores)
    lines = [
        f"| | {' | '.join(sets)} | mean | may be the default |",
        f"|---|{'---:|' * (len(sets) + 1)}---|",
    ]
    heads = [f"{protocol.items[name]} / {protocol.classes[name]}" for name in sets]
    lines.append(f"| *items / classes* | {' | '.join(heads)} | | |")
    order = sorted(protocol.methods, key=protocol.mean, reverse=True)
    for method in order:
        cells = []
        for name in sets:
            held_out = protocol.scores[name][method]
            best = held_out.behind[0] == 0.0
            figure = f"**{held_out.score:.3f}**" if best else f"{held_out.score:.3f}"
            cells.append(f"{figure} ({held_out.low:.2f}-{held_out.high:.2f})")
        mark = f"`{method}`" + (" (the default)" if method == protocol.default else "")
        allowed = "yes" if protocol.may_be_default(method) else "no"
        lines.append(f"| {mark} | {' | '.join(cells)} | {protocol.mean(method):.3f} | {allowed} |")
    return "\n".join([*lines, "", *_details(protocol)])


def _details(protocol: Protocol) -> list[str]:
    """Return a table for the default method: tuned settings, and scores with other settings."""
    method = protocol.default
    lines = [
        f"`{method}` in detail. *Seen* scores are from data that was used to tune the setting.",
        "",
        "| set | tuned without the set | without the performer | without the class | worst class "
        "| first result correct (queries: all) | default setting (seen) | best setting here "
        "(seen) | tuned settings |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---|",
    ]
    for name, held_out in ((name, each[method]) for name, each in protocol.scores.items()):
        figures = (
            held_out.score, held_out.without_performer, held_out.without_class, held_out.worst,
            held_out.nearest_neighbour, held_out.shipped, held_out.best_here,
        )  # fmt: skip
        cells = " | ".join(f"{figure:.3f}" for figure in figures)
        lines.append(f"| {name} | {cells} | {held_out.setting} |")
    return lines


def write_page(protocols: Protocols, path: Path) -> Path:
    """Write the tables to a page, either between its markers or as a new page."""
    return write_marked(path, _MARKS, protocols.page(), "# Evaluation")


def write_marked(path: Path, marks: tuple[str, str], text: str, title: str) -> Path:
    """Write text to a page, either between its markers or as a new page."""
    begin, end = marks
    block = f"{begin}\n{text}\n{end}"
    page = f"{title}\n\n{block}\n"
    if path.exists():
        kept = path.read_text(encoding="utf-8")
        marked = re.search(re.escape(begin) + ".*?" + re.escape(end), kept, re.DOTALL)
        if marked is None:
            raise InvalidInput(f"{path}: the page must contain the markers {begin} and {end}")
        page = kept[: marked.start()] + block + kept[marked.end() :]
    with atomic_write(path) as scratch:
        scratch.write_text(page, encoding="utf-8")
    return path
