"""Implicit surfaces: lofts with elliptic sections, blended into one smooth surface.

A loft follows a straight axis. Its sections are ellipses whose half widths vary smoothly along the
axis, and its ends are rounded. Two lofts are joined by a polynomial smooth minimum [1]_, which
fills the groove between them up to a certain width and leaves everything farther away unchanged.

The surface is converted to triangles with surface nets on a grid [2]_. Every grid cell that the
surface crosses has one vertex. Every grid edge that the surface crosses has one quadrangle, between
the vertices of the four cells around the edge. A cell through which two sheets pass has one vertex
for each sheet, which makes the mesh a closed manifold by construction: every edge belongs to two
triangles. Only blocks of the grid near the surface are evaluated.

References
----------
.. [1] I. Quilez. Smooth minimum. 2013.
.. [2] S. F. F. Gibson. Constrained elastic surface nets. MICCAI 1998.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_STEPS = 65  # number of rows in the table of sections
_THINNEST = 1e-4  # meters
_FAR = 10.0  # meters: the value for points far away
_BLOCK = 8  # number of cells along each side of a block
_OUTSIDE = 1.0  # the value for grid points that are not evaluated
_CORNERS = np.array([(i, j, k) for i in (0, 1) for j in (0, 1) for k in (0, 1)])
# The twelve edges of a cell, as pairs of corners: four along each axis.
_EDGES = [(low, low | 4 >> axis) for axis in range(3) for low in range(8) if not low & 4 >> axis]
_FACES = [
    [corner for corner in range(8) if bool(corner & 4 >> axis) == side]
    for axis in range(3)
    for side in (False, True)
]


@dataclass(frozen=True, eq=False)
class Loft:
    """Body part modeled around an axis.

    Attributes
    ----------
    start, end : ndarray, shape (3,)
        Ends of the axis, at parameters 0 and 1.
    across : ndarray, shape (3,)
        Direction of the first half width. The second half width is perpendicular to this direction
        and to the axis.
    sections : ndarray, shape (N, 5)
        Each row has the parameter (increasing, may be outside of 0 to 1), the two half widths, and
        the offsets of the center in these two directions, in meters.
    joints : tuple of int
        Joints that can move this part.
    blend : float
        Width in meters over which the part is blended with the previous parts.
    floor : float or None
        Height below which the part is cut off, for example at the sole of a foot.
    """

    start: Array
    end: Array
    across: Array
    sections: Array
    joints: tuple[int, ...] = ()
    blend: float = 0.03
    floor: float | None = None

    @cached_property
    def frame(self) -> Array:
        """Directions of the axis and of the two half widths, one per row, shape (3, 3)."""
        along = (self.end - self.start) / self.length
        across = self.across - (self.across @ along) * along
        across = across / np.linalg.norm(across)
        return np.stack([along, across, np.cross(across, along)])

    @cached_property
    def length(self) -> float:
        """Length of the axis in meters."""
        return max(float(np.linalg.norm(self.end - self.start)), _THINNEST)

    @cached_property
    def table(self) -> Array:
        """Sections at `_STEPS` evenly spaced parameters, interpolated without overshoot."""
        from scipy.interpolate import PchipInterpolator

        rows = self.sections
        even = np.linspace(rows[0, 0], rows[-1, 0], _STEPS)
        return np.column_stack([even, PchipInterpolator(rows[:, 0], rows[:, 1:])(even)])

    @cached_property
    def bounds(self) -> Array:
        """Corners of the bounding box, shape (2, 3)."""
        rows = self.table
        reach = float((rows[:, 1:3] + np.abs(rows[:, 3:5])).max())
        ends = self.start + np.outer(rows[[0, -1], 0] * self.length, self.frame[0])
        return np.stack([ends.min(axis=0) - reach, ends.max(axis=0) + reach])

    def distances(self, points: Array) -> Array:
        """Return approximate signed distances (N,) from points (N, 3), negative inside."""
        away = (points - self.start) @ self.frame.T
        rows = self.table
        at = np.clip(away[:, 0] / self.length, rows[0, 0], rows[-1, 0])
        place = (at - rows[0, 0]) / (rows[-1, 0] - rows[0, 0]) * (_STEPS - 1)
        low = np.minimum(place.astype(np.intp), _STEPS - 2)
        share = (place - low)[:, None]
        section = (1.0 - share) * rows[low, 1:] + share * rows[low + 1, 1:]
        widths = np.maximum(section[:, :2], _THINNEST)
        caps = np.minimum(widths[:, 0], widths[:, 1])
        scaled = np.column_stack(
            [
                (away[:, 0] - at * self.length) / caps,
                (away[:, 1:] - section[:, 2:]) / widths,
            ]
        )
        size = np.sqrt(np.einsum("nc,nc->n", scaled, scaled))
        sides = scaled[:, 1:] / widths
        slope = np.sqrt((scaled[:, 0] / caps) ** 2 + np.einsum("nc,nc->n", sides, sides))
        # Near the surface, the value divided by its gradient is the distance.
        distance = np.where(size > 1e-6, size * (size - 1.0) / np.maximum(slope, 1e-9), -caps)
        if self.floor is not None:
            distance = -smooth_minimum(-distance, points[:, 1] - self.floor, 0.012)
        return distance


def smooth_minimum(a: Array, b: Array, width: float) -> Array:
    """Return the minimum of `a` and `b`, smoothed where they differ by less than `width`."""
    near = np.maximum(width - np.abs(a - b), 0.0) / width
    return np.minimum(a, b) - 0.25 * width * near * near


def surface_distances(parts: Sequence[Loft], points: Array, *, reach: float) -> Array:
    """Return approximate signed distances (N,) from points (N, 3) to the blended surface.

    Parts farther from a point than `reach` meters are ignored.
    """
    distances = np.full(len(points), _FAR)
    x, y, z = points.T
    for part in parts:
        (x0, y0, z0), (x1, y1, z1) = part.bounds + np.outer([-1.0, 1.0], [reach + part.blend] * 3)
        near = np.flatnonzero((y > y0) & (y < y1) & (x > x0) & (x < x1) & (z > z0) & (z < z1))
        distances[near] = smooth_minimum(distances[near], part.distances(points[near]), part.blend)
    return distances


def onto_surface(parts: Sequence[Loft], points: Array, *, farthest: float) -> Array:
    """Move points (N, 3) near the surface onto it along the gradient, by at most `farthest`."""
    step = 1e-4
    for _ in range(2):
        here = surface_distances(parts, points, reach=0.05)
        slopes = np.stack(
            [
                surface_distances(parts, points + step * axis, reach=0.05) - here
                for axis in np.eye(3)
            ],
            axis=1,
        )
        slopes /= step
        steep = np.maximum(np.einsum("nc,nc->n", slopes, slopes), 0.05)
        points = points - np.clip((here / steep)[:, None] * slopes, -farthest, farthest)
    return points


def surface_mesh(
    distances: Callable[[Array, float], Array], bounds: Array, cell: float
) -> tuple[Array, NDArray[np.int64]]:
    """Return vertices (V, 3) and counterclockwise triangles (F, 3) of the largest piece.

    Parameters
    ----------
    distances : callable
        Function of points (N, 3) and a range in meters that returns signed distances (N,), negative
        inside. The distances may be up to 50 % too long, and they only have to be valid within the
        range.
    bounds : ndarray, shape (2, 3)
        Corners of a box that contains the surface.
    cell : float
        Side of a grid cell in meters.

    Examples
    --------
    >>> ball = lambda points, reach: np.linalg.norm(points, axis=1) - 1.0
    >>> vertices, triangles = surface_mesh(ball, np.array([[-1.0] * 3, [1.0] * 3]), 0.2)
    >>> bool(np.abs(np.linalg.norm(vertices, axis=1) - 1.0).max() < 0.05)
    True
    """
    middle, half = bounds.mean(axis=0), 0.5 * (bounds[1] - bounds[0])
    cells_each_way = np.ceil(half / cell) + 2.0  # a symmetric surface then gets a symmetric mesh
    start = middle - cell * cells_each_way
    blocks = np.ceil(2.0 * cells_each_way / _BLOCK).astype(int)
    values = _grid(distances, start, cell, blocks)
    cells = _crossed_cells(values < 0.0)
    sheets, owners = _sheets(values, cells)
    places = _middles(values, cells, sheets, owners)
    vertices = start + cell * (cells[owners] + places)
    return _largest_piece(vertices, _triangles(values < 0.0, cells, sheets))


def _grid(distances, start: Array, cell: float, blocks: NDArray) -> Array:
    """Return values at the grid points; in blocks far from the surface only signs are correct."""
    centers = np.stack(
        np.meshgrid(*(np.arange(count) + 0.5 for count in blocks), indexing="ij"), axis=-1
    ).reshape(-1, 3)
    # Within a block, no point is farther from the center than half the diagonal.
    reach = 1.5 * _BLOCK * cell * np.sqrt(0.75) + 2.0 * cell
    middle = distances(start + _BLOCK * cell * centers, reach)
    near = np.abs(middle) < reach
    shape = tuple(_BLOCK * blocks + 1)
    values = np.full(shape, _OUTSIDE)
    corner = np.stack(np.meshgrid(*[np.arange(_BLOCK + 1)] * 3, indexing="ij"), axis=-1).reshape(
        -1, 3
    )
    for block in np.floor(centers[(middle < 0.0) & ~near]).astype(int):
        values[tuple(slice(_BLOCK * b, _BLOCK * (b + 1) + 1) for b in block)] = -_OUTSIDE
    wanted = np.zeros(shape, bool)
    for block in np.floor(centers[near]).astype(int):
        points = _BLOCK * block + corner
        wanted[tuple(points.T)] = True
    points = np.argwhere(wanted)
    values[wanted] = distances(start + cell * points, 2.0 * cell)
    return values


def _crossed_cells(inside: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the cells (C, 3) with corners on both sides of the surface."""
    count = np.zeros(tuple(n - 1 for n in inside.shape), np.int8)
    for corner in _CORNERS:
        spans = zip(corner, inside.shape, strict=True)
        count += inside[tuple(slice(c, n - 1 + c) for c, n in spans)]
    return np.argwhere((count > 0) & (count < 8))


