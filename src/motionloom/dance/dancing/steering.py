"""Steer a dance: find the desired travel of each movement, and bend the dance toward it.

Every movement has a goal on the floor: the target, or the point that a dancer with the requested
speed and direction would reach by the end of the movement. Goals are absolute, so each movement
corrects the error of the previous one. A blend of the movements of a node comes as close to the
goal as possible (`travel_weights`). The remaining error is reduced by bending: the dance is turned
by up to 35 degrees per second and shifted by up to 30 cm per second, which lengthens or shortens
its steps. Turn and shift change gradually.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.dance.dancing.nodes import DanceNode
from motionloom.errors import InvalidInput
from motionloom.motion.rotations.planar_transform import PlanarTransform, floor_complex

Array = NDArray[np.float64]

TURN_RATE = np.deg2rad(35.0)  # per second: fastest turn of the dance
DRIFT = 0.3  # m/s: fastest shift of the dance
_EASE = 6.0  # 1/s: rate at which turn rate and shift change
_NEAR = 0.3  # meters: a dance this close to its target is not bent
_TRIED = (
    9  # number of directions tried for a blend, from the largest left bend to the largest right
)
_EFFORT = 0.05  # cost of a bend by one radian, as a fraction of the goal
_RATES = 41  # number of turn rates that are tried
_MOST = 1e6  # largest value of a control, in m, m/s or rad
_SIZES = {"target": 2, "direction": 1, "speed": 1, "facing": 1}
CONTROLS = tuple(_SIZES)


class DanceSteering:
    """Controls of a dancer, and the planar transform that bends the dance.

    Floor positions are complex numbers ``z + ix``, see `PlanarTransform`.

    Parameters
    ----------
    fps : float
    reach : float
        Longest travel of a movement in meters.
    pace : float
        Speed in m/s that is used if only a direction is set.
    bend : bool
        Turn and shift the dance. If False, only the choice and the blend of movements steer it.
    """

    def __init__(self, fps: float, *, reach: float, pace: float, bend: bool = True) -> None:
        self.fps, self._reach, self._pace, self._bends = fps, reach, pace, bend
        self._controls: dict[str, Any] = dict.fromkeys(CONTROLS)
        self._bent = PlanarTransform.identity()
        self._last_root: complex | None = None  # position of the leader before bending
        self._anchor: complex | None = None  # position reached by the requested velocity
        self._anchor_frame = 0
        self._rate, self._drift = 0.0, 0j  # rad/s and m/s
        self._wanted_rate, self._wanted_drift = 0.0, 0j

    def set(self, **controls: Any) -> None:
        """Change one or more controls.

        Raises
        ------
        InvalidInput
            If a value is not finite or has the wrong size.
        """
        for name, value in controls.items():
            if value is None:
                continue
            try:
                given = np.asarray(value, np.float64)
            except (TypeError, ValueError, OverflowError):
                given = np.empty(0)
            fits = given.size == _SIZES[name] and given.ndim <= 1
            if not fits or not np.all(np.abs(given) <= _MOST):
                raise InvalidInput(f"{name} must be {_SIZES[name]} finite number(s); got {value!r}")
        changed = {name: value for name, value in controls.items() if name != "facing"}
        if any(not np.array_equal(self._controls[name], value) for name, value in changed.items()):
            self._anchor = None
        self._controls |= controls

    def pose(self, place: Array) -> tuple[complex, float]:
        """Convert a position ``x, z, yaw`` before bending to world position and heading."""
        world = self._bent @ PlanarTransform.from_array(place)
        return complex(world.floor), float(world.yaw)

    # --- goals ---------------------------------------------------------------------------

    def goal(self, here: complex, heading: float, frame: int, seconds: float) -> complex | None:
        """Return the desired world displacement within `seconds`, or None if there is no goal."""
        target, direction, speed = (self._controls[k] for k in ("target", "direction", "speed"))
        if target is not None:
            x, z = np.asarray(target, np.float64).ravel()
            away = complex(z, x) - here
            most = self._reach + DRIFT * seconds if speed is None else float(speed) * seconds
            # A distant target only determines the direction.
            return away * min(1.0, most / max(abs(away), 1e-9))
        if direction is None:
            if speed is None:
                return None
            direction = self._controls["direction"] = heading  # only a speed: straight ahead
        velocity = (self._pace if speed is None else float(speed)) * np.exp(1j * float(direction))
        if self._anchor is None:
            self._anchor, self._anchor_frame = here, frame
        self._anchor += velocity * (frame - self._anchor_frame) / self.fps
        self._anchor_frame = frame
        self._anchor = here + self._backlog(self._anchor - here, velocity * seconds)
        return complex(self._anchor + velocity * seconds - here)

    def _backlog(self, behind: complex, way: complex) -> complex:
        """Return how far the dancer lags behind, limited to a distance that can be caught up.

        A dancer who is ahead by more than half of the next displacement does not turn around.
        """
        if abs(way) > 0.0:
            unit = way / abs(way)
            along = (behind * unit.conjugate()).real
            behind += (max(along, -0.5 * abs(way)) - along) * unit
        return behind * min(1.0, self._reach / max(abs(behind), 1e-9))

    def weights(
        self,
        node: DanceNode,
        goal: complex,
        heading: float,
        seconds: float,
        *,
        method: str,
        among: NDArray[np.bool_] | None = None,
    ) -> tuple[Array, float]:
        """Return the blend weights (n,) of a node for a goal, and the distance that remains to it.

        `among` (n,) is the mask of movements that may have a weight. By default, all may.
        """
        local = goal * np.exp(-1j * heading)
        if self._controls["facing"] is not None:
            turn = _wrapped(float(np.asarray(self._controls["facing"])) - heading)
            wanted = np.array([[local.imag, local.real, turn]])
        else:
            # A bend at a constant rate turns the displacement by half as much as the body.
            bends = 0.5 * TURN_RATE * seconds * np.linspace(-1.0, 1.0, _TRIED)
            bends = bends[np.abs(bends) < np.pi] if self._bends else np.zeros(1)
            ways = local * np.exp(-1j * bends)
            wanted = np.column_stack([ways.imag, ways.real])
        rows = node.weights_for(wanted, method=method, among=among)
        misses = np.linalg.norm(rows @ node.travel[:, :2] - wanted[:, :2], axis=1)
        costs = misses if len(wanted) == 1 else misses + _EFFORT * abs(goal) * np.abs(bends)
        best = int(costs.argmin())
        return rows[best], float(costs[best])

    # --- bending -------------------------------------------------------------------------

    def plan(self, path: Array, frame: int, seconds: float) -> None:
        """Plan how to turn and shift the rest of a movement.

        Parameters
        ----------
        path : ndarray, shape (n, 3)
            Remaining path of the leader before bending, ``x, z, yaw``.
        frame : int
            Current frame of the dance.
        seconds : float
            Remaining time.
        """
        self._wanted_rate, self._wanted_drift = 0.0, 0j
        here, heading = self.pose(path[0])
        if self._last_root is not None:
            here = complex(self._last_root * self._bent.rotation + self._bent.floor)
        goal = self.goal(here, heading, frame, seconds)
        facing = self._controls["facing"]
        still = self._controls["target"] is not None and (goal is None or abs(goal) < _NEAR)
        if not self._bends or seconds <= 0.0 or (facing is None and (goal is None or still)):
            return
        share = np.linspace(0.0, 1.0, len(path))[1:]
        passed = share * seconds
        late = (1.0 - np.exp(-_EASE * passed)) / _EASE  # integral of the rest of the old rate
        steps = np.diff(floor_complex(path[:, [0, 1, 1]]))
        yaw = float(self._bent.yaw)
        if facing is None:
            rates = TURN_RATE * np.linspace(-1.0, 1.0, _RATES)
        else:
            turn = _wrapped(float(np.asarray(facing)) - float(path[-1, 2]) - yaw)
            rate = (turn - self._rate * late[-1]) / max(seconds - late[-1], 1e-6)
            rates = np.clip([rate], -TURN_RATE, TURN_RATE)
        yaws = yaw + rates[:, None] * (passed - late) + self._rate * late
        there = np.sum(steps * np.exp(1j * yaws), axis=1)
        if goal is None or still:
            self._wanted_rate = float(rates[0])
            return
        missing = goal - there
        effort = _EFFORT * abs(goal) * np.abs(rates) * seconds
        best = int(np.argmin(np.abs(missing) + (effort if facing is None else 0.0)))
        drift = (missing[best] - self._drift * late[-1]) / max(seconds - late[-1], 1e-6)
        self._wanted_rate = float(rates[best])
        self._wanted_drift = complex(drift * min(1.0, DRIFT / max(abs(drift), 1e-9)))

    def bend(self, rows: list) -> list:
        """Turn and shift the poses of all characters, each (rotations, root, contacts)."""
        leader = floor_complex(rows[0][1].astype(np.float64))
        moving = self._rate or self._drift or self._wanted_rate or self._wanted_drift
        if not moving and not self._bent.to_array().any():
            self._last_root = complex(leader[-1])
            return rows
        left = np.exp(-_EASE * np.arange(1, len(leader) + 1) / self.fps)
        rates = self._wanted_rate + (self._rate - self._wanted_rate) * left
        drifts = self._wanted_drift + (self._drift - self._wanted_drift) * left
        self._rate, self._drift = float(rates[-1]), complex(drifts[-1])
        yaw = self._bent.yaw + np.cumsum(rates) / self.fps
        first = leader[0] if self._last_root is None else self._last_root
        steps = np.diff(np.append(first, leader))
        was = first * self._bent.rotation + self._bent.floor
        there = was + np.cumsum(steps * np.exp(1j * yaw) + drifts / self.fps)
        transforms = PlanarTransform.from_complex(there - leader * np.exp(1j * yaw), yaw)
        self._bent, self._last_root = transforms[-1], complex(leader[-1])
        return [
            (*transforms.apply_to_poses(rotations, root), contacts)
            for rotations, root, contacts in rows
        ]


def _wrapped(angle: float) -> float:
    return (angle + np.pi) % (2.0 * np.pi) - np.pi
