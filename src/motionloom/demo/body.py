"""Motion plan solver: torso first, then arms and legs by two-bone inverse kinematics.

A foot that is planted according to the plan is exactly still, whatever the rest of the body does.
Everything is a function of continuous time, except the balance, which is computed on a grid.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.demo.balance import Balance, Torso, aiming
from motionloom.demo.performers import SIDES, Performer
from motionloom.demo.plan import SIGN, MotionPlan
from motionloom.motion import Motion
from motionloom.motion.kinematics.two_bone import swing_direction, two_bone_pose
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.smoothing import smooth_step

Array = NDArray[np.float64]

_DOWN = np.array([0.0, -1.0, 0.0])
_FORWARD = np.array([0.0, 0.0, 1.0])
_X = np.array([1.0, 0.0, 0.0])
_Z = np.array([0.0, 0.0, 1.0])
# Reference direction of an arm (between down, forward and out) and of its elbow. The opposite
# direction, behind the head, is out of reach, which keeps the elbow from flipping.
_ARM_HOME = np.array([0.30, -0.38, 0.87])
_ELBOW_HOME = np.array([0.45, -0.80, -0.42])
_SOFTNESS = 0.008  # fraction of the leg; the balance keeps planned feet within reach
_ANKLE_LIMIT = 0.55  # maximum dorsiflexion of a swinging foot, radians
_AIR_FLEXION = 0.35  # plantar flexion of a foot in the air, radians


@dataclass(frozen=True)
class Arm:
    """World rotations (T, 4) of collar, shoulder, elbow and wrist, and the fingertips (T, 3)."""

    collar: Array
    upper: Array
    lower: Array
    hand: Array
    tip: Array


@dataclass(frozen=True)
class Leg:
    """World rotations (T, 4) of hip, knee, ankle and toe joint."""

    upper: Array
    lower: Array
    foot: Array
    toes: Array


def arm(plan: MotionPlan, body: Torso, side: str, hand_path: Array | None = None) -> Arm:
    """Solve one arm from joint angles blended with targets, or from a hand path (T, 3)."""
    who, sign, times = plan.performer, SIGN[side], body.times
    angles = plan.curves[f"{side}_arm"].sample(times)
    first = 7 if side == "left" else 9
    angles = angles + 1.5 * body.wobble[:, [first, first + 1, first]] * [1.0, 1.0, 0.7]
    bend = np.clip(angles[:, 2], 0.02, 2.55)
    wrist = rot.from_axis_angle(_Z, sign * plan.curves[f"{side}_wrist"].sample(times))
    lower = np.array([sign * who.forearm, 0, 0]) + rot.rotate(wrist, [sign * who.hand, 0, 0])
    span = _span(who.upper_arm, np.linalg.norm(lower, axis=-1), bend)
    direction = _swung(angles[:, 0], sign * angles[:, 1])
    share, target = aiming(plan, f"{side}_hand", times)
    if hand_path is not None:
        share, target = np.ones(len(times)), hand_path

    # Hanging arms stay vertical when the chest leans.
    hanging = 0.85 * np.exp(-np.sum(angles[:, :2] ** 2, axis=-1) / 0.45)
    upright = rot.yaw(rot.yaw_angle(body.chest))
    reach = rot.rotate(rot.slerp(body.chest, upright, hanging), direction * span[:, None])
    collar = body.chest
    for _ in range(2):  # collar and arm depend on each other
        start = shoulder(body, side, collar)
        goal = start + _blended(reach, target - start, share)
        collar = _collar(body, side, goal - start)
    start = shoulder(body, side, collar)
    goal = start + _blended(reach, target - start, share)
    line = rot.rotate(rot.inverse(body.chest), goal - start)
    mirror = np.array([sign, 1.0, 1.0])
    pole = swing_direction(_ARM_HOME * mirror, line, _ELBOW_HOME * mirror)
    out = rot.from_axis_angle(line, sign * plan.curves[f"{side}_elbow"].sample(times))
    pose = two_bone_pose(
        start,
        goal,
        rot.rotate(body.chest, rot.rotate(out, pole)),
        upper_bone=[sign * who.upper_arm, 0.0, 0.0],
        lower_bone=lower,
        hinge=[0.0, -sign, 0.0],
        softness=0.01 + 0.2 * share * (1.0 - share),
    )
    return Arm(collar, pose.upper, pose.lower, rot.multiply(pose.lower, wrist), pose.end)


def leg(plan: MotionPlan, body: Torso, side: str) -> Leg:
    """Solve one leg, which follows its footsteps, swings freely or reaches for a target."""
    who, sign, times = plan.performer, SIGN[side], body.times
    planned = body.feet[side]
    angles = plan.curves[f"{side}_free_leg"].sample(times)
    free = plan.curves[f"{side}_free"].sample(times)
    share, target = aiming(plan, f"{side}_foot", times)
    hip = body.on_pelvis([sign * who.hip_width / 2, -who.hip_drop, 0.0])
    span = _span(who.thigh, np.full(len(times), who.shin), np.maximum(angles[:, 2], 0.02))
    swing = rot.rotate(body.pelvis, _swung(angles[:, 0], sign * angles[:, 1]) * span[:, None])
    goal = planned.ankle + free[:, None] * (hip + swing - planned.ankle)
    goal = goal + share[:, None] * (target - goal)

    loose = 1.0 - (1.0 - free) * (1.0 - share)
    line = rot.rotate(rot.inverse(body.pelvis), goal - hip)
    turned = rot.yaw_angle(rot.multiply(rot.inverse(body.pelvis), rot.yaw(planned.yaw)))
    out = (1.0 - loose) * 0.8 * turned + loose * sign * 0.12
    knee = rot.rotate(rot.yaw(out), _FORWARD)
    pole = rot.rotate(body.pelvis, rot.rotate(rot.between(_DOWN, line), knee))
    hang = rot.from_axis_angle(_X, _AIR_FLEXION + plan.curves[f"{side}_ankle"].sample(times))
    flat = rot.from_axis_angle(_X, -planned.heel * (1.0 - loose))
    off = np.maximum(loose, planned.swing)
    for _ in range(3 if np.any(loose > 0.0) else 2):
        pose = two_bone_pose(
            hip,
            goal,
            pole,
            upper_bone=[0.0, -who.thigh, 0.0],
            lower_bone=[0.0, -who.shin, 0.0],
            hinge=_X,
            softness=_SOFTNESS + 0.05 * off * (1.0 - share),
        )
        foot = rot.slerp(planned.rotation, rot.multiply(pose.lower, hang), loose)
        foot = _eased_ankle(pose.lower, foot, planned.swing)
        toes = rot.multiply(foot, flat)
        # A foot in the air must not touch the floor.
        goal = goal + _clearing(pose.end, foot, toes, off, who)
    return Leg(pose.upper, pose.lower, foot, toes)


def _eased_ankle(shin: Array, foot: Array, swing: Array) -> Array:
    """Lower the toes of `foot` (T, 4) during a swing where the ankle would bend too far."""
    local = rot.multiply(rot.inverse(shin), foot)
    raised = -2.0 * np.arctan2(local[:, 1], local[:, 0])
    excess = (raised + np.pi) % (2.0 * np.pi) - np.pi - _ANKLE_LIMIT
    excess = 0.5 * (excess + np.sqrt(excess**2 + 0.06**2))
    share = 1.0 - (1.0 - swing) ** 4
    return rot.multiply(foot, rot.from_axis_angle(_X, share * excess))


def _clearing(ankle: Array, foot: Array, toes: Array, off: Array, who: Performer) -> Array:
    """Return the translation (T, 3) that lifts a foot in the air above the floor."""
    ball = ankle + rot.rotate(foot, [0.0, who.ball_height - who.ankle_height, who.foot])
    tip = ball + rot.rotate(toes, [0.0, 0.0, who.toes])
    lack = 0.5 * who.ball_height - np.minimum(ball[:, 1], tip[:, 1])
    soft = 0.004
    lift = 0.5 * (lack + np.sqrt(lack**2 + soft**2)) * np.clip(8.0 * off, 0.0, 1.0)
    return np.stack([0.0 * lift, lift, 0.0 * lift], axis=-1)


def shoulder(body: Torso, side: str, collar: Array) -> Array:
    """Return the world position (T, 3) of a shoulder joint for a collar rotation."""
    skeleton = body.performer.skeleton
    first = skeleton.joint("LeftShoulder" if side == "left" else "RightShoulder")
    start = body.on_chest(skeleton.offsets[first])
    return start + rot.rotate(collar, skeleton.offsets[first + 1])


def _collar(body: Torso, side: str, reach: Array) -> Array:
    """Return a collar's world rotation; it follows a raised arm up and an extended arm forward."""
    local = rot.rotate(rot.inverse(body.chest), reach)
    local = local / np.maximum(np.linalg.norm(local, axis=-1, keepdims=True), 1e-6)
    up = np.clip((local[:, 1] + 0.3) / 1.3, 0.0, 1.0)
    up = smooth_step(up)
    ahead = np.clip(local[:, 2], 0.0, 1.0) ** 2
    turn = np.stack([-SIGN[side] * 0.22 * ahead, SIGN[side] * 0.38 * up], axis=-1)
    return rot.multiply(body.chest, rot.from_euler(turn, "YZ"))


