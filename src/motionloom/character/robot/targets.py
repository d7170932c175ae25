"""Targets of a robot's inverse kinematics, from any motion of a person.

The robot is first seen as a person: a *proxy* skeleton has the robot's proportions, but the joints
of a person, which turn freely. Retargeting to the proxy (`motionloom.motion.retargeting`) finds
neutral poses, scales the path by the leg length, locks the feet to the ground and keeps hands where
they touch. Rotations of the proxy are relative to the robot's neutral pose, so no table of rotation
offsets is needed, for any skeleton and any robot.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.character.robot.anatomy import SIDES, RobotLimb
from motionloom.character.robot.model import Robot
from motionloom.character.robot.solver import Poses, Tasks
from motionloom.motion.feet.contacts import FootContacts, foot_contacts
from motionloom.motion.kinematics.body import leg_length
from motionloom.motion.retargeting.retarget import LEGS, require_roles, retarget
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.skeleton import Skeleton
from motionloom.motion.smoothing import gaussian_smooth

if TYPE_CHECKING:
    from motionloom.motion import Motion

Array = NDArray[np.float64]

# Weights of the targets, per meter or radian. Chosen on 24 takes that are not in the benchmark.
_PLANTED, _SWINGING = 60.0, 10.0
_WEIGHTS = {
    "knee": 1.5, "elbow": 3.0, "wrist": 5.0, "hand": 3.0, "pelvis": 12.0, "shoulder": 1.0,
}  # fmt: skip
_TURNS = {"pelvis": 5.0, "chest": 2.0, "head": 0.5, "hand": 0.2}
_FLAT, _FOOT = 8.0, 1.0
_STEEP = np.radians([25.0, 45.0])  # tilts at which a planted foot is flattened fully, not at all
_EASE = 0.05  # seconds over which weights of a planted foot fade


@dataclass(frozen=True, eq=False)
class Targets:
    """Everything that inverse kinematics needs to know about a motion.

    Attributes
    ----------
    tasks : Tasks
    start : Poses
        First guess.
    neutral : ndarray, shape (D,)
    contacts : FootContacts
        Contacts of the source.
    proxy : Motion
        The motion on the proxy skeleton, with the floor at height zero.
    """

    tasks: Tasks
    start: Poses
    neutral: Array
    contacts: FootContacts
    proxy: Motion


@lru_cache(maxsize=16)
def neutral_angles(robot: Robot) -> Array:
    """Return hinge angles (D,) with straight knees and elbows and everything else near zero."""
    angles = np.clip(np.zeros(len(robot.joint_names)), robot.lower, robot.upper)
    for limb in (*robot.anatomy.legs, *robot.anatomy.arms):
        hinge = int(robot.node_hinges[limb.middle])
        best, straightest = angles[hinge], -2.0
        for value in np.linspace(robot.lower[hinge], robot.upper[hinge], 61):
            angles[hinge] = value
            turns, places = robot.zero_frames(angles)
            end = places[limb.end] if limb.end != limb.middle else None
            if end is None:
                end = places[limb.last] + rot.rotate(turns[limb.last], limb.tip)
            upper, lower = places[limb.middle] - places[limb.root], end - places[limb.middle]
            size = float(np.linalg.norm(upper) * np.linalg.norm(lower))
            cosine = float(upper @ lower) / max(size, 1e-9)
            if cosine > straightest + 1e-6:
                best, straightest = value, cosine
        angles[hinge] = best
    return angles


@lru_cache(maxsize=16)
def proxy_skeleton(robot: Robot) -> Skeleton:
    """Return a person's skeleton with the robot's proportions in its neutral pose."""
    turns, places = robot.zero_frames(neutral_angles(robot))
    anatomy = robot.anatomy
    shoulders = np.mean([places[arm.root] for arm in anatomy.arms], axis=0)
    crown = places[anatomy.head_top.node] + rot.rotate(
        turns[anatomy.head_top.node], anatomy.head_top.offset
    )
    points: list[tuple[str, str, Array]] = []  # name, parent and place
    hips = places[anatomy.pelvis]
    points.append(("hips", "", hips))
    trunk = "hips"
    if anatomy.chest != anatomy.pelvis:
        chest = places[anatomy.chest].copy()
        chest[1] = max(chest[1], hips[1] + 0.02)
        points.append(("chest", "hips", chest))
        trunk = "chest"
    neck = shoulders + 0.25 * (crown - shoulders)
    if anatomy.neck is not None:
        neck = places[anatomy.neck]
    points.append(("neck", trunk, neck))
    points.append(("head", "neck", neck + 0.4 * (crown - neck)))
    ends: list[tuple[str, str, Array]] = [("head_top", "head", crown)]
    for side, arm, leg in zip(SIDES, anatomy.arms, anatomy.legs, strict=True):
        tip = places[arm.last] + rot.rotate(turns[arm.last], arm.tip)
        points.append((f"{side}_shoulder", trunk, places[arm.root]))
        points.append((f"{side}_elbow", f"{side}_shoulder", places[arm.middle]))
        if arm.end != arm.middle:
            points.append((f"{side}_wrist", f"{side}_elbow", places[arm.end]))
            ends.append((f"{side}_hand", f"{side}_wrist", tip))
        else:
            ends.append((f"{side}_wrist", f"{side}_elbow", tip))
        toe = places[leg.last] + rot.rotate(turns[leg.last], leg.tip)
        points.append((f"{side}_hip", "hips", places[leg.root]))
        points.append((f"{side}_knee", f"{side}_hip", places[leg.middle]))
        points.append((f"{side}_ankle", f"{side}_knee", places[leg.end]))
        ends.append((f"{side}_foot", f"{side}_ankle", toe))
    names = [name for name, _, _ in points]
    where = {name: place for name, _, place in points}
    parents = [names.index(parent) if parent else -1 for _, parent, _ in points]
    offsets = [place - where[parent] if parent else place for _, parent, place in points]
    roles = {name: name for name in [*names, *(name for name, _, _ in ends)]}
    roles |= {f"{side}_toe": f"{side}_foot" for side in SIDES}
    if "chest" in roles:
        roles["spine"] = "chest"
    return Skeleton(
        tuple(names),
        np.array(parents),
        np.array(offsets),
        tuple(name for name, _, _ in ends),
        np.array([names.index(parent) for _, parent, _ in ends]),
        np.array([place - where[parent] for _, parent, place in ends]),
        role_map=roles,
    )


def find_targets(motion: Motion, robot: Robot, contacts: FootContacts | None = None) -> Targets:
    """Return the targets of a motion for a robot.

    Raises
    ------
    RoleError
        If the motion's skeleton lacks hips, legs or feet.
    """
    neutral, skeleton = neutral_angles(robot), proxy_skeleton(robot)
    require_roles("the motion's skeleton", motion.skeleton, [*LEGS, "left_foot", "right_foot"])
    contacts = contacts or foot_contacts(motion)
    proxy = retarget(motion, skeleton, contacts=contacts)
    scale = leg_length(skeleton) / leg_length(motion.skeleton)
    floor = scale * contacts.floor
    path = proxy.root.astype(np.float64)
    path[:, 1] -= floor
    proxy = replace(proxy, root=path).with_quality(None)
    return _targets(robot, neutral, proxy, contacts)


def _targets(robot: Robot, neutral: Array, proxy: Motion, contacts: FootContacts) -> Targets:
    anatomy, fps = robot.anatomy, proxy.fps
    turns0, places0 = robot.zero_frames(neutral)
    names = proxy.skeleton.point_names
    place = dict(
        zip(names, np.moveaxis(proxy.positions(end_sites=True), 1, 0).astype(float), strict=True)
    )
    turn = dict(
        zip(
            proxy.skeleton.names,
            np.moveaxis(proxy.global_rotations(), 1, 0).astype(float),
            strict=True,
        )
    )
    frames = len(proxy)
    nodes: list[int] = []
    points: list[Array] = []
    goals: list[Array] = []
    weights: list[Array] = []
    turn_nodes: list[int] = []
    turn_goals: list[Array] = []
    turn_weights: list[Array] = []

    def point(node: int, local: Array, goal: Array, weight: float | Array) -> None:
        nodes.append(node)
        points.append(local)
        goals.append(goal)
        weights.append(np.broadcast_to(weight, frames).astype(float))

    def rotation(node: int, q: Array, weight: float | Array) -> None:
        turn_nodes.append(node)
        turn_goals.append(rot.to_matrix(rot.multiply(q, turns0[node])))
        turn_weights.append(np.broadcast_to(weight, frames).astype(float))

    origin = np.zeros(3)
    middle = 0.5 * (place["left_hip"] + place["right_hip"])
    hips0 = 0.5 * sum(places0[leg.root] for leg in anatomy.legs)
    at = rot.rotate(rot.inverse(turns0[anatomy.pelvis]), hips0 - places0[anatomy.pelvis])
    point(anatomy.pelvis, at, middle, _WEIGHTS["pelvis"])
    rotation(anatomy.pelvis, turn["hips"], _TURNS["pelvis"])
    if "chest" in turn:
        rotation(anatomy.chest, turn["chest"], _TURNS["chest"])
    if anatomy.head is not None:
        rotation(anatomy.head, turn["head"], _TURNS["head"])
    for side, arm in zip(SIDES, anatomy.arms, strict=True):
        point(arm.root, origin, place[f"{side}_shoulder"], _WEIGHTS["shoulder"])
        point(arm.middle, origin, place[f"{side}_elbow"], _WEIGHTS["elbow"])
        if arm.end != arm.middle:
            point(arm.end, origin, place[f"{side}_wrist"], _WEIGHTS["wrist"])
            point(arm.last, arm.tip, place[f"{side}_hand"], _WEIGHTS["hand"])
            rotation(arm.last, turn[f"{side}_wrist"], _TURNS["hand"])
        else:
            point(arm.last, arm.tip, place[f"{side}_wrist"], _WEIGHTS["wrist"])
    for side, leg in zip(SIDES, anatomy.legs, strict=True):
        heel, ball = contacts[f"{side}_heel"], contacts[f"{side}_ball"]
        point(leg.middle, origin, place[f"{side}_knee"], _WEIGHTS["knee"])
        _foot(leg, turns0, place, turn, side, heel, ball, fps, point, rotation)
    tasks = Tasks(
        np.array(nodes, np.int64),
        np.array(points),
        np.ascontiguousarray(np.stack(goals, axis=1)),
        np.ascontiguousarray(np.stack(weights, axis=1)),
        np.array(turn_nodes, np.int64),
        np.ascontiguousarray(np.stack(turn_goals, axis=1)),
        np.ascontiguousarray(np.stack(turn_weights, axis=1)),
    )
    return Targets(
        tasks, _start(robot, neutral, turn["hips"], middle, at), neutral, contacts, proxy
    )


def _foot(leg: RobotLimb, turns0, place, turn, side, heel, ball, fps, point, rotation) -> None:
    """Add the targets of a foot: toe and heel as in the proxy, flat while the sole is planted."""
    ease = max(_EASE * fps, 0.5)
    flat = np.minimum(1.0, 2.0 * gaussian_smooth((heel & ball).astype(float), ease))
    flat = np.where(heel & ball, 1.0, flat)
    q = turn[f"{side}_ankle"]
    # The foot of a body that lies down, or stands on the tip of its toes, is not flat.
    tilt = np.arccos(np.clip(rot.rotate(q, np.array([0.0, 1.0, 0.0]))[:, 1], -1.0, 1.0))
    upright = np.clip((_STEEP[1] - tilt) / (_STEEP[1] - _STEEP[0]), 0.0, 1.0)
    flat, heel_share = flat * upright, 0.2 + 0.8 * upright
    ahead = rot.rotate(q, np.array([0.0, 0.0, 1.0]))
    level = rot.yaw(np.arctan2(ahead[:, 0], ahead[:, 2]))
    q = rot.slerp(q, np.where(np.sum(q * level, axis=1)[:, None] < 0.0, -level, level), flat)
    sole = rot.rotate(turns0[leg.last], leg.heel - leg.tip)
    toe = place[f"{side}_foot"]
    ball_weight = np.where(ball, 1.0, np.minimum(1.0, gaussian_smooth(ball.astype(float), ease)))
    heel_weight = np.where(heel, 1.0, np.minimum(1.0, gaussian_smooth(heel.astype(float), ease)))
    point(leg.last, leg.tip, toe, _SWINGING + (_PLANTED - _SWINGING) * ball_weight)
    point(
        leg.last,
        leg.heel,
        toe + rot.rotate(q, sole),
        _SWINGING * (1.0 - 0.5 * ball_weight) + (_PLANTED - _SWINGING) * heel_weight * heel_share,
    )
    rotation(leg.last, q, _FOOT + (_FLAT - _FOOT) * flat)


def _start(robot: Robot, neutral: Array, hips: Array, middle: Array, at: Array) -> Poses:
    """Place the base so that the pelvis is where the proxy has it, with neutral angles."""
    turns0, places0 = robot.zero_frames(neutral)
    pelvis = robot.anatomy.pelvis
    base = hips  # the neutral pose is relative to an upright base
    carried = places0[pelvis] + rot.rotate(turns0[pelvis], at)
    root = middle - rot.rotate(base, carried)
    angles = np.tile(neutral, (len(hips), 1))
    return Poses(root, np.ascontiguousarray(rot.to_matrix(base)), angles)
