"""What of a graph can be played for ever: its largest strongly connected part.

Nodes are places in motions: a *departure*, the first frame of a motion that is blended away,
and an *arrival*, the first frame that is purely of the motion that was blended into. Playing
on leads from each node of a motion to the next one; a transition leads from its departure to
its arrival. In a strongly connected part every node can be reached from every other: whoever
stays inside never comes to an end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Nodes:
    """Departures and arrivals of n transitions, and the way between them.

    Attributes
    ----------
    motion, frame : ndarray of int64, shape (2 n,)
        MotionFrame of each node: first all departures, then all arrivals.
    edges : ndarray of int64, shape (E, 2)
        From node to node; the first n are the transitions, the rest is playing on.
    """

    motion: Ints
    frame: Ints
    edges: Ints


def nodes_of(leave: Ints, enter: Ints) -> Nodes:
    """Nodes and edges of transitions.

    Parameters
    ----------
    leave, enter : ndarray of int64, shape (n, 2)
        Motion and frame of each departure, and of each arrival.

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
    # Of a departure and an arrival at one frame the arrival comes first: it can still leave.
    order = np.lexsort((departs, place[:, 1], place[:, 0]))
    along = place[order[1:], 0] == place[order[:-1], 0]
    play = np.stack([order[:-1], order[1:]], axis=1)[along]
    blend = np.stack([np.arange(count), count + np.arange(count)], axis=1)
    return Nodes(place[:, 0], place[:, 1], np.concatenate([blend, play]).astype(np.int64))


def endless(leave: Ints, enter: Ints) -> NDArray[np.bool_]:
    """Which transitions lie in the largest strongly connected part, shape (n,).

    The part with the most transitions; none at all where there is no cycle.

    Examples
    --------
    The second leads to where nothing leaves:

    >>> endless(np.array([[0, 30], [0, 20]]), np.array([[0, 12], [1, 0]]))
    array([ True, False])
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    count = len(leave)
    if count == 0:
        return np.zeros(0, dtype=bool)
    nodes = nodes_of(leave, enter)
    ones = np.ones(len(nodes.edges), dtype=np.int8)
    matrix = coo_array((ones, (nodes.edges[:, 0], nodes.edges[:, 1])), shape=(2 * count,) * 2)
    _, part = connected_components(matrix.tocsr(), directed=True, connection="strong")
    inside = part[:count] == part[count:]
    if not inside.any():
        return inside
    largest = np.argmax(np.bincount(part[:count][inside]))
    return inside & (part[:count] == largest)
