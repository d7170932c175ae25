"""Routes through a motion graph: along a path, to a place, as labels say, from pose to pose.

All but the last are one search. What has been walked so far is held against what is wanted,
frame by frame; of all ways to go on only the best are followed, in order of progress (along
the path, or in time), and none that already costs more than the best complete one. So a way
that is dear at first may still win, as long as it is among the best at every stage.

How many frames it takes to get somewhere in a motion graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.motion.rotations.planar_transform import to_origin
from motionloom.motion_graph.goals import Wish, goal_wish, label_wish, path_wish
from motionloom.parallel import Progress

if TYPE_CHECKING:
    from motionloom.motion_graph.graph import MotionGraph, Place


def frames_to(graph: MotionGraph, label: str) -> NDArray[np.float64]:
    """Frames from the beginning of each transition to a motion with `label`, shape (n,).

    Raises
    ------
    InvalidInput
        If no motion of the graph has it; the message lists the labels there are.
    """
    wanted = [label in graph.labels.get(name, ()) for name in graph.names]
    if not any(wanted):
        known = sorted({one for name in graph.names for one in graph.labels.get(name, ())})
        raise InvalidInput(
            f"no motion of the graph has the label {label!r}; there are: {', '.join(known) or '-'}"
        )
    blend = float(graph.transitions.blend)
    return blend + _ways(
        graph, np.where(np.array(wanted)[graph.transitions.target[:, 0]], 0.0, np.inf)
    )


def frames_to_place(graph: MotionGraph, motion: int, frame: int) -> NDArray[np.float64]:
    """Frames from the beginning of each transition to a frame of a motion, shape (n,)."""
    transitions = graph.transitions
    ahead = frame - transitions.enter[:, 1]
    direct = np.where((transitions.target[:, 0] == motion) & (ahead >= 0), ahead, np.inf)
    return transitions.blend + _ways(graph, direct)


def _ways(graph: MotionGraph, direct: NDArray[np.float64]) -> NDArray[np.float64]:
    """Frames from each arrival to the goal, where `direct` (n,) have it without a transition."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import dijkstra

    leave, enter = graph.transitions.leave, graph.transitions.enter
    count = len(leave)
    # One node per arrival and one for the goal; edges backwards, from the goal to all.
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
    # A zero would mean no edge; half a frame does not change which way is shorter.
    weights = np.maximum(np.concatenate(costs), 0.5)
    matrix = coo_array(
        (weights, (np.concatenate(rows), np.concatenate(columns))), shape=(count + 1,) * 2
    )
    return np.floor(dijkstra(matrix.tocsr(), indices=np.array([count]))[0, :count])


@dataclass(frozen=True)
class Route:
    """Where to begin, which transitions to take, and where to end.

    Attributes
    ----------
    start : (int, int)
        Motion and frame.
    move : ndarray, shape (3,)
        Where that motion is put on the floor, ``x, z, yaw``.
    transitions : tuple of int
    end_frame : int
        The last motion is played up to, and without, this frame.
    frames : int
        How many there are in all.
    cost : float
        What the search minimised, mean per frame.
    turns : ndarray, shape (frames,), optional
        Radians by which the body is turned on the spot in each frame, to bend a straight
        walk along a path.
    """

    start: tuple[int, int]
    move: NDArray[np.float64]
    transitions: tuple[int, ...]
    end_frame: int
    frames: int
    cost: float = 0.0
    turns: NDArray[np.float64] | None = None


def plan(
    graph: MotionGraph,
    seconds: float | None,
    seed: int | np.random.Generator,
    *,
    start: Place | str | None = None,
    end: Place | str | None = None,
    path: Any = None,
    goal: Any = None,
    labels: Any = None,
    progress: Progress | None = None,
) -> Route:
    """The route that serves the wishes best; see `MotionGraph.walk`."""
    from motionloom.motion_graph.beam_search import best_route

    if seconds is not None and not (np.isfinite(seconds) and seconds > 0.0):
        raise InvalidInput(f"seconds must be positive; got {seconds}")
    if sum(wish is not None for wish in (end, path, goal)) > 1:
        raise InvalidInput("a walk can have a path, a goal or an end pose; only one of them")
    if end is not None:
        if labels is not None:
            raise InvalidInput("a walk to an end pose takes no labels")
        return _to_place(graph, seconds, np.random.default_rng(seed), start, end)
    wish = Wish()
    if path is not None:
        wish = path_wish(path, seconds)
    elif goal is not None:
        wish = goal_wish(goal, seconds, graph)
    if labels is not None:
        wish = label_wish(wish, labels, seconds, graph)
    begin = None if start is None else graph.place(start)
    return best_route(graph, wish, np.random.default_rng(seed), begin, progress)


def _to_place(
    graph: MotionGraph,
    seconds: float | None,
    rng: np.random.Generator,
    start: Place | str | None,
    end: Place | str,
) -> Route:
    """At random as long as there is time, then on the shortest way to the end pose."""
    motion, frame = graph.place(end)
    ways = frames_to_place(graph, motion, frame)
    if not np.isfinite(ways).any():
        raise InvalidInput(
            f"no transition leads to frame {frame} of {graph.names[motion]}; choose a later one"
        )
    if start is None:
        enter = graph.transitions.enter[rng.integers(len(graph))]
        here = (int(enter[0]), int(enter[1]))
    else:
        here = graph.place(start)
    first, taken, played = here, [], 0
    limit = None if seconds is None else round(seconds * graph.fps)
    while True:
        frames, which = graph.departures(*here)
        rest = frames - here[1] + ways[which] if len(which) else np.zeros(0)
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
                f"no way leads from {graph.names[here[0]]}:{here[1]} to the end pose"
            )
        pick = int(rng.choice(np.flatnonzero(good)))
        played += int(frames[pick] - here[1]) + graph.transitions.blend
        taken.append(int(which[pick]))
        enter = graph.transitions.enter[taken[-1]]
        here = (int(enter[0]), int(enter[1]))
    played += frame + 1 - here[1]
    move = to_origin(graph.motions[first[0]][first[1]])
    return Route(first, move, tuple(taken), frame + 1, played)
