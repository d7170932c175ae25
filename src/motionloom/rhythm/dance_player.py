"""Player of a choreography: a random walk on the transition graph, on the beat and steered.

The player blends one movement at a time. When it ends, the next node is drawn by the transition
probabilities; the new movement continues where the last one ended, and the seam is inertialized.
A clock aligns the beats of the movements with those of the music (Kim, Park and Shin 2003,
section 5). Controls of ``steer``:

``target``
    A point ``(x, z)`` on the floor to dance to; None: no target.
``direction``, ``speed``
    A heading in radians and a speed in m/s to travel at.
``tempo``
    Beats per minute, if there is no music.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motionloom.blending.inertialization import Inertializer
from motionloom.blending.player import FrameBlock, Player
from motionloom.errors import InvalidInput, RoleError
from motionloom.motion import Skeleton
from motionloom.motion.feet.streaming import StreamingFootLock
from motionloom.motion.kinematics.body import leg_length
from motionloom.motion.rotations.planar_transform import PlanarTransform, floor_complex
from motionloom.rhythm.dance_nodes import DanceNode, between
from motionloom.rhythm.music.beat_clock import BeatClock, TempoClock

if TYPE_CHECKING:
    from motionloom.rhythm.choreography import Choreography

Array = NDArray[np.float64]

_TURN_RATE = np.deg2rad(35.0)  # per second: fastest turn towards the target
_DRIFT = 0.3  # m/s: fastest drift towards the target, which lengthens the steps
_NEAR = 0.3  # metres: no steering within this distance of the target


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

    Attributes
    ----------
    path : list of int
        The last nodes, up to 1000.
    """

    controls = ("target", "direction", "speed", "tempo")

    def __init__(
        self,
        choreography: Choreography,
        clock: BeatClock | None = None,
        *,
        seed: int | np.random.Generator = 0,
        first_beat: int = 0,
        place: Array | tuple[float, float, float] = (0.0, 0.0, 0.0),
        lock_feet: bool = True,
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
        self._controls: dict[str, Any] = {"target": None, "direction": None, "speed": None}
        self._played = 0
        self._bent = PlanarTransform.identity()  # how far the dance has been bent
        self._last_root: Array | None = None
        self._node: int | None = None
        self._start_beat = 0.0  # clock's beat at which the movement began
        self._natural = 0.0  # frames played of it, where there is no clock
        self._place = np.asarray(place, np.float64)
        self._weights = self._places = np.empty(0)

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
        desired = {name: value for name, value in controls.items() if name != "tempo"}
        for name, value in desired.items():
            size = 2 if name == "target" else 1
            if value is not None:
                try:
                    given = np.asarray(value, np.float64)
                except (TypeError, ValueError):
                    given = np.empty(0)
                if given.size != size or not np.all(np.isfinite(given)):
                    raise InvalidInput(f"{name} must be {size} finite number(s); got {value!r}")
        if "tempo" in controls:
            if not isinstance(self.clock, TempoClock):
                raise InvalidInput("tempo can only be set for a dance without music")
            self.clock.set_tempo(controls["tempo"])
        self._controls |= desired

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
        self._natural = 0.0
        desired = self._desired_travel()
        before = self._main_movement()
        self._node = self._drawn(desired)
        node = self.nodes[self._node]
        if desired is None:
            self._weights = np.eye(len(node))[self._one_of(self._node, before)]
        else:
            self._weights = node.weights_for(desired)
        self._places = node.places(self._weights, self._place)
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
        return int(self._rng.choice(len(members), p=likelihoods / likelihoods.sum()))

    def _drawn(self, desired: Array | None) -> int:
        graph = self.choreography.graph
        likelihoods = graph.start if self._node is None else graph.transitions[self._node]
        if desired is not None:
            likelihoods = likelihoods * [node.suits(desired) for node in self.nodes]
        total = likelihoods.sum()
        if total <= 0.0:
            raise InvalidInput("the graph has a dead end; use graph.without_dead_ends()")
        return int(self._rng.choice(len(likelihoods), p=likelihoods / total))

    # --- space --------------------------------------------------------------------------

    def _heading_and_place(self) -> tuple[Array, float]:
        """Position (2,) and heading of the leader in the world."""
        here = self._place if not len(self._places) else self._places[-1]
        world = self._bent @ PlanarTransform.from_array(here)
        return np.array([world.x, world.z]), float(world.yaw)

    def _desired_travel(self) -> Array | None:
        """Travel that the next movement should have, relative to its start: x, z, turn."""
        where, heading = self._heading_and_place()
        target, direction, speed = (self._controls[k] for k in ("target", "direction", "speed"))
        seconds = self.choreography.meter * self.choreography.period
        if target is not None:
            away = np.asarray(target, np.float64) - where
            way = float(np.hypot(*away))
            direction = float(np.arctan2(away[0], away[1]))
            length = way if speed is None else min(way, float(speed) * seconds)
        elif direction is not None:
            length = (1.0 if speed is None else float(speed)) * seconds
        else:
            return None
        turn = (float(direction) - heading + np.pi) % (2.0 * np.pi) - np.pi
        return np.array([length * np.sin(turn), length * np.cos(turn), turn])

    def _bend_rate(self) -> float:
        """Turn towards the target, radians per frame."""
        where, heading = self._heading_and_place()
        direction = self._controls["direction"]
        if self._controls["target"] is not None:
            away = np.asarray(self._controls["target"], np.float64) - where
            if np.hypot(*away) < _NEAR:
                return 0.0
            direction = float(np.arctan2(away[0], away[1]))
        if direction is None:
            return 0.0
        going = self._going(heading)
        off = (float(direction) - going + np.pi) % (2.0 * np.pi) - np.pi
        most = _TURN_RATE / self.fps
        left = max(self.nodes[0].frames - 1, 1)
        return float(np.clip(off / left, -most, most))

    def _drift(self) -> complex:
        """Drift towards the target, z + ix, metres per frame."""
        if self._controls["target"] is None:
            return 0.0
        where, _ = self._heading_and_place()
        away = np.asarray(self._controls["target"], np.float64) - where
        way = float(np.hypot(*away))
        if way < _NEAR:
            return 0.0
        pace = min(
            _DRIFT if self._controls["speed"] is None else float(self._controls["speed"]), _DRIFT
        )
        return complex(away[1], away[0]) / way * pace * min(1.0, way) / self.fps

    def _going(self, heading: float) -> float:
        """The direction of travel, or the heading if the movement hardly travels."""
        move = self._places[-1, :2] - self._places[0, :2]
        if np.hypot(*move) < 0.2:
            return heading
        return float(np.arctan2(move[0], move[1])) + float(self._bent.yaw)

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
        return self._turned(rows)

    def _turned(self, rows):
        """The poses turned about the leader and moved, towards the target."""
        leader = floor_complex(rows[0][1].astype(np.float64))
        rate, drift = self._bend_rate(), self._drift()
        if rate == 0.0 and drift == 0.0 and not self._bent.to_array().any():
            self._last_root = leader[-1]
            return rows
        yaw = self._bent.yaw + rate * np.arange(1, len(leader) + 1)
        first = leader[0] if self._last_root is None else self._last_root
        steps = np.diff(np.append(first, leader))
        flat = steps * np.exp(1j * yaw) + drift
        was = first * self._bent.rotation + self._bent.floor
        there = was + np.cumsum(flat)
        transforms = PlanarTransform.from_complex(there - leader * np.exp(1j * yaw), yaw)
        self._bent, self._last_root = transforms[-1], leader[-1]
        return [
            (*transforms.apply_to_poses(rotations, root), contacts)
            for rotations, root, contacts in rows
        ]

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


def _foot_lock(skeleton: Skeleton, fps: float) -> StreamingFootLock | None:
    try:
        leg_length(skeleton)
        return StreamingFootLock(skeleton, fps)
    except RoleError:
        return None
