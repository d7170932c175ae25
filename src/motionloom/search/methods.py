"""Search and query expansion by any method; see `motionloom.search.settings.METHODS`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from motionloom.distance import frame_distance
from motionloom.errors import LibraryError
from motionloom.motion import Motion
from motionloom.search.candidates import Candidate
from motionloom.search.clips.measures import CLIP_MEASURES
from motionloom.search.clips.search import WholeClips, clip_search
from motionloom.search.lazy_graph import lazy_search
from motionloom.search.match import Match, Matches, Timeline
from motionloom.search.match_graph.clear import ClearCorrespondence
from motionloom.search.match_graph.family import grow_family
from motionloom.search.match_graph.graph import Family, Node
from motionloom.search.match_web.search import web_expansion, web_search
from motionloom.search.query import Query, as_query
from motionloom.search.settings import (
    FAMILY_DISTANCE,
    ClipMethod,
    Dtw,
    FeatureOptions,
    LazyGraph,
    MatchWeb,
    SearchSettings,
    expansion_rounds,
)
from motionloom.search.subsequence.dtw import dtw_search
from motionloom.settings import Settings
from motionloom.store.store import Store

Search = Callable[[Store, Query, SearchSettings], tuple[list[Candidate], Timeline | WholeClips]]

SEARCHES: dict[type[Settings], Search] = {
    Dtw: dtw_search,
    LazyGraph: lazy_search,
    MatchWeb: web_search,
}


def search(library: Store, query: str | Path | Motion | Query, settings: SearchSettings) -> Matches:
    """Matches of the query in the library, nearest first; without query expansion.

    Examples
    --------
    >>> from motionloom.search import SearchSettings, search
    >>> search(lib, "kick_front_mid_right:5-40", SearchSettings()).query
    'kick_front_mid_right:5-40'
    """
    if not len(library):
        raise LibraryError(f"{library.path}: the library is empty; import motions first")
    query = as_query(library, query)
    method = SEARCHES.get(type(settings.method), clip_search)
    found, timeline = method(library, query, settings)
    matches = [timeline.match(one, query, library.labels) for one in found]
    return Matches(matches, query=query.text, unit=_unit(settings.method))


def library_family(
    library: Store,
    query: str | Path | Motion | Query,
    settings: SearchSettings,
    *,
    progress: Callable[[int], None] | None = None,
) -> Family:
    """The match graph of a query; see `motionloom.Library.family`.

    `progress` is called with 1 after the search of each member.

    Examples
    --------
    >>> from motionloom.search import FamilySettings, library_family
    >>> kicks = library_family(lib, "kick_front_mid_right:5-40", FamilySettings())
    >>> kicks.nodes[0].text
    'kick_front_mid_right:5-40'
    """
    given = as_query(library, query)
    # A query from outside must not have the name of a motion of the library.
    name = given.name or (f"{given.text} (query)" if given.text in library else given.text)
    method = settings.method
    is_web = isinstance(method, MatchWeb)
    find = (web_expansion if is_web else _expansion)(library, given, settings)
    is_checked = isinstance(method, Dtw | LazyGraph)  # the web does; whole clips are not aligned

    def find_and_report(node: Node) -> Sequence[Match]:
        matches = find(node)
        if progress is not None:
            progress(1)
        return matches

    return grow_family(
        Node(name, given.start_frame, given.end_frame, 0),
        given.text,
        find_and_report,
        tiers=expansion_rounds(settings.tiers),
        unit=_unit(method),
        max_nodes=settings.max,
        same=settings.same,
        apart=settings.apart,
        average_ranges=settings.average_ranges,
        seconds=_member_seconds(given, settings),
        squares=isinstance(method, MatchWeb) and method.squares,
        is_clear=ClearCorrespondence(library, given) if is_checked else None,
        keep_unclear=not settings.clear,
    )


def expanded_search(
    library: Store, query: str | Path | Motion | Query, settings: SearchSettings
) -> Matches:
    """Matches of the query, and those found by way of others, nearest first.

    Members of the family are ranked by their distance to the query in the match graph, the other
    matches of the query by their pose distance, which is longer than `max_distance` or that of
    families. So nothing is lost that the query finds alone.
    """
    given = as_query(library, query)
    family = library_family(library, given, settings).matches
    method = settings.method
    if isinstance(method, Dtw):
        method = replace(method, rank=method.rank or "distance")
    alone = search(library, given, replace(settings, tiers=1, method=method))
    members: dict[str, list[Match]] = {}
    for match in family:
        members.setdefault(match.motion, []).append(match)
    others = [
        match
        for match in alone
        if not any(_are_same(match, member) for member in members.get(match.motion, ()))
    ]
    ranked = sorted([*family, *others], key=lambda match: match.distance)
    return Matches(ranked[: settings.max], query=given.text, unit=alone.unit)


def _are_same(a: Match, b: Match) -> bool:
    """Whether half of the shorter of two matches in one motion is shared."""
    shared = min(a.end_frame, b.end_frame) - max(a.start_frame, b.start_frame)
    shorter = min(a.end_frame - a.start_frame, b.end_frame - b.start_frame)
    return 2 * shared > shorter


def _member_seconds(query: Query, settings: SearchSettings) -> tuple[float, float]:
    """Least and greatest duration of a member; whole clips may have any."""
    if isinstance(settings.method, ClipMethod):
        return 0.0, math.inf
    low, high = settings.member_lengths
    return low * query.clip.duration, high * query.clip.duration


def _unit(method: Settings) -> str:
    if isinstance(method, ClipMethod):
        return CLIP_MEASURES[method.NAME].unit
    if isinstance(method, FeatureOptions):
        return frame_distance(method.features).unit
    assert isinstance(method, MatchWeb)
    return frame_distance(method.distance).unit


def _expansion(
    library: Store, query: Query, settings: SearchSettings
) -> Callable[[Node], Sequence[Match]]:
    """A function that searches the query or a member of its family."""
    method = settings.method
    if isinstance(method, Dtw):
        # The limit is a distance of poses: similar movements need not blend.
        method = replace(method, rank=method.rank or "distance")
    limit = FAMILY_DISTANCE if settings.max_distance is None else settings.max_distance
    each = replace(settings, max_distance=limit, method=method)

    def find(node: Node) -> Matches:
        return search(library, query if node.tier == 0 else Query.at(library, node), each)

    return find
