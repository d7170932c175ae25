"""Reconstruction without a library: inverse kinematics from the same six markers.

Damped least squares with joint limits, starting from the previous frame. Among all poses that reach
the markers, it finds the one nearest to the previous pose and to the rest pose. The initial heading
comes from the left and right markers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from motionloom.motion import Motion, Skeleton
from motionloom.motion.rotations import quaternions as rot
from motionloom.reconstruction.control_signal import ControlSignal
from motionloom.reconstruction.local_model import LocalModel
from motionloom.reconstruction.pose_solver import Body, Expectation, map_pose

# Both were tuned for the mean error of this rival on 20 CMU takes, in the ranges 0.2 to 0.8 and
# 0.15 to 1. Single takes may have another optimum (86_01: 0.8, 4.0 cm instead of 4.6).
_REST_SPREAD = 0.4  # radians from the rest pose
_STEP_SPREAD = 0.4  # radians from the previous pose
_MARKER_SPREAD = 0.001


def marker_ik(
    signal: ControlSignal,
    skeleton: Skeleton,
    joints: NDArray[np.int64],
    limits: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> Motion:
    """Return a motion that reaches the markers in all frames."""
    body = Body.of(skeleton, joints, skeleton.points(signal.roles), limits)
    rest = body.rest[joints]
    size = 3 * len(joints)
    unit = np.zeros((size, 1))
    unit[0] = 1.0
    model = LocalModel(rest, unit, np.array([_REST_SPREAD**2]), _REST_SPREAD**2)
    seen = signal.filled()
    at = {role: m for m, role in enumerate(signal.roles)}
    across = seen[0, at["left_wrist"]] - seen[0, at["right_wrist"]]
    across = across + seen[0, at["left_ankle"]] - seen[0, at["right_ankle"]]
    heading = float(np.angle(across[0] - 1j * across[2]))
    variances = np.full(len(signal.roles), _MARKER_SPREAD**2)
    rotations = np.tile(body.rest, (len(seen), 1, 1))
    root = np.empty((len(seen), 3))
    turns = None
    for t, goals in enumerate(seen):
        if turns is None:
            toward = Expectation(rest, np.inf, goals[at["hips"]], 1.0)
        else:
            toward = Expectation(turns, _STEP_SPREAD**2, goals[at["hips"]], 1.0)
            heading = float(rot.yaw_angle(turns[0]))
        pose = map_pose(
            body, model, heading, goals, variances, toward, heading_variance=0.5, steps=12
        )
        turns = pose.turns
        rotations[t, joints], root[t] = turns, pose.root
    return Motion(skeleton, rotations, root, signal.fps)
