"""Coarse-to-fine refinement of a match web: paths found at 10 Hz are refined to the full rate.

A path is padded and upsampled to a band of the finer matrix. The new ends of a chain are the
smallest cells around the old ends. The new ends of a bridge lie on the refined chains that it
joins. The lowest-cost path within the band connects the two ends (Kovar & Gleicher 2004, section
3.2, figure 8). A chain may then be extended along minima of the finer matrix, by up to one coarse
cell on either side, which matters mainly at the ends of motions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from motionloom.alignment.valid_region import band_path
from motionloom.kernels import kernel
from motionloom.search.match_web.web import Web, WebLimits

_COARSEST = 10.0  # frames per second of the coarsest level
_STRIDES = (
    1,
    3,
    6,
    12,
    24,
    48,
)  # 60 fps: 10, 20, 60 as in the paper; 30 fps: 10, 30


def strides(rate: float) -> tuple[int, ...]:
    """Return the strides at which a web at `rate` is built, from the coarsest to 1.

    Examples
    --------
    >>> strides(60), strides(30), strides(24)
    ((6, 3, 1), (3, 1), (1,))
    """
    used = [stride for stride in _STRIDES if stride == 1 or rate / stride >= _COARSEST]
    return tuple(sorted(used, reverse=True))


def corridor(
    web: Web,
    coarse_starts: NDArray[np.int64],
    shape: tuple[int, int],
    starts: NDArray[np.int64],
    *,
    ratio: int,
    limits: WebLimits,
) -> NDArray[np.uint8]:
    """Mark the cells of a finer level that the refinement of a web reads.

    These are bands around its paths and around the ends of its chains.

    Parameters
    ----------
    web : Web
        Web of the coarser level.
    coarse_starts, starts : ndarray of int64, shape (K + 1,)
        Where the columns of each motion start, at the coarser and at the finer level.
    shape : tuple of int
        Rows and columns of the finer level.
    ratio : int
        Rows of the finer level per row of the coarser one.
    limits : WebLimits

    Returns
    -------
    where : ndarray of uint8
        1 in these cells, 0 elsewhere.
    """
    where = np.zeros(shape, np.uint8)
    # A refined chain ends at most half a coarse cell from the old end, and continues by at most two
    # coarse cells, where neighbors are compared.
    beyond = ratio // 2 + 2 * ratio + 1 if limits.extended_chains else ratio
    _mark(where, web.cells, web.offsets, web.chain_count, coarse_starts, starts, ratio, beyond)
    return where


def refined(
    web: Web,
    coarse_starts: NDArray[np.int64],
    matrix: NDArray[np.float64],
    starts: NDArray[np.int64],
    *,
    ratio: int,
    limits: WebLimits,
) -> Web:
    """Refine a web of one level on the next finer level.

    Parameters
    ----------
    web : Web
        Web of the coarser level.
    coarse_starts, starts : ndarray of int64, shape (K + 1,)
        Where the columns of each motion start, at the coarser and at the finer level.
    matrix : ndarray, shape (M, N)
        Distances of the finer level; only the cells of `corridor` are read.
    ratio : int
        Rows of the finer level per row of the coarser one.
    limits : WebLimits

    Returns
    -------
    web : Web
        Web of the finer level. Paths without a time alignment in their band are dropped.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # unread cells may contain anything
        costs = matrix * matrix if limits.squares else matrix
    finer = _Finer(costs, starts, coarse_starts, ratio, (0,) * limits.max_slope)
    chain_offsets = web.offsets[: web.chain_count + 1]
    extended = 2 * ratio if limits.extended_chains else 0
    cells, offsets, number = _refined_chains(web.cells, chain_offsets, finer, extended)
    between, spans, leaves, arrives = _refined_bridges(
        web.cells, web.offsets, web.chain_count, web.leaves, web.arrives,
        cells, offsets, number, finer,
    )  # fmt: skip
    every = np.concatenate([cells, between])
    return Web(
        (matrix.shape[0], matrix.shape[1]),
        web.rate * ratio,
        every,
        matrix[every[:, 0], every[:, 1]].astype(np.float32),
        np.concatenate([offsets, offsets[-1] + spans[1:]]),
        len(offsets) - 1,
        leaves,
        arrives,
    )


