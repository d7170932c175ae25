"""Motion graphs stored as artifacts of a library, in SQLite tables.

::

    takes.loom/derived/motion-graph.OPTIONS.CONTENT/graph.sqlite

==================  ============================================================================
``meta``            distance, threshold, blend, removed transitions and motions
``motions``         number, name and frame count of each motion
``nodes``           frames of motions at which a transition departs or arrives
``edges``           from node to node: ``blend`` (a transition: its similar frames, error, mean
                    error, planar transform, acceleration) or ``play``
``prunings``        candidates that remain after each condition, for each pair of motions
==================  ============================================================================
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import warnings
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from motionloom.blending.examples import conform, without_body
from motionloom.blending.transitions import RootPath
from motionloom.errors import InvalidInput, LibraryError
from motionloom.features import FrameDistance
from motionloom.features.frame_distances import distance_key
from motionloom.files import check_plain_schema, parse_json, read_regular
from motionloom.motion.diagnostics.issues import grave_fault
from motionloom.motion.loops import SHORT, loop_range, unrolled
from motionloom.motion_graph.build import motion_graph
from motionloom.motion_graph.components import nodes_of
from motionloom.motion_graph.edits import EditedGraph, library_edits, with_edits
from motionloom.motion_graph.graph import MotionGraph, Removed
from motionloom.motion_graph.mogra import graph_from_mogra
from motionloom.motion_graph.settings import GraphSettings, TransitionRules
from motionloom.motion_graph.transitions.candidates import Pruning
from motionloom.motion_graph.transitions.pair_candidates import LibraryMotions, mirrored
from motionloom.motion_graph.transitions.transitions import Transitions
from motionloom.parallel import Progress
from motionloom.search.filters import chosen_names
from motionloom.settings import named_takes
from motionloom.store.remote.folder import Folder
from motionloom.store.take_facts import TakeFacts

if TYPE_CHECKING:
    from motionloom.store.store import Store

_KIND = "motion-graph"
GRAPH_SETTINGS = ("graph-settings", "last")  # kind and name
_FILE = "graph.sqlite"
_FORMAT = 1
_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE motions (number INTEGER PRIMARY KEY, name TEXT NOT NULL, frames INTEGER NOT NULL);
CREATE TABLE nodes (number INTEGER PRIMARY KEY, motion INTEGER NOT NULL, frame INTEGER NOT NULL,
    kind TEXT NOT NULL);
CREATE TABLE edges (number INTEGER PRIMARY KEY, source INTEGER NOT NULL, target INTEGER NOT NULL,
    kind TEXT NOT NULL, source_frame INTEGER, target_frame INTEGER, error REAL, mean REAL,
    x REAL, z REAL, yaw REAL, acceleration REAL);
CREATE INDEX nodes_by_place ON nodes (motion, frame);
CREATE INDEX edges_by_source ON edges (source);
CREATE TABLE prunings (a TEXT, b TEXT, sectors INTEGER, below_threshold INTEGER,
    not_doubled INTEGER, alike_around INTEGER, PRIMARY KEY (a, b));
"""


_FAULTS: TakeFacts[str | None] = TakeFacts("faults", 1, lambda fault: isinstance(fault, str | None))
_LOOPS: TakeFacts[bool] = TakeFacts("loops", 1, lambda fact: isinstance(fact, bool))


