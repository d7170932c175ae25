"""Measures of a robot's motion; see `motionloom.motion.diagnostics.quality.robot_fit`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.character.robot.anatomy import SIDES
from motionloom.character.robot.kernels import place_point, segment_distance
from motionloom.character.robot.model import Robot
from motionloom.character.robot.solver import Poses
from motionloom.character.robot.surface import surface
from motionloom.kernels import kernel
from motionloom.motion.diagnostics.quality.robot_fit import RobotFit
from motionloom.motion.feet.contacts import FootContacts
from motionloom.motion.kinematics.body import leg_length

if TYPE_CHECKING:
    from motionloom.motion import Motion

Array = NDArray[np.float64]

PENETRATION = 0.01  # meters below the floor that are tolerated
SLIDING = 0.3  # m/s: 1 cm per frame at 30 frames per second
CONTACT = 0.02  # meters above the floor at which a foot is still in contact


def robot_fit(source: Motion, robot: Robot, poses: Poses, contacts: FootContacts) -> RobotFit:
    """Measure a robot's motion against its source, which has the same frames."""
    turns, places = poses.frames(robot)
    fps = source.fps
    depth = floor_depths(robot, turns, places)
    overlap = overlaps(robot, turns, places)
    sliding, planted, speeds, lost, touching = _feet(source, robot, turns, places, contacts, depth)
    margin = np.minimum(poses.angles - robot.lower, robot.upper - poses.angles)
    speed = np.abs(np.diff(poses.angles, axis=0)) * fps / robot.velocity
    accelerations = np.abs(np.diff(poses.angles, 2, axis=0)) * fps * fps
    errors = _tracking(source, robot, turns, places)
    deep = depth.max(axis=1) > PENETRATION
    badness = (
        np.maximum(depth.max(axis=1) - PENETRATION, 0.0)
        + np.maximum(overlap, 0.0)
        + np.where(sliding, speeds / fps, 0.0)
        + np.where(lost, CONTACT, 0.0)
    )
    track = errors["hand"] + errors["foot"] + errors["pelvis"]
    badness = badness if badness.max(initial=0.0) > 0.0 else track
    return RobotFit(
        robot.name,
        float(deep.mean()),
        float(depth.max(axis=1)[deep].mean()) if deep.any() else 0.0,
        float(sliding.sum() / max(planted.sum(), 1)),
        float(speeds[sliding].mean()) if sliding.any() else 0.0,
        float(1.0 - lost.sum() / max(touching.sum(), 1)),
        float(margin.min()),
        float(speed.max(initial=0.0)),
        float(accelerations.max(initial=0.0)),
        float((overlap > 0.0).mean()),
        float(max(overlap.max(initial=0.0), 0.0)),
        float(errors["hand"].mean()),
        float(errors["foot"].mean()),
        float(errors["pelvis"].mean()),
        float(np.degrees(errors["heading"]).mean()),
        int(np.argmax(badness)),
    )


def floor_depths(robot: Robot, turns: Array, places: Array) -> Array:
    """Return the depth (T, F) below the floor of every floor point; negative above it."""
    body = surface(robot)
    depth = np.empty((len(places), len(body.floor_nodes)))
    _floor_depths(turns, places, body.floor_nodes, body.floor_points, body.floor_radii, depth)
    return depth


@kernel
def _floor_depths(turns, places, nodes, points, radii, depth):
    point = np.zeros(3)
    for t in range(len(places)):
        for f in range(len(nodes)):
            place_point(turns[t], places[t], nodes[f], points[f], point)
            depth[t, f] = radii[f] - point[1]


def overlaps(robot: Robot, turns: Array, places: Array) -> Array:
    """Return the largest overlap (T,) of two parts in meters; negative if none touch."""
    body = surface(robot)
    result = np.full(len(places), -1.0)
    _overlaps(turns, places, body.capsule_nodes, body.capsules, body.radii, body.pairs, result)
    return result


@kernel
def _overlaps(turns, places, nodes, capsules, radii, pairs, result):
    ends, near = np.zeros((len(nodes), 2, 3)), np.zeros(6)
    for t in range(len(places)):
        for c in range(len(nodes)):
            place_point(turns[t], places[t], nodes[c], capsules[c, 0], ends[c, 0])
            place_point(turns[t], places[t], nodes[c], capsules[c, 1], ends[c, 1])
        for k in range(len(pairs)):
            a, b = pairs[k, 0], pairs[k, 1]
            gap = segment_distance(ends[a, 0], ends[a, 1], ends[b, 0], ends[b, 1], near)
            result[t] = max(result[t], radii[a] + radii[b] - gap)


def _speeds(points: Array, fps: float) -> Array:
    """Return horizontal speeds (T,); the first frame has speed zero."""
    step = np.linalg.norm(np.diff(points[:, [0, 2]], axis=0), axis=1) * fps
    return np.concatenate([[0.0], step])


