"""Steer agents with social forces, turn and shift them in each frame, and avoid collisions.

Social forces (Helbing and Molnar 1995) drive each couple along the counterclockwise flow around
the room and push it away from other couples, walls and columns. Contacts are predicted as for
discs, so couples that would meet within a few seconds give way early. The result is a desired
velocity, which determines how movements are chosen, turned and shifted.

Collision avoidance is an event-driven simulation of hard discs (after Alder and Wainwright 1959)
with inelastic contacts. Whatever the time step, discs may touch but never overlap. Within a step,
every disc moves along a straight line. The first contact of two discs, or of a disc with a wall or
a column, is predicted in closed form. All discs advance to that time, and the closing velocity is
removed, half from each disc. This repeats until the end of the step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput
from motionloom.kernels import kernel
from motionloom.motion.rotations.quaternions import rotate_floor

Array = NDArray[np.float64]

_RELAX = 1.2  # seconds: relaxation time of the desired velocity toward the flow
_PUSH = 1.6  # m/s^2: repulsion of discs that touch
_FADE = 0.35  # meters over which the repulsion falls to a third
_FORESEE = 3.0  # seconds: time horizon of predicted contacts
_GIVE_WAY = 0.7  # m/s^2: repulsion of an immediate contact
_SIGHT = 2.0  # meters: couples farther apart ignore each other
_FASTEST = 0.8  # m/s
_LANE = 0.62  # radius of the lane, as a fraction of the distance from the center to the wall


@kernel
def flow(place, half, speed, out):
    """Compute the velocity at a position (2,) of a flow that circles the room along a lane.

    `half` (2,) is half the size of the room; without walls it is infinite. Fills `out` (2,).
    """
    # The tiny terms avoid a division by zero for a couple at the exact center.
    if not np.isfinite(half[0]):
        size = np.hypot(place[0], place[1]) + 1e-9
        out[0], out[1] = speed * place[1] / size, -speed * place[0] / size
        return
    # (gx, gz) is the outward normal of the ellipse through the position; the flow is tangential.
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
    """Advance the desired velocities (A, 2) of agents at `places` (A, 2) by a step, in place.

    `radii` has shape (A,), `half` (2,) is half the size of the room, and `columns` (C, 3) has rows
    ``x, z, radius``.
    """
    # All forces are computed from the old velocities before any velocity changes, so that the order
    # of the agents does not matter. Pairs beyond `_SIGHT` are never visited.
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
    """Compute the force that pushes an object at (x, z) with velocity (vx, vz) from the origin."""
    gap = np.hypot(x, z) - apart
    push = _PUSH * np.exp(-max(gap, 0.0) / _FADE)
    due = contact_time(x, z, vx, vz, apart)
    if due < _FORESEE:
        push += _GIVE_WAY * (1.0 - due / _FORESEE)
    return push


_TURN_RATE = np.deg2rad(30.0)  # radians per second: maximum turn rate of a movement
_TURN_EASE = 3.0  # 1/s: rate at which the turn rate changes
_DRIFT = 0.2  # m/s: maximum drift of a movement, which lengthens the steps
_DRIFT_EASE = 3.0  # 1/s
_GAIN = 1.6  # 1/s: rate at which a soldier returns to its place in the formation
_HARDLY = 0.15  # m/s: slower movements count as having no direction


@kernel
def _eased_step(yaws, rates, drifts, i, step, goal, dx, dz, dt):
    """Turn and shift the step of agent i, and return its x and z.

    The turn rate is eased toward `goal`, the drift toward the missing velocity (dx, dz), up to
    `_DRIFT`. Changes the state in place: yaws and rates (A,), drifts (A, 2); `step` has shape (2,).
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
    centers, wanted, yaws, rates, drifts, steps, means, headings, facing, radii, half, columns,
    speed, dt,
):  # fmt: skip
    """Steer couples through the frames of a movement.

    Changes the state in place: centers, desired velocities and drifts (A, 2), yaws and yaw rates
    (A,). `steps` (A, n, 2) are the natural steps of the centers, `means` (A, 2) their mean
    velocities, and `headings` (A, n) the headings of the leaders before turning. Leaders are
    turned to face `facing` radians from the desired direction; if it is NaN, movements are turned
    to travel in the desired direction. `radii` (A,), `half` (2,) and `columns` (C, 3) are the
    discs of the couples and the room; `speed` is the speed of the flow.

    Returns the centers (A, n, 2) and yaws (A, n) of every frame.
    """
    # The outer loop is over frames, because every couple reacts to the current positions of the
    # others.
    count, frames = steps.shape[0], steps.shape[1]
    moves = np.empty((count, 2))
    out_centers, out_yaws = np.empty((count, frames, 2)), np.empty((count, frames))
    for k in range(frames):
        wanted_velocities(centers, wanted, radii, half, columns, speed, dt)
        for i in range(count):
            c, s = np.cos(yaws[i]), np.sin(yaws[i])
            mx, mz = rotate_floor(c, s, means[i, 0], means[i, 1])
            goal = 0.0
            led = np.hypot(wanted[i, 0], wanted[i, 1]) > _HARDLY
            if led and np.isfinite(facing):
                toward = np.arctan2(wanted[i, 0], wanted[i, 1]) + facing
                off = toward - headings[i, k] - yaws[i]
                off = (off + np.pi) % (2.0 * np.pi) - np.pi
                goal = min(max(_GAIN * off, -_TURN_RATE), _TURN_RATE)
            elif led and np.hypot(mx, mz) > _HARDLY:
                # The angle from the actual to the desired direction.
                ahead = mx * wanted[i, 0] + mz * wanted[i, 1]
                aside = mz * wanted[i, 0] - mx * wanted[i, 1]
                goal = min(max(np.arctan2(aside, ahead), -_TURN_RATE), _TURN_RATE)
            dx, dz = wanted[i, 0] - mx, wanted[i, 1] - mz
            moves[i] = _eased_step(yaws, rates, drifts, i, steps[i, k], goal, dx, dz, dt)
        advance(centers, moves, radii, half, columns)
        for i in range(count):
            out_centers[i, k] = centers[i]
            out_yaws[i, k] = yaws[i]
    return out_centers, out_yaws


