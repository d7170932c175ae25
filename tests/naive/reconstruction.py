"""Pose from markers by definition: covariances written out, energies summed, a general solver."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation


def local_covariance(poses, weights):
    """Mean rotations and covariance of rotation vectors about them; poses (K, A, 4) wxyz."""
    shares = np.asarray(weights, float) / np.sum(weights)
    means, rows = [], []
    for joint in range(poses.shape[1]):
        turns = Rotation.from_quat(poses[:, joint], scalar_first=True)
        mean = turns.mean(weights=shares)
        means.append(mean.as_quat(scalar_first=True))
        rows.append((mean.inv() * turns).as_rotvec())
    rows = np.concatenate(rows, axis=1)
    return np.array(means), (rows * shares[:, None]).T @ rows


def places(turns, root, parents, offsets):
    """Positions of the joints of one pose, joint by joint."""
    world, place = [], []
    for joint, parent in enumerate(parents):
        if parent < 0:
            world.append(turns[joint])
            place.append(np.asarray(root, float))
        else:
            place.append(place[parent] + world[parent].apply(np.array(offsets[joint])))
            world.append(world[parent] * turns[joint])
    return np.array(place)


def energy(
    x, mean, covariance, heading, heading_variance, observed, expected_variance,
    parents, offsets, markers, goals, variance, root, root_variance,
):  # fmt: skip
    """Control, prior and smoothness terms of one pose; x: rotation vectors, a heading, the root."""
    size = 3 * len(mean)
    vectors = x[:size].reshape(-1, 3)
    total = x[:size] @ np.linalg.solve(covariance, x[:size])
    total += x[size] ** 2 / heading_variance
    total += np.sum((x[size + 1 :] - root) ** 2) / root_variance
    about = Rotation.from_rotvec([0.0, heading, 0.0])
    turns = [
        Rotation.from_quat(q, scalar_first=True) * Rotation.from_rotvec(v)
        for q, v in zip(mean, vectors, strict=True)
    ]
    ahead = [Rotation.from_quat(q, scalar_first=True) for q in observed]
    ahead[0] = about.inv() * ahead[0]
    for joint, vector in enumerate(vectors):
        middle = Rotation.from_quat(mean[joint], scalar_first=True)
        total += np.sum((vector - (middle.inv() * ahead[joint]).as_rotvec()) ** 2) / (
            expected_variance
        )
    turns[0] = Rotation.from_rotvec([0.0, x[size], 0.0]) * about * turns[0]
    turns += [Rotation.identity()] * (len(parents) - len(turns))  # tips do not turn
    result = places(turns, x[size + 1 :], parents, offsets)[markers]
    return total + np.sum((result - goals) ** 2) / variance


def likeliest(start, *observed):
    """Minimum energy and its position."""
    best = minimize(energy, start, args=observed, method="BFGS", options={"gtol": 1e-7})
    return best.fun, best.x


def cheapest_path(costs, angles, variance):
    """Minimum sum of costs and squared turns over variance, by trying every path; costs (T, A)."""
    best, least = None, np.inf
    for path in itertools.product(range(len(angles)), repeat=len(costs)):
        total = sum(frame[k] for frame, k in zip(costs, path, strict=True))
        for k, after in itertools.pairwise(path):
            turn = math.remainder(angles[after] - angles[k], 2.0 * math.pi)
            total += 0.5 * turn**2 / variance
        if total < least:
            best, least = path, total
    return [angles[k] for k in best]
