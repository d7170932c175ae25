"""Index of many webs for searching: flat arrays and an interval index.

Frames of all motions are numbered consecutively, so that a cell is a pair of such numbers and
the webs of all pairs of motions are one network of paths. A pair is stored once and read both
ways: the query's motion may be that of the rows or that of the columns. In either direction
the index finds the paths that pass a frame without visiting the others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.alignment import MAX_SLOPE
from motionloom.kernels import kernel
from motionloom.ragged import offsets_of, row_of
from motionloom.search.match_web.web import Web

_BLOCK = 6  # frames per block of the index, as a power of two: 64, about a second


@dataclass(frozen=True, eq=False)
class WebIndex:
    """Paths of many webs; built by `web_index`.

    Attributes
    ----------
    starts : ndarray of int64, shape (M + 1,)
        Where the frames of each motion begin.
    cells : ndarray of int32, shape (C, 2)
        Pairs of frames.
    sums : ndarray of float64, shape (C + 1,)
        Cumulative sums of the distances at the cells.
    offsets : ndarray of int64, shape (P + 1,)
        Path p has cells ``offsets[p]`` to ``offsets[p + 1]``.
    bridge_of : ndarray of int64, shape (P,)
        Number of the bridge of a path, or -1 for a chain.
    leaves, arrives : ndarray of int64, shape (B,)
        Chain cells that each bridge joins; `leaves` is sorted.
    bridge_paths, arrive_paths : ndarray of int64, shape (B,)
        Path of the cells of each bridge, and of the chain that it arrives at.
    passing : tuple of (bounds, paths)
        For rows and for columns: paths that pass the frames of block k are
        ``paths[bounds[k]:bounds[k + 1]]``.
    greatest : float
        The greatest distance at any cell, squared if `squares`.
    max_slope : int
        Cells of a match in one row or column, at most.
    squares : bool
        Whether `sums` are of squared distances.
    """

    starts: NDArray[np.int64]
    cells: NDArray[np.int32]
    sums: NDArray[np.float64]
    offsets: NDArray[np.int64]
    bridge_of: NDArray[np.int64]
    leaves: NDArray[np.int64]
    arrives: NDArray[np.int64]
    bridge_paths: NDArray[np.int64]
    arrive_paths: NDArray[np.int64]
    passing: tuple[tuple[NDArray[np.int64], NDArray[np.int64]], ...]
    greatest: float
    max_slope: int = MAX_SLOPE
    squares: bool = False

    def starting(self, direction: int, frame: int) -> NDArray[np.int64]:
        """Paths with a cell in a row (`direction` 0) or column (1), shape (S,)."""
        bounds, paths = self.passing[direction]
        block = frame >> _BLOCK
        if block >= len(bounds) - 1:
            return paths[:0]
        near = paths[bounds[block] : bounds[block + 1]]
        side = self.cells[:, direction]
        first = side[self.offsets[near]]
        last = side[self.offsets[near + 1] - 1]
        return near[(first <= frame) & (frame <= last)]

    def __len__(self) -> int:
        return len(self.offsets) - 1


def web_index(
    pieces: Iterable[tuple[int, int, Web]],
    starts: NDArray[np.int64],
    *,
    directions: int = 2,
    max_slope: int = MAX_SLOPE,
    squares: bool = False,
) -> WebIndex:
    """One index of many webs.

    Parameters
    ----------
    pieces : iterable of (row, column, Web)
        Webs, and the numbers among all frames of their first row and column.
    starts : ndarray of int64, shape (M + 1,)
        Where the frames of each motion begin.
    directions : int
        2: webs are read in both directions; 1: only by rows.
    max_slope : int
        Cells of a match in one row or column, at most.
    squares : bool
        Average squared distances.
    """
    cells, values, lengths, is_chain, leaves, arrives = [], [], [], [], [], []
    count = 0
    for row, column, web in pieces:
        if not len(web.cells):
            continue
        cells.append(web.cells + np.array([row, column], np.int32))
        values.append(web.values)
        lengths.append(np.diff(web.offsets))
        is_chain.append(np.arange(len(lengths[-1])) < web.chain_count)
        leaves.append(web.leaves + count)
        arrives.append(web.arrives + count)
        count += len(web.cells)
    if not cells:
        cells, values = [np.empty((0, 2), np.int32)], [np.empty(0, np.float32)]
        lengths, is_chain = [np.empty(0, np.int64)], [np.empty(0, np.bool_)]
        leaves = arrives = [np.empty(0, np.int64)]
    offsets = offsets_of(np.concatenate(lengths))
    costs = np.concatenate(values).astype(np.float64)
    sums = np.concatenate([[0.0], np.cumsum(costs**2 if squares else costs)])
    chains = np.concatenate(is_chain)
    left = np.concatenate(leaves)
    order = np.argsort(left, kind="stable")
    paths = np.flatnonzero(~chains)[order]
    bridge_of = np.full(len(chains), -1, np.int64)
    bridge_of[paths] = np.arange(len(paths))
    arrived = np.concatenate(arrives)[order]
    every = np.concatenate(cells)
    # Bridges without cells share an offset with the path after them.
    filled = np.flatnonzero(np.diff(offsets) > 0)
    owner = filled[row_of(offsets[filled], arrived)]
    return WebIndex(
        np.asarray(starts, np.int64),
        every,
        sums,
        offsets,
        bridge_of,
        left[order],
        arrived,
        paths,
        owner,
        tuple(
            _blocks(every[:, direction], offsets, int(every[:, direction].max(initial=0)) >> _BLOCK)
            for direction in range(directions)
        ),
        float(np.diff(sums).max(initial=0.0)),
        max_slope,
        squares,
    )


@kernel
def _blocks(side, offsets, last_block):
    """For each block of frames the paths that pass it, as bounds and paths."""
    bounds = np.zeros(last_block + 2, np.int64)
    for p in range(len(offsets) - 1):
        if offsets[p] == offsets[p + 1]:
            continue
        for block in range(side[offsets[p]] >> _BLOCK, (side[offsets[p + 1] - 1] >> _BLOCK) + 1):
            bounds[block + 1] += 1
    for block in range(last_block + 1):
        bounds[block + 1] += bounds[block]
    paths = np.empty(bounds[-1], np.int64)
    filled = bounds.copy()
    for p in range(len(offsets) - 1):
        if offsets[p] == offsets[p + 1]:
            continue
        for block in range(side[offsets[p]] >> _BLOCK, (side[offsets[p + 1] - 1] >> _BLOCK) + 1):
            paths[filled[block]] = p
            filled[block] += 1
    return bounds, paths