def _span(upper: float, lower: Array, bend: Array) -> Array:
    """Return the distance between the ends of two bones bent by `bend` (0 is straight)."""
    return np.sqrt(upper**2 + lower**2 + 2.0 * upper * lower * np.cos(bend))


def _blended(a: Array, b: Array, share: Array) -> Array:
    """Interpolate from `a` to `b` (T, 3) along an arc about the origin, with linear length."""
    share = share[:, None]
    length_a, length_b = (np.linalg.norm(v, axis=-1, keepdims=True) for v in (a, b))
    a, b = a / np.maximum(length_a, 1e-9), b / np.maximum(length_b, 1e-9)
    angle = np.arccos(np.clip(np.sum(a * b, axis=-1, keepdims=True), -0.9999, 1.0))
    near = angle < 1e-4
    sine = np.where(near, 1.0, np.sin(angle))
    turned = np.where(
        near,
        a + share * (b - a),
        (np.sin((1.0 - share) * angle) * a + np.sin(share * angle) * b) / sine,
    )
    return turned * (length_a + share * (length_b - length_a))


def _swung(flexion: Array, abduction: Array) -> Array:
    """Return the direction (T, 3) of a hanging limb after flexion and abduction (toward +X)."""
    zero = np.zeros_like(flexion)
    return rot.rotate(rot.exp(np.stack([-flexion, zero, abduction], axis=-1)), _DOWN)


