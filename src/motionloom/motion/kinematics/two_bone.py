"""Two-bone inverse kinematics: hip, knee and ankle, or shoulder, elbow and hand.

The two bone lengths and the distance to the target form a triangle, and the law of cosines gives
the bend of the middle joint. A *pole*, the direction in which the knee or elbow points, determines
the plane of the triangle.

A limb that is pulled straight jerks, because near full extension, moving the target by a millimeter
moves the knee by centimeters. With a soft limit, the extension approaches full length smoothly
without ever reaching it. Within the limit, the tip reaches the target exactly.

To change a captured limb as little as possible, the whole limb is first rotated by the shortest
rotation that points it at its target, which preserves its twist and the plane of its bend. Then
the middle joint opens or closes until the tip reaches the target.

There are two solvers. `reach_target` handles all frames of a motion and takes the bend direction of
a straight limb from the other frames. `solve_two_bone` is a Numba kernel for one frame, used during
playback; it takes the bend direction from the toes. They do not share code because they compute
quaternions in different ways (from a matrix, and from two vectors), with different rounding.
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

MAX_EXTENSION = 0.995  # maximum extension of a limb, as a fraction of its length
# Fractions of the limb's length by which the middle joint of a nearly straight limb is offset
# toward its bend direction: over a whole motion, and frame by frame.
_STRAIGHT_OFFSET = 0.01
_STRAIGHT_OFFSET_FRAMEWISE = 0.03
_CLEARLY_BENT = 0.045  # ... and above which the bend of the limb decides, not the toes
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
        Angle between the two bones in radians, 0 or more; 0 means that the limb is straight.
    reached : ndarray of bool, shape (T,)
        True where the tip lies on the target, False where the soft limit held it back.
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
    """Rotate two bones so that their tip reaches a target, bent toward a pole.

    Parameters
    ----------
    start : array_like, shape (T, 3)
        World position of the first joint (hip, shoulder).
    target : array_like, shape (T, 3)
        Desired position of the tip.
    pole : array_like, shape (T, 3)
        World direction in which the middle joint points. Only the component perpendicular to the
        line from start to target matters.
    upper_bone, lower_bone : array_like, shape (3,) or (T, 3)
        The bones at rest in meters, each in the frame of its joint.
    hinge : array_like, shape (3,)
        Axis at rest about which the middle joint bends, such as ``(1, 0, 0)`` for a knee below a
        hip that faces +Z.
    softness : float or array_like, shape (T,)
        Last fraction of the reach over which the soft limit acts; 0 disables the limit.

    Returns
    -------
    pose : TwoBonePose

    Examples
    --------
    A leg of two 0.4 m bones with the foot 0.6 m below the hip; the knee moves forward:

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
    # Bending rotates the upper bone toward the line, about across x along.
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
    """Return the distance (T,) that a limb of `length` spans for a target at `distance`.

    The result equals `distance` up to ``(1 - softness) * length``. From there it continues with the
    same slope and approaches `length` exponentially.

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
    """Rotate `carried` (3,) by the shortest rotation from `rest` (3,) to `direction` (T, 3).

    This makes a pole follow its limb, for example so that the knee of a hanging leg points forward,
    and the knee of a leg that swings forward points up.

    Examples
    --------
    >>> swing_direction([0, -1, 0], [[0, 0, 1]], [0, 0, 1]).round(6) + 0.0
    array([[0., 1., 0.]])
    """
    return rot.rotate(rot.between(rest, direction), np.asarray(carried, dtype=np.float64))


def _frame_to_frame(bone: Array, hinge: ArrayLike, direction: Array, axis: Array) -> Array:
    """Return the rotation that maps the bone to `direction` and the hinge close to `axis`."""
    from_bone = _unit(bone, direction)
    rest = _basis(from_bone, _perpendicular_to(from_bone, _rows("hinge", hinge)))
    world = _basis(direction, axis)
    return rot.unroll(rot.from_matrix(world @ np.swapaxes(rest, -1, -2)))


def _basis(first: Array, second: Array) -> Array:
    return np.stack([first, second, rot.cross(first, second)], axis=-1)


def _perpendicular_to(along: Array, vector: Array) -> Array:
    """Return unit vectors along the part of `vector` perpendicular to `along`.

    Where this part is zero, any vector perpendicular to `along` is returned.
    """
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
    """World rotations and positions of two bones of a motion over T frames.

    Attributes
    ----------
    upper, lower : ndarray, shape (T, 4)
        World rotations ``wxyz`` of the first and of the middle joint.
    start, middle, end : ndarray, shape (T, 3)
        World positions of hip, knee and ankle, or of shoulder, elbow and wrist.
    """

    upper: Array
    lower: Array
    start: Array
    middle: Array
    end: Array

    @property
    def length(self) -> Array:
        """Total length of both bones, shape (T,)."""
        first = np.linalg.norm(self.middle - self.start, axis=-1)
        return first + np.linalg.norm(self.end - self.middle, axis=-1)


def reach_target(limb: Limb, start: Array, target: Array, *, softness: float = 0.0) -> Limb:
    """Move `limb` to `start` (T, 3), with its tip at `target` (T, 3) or as near as possible.

    Frames whose tip is already at the target do not change.

    Parameters
    ----------
    limb : Limb
    start, target : ndarray, shape (T, 3)
    softness : float
        Softness of the reach limit; see `two_bone_pose`.

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
    """Return the direction of the middle joint, shape (T, 3), defined even for straight limbs.

    A straight limb does not define a plane, and captured knees are sometimes bent slightly the
    wrong way. The component along the mean direction of all frames, in the frame of the upper bone,
    is therefore kept positive. This does not affect frames in which the limb is clearly bent.
    """
    along = _direction(limb.end - limb.start)
    out = _rejection(limb.middle - limb.start, along)
    usual = rot.rotate(rot.inverse(limb.upper), out).mean(axis=0)
    size = float(np.linalg.norm(usual))
    if size < 1e-9:  # straight in every frame: use any direction, but always the same
        usual, size = np.array([0.0, 0.0, 1.0]), 1.0
    carried = _direction(_rejection(rot.rotate(limb.upper, usual / size), along))
    part = np.sum(out * carried, axis=-1)
    kept = 0.5 * (part + np.hypot(part, _STRAIGHT_OFFSET * limb.length))
    return out + (kept - part)[:, None] * carried


