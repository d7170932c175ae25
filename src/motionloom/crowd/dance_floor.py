"""Dance floors, on which characters dance at random next to each other without colliding.

Rhythmic takes are danced as a choreography, in which all characters share the beat and each stays
near its place. Other takes become walks through a motion graph; of a few random walks, the one that
covers the smallest area is used.

The *footprint* of a character is the area of the floor below its joints over the whole dance.
Footprints are packed at least a body width apart, so bodies never come closer to each other. They
are rasterized on a grid. One correlation of the occupied cells with a footprint and its margin
finds all free positions, and the position nearest to the center of the floor is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.blending.player import FrameBlock, ScenePlayer, frame_count
from motionloom.crowd.settings import BODY_WIDTH, DanceFloorSettings
from motionloom.dance.choreography import Choreography
from motionloom.dance.motion_beats.beats import Beats, analyze_beats
from motionloom.dance.settings import BeatSettings
from motionloom.errors import InvalidInput, RoleError
from motionloom.motion import Motion
from motionloom.motion.diagnostics.quality import QualityReport
from motionloom.motion.kinematics.root_carrier import hips_as_root
from motionloom.motion.scene import Scene
from motionloom.motion_graph import motion_graph

Array = NDArray[np.float64]
Cells = NDArray[np.bool_]

_CELL = 0.1  # meters: side of a grid cell
_MOST_CELLS = 200  # maximum number along the longest footprint; if it is larger, so are the cells
_TRIES = 4  # number of random walks; the one with the smallest footprint is used
_MOST_MINUTES = 20.0  # limit of all takes: a motion graph compares every frame with every other


@dataclass(frozen=True, eq=False)
class DanceFloor:
    """Characters that dance next to each other.

    Attributes
    ----------
    motions : tuple of Motion
        One motion per character.
    method : {"choreography", "graph"}
        How the motions were generated.
    takes : tuple of Motion
        Movements or takes from which the motions are generated; all have the same skeleton.
    least_distance : float
        Minimum distance between two bodies in any frame, measured between joints on the floor, in
        meters.
    """

    motions: tuple[Motion, ...]
    method: str
    takes: tuple[Motion, ...]
    least_distance: float

    def __len__(self) -> int:
        return len(self.motions)

    @property
    def scene(self) -> Scene:
        """Scene that contains all characters."""
        return Scene(self.motions)

    @property
    def size(self) -> tuple[float, float]:
        """Extent of all characters in x and z, in meters."""
        points = np.concatenate([floor_points(m).reshape(-1, 2) for m in self.motions])
        wide, deep = np.ptp(points, axis=0) + BODY_WIDTH
        return float(wide), float(deep)

    def quality(self) -> QualityReport:
        """Return the worst value of each measure over all characters."""
        reports = (motion.quality for motion in self.motions)
        return QualityReport.worst_of([report for report in reports if report is not None])


def dance_floor(
    takes: Sequence[Motion],
    settings: DanceFloorSettings,
    *,
    beats_of: Callable[[Sequence[Motion], BeatSettings], Beats] = analyze_beats,
) -> DanceFloor:
    """Let characters dance next to each other at random.

    Parameters
    ----------
    takes : sequence of Motion
        Takes to use. All are retargeted to the skeleton of the first.
    settings : DanceFloorSettings
    beats_of : callable, optional
        Function that finds the beats of a take. A library passes a function that also uses beats
        set by hand.

    Raises
    ------
    InvalidInput
        If no endless motion can be generated from the takes, or the characters do not fit on the
        floor.

    Examples
    --------
    >>> import motionloom as ml
    >>> settings = DanceFloorSettings(count=3, seconds=4.0, seed=1)
    >>> floor = dance_floor([ml.demo.clip("dance_groove")], settings)
    >>> len(floor), floor.method, floor.least_distance > 0.5
    (3, 'choreography', True)
    """
    player = DanceFloorPlayer(takes, settings, beats_of=beats_of)
    motions = player.record(seconds=settings.seconds).motions
    return DanceFloor(motions, player.method, player.takes, least_distance(motions))


class DanceFloorPlayer(ScenePlayer):
    """Play all characters on a dance floor.

    The positions depend on the footprints of the whole dances, so all motions are generated in
    advance. The player ends after `settings.seconds` and has no controls.

    Parameters
    ----------
    takes, settings, beats_of
        As in `dance_floor`.

    Attributes
    ----------
    method : {"choreography", "graph"}
        How the dances were generated.
    takes : tuple of Motion
        Movements or takes that the dances are generated from.

    Examples
    --------
    >>> import motionloom as ml
    >>> settings = DanceFloorSettings(count=2, seconds=3.0)
    >>> player = DanceFloorPlayer([ml.demo.clip("dance_groove")], settings)
    >>> player.names, [len(block) for block in player.read(40)]
    (('dancer_1', 'dancer_2'), [40, 40])
    """

    def __init__(
        self,
        takes: Sequence[Motion],
        settings: DanceFloorSettings,
        *,
        beats_of: Callable[[Sequence[Motion], BeatSettings], Beats] = analyze_beats,
    ) -> None:
        if not takes:
            raise InvalidInput("takes must contain at least one motion; got none")
        frame_count(settings.seconds, None, takes[0].fps)  # raises before any work
        seeds = np.random.SeedSequence(settings.seed).spawn(settings.count + 1)
        dances = _dances(takes, settings.method, settings.seconds, seeds[1:], beats_of)
        self.method, self.takes, self._quality = dances.method, dances.takes, dances.quality
        moves = packed(
            dances.motions,
            floor=settings.floor,
            width=settings.width,
            seed=np.random.default_rng(seeds[0]),
        )
        placed = [
            motion.transform(yaw=float(yaw), shift=(x, 0.0, z))
            for motion, (x, z, yaw) in zip(dances.motions, moves, strict=True)
        ]
        self.fps = placed[0].fps
        self.skeletons = tuple(motion.skeleton for motion in placed)
        self.names = tuple(f"dancer_{n + 1}" for n in range(len(placed)))
        self._blocks = [_whole_block(motion) for motion in placed]
        self._played = 0

    def _read(self, count: int) -> tuple[FrameBlock, ...]:
        start = self._played
        self._played = min(start + count, len(self._blocks[0]))
        return tuple(block.cut(start, self._played) for block in self._blocks)

    def quality(self, character: int, motion: Motion) -> QualityReport:
        """Return the quality of a character, compared with the takes."""
        return self._quality(motion)


def _whole_block(motion: Motion) -> FrameBlock:
    """Return all frames of a motion as one block."""
    try:
        standing = motion.contacts().standing_parts()
    except RoleError:
        standing = np.zeros((len(motion), 4), bool)
    made_of = motion.provenance
    return FrameBlock(
        motion.rotations,
        motion.root,
        standing,
        0,
        () if made_of is None else made_of.sources,
        () if made_of is None else made_of.seams,
    )


def dance_takes(names: Sequence[str], labels: Any) -> list[str]:
    """Return the names of motions with a label that starts with ``dance``; all if there are none.

    Parameters
    ----------
    names : sequence of str
    labels : callable
        Function that returns the labels of a motion by name.

    Examples
    --------
    >>> dance_takes(["a", "b"], {"a": ("walk",), "b": ("dance_sway",)}.get)
    ['b']
    """
    dances = [n for n in names if any(label.lower().startswith("dance") for label in labels(n))]
    return dances or list(names)


@dataclass(frozen=True, eq=False)
class _Dances:
    """Motions near the origin, how they were generated, and how their quality is measured."""

    method: str
    takes: tuple[Motion, ...]
    motions: list[Motion]
    quality: Callable[[Motion], QualityReport]


def _dances(
    takes: Sequence[Motion],
    method: str,
    seconds: float,
    seeds: Iterable[Any],
    beats_of: Callable[[Sequence[Motion], BeatSettings], Beats],
) -> _Dances:
    """Generate one motion for each seed."""
    if method != "graph":
        try:
            steps = Choreography.from_takes(takes, beats_of=beats_of)
        except InvalidInput:
            if method == "choreography":
                raise
        else:
            parts = tuple(movement.motion for movement in steps.movements)
            danced = [_danced(steps, seconds, seed) for seed in seeds]
            return _Dances("choreography", parts, danced, steps.quality)
    minutes = sum(take.duration for take in takes) / 60.0
    if minutes > _MOST_MINUTES:
        raise InvalidInput(
            f"a motion graph can use at most {_MOST_MINUTES:.0f} minutes of takes; the "
            f"{len(takes)} takes last {minutes:.0f} minutes. Select fewer takes by label or name"
        )
    graph = motion_graph(takes)
    walked = [_walked(graph, seconds, seed) for seed in seeds]
    return _Dances("graph", graph.motions, walked, graph.quality)


def _danced(steps, seconds: float, seed) -> Motion:
    player = steps.player(60.0 / steps.period, seed=np.random.default_rng(seed))
    player.steer(target=(0.0, 0.0))
    return player.record(seconds=seconds)


def _walked(graph, seconds: float, seed) -> Motion:
    rngs = [np.random.default_rng(child) for child in seed.spawn(_TRIES)]
    walks = [graph.walk(seconds=seconds, seed=rng) for rng in rngs]
    return walks[int(np.argmin([_footprint_size(walk) for walk in walks]))]


def _footprint_size(motion: Motion) -> int:
    """Return the number of grid cells in the footprint of a motion."""
    cells: NDArray[np.bool_] = footprint(floor_points(motion))[0]
    return int(cells.sum())


def floor_points(motion: Motion) -> Array:
    """Return the floor positions x, z (T, P, 2) of the joints and end sites of a body."""
    return hips_as_root(motion).positions(end_sites=True)[..., [0, 2]].astype(np.float64)


def footprint(points: ArrayLike, cell: float = _CELL) -> tuple[Cells, NDArray[np.int64]]:
    """Return the grid cells that contain any point.

    Parameters
    ----------
    points : array_like, shape (..., 2)
        Floor positions x, z.
    cell : float
        Side length of a cell, in meters.

    Returns
    -------
    cells : ndarray of bool, shape (X, Z)
    corner : ndarray of int64, shape (2,)
        Index of the first cell in x and z; cell 0 starts at the origin.

    Examples
    --------
    >>> cells, corner = footprint([[-0.05, 0.15], [0.15, 0.35]])
    >>> cells.astype(int), corner
    (array([[1, 0, 0],
           [0, 0, 0],
           [0, 0, 1]]), array([-1,  1]))
    """
    indices = np.floor(np.asarray(points, np.float64).reshape(-1, 2) / cell).astype(np.int64)
    corner = indices.min(axis=0)
    cells = np.zeros(indices.max(axis=0) - corner + 1, bool)
    cells[tuple((indices - corner).T)] = True
    return cells, corner


def packed(
    motions: Sequence[Motion],
    *,
    floor: tuple[float, float] | None = None,
    width: float = BODY_WIDTH,
    seed: int | np.random.Generator = 0,
) -> Array:
    """Return planar transforms that pack footprints without collisions.

    Parameters
    ----------
    motions : sequence of Motion
    floor : (float, float), optional
        Width and depth of the floor in meters, around the origin. Default: as large as needed.
    width : float
        Minimum distance between two bodies in meters. The distance to the edges of the floor is
        half of it.
    seed : int or Generator
        Random seed for the headings.

    Returns
    -------
    moves : ndarray, shape (N, 3)
        Transform ``x, z, yaw`` of each motion.

    Raises
    ------
    InvalidInput
        If the motions do not fit on the floor.

    Examples
    --------
    >>> import motionloom as ml
    >>> packed([ml.demo.clip("dance_groove")] * 3).shape
    (3, 3)
    """
    yaws = np.random.default_rng(seed).uniform(-np.pi, np.pi, len(motions))
    points = [_turned(floor_points(m), yaw) for m, yaw in zip(motions, yaws, strict=True)]
    longest = max(float(np.ptp(p.reshape(-1, 2), axis=0).max()) for p in points)
    cell = max(_CELL, longest / _MOST_CELLS)
    prints = [footprint(p, cell) for p in points]
    # Two points can be closer than the centers of their cells by up to a cell diagonal.
    reach = width / cell + np.sqrt(2.0)
    around = [_grown(cells, reach) for cells, _ in prints]
    edge = int(np.ceil(reach)) - int(
        np.ceil(0.5 * width / cell)
    )  # number of cells that may lie outside the floor
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
            f"{len(motions)} characters do not fit on a floor of {floor[0]:g} by {floor[1]:g} m; "
            f"there is room for {len(corners)}. Use a larger floor, fewer characters or fewer "
            "seconds"
        )
    order = _largest_first(around)
    moves = np.zeros((len(motions), 3))
    for number, corner in zip(order, corners, strict=True):
        moves[number] = *(cell * (corner - prints[number][1])), yaws[number]
    return moves


def least_distance(motions: Sequence[Motion]) -> float:
    """Return the minimum distance between two bodies in any frame, in meters.

    Distances are measured between joints on the floor.

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
            for frame in np.argsort(apart):  # the most promising pairs first
                if apart[frame] >= nearest:
                    break
                gaps = points[a][frame][:, None] - points[b][frame][None]
                nearest = min(nearest, float(np.sqrt((gaps**2).sum(axis=-1).min())))
    return nearest


