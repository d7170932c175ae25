"""How two near motions lie on each other on the floor, all along.

At every moment the move along the floor is found that brings the one pose closest to the
other. What stands counts most: where a foot stands in both, its place is made to agree, so
that a blend's foot stands too. Legs and trunk count more than arms, which may be anywhere. The
moves are then smoothed in time; where they waver, a blend does not, for it moves against them
by as much.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from motionloom.blend.examples import Example
from motionloom.blend.ground import best_move, moved_points
from motionloom.motion.contacts import FOOT_PARTS, FOOT_ROLES

Array = NDArray[np.float64]

_SMOOTHING = 0.1  # seconds
_HELD = 20.0  # a foot part that stands in both counts as so many joints
_ARM = 0.2
_ARM_PARTS = ("shoulder", "elbow", "wrist", "hand")


def edge_moves(onto: Example, other: Example, times_onto: Array, times_other: Array) -> Array:
    """Moves along the floor that take `other` to `onto`.

    Parameters
    ----------
    onto, other : Example
        Of one skeleton.
    times_onto, times_other : ndarray, shape (K,)
        Frames that happen together.

    Returns
    -------
    moves : ndarray, shape (K, 3)
        ``x, z, yaw``; yaw without jumps.
    """
    from scipy.ndimage import gaussian_filter1d

    places = [
        at_times(example.motion.positions(end_sites=True).astype(np.float64), times)
        for example, times in ((onto, times_onto), (other, times_other))
    ]
    weights = _weights(onto, other, times_onto, times_other)
    raw = best_move(places[0], places[1], weights)
    # Smooth where the body is, not where the origin is: far from it a shift mixes with a turn.
    roots = [place[:, 0] for place in places]
    offset = moved_points(raw, roots[1]) - roots[0]
    width = _SMOOTHING * onto.motion.fps
    yaw = gaussian_filter1d(np.unwrap(raw[:, 2]), width, mode="nearest")
    offset = gaussian_filter1d(offset, width, axis=0, mode="nearest")
    turned = moved_points(np.stack([0.0 * yaw, 0.0 * yaw, yaw], axis=1), roots[1])
    shift = roots[0] + offset - turned
    return np.stack([shift[:, 0], shift[:, 2], yaw], axis=1)


def at_times(values: Array, times: Array) -> Array:
    """Values (T, ...) at times (K,) between frames, linearly: (K, ...)."""
    times = np.clip(times, 0.0, len(values) - 1.0)
    before = np.minimum(times.astype(np.intp), max(len(values) - 2, 0))
    after = np.minimum(before + 1, len(values) - 1)
    share = (times - before).reshape(-1, *(1,) * (values.ndim - 1))
    return values[before] + share * (values[after] - values[before])


def _weights(onto: Example, other: Example, times_onto: Array, times_other: Array) -> Array:
    """How much each point counts at each moment, (K, J + E)."""
    skeleton = onto.motion.skeleton
    names = skeleton.point_names
    base = np.ones(len(names))
    for role, name in skeleton.roles.items():
        if role.split("_")[-1] in _ARM_PARTS:
            base[names.index(name)] = _ARM
    weights = np.tile(base, (len(times_onto), 1))
    for part in FOOT_PARTS:
        if part not in onto.contacts.plants or part not in other.contacts.plants:
            continue
        stands = [
            at_times(example.contacts[part].astype(np.float64), times)
            for example, times in ((onto, times_onto), (other, times_other))
        ]
        weights[:, skeleton.point(FOOT_ROLES[part])] += _HELD * stands[0] * stands[1]
    return weights
