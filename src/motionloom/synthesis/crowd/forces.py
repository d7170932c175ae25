"""Social forces: where everybody would like to go, a moment from now.

Each couple is driven towards the flow around the room, anticlockwise, and pushed away by other
couples, walls and columns, the more the nearer they are (Helbing & Molnar 1995). Couples that
would meet within a few seconds give way before they are near: the contact is predicted as it
is for discs. What comes out is a wanted velocity; movements are chosen and bent after it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from motionloom.synthesis.crowd.discs import contact_time, near_pairs

_RELAX = 1.2  # seconds in which a wanted velocity turns to the flow
_PUSH = 1.6  # m/s^2 between discs that touch
_FADE = 0.35  # metres over which a push falls to a third
_FORESEE = 3.0  # seconds within which contacts are foreseen
_GIVE_WAY = 0.7  # m/s^2 for a contact that is due now
_SIGHT = 2.0  # metres beyond which couples do not push each other
_FASTEST = 0.8  # m/s
_LANE = 0.62  # of the way from the middle to the wall, where the flow is strongest


@njit(cache=True, nogil=True)
def flow(place, half, speed, out):
    """The vortex: around the room, back to its lane where a couple has left it."""
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _push(x, z, vx, vz, apart):
    """How strongly something at (x, z) from the origin is pushed off, moving at (vx, vz)."""
    gap = np.hypot(x, z) - apart
    push = _PUSH * np.exp(-max(gap, 0.0) / _FADE)
    due = contact_time(x, z, vx, vz, apart)
    if due < _FORESEE:
        push += _GIVE_WAY * (1.0 - due / _FORESEE)
    return push
