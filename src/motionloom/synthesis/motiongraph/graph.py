"""The motion graph: a few motions, and where one may be left for another.

References
----------
.. [1] L. Kovar, M. Gleicher, F. Pighin. Motion graphs. SIGGRAPH 2002.
.. [2] A. Kravcevich. Motion synthesis using relative joint distances. 2014.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motionloom.blend.transitions import Transition
from motionloom.distance import FrameDistance, frame_distance
from motionloom.errors import InvalidInput
from motionloom.motion import Motion, Skeleton
from motionloom.motion.quality import QualityReport, quality_report, usual_acceleration
from motionloom.synthesis.motiongraph.components import endless, nodes_of
from motionloom.synthesis.motiongraph.footing import Footing
from motionloom.synthesis.motiongraph.sweet_spots import Pruning
from motionloom.synthesis.motiongraph.transitions import (
    Finding,
    Found,
    Transitions,
    blended,
    find_transitions,
)

if TYPE_CHECKING:
    from motionloom.synthesis.motiongraph.player import GraphPlayer

_REMEMBERED = 512  # transitions whose frames are kept ready

Place = tuple[str, int]


@dataclass(frozen=True)
class Removed:
    """What a graph left out of what was found.

    Attributes
    ----------
    transitions : int
        That lead to a dead end, or lie apart from the largest part.
    motions : tuple of str
        That nothing leads to, or nothing leads away from.
    footing, abrupt : int
        Spots at which the feet disagree; transitions with too large accelerations.
    frames : int
        Of the motions that remain, frames that are never played.
    """

    transitions: int
    motions: tuple[str, ...]
    footing: int
    abrupt: int
    frames: int

    def as_dict(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            "transitions": self.transitions,
            "motions": list(self.motions),
            "footing": self.footing,
            "abrupt": self.abrupt,
            "frames": self.frames,
        }


@dataclass(frozen=True, eq=False)
class MotionGraph:
    """Motions of one skeleton and rate, and transitions that never lead to a dead end.

    `lib.motion_graph(...)` and `motion_graph(motions)` make one.

    Attributes
    ----------
    motions : tuple of Motion
    transitions : Transitions
        Directed; every one of them can be reached from every other.
    distance : str
        Name of the frame distance.
    threshold : float
        How alike the frames had to be.
    removed : Removed
    prunings : dict
        For each pair of motions, how many spots each condition left.
    labels : mapping of str to tuple of str
        Labels of the motions by name.
    """

    motions: tuple[Motion, ...]
    transitions: Transitions
    distance: str
    threshold: float
    removed: Removed
    prunings: dict[tuple[str, str], Pruning] = field(default_factory=dict)
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    # --- what it is ---------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.transitions)

    def __repr__(self) -> str:
        return (
            f"MotionGraph({len(self.motions)} motions, {self.frames} frames, "
            f"{len(self)} transitions by {self.distance})"
        )

    @property
    def skeleton(self) -> Skeleton:
        """That of all motions."""
        return self.motions[0].skeleton

    @property
    def fps(self) -> float:
        """Frames per second."""
        return self.motions[0].fps

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the motions, by number."""
        return tuple(motion.name for motion in self.motions)

    @property
    def frames(self) -> int:
        """Frames of all motions together."""
        return sum(map(len, self.motions))

    @cached_property
    def footings(self) -> tuple[Footing, ...]:
        """When the feet of each motion stand."""
        return tuple(Footing.of(motion) for motion in self.motions)

    def info(self) -> dict[str, Any]:
        """The graph in figures."""
        nodes = nodes_of(self.transitions.leave, self.transitions.enter)
        minutes = self.frames / self.fps / 60.0
        return {
            "motions": len(self.motions),
            "frames": self.frames,
            "transitions": len(self),
            "nodes": len(nodes.motion),
            "edges": len(nodes.edges),
            "removed": self.removed.as_dict(),
            "transitions_per_minute": len(self) / minutes,
            "fps": self.fps,
            "blend": self.transitions.blend,
            "distance": self.distance,
            "threshold": self.threshold,
            "names": list(self.names),
        }

    # --- where it can go ----------------------------------------------------------------

    @cached_property
    def _departures(self) -> tuple[tuple[NDArray[np.int64], NDArray[np.int64]], ...]:
        """For each motion the frames at which it can be left, ascending, and by which."""
        motion, frame = self.transitions.leave.T
        found = []
        for number in range(len(self.motions)):
            which = np.flatnonzero(motion == number)
            which = which[np.argsort(frame[which], kind="stable")]
            found.append((frame[which], which))
        return tuple(found)

    def departures(
        self, motion: int, start: int, end: int | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Frames in ``[start, end)`` at which a motion can be left, and by which transition."""
        frames, which = self._departures[motion]
        first = np.searchsorted(frames, start)
        last = len(frames) if end is None else np.searchsorted(frames, end)
        return frames[first:last], which[first:last]

    def place(self, place: Place | str) -> tuple[int, int]:
        """Number of a motion and frame, from its name and a frame, or ``"NAME:FRAME"``.

        Raises
        ------
        InvalidInput
            If the graph does not hold it, or nothing leads away from there.
        """
        name, frame = _named_place(place)
        if name not in self.names:
            known = ", ".join(self.names[:8])
            raise InvalidInput(f"the graph holds no motion {name!r}; it holds {known}")
        number = self.names.index(name)
        if not 0 <= frame < len(self.motions[number]):
            raise InvalidInput(
                f"{name} has frames 0 to {len(self.motions[number]) - 1}; got {frame}"
            )
        return number, frame

    @cached_property
    def crossing(self):
        """The frames of a transition by number, made once and kept ready: ``crossing(k)``."""

        @lru_cache(maxsize=_REMEMBERED)
        def made(number: int) -> Transition:
            return blended(
                self.motions,
                self.footings,
                self.transitions.source[number],
                self.transitions.target[number],
                self.transitions.blend,
            )

        return made

    # --- motion from it -----------------------------------------------------------------

    def player(
        self,
        seed: int | np.random.Generator = 0,
        *,
        start: Place | str | None = None,
        automatic: bool = True,
        planted: bool = True,
    ) -> GraphPlayer:
        """Endless motion, frame by frame; see `motionloom.synthesis.motiongraph.player`.

        Parameters
        ----------
        seed : int or Generator
        start : (name, frame) or "NAME:FRAME", optional
            Default: drawn by the seed.
        automatic : bool
            Whether it takes transitions of its own accord; else only when told to
            (``steer(transition=True)``) and before a dead end.
        planted : bool
            Whether standing feet are held where they stand.
        """
        from motionloom.synthesis.motiongraph.player import GraphPlayer

        return GraphPlayer(self, seed, start=start, automatic=automatic, planted=planted)

    def walk(
        self,
        seconds: float | None = None,
        seed: int | np.random.Generator = 0,
        *,
        start: Place | str | None = None,
        end: Place | str | None = None,
        path: Any = None,
        goal: Any = None,
        labels: Any = None,
        planted: bool = True,
    ) -> Motion:
        """New motion: at random, or along a path, to a place, or as labels say.

        Parameters
        ----------
        seconds : float, optional
            How long. With a path, or with an end and nothing else, it takes as long as it
            takes.
        seed : int or Generator
            The same seed gives the same motion.
        start, end : (name, frame) or "NAME:FRAME", optional
            Poses to begin and to end with.
        path : array_like, shape (n, 2), optional
            Floor positions x, z in metres to walk along.
        goal : (x, z) or (x, z, heading), optional
            Where to be in the last frame, and which way to face there, radians.
        labels : sequence of (label, seconds), optional
            What to do from the beginning on, and how long each.
        planted : bool
            Whether standing feet are held where they stand.

        Returns
        -------
        motion : Motion
            With its provenance.

        Examples
        --------
        >>> import motionloom as ml
        >>> from motionloom.synthesis.motiongraph import motion_graph
        >>> graph = motion_graph([ml.demo.clip("take_locomotion")])
        >>> graph.walk(seconds=20, seed=1)
        Motion('walk', 600 frames at 30 fps = 20.00 s, 21 joints)
        """
        from motionloom.synthesis.motiongraph.player import GraphPlayer
        from motionloom.synthesis.motiongraph.routes import plan

        if path is None and goal is None and labels is None and end is None:
            player = self.player(seed, start=start, planted=planted)
            return player.record(seconds=_given(seconds), name="walk")
        route = plan(self, seconds, seed, start=start, end=end, path=path, goal=goal, labels=labels)
        player = GraphPlayer(self, seed, route=route, planted=planted)
        return player.record(frames=route.frames, name="walk")

    def quality(self, motion: Motion) -> QualityReport:
        """How well a motion made from this graph behaves, held against the graph's motions."""
        return quality_report(motion, sources=self.motions)


def motion_graph(
    motions: Sequence[Motion],
    *,
    distance: str | FrameDistance = "jrd",
    labels: Mapping[str, tuple[str, ...]] | None = None,
    **options: Any,
) -> MotionGraph:
    """A motion graph of motions.

    Parameters
    ----------
    motions : sequence of Motion
        Of any skeletons and rates: they are brought onto the skeleton and to the rate of the
        first.
    distance : str or FrameDistance
        How frames are compared: ``"jrd"``, ``"pc11"``, ...
    labels : mapping, optional
        Labels of the motions, by name.
    **options
        As in `motionloom.synthesis.motiongraph.transitions.Finding`: ``method``,
        ``threshold`` or ``per_minute``, ``blend_seconds``, ``sector_seconds``,
        ``apart_seconds``, ``footing``, ``connect``, ``smooth``.

    Raises
    ------
    InvalidInput
        If no transitions are found, or none of them lead back to where they came from.

    Examples
    --------
    >>> import motionloom as ml
    >>> graph = motion_graph([ml.demo.clip("walk"), ml.demo.clip("walk_left")])
    >>> len(graph) > 0
    True
    """
    finding = checked_finding(options)
    chosen = frame_distance(distance)
    ready = alike(motions)
    footings = [Footing.of(motion) for motion in ready]
    found = find_transitions(ready, chosen, finding, footings)
    return connected(ready, found, chosen.name, labels or {})


def connected(
    motions: Sequence[Motion],
    found: Found,
    distance: str,
    labels: Mapping[str, tuple[str, ...]],
) -> MotionGraph:
    """The graph of what was found, without dead ends and what cannot be reached."""
    transitions = found.transitions
    if not len(transitions):
        raise InvalidInput(
            f"no transitions were found among {len(motions)} motions at threshold "
            f"{found.threshold:g}; raise the threshold or per_minute, add motions that are more "
            "alike, or let the feet disagree (footing=False)"
        )
    kept = endless(transitions.leave, transitions.enter)
    abrupt = 0
    while kept.any() and found.smooth is not None:
        # The motions that remain may be calmer than all of them together.
        used = np.unique(transitions.source[kept, 0])
        limit = found.smooth * usual_acceleration([motions[number] for number in used])
        rough = transitions.accelerations > limit
        if not np.any(kept & rough):
            break
        abrupt += int(rough.sum())
        transitions = transitions.kept(~rough)
        kept = endless(transitions.leave, transitions.enter)
    if not kept.any():
        raise InvalidInput(
            f"the {len(found.transitions)} transitions that were found have no cycle: whichever "
            "way one goes, the motion ends. Raise the threshold or per_minute, or add longer "
            "motions"
        )
    left = transitions.kept(kept)
    used = np.unique(left.source[:, 0])
    renumbered = np.full(len(motions), -1, np.int64)
    renumbered[used] = np.arange(len(used))
    source, target = left.source.copy(), left.target.copy()
    source[:, 0], target[:, 0] = renumbered[source[:, 0]], renumbered[target[:, 0]]
    left = replace(left, source=source, target=target)
    remaining = tuple(motions[number] for number in used)
    removed = Removed(
        int(np.sum(~kept)),
        tuple(motion.name for n, motion in enumerate(motions) if renumbered[n] < 0),
        found.footing,
        found.abrupt + abrupt,
        _idle_frames(remaining, left),
    )
    prunings = {
        (motions[a].name, motions[b].name): counts for (a, b), counts in found.prunings.items()
    }
    return MotionGraph(remaining, left, distance, found.threshold, removed, prunings, dict(labels))


def alike(motions: Sequence[Motion]) -> list[Motion]:
    """Motions on the skeleton and at the rate of the first, with names of their own."""
    if not motions:
        raise InvalidInput("a motion graph needs at least one motion; got none")
    first = motions[0]
    ready, names = [], set()
    for number, motion in enumerate(motions):
        if motion.skeleton is not first.skeleton and motion.skeleton.key != first.skeleton.key:
            motion = motion.onto(first.skeleton)
        if abs(motion.fps - first.fps) > 1e-6 * first.fps:
            motion = motion.resample(first.fps)
        name = motion.name or f"motion_{number}"
        if name in names:
            raise InvalidInput(f"motions of a graph need names of their own; {name!r} occurs twice")
        names.add(name)
        ready.append(motion if name == motion.name else replace(motion, name=name))
    return ready


def checked_finding(options: Mapping[str, Any]) -> Finding:
    """Options of a search for transitions, or a clear word on what is wrong with them."""
    known = Finding.__dataclass_fields__
    for name in options:
        if name not in known:
            raise InvalidInput(f"no option {name!r}; there are {', '.join(known)}")
    finding = Finding(**options)
    for name in ("per_minute", "blend_seconds", "sector_seconds", "threshold", "smooth"):
        value = getattr(finding, name)
        if value is not None and not (np.isfinite(value) and value > 0.0):
            raise InvalidInput(f"{name} must be positive; got {value}")
    if not finding.apart_seconds >= 0.0:
        raise InvalidInput(f"apart_seconds must be zero or more; got {finding.apart_seconds}")
    return finding


def _idle_frames(motions: Sequence[Motion], transitions: Transitions) -> int:
    """Frames before the first arrival and behind the last departure of each motion."""
    idle = 0
    for number, motion in enumerate(motions):
        first = transitions.target[transitions.target[:, 0] == number, 1].min(initial=len(motion))
        last = transitions.source[transitions.source[:, 0] == number, 1].max(initial=0)
        idle += len(motion) - max(int(last) - int(first), 0)
    return idle


def _named_place(place: Place | str) -> tuple[str, int]:
    if isinstance(place, str):
        name, _, number = place.rpartition(":")
        if not name or not number.isdigit():
            raise InvalidInput(f"a place in a graph is NAME:FRAME; got {place!r}")
        return name, int(number)
    name, frame = place
    return str(name), int(frame)


def _given(seconds: float | None) -> float:
    if seconds is None:
        raise InvalidInput("say how many seconds the walk shall last")
    return seconds
