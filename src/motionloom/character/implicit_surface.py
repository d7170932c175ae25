"""Implicit surfaces: lofts with elliptic sections, blended into one smooth surface.

A loft follows a straight axis; its sections are ellipses whose half widths vary smoothly along it,
and its ends are rounded. Two lofts are joined by a polynomial smooth minimum [1]_, which fills the
groove between them over a width of its own and leaves everything farther away unchanged.

References
----------
.. [1] I. Quilez. Smooth minimum. 2013.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_STEPS = 65  # of the table of sections
_THINNEST = 1e-4  # metres
_FAR = 10.0  # metres: the distance of points that are not near


@dataclass(frozen=True, eq=False)
class Loft:
    """A body part around an axis.

    Attributes
    ----------
    start, end : ndarray, shape (3,)
        The axis, from parameter 0 to 1.
    across : ndarray, shape (3,)
        Direction of the first half width; the second is square to it and to the axis.
    sections : ndarray, shape (N, 5)
        Rows of parameter (increasing, may be outside of 0 to 1), the two half widths, and the
        offsets of the centre in these two directions, in metres.
    joints : tuple of int
        Joints that may move this part.
    blend : float
        Width over which the part is blended with those before it, in metres.
    floor : float or None
        Height below which the part is cut off, as a sole is.
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
        """Rows: along the axis, and the directions of the two half widths, shape (3, 3)."""
        along = (self.end - self.start) / self.length
        across = self.across - (self.across @ along) * along
        across = across / np.linalg.norm(across)
        return np.stack([along, across, np.cross(across, along)])

    @cached_property
    def length(self) -> float:
        """Length of the axis in metres."""
        return max(float(np.linalg.norm(self.end - self.start)), _THINNEST)

    @cached_property
    def table(self) -> Array:
        """Sections at `_STEPS` even parameters, interpolated without overshoot."""
        from scipy.interpolate import PchipInterpolator

        rows = self.sections
        even = np.linspace(rows[0, 0], rows[-1, 0], _STEPS)
        return np.column_stack([even, PchipInterpolator(rows[:, 0], rows[:, 1:])(even)])

    @cached_property
    def bounds(self) -> Array:
        """Corners of a box around the part, shape (2, 3)."""
        rows = self.table
        reach = float((rows[:, 1:3] + np.abs(rows[:, 3:5])).max())
        ends = self.start + np.outer(rows[[0, -1], 0] * self.length, self.frame[0])
        return np.stack([ends.min(axis=0) - reach, ends.max(axis=0) + reach])

    def distances(self, points: Array) -> Array:
        """Approximate signed distances (N,) of points (N, 3), negative inside."""
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
        # The value over its gradient: near the surface this is the distance.
        found = np.where(size > 1e-6, size * (size - 1.0) / np.maximum(slope, 1e-9), -caps)
        if self.floor is not None:
            found = -smooth_minimum(-found, points[:, 1] - self.floor, 0.012)
        return found


def smooth_minimum(a: Array, b: Array, width: float) -> Array:
    """Minimum of `a` and `b`, rounded where they differ by less than `width`."""
    near = np.maximum(width - np.abs(a - b), 0.0) / width
    return np.minimum(a, b) - 0.25 * width * near * near


def surface_distances(parts: Sequence[Loft], points: Array, *, reach: float) -> Array:
    """Approximate signed distances (N,) of points (N, 3) from the blended surface of all parts.

    Parts farther from a point than `reach` metres are ignored.
    """
    found = np.full(len(points), _FAR)
    x, y, z = points.T
    for part in parts:
        (x0, y0, z0), (x1, y1, z1) = part.bounds + np.outer([-1.0, 1.0], [reach + part.blend] * 3)
        near = np.flatnonzero((y > y0) & (y < y1) & (x > x0) & (x < x1) & (z > z0) & (z < z1))
        found[near] = smooth_minimum(found[near], part.distances(points[near]), part.blend)
    return found


def onto_surface(parts: Sequence[Loft], points: Array, *, farthest: float) -> Array:
    """Points (N, 3) near the surface moved onto it, along the gradient, by at most `farthest`."""
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
