"""Local linear models: principal components of neighboring poses.

Poses are sets of joint rotations. Each pose is expressed relative to the mean pose as a row of
rotation vectors, with three numbers per joint. The model keeps the strongest principal directions,
enough for 99 % of the variance (Chai and Hodgins 2005, section 5). The remaining variance is spread
evenly over all other directions, as in probabilistic principal component analysis, so that unusual
poses are unlikely but not impossible.

*Expected error and confidence of a frame.* Two quantities indicate how far a pose is from those in
the library. The first is the distance between the markers and those of the nearest library poses.
The second is the deviation of the solved pose from the mean of its neighbors, which is large if the
markers force a pose that the library does not contain. The error of the joints without markers
grows with a power of each quantity. If the skeleton was fitted to the markers, an additional error
is added.

The powers were fitted by least squares to 3,700 frames of 40 takes with the performers' skeletons.
CMU takes were reconstructed from the other CMU performers. Takes of Bandai-Namco, two public rigs
and the demo corpus were reconstructed from CMU. CMU takes were also reconstructed from
Bandai-Namco. When fitted without one of these sets and tested on it, the rank correlation with the
true error of its frames is 0.83 (CMU), 0.50 (Bandai-Namco), 0.78 (rigs and corpus) and 0.64 (CMU
from Bandai-Namco). Over all sets, with and without the performers' skeletons (7,300 frames), it is
0.83, and 80 % of the errors are 0.65 to 1.52 times the expected error. With the distance of 512
neighbors as the only predictor, the correlation was 0.61.

References
----------
J. Chai, J. K. Hodgins. Performance animation from low-dimensional control signals. ACM
Transactions on Graphics 24(3), 2005.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.kernels import kernel
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.rotations.quaternions import log_into, multiply_into

Array = NDArray[np.float64]

VARIANCE_KEPT = 0.99
# Minimum standard deviation in radians, which is the usual difference between two skeletons.
_LEAST_SPREAD = 0.01


@dataclass(frozen=True)
class LocalModel:
    """Mean and covariance of poses with A joints, in D = 3 A dimensions, d of them principal.

    Attributes
    ----------
    mean : ndarray, shape (A, 4)
        Mean rotations ``wxyz``.
    directions : ndarray, shape (D, d)
        Orthonormal directions, the strongest first.
    variances : ndarray, shape (d,)
        Variance along each direction, in squared radians.
    rest_variance : float
        Variance along every other direction.
    """

    mean: Array
    directions: Array
    variances: Array
    rest_variance: float


def local_model(
    poses: NDArray[np.float32], weights: Array, *, kept: float = VARIANCE_KEPT
) -> LocalModel:
    """Fit a local model to poses.

    Parameters
    ----------
    poses : ndarray of float32, shape (K, A, 4)
        Rotations ``wxyz`` of A joints in K poses.
    weights : ndarray, shape (K,)
        Non-negative weights of the poses; only their ratios matter.
    kept : float
        Fraction of the variance that the kept directions must explain.

    Examples
    --------
    A hinge has one direction:

    >>> from motionloom.motion.rotations import quaternions as rot
    >>> angles = np.linspace(-0.5, 0.5, 40)
    >>> poses = rot.from_axis_angle([1, 0, 0], angles)[:, None].astype(np.float32)
    >>> model = local_model(poses, np.ones(40))
    >>> abs(model.directions[:, 0]).round(3), model.mean.round(3)
    (array([1., 0., 0.]), array([[1., 0., 0., 0.]]))
    """
    mean, covariance = _moments(
        np.ascontiguousarray(poses, np.float32), np.ascontiguousarray(weights, np.float64)
    )
    variances, directions = np.linalg.eigh(covariance)
    variances, directions = np.maximum(variances[::-1], 0.0), directions[:, ::-1]
    total = float(variances.sum())
    share = np.cumsum(variances)
    count = min(int(np.searchsorted(share, kept * total)) + 1, len(variances))
    left = len(variances) - count
    rest = (total - float(share[count - 1])) / left if left else 0.0
    least = _LEAST_SPREAD**2
    return LocalModel(
        mean,
        np.ascontiguousarray(directions[:, :count]),
        np.maximum(variances[:count], least),
        max(rest, least),
    )


@kernel
def _moments(poses, weights):
    """Return the weighted mean rotations (A, 4) and covariance (3 A, 3 A) of poses (N, A, 4)."""
    n_poses, n_joints = poses.shape[:2]
    mean = np.zeros((n_joints, 4))
    for j in range(n_joints):
        first = poses[0, j]
        for k in range(n_poses):
            q = poses[k, j]
            # q and -q are the same rotation: use the signs of the first pose, or they would
            # cancel.
            dot = q[0] * first[0] + q[1] * first[1] + q[2] * first[2] + q[3] * first[3]
            weight = weights[k] if dot >= 0.0 else -weights[k]
            for c in range(4):
                mean[j, c] += weight * q[c]
        mean[j] /= max(np.sqrt(np.sum(mean[j] ** 2)), 1e-12)
    # Single precision, because the product of the rows is the slowest part.
    rows = np.empty((n_poses, 3 * n_joints), np.float32)
    total = weights.sum()
    back, between, vector = np.empty(4), np.empty(4), np.empty(3)
    for j in range(n_joints):
        back[0] = mean[j, 0]
        back[1:] = -mean[j, 1:]
        for k in range(n_poses):
            multiply_into(back, poses[k, j], between)
            log_into(between, vector)
            share = np.sqrt(weights[k] / total)
            for c in range(3):
                rows[k, 3 * j + c] = share * vector[c]
    return mean, np.dot(rows.T, rows).astype(np.float64)


_NEAREST = 8  # number of neighbors whose distances are used
_ONE = 0.116  # meters; error at a distance of one meter and a deviation of one radian
_DISTANCE_POWER, _DEPARTURE_POWER = 0.40, 0.30
_LEAST = 1e-4  # meters and radians; lower bound of distances and deviations
_HALF = 0.05  # meters; expected error at a confidence of one half


def expected_error(distances: Array, model: LocalModel, turns: Array) -> float:
    """Return the expected error of the joints without markers, in meters.

    Parameters
    ----------
    distances : ndarray, shape (K,)
        Distances of the neighbors in the library, in meters, nearest first.
    model : LocalModel
        Model of the neighbors, with A joints.
    turns : ndarray, shape (A, 4)
        Solved rotations. The first is the rotation of the root, whose heading is not part of the
        model.
    """
    vectors = rot.log(rot.multiply(rot.inverse(model.mean[1:]), turns[1:]))
    departure = float(np.sqrt(np.sum(vectors**2) / len(turns)))
    distance = float(np.mean(distances[:_NEAREST]))
    return (
        _ONE * max(distance, _LEAST) ** _DISTANCE_POWER * max(departure, _LEAST) ** _DEPARTURE_POWER
    )


def confidence(errors: Array, present: Array) -> Array:
    """Return the confidence (T,), 0 to 1, from expected errors and the share of visible markers."""
    return present / (1.0 + (errors / _HALF) ** 2)
