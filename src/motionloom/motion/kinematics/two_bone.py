"""Two-bone inverse kinematics: hip, knee and ankle, or shoulder, elbow and hand.

Two bone lengths and the distance to the target make a triangle, so the law of cosines gives
the bend of the middle joint. What is left is the plane of the triangle: a *pole*, the direction
in which knee or elbow points, determines it.

A limb that is pulled straight does so with a jerk: near full extension a millimeter of the
target moves the knee by centimeters. A soft limit bends the distance smoothly toward full
extension without ever reaching it. Inside the limit the target is met exactly.

To move a limb of a motion with little change, it is first rotated as a whole by the shortest
rotation that points it at its target, which keeps its twist and the plane of its bend; then the
middle joint opens or closes until the tip arrives.

There are two drivers. `reach_target` takes all frames of a motion and takes the bend direction
of a straight limb from the other frames. `solve_two_bone` is a Numba kernel for one frame, used
while a motion is being played; it takes the bend direction from the toes. They round differently
(a quaternion from a matrix, a quaternion from two vectors), so each keeps its own arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput, RoleError
from motionloom.kernels import kernel
from motionloom.motion.kinematics.forward import global_rotations
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.rotations.quaternions import multiply_into, rotate_into

if TYPE_CHECKING:
    from motionloom.motion.motion import Motion
    from motionloom.motion.skeleton import Skeleton


Array = NDArray[np.float64]

MAX_EXTENSION = 0.995  # fraction of its length to which a limb is straightened at most
# Fractions of the limb's length by which the middle joint of a nearly straight limb is offset
# toward its bend direction: seen over a whole motion, and frame by frame.
_STRAIGHT_OFFSET = 0.01
_STRAIGHT_OFFSET_FRAMEWISE = 0.03
_CLEARLY_BENT = 0.045  # ... by which it is offset when the limb's own bend decides, not the toes
_TOES_AHEAD = 0.3  # toes whose perpendicular part is shorter than this give no direction


@dataclass(frozen=True)
class TwoBonePose:
    """Result of `two_bone_pose` for T frames.

    Attributes
    ----------
    upper, lower : ndarray, shape (T, 4)
        World rotations ``wxyz`` of the first and of the middle joint.
    middle, end : ndarray, shape (T, 3)
        World positions of the middle joint and of the tip.
    bend : ndarray, shape (T,)
        Angle between the two bones in radians: 0 is straight, never negative.
    reached : ndarray of bool, shape (T,)
        Whether the tip lies on the target; False where the soft limit held it back.
    """

    upper: Array
    lower: Array
    middle: Array
    end: Array
    bend: Array
    reached: NDArray[np.bool_]


def two_bone_pose(
    start: ArrayLike,
    target: ArrayLike,
    pole: ArrayLike,
    *,
    upper_bone: ArrayLike,
    lower_bone: ArrayLike,
    hinge: ArrayLike,
    softness: ArrayLike = 0.01,
) -> TwoBonePose:
    """Rotations of two bones whose tip reaches a target, bent toward a pole.

    Parameters
    ----------
    start : array_like, shape (T, 3)
        World position of the first joint (hip, shoulder).
    target : array_like, shape (T, 3)
        Where the tip should be.
    pole : array_like, shape (T, 3)
        World direction in which the middle joint points; only its component perpendicular to
        the line from start to target counts.
    upper_bone, lower_bone : array_like, shape (3,) or (T, 3)
        The bones at rest in meters, each in the frame of its own joint.
    hinge : array_like, shape (3,)
        Axis at rest about which the middle joint bends: ``(1, 0, 0)``
        for a knee below a hip that faces +Z.
    softness : float or array_like, shape (T,)
        Last fraction of the reach over which the soft limit acts; 0 turns it off.

    Returns
    -------
    pose : TwoBonePose

    Examples
    --------
    A leg of twice 0.4 m, the foot 0.6 m below the hip; the knee goes forward:

    >>> leg = two_bone_pose([[0, 1, 0]], [[0, 0.4, 0]], [[0, 0, 1]],
    ...                     upper_bone=[0, -0.4, 0], lower_bone=[0, -0.4, 0], hinge=[1, 0, 0])
    >>> leg.end.round(6), bool(leg.middle[0, 2] > 0.2)
    (array([[0. , 0.4, 0. ]]), True)
    """
    start, target, pole = _rows("start", start), _rows("target", target), _rows("pole", pole)
    upper_bone, lower_bone = _rows("upper_bone", upper_bone), _rows("lower_bone", lower_bone)
    soft = np.asarray(softness, dtype=np.float64)
    if not np.all((soft >= 0.0) & (soft < 1.0)):
        raise InvalidInput(f"softness must lie in [0, 1); got {soft}")
    length_a = np.linalg.norm(upper_bone, axis=-1)
    length_b = np.linalg.norm(lower_bone, axis=-1)
    if np.any(length_a <= 0.0) or np.any(length_b <= 0.0):
        raise InvalidInput("upper_bone and lower_bone must not have zero length")

    line = target - start
    wanted = np.linalg.norm(line, axis=-1)
    reach = soft_reach(wanted, length_a + length_b, softness=soft)
    shortest = np.abs(length_a - length_b) * 1.001 + 1e-6
    distance = np.maximum(reach, shortest)
    along = _unit(line, fallback=np.array([0.0, -1.0, 0.0]))
    across = _perpendicular_to(along, pole)

    # Law of cosines: angle at the first joint, between the line and the upper bone.
    cosine = (length_a**2 + distance**2 - length_b**2) / (2.0 * length_a * distance)
    cosine = np.clip(cosine, -1.0, 1.0)[:, None]
    sine = np.sqrt(1.0 - cosine**2)
    middle = start + length_a[:, None] * (cosine * along + sine * across)
    end = start + distance[:, None] * along
    # Bending turns the upper bone toward the line: about across x along.
    axis = rot.cross(across, along)
    first, second = _unit(middle - start, along), _unit(end - middle, along)
    dot = np.clip(np.sum(first * second, axis=-1), -1.0, 1.0)
    return TwoBonePose(
        upper=_frame_to_frame(upper_bone, hinge, first, axis),
        lower=_frame_to_frame(lower_bone, hinge, second, axis),
        middle=middle,
        end=end,
        bend=np.arccos(dot),
        reached=np.abs(distance - wanted) < 1e-9,
    )


def soft_reach(distance: ArrayLike, length: ArrayLike, *, softness: ArrayLike) -> Array:
    """Distance (T,) that a limb of `length` spans for a target at `distance`; below `length`.

    Equal to `distance` up to ``(1 - softness) * length``, then an exponential approach with
    the same slope.

    Examples
    --------
    >>> soft_reach([0.5, 0.99, 1.5], 1.0, softness=0.1).round(3)
    array([0.5  , 0.959, 1.   ])
    """
    distance = np.asarray(distance, dtype=np.float64)
    length = np.asarray(length, dtype=np.float64)
    zone = np.asarray(softness, dtype=np.float64) * length
    excess = np.maximum(distance - (length - zone), 0.0)
    bent = zone * -np.expm1(-excess / np.where(zone > 0.0, zone, 1.0))
    return np.minimum(distance, length - zone) + bent


def swing_direction(rest: ArrayLike, direction: ArrayLike, carried: ArrayLike) -> Array:
    """`carried` (3,) rotated by the shortest rotation from `rest` (3,) to `direction` (T, 3).

    This is how a pole follows its limb: a knee that points forward under a hanging leg points up
    once the leg is swung forward.

    Examples
    --------
    >>> swing_direction([0, -1, 0], [[0, 0, 1]], [0, 0, 1]).round(6) + 0.0
    array([[0., 1., 0.]])
    """
    return rot.rotate(rot.between(rest, direction), np.asarray(carried, dtype=np.float64))


def _frame_to_frame(bone: Array, hinge: ArrayLike, direction: Array, axis: Array) -> Array:
    """Rotation of the bone to `direction` and of the hinge, made perpendicular, to `axis`."""
    from_bone = _unit(bone, direction)
    rest = _basis(from_bone, _perpendicular_to(from_bone, _rows("hinge", hinge)))
    world = _basis(direction, axis)
    return rot.unroll(rot.from_matrix(world @ np.swapaxes(rest, -1, -2)))


def _basis(first: Array, second: Array) -> Array:
    return np.stack([first, second, rot.cross(first, second)], axis=-1)


def _perpendicular_to(along: Array, vector: Array) -> Array:
    """Unit vectors: the component of `vector` perpendicular to `along`, or any such vector."""
    along, vector = np.broadcast_arrays(along, vector)
    part = vector - np.sum(vector * along, axis=-1, keepdims=True) * along
    spare = np.where(np.abs(along[..., :1]) < 0.9, [1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    return _unit(part, _unit(rot.cross(along, spare), along))


def _unit(vector: Array, fallback: Array) -> Array:
    length = np.linalg.norm(vector, axis=-1, keepdims=True)
    return np.where(length > 1e-12, vector / np.where(length > 1e-12, length, 1.0), fallback)


def _rows(name: str, value: ArrayLike) -> Array:
    array = np.atleast_2d(np.asarray(value, dtype=np.float64))
    if array.ndim != 2 or array.shape[1] != 3:
        raise InvalidInput(f"{name} must have shape (T, 3) or (3,); got {array.shape}")
    return array


@dataclass(frozen=True)
class Limb:
    """Two bones of a motion over T frames: world rotations and positions.

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
        """Length of both bones together, shape (T,)."""
        first = np.linalg.norm(self.middle - self.start, axis=-1)
        return first + np.linalg.norm(self.end - self.middle, axis=-1)


