"""A limb of a motion brought to another place, changed as little as can be.

The limb is carried over first: turned as a whole by the shortest turn that points it at its
target, its twist and the plane of its bend kept. Then knee or elbow opens or closes until
the tip is there. A frame whose target is where its tip already was stays as it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import RoleError
from motionloom.motion.kinematics.forward import global_rotations
from motionloom.motion.kinematics.two_bone import two_bone_pose
from motionloom.motion.rotations import quaternions as rot

if TYPE_CHECKING:
    from motionloom.motion.motion import Motion
    from motionloom.motion.skeleton import Skeleton

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
        See `motionloom.motion.kinematics.two_bone.two_bone_pose`.

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


def limb_of(motion: Motion, roles: tuple[str, str, str]) -> tuple[tuple[int, int, int], Limb]:
    """Joints and `Limb` of three roles, for example hip, knee and ankle."""
    points = motion.skeleton.points(roles)
    ends = [role for role, p in zip(roles, points, strict=True) if p >= len(motion.skeleton)]
    if ends:
        raise RoleError(
            f"{ends[0]} is played by the end site {motion.skeleton.roles[ends[0]]!r}, which "
            "cannot turn; a joint is needed. Say which one in a mapping file"
        )
    place = motion.positions().astype(np.float64)
    world = global_rotations(motion.rotations, motion.skeleton.parents).astype(np.float64)
    a, b, c = (int(p) for p in points)
    return (a, b, c), Limb(world[:, a], world[:, b], place[:, a], place[:, b], place[:, c])


def with_world_rotations(q: Array, skeleton: Skeleton, turned: Mapping[int, Array]) -> Array:
    """Local rotations (T, J, 4) after some joints were given world rotations (T, 4).

    Joints are set from the root outwards; joints in between and beyond keep their local
    rotations.
    """
    q = q.copy()
    for joint in sorted(turned):
        parent = skeleton.parents[joint]
        if parent < 0:
            q[:, joint] = turned[joint]
            continue
        way = _chain(skeleton, int(parent))
        world = q[:, way[0]]
        for step in way[1:]:
            world = rot.multiply(world, q[:, step])
        q[:, joint] = rot.normalize(rot.multiply(rot.inverse(world), turned[joint]))
    return q


def _chain(skeleton: Skeleton, joint: int) -> list[int]:
    """Joints from the root to `joint`."""
    way = [joint]
    while skeleton.parents[way[-1]] >= 0:
        way.append(int(skeleton.parents[way[-1]]))
    return way[::-1]


def _square_part(vectors: Array, along: Array) -> Array:
    return vectors - np.sum(vectors * along, axis=-1, keepdims=True) * along


def _direction(vectors: Array) -> Array:
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    down = np.array([0.0, -1.0, 0.0])
    return np.where(length > 1e-9, vectors / np.maximum(length, 1e-9), down)
