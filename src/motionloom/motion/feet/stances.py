"""Stances: how feet move while they stand, which shows drift and skating.

Only the part of a contact in which the sole is flat is used, if it is long enough, because the
ball of a foot also moves while the foot rolls. Both ends of a stance are cut off.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.motion.segment import intervals

Array = NDArray[np.float64]

_FLAT_FRAMES = 4
_ROLLING = 0.2  # weight of a stance without a flat sole
_FOLLOWS = 0.4  # share of the velocities that the body does not explain, at most
_FEW, _FEW_LEVELS = 6, 4
_LEVEL = 0.04  # meters
_LEAST_ERROR = 0.01  # m/s; few stances that agree by chance do not prove anything


def stance(
    ball: Array, flat: NDArray[np.bool_], start: int, end: int, fps: float
) -> tuple[float, ...] | None:
    """Return the movement of a ball (T, 3) in the contact ``[start, end)``.

    The result is a row of `Stances`, or None if the contact is too short.
    """
    runs = [(start + a, start + b) for a, b in intervals(flat[start:end])]
    first, last = max(runs, key=lambda run: run[1] - run[0], default=(start, start))
    rolls = last - first < _FLAT_FRAMES
    if rolls:
        first, last = start, end
    cut = max(1, (last - first) // 6) if last - first > 5 else 0
    first, last = first + cut, last - cut
    if last - first < 3:
        return None
    times = np.arange(last - first) - 0.5 * (last - first - 1)
    velocity = (times @ ball[first:last]) / (times @ times) * fps
    weight = (last - first) * (_ROLLING if rolls else 1.0)
    level = float(np.median(ball[first:last, 1]))
    return (0.5 * (first + last), *velocity.tolist(), level, weight, float(end - start))


@dataclass(frozen=True, eq=False)
class Stances:
    """Stances of both feet.

    Attributes
    ----------
    rows : ndarray, shape (N, 7)
        Middle frame, velocity (3) in m/s, height in meters, weight and frames of each stance.
    """

    rows: Array

    def median(self, axis: int) -> float:
        """Return the weighted median of one component of the velocity."""
        order = np.argsort(self.rows[:, 1 + axis])
        below = np.cumsum(self.rows[order, 5])
        return float(self.rows[order, 1 + axis][np.searchsorted(below, 0.5 * below[-1])])

    def mean(self) -> tuple[Array, float]:
        """Return the mean velocity (3,), and the standard error of its horizontal part."""
        weights = self.rows[:, 5]
        velocity = self.rows[:, 1:4]
        mean = np.average(velocity, axis=0, weights=weights)
        spread = np.average((velocity - mean) ** 2, axis=0, weights=weights)
        effective = weights.sum() ** 2 / np.sum(weights**2)
        return mean, float(np.sqrt((spread[0] + spread[2]) / effective)) + _LEAST_ERROR

    def slope(self, fps: float) -> tuple[float | None, float]:
        """Return the rise of the levels in m/s, and the share of their variance it leaves.

        The rise is None if there are few stances, or if they are too close together in time.
        """
        times, levels = self.rows[:, 0] / fps, self.rows[:, 4]
        if len(times) < _FEW_LEVELS or np.ptp(times) < 1.0:
            return None, 0.0
        line = np.polyfit(times, levels, 1, w=np.sqrt(self.rows[:, 5]))
        left = np.var(levels - np.polyval(line, times)) / max(float(np.var(levels)), 1e-9)
        return float(line[0]), float(left)

    def slip(self, fps: float) -> float:
        """Return the median over the contacts of speed times duration, in meters."""
        speed = np.hypot(self.rows[:, 1], self.rows[:, 3])
        return float(np.median(speed * self.rows[:, 6] / fps))

    def follows(self, hips: Array, fps: float) -> bool:
        """Return whether feet slide along with the body, whose hips are at `hips` (T, 3).

        If the whole body drifts or travels too far, the velocities of standing feet depend on that
        of the body. If single feet slide, they do not. A few stances do not show either.
        """
        if len(self.rows) < _FEW:
            return False
        velocity = np.gradient(hips[:, [0, 2]], 1.0 / fps, axis=0)
        body = velocity[np.clip(np.round(self.rows[:, 0]).astype(int), 0, len(hips) - 1)]
        feet = self.rows[:, 1] + 1j * self.rows[:, 3]
        causes = np.stack([np.ones(len(feet)), body[:, 0] + 1j * body[:, 1]], axis=1)
        weights = np.sqrt(self.rows[:, 5])
        fit = np.linalg.lstsq(causes * weights[:, None], feet * weights, rcond=None)[0]
        left = np.sum(np.abs((feet - causes @ fit) * weights) ** 2) / (len(feet) - 2)
        return bool(left < _FOLLOWS * np.sum(np.abs(feet * weights) ** 2) / len(feet))

    def level(self, near: float) -> float:
        """Return the median height of the stances within 4 cm of a height, or that height."""
        heights = self.rows[:, 4]
        close = heights[np.abs(heights - near) < _LEVEL]
        return float(np.median(close)) if len(close) else near
