"""Bridges of a match web: paths between chains through the valid region.

Noise interrupts lines of minima, so chains are joined wherever a time alignment within the
valid region leads from one to another over a short distance (Kovar & Gleicher 2004, section
3.2). Of all paths from chain to chain the one with the smallest mean is kept.

For every chain one dynamic programme finds its paths to all chains around. A path that leaves
a chain early and runs beside it is the same connection as one that leaves late: so each cell is
reached from the *last* cell of the chain that leads there, on the cheapest path from it. One
sweep also decides which paths are too long, because the Manhattan length of a path depends
only on its two ends. A path ends at the first chain that it meets: cells beyond are reached by
way of that chain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.kernels import kernel


@dataclass(frozen=True, eq=False)
class Bridges:
    """Bridges of a distance matrix.

    Attributes
    ----------
    leaves, arrives : ndarray of int64, shape (B,)
        Chain cells where each begins and ends.
    cells : ndarray of int32, shape (C, 2)
        Row and column of the cells between, all bridges concatenated.
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
    owner: NDArray[np.int32],
    *,
    max_slope: int,
    reach: float,
) -> Bridges:
    """The best path between each pair of chains, where there is one.

    Parameters
    ----------
    matrix, region : ndarray, shape (M, N)
    starts : ndarray of int64, shape (K + 1,)
    cells, offsets, owner : ndarray
        Chains, as from `motionloom.search.match_web.chains.minima_chains`.
    max_slope : int
    reach : float
        Both ends are less than this many cells apart (Manhattan distance).
    """
    limit = int(np.ceil(reach)) - 1  # the greatest whole number below `reach`
    return Bridges(
        *_bridges(matrix, region, starts, cells, offsets, owner, max_slope, max(limit, 0))
    )


@kernel
def _bridges(matrix, region, starts, cells, offsets, owner, max_slope, limit):
    n_rows = matrix.shape[0]
    states = 2 * max_slope - 1
    n_chains = len(offsets) - 1
    best = np.full(max(n_chains, 1), np.inf)
    end_row = np.empty(max(n_chains, 1), np.int32)
    end_column = np.empty(max(n_chains, 1), np.int32)
    end_state = np.empty(max(n_chains, 1), np.int8)
    touched = np.empty(max(n_chains, 1), np.int64)
    width = (max_slope + 1) * (limit + 1) + 2
    # Two rows of labels: last source, cheapest total from it, number of cells.
    source = np.full((2, width, states), -1, np.int32)
    total = np.empty((2, width, states))
    number = np.empty((2, width, states), np.int32)
    came = np.empty((1, width, states), np.int8)
    base = np.empty(1, np.int64)
    path = np.empty((2 * limit + 2, 2), np.int32)
    leaves, arrives = np.empty(1024, np.int64), np.empty(1024, np.int64)
    between, spans = np.empty((1024, 2), np.int32), np.empty(1025, np.int64)
    spans[0] = 0
    found, filled = 0, 0
    motion = 0
    for c in range(n_chains):
        first, last = offsets[c], offsets[c + 1]
        top = cells[first, 0]
        while starts[motion + 1] <= cells[first, 1]:
            motion += 1
        edge = starts[motion + 1]
        height = min(cells[last - 1, 0] + limit, n_rows - 1) - top + 1
        if height > len(came):
            came = np.empty((height, width, states), np.int8)
            base = np.empty(height, np.int64)
        n_touched = 0
        upcoming = first  # the chain's first cell at or below this row
        behind = first  # its first cell that is still within reach
        low, high = 0, -1  # columns with labels in the row above
        for row in range(height):
            i = top + row
            now, above = row % 2, (row + 1) % 2
            while behind < last - 1 and i - cells[behind, 0] > limit:
                behind += 1
            base[row] = cells[behind, 1]
            own_low = -1
            if upcoming < last and cells[upcoming, 0] == i:
                own_low = cells[upcoming, 1]
            begin = low if high >= low else own_low
            if own_low >= 0 and own_low < begin:
                begin = own_low
            if begin < 0:
                break
            begin = max(begin, base[row])
            new_low, new_high = -1, -2
            j = begin
            shift = base[row - 1] if row > 0 else 0
            while j < edge:
                at = j - base[row]
                if at >= width:
                    break
                is_own = upcoming < last and cells[upcoming, 0] == i and cells[upcoming, 1] == j
                alive = False
                if is_own:
                    for s in range(states):
                        source[now, at, s] = -1
                    source[now, at, 0] = upcoming
                    total[now, at, 0] = matrix[i, j]
                    number[now, at, 0] = 1
                    came[row, at, 0] = -1
                    upcoming += 1
                    alive = True
                elif region[i, j]:
                    alive = _label(
                        source, total, number, came, row, now, above, at, j - shift,
                        low - shift, high - shift,
                        j - 1 - base[row] if new_high == j - 1 else -1,
                        max_slope, matrix[i, j], i + j - limit, cells,
                    )  # fmt: skip
                if alive:
                    if new_low < 0:
                        new_low = j
                    # Cells between labelled ones have no labels.
                    new_high = j
                    target = owner[i, j]
                    if target >= 0 and target != c:
                        s = _best_state(source, total, now, at, states)
                        mean = total[now, at, s] / number[now, at, s]
                        if best[target] == np.inf:
                            touched[n_touched] = target
                            n_touched += 1
                        if mean < best[target]:
                            best[target] = mean
                            end_row[target], end_column[target] = i, j
                            end_state[target] = s
                        for s in range(states):  # no path leads on from here
                            source[now, at, s] = -1
                else:
                    for s in range(states):
                        source[now, at, s] = -1
                    # No path can come from above or from the left any more.
                    if j > high and not (upcoming < last and cells[upcoming, 0] == i):
                        break
                j += 1
            low, high = new_low, new_high
        for t in range(n_touched):
            target = touched[t]
            length = _traced(
                came, base, top, end_row[target], end_column[target], end_state[target],
                max_slope, path,
            )  # fmt: skip
            best[target] = np.inf
            start, stop = len(path) - length, len(path) - 1
            if found == len(leaves):
                leaves = np.concatenate((leaves, np.empty_like(leaves)))
                arrives = np.concatenate((arrives, np.empty_like(arrives)))
                spans = np.concatenate((spans, np.empty_like(spans)))
            while filled + stop - start > len(between):
                between = np.concatenate((between, np.empty_like(between)))
            leaves[found] = _number_of(cells, first, last, path[start])
            arrives[found] = _number_of(cells, offsets[target], offsets[target + 1], path[stop])
            for step in range(start + 1, stop):
                between[filled] = path[step]
                filled += 1
            found += 1
            spans[found] = filled
    return (
        leaves[:found].copy(),
        arrives[:found].copy(),
        between[:filled].copy(),
        spans[: found + 1].copy(),
    )


