"""Searches among the rows of a library's features: subsequence DTW, the lazy graph, neighbours.

The first two are methods of `motionloom.search.methods`; all of them take a query, turn it
into rows like the library's, and tell what they find in frames of motions as stored.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.distance import FEATURES, FeatureSet, LibraryFeatures, frame_distance
from motionloom.distance import library_features as features_of
from motionloom.distance.feature_table import RATE, at_rate
from motionloom.errors import InvalidInput, RoleError
from motionloom.motion import Motion
from motionloom.search.candidates import Candidate, realigned
from motionloom.search.index.neighbours import Neighbours, neighbours, open_index
from motionloom.search.lazy_graph import lazy_matches
from motionloom.search.match import Match
from motionloom.search.query import Query, as_query
from motionloom.search.rerank import RANKS, candidates_overlap, rerank, speeds
from motionloom.search.settings import Options
from motionloom.search.subsequence import (
    differences,
    dtw_matches,
    dtw_matches_by_distance,
    moving_weights,
)
from motionloom.search.timeline import Timeline
from motionloom.store.store import Store

LAZY_K = 256  # the paper's; with bridges, four fifths of what DTW finds in a fifth of its time
_NEAREST_K = 16
_MORE = 3  # candidates per match that is wanted, where a closer look changes the order

Result = tuple[list[Candidate], Timeline]


def dtw_search(library: Store, query: Query, options: Options) -> Result:
    """Subsequence DTW over everything, by a feature set or by any frame distance."""
    if not _is_feature_set(options.features):
        return _dtw_by_distance(library, query, options)
    features, rows = _rows(library, query, options)
    scale = features.feature_set.scale
    weights = None
    if options.weights is not None:
        is_positions = features.feature_set.components is None
        weights = moving_weights(rows, point_size=3 if is_positions else 1)
    limits = look = options.limits(_occupied(query, features, options), scale=scale)
    rank = options.rank or RANKS[0]
    if rank == "movement":
        # The order will change: look at more, and at all distances.
        look = replace(
            limits,
            max_distance=np.inf,
            max_overlap=candidates_overlap(limits.max_overlap),
            max_matches=None if limits.max_matches is None else _MORE * limits.max_matches,
        )
    found = dtw_matches(
        rows,
        features.rows,
        features.starts,
        steps=options.steps,
        weights=weights,
        allowed=options.allowed(library, features.names),
        limits=look,
    )
    if rank == "movement" or options.speed_seconds > 0.0:
        found = rerank(
            found,
            rows,
            features.rows,
            features.starts,
            weights=weights,
            query_speed=_query_speed(query, features, rows),
            rate=features.rate,
            scale=scale,
            seconds=options.speed_seconds,
            steps=options.steps,
            rank=rank,
            limits=limits,
        )
    return [replace(one, distance=one.distance * scale) for one in found], Timeline.of(features)


def lazy_search(library: Store, query: Query, options: Options) -> Result:
    """The lazy neighbourhood graph; where it has bridges, what it finds is aligned exactly."""
    if not _is_feature_set(options.features):
        raise InvalidInput(
            f"method lazy needs a feature set, one of {', '.join(FEATURES)}; "
            f"got {options.features!r} (method dtw takes any distance)"
        )
    features, rows = _rows(library, query, options)
    near = _neighbours(library, features, rows, options, LAZY_K)
    limits = options.limits(_occupied(query, features, options))
    bridge = len(rows) - 1 if options.bridge is None else options.bridge
    look = limits
    if bridge > 0 and limits.max_matches is not None:
        # Costs of bridges are bounds from below: look at more, and align those exactly.
        look = replace(limits, max_matches=_MORE * limits.max_matches)
    found = lazy_matches(
        near.offsets,
        near.rows,
        near.distances,
        features.starts,
        steps=options.steps,
        bridge=bridge,
        limits=look,
    )
    if bridge > 0:
        scale = features.feature_set.scale
        found = realigned(
            found,
            lambda low, high: scale * differences(rows, features.rows[low:high]),
            features.starts,
            length=len(rows),
            steps=options.steps,
            limits=limits,
        )
        found = [one for one in found if one.distance <= limits.max_distance]
    return found[: limits.max_matches], Timeline.of(features)


def nearest_frames(
    library: Store, query: str | Path | Motion | Query, options: Options
) -> list[list[Match]]:
    """For every frame of the query its nearest frames, as matches one frame long.

    Examples
    --------
    >>> from motionloom.search import Options, nearest_frames
    >>> near = nearest_frames(lib, "walk:10-12", Options(k=3))
    >>> [len(frame) for frame in near]
    [3, 3]
    """
    query = as_query(library, query)
    features, rows = _rows(library, query, options)
    away = _occupied(query, features, options)
    near = _neighbours(library, features, rows, options, _NEAREST_K, away=away)
    timeline = Timeline.of(features)

    def match(frame: int, row: int, gap: float) -> Match:
        found = Candidate(row, row + 1, gap, np.array([[frame, row]]))
        return timeline.match(found, query, library.labels)

    return [
        [match(frame, int(row), float(gap)) for row, gap in zip(*near.of(frame), strict=True)]
        for frame in range(len(near))
    ]


def _neighbours(
    library: Store,
    features: LibraryFeatures,
    rows: NDArray[np.float32],
    options: Options,
    default_k: int,
    *,
    away: list[tuple[int, int]] | None = None,
) -> Neighbours:
    """Neighbours of the query's rows among those that may be found; none of rows `away`."""
    motions = options.allowed(library, features.names)
    allowed = None if motions is None else np.repeat(motions, np.diff(features.starts))
    if away:
        allowed = np.ones(len(features), np.bool_) if allowed is None else allowed
        for start, end in away:
            allowed[start:end] = False
    return neighbours(
        rows,
        features,
        open_index(library, features, options.index),
        k=default_k if options.k is None and options.radius is None else options.k,
        radius=options.radius,
        epsilon=options.epsilon,
        allowed=allowed,
    )


