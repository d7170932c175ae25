"""Motion graph: motions and the transitions between them.

References
----------
.. [1] L. Kovar, M. Gleicher, F. Pighin. Motion graphs. SIGGRAPH 2002.
.. [2] A. Kravcevich. Motion synthesis using relative joint distances. 2014.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motionloom.blending.player import frame_count
from motionloom.blending.transitions import Transition
from motionloom.errors import InvalidInput
from motionloom.files import atomic_write
from motionloom.motion import Motion, Skeleton
from motionloom.motion.diagnostics.quality import (
    QualityReport,
    SourceStatistics,
    quality_report,
)
from motionloom.motion.feet.gait import gaits
from motionloom.motion_graph.components import nodes_of
from motionloom.motion_graph.settings import WalkSettings
from motionloom.motion_graph.transitions.candidates import Pruning
from motionloom.motion_graph.transitions.foot_support import FootSupport
from motionloom.motion_graph.transitions.transitions import Transitions, blended
from motionloom.motion_graph.walks.label_frames import label_frames
from motionloom.motion_graph.walks.walk_quality import moving_speeds, walk_parts
from motionloom.parallel import Progress
from motionloom.settings import takes

if TYPE_CHECKING:
    from motionloom.motion_graph.walks.graph_player import GraphPlayer
    from motionloom.motion_graph.walks.routes import Route

_REMEMBERED = 512  # number of transitions whose frames are cached
_FRAME = re.compile(r"[0-9]{1,15}")

MotionFrame = tuple[str, int]


@dataclass(frozen=True)
class Removed:
    """Transitions and motions that are not part of a graph.

    Attributes
    ----------
    transitions : int
        Transitions at dead ends or outside the largest component.
    motions : tuple of str
        Motions that cannot be reached or left.
    foot_support, abrupt : int
        Number of candidates rejected because different feet are in contact, and number of
        transitions rejected because their accelerations are too large.
    frames : int
        Frames of the remaining motions that are never played.
    by_hand : int
        Transitions removed by ``lib.graphs.edit``.
    reasons : mapping of str to str
        Reason why each motion in `motions` was cut off, by name.

    Examples
    --------
    >>> removed = lib.motion_graph(only=["walk", "walk_fast"]).removed
    >>> removed.motions, removed.by_hand
    ((), 0)
    """

    transitions: int
    motions: tuple[str, ...]
    foot_support: int
    abrupt: int
    frames: int
    by_hand: int = 0
    reasons: Mapping[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as a dict of plain data."""
        return {
            "transitions": self.transitions,
            "motions": list(self.motions),
            "footing": self.foot_support,
            "abrupt": self.abrupt,
            "frames": self.frames,
            "by_hand": self.by_hand,
            **({"reasons": dict(self.reasons)} if self.reasons else {}),
        }