def reach_target(limb: Limb, start: Array, target: Array, *, softness: float = 0.0) -> Limb:
    """`limb` moved to `start` (T, 3), its tip at `target` (T, 3) or as near as possible.

    Frames whose tip is at the target already stay as they are.

    Parameters
    ----------
    limb : Limb
    start, target : ndarray, shape (T, 3)
    softness : float
        See `two_bone_pose`.

    Returns
    -------
    limb : Limb

    Examples
    --------
    >>> unturned = np.tile(rot.IDENTITY, (1, 1))
    >>> leg = Limb(unturned, unturned, np.array([[0, 0.8, 0]]), np.array([[0, 0.4, 0.02]]),
    ...            np.array([[0, 0.0, 0]]))
    >>> moved = reach_target(leg, leg.start, np.array([[0, 0.1, 0.0]]))
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
    """Direction in which the middle joint points, shape (T, 3), also where the limb is straight.

    A straight limb defines no plane, and captured knees are sometimes bent slightly the wrong
    way. So the component along the mean direction of all frames, as seen from the upper bone,
    is kept positive; where the limb is bent this changes nothing.
    """
    along = _direction(limb.end - limb.start)
    out = _rejection(limb.middle - limb.start, along)
    usual = rot.rotate(rot.inverse(limb.upper), out).mean(axis=0)
    size = float(np.linalg.norm(usual))
    if size < 1e-9:  # straight in every frame: any direction, but always the same
        usual, size = np.array([0.0, 0.0, 1.0]), 1.0
    carried = _direction(_rejection(rot.rotate(limb.upper, usual / size), along))
    part = np.sum(out * carried, axis=-1)
    kept = 0.5 * (part + np.hypot(part, _STRAIGHT_OFFSET * limb.length))
    return out + (kept - part)[:, None] * carried


def limb_of(motion: Motion, roles: tuple[str, str, str]) -> tuple[tuple[int, int, int], Limb]:
    """Joints and `Limb` of three roles, for example hip, knee and ankle."""
    points = motion.skeleton.points(roles)
    ends = [role for role, p in zip(roles, points, strict=True) if p >= len(motion.skeleton)]
    if ends:
        raise RoleError(
            f"role {ends[0]} must be a joint; {motion.skeleton.roles[ends[0]]!r} is an end site, "
            "which has no rotation. Name a joint in a mapping file"
        )
    place = motion.positions().astype(np.float64)
    world = global_rotations(motion.rotations, motion.skeleton.parents).astype(np.float64)
    a, b, c = (int(p) for p in points)
    return (a, b, c), Limb(world[:, a], world[:, b], place[:, a], place[:, b], place[:, c])


def with_global_rotations(q: Array, skeleton: Skeleton, turned: Mapping[int, Array]) -> Array:
    """Local rotations (T, J, 4) with the world rotations (T, 4) of some joints replaced.

    Joints are set from the root outwards; all other joints keep their local rotations.
    """
    q = q.copy()
    for joint in sorted(turned):
        parent = skeleton.parents[joint]
        if parent < 0:
            q[:, joint] = turned[joint]
            continue
        chain = _chain(skeleton, int(parent))
        world = q[:, chain[0]]
        for above in chain[1:]:
            world = rot.multiply(world, q[:, above])
        q[:, joint] = rot.normalize(rot.multiply(rot.inverse(world), turned[joint]))
    return q


def _chain(skeleton: Skeleton, joint: int) -> list[int]:
    """Joints from the root to `joint`."""
    chain = [joint]
    while skeleton.parents[chain[-1]] >= 0:
        chain.append(int(skeleton.parents[chain[-1]]))
    return chain[::-1]


def _rejection(vectors: Array, along: Array) -> Array:
    return vectors - np.sum(vectors * along, axis=-1, keepdims=True) * along


def _direction(vectors: Array) -> Array:
    """Unit vectors; down for those that are hardly a nanometer long."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.where(length > 1e-9, vectors / np.maximum(length, 1e-9), [0.0, -1.0, 0.0])