class _Finer(NamedTuple):
    """Finer level of a web, with M rows and N columns, and its relation to the coarser level.

    Attributes
    ----------
    matrix : ndarray, shape (M, N)
        Costs of the cells. Only the cells of `corridor` have defined values.
    starts, coarse_starts : ndarray of int64, shape (K + 1,)
        Where the columns of each motion start, at the finer and at the coarser level.
    ratio : int
        Rows of the finer level per row of the coarser one.
    slopes : tuple of int
        One for each slope up to `max_slope`; see `motionloom.alignment.valid_region.band_path`.
    """

    matrix: NDArray[np.float64]
    starts: NDArray[np.int64]
    coarse_starts: NDArray[np.int64]
    ratio: int
    slopes: tuple[int, ...]


@kernel
def _mark(where, cells, offsets, chain_count, coarse_starts, starts, ratio, beyond):
    """Mark in `where` (M, N) the bands around the paths of a web, `beyond` cells past chain ends.

    `cells` (C, 2) and `offsets` (P + 1,) are the paths of the coarser level, chains first.
    """
    k = 0
    for p in range(len(offsets) - 1):
        c, last = offsets[p], offsets[p + 1]
        if c == last:
            continue
        k = np.searchsorted(coarse_starts, cells[c, 1], side="right") - 1
        first_column, end_column = starts[k], starts[k + 1]
        shift = starts[k] - coarse_starts[k] * ratio
        if p < chain_count:
            for end in (c, last - 1):
                before, after = (beyond, ratio) if end == c else (ratio, beyond)
                row, column = cells[end, 0] * ratio, cells[end, 1] * ratio + shift
                low, high = max(column - before, first_column), min(column + after + 1, end_column)
                for i in range(max(row - before, 0), min(row + after + 1, len(where))):
                    for j in range(low, high):
                        where[i, j] = 1
        while c < last:
            row, low = cells[c, 0] * ratio, cells[c, 1] * ratio + shift - ratio
            c += 1
            while c < last and cells[c, 0] * ratio == row:
                c += 1
            high = min(cells[c - 1, 1] * ratio + shift + ratio + 1, end_column)
            low = max(low, first_column)
            for i in range(max(row - ratio, 0), min(row + ratio + 1, len(where))):
                for j in range(low, high):
                    where[i, j] = 1


@kernel
def _refined_chains(cells, offsets, finer, extended):
    """Return the cells and offsets of the refined chains, and the new number of each coarse chain.

    The number is -1 for dropped chains. `cells` (C, 2) and `offsets` (chains + 1,) belong to the
    coarser level. Refined chains follow up to `extended` minima beyond either end.
    """
    ratio, coarse_starts = finer.ratio, finer.coarse_starts
    out = np.empty((max(1024, 2 * ratio * len(cells)), 2), np.int32)
    spans = np.zeros(len(offsets), np.int64)
    number = np.full(len(offsets) - 1, -1, np.int64)
    n_chains, filled = 0, 0
    near = ratio // 2
    for c in range(len(offsets) - 1):
        path = cells[offsets[c] : offsets[c + 1]]
        k = np.searchsorted(coarse_starts, path[0, 1], side="right") - 1
        fine = np.empty((0, 2), np.int64)
        # If no path joins the smallest cells near the ends, use the ends themselves; if the first
        # or last cells of a chain are too steep, drop those cells.
        for attempt in range(4):
            cut = max(0, attempt - 1)
            if len(fine) > 0 or len(path) <= 2 * cut + 1:
                break
            part, about = path[cut : len(path) - cut], near if attempt == 0 else 0
            start, end = _smallest(finer, about, part[0], k), _smallest(finer, about, part[-1], k)
            fine = _through_band(part, start, end, finer, k)
        if len(fine) == 0:
            continue
        before = _continued(fine, -1, finer, extended, k)
        after = _continued(fine, 1, finer, extended, k)
        fine = np.concatenate((before[::-1], fine, after))
        while filled + len(fine) > len(out):
            out = np.concatenate((out, np.empty_like(out)))
        out[filled : filled + len(fine)] = fine
        filled += len(fine)
        number[c] = n_chains
        n_chains += 1
        spans[n_chains] = filled
    return out[:filled].copy(), spans[: n_chains + 1].copy(), number


