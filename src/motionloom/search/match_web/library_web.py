"""Searching the webs of a library, or the web of a query from outside it.

Webs are opened once and kept as long as the library object is, so that a threshold can be
moved like a slider.

The matrix and the web of two motions of a library, to be looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from motionloom.distance import FrameDistance
from motionloom.distance.feature_table import at_rate
from motionloom.distance.matrix import DistanceMatrix, prepared_frames
from motionloom.errors import LibraryError, RoleError
from motionloom.ragged import row_of
from motionloom.search.candidates import Candidate, Limits
from motionloom.search.match import Match
from motionloom.search.match_graph.graph import Node
from motionloom.search.match_web.build import motion_web
from motionloom.search.match_web.match_sequences import web_matches
from motionloom.search.match_web.web import Web
from motionloom.search.match_web.web_index import WebIndex, web_index
from motionloom.search.match_web.web_store import WebStore
from motionloom.search.query import Query, row_span
from motionloom.search.settings import Options
from motionloom.search.timeline import Timeline
from motionloom.store.store import Store

# Metres per cell, of point clouds, for families. Between members of one action of the built-in
# corpus steps of 0.05 to 0.1 are enough, in CMU's takes 0.07 to 0.09.
WEB_DISTANCE = 0.08
# Matches last at least half and at most twice as long as the query, those of matches too: a
# family must not shrink from step to step until everything is alike.
WEB_DURATIONS = (0.5, 2.0)

_CONTEXT_SECONDS = 1.0  # of the motion around a query from outside, for its web
_ANY_DURATION = (0.0, float("inf"))


@dataclass(frozen=True, eq=False)
class LibraryWeb:
    """The webs of a library, opened; made by `library_web`."""

    store: WebStore
    timeline: Timeline
    index: WebIndex
    partners: dict[str, set[str]]


_opened: WeakKeyDictionary[Store, dict[str, tuple[tuple, LibraryWeb]]] = WeakKeyDictionary()


def library_web(library: Store, distance: str | FrameDistance = "pc11") -> LibraryWeb:
    """The webs of a library that have been built with a distance.

    Raises
    ------
    LibraryError
        If none has been built.
    """
    store = WebStore(library, distance)
    built = store.files.state()
    if built is None:
        raise LibraryError(
            f"{library.path}: its match webs have not been built; build them with "
            f"motionloom web {library.path} build"
        )
    state = (library.artifacts.content_key(), built)
    kept = _opened.setdefault(library, {})
    known = kept.get(store.folder.name)
    if known is None or known[0] != state:
        timeline = store.timeline()
        index = web_index(store.pieces(timeline), timeline.starts)
        web = LibraryWeb(store, timeline, index, store.partners())
        kept[store.folder.name] = (state, web)
        return web
    return known[1]


def web_search(library: Store, query: Query, options: Options) -> tuple[list[Candidate], Timeline]:
    """What a query finds in the webs of a library, and where; see `METHODS`."""
    finder = _Finder(library, query, options)
    return finder.found(finder.first), finder.timeline


def web_steps(library: Store, query: Query, options: Options) -> Callable[[Node], Sequence[Match]]:
    """For `grow_family`: a function that gives the matches of the query and of any match."""
    if options.max_distance is None:
        options = replace(options, max_distance=WEB_DISTANCE)
    finder = _Finder(library, query, options)
    labels = cache(library.labels)

    def find(node: Node) -> list[Match]:
        if node.tier == 0:
            asked, stretch = query, finder.first
        else:
            asked = Query.at(library, node)
            stretch = finder.inside(asked)
        return [finder.timeline.match(one, asked, labels) for one in finder.found(stretch)]

    return find


@dataclass(frozen=True, eq=False)
class _Stretch:
    """What is searched for: an index, and the frames in it; and where that is, if anywhere."""

    index: WebIndex
    start: int
    end: int
    place: tuple[int, int] | None


class _Finder:
    """Searches of one query and its matches, under one set of options."""

    def __init__(self, library: Store, query: Query, options: Options) -> None:
        self.library, self.options = library, options
        self.web = library_web(library, options.distance)
        self.timeline = self.web.timeline
        self.allowed = options.allowed(library, self.timeline.names)
        self._whole: set[str] = set()
        self.first = self._outside(query) if query.name is None else self.inside(query)
        length = self.first.end - self.first.start
        query.check_length(length, self.timeline.rate)
        ratios = WEB_DURATIONS if options.durations == _ANY_DURATION else options.durations
        self.lengths = (ratios[0] * length, ratios[1] * length)

    def found(self, stretch: _Stretch) -> list[Candidate]:
        """Matches of a stretch, itself in front if it is in the library."""
        o = self.options
        itself = [stretch.place] if stretch.place is not None else []
        length = stretch.end - stretch.start
        limits = replace(
            o.limits(itself), durations=(self.lengths[0] / length, self.lengths[1] / length)
        )
        found = web_matches(stretch.index, stretch.start, stretch.end, limits, allowed=self.allowed)
        if itself and not o.exclude_query and self._is_allowed(itself[0][0]):
            steps = np.arange(length)
            path = np.column_stack([steps, steps + itself[0][0]])
            found = [Candidate(*itself[0], 0.0, path), *found][: o.max_matches]
        return found

    def inside(self, query: Query) -> _Stretch:
        """A stretch of the library."""
        name = str(query.name)
        if name not in self._whole:
            self._check_built(name)
            self._whole.add(name)
        place = self.timeline.row_range(name, query.start_frame, query.end_frame)
        return _Stretch(self.web.index, *place, place)

    def _outside(self, query: Query) -> _Stretch:
        """A stretch from outside: its web with the library is built now."""
        rate, store = self.timeline.rate, self.web.store
        pad = round(_CONTEXT_SECONDS * query.motion.fps)
        low = max(query.start_frame - pad, 0)
        around = at_rate(query.motion[low : query.end_frame + pad], rate)
        rows = prepared_frames(around, store.distance)
        start, end = row_span(
            query.start_frame - low, query.end_frame - low, query.motion.fps, rate, len(around)
        )
        pieces = []
        for m, name in enumerate(self.timeline.names):
            if self.allowed is not None and not self.allowed[m]:
                continue
            try:
                column = prepared_frames(at_rate(self.library[name], rate), store.distance)
            except RoleError:
                continue
            web = motion_web(rows, [column], rate=rate, options=store.options)
            pieces.append((0, int(self.timeline.starts[m]), web))
        return _Stretch(web_index(pieces, self.timeline.starts, ways=1), start, end, None)

    def _check_built(self, name: str) -> None:
        names = self.timeline.names
        others = names if self.allowed is None else np.array(names)[self.allowed].tolist()
        lacking = [other for other in others if other not in self.web.partners.get(name, ())]
        if lacking:
            lacking = self.web.store.buildable([name]) and self.web.store.buildable(lacking)
        if lacking:
            which = f"{len(lacking)} of {len(others)} motions" if len(others) > 1 else "itself"
            within = self.options.within
            labels = [within] if isinstance(within, str) else list(within or ())
            labels = labels if name in others else []
            extra = "".join(f" --within {label}" for label in labels)
            raise LibraryError(
                f"{self.library.path}: {name!r} has no web with {which} to be searched; build it "
                f"with motionloom web {self.library.path} build{extra}"
            )

    def _is_allowed(self, row: int) -> bool:
        if self.allowed is None:
            return True
        return bool(self.allowed[row_of(self.timeline.starts, row)])


@dataclass(frozen=True, eq=False)
class WebPair:
    """Two motions compared: distances (M, N) at the web's rate, and the web.

    `alpha` is that of the valid region, `is_same` tells whether it is one motion.
    """

    matrix: NDArray[np.float64]
    web: Web
    alpha: float
    is_same: bool

    def search(self, start: int, end: int, *, threshold: float = WEB_DISTANCE) -> list[Candidate]:
        """Match sequences of rows `start` to `end`."""
        index = web_index([(0, 0, self.web)], np.array([0, self.web.shape[1]]), ways=1)
        limits = Limits(
            max_distance=threshold,
            durations=WEB_DURATIONS,
            occupied=[(start, end)] if self.is_same else [],
        )
        return web_matches(index, start, end, limits)


def web_pair(library: Store, a: str, b: str, *, distance: str | FrameDistance = "pc11") -> WebPair:
    """Matrix and web of two motions; the web as it was built, or built now.

    Parameters
    ----------
    library : Store
    a, b : str
        Names of the motions of rows and columns.
    distance : str or FrameDistance
    """
    store = WebStore(library, distance)
    rows, columns = (
        prepared_frames(at_rate(library[name], store.rate), store.distance) for name in (a, b)
    )
    try:
        web = store.web(a, b)
    except LibraryError:
        web = motion_web(
            rows, [columns], rate=store.rate, itself=0 if a == b else None, options=store.options
        )
    return WebPair(DistanceMatrix(rows, [columns]).block(), web, store.options.alpha, a == b)
