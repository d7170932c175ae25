"""Playback of a motion graph: endless motion, generated during playback.

The state of a player consists of a frame of a motion, the planar transform of that motion, and the
next transition. The controls of ``player.steer`` are:

``transition``
    If True, take the next possible transition.
``automatic``
    If True, take transitions at random. If False, play each motion as long as possible without
    reaching a dead end.
``label``
    Take the shortest path to motions with this label and stay there. None allows all motions.
"""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motionloom.blending.player import FrameBlock, Player
from motionloom.errors import InvalidInput
from motionloom.files import atomic_write
from motionloom.formats.bvh.writer import bvh_stream
from motionloom.motion import Motion, Source
from motionloom.motion.diagnostics.quality import QualityMeter, QualityReport
from motionloom.motion.feet.streaming import StreamingFootLock
from motionloom.motion.provenance import merged
from motionloom.motion.rotations.planar_transform import PlanarTransform
from motionloom.motion_graph.settings import WalkSettings
from motionloom.motion_graph.walks.paths import hips_path
from motionloom.motion_graph.walks.routes import frames_to
from motionloom.motion_graph.walks.walk_quality import walk_parts
from motionloom.parallel import Progress

if TYPE_CHECKING:
    from motionloom.motion_graph.graph import MotionFrame, MotionGraph
    from motionloom.motion_graph.walks.routes import Route


_HORIZON = 4.0  # seconds within which the next random transition is chosen, if there is one
_LOG = 10_000  # maximum number of transitions kept in the log


