"""Coarse-to-fine refinement of a match web: paths found at 10 Hz, refined to the full rate.

A path is padded and upsampled to a band of the finer matrix. The new ends of a chain are the
smallest cells around the old ones, those of a bridge lie on the refined chains that it joins;
the cheapest path within the band connects them (Kovar & Gleicher 2004, section 3.2, figure 8).
Then a chain may follow minima of the finer matrix by up to a coarse cell on either side, which
matters at the ends of motions above all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.alignment.monotone_path import band_path
from motionloom.kernels import kernel
from motionloom.ragged import offsets_of, row_of
from motionloom.search.match_web.web import Web

_COARSEST = 10.0  # frames per second of the coarsest level
_STRIDES = (1, 3, 6, 12, 24, 48)  # 60 fps go 10, 20, 60 as in the paper; 30 fps 10, 30


@dataclass(frozen=True, eq=False)
class Level:
    """A distance matrix at a reduced rate.

    Attributes
    ----------
    matrix : ndarray, shape (M, N)
        Distances of all frames.
    starts : ndarray of int64, shape (K + 1,)
        Where the columns of each motion begin.
    stride : int
        Frames of each motion from one that is used to the next.
    """

    matrix: NDArray[np.float64]
    starts: NDArray[np.int64]
    stride: int

    @property
    def own_starts(self) -> NDArray[np.int64]:
        """Where each motion begins among the columns of this level."""
        lengths = -(-np.diff(self.starts) // self.stride)
        return offsets_of(lengths)

    @property
    def rows(self) -> int:
        """Number of rows of this level."""
        return -(-len(self.matrix) // self.stride)

    def values(self) -> NDArray[np.float64]:
        """Distance matrix of this level."""
        if self.stride == 1:
            return self.matrix
        spans = zip(self.starts[:-1], self.starts[1:], strict=True)
        columns = [np.arange(first, last, self.stride) for first, last in spans]
        return self.matrix[:: self.stride][:, np.concatenate(columns)]


def strides(rate: float) -> tuple[int, ...]:
    """Strides at which a web at `rate` is built, from the coarsest to 1.

    Examples
    --------
    >>> strides(60), strides(30), strides(24)
    ((6, 3, 1), (3, 1), (1,))
    """
    used = [stride for stride in _STRIDES if stride == 1 or rate / stride >= _COARSEST]
    return tuple(sorted(used, reverse=True))


def refined(web: Web, coarse: Level, fine: Level, *, max_slope: int) -> Web:
    """A web of one level, refined on the next.

    Parameters
    ----------
    web : Web
        Of the level `coarse`.
    coarse, fine : Level
        Of one matrix; the coarse stride is a multiple of the fine one.
    max_slope : int

    Returns
    -------
    web : Web
        Of the level `fine`. Paths in whose bands no time alignment is are left out.
    """
    ratio = coarse.stride // fine.stride
    place = (
        fine.matrix, fine.stride, fine.starts, fine.own_starts, coarse.own_starts, ratio, max_slope
    )  # fmt: skip
    chain_offsets = web.offsets[: web.chain_count + 1]
    cells, offsets, number = _refined_chains(web.cells, chain_offsets, *place)
    between, spans, leaves, arrives = _refined_bridges(
        web.cells, web.offsets, web.chain_count, web.leaves, web.arrives,
        cells, offsets, number, *place,
    )  # fmt: skip
    every = np.concatenate([cells, between])
    own = fine.own_starts
    motion = row_of(own, every[:, 1])
    columns = fine.starts[motion] + (every[:, 1] - own[motion]) * fine.stride
    return Web(
        (fine.rows, int(own[-1])),
        web.rate * ratio,
        every,
        fine.matrix[every[:, 0].astype(np.int64) * fine.stride, columns].astype(np.float32),
        np.concatenate([offsets, offsets[-1] + spans[1:]]),
        len(offsets) - 1,
        leaves,
        arrives,
    )


@kernel
def _refined_chains(
    cells, offsets, matrix, stride, starts, own_starts, coarse_starts, ratio, max_slope
):
    """Chains of the finer level: cells, offsets, and each coarse chain's number or -1."""
    out = np.empty((max(1024, 2 * ratio * len(cells)), 2), np.int32)
    spans = np.zeros(len(offsets), np.int64)
    number = np.full(len(offsets) - 1, -1, np.int64)
    found, filled = 0, 0
    near = ratio // 2
    for c in range(len(offsets) - 1):
        path = cells[offsets[c] : offsets[c + 1]]
        k = np.searchsorted(coarse_starts, path[0, 1], side="right") - 1
        fine = np.empty((0, 2), np.int64)
        # Where no path joins the smallest cells near the ends, take the ends themselves; a
        # chain whose first or last cells are too steep to be kept goes without those.
        for attempt in range(4):
            cut = max(0, attempt - 1)
            if len(fine) > 0 or len(path) <= 2 * cut + 1:
                break
            part, about = path[cut : len(path) - cut], near if attempt == 0 else 0
            where = (matrix, stride, starts, own_starts, coarse_starts, ratio, about)
            start, end = _smallest(*where, part[0], k), _smallest(*where, part[-1], k)
            fine = _through_band(
                part, start, end, matrix, stride, starts, own_starts, coarse_starts, ratio,
                max_slope, k,
            )  # fmt: skip
        if len(fine) == 0:
            continue
        before = _continued(fine, -1, matrix, stride, starts, own_starts, ratio, max_slope, k)
        after = _continued(fine, 1, matrix, stride, starts, own_starts, ratio, max_slope, k)
        fine = np.concatenate((before[::-1], fine, after))
        while filled + len(fine) > len(out):
            out = np.concatenate((out, np.empty_like(out)))
        out[filled : filled + len(fine)] = fine
        filled += len(fine)
        number[c] = found
        found += 1
        spans[found] = filled
    return out[:filled].copy(), spans[: found + 1].copy(), number


