"""Beam search for the route with the lowest cost through a motion graph."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from motionloom.kernels import kernel
from motionloom.motion.rotations.planar_transform import PlanarTransform
from motionloom.motion.smoothing import gaussian_smooth
from motionloom.motion_graph.walks.paths import STEP, hips_path
from motionloom.motion_graph.walks.routes import Goal, NoRoute, Route, label_notes
from motionloom.ragged import offsets_of

if TYPE_CHECKING:
    from motionloom.motion_graph.graph import MotionGraph

_WIDTH = 96  # number of branches that are followed at each stage
NARROW = 16  # number for a first, approximate route
_STARTS = 200  # number of start frames that are tried
_HORIZON = 4.0  # maximum seconds for which a branch stays in one motion
_SMOOTHING = 0.2  # seconds of averaging, so that body sway does not count as progress
_STAGE = 0.25  # length of a stage along a path, in meters
_STAGE_SECONDS = 0.15
_LOOK_AHEAD = 0.7  # distance to the point steered toward: meters on a path, seconds on a guide
_STEERS = 2.5  # 1/s: rate of turning toward that point
_ONSET = 0.15  # seconds to full turning
# m/s^2: maximum centripetal acceleration that turning the body may add, because a runner captured
# in a straight run does not lean into a bend.
_SIDEWAYS = 2.0
_SLOWEST = 0.25  # m/s: routes that progress more slowly along a path are abandoned
# A route along a path is abandoned as a lap if its length exceeds this multiple of its progress by
# some meters.
_DETOUR, _SLACK = 1.2, 1.5

# Costs of a frame, in square meters: constant, missing label, distance from the guide, turning by
# 1 rad/s. Costs of the last frame: distance and heading from the goal.
_TIME, _LABEL, _GUIDE, _TURN, _GOAL, _FACING = 0.002, 1.0, 0.02, 0.03, 30.0, 8.0
# Cost of a transition for each second that its target was played before. With 0.02, the beam
# prefers takes that stand still to takes that walk along the path, and finds no route.
_REPEAT = 0.003


@dataclass(frozen=True, eq=False)
class _Ground:
    """Concatenated floor paths ``z + ix`` and headings of all motions."""

    floor: NDArray[np.complex128]
    headings: NDArray[np.float64]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, graph: MotionGraph) -> _Ground:
        paths, headings = [], []
        for motion in graph.motions:
            hips = hips_path(motion)
            both = np.column_stack([hips.real, hips.imag])
            smooth = gaussian_smooth(both, _SMOOTHING * motion.fps)
            paths.append(smooth[:, 0] + 1j * smooth[:, 1])
            headings.append(motion.headings())
        offsets = offsets_of([len(motion) for motion in graph.motions])
        return cls(np.concatenate(paths), np.concatenate(headings), offsets)


@dataclass(slots=True, eq=False)
class _Branch:
    """Partial route that ends at a frame of a motion in the middle of its last transition.

    Most branches are dropped at their stage. Their transforms and the frames they have played are
    therefore computed only when they are followed.
    """

    cost: float
    motion: int
    frame: int
    free: int  # the first frame at which the motion may be left
    transforms: PlanarTransform  # of all branches that were created together
    index: int | None  # of this branch in `transforms`
    progress: float
    time: int
    parent: _Branch | None
    transition: int
    turning: float = 0.0  # radians by which the last frame was turned
    walked: float = 0.0  # meters
    expected: float = 0.0  # additional cost that cannot be avoided
    frames_played: dict[int, int] | None = None

    @property
    def transform(self) -> PlanarTransform:
        """Transform of the motion."""
        if self.index is not None:
            self.transforms, self.index = self.transforms[self.index], None
        return self.transforms

    @property
    def played(self) -> dict[int, int]:
        """Frames played of each motion so far."""
        if self.frames_played is None:
            self.frames_played = {} if self.parent is None else dict(self.parent.played)
            if self.parent is not None:
                self._add(self.parent.motion, self.time - self.parent.time)
        return self.frames_played

    def _add(self, motion: int, frames: int) -> None:
        assert self.frames_played is not None
        self.frames_played[motion] = self.frames_played.get(motion, 0) + frames


def best_route(
    graph: MotionGraph,
    goal: Goal,
    rng: np.random.Generator,
    start: tuple[int, int] | None,
    progress: Callable[[float], None] | None = None,
    *,
    width: int = _WIDTH,
) -> Route:
    """Find a low-cost route by beam search.

    Parameters
    ----------
    graph : MotionGraph
    goal : Goal
    rng : Generator
        Random generator for the start frames.
    start : (int, int), optional
        Motion and frame to start from. Default: the search chooses.
    progress : callable, optional
        Called at each stage with the share of the goal that the branches have reached, 0 to 1.
    width : int
        Number of branches that are followed at each stage.

    Raises
    ------
    NoRoute
        If no route reaches the goal.
    """
    ground = _Ground.of(graph)
    stages: dict[int, list[_Branch]] = {}
    for branch in _beginnings(graph, ground, goal, rng, start):
        stages.setdefault(0, []).append(branch)
    queue = [0]
    latest = _latest(goal, graph.fps)
    length, seconds = len(goal.path) * STEP, goal.frames / graph.fps
    stages_to_goal = max(length / _STAGE if len(goal.path) else seconds / _STAGE_SECONDS, 1.0)
    best: tuple[float, _Branch, int] | None = None
    while queue:
        stage = heapq.heappop(queue)
        fittest = _fittest(stages.pop(stage), width)
        if progress is not None:
            progress(min(stage / stages_to_goal, 1.0))
        for branch in fittest:
            if best is not None and branch.cost >= best[0]:
                continue
            ended, further = _followed(graph, ground, goal, branch)
            if ended is not None and (best is None or ended[0] < best[0]):
                best = (ended[0], branch, ended[1])
            for extended in further:
                if extended.time > latest:
                    continue
                place = max(_stage(goal, graph.fps, extended), stage + 1)
                if place not in stages:
                    stages[place] = []
                    heapq.heappush(queue, place)
                stages[place].append(extended)
    if best is None:
        raise NoRoute(
            "no route through the graph reaches the goal, because its motions do not go that far. "
            "Add walking motions, or start at another frame"
        )
    return _route(graph, ground, goal, *best)


def _beginnings(graph, ground: _Ground, goal: Goal, rng, start) -> list[_Branch]:
    if start is not None:
        places = [start]
    else:
        places = sorted({(int(m), int(f)) for m, f in graph.transitions.enter})
        if len(places) > _STARTS:
            places = [places[k] for k in rng.choice(len(places), _STARTS, replace=False)]
    aim = goal.path[1] - goal.path[0] if len(goal.path) else None
    origin = goal.path[0] if len(goal.path) else 0.0
    branches = []
    for motion, frame in places:
        row = int(ground.offsets[motion]) + frame
        ahead = min(row + round(0.3 * graph.fps), int(ground.offsets[motion + 1]) - 1)
        going = ground.floor[ahead] - ground.floor[row]
        if aim is None or abs(going) < 0.1:
            yaw = (0.0 if aim is None else float(np.angle(aim))) - ground.headings[row]
        else:
            yaw = float(np.angle(aim / going))
        shift = origin - np.exp(1j * yaw) * ground.floor[row]
        transform = PlanarTransform.from_complex(shift, yaw)
        branches.append(_Branch(0.0, motion, frame, frame, transform, None, 0.0, 0, None, -1))
    return branches


def _followed(graph: MotionGraph, ground: _Ground, goal: Goal, branch: _Branch):
    """Extend a branch: return its cost and end frame, if it ends, and the longer branches."""
    half = graph.transitions.blend // 2
    frames, which = graph.departures(branch.motion, branch.free)
    trace = _traced(graph, ground, goal, branch)
    stop = trace.stop
    ended = None
    if stop >= 0 and branch.frame + stop + 1 >= branch.free:
        row = int(ground.offsets[branch.motion]) + branch.frame + stop
        facing = ground.headings[row] + branch.transform.yaw + trace.turned[stop]
        ended = (
            branch.cost + trace.costs[stop] + _final(goal, trace.places[stop], facing),
            branch.frame + stop + 1,
        )
    elif stop >= 0 and len(goal.path):  # past the end of the path within a blend
        ended = (branch.cost + trace.costs[stop], branch.free)
    if len(goal.path):
        traced = slice(None if stop < 0 else stop + 1)  # later frames were not written
        lap = trace.walked[traced] > _DETOUR * trace.progress[traced] + _SLACK
        if ended is not None and lap[stop]:
            ended = None
    reach = len(trace.costs) if stop < 0 else stop
    steps = frames + half - branch.frame
    good = (steps < reach) & (steps >= 0)
    if len(goal.path):
        good[good] = ~lap[steps[good]]
    steps, which = steps[good], which[good]
    leading = PlanarTransform.from_array(graph.transitions.transforms[which])
    transforms = _transforms(ground, branch, trace, steps) @ leading
    played, fps = branch.played, graph.fps
    further = []
    columns = (
        which, steps, graph.transitions.target[which], graph.transitions.enter[which, 1],
        trace.costs[steps], trace.progress[steps], trace.turns[steps], trace.walked[steps],
    )  # fmt: skip
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for k, (number, step, (motion, frame), free, cost, progress, turning, walked) in enumerate(
        rows
    ):
        again = played.get(motion, 0) + (step if motion == branch.motion else 0)
        time = branch.time + step
        further.append(
            _Branch(
                branch.cost + cost + _REPEAT * again / fps, motion, frame, free, transforms, k,
                progress, time, branch, number, turning, walked,
                _unavoidable(goal, number, time) if len(goal.label_ends) else 0.0,
            )
        )  # fmt: skip
    return ended, further


class _Trace(NamedTuple):
    """State of a branch in each frame of a segment; `stop` is the frame at which it ends, or -1."""

    costs: NDArray[np.float64]
    progress: NDArray[np.float64]
    places: NDArray[np.complex128]
    turns: NDArray[np.float64]
    turned: NDArray[np.float64]
    walked: NDArray[np.float64]
    stop: int


def _traced(graph: MotionGraph, ground: _Ground, goal: Goal, branch: _Branch) -> _Trace:
    half = graph.transitions.blend // 2
    row = int(ground.offsets[branch.motion]) + branch.frame
    last = min(int(ground.offsets[branch.motion + 1]), row + round(_HORIZON * graph.fps) + 2 * half)
    segments = np.searchsorted(
        goal.label_ends, np.arange(branch.time, branch.time + last - row), "right"
    )
    return _Trace(
        *_trace(
            ground.floor[row:last].astype(np.complex128), complex(branch.transform.floor),
            float(branch.transform.yaw), branch.turning, branch.progress, branch.time, goal.path,
            goal.guide, _label_costs(goal, segments, slice(row, last)), goal.frames,
            1.0 / graph.fps, goal.most_turning, branch.walked,
        )
    )  # fmt: skip


@kernel
def _trace(
    floor, shift, yaw, turning, progress, time, path, guide, label_mismatch, frames, dt, most,
    gone_before,
):  # fmt: skip
    """Compute `_traced`: transform the path `floor` and steer it along the goal path.

    Floor positions are complex, ``z + ix``: `floor` (T,) is the path of the hips, `path` (P,) is
    the goal path with points every `STEP` meters, and `guide` (G,) has one point per frame; `path`
    and `guide` are empty if the walk has none. `label_mismatch` (T,) is the cost of missing labels.
    `shift` and `yaw` are the transform of the motion. `turning`, `progress`, `time` and
    `gone_before` are the state of the parent branch. `frames` is the length of the whole walk (0
    means until the end of the path), and `most` is the maximum rate of turning in rad/s. Returns
    the fields of `_Trace`, each of shape (T,) and written up to `stop`.
    """
    # Frames must be processed in order, because steering depends on the path so far.
    count = len(floor)
    costs, along = np.empty(count), np.empty(count)
    turns, turned = np.zeros(count), np.zeros(count)
    walked = np.full(count, gone_before)
    places = np.empty(count, np.complex128)
    total, stop, bend = 0.0, -1, 0.0
    length = (len(path) - 1) * STEP
    place = shift + np.exp(1j * yaw) * floor[0]
    for k in range(count):
        total += _TIME + label_mismatch[k]
        if k > 0:
            gone = np.exp(1j * (yaw + bend)) * (floor[k] - floor[k - 1])
            place += gone
            walked[k] = walked[k - 1] + abs(gone)
            if len(path) > 0:
                # Progress is the distance covered along the path, not the nearest point of the
                # path. A path that crosses itself is therefore walked completely, and no search is
                # needed.
                at = min(int(progress / STEP), len(path) - 2)
                tangent = (path[at + 1] - path[at]) / STEP
                progress += gone.real * tangent.real + gone.imag * tangent.imag
                progress = max(progress, 0.0)
            if len(path) > 0 or len(guide) > 0:
                if len(path) > 0:
                    aim = path[min(int((progress + _LOOK_AHEAD) / STEP), len(path) - 1)]
                else:
                    aim = guide[min(time + k + int(_LOOK_AHEAD / dt), len(guide) - 1)]
                turning = _turning(turning, gone, aim - place, dt, most)
                bend += turning
                total += _TURN * (turning / dt) ** 2
        if len(path) > 0:
            at = min(int(progress / STEP), len(path) - 2)
            share = min(progress / STEP - at, 1.0)
            away = place - (path[at] + share * (path[at + 1] - path[at]))
            total += away.real**2 + away.imag**2
        if len(guide) > 0:
            away = place - guide[min(time + k, len(guide) - 1)]
            total += _GUIDE * (away.real**2 + away.imag**2)
        costs[k], along[k], places[k] = total, progress, place
        turned[k] = bend
        turns[k] = turning  # the first frame continues the turning of the parent branch
        if (len(path) > 0 and progress >= length) or (frames > 0 and time + k + 1 >= frames):
            stop = k
            break
    return costs, along, places, turns, turned, walked, stop


@kernel
def _turning(turning, gone, aim, dt, most):
    """Return the angle, in radians, by which a walker moving by `gone` turns toward `aim`.

    `gone` and `aim` are complex numbers. `turning` is the angle of the last frame; the change from
    it to the new angle is limited.
    """
    # A walker that stands still or has arrived is not turned, because its direction is noise.
    wanted = 0.0
    if abs(gone) > 0.3 * dt and abs(aim) > 0.2:
        off = np.angle(aim * np.conj(gone))
        most = min(most, _SIDEWAYS * dt / abs(gone))
        wanted = min(max(_STEERS * off, -most), most) * dt
    change = most * dt * dt / _ONSET
    return turning + min(max(wanted - turning, -change), change)


def _transforms(ground: _Ground, branch: _Branch, trace: _Trace, steps: NDArray[np.int64]):
    """Return the transforms (n,) of a branch's motion after `steps` (n,) frames."""
    row = int(ground.offsets[branch.motion]) + branch.frame
    yaw = branch.transform.yaw + trace.turned[steps]
    shift = trace.places[steps] - np.exp(1j * yaw) * ground.floor[row + steps]
    return PlanarTransform.from_complex(shift, yaw)


