"""Frame by frame over one movement: everybody's wish, bend and step at once."""

from __future__ import annotations

import numpy as np
from numba import njit

from motionloom.synthesis.crowd.discs import advance
from motionloom.synthesis.crowd.forces import wanted_velocities

_TURN_RATE = np.deg2rad(30.0)  # per second: how fast a movement is bent towards the wish
_TURN_EASE = 3.0  # 1/s: how fast the bending itself changes
_DRIFT = 0.2  # m/s: how fast a movement is carried besides; its feet step as far as it takes
_DRIFT_EASE = 3.0  # 1/s
_GAIN = 1.6  # 1/s: how fast a soldier makes up for being out of place
_HARDLY = 0.15  # m/s below which a movement has no direction to be bent


@njit(cache=True, nogil=True)
def _eased_step(yaws, rates, drifts, i, step, goal, dx, dz, dt):
    """Agent i's step, x and z, bent and carried.

    The bend is eased towards the yaw rate `goal`, the drift towards the velocity (dx, dz) that
    the movement lacks, as far as feet can step.
    """
    rates[i] += _TURN_EASE * dt * (goal - rates[i])
    yaws[i] += rates[i] * dt
    size = np.hypot(dx, dz)
    scale = min(1.0, _DRIFT / size) if size > 0.0 else 0.0
    drifts[i, 0] += _DRIFT_EASE * dt * (scale * dx - drifts[i, 0])
    drifts[i, 1] += _DRIFT_EASE * dt * (scale * dz - drifts[i, 1])
    c, s = np.cos(yaws[i]), np.sin(yaws[i])
    x, z = step
    return c * x + s * z + drifts[i, 0] * dt, c * z - s * x + drifts[i, 1] * dt


@njit(cache=True, nogil=True)
def danced(
    centres, wanted, yaws, rates, drifts, steps, means, radii, half, columns, speed, dt,
    out_centres, out_yaws,
):  # fmt: skip
    """Carry couples through the frames of a movement.

    Changes the state: centres, wanted velocities and drifts (A, 2), yaws and yaw rates (A,).
    `steps` (A, n, 2) are the natural steps of the centres and `means` (A, 2) their mean
    velocity, both before they are bent by the yaw. Fills centres (A, n, 2) and yaws (A, n).
    """
    count, frames = steps.shape[0], steps.shape[1]
    moves = np.empty((count, 2))
    for k in range(frames):
        wanted_velocities(centres, wanted, radii, half, columns, speed, dt)
        for i in range(count):
            c, s = np.cos(yaws[i]), np.sin(yaws[i])
            mx, mz = c * means[i, 0] + s * means[i, 1], c * means[i, 1] - s * means[i, 0]
            goal = 0.0
            if np.hypot(mx, mz) > _HARDLY and np.hypot(wanted[i, 0], wanted[i, 1]) > _HARDLY:
                # The angle from where the movement goes to where it should go.
                ahead = mx * wanted[i, 0] + mz * wanted[i, 1]
                aside = mz * wanted[i, 0] - mx * wanted[i, 1]
                goal = min(max(np.arctan2(aside, ahead), -_TURN_RATE), _TURN_RATE)
            dx, dz = wanted[i, 0] - mx, wanted[i, 1] - mz
            moves[i] = _eased_step(yaws, rates, drifts, i, steps[i, k], goal, dx, dz, dt)
        advance(centres, moves, radii, half, columns)
        for i in range(count):
            out_centres[i, k] = centres[i]
            out_yaws[i, k] = yaws[i]


@njit(cache=True, nogil=True)
def marched(centres, yaws, rates, drifts, steps, headings, goals, dt, out_centres, out_yaws):
    """Carry soldiers through the frames of a movement, towards their places (A, n, 3).

    State as for `danced`; `headings` (A, n) are those of the bodies before they are bent.
    """
    count, frames = steps.shape[0], steps.shape[1]
    for k in range(frames):
        for i in range(count):
            off = goals[i, k, 2] - headings[i, k] - yaws[i]
            off = (off + np.pi) % (2.0 * np.pi) - np.pi
            goal = min(max(_GAIN * off, -_TURN_RATE), _TURN_RATE)
            dx = _GAIN * (goals[i, k, 0] - centres[i, 0])
            dz = _GAIN * (goals[i, k, 1] - centres[i, 1])
            x, z = _eased_step(yaws, rates, drifts, i, steps[i, k], goal, dx, dz, dt)
            centres[i, 0] += x
            centres[i, 1] += z
            out_centres[i, k] = centres[i]
            out_yaws[i, k] = yaws[i]
