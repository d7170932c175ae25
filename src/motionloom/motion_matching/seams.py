"""Roughness of jumps to other frames, estimated for many frames and rehearsed for a few.

Both results are ratios of the largest acceleration of a joint to the 99.9th percentile in the
takes, as in `motionloom.motion.diagnostics.quality`. The estimate assumes that offsets of pose and
velocity fade like a spring. The rehearsal plays the next quarter of a second with copies of the
inertialization and the foot lock. Only a rehearsal shows how a locked foot affects the knee, and
how far a foot slides if it is planted at a different position in the other take.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.blending.inertialization import FADE, Inertializer
from motionloom.motion import Motion
from motionloom.motion.feet.contacts import FOOT_ROLES
from motionloom.motion.feet.streaming import StreamingFootLock
from motionloom.motion.rotations.planar_transform import PlanarTransform

if TYPE_CHECKING:
    from motionloom.motion_matching.database import MatchingDatabase

Array = NDArray[np.float64]

SEEN = 3  # number of frames after the jump that a seam needs
_SECONDS = 0.25  # duration of a rehearsal, in seconds
_MOST_SLIDE = 0.06  # meters: a slide of a standing foot by this distance counts as a ratio of 1
_LEAST = 1e-6  # m/s^2: lower limit that avoids a division by zero for takes that stand still


def estimated_seams(database: MatchingDatabase, frame: int, others: NDArray[np.int64]) -> Array:
    """Return estimated ratios (n,) for jumps from `frame` to each of `others`."""
    rows = np.array([frame, *others])
    ends = database.starts[1:][np.searchsorted(database.starts, rows, side="right") - 1]
    after = np.minimum(rows + 1, ends - 1)
    both = np.stack([rows, after])
    flat = both.ravel()
    motion = Motion(database.skeleton, database.rotations[flat], database.root[flat], database.fps)
    places = motion.positions().astype(np.float64).reshape(2, len(rows), -1, 3)
    x, z, facing = database.places[rows].T
    floor = (places[..., 2] - z[:, None]) + 1j * (places[..., 0] - x[:, None])
    floor *= np.exp(-1j * facing)[:, None]
    places = np.stack([floor.real, floor.imag, places[..., 1]], axis=-1)
    speeds = (places[1] - places[0]) * database.fps
    off, drift = places[0, :1] - places[0, 1:], speeds[:1] - speeds[1:]
    pull = np.linalg.norm(FADE**2 * off + 2.0 * FADE * drift, axis=-1).max(axis=1)
    return np.asarray(pull / max(database.acceleration, _LEAST))


def rehearsed_seam(
    database: MatchingDatabase,
    frame: int,
    transform: PlanarTransform,
    last: NDArray[np.float64],
    inertializer: Inertializer,
    foot_lock: StreamingFootLock | None,
) -> float:
    """Rehearse a jump and return its acceleration ratio; long foot slides also count as rough.

    Parameters
    ----------
    database : MatchingDatabase
    frame : int
        Frame of the database to jump to.
    transform : PlanarTransform
        Transform from its take to the world.
    last : ndarray, shape (2, J, 3)
        Joint positions in the last two frames played.
    inertializer, foot_lock
        State of the player after the last frame; it is not changed.
    """
    count = max(round(_SECONDS * database.fps), 1) + 2
    stop = database.range_of(frame).stop
    rows = np.minimum(np.arange(frame, frame + max(count, SEEN)), stop - 1)
    rotations, root = transform.apply_to_poses(database.rotations[rows], database.root[rows])
    fades = copy(inertializer)
    fades.seam(rotations[:SEEN], root[:SEEN])
    rotations, root = fades.apply(rotations[:count], root[:count])
    if foot_lock is not None:
        contacts = database.contacts[rows[:count]]
        rotations, root = foot_lock.copy().lock(rotations, root, contacts)
    played = Motion(database.skeleton, rotations, root, database.fps)
    joints = np.concatenate([last, played.positions().astype(np.float64)])
    largest = np.linalg.norm(np.diff(joints, n=2, axis=0), axis=-1).max() * database.fps**2
    slide = _slide(played, database.contacts[rows[:count]])
    return max(float(largest) / max(database.acceleration, _LEAST), slide / _MOST_SLIDE)


def _slide(played: Motion, contacts: NDArray[np.bool_]) -> float:
    """Return the largest distance, in meters, that a foot part slides while it is in contact."""
    parts = played.role_positions(list(FOOT_ROLES.values())).astype(np.float64)[:, :, [0, 2]]
    steps = np.linalg.norm(np.diff(parts, axis=0), axis=-1)
    return float((steps * (contacts[1:] & contacts[:-1])).sum(axis=0).max())
