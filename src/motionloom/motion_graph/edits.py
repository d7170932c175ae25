"""Edits of motion graphs: transitions removed or locked by hand.

No distance fully measures how good a transition looks. A *removed* transition is excluded from all
graphs of the library, whatever their settings. A *locked* transition is part of every graph that
contains its two motions, whatever the threshold. Dead ends are removed afterward. The library
stores edits by motion name and frame, so they still apply when a graph is rebuilt.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput, LibraryError
from motionloom.features import FrameDistance
from motionloom.motion import Motion
from motionloom.motion.rotations.planar_transform import PlanarTransform
from motionloom.motion_graph.build import connected
from motionloom.motion_graph.graph import MotionGraph
from motionloom.motion_graph.transitions.transitions import (
    TransitionReport,
    Transitions,
    transitions_at,
)
from motionloom.store.store import Store

KIND = "motion-graph-edits"
ACTIONS = ("remove", "lock", "restore")

_NAME = "edits"
_WRITTEN = re.compile(r"^\s*(.+):(\d+)\s*,\s*(.+):(\d+)\s*$")


@dataclass(frozen=True, order=True)
class TransitionKey:
    """Key of a directed transition: source motion and frame, target motion and frame."""

    source: str
    source_frame: int
    target: str
    target_frame: int

    @property
    def text(self) -> str:
        """The key as ``NAME:FRAME,NAME:FRAME``, the form used on the command line."""
        return f"{self.source}:{self.source_frame},{self.target}:{self.target_frame}"

    @classmethod
    def of(cls, text: str) -> TransitionKey:
        """Parse a transition key of the form ``NAME:FRAME,NAME:FRAME``.

        >>> TransitionKey.of("walk_p0:30,walk_p1:42").target
        'walk_p1'
        """
        match = _WRITTEN.match(text)
        if match is None:
            raise InvalidInput(
                f"a transition must have the form NAME:FRAME,NAME:FRAME; got {text!r}"
            )
        return cls(match[1], int(match[2]), match[3].strip(), int(match[4]))


@dataclass(frozen=True)
class Edits:
    """Transitions that are removed or locked by hand.

    Examples
    --------
    >>> edits = Edits().after("remove", TransitionKey("walk", 30, "jog", 12))
    >>> sorted(edits.removed)[0].text
    'walk:30,jog:12'
    >>> edits.after("restore", TransitionKey("walk", 30, "jog", 12)) == Edits()
    True
    """

    removed: frozenset[TransitionKey] = field(default_factory=frozenset)
    locked: frozenset[TransitionKey] = field(default_factory=frozenset)

    def __bool__(self) -> bool:
        return bool(self.removed or self.locked)

    def after(self, action: str, key: TransitionKey) -> Edits:
        """Return the edits after an action: ``remove``, ``lock``, or ``restore`` to undo either."""
        if action not in ACTIONS:
            raise InvalidInput(f"action must be one of {', '.join(ACTIONS)}; got {action!r}")
        removed, locked = self.removed - {key}, self.locked - {key}
        if action == "remove":
            removed |= {key}
        elif action == "lock":
            locked |= {key}
        return Edits(removed, locked)


@dataclass(frozen=True, eq=False)
class EditedGraph:
    """Motion graph with the library's edits applied, and all its transitions, even unused ones.

    Attributes
    ----------
    graph : MotionGraph
        The playable graph.
    motions : tuple of Motion
        All motions that were selected.
    transitions : Transitions
        All n transitions that were found or locked. Their motions are numbered as in `motions`.
    states : ndarray of uint8, shape (n,)
        Index into `STATES` of each transition.
    """

    STATES: ClassVar = ("played", "locked", "removed", "cut off")

    graph: MotionGraph
    motions: tuple[Motion, ...]
    transitions: Transitions
    states: NDArray[np.uint8]

    def key(self, number: int) -> TransitionKey:
        """Return the key of a transition: its motions and frames."""
        (a, i), (b, j) = self.transitions.source[number], self.transitions.target[number]
        return TransitionKey(self.motions[a].name, int(i), self.motions[b].name, int(j))

    def transition_clip(self, key: str, *, seconds: float = 1.0) -> tuple[Motion, int]:
        """Return a transition as a motion, and the frame in the middle of its blend.

        Parameters
        ----------
        key : str
            ``NAME:FRAME,NAME:FRAME``.
        seconds : float
            Duration before and after the blend.
        """
        from motionloom.motion_graph.walks.graph_player import GraphPlayer
        from motionloom.motion_graph.walks.routes import Route

        wanted = TransitionKey.of(key)
        number = next((n for n in range(len(self.transitions)) if self.key(n) == wanted), None)
        if number is None:
            raise InvalidInput(
                f"the graph has no transition {wanted.text}; the graph may have been rebuilt since "
                f"the transition was listed"
            )
        graph, blend = self.full_graph, self.transitions.blend
        (a, leave), (b, enter) = graph.transitions.leave[number], graph.transitions.enter[number]
        around = round(seconds * graph.fps)
        first = max(int(leave) - around, 0)
        last = min(int(enter) + around, len(graph.motions[b]))
        frames = int(leave) - first + blend + last - int(enter)
        origin = PlanarTransform.to_origin(graph.motions[a][first])
        route = Route((int(a), first), origin, (number,), last, frames)
        motion = GraphPlayer(graph, route=route).record(frames=frames, name=key)
        return motion, int(leave) - first + blend // 2

    @cached_property
    def full_graph(self) -> MotionGraph:
        """Graph with all transitions, including dead ends; use it for display, not for walks."""
        return replace(self.graph, motions=self.motions, transitions=self.transitions)


def library_edits(library: Store) -> Edits:
    """Return the edits stored in a library.

    Examples
    --------
    >>> import motionloom as ml, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
    >>> bool(library_edits(lib.store)), len(edit(lib.store, "lock", "walk:30,jog:12").locked)
    (False, 1)
    """
    if _NAME not in library.artifacts.names(KIND):
        return Edits()
    about = library.artifacts.about(KIND, _NAME)
    try:
        return Edits(
            frozenset(TransitionKey(*row) for row in about["removed"]),
            frozenset(TransitionKey(*row) for row in about["locked"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise LibraryError(
            f"{library.path}: cannot read the motion graph edits, because they are damaged: {error}"
        ) from None


def edit(library: Store, action: str, transition: TransitionKey | str) -> Edits:
    """Add an edit to a library; see `Edits.after`.

    Concurrent edits are applied one after another, so none is lost.
    """
    key = TransitionKey.of(transition) if isinstance(transition, str) else transition
    with library.change(f"{action} transition {key}"):
        edits = library_edits(library).after(action, key)
        about = {
            "removed": [_row(transition) for transition in sorted(edits.removed)],
            "locked": [_row(transition) for transition in sorted(edits.locked)],
        }
        library.artifacts.save(KIND, _NAME, about)
    return edits


def with_edits(
    graph: MotionGraph, edits: Edits, motions: Sequence[Motion], distance: FrameDistance
) -> EditedGraph:
    """Apply edits to a graph.

    Parameters
    ----------
    graph : MotionGraph
        The graph as it was built.
    edits : Edits
        The edits to apply; edits of motions outside the graph are ignored.
    motions : sequence of Motion
        All motions that the graph was built from, with one skeleton and frame rate.
    distance : FrameDistance
        Frame distance for computing the error of locked transitions that the search did not find.

    Raises
    ------
    InvalidInput
        If the remaining transitions form no cycle.
    """
    number = {motion.name: k for k, motion in enumerate(motions)}
    numbers = np.array([number[name] for name in graph.names], np.int64)
    built = graph.transitions
    source, target = built.source.copy(), built.target.copy()
    source[:, 0], target[:, 0] = numbers[source[:, 0]], numbers[target[:, 0]]
    every = replace(built, source=source, target=target)
    mine = [{_key(key, number) for key in keys} for keys in (edits.removed, edits.locked)]
    removed, locked = (keys - {None} for keys in mine)
    added = locked - set(_keys(every))
    if added:
        every = Transitions.joined([every, _at(motions, added, distance, every)])
    keys = _keys(every)
    out = np.array([key in removed for key in keys])
    if not out.any() and not added:
        plain = np.array([1 if key in locked else 0 for key in keys], np.uint8)
        return EditedGraph(graph, tuple(motions), every, plain)
    left = TransitionReport(
        every.select(~out), graph.threshold, {}, 0, 0, dead_ends=graph.dead_ends
    )
    try:
        made = connected(motions, left, graph.distance, graph.labels)
    except InvalidInput:
        raise InvalidInput(
            f"{int(out.sum())} of {len(out)} transitions were removed by hand, and the others form "
            f"no cycle, so every route ends. Restore some of the removed transitions"
        ) from None
    there = replace(
        graph.removed,
        transitions=graph.removed.transitions + made.removed.transitions,
        motions=made.removed.motions,
        reasons={**made.removed.reasons, **graph.removed.reasons},
        frames=made.removed.frames,
        by_hand=int(out.sum()),
    )
    made = replace(made, removed=there, prunings=graph.prunings, segments=graph.segments)
    back = np.array([number[name] for name in made.names], np.int64)
    plays = {(int(back[a]), int(i), int(back[b]), int(j)) for a, i, b, j in _keys(made.transitions)}
    states = [
        2 if gone else 3 if key not in plays else 1 if key in locked else 0
        for key, gone in zip(keys, out, strict=True)
    ]
    return EditedGraph(made, tuple(motions), every, np.array(states, np.uint8))


def _row(key: TransitionKey) -> list[Any]:
    return [key.source, key.source_frame, key.target, key.target_frame]


def _key(key: TransitionKey, number: dict[str, int]) -> tuple[int, int, int, int] | None:
    a, b = number.get(key.source), number.get(key.target)
    return None if a is None or b is None else (a, key.source_frame, b, key.target_frame)


def _keys(transitions: Transitions) -> list[tuple[int, int, int, int]]:
    rows = np.concatenate([transitions.source, transitions.target], axis=1).tolist()
    return [(a, i, b, j) for a, i, b, j in rows]


def _at(motions: Sequence[Motion], keys, distance: FrameDistance, like: Transitions) -> Transitions:
    """Return the transitions of `keys`, blended as in `like`.

    Transitions too close to an end of a motion are omitted.
    """
    rows: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for a, i, b, j in sorted(keys):
        rows.setdefault((a, b), []).append((i, j))
    frames = {pair: np.array(pairs, np.int64) for pair, pairs in rows.items()}
    made = transitions_at(
        motions, distance, frames, like.blend, root_path=like.root_path
    ).transitions
    number = {key: k for k, key in reversed(list(enumerate(_keys(made))))}
    # Transitions are computed in both directions, and twice within one motion, so each key is kept
    # only once.
    return made.select(np.array(sorted(number[key] for key in keys & set(number)), np.int64))
