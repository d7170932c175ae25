"""How many frames it takes to get somewhere in a motion graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput

if TYPE_CHECKING:
    from motionloom.synthesis.motiongraph.graph import MotionGraph


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
