"""Repair of joints beyond the range of a human, such as heads that are upside down.

Solvers and retargeters often flip a body part by half a turn: markers on a head are also explained
by a head that is upside down. A half turn about an axis of the body part undoes this and keeps how
the part moves. For each run of frames beyond the range, the half turn is chosen that leaves the
least excess and fits the frames around the run. Frames that are still beyond the range are moved
to its border. At both ends of the run, the correction fades over a few frames.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.motion.diagnostics.anatomy import (
    RANGES,
    JointAngles,
    JointRange,
    body_turns,
)
from motionloom.motion.kinematics.two_bone import with_global_rotations
from motionloom.motion.retargeting.observed_pose import mean_rotation
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.segment import intervals

if TYPE_CHECKING:
    from motionloom.motion.motion import Motion

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# No turn, and half turns about the axes of the body: left, up, ahead.
_TURNS = np.eye(4)
_GAP = 0.1  # seconds: runs closer together than this are repaired as one
_JOIN = 1.0  # weight of a jump at the ends of a run against the excess, both in radians
_PASSES = 3
_MOSTLY = 0.8  # share of the frames
_AHEAD = np.radians(30.0)  # mean angle of a head that looks ahead, at most
_NEAR = 1.05  # moved frames end up this factor inside the border, so that rounding keeps them in


def within_ranges(motion: Motion) -> Motion:
    """Return `motion` with all joints within the ranges of `motionloom.motion.diagnostics.anatomy`.

    Frames in which no joint is beyond its range stay as they are.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk")
    >>> within_ranges(walk) is walk
    True
    """
    original = motion
    for _ in range(_PASSES):  # a neck that is moved takes the head along
        before = motion
        for limits in RANGES:
            motion = _within(motion, limits)
        if motion is before:
            break
    return _centered(original, motion)


def _centered(original: Motion, motion: Motion) -> Motion:
    """Return `motion` with its head facing ahead on average, if it was flipped most of the time.

    Solvers that flip a head also turn it away. How far is unknown, so the mean is.
    """
    if motion is original or "head" not in motion.skeleton.roles:
        return motion
    joint = motion.skeleton.joint(motion.skeleton.roles["head"])
    flipped = rot.angle_between(original.rotations[:, joint], motion.rotations[:, joint]) > 1.0
    if flipped.mean() < _MOSTLY:
        return motion
    turns = body_turns(motion)
    relative = rot.multiply(rot.inverse(turns["chest"]), turns["head"])
    mean = mean_rotation(relative[flipped])
    if float(rot.angle_between(mean, rot.IDENTITY)) < _AHEAD:
        return motion
    ahead = rot.multiply(rot.inverse(mean), _shortened(mean[None], _AHEAD / 2.0)[0])
    turned = np.where(flipped[:, None], rot.multiply(relative, ahead), relative)
    world = rot.multiply(
        rot.multiply(rot.multiply(turns["chest"], turned), rot.inverse(turns["head"])),
        motion.global_rotations()[:, joint].astype(np.float64),
    )
    q = motion.rotations.astype(np.float64)
    moved = with_global_rotations(q, motion.skeleton, {joint: rot.normalize(world)})
    return replace(motion, rotations=rot.unroll(np.where(flipped[:, None, None], moved, q)))


def _within(motion: Motion, limits: JointRange) -> Motion:
    turns = body_turns(motion)
    if limits.base not in turns or limits.role not in turns:
        return motion
    angles = JointAngles(limits, rot.multiply(rot.inverse(turns[limits.base]), turns[limits.role]))
    beyond = angles.excess > 0.0
    if not beyond.any():
        return motion
    repaired = angles.relative.copy()
    for start, end in _runs(beyond, round(_GAP * motion.fps)):
        run = slice(start, end)
        if limits.hinge is None:
            repaired[run] = _best_turn(angles, start, end)
    repaired = _inside(JointAngles(limits, repaired), beyond)
    joint = motion.skeleton.joint(motion.skeleton.roles[limits.role])
    change = rot.multiply(
        rot.multiply(turns[limits.base], repaired), rot.inverse(turns[limits.role])
    )
    world = rot.multiply(change, motion.global_rotations()[:, joint].astype(np.float64))
    q = with_global_rotations(
        motion.rotations.astype(np.float64), motion.skeleton, {joint: rot.normalize(world)}
    )
    changed = motion.rotations.astype(np.float64).copy()
    frames = np.any(repaired != angles.relative, axis=1)
    changed[frames] = q[frames]
    return replace(motion, rotations=rot.unroll(changed))


def _runs(beyond: Mask, gap: int) -> list[tuple[int, int]]:
    """Return the runs of True, joined across gaps of at most `gap` frames."""
    runs: list[tuple[int, int]] = []
    for start, end in intervals(beyond):
        if runs and start - runs[-1][1] <= gap:
            runs[-1] = (runs[-1][0], int(end))
        else:
            runs.append((int(start), int(end)))
    return runs


def _best_turn(angles: JointAngles, start: int, end: int) -> Array:
    """Return the frames of a run after the half turn that fits best, shape (end - start, 4)."""
    best, least = angles.relative[start:end], np.inf
    for turn in _TURNS:
        turned = rot.multiply(angles.relative[start:end], turn)
        cost = float(JointAngles(angles.limits, turned).excess.mean())
        # A part that stays upright is likelier than one that looks over its shoulder.
        cost += 0.1 * float(rot.angle_between(turned, rot.IDENTITY).mean())
        for inside, outside in ((0, start - 1), (-1, end)):
            if 0 <= outside < len(angles.relative):
                jump = rot.angle_between(turned[inside], angles.relative[outside])
                cost += _JOIN * float(jump) / 2.0
        if cost < least:
            best, least = turned, cost
    return best


def _inside(angles: JointAngles, judged: Mask) -> Array:
    """Return the rotations (T, 4), those of `judged` frames moved to the border of the range."""
    limits = angles.limits
    beyond = (angles.excess > 0.0) & judged
    out = angles.relative.copy()
    if not beyond.any():
        return out
    q = angles.relative[beyond]
    if limits.hinge is not None:
        flexion = JointAngles(limits, q).flexion
        assert flexion is not None
        # Bend about the hinge, by as much as the limb is bent too far back.
        back = np.minimum(flexion, 0.0) - np.minimum(limits.straight / 4.0, 0.0)
        out[beyond] = rot.multiply(rot.from_axis_angle(limits.hinge, -back), q)
        return out
    twist = rot.from_axis_angle(limits.bone, JointAngles(limits, q).twist)
    swing = rot.multiply(q, rot.inverse(twist))
    out[beyond] = rot.multiply(
        _shortened(swing, limits.swing / _NEAR), _shortened(twist, limits.twist / _NEAR)
    )
    return out


def _shortened(turns: Array, most: float) -> Array:
    """Return rotations (N, 4) about the same axes, by at most `most` radians."""
    vectors = rot.log(turns)
    angle = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return rot.exp(vectors * np.minimum(1.0, most / np.maximum(angle, 1e-9)))
