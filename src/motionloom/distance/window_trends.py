"""Point-cloud distances from the trends of windows: quick, and almost exact.

Poses of a window change smoothly: their mean over the window, their trend and their curvature
hold almost all of it. These are the coefficients of the window along orthonormal polynomials, so
distances of coefficients are distances of projections: at most those of the windows themselves,
for every rotation and translation and so for the best one. Lower bounds of all distances at a
reduced rate are three matrix products of means and trends: up to 0.15 m in CMU takes too small by
0.4 % (median) and 2 % (one of twenty).

Distances of chosen cells are computed one by one, from five coefficients and the norms of whole
windows. What five coefficients leave out is mostly noise, which has nothing in common with that
of another window: products need not count it, norms must. So these distances are wrong by
2e-6 (median) and 3e-5 (one of twenty) of them; those of windows that are the same are not 0 but
1.5 mm (median).

The means of a window are centred on the floor, so that single precision suffices for distances.
It does not for minima: sums of 2 cm are wrong by 5 micrometres, which appears as false minima where
somebody stands still. Where chains are searched, sums are in double precision.

>>> import motionloom as ml
>>> from motionloom.distance.matrix import DistanceMatrix, prepared_frames
>>> walk, jog = prepared_frames(ml.demo.clip("walk")), prepared_frames(ml.demo.clip("jog"))
>>> quick = TrendMatrix(window_trends(walk), [window_trends(jog)]).lower_bounds(3)
>>> exact = DistanceMatrix(walk, [jog]).sampled(3)
>>> bool((quick <= exact + 1e-5).all()), bool(np.median(quick / exact) > 0.95)
(True, True)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from motionloom.distance.matrix import PreparedFrames
from motionloom.distance.point_cloud import PointCloud
from motionloom.errors import InvalidInput
from motionloom.kernels import kernel
from motionloom.ragged import offsets_of

COEFFICIENTS = 5  # of a window; with fewer, webs lose matches: see docs/scale.md
_BOUNDS = 2  # of these where all cells are computed: mean and trend
_HEIGHT = 0.9  # metres: heights from about a person's middle keep squares small
_PAD = 32  # numbers: rows are filled up to a multiple, which vector instructions read quicker
_TOGETHER = 4  # cells of a row that are computed at a time; written out in `_fill_cells`
_ROWS = 64  # rows of products at a time: they stay in the processor's cache


@dataclass(frozen=True, eq=False)
class WindowTrends:
    """Windows about the frames of a motion, as coefficients of polynomials in time.

    Attributes
    ----------
    floor : ndarray of float32, shape (T, >= 2 C P)
        For each of C coefficients, the mean first, x of all points, then z; zeros at the end.
    heights : ndarray of float32, shape (T, >= C P)
        Heights alike.
    norms : ndarray, shape (T, 2)
        Squared norm of mean and trend, and of the whole window.
    points : int
        Points of a pose, P.
    """

    floor: NDArray[np.float32]
    heights: NDArray[np.float32]
    norms: NDArray[np.float64]
    points: int
    _precise: dict[int, tuple[NDArray, NDArray, NDArray]] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.floor)

    def part(self, first: int, last: int) -> WindowTrends:
        """Frames `first` to `last`; their windows include the frames around them."""
        span = slice(first, last)
        return WindowTrends(self.floor[span], self.heights[span], self.norms[span], self.points)

    def rows(self, stride: int, precise: bool) -> tuple[NDArray, NDArray, NDArray]:
        """Floor, heights and norms of whole windows of every `stride`-th frame."""
        if not precise:
            norms = self.norms[::stride, 1].astype(np.float32)
            return self.floor[::stride], self.heights[::stride], norms
        if stride not in self._precise:
            floor, heights = self.floor[::stride], self.heights[::stride]
            norms = np.ascontiguousarray(self.norms[::stride, 1])
            self._precise[stride] = floor.astype(np.float64), heights.astype(np.float64), norms
        return self._precise[stride]


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
    out = sums.reshape(count, COEFFICIENTS, 3, points)
    whole = _squares(frames, weights) - points * (out[:, 0, :2].mean(axis=2) ** 2).sum(axis=1)
    heights = out[:, 0, 2].sum(axis=1)
    whole += _HEIGHT**2 - 2.0 * _HEIGHT / np.sqrt(points) * heights
    out[:, 0, :2] -= out[:, 0, :2].mean(axis=2, keepdims=True)
    out[:, 0, 2] -= _HEIGHT / np.sqrt(points)
    low = out[:, :_BOUNDS].reshape(count, -1)
    floor, up = _rows(out[:, :, :2]), _rows(out[:, :, 2])
    # Windows as they are rounded: rounding then moves points by nanometres, distances alike.
    whole += _norms(floor) + _norms(up) - np.einsum("tcdp,tcdp->t", out, out)
    return WindowTrends(floor, up, np.column_stack([_norms(low), whole]), points)


def _squares(frames: PreparedFrames, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squared norm of each window where it is."""
    if frames.rows is not None:
        return _norms(frames.rows)
    poses = _norms(frames.points)
    taps = np.arange(len(frames))[:, None] + frames.step * np.arange(len(weights))
    return poses[taps] @ weights