def solve_motion(
    plan: MotionPlan,
    fps: float,
    *,
    start: float,
    end: float,
    name: str = "",
) -> Motion:
    """Solve the motion of a plan between two times; frame k is at ``start + k / fps`` seconds.

    This also computes the targets of the plan's aims.
    """
    balance = Balance(plan)
    resolve_aims(plan, balance)
    body = balance.torso(plan, frame_times(start, end, fps))
    return assemble(plan, body, fps, name)


def frame_times(start: float, end: float, fps: float) -> Array:
    """Return the times of the frames in [start, end], in seconds."""
    return start + np.arange(int(np.floor((end - start) * fps + 1e-6)) + 1) / fps


def resolve_aims(plan: MotionPlan, balance: Balance) -> None:
    """Compute the world position of every target, rounded to the millimeter."""
    waiting = [aim for aim in plan.aims if aim.target is None]
    if not waiting:
        return
    body = balance.torso(plan, np.array([aim.hit for aim in waiting]))
    who = plan.performer
    starts = {f"{side}_hand": shoulder(body, side, body.chest) for side in SIDES}
    for side in SIDES:
        starts[f"{side}_foot"] = body.on_pelvis(
            [SIGN[side] * who.hip_width / 2, -who.hip_drop, 0.0]
        )
    for k, aim in enumerate(waiting):
        length = who.leg
        if aim.limb.endswith("hand"):
            length = who.upper_arm + who.forearm + who.hand
        ray = rot.rotate(rot.yaw(body.heading[k]), aim.direction)
        ray = ray / np.linalg.norm(ray)
        aim.target = (starts[aim.limb][k] + aim.extension * length * ray).round(3)
        aim.parameters["target"] = [float(x) for x in aim.target]


def assemble(
    plan: MotionPlan, body: Torso, fps: float, name: str, hands: dict[str, Array] | None = None
) -> Motion:
    """Build a motion from a torso: add the limbs and compute local rotations.

    `hands` contains fixed positions (T, 3) of the hands ``"left"`` and ``"right"``.
    """
    skeleton = plan.performer.skeleton
    world = {
        "Hips": body.pelvis,
        "Spine": body.spine,
        "Spine1": body.chest,
        "Neck": body.neck,
        "Head": body.head,
    }
    for side, label in (("left", "Left"), ("right", "Right")):
        a = arm(plan, body, side, (hands or {}).get(side))
        world[f"{label}Shoulder"], world[f"{label}Arm"] = a.collar, a.upper
        world[f"{label}ForeArm"], world[f"{label}Hand"] = a.lower, a.hand
        b = leg(plan, body, side)
        world[f"{label}UpLeg"], world[f"{label}Leg"] = b.upper, b.lower
        world[f"{label}Foot"], world[f"{label}ToeBase"] = b.foot, b.toes
    turned = np.stack([world[joint] for joint in skeleton.names], axis=1)
    local = turned.copy()
    local[:, 1:] = rot.multiply(rot.inverse(turned[:, skeleton.parents[1:]]), turned[:, 1:])
    local = rot.unroll(rot.normalize(local))
    return Motion(skeleton, local, body.root, fps, name=name)