@kernel
def shortest_rotation_into(a, b, out):
    """``out``: the shortest rotation of the direction of `a` (3,) to that of `b` (3,)."""
    size = math.sqrt((a @ a) * (b @ b))
    if size < 1e-12:
        out[0], out[1], out[2], out[3] = 1.0, 0.0, 0.0, 0.0
        return
    # Half-angle formula without angles: (|a||b| + a.b, a x b) is the rotation, up to its length.
    w = size + a @ b
    x = a[1] * b[2] - a[2] * b[1]
    y = a[2] * b[0] - a[0] * b[2]
    z = a[0] * b[1] - a[1] * b[0]
    norm = math.sqrt(w * w + x * x + y * y + z * z)
    if norm < 1e-9 * size:  # opposite directions, which limbs never have
        out[0], out[1], out[2], out[3] = 1.0, 0.0, 0.0, 0.0
        return
    out[0], out[1], out[2], out[3] = w / norm, x / norm, y / norm, z / norm


@kernel
def _soft_extension(wanted, natural, length):
    """Extension of a limb for a target at `wanted` that was extended to `natural`: soft limit.

    Lengths in meters. A limb that the motion itself extends beyond the limit keeps that; otherwise
    the extension approaches the limit exponentially from 97 % of the limb's length on.
    """
    most = max(MAX_EXTENSION * length, min(natural, 0.9999 * length))
    soft = 0.97 * length
    if wanted <= natural or wanted <= soft:
        return wanted
    start = max(soft, natural)
    room = most - start
    if room < 1e-9:
        return most
    return start + room * (1.0 - math.exp(-(wanted - start) / room))


