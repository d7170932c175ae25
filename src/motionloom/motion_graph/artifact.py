"""Motion graphs kept with their library, as SQLite tables.

::

    takes.loom/derived/motion-graph.OPTIONS.CONTENT/graph.sqlite

==================  =================================================================
``meta``            distance, threshold, blend, what was removed
``motions``         number, name, frames, of those that take part
``nodes``           places in motions at which something leaves or arrives
``edges``           from node to node: ``blend`` (a transition: frames that are alike, error,
                    mean error, planar transform, acceleration) or ``play``
``prunings``        how many spots each condition left, for each pair of motions
==================  =================================================================
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from motionloom.blending.examples import conform
from motionloom.distance import FrameDistance, frame_distance
from motionloom.errors import InvalidInput, LibraryError
from motionloom.motion_graph.build import checked_finding, motion_graph
from motionloom.motion_graph.candidates import Pruning
from motionloom.motion_graph.components import nodes_of
from motionloom.motion_graph.edits import EditedGraph, library_edits, with_edits
from motionloom.motion_graph.graph import MotionGraph, Removed
from motionloom.motion_graph.pair_candidates import LibraryMotions
from motionloom.motion_graph.transitions import Transitions, TransitionSettings
from motionloom.parallel import Progress
from motionloom.store.artifacts.release_0_1 import GRAPH_SETTINGS
from motionloom.store.remote.folder import Folder

if TYPE_CHECKING:
    from motionloom.store.store import Store

_KIND = "motion-graph"
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


def library_graph(
    library: Store,
    *,
    names: Sequence[str],
    distance: str | FrameDistance = "jrd",
    workers: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> MotionGraph:
    """The motion graph of some motions of a library, found once and kept with it.

    What people have edited (`motionloom.motion_graph.edits`) is left out or in.

    Parameters
    ----------
    library : Store
    names : sequence of str
        The motions; the first one's skeleton and rate are those of the graph.
    distance : str or FrameDistance
    workers, progress : optional
        Processes; called with the number of pairs of motions compared since the last call.
    **options
        As in `motion_graph`.
    """
    return edited_library_graph(library, names=names, distance=distance, workers=workers,
                                progress=progress, **options).graph  # fmt: skip


def edited_library_graph(
    library: Store,
    *,
    names: Sequence[str],
    distance: str | FrameDistance = "jrd",
    workers: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> EditedGraph:
    """The same as `library_graph`, with all that was found and what became of it by hand."""
    if not names:
        raise InvalidInput("a motion graph needs at least one motion; none were chosen")
    finding = checked_finding(options)
    chosen = frame_distance(distance)
    key = _key(names, chosen, finding)
    motions = conform([library[name] for name in names])
    labels = {name: library.labels(name) for name in names}

    def build(folder: Path, previous: Folder | None) -> None:
        graph = motion_graph(
            motions,
            distance=chosen,
            takes=LibraryMotions(library, tuple(names)),
            workers=workers,
            progress=progress,
            **options,
        )
        write_graph(graph, folder / _FILE)

    found = library.artifacts.derive(
        _KIND, key, build=build, read=lambda folder: read_graph(folder / _FILE, motions, labels)
    )
    return with_edits(found, library_edits(library), motions, chosen)


def is_built(
    library: Store,
    *,
    names: Sequence[str],
    distance: str | FrameDistance = "jrd",
    **options: Any,
) -> bool:
    """Whether a library keeps the graph that `library_graph` gives, and need not build it."""
    key = _key(names, frame_distance(distance), checked_finding(options))
    return not library.artifacts.stale(_KIND, key)


def _key(
    names: Sequence[str], distance: FrameDistance, finding: TransitionSettings
) -> dict[str, Any]:
    """What a graph depends on besides the motions themselves."""
    return {
        "format": _FORMAT,
        "names": list(names),
        "distance": repr(distance),
        "finding": asdict(finding),
    }


def write_graph(graph: MotionGraph, path: str | Path) -> None:
    """Write a graph's tables to a new SQLite file."""
    transitions = graph.transitions
    nodes = nodes_of(transitions.leave, transitions.enter)
    count = len(transitions)
    meta = {
        "format": _FORMAT,
        "distance": graph.distance,
        "threshold": graph.threshold,
        "blend": transitions.blend,
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


def read_graph(path: str | Path, motions: Sequence[Any], labels: dict[str, tuple]) -> MotionGraph:
    """A graph from its tables and the motions it was made of, which may be more than it has."""
    if not Path(path).is_file():
        raise FileNotFoundError(path)
    query = (
        "SELECT a.motion, e.source_frame, b.motion, e.target_frame, e.error, e.mean, e.x, e.z, "
        "e.yaw, e.acceleration FROM edges e JOIN nodes a ON a.number = e.source "
        "JOIN nodes b ON b.number = e.target WHERE e.kind = 'blend' ORDER BY e.number"
    )
    try:
        with closing(sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True)) as db:
            meta = {key: json.loads(value) for key, value in db.execute("SELECT * FROM meta")}
            held = db.execute("SELECT name FROM motions ORDER BY number").fetchall()
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
        )
        by_name = {motion.name: motion for motion in motions}
        return MotionGraph(
            tuple(by_name[name] for (name,) in held),
            transitions,
            meta["distance"],
            float(meta["threshold"]),
            Removed(**{**removed, "motions": tuple(removed["motions"])}),
            prunings,
            labels,
        )
    except (sqlite3.Error, KeyError, ValueError, TypeError) as error:
        raise LibraryError(f"{path}: damaged: {error}") from None


def save_graph_settings(library: Store, settings: dict[str, Any]) -> None:
    """Save the settings of the library's latest motion graph, the default of later commands."""
    library.artifacts.save(*GRAPH_SETTINGS, settings)


def graph_settings(library: Store) -> dict[str, Any] | None:
    """Settings of the library's latest motion graph; None if there is none."""
    kind, name = GRAPH_SETTINGS
    return library.artifacts.about(kind, name) if name in library.artifacts.names(kind) else None