def limb_of(motion: Motion, roles: tuple[str, str, str]) -> tuple[tuple[int, int, int], Limb]:
    """Return the joints and the `Limb` for three roles, such as hip, knee and ankle."""
    points = motion.skeleton.points(roles)
    ends = [role for role, p in zip(roles, points, strict=True) if p >= len(motion.skeleton)]
    if ends:
        raise RoleError(
            f"role {ends[0]} must be a joint; {motion.skeleton.roles[ends[0]]!r} is an end site, "
            "which has no rotation. Assign a joint in a mapping file"
        )
    place = motion.positions().astype(np.float64)
    world = global_rotations(motion.rotations, motion.skeleton.parents).astype(np.float64)
    a, b, c = (int(p) for p in points)
    return (a, b, c), Limb(world[:, a], world[:, b], place[:, a], place[:, b], place[:, c])


def with_global_rotations(q: Array, skeleton: Skeleton, turned: Mapping[int, Array]) -> Array:
    """Return local rotations (T, J, 4) after replacing the world rotations (T, 4) of some joints.

    Joints are set from the root outward; all other joints keep their local rotations.
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
    """Return the joints from the root to `joint`."""
    chain = [joint]
    while skeleton.parents[chain[-1]] >= 0:
        chain.append(int(skeleton.parents[chain[-1]]))
    return chain[::-1]


def _rejection(vectors: Array, along: Array) -> Array:
    return vectors - np.sum(vectors * along, axis=-1, keepdims=True) * along


def _direction(vectors: Array) -> Array:
    """Return unit vectors; vectors shorter than a nanometer are replaced by straight down."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.where(length > 1e-9, vectors / np.maximum(length, 1e-9), [0.0, -1.0, 0.0])


@kernel
def shortest_rotation_into(a, b, out):
    """Write the shortest rotation from direction `a` (3,) to direction `b` (3,) to ``out``."""
    size = math.sqrt((a @ a) * (b @ b))
    if size < 1e-12:
        out[0], out[1], out[2], out[3] = 1.0, 0.0, 0.0, 0.0
        return
    # Half-angle formula without angles: (|a||b| + a.b, a x b) is the rotation up to its length.
    w = size + a @ b
    x = a[1] * b[2] - a[2] * b[1]
    y = a[2] * b[0] - a[0] * b[2]
    z = a[0] * b[1] - a[1] * b[0]
    norm = math.sqrt(w * w + x * x + y * y + z * z)
    if norm < 1e-9 * size:  # opposite directions, which do not occur in limbs
        out[0], out[1], out[2], out[3] = 1.0, 0.0, 0.0, 0.0
        return
    out[0], out[1], out[2], out[3] = w / norm, x / norm, y / norm, z / norm