def _turned(points: Array, yaw: float) -> Array:
    turned = (points[..., 1] + 1j * points[..., 0]) * np.exp(1j * yaw)
    return np.stack([turned.imag, turned.real], axis=-1)


def _grown(cells: Cells, reach: float) -> Cells:
    """Grow a footprint by `reach` cells."""
    from scipy.ndimage import distance_transform_edt

    return distance_transform_edt(~np.pad(cells, int(np.ceil(reach)))) <= reach


def _largest_first(around: Sequence[Cells]) -> NDArray[np.int64]:
    return np.argsort([-int(cells.sum()) for cells in around], kind="stable")


def _laid_out(
    side: tuple[int, int], prints: Sequence[Cells], around: Sequence[Cells]
) -> list[NDArray[np.int64]]:
    """Place footprints, the largest first, until one does not fit; return their first cells."""
    grid = np.zeros(side, bool)
    corners = []
    for number in _largest_first(around):
        place = _free_place(grid, around[number])
        if place is None:
            break
        margin = (np.array(around[number].shape) - prints[number].shape) // 2
        x, z = first = place + margin
        grid[x : x + prints[number].shape[0], z : z + prints[number].shape[1]] |= prints[number]
        corners.append(first - np.array(side) // 2)
    return corners


def _free_place(grid: Cells, cells: Cells) -> NDArray[np.int64] | None:
    """Return the first cell (2,) of the free position of `cells` nearest to the center."""
    from scipy.signal import fftconvolve

    if any(c > p for c, p in zip(cells.shape, grid.shape, strict=True)):
        return None
    overlap = fftconvolve(grid.astype(np.float32), cells[::-1, ::-1].astype(np.float32), "valid")
    places = np.argwhere(overlap < 0.5)
    if not len(places):
        return None
    away = places + 0.5 * (np.array(cells.shape) - grid.shape)
    return places[int(np.argmin((away**2).sum(axis=1)))]