def library_graph(
    library: Store,
    settings: GraphSettings,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
) -> EditedGraph:
    """Return a motion graph of library motions; it is built once and stored with the library.

    Parameters
    ----------
    library : Store
    settings : GraphSettings
        Which motions the graph contains, and how transitions are found. The graph uses the skeleton
        and the frame rate of the first motion.
    workers : int, optional
        Number of worker processes. Default: one per core, or none for small jobs.
    progress : callable, optional
        Called with the number of motion pairs compared since the last call.

    Returns
    -------
    graph : EditedGraph
        The graph, with the edits stored in the library (`motionloom.motion_graph.edits`) applied.
    """
    names = graph_names(library, settings)
    if not names:
        raise InvalidInput("a motion graph needs at least one motion, but the settings select none")
    distance = settings.frame_distance()
    unroll = settings.rules.unroll and settings.transitions is None
    motions = conform([unrolled(library[name]) if unroll else library[name] for name in names])
    labels = {name: library.labels(name) for name in names}
    segments = {
        name: _labeled_segments(library, name, motions[0].fps)
        for name in library.names_with_segments()
        if name in labels
    }
    if settings.mirror:
        motions = [*motions, *(mirrored(motion) for motion in motions)]
        if len({motion.name for motion in motions}) < len(motions):
            raise InvalidInput(
                "mirror cannot be used because the names of some motions already end in _mirrored; "
                "exclude those motions"
            )
        labels |= {f"{name}_mirrored": value for name, value in labels.items()}
        segments |= {f"{name}_mirrored": value for name, value in segments.items()}

    def build(folder: Path, previous: Folder | None) -> None:
        for name, why in _excluded(library, _selected(library, settings), settings).items():
            warnings.warn(f"excluded {name}: {why}", stacklevel=4)
        if settings.transitions is not None:
            graph = graph_from_mogra(
                settings.transitions,
                motions,
                distance=distance,
                blend_seconds=settings.rules.blend_seconds,
                window=settings.rules.window or "kr14",
                root_path=settings.rules.root_path,
                dead_ends=settings.rules.dead_ends,
                labels=labels,
            )
        else:
            graph = motion_graph(
                motions,
                settings,
                stored=LibraryMotions(library, tuple(names), unroll),
                workers=workers,
                progress=progress,
            )
        write_graph(graph, folder / _FILE)

    artifact = library.artifacts.derive(
        _KIND,
        _key(library, names, distance, settings),
        build=build,
        read=lambda folder: read_graph(folder / _FILE, motions, labels, segments),
    )
    return with_edits(artifact, library_edits(library), motions, distance)


def _labeled_segments(library: Store, name: str, fps: float) -> tuple[tuple[int, int, str], ...]:
    """Return the labeled segments of a motion, in frames at the frame rate of the graph."""
    scale = fps / library.entry(name).fps
    return tuple(
        (round(part.start_frame * scale), round(part.end_frame * scale), label)
        for part, label in library.segment_labels(name)
    )


def is_built(library: Store, settings: GraphSettings) -> bool:
    """Return whether the library already has a graph with these settings.

    No take is read if the library has no current graph.
    """
    if not library.artifacts.any_current(_KIND):
        return False
    names = graph_names(library, settings)
    return not library.artifacts.stale(
        _KIND, _key(library, names, settings.frame_distance(), settings)
    )


def graph_names(library: Store, settings: GraphSettings, *, examine: bool = True) -> list[str]:
    """Return the names of the motions that the settings select, without props and faulty takes.

    The names are in library order or, if transitions are read from a file, in the order of `only`.
    Each take is examined once for faults; without `examine`, no take is read, and only faults that
    are already known count.
    """
    names = _selected(library, settings)
    excluded = _excluded(library, names, settings, examine=examine)
    return [name for name in names if name not in excluded]


def _selected(library: Store, settings: GraphSettings) -> list[str]:
    names = chosen_names(
        library, label=settings.label, only=settings.only, exclude=settings.exclude
    )
    if settings.transitions is not None and isinstance(settings.only, tuple):
        names.sort(key=list(settings.only).index)
    return names


def _excluded(
    library: Store, names: Sequence[str], settings: GraphSettings, *, examine: bool = True
) -> dict[str, str]:
    """Return takes that lack roles of the others or have grave faults, each with the reason."""
    if settings.transitions is not None:
        return {}
    entries = library.entries(names)
    skeletons = {key: library.skeleton(key) for key in {entry.skeleton for entry in entries}}
    excluded = without_body({entry.name: skeletons[entry.skeleton] for entry in entries})
    judged = set(names) - excluded.keys() - named_takes(settings)
    keys = {entry.name: entry.key for entry in entries if entry.name in judged}
    reasons = (
        _FAULTS.values(library, keys, lambda name: grave_fault(library[name]))
        if examine
        else _FAULTS.known(library, keys)
    )
    faults = {name: fault for name, fault in reasons.items() if fault is not None}
    return excluded if len(excluded) + len(faults) == len(names) else excluded | faults


