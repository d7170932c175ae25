"""Near cells of a match web: cells that a match up to a mean distance R may visit.

In a large library, most cells of the distance matrices compare motions that have nothing in common.
A match is a path with a mean distance of at most R, so the sum of R minus the distance over its
cells is not negative. The largest such sum of all paths through a cell follows from the largest
sums of paths that end there and of paths that start there, as in local alignment. A cell through
which every path has a negative sum cannot be in a match. Such cells are skipped, and minima,
chains, the valid region and bridges are computed only among the remaining cells.

*Window trends* first give lower bounds of all distances. The poses of a window change smoothly, so
their mean and linear trend describe them almost completely. Mean and trend are the coefficients of
the window with respect to orthonormal polynomials, so distances between coefficients are distances
between projections. They never exceed the distances between the full windows, for any rotation and
translation, and therefore also for the best one. At a reduced rate, two matrix products in single
precision compute them. For distances up to 0.15 m in CMU takes, the bounds are too small by 0.4 %
(median) and by 2 % (one in twenty). The means of a window are centered on the floor, so single
precision suffices.

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
from motionloom.search.match_web.web import WebLimits

COARSER = 1.15  # upper bound of the mean at 10 Hz, as a multiple of the mean of the refined path
# Chain cells beyond near cells, since chains start and end there (docs/explanation/scale.md).
_BEYOND = 10
_COEFFICIENTS = 2  # coefficients of a window: mean and trend
_HEIGHT = 0.9  # meters; heights relative to the middle of the body keep squares small
_ROWS = 64  # rows of products computed at a time, which fit into the processor's cache


@dataclass(frozen=True, eq=False)
class NearCells:
    """Cells of a matrix that matches may visit, with bounds for the rest of a match.

    The arrays have columns only for the motions with near cells.

    Attributes
    ----------
    motions : list of int
        Indices of the motions with near cells, increasing.
    cells : ndarray of bool, shape (M, N)
        True for near cells.
    around : ndarray of bool, shape (M, N)
        True for near cells and for the cells before and after them, where chains may continue.
    before, after : ndarray of float32, shape (M, N)
        Upper bounds of the sum of `limit` minus distance over the cells of a path that leads to a
        cell, and of a path that continues from it; 0 if the path starts or ends there.
    limit : float
        Maximum mean distance of a match, squared if squared distances are averaged.
    """

    motions: list[int]
    cells: NDArray[np.bool_]
    around: NDArray[np.bool_]
    before: NDArray[np.float32]
    after: NDArray[np.float32]
    limit: float


def near_cells(
    bounds: NDArray[np.float32], starts: NDArray[np.int64], limits: WebLimits
) -> NearCells | None:
    """Return the cells that a near match may visit, or None if there are none.

    Parameters
    ----------
    bounds : ndarray of float32, shape (M, N)
        Lower bounds of the distances.
    starts : ndarray of int64, shape (K + 1,)
        First column of each motion, followed by N. Paths stay within a motion.
    limits : WebLimits
        Paths have at most `max_slope` consecutive cells in one row or column.

    Examples
    --------
    >>> frames = np.arange(12, dtype=np.float32)
    >>> bounds = np.abs(np.subtract.outer(frames, frames)) + np.minimum(frames, 4.0)
    >>> limits = WebLimits(near=1.0 / COARSER)
    >>> near_cells(bounds, np.array([0, 12]), limits).cells.sum(axis=1)
    array([2, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    """
    limit = COARSER * limits.near
    if limits.squares:
        limit, bounds = limit**2, bounds**2
    # A single cell below the limit is already a path.
    motions = _motions_below(bounds, starts, np.float32(limit))
    if not len(motions):
        return None
    cells, before, after = _near(bounds, starts, motions, np.float32(limit), limits.max_slope)
    around = _along_diagonals(cells, _BEYOND)
    return NearCells(motions.tolist(), cells, around, before, after, limit)


def _along_diagonals(cells: NDArray[np.bool_], reach: int) -> NDArray[np.bool_]:
    """Extend cells by up to `reach` frames of both motions in both directions."""
    ahead, behind, done = cells.copy(), cells.copy(), 0
    while done < reach:
        step = min(done + 1, reach - done)
        ahead[step:, step:] |= ahead[:-step, :-step]
        behind[:-step, :-step] |= behind[step:, step:]
        done += step
    return ahead | behind


def with_neighbors(near: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Mark cells and their neighbors in rows and columns with 1, all others with 0."""
    out = near.astype(np.uint8)
    out[1:] |= near[:-1]
    out[:-1] |= near[1:]
    out[:, 1:] |= near[:, :-1]
    out[:, :-1] |= near[:, 1:]
    return out


@kernel(error_model="numpy")
def _motions_below(bounds, starts, limit):
    """Return the indices of motions whose bound does not exceed the limit."""
    is_below = np.zeros(len(starts) - 1, np.bool_)
    for k in range(len(starts) - 1):
        first, count = starts[k], starts[k + 1] - starts[k]
        for i in range(len(bounds)):
            line, below = bounds[i, first : first + count], 0
            for j in range(count):
                below += limit - line[j] >= 0.0
            if below:
                is_below[k] = True
                break
    return np.flatnonzero(is_below)


@kernel(error_model="numpy")
def _near(bounds, starts, motions, limit, max_slope):
    """Compute near cells and the largest sums before and after each cell, all (M, columns).

    `bounds` (M, N) are compared with `limit`. A row is processed as a whole, so that loops become
    vector instructions. Steps along the row take `max_slope` - 1 passes over it. For each row,
    `sums[0]` are the largest sums of paths that reached a cell from another column or start there,
    `sums[k]` are those of paths that have gone down k times since, and `line` is the maximum of
    all. The results have columns only for `motions`.
    """
    n_rows, n_columns = bounds.shape[0], 0
    for k in motions:
        n_columns += starts[k + 1] - starts[k]
    shape = (n_rows, n_columns)
    near = np.empty(shape, np.bool_)
    before, after = np.empty(shape, np.float32), np.empty(shape, np.float32)
    own = np.empty(n_columns + 1, np.float32)
    line, moved = np.empty(n_columns + 1, np.float32), np.empty(n_columns + 1, np.float32)
    sums = np.empty((max_slope, n_columns + 1), np.float32)
    zero, target = np.float32(0.0), 0
    for k in motions:
        first, count = starts[k], starts[k + 1] - starts[k]
        for turn in range(2):  # forward, then backward
            for step in range(n_rows):
                i = step if turn == 0 else n_rows - 1 - step
                values = bounds[i, first : first + count]
                for j in range(count):
                    own[j] = limit - values[j]
                # `line` and `sums` belong to the previous row, or to the next row in the backward
                # pass.
                for run in range(max_slope - 1, 0, -1):
                    down, above = sums[run], sums[run - 1]
                    if step == 0:
                        for j in range(count):
                            down[j] = own[j]
                    else:
                        for j in range(count):
                            down[j] = own[j] + above[j]
                if step == 0:
                    for j in range(count):
                        moved[j] = own[j]
                elif turn == 0:
                    moved[0] = own[0]
                    for j in range(1, count):
                        moved[j] = own[j] + max(zero, line[j - 1])
                else:
                    moved[count - 1] = own[count - 1]
                    for j in range(count - 1):
                        moved[j] = own[j] + max(zero, line[j + 1])
                ahead = sums[0]
                for j in range(count):
                    ahead[j] = moved[j]
                for run in range(1, max_slope):
                    down = sums[run]
                    for j in range(count):
                        moved[j] = max(moved[j], down[j])
                for _ in range(max_slope - 1):  # steps along the row
                    if turn == 0:
                        line[0] = moved[0]
                        for j in range(1, count):
                            sideways = own[j] + moved[j - 1]
                            ahead[j] = max(ahead[j], sideways)
                            line[j] = max(moved[j], sideways)
                    else:
                        line[count - 1] = moved[count - 1]
                        for j in range(count - 1):
                            sideways = own[j] + moved[j + 1]
                            ahead[j] = max(ahead[j], sideways)
                            line[j] = max(moved[j], sideways)
                    line, moved = moved, line
                line, moved = moved, line
                rest = (before if turn == 0 else after)[i, target : target + count]
                for j in range(count):
                    rest[j] = line[j] - own[j]
                if turn == 1:
                    others = before[i, target : target + count]
                    marks = near[i, target : target + count]
                    for j in range(count):
                        marks[j] = others[j] + line[j] >= zero
        target += count
    return near, before, after


@dataclass(frozen=True, eq=False)
class WindowTrends:
    """Windows around the frames of a motion, as coefficients of polynomials in time.

    Attributes
    ----------
    floor : ndarray of float32, shape (T, 4 P)
        Means and then trends of the points, with all x coordinates before all z coordinates.
    heights : ndarray of float32, shape (T, 2 P)
        Means and then trends of the heights.
    norms : ndarray of float32, shape (T,)
        Sum of the squared norms of `floor` and `heights`.
    frames : PreparedFrames
        The prepared frames of the motion.
    """

    floor: NDArray[np.float32]
    heights: NDArray[np.float32]
    norms: NDArray[np.float32]
    frames: PreparedFrames

    def __len__(self) -> int:
        return len(self.floor)

    def part(self, first: int, last: int) -> WindowTrends:
        """Return frames `first` to `last`, with windows that include surrounding frames."""
        span = slice(first, last)
        frames = self.frames.part(first, last)
        return WindowTrends(self.floor[span], self.heights[span], self.norms[span], frames)


def window_trends(frames: PreparedFrames) -> WindowTrends:
    """Return the window trends of a motion that is prepared for a point-cloud distance.

    Raises
    ------
    InvalidInput
        If the motion was prepared for another kind of distance.
    """
    if not isinstance(frames.distance, PointCloud):
        raise InvalidInput(
            f"window trends need a point-cloud distance (pc1 to pc11); got {frames.distance.name}"
        )
    weights = frames.distance.weights
    polynomials = _polynomials(weights)
    count, points = len(frames), len(frames.distance.roles)
    if frames.rows is None:
        sums = _window_sums(frames.points, polynomials * weights, frames.step, count)
    else:  # windows with poses between frames, multiplied by the root of their weights
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
    """Return orthonormal polynomials of degree 0, 1, 2, ... at a window's weighted poses.

    The shape is (coefficients, samples). Values are zero where a window has too few poses.
    """
    times = np.linspace(-1.0, 1.0, len(weights)) if len(weights) > 1 else np.zeros(1)
    polynomials = np.zeros((_COEFFICIENTS, len(weights)))
    for degree in range(min(_COEFFICIENTS, len(weights))):
        values = times**degree
        values = values - (polynomials * weights @ values) @ polynomials
        polynomials[degree] = values / np.sqrt(weights @ values**2)
    return polynomials


class TrendMatrix(DistanceMatrix):
    """Distances between windows of one motion (rows) and of several motions (columns).

    Parameters
    ----------
    a : WindowTrends
        M frames.
    b : sequence of WindowTrends
        K motions with N frames in total, with the same distance and rate.
    """

    def __init__(self, a: WindowTrends, b: Sequence[WindowTrends]) -> None:
        super().__init__(a.frames, [other.frames for other in b])
        self._trends, self._others = a, tuple(b)

    def lower_bounds(self, stride: int) -> NDArray[np.float32]:
        """Compute lower bounds on all distances at a reduced rate, from means and trends.

        Parameters
        ----------
        stride : int
            Frame step; sampling starts at the first frame of each motion.

        Returns
        -------
        bounds : ndarray of float32
            Bounds, with the shape of `motionloom.features.matrix.DistanceMatrix.sampled`.
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
    """Return sums over the poses of each window, shape (T, coefficients, values per pose)."""
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
    """Compute lower bounds (M, N) from products (along, across, heights) and squared norms."""
    two, half = np.float32(2.0), np.float32(0.5)
    for i in range(out.shape[0]):
        re, im, y, line, norm = along[i], across[i], up[i], out[i], norms_a[i]
        for j in range(out.shape[1]):
            overlap = np.sqrt(re[j] * re[j] + im[j] * im[j]) + y[j]
            squared = norm + norms_b[j] - two * overlap
            # Rounding can make `squared` slightly negative. The sum is 2 * squared, 0 or NaN.
            line[j] = np.sqrt(half * (squared + np.abs(squared)))
