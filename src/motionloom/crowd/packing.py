"""Where many characters may dance without getting into each other's way.

A character's *footprint* is all of the floor that it is ever above, in any frame, with any
joint. Footprints are laid out so that no two come nearer than a body width: then no two bodies
do, whatever they do and whenever they do it. They are drawn on squared paper. All free places
of a footprint are found at once, by one correlation of the paper with the footprint and its
surroundings, and the one nearest to the middle of the floor is taken.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput
from motionloom.motion import Motion

Array = NDArray[np.float64]
Cells = NDArray[np.bool_]

BODY_WIDTH = 0.5  # metres, shoulder to shoulder
_CELL = 0.1  # metres: a square of the paper
_MOST_CELLS = 200  # along the longest footprint; squares are larger then


def floor_points(motion: Motion) -> Array:
    """Where joints and end sites are above the floor: x, z of shape (T, P, 2)."""
    return motion.positions(end_sites=True)[..., [0, 2]].astype(np.float64)


def footprint(points: ArrayLike, cell: float = _CELL) -> tuple[Cells, NDArray[np.int64]]:
    """Squares of the floor with any point in them.

    Parameters
    ----------
    points : array_like, shape (..., 2)
        Floor positions x, z.
    cell : float
        Side of a square, metres.

    Returns
    -------
    cells : ndarray of bool, shape (X, Z)
    corner : ndarray of int64, shape (2,)
        Number of the first square in x and z; square 0 begins at the origin.

    Examples
    --------
    >>> cells, corner = footprint([[-0.05, 0.15], [0.15, 0.35]])
    >>> cells.astype(int), corner
    (array([[1, 0, 0],
           [0, 0, 0],
           [0, 0, 1]]), array([-1,  1]))
    """
    squares = np.floor(np.asarray(points, np.float64).reshape(-1, 2) / cell).astype(np.int64)
    corner = squares.min(axis=0)
    cells = np.zeros(squares.max(axis=0) - corner + 1, bool)
    cells[tuple((squares - corner).T)] = True
    return cells, corner


def packed(
    motions: Sequence[Motion],
    *,
    floor: tuple[float, float] | None = None,
    width: float = BODY_WIDTH,
    seed: int | np.random.Generator = 0,
) -> Array:
    """Moves along the floor after which no two motions get into each other's way.

    Parameters
    ----------
    motions : sequence of Motion
    floor : (float, float), optional
        Width and depth of the floor in metres, about the origin. Default: as large as needed.
    width : float
        Least distance of two bodies, metres; half of it is kept to the edges of the floor.
    seed : int or Generator
        Which way each of them faces.

    Returns
    -------
    moves : ndarray, shape (N, 3)
        ``x, z, yaw`` of each.

    Raises
    ------
    InvalidInput
        If they do not all fit on the floor.

    Examples
    --------
    >>> import motionloom as ml
    >>> packed([ml.demo.clip("dance_groove")] * 3).shape
    (3, 3)
    """
    if floor is not None and not all(np.isfinite(side) and side > 0.0 for side in floor):
        raise InvalidInput(f"a floor has a width and a depth in metres; got {floor}")
    yaws = np.random.default_rng(seed).uniform(-np.pi, np.pi, len(motions))
    points = [_turned(floor_points(m), yaw) for m, yaw in zip(motions, yaws, strict=True)]
    longest = max(float(np.ptp(p.reshape(-1, 2), axis=0).max()) for p in points)
    cell = max(_CELL, longest / _MOST_CELLS)
    prints = [footprint(p, cell) for p in points]
    # Points are as far apart as the middles of their squares, or up to a diagonal less.
    reach = width / cell + np.sqrt(2.0)
    around = [_grown(cells, reach) for cells, _ in prints]
    edge = int(np.ceil(reach)) - int(np.ceil(0.5 * width / cell))  # may lie off the floor
    if floor is not None:
        sides = [(int(floor[0] / cell) + 2 * edge, int(floor[1] / cell) + 2 * edge)]
    else:
        least = int(np.sqrt(sum(a.size for a in around))) + max(max(a.shape) for a in around)
        sides = [(least << k, least << k) for k in range(8)]
    corners: list[NDArray[np.int64]] = []
    for side in sides:
        corners = _laid_out(side, [cells for cells, _ in prints], around)
        if len(corners) == len(motions):
            break
    else:
        assert floor is not None
        raise InvalidInput(
            f"{len(motions)} characters do not fit on a floor of {floor[0]:g} by {floor[1]:g} m: "
            f"there is room for {len(corners)}; take a larger floor, fewer characters, or less "
            "time"
        )
    order = _largest_first(around)
    moves = np.zeros((len(motions), 3))
    for number, corner in zip(order, corners, strict=True):
        moves[number] = *(cell * (corner - prints[number][1])), yaws[number]
    return moves


def least_distance(motions: Sequence[Motion]) -> float:
    """How near two bodies come in any frame, over the floor, joint to joint, in metres.

    Examples
    --------
    >>> import motionloom as ml
    >>> dance = ml.demo.clip("dance_sway")
    >>> apart = least_distance([dance, dance.transform(shift=(3.0, 0.0, 0.0))])
    >>> 1.0 < apart < 3.0
    True
    """
    points = [floor_points(motion) for motion in motions]
    middles = np.array([p.mean(axis=1) for p in points])  # (N, T, 2)
    spreads = np.array(
        [np.linalg.norm(p - p.mean(axis=1, keepdims=True), axis=-1).max(axis=1) for p in points]
    )
    nearest = np.inf
    for a in range(len(points)):
        for b in range(a):
            apart = np.linalg.norm(middles[a] - middles[b], axis=-1) - spreads[a] - spreads[b]
            for frame in np.argsort(apart):  # those that may be nearest first
                if apart[frame] >= nearest:
                    break
                gaps = points[a][frame][:, None] - points[b][frame][None]
                nearest = min(nearest, float(np.sqrt((gaps**2).sum(axis=-1).min())))
    return nearest


def _turned(points: Array, yaw: float) -> Array:
    turned = (points[..., 1] + 1j * points[..., 0]) * np.exp(1j * yaw)
    return np.stack([turned.imag, turned.real], axis=-1)


def _grown(cells: Cells, reach: float) -> Cells:
    """Squares within `reach` squares of those of a footprint."""
    from scipy.ndimage import distance_transform_edt

    return distance_transform_edt(~np.pad(cells, int(np.ceil(reach)))) <= reach


def _largest_first(around: Sequence[Cells]) -> NDArray[np.int64]:
    return np.argsort([-int(cells.sum()) for cells in around], kind="stable")


def _laid_out(
    side: tuple[int, int], prints: Sequence[Cells], around: Sequence[Cells]
) -> list[NDArray[np.int64]]:
    """First square of each footprint from the middle, the largest first, while there is room."""
    paper = np.zeros(side, bool)
    corners = []
    for number in _largest_first(around):
        place = _free_place(paper, around[number])
        if place is None:
            break
        margin = (np.array(around[number].shape) - prints[number].shape) // 2
        x, z = first = place + margin
        paper[x : x + prints[number].shape[0], z : z + prints[number].shape[1]] |= prints[number]
        corners.append(first - np.array(side) // 2)
    return corners


def _free_place(paper: Cells, cells: Cells) -> NDArray[np.int64] | None:
    """First square (2,) of the free place of `cells` that is nearest to the middle."""
    from scipy.signal import fftconvolve

    if any(c > p for c, p in zip(cells.shape, paper.shape, strict=True)):
        return None
    overlap = fftconvolve(paper.astype(np.float32), cells[::-1, ::-1].astype(np.float32), "valid")
    places = np.argwhere(overlap < 0.5)
    if not len(places):
        return None
    away = places + 0.5 * (np.array(cells.shape) - paper.shape)
    return places[int(np.argmin((away**2).sum(axis=1)))]