@kernel
def _bend_aside(thigh, along, ahead, length):
    """Unit vector across the limb in which its middle joint points; vectors are (3,)."""
    aside = thigh - (thigh @ along) * along
    # A straight knee may be bent slightly the wrong way and must not flip: its bend toward the
    # toes stays positive. A bent knee decides alone, since toes may point down behind it.
    toes = ahead - (ahead @ along) * along
    size = math.sqrt(toes @ toes)
    if size > 1e-6:
        toes /= size
        part = aside @ toes
        # A smooth maximum of `part` and 0, and a weight that falls with the fourth power of the
        # bend: 1 for a straight limb, 1/2 at _CLEARLY_BENT.
        kept = 0.5 * (part + math.hypot(part, _STRAIGHT_OFFSET_FRAMEWISE * length))
        weight = 1.0 / (1.0 + ((aside @ aside) / (_CLEARLY_BENT * length) ** 2) ** 2)
        aside += weight * (kept - part) * min(1.0, size / _TOES_AHEAD) * toes
    return aside / (math.sqrt(aside @ aside) + 1e-12)


@kernel
def solve_two_bone(hip, knee, ankle, goal, ahead, upper, lower):
    """World rotations of thigh and shank, into `upper` and `lower`, that bring the ankle to `goal`.

    All are (3,) but the rotations, (4,). Returns where the ankle arrives. Knees bend toward the
    unit vector `ahead`; give zeros for an elbow, which may bend in any direction.
    """
    thigh, shank = knee - hip, ankle - knee
    a, b = math.sqrt(thigh @ thigh), math.sqrt(shank @ shank)
    line = ankle - hip
    natural = math.sqrt(line @ line)
    reach = goal - hip
    wanted = math.sqrt(reach @ reach)
    # Not nearer than bones of different length can fold, or there is no triangle.
    far = max(_soft_extension(wanted, natural, a + b), 1.02 * abs(a - b) + 1e-6)
    along = line / natural
    aside = _bend_aside(thigh, along, ahead, a + b)
    # Law of cosines at the hip, still along the old line; then the whole limb swings to its goal.
    cosine = min(1.0, max(-1.0, (a * a + far * far - b * b) / (2.0 * a * far)))
    bent = a * (cosine * along + math.sqrt(1.0 - cosine * cosine) * aside)
    swing, turn = np.empty(4), np.empty(4)
    shortest_rotation_into(line, reach, swing)
    shortest_rotation_into(thigh, bent, turn)
    multiply_into(swing, turn, upper)
    shortest_rotation_into(shank, far * along - bent, turn)
    multiply_into(swing, turn, lower)
    return hip + reach * (far / wanted)


