"""Desired trajectory for the next second, computed from controls and paths.

Controls are a desired velocity and a facing. The velocity approaches the desired one like a
critically damped spring, or with a limited acceleration. Both are solved in closed form, so the
trajectory ahead is known immediately. On a path, the trajectory follows the path from the nearest
point, at a speed that still allows the character to stop at the end.
"""

from __future__ import annotations

import cmath
import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from motionloom.motion_matching.settings import HORIZONS

Complex = NDArray[np.complex128]

Dynamics = Literal["sprung", "clamped"]

_RATE = 9.0  # 1/s: rate of the springs, with which half of a velocity change takes 0.19 s
_ACCELERATION = 8.0  # m/s^2, limit for clamped velocities
_TURNING = 6.0  # rad/s, limit for clamped facing
_BRAKING = 2.0  # m/s^2, deceleration toward the end of a path
_MOVING = 0.25  # m/s: slower characters keep their facing
_STARTING = 2.0  # m/s^2, acceleration toward the speed on a path
_ARRIVED = 0.3  # a path counts as finished this many meters before its end
_WINDOW = 1.5  # meters ahead on the path in which the nearest point is searched


@dataclass
class Simulation:
    """Velocity and facing that approach their desired values.

    Attributes
    ----------
    velocity, acceleration : complex
        Complex values ``z + ix`` in m/s and m/s^2.
    facing, turning : float
        Facing in radians and turn rate in rad/s.
    dynamics : {"sprung", "clamped"}

    Examples
    --------
    >>> simulation = Simulation()
    >>> places, facings = simulation.ahead(1.5 + 0j, 0.0)
    >>> places.real.round(2)
    array([0.21, 0.67, 1.17])
    """

    velocity: complex = 0j
    acceleration: complex = 0j
    facing: float = 0.0
    turning: float = 0.0
    dynamics: Dynamics = "sprung"

    def step(self, velocity: complex, facing: float, dt: float) -> None:
        """Approach a desired velocity and facing for one time step."""
        if self.dynamics == "sprung":
            away, self.acceleration = _spring(self.velocity - velocity, self.acceleration, dt)
            self.velocity = velocity + away
            off, turning = _spring(complex(_angle(self.facing - facing)), complex(self.turning), dt)
            self.facing, self.turning = facing + off.real, turning.real
            return
        missing = velocity - self.velocity
        most = _ACCELERATION * dt
        self.velocity += missing if abs(missing) <= most else missing / abs(missing) * most
        turn = _angle(facing - self.facing)
        self.facing += max(-_TURNING * dt, min(_TURNING * dt, turn))

    def ahead(self, velocity: complex, facing: float) -> tuple[Complex, NDArray[np.float64]]:
        """Return the positions, relative to the character, and the facings at the horizons."""
        times = np.array(HORIZONS)
        turn = _angle(self.facing - facing)
        if self.dynamics == "sprung":
            away = self.velocity - velocity
            pull = self.acceleration + _RATE * away
            left = np.exp(-_RATE * times)
            places = velocity * times + away * (1.0 - left) / _RATE
            places = places + pull * (1.0 - left * (1.0 + _RATE * times)) / _RATE**2
            push = self.turning + _RATE * turn
            return places, facing + (turn + push * times) * left
        missing = velocity - self.velocity
        needed = abs(missing) / _ACCELERATION
        speeding = np.minimum(times, needed)
        places = velocity * times - missing * (times - 0.5 * speeding) * (speeding > 0)
        if needed > 0.0:
            gained = missing * (speeding**2 / (2.0 * needed) + (times - speeding))
            places = self.velocity * times + gained
        left_over = np.sign(turn) * np.maximum(abs(turn) - _TURNING * times, 0.0)
        return places, facing + left_over


@dataclass
class PathFollower:
    """Progress along a path.

    Attributes
    ----------
    points : ndarray of complex, shape (n,)
        Evenly sampled path.
    speed : float
        Desired speed, in m/s.
    along : float
        Progress in meters.

    Examples
    --------
    >>> path = PathFollower(np.linspace(0.0, 10.0, 201) + 0j, 1.5)
    >>> path.follow(1.03 + 0.1j)
    >>> round(path.along, 2), path.done
    (1.03, False)
    """

    points: Complex
    speed: float
    along: float = 0.0
    _steps: NDArray[np.float64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._steps = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(self.points)))])

    @property
    def length(self) -> float:
        """Length of the path in meters."""
        return float(self._steps[-1])

    @property
    def done(self) -> bool:
        """True if the end of the path is reached."""
        return self.along >= self.length - _ARRIVED

    def follow(self, here: complex) -> None:
        """Advance to the point ahead on the path that is nearest to a position."""
        first = int(np.searchsorted(self._steps, self.along))
        last = int(np.searchsorted(self._steps, self.along + _WINDOW)) + 1
        part = self.points[max(first - 1, 0) : last]
        if len(part) < 2:
            self.along = self.length
            return
        starts, edges = part[:-1], np.diff(part)
        share = ((here - starts) * edges.conj()).real / np.maximum(np.abs(edges) ** 2, 1e-12)
        share = np.clip(share, 0.0, 1.0)
        off = np.abs(starts + share * edges - here)
        k = int(np.argmin(off))
        progress = float(self._steps[max(first - 1, 0) + k] + share[k] * abs(edges[k]))
        self.along = max(self.along, progress)

    def at(self, along: NDArray | float) -> Complex:
        """Return the points at distances along the path, in meters."""
        real = np.interp(along, self._steps, self.points.real)
        return np.asarray(real + 1j * np.interp(along, self._steps, self.points.imag))

    def direction(self, along: NDArray | float) -> NDArray[np.float64]:
        """Return the direction of the path at distances, in radians, measured over half a meter."""
        here = np.clip(along, 0.25, max(self.length - 0.25, 0.25))
        return np.angle(self.at(here + 0.25) - self.at(here - 0.25))

    def ahead(self, speed: float, eager: float = 1.0) -> tuple[Complex, NDArray[np.float64]]:
        """Return world positions and directions at the horizons, starting from the current speed.

        The desired speed is multiplied by `eager`.
        """
        times = np.array(HORIZONS)
        left = max(self.length - self.along, 0.0)
        wanted = min(eager * self.speed, math.sqrt(2.0 * _BRAKING * left))
        needed = abs(wanted - speed) / _STARTING
        speeding = np.minimum(times, needed)
        gone = speed * times + (wanted - speed) * (times - speeding)
        if needed > 0.0:
            gone = gone + (wanted - speed) * speeding**2 / (2.0 * needed)
        brake = min(wanted**2 / (2.0 * _BRAKING), left)
        stop = left - 0.5 * np.maximum(left - gone, 0.0)
        places = self.along + np.minimum(gone if brake < left else stop, left)
        return self.at(places), self.direction(places)


def desired_facing(velocity: complex, facing: float | None, now: float) -> float:
    """Return the desired facing.

    If none is set, this is the direction of travel or, at low speed, the current facing.
    """
    if facing is not None:
        return facing
    return cmath.phase(velocity) if abs(velocity) > _MOVING else now


def _spring(away: complex, speed: complex, dt: float) -> tuple[complex, complex]:
    pull = speed + _RATE * away
    left = math.exp(-_RATE * dt)
    return (away + pull * dt) * left, (speed - _RATE * pull * dt) * left


def _angle(radians: float) -> float:
    """Wrap an angle to (-pi, pi]."""
    return math.atan2(math.sin(radians), math.cos(radians))
