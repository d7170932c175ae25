"""Lower bounds of point-cloud distances, from the trends of windows.

Poses of a window change smoothly: their mean over the window and their trend hold almost all of
it. These are the coefficients of the window along orthonormal polynomials, so distances of
coefficients are distances of projections: at most those of the windows themselves, for every
rotation and translation and so for the best one. Lower bounds of all distances at a reduced rate
are two matrix products in single precision: up to 0.15 m in CMU takes too small by 0.4 % (median)
and 2 % (one of twenty). The means of a window are centred on the floor, so that single precision
suffices.

>>> import motionloom as ml
>>> from motionloom.features.matrix import prepared_frames
>>> walk, jog = prepared_frames(ml.demo.clip("walk")), prepared_frames(ml.demo.clip("jog"))
>>> matrix = TrendMatrix(window_trends(walk), [window_trends(jog)])
>>> quick, exact = matrix.lower_bounds(3), matrix.sampled(3)
>>> bool((quick <= exact + 1e-5).all()), bool(np.median(quick / exact) > 0.95)
(True, True)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.features.matrix import DistanceMatrix, PreparedFrames
from motionloom.features.point_cloud import PointCloud
from motionloom.kernels import kernel

_COEFFICIENTS = 2  # of a window: mean and trend
_HEIGHT = 0.9  # metres: heights from about a person's middle keep squares small
_ROWS = 64  # rows of products at a time: they stay in the processor's cache


@dataclass(frozen=True, eq=False)
class WindowTrends:
    """Windows about the frames of a motion, as coefficients of polynomials in time.

    Attributes
    ----------
    floor : ndarray of float32, shape (T, 4 P)
        Mean, then trend: x of all points, then z.
    heights : ndarray of float32, shape (T, 2 P)
        Heights alike.
    norms : ndarray of float32, shape (T,)
        Squared norm of both.
    frames : PreparedFrames
        The frames themselves.
    """

    floor: NDArray[np.float32]
    heights: NDArray[np.float32]
    norms: NDArray[np.float32]
    frames: PreparedFrames

    def __len__(self) -> int:
        return len(self.floor)

    def part(self, first: int, last: int) -> WindowTrends:
        """Frames `first` to `last`; their windows include the frames around them."""
        span = slice(first, last)
        frames = self.frames.part(first, last)
        return WindowTrends(self.floor[span], self.heights[span], self.norms[span], frames)


def window_trends(frames: PreparedFrames) -> WindowTrends:
    """The trends of the windows of a motion that is prepared for a distance of point clouds.

    Raises
    ------
    InvalidInput
        If the distance is another.
    """
    if not isinstance(frames.distance, PointCloud):
        raise InvalidInput(
            f"trends are those of windows of point clouds (pc1 to pc11); got {frames.distance.name}"
        )
    weights = frames.distance.weights
    polynomials = _polynomials(weights)
    count, points = len(frames), len(frames.distance.roles)
    if frames.rows is None:
        sums = _window_sums(frames.points, polynomials * weights, frames.step, count)
    else:  # windows with poses between frames, times the root of their weights
        windows = frames.rows.reshape(count, 3, len(weights), points)
        sums = np.einsum("ck,tdkp->tcdp", polynomials * np.sqrt(weights), windows)
    out = sums.reshape(count, _COEFFICIENTS, 3, points)
    out[:, 0, :2] -= out[:, 0, :2].mean(axis=2, keepdims=True)
    out[:, 0, 2] -= _HEIGHT / np.sqrt(points)
    floor = out[:, :, :2].reshape(count, -1).astype(np.float32)
    heights = out[:, :, 2].reshape(count, -1).astype(np.float32)
    norms = np.einsum("tcdp,tcdp->t", out, out).astype(np.float32)
    return WindowTrends(floor, heights, norms, frames)


def _polynomials(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Polynomials of degree 0, 1, 2 ... at the poses of a window, orthonormal with these weights.

    Shape (coefficients, samples). Zero where a window has too few poses.
    """
    times = np.linspace(-1.0, 1.0, len(weights)) if len(weights) > 1 else np.zeros(1)
    found = np.zeros((_COEFFICIENTS, len(weights)))
    for degree in range(min(_COEFFICIENTS, len(weights))):
        one = times**degree
        one = one - (found * weights @ one) @ found
        found[degree] = one / np.sqrt(weights @ one**2)
    return found


class TrendMatrix(DistanceMatrix):
    """Distances between the windows of one motion (rows) and of several (columns).

    Parameters
    ----------
    a : WindowTrends
        M frames.
    b : sequence of WindowTrends
        K motions with N frames in all, of the same distance and rate.
    """

    def __init__(self, a: WindowTrends, b: Sequence[WindowTrends]) -> None:
        super().__init__(a.frames, [other.frames for other in b])
        self._trends, self._others = a, tuple(b)

    def lower_bounds(self, stride: int) -> NDArray[np.float32]:
        """Lower bounds of all distances at a reduced rate, from means and trends.

        Parameters
        ----------
        stride : int
            Every so many frames of each motion are used, from its first one.

        Returns
        -------
        bounds : ndarray of float32
            Of the shape of `motionloom.features.matrix.DistanceMatrix.sampled`.
        """
        a = self._trends
        out = np.empty((-(-len(a) // stride), int(self.sampled_starts(stride)[-1])), np.float32)
        if not out.size:
            return out
        floor = np.concatenate([b.floor[::stride] for b in self._others]).T
        heights = np.concatenate([b.heights[::stride] for b in self._others]).T
        norms = np.concatenate([b.norms[::stride] for b in self._others])
        own, height = a.floor[::stride], a.heights[::stride]
        own_norms = np.ascontiguousarray(a.norms[::stride])
        pairs = own.reshape(len(own), _COEFFICIENTS, 2, -1)
        turned = np.stack([pairs[:, :, 1], -pairs[:, :, 0]], axis=2).reshape(own.shape)
        for top in range(0, len(own), _ROWS):
            span = slice(top, top + _ROWS)
            both = np.concatenate([own[span], turned[span]]) @ floor
            along, across = both[: len(both) // 2], both[len(both) // 2 :]
            _from_products(
                out[span], along, across, height[span] @ heights, own_norms[span], norms
            )  # fmt: skip
        return out


@kernel(error_model="numpy", fastmath={"contract"})
def _window_sums(points, factors, step, count):
    """Sums over the poses of each window, shape (T, coefficients, numbers of a pose)."""
    n_sums, n_poses = factors.shape
    out = np.zeros((count, n_sums, points.shape[1]))
    for t in range(count):
        for c in range(n_sums):
            line = out[t, c]
            for k in range(n_poses):
                pose, factor = points[t + k * step], factors[c, k]
                for d in range(len(line)):
                    line[d] += factor * pose[d]
    return out


@kernel(error_model="numpy", fastmath={"contract"})
def _from_products(out, along, across, up, norms_a, norms_b):
    two, half = np.float32(2.0), np.float32(0.5)
    for i in range(out.shape[0]):
        re, im, y, line, norm = along[i], across[i], up[i], out[i], norms_a[i]
        for j in range(out.shape[1]):
            overlap = np.sqrt(re[j] * re[j] + im[j] * im[j]) + y[j]
            squared = norm + norms_b[j] - two * overlap
            # Rounding can dip below zero; the sum of both is 2 * squared, 0 or NaN.
            line[j] = np.sqrt(half * (squared + np.abs(squared)))
