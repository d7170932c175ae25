"""Layers, which combine the arms of one motion with the legs and trunk of another.

The body is split at the chest. The arms keep their timing and their motion relative to the chest;
legs, trunk and the path on the floor come from the other motion. Arms are inertialized where the
layer starts and ends. An arm that hangs still is not transferred. For example, if a person waves
with the right hand, only the right arm is used.

The split is clean if the trunk is upright in both motions, and neither person lies down, crawls or
turns over. The pose of an arm relative to a lying chest does not make sense for a walking person.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.blending.inertialization import Inertializer
from motionloom.motion import Motion, Skeleton
from motionloom.motion.feet.contacts import SIDES
from motionloom.motion.kinematics.body import body_height, leg_length
from motionloom.motion.rotations import quaternions as rot

Array = NDArray[np.float64]

_UPRIGHT = 35.0  # maximum tilt of the trunk from the vertical, in degrees
_LOW = 0.4  # minimum height of the hips above the lower foot, relative to body height
_ACTIVE = 0.5  # minimum movement of an arm, relative to the other arm, for it to be used
_RAISED = 0.12  # height of a raised hand, relative to body height, that counts as movement
_LEAD = 0.6  # seconds at the start of the arms that may be skipped
_AHEAD = 0.1  # weight of velocities relative to angles, in seconds
_FADE = 8.0  # 1/s, rate of inertialization; arms are light, but their offsets can be large


@dataclass(frozen=True, eq=False)
class Layered:
    """A motion with another motion's arms, and the frames in which the arms are replaced."""

    motion: Motion
    sides: tuple[str, ...]
    start: int
    end: int
    skipped: int  # frames skipped at the start of the arms


def unclean(motion: Motion, start: int, end: int) -> str:
    """Return the reason why arms cannot be separated in ``[start, end)``, or an empty string."""
    part = motion[max(start, 0) : min(end, len(motion))]
    limbs = [f"{side}_{part}" for side in SIDES for part in ("shoulder", "wrist", "ankle")]
    needed = ["hips", "neck" if "neck" in motion.skeleton.roles else "head", *limbs]
    missing = [role for role in needed if role not in motion.skeleton.roles]
    if missing:
        return f"the skeleton lacks {', '.join(missing)}"
    places = part.role_positions(needed).astype(np.float64)
    spine = places[:, 1] - places[:, 0]
    tilt = np.degrees(np.arccos(np.clip(spine[:, 1] / np.linalg.norm(spine, axis=1), -1.0, 1.0)))
    if np.quantile(tilt, 0.9) > _UPRIGHT:
        return f"the trunk leans by {np.quantile(tilt, 0.9):.0f} degrees"
    height = body_height(motion.skeleton) or leg_length(motion.skeleton) / 0.505
    feet = np.minimum(places[:, 4, 1], places[:, 7, 1])
    if np.quantile(places[:, 0, 1] - feet, 0.1) < _LOW * height:
        return "the body is not upright"
    return ""


def active_arms(motion: Motion) -> tuple[str, ...]:
    """Return the sides (left, right) on which an arm moves or is raised in a motion."""
    activity = {}
    hips = motion.role_positions(["hips"])[:, 0]
    height = body_height(motion.skeleton) or leg_length(motion.skeleton) / 0.505
    for side in SIDES:
        hand, shoulder = (
            motion.role_positions([f"{side}_{joint}"])[:, 0].astype(np.float64)
            for joint in ("wrist", "shoulder")
        )
        speed = np.linalg.norm(np.diff(hand - hips, axis=0), axis=1).sum() * motion.fps
        hanging = np.median(np.linalg.norm(hand - shoulder, axis=1))
        raised = np.mean(np.clip((hand - shoulder)[:, 1] + hanging, 0.0, None)) / height
        activity[side] = speed / max(len(motion), 1) / height + max(raised - _RAISED, 0.0) * 10.0
    most = max(activity.values())
    return tuple(side for side in SIDES if activity[side] >= _ACTIVE * most)


