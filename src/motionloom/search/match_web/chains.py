"""Chains and bridges of a match web (Kovar & Gleicher 2004, section 3.2).

*Chains* are locally optimal time alignments along one-dimensional minima. A chain starts at a
minimum with no other minimum before it in its row, in its column or on the diagonal. It continues
from minimum to minimum: to the next frame of both motions if that is a minimum, and otherwise to
the smaller of the two adjacent cells, as long as at most `max_slope` frames of one motion
correspond to a single frame of the other. Short chains are mostly accidental and are dropped.

Two rules go beyond the paper and can be switched off. First, a chain ends where it meets an earlier
one, so no cell is in two chains. Second, cells that are not near any chain are searched a second
time. The reason is that lines of minima cross and fork. A chain on the wrong branch soon becomes
too steep to continue, and the right branch has no cell where a chain could start. In the second
search, a chain may start at any minimum but must be twice as long, because so many starts also
produce longer accidental chains.

*Bridges* are paths between chains through the valid region. Noise interrupts lines of minima, so
chains are joined wherever a short time alignment within the valid region leads from one to another.
The lowest-cost path from every cell of a chain to every cell of another chain is computed, and the
one with the smallest mean is the bridge.

One dynamic program per chain cell computes its lowest-cost paths to all surrounding cells, and thus
to all chains. At 10 Hz it covers two seconds of both motions combined, about a hundred cells, of
which the valid region and the slope limits exclude some. Only the ends of the best path to each
chain are recorded, and the cells in between are recomputed at the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from motionloom.alignment.valid_region import band_path
from motionloom.kernels import kernel

if TYPE_CHECKING:
    from motionloom.search.match_web.near_cells import NearCells

_TOO_SHORT = 2  # mark of cells from which the second search would follow a chain that is too short


def minima_chains(
    matrix: NDArray[np.float64],
    minima: NDArray[np.uint8],
    starts: NDArray[np.int64],
    *,
    max_slope: int,
    least_length: float,
    shared_cells: bool = False,
    second_pass: bool = True,
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return all chains of a distance matrix.

    Parameters
    ----------
    matrix : ndarray, shape (M, N)
    minima : ndarray of uint8, shape (M, N)
        As returned by `motionloom.alignment.matrix_minima`; other cells are 0.
    starts : ndarray of int64, shape (K + 1,)
        First column of each motion, followed by N. Chains stay within a motion.
    max_slope : int
    least_length : float
        Chains with fewer frames (mean of both motions) are dropped.
    shared_cells : bool
        If True, a chain may continue over cells of earlier chains, as in the paper.
    second_pass : bool
        If True, cells that are not near any chain are searched again.

    Returns
    -------
    cells : ndarray of int32, shape (C, 2)
        Row and column of the cells of all chains, concatenated.
    offsets : ndarray of int64, shape (chains + 1,)
        Chain c has cells ``offsets[c]`` to ``offsets[c + 1]``.
    """
    return _chains(matrix, minima, starts, max_slope, least_length, shared_cells, second_pass)


@kernel
def _chains(matrix, minima, starts, max_slope, least_length, shared_cells, second_pass):
    """Compute cells (C, 2) and offsets (chains + 1,) for `minima_chains`.

    Motions are the outer loop, so chains are ordered by motion. The first pass starts at minima
    without a preceding minimum, and the second at any minimum that is not near a chain (`near`).
    Minima that lead nowhere in the second pass are marked in `taken`, so that they are not followed
    again from every cell before them.
    """
    n_rows = matrix.shape[0]
    cells = np.empty((1024, 2), np.int32)
    offsets = [0]
    count = 0
    path = np.empty((n_rows + matrix.shape[1], 2), np.int32)
    taken = np.zeros(matrix.shape, np.uint8)
    near = np.zeros(matrix.shape, np.uint8)  # cells near a chain
    for k in range(len(starts) - 1):
        first, last = starts[k], starts[k + 1]
        places = _marked(minima, first, last)
        for look in range(2 if second_pass else 1):
            for place in places:
                i, j = place[0], place[1]
                if look == 0 and (
                    (j > first and minima[i, j - 1])
                    or (i > 0 and (minima[i - 1, j] or (j > first and minima[i - 1, j - 1])))
                ):
                    continue
                used = taken if look == 0 else near
                if used[i, j] or taken[i, j] == _TOO_SHORT:
                    continue
                length = _grow(matrix, minima, used, i, j, last, max_slope, path)
                if look == 0 and not shared_cells:
                    for step in range(length):
                        taken[path[step, 0], path[step, 1]] = 1
                covered = path[length - 1, 0] - path[0, 0] + path[length - 1, 1] - path[0, 1]
                if covered / 2.0 + 1.0 < (1 + look) * least_length:
                    if look == 1:
                        _note_short(taken, path, length)
                    continue
                while count + length > len(cells):
                    cells = np.concatenate((cells, np.empty_like(cells)))
                for step in range(length):
                    r, c = path[step, 0], path[step, 1]
                    cells[count + step] = path[step]
                    near[max(r - 1, 0) : r + 2, max(c - 1, first) : min(c + 2, last)] = 1
                count += length
                offsets.append(count)
    return cells[:count].copy(), np.array(offsets)


