"""The searches of motionloom, by name, behind one door.

``dtw``
    Subsequence DTW over everything: exact, and the default. On all of CMU it takes as
    long as finding the neighbours that the graph needs, and misses nothing.
``lazy``
    The lazy neighbourhood graph: alignments made of near neighbours only.
``web``
    The match web, built beforehand: the quickest, once it is there.
``dtw-clip``, ``emd``, ``dtw-angles``, ``scaling``, ...
    Whole clips instead of stretches: see `motionloom.search.clips.measures`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from motionloom.distance import frame_distance
from motionloom.errors import InvalidInput, LibraryError
from motionloom.motion import Motion
from motionloom.search.candidates import Candidate
from motionloom.search.clips.clip_search import WholeClips, clip_matches
from motionloom.search.clips.measures import CLIP_MEASURES
from motionloom.search.match import Match, Matches
from motionloom.search.match_graph.family import grow_family
from motionloom.search.match_graph.graph import Family, Node
from motionloom.search.match_web.library_web import web_search, web_steps
from motionloom.search.query import Query, as_query
from motionloom.search.row_search import dtw_search, lazy_search
from motionloom.search.settings import Options
from motionloom.search.timeline import Timeline
from motionloom.store.store import Store

FAMILY_DISTANCE = 0.08  # metres; members of one action of the corpus and of CMU are nearer

Result = tuple[list[Candidate], Timeline | WholeClips]

METHODS: dict[str, Callable[[Store, Query, Options], Result]] = {
    "dtw": dtw_search,
    "lazy": lazy_search,
    "web": web_search,
    **{name: partial(clip_matches, measure=measure) for name, measure in CLIP_MEASURES.items()},
}
"""Searches by name: ``method(library, query, options)`` gives what was found, and where."""


def search(library: Store, query: str | Path | Motion | Query, options: Options) -> Matches:
    """Matches of the query in the library, the nearest first.

    Examples
    --------
    >>> from motionloom.search import Options, search
    >>> search(lib, "kick_front_mid_right:5-40", Options()).query
    'kick_front_mid_right:5-40'
    """
    method = _method(options)
    if not len(library):
        raise LibraryError(f"{library.path}: the library is empty; import motions first")
    query = as_query(library, query)
    found, timeline = method(library, query, options)
    matches = [timeline.match(one, query, library.labels) for one in found]
    return Matches(matches, query=query.text, unit=_unit(options))


def library_family(
    library: Store,
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
    steps = expansion_rounds(tiers)
    _method(options)
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


def expansion_rounds(tiers: int | str) -> int | None:
    """How many steps from like to like are meant; None for all.

    Raises
    ------
    InvalidInput
        If it is neither a whole number from 1 on nor ``all``.

    Examples
    --------
    >>> expansion_rounds(2), expansion_rounds("3"), expansion_rounds("all")
    (2, 3, None)
    """
    if tiers == "all":
        return None
    text = str(tiers)
    if not text.isdecimal() or int(text) < 1:
        raise InvalidInput(f"tiers must be a number from 1 on, or all; got {tiers}")
    return int(text)


def _method(options: Options) -> Callable[[Store, Query, Options], Result]:
    if options.method not in METHODS:
        known = ", ".join(METHODS)
        raise InvalidInput(f"method must be one of {known}; got {options.method!r}")
    return METHODS[options.method]


def _unit(options: Options) -> str:
    """What distances are told in."""
    if options.method in CLIP_MEASURES:
        return CLIP_MEASURES[options.method].unit
    return frame_distance(options.distance if options.method == "web" else options.features).unit


def _search_steps(
    library: Store, query: Query, options: Options
) -> Callable[[Node], Sequence[Match]]:
    limit = FAMILY_DISTANCE if options.max_distance is None else options.max_distance
    # The limit is a distance of poses: what moves alike need not blend.
    each = replace(options, max_distance=limit, rank=options.rank or "distance")

    def find(node: Node) -> Matches:
        return search(library, query if node.tier == 0 else Query.at(library, node), each)

    return find
