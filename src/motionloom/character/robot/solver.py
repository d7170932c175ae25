"""Inverse kinematics of whole clips: poses that follow targets within the limits of a robot.

The first pass solves one frame after the other, each starting from the one before. The second pass
goes over the clip forward and backward and solves every frame again with the frames around it, with
a penalty on acceleration. Both passes keep two kinds of limits exactly: angles stay in their range,
and no angle changes faster than its hinge can turn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.character.robot.kernels import (
    _add_row,
    _bounded_step,
    _columns,
    _turn_columns,
    forward,
    forward_frames,
    place_point,
    rotation_vector,
    segment_distance,
    turned,
)
from motionloom.character.robot.model import Robot
from motionloom.kernels import kernel
from motionloom.motion.rotations import quaternions as rot

Array = NDArray[np.float64]

# Weights of the penalties, per meter or radian. Chosen on 24 takes that are not in the benchmark.
_FLOOR = 60.0
_APART = 60.0
_POSTURE = 0.03
_STILL = 0.08  # of the change from the frame before, in the first pass
_SMOOTH = 0.5  # of the acceleration per frame squared, at 30 fps
_DAMPING = 1e-4
_FIRST = 60  # iterations for the first frame
_NEXT = 8  # iterations for every other frame
_AGAIN = 2  # iterations for a frame of the second pass
_SWEEPS = 3
_NEAR = 0.08  # meters: pairs of shapes closer than this are watched in a frame


@dataclass(frozen=True, eq=False)
class Tasks:
    """Targets of T frames: P points and Q rotations of nodes, with their weights.

    Attributes
    ----------
    point_nodes, points : ndarray, shapes (P,), (P, 3)
        Points in the frames of their nodes.
    places, point_weights : ndarray, shapes (T, P, 3), (T, P)
    turn_nodes : ndarray, shape (Q,)
    turns, turn_weights : ndarray, shapes (T, Q, 3, 3), (T, Q)
    """

    point_nodes: NDArray[np.int64]
    points: Array
    places: Array
    point_weights: Array
    turn_nodes: NDArray[np.int64]
    turns: Array
    turn_weights: Array


@dataclass(frozen=True, eq=False)
class Poses:
    """Poses of T frames: path (T, 3), base rotations (T, 3, 3) and angles (T, D)."""

    root: Array
    base: Array
    angles: Array

    def frames(self, robot: Robot) -> tuple[Array, Array]:
        """Return rotations (T, N, 3, 3) and positions (T, N, 3) of all nodes."""
        count, nodes = len(self.root), len(robot.names)
        turns, places = np.empty((count, nodes, 3, 3)), np.empty((count, nodes, 3))
        forward_frames(*tree(robot), self.root, self.base, self.angles, turns, places)
        return turns, places


def tree(robot: Robot) -> tuple:
    """Return the arrays of a robot that kernels need."""
    return (
        robot.parents.astype(np.int64),
        np.ascontiguousarray(robot.offsets),
        np.ascontiguousarray(rot.to_matrix(robot.rest)),
        np.ascontiguousarray(robot.axes),
        robot.node_hinges.astype(np.int64),
    )


def solve(robot: Robot, tasks: Tasks, fps: float, neutral: Array, start: Poses) -> Poses:
    """Return poses that follow the tasks within the limits of the robot.

    Parameters
    ----------
    robot : Robot
    tasks : Tasks
    fps : float
    neutral : ndarray, shape (D,)
        Angles that hinges return to if no task needs them.
    start : Poses
        First guess of the base in every frame, and of the angles in the first frame.
    """
    from motionloom.character.robot.surface import surface

    body = surface(robot)
    root, base, angles = start.root.copy(), start.base.copy(), start.angles.copy()
    rate = robot.velocity / fps
    model = tree(robot)
    goals = (
        tasks.point_nodes,
        tasks.points,
        tasks.places,
        tasks.point_weights,
        tasks.turn_nodes,
        tasks.turns,
        tasks.turn_weights,
    )
    solid = (
        body.capsule_nodes,
        body.capsules,
        body.radii,
        body.pairs,
        body.gaps,
        body.floor_nodes,
        body.floor_points,
        body.floor_radii,
    )
    limits = (robot.lower, robot.upper, rate, neutral)
    poses = (root, base, angles)
    smooth = _SMOOTH * (fps / 30.0) ** 2
    _first_pass(model, goals, solid, limits, poses)
    for sweep in range(_SWEEPS):
        _second_pass(model, goals, solid, limits, poses, smooth, sweep % 2 == 1)
    return Poses(root, base, angles)


@kernel
def _first_pass(model, tasks, solid, limits, poses):
    lower, upper, rate, neutral = limits
    root, base, angles = poses
    frames, size = angles.shape
    low, high = lower.copy(), upper.copy()
    aim, aim_weight = np.zeros(size), np.zeros(size)
    root_aim, base_aim = np.zeros(3), np.zeros((3, 3))
    for t in range(frames):
        if t:
            for d in range(size):
                angles[t, d] = angles[t - 1, d]
                low[d] = max(lower[d], angles[t - 1, d] - rate[d])
                high[d] = min(upper[d], angles[t - 1, d] + rate[d])
        for d in range(size):
            aim[d] = angles[t, d] if t else neutral[d]
            aim_weight[d] = _STILL if t else _POSTURE
        count = _NEXT if t else _FIRST
        _solve_frame(
            model, tasks, t, solid, (low, high, neutral, aim, aim_weight),
            (root_aim, base_aim), 0.0, count, (root[t], base[t], angles[t]),
        )  # fmt: skip


@kernel
def _second_pass(model, tasks, solid, limits, poses, smooth, backward):
    lower, upper, rate, neutral = limits
    root, base, angles = poses
    frames, size = angles.shape
    low, high = lower.copy(), upper.copy()
    aim, aim_weight = np.zeros(size), np.full(size, np.sqrt(6.0) * smooth)
    root_aim, base_aim = np.zeros(3), np.zeros((3, 3))
    shares = np.array([-1.0, 4.0, 4.0, -1.0]) / 6.0
    around = np.array([-2, -1, 1, 2])
    between, vector, mean = np.zeros((3, 3)), np.zeros(3), np.zeros(3)
    for count in range(2, frames - 2):
        t = frames - 1 - count if backward else count
        aim[:] = 0.0
        root_aim[:] = 0.0
        mean[:] = 0.0
        for k in range(4):
            other = t + around[k]
            for d in range(size):
                aim[d] += shares[k] * angles[other, d]
            for row in range(3):
                root_aim[row] += shares[k] * root[other, row]
                for column in range(3):
                    total = 0.0
                    for m in range(3):
                        total += base[other, row, m] * base[t, column, m]
                    between[row, column] = total
            rotation_vector(between, vector)
            for row in range(3):
                mean[row] += shares[k] * vector[row]
        turned(mean, base[t], base_aim)
        for d in range(size):
            low[d] = max(lower[d], max(angles[t - 1, d], angles[t + 1, d]) - rate[d])
            high[d] = min(upper[d], min(angles[t - 1, d], angles[t + 1, d]) + rate[d])
        _solve_frame(
            model, tasks, t, solid, (low, high, neutral, aim, aim_weight),
            (root_aim, base_aim), np.sqrt(6.0) * smooth, _AGAIN, (root[t], base[t], angles[t]),
        )  # fmt: skip


@kernel
def _solve_frame(
    model, tasks, t, solid, bounds, base_goal, base_weight, iterations, pose
):  # fmt: skip
    """Improve one pose in place."""
    parents, offsets, rest, axes, hinges = model
    point_nodes, points = tasks[0], tasks[1]
    goals, point_weights = tasks[2][t], tasks[3][t]
    turn_nodes, turn_goals, turn_weights = tasks[4], tasks[5][t], tasks[6][t]
    capsule_nodes, capsules, radii, pairs, gaps = solid[0], solid[1], solid[2], solid[3], solid[4]
    floor_nodes, floor_points, floor_radii = solid[5], solid[6], solid[7]
    lower, upper, neutral, aim, aim_weight = bounds
    root_aim, base_aim = base_goal
    root, base, angles = pose
    nodes, size = len(parents), 6 + len(angles)
    turns, places = np.empty((nodes, 3, 3)), np.empty((nodes, 3))
    normal, gradient = np.zeros((size, size)), np.zeros(size)
    factor, rhs, step = np.zeros((size, size)), np.zeros(size), np.zeros(size)
    fixed = np.zeros(size, np.bool_)
    low, high = np.full(size, -0.2), np.full(size, 0.2)
    columns, rows = np.zeros(size, np.int64), np.zeros((3, size))
    other_columns, other_rows = np.zeros(size, np.int64), np.zeros((3, size))
    point, error, row = np.zeros(3), np.zeros(3), np.zeros(size)
    between, near = np.zeros((3, 3)), np.zeros(6)
    ends = np.zeros((len(capsules), 2, 3))
    watched = np.zeros(len(pairs), np.int64)
    watching = 0
    old = np.zeros((3, 3))
    for iteration in range(iterations):
        forward(parents, offsets, rest, axes, hinges, root, base, angles, turns, places)
        normal[:] = 0.0
        gradient[:] = 0.0
        for p in range(len(point_nodes)):
            weight = point_weights[p]
            if weight <= 0.0:
                continue
            node = point_nodes[p]
            place_point(turns, places, node, points[p], point)
            count = _columns(parents, hinges, axes, turns, places, node, point, columns, rows)
            for k in range(3):
                _add_row(normal, gradient, columns, rows[k], count, weight, goals[p, k] - point[k])
        for q in range(len(turn_nodes)):
            weight = turn_weights[q]
            if weight <= 0.0:
                continue
            node = turn_nodes[q]
            for i in range(3):
                for j in range(3):
                    total = 0.0
                    for k in range(3):
                        total += turn_goals[q, i, k] * turns[node, j, k]
                    between[i, j] = total
            rotation_vector(between, error)
            count = _turn_columns(parents, hinges, axes, turns, node, columns, rows)
            for k in range(3):
                _add_row(normal, gradient, columns, rows[k], count, weight, error[k])
        for f in range(len(floor_nodes)):
            node = floor_nodes[f]
            place_point(turns, places, node, floor_points[f], point)
            depth = floor_radii[f] - point[1]
            if depth > 0.0:
                count = _columns(parents, hinges, axes, turns, places, node, point, columns, rows)
                _add_row(normal, gradient, columns, rows[1], count, _FLOOR, depth)
        for c in range(len(capsules)):
            place_point(turns, places, capsule_nodes[c], capsules[c, 0], ends[c, 0])
            place_point(turns, places, capsule_nodes[c], capsules[c, 1], ends[c, 1])
        if iteration == 0:
            watching = 0
            for k in range(len(pairs)):
                a, b = pairs[k, 0], pairs[k, 1]
                gap = segment_distance(ends[a, 0], ends[a, 1], ends[b, 0], ends[b, 1], near)
                if gap - radii[a] - radii[b] < _NEAR:
                    watched[watching] = k
                    watching += 1
        for w in range(watching):
            k = watched[w]
            a, b = pairs[k, 0], pairs[k, 1]
            gap = segment_distance(ends[a, 0], ends[a, 1], ends[b, 0], ends[b, 1], near)
            missing = radii[a] + radii[b] + gaps[k] - gap
            if missing <= 0.0 or gap < 1e-9:
                continue
            for i in range(3):
                error[i] = (near[i] - near[3 + i]) / gap
            count = _columns(
                parents, hinges, axes, turns, places, capsule_nodes[a], near[:3], columns, rows
            )
            others = _columns(
                parents, hinges, axes, turns, places, capsule_nodes[b], near[3:],
                other_columns, other_rows,
            )  # fmt: skip
            fixed_columns = 0
            row[:] = 0.0
            for i in range(count):
                row[columns[i]] += (
                    error[0] * rows[0, i] + error[1] * rows[1, i] + error[2] * rows[2, i]
                )
            for i in range(others):
                row[other_columns[i]] -= (
                    error[0] * other_rows[0, i]
                    + error[1] * other_rows[1, i]
                    + error[2] * other_rows[2, i]
                )
            for i in range(size):
                if row[i] != 0.0:
                    columns[fixed_columns] = i
                    rows[0, fixed_columns] = row[i]
                    fixed_columns += 1
            _add_row(normal, gradient, columns, rows[0], fixed_columns, _APART, missing)
        for d in range(size - 6):
            square = aim_weight[d] * aim_weight[d]
            normal[6 + d, 6 + d] += square + _POSTURE * _POSTURE
            gradient[6 + d] += square * (aim[d] - angles[d])
            gradient[6 + d] += _POSTURE * _POSTURE * (neutral[d] - angles[d])
            low[6 + d] = max(lower[d] - angles[d], -0.5)
            high[6 + d] = min(upper[d] - angles[d], 0.5)
        if base_weight > 0.0:
            square = base_weight * base_weight
            for i in range(3):
                for j in range(3):
                    total = 0.0
                    for k in range(3):
                        total += base_aim[i, k] * base[j, k]
                    between[i, j] = total
            rotation_vector(between, error)
            for k in range(3):
                normal[k, k] += square
                gradient[k] += square * (root_aim[k] - root[k])
                normal[3 + k, 3 + k] += square
                gradient[3 + k] += square * error[k]
        for i in range(size):
            normal[i, i] += _DAMPING
        _bounded_step(normal, gradient, low, high, step, fixed, factor, rhs)
        largest = 0.0
        for k in range(3):
            root[k] += step[k]
            largest = max(largest, abs(step[k]))
        old[:] = base
        turned(step[3:6], old, base)
        for i in range(3, size):
            largest = max(largest, abs(step[i]))
        for d in range(size - 6):
            angles[d] = min(max(angles[d] + step[6 + d], lower[d]), upper[d])
        if largest < 5e-4:
            break
