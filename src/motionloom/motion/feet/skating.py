"""Skating feet: contacts in which a foot should be planted but moves, and the body's drift.

After bad retargeting, in the output of neural networks, or when a capture system drifts, the
supporting foot moves at 0.2 to 1 m/s, so that a speed threshold does not detect the contact. It can
still be recognized as the foot over which the body travels: it is slower than the swinging foot,
moves steadily, and is below the hips. Its velocity, smoothed over time, is the *drift* of the
motion. Relative to the drift, a skating foot is as still as a planted foot is on the ground, and
the same kind of threshold applies.

Feet do not carry the body in free fall, so flight phases have no drift. Walking in place, as on a
treadmill, is not changed, and neither is a glide above the speed limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.motion.feet.contacts import FOOT_PARTS, FootContacts, part_path
from motionloom.motion.segment import intervals
from motionloom.motion.smoothing import gaussian_smooth, running_maximum

if TYPE_CHECKING:
    from motionloom.motion.motion import Motion

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Chosen on eleven clean takes (CMU, Bandai-Namco, corpus: walks, turns, runs, dances, boxing) with
# nine kinds of skate each: balls in contact are found with a recall of 0.95 and a precision of
# 0.93, and 0.08 % of the frames of 109 clean takes change.
_SWING_WINDOW = 0.5  # seconds on either side in which the fastest foot is the swinging one
_SWING_SHARE = 0.35  # a skating foot is slower than this fraction of the swinging foot
_TOGETHER = 0.3  # m/s: parts whose velocities differ by less move together
_GLIDE_SHARE = 0.5  # of the limit, for feet that move together: the body glides without stepping
_WALKS = 0.4  # m/s
_IN_PLACE_SHARE = 0.25  # hips that walk in place travel less than this fraction of the walk
_DRIFT_SMOOTHING = 0.05  # seconds
_STEADY = 0.05  # seconds by which acceleration counts against a part: swinging feet turn quickly
_ROUNDS = 3  # iterations of choosing the part nearest to the drift, and smoothing
_FALL = -5.0  # m/s^2: vertical acceleration of the hips below which the body falls
_LEG_SHARE = 0.4  # a standing ankle is at least this fraction of the leg's length below the hip
_SLIDE = 0.1  # meters: the body is shifted if a foot in contact slides farther
_SUPPORT_SPEED = 1.2  # m/s: the same as `skate` of `foot_contacts`
_SUPPORT_RISE = 0.05  # meters above the lowest height within `_SWING_WINDOW`
# Weights of the root's distance from its path and of its acceleration (1/s^4) against the travel
# of feet in contact. A weight of 0.05 keeps a walk that travels 1.3 times too far within 0.33 m of
# its path and changes its poses by 0.6 cm; 0.01 keeps it within 0.54 m and changes them by 0.4 cm.
_PATH_WEIGHT = 0.01
_SMOOTHNESS = 1e-4


def ground_drift(motion: Motion, velocities: Array, *, limit: float) -> tuple[Array, Mask]:
    """Return the horizontal velocity of the supporting foot, and a mask of frames that have one.

    Parameters
    ----------
    motion : Motion
        A motion with at least three frames.
    velocities : ndarray, shape (T, 4, 2)
        Horizontal velocities in m/s of left heel, left ball, right heel and right ball.
    limit : float
        Highest speed of the drift in m/s.

    Returns
    -------
    drift : ndarray, shape (T, 2)
    certain : ndarray of bool, shape (T,)
    """
    fps = motion.fps
    speed = np.linalg.norm(velocities, axis=-1)
    window = 2 * round(_SWING_WINDOW * fps) + 1
    swing = running_maximum(speed.max(axis=1), window)
    feet = velocities.reshape(-1, 2, 2, 2).mean(axis=2)
    together = np.linalg.norm(feet[:, 0] - feet[:, 1], axis=-1) < _TOGETHER
    band = np.where(together, _GLIDE_SHARE * limit, np.minimum(_SWING_SHARE * swing, limit))
    unsteady = _STEADY * fps * np.linalg.norm(np.gradient(velocities, axis=0), axis=-1)
    may = np.repeat(_carrying(motion), 2, axis=1) & (speed < limit)
    rows = np.arange(len(speed))
    distance = speed
    for _ in range(_ROUNDS):
        distance = np.where(may, distance, np.inf)
        nearest = np.argmin(distance + unsteady, axis=1)
        certain = distance[rows, nearest] < band
        weight = gaussian_smooth(certain.astype(np.float64), _DRIFT_SMOOTHING * fps)
        drift = gaussian_smooth(
            velocities[rows, nearest] * certain[:, None], _DRIFT_SMOOTHING * fps
        )
        drift /= np.maximum(weight, 1e-3)[:, None]
        distance = np.linalg.norm(velocities - drift[:, None], axis=-1)
        band = np.full(len(speed), _TOGETHER)
    return drift, certain & (not _in_place(motion, drift[certain], certain))


def supported_parts(motion: Motion, contacts: FootContacts) -> Mask:
    """Return a mask (T, 4) of supporting foot parts, at least one per frame outside flight.

    Contacts end where a foot rolls or skates a little more than usual, which leaves a walk without
    a foot on the ground for some frames. In these frames, the slowest foot part counts as
    supporting, as long as it is slower than `_SUPPORT_SPEED`, low, and able to carry the body.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk")
    >>> bool(supported_parts(walk, walk.contacts()).any(axis=1).all())
    True
    """
    stands = contacts.standing_parts()
    if len(motion) < 3 or stands.any(axis=1).all():
        return stands
    places = np.stack([part_path(motion, part) for part in FOOT_PARTS], axis=1)
    velocity = np.gradient(places[..., [0, 2]], 1.0 / motion.fps, axis=0)
    speed = np.linalg.norm(velocity, axis=-1)
    speed[~np.repeat(_carrying(motion), 2, axis=1)] = np.inf
    window = 2 * round(_SWING_WINDOW * motion.fps) + 1
    lowest = np.stack([-running_maximum(-heights, window) for heights in places[..., 1].T], axis=1)
    may = (speed < _SUPPORT_SPEED) & (places[..., 1] < lowest + _SUPPORT_RISE)
    for start, end in intervals(~stands.any(axis=1) & may.any(axis=1)):
        run = slice(start, end)
        part = np.argmin(np.minimum(speed[run], 2.0 * _SUPPORT_SPEED).mean(axis=0))
        stands[run, part] = may[run, part]
    return stands


def drift_shift(motion: Motion, contacts: FootContacts) -> Array:
    """Return the root displacement that removes the drift from the contacts, shape (T, 3).

    This is a least-squares solution over all frames: each heel and ball in contact stays at one
    position, which is also solved for, and the root stays near its path and moves smoothly. As a
    result, a body that drifts without stepping stays in place, and a walk with sliding feet keeps
    its poses and most of its path. The result is zero if no foot slides far enough to need a
    correction.
    """
    from scipy.sparse import coo_array, diags_array
    from scipy.sparse.linalg import spsolve

    frames = len(motion)
    shift = np.zeros((frames, 3))
    plants, contact_times, ways = [], [], []
    for part in FOOT_PARTS:
        path = part_path(motion, part)[:, [0, 2]]
        for plant in contacts.plants.get(part, ()):
            times = np.arange(plant.start_frame, plant.end_frame)
            plants.append(plant)
            contact_times.append(times)
            ways.append(path[times])
    slides = [np.ptp(way, axis=0).max() > _SLIDE for way in ways]
    if frames < 3 or not any(slides):
        return shift
    # One row per frame in contact: shift + path - place = 0, with one unknown position (place) per
    # contact.
    places = np.repeat(frames + np.arange(len(plants)), [len(times) for times in contact_times])
    columns = np.stack([np.concatenate(contact_times), places], axis=1).ravel()
    rows = np.repeat(np.arange(len(places)), 2)
    unknowns = frames + len(plants)
    signs = np.tile([1.0, -1.0], len(places))
    stand = coo_array((signs, (rows, columns)), shape=(len(places), unknowns)).tocsr()
    bend = diags_array([1.0, -2.0, 1.0], offsets=[0, 1, 2], shape=(frames - 2, unknowns)).tocsr()
    near = np.where(np.arange(unknowns) < frames, _PATH_WEIGHT, 0.0)
    smooth = _SMOOTHNESS * motion.fps**4
    normal = stand.T @ stand + diags_array(near) + smooth * (bend.T @ bend)
    shift[:, [0, 2]] = spsolve(normal.tocsc(), -(stand.T @ np.concatenate(ways)))[:frames]
    return shift


def _in_place(motion: Motion, drift: Array, certain: Mask) -> bool:
    """Return whether the ground moves under a body that steps in place."""
    hips = motion.role_positions(["hips"])[:, 0].astype(np.float64)[:, [0, 2]]
    hips = gaussian_smooth(hips, 0.25 * motion.fps)
    velocity = np.gradient(hips, 1.0 / motion.fps, axis=0)[certain]
    if not len(drift):
        return False
    itself = np.linalg.norm(velocity, axis=-1).mean()
    over_ground = np.linalg.norm(velocity - drift, axis=-1).mean()
    return bool(over_ground > _WALKS and itself < _IN_PLACE_SHARE * over_ground)


def _carrying(motion: Motion) -> Mask:
    """Return a mask of frames in which each foot may carry the body, shape (T, 2).

    The mask is False where the hips fall freely and where a foot is not below its hip.
    """
    roles = ["hips", "left_hip", "left_ankle", "right_hip", "right_ankle"]
    places = motion.role_positions(roles).astype(np.float64)
    legs = places[:, 1::2] - places[:, 2::2]
    length = np.percentile(np.linalg.norm(legs, axis=-1), 98.0)
    height = gaussian_smooth(places[:, 0, 1], 0.03 * motion.fps)
    falls = np.gradient(np.gradient(height)) * motion.fps**2 < _FALL
    return (legs[:, :, 1] > _LEG_SHARE * length) & ~falls[:, None]
