"""Distance matrices computed block by block, in double precision.

The point-cloud distance between two windows has a closed form in terms of inner products (see
`motionloom.features.point_cloud`), and the inner product of two windows is a sum, along a diagonal,
of inner products of single frames. A block of the matrix therefore requires three matrix products
over the joints of single frames, a weighted sum along the diagonals, and one square root per cell.
If a window has k poses, products of whole windows would cost k times as much.

Single precision is not enough, because squared norms are subtracted and rounding noise would create
false minima in flat regions.

>>> import motionloom as ml
>>> walk, kick = ml.demo.clip("walk"), ml.demo.clip("kick_front_high_right")
>>> matrix = DistanceMatrix(prepared_frames(walk), [prepared_frames(kick), prepared_frames(walk)])
>>> matrix.shape == (len(walk), len(kick) + len(walk))
True
>>> matrix.block(slice(0, 2), slice(0, 3)).shape
(2, 3)
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.features.corridor import Clouds, Corridor
from motionloom.features.frame_distances import FrameDistance, frame_distance
from motionloom.features.point_cloud import PointCloud
from motionloom.kernels import kernel
from motionloom.motion import Motion
from motionloom.ragged import offsets_of, row_of

TILE = 512  # columns computed at a time
_STRIP = 128  # rows computed at a time: their three products fit into the cache
_WHOLE = 1e-6  # a time that is closer than this to a frame (in frames) counts as the frame


@dataclass(frozen=True, eq=False)
class PreparedFrames:
    """Frames of a motion, prepared for a distance.

    Attributes
    ----------
    distance : FrameDistance
    count : int
        Number of frames, T.
    rows : ndarray, shape (T, D) or None
        Rows from `FrameDistance.prepare`; None for point clouds, which use `points` instead.
    points : ndarray, shape (T + 2 * margin, 3 * P)
        For point clouds: x, z and height of the points of single frames, with the first and last
        frame repeated at the ends.
    centers : ndarray of complex, shape (T,)
        Center of each window's point cloud on the floor.
    norms : ndarray, shape (T,)
        Squared norm of each centered cloud.
    step : int
        Frames between two poses of a window.
    """

    distance: FrameDistance
    count: int
    rows: NDArray[np.float64] | None
    points: NDArray[np.float64]
    centers: NDArray[np.complex128]
    norms: NDArray[np.float64]
    step: int

    def __len__(self) -> int:
        return self.count

    @property
    def margin(self) -> int:
        """Number of frames repeated at each end."""
        return (len(self.points) - self.count) // 2

    def part(self, first: int, last: int) -> PreparedFrames:
        """Return frames `first` to `last`, whose windows still include the surrounding frames."""
        return replace(
            self,
            count=last - first,
            rows=None if self.rows is None else self.rows[first:last],
            points=self.points[first : last + 2 * self.margin]
            if self.rows is None
            else self.points,
            centers=self.centers[first:last],
            norms=self.norms[first:last],
        )


def prepared_frames(motion: Motion, distance: str | FrameDistance = "pc11") -> PreparedFrames:
    """Prepare the frames of a motion for distance matrices.

    Parameters
    ----------
    motion : Motion
    distance : str or FrameDistance
        A name in `DISTANCES` or `FEATURES`, or any `FrameDistance`.
    """
    chosen = frame_distance(distance)
    nothing = np.empty(0)
    if isinstance(chosen, PointCloud):
        step = chosen.step_seconds * motion.fps
        if abs(step - round(step)) < _WHOLE and round(step) > 0:
            return _cloud_frames(motion, chosen, round(step))
    rows = np.asarray(chosen.prepare(motion), dtype=np.float64)
    return PreparedFrames(chosen, len(motion), rows, nothing, nothing.astype(complex), nothing, 0)


class DistanceMatrix:
    """Distances between the frames of one motion (rows) and those of several others (columns).

    Parameters
    ----------
    a : PreparedFrames
        Prepared motion with M frames.
    b : sequence of PreparedFrames
        K motions with N frames in total, prepared with the same distance and at the same rate.
    tile : int
        Number of columns computed at a time, and maximum number of rows.

    Attributes
    ----------
    starts : ndarray of int64, shape (K + 1,)
        Motion k has columns ``starts[k]`` to ``starts[k + 1]``.
    """

    def __init__(self, a: PreparedFrames, b: Sequence[PreparedFrames], *, tile: int = TILE) -> None:
        if tile < 1:
            raise InvalidInput(f"tile must be at least 1; got {tile}")
        for other in b:
            if other.distance.name != a.distance.name or other.step != a.step:
                raise InvalidInput(
                    "all motions in a matrix must be prepared with the same distance and the same "
                    f"rate; got distances {a.distance.name} and {other.distance.name}, with steps "
                    f"of {a.step} and {other.step} frames"
                )
        self._a, self._b, self._tile = a, tuple(b), tile
        lengths = [len(other) for other in b]
        self.starts = offsets_of(lengths)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows M and columns N."""
        return len(self._a), int(self.starts[-1])

    def block(
        self,
        rows: slice = slice(None),
        columns: slice = slice(None),
        *,
        out: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:
        """Compute a part of the matrix.

        Parameters
        ----------
        rows, columns : slice
            Half-open ranges of rows and columns. Default: all.
        out : ndarray, shape (len(rows), len(columns)), optional
            Array to write to; reusing memory is faster.

        Returns
        -------
        block : ndarray, shape (len(rows), len(columns))
        """
        top, bottom, _ = rows.indices(self.shape[0])
        left, right, _ = columns.indices(self.shape[1])
        shape = (max(bottom - top, 0), max(right - left, 0))
        if out is None:
            out = np.empty(shape)
        elif out.shape != shape or out.dtype != np.float64:
            raise InvalidInput(
                f"out must be float64 with shape {shape}; got {out.dtype} with shape {out.shape}"
            )
        if 0 in shape:
            return out
        k = int(row_of(self.starts, left))
        while k < len(self._b) and self.starts[k] < right:
            start = int(self.starts[k])
            first, last = max(left, start), min(right, int(self.starts[k + 1]))
            for j in range(first, last, self._tile):
                part = out[:, j - left : min(j + self._tile, last) - left]
                self._fill(part, self._b[k], top, j - start)
            k += 1
        return out

    def sampled_starts(self, stride: int) -> NDArray[np.int64]:
        """Return the first column of each motion when every `stride`-th frame is used, (K + 1,)."""
        return offsets_of(-(-np.diff(self.starts) // stride))

    def sampled(
        self, stride: int, *, where: NDArray[np.uint8] | None = None
    ) -> NDArray[np.float64]:
        """Compute the matrix, or selected cells, at a reduced rate.

        Parameters
        ----------
        stride : int
            Frame step: every `stride`-th frame of each motion is used, starting with the first.
        where : ndarray of uint8, optional
            Mask with the shape of the result. Cells in which it is 0 may stay undefined. This saves
            time for point clouds; other distances are computed in all cells.

        Returns
        -------
        values : ndarray
            One row per used frame of the rows' motion; motion k has columns
            ``sampled_starts(stride)[k]`` to ``[k + 1]``.
        """
        starts = self.sampled_starts(stride)
        shape = (-(-len(self._a) // stride), int(starts[-1]))
        if where is not None and (where.shape != shape or where.dtype != np.uint8):
            raise InvalidInput(
                f"where must be uint8 with shape {shape}; got {where.dtype} with shape "
                f"{where.shape}"
            )
        a = self._a
        if a.rows is not None:
            chosen = replace(a, rows=a.rows[::stride], count=shape[0])
            others = []
            for b, count in zip(self._b, np.diff(starts).tolist(), strict=True):
                rows = b.rows[::stride]  # type: ignore[index]
                others.append(replace(b, rows=rows, count=count))
            if where is not None and isinstance(a.distance, PointCloud):
                return _chosen_cells(chosen, others, where)
            return DistanceMatrix(chosen, others, tile=self._tile).block()
        weights = a.distance.weights  # type: ignore[attr-defined]
        corridor = Corridor(a.points.shape[1] // 3, a.step, weights, stride)
        if not corridor.fits:
            columns = [np.arange(f, t, stride) for f, t in itertools.pairwise(self.starts)]
            return self.block()[::stride][:, np.concatenate(columns)]
        if where is None:
            where = np.ones(shape, np.uint8)
        out = np.empty(shape)
        for b, column in zip(self._b, starts.tolist(), strict=False):
            if len(b) and shape[0]:
                corridor.fill(out, where, column, _clouds(a), _clouds(b))
        return out

    def _fill(self, out: NDArray[np.float64], b: PreparedFrames, top: int, left: int) -> None:
        """Compute distances to one motion, starting at row `top` and column `left`."""
        a = self._a
        if a.rows is None:
            _fill_clouds(out, a, b, top, left, self._tile)
            return
        columns = b.rows[left : left + out.shape[1]]  # type: ignore[index]
        for i in range(0, len(out), self._tile):
            part = out[i : i + self._tile]
            part[:] = a.distance.matrix(a.rows[top + i : top + i + len(part)], columns)


def _clouds(frames: PreparedFrames) -> Clouds:
    return Clouds(frames.points, frames.centers, frames.norms)


def _chosen_cells(
    a: PreparedFrames, others: Sequence[PreparedFrames], where: NDArray[np.uint8]
) -> NDArray[np.float64]:
    """Compute distances between windows with interpolated poses, in marked cells only."""
    out, column = np.empty(where.shape), 0
    rows = np.ascontiguousarray(a.rows)
    norms = np.einsum("td,td->t", rows, rows)
    for b in others:
        columns = np.ascontiguousarray(b.rows)
        squares = np.einsum("td,td->t", columns, columns)
        _fill_cells(out, where, column, rows, norms, columns, squares)
        column += len(columns)
    return out


def _cloud_frames(motion: Motion, distance: PointCloud, step: int) -> PreparedFrames:
    places = distance.places(motion)
    count, half = len(places), distance.samples // 2
    if count:
        # Squares of positions far from the origin would lose digits, so positions are relative to a
        # common origin for all tiles.
        places = places - np.nanmean(places.reshape(-1, 3), axis=0) * [1.0, 0.0, 1.0]
    margin = half * step
    around = np.clip(np.arange(-margin, count + margin), 0, max(count - 1, 0))
    padded = places[around] / np.sqrt(len(distance.roles))
    taps = np.arange(count)[:, None] + step * np.arange(distance.samples)
    # x + iz: only moduli are used, and z + ix would change their last bits.
    floor = padded[..., 0] + 1j * padded[..., 2]
    weights = distance.weights
    per_frame = np.sum(np.abs(floor) ** 2 + padded[..., 1] ** 2, axis=1)
    centers = floor.sum(axis=1)[taps] @ weights / np.sqrt(len(distance.roles))
    norms = per_frame[taps] @ weights - np.abs(centers) ** 2
    points = padded[:, :, [0, 2, 1]].transpose(0, 2, 1).reshape(len(padded), -1)
    return PreparedFrames(distance, count, None, np.ascontiguousarray(points), centers, norms, step)


def _fill_clouds(out, a: PreparedFrames, b: PreparedFrames, top: int, left: int, tile: int) -> None:
    """Compute window distances from products of single frames, a strip of rows at a time.

    The products of these rows, and of the margins of the windows, stay in the processor's cache
    until they are summed.
    """
    n_rows, n_columns = out.shape
    third, reach = a.points.shape[1] // 3, 2 * a.margin
    columns = b.points[left : left + n_columns + reach]
    floor, height = columns[:, : 2 * third].T, columns[:, 2 * third :].T
    centers, norms = (each[left : left + n_columns] for each in (b.centers, b.norms))
    weights = a.distance.weights  # type: ignore[attr-defined]
    strip = min(_STRIP, tile, n_rows)
    products = np.empty((3, reach + strip, n_columns + reach))
    done = 0  # rows whose products the last strip already computed
    for i in range(0, n_rows, strip):
        count = min(strip, n_rows - i)
        points = a.points[top + i + done : top + i + count + reach]
        turned = np.concatenate([points[:, third : 2 * third], -points[:, :third]], axis=1)
        place = products[:, done : count + reach]
        np.matmul(points[:, : 2 * third], floor, out=place[0])
        np.matmul(turned, floor, out=place[1])
        np.matmul(points[:, 2 * third :], height, out=place[2])
        here = slice(top + i, top + i + count)
        _window_sums(
            out[i : i + count], products, a.centers[here], centers, a.norms[here], norms,
            weights, a.step,
        )  # fmt: skip
        products[:, :reach] = products[:, count : count + reach]
        done = reach


@kernel(error_model="numpy")
def _window_sums(out, products, centers_a, centers_b, norms_a, norms_b, weights, step):
    """Compute window distances (M, N) from frame products (3, M + reach, N + reach).

    The rows are processed one by one, which keeps the three sums of a row in the first-level cache.
    Products belong to frames, whereas centers and norms belong to windows; see the module docstring
    for the closed form.
    """
    n_rows, n_columns = out.shape
    re, im, up = np.empty(n_columns), np.empty(n_columns), np.empty(n_columns)
    re_b, im_b = centers_b.real.copy(), centers_b.imag.copy()
    for i in range(n_rows):
        re_a, im_a, norm = centers_a[i].real, centers_a[i].imag, norms_a[i]
        for j in range(n_columns):
            re[j] = -(re_a * re_b[j] + im_a * im_b[j])
            im[j] = re_a * im_b[j] - im_a * re_b[j]
            up[j] = 0.0
        _add_diagonals(re, products[0], i, weights, step)
        _add_diagonals(im, products[1], i, weights, step)
        _add_diagonals(up, products[2], i, weights, step)
        line = out[i]
        for j in range(n_columns):
            overlap = np.sqrt(re[j] * re[j] + im[j] * im[j]) + up[j]
            squared = norm + norms_b[j] - 2.0 * overlap
            # Rounding can make this negative. The sum with its absolute value is never negative.
            line[j] = np.sqrt(0.5 * (squared + np.abs(squared)))


@kernel(error_model="numpy")
def _add_diagonals(sums, plane, row, weights, step):
    """Add the products for all poses of the window, along a diagonal of `plane`, to each sum."""
    n, taps = len(sums), len(weights)
    k = 0
    while k + 4 <= taps:  # four at a time: fewer loads and stores of the sums
        a = plane[row + k * step, k * step : k * step + n]
        b = plane[row + (k + 1) * step, (k + 1) * step : (k + 1) * step + n]
        c = plane[row + (k + 2) * step, (k + 2) * step : (k + 2) * step + n]
        d = plane[row + (k + 3) * step, (k + 3) * step : (k + 3) * step + n]
        wa, wb, wc, wd = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
        for j in range(n):
            sums[j] += (wa * a[j] + wb * b[j]) + (wc * c[j] + wd * d[j])
        k += 4
    while k < taps:
        line, w = plane[row + k * step, k * step : k * step + n], weights[k]
        for j in range(n):
            sums[j] += w * line[j]
        k += 1


@kernel(error_model="numpy", fastmath={"contract", "reassoc", "nsz"})
def _fill_cells(out, where, column, rows, norms, columns, squares):
    """Compute cells from rows of `centered_clouds`; sums may be reordered for vectorization."""
    third = rows.shape[1] // 3
    for i in range(out.shape[0]):
        x, z, y = rows[i, :third], rows[i, third : 2 * third], rows[i, 2 * third :]
        for j in range(len(columns)):
            if where[i, column + j] == 0:
                continue
            along, across, up = 0.0, 0.0, 0.0
            u, w = columns[j, :third], columns[j, third : 2 * third]
            v = columns[j, 2 * third :]
            for d in range(third):
                along += x[d] * u[d] + z[d] * w[d]
                across += z[d] * u[d] - x[d] * w[d]
                up += y[d] * v[d]
            overlap = np.sqrt(along * along + across * across) + up
            squared = norms[i] + squares[j] - 2.0 * overlap
            out[i, column + j] = np.sqrt(0.5 * (squared + np.abs(squared)))
