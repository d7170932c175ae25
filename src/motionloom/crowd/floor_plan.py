"""Floor plans: start positions of couples in a ballroom, and the street of a march."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput

Array = NDArray[np.float64]

_SPACE = 1.06  # distance between couples at the start, as a multiple of their diameter
_STEP = 0.05  # distance between samples of a street, in meters
_LONGEST = 10_000.0  # meters
_TIGHTEST = 0.2  # minimum speed of a file relative to the middle; if lower, its path almost folds


def couple_places(
    room: Sequence[float] | None,
    columns: Sequence[Sequence[float]],
    size: float,
    couples: int,
) -> Array:
    """Return start positions (M, 2) for couples of radius `size`, on a hexagonal lattice.

    Parameters
    ----------
    room : (float, float), optional
        Width and depth of the room in meters. If None, there are no walls, and there are positions
        for twice as many `couples`.
    columns : sequence of (x, z, radius)
    size : float
        Radius of a couple, in meters.
    couples : int
    """
    gap = 2.0 * size * _SPACE
    if room is None:
        side = 2.0 * gap * (int(np.ceil(np.sqrt(couples))) + 1)
        half, gap = np.array([side, side]), 2.0 * gap
    else:
        half = 0.5 * np.asarray(room) - size * _SPACE
    if np.any(half < 0.0):
        return np.empty((0, 2))
    rise = gap * np.sqrt(0.75)
    rows = int(2.0 * half[1] / rise) + 1
    lattice = [
        (x, -half[1] + k * rise)
        for k in range(rows)
        for x in np.arange(-half[0] + 0.5 * gap * (k % 2), half[0] + 1e-9, gap)
    ]
    places = np.array(lattice).reshape(-1, 2)
    for x, z, thick in columns:
        clear = np.hypot(places[:, 0] - x, places[:, 1] - z) >= (size + thick) * _SPACE
        places = places[clear]
    if room is None:
        places = places[np.argsort(np.hypot(*places.T))[: 2 * couples]]
    return places


@dataclass(frozen=True, eq=False)
class Street:
    """Middle line of a street, sampled by arc length.

    Attributes
    ----------
    way : ndarray, shape (S,)
        Distance from the start, in meters.
    places : ndarray, shape (S, 2)
        Positions ``x, z``.
    headings, bends : ndarray, shape (S,)
        Heading in radians and curvature in radians per meter, which is positive to the left.
    """

    way: Array
    places: Array
    headings: Array
    bends: Array

    @classmethod
    def through(cls, points: Sequence[Sequence[float]] | Array) -> Street:
        """Return the street along the clamped cubic B-spline of control points (K, 2).

        Examples
        --------
        >>> straight = Street.through([(0, 0), (0, 10)])
        >>> round(straight.length, 3), straight.positions(4.0, 1.5).round(3) + 0.0
        (10.0, array([1.5, 4. , 0. ]))
        """
        from scipy.interpolate import BSpline

        control = np.asarray(points, np.float64)
        if control.ndim != 2 or control.shape[1:] != (2,) or len(control) < 2:
            raise InvalidInput(
                f"points must have at least two rows (x, z); got shape {control.shape}"
            )
        if not np.all(np.isfinite(control)) or np.any(np.hypot(*np.diff(control, axis=0).T) < 1e-3):
            raise InvalidInput("points must be finite, and neighboring points must differ")
        degree = min(3, len(control) - 1)
        inner = np.linspace(0.0, 1.0, len(control) - degree + 1)
        knots = np.concatenate([np.zeros(degree), inner, np.ones(degree)])
        curve = BSpline(knots, control, degree)
        fine = np.linspace(0.0, 1.0, 4001)
        samples = curve(fine)
        run = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(samples, axis=0).T))])
        if run[-1] > _LONGEST:
            raise InvalidInput(
                f"a street must be at most {_LONGEST:g} m long; this one is {run[-1]:.0f} m"
            )
        way = np.linspace(0.0, run[-1], max(int(run[-1] / _STEP), 2) + 1)
        u = np.interp(way, run, fine)
        first = curve.derivative()(u)
        second = curve.derivative(2)(u) if degree > 1 else np.zeros_like(first)
        heading = np.unwrap(np.arctan2(first[:, 0], first[:, 1]))
        speed = np.maximum(np.hypot(*first.T), 1e-9)
        bend = (first[:, 1] * second[:, 0] - first[:, 0] * second[:, 1]) / speed**3
        return cls(way, curve(u), heading, bend)

    @property
    def length(self) -> float:
        """Length of the street in meters."""
        return float(self.way[-1])

    def positions(self, way: ArrayLike, offset: ArrayLike) -> Array:
        """Return positions x, z, yaw (..., 3), `way` meters along the street, `offset` to the left.

        Before its start and after its end, the street continues straight.
        """
        along, left = np.broadcast_arrays(
            np.asarray(way, np.float64), np.asarray(offset, np.float64)
        )
        x, z, yaw = (np.interp(along, self.way, row) for row in (*self.places.T, self.headings))
        beyond = along - np.clip(along, 0.0, self.length)
        c, s = np.cos(yaw), np.sin(yaw)
        return np.stack([x + s * beyond + c * left, z + c * beyond - s * left, yaw], axis=-1)

    def speed_range(self, offsets: Array) -> tuple[float, float]:
        """Return the lowest and highest speed of files at these offsets, relative to the middle."""
        each = 1.0 - self.bends[:, None] * np.asarray(offsets)[None]
        return float(each.min()), float(each.max())

    def check_files(self, offsets: Array) -> None:
        """Raise if the path of a file folds or crosses another part of the street."""
        slow, _ = self.speed_range(offsets)
        if slow < _TIGHTEST:
            k = int(np.abs(self.bends).argmax())
            raise InvalidInput(
                "the street folds on itself: its corner at x, z = "
                f"{self.places[k].round(1).tolist()} has a radius of "
                f"{1.0 / abs(self.bends[k]):.2f} m, but the outermost file marches "
                f"{np.abs(offsets).max():.2f} m from the middle. Round the corner, or use fewer "
                "files"
            )
        from scipy.spatial import cKDTree

        wide = float(np.ptp(offsets)) + 1.0
        every = max(int(0.25 / _STEP), 1)
        some, way = self.places[::every], self.way[::every]
        pairs = cKDTree(some).query_pairs(wide, output_type="ndarray")
        back = pairs[np.abs(way[pairs[:, 0]] - way[pairs[:, 1]]) > 2.0 * wide + 1.0]
        if len(back):
            a, b = back[np.lexsort((back[:, 1], back[:, 0]))[0]]
            raise InvalidInput(
                f"the street folds on itself: {way[a]:.1f} m and {way[b]:.1f} m from its start, "
                f"it comes within {np.hypot(*(some[a] - some[b])):.1f} m of itself, but the "
                f"formation is {wide:.1f} m wide. Move these parts apart, or use fewer files"
            )
