"""Routes through a motion graph: along a path, to a goal, with labels, or from pose to pose.

A beam search finds all of these routes except those from pose to pose. It compares partial routes
with the goal frame by frame and extends them in order of progress (along the path, or in time). At
each stage, it continues only with the best routes and drops routes that cost more than the best
complete route. A route that is costly at first may still win if it is among the best at every
stage.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.motion.rotations.planar_transform import PlanarTransform
from motionloom.motion_graph.settings import WalkSettings
from motionloom.motion_graph.walks.paths import (
    STEP,
    Floor,
    as_numbers,
    distances,
    rounded,
    sampled_path,
)
from motionloom.motion_graph.walks.walk_quality import MOVING, path_notes, turn_notes
from motionloom.parallel import Progress, Share

if TYPE_CHECKING:
    from motionloom.motion_graph.graph import MotionFrame, MotionGraph


_LONGEST = 3.0  # maximum length of a detour, as a multiple of the distance
GENTLE_TURN = 0.35  # rad/s: turning the body at this rate is hardly visible
# rad/s: 25 degrees in a step of 0.55 s. Walkers turn a corner by 30 to 60 degrees per step
# (Hase and Stein 1999), so the legs of a straight walk can follow this.
STRONG_TURN = 0.8
SHARP_TURN = 1.6  # rad/s: 50 degrees in a step, for hairpins and goals behind the walker
# Minimum radius of the bends of a path in meters, and maximum turning. They are tried in this order
# until a route follows the path without cutting corners much; if none does, the best route is used.
# A radius of 0.3 m cannot be walked, but it keeps the tips of hairpins, which the walker passes in
# a wider bend. A hairpin that leads back along the same line cannot be rounded; the last entry
# leaves it unchanged.
_ROUNDINGS = (
    (0.0, GENTLE_TURN), (0.75, STRONG_TURN), (0.3, STRONG_TURN), (1.5, STRONG_TURN),
    (3.0, STRONG_TURN), (0.3, SHARP_TURN), (0.0, SHARP_TURN),
)  # fmt: skip
_REACHED = 0.2  # maximum distance from a goal in meters; less than the limit of the quality report
_FACED = 0.35  # maximum deviation from the heading at a goal, in radians
_CUT = 0.5  # meters by which a corner may be cut before another radius is tried
_FOLLOWED = 0.3  # meters: a path counts as followed if every frame is at most this far from it
_MISSED = 0.8  # meters, one step: only routes that miss the path by more turn the body sharply
_LABEL_KEPT = 0.8  # minimum fraction of the requested time during which a label should apply
_DETOUR = 1.1  # maximum length of a good walk, as a multiple of the length of the path


def _none() -> Floor:
    return np.zeros(0, np.complex128)


@dataclass(frozen=True, eq=False)
class Goal:
    """The goal of a walk as arrays; floor positions are ``z + ix``.

    Attributes
    ----------
    path : ndarray of complex
        Points every `STEP` meters; empty if there is no path.
    guide : ndarray of complex, shape (frames,)
        Approximate position in each frame; empty if any position is allowed.
    frames : int
        Number of frames; 0 means as many as the path takes.
    position : complex or None
        Position in the last frame.
    heading : float or None
        Heading in the last frame.
    label_mismatch : ndarray of bool, shape (S, frames of all motions)
        True at the frames to which a label of the timeline does not apply.
    labels : tuple of str, length S
        Labels of the timeline.
    label_ends : ndarray of int64, shape (S,)
        Frame at which each label ends.
    label_remaining : ndarray, shape (S, transitions)
        Frames from the arrival of each transition until each label applies.
    most_turning : float
        Maximum rate at which the body is turned to follow a path or guide, in rad/s.
    """

    path: Floor = field(default_factory=_none)
    guide: Floor = field(default_factory=_none)
    frames: int = 0
    position: complex | None = None
    heading: float | None = None
    label_mismatch: NDArray[np.bool_] = field(default_factory=lambda: np.zeros((0, 0), bool))
    label_ends: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    labels: tuple[str, ...] = ()
    label_remaining: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 0)))
    most_turning: float = GENTLE_TURN


def position_goal(goal: Any, seconds: float | None, graph: MotionGraph) -> Goal:
    """Return the goal of reaching a position and heading in time, from the origin facing +Z."""
    values = as_numbers(goal)
    if values.shape not in ((2,), (3,)) or not np.isfinite(values).all():
        raise InvalidInput(f"goal must be x, z or x, z, heading; got {goal!r}")
    if seconds is None:
        raise InvalidInput("a walk to a goal needs a duration; set seconds")
    frames = max(round(seconds * graph.fps), 1)
    there = complex(values[1], values[0])
    heading = float(values[2]) if len(values) == 3 else None
    # A Hermite curve whose tangents are the headings at both ends.
    u = np.linspace(0.0, 1.0, frames)
    first = abs(there)
    last = abs(there) * (np.exp(1j * heading) if heading is not None else there / (first or 1.0))
    guide = (u**3 - 2 * u**2 + u) * first + (3 * u**2 - 2 * u**3) * there + (u**3 - u**2) * last
    guide = _lengthened(guide, there, usual_speed(graph) * seconds)
    return Goal(guide=guide, frames=frames, position=there, heading=heading)


def usual_speed(graph: MotionGraph) -> float:
    """Return the median speed of the motions in a graph while they move, in m/s."""
    steps = np.concatenate([np.diff(motion.root[:, [0, 2]], axis=0) for motion in graph.motions])
    speeds = np.linalg.norm(steps, axis=1) * graph.fps
    moving = speeds[speeds > MOVING]
    return float(np.median(moving)) if len(moving) else 0.0


def _lengthened(guide: Floor, there: complex, length: float) -> Floor:
    """Add bends to a guide until it is as long as the distance walked in the available time."""
    if abs(there) < 1e-6 or length > _LONGEST * abs(there):
        return guide
    u = np.linspace(0.0, np.pi, len(guide))  # flat at both ends, where the guide stays unchanged
    aside = 1j * there / abs(there) * np.sin(2.0 * u) * np.sin(u) ** 2
    low, high = 0.0, length
    for _ in range(30):
        middle = 0.5 * (low + high)
        long = np.abs(np.diff(guide + middle * aside)).sum() > length
        low, high = (low, middle) if long else (middle, high)
    return guide + low * aside


def label_goal(
    goal: Goal,
    labels: Sequence[Any],
    seconds: float | None,
    graph: MotionGraph,
) -> Goal:
    """Add a timeline of labels and their durations to `goal`."""
    names, label_mismatch, remaining, ends, at = [], [], [], [], 0.0
    for item in labels:
        try:
            label, length = item
            length = float(length)
        except (TypeError, ValueError):
            raise InvalidInput(f"labels must be pairs of label and seconds; got {item!r}") from None
        holds = graph.label_frames(label)
        if not (np.isfinite(length) and length > 0.0):
            raise InvalidInput(f"the duration of label {label!r} must be positive; got {length} s")
        at += length
        label_mismatch.append(~np.concatenate(holds))
        names.append(str(label))
        remaining.append(frames_to(graph, label) - graph.transitions.blend)
        ends.append(round(at * graph.fps))
    if not label_mismatch:
        raise InvalidInput("labels must contain at least one pair of label and seconds; got none")
    frames = goal.frames
    if not len(goal.path) and not frames:
        frames = ends[-1] if seconds is None else max(round(seconds * graph.fps), 1)
    return replace(
        goal,
        frames=frames,
        label_mismatch=np.array(label_mismatch),
        label_ends=np.array(ends, np.int64),
        labels=tuple(names),
        label_remaining=np.array(remaining),
    )


def label_notes(goal: Goal, rows: NDArray[np.int64], fps: float) -> list[str]:
    """Return a note for each label that is missed for too long; `rows` are the frames played."""
    notes, begin = [], 0
    for label, missing, end in zip(goal.labels, goal.label_mismatch, goal.label_ends, strict=True):
        played = rows[begin : int(end)]
        labeled = len(played) - int(missing[played].sum())
        if labeled < _LABEL_KEPT * len(played):
            notes.append(
                f"label {label!r} applies for only {labeled / fps:.1f} of the requested "
                f"{len(played) / fps:.1f} s. Give it more time, add takes that have this label or "
                f"change to it, or allow more transitions (per_minute)"
            )
        begin = int(end)
    return notes


def frames_to(graph: MotionGraph, label: str) -> NDArray[np.float64]:
    """Count the frames (n,) from the start of each transition to the next frame with `label`.

    Raises
    ------
    InvalidInput
        If the label applies nowhere in the graph.
    """
    masks = graph.label_frames(label)
    direct = np.array(
        [_until(masks[motion], frame) for motion, frame in graph.transitions.enter.tolist()]
    )
    return float(graph.transitions.blend) + _remaining_frames(graph, direct)


def _until(mask: NDArray[np.bool_], frame: int) -> float:
    """Count the frames from `frame` to the next True in the mask; infinite if there is none."""
    there = np.flatnonzero(mask[frame:])
    return float(there[0]) if len(there) else np.inf


def frames_to_place(graph: MotionGraph, motion: int, frame: int) -> NDArray[np.float64]:
    """Count the frames (n,) from the start of each transition to a frame of a motion."""
    transitions = graph.transitions
    ahead = frame - transitions.enter[:, 1]
    direct = np.where((transitions.target[:, 0] == motion) & (ahead >= 0), ahead, np.inf)
    return transitions.blend + _remaining_frames(graph, direct)


def _remaining_frames(graph: MotionGraph, direct: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the length, in frames, of the shortest path from each arrival.

    `direct` (n,) contains the lengths of the paths that need no further transition.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import dijkstra

    leave, enter = graph.transitions.leave, graph.transitions.enter
    count = len(leave)
    # There is one node per arrival and one for the goal. Edges are reversed, so paths lead from the
    # goal to all arrivals.
    rows, columns, costs = [], [], []
    for k in range(count):
        frames, which = graph.departures(int(enter[k, 0]), int(enter[k, 1]))
        rows.append(which)
        columns.append(np.full(len(which), k))
        costs.append(frames - enter[k, 1] + graph.transitions.blend)
    there = np.flatnonzero(np.isfinite(direct))
    rows.append(np.full(len(there), count))
    columns.append(there)
    costs.append(direct[there])
    # A zero would mean that there is no edge. Half a frame does not change which path is shortest.
    weights = np.maximum(np.concatenate(costs), 0.5)
    matrix = coo_array(
        (weights, (np.concatenate(rows), np.concatenate(columns))), shape=(count + 1,) * 2
    )
    return np.floor(dijkstra(matrix.tocsr(), indices=np.array([count]))[0, :count])


@dataclass(frozen=True)
class Route:
    """Route through a motion graph: a start frame, transitions, and an end frame.

    Attributes
    ----------
    start : (int, int)
        Motion and frame at which the route starts.
    transform : PlanarTransform
        Planar transform of the start motion.
    transitions : tuple of int
    end_frame : int
        The last motion is played up to, but not including, this frame.
    frames : int
        Number of frames.
    cost : float
        Mean cost per frame.
    turns : ndarray, shape (frames,), optional
        Angle in radians by which the body is turned in each frame to bend a straight walk along a
        path.
    places : ndarray of complex, shape (frames,), optional
        Planned positions of the hips.
    notes : tuple of str
        Notes on adjustments made to follow a path (rounded corners, turned body), and on labels
        that apply for too short a time.
    """

    start: tuple[int, int]
    transform: PlanarTransform
    transitions: tuple[int, ...]
    end_frame: int
    frames: int
    cost: float = 0.0
    turns: NDArray[np.float64] | None = None
    places: Floor | None = None
    notes: tuple[str, ...] = ()


class NoRoute(InvalidInput):
    """Raised if no route through the graph reaches the goal."""


class _Search(Share):
    """Progress of a search that consists of several attempts, and the receiver of a first route."""

    def __init__(
        self, progress: Progress | None, approximate: Callable[[Route], None] | None
    ) -> None:
        super().__init__(progress)
        self.approximate = approximate

    def attempt(self, number: int, count: int) -> Callable[[float], None]:
        """Return the function to which an attempt reports its own share."""
        return self.part(number / count, (number + 1) / count).at


def plan(
    graph: MotionGraph,
    settings: WalkSettings,
    *,
    progress: Progress | None = None,
    approximate: Callable[[Route], None] | None = None,
) -> Route:
    """Find the route that best meets the goals of a walk; see `MotionGraph.walk`.

    `progress` is called with hundredths of the search, and `approximate` with a first route along a
    path, found by a narrow search.
    """
    from motionloom.motion_graph.walks.beam_search import best_route

    seconds, rng = settings.seconds, np.random.default_rng(settings.seed)
    if sum(goal is not None for goal in (settings.end, settings.path, settings.goal)) > 1:
        raise InvalidInput("a walk can have a path, a goal or an end pose, but only one of them")
    if settings.end is not None:
        if settings.labels is not None:
            raise InvalidInput("a walk to an end pose cannot have labels")
        return _to_frame(graph, seconds, rng, settings.start, settings.end)
    begin = None if settings.start is None else graph.locate(settings.start)
    if settings.path is not None:
        return _along_path(graph, settings, rng, begin, _Search(progress, approximate))
    search = _Search(progress, None)
    if settings.goal is not None:
        return _to_position(graph, settings, rng, begin, search)
    assert settings.labels is not None
    goal = label_goal(Goal(), settings.timeline(), seconds, graph)
    return best_route(graph, goal, rng, begin, search.at)


def _to_position(
    graph: MotionGraph,
    settings: WalkSettings,
    rng: np.random.Generator,
    begin: tuple[int, int] | None,
    search: _Search,
) -> Route:
    """Find a route to a goal that turns the body as little as possible."""
    from motionloom.motion_graph.walks.beam_search import best_route

    goal = position_goal(settings.goal_values(), settings.seconds, graph)
    if settings.labels is not None:
        goal = label_goal(goal, settings.timeline(), settings.seconds, graph)
    best: tuple[float, Route] | None = None
    for number, turning in enumerate((GENTLE_TURN, STRONG_TURN, SHARP_TURN)):
        attempt = search.attempt(number, 3)
        route = best_route(graph, replace(goal, most_turning=turning), rng, begin, attempt)
        assert route.places is not None and route.turns is not None
        missed = float(abs(route.places[-1] - goal.position)) / _REACHED
        if goal.heading is not None:
            off = abs(float(np.angle(np.exp(1j * (_facing(graph, route) - goal.heading)))))
            missed = max(missed, off / _FACED)
        if best is None or missed < best[0]:
            notes = turn_notes(route.turns, graph.fps, "reach the goal")
            best = (missed, replace(route, notes=(*route.notes, *notes)))
        if missed <= 1.0:
            break
    assert best is not None
    return best[1]


def _facing(graph: MotionGraph, route: Route) -> float:
    """Return the heading of the body in the last frame of a route."""
    motion, transform = route.start[0], route.transform
    for number in route.transitions:
        motion = int(graph.transitions.target[number, 0])
        transform = transform @ PlanarTransform.from_array(graph.transitions.transforms[number])
    turned = 0.0 if route.turns is None else float(route.turns.sum())
    last = graph.motions[motion][route.end_frame - 1]
    return float(last.headings()[0]) + float(transform.yaw) + turned


def _along_path(
    graph: MotionGraph,
    settings: WalkSettings,
    rng: np.random.Generator,
    begin: tuple[int, int] | None,
    search: _Search,
) -> Route:
    """Find a route along a path that rounds corners as little as the motions allow."""
    from motionloom.motion_graph.walks.beam_search import NARROW, best_route

    if settings.seconds is not None:
        raise InvalidInput(
            "a walk along a path cannot have seconds, because the path determines its duration"
        )
    path = sampled_path(settings.floor_path())
    goal = Goal()
    if settings.labels is not None:
        goal = label_goal(replace(goal, path=path), settings.timeline(), None, graph)
    if search.approximate is not None:
        with suppress(NoRoute):
            rough = replace(goal, path=path, most_turning=STRONG_TURN)
            own = np.random.default_rng(settings.seed)  # the walk is the same without this search
            search.approximate(best_route(graph, rough, own, begin, width=NARROW))
    best: tuple[float, Route] | None = None
    farthest = np.inf  # largest distance between the best route so far and the path
    for number, (radius, turning) in enumerate(_ROUNDINGS):
        if turning == SHARP_TURN and farthest <= _MISSED:
            break
        here = rounded(path, radius) if radius else path
        try:
            attempt = search.attempt(number, len(_ROUNDINGS))
            route = best_route(
                graph, replace(goal, path=here, most_turning=turning), rng, begin, attempt
            )
        except NoRoute:
            continue
        assert route.places is not None and route.turns is not None
        away, missed = distances(route.places, path), distances(path, route.places)
        detour = _length(route.places) - _DETOUR * _length(path)
        badness = float(away.mean() + away.max() + missed.max()) + max(detour, 0.0)
        if best is None or badness < best[0]:
            notes = path_notes(path, radius, route.turns, graph)
            best = (badness, replace(route, notes=(*route.notes, *notes)))
            farthest = max(float(away.max()), float(missed.max()))
        cut = distances(path, here).max()
        if cut <= _CUT and away.max() <= cut + _FOLLOWED and detour <= 0.0:
            break
    if best is None:
        raise NoRoute(_no_route(graph, path))
    return best[1]


def _length(places: Floor) -> float:
    return float(np.abs(np.diff(places)).sum())


def _no_route(graph: MotionGraph, path: Floor) -> str:
    count = len(graph.motions)
    seconds = max(len(motion) for motion in graph.motions) / graph.fps
    who = f"its {count} motions do" if count > 1 else "its motion does"
    return (
        f"no route through the graph follows the path without laps: {who} not cover "
        f"{STEP * (len(path) - 1):.1f} m or turn as the path does (the longest motion lasts "
        f"{seconds:.1f} s; the usual speed is {usual_speed(graph):.1f} m/s). Add walking motions "
        "and motions that turn, mirror them (mirror), allow more transitions (per_minute), "
        "or draw wider bends"
    )


def _to_frame(
    graph: MotionGraph,
    seconds: float | None,
    rng: np.random.Generator,
    start: MotionFrame | str | None,
    end: MotionFrame | str,
) -> Route:
    """Find a route that is random at first and then takes the shortest path to the end pose."""
    motion, frame = graph.locate(end)
    remaining = frames_to_place(graph, motion, frame)
    if not np.isfinite(remaining).any():
        raise InvalidInput(
            f"no transition leads to frame {frame} of {graph.names[motion]}; choose a later frame"
        )
    if start is None:
        enter = graph.transitions.enter[rng.integers(len(graph))]
        here = (int(enter[0]), int(enter[1]))
    else:
        here = graph.locate(start)
    first, taken, played = here, [], 0
    limit = None if seconds is None else round(seconds * graph.fps)
    while True:
        frames, which = graph.departures(*here)
        rest = frames - here[1] + remaining[which] if len(which) else np.zeros(0)
        nearest = rest.min(initial=np.inf)
        ahead = frame - here[1] if here[0] == motion and frame >= here[1] else np.inf
        if limit is None:
            good = rest == nearest
            stop = np.isfinite(ahead) and ahead <= nearest
        else:
            good = np.isfinite(rest) & (played + rest <= limit)
            stop = np.isfinite(ahead) and not good.any()
            if not good.any() and not stop:
                good = rest == nearest
        if stop:
            break
        if not len(which) or not np.isfinite(rest[good]).any():
            raise InvalidInput(
                f"no route leads from {graph.names[here[0]]}:{here[1]} to the end pose"
            )
        pick = int(rng.choice(np.flatnonzero(good)))
        played += int(frames[pick] - here[1]) + graph.transitions.blend
        taken.append(int(which[pick]))
        enter = graph.transitions.enter[taken[-1]]
        here = (int(enter[0]), int(enter[1]))
    played += frame + 1 - here[1]
    transform = PlanarTransform.to_origin(graph.motions[first[0]][first[1]])
    return Route(first, transform, tuple(taken), frame + 1, played)
