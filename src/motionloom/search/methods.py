"""The searches of motionloom, by name, behind one door.

``dtw``
    Subsequence DTW over everything: exact, and the default. On all of CMU it takes as
    long as finding the neighbours that the graph needs, and misses nothing.
``lazy``
    The lazy neighbourhood graph: alignments made of near neighbours only.
``web``
    The match web, built beforehand: the quickest, once it is there.
``dtw-clip``, ``emd``, ``dtw-angles``, ``scaling``, ...
    Whole clips instead of stretches: see `motionloom.search.clip_measures`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.alignment.dtw import check_steps
from motionloom.distance import FEATURES, FeatureSet, LibraryFeatures, frame_distance
from motionloom.distance import library_features as features_of
from motionloom.errors import InvalidInput, LibraryError, RoleError
from motionloom.library.shelf import Shelf
from motionloom.motion import Motion
from motionloom.search.clip_measures import CLIP_MEASURES
from motionloom.search.clip_search import WholeClips, clip_matches
from motionloom.search.family import APART, SAME, grow_family
from motionloom.search.filters import chosen_motions
from motionloom.search.lazy_graph import lazy_matches
from motionloom.search.library_web import web_search, web_steps
from motionloom.search.match import Match, Matches
from motionloom.search.match_graph import Family, Node
from motionloom.search.minima import MAX_OVERLAP, Found, realigned
from motionloom.search.neighbours import check_neighbourhood, neighbours, open_index
from motionloom.search.query import Query, as_query
from motionloom.search.settling import RANKS, candidates_overlap, settled, speeds
from motionloom.search.subsequence import (
    differences,
    dtw_matches,
    dtw_matches_by_distance,
    moving_weights,
)
from motionloom.search.timeline import Timeline

DEFAULT_MAX = 100
FAMILY_DISTANCE = 0.08  # metres; members of one action of the corpus and of CMU are nearer
LAZY_K = 256  # the paper's; with bridges, four fifths of what DTW finds in a fifth of its time
_MORE = 3


@dataclass(frozen=True)
class Options:
    """How to search; see `motionloom.Library.search`.

    Examples
    --------
    >>> from motionloom.search import Options
    >>> Options().method
    'dtw'
    """

    method: str = "dtw"
    features: str | FeatureSet | Any = "e15"
    distance: str | Any = "pc11"
    k: int | None = None
    radius: float | None = None
    max_matches: int | None = DEFAULT_MAX
    max_distance: float | None = None
    within: str | Iterable[str] | None = None
    only: str | Iterable[str] | None = None
    without: str | Iterable[str] | None = None
    steps: str = "slope"
    weights: str | None = "moving"
    speed_seconds: float = 0.15
    rank: str | None = None
    index: str = "blocks"
    epsilon: float = 0.0
    bridge: int | None = None
    durations: tuple[float, float] = (0.0, float("inf"))
    max_overlap: float = MAX_OVERLAP
    same: float = SAME
    apart: float = APART
    exclude_query: bool = False
    normalize: str | None = None
    scale_free: bool | None = None


def search(library: Shelf, query: str | Path | Motion | Query, options: Options) -> Matches:
    """Matches of the query in the library, the nearest first.

    Examples
    --------
    >>> from motionloom.search import Options, search
    >>> search(lib, "kick_front_mid_right:5-40", Options()).query
    'kick_front_mid_right:5-40'
    """
    _check(options)
    if not len(library):
        raise LibraryError(f"{library.path}: the library is empty; import motions first")
    query = as_query(library, query)
    found, timeline = METHODS[options.method](library, query, options)
    matches = [timeline.match(one, query, library.labels) for one in found]
    return Matches(matches, query=query.text, unit=_unit(options))


def _unit(options: Options) -> str:
    """What distances are told in."""
    if options.method in CLIP_MEASURES:
        return CLIP_MEASURES[options.method].unit
    return frame_distance(options.distance if options.method == "web" else options.features).unit


Result = tuple[list[Found], Timeline | WholeClips]


def _dtw(library: Shelf, query: Query, options: Options) -> Result:
    if not _is_feature_set(options.features):
        return _dtw_by_distance(library, query, options)
    features, rows = _rows(library, query, options)
    scale = features.feature_set.scale
    weights = None
    if options.weights is not None:
        is_positions = features.feature_set.components is None
        weights = moving_weights(rows, point_size=3 if is_positions else 1)
    limits = _limits(options, scale, _occupied(query, features, options))
    rank = options.rank or RANKS[0]
    look = dict(limits)
    if rank == "movement":
        # The order will change: look at more, and at all distances.
        look["max_distance"] = np.inf
        look["max_overlap"] = candidates_overlap(options.max_overlap)
        if options.max_matches is not None:
            look["max_matches"] = _MORE * options.max_matches
    found = dtw_matches(
        rows,
        features.rows,
        features.starts,
        weights=weights,
        allowed=_allowed(library, features.names, options),
        **look,
    )
    if rank == "movement" or options.speed_seconds > 0.0:
        found = settled(
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
            max_overlap=options.max_overlap,
            occupied=limits["occupied"],
        )
        shortest, longest = (ratio * len(rows) for ratio in options.durations)
        found = [
            one
            for one in found
            if one.distance <= limits["max_distance"] and shortest <= one.end - one.start <= longest
        ][: options.max_matches]
    return _scaled(found, scale), Timeline.of(features)


def _query_speed(query: Query, features: LibraryFeatures, rows: NDArray) -> NDArray[np.float64]:
    where = query.row_range(features)
    if where is None:
        return speeds(rows, 0, len(rows), 0, len(rows), features.rate)
    m = features.motion_index(str(query.name))
    first, last = int(features.starts[m]), int(features.starts[m + 1])
    return speeds(features.rows, *where, first, last, features.rate)


def _dtw_by_distance(library: Shelf, query: Query, options: Options) -> Result:
    distance = frame_distance(options.features)
    rate = library.fps or 30.0
    allowed = _allowed(library, library.names, options)
    names, motions, reason = [], [], ""
    for m, name in enumerate(library.names):
        if allowed is None or allowed[m]:
            motion = library[name].resample(rate)
            try:
                distance.prepare(motion[:2])
            except RoleError as error:
                reason = f"{name}: {error}"
                continue
            names.append(name)
            motions.append(motion)
    if not motions:
        raise RoleError(f"no motion has all joints that {distance.name} needs; {reason}")
    rows = query.cut_rows(distance.prepare(query.motion.resample(rate)), rate)
    if len(rows) < 2:
        raise InvalidInput(f"{query.text}: a query must have at least two frames at {rate:g} fps")
    entries = [library.entry(name) for name in names]
    timeline = Timeline(
        tuple(names),
        np.concatenate([[0], np.cumsum([len(motion) for motion in motions])]).astype(np.int64),
        np.array([entry.fps for entry in entries]),
        np.array([entry.frames for entry in entries]),
        rate,
    )
    occupied = []
    if options.exclude_query and query.name in names:
        m = names.index(query.name)
        scale = rate / entries[m].fps
        first = int(timeline.starts[m])
        ends = (round(query.start_frame * scale), round(query.end_frame * scale))
        occupied = [(first + ends[0], first + ends[1])]
    limits = _limits(options, 1.0, occupied)
    return dtw_matches_by_distance(rows, motions, distance, **limits), timeline


def _lazy(library: Shelf, query: Query, options: Options) -> Result:
    if not _is_feature_set(options.features):
        raise InvalidInput(
            f"method lazy needs a feature set, one of {', '.join(FEATURES)}; "
            f"got {options.features!r} (method dtw takes any distance)"
        )
    features, rows = _rows(library, query, options)
    k = options.k if options.k is not None or options.radius is not None else LAZY_K
    allowed = _allowed(library, features.names, options)
    near = neighbours(
        rows,
        features,
        open_index(library, features, options.index),
        k=k,
        radius=options.radius,
        epsilon=options.epsilon,
        allowed=None if allowed is None else np.repeat(allowed, np.diff(features.starts)),
    )
    occupied = _occupied(query, features, options)
    bridge = len(rows) - 1 if options.bridge is None else options.bridge
    limits = _limits(options, 1.0, occupied)
    if bridge > 0 and options.max_matches is not None:
        # Costs of bridges are bounds from below: look at more, and align those exactly.
        limits["max_matches"] = _MORE * options.max_matches
    found = lazy_matches(
        near.offsets, near.rows, near.distances, features.starts, bridge=bridge, **limits
    )
    if bridge > 0:
        scale = features.feature_set.scale
        found = realigned(
            found,
            lambda low, high: scale * differences(rows, features.rows[low:high]),
            features.starts,
            length=len(rows),
            steps=options.steps,
            max_overlap=options.max_overlap,
            occupied=occupied,
        )
        found = [one for one in found if one.distance <= limits["max_distance"]]
    return found[: options.max_matches], Timeline.of(features)


METHODS: dict[str, Callable[[Shelf, Query, Options], Result]] = {
    "dtw": _dtw,
    "lazy": _lazy,
    "web": web_search,
    **{name: partial(clip_matches, measure=measure) for name, measure in CLIP_MEASURES.items()},
}
"""Searches by name: ``method(library, query, options)`` gives what was found, and where."""


def library_family(
    library: Shelf,
    query: str | Path | Motion | Query,
    options: Options,
    *,
    tiers: int | str = "all",
    progress: Callable[[int], None] | None = None,
) -> Family:
    """The match graph of a query; see `motionloom.Library.family`.

    `progress` is called with 1 after the search of each member.

    Examples
    --------
    >>> from motionloom.search import Options, library_family
    >>> kicks = library_family(lib, "kick_front_mid_right:5-40", Options())
    >>> kicks.nodes[0].text
    'kick_front_mid_right:5-40'
    """
    steps = _tiers(tiers)
    _check(options)
    given = as_query(library, query)
    # A query from outside must not be taken for a motion of the library.
    name = given.name or (f"{given.text} (query)" if given.text in library else given.text)
    find = (web_steps if options.method == "web" else _search_steps)(library, given, options)

    def told(node: Node) -> Sequence[Match]:
        matches = find(node)
        if progress is not None:
            progress(1)
        return matches

    return grow_family(
        Node(name, given.start_frame, given.end_frame, 0),
        given.text,
        told,
        tiers=steps,
        unit=_unit(options),
        max_nodes=options.max_matches,
        same=options.same,
        apart=options.apart,
    )


def _search_steps(
    library: Shelf, query: Query, options: Options
) -> Callable[[Node], Sequence[Match]]:
    limit = FAMILY_DISTANCE if options.max_distance is None else options.max_distance
    # The limit is a distance of poses: what moves alike need not blend.
    each = replace(options, max_distance=limit, rank=options.rank or "distance")

    def find(node: Node) -> Matches:
        if node.tier == 0:
            return search(library, query, each)
        stretch = Query(
            node.text, library[node.motion], node.start_frame, node.end_frame, node.motion
        )
        return search(library, stretch, each)

    return find


def _tiers(tiers: int | str) -> int | None:
    if tiers == "all":
        return None
    try:
        number = int(tiers)
    except ValueError:
        number = 0
    if number < 1:
        raise InvalidInput(f"tiers must be a number from 1 on, or 'all'; got {tiers!r}")
    return number


def nearest_frames(
    library: Shelf, query: str | Path | Motion | Query, options: Options
) -> list[list[Match]]:
    """For every frame of the query its nearest frames, as matches one frame long.

    Examples
    --------
    >>> from motionloom.search import Options, nearest_frames
    >>> near = nearest_frames(lib, "walk:10-12", Options(k=3))
    >>> [len(frame) for frame in near]
    [3, 3]
    """
    _check(options)
    query = as_query(library, query)
    features, rows = _rows(library, query, options)
    motions = _allowed(library, features.names, options)
    allowed = None if motions is None else np.repeat(motions, np.diff(features.starts))
    occupied = _occupied(query, features, options)
    if occupied:
        allowed = np.ones(len(features), np.bool_) if allowed is None else allowed
        for start, end in occupied:
            allowed[start:end] = False
    near = neighbours(
        rows,
        features,
        open_index(library, features, options.index),
        k=options.k if options.k is not None or options.radius is not None else 16,
        radius=options.radius,
        epsilon=options.epsilon,
        allowed=allowed,
    )
    timeline = Timeline.of(features)
    found = []
    for frame in range(len(near)):
        pairs = zip(*near.of(frame), strict=True)
        found.append(
            [
                timeline.match(
                    Found(int(row), int(row) + 1, float(gap), np.array([[frame, row]])),
                    query,
                    library.labels,
                )
                for row, gap in pairs
            ]
        )
    return found


def _rows(
    library: Shelf, query: Query, options: Options
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


def _allowed(library: Shelf, names, options: Options) -> NDArray[np.bool_] | None:
    return chosen_motions(
        library, names, within=options.within, only=options.only, without=options.without
    )


def _occupied(query: Query, features: LibraryFeatures, options: Options) -> list[tuple[int, int]]:
    where = query.row_range(features) if options.exclude_query else None
    return [] if where is None else [where]


def _limits(options: Options, scale: float, occupied: list[tuple[int, int]]) -> dict[str, Any]:
    limit = np.inf if options.max_distance is None else options.max_distance / scale
    return {
        "steps": options.steps,
        "max_matches": options.max_matches,
        "max_distance": limit,
        "max_overlap": options.max_overlap,
        "durations": options.durations,
        "occupied": occupied,
    }


def _scaled(found: list[Found], scale: float) -> list[Found]:
    return [Found(one.start, one.end, one.distance * scale, one.path) for one in found]


def _check(options: Options) -> None:
    if options.method not in METHODS:
        known = ", ".join(METHODS)
        raise InvalidInput(f"method must be one of {known}; got {options.method!r}")
    check_steps(options.steps)
    if options.k is not None or options.radius is not None:
        check_neighbourhood(options.k, options.radius)
    if options.weights not in (None, "moving"):
        raise InvalidInput(f"weights must be 'moving' or None; got {options.weights!r}")
    if options.rank is not None and options.rank not in RANKS:
        raise InvalidInput(f"rank must be one of {', '.join(RANKS)}; got {options.rank!r}")
    if options.max_matches is not None and options.max_matches < 1:
        raise InvalidInput(f"max must be at least 1; got {options.max_matches}")
    if options.max_distance is not None and not options.max_distance >= 0.0:
        raise InvalidInput(f"max_distance must not be negative; got {options.max_distance}")
    if not options.speed_seconds >= 0.0:
        raise InvalidInput(f"speed_seconds must not be negative; got {options.speed_seconds}")
    if not 0.0 <= options.max_overlap < 1.0:
        raise InvalidInput(f"max_overlap must lie in 0..1; got {options.max_overlap}")
    if options.bridge is not None and options.bridge < 0:
        raise InvalidInput(f"bridge must not be negative; got {options.bridge}")
    low, high = options.durations
    if not 0.0 <= low <= high:
        raise InvalidInput(f"durations must be least and greatest ratio; got {options.durations}")