def _loops(library: Store, names: Sequence[str]) -> list[str]:
    """Return the names of the short clips that are loops."""
    entries = library.entries(names)
    short = {entry.name: entry.key for entry in entries if entry.frames < SHORT * entry.fps}
    loops = _LOOPS.values(library, short, lambda name: loop_range(library[name]) is not None)
    return [name for name, is_loop in loops.items() if is_loop]


def _key(
    library: Store, names: Sequence[str], distance: FrameDistance, settings: GraphSettings
) -> dict[str, Any]:
    """Return the cache key of a graph: all inputs except the motions themselves."""
    more: dict[str, Any] = {}
    if settings.rules.unroll and settings.transitions is None:
        loops = _loops(library, names)
        if loops:
            more["unrolled"] = loops
    if settings.rules.window is not None:
        more["window"] = settings.rules.window
    if settings.rules.window == "kr14" and settings.transitions is None:
        more["judged"] = "blended frames"  # graphs of 0.2 were pruned by other frames
    rules, usual = settings.rules, TransitionRules()
    for name in ("skip_ends", "root_path", "dead_ends"):
        if getattr(rules, name) != getattr(usual, name):
            more[name] = getattr(rules, name)
    if settings.mirror:
        more["mirror"] = True
    if settings.rules.bridge:
        more["bridge"] = True
    if settings.transitions is not None:
        try:
            content = read_regular(settings.transitions)
        except OSError as error:
            raise InvalidInput(
                f"cannot read the transition file {settings.transitions}: {error.strerror}"
            ) from None
        more["transitions"] = hashlib.sha256(content).hexdigest()
    return {
        **more,
        "format": _FORMAT,
        "names": list(names),
        "distance": distance_key(distance),
        "finding": {
            "method": settings.method.NAME,
            "threshold": settings.max_distance,
            "per_minute": settings.per_minute,
            "blend_seconds": settings.rules.blend_seconds,
            "sector_seconds": settings.sector_seconds,
            "apart_seconds": settings.rules.apart_seconds,
            "footing": settings.rules.match_feet,
            "connect": settings.rules.connect,
            "smooth": settings.rules.smooth,
        },
    }


def write_graph(graph: MotionGraph, path: str | Path) -> None:
    """Write the tables of a graph to a new SQLite file."""
    transitions = graph.transitions
    nodes = nodes_of(transitions.leave, transitions.enter)
    count = len(transitions)
    meta = {
        "format": _FORMAT,
        "distance": graph.distance,
        "threshold": graph.threshold,
        "blend": transitions.blend,
        "root_path": transitions.root_path,
        "dead_ends": graph.dead_ends,
        "removed": graph.removed.as_dict(),
    }
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(_SCHEMA)
        put = connection.executemany
        put("INSERT INTO meta VALUES (?, ?)", ((k, json.dumps(v)) for k, v in meta.items()))
        rows = ((n, motion.name, len(motion)) for n, motion in enumerate(graph.motions))
        put("INSERT INTO motions VALUES (?, ?, ?)", rows)
        places = zip(nodes.motion.tolist(), nodes.frame.tolist(), strict=True)
        put(
            "INSERT INTO nodes VALUES (?, ?, ?, ?)",
            ((n, m, f, "leave" if n < count else "enter") for n, (m, f) in enumerate(places)),
        )
        put(
            "INSERT INTO edges VALUES (?, ?, ?, 'blend', ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (
                    k, k, count + k,
                    int(transitions.source[k, 1]), int(transitions.target[k, 1]),
                    float(transitions.errors[k]), float(transitions.means[k]),
                    *map(float, transitions.transforms[k]), float(transitions.accelerations[k]),
                )
                for k in range(count)
            ),
        )  # fmt: skip
        put(
            "INSERT INTO edges (number, source, target, kind) VALUES (?, ?, ?, 'play')",
            ((count + k, int(a), int(b)) for k, (a, b) in enumerate(nodes.edges[count:].tolist())),
        )
        put(
            "INSERT INTO prunings VALUES (?, ?, ?, ?, ?, ?)",
            ((a, b, *asdict(pruning).values()) for (a, b), pruning in graph.prunings.items()),
        )


