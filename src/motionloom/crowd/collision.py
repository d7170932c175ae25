"""Collision avoidance of discs that may touch but never overlap, for any time step.

Event-driven simulation of hard discs (after Alder and Wainwright 1959) with inelastic contacts.
Within a step every disc moves on a straight line. The first contact of two discs, or of a disc with
a wall or a column, is predicted in closed form; all discs advance to that time; the closing
velocity is removed, half from each disc; and so on to the end of the step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput
from motionloom.kernels import kernel

Array = NDArray[np.float64]

_SKIN = 1e-7  # metres kept between discs, against rounding
_STILL = 1e-12  # closing velocities below are rounding errors of earlier contacts
_PATIENCE = 8  # contacts of a disc within one step, after which it stops until the next


def moved_discs(
    places: ArrayLike,
    displacements: ArrayLike,
    radii: ArrayLike,
    *,
    room: ArrayLike | None = None,
    columns: ArrayLike = (),
) -> Array:
    """Positions of discs after one step.

    Parameters
    ----------
    places : array_like, shape (N, 2)
        Centres ``x, z``, without overlaps with each other, walls and columns.
    displacements : array_like, shape (N, 2)
        Intended displacements.
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
    """Pairs (P, 2), the lower index first, within a distance of `reach`, by a grid."""
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
    found = np.empty((max(16, 4 * count), 2), np.int64)
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
                        if total == len(found):
                            more = np.empty((2 * total, 2), np.int64)
                            more[:total] = found
                            found = more
                        found[total, 0], found[total, 1] = i, j
                        total += 1
    return found[:total]


@kernel
def contact_time(x, z, vx, vz, apart):
    """Time until a point at (x, z) with velocity (vx, vz) is `apart` from the origin, or inf."""
    closing = x * vx + z * vz
    if closing >= -_STILL:
        return np.inf
    speed = vx * vx + vz * vz
    gap = x * x + z * z - apart * apart
    if gap <= 0.0:
        return 0.0
    inside = closing * closing - speed * gap
    if inside < 0.0:
        return np.inf
    return gap / (-closing + np.sqrt(inside))


@kernel
def _wall_time(place, velocity, room):
    """Time until a centre reaches +-room on one axis."""
    if velocity == 0.0:
        return np.inf
    left = room - place if velocity > 0.0 else room + place
    return max(left - _SKIN, 0.0) / abs(velocity)


@kernel
def advance(places, velocities, radii, half, columns):
    """Kernel of `moved_discs`: one unit of time; changes places and velocities in place."""
    count, posts = len(places), len(columns)
    if count == 0:
        return
    fastest = 0.0
    for i in range(count):
        fastest = max(fastest, np.hypot(velocities[i, 0], velocities[i, 1]))
    # No contact makes a disc faster than the fastest, so pairs farther apart cannot meet.
    pairs = near_pairs(places, 2.0 * radii.max() + 2.0 * fastest + 1e-3)
    contacts = np.zeros(count, np.int64)
    left = 1.0
    while left > 0.0:
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
    """Remove the closing velocity of two discs."""
    x, z = places[b, 0] - places[a, 0], places[b, 1] - places[a, 1]
    size = np.hypot(x, z)
    x, z = x / size, z / size
    closing = (velocities[b, 0] - velocities[a, 0]) * x + (velocities[b, 1] - velocities[a, 1]) * z
    share = 0.5
    if contacts[a] > _PATIENCE:  # a stopped disc is not pushed
        share = 0.0
    elif contacts[b] > _PATIENCE:
        share = 1.0
    velocities[a, 0] += share * closing * x
    velocities[a, 1] += share * closing * z
    velocities[b, 0] -= (1.0 - share) * closing * x
    velocities[b, 1] -= (1.0 - share) * closing * z
    contacts[a] += 1
    contacts[b] += 1
    for i in (a, b):
        speed = np.hypot(velocities[i, 0], velocities[i, 1])
        if speed > fastest:
            velocities[i] *= fastest / speed


@kernel
def _slide(velocity, x, z):
    """Remove the component of a velocity from (x, z) towards the origin."""
    size = np.hypot(x, z)
    x, z = x / size, z / size
    closing = velocity[0] * x + velocity[1] * z
    if closing < 0.0:
        velocity[0] -= closing * x
        velocity[1] -= closing * z