@kernel
def _refined_bridges(
    cells, offsets, chain_count, leaves, arrives, chain_cells, chain_offsets, number, finer
):  # fmt: skip
    """Return the refined bridges: the cells between their ends, offsets, and the ends on chains.

    `cells` (C, 2), `offsets` (P + 1,), `leaves` and `arrives` (B,) belong to the coarser web, whose
    first `chain_count` paths are chains. `chain_cells`, `chain_offsets` and `number` are the
    results of `_refined_chains`. A bridge is dropped if one of its chains was dropped.
    """
    ratio, coarse_starts = finer.ratio, finer.coarse_starts
    out = np.empty((max(1024, 2 * ratio * (len(cells) - offsets[chain_count])), 2), np.int32)
    spans = np.zeros(len(leaves) + 1, np.int64)
    new_leaves, new_arrives = np.empty_like(leaves), np.empty_like(arrives)
    n_bridges, filled = 0, 0
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
        left = _on_chain(path[0], number[of_leave], chain_cells, chain_offsets, finer, k)
        come = _on_chain(path[-1], number[of_arrive], chain_cells, chain_offsets, finer, k)
        # Try the smallest cells near the old ends and, if no path joins them, the cells that
        # are farthest from each other.
        for attempt in range(2):
            start, end = (left[0], come[0]) if attempt == 0 else (left[1], come[2])
            fine = _through_band(path, chain_cells[start], chain_cells[end], finer, k)
            if len(fine) > 1:
                break
        if len(fine) < 2:
            continue
        while filled + len(fine) > len(out):
            out = np.concatenate((out, np.empty_like(out)))
        out[filled : filled + len(fine) - 2] = fine[1:-1]
        filled += len(fine) - 2
        new_leaves[n_bridges], new_arrives[n_bridges] = start, end
        n_bridges += 1
        spans[n_bridges] = filled
    return (
        out[:filled].copy(),
        spans[: n_bridges + 1].copy(),
        new_leaves[:n_bridges].copy(),
        new_arrives[:n_bridges].copy(),
    )


@kernel
def _smallest(finer, near, cell, k):
    """Return the smallest fine cell within `near` cells of a coarse cell, in motion k."""
    matrix, starts = finer.matrix, finer.starts
    ratio, coarse_starts = finer.ratio, finer.coarse_starts
    row, column = cell[0] * ratio, starts[k] + (cell[1] - coarse_starts[k]) * ratio
    best = np.inf
    smallest = np.array([row, column])
    for i in range(max(row - near, 0), row + near + 1):
        if i >= len(matrix):
            break
        for j in range(max(column - near, starts[k]), column + near + 1):
            if j >= starts[k + 1]:
                break
            value = matrix[i, j]
            if value < best:
                best = value
                smallest[0], smallest[1] = i, j
    return smallest


@kernel
def _continued(path, direction, finer, most, k):
    """Return up to `most` minima after the end (`direction` 1) or before the start (-1)."""
    matrix, starts, slopes = finer.matrix, finer.starts, finer.slopes
    out = np.empty((most, 2), np.int64)
    end = len(path) - 1 if direction > 0 else 0
    i, j = path[end, 0], path[end, 1]
    right, down = 1, 1  # lengths of the horizontal and vertical runs at this end
    while 0 <= end - direction * right < len(path) and path[end - direction * right, 0] == i:
        right += 1
    while 0 <= end - direction * down < len(path) and path[end - direction * down, 1] == j:
        down += 1
    for step in range(most):
        if _is_minimum(matrix, starts, k, i + direction, j + direction):
            i, j, right, down = i + direction, j + direction, 1, 1
        elif right < len(slopes) and _is_minimum(matrix, starts, k, i, j + direction):
            j, right, down = j + direction, right + 1, 1
        elif down < len(slopes) and _is_minimum(matrix, starts, k, i + direction, j):
            i, right, down = i + direction, 1, down + 1
        else:
            return out[:step]
        out[step, 0], out[step, 1] = i, j
    return out


