"""Sets of subsequence queries, as plug-ins: queries and the true occurrences of their actions.

==================== =======================================================================
``corpus-takes``     actions in long takes of the built-in corpus, each searched in its take
``cmu-queries``      marked actions of CMU takes (`queries/dev.csv`), each occurrence a query
``cmu-events``       kicks, jumps, cartwheels, squats of CMU takes, marked by rule (`EVENTS`)
``bandai-sessions``  Bandai-Namco clips of a style one after the other, searched in all styles
==================== =======================================================================

As in `motionloom.evaluation.retrieval`, a match is a hit if it overlaps an occurrence by half.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from motionloom import demo
from motionloom.errors import InvalidInput
from motionloom.evaluation.labelled_sets import DataFolder, bandai_clips, remove_folder
from motionloom.evaluation.protocol import SetScores, shown
from motionloom.evaluation.retrieval import Range, read_tasks, score
from motionloom.formats import load
from motionloom.motion import Motion
from motionloom.parallel import Progress
from motionloom.search.methods import search
from motionloom.search.settings import Dtw, SearchSettings
from motionloom.store.store import Store

DTW_CANDIDATES: dict[str, tuple[Dtw, ...]] = {
    "dtw": (
        Dtw(),
        Dtw(weights="moving"),
        Dtw(rank="distance"),
        Dtw(weights="moving", rank="distance"),
        Dtw(rank="distance", speed_seconds=0.0),
    )
}
"""Settings of subsequence DTW to choose from; as a method each is judged alone, too."""


Place = tuple[str, float, float]


@dataclass(frozen=True)
class MarkedQuery:
    """A query in a library, and where its action occurs: motion, start and end in seconds."""

    place: Place
    action: str
    performer: str
    occurrences: tuple[Place, ...]
    optional: tuple[Place, ...] = ()


@dataclass(frozen=True, eq=False)
class QuerySet:
    """Queries in a library."""

    name: str
    library: Store
    queries: tuple[MarkedQuery, ...]


Made = tuple[list[Motion], list[MarkedQuery]]
_LEAST = 3  # occurrences of a marked action
_MOST_QUERIES = 6  # occurrences of one action of one take that are queries
_NEITHER = {"walk": ("spiral_walk", "march")}


def corpus_takes(data: DataFolder) -> Made:
    """Long takes of two performers; the other leg, arm or side counts neither way."""
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
    """Actions of CMU takes that were marked by hand; several occurrences of each are queries."""
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


EVENTS: dict[str, tuple[str, ...]] = {
    "jump": ("01_01", "13_10", "14_07", "14_08"),
    "squat": ("02_06", "14_32", "23_14", "114_05"),
    "upside down": ("87_05", "144_01", "144_02"),
    "right kick": ("144_05",),
    "left kick": ("144_09", "144_10"),
}
"""CMU takes whose description names one repeated action, by the event that marks it."""


def cmu_events(data: DataFolder) -> Made:
    """Repeated actions, marked where heights say so: see `event_frames`."""
    files = data.takes()
    motions, queries = [], []
    for event, takes in EVENTS.items():
        for name in takes:
            motion = load(files[name])
            found = event_frames(motion, event)
            if len(found) < _LEAST:
                raise InvalidInput(f"{name}: at least {_LEAST} events expected, found {len(found)}")
            every = tuple((name, a / motion.fps, b / motion.fps) for a, b in found)
            motions.append(replace_name(motion, name))
            subject = name.split("_")[0]
            queries += [
                MarkedQuery(each, f"{event} {name}", subject, every) for each in _some(every)
            ]
    return motions, queries


def event_frames(motion: Motion, event: str) -> list[tuple[int, int]]:
    """Frames of an event, with 0.4 s before and after (0.2 s where events are close).

    ``jump``: both ankles 10 cm above the floor; ``squat``: hips below 70 % of standing; ``upside
    down``: head below hips; ``right kick``, ``left kick``: ankle above three quarters of the height
    of the hips. Events of less than half or more than twice the median length are dropped.
    """
    roles = ["hips", "head", "left_ankle", "right_ankle"]
    heights = motion.role_positions(roles)[..., 1].astype(np.float64)
    hips, head, left, right = (heights - np.percentile(heights[:, 2:].min(axis=1), 5)).T
    stand = np.percentile(hips, 80)
    held, gap, least = {
        "jump": (np.minimum(left, right) > 0.10, 0.17, 0.13),
        "squat": (hips < 0.7 * stand, 0.33, 0.27),
        "upside down": (head < hips - 0.1, 0.27, 0.17),
        "right kick": ((right > 0.75 * stand) & (left < 0.4 * stand), 0.27, 0.1),
        "left kick": ((left > 0.75 * stand) & (right < 0.4 * stand), 0.27, 0.1),
    }[event]
    found = _joined(held, round(gap * motion.fps), round(least * motion.fps))
    if not found:
        return []
    between = [b[0] - a[1] for a, b in zip(found[:-1], found[1:], strict=True)]
    wide = min(between, default=motion.fps) >= 0.6 * motion.fps
    margin = round((0.4 if wide else 0.2) * motion.fps)
    found = [(max(0, a - margin), min(len(motion), b + margin)) for a, b in found]
    middle = float(np.median([b - a for a, b in found]))
    return [(a, b) for a, b in found if 0.5 * middle < b - a < 2.0 * middle]


def _joined(held: NDArray[np.bool_], gap: int, least: int) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate([[0], held.astype(int), [0]]))).tolist()
    out: list[list[int]] = []
    for a, b in zip(edges[::2], edges[1::2], strict=True):
        if out and a - out[-1][1] < gap:
            out[-1][1] = b
        else:
            out.append([a, b])
    return [(a, b) for a, b in out if b - a >= least]


def bandai_sessions(data: DataFolder) -> Made:
    """All clips of a style one after the other, shuffled; a query of each content and style."""
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


def replace_name(motion: Motion, name: str) -> Motion:
    """The same motion under another name."""
    return Motion(motion.skeleton, motion.rotations, motion.root, motion.fps, name=name)


QUERY_SETS: dict[str, Callable[[DataFolder], Made]] = {
    "corpus-takes": corpus_takes,
    "cmu-queries": cmu_queries,
    "cmu-events": cmu_events,
    "bandai-sessions": bandai_sessions,
}
"""Sets of queries by name. Add a row to add a set."""


def _some(every: Sequence[Place]) -> list[Place]:
    picked = np.linspace(0, len(every) - 1, min(len(every), _MOST_QUERIES)).round().astype(int)
    return [every[k] for k in picked]


def query_set(name: str, data: DataFolder) -> QuerySet:
    """The set of that name; a library of its motions is made in the kept folder once."""
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
    """Every query with every setting; those within one take are searched in that take."""
    precisions: dict[str, dict[str, NDArray[np.float64]]] = {}
    nearest: dict[str, dict[str, NDArray[np.float64]]] = {}
    for method, options in candidates.items():
        precisions[method], nearest[method] = {}, {}
        for option in options:
            found = [_precision(given.library, query, option) for query in given.queries]
            precisions[method][shown(option)] = np.array(found)
            nearest[method][shown(option)] = (np.array(found) >= 1.0).astype(np.float64)
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
    # Motions are put on one time axis, far apart.
    far = {motion: 1e6 * n for n, motion in enumerate(library.names)}

    def on_axis(motion: str, start: float, end: float) -> Range:
        return far[motion] + start, far[motion] + end

    return score(
        [on_axis(hit.motion, hit.start, hit.end) for hit in hits],
        [on_axis(*each) for each in query.occurrences],
        [on_axis(*each) for each in query.optional],
    ).average_precision