@dataclass(frozen=True, eq=False)
class MotionGraph:
    """Motions that share a skeleton and frame rate, connected by transitions without dead ends.

    Built by `Library.motion_graph` or `motion_graph(motions)`.

    Attributes
    ----------
    motions : tuple of Motion
    transitions : Transitions
        Directed transitions; each can be reached from every other, unless `dead_ends` is True.
    distance : str
        Name of the frame distance.
    threshold : float
        Maximum frame distance at a transition.
    removed : Removed
    prunings : dict
        For each pair of motions, the number of candidates that remain after each condition.
    labels : mapping of str to tuple of str
        Labels of the motions by name, including motions that are cut off.
    segments : mapping of str to tuple of (int, int, str)
        First frame, last frame (excluded) and label of each labeled segment, by motion name.
    dead_ends : bool
        True if some routes may end.

    Examples
    --------
    >>> graph = lib.motion_graph(only=["walk", "walk_fast"])
    >>> graph.names
    ('walk', 'walk_fast')
    """

    motions: tuple[Motion, ...]
    transitions: Transitions
    distance: str
    threshold: float
    removed: Removed
    prunings: dict[tuple[str, str], Pruning] = field(default_factory=dict)
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    segments: Mapping[str, tuple[tuple[int, int, str], ...]] = field(default_factory=dict)
    dead_ends: bool = False

    # --- properties ---------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.transitions)

    def __repr__(self) -> str:
        return (
            f"MotionGraph({len(self.motions)} motions, {self.frames} frames, "
            f"{len(self)} transitions by {self.distance})"
        )

    @property
    def skeleton(self) -> Skeleton:
        """Skeleton that all motions share."""
        return self.motions[0].skeleton

    @property
    def fps(self) -> float:
        """Frames per second."""
        return self.motions[0].fps

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the motions, indexed by motion number."""
        return tuple(motion.name for motion in self.motions)

    @property
    def frames(self) -> int:
        """Total number of frames of all motions."""
        return sum(map(len, self.motions))

    @cached_property
    def foot_supports(self) -> tuple[FootSupport, ...]:
        """Foot contacts of each motion."""
        return tuple(FootSupport.of(motion) for motion in self.motions)

    @cached_property
    def gaits(self) -> tuple[NDArray[np.str_], ...]:
        """Gait in each frame of each motion; see `motionloom.motion.feet.gait`."""
        return tuple(gaits(motion) for motion in self.motions)

    def label_frames(self, label: str) -> tuple[NDArray[np.bool_], ...]:
        """Return a mask (frames,) for each motion: True at the frames to which a label applies.

        The label of a segment applies to its frames. The label of a take applies to all its frames
        or, if it names a gait, to the frames with that gait.
        """
        if label not in self._label_frames:
            self._label_frames[label] = label_frames(self, label)
        return self._label_frames[label]

    @cached_property
    def _label_frames(self) -> dict[str, tuple[NDArray[np.bool_], ...]]:
        return {}

    def info(self) -> dict[str, Any]:
        """Return statistics of the graph as plain data."""
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

    # --- transitions ----------------------------------------------------------------

    @cached_property
    def _departures(self) -> tuple[tuple[NDArray[np.int64], NDArray[np.int64]], ...]:
        """Sorted departure frames of each motion, and their transitions."""
        motion, frame = self.transitions.leave.T
        departures = []
        for number in range(len(self.motions)):
            which = np.flatnonzero(motion == number)
            which = which[np.argsort(frame[which], kind="stable")]
            departures.append((frame[which], which))
        return tuple(departures)

    def departures(
        self, motion: int, start: int, end: int | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the departures from a motion in ``[start, end)``, and their transitions."""
        frames, which = self._departures[motion]
        first = np.searchsorted(frames, start)
        last = len(frames) if end is None else np.searchsorted(frames, end)
        return frames[first:last], which[first:last]

    def locate(self, place: MotionFrame | str) -> tuple[int, int]:
        """Convert ``(name, frame)`` or ``"NAME:FRAME"`` to a motion number and a frame.

        Raises
        ------
        InvalidInput
            If the graph has no such motion or frame.
        """
        name, frame = named_frame(place)
        if name not in self.names:
            names = ", ".join(self.names[:8]) + (", ..." if len(self.names) > 8 else "")
            raise InvalidInput(f"the graph has no motion {name!r}; its motions are {names}")
        number = self.names.index(name)
        if not 0 <= frame < len(self.motions[number]):
            raise InvalidInput(
                f"{name} has frames 0 to {len(self.motions[number]) - 1}; got {frame}"
            )
        return number, frame

    @cached_property
    def transition_frames(self):
        """Function that maps the number of a transition to its frames; results are cached."""

        @lru_cache(maxsize=_REMEMBERED)
        def made(number: int) -> Transition:
            return blended(
                self.motions,
                self.foot_supports,
                self.transitions.source[number],
                self.transitions.target[number],
                self.transitions.blend,
                self.transitions.root_path,
            )

        return made

    # --- players and walks -----------------------------------------------------------------

    def player(
        self,
        seed: int | np.random.Generator = 0,
        *,
        start: MotionFrame | str | None = None,
        automatic: bool = True,
        lock_feet: bool = True,
        variety: bool = True,
    ) -> GraphPlayer:
        """Return a player of endless motion; see `motionloom.motion_graph.walks.graph_player`.

        Parameters
        ----------
        seed : int or Generator
        start : (name, frame) or "NAME:FRAME", optional
            Default: a random frame.
        automatic : bool
            Take transitions at random. If False, take them only on ``steer(transition=True)`` and
            before a dead end.
        lock_feet : bool
            Keep feet that are in contact with the floor in place.
        variety : bool
            Prefer transitions that were rarely played, and motions that were not played for long.
        """
        from motionloom.motion_graph.walks.graph_player import GraphPlayer

        return GraphPlayer(
            self, seed, start=start, automatic=automatic, lock_feet=lock_feet, variety=variety
        )

    @takes(WalkSettings)
    def walk(
        self,
        settings: WalkSettings | None = None,
        *,
        progress: Progress | None = None,
        approximate: Callable[[Motion], None] | None = None,
        **options: Any,
    ) -> Motion:
        """Generate a motion at random, along a path, to a goal, or from a sequence of labels.

        Parameters
        ----------
        settings : WalkSettings, optional
        progress : callable, optional
            Called during the search for a route with the number of steps since the last call, at
            most 100 in total. If it raises an exception, the search stops.
        approximate : callable, optional
            Called with a first walk along a path while the search for a better one continues.

        Returns
        -------
        motion : Motion
            The motion with its provenance.

        Examples
        --------
        >>> import motionloom as ml
        >>> from motionloom.motion_graph import motion_graph
        >>> graph = motion_graph([ml.demo.clip("take_locomotion")])
        >>> graph.walk(seconds=20, seed=1)
        Motion('walk', 600 frames at 30 fps = 20.00 s, 21 joints)
        """
        given = WalkSettings.given(settings, options)

        def show(route: Route) -> None:
            if approximate is not None:
                player = self._route_player(given, route)
                approximate(player.record(frames=route.frames, name="walk"))

        player, frames = self.walk_player(
            given, progress=progress, approximate=show if approximate else None
        )
        return player.record(frames=frames, name="walk")

    def walk_player(
        self,
        settings: WalkSettings,
        *,
        progress: Progress | None = None,
        approximate: Callable[[Route], None] | None = None,
    ) -> tuple[GraphPlayer, int]:
        """Return a player that performs a walk, and the number of frames of the walk."""
        from motionloom.motion_graph.walks.routes import plan

        if settings.random:
            if settings.seconds is None:
                raise InvalidInput("a walk without a goal needs a duration; set seconds")
            player = self.player(
                settings.seed,
                start=settings.start,
                lock_feet=settings.lock_feet,
                variety=settings.variety,
            )
            return player, frame_count(settings.seconds, None, self.fps)
        route = plan(self, settings, progress=progress, approximate=approximate)
        return self._route_player(settings, route), route.frames

    def _route_player(self, settings: WalkSettings, route: Route) -> GraphPlayer:
        from motionloom.motion_graph.walks.graph_player import GraphPlayer

        return GraphPlayer(
            self, settings.seed, route=route, lock_feet=settings.lock_feet, goals=settings
        )

    def save(self, path: str | Path) -> None:
        """Write the transitions to a file.

        Parameters
        ----------
        path : str or Path
            A ``.mogra`` file, a plain-text format that other programs read (see
            `motionloom.motion_graph.mogra`), or a ``.json`` file with everything in `info` and a
            list of transitions.
        """
        from motionloom.motion_graph.mogra import write_mogra

        if Path(path).suffix.lower() == ".mogra":
            write_mogra(self, path)
            return
        transitions = self.transitions
        rows = [
            {
                "source": self.names[transitions.source[k, 0]],
                "source_frame": int(transitions.source[k, 1]),
                "target": self.names[transitions.target[k, 0]],
                "target_frame": int(transitions.target[k, 1]),
                "error": float(transitions.errors[k]),
                "move": transitions.transforms[k].tolist(),
            }
            for k in range(len(self))
        ]
        with atomic_write(path) as scratch:
            text = json.dumps({**self.info(), "list": rows}, indent=1)
            scratch.write_text(text, encoding="utf-8")

    @cached_property
    def statistics(self) -> SourceStatistics:
        """Statistics of the motions, used as the baseline for the quality of walks."""
        return SourceStatistics.of(self.motions)

    @cached_property
    def speeds(self) -> tuple[float, float]:
        """Minimum and maximum speed of the motions while they move, in m/s."""
        return moving_speeds(self.motions)

    @property
    def unused(self) -> dict[str, str]:
        """Motions that walks cannot use or do not need, each with the reason."""
        return {
            **dict.fromkeys(self.names, "not needed"),
            **{name: self._cut_off(name) for name in self.removed.motions},
        }

    def _cut_off(self, name: str) -> str:
        why = self.removed.reasons.get(name)
        return f"cut off ({why})" if why else "cut off"

    def quality(
        self, motion: Motion, goals: WalkSettings | None = None, notes: Sequence[str] = ()
    ) -> QualityReport:
        """Measure the quality of a walk, with the motions of the graph as the baseline.

        Parameters
        ----------
        motion : Motion
        goals : WalkSettings, optional
            The path or goal that the walk is compared with.
        notes : sequence of str
            Additional warnings for the report.
        """
        report = quality_report(motion, usual=self.statistics)
        track = motion.role_positions(["hips"])[:, 0, [0, 2]]
        return report.with_parts(**walk_parts(self, track, motion.sources, goals, notes))


def named_frame(place: MotionFrame | str) -> tuple[str, int]:
    """Return the motion and frame of ``(name, frame)`` or ``"NAME:FRAME"``."""
    if isinstance(place, str):
        name, _, number = place.rpartition(":")
        if not name or not _FRAME.fullmatch(number):
            raise InvalidInput(f"a frame must be written as NAME:FRAME; got {place!r}")
        return name, int(number)
    try:
        name, frame = place
        return str(name), int(frame)
    except (TypeError, ValueError):
        raise InvalidInput(
            f"a frame must be given as (name, frame) or NAME:FRAME; got {place!r}"
        ) from None
