"""A dance floor: many characters, each with an endless dance of its own, none in another's way.

Takes that have a rhythm are danced as a choreography, all on one beat, each character about a
place of its own. Takes that have none are walked through as a motion graph; of a few walks
that one is taken which keeps most to its place.

Where many characters may dance without getting into each other's way.

A character's *footprint* is all of the floor that it is ever above, in any frame, with any
joint. Footprints are laid out so that no two come nearer than a body width: then no two bodies
do, whatever they do and whenever they do it. They are drawn on squared paper. All free places
of a footprint are found at once, by one correlation of the paper with the footprint and its
surroundings, and the one nearest to the middle of the floor is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.blending.player import frame_count
from motionloom.errors import InvalidInput
from motionloom.motion import Motion
from motionloom.motion.diagnostics.quality import QualityReport, quality_report, usual_acceleration
from motionloom.motion_graph import motion_graph
from motionloom.rhythm import choreography

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


KINDS = ("auto", "choreography", "graph")
_TRIES = 4  # walks of which the one that keeps most to its place is taken
_MOST_MINUTES = 20.0  # of takes; every frame of a graph is compared with every other


@dataclass(frozen=True, eq=False)
class DanceFloor:
    """Characters that dance next to each other.

    Attributes
    ----------
    motions : tuple of Motion
        One per character, where it dances.
    kind : {"choreography", "graph"}
        What they are made from.
    takes : tuple of Motion
        What they were made from, on their skeleton.
    least_distance : float
        How near two bodies come in any frame, joint to joint over the floor, in metres.
    """

    motions: tuple[Motion, ...]
    kind: str
    takes: tuple[Motion, ...]
    least_distance: float

    def __len__(self) -> int:
        return len(self.motions)

    @property
    def size(self) -> tuple[float, float]:
        """Metres in x and in z that they take up altogether."""
        points = np.concatenate([floor_points(m).reshape(-1, 2) for m in self.motions])
        wide, deep = np.ptp(points, axis=0) + BODY_WIDTH
        return float(wide), float(deep)

    def quality(self) -> QualityReport:
        """The worst that any of the characters shows."""
        usual = usual_acceleration(self.takes)
        return QualityReport.worst_of(
            [quality_report(motion, usual=usual) for motion in self.motions]
        )


def dance_floor(
    takes: Sequence[Motion],
    count: int = 12,
    *,
    seconds: float = 60.0,
    seed: int = 0,
    kind: str = "auto",
    floor: tuple[float, float] | None = None,
    width: float = BODY_WIDTH,
) -> DanceFloor:
    """Let characters dance next to each other, each at random.

    Parameters
    ----------
    takes : sequence of Motion
        What they dance. All dance on the body of the first.
    count : int
        How many characters.
    seconds : float
    seed : int
        The same seed, the same dance.
    kind : {"auto", "choreography", "graph"}
        ``auto``: a choreography if any take has a rhythm.
    floor : (float, float), optional
        Width and depth of the floor, metres. Default: as large as needed.
    width : float
        Least distance of two bodies, metres.

    Raises
    ------
    InvalidInput
        If the takes give no endless motion, or the characters do not fit on the floor.

    Examples
    --------
    >>> import motionloom as ml
    >>> floor = dance_floor([ml.demo.clip("dance_groove")], 3, seconds=4, seed=1)
    >>> len(floor), floor.kind, floor.least_distance > 0.5
    (3, 'choreography', True)
    """
    if count < 1:
        raise InvalidInput(f"a dance floor needs at least one character; got {count}")
    if kind not in KINDS:
        raise InvalidInput(f"kind must be one of {', '.join(KINDS)}; got {kind!r}")
    if not (np.isfinite(width) and width > 0.0):
        raise InvalidInput(f"width must be a distance in metres above zero; got {width}")
    if not takes:
        raise InvalidInput("a dance floor needs takes to dance; got none")
    frame_count(seconds, None, takes[0].fps)  # complains before the work
    seeds = np.random.SeedSequence(seed).spawn(count + 1)
    found, parts, dances = _dances(takes, kind, seconds, seeds[1:])
    moves = packed(dances, floor=floor, width=width, seed=np.random.default_rng(seeds[0]))
    placed = tuple(
        replace(motion.transform(yaw=float(yaw), shift=(x, 0.0, z)), name=f"dancer_{n + 1}")
        for n, (motion, (x, z, yaw)) in enumerate(zip(dances, moves, strict=True))
    )
    return DanceFloor(placed, found, parts, least_distance(placed))


def dance_takes(names: Sequence[str], labels: Any) -> list[str]:
    """Of a library's motions those labelled as dances (``dance...``); all if there are none.

    Parameters
    ----------
    names : sequence of str
    labels : callable
        Labels of a motion, by name.

    Examples
    --------
    >>> dance_takes(["a", "b"], {"a": ("walk",), "b": ("dance_sway",)}.get)
    ['b']
    """
    dances = [n for n in names if any(label.lower().startswith("dance") for label in labels(n))]
    return dances or list(names)


def _dances(
    takes: Sequence[Motion], kind: str, seconds: float, seeds: Iterable[Any]
) -> tuple[str, tuple[Motion, ...], list[Motion]]:
    """How and of what they are made, and one motion for each seed, about the origin."""
    if kind != "graph":
        try:
            steps = choreography(takes)
        except InvalidInput:
            if kind == "choreography":
                raise
        else:
            parts = tuple(movement.motion for movement in steps.movements)
            return "choreography", parts, [_danced(steps, seconds, seed) for seed in seeds]
    minutes = sum(take.duration for take in takes) / 60.0
    if minutes > _MOST_MINUTES:
        raise InvalidInput(
            f"{len(takes)} takes of {minutes:.0f} minutes are too many for one motion graph; "
            f"choose up to {_MOST_MINUTES:.0f} minutes of them by label or by name"
        )
    graph = motion_graph(takes)
    return "graph", graph.motions, [_walked(graph, seconds, seed) for seed in seeds]


def _danced(steps, seconds: float, seed) -> Motion:
    player = steps.player(60.0 / steps.period, seed=np.random.default_rng(seed))
    player.steer(target=(0.0, 0.0))
    return player.record(seconds=seconds)


def _walked(graph, seconds: float, seed) -> Motion:
    walks = [graph.walk(seconds, np.random.default_rng(s)) for s in seed.spawn(_TRIES)]
    return walks[int(np.argmin([_room(walk) for walk in walks]))]


def _room(motion: Motion) -> int:
    """Squares of the floor that a motion takes up."""
    cells: NDArray[np.bool_] = footprint(floor_points(motion))[0]
    return int(cells.sum())
