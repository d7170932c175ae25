"""Lazy neighborhood graph: alignments made of nearest neighbors (``method="lazy"``).

The method is described by Krüger et al. (2010), section 4.1. Each neighbor of each query frame is a
node, and an edge leads from a node to a node that continues it in time. The shortest paths from the
neighbors of the query's first frame to the neighbors of its last frame are found in one sweep over
the query, because its frames order the nodes topologically. If all cells of an alignment are
neighbors, the path is identical to that of subsequence DTW.

Extensions beyond the paper are slope-limited steps, ranking by mean cost per cell, non-maximum
suppression, limits on the duration, and bridges. ``preset="kt10"`` selects the paper's graph. A
*bridge* skips query frames for which the motion is not among the neighbors. Each skipped cell costs
as much as the farthest neighbor of its frame, which is a lower bound of its true cost.

References
----------
.. [1] B. Krüger, J. Tautges, A. Weber, A. Zinke. Fast local and global similarity searches
   in large motion capture databases. SCA 2010.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.features import FEATURES
from motionloom.kernels import kernel
from motionloom.ragged import row_of
from motionloom.search.candidates import ANY, Alignments, Candidate, Limits
from motionloom.search.index.neighbors import library_neighbors
from motionloom.search.match import Timeline
from motionloom.search.methods import LazyGraph
from motionloom.search.methods.segments import LAZY_K
from motionloom.search.query import Query
from motionloom.search.settings import SearchSettings
from motionloom.search.subsequence.dtw import is_feature_set
from motionloom.search.subsequence.rerank import MORE, differences, second_pass, wider
from motionloom.settings import motion_choice
from motionloom.store.store import Store

_NONE = -1


def lazy_search(
    library: Store, query: Query, settings: SearchSettings
) -> tuple[list[Candidate], Timeline]:
    """Search with the lazy graph, and realign candidates that contain bridges exactly."""
    method = settings.method
    assert isinstance(method, LazyGraph)
    if not is_feature_set(method.features):
        raise InvalidInput(
            f"method lazy needs a feature set, one of {', '.join(FEATURES)}; "
            f"got {method.features!r}. To use another frame distance, choose method dtw"
        )
    features, vectors = query.features(library, method)
    motions = motion_choice(settings)
    near = library_neighbors(library, features, vectors, method, motions, default_k=LAZY_K)
    scale, span = features.feature_set.scale, query.span(features)
    limits = in_meters = Limits.of(settings, span)
    bridge = len(vectors) - 1 if method.bridge is None else method.bridge
    rank = method.rank or "movement"
    if rank == "movement":
        limits = wider(in_meters)
    elif bridge > 0 and limits.max_matches is not None:
        # Bridge costs are only lower bounds, so collect more candidates and align them exactly.
        limits = replace(limits, max_matches=MORE * limits.max_matches)
    candidates = lazy_matches(
        near.offsets,
        near.rows,
        near.distances,
        features.starts,
        steps=method.steps,
        bridge=bridge,
        per_cell=rank != "sum",
        limits=limits,
    )
    if rank == "movement":
        limits = Limits.of(settings, span, scale=scale)
        candidates = second_pass(
            candidates, query, features, vectors, steps=method.steps, limits=limits
        )
        candidates = [replace(each, distance=each.distance * scale) for each in candidates]
    elif bridge > 0:
        alignments = Alignments(
            lambda low, high: scale * differences(vectors, features.rows[low:high]),
            features.starts,
            len(vectors),
            method.steps,
        )
        candidates = alignments.realigned(candidates, limits=in_meters)
        candidates = [
            candidate for candidate in candidates if candidate.distance <= in_meters.max_distance
        ]
        if rank == "sum":
            candidates.sort(key=lambda candidate: candidate.distance * len(candidate.path))
    return candidates[: in_meters.max_matches], Timeline.of(features)


def lazy_matches(
    offsets: NDArray[np.int64],
    rows: NDArray[np.int64],
    distances: NDArray[np.float64],
    starts: NDArray[np.int64],
    *,
    steps: str = "slope",
    bridge: int = 0,
    per_cell: bool = True,
    limits: Limits = ANY,
) -> list[Candidate]:
    """Return candidates built from the neighbors of each query frame, nearest first.

    Parameters
    ----------
    offsets, rows, distances
        Neighbors of M query frames, as in `motionloom.search.index.neighbors.Neighbors`.
    starts : ndarray, shape (K + 1,)
        Start of each motion, followed by N.
    steps : {"slope", "classic"}
        Allowed alignment steps; see `motionloom.alignment.dtw`. The paper uses ``classic``.
    bridge : int
        Maximum number of consecutive query frames that a path may skip.
    per_cell : bool
        If True, rank by cost per cell. Otherwise, rank by the sum, as in the paper.
    limits : Limits

    Returns
    -------
    candidates : list of Candidate
        Candidates whose `distance` is always the mean per cell, in the unit of `distances`.

    Examples
    --------
    >>> offsets, rows = np.array([0, 2, 4]), np.array([3, 7, 4, 9])
    >>> matches = lazy_matches(offsets, rows, np.array([0.1, 0.0, 0.3, 0.0]), np.array([0, 20]))
    >>> [(match.start, match.end, match.distance) for match in matches]
    [(7, 10, 0.0), (3, 5, 0.2)]
    """
    length = len(offsets) - 1
    rows, distances = _by_row(offsets, rows, distances)
    motions = row_of(starts, rows)
    farthest = _farthest(offsets, distances)
    costs, cells, came = _sweep(
        offsets, rows, distances, starts[motions], farthest, steps == "slope", bridge
    )
    ends = _ends(offsets, rows, costs, cells, starts[motions + 1], farthest, bridge)
    ends = ends[_sparse_minima(rows, motions, costs, ends, limits.reach(length))]
    measure = costs / cells if per_cell else costs
    kept: list[tuple[float, Candidate]] = []
    suppression = limits.suppression()
    for end in ends[np.argsort(costs[ends], kind="stable")].tolist():
        path = _path(offsets, rows, came, end, length)
        start, stop = int(path[0, 1]), int(path[-1, 1]) + 1
        if costs[end] > limits.max_distance * cells[end]:
            continue
        if not (limits.allows(stop - start, query=length) and suppression.keep(start, stop)):
            continue
        candidate = Candidate(start, stop, float(costs[end] / cells[end]), path)
        kept.append((float(measure[end]), candidate))
        if limits.reached(len(kept)):
            break
    kept.sort(key=lambda pair: (pair[0], pair[1].start))
    return [candidate for _, candidate in kept]


@kernel
def _by_row(offsets, rows, distances):
    """Sort the neighbors of each frame by row."""
    rows, distances = rows.copy(), distances.copy()
    for i in range(len(offsets) - 1):
        part = slice(offsets[i], offsets[i + 1])
        order = np.argsort(rows[part])
        rows[part] = rows[part][order]
        distances[part] = distances[part][order]
    return rows, distances


@kernel
def _farthest(offsets, distances):
    """Return the distance from each query frame to its farthest neighbor, (M,)."""
    out = np.zeros(len(offsets) - 1)
    for i in range(len(out)):
        for n in range(offsets[i], offsets[i + 1]):
            out[i] = max(out[i], distances[n])
    return out


@kernel
def _sought(rows, pointer, stop, row):
    """Return the first node from `pointer` to `stop` that is not before `row`."""
    while pointer < stop and rows[pointer] < row:
        pointer += 1
    return pointer


@kernel
def _sweep(offsets, rows, distances, firsts, farthest, slope, bridge):
    """Compute the shortest-path cost to each node, the number of cells, and predecessors.

    The second column of `came` marks a slope-limited step that repeats a row, for which the cell in
    between is a node of the previous frame.
    """
    n_nodes, length = len(rows), len(offsets) - 1
    costs = np.full(n_nodes, np.inf)
    cells = np.ones(n_nodes, np.int64)
    came = np.full((n_nodes, 2), _NONE, np.int64)
    # One pointer for each origin of a step (frames back, rows back).
    n_lags = max(bridge + 1, 2)
    straight = np.zeros(n_lags + 1, np.int64)
    for i in range(length):
        for lag in range(1, n_lags + 1):
            straight[lag] = offsets[max(i - lag, 0)]
        skip, level, hold = offsets[max(i - 1, 0)], offsets[max(i - 1, 0)], offsets[max(i - 2, 0)]
        for n in range(offsets[i], offsets[i + 1]):
            row, first = rows[n], firsts[n]
            best, before, between, count = np.inf, _NONE, _NONE, 1
            if i == 0:
                best, count = 0.0, 0
            elif i <= bridge and row - i >= first:  # the first frames of the path are skipped
                best, count = 0.0, i
                for t in range(i):
                    best += farthest[t]
            if i >= 1 and row - 1 >= first:
                p = _sought(rows, straight[1], offsets[i], row - 1)
                straight[1] = p
                if p < offsets[i] and rows[p] == row - 1 and costs[p] < best:
                    best, before, count = costs[p], p, cells[p]
            if slope:
                if i >= 1 and row - 2 >= first:
                    skip = _sought(rows, skip, offsets[i], row - 2)
                    if skip < offsets[i] and rows[skip] == row - 2 and costs[skip] < best:
                        best, before, count = costs[skip], skip, cells[skip]
                if i >= 2 and row - 1 >= first:
                    level = _sought(rows, level, offsets[i], row)
                    hold = _sought(rows, hold, offsets[i - 1], row - 1)
                    if (
                        level < offsets[i]
                        and rows[level] == row
                        and hold < offsets[i - 1]
                        and rows[hold] == row - 1
                        and costs[hold] + distances[level] < best
                    ):
                        best = costs[hold] + distances[level]
                        before, between, count = hold, level, cells[hold] + 1
            elif i >= 1:
                level = _sought(rows, level, offsets[i], row)
                if level < offsets[i] and rows[level] == row and costs[level] < best:
                    best, before, count = costs[level], level, cells[level]
                if n > offsets[i] and rows[n - 1] == row - 1 and row - 1 >= first:
                    if costs[n - 1] < best:
                        best, before, count = costs[n - 1], n - 1, cells[n - 1]
            passed = 0.0
            for lag in range(2, min(bridge + 1, i) + 1):
                passed += farthest[i - lag + 1]
                if row - lag < first:
                    break
                p = _sought(rows, straight[lag], offsets[i - lag + 1], row - lag)
                straight[lag] = p
                if p < offsets[i - lag + 1] and rows[p] == row - lag:
                    if costs[p] + passed < best:
                        best, before, between = costs[p] + passed, p, _NONE
                        count = cells[p] + lag - 1
            costs[n] = best + distances[n]
            cells[n] = count + 1
            came[n, 0], came[n, 1] = before, between
    return costs, cells, came


def _ends(offsets, rows, costs, cells, lasts, farthest, bridge):
    """Return the nodes where alignments end; add skipped frames to `costs` and `cells`."""
    length = len(offsets) - 1
    ends = []
    for short in range(min(bridge, length - 1) + 1):
        frame = length - 1 - short
        nodes = np.arange(offsets[frame], offsets[frame + 1])
        nodes = nodes[np.isfinite(costs[nodes]) & (rows[nodes] + short < lasts[nodes])]
        costs[nodes] += farthest[frame + 1 :].sum()
        cells[nodes] += short
        ends.append(nodes)
    return np.concatenate(ends)


def _sparse_minima(rows, motions, costs, ends, reach):
    """Return positions in `ends` with the minimum cost within `reach` rows of the same motion."""
    order = np.lexsort([costs[ends], rows[ends]])
    kept = _minima(rows[ends[order]], motions[ends[order]], costs[ends[order]], reach)
    return order[kept]


@kernel
def _minima(rows, motions, costs, reach):
    """Mark the ends, sorted by row, that have the minimum cost within `reach` rows."""
    kept = np.zeros(len(rows), np.bool_)
    for a in range(len(rows)):
        least = True
        b = a + 1
        while least and b < len(rows) and rows[b] - rows[a] <= reach and motions[b] == motions[a]:
            least = costs[b] >= costs[a]
            b += 1
        b = a - 1
        while least and b >= 0 and rows[a] - rows[b] <= reach and motions[b] == motions[a]:
            least = costs[b] > costs[a]
            b -= 1
        kept[a] = least
    return kept


@kernel
def _path(offsets, rows, came, end, length):
    """Trace back pairs of query frame and row, with straight lines for bridges."""
    path = np.empty((2 * length + len(rows), 2), np.int64)
    at = len(path)
    node = end
    frame = np.searchsorted(offsets, node, side="right") - 1
    for ahead in range(length - 1 - frame, 0, -1):
        at -= 1
        path[at, 0], path[at, 1] = frame + ahead, rows[node] + ahead
    while True:
        at -= 1
        path[at, 0], path[at, 1] = frame, rows[node]
        before, between = came[node]
        if before == _NONE:
            break
        if between != _NONE:
            at -= 1
            path[at, 0], path[at, 1] = frame - 1, rows[between]
        earlier = np.searchsorted(offsets, before, side="right") - 1
        if between == _NONE:
            for back in range(1, frame - earlier):
                at -= 1
                path[at, 0], path[at, 1] = frame - back, rows[node] - back
        node, frame = before, earlier
    for back in range(1, frame + 1):
        at -= 1
        path[at, 0], path[at, 1] = frame - back, rows[node] - back
    return path[at:].copy()