@dataclass(frozen=True)
class PlayedTransition:
    """Transition that was played: its middle frame in the output, its source, and its target."""

    frame: int
    source: str
    source_frame: int
    target: str
    target_frame: int
    error: float

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dict of plain data."""
        return asdict(self)


class GraphPlayer(Player):
    """Player of a motion graph; see `MotionGraph.player`.

    Attributes
    ----------
    log : deque of PlayedTransition
        The latest transitions, oldest first.
    transition_count : int
        Total number of transitions played.

    Examples
    --------
    >>> graph = lib.motion_graph(only=["walk", "walk_fast"])
    >>> from motionloom.motion_graph import GraphPlayer
    >>> GraphPlayer(graph, seed=1).record(seconds=2)
    Motion(60 frames at 30 fps = 2.00 s, 21 joints)
    """

    controls = ("transition", "automatic", "label")

    def __init__(
        self,
        graph: MotionGraph,
        seed: int | np.random.Generator = 0,
        *,
        start: MotionFrame | str | None = None,
        automatic: bool = True,
        lock_feet: bool = True,
        variety: bool = True,
        route: Route | None = None,
        goals: WalkSettings | None = None,
    ) -> None:
        self.goals = goals
        self._notes = () if route is None else route.notes
        self.graph, self.skeleton, self.fps = graph, graph.skeleton, graph.fps
        self.log: deque[PlayedTransition] = deque(maxlen=_LOG)
        self._rng = np.random.default_rng(seed)
        self._automatic, self._variety = automatic, variety
        self._label: str | None = None
        self._remaining_frames: NDArray[np.float64] | None = None
        self._uses = np.zeros(len(graph), np.int64)
        self._frames_of = np.zeros(len(graph.motions), np.int64)  # frames played of each motion
        self._foot_lock = StreamingFootLock(graph.skeleton, graph.fps) if lock_feet else None
        self._script = None if route is None else deque(route.transitions)
        self._turns = None if route is None else route.turns
        self._played = self.transition_count = 0
        self._blended: int | None = None  # frames already played of the current transition
        if route is not None:
            self._motion, self._frame = route.start
            self._transform = route.transform
            self._last_frame = route.end_frame
        else:
            self._motion, self._frame = self._begin(start)
            self._transform = PlanarTransform.to_origin(graph.motions[self._motion][self._frame])
        self._next = self._choice()

    def quality(self, motion: Motion) -> QualityReport:
        """Measure the quality of recorded frames, compared with the motions and the goals."""
        return self.graph.quality(motion, self.goals, self._notes)

    @property
    def position(self) -> tuple[int, int]:
        """Index of the motion being played and the frame that comes next."""
        return self._motion, self._frame

    def _read(self, count: int) -> FrameBlock:
        parts = [FrameBlock.empty(len(self.skeleton), self._played)]
        while count > 0:
            part = self._next_part(count)
            if not len(part):
                break
            parts.append(part)
            count -= len(part)
            self._played += len(part)
        whole = FrameBlock.joined(parts)
        if self._foot_lock is None or not len(whole):
            return whole
        rotations, root = self._foot_lock.lock(whole.rotations, whole.root, whole.contacts)
        return replace(whole, rotations=rotations, root=root)

    def _steer(self, **controls: Any) -> None:
        if self._script is not None:
            raise InvalidInput("this player follows a planned route and cannot be steered")
        if "label" in controls:
            label = controls["label"]
            if not isinstance(label, str | None):
                raise InvalidInput(f"label must be a string; got {str(label)[:80]}")
            self._remaining_frames = (
                None if label is None else frames_to(self.graph, label)
            )  # raises an error if no motion has the label
            self._label = label
        self._automatic = bool(controls.get("automatic", self._automatic))
        if self._blended is None:
            self._next = self._choice(now=bool(controls.get("transition", False)))

    def save(
        self, path: str | Path, frames: int, *, progress: Progress | None = None
    ) -> WalkReport:
        """Play frames and write them to a file.

        Parameters
        ----------
        path : str or Path
            File in any format that motionloom can write. It appears once it is complete. BVH files
            are streamed, so hours of motion need little memory.
        frames : int
        progress : callable, optional
            Called with the number of frames written since the last call.
        """
        # A stream must know its length, but a walk may stop early at a dead end.
        if Path(path).suffix.lower() != ".bvh" or self.graph.dead_ends:
            motion = self.record(frames=frames, name=Path(path).stem)
            motion.save(path)
            quality, sources = self.quality(motion), motion.sources
            log = tuple(self.log)
            return WalkReport(len(motion), quality, sources, self.transition_count, log)
        meter = _WalkMeter(self.graph, self.goals, self._notes)
        played: list[Source] = []
        with bvh_stream(path, self.skeleton, frames=frames, fps=self.fps) as out:
            left = frames
            while left:
                block = self.read(min(_BLOCK, left))
                if not len(block):
                    break
                out.write(block.rotations, block.root)
                meter.measure(block)
                if len(played) < _SOURCES:
                    played += block.sources
                left -= len(block)
                if progress is not None:
                    progress(len(block))
        return WalkReport(
            frames, meter.report(), merged(played), self.transition_count, tuple(self.log)
        )

    # --- playing, part by part ------------------------------------------------------

    def _next_part(self, count: int) -> FrameBlock:
        """Return the next frames, from a motion or a transition; empty at the end of the route."""
        if self._blended is None and self._frame >= self._end and self._next is not None:
            self._blended = 0
        return self._play(count) if self._blended is None else self._blend(count)

    @property
    def _end(self) -> int:
        """Return the frame at which the current motion ends or is left."""
        if self._next is None:
            return self._last_frame
        return int(self.graph.transitions.leave[self._next, 1])

    def _play(self, count: int) -> FrameBlock:
        """Return frames of the current motion, up to its departure."""
        motion = self.graph.motions[self._motion]
        first, last = self._frame, min(self._frame + count, self._end)
        if first >= last:
            return FrameBlock.empty(len(self.skeleton), self._played)
        part = slice(first, last)
        transforms = self._transforms(motion.rotations[part], motion.root[part])
        rotations, root = transforms.apply_to_poses(motion.rotations[part], motion.root[part])
        contacts = self.graph.foot_supports[self._motion].parts[part]
        source = Source(motion.name, first, last, self._played, self._played + last - first)
        self._frame = last
        self._frames_of[self._motion] += last - first
        return FrameBlock(rotations, root, contacts, self._played, (source,))

    def _blend(self, count: int) -> FrameBlock:
        """Return frames of the current transition."""
        number, done = self._next, self._blended
        assert number is not None and done is not None
        made = self.graph.transition_frames(number)
        part = slice(done, min(done + count, len(made)))
        transforms = self._transforms(made.rotations[part], made.root[part])
        rotations, root = transforms.apply_to_poses(made.rotations[part], made.root[part])
        sources = self._halves(number, part, made.seam)
        seams: tuple[int, ...] = ()
        if part.start <= made.seam < part.stop:
            seams = (self._played + made.seam - done,)
            self.log.append(self._played_transition(number, seams[0]))
            self.transition_count += 1
        self._blended = part.stop
        if part.stop == len(made):
            self._arrive(number, made.transform)
        return FrameBlock(rotations, root, made.contacts[part], self._played, sources, seams)

    def _transforms(self, rotations: NDArray, root: NDArray) -> PlanarTransform:
        """Return the transform of the next frames, or one per frame if the route turns the body."""
        if self._turns is None:
            return self._transform
        turns = self._turns[self._played : self._played + len(root)]
        transforms = np.empty((len(root), 3))
        places = hips_path(Motion(self.skeleton, rotations, root, self.fps))
        for k, turn in enumerate(turns):
            if turn:  # rotate around the hips
                here = self._transform.floor + self._transform.rotation * places[k]
                yaw = self._transform.yaw + turn
                self._transform = PlanarTransform.from_complex(
                    here - np.exp(1j * yaw) * places[k], yaw
                )
            transforms[k] = self._transform.to_array()
        return PlanarTransform.from_array(transforms)

    def _arrive(self, number: int, transform: PlanarTransform) -> None:
        self._motion, self._frame = (int(x) for x in self.graph.transitions.enter[number])
        self._transform = self._transform @ transform
        self._uses[number] += 1
        self._blended = None
        self._next = self._choice()

    def _halves(self, number: int, part: slice, seam: int) -> tuple[Source, ...]:
        """Return the sources of part of a transition: one motion up to the seam, then the other."""
        graph, here = self.graph, self._played - part.start
        transitions, sources = graph.transitions, []
        for (motion, frame), low, high in (
            (transitions.source[number], 0, seam),
            (transitions.target[number], seam, transitions.blend),
        ):
            low, high = max(low, part.start), min(high, part.stop)
            if low < high:
                first = int(frame) - transitions.blend // 2
                name = graph.motions[motion].name
                sources.append(Source(name, first + low, first + high, here + low, here + high))
        return tuple(sources)

    def _played_transition(self, number: int, frame: int) -> PlayedTransition:
        graph = self.graph
        (a, i), (b, j) = graph.transitions.source[number], graph.transitions.target[number]
        error = float(graph.transitions.errors[number])
        return PlayedTransition(
            frame, graph.motions[a].name, int(i), graph.motions[b].name, int(j), error
        )

    # --- choosing transitions --------------------------------------------------------------------

    def _begin(self, start: MotionFrame | str | None) -> tuple[int, int]:
        if start is None:
            if not len(self.graph):
                raise InvalidInput("the motion graph has no transitions; rebuild it")
            enter = self.graph.transitions.enter
            if self.graph.dead_ends:  # a transition may end with the last frame of a motion
                lengths = np.array([len(motion) for motion in self.graph.motions])
                enter = enter[enter[:, 1] < lengths[enter[:, 0]]]
                if not len(enter):
                    raise InvalidInput("every transition ends with the last frame of a motion")
            motion, frame = enter[self._rng.integers(len(enter))]
            return int(motion), int(frame)
        motion, frame = self.graph.locate(start)
        if not len(self.graph.departures(motion, frame)[0]):
            departures = self.graph.departures(motion, 0)[0]
            if not len(departures):
                raise InvalidInput(f"no transition leaves {self.graph.names[motion]}")
            last = int(departures[-1])
            raise InvalidInput(
                f"no transition leaves {self.graph.names[motion]} after frame {last}; start at "
                f"frame {last} or earlier, not at {frame}"
            )
        return motion, frame

    def _choice(self, *, now: bool = False) -> int | None:
        """Choose the next transition."""
        if self._script is not None:
            return self._script.popleft() if self._script else None
        frames, which = self.graph.departures(self._motion, self._frame)
        if not len(which):  # a dead end: the motion is played to its last frame
            self._last_frame = len(self.graph.motions[self._motion])
            return None
        if self._remaining_frames is not None:
            which = self._labeled(frames, which)
            frames = self.graph.transitions.leave[which, 1]
        if now:
            which = which[frames == frames[0]]
        elif not self._automatic:
            which = which[frames == frames[-1]]
        else:
            near = frames <= max(self._frame + _HORIZON * self.fps, frames[0])
            which = which[near]
        if not self._variety:
            return int(self._rng.choice(which))
        weights = 1.0 / (1.0 + self._uses[which]) ** 2 / self._repetition(which)
        return int(self._rng.choice(which, p=weights / weights.sum()))

    def _repetition(self, which: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the divisor that makes transitions to recently played motions less likely.

        Takes are most similar to themselves, so most transitions lead back to the same take. If a
        motion was played for a long time, all transitions to it together count as one.
        """
        target = self.graph.transitions.target[which, 0]
        long = np.maximum(self._frames_of[target] / (_HORIZON * self.fps), 1.0)
        return np.where(long > 1.0, long**2 * np.bincount(target)[target], 1.0)

    def _labeled(self, frames, which):
        """Return the transitions that lead to frames with the requested label."""
        assert self._remaining_frames is not None and self._label is not None
        holds = self.graph.label_frames(self._label)[self._motion][self._frame :]
        missing = self._remaining_frames[which]
        if holds.any() and holds[0]:
            end = self._frame + (len(holds) if holds.all() else int(np.argmin(holds)))
            inside = frames <= end
            stays = inside & (missing <= self.graph.transitions.blend)
            if stays.any():
                return which[stays]
            if inside.any():  # stay while the label applies, then come back
                return which[frames == frames[inside].max()]
        rest = frames - self._frame + missing
        if holds.any() and np.argmax(holds) <= rest.min():  # the label soon applies here
            later = frames >= self._frame + np.argmax(holds)
            if later.any():
                return which[later]
        return which[rest == rest.min()]