def read_graph(
    path: str | Path,
    motions: Sequence[Any],
    labels: dict[str, tuple],
    segments: dict[str, tuple] | None = None,
) -> MotionGraph:
    """Read a graph from its tables; `motions` may contain more motions than the graph has."""
    if not Path(path).is_file():
        raise FileNotFoundError(path)
    query = (
        "SELECT a.motion, e.source_frame, b.motion, e.target_frame, e.error, e.mean, e.x, e.z, "
        "e.yaw, e.acceleration FROM edges e JOIN nodes a ON a.number = e.source "
        "JOIN nodes b ON b.number = e.target WHERE e.kind = 'blend' ORDER BY e.number"
    )
    try:
        # Immutable: SQLite does not look for a journal next to the file.
        place = f"{Path(path).absolute().as_uri()}?mode=ro&immutable=1"
        with closing(sqlite3.connect(place, uri=True)) as db:
            check_plain_schema(db)
            meta = {key: parse_json(value) for key, value in db.execute("SELECT * FROM meta")}
            names = db.execute("SELECT name FROM motions ORDER BY number").fetchall()
            rows = np.array(db.execute(query).fetchall(), np.float64).reshape(-1, 10)
            prunings = {
                (a, b): Pruning(*counts)
                for a, b, *counts in db.execute("SELECT * FROM prunings ORDER BY rowid")
            }
        removed = meta["removed"]
        transitions = Transitions(
            rows[:, 0:2].astype(np.int64),
            rows[:, 2:4].astype(np.int64),
            rows[:, 4],
            rows[:, 5],
            rows[:, 6:9],
            rows[:, 9],
            int(meta["blend"]),
            meta.get("root_path", "aligned"),
        )
        by_name = {motion.name: motion for motion in motions}
        chosen = tuple(by_name[name] for (name,) in names)
        _check_transitions(transitions, [len(motion) for motion in chosen])
        return MotionGraph(
            chosen,
            transitions,
            meta["distance"],
            float(meta["threshold"]),
            Removed(
                removed["transitions"],
                tuple(removed["motions"]),
                removed["footing"],
                removed["abrupt"],
                removed["frames"],
                removed.get("by_hand", 0),
                removed.get("reasons", {}),
            ),
            prunings,
            labels,
            segments or {},
            bool(meta.get("dead_ends", False)),
        )
    except (sqlite3.Error, KeyError, ValueError, TypeError, OverflowError) as error:
        raise LibraryError(f"{path}: damaged: {error}") from None


def _check_transitions(transitions: Transitions, lengths: Sequence[int]) -> None:
    """Raise `ValueError` unless all transitions are within the motions, as kernels require."""
    numbers = (transitions.errors, transitions.means, transitions.transforms)
    if not all(np.isfinite(values).all() for values in numbers):
        raise ValueError("a transition has values that are not finite")
    if not 0 <= transitions.blend <= max(lengths, default=0):
        raise ValueError(
            f"the number of blended frames must not exceed the longest motion; got "
            f"{transitions.blend}"
        )
    if transitions.root_path not in get_args(RootPath):
        raise ValueError(f"root_path must be one of {get_args(RootPath)}")
    size = np.array([*lengths, 0], np.int64)
    last = transitions.enter - np.array([0, 1], np.int64)  # the last blended frame
    for place in (transitions.source, transitions.target, transitions.leave, last):
        motion, frame = place[:, 0], place[:, 1]
        if ((motion < 0) | (motion >= len(lengths))).any():
            raise ValueError("a transition refers to a motion that does not exist")
        if ((frame < 0) | (frame >= size[motion])).any():
            raise ValueError("a transition extends beyond the end of a motion")


def save_graph_settings(library: Store, settings: GraphSettings) -> None:
    """Save the settings of the latest motion graph as the default for later commands."""
    library.artifacts.save(*GRAPH_SETTINGS, settings.to_json())


def graph_settings(library: Store) -> GraphSettings | None:
    """Return the settings of the motion graph built last in the library, or None."""
    kind, name = GRAPH_SETTINGS
    if name not in library.artifacts.names(kind):
        return None
    return GraphSettings.from_json(library.artifacts.about(kind, name))