@kernel
def _marked(minima, first, last):
    """Return the rows and columns of the minima in a range of columns, shape (count, 2)."""
    places, count = np.empty((1024, 2), np.int64), 0
    for i in range(len(minima)):
        line = minima[i, first:last]
        for begin in range(0, len(line), 8):
            end, some = min(begin + 8, len(line)), 0
            for j in range(begin, end):
                some |= line[j]
            if some == 0:
                continue
            if count + 8 > len(places):
                places = np.concatenate((places, np.empty_like(places)))
            for j in range(begin, end):
                if line[j]:
                    places[count, 0], places[count, 1] = i, first + j
                    count += 1
    return places[:count]


@kernel
def _note_short(taken, path, length):
    """Mark cells from which the rest of a rejected short path would be followed again.

    After a diagonal step, a path continues as if it had started there.
    """
    for step in range(1, length):
        i, j = path[step, 0], path[step, 1]
        if i > path[step - 1, 0] and j > path[step - 1, 1]:
            taken[i, j] = _TOO_SHORT


@kernel
def _grow(matrix, minima, used, i, j, last, max_slope, path):
    """Follow minima from (i, j) into `path` up to a used cell; return the path length."""
    n_rows = matrix.shape[0]
    length, right, down = (
        0,
        1,
        1,
    )  # lengths of the current runs of steps to the right and down, plus one
    while True:
        path[length, 0], path[length, 1] = i, j
        length += 1
        can_right = j + 1 < last
        can_down = i + 1 < n_rows
        if can_right and can_down and minima[i + 1, j + 1]:
            i, j, right, down = i + 1, j + 1, 1, 1
        else:
            can_right = can_right and right < max_slope and minima[i, j + 1] != 0
            can_down = can_down and down < max_slope and minima[i + 1, j] != 0
            if can_right and (not can_down or matrix[i, j + 1] <= matrix[i + 1, j]):
                j, right, down = j + 1, right + 1, 1
            elif can_down:
                i, right, down = i + 1, 1, down + 1
            else:
                return length
        if used[i, j]:
            return length


@dataclass(frozen=True, eq=False)
class Bridges:
    """Bridges of a distance matrix.

    Attributes
    ----------
    leaves, arrives : ndarray of int64, shape (B,)
        Chain cells where each bridge starts and ends.
    cells : ndarray of int32, shape (C, 2)
        Row and column of the cells in between, all bridges concatenated.
    offsets : ndarray of int64, shape (B + 1,)
        Bridge b has cells ``offsets[b]`` to ``offsets[b + 1]``, possibly none.
    """

    leaves: NDArray[np.int64]
    arrives: NDArray[np.int64]
    cells: NDArray[np.int32]
    offsets: NDArray[np.int64]


def bridges_between(
    matrix: NDArray[np.float64],
    region: NDArray[np.bool_],
    starts: NDArray[np.int64],
    cells: NDArray[np.int32],
    offsets: NDArray[np.int64],
    *,
    max_slope: int,
    reach: float,
    near: NearCells | None = None,
) -> Bridges:
    """Return the path with the smallest mean between each pair of chains, if one exists.

    Parameters
    ----------
    matrix, region : ndarray, shape (M, N)
    starts : ndarray of int64, shape (K + 1,)
    cells, offsets : ndarray
        Chains, as returned by `motionloom.search.match_web.chains.minima_chains`.
    max_slope : int
    reach : float
        Maximum Manhattan distance between both ends, in cells (exclusive).
    near : NearCells, optional
        If present, only bridges are returned that a match with a mean up to the limit of `near` may
        use. Default: all bridges.
    """
    side = max(int(np.ceil(reach)), 1)  # cells of a path are fewer than `reach` apart
    costs = np.where(region, matrix, np.inf)
    # For each cell of the matrix, the last chain cell there; for each chain cell, another one at
    # the same place, since chains may share cells.
    at = np.full(matrix.shape, -1, np.int32)
    other = np.full(len(cells), -1, np.int32)
    _enter(at, other, cells)
    chain_of = np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), np.diff(offsets))
    # Without a limit, no path is too long.
    nothing = np.zeros((1, 1), np.float32)
    rest = _Rest(near.limit, near.before, near.after) if near else _Rest(-1.0, nothing, nothing)
    slopes = (0,) * max_slope  # see `band_path`
    return Bridges(
        *_bridges(costs, starts, cells, offsets, chain_of, at, other, slopes, side, rest)
    )


