"""Search in the match webs of a library, or in the web of an external query.

A search opens only the webs of its query's motion, including some frames before and after the
query. The most recently opened webs are cached with the library object, so repeating a search with
a different limit is fast enough for a slider. Memory does not grow with the library.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import LibraryError, RoleError
from motionloom.features import LibraryFeatures
from motionloom.features.feature_table import at_rate
from motionloom.ragged import row_of
from motionloom.search.candidates import Candidate, Limits
from motionloom.search.filters import chosen_mask
from motionloom.search.match import Match, Timeline
from motionloom.search.match_graph.members import Node
from motionloom.search.match_web.build import motion_web, web_frames
from motionloom.search.match_web.networks import WebIndex, web_index
from motionloom.search.match_web.sequences import web_matches
from motionloom.search.match_web.store import WebStore
from motionloom.search.methods import FeatureOptions, MatchWeb, WebOptions
from motionloom.search.methods.segments import NEAR_MATCHES
from motionloom.search.query import Query, row_span
from motionloom.search.settings import LARGEST_JOIN, SearchSettings
from motionloom.search.subsequence.rerank import second_pass, wider
from motionloom.settings import motion_choice
from motionloom.store.store import Store

_CONTEXT_SECONDS = 1.0  # seconds of motion around an external query, for its web


_FRAMES_TOGETHER = 1024  # frames of a long motion that are opened at a time
# Maximum number of path cells in the cached indexes, at 17 bytes per cell. Growing a family opens
# its members in turn: 100 members in ten minutes at 60 Hz have 25 million cells up to LARGEST_JOIN.
# If they did not fit, each round would open them again.
MOST_CELLS = 32_000_000
# An index contains the paths of matches up to one of these distances, in meters. Most cells of a
# web are in no match below, and another threshold should not need another index.
_DISTANCES = (NEAR_MATCHES, LARGEST_JOIN, math.inf)


class LibraryWeb:
    """Webs of a library, opened motion by motion. Use `library_web` to create an instance."""

    def __init__(self, store: WebStore, options: WebOptions) -> None:
        self.store = store
        self.entries = store.library.entries()
        self.timeline = store.timeline(self.entries)
        self.table = store.table(self.timeline)
        self._options = options
        self._indices: OrderedDict[tuple[str, int, int, float], WebIndex] = OrderedDict()

    def index(self, name: str, start: int, end: int, limit: float | None = None) -> WebIndex:
        """Return an index of the paths that pass through frames ``[start, end)`` of a motion.

        It contains at least the paths of all matches with a mean distance up to `limit`.
        """
        first = start // _FRAMES_TOGETHER * _FRAMES_TOGETHER
        last = -(-end // _FRAMES_TOGETHER) * _FRAMES_TOGETHER
        least = math.inf if limit is None else limit
        keys = [(name, first, last, distance) for distance in _DISTANCES if distance >= least]
        key = next((key for key in keys if key in self._indices), keys[0])
        if key not in self._indices:
            self._indices[key] = web_index(
                self.store.pieces_of(name, (first, last), self.table, key[3]),
                self.timeline.starts,
                directions=1,
                max_slope=self._options.max_slope,
                squares=self._options.squares,
            )
            while sum(len(index.cells) for index in self._indices.values()) > MOST_CELLS:
                if len(self._indices) == 1:
                    break
                self._indices.popitem(last=False)
        self._indices.move_to_end(key)
        return self._indices[key]

    def lacking(self, name: str) -> list[str]:
        """Return the motions that have no web with the motion `name`."""
        partners = self.table.partners(name)
        return [entry.name for entry in self.entries if entry.name not in partners]


_opened: WeakKeyDictionary[Store, dict[str, tuple[tuple, LibraryWeb]]] = WeakKeyDictionary()


def library_web(library: Store, options: WebOptions | None = None) -> LibraryWeb:
    """Return the webs of a library that were built with `options`.

    Raises
    ------
    LibraryError
        If no webs have been built.
    """
    options = options or WebOptions()
    store = WebStore.of(library, options)
    built = store.files.state()
    if built is None:
        how = _as_typed(options)
        missing = f"the match webs have not been built{how and ' with these options'}"
        if not how and any(store.folder.parent.glob("web.*")):
            missing = "the match webs were built with other options or by an earlier release"
        raise LibraryError(
            f"{library.path}: {missing}; build them with motionloom web {library.path} build{how}"
        )
    state = (library.artifacts.content_key(), built)
    kept = _opened.setdefault(library, {})
    cached = kept.get(store.folder.name)
    if cached is None or cached[0] != state:
        web = LibraryWeb(store, options)
        kept[store.folder.name] = (state, web)
        return web
    return cached[1]


def _as_typed(options: WebOptions) -> str:
    """Format non-default options as command-line arguments."""
    words = []
    for each in fields(WebOptions):
        value = getattr(options, each.name)
        if value != each.default:
            name = each.name.replace("_", "-")
            words.append(f" --{name}" if value is True else f" --{name} {value}")
    return "".join(words)


def web_search(
    library: Store, query: Query, settings: SearchSettings
) -> tuple[list[Candidate], Timeline]:
    """Search the webs of a library, and search again by movement near their matches."""
    method = settings.method
    assert isinstance(method, MatchWeb)
    if method.rank != "distance":
        try:
            features, vectors = query.features(library, FeatureOptions())
        except RoleError:
            if method.rank == "movement":
                raise
        else:
            return _search_by_movement(library, query, settings, features, vectors)
    searcher = _WebSearch(library, query, settings)
    return searcher.candidates(searcher.first), searcher.timeline


def _search_by_movement(
    library: Store,
    query: Query,
    settings: SearchSettings,
    features: LibraryFeatures,
    vectors: NDArray[np.float32],
) -> tuple[list[Candidate], Timeline]:
    """Search near the matches of the web by poses and speeds, and rank by movement."""
    scale = features.feature_set.scale
    limits = Limits.of(settings, query.span(features), scale=scale)
    near = wider(limits)
    assert isinstance(settings.method, MatchWeb)
    method = replace(settings.method, max_overlap=near.max_overlap)
    # The surroundings of the query are searched even if the query itself is excluded.
    every = replace(settings, max=near.max_matches, max_distance=None, exclude_query=False)
    searcher = _WebSearch(library, query, replace(every, method=method))
    timeline, candidates = searcher.timeline, []
    for each in searcher.candidates(searcher.first):
        m = int(row_of(timeline.starts, each.start))
        if timeline.names[m] in features.left_out:
            continue
        shift = int(features.starts[features.motion_index(timeline.names[m])] - timeline.starts[m])
        candidates.append(replace(each, start=each.start + shift, end=each.end + shift))
    matches = second_pass(candidates, query, features, vectors, limits=limits)
    in_meters = [replace(each, distance=each.distance * scale) for each in matches]
    return in_meters, Timeline.of(features)


def web_expansion(
    library: Store, query: Query, settings: SearchSettings
) -> Callable[[Node], Sequence[Match]]:
    """Return a function for `grow_family` that searches with the query or a family member."""
    searcher = _WebSearch(library, query, settings)
    labels = cache(library.labels)

    def find(node: Node) -> list[Match]:
        if node.tier == 0:
            member, segment = query, searcher.first
        else:
            member = Query.at(library, node)
            segment = searcher.inside(member)
        candidates = searcher.candidates(segment)
        return [searcher.timeline.match(candidate, member, labels) for candidate in candidates]

    return find


@dataclass(frozen=True, eq=False)
class _IndexedSegment:
    """Searched frames of an index, and their range in the library if they belong to it."""

    index: WebIndex
    start: int
    end: int
    own: tuple[int, int] | None


class _WebSearch:
    """Searches for one query and its family, all with the same settings."""

    def __init__(self, library: Store, query: Query, settings: SearchSettings) -> None:
        method = settings.method
        assert isinstance(method, MatchWeb)
        self.library, self.settings = library, settings
        self.web = library_web(library, method)
        self.timeline = self.web.timeline
        self.allowed = chosen_mask(library, self.timeline.names, **motion_choice(settings))
        self._checked: set[str] = set()
        self.first = self._outside(query) if query.name is None else self.inside(query)
        length = self.first.end - self.first.start
        query.check_length(length, self.timeline.rate)
        ratios = method.durations
        self.lengths = (ratios[0] * length, ratios[1] * length)

    def candidates(self, segment: _IndexedSegment) -> list[Candidate]:
        """Return the candidates for a segment, starting with the segment if the library has it."""
        own, length = segment.own, segment.end - segment.start
        limits = replace(
            Limits.of(self.settings, None),
            durations=(self.lengths[0] / length, self.lengths[1] / length),
            occupied=() if own is None else (own,),
        )
        matches = web_matches(
            segment.index, segment.start, segment.end, limits, allowed=self.allowed
        )
        if own is not None and not self.settings.exclude_query and self._is_allowed(own[0]):
            steps = np.arange(length)
            path = np.column_stack([steps, steps + own[0]])
            matches = [Candidate(*own, 0.0, path), *matches][: limits.max_matches]
        return matches

    def inside(self, query: Query) -> _IndexedSegment:
        """Return a segment of the library."""
        name = str(query.name)
        if name not in self._checked:
            self._check_built(name)
            self._checked.add(name)
        own = self.timeline.span(name, query.start_frame, query.end_frame)
        begin = int(self.timeline.starts[row_of(self.timeline.starts, own[0])])
        limit = self.settings.max_distance
        index = self.web.index(name, own[0] - begin, own[1] - begin, limit)
        return _IndexedSegment(index, *own, own)

    def _outside(self, query: Query) -> _IndexedSegment:
        """Return an external segment, after building its web with the library."""
        rate, store = self.timeline.rate, self.web.store
        pad = round(_CONTEXT_SECONDS * query.motion.fps)
        low = max(query.start_frame - pad, 0)
        around = at_rate(query.motion[low : query.end_frame + pad], rate)
        rows = web_frames(around, store.distance, store.limits)
        start, end = row_span(
            query.start_frame - low, query.end_frame - low, query.motion.fps, rate, len(around)
        )
        pieces = []
        for m, name in enumerate(self.timeline.names):
            if self.allowed is not None and not self.allowed[m]:
                continue
            try:
                motion = at_rate(self.library[name], rate)
                column = web_frames(motion, store.distance, store.limits)
            except RoleError:
                continue
            web = motion_web(rows, [column], rate=rate, limits=store.limits)
            pieces.append((0, int(self.timeline.starts[m]), web))
        return _IndexedSegment(
            web_index(
                pieces,
                self.timeline.starts,
                directions=1,
                max_slope=store.limits.max_slope,
                squares=store.limits.squares,
            ),
            start,
            end,
            None,
        )

    def _check_built(self, name: str) -> None:
        names = self.timeline.names
        others = names if self.allowed is None else np.array(names)[self.allowed].tolist()
        wanted = set(others)
        lacking = [other for other in self.web.lacking(name) if other in wanted]
        if lacking:
            lacking = self.web.store.buildable([name]) and self.web.store.buildable(lacking)
        if lacking:
            which = f"{len(lacking)} of {len(others)} motions" if len(others) > 1 else "itself"
            label = self.settings.label
            labels = [label] if isinstance(label, str) else list(label or ())
            labels = labels if name in others else []
            extra = "".join(f" --label {label}" for label in labels)
            raise LibraryError(
                f"{self.library.path}: {name!r} has no web with {which}; build it "
                f"with motionloom web {self.library.path} build{extra}"
            )

    def _is_allowed(self, row: int) -> bool:
        if self.allowed is None:
            return True
        return bool(self.allowed[row_of(self.timeline.starts, row)])