@kernel
def _refined_bridges(
    cells, offsets, chain_count, leaves, arrives, chain_cells, chain_offsets, number,
    matrix, stride, starts, own_starts, coarse_starts, ratio, max_slope,
):  # fmt: skip
    """Bridges of the finer level: cells between, offsets, where they leave and arrive."""
    out = np.empty((max(1024, 2 * ratio * (len(cells) - offsets[chain_count])), 2), np.int32)
    spans = np.zeros(len(leaves) + 1, np.int64)
    new_leaves, new_arrives = np.empty_like(leaves), np.empty_like(arrives)
    found, filled = 0, 0
    for b in range(len(leaves)):
        of_leave = np.searchsorted(offsets[: chain_count + 1], leaves[b], side="right") - 1
        of_arrive = np.searchsorted(offsets[: chain_count + 1], arrives[b], side="right") - 1
        if number[of_leave] < 0 or number[of_arrive] < 0:
            continue
        own = cells[offsets[chain_count + b] : offsets[chain_count + b + 1]]
        path = np.empty((len(own) + 2, 2), np.int32)
        path[0], path[-1] = cells[leaves[b]], cells[arrives[b]]
        path[1:-1] = own
        k = np.searchsorted(coarse_starts, path[0, 1], side="right") - 1
        left = _on_chain(
            path[0], number[of_leave], chain_cells, chain_offsets,
            matrix, stride, starts, own_starts, coarse_starts, ratio, k,
        )  # fmt: skip
        come = _on_chain(
            path[-1], number[of_arrive], chain_cells, chain_offsets,
            matrix, stride, starts, own_starts, coarse_starts, ratio, k,
        )  # fmt: skip
        # The smallest cells near the old ends; should no path join them, those farthest apart.
        for attempt in range(2):
            start, end = (left[0], come[0]) if attempt == 0 else (left[1], come[2])
            fine = _through_band(
                path, chain_cells[start], chain_cells[end],
                matrix, stride, starts, own_starts, coarse_starts, ratio, max_slope, k,
            )  # fmt: skip
            if len(fine) > 1:
                break
        if len(fine) < 2:
            continue
        while filled + len(fine) > len(out):
            out = np.concatenate((out, np.empty_like(out)))
        out[filled : filled + len(fine) - 2] = fine[1:-1]
        filled += len(fine) - 2
        new_leaves[found], new_arrives[found] = start, end
        found += 1
        spans[found] = filled
    return (
        out[:filled].copy(),
        spans[: found + 1].copy(),
        new_leaves[:found].copy(),
        new_arrives[:found].copy(),
    )


@kernel
def _smallest(matrix, stride, starts, own_starts, coarse_starts, ratio, near, cell, k):
    """The smallest cell of the finer level within `near` cells of a coarse one."""
    row, column = cell[0] * ratio, own_starts[k] + (cell[1] - coarse_starts[k]) * ratio
    best = np.inf
    found = np.array([row, column])
    for i in range(max(row - near, 0), row + near + 1):
        if i * stride >= len(matrix):
            break
        for j in range(max(column - near, own_starts[k]), column + near + 1):
            if j >= own_starts[k + 1]:
                break
            value = matrix[i * stride, starts[k] + (j - own_starts[k]) * stride]
            if value < best:
                best = value
                found[0], found[1] = i, j
    return found


