"""Exact subsequence DTW over a whole library (``method="dtw"``).

Small libraries are searched in one pass. In large libraries, lower bounds first rule out almost all
frames without changing the results (`motionloom.search.subsequence.lower_bounds`).

On a cluster, each worker searches a part of the library, again with the same results. A worker
chooses a threshold below which its part alone has enough alignments, and computes the costs up to
that threshold. Below the smallest of these thresholds, the costs of all parts are known, and there
are enough alignments in total, because the part with the smallest threshold already has enough.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom import parallel
from motionloom.alignment.dtw import accumulated
from motionloom.errors import LibraryError, RoleError
from motionloom.features import (
    FEATURES,
    FeatureSet,
    FrameDistance,
    LibraryFeatures,
    frame_distance,
)
from motionloom.features.feature_table import RATE, at_rate
from motionloom.motion import Motion
from motionloom.motion.segment import intervals
from motionloom.ragged import offsets_of, row_of
from motionloom.search.candidates import ANY, Alignments, Candidate, Limits, local_minima
from motionloom.search.filters import chosen_mask
from motionloom.search.match import Timeline
from motionloom.search.methods import Dtw
from motionloom.search.query import Query
from motionloom.search.settings import SearchSettings
from motionloom.search.subsequence.end_costs import TILE, end_costs
from motionloom.search.subsequence.lower_bounds import BoundedPass, SparseCosts
from motionloom.search.subsequence.rerank import differences, second_pass, wider
from motionloom.search.subsequence.run_boxes import RunBoxes
from motionloom.settings import motion_choice
from motionloom.store.artifacts.row_table import row_range
from motionloom.store.remote.folder import Folder
from motionloom.store.store import Store

BOUNDED_ROWS = 2_000_000  # in smaller libraries, one pass over all rows is as fast as the bounds
_BOXES_VERSION = 1
_ATTEMPTS = 2  # attempts with lower bounds before a full pass
_STILL = 0.1  # weight of a joint that hardly moves, relative to the joint that moves most


def dtw_search(
    library: Store, query: Query, settings: SearchSettings
) -> tuple[list[Candidate], Timeline]:
    """Search by subsequence DTW with a feature set or any frame distance."""
    method = settings.method
    assert isinstance(method, Dtw)
    if not is_feature_set(method.features):
        return _search_by_distance(library, query, settings, method)
    features, vectors = query.features(library, method)
    scale = features.feature_set.scale
    weights = None
    if method.weights == "moving":  # the default is equal
        is_positions = features.feature_set.components is None
        weights = moving_weights(vectors, point_size=3 if is_positions else 1)
    limits = Limits.of(settings, query.span(features), scale=scale)
    rank = method.rank or "movement"
    candidates = dtw_matches(
        vectors,
        features.rows,
        features.starts,
        steps=method.steps,
        weights=weights,
        allowed=chosen_mask(library, features.names, **motion_choice(settings)),
        limits=wider(limits) if rank == "movement" else limits,
        bounds=None if len(features) < BOUNDED_ROWS else run_bounds(library, features),
        traced=rank != "movement",  # only to locate candidates
    )
    if rank == "movement" or method.speed_seconds > 0.0:
        candidates = second_pass(
            candidates,
            query,
            features,
            vectors,
            weights=weights,
            seconds=method.speed_seconds,
            steps=method.steps,
            rank=rank,
            limits=limits,
        )
    return [
        replace(candidate, distance=candidate.distance * scale) for candidate in candidates
    ], Timeline.of(features)


def is_feature_set(features: Any) -> bool:
    """Return whether `features` is a feature set; raise an error if it is not a distance either."""
    if isinstance(features, str) and features not in FEATURES:
        frame_distance(features)
        return False
    return isinstance(features, (str, FeatureSet))


def moving_weights(query: NDArray[np.float32], *, point_size: int = 3) -> NDArray[np.float32]:
    """Return feature weights that weight each point by how far it moves in the query.

    Points that do not move say little about the query. For example, a punch is a punch in any
    stance. The mean square of the weights is 1, so distances stay in meters.

    Parameters
    ----------
    query : ndarray, shape (M, D)
        Feature vectors. If D is not a multiple of `point_size`, every feature is a point.

    Returns
    -------
    weights : ndarray of float32, shape (D,)

    Examples
    --------
    >>> query = np.array([[0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0]], np.float32)
    >>> moving_weights(query).round(2)
    array([1.41, 1.41, 1.41, 0.14, 0.14, 0.14], dtype=float32)
    """
    variances = query.var(axis=0, dtype=np.float64)
    if len(variances) % point_size:
        point_size = 1
    moved = np.sqrt(variances.reshape(-1, point_size).sum(axis=1))
    if moved.max() <= 0.0:
        return np.ones(len(variances), np.float32)
    weights = np.repeat(np.maximum(moved / moved.max(), _STILL), point_size)
    return (weights / np.sqrt(np.mean(weights**2))).astype(np.float32)


def dtw_matches(
    query: NDArray[np.float32],
    vectors: NDArray[np.float32],
    starts: NDArray[np.int64],
    *,
    steps: str = "slope",
    weights: NDArray[np.float32] | None = None,
    allowed: NDArray[np.bool_] | None = None,
    limits: Limits = ANY,
    bounds: RunBoxes | BoxedTable | None = None,
    traced: bool = True,
) -> list[Candidate]:
    """Return all library segments with which the query can be aligned, nearest first.

    Parameters
    ----------
    query : ndarray, shape (M, D)
    vectors : ndarray, shape (N, D)
        Feature vectors of K motions, concatenated.
    starts : ndarray, shape (K + 1,)
        Start of each motion, followed by N.
    steps, weights
        As in `motionloom.search.subsequence.end_costs.end_costs`.
    allowed : ndarray of bool, shape (K,), optional
        Motions to search.
    limits : Limits
    bounds : RunBoxes or BoxedTable, optional
        Run boxes of the same vectors, which speed up the search without changing the results.
    traced : bool
        As in `motionloom.search.candidates.Alignments.best`.

    Examples
    --------
    >>> rows = np.array([[0], [5], [1], [2], [3], [9], [0]], np.float32)
    >>> match = dtw_matches(rows[2:5], rows, np.array([0, 7]))[0]
    >>> match.start, match.end, match.distance
    (2, 5, 0.0)
    """

    def matrix_of(low: int, high: int) -> NDArray[np.float64]:
        return differences(query, vectors[low:high], weights)

    alignments = Alignments(matrix_of, starts, len(query), steps)

    def full_pass(enough: int) -> list[Candidate]:
        costs = np.full(len(vectors), np.inf, np.float32)
        runs = [(0, len(starts) - 1)] if allowed is None else intervals(allowed)
        for first, last in runs:
            low, high = int(starts[first]), int(starts[last])
            costs[low:high] = end_costs(
                query,
                vectors[low:high],
                np.asarray(starts[first : last + 1]) - low,
                steps=steps,
                weights=weights,
                limit=limits.max_distance * len(query) * 1.001 + 1e-2,
                enough=enough,
            )
        return alignments.best(costs, limits=limits, traced=traced)

    if bounds is not None and steps == "slope":
        options: dict[str, Any] = {"weights": weights, "allowed": allowed}
        bounded = _bounded_matches(query, vectors, alignments, bounds, limits, traced, options)
        if bounded is not None:
            return bounded
    if limits.max_matches is None:
        return full_pass(0)
    # A match covers at most this many tiles, so this many adjacent tiles may be one match.
    enough = limits.max_matches * (2 + 2 * len(query) // TILE)
    candidates = full_pass(enough if enough * 3 * TILE < len(vectors) else 0)
    if not limits.reached(len(candidates)) and enough * 3 * TILE < len(vectors):
        candidates = full_pass(0)  # too many were suppressed
    return candidates


def _bounded_matches(
    query: NDArray[np.float32],
    vectors: NDArray[np.float32],
    alignments: Alignments,
    bounds: RunBoxes | BoxedTable,
    limits: Limits,
    traced: bool,
    options: dict[str, Any],
) -> list[Candidate] | None:
    """Return matches found with lower bounds, or None if a full pass is needed."""
    limit = limits.max_distance * len(query) * 1.001 + 1e-2
    wanted = limits.max_matches
    if wanted is None and not np.isfinite(limit):
        return None
    reach = limits.reach(len(query))
    find: Callable[..., SparseCosts]
    if isinstance(bounds, BoxedTable):
        find = partial(bounds.costs, query, reach=reach, **options)
    else:
        starts = alignments.starts
        find = BoundedPass(query, vectors, starts, bounds, reach=reach, **options).costs
    number = 0 if wanted is None else wanted + wanted // 10 + 2
    for _ in range(_ATTEMPTS):
        sparse = find(limit=limit, wanted=number)
        at = local_minima(sparse.costs, sparse.offsets, reach)
        span = row_of(sparse.offsets, at)
        ends = at - sparse.offsets[span] + sparse.spans[span, 1]
        candidates = alignments.ending_at(ends, sparse.costs[at], limits=limits, traced=traced)
        if limits.reached(len(candidates)) or sparse.threshold >= limit:
            return candidates
        number *= 4  # too many were suppressed
    return None


def run_bounds(library: Store, features: LibraryFeatures) -> RunBoxes | BoxedTable:
    """Return the run boxes of a library's features, building them if necessary.

    On a cluster, return a `BoxedTable` that workers can open.
    """

    def build(folder: Path, previous: Folder | None) -> None:
        RunBoxes.build(features.rows, features.starts, folder=folder)

    def load(folder: Folder) -> RunBoxes | BoxedTable:
        if parallel.is_on_cluster():
            return BoxedTable(features.folder, folder, features.starts)
        try:
            return RunBoxes.open(folder, features.starts, features.rows.shape[1])
        except (ValueError, EOFError) as error:
            raise LibraryError(f"{folder}: damaged: {error}") from None

    made_from = features.folder.name.rsplit(".", 1)[0]
    options = {"version": _BOXES_VERSION, "features": made_from}
    return library.artifacts.derive("boxes", options, build=build, read=load)


def dtw_matches_by_distance(
    query: NDArray[Any],
    motions: Sequence[Motion],
    distance: FrameDistance,
    *,
    steps: str = "slope",
    limits: Limits = ANY,
) -> list[Candidate]:
    """Return the same as `dtw_matches` for any frame distance, computed motion by motion.

    `query` contains the prepared frames of the query. The frame numbers of candidates count the
    concatenated frames of all motions.
    """
    starts = offsets_of([len(motion) for motion in motions])
    matrices = [np.asarray(distance.matrix(query, distance.prepare(m)), float) for m in motions]
    matrices = [np.where(np.isfinite(matrix), matrix, np.inf) for matrix in matrices]
    ends = [accumulated(matrix, steps=steps, subsequence=True)[0][-1] for matrix in matrices]

    def matrix_of(low: int, high: int) -> NDArray[np.float64]:
        m = int(row_of(starts, low))
        return np.ascontiguousarray(matrices[m][:, low - starts[m] : high - starts[m]])

    alignments = Alignments(matrix_of, starts, len(query), steps)
    return alignments.best(np.concatenate(ends), limits=limits)


def _search_by_distance(
    library: Store, query: Query, settings: SearchSettings, method: Dtw
) -> tuple[list[Candidate], Timeline]:
    distance = frame_distance(method.features)
    rate = library.fps or RATE
    allowed = chosen_mask(library, library.names, **motion_choice(settings))
    entries, motions, reason = [], [], ""
    for m, entry in enumerate(library.entries()):
        if allowed is None or allowed[m]:
            motion = at_rate(library[entry.name], rate)
            try:
                distance.prepare(motion[:2])
            except RoleError as error:
                reason = f"{entry.name}: {error}"
                continue
            entries.append(entry)
            motions.append(motion)
    if not motions:
        raise RoleError(
            f"no motion has all joints that {distance.name} needs; for example, {reason}"
        )
    timeline = Timeline.at(entries, rate)
    frames = query.cut(distance.prepare(at_rate(query.motion, rate)), rate)
    query.check_length(len(frames), rate)
    own = None
    if query.name in timeline.names:
        own = timeline.span(str(query.name), query.start_frame, query.end_frame)
    limits = Limits.of(settings, own)
    candidates = dtw_matches_by_distance(
        frames, motions, distance, steps=method.steps, limits=limits
    )
    return candidates, timeline


@dataclass(frozen=True, eq=False)
class BoxedTable:
    """A table of feature vectors on disk and its run boxes, memory-mapped by workers.

    Attributes
    ----------
    table, boxes : Path or RemoteFolder
        Folders of the feature vectors and of `RunBoxes`.
    starts : ndarray of int64, shape (K + 1,)
        First row of each motion, followed by the number of rows.
    """

    table: Folder
    boxes: Folder
    starts: NDArray[np.int64]

    def costs(
        self,
        query: NDArray[np.float32],
        *,
        weights: NDArray[np.float32] | None,
        allowed: NDArray[np.bool_] | None,
        reach: int,
        limit: float,
        wanted: int,
    ) -> SparseCosts:
        """Compute the same as `BoundedPass.costs`, with one worker per part of the motions."""
        parts = motion_parts(self.starts, parallel.available_workers())
        work = partial(
            _part_costs,
            table=self,
            query=query,
            weights=weights,
            allowed=allowed,
            reach=reach,
            limit=limit,
            wanted=wanted,
        )
        results: list[tuple[int, SparseCosts]] = []
        with parallel.executor(tasks=len(parts)) as pool:
            for done in parallel.completed(work, parts, pool):
                if done.error is not None or done.result is None:
                    raise done.error or LibraryError(
                        f"{self.table}: a worker returned no result for its part of the table"
                    )
                results.append((done.item[0], done.result))
        return merged([part for _, part in sorted(results, key=lambda pair: pair[0])])


def motion_parts(starts: NDArray[np.int64], count: int) -> list[tuple[int, int]]:
    """Return ranges of motions with roughly equal numbers of frames.

    Examples
    --------
    >>> motion_parts(np.array([0, 10, 20, 100]), 2)
    [(0, 2), (2, 3)]
    """
    ideal = np.linspace(0, starts[-1], count + 1)[1:-1]
    after = np.searchsorted(starts, ideal)
    before = np.maximum(after - 1, 0)
    cuts = np.where(
        ideal - starts[before] < starts[after] - ideal, before, after
    )  # the nearer boundary
    bounds = np.unique(np.concatenate([[0], cuts, [len(starts) - 1]])).tolist()
    return list(zip(bounds[:-1], bounds[1:], strict=True))


def merged(parts: list[SparseCosts]) -> SparseCosts:
    """Merge the costs of all parts up to the smallest of their thresholds."""
    threshold = min(part.threshold for part in parts)
    costs = np.concatenate([part.costs for part in parts])
    costs[costs > threshold] = np.inf
    return SparseCosts(np.concatenate([part.spans for part in parts]), costs, threshold)


def _part_costs(part: tuple[int, int], table: BoxedTable, query, weights, allowed, reach, **wanted):
    first, last = part
    rows, boxes = _opened(table.table, table.boxes, table.starts.tobytes())
    chosen = np.zeros(len(table.starts) - 1, np.bool_)
    chosen[first:last] = True if allowed is None else allowed[first:last]
    search = BoundedPass(
        query, rows, table.starts, boxes, weights=weights, allowed=chosen, reach=reach
    )
    return search.costs(**wanted)


@lru_cache(maxsize=4)
def _opened(table: Folder, boxes: Folder, starts: bytes):
    """Return the rows and boxes, mapped once per process."""
    bounds = np.frombuffer(starts, np.int64)
    rows = row_range(table, 0, int(bounds[-1]))
    return rows, RunBoxes.open(boxes, bounds, rows.shape[1])