@kernel
def marched(centers, yaws, rates, drifts, steps, headings, goals, dt):
    """Steer soldiers through the frames of a movement toward goals ``x, z, yaw`` (A, n, 3).

    The state and the result are as in `danced`. `headings` (A, n) are the headings of the bodies
    before turning.
    """
    # The goals of a formation are far apart and soldiers stay near them, so no collision avoidance
    # is needed.
    count, frames = steps.shape[0], steps.shape[1]
    out_centers, out_yaws = np.empty((count, frames, 2)), np.empty((count, frames))
    for k in range(frames):
        for i in range(count):
            off = goals[i, k, 2] - headings[i, k] - yaws[i]
            off = (off + np.pi) % (2.0 * np.pi) - np.pi
            goal = min(max(_GAIN * off, -_TURN_RATE), _TURN_RATE)
            dx = _GAIN * (goals[i, k, 0] - centers[i, 0])
            dz = _GAIN * (goals[i, k, 1] - centers[i, 1])
            x, z = _eased_step(yaws, rates, drifts, i, steps[i, k], goal, dx, dz, dt)
            centers[i, 0] += x
            centers[i, 1] += z
            out_centers[i, k] = centers[i]
            out_yaws[i, k] = yaws[i]
    return out_centers, out_yaws


_SKIN = 1e-7  # meters kept between discs, as a guard against rounding
_STILL = 1e-12  # smaller closing velocities are rounding errors of earlier contacts
_PATIENCE = 8  # after this many contacts within one step, a disc stops until the next step


