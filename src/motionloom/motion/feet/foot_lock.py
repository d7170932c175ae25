"""Foot lock for whole motions: target paths for feet with known contacts.

The ball is held at one point per contact and rolls off over the toes as captured. While the heel is
also down, the foot does not turn or tilt sideways, and it rocks only slowly. A heel that comes down
before the ball stays in its final position.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.motion.feet.contacts import FootContacts, Plant
from motionloom.motion.kinematics.forward import global_rotations
from motionloom.motion.kinematics.two_bone import Limb, limb_of, with_global_rotations
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.segment import intervals
from motionloom.motion.smoothing import ease_corrections, gaussian_smooth, smooth_step

if TYPE_CHECKING:
    from motionloom.motion.motion import Motion

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

MAX_RISE = 0.004  # meters: maximum rise of a ball whose height is prescribed
_FIRM_RISE = 0.01  # meters of rise up to which a ball in contact is held down
_FIRM_DEPTH = 0.03  # meters of depth up to which a ball captured below the ground is raised
_SOLE_SMOOTHING = 0.015  # seconds
_KNEE_SMOOTHING = (
    0.05  # seconds; faster changes in a locked leg are absorbed by the pitch of the foot
)
_MAX_ROCK = np.radians(5.0)  # rocking of a foot whose heel and ball are down
LIFT_ONSET = 0.003  # meters of depth over which the lift of a foot below the ground sets in
_MAX_TOE_BEND = np.radians(40.0)
_MAX_PITCH = np.radians(8.0)  # pitch of a foot on its ball that relaxes the knee


@dataclass(frozen=True)
class Foot:
    """One leg of a motion: its joints, positions, and foot contacts."""

    joints: tuple[int, int, int]
    limb: Limb
    sole: Array  # world rotation of the ankle joint, (T, 4)
    lever: Array  # from ankle to ball in the ankle's frame, (T, 3)
    ball: Mask
    heel: Mask


@dataclass(frozen=True)
class FootPath:
    """Target position (T, 3) and world rotation (T, 4) for an ankle."""

    ankle: Array
    sole: Array


def foot_of(motion: Motion, side: str, contacts: FootContacts) -> Foot:
    """Return the leg and foot on one side."""
    joints, limb = limb_of(motion, (f"{side}_hip", f"{side}_knee", f"{side}_ankle"))
    world = global_rotations(motion.rotations, motion.skeleton.parents).astype(np.float64)
    sole = world[:, joints[2]]
    ball = motion.role_positions([f"{side}_foot"])[:, 0].astype(np.float64)
    return Foot(
        joints=joints,
        limb=limb,
        sole=sole,
        lever=rot.rotate(rot.inverse(sole), ball - limb.end),
        ball=contacts[f"{side}_ball"],
        heel=contacts[f"{side}_heel"],
    )


def ball_targets(
    foot: Foot, plants: Sequence[Plant], levels: Array, *, most: float | None = None
) -> Array:
    """Return ball targets (T, 3) at the height in `levels` of each contact; NaN outside contacts.

    `most` is the maximum rise of the ball above its level when it rolls off, in meters. The rise of
    a skating foot is always limited, since its height is as uncertain as its position.
    """
    ball = foot.limb.end + rot.rotate(foot.sole, foot.lever)
    spots = np.full_like(ball, np.nan)
    for plant, level in zip(plants, levels, strict=True):
        frames = slice(plant.start_frame, plant.end_frame)
        spots[frames] = np.median(ball[frames], axis=0)
        limit = MAX_RISE if plant.skating and most is None else most
        spots[frames, 1] = level + _softened_rise(ball[frames, 1] - plant.height, limit)
    return spots


def locked_sole(foot: Foot, reach: float, fps: float) -> Array:
    """Return the ankle's world rotation (T, 4) for a locked foot.

    It is nearly constant while the whole sole is down. While only the ball is down, jitter is
    removed, because the ankle would have to follow it.
    """
    sole = _calm_sole(foot, reach, fps)
    turn = np.full((len(sole), 3), np.nan)
    for start, end in intervals(foot.ball & foot.heel):
        here = rot.unroll(sole[start:end])
        mean = rot.normalize(here.mean(axis=0))
        ahead = rot.rotate(mean, foot.lever[start:end].mean(axis=0))
        still = rot.multiply(rot.exp(_slow_pitch(here, mean, ahead)), mean)
        turn[start:end] = rot.log(rot.multiply(still, rot.inverse(here)))
    return rot.multiply(rot.exp(ease_corrections(turn, reach)), sole)


def _calm_sole(foot: Foot, reach: float, fps: float) -> Array:
    """Return the captured rotation (T, 4), smoothed while the ball is in contact."""
    turn = np.full((len(foot.sole), 3), np.nan)
    for start, end in intervals(foot.ball):
        here = rot.unroll(foot.sole[start:end])
        slow = gaussian_smooth(here, _SOLE_SMOOTHING * fps)
        turn[start:end] = rot.log(rot.multiply(rot.normalize(slow), rot.inverse(here)))
    return rot.multiply(rot.exp(ease_corrections(turn, reach)), foot.sole)


def locked_path(foot: Foot, sole: Array, spots: Array, reach: float) -> FootPath:
    """Return the ankle path for a foot with rotation `sole` (T, 4) and ball at `spots` (T, 3)."""
    hold = spots - rot.rotate(sole, foot.lever)
    for start, end in intervals(foot.heel):
        down = np.arange(start, end)
        both = down[foot.ball[down]]
        only = down[~foot.ball[down]]
        if len(both):  # the heel already takes its final position with the whole sole down
            after = np.searchsorted(both, only)
            last, first = both[np.maximum(after - 1, 0)], both[np.minimum(after, len(both) - 1)]
            share = np.clip((only - last) / np.maximum(first - last, 1), 0.0, 1.0)
            share = smooth_step(share)[:, None]
            hold[only] = (1.0 - share) * hold[last] + share * hold[first]
        else:
            hold[only] = np.median(foot.limb.end[only], axis=0)
    return FootPath(foot.limb.end + ease_corrections(hold - foot.limb.end, reach), sole)


def relax_knee(
    foot: Foot,
    path: FootPath,
    spots: Array,
    shift: Array,
    grounds: tuple[Array, Array],
    reach: float,
    fps: float,
) -> FootPath:
    """Return `path` with knee changes transferred to the foot wherever the foot is free.

    While the heel is up, the ankle can rotate about the ball, and in the air the foot is free. In
    these frames, the knee bends as captured, plus the knee change in the nearest frames with the
    heel down. With the heel down, the knee absorbs the slow part of the change, and for the rest,
    the ankle rotates about the ball by about a millimeter. `grounds` contains the ground heights
    (T,) before and after the correction, because a foot in the air may go no deeper below the
    ground than captured.
    """
    hip = foot.limb.start + shift
    bones = _bones(foot.limb)
    before = _bend(np.linalg.norm(foot.limb.end - foot.limb.start, axis=-1), bones)
    excess = _bend(np.linalg.norm(path.ankle - hip, axis=-1), bones) - before
    for start, end in intervals(foot.heel):
        excess[start:end] = gaussian_smooth(excess[start:end], _KNEE_SMOOTHING * fps)
    left_over = ease_corrections(np.where(foot.heel, excess, np.nan)[:, None], reach)[:, 0]
    bend = np.abs(before + left_over)

    lever = rot.rotate(path.sole, -foot.lever)
    lateral = np.cross([0.0, 1.0, 0.0], lever)
    lateral /= np.maximum(np.linalg.norm(lateral, axis=-1, keepdims=True), 1e-9)
    pitch = _turn_to_span(
        lever, lateral, hip - np.where(foot.ball[:, None], spots, 0.0), _span(bend, bones)
    )
    pitches = np.where(foot.ball, pitch, np.nan)
    turn = rot.from_axis_angle(lateral, ease_corrections(pitches[:, None], reach)[:, 0])
    path = locked_path(foot, rot.multiply(turn, path.sole), spots, reach)

    line = path.ankle - hip
    length = np.maximum(np.linalg.norm(line, axis=-1), 1e-9)
    loose = ~(foot.ball | foot.heel)
    # The part of the change that pitch could not absorb at the edge of a contact fades out in the
    # air. It fades as an angle: in a straight leg, one more millimeter would snap the knee.
    rest = np.where(loose, np.nan, _bend(length, bones) - bend)
    rest = ease_corrections(rest[:, None], reach)[:, 0]
    span = _span(np.maximum(bend + rest, 0.5 * bend), bones)
    ankle = np.where(loose[:, None], hip + line * (span / length)[:, None], path.ankle)
    ankle[:, 1] += np.where(loose, _lift(ankle, path.sole, foot, grounds), 0.0)
    return replace(path, ankle=ankle)


def raise_toes(before: Motion, after: Motion, side: str, grounds: tuple[Array, Array]) -> Array:
    """Return the local rotations (T, J, 4) of `after`, with the toes bent up out of the ground.

    `grounds` contains the ground heights (T,) under the ball before and after the correction. Toes
    may be as far below the ground as captured, but no farther.
    """
    q = after.rotations.astype(np.float64)
    skeleton, roles = after.skeleton, after.skeleton.roles
    if roles.get(f"{side}_toe") in (None, roles[f"{side}_foot"]):
        return q
    joint, tip = skeleton.points([f"{side}_foot", f"{side}_toe"])
    if joint >= len(skeleton):
        return q
    sunk = np.minimum(before.positions(end_sites=True)[:, tip, 1] - grounds[0], 0.0)
    place = after.positions(end_sites=True).astype(np.float64)
    toes = place[:, tip] - place[:, joint]
    length = np.maximum(np.linalg.norm(toes, axis=-1), 1e-9)
    lowest = grounds[1] + sunk - place[:, joint, 1]
    missing = np.arcsin(np.clip(lowest / length, -0.9, 0.9)) - np.arcsin(toes[:, 1] / length)
    axis = np.cross(toes, [0.0, 1.0, 0.0])
    bend = rot.from_axis_angle(axis, np.clip(missing, 0.0, _MAX_TOE_BEND))
    world = global_rotations(q, skeleton.parents)[:, joint].astype(np.float64)
    return with_global_rotations(q, skeleton, {int(joint): rot.multiply(bend, world)})


def ground_under(plants: Sequence[Plant], levels: Array, frames: int) -> Array:
    """Return the ground height (T,) under a foot, constant in contacts and linear in between."""
    if not plants:
        return np.full(frames, -np.inf)
    times = [t for plant in plants for t in (plant.start_frame, plant.end_frame - 1)]
    return np.interp(np.arange(frames), times, np.repeat(levels, 2))


def _lift(ankle: Array, sole: Array, foot: Foot, grounds: tuple[Array, Array]) -> Array:
    """Return the ankle lift (T,) that keeps the ball no deeper below ground than captured."""
    before = foot.limb.end[:, 1] + rot.rotate(foot.sole, foot.lever)[:, 1]
    after = ankle[:, 1] + rot.rotate(sole, foot.lever)[:, 1]
    sunk = np.maximum(grounds[1] - after, 0.0) - np.maximum(grounds[0] - before, 0.0)
    sunk = np.where(np.isfinite(sunk), np.maximum(sunk, 0.0), 0.0)
    return sunk**2 / (sunk + LIFT_ONSET)


def _slow_pitch(sole: Array, mean: Array, ahead: Array) -> Array:
    """Return smoothed rotation vectors (T, 3) from `mean` about the foot's lateral axis only.

    A sole that is down may rock slowly from heel to ball, but not turn or tilt sideways.
    """
    lateral = np.cross([0.0, 1.0, 0.0], ahead)
    lateral = lateral / max(float(np.linalg.norm(lateral)), 1e-9)
    pitch = rot.log(rot.multiply(sole, rot.inverse(mean))) @ lateral
    times = np.linspace(-1.0, 1.0, len(pitch))
    degree = min(2, len(pitch) - 1)
    slow = np.polynomial.polynomial.polyval(
        times, np.polynomial.polynomial.polyfit(times, pitch, degree)
    )
    return _MAX_ROCK * np.tanh(slow / _MAX_ROCK)[:, None] * lateral


def _softened_rise(rise: Array, most: float | None) -> Array:
    """Return the height (T,) above ground at which to hold a ball captured at height `rise`.

    A small rise is nearly removed and a large one nearly preserved, so that the ball stays firmly
    planted but still rolls off over the toes. A ball captured below the ground is raised,
    completely if it is a few centimeters deep, otherwise as far as the leg allows. `most` limits
    its distance from the ground.
    """
    firm = np.where(rise > 0.0, _FIRM_RISE, _FIRM_DEPTH)
    way = rise * np.abs(rise) / (np.abs(rise) + firm)
    return way if most is None else most * np.tanh(way / most)


def _turn_to_span(lever: Array, axis: Array, hip: Array, span: Array) -> Array:
    """Return the angle (T,) to rotate `lever` about `axis` so that its tip is `span` from `hip`.

    All vectors are (T, 3) and relative to the ball. |hip - lever|^2 is a sinusoidal function of the
    angle. The smaller of the two solutions is used. If there is no solution, the nearest angle is
    used.
    """
    square = np.cross(axis, lever)
    level = np.sum(hip**2, axis=-1) + np.sum(lever**2, axis=-1) - span**2
    a, b = 2.0 * np.sum(hip * lever, axis=-1), 2.0 * np.sum(hip * square, axis=-1)
    size, phase = np.hypot(a, b), np.arctan2(b, a)
    open_ = np.arccos(np.clip(level / np.maximum(size, 1e-12), -1.0, 1.0))
    angles = np.stack([phase + open_, phase - open_])
    angles = (angles + np.pi) % (2.0 * np.pi) - np.pi
    smaller = np.where(np.abs(angles[0]) < np.abs(angles[1]), angles[0], angles[1])
    return _MAX_PITCH * np.tanh(smaller / _MAX_PITCH)


def _bones(limb: Limb) -> tuple[Array, Array]:
    """Return the lengths (T,) of the two bones."""
    return (
        np.linalg.norm(limb.middle - limb.start, axis=-1),
        np.linalg.norm(limb.end - limb.middle, axis=-1),
    )


def _bend(span: Array, bones: tuple[Array, Array]) -> Array:
    """Return the angle (T,) between two bones whose ends are `span` apart; 0 is straight."""
    a, b = bones
    return np.arccos(np.clip((span**2 - a**2 - b**2) / (2.0 * a * b), -1.0, 1.0))


def _span(bend: Array, bones: tuple[Array, Array]) -> Array:
    """Return the distance (T,) between the ends of two bones bent by `bend`."""
    a, b = bones
    return np.sqrt(a**2 + b**2 + 2.0 * a * b * np.cos(bend))