def _feet(source, robot, turns, places, contacts, depth):
    """Return masks of sliding and planted frames, speeds, lost contacts and touching frames."""
    scale = leg_length(robot.skeleton) / leg_length(source.skeleton)
    body = surface(robot)
    frames, fps = len(source), source.fps
    sliding, planted = np.zeros(frames, bool), np.zeros(frames, bool)
    lost, touching = np.zeros(frames, bool), np.zeros(frames, bool)
    speeds = np.zeros(frames)
    for side, leg in zip(SIDES, robot.anatomy.legs, strict=True):
        ball = source.role_positions([f"{side}_foot"])[:, 0].astype(np.float64)
        stuck = scale * _speeds(ball, fps) <= SLIDING
        stuck[0] = False
        toe = places[:, leg.last] + np.einsum("tij,j->ti", turns[:, leg.last], leg.tip)
        speed = _speeds(toe, fps)
        slides = stuck & (speed > SLIDING)
        sliding |= slides
        planted |= stuck
        speeds = np.maximum(speeds, np.where(slides, speed, 0.0))
        low = scale * (ball[:, 1] - contacts.floor) <= CONTACT
        foot = np.flatnonzero(body.floor_nodes == leg.last)
        height = -depth[:, foot].max(axis=1) if len(foot) else np.zeros(frames)
        touching |= low
        lost |= low & (height > CONTACT)
    return sliding, planted, speeds, lost, touching


def _tracking(source: Motion, robot: Robot, turns: Array, places: Array) -> dict[str, Array]:
    """Return the errors (T,) of hands, feet and pelvis in meters and of the heading in radians."""
    anatomy = robot.anatomy
    errors: dict[str, list[Array]] = {"hand": [], "foot": []}
    has = source.skeleton.roles
    for side, arm, leg in zip(SIDES, anatomy.arms, anatomy.legs, strict=True):
        wrist = places[:, arm.end]
        if arm.end == arm.middle:
            wrist = places[:, arm.last] + np.einsum("tij,j->ti", turns[:, arm.last], arm.tip)
        chains = {
            "hand": (
                [places[:, arm.root], places[:, arm.middle], wrist],
                [f"{side}_{part}" for part in ("shoulder", "elbow", "wrist")],
            ),
            "foot": (
                [places[:, leg.root], places[:, leg.middle], places[:, leg.end]],
                [f"{side}_{part}" for part in ("hip", "knee", "ankle")],
            ),
        }
        for part, (ours, roles) in chains.items():
            if all(role in has for role in roles):
                theirs = list(np.moveaxis(source.role_positions(roles).astype(np.float64), 1, 0))
                errors[part].append(limb_error(ours, theirs))
    hips = [places[:, leg.root] for leg in anatomy.legs]
    human = source.role_positions(["left_hip", "right_hip"]).astype(np.float64)
    middle = 0.5 * (hips[0] + hips[1])
    none = np.zeros(len(places))
    return {
        **{part: np.mean(rows, axis=0) if rows else none for part, rows in errors.items()},
        "pelvis": path_error(middle, human.mean(axis=1)),
        "heading": heading_error(hips[0] - hips[1], human[:, 0] - human[:, 1]),
    }


def limb_error(ours: list[Array], theirs: list[Array]) -> Array:
    """Return the distance (T,) of the ends of two limbs, each scaled by the length of the limb.

    `ours` and `theirs` are the joints of the limb, from the trunk outward, (T, 3) each. The
    distance is in meters of `ours`.
    """
    lengths = [
        sum(
            float(np.median(np.linalg.norm(b - a, axis=1)))
            for a, b in zip(limb, limb[1:], strict=False)
        )
        for limb in (ours, theirs)
    ]
    reach = [(limb[-1] - limb[0]) for limb in (ours, theirs)]
    return np.linalg.norm(reach[0] - reach[1] * (lengths[0] / max(lengths[1], 1e-9)), axis=1)


def path_error(ours: Array, theirs: Array) -> Array:
    """Return the distance (T,) of two paths after the best translation and scale of `theirs`."""
    a, b = ours - ours.mean(axis=0), theirs - theirs.mean(axis=0)
    scale = float(np.sum(a * b) / max(float(np.sum(b * b)), 1e-9))
    return np.linalg.norm(a - scale * b, axis=1)


def heading_error(ours: Array, theirs: Array) -> Array:
    """Return the angle (T,) in radians between two horizontal directions (T, 3)."""
    angle = np.arctan2(ours[:, 0], ours[:, 2]) - np.arctan2(theirs[:, 0], theirs[:, 2])
    return np.abs((angle + np.pi) % (2.0 * np.pi) - np.pi)
