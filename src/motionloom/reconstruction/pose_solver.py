"""Solver for the maximum a posteriori pose, given the observed markers.

The solver minimizes the sum of three energies (Chai and Hodgins 2005, section 6). *Control* is the
distance of points from their observed positions, *prior* is how unlikely the pose is under the
local model, and *smoothness* is the distance from the expected pose. Each is a square divided by a
variance, so the sum is a negative log-likelihood, which Gauss-Newton steps minimize. A step is
solved for the few observed coordinates instead of the many joint angles, so it needs a system of
only about twenty equations. Prior and smoothness stay diagonal in the directions of the local
model. The first steps match the points only loosely, so that the body approaches them in a likely
pose before it must reach them.

The rows of the system are markers, feet in contact, and joints beyond a limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.kernels import kernel
from motionloom.motion import Skeleton
from motionloom.motion.rotations.quaternions import (
    exp_into,
    log_into,
    multiply_into,
    right_jacobian_into,
    rotate_into,
)
from motionloom.reconstruction.local_model import LocalModel

Array = NDArray[np.float64]

_STEPS = 10  # maximum number of steps; four are usually enough
_HALVINGS = 6
# Standard deviations, in meters, that are added to those of the points in the first steps. If
# points must be matched to a millimeter at once, they can twist a body by up to 140 degrees.
SLACKS = (0.05, 0.01)
_ENOUGH = 1e-3  # a step with a smaller relative gain ends the iteration
_LIMIT_SPREAD = 0.02  # radians; standard deviation of a limit
_MOST_LIMITS = 12  # maximum number of limits that may be active at once


@dataclass(frozen=True)
class Body:
    """Body of the performer, as arrays for the solver.

    Attributes
    ----------
    parents : ndarray of int64, shape (J,)
    offsets : ndarray, shape (J, 3)
    joints : ndarray of int64, shape (A,)
        Joints that rotate. All other joints keep their rotation in `rest`.
    rest : ndarray, shape (J, 4)
    carriers : ndarray of int64, shape (G,)
        Joint that carries each goal point, or -1 if the point is the root position.
    arms : ndarray, shape (G, 3)
        Position of each goal point in the frame of that joint.
    moved_by : ndarray of bool, shape (G, A)
        True if the joint moves the goal point.
    low, high : ndarray, shape (A, 3)
        Limits of the rotation vector of each joint.
    """

    parents: NDArray[np.int64]
    offsets: Array
    joints: NDArray[np.int64]
    rest: Array
    carriers: NDArray[np.int64]
    arms: Array
    moved_by: NDArray[np.bool_]
    low: Array
    high: Array

    @classmethod
    def of(
        cls,
        skeleton: Skeleton,
        joints: NDArray[np.int64],
        points: NDArray[np.intp],
        limits: tuple[Array, Array],
    ) -> Body:
        """Build the body of a skeleton from its rotating `joints` and its goal `points` (J + E)."""
        parents = np.asarray(skeleton.parents, np.int64)
        carriers = np.asarray(skeleton.point_parents, np.int64)[points]
        arms = np.where(carriers[:, None] < 0, 0.0, skeleton.point_offsets[points])
        moved_by = np.zeros((len(points), len(joints)), bool)
        for g, carrier in enumerate(carriers):
            above = int(carrier)
            while above >= 0:
                moved_by[g] |= joints == above
                above = int(parents[above])
        return cls(
            parents,
            np.ascontiguousarray(skeleton.offsets, np.float64),
            np.asarray(joints, np.int64),
            np.ascontiguousarray(skeleton.rest_rotations, np.float64),
            carriers,
            np.ascontiguousarray(arms, np.float64),
            moved_by,
            *(np.ascontiguousarray(limit, np.float64) for limit in limits),
        )


@dataclass(frozen=True)
class Expectation:
    """Expected pose, toward which the smoothness energy pulls.

    Attributes
    ----------
    pose : ndarray, shape (A, 4)
        Rotations ``wxyz`` of the joints that rotate. The root rotation is in world space.
    variance : float
        Variance of the rotations, in squared radians.
    root : ndarray, shape (3,)
    root_variance : float
        Variance of the root position, in squared meters.
    """

    pose: Array
    variance: float
    root: Array
    root_variance: float


@dataclass(frozen=True)
class SolvedPose:
    """Solved pose of one frame.

    Attributes
    ----------
    turns : ndarray, shape (A, 4)
        Rotations ``wxyz`` of the joints that rotate. The root rotation is in world space.
    root : ndarray, shape (3,)
    unlikeliness : float
        Prior energy per observed coordinate.
    """

    turns: Array
    root: Array
    unlikeliness: float


def map_pose(
    body: Body,
    model: LocalModel,
    heading: float,
    goals: Array,
    variances: Array,
    expected: Expectation,
    *,
    heading_variance: float,
    steps: int = _STEPS,
    slacks: Sequence[float] = SLACKS,
) -> SolvedPose:
    """Return the maximum a posteriori pose.

    Parameters
    ----------
    body : Body
        Body with J joints, A of which rotate, and G points.
    model : LocalModel
        Model of the A joints of a body that faces +Z.
    heading : float
        Approximate heading, in radians around +Y.
    goals : ndarray, shape (G, 3)
        Observed positions of the points, in meters.
    variances : ndarray, shape (G,)
        Variances of the positions in squared meters; infinite if a point is missing.
    expected : Expectation
        Expected pose; an infinite variance disables smoothness.
    heading_variance : float
        Variance of `heading`, in squared radians.
    steps : int
        Maximum number of Gauss-Newton steps.
    slacks : sequence of float
        Standard deviations added to those of the points in the first steps, in meters.
    """
    # All arrays have the same memory layout, so that the kernel is compiled only once.
    directions, pose = map(np.ascontiguousarray, (model.directions, expected.pose))
    turns, root, unlikeliness = _solve(
        body.parents, body.offsets, body.joints, body.rest, body.carriers, body.arms,
        body.moved_by, body.low, body.high, model.mean, directions, model.variances,
        model.rest_variance, heading, heading_variance, pose, expected.variance,
        expected.root, expected.root_variance, goals, variances, steps,
        np.array(slacks, np.float64),
    )  # fmt: skip
    return SolvedPose(turns, root, unlikeliness)


@kernel
def _solve(
    parents, offsets, joints, rest, carriers, arms, moved_by, low, high,
    mean, directions, spreads, rest_spread, heading, heading_spread,
    expected, expected_spread, expected_root, root_spread, goals, goal_spreads, steps,
    slacks,
):  # fmt: skip
    """Solve for the maximum a posteriori pose; return the fields of a `SolvedPose`.

    In the parameter names, *spread* means variance. The body is described by `parents` (J,),
    `offsets` (J, 3), `joints` (A,), `rest` (J, 4), `carriers` (G,), `arms` (G, 3), `moved_by` (G,
    A), and `low` and `high` (A, 3). The model consists of `mean` (A, 4), `directions` (3 A, K) and
    `spreads` (K,). The expected pose is `expected` (A, 4) and `expected_root` (3,). The
    observations are `goals` (G, 3) and `goal_spreads` (G,).

    There are fewer observations than unknowns, so each step is solved in the space of the
    observations: x = m + P H' (H P H' + R)^-1 (gap + H (x - m)). Here, P is the covariance of the
    unknowns x about their expectation m, H is the Jacobian, and R is the covariance of the
    observations.
    """
    n_active, n_kept = len(joints), directions.shape[1]
    size = 3 * n_active
    facing = np.array([np.cos(0.5 * heading), 0.0, np.sin(0.5 * heading), 0.0])
    center, along, across = _center(
        mean, directions, spreads, rest_spread, facing, expected, expected_spread
    )
    seen = np.flatnonzero(np.isfinite(goal_spreads))
    most = 3 * len(seen) + _MOST_LIMITS
    # The unknowns are rotation vectors from the mean pose, yaw of the whole body, and its
    # position.
    x = np.zeros(size + 4)
    x[:size] = center
    x[size + 1 :] = expected_root
    goal = x.copy()
    jacobian, gap, noise = np.empty((most, size + 4)), np.empty(most), np.empty(most)
    turns = np.empty((n_active, 4))
    world = np.empty((len(parents), 4))
    place = np.empty((len(parents), 3))
    trial = x.copy()
    least = np.inf
    _pose(x, mean, facing, parents, offsets, joints, rest, turns, world, place)
    for s in range(steps):
        slack = slacks[s] if s < len(slacks) else 0.0
        loosened = goal_spreads + slack * slack
        n_rows = _rows(
            x, turns, world, place, joints, carriers, arms, moved_by, low, high,
            goals, loosened, seen, jacobian, gap, noise,
        )  # fmt: skip
        least = _energy(
            x, goal, gap, noise, n_rows, directions, along, across, heading_spread, root_spread
        )
        h = np.ascontiguousarray(jacobian[:n_rows])
        turn_part = np.ascontiguousarray(h[:, :size])
        in_model = np.dot(turn_part, directions)
        # P H'. P is never formed: it is `across` in all directions, plus the extra variance of the
        # principal directions of the model.
        spread = np.empty((size + 4, n_rows))
        spread[:size] = across * turn_part.T
        spread[:size] += np.dot(directions, (along - across).reshape(-1, 1) * in_model.T)
        spread[size] = heading_spread * h[:, size]
        spread[size + 1 :] = root_spread * h[:, size + 1 :].T
        system = np.dot(h, spread)
        for r in range(n_rows):
            system[r, r] += noise[r]
        wanted = gap[:n_rows] + np.dot(h, x - goal)
        step = goal + np.dot(spread, np.linalg.solve(system, wanted)) - x
        # If a point is out of reach, the step is too long. Shorten it until the energy decreases.
        share = 1.0
        for _ in range(_HALVINGS):
            trial[:] = x + share * step
            _pose(trial, mean, facing, parents, offsets, joints, rest, turns, world, place)
            n_trial = _rows(
                trial, turns, world, place, joints, carriers, arms, moved_by, low, high,
                goals, loosened, seen, jacobian, gap, noise,
            )  # fmt: skip
            reached = _energy(
                trial, goal, gap, noise, n_trial, directions, along, across,
                heading_spread, root_spread,
            )  # fmt: skip
            if reached < least:
                break
            share *= 0.5
        if reached >= least:
            # No fraction of the step helps. If there is slack left, the next step minimizes a
            # different energy. Otherwise, this is the minimum.
            _pose(x, mean, facing, parents, offsets, joints, rest, turns, world, place)
            if slack == 0.0:
                break
            continue
        x[:] = trial
        if slack == 0.0 and least - reached < _ENOUGH * (1.0 + least):
            break
    # How unusual the pose is under the model, without smoothness.
    coefficients = np.dot(directions.T, x[:size])
    energy = 0.0
    for d in range(n_kept):
        energy += coefficients[d] ** 2 / spreads[d]
    return turns, x[size + 1 :].copy(), energy / max(3 * len(seen), 1)


@kernel
def _energy(
    x, goal, gap, noise, n_rows, directions, along, across, heading_spread, root_spread
):  # fmt: skip
    """Return the sum of the control, prior and smoothness energies at `x` (3 A + 4,)."""
    size = directions.shape[0]
    off = x[:size] - goal[:size]
    inside = np.dot(directions.T, off)
    # The part that the principal directions do not explain has the variance `across`. Its length
    # follows from Pythagoras, because the directions are orthonormal.
    total = (np.sum(off * off) - np.sum(inside * inside)) / across
    total += np.sum(inside * inside / along)
    total += (x[size] - goal[size]) ** 2 / heading_spread
    total += np.sum((x[size + 1 :] - goal[size + 1 :]) ** 2) / root_spread
    for r in range(n_rows):
        total += gap[r] ** 2 / noise[r]
    return total


@kernel
def _center(mean, directions, spreads, rest_spread, facing, expected, expected_spread):
    """Combine prior and smoothness; return the center (3 A,) and the variances."""
    size = 3 * len(mean)
    if not np.isfinite(expected_spread):
        return np.zeros(size), spreads, rest_spread
    ahead = np.empty(size)  # rotation vectors from the mean to the expected pose
    back, between, wanted = np.empty(4), np.empty(4), np.empty(4)
    for a in range(len(mean)):
        back[0] = mean[a, 0]
        back[1:] = -mean[a, 1:]
        wanted[:] = expected[a]
        if a == 0:  # the model faces +Z, but the expected root is in the world
            multiply_into(np.array([facing[0], 0.0, -facing[2], 0.0]), expected[0], wanted)
        multiply_into(back, wanted, between)
        log_into(between, ahead[3 * a : 3 * a + 3])
    # In the product of two Gaussians, precisions add up and centers are weighted by them.
    along = 1.0 / (1.0 / spreads + 1.0 / expected_spread)
    across = 1.0 / (1.0 / rest_spread + 1.0 / expected_spread)
    inside = np.dot(directions.T, ahead)
    center = (across / expected_spread) * (ahead - np.dot(directions, inside))
    center += np.dot(directions, (along / expected_spread) * inside)
    return center, along, across


@kernel
def _pose(x, mean, facing, parents, offsets, joints, rest, turns, world, place):
    """Compute the pose given by the unknowns `x` (3 A + 4,), and write it to the other arrays.

    `turns` (A, 4) receives the rotations of `joints`. `world` (J, 4) and `place` (J, 3) receive the
    world rotations and positions of all joints.
    """
    n_active = len(joints)
    small, own, way = np.empty(4), np.empty(4), np.empty(3)
    for a in range(n_active):
        exp_into(x[3 * a : 3 * a + 3], small)
        multiply_into(mean[a], small, turns[a])
    half = 0.5 * x[3 * n_active]
    whole = np.array([np.cos(half), 0.0, np.sin(half), 0.0])
    multiply_into(whole, facing, small)
    multiply_into(small, turns[0], own)
    turns[0] = own
    a = 0  # index into `joints`, which are sorted like the skeleton, parents first
    for j in range(len(parents)):
        is_active = a < n_active and joints[a] == j
        if parents[j] < 0:
            world[j] = turns[0] if is_active else rest[j]
            place[j] = x[3 * n_active + 1 :]
        else:
            up = parents[j]
            multiply_into(world[up], turns[a] if is_active else rest[j], world[j])
            rotate_into(world[up], offsets[j], way)
            for c in range(3):
                place[j, c] = place[up, c] + way[c]
        if is_active:
            a += 1


@kernel
def _rows(
    x, turns, world, place, joints, carriers, arms, moved_by, low, high,
    goals, goal_spreads, seen, jacobian, gap, noise,
):  # fmt: skip
    """Fill the rows of the system and return their number.

    There are three rows for each goal that is `seen`, followed by one row for each exceeded limit.
    The rows consist of `jacobian` (rows, 3 A + 4), the residual `gap` (rows,) and its variance
    `noise` (rows,).
    """
    n_active = len(joints)
    size = 3 * n_active
    root = x[size + 1 :]
    axes = np.empty((n_active, 3, 3))  # world rotation axis of each unknown of a joint
    change, axis = np.empty((3, 3)), np.empty(3)
    for a in range(n_active):
        # A change of a large rotation vector turns around a different axis than the vector.
        right_jacobian_into(x[3 * a : 3 * a + 3], change)
        for c in range(3):
            rotate_into(world[joints[a]], change[:, c], axis)
            axes[a, c] = axis
    jacobian[:] = 0.0
    point = np.empty(3)
    row = 0
    for g in seen:
        carrier = carriers[g]
        if carrier < 0:
            point[:] = root
        else:
            rotate_into(world[carrier], arms[g], point)
            point += place[carrier]
        for a in range(n_active):
            if not moved_by[g, a]:
                continue
            lx = point[0] - place[joints[a], 0]
            ly = point[1] - place[joints[a], 1]
            lz = point[2] - place[joints[a], 2]
            for c in range(3):  # the velocity of a point: axis x lever
                u = axes[a, c]
                jacobian[row, 3 * a + c] = u[1] * lz - u[2] * ly
                jacobian[row + 1, 3 * a + c] = u[2] * lx - u[0] * lz
                jacobian[row + 2, 3 * a + c] = u[0] * ly - u[1] * lx
        # The yaw of the whole body turns around +Y through its root.
        jacobian[row, size] = point[2] - root[2]
        jacobian[row + 2, size] = root[0] - point[0]
        for c in range(3):
            jacobian[row + c, size + 1 + c] = 1.0
            gap[row + c] = goals[g, c] - point[c]
            noise[row + c] = goal_spreads[g]
        row += 3
    # An exceeded limit pulls like an observation. Other limits have no row, and the root has no
    # limits.
    vector = np.empty(3)
    most = row + _MOST_LIMITS
    for a in range(1, n_active):
        log_into(turns[a], vector)
        for c in range(3):
            bound = min(max(vector[c], low[a, c]), high[a, c])
            if bound != vector[c] and row < most:
                jacobian[row, 3 * a + c] = 1.0
                gap[row] = bound - vector[c]
                noise[row] = _LIMIT_SPREAD**2
                row += 1
    return row
