"""Strongly connected components of a motion graph, and bridges between them.

Nodes are frames of motions. A *departure* is the first frame of a motion that is blended with the
target; an *arrival* is the first frame after the blend, which belongs only to the target motion.
Playback leads from each node of a motion to the next, and a transition leads from its departure to
its arrival. In a strongly connected component, every node can be reached from every other, so
playback never ends.

Only the largest component is kept. *Bridges* can connect the other components to it, which would
otherwise be cut off. For example, walks and runs do not stay similar for the duration of a blend,
because different feet are in contact. A graph of walks and runs therefore falls apart, and only the
larger part is kept. People change from a walk to a run within one step. A bridge does the same at
the most similar poses, if the steps alternate and no joint moves more abruptly than in other
transitions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.motion_graph.transitions.candidates import TransitionCandidates, inside
from motionloom.motion_graph.transitions.foot_support import FootSupport, alternates

if TYPE_CHECKING:
    from motionloom.motion_graph.transitions.transitions import Transitions

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Nodes:
    """Departures and arrivals of n transitions, with the edges between them.

    Attributes
    ----------
    motion, frame : ndarray of int64, shape (2 n,)
        First all departures, then all arrivals.
    edges : ndarray of int64, shape (E, 2)
        The first n edges are the transitions; the other edges follow a motion to its next node.
    """

    motion: Ints
    frame: Ints
    edges: Ints


def nodes_of(leave: Ints, enter: Ints) -> Nodes:
    """Return the nodes and edges that transitions form.

    Parameters
    ----------
    leave, enter : ndarray of int64, shape (n, 2)
        Motion and frame of each departure and of each arrival.

    Examples
    --------
    >>> nodes = nodes_of(np.array([[0, 30]]), np.array([[0, 12]]))
    >>> nodes.edges
    array([[0, 1],
           [1, 0]])
    """
    count = len(leave)
    place = np.concatenate([leave, enter]).reshape(-1, 2)
    departs = np.arange(2 * count) < count
    # At the same frame, an arrival sorts before a departure, so the motion can still be left there.
    order = np.lexsort((departs, place[:, 1], place[:, 0]))
    along = place[order[1:], 0] == place[order[:-1], 0]
    play = np.stack([order[:-1], order[1:]], axis=1)[along]
    blend = np.stack([np.arange(count), count + np.arange(count)], axis=1)
    return Nodes(place[:, 0], place[:, 1], np.concatenate([blend, play]).astype(np.int64))


def endless(leave: Ints, enter: Ints) -> NDArray[np.bool_]:
    """Return a mask (n,): True for transitions in the largest strongly connected component.

    The largest component has the most transitions. If there is no cycle, the mask is all False.

    Examples
    --------
    The second transition leads to a motion that no transition leaves:

    >>> endless(np.array([[0, 30], [0, 20]]), np.array([[0, 12], [1, 0]]))
    array([ True, False])
    """
    return components(leave, enter) == 0


def components(leave: Ints, enter: Ints) -> Ints:
    """Return the strongly connected component (n,) of each transition; 0 is the largest.

    Transitions from one component to another get -1. Ties are broken in the order of discovery.

    Examples
    --------
    >>> components(np.array([[0, 30], [0, 20]]), np.array([[0, 12], [1, 0]]))
    array([ 0, -1])
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    count = len(leave)
    if count == 0:
        return np.zeros(0, np.int64)
    nodes = nodes_of(leave, enter)
    ones = np.ones(len(nodes.edges), dtype=np.int8)
    matrix = coo_array((ones, (nodes.edges[:, 0], nodes.edges[:, 1])), shape=(2 * count,) * 2)
    _, part = connected_components(matrix.tocsr(), directed=True, connection="strong")
    inside = part[:count] == part[count:]
    sizes = np.bincount(part[:count][inside], minlength=part.max() + 1)
    rank = np.empty(len(sizes), np.int64)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    return np.where(inside, rank[part[:count]], -1)


_EACH_WAY = 4  # number of bridges to a part, and number of bridges back
_TRIED = 100  # number of candidates tried in each direction, most similar first


def bridges(
    lengths: Sequence[int],
    foot_supports: Sequence[FootSupport],
    candidates: Mapping[tuple[int, int], TransitionCandidates],
    made: Transitions,
    make: Callable[..., Transitions],
) -> list[Transitions]:
    """Find transitions that connect the largest part of a graph with the other parts.

    Parameters
    ----------
    lengths : sequence of int
        Number of frames of each motion.
    foot_supports : sequence of FootSupport
    candidates : mapping of (int, int) to TransitionCandidates
        Candidates for each pair of motions, before foot contacts are compared.
    made : Transitions
        Transitions found so far.
    make : callable
        Function of a pair of motions, frames (n, 2), errors and means that returns the transitions
        that are smooth enough.
    """
    part = components(made.leave, made.enter)
    joining: list[Transitions] = []
    for number in range(1, part.max(initial=-1) + 1):
        ways = []
        for source, target in ((0, number), (number, 0)):
            before = _first_arrivals(len(lengths), made, part == source)
            after = _last_departures(len(lengths), made, part == target)
            rows = _rows(candidates, lengths, foot_supports, made.blend, before, after)
            ways.append(_made(rows, make))
        if all(ways):
            joining += [each for way in ways for each in way]
    return joining


def _first_arrivals(count: int, made: Transitions, mask: NDArray[np.bool_]) -> Ints:
    """Return the first reachable frame of each motion within a part of the graph."""
    first = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(first, made.enter[mask, 0], made.enter[mask, 1])
    return first


def _last_departures(count: int, made: Transitions, mask: NDArray[np.bool_]) -> Ints:
    """Return the last departure from each motion within a part of the graph."""
    last = np.full(count, -1, np.int64)
    np.maximum.at(last, made.leave[mask, 0], made.leave[mask, 1])
    return last


def _rows(candidates, lengths, foot_supports, blend: int, before: Ints, after: Ints) -> list[tuple]:
    """Return candidates (error, mean, pair, frames) between two parts, most similar first."""
    rows = []
    for (a, b), pair in candidates.items():
        for (p, q), frames in (((a, b), pair.frames), ((b, a), pair.frames[:, ::-1])):
            i, j = frames[:, 0], frames[:, 1]
            good = (i - blend // 2 >= before[p]) & (j + blend - blend // 2 <= after[q])
            good &= inside(frames, lengths[p], lengths[q], blend)
            good &= alternates(foot_supports[p].last[i], foot_supports[q].next[j])
            for k in np.flatnonzero(good):
                error, mean = float(pair.errors[k]), float(pair.means[k])
                rows.append((error, mean, p, q, int(i[k]), int(j[k])))
    return sorted(rows)[:_TRIED]


def _made(rows: list[tuple], make: Callable[..., Transitions]) -> list[Transitions]:
    made: list[Transitions] = []
    for error, mean, p, q, i, j in rows:
        bridge = make((p, q), np.array([[i, j]]), np.array([error]), np.array([mean]))
        if len(bridge):
            made.append(bridge)
        if len(made) == _EACH_WAY:
            break
    return made