@kernel
def _continued(path, direction, matrix, stride, starts, own_starts, ratio, max_slope, k):
    """Minima beyond the end of a path (`direction` 1), or before its start (-1), nearest first."""
    most = 2 * ratio
    out = np.empty((most, 2), np.int64)
    end = len(path) - 1 if direction > 0 else 0
    i, j = path[end, 0], path[end, 1]
    right, down = 1, 1  # frames side by side, and stacked, at this end
    while 0 <= end - direction * right < len(path) and path[end - direction * right, 0] == i:
        right += 1
    while 0 <= end - direction * down < len(path) and path[end - direction * down, 1] == j:
        down += 1
    for step in range(most):
        if _is_minimum(matrix, stride, starts, own_starts, k, i + direction, j + direction):
            i, j, right, down = i + direction, j + direction, 1, 1
        elif right < max_slope and _is_minimum(
            matrix, stride, starts, own_starts, k, i, j + direction
        ):
            j, right, down = j + direction, right + 1, 1
        elif down < max_slope and _is_minimum(
            matrix, stride, starts, own_starts, k, i + direction, j
        ):
            i, right, down = i + direction, 1, down + 1
        else:
            return out[:step]
        out[step, 0], out[step, 1] = i, j
    return out


@kernel
def _is_minimum(matrix, stride, starts, own_starts, k, i, j):
    """Whether a cell of the finer level is the least of its row or column there."""
    rows = (len(matrix) + stride - 1) // stride
    first, last = own_starts[k], own_starts[k + 1] - 1
    if i < 0 or i >= rows or j < first or j > last:
        return False
    r, c = i * stride, starts[k] + (j - first) * stride
    value = matrix[r, c]
    if first < j < last and value <= matrix[r, c - stride] and value < matrix[r, c + stride]:
        return True
    return 0 < i < rows - 1 and value <= matrix[r - stride, c] and value < matrix[r + stride, c]


@kernel
def _on_chain(
    cell, chain, cells, offsets, matrix, stride, starts, own_starts, coarse_starts, ratio, k
):
    """Cells of a refined chain about a coarse cell: the smallest, the first and the last."""
    row, column = cell[0] * ratio, own_starts[k] + (cell[1] - coarse_starts[k]) * ratio
    smallest, first, last = -1, -1, -1
    nearest = offsets[chain]
    best, gap = np.inf, np.inf
    for c in range(offsets[chain], offsets[chain + 1]):
        i, j = cells[c, 0], cells[c, 1]
        away = max(abs(i - row), abs(j - column))
        if away < gap:
            gap, nearest = away, c
        if away > ratio:
            continue
        if first < 0:
            first = c
        last = c
        value = matrix[i * stride, starts[k] + (j - own_starts[k]) * stride]
        if value < best:
            best, smallest = value, c
    if first < 0:
        return nearest, nearest, nearest
    return smallest, first, last


@kernel
def _through_band(
    path, start, end, matrix, stride, starts, own_starts, coarse_starts, ratio, max_slope, k
):
    """The cheapest path from `start` to `end` in the band about a coarse path; maybe none.

    Cells are those of the finer level. The band is `ratio` cells wide on all sides.
    """
    empty = np.empty((0, 2), np.int64)
    top, rows = start[0], end[0] - start[0] + 1
    if rows < 1 or end[1] < start[1]:
        return empty
    low, high = np.full(rows, end[1] + 1), np.full(rows, start[1] - 1)
    for cell in path:
        row, column = cell[0] * ratio, own_starts[k] + (cell[1] - coarse_starts[k]) * ratio
        for i in range(max(row - ratio, top), min(row + ratio, end[0]) + 1):
            low[i - top] = min(low[i - top], column - ratio)
            high[i - top] = max(high[i - top], column + ratio)
    low[0], high[-1] = min(low[0], start[1]), max(high[-1], end[1])
    for r in range(rows):
        low[r], high[r] = max(low[r], start[1]), min(high[r], end[1])
        if r > 0:
            low[r] = max(low[r], low[r - 1])
            high[r] = max(high[r], high[r - 1])
        if low[r] > high[r]:
            return empty
    found, _ = band_path(
        matrix, top * stride, starts[k] - own_starts[k] * stride, stride,
        low, high, start[1], end[1], max_slope,
    )  # fmt: skip
    found[:, 0] += top
    return found