@kernel
def _soft_extension(wanted, natural, length):
    """Return the softly limited extension toward `wanted` of a limb captured at `natural`.

    Lengths are in meters. A limb that the motion itself extends beyond the limit keeps its
    extension. Otherwise the extension approaches the limit exponentially, starting at 97 % of the
    limb's length.
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
    """Return the unit vector (3,) perpendicular to the limb, toward its middle joint."""
    aside = thigh - (thigh @ along) * along
    # A straight knee may be bent slightly the wrong way and must not flip: its bend toward the
    # toes stays positive. For a bent knee the toes are ignored, since they may point down behind
    # it.
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
    """Fill `upper` and `lower` with the thigh and shank rotations that bring the ankle to `goal`.

    Vectors are (3,), rotations (4,). Returns the resulting position of the ankle. Knees bend
    toward the unit vector `ahead`; pass zeros for an elbow, which may bend in any direction.
    """
    thigh, shank = knee - hip, ankle - knee
    a, b = math.sqrt(thigh @ thigh), math.sqrt(shank @ shank)
    line = ankle - hip
    natural = math.sqrt(line @ line)
    reach = goal - hip
    wanted = math.sqrt(reach @ reach)
    # Not closer than bones of different length can fold, or there would be no triangle.
    far = max(_soft_extension(wanted, natural, a + b), 1.02 * abs(a - b) + 1e-6)
    along = line / natural
    aside = _bend_aside(thigh, along, ahead, a + b)
    # Law of cosines at the hip, still along the old line. Then the whole limb swings to its goal.
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
    """Return the knee-bend change that brings the ankle to `goal`, and the new bend, in radians.

    Both bends are taken as positive, so a goal at the same distance as the ankle does not change
    the bend, even if the knee is bent slightly the wrong way.
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
    """Return the angle between two bones whose ends are `far` apart; 0 is straight."""
    return math.acos(min(1.0, max(-1.0, (far * far - a * a - b * b) / (2.0 * a * b))))


@kernel
def bend_two_bone(hip, knee, ankle, goal, ahead, more, upper, lower):
    """Compute thigh and shank rotations that bend the knee by `more` radians and aim at `goal`.

    Returns the resulting position of the ankle, on the line from the hip to the goal. With `more`
    from `bend_for_goal`, this is the goal itself. A caller that changes `more` slowly keeps the
    knee of a nearly straight leg from jerking, at the cost of a few millimeters at the ankle.
    """
    thigh, shank, line, reach = knee - hip, ankle - knee, ankle - hip, goal - hip
    length = math.sqrt(thigh @ thigh) + math.sqrt(shank @ shank)
    along = line / math.sqrt(line @ line)
    aside = _bend_aside(thigh, along, ahead, length)
    turn, swing, bent = np.empty(4), np.empty(4), np.empty(3)
    # The knee rotates about the normal of the limb's plane, aside x along.
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
    """Set a joint's local rotation after world rotations `change` and `parent_change`, each (4,).

    q (T, J, 4) is changed in frame t, and turn (J, 4) contains the world rotations before the
    change. around and world (4,) are scratch arrays, so that nothing is allocated per joint.
    """
    multiply_into(change, turn[joint], world)
    if parents[joint] >= 0:
        multiply_into(parent_change, turn[parents[joint]], around)
        _inverse_product(around, world, world)
    # Choose the quaternion sign closest to the old one, so that it does not flip between frames.
    sign = 1.0 if (world * q[t, joint]).sum() >= 0.0 else -1.0
    for c in range(4):
        q[t, joint, c] = sign * world[c]


@kernel
def _inverse_product(a, b, out):
    """Compute ``out = inverse(a) * b`` for unit quaternions (4,); `out` may be `a` or `b`."""
    w = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
    x = a[0] * b[1] - a[1] * b[0] - a[2] * b[3] + a[3] * b[2]
    y = a[0] * b[2] + a[1] * b[3] - a[2] * b[0] - a[3] * b[1]
    z = a[0] * b[3] - a[1] * b[2] + a[2] * b[1] - a[3] * b[0]
    out[0], out[1], out[2], out[3] = w, x, y, z
