"""Point-cloud distances of chosen cells of a distance matrix, at a reduced rate.

A distance is a closed form of sums, along a diagonal of the matrix, of inner products of single
frames (see `motionloom.features.matrix`). The cells that a match web needs lie in corridors along
diagonals, so the work is arranged by diagonals: products of one frame with eight consecutive
frames are stored by diagonal, where the sum over a window reads the same place of other rows.
Sums of neighbouring diagonals are then one loop over consecutive numbers, for the three kinds of
products together, and products are computed only where a window reaches them.

At a stride, cell (i, j) is the distance of frames ``stride * i`` and ``stride * j``. Poses of a
window then fall into residue classes modulo the stride; each has products of its own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from motionloom.kernels import kernel

_LANES = 8  # diagonals processed together
_JOINTS = 9  # unrolled at a time: the compiler makes vector instructions of so many, not of 18
_STRIP = 4  # blocks of diagonals that are followed together
_ROW = _STRIP * _LANES  # products of a kind in a row: real and imaginary parts, heights
_SIDE = 512  # rows and columns of a tile, at most
_PITCH = 584  # a tile with margins; an odd number of cache lines, so that joints do not collide
_uint = np.uint64  # indices without a sign are not tested for being negative


class Corridor:
    """Window sums at one stride, with the memory that they need.

    Parameters
    ----------
    points : int
        Points of a frame.
    step : int
        Frames between two poses of a window.
    weights : ndarray, shape (samples,)
        Of the poses of a window.
    stride : int
    """

    def __init__(self, points: int, step: int, weights: NDArray[np.float64], stride: int) -> None:
        poses = step * np.arange(len(weights))
        residues, classes = np.unique(poses % stride, return_inverse=True)
        shifts = poses // stride
        reach = int(shifts[-1])
        self.side = max(0, min(_SIDE, _PITCH - 2 * _LANES - reach))
        strips = 2 * self.side // (_STRIP * _LANES) + 1
        coordinates = 3 * _JOINTS * -(-points // _JOINTS)
        count, height = len(residues), self.side + reach
        self._window = (stride, weights, residues, classes.reshape(-1), shifts)
        self._memory = (
            np.zeros((count, height, coordinates)),
            np.zeros((count, coordinates, _PITCH)),
            np.zeros(count * height * 3 * _ROW),
            np.zeros((self.side, strips * _STRIP), np.uint8),
            np.zeros((2, strips), np.int64),
            np.zeros(_STRIP, np.int64),
            np.zeros(3 * _ROW),
            np.zeros((3, self.side)),
            np.zeros(len(weights), np.uint64),
        )

    @property
    def fits(self) -> bool:
        """Whether windows are short enough for the tiles."""
        return self.side >= _SIDE // 8

    def fill(
        self,
        out: NDArray[np.float64],
        where: NDArray[np.uint8],
        column: int,
        a: tuple[NDArray, NDArray, NDArray],
        b: tuple[NDArray, NDArray, NDArray],
    ) -> None:
        """Write distances of two motions, at least in the cells that `where` marks.

        Parameters
        ----------
        out : ndarray, shape (M, N)
        where : ndarray of uint8, shape (M, N)
        column : int
            First column of the motion `b`.
        a, b : tuple
            Points, centres and norms, as in `motionloom.features.matrix.PreparedFrames`.
        """
        flat = where.reshape(-1)
        words = flat[: len(flat) // 8 * 8].view(np.uint64)
        side, (stride, *_) = self.side, self._window
        rows, columns = len(out), -(-len(b[1]) // stride)
        for top in range(0, rows, side):
            for left in range(0, columns, side):
                shape = min(side, rows - top), min(side, columns - left)
                _fill(
                    out, flat, words, column, top, left, *shape, *a, *b,
                    *self._window, *self._memory, _uint(_LANES),
                )  # fmt: skip


@kernel(error_model="numpy", fastmath={"contract"})
def _fill(
    out, where, words, column, top, left, n_rows, n_columns,
    points_a, centres_a, norms_a, points_b, centres_b, norms_b,
    stride, weights, residues, classes, shifts,
    frames, columns, products, flags, rows, latest, sums, about, base, lanes,
):  # fmt: skip
    """A tile of a matrix; diagonal d of it is that of row i and column ``i + d - n_rows + 1``.

    Four blocks of diagonals are followed from their first to their last marked cell: the frames
    that they meet, and the products of a window, stay in the innermost cache.
    """
    reach, samples, count = shifts[-1], len(weights), len(residues)
    third = points_a.shape[1] // 3
    coordinates, height = columns.shape[1], n_rows + reach
    west, east = _flag(
        flags, rows, where, words, out.shape[1], top, column + left, n_rows, n_columns
    )  # fmt: skip
    if east <= west:
        return  # nothing is marked
    # Blocks of diagonals reach a few columns beyond the marked ones.
    west, east = max(west - _LANES + 1, 0), min(east + _LANES - 1, n_columns)
    north, south = rows[0].min(), rows[1].max() + 1
    for q in range(count):
        first, other = left * stride + residues[q], top * stride + residues[q]
        _gather(
            columns[q], _LANES, 1, _PITCH, points_b, first, stride, west, east + reach, third
        )  # fmt: skip
        _gather(
            frames[q], 0, coordinates, 1, points_a, other, stride, north, south + reach, third
        )  # fmt: skip
    for c in range(west, east):
        centre = centres_b[(left + c) * stride]
        about[0, c], about[1, c] = centre.real, centre.imag
        about[2, c] = norms_b[(left + c) * stride]
    for k in range(samples):
        base[k] = _uint((classes[k] * height + shifts[k]) * 3 * _ROW)
    flat_out, flat_columns, flat_about = out.reshape(-1), columns.reshape(-1), about.reshape(-1)
    flat_frames = frames.reshape(-1)
    strips = flags.view(np.uint32)
    for strip in range((n_rows + n_columns - 2) // (_STRIP * _LANES) + 1):
        latest[:] = -reach - 1  # row with a mark, of each block
        for i in range(rows[0, strip] - reach, rows[1, strip] + 1):
            r = i + reach  # the row of products that is new for row i
            if r < n_rows and strips[r, strip]:
                for h in range(_STRIP):
                    if flags[r, strip * _STRIP + h]:
                        latest[h] = r
            h = 0
            while h < _STRIP:
                end = h
                while end < _STRIP and latest[end] >= r - reach:  # a window reaches here
                    end += 1
                start = _LANES * (1 + strip * _STRIP + h) - n_rows + 1 + r
                for q in range(count if end > h else 0):
                    _products(
                        flat_frames, _uint((q * frames.shape[1] + r) * coordinates),
                        _uint(coordinates), flat_columns,
                        _uint(q * coordinates * _PITCH + start), products,
                        _uint((q * height + r) * 3 * _ROW + _LANES * h), lanes * _uint(end - h),
                    )  # fmt: skip
                h = end + 1
            if i < 0 or strips[i, strip] == 0:
                continue
            here = (top + i) * stride
            re, im, norm = centres_a[here].real, centres_a[here].imag, norms_a[here]
            h = 0
            while h < _STRIP:
                end = h
                while end < _STRIP and flags[i, strip * _STRIP + end]:
                    end += 1
                if end - h == _STRIP:  # the three kinds of products at once
                    at = _uint(i * 3 * _ROW)
                    _window_sums(sums, _uint(0), products, base, weights, at, _uint(3 * _ROW))
                elif end > h:
                    for kind in range(3):
                        at = _uint(kind * _ROW + _LANES * h)
                        _window_sums(
                            sums, at, products, base, weights, _uint(i * 3 * _ROW) + at,
                            _uint((end - h) * _LANES),
                        )  # fmt: skip
                for b in range(h, end):
                    j = (strip * _STRIP + b) * _LANES - n_rows + 1 + i
                    low, high = max(0, -j), min(_LANES, n_columns - j)
                    _distances(
                        flat_out, _uint((top + i) * out.shape[1] + column + left + j + low),
                        sums, _uint(b * _LANES + low), re, im, norm,
                        flat_about, _uint(j + low), _uint(about.shape[1]), _uint(high - low),
                    )  # fmt: skip
                h = end + 1


@kernel
def _gather(target, start, frame_pitch, pitch, points, first, stride, low, high, third):
    """Coordinates of every `stride`-th frame, nine joints at a time: x, z, height."""
    flat = target.reshape(-1)
    for c in range(low, high):
        f = min(first + c * stride, len(points) - 1)  # beyond the end: reached by no window
        for p in range(third):
            d = (p // _JOINTS * 3 * _JOINTS + p % _JOINTS) * pitch + c * frame_pitch + start
            flat[d] = points[f, p]
            flat[d + _JOINTS * pitch] = points[f, third + p]
            flat[d + 2 * _JOINTS * pitch] = points[f, 2 * third + p]


@kernel
def _flag(flags, rows, where, words, width, top, left, n_rows, n_columns):
    """Mark the blocks of diagonals with a marked cell, row by row.

    `rows` receives the first and the last row of each strip, or an empty range. Returns the first
    marked column and the one after the last.
    """
    flags[:n_rows] = 0
    rows[0], rows[1] = n_rows + flags.shape[0], -1
    west, east = n_columns, 0
    for i in range(n_rows):
        begin = (top + i) * width + left
        skew = n_rows - 1 - i - begin
        f, end = begin, begin + n_columns
        latest = -1  # block that is marked
        while f < end:
            if f % 8 == 0:
                word, last = _uint(f // 8), _uint(end // 8)
                while word < last and words[word] == 0:
                    word += _uint(1)
                f = 8 * np.int64(word)
            stop = min(f // 8 * 8 + 8, end)
            for cell in range(f, stop):
                if where[cell] == 0:
                    continue
                block = (cell + skew) // _LANES
                if block != latest:
                    latest = block
                    flags[i, block] = 1
                    strip = block // _STRIP
                    rows[0, strip], rows[1, strip] = min(rows[0, strip], i), i
                west, east = min(west, cell - begin), max(east, cell - begin + 1)
            f = stop
    return west, east


@kernel(error_model="numpy", fastmath={"contract"})
def _products(frames, frame, coordinates, columns, first, products, at, lanes):
    """Products of a frame with consecutive ones: x x' + z z', z x' - x z', y y'."""
    im, up = at + _uint(_ROW), at + _uint(2 * _ROW)
    for c in range(lanes):
        products[at + c], products[im + c], products[up + c] = 0.0, 0.0, 0.0
    for group in range(coordinates // _uint(3 * _JOINTS)):
        o = frame + group * _uint(3 * _JOINTS)
        start = first + group * _uint(3 * _JOINTS * _PITCH)
        for c in range(lanes):
            along, across = 0.0, 0.0
            for p in range(_JOINTS):
                x = columns[start + _uint(p * _PITCH) + c]
                z = columns[start + _uint((_JOINTS + p) * _PITCH) + c]
                along += frames[o + _uint(p)] * x
                along += frames[o + _uint(_JOINTS + p)] * z
                across += frames[o + _uint(_JOINTS + p)] * x
                across -= frames[o + _uint(p)] * z
            products[at + c] += along
            products[im + c] += across
        for c in range(lanes):
            height = 0.0
            for p in range(_JOINTS):
                y = columns[start + _uint((2 * _JOINTS + p) * _PITCH) + c]
                height += frames[o + _uint(2 * _JOINTS + p)] * y
            products[up + c] += height


@kernel(error_model="numpy", fastmath={"contract"})
def _window_sums(sums, o, products, base, weights, at, count):
    """Weighted sums of the products of a window, six poses at a time."""
    for c in range(count):
        sums[o + c] = 0.0
    k, most = 0, len(weights)
    while k + 6 <= most:
        v0, v1, v2, v3, v4, v5 = (
            weights[k], weights[k + 1], weights[k + 2], weights[k + 3], weights[k + 4],
            weights[k + 5],
        )  # fmt: skip
        r0, r1, r2, r3, r4, r5 = (
            base[k] + at, base[k + 1] + at, base[k + 2] + at, base[k + 3] + at,
            base[k + 4] + at, base[k + 5] + at,
        )  # fmt: skip
        for c in range(count):
            sums[o + c] += (
                (v0 * products[r0 + c] + v1 * products[r1 + c])
                + (v2 * products[r2 + c] + v3 * products[r3 + c])
                + (v4 * products[r4 + c] + v5 * products[r5 + c])
            )
        k += 6
    if k + 5 <= most:
        v0, v1, v2, v3, v4 = (
            weights[k], weights[k + 1], weights[k + 2], weights[k + 3], weights[k + 4]
        )  # fmt: skip
        r0, r1, r2, r3, r4 = (
            base[k] + at, base[k + 1] + at, base[k + 2] + at, base[k + 3] + at, base[k + 4] + at
        )  # fmt: skip
        for c in range(count):
            sums[o + c] += (
                (v0 * products[r0 + c] + v1 * products[r1 + c])
                + (v2 * products[r2 + c] + v3 * products[r3 + c])
                + v4 * products[r4 + c]
            )
        k += 5
    while k < most:
        v0, r0 = weights[k], base[k] + at
        for c in range(count):
            sums[o + c] += v0 * products[r0 + c]
        k += 1


@kernel(error_model="numpy", fastmath={"contract"})
def _distances(out, o, sums, at, re_a, im_a, norm, about, j, width, count):
    """Distances of cells from the sums of their windows; see `motionloom.features.matrix`."""
    across, height = at + _uint(_ROW), at + _uint(2 * _ROW)
    im_b, norms = j + width, j + width + width
    for c in range(count):
        re = sums[at + c] - (re_a * about[j + c] + im_a * about[im_b + c])
        im = sums[across + c] + (re_a * about[im_b + c] - im_a * about[j + c])
        overlap = np.sqrt(re * re + im * im) + sums[height + c]
        squared = norm + about[norms + c] - 2.0 * overlap
        # Rounding can dip below zero; the sum of both is 2 * squared, 0 or NaN.
        out[o + c] = np.sqrt(0.5 * (squared + np.abs(squared)))