def moved_discs(
    places: ArrayLike,
    displacements: ArrayLike,
    radii: ArrayLike,
    *,
    room: ArrayLike | None = None,
    columns: ArrayLike = (),
) -> Array:
    """Return the positions of discs after one step.

    Parameters
    ----------
    places : array_like, shape (N, 2)
        Centers ``x, z`` of discs that do not overlap each other, walls or columns.
    displacements : array_like, shape (N, 2)
        Displacements of the discs if there were no contacts.
    radii : array_like, shape (N,)
    room : array_like, shape (2,), optional
        Width (x) and depth (z) of a room around the origin. Default: no walls.
    columns : array_like, shape (C, 3)
        Round columns: ``x, z, radius``.

    Returns
    -------
    places : ndarray, shape (N, 2)

    Examples
    --------
    Two discs that meet stop where they touch:

    >>> moved_discs([[-1.0, 0.0], [1.0, 0.0]], [[50.0, 0.0], [-50.0, 0.0]], [0.5, 0.5]).round(3)
    array([[-0.5,  0. ],
           [ 0.5,  0. ]])
    """
    at, go = np.array(places, np.float64), np.array(displacements, np.float64)
    size = np.asarray(radii, np.float64)
    if at.ndim != 2 or at.shape[1] != 2 or go.shape != at.shape or size.shape != (len(at),):
        raise InvalidInput(
            "places and displacements must have shape (discs, 2) and radii (discs,); got "
            f"{at.shape}, {go.shape} and {size.shape}"
        )
    half = np.full(2, np.inf) if room is None else 0.5 * np.asarray(room, np.float64)
    posts = np.asarray(columns, np.float64).reshape(-1, 3)
    advance(at, go, size, half, posts)
    return at


@kernel
def near_pairs(places, reach):
    """Return pairs (P, 2) of places (A, 2) at most `reach` apart, the lower index first."""
    # A grid of cells as wide as `reach`: partners are in the same cell or in the eight cells
    # around it. Cells are sorted by key instead of stored as lists. Rows of keys are three longer
    # than the grid, so that a neighbor beyond the end of a row is not mistaken for one in the next
    # row.
    count = len(places)
    low = np.array([places[:, 0].min(), places[:, 1].min()])
    cells = np.empty((count, 2), np.int64)
    for i in range(count):
        cells[i, 0] = int((places[i, 0] - low[0]) / reach)
        cells[i, 1] = int((places[i, 1] - low[1]) / reach)
    wide = cells[:, 1].max() + 3
    keys = cells[:, 0] * wide + cells[:, 1]
    order = np.argsort(keys)
    ranked = keys[order]
    pairs = np.empty((max(16, 4 * count), 2), np.int64)  # grows if agents are crowded
    total = 0
    for i in range(count):
        for dx in range(-1, 2):
            for dz in range(-1, 2):
                key = keys[i] + dx * wide + dz
                row = np.searchsorted(ranked, key)
                while row < count and ranked[row] == key:
                    j = order[row]
                    row += 1
                    x, z = places[i, 0] - places[j, 0], places[i, 1] - places[j, 1]
                    if j > i and x * x + z * z <= reach * reach:
                        if total == len(pairs):
                            more = np.empty((2 * total, 2), np.int64)
                            more[:total] = pairs
                            pairs = more
                        pairs[total, 0], pairs[total, 1] = i, j
                        total += 1
    return pairs[:total]


@kernel
def contact_time(x, z, vx, vz, apart):
    """Return the time until a point at (x, z) with velocity (vx, vz) is `apart` from the origin."""
    closing = x * vx + z * vz
    if closing >= -_STILL:
        return np.inf
    speed = vx * vx + vz * vz
    gap = x * x + z * z - apart * apart
    if gap <= 0.0:
        return 0.0
    inside = closing * closing - speed * gap
    if inside < 0.0:  # the two discs pass without contact
        return np.inf
    # The smaller root of the quadratic, in a form without cancellation.
    return gap / (-closing + np.sqrt(inside))


@kernel
def _wall_time(place, velocity, room):
    """Return the time until a center reaches ``-room`` or ``+room`` on one axis."""
    if velocity == 0.0:
        return np.inf
    left = room - place if velocity > 0.0 else room + place
    return max(left - _SKIN, 0.0) / abs(velocity)