@kernel
def bend_for_goal(hip, knee, ankle, goal):
    """Change of the knee's bend that brings the ankle to `goal`, and the bend then; radians.

    Both bends are taken as positive, so that nothing changes for a goal that is as far as the
    ankle, even if the knee is bent slightly the wrong way.
    """
    thigh, shank, line, reach = knee - hip, ankle - knee, ankle - hip, goal - hip
    a, b = math.sqrt(thigh @ thigh), math.sqrt(shank @ shank)
    natural = math.sqrt(line @ line)
    far = _soft_extension(math.sqrt(reach @ reach), natural, a + b)
    far = max(far, 1.02 * abs(a - b) + 1e-6)
    bend = _bend(a, b, far)
    return bend - _bend(a, b, natural), bend


@kernel
def _bend(a, b, far):
    """Angle between two bones whose ends are `far` apart; 0 is straight."""
    return math.acos(min(1.0, max(-1.0, (far * far - a * a - b * b) / (2.0 * a * b))))


@kernel
def bend_two_bone(hip, knee, ankle, goal, ahead, more, upper, lower):
    """World rotations of thigh and shank that bend the knee by `more` radians and aim at `goal`.

    Returns where the ankle arrives: on the line from the hip to the goal. With `more` from
    `bend_for_goal` that is the goal itself; a caller that changes it slowly keeps the knee of a
    nearly straight leg from jerking, at the price of millimeters of the ankle.
    """
    thigh, shank, line, reach = knee - hip, ankle - knee, ankle - hip, goal - hip
    length = math.sqrt(thigh @ thigh) + math.sqrt(shank @ shank)
    along = line / math.sqrt(line @ line)
    aside = _bend_aside(thigh, along, ahead, length)
    turn, swing, bent = np.empty(4), np.empty(4), np.empty(3)
    # The knee turns about the normal of the limb's plane, aside x along.
    sine = math.sin(0.5 * more)
    turn[0] = math.cos(0.5 * more)
    turn[1] = sine * (aside[1] * along[2] - aside[2] * along[1])
    turn[2] = sine * (aside[2] * along[0] - aside[0] * along[2])
    turn[3] = sine * (aside[0] * along[1] - aside[1] * along[0])
    rotate_into(turn, shank, bent)
    bent += thigh
    shortest_rotation_into(bent, reach, swing)
    for c in range(4):
        upper[c] = swing[c]
    multiply_into(swing, turn, lower)
    return hip + reach * math.sqrt((bent @ bent) / (reach @ reach))


@kernel
def set_global_rotation(q, t, joint, turn, parents, change, parent_change, around, world):
    """Set the local rotation of a joint rotated by `change` (4,), its parent by `parent_change`.

    q (T, J, 4) is changed in frame t; turn (J, 4) are the world rotations before; around and world
    (4,) are room to work in, so that nothing is allocated per joint.
    """
    multiply_into(change, turn[joint], world)
    if parents[joint] >= 0:
        multiply_into(parent_change, turn[parents[joint]], around)
        _inverse_product(around, world, world)
    # Of the two quaternions the one near the old one: no flip of sign between frames.
    sign = 1.0 if (world * q[t, joint]).sum() >= 0.0 else -1.0
    for c in range(4):
        q[t, joint, c] = sign * world[c]


@kernel
def _inverse_product(a, b, out):
    """``out = inverse(a) * b`` for unit quaternions (4,); `out` may be one of them."""
    w = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
    x = a[0] * b[1] - a[1] * b[0] - a[2] * b[3] + a[3] * b[2]
    y = a[0] * b[2] + a[1] * b[3] - a[2] * b[0] - a[3] * b[1]
    z = a[0] * b[3] - a[1] * b[2] + a[2] * b[1] - a[3] * b[0]
    out[0], out[1], out[2], out[3] = w, x, y, z
