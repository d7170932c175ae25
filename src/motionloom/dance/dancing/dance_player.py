"""Play a choreography on the beat, as a steered random walk on the transition graph.

The player blends one movement at a time. When it ends, the next node is drawn with the transition
probabilities. The new movement continues where the last one ended, and the seam is inertialized. A
clock aligns the beats of the movements with those of the music (Kim, Park and Shin 2003, section
5). The controls of ``steer`` are:

``target``
    Point ``(x, z)`` on the floor to dance toward; None means no target.
``direction``, ``speed``
    Direction of travel in radians and speed in m/s. Without a direction, the dance travels straight
    ahead. With a target, the speed is a maximum.
``facing``
    Direction that the body faces, in radians. Default: determined by the movements.
``tempo``
    Beats per minute. It can only be set if there is no music.

`motionloom.dance.dancing.steering` describes how a dance follows these controls.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.blending.inertialization import Inertializer
from motionloom.blending.player import FrameBlock, Player
from motionloom.dance.beat_clock import BeatClock, TempoClock
from motionloom.dance.dancing.nodes import WILLING, DanceNode, between
from motionloom.dance.dancing.steering import CONTROLS, DanceSteering
from motionloom.dance.transitions.seams import SeamTable
from motionloom.errors import InvalidInput, RoleError
from motionloom.motion import Motion, Skeleton
from motionloom.motion.diagnostics.quality import QualityReport
from motionloom.motion.feet.streaming import StreamingFootLock
from motionloom.motion.kinematics.body import leg_length
from motionloom.motion.provenance import Source

if TYPE_CHECKING:
    from motionloom.dance.choreography import Choreography

Array = NDArray[np.float64]


class DancePlayer(Player):
    """Player of a choreography; see `Choreography.player`.

    Parameters
    ----------
    choreography : Choreography
    clock : BeatClock, optional
        Clock that sets the tempo. Default: every movement plays at the speed at which it was
        captured.
    seed : int or numpy.random.Generator
        Random seed for the path through the graph.
    first_beat : int
        A downbeat of the clock. Movements start on this beat and on all downbeats after it.
    place : array_like, shape (3,)
        Start position ``x, z, yaw``.
    lock_feet : bool
        Hold feet that are in contact in place.
    phrases : int
        Number of previous movements on which the next one depends; see `Phrases`.
    loudness : array_like, optional
        Loudness of each beat of the clock, 0 to 1.
    dynamics : float
        How strongly energetic movements are preferred on loud beats.
    blend : {"least_squares", "cardinal"}
        Blend weights of a steered dance; see `DanceNode.weights_for`.
    bend : bool
        Turn and shift a steered dance; see `DanceSteering`.
    prefer : bool
        Prefer nodes whose movements end near the goal of a steered dance.
    avoid : iterable of (int, int)
        Pairs of movements of which the second must not follow the first.
    inertialize : bool
        Fade the offset at a seam. If False, movements are joined unchanged, as in the paper.
    one_movement : bool
        If True, an unsteered dance plays one movement of each node. If False, it plays the mean of
        all movements of the node.

    Attributes
    ----------
    path : list of int
        The nodes played last, at most 1000.
    movements_played : list of int
        The movement with the largest blend weight in each of these nodes.
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
        prefer: bool = True,
        avoid: Iterable[tuple[int, int]] = (),
        inertialize: bool = True,
        one_movement: bool = True,
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
        self.movements_played: list[int] = []
        self._rng = np.random.default_rng(seed)
        self._first_beat = first_beat
        self._inertializers = [Inertializer(len(skeleton), self.fps) for skeleton in self.skeletons]
        self._foot_locks = [_foot_lock(skeleton, self.fps) if lock_feet else None
                          for skeleton in self.skeletons]  # fmt: skip
        travels = [np.hypot(*node.travel[:, :2].T) for node in self.nodes]
        self._steering = DanceSteering(
            self.fps,
            reach=float(max(travel.max() for travel in travels)),
            pace=float(np.mean(np.concatenate(travels)))
            / (choreography.meter * choreography.period),
            bend=bend,
        )
        self._blend, self._inertialize, self._one_movement = blend, inertialize, one_movement
        self._prefer = prefer
        self._seams = self._seam_table(avoid)
        self._phrases = choreography.phrases(phrases) if phrases > 1 else None
        self._loudness = _standard(np.asarray(() if loudness is None else loudness, np.float64))
        self._dynamics = dynamics if len(self._loudness) else 0.0
        self._played = 0
        self._node: int | None = None
        self._start_beat = 0.0  # beat of the clock at which the movement started
        self._natural = 0.0  # number of frames played of the movement, if there is no clock
        self._frame = 0.0  # last frame of the movement that was played
        self._place = np.asarray(place, np.float64)
        self._weights = self._places = np.empty(0)

    def quality(self, motion: Motion) -> QualityReport:
        """Return the quality of recorded frames, compared with the movements."""
        return self.choreography.quality(motion)

    def _read(self, count: int) -> FrameBlock:
        return self.read_all(count)[0]

    def read_all(self, count: int) -> tuple[FrameBlock, ...]:
        """Return the next `count` frames of every character; `read` returns only the leader's."""
        if count < 0:
            raise InvalidInput(f"count must be zero or more; got {count}")
        start = self._played
        beats = None if self.clock is None else self.clock.beats_at(start, count, self.fps)
        bodies = range(len(self.skeletons))
        done, pieces, seams = 0, [], []
        sources: list[list[Source]] = [[] for _ in bodies]
        while done < count:
            rest = None if beats is None else beats[done:]
            frames, ended = self._frames(rest, count - done)
            if len(frames):
                pieces.append(self._poses(frames))
                for body in bodies:
                    sources[body] += self._current.sources(
                        self._weights, frames, start + done, body
                    )
                done += len(frames)
                self._played += len(frames)
            if ended and done < count:
                if self._node is not None:
                    seams.append(start + done)
                self._next(None if beats is None else beats[done : done + 3])
        return tuple(
            self._block(body, pieces, start, tuple(sources[body]), tuple(seams)) for body in bodies
        )

    def _steer(self, **controls: Any) -> None:
        wishes = {name: value for name, value in controls.items() if name != "tempo"}
        self._steering.set(**wishes)
        if "tempo" in controls:
            if not isinstance(self.clock, TempoClock):
                raise InvalidInput("tempo can only be changed for a dance without music")
            self.clock.set_tempo(controls["tempo"])
        if len(self._places):
            last = len(self._places) - 1
            done = min(self._frame, last)
            path = between(self._places, np.linspace(done, last, max(int(last - done), 1) + 1))
            self._steering.plan(path, self._played, self.movement_seconds * (last - done) / last)

    # --- time ---------------------------------------------------------------------------

    def _frames(self, beats: Array | None, count: int) -> tuple[Array, bool]:
        """Return the next frames of the movement, at most `count`, and whether it has ended."""
        if self._node is None:
            return np.empty(0), True
        last = self.nodes[self._node].frames - 1
        if beats is not None:
            frames = (beats - self._start_beat) * self.choreography.beat_frames
        else:
            frames = self._natural_frames(self._natural + np.arange(count, dtype=np.float64))
        due = frames[: int(np.searchsorted(frames, last, side="left"))]
        self._natural += len(due)
        return np.maximum(due, 0.0), len(due) < count

    def _next(self, beats: Array | None) -> None:
        """Start the next movement at the last downbeat before the next frames."""
        meter = self.choreography.meter
        if beats is not None:
            first = self._first_beat + self.choreography.transition_phase
            over = np.floor((beats[0] - first) / meter)
            self._start_beat = first + meter * float(over)
        if len(self._places):
            self._place = self._places[-1]
        self._natural = self._frame = 0.0
        seconds = self.movement_seconds
        here, heading = self._steering.pose(self._place)
        goal = self._steering.goal(here, heading, self._played, seconds)
        before = self._main_movement()
        able = self._able(before)
        likelihoods = self._likelihoods(able)
        if goal is None:
            self._node = self._drawn(likelihoods)
            member = self._one_of(self._node, before, able)
            count = len(self._current)
            self._weights = (
                np.eye(count)[member] if self._one_movement else np.full(count, 1 / count)
            )
        else:
            members = self.choreography.graph.members
            blends = {
                k: self._steering.weights(
                    self.nodes[k], goal, heading, seconds, method=self._blend,
                    among=able[list(members[k])],
                )
                for k in np.flatnonzero(likelihoods).tolist()
            }  # fmt: skip
            misses = {k: miss for k, (_, miss) in blends.items()} if self._prefer else None
            self._node = self._drawn(likelihoods, misses)
            self._weights = blends[self._node][0]
        node = self._current
        fade = self._fade(before)
        self._places = node.places(self._weights, self._place)
        self._steering.plan(self._places, self._played, seconds)
        self.path = [*self.path[-999:], self._node]
        main = self.choreography.graph.members[self._node][int(self._weights.argmax())]
        self.movements_played = [*self.movements_played[-999:], main]
        if not self._inertialize:
            return
        begin = self._first_frames(beats)
        for inertializer, (rotations, root, _) in zip(
            self._inertializers,
            node.poses(self._weights, begin, between(self._places, begin)),
            strict=True,
        ):
            inertializer.seam(rotations, root, fade=fade)

    def _first_frames(self, beats: Array | None) -> Array:
        """Return the first three frames of the movement as they will be played."""
        if beats is None:
            frames = self._natural_frames(np.arange(3, dtype=np.float64))
        else:
            begin = (beats[0] - self._start_beat) * self.choreography.beat_frames
            speed = self.choreography.meter * self.choreography.period / self.movement_seconds
            if len(beats) > 1:
                speed = (beats[1] - beats[0]) * self.choreography.beat_frames
            frames = begin + speed * np.arange(3.0)
        return np.clip(frames, 0.0, self._current.frames - 1.0)

    def _natural_frames(self, played: Array) -> Array:
        """Convert a number of played frames to frames of the movement at the speed of its take."""
        last = self._current.frames - 1
        main = self._current.movements[int(self._weights.argmax())]
        begin, end = main.source_frames(np.array([0.0, last]))
        frames = np.interp(begin + played, main.beats, main.clock)
        return np.where(begin + played >= end, last + 1.0, frames)

    def _main_movement(self) -> int | None:
        """Return the movement with the largest blend weight."""
        if self._node is None:
            return None
        return self.choreography.graph.members[self._node][int(self._weights.argmax())]

    def _seam_table(self, avoid: Iterable[tuple[int, int]]) -> SeamTable | None:
        """Return the transitions, at the tempo of the clock, with which a dance never has to end.

        Music that is faster than the takes speeds up all movements. If no endless dance remains at
        that speed, the transitions at the speed of the takes are used.
        """
        steps = self.choreography
        speed = 1.0 if self.clock is None else steps.period / self.clock.period_at(0.0)
        for tried in (speed, 1.0):
            table = steps.seams(tried)
            seams = None if table is None else table.without(avoid).within(steps.graph)
            if table is None or seams is not None:
                return seams
        return None

    def _able(self, before: int | None) -> NDArray[np.bool_]:
        """Return the mask (N,) of movements that may be next; all True if the graph allows none."""
        every = np.ones(len(self.choreography.movements), bool)
        if self._seams is None:
            return every
        if before is None:
            return np.asarray(self._seams.allowed.any(axis=1))
        return self._seams.after(self.choreography.graph.members[self._node or 0], self._weights)

    def _fade(self, before: int | None) -> float | None:
        """Return the decay rate of the seam before the movement just chosen."""
        after = self._main_movement()
        if self._seams is None or before is None or after is None:
            return None
        return float(self._seams.fades[before, after])

    def _one_of(self, node: int, before: int | None, able: NDArray[np.bool_]) -> int:
        """Draw a random movement of a node; smooth transitions are more likely."""
        members = list(self.choreography.graph.members[node])
        if before is None:
            return int(self._rng.choice(np.flatnonzero(able[members])))
        likelihoods = (self.choreography.smoothness[before, members] + 1e-3) * able[members]
        likelihoods = likelihoods * self._suited(self._energies[members])
        return int(self._rng.choice(len(members), p=likelihoods / likelihoods.sum()))

    @cached_property
    def _energies(self) -> Array:
        """Energy of each movement, in standard deviations from the mean."""
        return _standard(np.log(np.maximum(self.choreography.energies, 1e-9)))

    def _suited(self, energies: Array) -> Array:
        """Return factors that make movements of suitable energy more likely, given the loudness."""
        if not self._dynamics:
            return np.ones(len(energies))
        first = int(np.clip(round(self._start_beat), 0, len(self._loudness) - 1))
        loud = float(self._loudness[first : first + self.choreography.meter].mean())
        return np.asarray(np.exp(self._dynamics * loud * energies))

    def _likelihoods(self, able: NDArray[np.bool_]) -> Array:
        """Return the likelihood that each node is next; zero if no movement of it is `able`."""
        graph = self.choreography.graph
        fits = np.array([able[list(group)].any() for group in graph.members])
        likelihoods = (graph.start if self._node is None else graph.transitions[self._node]) * fits
        if self._node is None and not likelihoods.any():
            likelihoods = fits.astype(np.float64)
        if self._node is not None and self._phrases is not None:
            phrased = self._phrases.likelihoods(self.path) * fits
            likelihoods = phrased if phrased.any() else likelihoods
        if not likelihoods.any():
            raise InvalidInput(
                "the dance cannot continue because the graph has a dead end; remove dead ends with "
                "graph.without_dead_ends()"
            )
        if not self._dynamics:
            return likelihoods
        mean = np.array([self._energies[list(group)].mean() for group in graph.members])
        return np.asarray(likelihoods * self._suited(mean))

    def _drawn(self, likelihoods: Array, misses: dict[int, float] | None = None) -> int:
        """Draw the next node at random; nodes that end closer to the goal are more likely."""
        if misses:
            likelihoods = likelihoods.copy()
            nodes, meters = np.array(list(misses)), np.array(list(misses.values()))
            likelihoods[nodes] *= np.exp(-(meters - meters.min()) / WILLING)
        return int(self._rng.choice(len(likelihoods), p=likelihoods / likelihoods.sum()))

    @property
    def movement_seconds(self) -> float:
        """Duration of a movement at the current tempo."""
        period = self.choreography.period
        if self.clock is not None:
            period = self.clock.period_at(self._played / self.fps)
        return self.choreography.meter * period

    @property
    def _current(self) -> DanceNode:
        assert self._node is not None  # noqa: S101 - `_frames` returns no frames without a node
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
    """Convert values to standard deviations from their mean; zeros if all are equal."""
    if not len(values) or not values.std() > 1e-9 * max(abs(float(values.mean())), 1e-9):
        return np.zeros(len(values))
    return np.asarray((values - values.mean()) / values.std())


def _foot_lock(skeleton: Skeleton, fps: float) -> StreamingFootLock | None:
    try:
        leg_length(skeleton)
        return StreamingFootLock(skeleton, fps)
    except RoleError:
        return None
