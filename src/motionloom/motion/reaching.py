"""A limb of a motion brought to another place, changed as little as can be.

The limb is carried over first: turned as a whole by the shortest turn that points it at its
target, its twist and the plane of its bend kept. Then knee or elbow opens or closes until
the tip is there. A frame whose target is where its tip already was stays as it was.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.motion import rotations as rot
from motionloom.motion.inverse_kinematics import two_bone_pose

Array = NDArray[np.float64]

_HAIR = 0.01  # share of a limb's length by which its middle joint is out when all but straight


@dataclass(frozen=True)
class Limb:
    """Two bones of a motion in the world, T frames: what they are turned by, where they are.

    Attributes
    ----------
    upper, lower : ndarray, shape (T, 4)
        World rotations ``wxyz`` of the first and of the middle joint.
    start, middle, end : ndarray, shape (T, 3)
        World positions of hip, knee, ankle, or of shoulder, elbow, wrist.
    """

    upper: Array
    lower: Array
    start: Array
    middle: Array
    end: Array

    @property
    def length(self) -> Array:
        """Both bones together, shape (T,)."""
        first = np.linalg.norm(self.middle - self.start, axis=-1)
        return first + np.linalg.norm(self.end - self.middle, axis=-1)


def reaching(limb: Limb, start: Array, target: Array, *, softness: float = 0.0) -> Limb:
    """`limb` moved to `start` (T, 3), its tip at `target` (T, 3) or as near as it gets.

    Parameters
    ----------
    limb : Limb
    start, target : ndarray, shape (T, 3)
    softness : float
        See `motionloom.motion.inverse_kinematics.two_bone_pose`.

    Returns
    -------
    limb : Limb

    Examples
    --------
    >>> unturned = np.tile(rot.IDENTITY, (1, 1))
    >>> leg = Limb(unturned, unturned, np.array([[0, 0.8, 0]]), np.array([[0, 0.4, 0.02]]),
    ...            np.array([[0, 0.0, 0]]))
    >>> moved = reaching(leg, leg.start, np.array([[0, 0.1, 0.0]]))
    >>> moved.end.round(6), bool(moved.middle[0, 2] > 0.1)
    (array([[0. , 0.1, 0. ]]), True)
    """
    start, target = np.asarray(start, np.float64), np.asarray(target, np.float64)
    carry = rot.between(_direction(limb.end - limb.start), _direction(target - start))
    thigh, shin = limb.middle - limb.start, limb.end - limb.middle
    pole = rot.rotate(carry, bend_direction(limb))
    pose = two_bone_pose(
        start,
        target,
        pole,
        upper_bone=rot.rotate(rot.inverse(limb.upper), thigh),
        lower_bone=rot.rotate(rot.inverse(limb.lower), shin),
        hinge=[1.0, 0.0, 0.0],
        softness=softness,
    )
    turn_upper = rot.between(rot.rotate(carry, thigh), pose.middle - start)
    turn_lower = rot.between(rot.rotate(carry, shin), pose.end - pose.middle)
    return Limb(
        upper=rot.multiply(rot.multiply(turn_upper, carry), limb.upper),
        lower=rot.multiply(rot.multiply(turn_lower, carry), limb.lower),
        start=start,
        middle=pose.middle,
        end=pose.end,
    )


def bend_direction(limb: Limb) -> Array:
    """Where the middle joint points, shape (T, 3), sure even where the limb is straight.

    A straight limb has no plane of its own, and captured knees are now and then bent the
    wrong way by a hair. So the part along the direction the joint has on the whole, as seen
    from the upper bone, is kept positive; where the limb is bent this changes nothing.
    """
    along = _direction(limb.end - limb.start)
    out = _square_part(limb.middle - limb.start, along)
    usual = rot.rotate(rot.inverse(limb.upper), out).mean(axis=0)
    size = float(np.linalg.norm(usual))
    if size < 1e-9:  # straight in every frame: any side will do, but always the same
        usual, size = np.array([0.0, 0.0, 1.0]), 1.0
    carried = _direction(_square_part(rot.rotate(limb.upper, usual / size), along))
    part = np.sum(out * carried, axis=-1)
    kept = 0.5 * (part + np.hypot(part, _HAIR * limb.length))
    return out + (kept - part)[:, None] * carried


def _square_part(vectors: Array, along: Array) -> Array:
    return vectors - np.sum(vectors * along, axis=-1, keepdims=True) * along


def _direction(vectors: Array) -> Array:
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    down = np.array([0.0, -1.0, 0.0])
    return np.where(length > 1e-9, vectors / np.maximum(length, 1e-9), down)
