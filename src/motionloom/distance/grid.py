"""Grids of frame distances that are never held whole: block by block, in double precision.

The point-cloud distance of two windows is a closed form of inner products (see
`motionloom.distance.point_cloud`), and the inner product of two windows is a sum, down a
diagonal, of inner products of single frames. So a block of the grid is three matrix
products over the joints of single frames, a weighted sum down the diagonals, and one square
root per cell. The product of windows themselves would cost as many times more as a window
has poses.

Single precision is no bargain here: squared norms are subtracted, and the rounding noise
of flat stretches turns up as minima that are not there.

>>> import motionloom as ml
>>> walk, kick = ml.demo.clip("walk"), ml.demo.clip("kick_front_high_right")
>>> grid = DistanceGrid(grid_frames(walk), [grid_frames(kick), grid_frames(walk)])
>>> grid.shape == (len(walk), len(kick) + len(walk))
True
>>> grid.block(slice(0, 2), slice(0, 3)).shape
(2, 3)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numba as nb
import numpy as np
from numpy.typing import NDArray

from motionloom.distance.frame_distances import FrameDistance, frame_distance
from motionloom.distance.point_cloud import PointCloud
from motionloom.errors import InvalidInput
from motionloom.motion import Motion

TILE = 512  # cells of a side of what is computed at a time: three such arrays, 6 MB
_WHOLE = 1e-6  # frames: as near to a whole number of them, a time is on a frame


@dataclass(frozen=True, eq=False)
class GridFrames:
    """What a grid needs to know of a motion, in the distance's own form.

    Attributes
    ----------
    distance : FrameDistance
    count : int
        Frames, T.
    rows : ndarray, shape (T, D) or None
        What the distance prepared; None for point clouds on frames, which need no windows.
    points : ndarray, shape (T + 2 * margin, 3 * P)
        For those: x, z and height of the points of single frames, the first and the last
        frame repeated at the ends.
    centres : ndarray of complex, shape (T,)
        Where each window's cloud stands on the floor.
    norms : ndarray, shape (T,)
        Its squared size once it stands over the origin.
    step : int
        Frames between two poses of a window.
    """

    distance: FrameDistance
    count: int
    rows: NDArray[np.float64] | None
    points: NDArray[np.float64]
    centres: NDArray[np.complex128]
    norms: NDArray[np.float64]
    step: int

    def __len__(self) -> int:
        return self.count

    @property
    def margin(self) -> int:
        """Frames that are repeated at either end."""
        return (len(self.points) - self.count) // 2


def grid_frames(motion: Motion, distance: str | FrameDistance = "pc11") -> GridFrames:
    """The frames of a motion, made ready for grids.

    Parameters
    ----------
    motion : Motion
    distance : str or FrameDistance
        A name in `DISTANCES` or `FEATURES`, or anything like them.
    """
    chosen = frame_distance(distance)
    nothing = np.empty(0)
    if isinstance(chosen, PointCloud):
        step = chosen.step_seconds * motion.fps
        if abs(step - round(step)) < _WHOLE and round(step) > 0:
            return _cloud_frames(motion, chosen, round(step))
    rows = np.asarray(chosen.prepare(motion), dtype=np.float64)
    return GridFrames(chosen, len(motion), rows, nothing, nothing.astype(complex), nothing, 0)


class DistanceGrid:
    """Distances between the frames of one motion (rows) and of several (columns).

    Parameters
    ----------
    a : GridFrames
        M frames.
    b : sequence of GridFrames
        K motions with N frames in all, of the same distance and rate.
    tile : int
        Cells of a side of what is computed at a time.

    Attributes
    ----------
    starts : ndarray of int64, shape (K + 1,)
        Motion k has columns ``starts[k]`` to ``starts[k + 1]``.
    """

    def __init__(self, a: GridFrames, b: Sequence[GridFrames], *, tile: int = TILE) -> None:
        if tile < 1:
            raise InvalidInput(f"tile must be at least 1; got {tile}")
        for other in b:
            if other.distance.name != a.distance.name or other.step != a.step:
                raise InvalidInput(
                    "the motions of a grid must be prepared by one distance, at one rate; got "
                    f"{a.distance.name} and {other.distance.name}, steps of {a.step} and "
                    f"{other.step} frames"
                )
        self._a, self._b, self._tile = a, tuple(b), tile
        lengths = [len(other) for other in b]
        self.starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows M and columns N."""
        return len(self._a), int(self.starts[-1])

    def block(
        self, rows: slice = slice(None), columns: slice = slice(None), *, stride: int = 1
    ) -> NDArray[np.float64]:
        """Part of the grid.

        Parameters
        ----------
        rows, columns : slice
            Half-open ranges; all of them by default.
        stride : int
            Only every so many-th frame of each motion, counted from its first. Rows and
            columns are then those of this coarser grid.

        Returns
        -------
        block : ndarray, shape (len(rows), len(columns))
        """
        starts = self.starts if stride == 1 else self.coarse_starts(stride)
        n_rows = -(-len(self._a) // stride)
        top, bottom, _ = rows.indices(n_rows)
        left, right, _ = columns.indices(int(starts[-1]))
        out = np.empty((max(bottom - top, 0), max(right - left, 0)))
        if 0 in out.shape:
            return out
        k = int(np.searchsorted(starts, left, side="right")) - 1
        while k < len(self._b) and starts[k] < right:
            first, last = max(left, int(starts[k])), min(right, int(starts[k + 1]))
            if last > first:
                part = out[:, first - left : last - left]
                self._fill(part, self._b[k], top, first - int(starts[k]), stride)
            k += 1
        return out

    def coarse_starts(self, stride: int) -> NDArray[np.int64]:
        """Where each motion's columns begin if only every so many-th frame is taken."""
        lengths = -(-np.diff(self.starts) // stride)
        return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)

    def _fill(self, out, b: GridFrames, top: int, left: int, stride: int) -> None:
        """Distances from row `top` and column `left` of the grid with one motion."""
        a = self._a
        if a.rows is not None and b.rows is not None:
            for i in range(0, out.shape[0], self._tile):
                for j in range(0, out.shape[1], self._tile):
                    part = out[i : i + self._tile, j : j + self._tile]
                    ends = (stride * (top + i + len(part)), stride * (left + j + part.shape[1]))
                    part[:] = a.distance.grid(
                        a.rows[stride * (top + i) : ends[0] : stride],
                        b.rows[stride * (left + j) : ends[1] : stride],
                    )
            return
        size = max(1, self._tile // stride)
        reach = (min(size, max(out.shape)) - 1) * stride + 1 + 2 * a.margin
        room = np.empty((3, reach * reach))  # for the products: used again for every tile
        weights = a.distance.weights  # type: ignore[attr-defined]
        for i in range(0, out.shape[0], size):
            part_a = _Stretch.of(a, stride * (top + i), min(size, out.shape[0] - i), stride)
            for j in range(0, out.shape[1], size):
                part_b = _Stretch.of(b, stride * (left + j), min(size, out.shape[1] - j), stride)
                part = out[i : i + size, j : j + size]
                _clouds(part, part_a, part_b, weights, a.step, stride, room)


@dataclass(frozen=True, eq=False)
class _Stretch:
    """Some frames of a motion, with what their windows reach."""

    points: NDArray[np.float64]
    centres: NDArray[np.complex128]
    norms: NDArray[np.float64]

    @classmethod
    def of(cls, frames: GridFrames, first: int, count: int, stride: int) -> _Stretch:
        last = first + stride * (count - 1) + 1
        return cls(
            frames.points[first : last + 2 * frames.margin],
            frames.centres[first:last:stride],
            frames.norms[first:last:stride],
        )


def _cloud_frames(motion: Motion, distance: PointCloud, step: int) -> GridFrames:
    places = distance.places(motion)
    count, half = len(places), distance.samples // 2
    if count:
        # Far from the origin squares would swallow digits; one origin for all tiles alike.
        places = places - np.nanmean(places.reshape(-1, 3), axis=0) * [1.0, 0.0, 1.0]
    margin = half * step
    around = np.clip(np.arange(-margin, count + margin), 0, max(count - 1, 0))
    padded = places[around] / np.sqrt(len(distance.roles))
    taps = np.arange(count)[:, None] + step * np.arange(distance.samples)
    floor = padded[..., 0] + 1j * padded[..., 2]
    weights = distance.weights
    per_frame = np.sum(np.abs(floor) ** 2 + padded[..., 1] ** 2, axis=1)
    centres = floor.sum(axis=1)[taps] @ weights / np.sqrt(len(distance.roles))
    norms = per_frame[taps] @ weights - np.abs(centres) ** 2
    points = padded[:, :, [0, 2, 1]].transpose(0, 2, 1).reshape(len(padded), -1)
    return GridFrames(distance, count, None, np.ascontiguousarray(points), centres, norms, step)


def _clouds(out, a: _Stretch, b: _Stretch, weights, step: int, stride: int, room) -> None:
    """Kernel: distances of windows from products of single frames."""
    shape = (len(a.points), len(b.points))
    real, imaginary, height = (part[: shape[0] * shape[1]].reshape(shape) for part in room)
    third = a.points.shape[1] // 3
    floor_b = b.points[:, : 2 * third]
    turned = np.concatenate([a.points[:, third : 2 * third], -a.points[:, :third]], axis=1)
    np.matmul(a.points[:, : 2 * third], floor_b.T, out=real)
    np.matmul(turned, floor_b.T, out=imaginary)
    np.matmul(a.points[:, 2 * third :], b.points[:, 2 * third :].T, out=height)
    _window_sums(
        out, real, imaginary, height, a.centres, b.centres, a.norms, b.norms, weights, step, stride
    )


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _window_sums(
    out, real, imaginary, height, centres_a, centres_b, norms_a, norms_b, weights, step, stride
):
    n_rows, n_columns = out.shape
    re, im, up = np.empty(n_columns), np.empty(n_columns), np.empty(n_columns)
    re_b, im_b = centres_b.real.copy(), centres_b.imag.copy()
    for i in range(n_rows):
        re_a, im_a, norm = centres_a[i].real, centres_a[i].imag, norms_a[i]
        for j in range(n_columns):
            re[j] = -(re_a * re_b[j] + im_a * im_b[j])
            im[j] = re_a * im_b[j] - im_a * re_b[j]
            up[j] = 0.0
        _add_diagonals(re, real, i * stride, weights, step, stride)
        _add_diagonals(im, imaginary, i * stride, weights, step, stride)
        _add_diagonals(up, height, i * stride, weights, step, stride)
        line = out[i]
        for j in range(n_columns):
            overlap = np.sqrt(re[j] * re[j] + im[j] * im[j]) + up[j]
            squared = norm + norms_b[j] - 2.0 * overlap
            # Rounding can dip below zero; the sum of both is 2 * squared, 0 or NaN.
            line[j] = np.sqrt(0.5 * (squared + np.abs(squared)))


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _add_diagonals(sums, plane, row, weights, step, stride):
    """Add to each sum what the window's poses give: cells down a diagonal of `plane`."""
    n, taps = len(sums), len(weights)
    k = 0
    if stride == 1:
        while k + 4 <= taps:  # four at a time: sums are loaded and stored less often
            a = plane[row + k * step, k * step : k * step + n]
            b = plane[row + (k + 1) * step, (k + 1) * step : (k + 1) * step + n]
            c = plane[row + (k + 2) * step, (k + 2) * step : (k + 2) * step + n]
            d = plane[row + (k + 3) * step, (k + 3) * step : (k + 3) * step + n]
            wa, wb, wc, wd = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
            for j in range(n):
                sums[j] += (wa * a[j] + wb * b[j]) + (wc * c[j] + wd * d[j])
            k += 4
    while k < taps:
        line, w = plane[row + k * step, k * step :: stride], weights[k]
        for j in range(n):
            sums[j] += w * line[j]
        k += 1
