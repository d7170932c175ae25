"""Steering of agents: social forces, and turning and drift per frame.

Social forces (Helbing and Molnar 1995) drive each couple along the anticlockwise flow around the
room and push it away from other couples, walls and columns. Couples that would meet within a few
seconds give way early: contacts are predicted as for discs. The result is a wanted velocity, after
which movements are chosen, turned and shifted.
"""

from __future__ import annotations

import numpy as np

from motionloom.crowd.collision import advance, contact_time, near_pairs
from motionloom.kernels import kernel
from motionloom.motion.rotations.quaternions import rotate_floor

_RELAX = 1.2  # seconds: relaxation time of the wanted velocity towards the flow
_PUSH = 1.6  # m/s^2: repulsion of discs that touch
_FADE = 0.35  # metres over which the repulsion falls to a third
_FORESEE = 3.0  # seconds: time horizon of predicted contacts
_GIVE_WAY = 0.7  # m/s^2 for an immediate contact
_SIGHT = 2.0  # metres beyond which couples ignore each other
_FASTEST = 0.8  # m/s
_LANE = 0.62  # radius of the lane, as a fraction of the way from the centre to the wall


@kernel
def flow(place, half, speed, out):
    """Velocity of the flow: around the room, and back to the lane."""
    if not np.isfinite(half[0]):
        size = np.hypot(place[0], place[1]) + 1e-9
        out[0], out[1] = speed * place[1] / size, -speed * place[0] / size
        return
    gx, gz = place[0] / half[0] ** 2, place[1] / half[1] ** 2
    size = np.hypot(gx, gz) + 1e-9
    gx, gz = gx / size, gz / size
    ring = np.hypot(place[0] / half[0], place[1] / half[1])
    inwards = min(max(1.5 * (ring - _LANE), -0.6), 0.6)
    x, z = gz - inwards * gx, -gx - inwards * gz
    size = np.hypot(x, z)
    out[0], out[1] = speed * x / size, speed * z / size


@kernel
def wanted_velocities(places, wanted, radii, half, columns, speed, dt):
    """One step of the wanted velocities (A, 2), in place."""
    count = len(places)
    force, stream = np.zeros((count, 2)), np.zeros(2)
    for i in range(count):
        flow(places[i], half, speed, stream)
        for c in range(2):
            force[i, c] += (stream[c] - wanted[i, c]) / _RELAX
            if np.isfinite(half[c]):
                force[i, c] += _PUSH * np.exp(-(half[c] - radii[i] + places[i, c]) / _FADE)
                force[i, c] -= _PUSH * np.exp(-(half[c] - radii[i] - places[i, c]) / _FADE)
        for k in range(len(columns)):
            x, z = places[i, 0] - columns[k, 0], places[i, 1] - columns[k, 1]
            push = _push(x, z, wanted[i, 0], wanted[i, 1], radii[i] + columns[k, 2])
            away = np.hypot(x, z)
            force[i, 0] += push * x / away
            force[i, 1] += push * z / away
    pairs = near_pairs(places, 2.0 * radii.max() + _SIGHT)
    for p in range(len(pairs)):
        i, j = pairs[p]
        x, z = places[i, 0] - places[j, 0], places[i, 1] - places[j, 1]
        vx, vz = wanted[i, 0] - wanted[j, 0], wanted[i, 1] - wanted[j, 1]
        push = _push(x, z, vx, vz, radii[i] + radii[j])
        away = np.hypot(x, z)
        for c, part in ((0, push * x / away), (1, push * z / away)):
            force[i, c] += part
            force[j, c] -= part
    for i in range(count):
        wanted[i] += dt * force[i]
        fast = np.hypot(wanted[i, 0], wanted[i, 1])
        if fast > _FASTEST:
            wanted[i] *= _FASTEST / fast


@kernel
def _push(x, z, vx, vz, apart):
    """Repulsion of something at (x, z) from the origin that moves at (vx, vz)."""
    gap = np.hypot(x, z) - apart
    push = _PUSH * np.exp(-max(gap, 0.0) / _FADE)
    due = contact_time(x, z, vx, vz, apart)
    if due < _FORESEE:
        push += _GIVE_WAY * (1.0 - due / _FORESEE)
    return push


