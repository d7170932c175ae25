"""Networks of chains and bridges: selection of the paths that matches may use, and an index.

*Useful paths.* A match is a path along chains and over bridges with a mean distance of at most R,
so the sum of R minus the distance over its cells is not negative. The largest such sum of all paths
through a cell follows from the largest sums of paths that end there and of paths that start there,
as in the maximum subarray problem. Cells and bridges through which every path has a negative sum
cannot be in a match. These cells and bridges, and networks that cover too little time, are dropped
before the web is refined, because refinement takes most of the time. A search drops them as well:
only one cell in twenty can be in a match up to 0.1 m.

*Index.* Frames of all motions are numbered consecutively. A cell is a pair of these numbers, so the
webs of all pairs of motions form one network of paths. A pair is stored once and read both ways:
the motion of the query may be in the rows or in the columns. In either direction, the index finds
the paths that pass through a frame without visiting other paths.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from motionloom.alignment import MAX_SLOPE
from motionloom.kernels import kernel
from motionloom.ragged import offsets_of, row_of
from motionloom.search.match_web.web import Web

_BLOCK = 6  # frames per block of the index, as a power of two: 64, about a second


def useful_paths(
    web: Web, limit: float, *, least: float = 0.0, squares: bool = False, whole: bool = False
) -> Web:
    """Return the chains and bridges of a web that matches may use.

    Parameters
    ----------
    web : Web
    limit : float
        Maximum mean distance of matches.
    least : float
        Minimum number of frames that a match must cover in each motion.
    squares : bool
        If True, squared distances are averaged.
    whole : bool
        If True, chains keep their unusable ends, so that exactly the same matches are found.

    Returns
    -------
    web : Web
        Chains without unusable ends, and the bridges between them. No path with a mean up to
        `limit` is lost.

    Examples
    --------
    The cells from (2, 2) onward have a mean up to 3; one extra cell is kept on either side:

    >>> cells = np.array([[0, 0], [1, 1], [2, 2], [3, 3], [4, 4], [0, 4]], np.int32)
    >>> values = np.array([9.0, 9.0, 1.0, 1.0, 5.0, 8.0], np.float32)
    >>> nothing = np.empty(0, np.int64)
    >>> web = Web((5, 5), 10.0, cells, values, np.array([0, 5, 6]), 2, nothing, nothing)
    >>> useful_paths(web, 3.0).cells.tolist()
    [[1, 1], [2, 2], [3, 3], [4, 4]]
    """
    count = web.chain_count
    n_cells = int(web.offsets[count])
    values = web.values.astype(np.float64)
    scores = limit**2 - values**2 if squares else limit - values
    chain_of = np.repeat(np.arange(count), np.diff(web.offsets[: count + 1]))
    steps = web.cells[:n_cells].sum(axis=1, dtype=np.int64)  # increase along paths
    _, order = _grouped(steps, sum(web.shape))
    kept, bridges = _useful(
        scores,
        web.offsets,
        count,
        chain_of,
        order,
        *_grouped(web.arrives, n_cells),
        *_grouped(web.leaves, n_cells),
        web.leaves,
        web.arrives,
    )
    if whole:
        kept = np.isin(chain_of, chain_of[kept])
    web = _part(web, kept, bridges, chain_of)
    if least > 0.0 and web.chain_count:
        sizes = np.diff(web.offsets[: web.chain_count + 1])
        chain_of = np.repeat(np.arange(web.chain_count), sizes)
        first = web.cells[web.offsets[: web.chain_count]]
        last = web.cells[web.offsets[1 : web.chain_count + 1] - 1]
        long = _long(first, last, chain_of[web.leaves], chain_of[web.arrives], float(least))
        if not long.all():
            web = _part(web, long[chain_of], long[chain_of[web.leaves]], chain_of)
    return web


def passing(web: Web, first: int, last: int) -> Web:
    """Return the chains and bridges of a web that pass through any of the rows ``[first, last)``.

    The chains at both ends of these bridges are also included.
    """
    if not web.chain_count or (first <= 0 and web.shape[0] <= last):
        return web
    count = web.chain_count
    rows, starts = web.cells[:, 0], web.offsets[: count + 1]
    chain_of = np.repeat(np.arange(count), np.diff(starts))
    chains = (rows[starts[1:] - 1] >= first) & (rows[starts[:-1]] < last)
    bridges = (rows[web.arrives] >= first) & (rows[web.leaves] < last)
    chains[chain_of[web.leaves[bridges]]] = True
    chains[chain_of[web.arrives[bridges]]] = True
    return _part(web, chains[chain_of], bridges, chain_of)


def _part(web: Web, kept, bridges, chain_of) -> Web:
    """Return a web with contiguous chain cells and selected bridges between them."""
    lengths = np.bincount(chain_of[kept], minlength=web.chain_count)
    spans = np.diff(web.offsets[web.chain_count :])
    cells = np.concatenate([kept, np.repeat(bridges, spans)])
    places = np.cumsum(kept) - 1  # new indices of chain cells
    return replace(
        web,
        cells=web.cells[cells],
        values=web.values[cells],
        offsets=offsets_of(np.concatenate([lengths[lengths > 0], spans[bridges]])),
        chain_count=int(np.count_nonzero(lengths)),
        leaves=places[web.leaves[bridges]],
        arrives=places[web.arrives[bridges]],
    )


@kernel
def _grouped(keys, count):
    """Group positions by key (below `count`); return positions in key order and group offsets."""
    starts = np.zeros(count + 1, np.int64)
    for key in keys:
        starts[key + 1] += 1
    for key in range(count):
        starts[key + 1] += starts[key]
    places, filled = np.empty(len(keys), np.int64), starts.copy()
    for n in range(len(keys)):
        places[filled[keys[n]]] = n
        filled[keys[n]] += 1
    return starts, places


@kernel
def _useful(
    scores, offsets, chain_count, chain_of, order,
    arrival, by_arrival, leaving, by_leave, leaves, arrives,
):  # fmt: skip
    """Return masks of useful chain cells (first to last of each chain) and of useful bridges.

    Parameters
    ----------
    scores : ndarray, shape (C,)
        Limit minus distance of every cell of chains and bridges.
    offsets : ndarray of int64, shape (P + 1,)
        Offsets of the paths, chains first.
    chain_count : int
    chain_of : ndarray of int64, shape (chain cells,)
    order : ndarray of int64, shape (chain cells,)
        Chain cells by row plus column: every path visits them in this order.
    arrival, by_arrival : ndarray of int64
        Bridges that arrive at cell x are ``by_arrival[arrival[x]:arrival[x + 1]]``.
    leaving, by_leave : ndarray of int64
        The same for the bridges that leave from a cell.
    leaves, arrives : ndarray of int64, shape (B,)
        Chain cells that each bridge joins.
    """
    n_cells, n_bridges = len(chain_of), len(leaves)
    ahead, behind = np.empty(n_cells), np.empty(n_cells)  # largest sums of paths to and from a cell
    whole, head, tail = np.empty(n_bridges), np.empty(n_bridges), np.empty(n_bridges)
    for b in range(n_bridges):  # sum of a bridge, and largest sums of its first and last cells
        first, last = offsets[chain_count + b], offsets[chain_count + b + 1]
        total, best = 0.0, 0.0
        for x in range(first, last):
            total += scores[x]
            best = max(best, total)
        whole[b], head[b] = total, best
        total, best = 0.0, 0.0
        for x in range(last - 1, first - 1, -1):
            total += scores[x]
            best = max(best, total)
        tail[b] = best
    for x in order:
        best = 0.0
        if x > offsets[chain_of[x]]:
            best = max(best, ahead[x - 1])
        for b in by_arrival[arrival[x] : arrival[x + 1]]:
            best = max(best, max(tail[b], ahead[leaves[b]] + whole[b]))
        ahead[x] = scores[x] + best
    for x in order[::-1]:
        best = 0.0
        if x + 1 < offsets[chain_of[x] + 1]:
            best = max(best, behind[x + 1])
        for b in by_leave[leaving[x] : leaving[x + 1]]:
            best = max(best, max(head[b], behind[arrives[b]] + whole[b]))
        behind[x] = scores[x] + best
    useful = ahead + behind - scores[:n_cells] >= 0.0
    bridges = np.zeros(n_bridges, np.bool_)
    for b in range(n_bridges):
        best = ahead[leaves[b]] + whole[b] + behind[arrives[b]]
        best = max(best, max(ahead[leaves[b]] + head[b], tail[b] + behind[arrives[b]]))
        if best >= 0.0:  # keep both ends of the bridge, even if paths start or end on it
            bridges[b], useful[leaves[b]], useful[arrives[b]] = True, True, True
    kept = np.zeros(n_cells, np.bool_)
    for c in range(chain_count):
        first, last = -1, -1
        for x in range(offsets[c], offsets[c + 1]):
            if useful[x]:
                first = x if first < 0 else first
                last = x
        if first >= 0:
            # One extra cell on either side, since ends move slightly during refinement.
            kept[max(first - 1, offsets[c]) : min(last + 2, offsets[c + 1])] = True
    return kept, bridges


@kernel
def _long(first, last, leaves, arrives, least):
    """Return a mask of chains whose networks span at least `least` frames of both motions."""
    count = len(first)
    root = np.arange(count)
    for b in range(len(leaves)):
        root_a, root_b = _root(root, leaves[b]), _root(root, arrives[b])
        if root_a != root_b:
            root[max(root_a, root_b)] = min(root_a, root_b)
    low, high = first.copy(), last.copy()
    for c in range(count):
        r = _root(root, c)
        for side in range(2):
            low[r, side] = min(low[r, side], first[c, side])
            high[r, side] = max(high[r, side], last[c, side])
    kept = np.zeros(count, np.bool_)
    for c in range(count):
        r = _root(root, c)
        kept[c] = high[r, 0] - low[r, 0] + 1 >= least and high[r, 1] - low[r, 1] + 1 >= least
    return kept


@kernel
def _root(root, c):
    """Return the representative of the network of chain c, halving the path to it (union-find)."""
    while root[c] != c:
        root[c] = root[root[c]]
        c = root[c]
    return c


@dataclass(frozen=True, eq=False)
class WebIndex:
    """Index of the paths of many webs. Use `web_index` to build one.

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
        Number of the path that contains the bridge's cells, and of the chain where the bridge ends.
    passing : tuple of (bounds, paths)
        One pair for rows and one for columns. The paths that pass through the frames of block k are
        ``paths[bounds[k]:bounds[k + 1]]``.
    greatest : float
        Maximum distance over all cells, squared if `squares`.
    max_slope : int
        Maximum number of cells of a match in one row or column.
    squares : bool
        True if `sums` contains sums of squared distances.
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
        """Return the paths with a cell in one row (`direction` 0) or column (1), shape (S,)."""
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
    """Build a single index of many webs.

    Parameters
    ----------
    pieces : iterable of (row, column, Web)
        Webs, each with the global frame numbers of its first row and column.
    starts : ndarray of int64, shape (M + 1,)
        Where the frames of each motion begin.
    directions : int
        2 to read webs in both directions, 1 to read them only by rows.
    max_slope : int
        Maximum number of cells of a match in one row or column.
    squares : bool
        If True, squared distances are averaged.
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
    # A bridge without cells has the same offset as the next path.
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
    """Return the paths that pass through each block of frames, as bounds and paths."""
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