@kernel
def advance(places, velocities, radii, half, columns):
    """Kernel of `moved_discs`: one unit of time; changes places and velocities (N, 2) in place.

    `radii` has shape (N,), `half` (2,) is half the size of the room, and `columns` (C, 3) has rows
    ``x, z, radius``.
    """
    count, posts = len(places), len(columns)
    if count == 0:
        return
    fastest = 0.0
    for i in range(count):
        fastest = max(fastest, np.hypot(velocities[i, 0], velocities[i, 1]))
    # Contacts never make a disc faster than the fastest disc, so pairs farther apart cannot meet.
    pairs = near_pairs(places, 2.0 * radii.max() + 2.0 * fastest + 1e-3)
    contacts = np.zeros(count, np.int64)
    left = 1.0
    # One contact per round. The loop ends because contacts are counted and a disc with too many
    # stops.
    while left > 0.0:
        # Kind of the next contact: none (-1), two discs (0), disc and wall (1) or column (2).
        soonest, kind, a, b = left, -1, -1, -1
        for p in range(len(pairs)):
            i, j = pairs[p, 0], pairs[p, 1]
            when = contact_time(
                places[j, 0] - places[i, 0], places[j, 1] - places[i, 1],
                velocities[j, 0] - velocities[i, 0], velocities[j, 1] - velocities[i, 1],
                radii[i] + radii[j] + _SKIN,
            )  # fmt: skip
            if when < soonest:
                soonest, kind, a, b = when, 0, i, j
        for i in range(count):
            for axis in range(2):
                when = _wall_time(places[i, axis], velocities[i, axis], half[axis] - radii[i])
                if when < soonest:
                    soonest, kind, a, b = when, 1, i, axis
            for c in range(posts):
                when = contact_time(
                    places[i, 0] - columns[c, 0], places[i, 1] - columns[c, 1],
                    velocities[i, 0], velocities[i, 1], radii[i] + columns[c, 2] + _SKIN,
                )  # fmt: skip
                if when < soonest:
                    soonest, kind, a, b = when, 2, i, c
        for i in range(count):
            places[i, 0] += soonest * velocities[i, 0]
            places[i, 1] += soonest * velocities[i, 1]
        left -= soonest
        if kind == -1:
            return
        if kind == 0:
            _meet(places, velocities, contacts, a, b, fastest)
        elif kind == 1:
            velocities[a, b] = 0.0
            contacts[a] += 1
        else:
            _slide(velocities[a], places[a, 0] - columns[b, 0], places[a, 1] - columns[b, 1])
            contacts[a] += 1
        for i in (a, b if kind == 0 else a):
            if contacts[i] > _PATIENCE:
                velocities[i] = 0.0


@kernel
def _meet(places, velocities, contacts, a, b, fastest):
    """Remove the closing velocity of discs a and b; changes velocities (N, 2), contacts (N,)."""
    x, z = places[b, 0] - places[a, 0], places[b, 1] - places[a, 1]
    size = np.hypot(x, z)
    x, z = x / size, z / size
    closing = (velocities[b, 0] - velocities[a, 0]) * x + (velocities[b, 1] - velocities[a, 1]) * z
    share = 0.5
    if contacts[a] > _PATIENCE:  # a stopped disc cannot be pushed
        share = 0.0
    elif contacts[b] > _PATIENCE:
        share = 1.0
    velocities[a, 0] += share * closing * x
    velocities[a, 1] += share * closing * z
    velocities[b, 0] -= (1.0 - share) * closing * x
    velocities[b, 1] -= (1.0 - share) * closing * z
    contacts[a] += 1
    contacts[b] += 1
    # Rounding must not make a disc faster than the bound that was used to choose pairs.
    for i in (a, b):
        speed = np.hypot(velocities[i, 0], velocities[i, 1])
        if speed > fastest:
            velocities[i] *= fastest / speed


@kernel
def _slide(velocity, x, z):
    """Remove the part of a velocity (2,) at (x, z) that points to the origin, in place."""
    size = np.hypot(x, z)
    x, z = x / size, z / size
    closing = velocity[0] * x + velocity[1] * z
    if closing < 0.0:
        velocity[0] -= closing * x
        velocity[1] -= closing * z