_TURN_RATE = np.deg2rad(30.0)  # per second: fastest turn of a movement
_TURN_EASE = 3.0  # 1/s: how fast the turn rate changes
_DRIFT = 0.2  # m/s: fastest drift of a movement, which lengthens the steps
_DRIFT_EASE = 3.0  # 1/s
_GAIN = 1.6  # 1/s: how fast a soldier returns to its place in the formation
_HARDLY = 0.15  # m/s below which a movement has no direction


@kernel
def _eased_step(yaws, rates, drifts, i, step, goal, dx, dz, dt):
    """Step of agent i, x and z, turned and shifted.

    The turn rate is eased towards `goal`, the drift towards the missing velocity (dx, dz), up to
    `_DRIFT`.
    """
    rates[i] += _TURN_EASE * dt * (goal - rates[i])
    yaws[i] += rates[i] * dt
    size = np.hypot(dx, dz)
    scale = min(1.0, _DRIFT / size) if size > 0.0 else 0.0
    drifts[i, 0] += _DRIFT_EASE * dt * (scale * dx - drifts[i, 0])
    drifts[i, 1] += _DRIFT_EASE * dt * (scale * dz - drifts[i, 1])
    c, s = np.cos(yaws[i]), np.sin(yaws[i])
    x, z = rotate_floor(c, s, step[0], step[1])
    return x + drifts[i, 0] * dt, z + drifts[i, 1] * dt


@kernel
def danced(
    centres, wanted, yaws, rates, drifts, steps, means, headings, facing, radii, half, columns,
    speed, dt, out_centres, out_yaws,
):  # fmt: skip
    """Steer couples through the frames of a movement.

    Changes the state in place: centres, wanted velocities and drifts (A, 2), yaws and yaw rates
    (A,). `steps` (A, n, 2) are the natural steps of the centres, `means` (A, 2) their mean
    velocities and `headings` (A, n) those of the leaders, before turning. Leaders are turned to
    face `facing` radians from the wanted direction; if it is NaN, movements are turned to travel
    in the wanted direction. Fills centres (A, n, 2) and yaws (A, n).
    """
    count, frames = steps.shape[0], steps.shape[1]
    moves = np.empty((count, 2))
    for k in range(frames):
        wanted_velocities(centres, wanted, radii, half, columns, speed, dt)
        for i in range(count):
            c, s = np.cos(yaws[i]), np.sin(yaws[i])
            mx, mz = rotate_floor(c, s, means[i, 0], means[i, 1])
            goal = 0.0
            led = np.hypot(wanted[i, 0], wanted[i, 1]) > _HARDLY
            if led and np.isfinite(facing):
                towards = np.arctan2(wanted[i, 0], wanted[i, 1]) + facing
                off = towards - headings[i, k] - yaws[i]
                off = (off + np.pi) % (2.0 * np.pi) - np.pi
                goal = min(max(_GAIN * off, -_TURN_RATE), _TURN_RATE)
            elif led and np.hypot(mx, mz) > _HARDLY:
                # The angle from the actual to the wanted direction.
                ahead = mx * wanted[i, 0] + mz * wanted[i, 1]
                aside = mz * wanted[i, 0] - mx * wanted[i, 1]
                goal = min(max(np.arctan2(aside, ahead), -_TURN_RATE), _TURN_RATE)
            dx, dz = wanted[i, 0] - mx, wanted[i, 1] - mz
            moves[i] = _eased_step(yaws, rates, drifts, i, steps[i, k], goal, dx, dz, dt)
        advance(centres, moves, radii, half, columns)
        for i in range(count):
            out_centres[i, k] = centres[i]
            out_yaws[i, k] = yaws[i]


@kernel
def marched(centres, yaws, rates, drifts, steps, headings, goals, dt, out_centres, out_yaws):
    """Steer soldiers through the frames of a movement, towards their goals (A, n, 3).

    State as for `danced`; `headings` (A, n) are those of the bodies before turning.
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
