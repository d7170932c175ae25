"""A dance, played: from movement to movement through the graph, on the beat, where you point.

The player holds one movement, its weights, and where it stands on the floor. When it ends the
next node is drawn by the graph's probabilities; the new movement goes on from there, and what
its pose lacks fades (`motionloom.blending.inertialization`). Time is the clock's: the beats of
movements fall on the beats of the music (Kim, Park & Shin 2003, section 5). Controls, each for
``steer``:

``target``
    A point ``(x, z)`` on the floor to dance to; None: nowhere in particular.
``direction``, ``speed``
    A heading in radians to travel along, and how fast in m/s.
``tempo``
    Beats per minute, where there is no music.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motionloom.blending.inertialization import Inertializer
from motionloom.blending.player import FrameBlock, Player
from motionloom.errors import InvalidInput, RoleError
from motionloom.motion import Skeleton, Source
from motionloom.motion.feet.streaming import StreamingFootLock
from motionloom.motion.kinematics.body import leg_length
from motionloom.motion.rotations.planar_transform import PlanarTransform, floor_complex
from motionloom.rhythm.dance_nodes import between
from motionloom.rhythm.music.beat_clock import BeatClock, TempoClock

if TYPE_CHECKING:
    from motionloom.rhythm.choreography import Choreography

Array = NDArray[np.float64]

_TURN_RATE = np.deg2rad(35.0)  # per second: how fast a dance is bent towards where you point
_DRIFT = 0.3  # m/s: how fast a dance is carried there besides; its feet step as far as it takes
_NEAR = 0.3  # metres from a target within which nothing is bent


class DancePlayer(Player):
    """Plays a choreography; `Choreography.player` makes one.

    Parameters
    ----------
    choreography : Choreography
    clock : BeatClock, optional
        What it dances to. Default: none; every movement runs at its own speed.
    seed : int or numpy.random.Generator
        Of the way through the graph.
    first_beat : int
        Beat of the clock on which movements start: a downbeat of the music.
    place : array_like, shape (3,)
        Where it starts: ``x, z, yaw``.
    lock_feet : bool
        Hold the feet where they stand.

    Attributes
    ----------
    path : list of int
        Nodes that were danced of late.
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
        self._stitches = [Inertializer(len(skeleton), self.fps) for skeleton in self.skeletons]
        self._foot_locks = [_foot_lock(skeleton, self.fps) if lock_feet else None
                          for skeleton in self.skeletons]  # fmt: skip
        self._wish: dict[str, Any] = {"target": None, "direction": None, "speed": None}
        self._played = 0
        self._bent = PlanarTransform.identity()  # how far the dance has been bent
        self._last_root: Array | None = None
        self._node: int | None = None
        self._start_beat = 0.0  # clock's beat at which the movement began
        self._natural = 0.0  # frames played of it, where there is no clock
        self._place = np.asarray(place, np.float64)
        self._weights = self._places = np.empty(0)

    # --- what people call ---------------------------------------------------------------

    def _read(self, count: int) -> FrameBlock:
        return self.read_all(count)[0]

    def read_all(self, count: int) -> tuple[FrameBlock, ...]:
        """The next `count` frames of every character; `read` gives those of the leader."""
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
                sources += self._sources(frames, start + done)
                done += len(frames)
                self._played += len(frames)
            if ended and done < count:
                if self._node is not None:
                    seams.append(start + done)
                self._next(float(beats[done]) if beats is not None else 0.0)
        return tuple(
            self._stretch(body, pieces, start, tuple(sources), tuple(seams))
            for body in range(len(self.skeletons))
        )

    def _steer(self, **controls: Any) -> None:
        wish = {name: value for name, value in controls.items() if name != "tempo"}
        for name, value in wish.items():
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
                raise InvalidInput("only a dance without music has a tempo to set")
            self.clock.set_tempo(controls["tempo"])
        self._wish |= wish

    # --- time ---------------------------------------------------------------------------

    def _frames(self, beats: Array | None, count: int) -> tuple[Array, bool]:
        """Frames of the movement that are due, and whether it has ended then."""
        if self._node is None:
            return np.empty(0), True
        last = self.nodes[self._node].frames - 1
        if beats is not None:
            frames = (beats - self._start_beat) * self.choreography.beat_frames
        else:
            chief = self.nodes[self._node].movements[int(self._weights.argmax())]
            at = self._natural + np.arange(count)
            begin, end = chief.source_frames(np.array([0.0, last]))
            frames = np.interp(begin + at, chief.beats, chief.clock)
            frames = np.where(begin + at >= end, last + 1.0, frames)
        due = frames[: int(np.searchsorted(frames, last, side="left"))]
        self._natural += len(due)
        return np.maximum(due, 0.0), len(due) < count

    def _next(self, beat: float) -> None:
        """Start the next movement, at this beat of the clock or a little before it."""
        meter = self.choreography.meter
        if self.clock is not None:
            first = self._first_beat + self.choreography.transition_phase
            over = np.floor((beat - first) / meter)
            self._start_beat = first + meter * float(over)
        if len(self._places):
            self._place = self._places[-1]
        self._natural = 0.0
        wish = self._wished_travel()
        before = self._chief()
        self._node = self._drawn(wish)
        node = self.nodes[self._node]
        if wish is None:
            self._weights = np.eye(len(node))[self._one_of(self._node, before)]
        else:
            self._weights = node.weights_for(wish)
        self._places = node.places(self._weights, self._place)
        self.path = [*self.path[-999:], self._node]
        begin = np.array([0.0, 1.0, 2.0])
        for stitch, (rotations, root, _) in zip(
            self._stitches, node.poses(self._weights, begin, self._places[:3]), strict=True
        ):
            stitch.seam(rotations, root)

    def _chief(self) -> int | None:
        """The movement that most of what is danced comes from."""
        if self._node is None:
            return None
        return self.choreography.graph.members[self._node][int(self._weights.argmax())]

    def _one_of(self, node: int, before: int | None) -> int:
        """One movement of a node, by chance; those that go on smoothly are likelier."""
        members = list(self.choreography.graph.members[node])
        if before is None:
            return int(self._rng.integers(len(members)))
        chances = self.choreography.smoothness[before, members] + 1e-3
        return int(self._rng.choice(len(members), p=chances / chances.sum()))

    def _drawn(self, wish: Array | None) -> int:
        graph = self.choreography.graph
        chances = graph.start if self._node is None else graph.transitions[self._node]
        if wish is not None:
            chances = chances * [node.suits(wish) for node in self.nodes]
        total = chances.sum()
        if total <= 0.0:
            raise InvalidInput("the graph has a dead end; take it out: graph.without_dead_ends()")
        return int(self._rng.choice(len(chances), p=chances / total))

    # --- space --------------------------------------------------------------------------

    def _heading_and_place(self) -> tuple[Array, float]:
        """Where the leader stands in the world, and where it faces."""
        here = self._place if not len(self._places) else self._places[-1]
        world = self._bent @ PlanarTransform.from_array(here)
        return np.array([world.x, world.z]), float(world.yaw)

    def _wished_travel(self) -> Array | None:
        """What the next movement should do, as seen from its start: (3,) x, z, turn."""
        where, heading = self._heading_and_place()
        target, direction, speed = (self._wish[k] for k in ("target", "direction", "speed"))
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
        """Radians per frame by which the dance is turned towards where it should go."""
        where, heading = self._heading_and_place()
        direction = self._wish["direction"]
        if self._wish["target"] is not None:
            away = np.asarray(self._wish["target"], np.float64) - where
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
        """Metres per frame, z + ix, by which the dance is carried towards its target."""
        if self._wish["target"] is None:
            return 0.0
        where, _ = self._heading_and_place()
        away = np.asarray(self._wish["target"], np.float64) - where
        way = float(np.hypot(*away))
        if way < _NEAR:
            return 0.0
        pace = min(_DRIFT if self._wish["speed"] is None else float(self._wish["speed"]), _DRIFT)
        return complex(away[1], away[0]) / way * pace * min(1.0, way) / self.fps

    def _going(self, heading: float) -> float:
        """The direction in which the movement travels, or faces if it hardly travels."""
        move = self._places[-1, :2] - self._places[0, :2]
        if np.hypot(*move) < 0.2:
            return heading
        return float(np.arctan2(move[0], move[1])) + float(self._bent.yaw)

    def _poses(self, frames: Array):
        assert self._node is not None  # noqa: S101 - `_frames` gave none without a node
        node = self.nodes[self._node]
        rows = node.poses(self._weights, frames, between(self._places, frames))
        rows = [
            (*stitch.apply(rotations, root), contacts)
            for stitch, (rotations, root, contacts) in zip(self._stitches, rows, strict=True)
        ]
        return self._turned(rows)

    def _turned(self, rows):
        """The poses, bent towards where the dance should go, about the leader."""
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

    def _stretch(self, body, pieces, start, sources, seams) -> FrameBlock:
        if not pieces:
            return FrameBlock.empty(len(self.skeletons[body]), start)
        rotations, root, contacts = (
            np.concatenate([piece[body][k] for piece in pieces]) for k in range(3)
        )
        foot_lock = self._foot_locks[body]
        if foot_lock is not None:
            rotations, root = foot_lock.lock(rotations, root, contacts)
        return FrameBlock(rotations, root, contacts, start, sources, seams)

    def _sources(self, frames: Array, start: int) -> list[Source]:
        assert self._node is not None  # noqa: S101 - as above
        found = []
        for movement, weight in zip(self.nodes[self._node].movements, self._weights, strict=True):
            if weight > 0.0:
                first, last = movement.source_frames(frames[[0, -1]])
                found.append(
                    Source(
                        movement.source[0],
                        float(first),
                        float(last) + 1.0,
                        start,
                        start + len(frames),
                        float(weight),
                    )  # fmt: skip
                )
        return found


def _foot_lock(skeleton: Skeleton, fps: float) -> StreamingFootLock | None:
    try:
        leg_length(skeleton)
        return StreamingFootLock(skeleton, fps)
    except RoleError:
        return None
