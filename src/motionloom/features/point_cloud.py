"""The point-cloud distance (Kovar, Gleicher and Pighin 2002).

Two short windows of motion are compared as point clouds, after applying the rotation about the
vertical and the translation along the floor that minimize their distance. If a floor position is
written as the complex number ``x + iz``, rotating a cloud is a multiplication by ``exp(i *
angle)``, and the best rotation is the phase of one complex inner product. The distance depends only
on the modulus of this product, so a distance matrix requires three matrix products.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput
from motionloom.features.body_frame import leg_scale
from motionloom.features.feature_sets import BODY_ROLES, window_samples
from motionloom.motion import Motion

STEP_SECONDS = 1.0 / 30.0  # seconds between the poses of a window: one frame in the paper's data


@dataclass(frozen=True)
class PointCloud:
    """Distance between windows of poses after planar alignment, in meters.

    Parameters
    ----------
    name : str
    samples : int
        Number of poses in the window. It must be odd, because the frame is the middle pose.
    step_seconds : float
        Time between poses, in seconds. Windows have the same duration at all frame rates.
    roles : tuple of str, length P
        Joints of the cloud.
    scale_free : bool
        Scale performers of all sizes to one size.

    Notes
    -----
    Weights decrease linearly toward both ends of the window [1]_ and sum to one, so the distance is
    a root mean square.

    References
    ----------
    .. [1] L. Kovar, M. Gleicher, F. Pighin. Motion graphs. SIGGRAPH 2002, section 3.1.

    Examples
    --------
    >>> from motionloom.features import frame_distance
    >>> frame_distance("pc11").name
    'pc11'
    """

    name: str
    samples: int = 1
    step_seconds: float = STEP_SECONDS
    roles: tuple[str, ...] = ("hips", *BODY_ROLES)
    scale_free: bool = False
    unit: str = "m"

    def __post_init__(self) -> None:
        if self.samples < 1 or self.samples % 2 == 0:
            raise InvalidInput(f"samples must be odd and positive; got {self.samples}")
        if not self.step_seconds > 0.0:
            raise InvalidInput(f"step_seconds must be positive; got {self.step_seconds}")

    @property
    def weights(self) -> NDArray[np.float64]:
        """Weight of each pose in the window, shape (samples,)."""
        half = self.samples // 2
        taper = 1.0 - np.abs(np.arange(-half, half + 1)) / (half + 1)
        return taper / taper.sum()

    def prepare(self, motion: Motion) -> NDArray[np.float64]:
        """Return the weighted and centered clouds of all frames, shape (T, 3 * samples * P)."""
        places = self.places(motion)
        half = self.samples // 2
        times = np.arange(-half, half + 1) * self.step_seconds
        weights = np.repeat(self.weights, len(self.roles)) / len(self.roles)
        clouds = window_samples(places, times, motion.fps)
        clouds = clouds.reshape(len(motion), len(weights), 3)
        return centered_clouds(clouds, weights)

    def places(self, motion: Motion) -> NDArray[np.float64]:
        """Return the positions of the cloud's joints in each frame, shape (T, P, 3)."""
        places = motion.role_positions(self.roles).astype(np.float64)
        if self.scale_free:
            places *= leg_scale(motion.skeleton)
        return places

    def matrix(self, a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
        """Return the distances in meters (M, N) between the clouds of two motions."""
        return _matrix(np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64))


def point_cloud_distances(
    a: ArrayLike, b: ArrayLike, *, weights: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Return the distance between every cloud of `a` and every cloud of `b`.

    Parameters
    ----------
    a : array_like, shape (M, P, 3)
        M clouds of P points, in meters, with y up.
    b : array_like, shape (N, P, 3)
        N clouds of the same P points.
    weights : array_like, shape (P,), optional
        Non-negative weight of each point. Default: ``1 / P`` each, which makes the distance a root
        mean square in meters.

    Returns
    -------
    distances : ndarray, shape (M, N)
        The square root of the weighted sum of squared point-to-point distances after ``b[j]`` is
        rotated about the vertical and moved along the floor to fit ``a[i]``.

    Notes
    -----
    A distance below about ``1e-7`` times the size of the clouds is a rounding error, because
    squared norms are subtracted. A cloud with a missing (NaN) point has distance NaN to all clouds.

    Examples
    --------
    A pose and the same pose rotated by a quarter turn and moved have distance zero:

    >>> pose = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
    >>> turned = pose[:, [2, 1, 0]] * [1, 1, -1] + [5.0, 0.0, 3.0]
    >>> point_cloud_distances(pose[None], turned[None]).round(6)
    array([[0.]])
    """
    clouds_a, clouds_b = _clouds("a", a), _clouds("b", b)
    points = clouds_a.shape[1]
    if points != clouds_b.shape[1]:
        raise InvalidInput(
            f"a and b must have the same number of points; got {points} and {clouds_b.shape[1]}"
        )
    checked = _weights(weights, points)
    return _matrix(centered_clouds(clouds_a, checked), centered_clouds(clouds_b, checked))


def centered_clouds(
    clouds: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Center clouds (M, P, 3) and multiply them by the square root of the weights; rows (M, 3 P).

    A row contains all x, then all z, then all heights.
    """
    center = np.einsum("mpc,p->mc", clouds, weights) / weights.sum()
    center[:, 1] = 0.0
    scaled = (clouds - center[:, None]) * np.sqrt(weights)[:, None]
    return scaled[:, :, [0, 2, 1]].transpose(0, 2, 1).reshape(len(clouds), 3 * len(weights))


def _matrix(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute distances (M, N) between rows (M, 3 P) and (N, 3 P) of `centered_clouds`."""
    points = a.shape[1] // 3
    # x + iz: only moduli are used, and z + ix would change their last bits.
    floor_a = a[:, :points] + 1j * a[:, points : 2 * points]
    floor_b = b[:, :points] + 1j * b[:, points : 2 * points]
    # The modulus is the overlap at the best angle; the phase would be that angle.
    squared = np.abs(floor_a @ floor_b.conj().T)
    squared += a[:, 2 * points :] @ b[:, 2 * points :].T
    squared *= -2.0
    squared += np.einsum("ij,ij->i", a, a)[:, None]
    squared += np.einsum("ij,ij->i", b, b)
    return np.sqrt(np.maximum(squared, 0.0, out=squared))  # rounding can give negative values


def _clouds(name: str, value: ArrayLike) -> NDArray[np.float64]:
    clouds = np.asarray(value, dtype=np.float64)
    if clouds.ndim != 3 or clouds.shape[1] == 0 or clouds.shape[2] != 3:
        raise InvalidInput(f"{name} must have shape (n, points, 3); got {clouds.shape}")
    return clouds


def _weights(value: ArrayLike | None, points: int) -> NDArray[np.float64]:
    if value is None:
        return np.full(points, 1.0 / points)
    weights = np.asarray(value, dtype=np.float64)
    if weights.shape != (points,):
        raise InvalidInput(
            f"weights must have shape ({points},), one per point; got {weights.shape}"
        )
    if not np.all(np.isfinite(weights) & (weights >= 0.0)) or not weights.any():
        raise InvalidInput("weights must be finite, non-negative and not all zero")
    return weights