def _query_speed(query: Query, features: LibraryFeatures, rows: NDArray) -> NDArray[np.float64]:
    where = query.row_range(features)
    if where is None:
        return speeds(rows, 0, len(rows), 0, len(rows), features.rate)
    m = features.motion_index(str(query.name))
    first, last = int(features.starts[m]), int(features.starts[m + 1])
    return speeds(features.rows, *where, first, last, features.rate)


def _dtw_by_distance(library: Store, query: Query, options: Options) -> Result:
    distance = frame_distance(options.features)
    rate = library.fps or RATE
    allowed = options.allowed(library, library.names)
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
        raise RoleError(f"no motion has all joints that {distance.name} needs; {reason}")
    timeline = Timeline.at(entries, rate)
    rows = query.cut_rows(distance.prepare(at_rate(query.motion, rate)), rate)
    query.check_length(len(rows), rate)
    occupied = []
    if options.exclude_query and query.name in timeline.names:
        occupied = [timeline.row_range(query.name, query.start_frame, query.end_frame)]
    found = dtw_matches_by_distance(
        rows, motions, distance, steps=options.steps, limits=options.limits(occupied)
    )
    return found, timeline


def _rows(
    library: Store, query: Query, options: Options
) -> tuple[LibraryFeatures, NDArray[np.float32]]:
    features = features_of(
        library,
        options.features,
        normalize=options.normalize,  # type: ignore[arg-type]
        scale_free=options.scale_free,
    )
    return features, query.rows(features)


def _is_feature_set(features: Any) -> bool:
    if isinstance(features, str) and features not in FEATURES:
        frame_distance(features)  # complains, with all names, if there is none
        return False
    return isinstance(features, (str, FeatureSet))


def _occupied(query: Query, features: LibraryFeatures, options: Options) -> list[tuple[int, int]]:
    where = query.row_range(features) if options.exclude_query else None
    return [] if where is None else [where]