def _sheets(values: Array, cells: NDArray[np.intp]) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Return the vertex (C, 12) at each edge of each cell, and the cell (V,) of each vertex."""
    signs = np.zeros(len(cells), np.intp)
    for number, corner in enumerate(_CORNERS):
        signs |= (values[tuple((cells + corner).T)] < 0.0).astype(np.intp) << number
    patterns, of_cell = np.unique(signs, return_inverse=True)
    groups = np.array([_edge_groups(int(pattern)) for pattern in patterns])  # (N, 12)
    counts = groups.max(axis=1) + 1
    first = np.cumsum(counts[of_cell]) - counts[of_cell]
    sheets = np.maximum(groups[of_cell], 0) + first[:, None]
    return sheets, np.repeat(np.arange(len(cells)), counts[of_cell])


def _edge_groups(pattern: int) -> list[int]:
    """Return the sheet that crosses each cell edge, for all sets of inside corners; -1 if none.

    Inside corners are connected along edges, and outside corners also across a face, so that two
    cells agree about the face between them.
    """
    inside = [bool(pattern >> corner & 1) for corner in range(8)]
    label = list(range(8))

    def join(a: int, b: int) -> None:
        if inside[a] == inside[b] and label[a] != label[b]:
            old, new = label[a], label[b]
            label[:] = [new if name == old else name for name in label]

    for a, b in _EDGES:
        join(a, b)
    for face in _FACES:
        for a, b in ((face[0], face[3]), (face[1], face[2])):
            if not inside[a] and not inside[b]:
                join(a, b)
    numbers: dict[tuple[int, int], int] = {}
    groups = []
    for a, b in _EDGES:
        if inside[a] == inside[b]:
            groups.append(-1)
            continue
        pair = (label[a], label[b]) if inside[a] else (label[b], label[a])
        groups.append(numbers.setdefault(pair, len(numbers)))
    return groups


def _middles(values: Array, cells: NDArray, sheets: NDArray, owners: NDArray) -> Array:
    """Return the mean (V, 3) of the edge crossings of each sheet, in cell units."""
    total, count = np.zeros((len(owners), 3)), np.zeros(len(owners))
    for number, (low, high) in enumerate(_EDGES):
        a = values[tuple((cells + _CORNERS[low]).T)]
        b = values[tuple((cells + _CORNERS[high]).T)]
        crossed = np.flatnonzero((a < 0.0) != (b < 0.0))
        share = (a[crossed] / (a[crossed] - b[crossed]))[:, None]
        vertex = sheets[crossed, number]  # an edge has one sheet, so no vertex occurs twice
        total[vertex] += (1.0 - share) * _CORNERS[low] + share * _CORNERS[high]
        count[vertex] += 1.0
    return total / count[:, None]


def _triangles(
    inside: NDArray[np.bool_], cells: NDArray[np.intp], sheets: NDArray[np.int64]
) -> NDArray[np.int64]:
    number = np.full(tuple(n - 1 for n in inside.shape), -1, np.int64)
    number[tuple(cells.T)] = np.arange(len(cells))
    faces = []
    for axis in range(3):
        first, second = (axis + 1) % 3, (axis + 2) % 3
        near: list[slice] = [slice(None)] * 3
        far: list[slice] = [slice(None)] * 3
        near[axis], far[axis] = slice(0, -1), slice(1, None)
        leaves = inside[tuple(near)] & ~inside[tuple(far)]
        enters = ~inside[tuple(near)] & inside[tuple(far)]
        for edges, outward in ((leaves, True), (enters, False)):
            where = np.argwhere(edges)
            corners = []
            for back in ((1, 1), (0, 1), (0, 0), (1, 0)):
                cell = where.copy()
                cell[:, first] -= back[0]
                cell[:, second] -= back[1]
                low = (back[0] * (4 >> first)) | (back[1] * (4 >> second))
                edge = _EDGES.index((low, low | 4 >> axis))
                corners.append(sheets[number[tuple(cell.T)], edge])
            a, b, c, d = corners if outward else corners[::-1]
            faces += [np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)]
    return np.concatenate(faces)


def _largest_piece(
    vertices: Array, triangles: NDArray[np.int64]
) -> tuple[Array, NDArray[np.int64]]:
    """Keep the piece with the most vertices, because parts thinner than a cell may break apart."""
    from scipy import sparse

    count = len(vertices)
    links = (np.ones(2 * len(triangles)), (triangles[:, :2].T.ravel(), triangles[:, 1:].T.ravel()))
    graph = sparse.coo_array(links, shape=(count, count))
    piece = sparse.csgraph.connected_components(graph, directed=False)[1]
    kept = piece == np.argmax(np.bincount(piece))
    number = np.cumsum(kept) - 1
    return vertices[kept], number[triangles[kept[triangles[:, 0]]]]