_BLOCK = 3_000  # number of frames that are played, measured and written at once
_CONTINUITY = 2.0  # seconds of the previous block that are measured together with a block
_SOURCES = 20_000  # maximum number of sources in a report


@dataclass(frozen=True)
class WalkReport:
    """Report of a walk that was written to a file.

    Attributes
    ----------
    frames : int
    quality : QualityReport
    sources : tuple of Source
        Provenance of the frames. For a very long walk, it covers only the first frames.
    transition_count : int
        Number of transitions played.
    log : tuple of PlayedTransition
        The last transitions played.
    """

    frames: int
    quality: QualityReport
    sources: tuple[Source, ...]
    transition_count: int
    log: tuple[PlayedTransition, ...]

    def save_log(self, path: str | Path) -> None:
        """Write the logged transitions to a CSV file."""
        with atomic_write(path) as scratch, scratch.open("w", newline="", encoding="utf-8") as file:
            out = csv.writer(file)
            out.writerow(["frame", "source", "source_frame", "target", "target_frame", "error"])
            out.writerows(row.to_dict().values() for row in self.log)


class _WalkMeter:
    """Measures the quality of played frames, block by block."""

    def __init__(
        self, graph: MotionGraph, goals: WalkSettings | None, notes: Sequence[str]
    ) -> None:
        self._graph, self._goals, self._notes = graph, goals, notes
        self._meter = QualityMeter(graph.statistics)
        self._last: FrameBlock | None = None  # the frames before the next block
        self._tracks: list[NDArray[np.float32]] = []
        self._played: list[Source] = []

    def measure(self, block: FrameBlock) -> None:
        graph, last = self._graph, self._last
        whole = block if last is None else FrameBlock.joined([last, block])
        seen = len(whole) - len(block)
        motion = whole.to_motion(graph.skeleton, graph.fps)
        self._meter.add(motion, start=whole.start, seen=seen)
        self._last = whole.tail(round(_CONTINUITY * graph.fps))
        if self._goals is not None:
            self._tracks.append(motion.role_positions(["hips"])[seen:, 0, [0, 2]])
        self._played += block.sources

    def report(self) -> QualityReport:
        track = np.concatenate(self._tracks) if self._tracks else np.zeros((0, 2), np.float32)
        goals = self._goals if self._tracks else None
        parts = walk_parts(self._graph, track, self._played, goals, self._notes)
        return self._meter.report().with_parts(**parts)
