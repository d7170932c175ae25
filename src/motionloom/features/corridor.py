"""Point-cloud distances in selected cells of a distance matrix, at a reduced rate.

Each distance has a closed form in terms of inner products of single frames, summed along a diagonal
of the matrix (see `motionloom.features.matrix`). The cells that a match web needs lie in corridors
along diagonals, so the work is arranged by diagonals. Products of one frame with eight consecutive
frames are stored by diagonal, and the sum over a window then reads the same position in several
rows. Sums over neighboring diagonals become a single loop over consecutive numbers, which handles
the three kinds of products together. Products are computed only where a window needs them.

With a stride, cell (i, j) is the distance between frames ``stride * i`` and ``stride * j``. The
poses of a window then fall into residue classes modulo the stride, and each class has separate
products.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from motionloom.kernels import kernel

_LANES = 8  # diagonals processed together
_JOINTS = 9  # joints unrolled at a time: the compiler vectorizes nine, but not 18
_STRIP = 4  # blocks of diagonals processed together
_ROW = _STRIP * _LANES  # lanes of each kind of product: real parts, imaginary parts, heights
_SIDE = 512  # maximum number of rows and columns of a tile
_PITCH = 584  # width of a tile with margins; an odd number of cache lines avoids cache conflicts
_uint = np.uint64  # unsigned, so that no code is generated to check for negative indices


class Clouds(NamedTuple):
    """Point clouds of a motion; see `motionloom.features.matrix.PreparedFrames`.

    Attributes
    ----------
    points : ndarray, shape (T + margins, 3 * P)
        Each row has x of all points, then z, then heights. The window of frame t begins at row t.
    centers : ndarray of complex, shape (T,)
    norms : ndarray, shape (T,)
    """

    points: NDArray[np.float64]
    centers: NDArray[np.complex128]
    norms: NDArray[np.float64]


class _Window(NamedTuple):
    """The K poses of a window, at a stride.

    Attributes
    ----------
    stride : int
        Frames between two rows, or two columns, of the matrix.
    weights : ndarray, shape (K,)
    residues : ndarray of int64, shape (Q,)
        The Q different residues of the poses modulo the stride, one for each class.
    classes : ndarray of int64, shape (K,)
        Class of each pose.
    shifts : ndarray of int64, shape (K,)
        Number of matrix rows from the first pose to each pose, in increasing order. The last is the
        reach of the window.
    """

    stride: int
    weights: NDArray[np.float64]
    residues: NDArray[np.int64]
    classes: NDArray[np.int64]
    shifts: NDArray[np.int64]


class _Tile(NamedTuple):
    """A tile of a distance matrix: `rows` by `columns` cells starting at (`top`, `left`).

    `column` is the first column of the second motion in the whole matrix.
    """

    column: int
    top: int
    left: int
    rows: int
    columns: int


class _Scratch(NamedTuple):
    """Memory for one tile, allocated once; H is tile height plus window reach, C is 3 P, padded.

    Attributes
    ----------
    frames : ndarray, shape (Q, H, C)
        Coordinates of the row frames, stored frame by frame because they are read one at a time.
    columns : ndarray, shape (Q, C, pitch)
        Coordinates of the column frames, stored coordinate by coordinate because they are read
        eight frames at a time.
    products : ndarray, shape (Q * H * 3 * lanes of a strip,)
        Inner products of single frames, ordered by row and then by diagonal.
    flags : ndarray of uint8, shape (side, blocks)
        1 if a row has a marked cell in a block of eight diagonals.
    rows : ndarray of int64, shape (2, strips)
        First and last marked row of each strip of four blocks.
    latest : ndarray of int64, shape (4,)
        Last marked row so far in each block of the current strip.
    sums : ndarray, shape (3 * lanes of a strip,)
        Sums over a window, for each of the three kinds of products.
    about : ndarray, shape (3, side)
        Center (real and imaginary part) and norm of each column of the tile.
    base : ndarray of uint64, shape (K,)
        Offset of the products of each pose relative to those of the row.
    """

    frames: NDArray[np.float64]
    columns: NDArray[np.float64]
    products: NDArray[np.float64]
    flags: NDArray[np.uint8]
    rows: NDArray[np.int64]
    latest: NDArray[np.int64]
    sums: NDArray[np.float64]
    about: NDArray[np.float64]
    base: NDArray[np.uint64]


class Corridor:
    """Computation of window distances at one stride, with the memory it needs.

    Parameters
    ----------
    points : int
        Number of points in a frame.
    step : int
        Number of frames between two poses of a window.
    weights : ndarray, shape (K,)
        Weight of each pose in a window.
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
        self._window = _Window(stride, weights, residues, classes.reshape(-1), shifts)
        self._scratch = _Scratch(
            frames=np.zeros((count, height, coordinates)),
            columns=np.zeros((count, coordinates, _PITCH)),
            products=np.zeros(count * height * 3 * _ROW),
            flags=np.zeros((self.side, strips * _STRIP), np.uint8),
            rows=np.zeros((2, strips), np.int64),
            latest=np.zeros(_STRIP, np.int64),
            sums=np.zeros(3 * _ROW),
            about=np.zeros((3, self.side)),
            base=np.zeros(len(weights), np.uint64),
        )

    @property
    def fits(self) -> bool:
        """True if windows are short enough for the tiles."""
        return self.side >= _SIDE // 8

    def fill(
        self,
        out: NDArray[np.float64],
        where: NDArray[np.uint8],
        column: int,
        a: Clouds,
        b: Clouds,
    ) -> None:
        """Write the distances between two motions, at least in the cells that `where` marks.

        Parameters
        ----------
        out : ndarray, shape (M, N)
        where : ndarray of uint8, shape (M, N)
        column : int
            First column of the motion `b`.
        a, b : Clouds
        """
        flat = where.reshape(-1)
        words = flat[: len(flat) // 8 * 8].view(np.uint64)
        side = self.side
        rows, columns = len(out), -(-len(b.centers) // self._window.stride)
        for top in range(0, rows, side):
            for left in range(0, columns, side):
                shape = min(side, rows - top), min(side, columns - left)
                tile = _Tile(column, top, left, *shape)
                _fill(out, flat, words, tile, a, b, self._window, self._scratch, _uint(_LANES))


@kernel(error_model="numpy", fastmath={"contract"})
def _fill(out, where, words, tile, a, b, window, scratch, lanes):
    """Compute distances in a tile; diagonal d contains row i and column ``i + d - rows + 1``.

    Parameters
    ----------
    out : ndarray, shape (M, N)
        Cells of marked blocks are written.
    where : ndarray of uint8, shape (M * N,)
        Nonzero for the cells that are needed.
    words : ndarray of uint64, shape (M * N // 8,)
        The same memory, read eight cells at a time because most are empty.
    tile : _Tile
    a, b : Clouds
    window : _Window
    scratch : _Scratch
    lanes : uint64
        The constant `_LANES`, passed as an argument so that the compiler does not know its value.

    Notes
    -----
    Strips of four blocks of diagonals are processed one after the other, from their first to their
    last marked row. A window moves along its diagonal by one row at a time, so only the products of
    one row are new. The products of the other rows and the frames of the strip are still in the
    innermost cache. Products are computed up to `reach` rows ahead of a marked cell. Everything is
    in double precision, because squared norms are subtracted. A missing frame (NaN) makes the cells
    of its windows NaN.
    """
    n_rows, n_columns, top, left = tile.rows, tile.columns, tile.top, tile.left
    stride, weights, shifts = window.stride, window.weights, window.shifts
    columns, frames, products = scratch.columns, scratch.frames, scratch.products
    flags, rows, latest, sums = scratch.flags, scratch.rows, scratch.latest, scratch.sums
    about, base = scratch.about, scratch.base
    reach, samples, count = shifts[-1], len(weights), len(window.residues)
    third = a.points.shape[1] // 3
    coordinates, height = columns.shape[1], n_rows + reach
    west, east = _flag(
        flags, rows, where, words, out.shape[1], top, tile.column + left, n_rows, n_columns
    )  # fmt: skip
    if east <= west:
        return  # nothing is marked
    # Blocks of diagonals reach a few columns beyond the marked ones.
    west, east = max(west - _LANES + 1, 0), min(east + _LANES - 1, n_columns)
    north, south = rows[0].min(), rows[1].max() + 1
    for q in range(count):
        residue = window.residues[q]
        first, other = left * stride + residue, top * stride + residue
        _gather(
            columns[q], _LANES, 1, _PITCH, b.points, first, stride, west, east + reach, third
        )  # fmt: skip
        _gather(
            frames[q], 0, coordinates, 1, a.points, other, stride, north, south + reach, third
        )  # fmt: skip
    for c in range(west, east):
        center = b.centers[(left + c) * stride]
        about[0, c], about[1, c] = center.real, center.imag
        about[2, c] = b.norms[(left + c) * stride]
    for k in range(samples):
        base[k] = _uint((window.classes[k] * height + shifts[k]) * 3 * _ROW)
    flat_out, flat_columns, flat_about = out.reshape(-1), columns.reshape(-1), about.reshape(-1)
    flat_frames = frames.reshape(-1)
    strips = flags.view(np.uint32)
    for strip in range((n_rows + n_columns - 2) // (_STRIP * _LANES) + 1):
        latest[:] = -reach - 1  # marked row of each block
        for i in range(rows[0, strip] - reach, rows[1, strip] + 1):
            r = i + reach  # the new row of products for row i
            if r < n_rows and strips[r, strip]:
                for h in range(_STRIP):
                    if flags[r, strip * _STRIP + h]:
                        latest[h] = r
            h = 0
            while h < _STRIP:  # process neighboring blocks together for longer vectors
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
            re, im, norm = a.centers[here].real, a.centers[here].imag, a.norms[here]
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
                for block in range(h, end):
                    j = (strip * _STRIP + block) * _LANES - n_rows + 1 + i
                    low, high = max(0, -j), min(_LANES, n_columns - j)
                    _distances(
                        flat_out, _uint((top + i) * out.shape[1] + tile.column + left + j + low),
                        sums, _uint(block * _LANES + low), re, im, norm,
                        flat_about, _uint(j + low), _uint(about.shape[1]), _uint(high - low),
                    )  # fmt: skip
                h = end + 1


@kernel
def _gather(target, start, frame_pitch, pitch, points, first, stride, low, high, third):
    """Copy x, z and height of every `stride`-th frame, nine joints at a time.

    Frame `c` (`low` to `high`, counted from frame `first` of `points`) begins at ``start + c *
    frame_pitch`` of `target`, and its coordinates are spaced by `pitch`. `third` is P.
    """
    flat = target.reshape(-1)
    for c in range(low, high):
        f = min(first + c * stride, len(points) - 1)  # beyond the end, where no window reaches
        for p in range(third):
            d = (p // _JOINTS * 3 * _JOINTS + p % _JOINTS) * pitch + c * frame_pitch + start
            flat[d] = points[f, p]
            flat[d + _JOINTS * pitch] = points[f, third + p]
            flat[d + 2 * _JOINTS * pitch] = points[f, 2 * third + p]


@kernel
def _flag(flags, rows, where, words, width, top, left, n_rows, n_columns):
    """Mark the blocks of diagonals that contain a marked cell, row by row.

    `where` and `words` are the same cells (see `_fill`) of a matrix with `width` columns. The tile
    begins at row `top` and column `left`. `rows` receives the first and the last row of each strip,
    or an empty range. Returns the first marked column and the column after the last.
    """
    flags[:n_rows] = 0
    rows[0], rows[1] = n_rows + flags.shape[0], -1
    west, east = n_columns, 0
    for i in range(n_rows):
        begin = (top + i) * width + left
        skew = n_rows - 1 - i - begin
        f, end = begin, begin + n_columns
        latest = -1  # marked block
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
    """Compute three products of a frame with consecutive frames: x x' + z z', z x' - x z', y y'.

    The frame has `coordinates` numbers starting at ``frames[frame]``; the `lanes` other frames
    begin at ``columns[first]``. The three products go to rows starting at ``products[at]``. The
    loop over lanes is outside the loop over joints, in which nine joints are unrolled and each lane
    is summed in a register.
    """
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
    """Compute weighted sums of the products in a window, six poses at a time.

    Writes `count` sums starting at ``sums[o]``; the products of pose k begin at ``products[base[k]
    + at]``. Processing six poses at a time reduces the loads and stores of `sums` to a sixth. The
    default eleven poses are processed as six and five.
    """
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
    """Compute the distances of `count` cells from their window sums.

    Cells begin at ``out[o]`` and their sums at ``sums[at]``. `re_a`, `im_a` and `norm` are the
    row's center and norm; those of the columns begin at ``about[j]``, spaced by `width`.
    """
    across, height = at + _uint(_ROW), at + _uint(2 * _ROW)
    im_b, norms = j + width, j + width + width
    for c in range(count):
        re = sums[at + c] - (re_a * about[j + c] + im_a * about[im_b + c])
        im = sums[across + c] + (re_a * about[im_b + c] - im_a * about[j + c])
        overlap = np.sqrt(re * re + im * im) + sums[height + c]
        squared = norm + about[norms + c] - 2.0 * overlap
        # Rounding can make this negative. The sum with its absolute value is never negative.
        out[o + c] = np.sqrt(0.5 * (squared + np.abs(squared)))
