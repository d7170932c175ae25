"""Strongly connected components of a motion graph: the part that can be played endlessly.

Nodes are frames of motions: a *departure*, the first frame of a motion that is blended away, and
an *arrival*, the first frame that belongs to the target motion alone. Playing leads from each
node of a motion to the next; a transition leads from its departure to its arrival. In a strongly
connected component every node can be reached from every other, so playback never ends.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Nodes:
    """Departures and arrivals of n transitions, and the edges between them.

    Attributes
    ----------
    motion, frame : ndarray of int64, shape (2 n,)
        First all departures, then all arrivals.
    edges : ndarray of int64, shape (E, 2)
        The first n are the transitions, the others lead along a motion.
    """

    motion: Ints
    frame: Ints
    edges: Ints


def nodes_of(leave: Ints, enter: Ints) -> Nodes:
    """Nodes and edges of transitions.

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
    # At one frame, an arrival comes before a departure: the motion can still be left.
    order = np.lexsort((departs, place[:, 1], place[:, 0]))
    along = place[order[1:], 0] == place[order[:-1], 0]
    play = np.stack([order[:-1], order[1:]], axis=1)[along]
    blend = np.stack([np.arange(count), count + np.arange(count)], axis=1)
    return Nodes(place[:, 0], place[:, 1], np.concatenate([blend, play]).astype(np.int64))


def endless(leave: Ints, enter: Ints) -> NDArray[np.bool_]:
    """Mask (n,) of the transitions in the largest strongly connected component.

    The largest is the one with the most transitions; without a cycle the mask is all false.

    Examples
    --------
    The second transition leads to a motion that nothing leaves:

    >>> endless(np.array([[0, 30], [0, 20]]), np.array([[0, 12], [1, 0]]))
    array([ True, False])
    """
    return components(leave, enter) == 0


def components(leave: Ints, enter: Ints) -> Ints:
    """Number (n,) of the strongly connected component of each transition, the largest first.

    -1 for transitions from one component to another. Of equal components the one found first is
    the larger.

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
