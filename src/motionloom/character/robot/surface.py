"""The surface of a robot for contacts: capsules that must not touch, and points above the floor."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from motionloom.character.robot.kernels import segment_distance
from motionloom.character.robot.model import Robot, Shape, rigid_points
from motionloom.motion.rotations import quaternions as rot

Array = NDArray[np.float64]

MARGIN = 0.02  # meters that parts of a robot keep from each other
_SHRUNK = 0.85  # of the half width of a mesh: radius of the capsule that stands for it
_MOST_FLOOR_POINTS = 14  # per node


@dataclass(frozen=True, eq=False)
class Surface:
    """Capsules and floor points of a robot.

    Attributes
    ----------
    capsule_nodes, capsules, radii : ndarray, shapes (C,), (C, 2, 3), (C,)
        Capsules in the frames of their nodes.
    pairs, gaps : ndarray, shapes (K, 2), (K,)
        Pairs of capsules that must keep the gap, in meters.
    floor_nodes, floor_points, floor_radii : ndarray, shapes (F,), (F, 3), (F,)
        Points whose height above the floor is at least their radius.
    """

    capsule_nodes: NDArray[np.int64]
    capsules: Array
    radii: Array
    pairs: NDArray[np.int64]
    gaps: Array
    floor_nodes: NDArray[np.int64]
    floor_points: Array
    floor_radii: Array


@lru_cache(maxsize=16)
def surface(robot: Robot) -> Surface:
    """Return the surface of a robot. Shapes that collide are used, or else those that are shown."""
    shapes = _solid_shapes(robot)
    nodes, ends, radii = [], [], []
    floor_nodes, floor_points, floor_radii = [], [], []
    for shape in shapes:
        capsule = _capsule(shape)
        nodes.append(shape.node)
        ends.append(capsule[0])
        radii.append(capsule[1])
        points, radius = rigid_points(shape)
        floor_nodes += [shape.node] * len(points)
        floor_points += list(points)
        floor_radii += [radius] * len(points)
    capsule_nodes, capsules = np.array(nodes, np.int64), np.array(ends).reshape(-1, 2, 3)
    pairs, gaps = _pairs(robot, capsule_nodes, capsules, np.array(radii))
    floor = _thinned(np.array(floor_nodes), np.array(floor_points).reshape(-1, 3), floor_radii)
    return Surface(capsule_nodes, capsules, np.array(radii), pairs, gaps, *floor)


def _solid_shapes(robot: Robot) -> list[Shape]:
    collide = {shape.node for shape in robot.shapes if shape.collides}
    if not collide:
        return list(robot.shapes)
    return [shape for shape in robot.shapes if shape.collides]


def _capsule(shape: Shape) -> tuple[Array, float]:
    """Return the ends (2, 3) and the radius of a capsule inside of the shape."""
    points, radius = rigid_points(shape)
    if shape.kind == "sphere":
        return np.repeat(points, 2, axis=0), radius
    if shape.kind == "capsule":
        return points, radius
    center = points.mean(axis=0)
    _, _, directions = np.linalg.svd(points - center, full_matrices=False)
    spans = (points - center) @ directions.T
    low, high = spans.min(axis=0), spans.max(axis=0)
    order = np.argsort(high - low)[::-1]
    middle = center + (0.5 * (low + high)) @ directions
    half = 0.5 * (high - low)[order]
    radius = _SHRUNK * 0.5 * float(half[1] + half[2])
    reach = max(float(half[0]) - radius, 0.0)
    axis = directions[order[0]]
    return np.stack([middle - reach * axis, middle + reach * axis]), radius


def _pairs(
    robot: Robot, nodes: NDArray[np.int64], capsules: Array, radii: Array
) -> tuple[NDArray[np.int64], Array]:
    """Return the pairs of capsules on different limbs, and the gap that each must keep.

    Parts that are joined by one or two hinges, and parts that overlap in the zero pose, cannot
    avoid each other.
    """
    turns, places = robot.zero_frames()
    world = rot.rotate(turns[nodes][:, None], capsules) + places[nodes][:, None]
    hinges = robot.node_hinges
    above: list[list[int]] = []
    for node in range(len(robot.names)):
        path = [node] if hinges[node] >= 0 or node == 0 else []
        parent = int(robot.parents[node])
        above.append((above[parent] if parent >= 0 else []) + path)
    near, pairs, gaps = np.zeros(6), [], []
    for a in range(len(nodes)):
        for b in range(a + 1, len(nodes)):
            first, second = above[nodes[a]], above[nodes[b]]
            shared = len([k for k in first if k in second])
            if len(first) + len(second) - 2 * shared <= 2:
                continue
            gap = segment_distance(world[a, 0], world[a, 1], world[b, 0], world[b, 1], near)
            gap -= radii[a] + radii[b]
            if gap > 0.0:
                pairs.append((a, b))
                gaps.append(min(MARGIN, 0.8 * gap))
    return np.array(pairs, np.int64).reshape(-1, 2), np.array(gaps)


def _thinned(nodes: NDArray, points: Array, radii: list[float]) -> tuple[NDArray, Array, Array]:
    """Keep the points of each node that can be lowest in some direction, at most 14 per node."""
    radius = np.array(radii)
    kept: list[int] = []
    for node in np.unique(nodes):
        rows = np.flatnonzero(nodes == node)
        if len(rows) > _MOST_FLOOR_POINTS:
            grid = np.array([[x, y, z] for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1)])
            grid = grid[np.any(grid != 0, axis=1)]
            grid = grid / np.linalg.norm(grid, axis=1, keepdims=True)
            reach = points[rows] @ grid.T + radius[rows, None]
            rows = rows[np.unique(np.argmax(reach, axis=0))]
        kept += rows.tolist()
    return nodes[kept].astype(np.int64), points[kept], radius[kept]