@kernel
def _label(
    source, total, number, came, row, now, above, at, over, low, high, left, max_slope,
    value, least, cells,
):  # fmt: skip
    """Labels of a cell from those of its three neighbours; whether it has any.

    `over` is the index of the cell above among the labels of its row, which lie in low..high;
    `left` that of the cell to the left, or -1. Sources before Manhattan position `least` are
    out of reach.
    """
    runs = max_slope - 1
    states = 2 * runs + 1
    alive = False
    for s in range(states):
        if s == 0:
            here, at_here, ok = above, over - 1, low <= over - 1 <= high
            first, last, lone = 0, states, -1
        elif s <= runs:
            here, at_here, ok = now, left, left >= 0
            first, last, lone = s - 1, s, -1
            if s == 1:
                first, last, lone = runs + 1, states, 0
        else:
            here, at_here, ok = above, over, low <= over <= high
            first, last, lone = s - 1, s, -1
            if s == runs + 1:
                first, last, lone = 1, runs + 1, 0
        source[now, at, s] = -1
        if not ok:
            continue
        back = -1
        if lone == 0 and source[here, at_here, 0] >= 0:
            back = 0
        for p in range(first, last):
            back = _better_state(source, total, here, at_here, back, p)
        if back < 0:
            continue
        origin = source[here, at_here, back]
        if cells[origin, 0] + cells[origin, 1] < least:
            continue
        source[now, at, s] = origin
        total[now, at, s] = total[here, at_here, back] + value
        number[now, at, s] = number[here, at_here, back] + 1
        came[row, at, s] = back
        alive = True
    return alive


@kernel
def _best_state(source, total, now, at, states):
    best = -1
    for s in range(states):
        best = _better_state(source, total, now, at, best, s)
    return best


@kernel
def _better_state(source, total, row, at, one, other):
    """Of two labels of a cell the one with the later source, then the cheaper; -1 is none."""
    if source[row, at, other] < 0:
        return one
    if one < 0 or source[row, at, other] > source[row, at, one]:
        return other
    if source[row, at, other] < source[row, at, one]:
        return one
    return other if total[row, at, other] < total[row, at, one] else one


@kernel
def _traced(came, base, top, i, j, state, max_slope, path):
    """Trace a path back to its start into the end of `path`; returns its length."""
    runs = max_slope - 1
    at = len(path)
    while True:
        at -= 1
        path[at, 0], path[at, 1] = i, j
        before = came[i - top, j - base[i - top], state]
        if before < 0:
            return len(path) - at
        if state <= runs:
            j -= 1
        if state == 0 or state > runs:
            i -= 1
        state = before


@kernel
def _number_of(cells, first, last, cell):
    """Number of a cell of a chain, whose rows and columns increase."""
    wanted = cell[0] + cell[1]
    while first < last - 1:
        middle = (first + last) // 2
        if cells[middle, 0] + cells[middle, 1] <= wanted:
            first = middle
        else:
            last = middle
    return first
