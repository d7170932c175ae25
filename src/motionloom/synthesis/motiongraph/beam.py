"""The best way through a motion graph, by a beam search in order of progress."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d

from motionloom.blend.ground import composed
from motionloom.errors import InvalidInput
from motionloom.synthesis.motiongraph.routes import Route
from motionloom.synthesis.motiongraph.wishes import STEP, Wish

if TYPE_CHECKING:
    from motionloom.synthesis.motiongraph.graph import MotionGraph

_WIDTH = 96  # ways followed at each stage
_STARTS = 200  # places to begin that are tried
_HORIZON = 4.0  # seconds that a motion is followed before it must be left
_SMOOTHING = 0.2  # seconds: what a body sways while it walks is no progress
_STAGE = 0.25  # metres of a stage along a path
_STAGE_SECONDS = 0.15
_SLOWEST = 0.25  # m/s: whoever gets along a path more slowly is given up

# Costs of a frame, in square metres: of being there at all, of a motion without the wanted
# label, of being away from the guide; and of the last frame being away from the goal.
_TIME, _UNFIT, _GUIDE, _GOAL, _FACING = 0.002, 1.0, 0.02, 30.0, 3.0


@dataclass(frozen=True, eq=False)
class _Ground:
    """Floor paths ``z + ix`` and headings of all motions, one after the other."""

    floor: NDArray[np.complex128]
    headings: NDArray[np.float64]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, graph: MotionGraph) -> _Ground:
        paths, headings = [], []
        for motion in graph.motions:
            root = gaussian_filter1d(
                motion.root.astype(np.float64), _SMOOTHING * motion.fps, axis=0, mode="nearest"
            )
            paths.append(root[:, 2] + 1j * root[:, 0])
            headings.append(motion.headings())
        starts = np.cumsum([0, *map(len, graph.motions)])
        return cls(np.concatenate(paths), np.concatenate(headings), starts)


@dataclass
class _Way:
    """A way so far: at a frame of a motion, in the middle of the transition that led there."""

    cost: float
    motion: int
    frame: int
    free: int  # the first frame at which the motion may be left
    move: NDArray[np.float64]
    progress: float
    time: int
    parent: _Way | None
    transition: int


def best_route(
    graph: MotionGraph,
    wish: Wish,
    rng: np.random.Generator,
    start: tuple[int, int] | None,
) -> Route:
    """The route that costs least, as far as the beam sees.

    Parameters
    ----------
    graph : MotionGraph
    wish : Wish
    rng : Generator
        Draws the places to begin.
    start : (int, int), optional
        Motion and frame to begin with; default: any.

    Raises
    ------
    InvalidInput
        If no route gets there.
    """
    ground = _Ground.of(graph)
    stages: dict[int, list[_Way]] = {}
    for way in _beginnings(graph, ground, wish, rng, start):
        stages.setdefault(0, []).append(way)
    queue = [0]
    latest = _latest(wish, graph.fps)
    best: tuple[float, _Way, int] | None = None
    while queue:
        stage = heapq.heappop(queue)
        for way in _fittest(stages.pop(stage)):
            if best is not None and way.cost >= best[0]:
                break
            ended, further = _followed(graph, ground, wish, way)
            if ended is not None and (best is None or ended[0] < best[0]):
                best = (ended[0], way, ended[1])
            for one in further:
                if one.time > latest:
                    continue
                place = max(_stage(wish, graph.fps, one), stage + 1)
                if place not in stages:
                    stages[place] = []
                    heapq.heappush(queue, place)
                stages[place].append(one)
    if best is None:
        raise InvalidInput(
            "no route through the graph serves this: its motions do not go that far. Add motions "
            "that walk, or start elsewhere"
        )
    return _route(graph, *best)


def _beginnings(graph, ground: _Ground, wish: Wish, rng, start) -> list[_Way]:
    if start is not None:
        places = [start]
    else:
        places = sorted({(int(m), int(f)) for m, f in graph.transitions.enter})
        if len(places) > _STARTS:
            places = [places[k] for k in rng.choice(len(places), _STARTS, replace=False)]
    aim = wish.path[1] - wish.path[0] if len(wish.path) else None
    origin = wish.path[0] if len(wish.path) else 0.0
    ways = []
    for motion, frame in places:
        row = int(ground.starts[motion]) + frame
        ahead = min(row + round(0.3 * graph.fps), int(ground.starts[motion + 1]) - 1)
        going = ground.floor[ahead] - ground.floor[row]
        if aim is None or abs(going) < 0.1:
            yaw = (0.0 if aim is None else float(np.angle(aim))) - ground.headings[row]
        else:
            yaw = float(np.angle(aim / going))
        shift = origin - np.exp(1j * yaw) * ground.floor[row]
        move = np.array([shift.imag, shift.real, yaw])
        ways.append(_Way(0.0, motion, frame, frame, move, 0.0, 0, None, -1))
    return ways


def _followed(graph: MotionGraph, ground: _Ground, wish: Wish, way: _Way):
    """Cost and frame at which a way comes to its end, if it does; and the ways on."""
    half = graph.transitions.blend // 2
    frames, which = graph.departures(way.motion, way.free)
    start, end = ground.starts[way.motion], ground.starts[way.motion + 1]
    row = int(start) + way.frame
    last = min(int(end), row + round(_HORIZON * graph.fps) + 2 * half)
    turn = np.exp(1j * way.move[2])
    floor = turn * ground.floor[row:last] + complex(way.move[1], way.move[0])
    segments = np.searchsorted(wish.stretches, np.arange(way.time, way.time + last - row), "right")
    fits = _unfit(wish, segments, way.motion)
    costs, progress, stop = _trace(
        floor, way.progress, way.time, wish.path, STEP, wish.guide, fits, wish.frames,
        _TIME, _GUIDE,
    )  # fmt: skip
    ended = None
    if stop >= 0 and way.frame + stop + 1 >= way.free:
        total = way.cost + costs[stop] + _final(wish, floor[stop], ground, row + stop, way)
        ended = (total, way.frame + stop + 1)
    elif stop >= 0 and len(wish.path):  # past the end of the path within a blend
        ended = (way.cost + costs[stop], way.free)
    reach = len(costs) if stop < 0 else stop
    steps = frames + half - way.frame
    good = (steps < reach) & (steps >= 0)
    steps, which = steps[good], which[good]
    moves = composed(way.move, graph.transitions.moves[which])
    further = []
    for k, number in enumerate(which):
        motion, frame = graph.transitions.target[number]
        further.append(
            _Way(
                way.cost + float(costs[steps[k]]),
                int(motion),
                int(frame),
                int(graph.transitions.enter[number, 1]),
                moves[k],
                float(progress[steps[k]]),
                way.time + int(steps[k]),
                way,
                int(number),
            )
        )
    return ended, further


@njit(cache=True)
def _trace(floor, progress, time, path, step, guide, unfit, frames, per_frame, guide_weight):
    """Cost and progress up to each frame of a stretch, and the frame at which it ends or -1."""
    count = len(floor)
    costs, along = np.empty(count), np.empty(count)
    total, stop = 0.0, -1
    length = (len(path) - 1) * step
    for k in range(count):
        total += per_frame + unfit[k]
        if len(path) > 0:
            at = min(int(progress / step), len(path) - 2)
            tangent = (path[at + 1] - path[at]) / step
            if k > 0:
                gone = floor[k] - floor[k - 1]
                progress += gone.real * tangent.real + gone.imag * tangent.imag
                progress = max(progress, 0.0)
            at = min(int(progress / step), len(path) - 2)
            share = min(progress / step - at, 1.0)
            away = floor[k] - (path[at] + share * (path[at + 1] - path[at]))
            total += away.real**2 + away.imag**2
        if len(guide) > 0:
            away = floor[k] - guide[min(time + k, len(guide) - 1)]
            total += guide_weight * (away.real**2 + away.imag**2)
        costs[k], along[k] = total, progress
        if (len(path) > 0 and progress >= length) or (frames > 0 and time + k + 1 >= frames):
            stop = k
            break
    return costs, along, stop


def _unfit(wish: Wish, segments: NDArray[np.int64], motion: int) -> NDArray[np.float64]:
    """Cost of each frame for what labels say; behind the last of them, none."""
    if not len(wish.stretches):
        return np.zeros(len(segments))
    column = np.append(wish.unfit[:, motion].astype(np.float64), 0.0)
    return _UNFIT * column[segments]


def _final(wish: Wish, floor: complex, ground: _Ground, row: int, way: _Way) -> float:
    cost = 0.0
    if wish.goal is not None:
        cost += _GOAL * abs(floor - wish.goal) ** 2
    if wish.heading is not None:
        away = np.exp(1j * (ground.headings[row] + way.move[2] - wish.heading)) - 1.0
        cost += _FACING * abs(away) ** 2
    return float(cost)


def _fittest(ways: list[_Way]) -> list[_Way]:
    """The best ways of a stage, at most two that came the same last step."""
    ways.sort(key=lambda way: way.cost)
    seen: dict[int, int] = {}
    kept = []
    for way in ways:
        if way.transition >= 0 and seen.get(way.transition, 0) >= 2:
            continue
        seen[way.transition] = seen.get(way.transition, 0) + 1
        kept.append(way)
        if len(kept) == _WIDTH and way.transition >= 0:
            break
    return kept


def _latest(wish: Wish, fps: float) -> float:
    """The frame by which a way must have come to its end."""
    if len(wish.path):
        return fps * (len(wish.path) * STEP / _SLOWEST + _HORIZON)
    return float(wish.frames)


def _stage(wish: Wish, fps: float, way: _Way) -> int:
    if len(wish.path):
        return int(way.progress / _STAGE)
    return int(way.time / (_STAGE_SECONDS * fps))


def _route(graph: MotionGraph, cost: float, way: _Way, end_frame: int) -> Route:
    taken: list[int] = []
    frames = way.time + end_frame - way.frame
    while way.parent is not None:
        taken.append(way.transition)
        way = way.parent
    taken.reverse()
    return Route((way.motion, way.frame), way.move, tuple(taken), end_frame, frames, cost / frames)
