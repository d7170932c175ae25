"""Hand placement, which preserves hand contacts on a body of another size.

The importance of a hand's position, from 0 to 1, depends on its distance from the objects that it
may touch: the floor, the other hand, the head, the trunk and the knees. An important hand keeps its
position relative to these objects; otherwise, the arm keeps its joint angles. This is a simple form
of Shin, Lee, Shin and Gleicher (2001).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput
from motionloom.motion.kinematics.body import leg_length
from motionloom.motion.kinematics.two_bone import Limb, limb_of, reach_target, with_global_rotations
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.smoothing import gaussian_smooth, smooth_step

if TYPE_CHECKING:
    from motionloom.motion.motion import Motion

Array = NDArray[np.float64]

HANDS = ("left_hand", "right_hand")
# Roles a hand may touch. Joints are inside the body: a hand on the head is about 8 cm from the
# joint. Hands that hang or swing at the sides of a walking body are farther away.
_TOUCHED = ("head", "chest", "hips", "left_knee", "right_knee", "left_shoulder", "right_shoulder")
_TOUCHING, _APART = 0.08, 0.20  # meters, for a leg of 0.85 m
_USUAL_LEG = 0.85
_SMOOTHING = 0.08  # seconds
_MAX_ARM_EXTENSION = 0.98  # maximum extension of an arm, as a fraction of its length


def place_hands(
    source: Motion,
    moved: Motion,
    *,
    scale: float,
    floor: float | None = None,
    importance: Mapping[str, ArrayLike] | None = None,
) -> Motion:
    """Place the hands of `moved` as in the source, weighted by importance.

    Parameters
    ----------
    source : Motion
        The original motion, T frames.
    moved : Motion
        The same frames on another skeleton, with the arm angles of the source.
    scale : float
        Leg length of `moved` divided by that of `source`.
    floor : float, optional
        Height of the source's floor in meters; None for no floor.
    importance : mapping, optional
        Importance of ``left_hand`` and ``right_hand``: a number from 0 to 1, or one number per
        frame (T,). By default, it is computed by `hand_importance` for everything a hand may touch.
    """
    given = {hand: _given(hand, value, len(moved)) for hand, value in (importance or {}).items()}
    goals = {}
    for hand in HANDS:
        if _has_arm(source, hand) and _has_arm(moved, hand):
            goals[hand] = _goal(source, moved, hand, scale, floor, given.get(hand))
    q = moved.rotations.astype(np.float64)
    for hand, goal in goals.items():
        side = hand.split("_")[0]
        shift = goal - _place(moved, hand)
        if not np.any(np.abs(shift) > 1e-6):
            continue
        joints, arm = limb_of(moved, (f"{side}_shoulder", f"{side}_elbow", f"{side}_wrist"))
        wrist = moved.global_rotations()[:, joints[2]].astype(np.float64)
        reached = reach_target(arm, arm.start, _in_reach(arm, arm.end + shift))
        still = np.all(np.abs(shift) < 1e-6, axis=-1)[:, None]
        turned = {
            joints[0]: np.where(still, arm.upper, reached.upper),
            joints[1]: np.where(still, arm.lower, reached.lower),
            joints[2]: wrist,
        }
        q = with_global_rotations(q, moved.skeleton, turned)
    return replace(moved, rotations=rot.unroll(q))


def hand_importance(distance: Array, fps: float, *, size: float = 1.0) -> Array:
    """Return the importance (T,) of a hand at `distance` (T,) meters from an object, smoothed.

    Examples
    --------
    >>> hand_importance(np.array([0.05, 0.05, 0.05]), 30.0)
    array([1., 1., 1.])
    >>> hand_importance(np.array([0.5, 0.5]), 30.0)
    array([0., 0.])
    """
    near = np.clip((size * _APART - distance) / (size * (_APART - _TOUCHING)), 0.0, 1.0)
    near = smooth_step(near)
    if len(near) > 1 and near.any():
        near = gaussian_smooth(near, _SMOOTHING * fps)
    return near


def _goal(
    source: Motion,
    moved: Motion,
    hand: str,
    scale: float,
    floor: float | None,
    given: Array | None,
) -> Array:
    """Return the target position of a hand, (T, 3)."""
    own, here = _place(source, hand), _place(moved, hand)
    if given is not None:
        return here + given[:, None] * (scale * own - here)
    size = leg_length(source.skeleton) / _USUAL_LEG
    total = np.zeros(len(here))
    pull = np.zeros_like(here)
    strongest = np.zeros(len(here))
    for there_source, there_moved in _things(source, moved, hand, scale, floor, own, here):
        apart = own - there_source
        weight = hand_importance(np.linalg.norm(apart, axis=-1), source.fps, size=size)
        pull += weight[:, None] * (there_moved + scale * apart - here)
        total += weight
        strongest = np.maximum(strongest, weight)
    return here + strongest[:, None] * pull / np.maximum(total, 1e-9)[:, None]


def _in_reach(arm: Limb, target: Array) -> Array:
    """Return `target` (T, 3), moved toward the shoulder where it is out of reach."""
    before = np.linalg.norm(arm.end - arm.start, axis=-1)
    line = target - arm.start
    wanted = np.maximum(np.linalg.norm(line, axis=-1), 1e-9)
    longest = np.maximum(before, _MAX_ARM_EXTENSION * arm.length)
    return arm.start + line * np.minimum(1.0, longest / wanted)[:, None]


def _things(source, moved, hand, scale, floor, own, here):
    """Return positions (T, 3) of objects that a hand may touch, on the source and the target."""
    if floor is not None:
        below, below_moved = own.copy(), here.copy()
        below[:, 1], below_moved[:, 1] = floor, scale * floor
        yield below, below_moved
    other = HANDS[1 - HANDS.index(hand)]
    if _has_arm(source, other) and _has_arm(moved, other):
        # Both hands meet halfway between the positions given by their arms.
        yield (
            _place(source, other),
            0.5 * (_place(moved, other) + here - scale * (own - _place(source, other))),
        )
    for role in _TOUCHED:
        if role.startswith(hand.split("_")[0]) and role.endswith("shoulder"):
            continue
        if role in source.skeleton.roles and role in moved.skeleton.roles:
            yield (
                source.role_positions([role])[:, 0].astype(np.float64),
                moved.role_positions([role])[:, 0].astype(np.float64),
            )


def _has_arm(motion: Motion, hand: str) -> bool:
    side = hand.split("_")[0]
    roles, skeleton = motion.skeleton.roles, motion.skeleton
    arm = [roles.get(f"{side}_{part}") for part in ("shoulder", "elbow", "wrist")]
    return all(name in skeleton.names for name in arm) and len(set(arm)) == 3


def _place(motion: Motion, hand: str) -> Array:
    """Return the position of the knuckles, or of the wrist if the skeleton has no knuckles."""
    role = hand if hand in motion.skeleton.roles else hand.replace("hand", "wrist")
    return motion.role_positions([role])[:, 0].astype(np.float64)


def _given(hand: str, value: ArrayLike, frames: int) -> Array:
    if hand not in HANDS:
        raise InvalidInput(f"importance keys must be {' or '.join(HANDS)}; got {hand!r}")
    array = np.asarray(value, dtype=np.float64)
    if array.ndim > 1 or (array.ndim == 1 and len(array) != frames):
        raise InvalidInput(
            f"importance of {hand} must be one number, or one number for each of the "
            f"{frames} frames; got shape {array.shape}"
        )
    if not np.all((array >= 0.0) & (array <= 1.0)):
        raise InvalidInput(f"importance of {hand} must lie between 0 and 1")
    return np.broadcast_to(array, (frames,)).astype(np.float64)