@kernel
def _is_minimum(matrix, starts, k, i, j):
    """Return whether a fine cell is a local minimum of its row or column."""
    first, last = starts[k], starts[k + 1] - 1
    if i < 0 or i >= len(matrix) or j < first or j > last:
        return False
    value = matrix[i, j]
    if first < j < last and value <= matrix[i, j - 1] and value < matrix[i, j + 1]:
        return True
    return 0 < i < len(matrix) - 1 and value <= matrix[i - 1, j] and value < matrix[i + 1, j]


@kernel
def _on_chain(cell, chain, cells, offsets, finer, k):
    """Return cells of a refined chain near a coarse cell: the smallest, the first and the last.

    If the chain stays more than a coarse cell away, all three are its nearest cell.
    """
    matrix, starts = finer.matrix, finer.starts
    ratio, coarse_starts = finer.ratio, finer.coarse_starts
    row, column = cell[0] * ratio, starts[k] + (cell[1] - coarse_starts[k]) * ratio
    smallest, first, last = -1, -1, -1
    best, end = np.inf, offsets[chain + 1]
    # The sum of row and column increases along a chain.
    low, high = offsets[chain], end
    while low < high:
        middle = (low + high) // 2
        if cells[middle, 0] + cells[middle, 1] < row + column - 2 * ratio:
            low = middle + 1
        else:
            high = middle
    for c in range(low, end):
        i, j = cells[c, 0], cells[c, 1]
        if i + j > row + column + 2 * ratio:
            break
        if max(abs(i - row), abs(j - column)) > ratio:
            continue
        if first < 0:
            first = c
        last = c
        if matrix[i, j] < best:
            best, smallest = matrix[i, j], c
    if first >= 0:
        return smallest, first, last
    nearest, gap = offsets[chain], np.inf
    for c in range(offsets[chain], end):
        away = max(abs(cells[c, 0] - row), abs(cells[c, 1] - column))
        if away < gap:
            gap, nearest = away, c
    return nearest, nearest, nearest


@kernel
def _through_band(path, start, end, finer, k):
    """Return the lowest-cost path from `start` to `end` in the band around a coarse path, if any.

    Cells belong to the finer level. The band extends `ratio` cells on all sides.
    """
    starts, coarse_starts, ratio = finer.starts, finer.coarse_starts, finer.ratio
    empty = np.empty((0, 2), np.int64)
    top, rows = start[0], end[0] - start[0] + 1
    if rows < 1 or end[1] < start[1]:
        return empty
    low, high = np.full(rows, end[1] + 1), np.full(rows, start[1] - 1)
    for cell in path:
        row, column = cell[0] * ratio, starts[k] + (cell[1] - coarse_starts[k]) * ratio
        for i in range(max(row - ratio, top), min(row + ratio, end[0]) + 1):
            low[i - top] = min(low[i - top], column - ratio)
            high[i - top] = max(high[i - top], column + ratio)
    if low[0] > start[1] or high[-1] < end[1]:  # an end lies outside the band
        return empty
    for r in range(rows):
        low[r], high[r] = max(low[r], start[1]), min(high[r], end[1])
        if r > 0:
            low[r] = max(low[r], low[r - 1])
            high[r] = max(high[r], high[r - 1])
        if low[r] > high[r]:
            return empty
    fine, _ = band_path(finer.matrix, top, 0, low, high, start[1], end[1], finer.slopes)
    fine[:, 0] += top
    return fine
