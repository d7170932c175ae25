"""Support of the body: balance while it stands, and steps that alternate between the feet.

Both start from foot contacts. *Balance* is the distance over the floor from the centre of mass to
the area between the feet in contact, measured only while the body stands upright and still: who
walks, turns or jumps may be anywhere. *Alternation* asks whether each step is made by the other
foot than the step before; a repeated step is what a bad seam looks like.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.motion.feet.contacts import SIDES, FootContacts, landings, part_path
from motionloom.motion.kinematics.body import centre_of_mass, leg_length
from motionloom.motion.smoothing import running_maximum

if TYPE_CHECKING:
    from motionloom.motion.motion import Motion

Array = NDArray[np.float64]

_STILL = 0.15  # m/s: largest horizontal speed of the centre of mass of a body that stands
_STILL_SECONDS = 0.5  # for this long
_UPRIGHT = 0.9  # hips above the standing foot, over the length of the legs: not sitting
_BESIDE = 0.06  # metres: a foot no higher than this above the standing one carries weight, too
_FOOT_MARGIN = 0.06  # metres around ankle, ball and toes that belong to the sole
_DIRECTIONS = 48
_LIFTED = 0.2  # seconds off the ground in a step
_STEP = 0.06  # of the length of the legs a foot moves in a step: 5 cm for an adult


def imbalance(motion: Motion, contacts: FootContacts) -> Array:
    """Distance of the centre of mass outside the support, metres, shape (T,).

    The support is the convex hull of ankles, balls and toes of the feet in contact, with a margin
    for the width of the feet. NaN in frames in which the body does not stand upright and still.

    Examples
    --------
    >>> import motionloom as ml
    >>> reach = ml.demo.clip("reach_side_high_left")
    >>> float(np.nanmax(imbalance(reach, reach.contacts()))) < 0.02
    True
    """
    out = np.full(len(motion), np.nan)
    standing = np.stack([contacts.standing(side) for side in SIDES], axis=1)
    ankles = motion.role_positions([f"{side}_ankle" for side in SIDES])[..., 1]
    ground = np.where(standing, ankles, np.inf).min(axis=1)
    carries = standing | (ankles < ground[:, None] + _BESIDE) & np.isfinite(ground)[:, None]
    stands = np.flatnonzero(_stands_still(motion, ground))
    if not len(stands):
        return out
    roles = motion.skeleton.roles
    ends = [
        [r for r in (f"{side}_ankle", f"{side}_foot", f"{side}_toe") if r in roles]
        for side in SIDES
    ]
    points = [
        motion.role_positions(names)[stands][..., [0, 2]].astype(np.float64) for names in ends
    ]
    centre = centre_of_mass(motion)[stands][:, [0, 2]]
    angles = np.linspace(0.0, 2.0 * np.pi, _DIRECTIONS, endpoint=False)
    directions = np.stack([np.cos(angles), np.sin(angles)])  # (2, D)
    # Outside a convex set, the distance is the largest of all directions by which the point is
    # farther than the set.
    reach = np.full((len(stands), _DIRECTIONS), -np.inf)
    for side, feet in enumerate(points):
        far = (feet @ directions).max(axis=1)
        reach = np.where(carries[stands, side, None], np.maximum(reach, far), reach)
    out[stands] = np.maximum((centre @ directions - reach).max(axis=1) - _FOOT_MARGIN, 0.0)
    return out


def _stands_still(motion: Motion, ground: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Frames in which the body stands upright on the ankle at height `ground`, and hardly moves."""
    if len(motion) < 2:
        return np.zeros(len(motion), bool)
    centre = centre_of_mass(motion)[:, [0, 2]]
    speed = np.linalg.norm(np.gradient(centre, 1.0 / motion.fps, axis=0), axis=1)
    size = max(3, round(_STILL_SECONDS * motion.fps) | 1)
    # Around the first and last frames it is not known whether the body has stopped.
    still = running_maximum(speed, size, beyond=np.inf) < _STILL
    hips = motion.role_positions(["hips"])[:, 0, 1]
    return still & (hips - ground > _UPRIGHT * leg_length(motion.skeleton))


def steps(motion: Motion, contacts: FootContacts) -> list[tuple[int, str]]:
    """Frame and side of each step: a foot is lifted and lands at another place.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk")
    >>> [side for _, side in steps(walk, walk.contacts())][:4]
    ['right', 'left', 'right', 'left']
    """
    least = _STEP * leg_length(motion.skeleton)
    found = []
    for side in SIDES:
        ball = part_path(motion, f"{side}_ball")[:, [0, 2]]
        stands = contacts.standing(side)
        for frame in landings(stands):
            before = np.flatnonzero(stands[:frame])
            if not len(before):
                found.append((int(frame), side))
            elif frame - before[-1] > _LIFTED * motion.fps:
                if np.linalg.norm(ball[frame] - ball[before[-1]]) > least:
                    found.append((int(frame), side))
    return sorted(found)


def repeated_steps(motion: Motion, contacts: FootContacts) -> NDArray[np.int64]:
    """Frames of the steps made by the same foot as the step before."""
    made = steps(motion, contacts)
    return np.array(
        [frame for (_, last), (frame, side) in zip(made[:-1], made[1:], strict=True)
         if side == last],
        np.int64,
    )  # fmt: skip
