"""Player of a choreography: a random walk on the transition graph, on the beat and steered.

The player blends one movement at a time. When it ends, the next node is drawn by the transition
probabilities; the new movement continues where the last one ended, and the seam is inertialized.
A clock aligns the beats of the movements with those of the music (Kim, Park and Shin 2003,
section 5). Controls of ``steer``:

``target``
    A point ``(x, z)`` on the floor to dance to; None: no target.
``direction``, ``speed``
    A heading in radians and a speed in m/s to travel at; speed alone: straight ahead. With a
    target, the speed is the largest one.
``facing``
    Where the body should face, radians. Default: it faces where the movements lead.
``tempo``
    Beats per minute, if there is no music.

How a dance obeys them: `motionloom.rhythm.dance_steering`.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.blending.inertialization import Inertializer
from motionloom.blending.player import FrameBlock, Player
from motionloom.errors import InvalidInput, RoleError
from motionloom.motion import Motion, Skeleton
from motionloom.motion.diagnostics.quality import QualityReport
from motionloom.motion.feet.streaming import StreamingFootLock
from motionloom.motion.kinematics.body import leg_length
from motionloom.rhythm.dance_nodes import WILLING, DanceNode, between
from motionloom.rhythm.dance_steering import CONTROLS, DanceSteering
from motionloom.rhythm.music.beat_clock import BeatClock, TempoClock

if TYPE_CHECKING:
    from motionloom.rhythm.choreography import Choreography

Array = NDArray[np.float64]


class DancePlayer(Player):
    """Player of a choreography; see `Choreography.player`.

    Parameters
    ----------
    choreography : Choreography
    clock : BeatClock, optional
        Default: none; every movement runs at the speed at which it was captured.
    seed : int or numpy.random.Generator
        Of the path through the graph.
    first_beat : int
        Beat of the clock on which movements start: a downbeat of the music.
    place : array_like, shape (3,)
        Start: ``x, z, yaw``.
    lock_feet : bool
        Keep feet in contact from sliding.
    phrases : int
        Number of last movements on which the next one depends; see `Phrases`.
    loudness : array_like, optional
        Of each beat of the clock, 0 to 1.
    dynamics : float
        How much loud movements prefer energetic ones.
    blend : {"least_squares", "cardinal"}
        Blend weights of a steered dance; see `DanceNode.weights_for`.
    bend : bool
        Turn and shift a steered dance; see `DanceSteering`.

    Attributes
    ----------
    path : list of int
        The last nodes, up to 1000.
    """

    controls = (*CONTROLS, "tempo")

    def __init__(
        self,
        choreography: Choreography,
        clock: BeatClock | None = None,
        *,
        seed: int | np.random.Generator = 0,
        first_beat: int = 0,
        place: Array | tuple[float, float, float] = (0.0, 0.0, 0.0),
        lock_feet: bool = True,
        phrases: int = 1,
        loudness: ArrayLike | None = None,
        dynamics: float = 0.0,
        blend: str = "least_squares",
        bend: bool = True,
    ) -> None:
        self.choreography = choreography
        self.nodes = choreography.dance_nodes
        self.fps = choreography.fps
        self.skeletons: tuple[Skeleton, ...] = tuple(
            clips.skeleton for clips in self.nodes[0].clips
        )
        self.skeleton = self.skeletons[0]
        self.clock = clock
        self.path: list[int] = []
        self._rng = np.random.default_rng(seed)
        self._first_beat = first_beat
        self._inertializers = [Inertializer(len(skeleton), self.fps) for skeleton in self.skeletons]
        self._foot_locks = [_foot_lock(skeleton, self.fps) if lock_feet else None
                          for skeleton in self.skeletons]  # fmt: skip
        travels = [np.hypot(*node.travel[:, :2].T) for node in self.nodes]
        self._steering = DanceSteering(
            self.fps,
            reach=float(max(one.max() for one in travels)),
            pace=float(np.mean(np.concatenate(travels)))
            / (choreography.meter * choreography.period),
            bend=bend,
        )
        self._blend = blend
        self._phrases = choreography.phrases(phrases) if phrases > 1 else None
        self._loudness = _standard(np.asarray(() if loudness is None else loudness, np.float64))
        self._dynamics = dynamics if len(self._loudness) else 0.0
        self._played = 0
        self._node: int | None = None
        self._start_beat = 0.0  # clock's beat at which the movement began
        self._natural = 0.0  # frames played of it, where there is no clock
        self._frame = 0.0  # of the movement, played last
        self._place = np.asarray(place, np.float64)
        self._weights = self._places = np.empty(0)

    def quality(self, motion: Motion) -> QualityReport:
        """Quality of frames recorded, relative to the movements."""
        return self.choreography.quality(motion)

    def _read(self, count: int) -> FrameBlock:
        return self.read_all(count)[0]

    def read_all(self, count: int) -> tuple[FrameBlock, ...]:
        """The next `count` frames of every character; `read` returns those of the leader."""
        if count < 0:
            raise InvalidInput(f"count must be zero or more; got {count}")
        start = self._played
        beats = None if self.clock is None else self.clock.beats_at(start, count, self.fps)
        done, pieces, sources, seams = 0, [], [], []
        while done < count:
            rest = None if beats is None else beats[done:]
            frames, ended = self._frames(rest, count - done)
            if len(frames):
                pieces.append(self._poses(frames))
                sources += self._current.sources(self._weights, frames, start + done)
                done += len(frames)
                self._played += len(frames)
            if ended and done < count:
                if self._node is not None:
                    seams.append(start + done)
                self._next(float(beats[done]) if beats is not None else 0.0)
        return tuple(
            self._block(body, pieces, start, tuple(sources), tuple(seams))
            for body in range(len(self.skeletons))
        )

    def _steer(self, **controls: Any) -> None:
        wishes = {name: value for name, value in controls.items() if name != "tempo"}
        self._steering.set(**wishes)
        if "tempo" in controls:
            if not isinstance(self.clock, TempoClock):
                raise InvalidInput("tempo can only be set for a dance without music")
            self.clock.set_tempo(controls["tempo"])
        if len(self._places):
            last = len(self._places) - 1
            done = min(self._frame, last)
            path = between(self._places, np.linspace(done, last, max(int(last - done), 1) + 1))
            self._steering.plan(path, self._played, self.movement_seconds * (last - done) / last)

    # --- time ---------------------------------------------------------------------------

    def _frames(self, beats: Array | None, count: int) -> tuple[Array, bool]:
        """The next frames of the movement, at most `count`, and whether it has ended."""
        if self._node is None:
            return np.empty(0), True
        last = self.nodes[self._node].frames - 1
        if beats is not None:
            frames = (beats - self._start_beat) * self.choreography.beat_frames
        else:
            main = self.nodes[self._node].movements[int(self._weights.argmax())]
            at = self._natural + np.arange(count)
            begin, end = main.source_frames(np.array([0.0, last]))
            frames = np.interp(begin + at, main.beats, main.clock)
            frames = np.where(begin + at >= end, last + 1.0, frames)
        due = frames[: int(np.searchsorted(frames, last, side="left"))]
        self._natural += len(due)
        return np.maximum(due, 0.0), len(due) < count

    def _next(self, beat: float) -> None:
        """Start the next movement at the last downbeat before this beat of the clock."""
        meter = self.choreography.meter
        if self.clock is not None:
            first = self._first_beat + self.choreography.transition_phase
            over = np.floor((beat - first) / meter)
            self._start_beat = first + meter * float(over)
        if len(self._places):
            self._place = self._places[-1]
        self._natural = self._frame = 0.0
        seconds = self.movement_seconds
        here, heading = self._steering.pose(self._place)
        goal = self._steering.goal(here, heading, self._played, seconds)
        before = self._main_movement()
        if goal is None:
            self._node = self._drawn()
            self._weights = np.eye(len(self._current))[self._one_of(self._node, before)]
        else:
            blends = {
                k: self._steering.weights(self.nodes[k], goal, heading, seconds, method=self._blend)
                for k in np.flatnonzero(self._likelihoods).tolist()
            }
            self._node = self._drawn({k: miss for k, (_, miss) in blends.items()})
            self._weights = blends[self._node][0]
        node = self._current
        self._places = node.places(self._weights, self._place)
        self._steering.plan(self._places, self._played, seconds)
        self.path = [*self.path[-999:], self._node]
        begin = np.array([0.0, 1.0, 2.0])
        for inertializer, (rotations, root, _) in zip(
            self._inertializers, node.poses(self._weights, begin, self._places[:3]), strict=True
        ):
            inertializer.seam(rotations, root)

    def _main_movement(self) -> int | None:
        """The movement with the largest blend weight."""
        if self._node is None:
            return None
        return self.choreography.graph.members[self._node][int(self._weights.argmax())]

    def _one_of(self, node: int, before: int | None) -> int:
        """A random movement of a node; smooth transitions are likelier."""
        members = list(self.choreography.graph.members[node])
        if before is None:
            return int(self._rng.integers(len(members)))
        likelihoods = self.choreography.smoothness[before, members] + 1e-3
        likelihoods = likelihoods * self._suited(self._energies[members])
        return int(self._rng.choice(len(members), p=likelihoods / likelihoods.sum()))

    @cached_property
    def _energies(self) -> Array:
        """Energy of each movement in standard deviations from the mean."""
        return _standard(np.log(np.maximum(self.choreography.energies, 1e-9)))

    def _suited(self, energies: Array) -> Array:
        """Factors on the likelihoods of movements of these energies, by the loudness now."""
        if not self._dynamics:
            return np.ones(len(energies))
        first = int(np.clip(round(self._start_beat), 0, len(self._loudness) - 1))
        loud = float(self._loudness[first : first + self.choreography.meter].mean())
        return np.asarray(np.exp(self._dynamics * loud * energies))

    @property
    def _likelihoods(self) -> Array:
        """Likelihood of each node to be next."""
        graph = self.choreography.graph
        if self._node is None:
            likelihoods = graph.start
        elif self._phrases is not None:
            likelihoods = self._phrases.likelihoods(self.path)
        else:
            likelihoods = graph.transitions[self._node]
        if not likelihoods.any():
            raise InvalidInput("the graph has a dead end; use graph.without_dead_ends()")
        if not self._dynamics:
            return likelihoods
        mean = np.array([self._energies[list(group)].mean() for group in graph.members])
        return np.asarray(likelihoods * self._suited(mean))

    def _drawn(self, misses: dict[int, float] | None = None) -> int:
        """The next node at random; those that miss a goal by more metres are less likely."""
        likelihoods = self._likelihoods.copy()
        if misses:
            nodes, metres = np.array(list(misses)), np.array(list(misses.values()))
            likelihoods[nodes] *= np.exp(-(metres - metres.min()) / WILLING)
        return int(self._rng.choice(len(likelihoods), p=likelihoods / likelihoods.sum()))

    @property
    def movement_seconds(self) -> float:
        """Length of a movement at the present tempo."""
        period = self.choreography.period
        if self.clock is not None:
            period = self.clock.period_at(self._played / self.fps)
        return self.choreography.meter * period

    @property
    def _current(self) -> DanceNode:
        assert self._node is not None  # noqa: S101 - `_frames` gives none without a node
        return self.nodes[self._node]

    def _poses(self, frames: Array):
        rows = self._current.poses(self._weights, frames, between(self._places, frames))
        rows = [
            (*inertializer.apply(rotations, root), contacts)
            for inertializer, (rotations, root, contacts) in zip(
                self._inertializers, rows, strict=True
            )
        ]
        self._frame = float(frames[-1])
        return self._steering.bend(rows)

    def _block(self, body, pieces, start, sources, seams) -> FrameBlock:
        if not pieces:
            return FrameBlock.empty(len(self.skeletons[body]), start)
        rotations, root, contacts = (
            np.concatenate([piece[body][k] for piece in pieces]) for k in range(3)
        )
        foot_lock = self._foot_locks[body]
        if foot_lock is not None:
            rotations, root = foot_lock.lock(rotations, root, contacts)
        return FrameBlock(rotations, root, contacts, start, sources, seams)


def _standard(values: Array) -> Array:
    """Values in standard deviations from their mean; zeros if all are the same."""
    if not len(values) or not values.std() > 1e-9 * max(abs(float(values.mean())), 1e-9):
        return np.zeros(len(values))
    return np.asarray((values - values.mean()) / values.std())


def _foot_lock(skeleton: Skeleton, fps: float) -> StreamingFootLock | None:
    try:
        leg_length(skeleton)
        return StreamingFootLock(skeleton, fps)
    except RoleError:
        return None