def _label_costs(goal: Goal, segments: NDArray[np.int64], rows: slice) -> NDArray[np.float64]:
    """Return the cost of each frame: zero with the requested label or after the last label."""
    costs = np.zeros(len(segments))
    wanted = np.flatnonzero(segments < len(goal.label_ends))
    costs[wanted] = _LABEL * goal.label_mismatch[segments[wanted], rows.start + wanted]
    return costs


def _unavoidable(goal: Goal, transition: int, time: int) -> float:
    """Return the minimum cost of the unlabeled frames that must follow a transition.

    A branch that is far from the next label must depart early enough, although it does not pay for
    missing the label yet.
    """
    cost, begin = 0.0, 0
    for remaining, end in zip(goal.label_remaining, goal.label_ends.tolist(), strict=True):
        if time < end:
            wait = max(begin - time, 0)
            late = min(float(remaining[transition]) - wait, end - max(begin, time))
            cost += _LABEL * max(late, 0.0)
            if wait:
                break  # nothing is known about later labels
        begin = end
    return cost


def _final(goal: Goal, place: complex, facing: float) -> float:
    cost = 0.0
    if goal.position is not None:
        cost += _GOAL * abs(place - goal.position) ** 2
    if goal.heading is not None:
        cost += _FACING * abs(np.exp(1j * (facing - goal.heading)) - 1.0) ** 2
    return float(cost)


