"""Timewarps: smooth, invertible maps from one motion's time to another's.

A time alignment is a staircase of frame pairs. A `Timewarp` is a smooth, strictly increasing curve
that follows the staircase and passes through its first and last pair. `Timewarp.then` composes
timewarps; a timewarp and its inverse cancel exactly.

The curve is a rational quadratic spline, which is monotone for any positive slopes at its knots and
has an inverse in closed form. Beyond its ends, the curve is linear.

References
----------
.. [1] R. Delbourgo, J. Gregory. C2 rational quadratic spline interpolation to monotonic
   data. IMA Journal of Numerical Analysis 3, 1983.
.. [2] L. Kovar, M. Gleicher. Flexible automatic motion blending with registration curves.
   Symposium on Computer Animation 2003, section 3.1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput

Array = NDArray[np.float64]

SPACING = 5.0  # frames between the knots of a fitted warp: a sixth of a second at 30 Hz
STEEPEST = 3.0  # maximum ratio of speeds in a fitted warp
_BEND = 0.5  # weight of the curvature against the distance from the staircase
_THROUGH_THE_ENDS = 1e4  # weight of the last pair


class _Spline(NamedTuple):
    """Knots, values and slopes (K,) of a rational quadratic spline, or of its inverse."""

    knots: Array
    values: Array
    slopes: Array
    backwards: bool

    @property
    def ends(self) -> tuple[float, float]:
        along = self.values if self.backwards else self.knots
        return float(along[0]), float(along[-1])

    def at(self, times: Array) -> tuple[Array, Array]:
        """Return the values and speeds at `times`."""
        if not self.backwards:
            return _forwards(self, times)
        back = _solved(self, times)
        return back, 1.0 / _forwards(self, back)[1]


class Timewarp:
    """A smooth, strictly increasing map from one motion's time to another's.

    Parameters
    ----------
    times : array_like, shape (K,)
        At least two strictly increasing times of the first motion, in frames or seconds.
    values : array_like, shape (K,)
        Corresponding times of the second motion, strictly increasing.
    slopes : array_like, shape (K,), optional
        Positive slopes of the curve at `times`. Default: the weighted geometric mean of the
        slopes on both sides.

    Raises
    ------
    InvalidInput
        If times or values do not increase, or a slope is not positive.

    Examples
    --------
    >>> warp = Timewarp([0, 10, 20], [0, 15, 20])
    >>> warp([0, 10, 20]), warp.inverse()(15.0)
    (array([ 0., 15., 20.]), array(10.))
    >>> both = warp.then(warp.inverse())
    >>> both([3.0, 7.5]).round(9)
    array([3. , 7.5])
    """

    def __init__(
        self, times: ArrayLike, values: ArrayLike, slopes: ArrayLike | None = None
    ) -> None:
        knots, heights = _increasing("times", times), _increasing("values", values)
        if len(knots) != len(heights):
            raise InvalidInput(
                f"times and values must have the same length; got {len(knots)} and {len(heights)}"
            )
        steep = _mean_slopes(knots, heights) if slopes is None else np.array(slopes, np.float64)
        if steep.shape != knots.shape or not np.all(np.isfinite(steep) & (steep > 0.0)):
            raise InvalidInput(
                f"slopes must be {len(knots)} positive numbers, one per time; got {steep}"
            )
        self._stages: tuple[_Spline, ...] = (_Spline(knots, heights, steep, False),)

    @classmethod
    def along(
        cls, alignment: ArrayLike, *, spacing: float = SPACING, steepest: float = STEEPEST
    ) -> Timewarp:
        """Fit a timewarp to an alignment; the curve passes through both ends.

        Parameters
        ----------
        alignment : array_like, shape (L, 2)
            Pairs of frames; neither column may decrease.
        spacing : float
            Number of frames between knots.
        steepest : float
            Maximum slope. The slope stays between ``1 / steepest`` and `steepest`, or as close to
            this range as the lengths of the motions allow.

        Returns
        -------
        warp : Timewarp

        Raises
        ------
        InvalidInput
            If the alignment decreases, or covers only a single frame of one motion.

        Examples
        --------
        >>> staircase = [[0, 0], [1, 0], [2, 1], [3, 1], [4, 2]]
        >>> Timewarp.along(staircase)([0, 2, 4])
        array([0., 1., 2.])
        """
        pairs = np.asarray(alignment, dtype=np.float64)
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise InvalidInput(f"alignment must have shape (pairs, 2); got {pairs.shape}")
        if len(pairs) < 2 or np.any(pairs[-1] <= pairs[0]):
            raise InvalidInput(
                "alignment must end at a later frame than it starts in both motions; "
                f"got {pairs[0].tolist() if len(pairs) else 'nothing'} to "
                f"{pairs[-1].tolist() if len(pairs) else 'nothing'}"
            )
        if not (np.all(np.isfinite(pairs)) and np.all(np.diff(pairs, axis=0) >= 0.0)):
            raise InvalidInput("alignment must not decrease in either motion")
        if not steepest > 1.0 or not spacing > 0.0:
            raise InvalidInput(
                f"steepest must be above 1 and spacing above 0; got steepest {steepest} and "
                f"spacing {spacing}"
            )
        return cls(*_fitted(pairs, spacing, steepest))

    def __call__(self, times: ArrayLike) -> Array:
        """Return the times in the second motion that correspond to `times` (...,) in the first."""
        return self._at(times)[0]

    def speed(self, times: ArrayLike) -> Array:
        """Return the slope (...,) of the curve at `times` of the first motion; always positive."""
        return self._at(times)[1]

    @property
    def domain(self) -> tuple[float, float]:
        """First and last knot of the warp, as times of the first motion."""
        return self._stages[0].ends

    def inverse(self) -> Timewarp:
        """Return the map from times of the second motion to times of the first."""
        return _chain(stage._replace(backwards=not stage.backwards) for stage in self._stages[::-1])

    def then(self, other: Timewarp) -> Timewarp:
        """Compose two timewarps: ``warp.then(other)(t) == other(warp(t))``."""
        return _chain((*self._stages, *other._stages))

    def __repr__(self) -> str:
        first, last = self.domain
        ends = self(np.array([first, last]))
        return f"Timewarp({first:g}..{last:g} -> {ends[0]:g}..{ends[1]:g})"

    def _at(self, times: ArrayLike) -> tuple[Array, Array]:
        shape = np.shape(times)
        here = np.asarray(times, dtype=np.float64).ravel()
        speed = np.ones_like(here)
        for stage in self._stages:
            here, factor = stage.at(here)
            speed = speed * factor
        return here.reshape(shape), speed.reshape(shape)


def _chain(stages) -> Timewarp:
    warp = object.__new__(Timewarp)
    warp._stages = tuple(stages)
    return warp


def _forwards(spline: _Spline, times: Array) -> tuple[Array, Array]:
    """Return the values and slopes of the spline at `times` (n,)."""
    x, y, d, _ = spline
    k = np.clip(np.searchsorted(x, times, side="right") - 1, 0, len(x) - 2)
    width, rise = x[k + 1] - x[k], y[k + 1] - y[k]
    s = rise / width
    share = np.clip((times - x[k]) / width, 0.0, 1.0)
    both = share * (1.0 - share)
    below = s + (d[k + 1] + d[k] - 2.0 * s) * both
    value = y[k] + rise * (s * share**2 + d[k] * both) / below
    slope = s**2 * (d[k + 1] * share**2 + 2.0 * s * both + d[k] * (1.0 - share) ** 2) / below**2
    beyond = times - np.clip(times, x[0], x[-1])
    return value + beyond * slope, slope


def _solved(spline: _Spline, values: Array) -> Array:
    """Return the times (n,) at which the spline takes `values`, by solving quadratic equations."""
    x, y, d, _ = spline
    k = np.clip(np.searchsorted(y, values, side="right") - 1, 0, len(x) - 2)
    width, rise = x[k + 1] - x[k], y[k + 1] - y[k]
    s = rise / width
    up = np.clip(values, y[0], y[-1]) - y[k]
    bent = up * (d[k + 1] + d[k] - 2.0 * s)
    a, b, c = rise * (s - d[k]) + bent, rise * d[k] - bent, -s * up
    root = np.sqrt(np.maximum(b**2 - 4.0 * a * c, 0.0))
    time = x[k] + width * 2.0 * c / (-b - root)  # the form without cancellation
    beyond = values - np.clip(values, y[0], y[-1])
    return time + np.where(beyond < 0.0, beyond / d[0], beyond / d[-1])


def _mean_slopes(x: Array, y: Array) -> Array:
    """Return slopes (K,) at the knots: geometric means, which invert along with the curve."""
    width = np.diff(x)
    steep = np.log(np.diff(y) / width)
    if len(steep) == 1:
        return np.exp(np.repeat(steep, 2))
    share = width[1:] / (width[:-1] + width[1:])  # the closer side counts more
    inner = share * steep[:-1] + (1.0 - share) * steep[1:]
    return np.exp(np.concatenate([steep[:1], inner, steep[-1:]]))


def _fitted(pairs: Array, spacing: float, steepest: float) -> tuple[Array, Array]:
    """Return knots and values (K,) of a smooth polyline near the pairs, with bounded slopes."""
    from scipy.optimize import lsq_linear

    (x0, y0), (x1, y1) = pairs[0], pairs[-1]
    pieces = max(round((x1 - x0) / spacing), 1)
    knots = np.linspace(x0, x1, pieces + 1)
    if pieces == 1:
        return knots, np.array([y0, y1])
    width = (x1 - x0) / pieces
    mean = (y1 - y0) / (x1 - x0)
    # Unknowns: the slope of each piece. A value is the sum over the pieces before it.
    covered = np.clip((pairs[:, :1] - knots[:-1]) / width, 0.0, 1.0) * width
    bends = np.sqrt(_BEND * len(pairs) / pieces) * width * np.diff(np.eye(pieces), axis=0)
    ends = np.full((1, pieces), _THROUGH_THE_ENDS * width)
    rows = np.concatenate([covered, bends, ends])
    goal = np.concatenate([pairs[:, 1] - y0, np.zeros(pieces - 1), [_THROUGH_THE_ENDS * (y1 - y0)]])
    low, high = min(1.0 / steepest, 0.8 * mean), max(steepest, 1.25 * mean)
    slopes = lsq_linear(rows, goal, bounds=(low, high)).x
    values = y0 + np.concatenate([[0.0], np.cumsum(slopes * width)])
    return knots, y0 + (values - y0) * ((y1 - y0) / (values[-1] - y0))


def _increasing(name: str, value: ArrayLike) -> Array:
    array = np.array(value, dtype=np.float64)
    if array.ndim != 1 or len(array) < 2:
        raise InvalidInput(
            f"{name} must be one-dimensional with at least two values; got {array.shape}"
        )
    if not (np.all(np.isfinite(array)) and np.all(np.diff(array) > 0.0)):
        where = np.flatnonzero(~(np.diff(array) > 0.0))
        at = f"; value {where[0] + 1} is not" if len(where) else ""
        raise InvalidInput(f"{name} must be finite and strictly increasing{at}")
    return array
