"""Local linear models: principal components of the poses around one.

Poses are sets of joint rotations. Relative to their mean each becomes a row of rotation vectors,
three numbers per joint. The strongest principal directions, enough for 99 % of the variance,
are those of the model (Chai and Hodgins 2005, section 5); the remaining variance is spread evenly
over all other directions, as in probabilistic principal component analysis, so that unusual poses
are unlikely but not impossible.

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
from motionloom.motion.rotations.quaternions import log_into, multiply_into

Array = NDArray[np.float64]

VARIANCE_KEPT = 0.99
# Least standard deviation (radians): what skeletons of two people differ by anyway.
_LEAST_SPREAD = 0.01


@dataclass(frozen=True)
class LocalModel:
    """Mean and covariance of poses of A joints: ``D = 3 A`` dimensions, d principal ones.

    Attributes
    ----------
    mean : ndarray, shape (A, 4)
        Rotations ``wxyz``.
    directions : ndarray, shape (D, d)
        Orthonormal, the strongest first.
    variances : ndarray, shape (d,)
        Along each direction, in squared radians.
    rest_variance : float
        Along every other direction.
    """

    mean: Array
    directions: Array
    variances: Array
    rest_variance: float


def local_model(
    poses: NDArray[np.float32], weights: Array, *, kept: float = VARIANCE_KEPT
) -> LocalModel:
    """The model of `poses`.

    Parameters
    ----------
    poses : ndarray of float32, shape (K, A, 4)
        Rotations ``wxyz`` of A joints in K poses.
    weights : ndarray, shape (K,)
        Not negative; only their ratios matter.
    kept : float
        Share of the variance that the directions hold.

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
    """Weighted mean rotations (A, 4) and covariance (3 A, 3 A) about them."""
    n_poses, n_joints = poses.shape[:2]
    mean = np.zeros((n_joints, 4))
    for j in range(n_joints):
        first = poses[0, j]
        for k in range(n_poses):
            q = poses[k, j]
            dot = q[0] * first[0] + q[1] * first[1] + q[2] * first[2] + q[3] * first[3]
            weight = weights[k] if dot >= 0.0 else -weights[k]
            for c in range(4):
                mean[j, c] += weight * q[c]
        mean[j] /= max(np.sqrt(np.sum(mean[j] ** 2)), 1e-12)
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
