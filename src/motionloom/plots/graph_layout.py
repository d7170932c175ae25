"""Places for the nodes of a graph: as far apart in the picture as in the graph.

Stress majorisation (Gansner, Koren & North 2004) from classical scaling, then boxes that
overlap push each other away.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

_NEARER = 0.7
_ROUNDS = 300
_PUSHES = 400


def graph_layout(distances: ArrayLike, box: tuple[float, float]) -> NDArray[np.float64]:
    """Where to draw N nodes.

    Parameters
    ----------
    distances : array_like, shape (N, N)
        Between all nodes, along the graph; symmetric and finite.
    box : (width, height)
        Room that each node needs.

    Returns
    -------
    places : ndarray, shape (N, 2)
        Centres of boxes that do not overlap; the first is at the origin.

    Examples
    --------
    >>> chain = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
    >>> places = graph_layout(chain, (1.0, 1.0))
    >>> gaps = np.linalg.norm(places[:, None] - places, axis=2)
    >>> bool(gaps[0, 2] > 1.5 * gaps[0, 1] > 1.5)
    True
    """
    target = np.asarray(distances, np.float64)
    count = len(target)
    if count == 1:
        return np.zeros((1, 2))
    size = max(box)
    off = ~np.eye(count, dtype=bool)
    least = np.median(np.where(off, target, np.inf).min(axis=1))
    # Far nodes are brought nearer; the typical nearest neighbour is one box away.
    ratio = np.maximum(target, 0.05 * max(least, 1e-12)) / max(least, 1e-12)
    target = np.where(off, 1.35 * size * ratio**_NEARER, 0.0)
    places = _majorised(target, _scaled(target))
    places = _apart(_wide(places), box)
    return places - places[0]


def _scaled(target: NDArray[np.float64]) -> NDArray[np.float64]:
    """Classical multidimensional scaling to the plane."""
    squares = target**2
    squares -= squares.mean(axis=0)
    squares -= squares.mean(axis=1, keepdims=True)
    values, vectors = np.linalg.eigh(-0.5 * squares)
    plane = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0.0))
    # Nodes that fall together would stay together; a spiral tells them apart.
    turn = np.arange(len(target)) * 2.399963
    reach = 1e-3 * target.max() * np.sqrt(np.arange(1, len(target) + 1))
    return plane + reach[:, None] * np.stack([np.cos(turn), np.sin(turn)], axis=1)


def _majorised(target: NDArray[np.float64], places: NDArray[np.float64]) -> NDArray[np.float64]:
    weights = np.where(target > 0.0, 1.0 / np.where(target > 0.0, target, 1.0) ** 2, 0.0)
    laplacian = np.diag(weights.sum(axis=1)) - weights
    inverse = np.linalg.pinv(laplacian)
    for _ in range(_ROUNDS):
        gaps = np.linalg.norm(places[:, None] - places, axis=2)
        pull = -weights * target / np.where(gaps > 1e-9, gaps, np.inf)
        np.fill_diagonal(pull, 0.0)
        np.fill_diagonal(pull, -pull.sum(axis=1))
        moved = inverse @ (pull @ places)
        if np.abs(moved - places).max() < 1e-4 * target.max():
            return moved
        places = moved
    return places


def _wide(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turned so that the longest extent lies from left to right."""
    centred = places - places.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    return centred @ axes.T


def _apart(places: NDArray[np.float64], box: tuple[float, float]) -> NDArray[np.float64]:
    """Boxes that overlap move apart, each pair along the way that is shorter."""
    places = places.copy()
    room = np.asarray(box)
    for _ in range(_PUSHES):
        gaps = places[:, None] - places
        depth = room - np.abs(gaps)
        over = (depth > 1e-3 * room).all(axis=2) & ~np.eye(len(places), dtype=bool)
        if not over.any():
            break
        along_x = depth[..., 0] < depth[..., 1]
        side = np.where(gaps >= 0.0, 1.0, -1.0)
        push = 0.5 * side * depth
        push[..., 0] *= over & along_x
        push[..., 1] *= over & ~along_x
        crowd = np.maximum(over.sum(axis=1, keepdims=True), 1)
        places += 1.02 * push.sum(axis=1) / np.sqrt(crowd)
    return places
