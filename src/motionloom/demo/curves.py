"""Control curves: quintic interpolation between keys in continuous time.

Between two keys a value follows the quintic that matches value, velocity and acceleration at
both: with zero velocity and acceleration, it is the minimum-jerk movement of human reaching
(Flash and Hogan 1985); with ballistic ends, it is exactly the parabola of free flight.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

GRAVITY = 9.81  # m/s^2


class ControlCurve:
    """A scalar or vector over time, defined by keys in order of time.

    Parameters
    ----------
    value : array_like, shape (D,) or scalar
        Value before the first key.

    Examples
    --------
    >>> curve = ControlCurve(0.0)
    >>> curve.ease(1.0, 2.0, 10.0)
    >>> curve.sample([0.0, 1.5, 3.0])
    array([ 0.,  5., 10.])
    """

    def __init__(self, value: ArrayLike = 0.0) -> None:
        self.scalar = np.ndim(value) == 0
        first = np.atleast_1d(np.asarray(value, dtype=np.float64))
        self._times: list[float] = []
        self._keys: list[tuple[Array, Array, Array]] = []
        self._first = first
        self._still = np.zeros_like(first)

    @property
    def last(self) -> Array:
        """Value of the last key."""
        value = self._keys[-1][0] if self._keys else self._first
        return value[0] if self.scalar else value

    @property
    def last_time(self) -> float:
        """Time of the last key, seconds."""
        return self._times[-1] if self._times else -np.inf

    def key(
        self,
        time: float,
        value: ArrayLike,
        *,
        velocity: ArrayLike = 0.0,
        acceleration: ArrayLike = 0.0,
    ) -> None:
        """Add a key; one not later than the last key replaces it."""
        key = self._spread(value), self._spread(velocity), self._spread(acceleration)
        if self._times and time <= self._times[-1] + 1e-9:
            self._keys[-1] = key
            return
        self._times.append(float(time))
        self._keys.append(key)

    def rebase(self, value: ArrayLike) -> None:
        """Continue from `value` after the last key: for angles after a full turn."""
        self._again(self._spread(value), self._still)

    def _again(self, value: Array, acceleration: Array) -> None:
        """A second key at the time of the last one, valid only after it."""
        self._times.append(self._times[-1])
        self._keys.append((value, self._still, acceleration))

    def hold(self, time: float) -> None:
        """Keep the last value until `time`."""
        if time > self.last_time + 1e-9:
            self.key(time, self.last)

    def ease(self, start: float, end: float, value: ArrayLike, *, push: float = 0.0) -> None:
        """Hold until `start`, then a minimum-jerk transition that ends at `end`.

        `push` is the acceleration at both ends, in units of distance over duration squared;
        5.8 is the largest acceleration of the transition without it.
        """
        self.hold(start)
        end = max(end, self.last_time + 1e-3)
        if push == 0.0:
            self.key(end, value)
            return
        goal = self._spread(value)
        kick = push * (goal - self._keys[-1][0]) / (end - self.last_time) ** 2
        self._again(self._keys[-1][0], kick)
        self.key(end, goal, acceleration=-kick)
        self._again(goal, self._still)

    def _spread(self, value: ArrayLike) -> Array:
        return self._still + np.asarray(value, dtype=np.float64)

    def sample(self, times: ArrayLike) -> Array:
        """Values at `times` (T,): shape (T, D), or (T,) for a scalar curve."""
        t = np.asarray(times, dtype=np.float64)
        if not self._times:
            out = np.broadcast_to(self._first, (*t.shape, *self._first.shape)).copy()
            return out[..., 0] if self.scalar else out
        knots = np.array([self._times[0] - 1.0, *self._times, self._times[-1] + 1.0])
        still = self._still
        keys = [(self._keys[0][0], still, still), *self._keys, (self._keys[-1][0], still, still)]
        values, velocities, accelerations = (np.array(part) for part in zip(*keys, strict=True))
        inside = np.clip(t, knots[0], knots[-1])
        k = np.clip(np.searchsorted(knots, inside, side="right") - 1, 0, len(knots) - 2)
        h = (knots[k + 1] - knots[k])[:, None]
        out = _quintic(
            (inside[:, None] - knots[k][:, None]) / h,
            (values[k], velocities[k] * h, accelerations[k] * h**2),
            (values[k + 1], velocities[k + 1] * h, accelerations[k + 1] * h**2),
        )
        return out[..., 0] if self.scalar else out


def _quintic(u: Array, start: Sequence[Array], end: Sequence[Array]) -> Array:
    """Quintic over u in [0, 1] with value, slope and curvature given at both ends."""
    p0, v0, a0 = start
    p1, v1, a1 = end
    d = p1 - p0
    c3 = 10 * d - 6 * v0 - 4 * v1 - 1.5 * a0 + 0.5 * a1
    c4 = -15 * d + 8 * v0 + 7 * v1 + 1.5 * a0 - a1
    c5 = 6 * d - 3 * (v0 + v1) - 0.5 * (a0 - a1)
    return p0 + u * (v0 + u * (0.5 * a0 + u * (c3 + u * (c4 + u * c5))))


def bump(times: Array, start: float, end: float) -> Array:
    """A bump of height 1 over [start, end] with zero slope at both ends, shape (T,)."""
    u = np.clip((times - start) / (end - start), 0.0, 1.0)
    return 64.0 * (u * (1.0 - u)) ** 3


def noise(times: Array, rng: np.random.Generator, channels: int) -> Array:
    """Smooth noise below 1 Hz of about unit size, shape (T, channels).

    Each channel is a sum of six sinusoids with random frequency and phase: a function of
    continuous time.
    """
    waves = 6
    frequency = rng.uniform(0.12, 0.9, size=(waves, channels))
    phase = rng.uniform(0.0, 2.0 * np.pi, size=(waves, channels))
    angle = 2.0 * np.pi * frequency * times[:, None, None] + phase
    return np.sin(angle).sum(axis=1) / np.sqrt(waves / 2.0)


def on_grid(time: float, rate: float = 30.0) -> float:
    """`time` rounded to the nearest frame of the corpus' base rate."""
    return round(time * rate) / rate