def _norms(rows: NDArray) -> NDArray[np.float64]:
    """Squared norm of each row."""
    return np.einsum("td,td->t", rows, rows, dtype=np.float64)


def _rows(values: NDArray[np.float64]) -> NDArray[np.float32]:
    size = int(np.prod(values.shape[1:]))
    out = np.zeros((len(values), _PAD * -(-size // _PAD)), np.float32)
    out[:, :size] = values.reshape(len(values), size)
    return out


def _polynomials(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Polynomials of degree 0, 1, 2 ... at the poses of a window, orthonormal with these weights.

    Shape (coefficients, samples). Zero where a window has too few poses.
    """
    times = np.linspace(-1.0, 1.0, len(weights)) if len(weights) > 1 else np.zeros(1)
    found = np.zeros((COEFFICIENTS, len(weights)))
    for degree in range(min(COEFFICIENTS, len(weights))):
        one = times**degree
        one = one - (found * weights @ one) @ found
        found[degree] = one / np.sqrt(weights @ one**2)
    return found


class TrendMatrix:
    """Distances between the windows of one motion (rows) and of several (columns).

    Parameters
    ----------
    a : WindowTrends
        M frames.
    b : sequence of WindowTrends
        K motions with N frames in all, of the same distance and rate.
    """

    def __init__(self, a: WindowTrends, b: Sequence[WindowTrends]) -> None:
        self._a, self._b = a, tuple(b)
        self._lengths = np.array([len(other) for other in b], np.int64)
        self.starts = offsets_of(self._lengths)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows M and columns N."""
        return len(self._a), int(self.starts[-1])

    def sampled_starts(self, stride: int) -> NDArray[np.int64]:
        """Where the columns of each motion begin if every `stride`-th frame is used, (K + 1,)."""
        return offsets_of(-(-self._lengths // stride))

    def lower_bounds(self, stride: int) -> NDArray[np.float32]:
        """Lower bounds of all distances at a reduced rate, from means and trends.

        Parameters
        ----------
        stride : int
            Every so many frames of each motion are used, from its first one.

        Returns
        -------
        bounds : ndarray of float32
            Of the shape of `motionloom.distance.matrix.DistanceMatrix.sampled`.
        """
        out = np.empty((-(-len(self._a) // stride), int(self.sampled_starts(stride)[-1])), "f4")
        if out.size:
            self._fill(out, stride)
        return out

    def sampled(
        self, stride: int, *, where: NDArray[np.uint8], precise: bool = False
    ) -> NDArray[np.float64]:
        """Distances of some cells of the matrix at a reduced rate.

        Parameters
        ----------
        stride : int
        where : ndarray of uint8
            Of the shape of the result; cells that are 0 are left undefined.
        precise : bool
            Sum in double precision: else rounding noise appears as false minima.
        """
        starts = self.sampled_starts(stride)
        out = np.empty((-(-len(self._a) // stride), int(starts[-1])))
        if where.shape != out.shape or where.dtype != np.uint8:
            raise InvalidInput(
                f"where must hold uint8 of shape {out.shape}; got {where.dtype} of {where.shape}"
            )
        marks = where.reshape(-1)
        words = marks[: len(marks) // 8 * 8].view(np.uint64)
        own = self._a.rows(stride, precise)
        for b, column in zip(self._b, starts.tolist(), strict=False):
            if len(b) and len(out):
                others = b.rows(stride, precise)
                _fill_cells(out, marks, words, column, self._a.points, *own, *others)
        return out

    def _fill(self, out: NDArray[np.float32], stride: int) -> None:
        a, size = self._a, _BOUNDS * self._a.points
        floor = np.concatenate([b.floor[::stride, : 2 * size] for b in self._b]).T
        heights = np.concatenate([b.heights[::stride, :size] for b in self._b]).T
        norms = np.concatenate([b.norms[::stride, 0] for b in self._b]).astype("f4")
        own = np.ascontiguousarray(a.floor[::stride, : 2 * size])
        pairs = own.reshape(len(own), _BOUNDS, 2, a.points)
        turned = np.stack([pairs[:, :, 1], -pairs[:, :, 0]], axis=2).reshape(own.shape)
        height = np.ascontiguousarray(a.heights[::stride, :size])
        for top in range(0, len(own), _ROWS):
            span = slice(top, top + _ROWS)
            _from_products(
                out[span], own[span] @ floor, turned[span] @ floor, height[span] @ heights,
                a.norms[::stride, 0][span].astype("f4"), norms,
            )  # fmt: skip


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


@kernel(error_model="numpy", fastmath={"contract", "reassoc", "nsz"})
def _fill_cells(
    out, marks, words, column, points, floor_a, heights_a, norms_a, floor_b, heights_b, norms_b
):  # fmt: skip
    """Cells of one motion in the columns; sums are in any order, for vector instructions."""
    zero, half, two = np.float32(0.0), np.float32(0.5), np.float32(2.0)
    at, sums = np.empty(_TOGETHER, np.int64), np.empty(_TOGETHER, norms_a.dtype)
    n_rows, width = out.shape
    count = len(floor_b)
    turned = np.zeros_like(floor_a[0])
    for i in range(n_rows):
        begin = i * width + column
        f, end, is_turned = begin, begin + count, False
        own, height, norm = floor_a[i], heights_a[i], norms_a[i]
        while f < end:
            if f % 8 == 0 and f + 8 <= end and words[f // 8] == 0:
                f += 8
                continue
            if marks[f] == 0:
                f += 1
                continue
            if not is_turned:
                is_turned = True
                for c in range(COEFFICIENTS):
                    for p in range(points):
                        x, z = 2 * c * points + p, (2 * c + 1) * points + p
                        turned[x], turned[z] = own[z], -own[x]
            for c in range(_TOGETHER):  # beyond the last frame: the last one again, not stored
                at[c] = min(f - begin + c, count - 1)
            b0, b1, b2, b3 = floor_b[at[0]], floor_b[at[1]], floor_b[at[2]], floor_b[at[3]]
            re0, re1, re2, re3 = zero, zero, zero, zero
            im0, im1, im2, im3 = zero, zero, zero, zero
            for d in range(len(own)):
                x, z = own[d], turned[d]
                re0 += x * b0[d]
                re1 += x * b1[d]
                re2 += x * b2[d]
                re3 += x * b3[d]
                im0 += z * b0[d]
                im1 += z * b1[d]
                im2 += z * b2[d]
                im3 += z * b3[d]
            h0, h1, h2, h3 = heights_b[at[0]], heights_b[at[1]], heights_b[at[2]], heights_b[at[3]]
            up0, up1, up2, up3 = zero, zero, zero, zero
            for d in range(len(height)):
                y = height[d]
                up0 += y * h0[d]
                up1 += y * h1[d]
                up2 += y * h2[d]
                up3 += y * h3[d]
            sums[0] = np.sqrt(re0 * re0 + im0 * im0) + up0
            sums[1] = np.sqrt(re1 * re1 + im1 * im1) + up1
            sums[2] = np.sqrt(re2 * re2 + im2 * im2) + up2
            sums[3] = np.sqrt(re3 * re3 + im3 * im3) + up3
            for c in range(min(_TOGETHER, end - f)):
                squared = norm + norms_b[at[c]] - two * sums[c]
                out[i, f + c - i * width] = np.sqrt(half * (squared + np.abs(squared)))
            f += _TOGETHER