def with_arms(
    legs: Motion, arms: Motion, at: int, until: int, *, side: str = "", times: int = 1
) -> Layered:
    """Combine the legs of one motion with the arms of another.

    Parameters
    ----------
    legs : Motion
    arms : Motion
        Motion on the same skeleton, at the same rate.
    at, until : int
        Frames of `legs` between which the arms may be replaced. The layer starts where the arms of
        both motions are most similar, and is cut if it is too long.
    side : str
        Side of the arm to use; if empty, use the arms that move.
    times : int
        Number of repetitions.
    """
    sides = (side,) if side else active_arms(arms)
    joints = _arm_joints(legs.skeleton, sides)
    own = legs.rotations[:, joints].astype(np.float32)
    other = np.concatenate([arms.rotations[:, joints].astype(np.float32)] * times)
    lead = min(round(_LEAD * legs.fps), len(arms) // 3)
    first, skip, last = _entrance(own, other, at, until, lead, legs.fps)
    rows = _nearest_signs(other[skip : skip + last - first], own[first])
    frames = np.empty_like(own)
    still = np.zeros((len(legs), 3), np.float32)
    smooth = Inertializer(len(joints), legs.fps, fade=_FADE)
    inner = [first + n * len(arms) - skip for n in range(1, times)]
    edges = [0, first, *(k for k in inner if first < k < last), last, len(legs)]
    for n, (a, b) in enumerate(zip(edges[:-1], edges[1:], strict=True)):
        part = rows[a - first : b - first] if first <= a < last else own[a:b]
        if n and len(part) >= 3:
            smooth.seam(part[:3], still[:3])
        frames[a:b] = smooth.apply(part, still[: len(part)])[0]
    rotations = legs.rotations.copy()
    rotations[:, joints] = frames / np.linalg.norm(frames, axis=-1, keepdims=True)
    motion = Motion(legs.skeleton, rotations, legs.root, legs.fps, name=legs.name)
    return Layered(motion, sides, first, last, skip)


def _entrance(
    own: NDArray, other: NDArray, at: int, until: int, lead: int, fps: float
) -> tuple[int, int, int]:
    """Return the leg frames at which the layer starts and ends, and the arm frames to skip."""
    best: tuple[float, tuple[int, int, int]] = (np.inf, (at, 0, until))
    a_own, a_other = _tangents(own, fps), _tangents(other, fps)
    for first in range(at, max(until - len(other), at) + 1, 2):
        for skip in range(0, lead + 1, 2):
            last = min(first + len(other) - skip, until)
            end = min(skip + last - first, len(other)) - 1
            cost = _apart(own, a_own, first, other, a_other, skip)
            cost += _apart(own, a_own, min(last, len(own) - 1), other, a_other, end)
            if cost < best[0]:
                best = (cost, (first, skip, last))
    return best[1]


def _tangents(rotations: NDArray, fps: float) -> Array:
    """Return angular velocities (T, J, 3) in radians per `_AHEAD` seconds."""
    steps = rot.log(rot.multiply(rotations[1:], rot.inverse(rotations[:-1]))) * fps * _AHEAD
    return (
        np.concatenate([steps, steps[-1:]]) if len(steps) else np.zeros((*rotations.shape[:2], 3))
    )


def _apart(a: NDArray, a_speed: Array, i: int, b: NDArray, b_speed: Array, k: int) -> float:
    """Return the distance between two arm poses in radians, including velocities."""
    turn = 2.0 * np.arccos(np.clip(np.abs(np.sum(a[i] * b[k], axis=-1)), 0.0, 1.0))
    return float(np.sum(turn) + np.sum(np.linalg.norm(a_speed[i] - b_speed[k], axis=-1)))


def _arm_joints(skeleton: Skeleton, sides: Sequence[str]) -> NDArray[np.intp]:
    """Return the joints of the arms on `sides`, starting at the collars."""
    roles = skeleton.roles
    tops = [
        skeleton.joint(roles[next(r for r in (f"{s}_collar", f"{s}_shoulder") if r in roles)])
        for s in sides
    ]
    inside = np.zeros(len(skeleton), bool)
    for joint, parent in enumerate(skeleton.parents):
        inside[joint] = joint in tops or (parent >= 0 and inside[parent])
    return np.flatnonzero(inside)


def _nearest_signs(rows: NDArray[np.float32], pose: NDArray[np.float32]) -> NDArray[np.float32]:
    """Flip the signs of quaternions (n, J, 4) to bring them closest to those of a pose (J, 4)."""
    return np.where(np.sum(rows * pose, axis=-1, keepdims=True) < 0.0, -rows, rows)