class _Rest(NamedTuple):
    """Bounds on how much the rest of a match can lower its mean; see `NearCells`."""

    limit: float  # -1: no limit
    before: NDArray[np.float32]  # (M, N)
    after: NDArray[np.float32]  # (M, N)


class _Rows(NamedTuple):
    """Two rows of the dynamic program in `_chain_means`, with W columns and a margin."""

    totals: NDArray[np.float64]  # (2, max_slope + 1, W + 2)
    counts: NDArray[np.float64]  # (2, max_slope + 1, W + 2)
    rights: NDArray[np.float64]  # (2, max_slope) total and count of paths that go right


@kernel
def _enter(at, other, cells):
    """Write the chain cells (C, 2) to `at` (M, N); `other` (C,) links coinciding cells."""
    for x in range(len(cells)):
        other[x] = at[cells[x, 0], cells[x, 1]]
        at[cells[x, 0], cells[x, 1]] = x


@kernel
def _bridges(costs, starts, cells, offsets, chain_of, at, other, slopes, side, rest):
    """Compute the bridges between all pairs of chains: `leaves`, `arrives`, `cells` and `offsets`.

    `costs` (M, N) is infinite outside the valid region. For each chain, the best path to every
    other chain is updated cell by cell. `touched` lists the chains that are reached, so arrays over
    all chains need not be cleared. The cells of the paths are computed last, because far more pairs
    of ends are compared than bridges are kept.
    """
    n_chains, max_slope = max(len(offsets) - 1, 1), len(slopes)
    best, source = np.full(n_chains, np.inf), np.empty(n_chains, np.int64)
    target, touched = np.empty(n_chains, np.int64), np.empty(n_chains, np.int64)
    ends, means = np.empty(side * side, np.int32), np.empty(side * side)
    size = (2, max_slope + 1, side + 2)
    scratch = _Rows(np.empty(size), np.empty(size), np.empty((2, max_slope)))
    leaves, arrives = np.empty(1024, np.int64), np.empty(1024, np.int64)
    between, spans = np.empty((1024, 2), np.int32), np.empty(1025, np.int64)
    spans[0] = 0
    n_bridges, filled, motion = 0, 0, 0
    for c in range(len(offsets) - 1):
        while starts[motion + 1] <= cells[offsets[c], 1]:
            motion += 1
        n_touched = 0
        for x in range(offsets[c], offsets[c + 1]):
            i, j = cells[x, 0], cells[x, 1]
            n_ends = _chain_means(
                costs, at, i, j, starts[motion + 1], slopes, side, rest, scratch, ends, means
            )
            for e in range(n_ends):
                y = ends[e]
                while y >= 0:
                    to = chain_of[y]
                    if to != c and means[e] < best[to]:
                        if best[to] == np.inf:
                            touched[n_touched] = to
                            n_touched += 1
                        best[to], source[to], target[to] = means[e], x, y
                    y = other[y]
        for t in range(n_touched):
            x, y = source[touched[t]], target[touched[t]]
            best[touched[t]] = np.inf
            i, j = cells[x, 0], cells[x, 1]
            rows, last = cells[y, 0] - i + 1, cells[y, 1] - j
            low, high = np.empty(rows, np.int64), np.empty(rows, np.int64)
            for r in range(rows):  # no path of this slope leads outside
                left = rows - 1 - r
                low[r] = max(r // max_slope, last - max_slope * (left + 1) + 1)
                high[r] = min(max_slope * (r + 1) - 1, last - left // max_slope)
            path, _ = band_path(costs, i, j, low, high, 0, last, slopes)
            if n_bridges == len(leaves):
                leaves = np.concatenate((leaves, np.empty_like(leaves)))
                arrives = np.concatenate((arrives, np.empty_like(arrives)))
                spans = np.concatenate((spans, np.empty_like(spans)))
            while filled + len(path) > len(between):
                between = np.concatenate((between, np.empty_like(between)))
            leaves[n_bridges], arrives[n_bridges] = x, y
            for step in range(1, len(path) - 1):
                between[filled, 0], between[filled, 1] = i + path[step, 0], j + path[step, 1]
                filled += 1
            n_bridges += 1
            spans[n_bridges] = filled
    return (
        leaves[:n_bridges].copy(),
        arrives[:n_bridges].copy(),
        between[:filled].copy(),
        spans[: n_bridges + 1].copy(),
    )


@kernel
def _chain_means(costs, at, i, j, end_column, slopes, side, rest, scratch, ends, means):
    """Compute the means of the lowest-cost paths from cell (i, j) to nearby chain cells.

    Writes the chain cells to `ends` and the means to `means`; returns their number. For each row of
    the dynamic program, `totals` and `counts` have three kinds of entries for column w, at index
    ``w + 1``. Entry 0 is the lowest-cost path, entry 1 is the lowest-cost path that may go down
    next, and entries 2, 3, ... are the paths that end with 1, 2, ... steps down. Paths that end
    with steps to the right are carried along the row.

    Rows are the outer loop, and only columns reached by a path of the previous row are visited:
    `low` to `high`, and further right as long as paths lead there. With a limit, a path is dropped
    as soon as its mean exceeds the limit even with the best cells before and after it.
    """
    totals, counts, rights = scratch.totals, scratch.counts, scratch.rights
    limit, before, after = rest.limit, rest.before, rest.after
    runs = len(slopes) - 1
    height, width = min(side, len(costs) - i), min(side, end_column - j)
    n_ends = 0
    low, high = 0, 0  # columns with paths in the previous row
    right_total, right_count = rights[0], rights[1]
    for r in range(height):
        now, above = r % 2, (r + 1) % 2
        first, end = side, -1
        steep_total, steep_count = (
            np.inf,
            0.0,
        )  # paths of the cell to the left that may go right next
        for run in range(runs):
            right_total[run] = np.inf
        for state in range(runs + 2):
            totals[now, state, low] = np.inf
        w, last = low, min(width, side - r) - 1
        while w <= last and (w <= high + 1 or end == w - 1):
            value, column = costs[i + r, j + w], w + 1
            total, count = np.inf, 0.0
            if value == np.inf:
                steep_total = np.inf
                for run in range(runs):
                    right_total[run] = np.inf
                for state in range(runs + 2):
                    totals[now, state, column] = np.inf
                w += 1
                continue
            # A path that advances in both motions, or starts here.
            if r == 0:
                diagonal, n_diagonal = (value, 1.0) if w == 0 else (np.inf, 0.0)
            elif w <= high + 1:
                diagonal, n_diagonal = totals[above, 0, w] + value, counts[above, 0, w] + 1.0
            else:
                diagonal, n_diagonal = np.inf, 0.0
            # Steps to the right.
            total, count = diagonal, n_diagonal
            for run in range(runs - 1, 0, -1):
                right_total[run] = right_total[run - 1] + value
                right_count[run] = right_count[run - 1] + 1.0
                if right_total[run] < total:
                    total, count = right_total[run], right_count[run]
            if runs > 0:
                right_total[0], right_count[0] = steep_total + value, steep_count + 1.0
                if right_total[0] < total:
                    total, count = right_total[0], right_count[0]
            totals[now, 1, column], counts[now, 1, column] = total, count
            # Steps down.
            steep_total, steep_count = diagonal, n_diagonal
            if r > 0 and w <= high:
                for run in range(runs):
                    down = totals[above, run + 1, column] + value
                    n_down = counts[above, run + 1, column] + 1.0
                    totals[now, run + 2, column], counts[now, run + 2, column] = down, n_down
                    if down < steep_total:
                        steep_total, steep_count = down, n_down
                    if down < total:
                        total, count = down, n_down
            else:
                for run in range(runs):
                    totals[now, run + 2, column] = np.inf
            if limit >= 0.0 and total < np.inf:
                # The maximum number of cells, and the best possible cells before and after them.
                gain = before[i, j] + after[i + r, j + w]
                if limit * (r + w + 1) - total + gain < 0.0:
                    total, steep_total = np.inf, np.inf
                    for run in range(runs):
                        right_total[run] = np.inf
                    for state in range(1, runs + 2):
                        totals[now, state, column] = np.inf
            totals[now, 0, column], counts[now, 0, column] = total, count
            if total < np.inf:
                first, end = min(first, w), w
                y = at[i + r, j + w]
                if y >= 0 and r + w > 0:
                    ends[n_ends], means[n_ends] = y, total / count
                    n_ends += 1
            w += 1
        if end < 0:
            break
        for state in range(runs + 2):
            totals[now, state, end + 2] = np.inf
        low, high = first, end
    return n_ends
