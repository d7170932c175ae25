"""Retargeting to a robot: any motion of a person becomes a motion that the robot can follow.

Targets come from retargeting to a person with the robot's proportions
(`motionloom.character.robot.targets`). Inverse kinematics (`motionloom.character.robot.solver`)
then finds angles of the hinges within their limits, and a last step lifts the robot where a part
is still below the floor.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.ndimage import maximum_filter1d

from motionloom.character.robot.model import Robot
from motionloom.character.robot.report import floor_depths, robot_fit
from motionloom.character.robot.solver import Poses, solve
from motionloom.character.robot.targets import find_targets
from motionloom.errors import InvalidInput
from motionloom.motion.diagnostics.quality.gate import quality_report
from motionloom.motion.diagnostics.quality.parts import WorstFrame
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.smoothing import gaussian_smooth

if TYPE_CHECKING:
    from motionloom.motion import Motion
    from motionloom.motion.feet.contacts import FootContacts


_DEEP = 0.002  # meters below the floor that are not corrected
_LIFT_SECONDS = 0.1


def retarget_to_robot(
    motion: Motion, robot: Robot, *, contacts: FootContacts | None = None
) -> Motion:
    """Transfer a motion to a robot.

    Parameters
    ----------
    motion : Motion
        T frames of any skeleton with hips, legs and feet, or of another robot.
    robot : Robot
    contacts : FootContacts, optional
        Contacts of the source. Default: the contacts that `foot_contacts` finds.

    Returns
    -------
    moved : Motion
        The same number of frames at the same rate, with the floor at height zero.
        ``moved.quality.robot`` has the measures of the field and a verdict (`RobotFit`).
    """
    if not len(motion):
        raise InvalidInput("cannot retarget a motion without frames")
    if robot.is_mine(motion):
        origin = replace(motion.origin, format="robot", character=robot.path)
        return replace(motion, origin=origin)
    targets = find_targets(motion, robot, contacts)
    poses = solve(robot, targets.tasks, motion.fps, targets.neutral, targets.start)
    poses = lifted(robot, poses, motion.fps)
    base = rot.unroll(rot.from_matrix(poses.base))
    moved = robot.motion(poses.root, base, poses.angles, motion.fps)
    moved = replace(
        moved,
        name=motion.name,
        origin=replace(moved.origin, warnings=(*motion.origin.warnings, *robot.warnings)),
    )
    fit = robot_fit(motion, robot, poses, targets.contacts)
    worst = WorstFrame(
        "robot", 2.0 if fit.faults else 0.0, 1.0, fit.worst_frame,
        fit.worst_frame / motion.fps, fit.verdict,
    )  # fmt: skip

    def report(result: Motion):
        whole = quality_report(result)
        return replace(whole, worst=(worst, *whole.worst)).with_parts(robot=fit)

    return moved.with_quality(report)


def lifted(robot: Robot, poses: Poses, fps: float) -> Poses:
    """Raise the base smoothly where a part of the robot is below the floor."""
    depth = floor_depths(robot, *poses.frames(robot)).max(axis=1)
    lift = np.maximum(depth - _DEEP, 0.0)
    if not lift.any():
        return poses
    width = max(int(_LIFT_SECONDS * fps), 1)
    smooth = gaussian_smooth(maximum_filter1d(lift, 2 * width + 1), 0.5 * width)
    root = poses.root.copy()
    root[:, 1] += np.maximum(smooth, lift)
    return Poses(root, poses.base, poses.angles)