def _fittest(branches: list[_Branch], width: int) -> list[_Branch]:
    """Return the best branches of a stage; at most two of them end with the same transition."""
    branches.sort(key=lambda branch: branch.cost + branch.expected)
    seen: dict[int, int] = {}
    kept = []
    for branch in branches:
        if branch.transition >= 0 and seen.get(branch.transition, 0) >= 2:
            continue
        seen[branch.transition] = seen.get(branch.transition, 0) + 1
        kept.append(branch)
        if len(kept) >= width and branch.transition >= 0:
            break
    return kept


def _latest(goal: Goal, fps: float) -> float:
    """Return the latest frame at which a route may end."""
    if len(goal.path):
        return fps * (len(goal.path) * STEP / _SLOWEST + _HORIZON)
    return float(goal.frames)


def _stage(goal: Goal, fps: float, branch: _Branch) -> int:
    if len(goal.path):
        return int(branch.progress / _STAGE)
    return int(branch.time / (_STAGE_SECONDS * fps))


def _route(
    graph, ground: _Ground, goal: Goal, cost: float, branch: _Branch, end_frame: int
) -> Route:
    taken: list[int] = []
    frames = branch.time + end_frame - branch.frame
    turns, places = np.zeros(frames), np.zeros(frames, np.complex128)
    rows = np.zeros(frames, np.int64)
    until = frames
    while True:
        trace = _traced(graph, ground, goal, branch)
        part = slice(branch.time, branch.time + min(until - branch.time, len(trace.turns)))
        turns[part] = trace.turns[: part.stop - part.start]
        first = int(ground.offsets[branch.motion]) + branch.frame
        rows[branch.time : until] = first + np.arange(until - branch.time)
        places[part] = trace.places[: part.stop - part.start]
        if trace.stop >= 0:  # past the end of the path
            places[branch.time + trace.stop : part.stop] = trace.places[trace.stop]
        until = branch.time
        if branch.parent is None:
            break
        taken.append(branch.transition)
        branch = branch.parent
    taken.reverse()
    turns[np.abs(turns) < 1e-12] = 0.0
    return Route(
        (branch.motion, branch.frame),
        branch.transform,
        tuple(taken),
        end_frame,
        frames,
        cost / frames,
        turns,
        places,
        tuple(label_notes(goal, rows, graph.fps)),
    )
