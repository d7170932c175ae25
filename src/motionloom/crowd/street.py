"""A street: a B-spline in its middle, and curves beside it along which files march."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput

Array = NDArray[np.float64]

_STEP = 0.05  # metres between samples
_LONGEST = 10_000.0  # metres
_TIGHTEST = 0.2  # of the middle's speed, the least of a file: below it all but folds


@dataclass(frozen=True, eq=False)
class Street:
    """The middle of a street, sampled by arc length.

    Attributes
    ----------
    way : ndarray, shape (S,)
        Metres from the start.
    places : ndarray, shape (S, 2)
        ``x, z``.
    headings, bends : ndarray, shape (S,)
        Radians, and radians to the left per metre.
    """

    way: Array
    places: Array
    headings: Array
    bends: Array

    @classmethod
    def through(cls, points: Sequence[Sequence[float]] | Array) -> Street:
        """The clamped cubic B-spline of control points (K, 2).

        Examples
        --------
        >>> straight = Street.through([(0, 0), (0, 10)])
        >>> round(straight.length, 3), straight.beside(4.0, 1.5).round(3) + 0.0
        (10.0, array([1.5, 4. , 0. ]))
        """
        from scipy.interpolate import BSpline

        control = np.asarray(points, np.float64)
        if control.ndim != 2 or control.shape[1:] != (2,) or len(control) < 2:
            raise InvalidInput(f"a street has at least two points x, z; got shape {control.shape}")
        if not np.all(np.isfinite(control)) or np.any(np.hypot(*np.diff(control, axis=0).T) < 1e-3):
            raise InvalidInput("points of a street must be finite, and neighbours must differ")
        degree = min(3, len(control) - 1)
        inner = np.linspace(0.0, 1.0, len(control) - degree + 1)
        knots = np.concatenate([np.zeros(degree), inner, np.ones(degree)])
        curve = BSpline(knots, control, degree)
        fine = np.linspace(0.0, 1.0, 4001)
        spots = curve(fine)
        run = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(spots, axis=0).T))])
        if run[-1] > _LONGEST:
            raise InvalidInput(
                f"a street is at most {_LONGEST:g} m long; these points make {run[-1]:.0f} m"
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
        """Metres."""
        return float(self.way[-1])

    def beside(self, way: ArrayLike, offset: ArrayLike) -> Array:
        """Places (..., 3), x, z, yaw, so far along and to the left of the middle.

        Before its start and after its end the street goes straight on.
        """
        along, left = np.broadcast_arrays(
            np.asarray(way, np.float64), np.asarray(offset, np.float64)
        )
        x, z, yaw = (np.interp(along, self.way, row) for row in (*self.places.T, self.headings))
        beyond = along - np.clip(along, 0.0, self.length)
        c, s = np.cos(yaw), np.sin(yaw)
        return np.stack([x + s * beyond + c * left, z + c * beyond - s * left, yaw], axis=-1)

    def stretch(self, offsets: Array) -> tuple[float, float]:
        """Least and most of the middle's speed that files at these offsets need."""
        each = 1.0 - self.bends[:, None] * np.asarray(offsets)[None]
        return float(each.min()), float(each.max())

    def check_files(self, offsets: Array) -> None:
        """Refuse files whose curves fold, or cross the street where it comes by again."""
        slow, _ = self.stretch(offsets)
        if slow < _TIGHTEST:
            k = int(np.abs(self.bends).argmax())
            raise InvalidInput(
                f"the street folds on itself: its corner at {self.places[k].round(1).tolist()} has "
                f"a radius of {1.0 / abs(self.bends[k]):.2f} m, and the outermost file marches "
                f"{np.abs(offsets).max():.2f} m beside the middle. Round the corner, or take "
                "fewer files"
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
                f"the street folds on itself: after {way[a]:.1f} m and after {way[b]:.1f} m it is "
                f"{np.hypot(*(some[a] - some[b])):.1f} m apart, and the formation is {wide:.1f} m "
                "wide"
            )
