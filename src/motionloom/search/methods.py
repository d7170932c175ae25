"""Search and query expansion by any method; see `motionloom.search.settings.METHODS`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from pathlib import Path

from motionloom.errors import LibraryError
from motionloom.features import frame_distance
from motionloom.motion import Motion
from motionloom.search.candidates import Candidate, Limits
from motionloom.search.clips.measures import CLIP_MEASURES
from motionloom.search.clips.retrieval import WholeClips, clip_search
from motionloom.search.feedback import covers, judged, search_with_verdicts
from motionloom.search.match import Match, Matches, Timeline
from motionloom.search.match_graph.family import ClearCorrespondence, grow_family
from motionloom.search.match_graph.members import Family, Node
from motionloom.search.match_graph.sweep import LimitSweep, limit_sweep
from motionloom.search.match_web.search import web_expansion, web_search
from motionloom.search.query import Query, as_query
from motionloom.search.settings import (
    FAMILY_DISTANCE,
    LARGEST_JOIN,
    ClipMethod,
    Dtw,
    FeatureOptions,
    LazyGraph,
    MatchWeb,
    SearchSettings,
    expansion_rounds,
)
from motionloom.search.subsequence.dtw import dtw_search
from motionloom.search.subsequence.lazy_graph import lazy_search
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
    if settings.accept or settings.reject:
        return search_with_verdicts(library, query, settings, search)
    method = SEARCHES.get(type(settings.method), clip_search)
    found, timeline = method(library, query, settings)
    if settings.mirror:
        mirrored, _ = method(library, query.mirrored(), settings)
        found = _both_sides(found, [replace(one, mirrored=True) for one in mirrored], settings)
    matches = [
        replace(timeline.match(one, query, library.labels), mirrored=one.mirrored) for one in found
    ]
    if settings.mirror:
        matches = [one for one in matches if not _is_own(one, query, settings)][: settings.max]
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
    growth = _Growth(library, as_query(library, query), settings, progress)
    sweep = None
    limit = settings.join_distance
    if limit is None:
        sweep = growth.sweep()
        limit = sweep.proposed
    family = grow_family(
        growth.node,
        growth.query.text,
        growth.find(limit),
        tiers=expansion_rounds(settings.tiers),
        unit=_unit(settings.method),
        max_nodes=settings.max,
        same=settings.same,
        apart=settings.apart,
        average_ranges=settings.average_ranges,
        seconds=growth.seconds,
        squares=isinstance(settings.method, MatchWeb) and settings.method.squares,
        is_clear=growth.is_clear,
        keep_unclear=not settings.clear,
    )
    return replace(family, join_distance=float(limit), sweep=sweep)


def family_sweep(
    library: Store, query: str | Path | Motion | Query, settings: SearchSettings
) -> LimitSweep:
    """Sizes of the families of a query for all join distances, up to `max` members."""
    return _Growth(library, as_query(library, query), settings, None).sweep(complete=True)


def expanded_search(
    library: Store, query: str | Path | Motion | Query, settings: SearchSettings
) -> Matches:
    """Matches of the query, and those found by way of others, nearest first.

    Members of the family are ranked by their distance to the query in the match graph, the other
    matches of the query by their pose distance. So nothing is lost that the query finds alone.
    """
    given = as_query(library, query)
    family = library_family(library, given, settings).matches
    method = settings.method
    if isinstance(method, Dtw):
        method = _for_families(method)
    alone = search(library, given, replace(settings, tiers=1, method=method, max_distance=None))
    others = [match for match in alone if not _is_among(match, family)]
    ranked = sorted([*family, *others], key=lambda match: match.distance)
    if settings.max_distance is not None:
        # One tier ranks by movement: what is near by that distance stays, too.
        first = search(library, given, replace(settings, tiers=1))
        ranked = [
            match
            for match in ranked
            if match.distance <= settings.max_distance or _is_among(match, first)
        ]
    return Matches(ranked[: settings.max], query=given.text, unit=alone.unit)


def _is_among(match: Match, matches: Iterable[Match]) -> bool:
    return any(match.motion == one.motion and _are_same(match, one) for one in matches)


def _both_sides(
    found: list[Candidate], mirrored: list[Candidate], settings: SearchSettings
) -> list[Candidate]:
    """Candidates of the query and of its mirror image, nearest first.

    Of two that overlap the nearer is kept. Both count frames, or clips, of the same library.
    """
    ranked = sorted([*found, *mirrored], key=lambda one: (one.distance, one.mirrored, one.start))
    overlap = getattr(settings.method, "max_overlap", 0.0)
    suppression = Limits(max_overlap=overlap).suppression()
    kept = [one for one in ranked if suppression.keep(one.start, one.end)]
    return kept[: getattr(settings.method, "k", None) if _are_clips(settings) else None]


def _are_clips(settings: SearchSettings) -> bool:
    return isinstance(settings.method, ClipMethod)


def _is_own(match: Match, query: Query, settings: SearchSettings) -> bool:
    """Whether a mirrored match covers frames of the query, which are to be left out."""
    return (
        settings.exclude_query
        and match.mirrored
        and match.motion == query.name
        and match.start_frame < query.end_frame
        and match.end_frame > query.start_frame
    )


def _for_families(method: Dtw) -> Dtw:
    """Ranked by the distance of poses, of joints that move: similar movements need not blend."""
    return replace(method, rank=method.rank or "distance", weights=method.weights or "moving")


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


class _Growth:
    """Searches from the members of a family, with the verdicts on them."""

    def __init__(
        self,
        library: Store,
        query: Query,
        settings: SearchSettings,
        progress: Callable[[int], None] | None,
    ) -> None:
        self.library, self.query, self.settings, self.progress = library, query, settings, progress
        # A query from outside must not have the name of a motion of the library.
        name = query.name or (f"{query.text} (query)" if query.text in library else query.text)
        self.node = Node(name, query.start_frame, query.end_frame, 0)
        self.seconds = _member_seconds(query, settings)
        method = settings.method
        # Matches of the web correspond clearly by construction; whole clips are not aligned.
        is_checked = isinstance(method, Dtw | LazyGraph)
        self.is_clear = ClearCorrespondence(library, query) if is_checked else None
        self.rejected = judged(library, settings.reject)
        self.accepted = judged(library, settings.accept)
        self._found: dict[str, tuple[float, Sequence[Match]]] = {}

    def find(self, limit: float) -> Callable[[Node], Sequence[Match]]:
        """A function that searches the query or a member, up to a distance."""
        method = self.settings.method
        if isinstance(method, Dtw):
            method = _for_families(method)
        # A family has no limit of distances to the query; its searches have one.
        own = {each.name: getattr(self.settings, each.name) for each in fields(SearchSettings)}
        each = SearchSettings(
            **own | {"max_distance": limit, "method": method, "preset": None}
            | {"accept": None, "reject": None}
        )  # fmt: skip
        expansion = web_expansion if isinstance(method, MatchWeb) else _expansion
        find = expansion(self.library, self.query, each)

        def judged_matches(node: Node) -> Sequence[Match]:
            key = node.text if node.tier else ""
            within, found = self._found.get(key, (-1.0, ()))
            if within < limit:
                found = find(node)
                # Fewer than `max`: those of shorter limits are among them.
                is_whole = self.settings.max is None or len(found) < self.settings.max
                self._found[key] = (limit if is_whole else -1.0, found)
                if self.progress is not None:
                    self.progress(1)
            found = [one for one in found if one.distance <= limit and not self._is_rejected(one)]
            return found if node.tier else [*found, *self._accepted_beyond(limit, each)]

        return judged_matches

    def sweep(self, *, complete: bool = False) -> LimitSweep:
        """The sizes of the families of all join distances."""
        in_metres = _unit(self.settings.method) == "m"
        is_clip = isinstance(self.settings.method, ClipMethod)
        largest = LARGEST_JOIN if in_metres and not is_clip else math.inf
        return limit_sweep(
            self.node,
            self.query.text,
            self.find(largest),
            largest=largest,
            fallback=FAMILY_DISTANCE if in_metres else 0.0,
            complete=complete,
            max_nodes=self.settings.max,
            same=self.settings.same,
            apart=self.settings.apart,
            seconds=self.seconds,
            is_clear=self.is_clear if self.settings.clear else None,
            unit=_unit(self.settings.method),
        )

    def _is_rejected(self, match: Match) -> bool:
        return any(covers(match, one) for one in self.rejected)

    def _accepted_beyond(self, limit: float, settings: SearchSettings) -> list[Match]:
        """Accepted members that are farther from the query than the limit."""
        found = []
        for one in self.accepted:
            assert one.name is not None
            anywhere = replace(settings, max_distance=None, max=None, only=(one.name,))
            there = [m for m in search(self.library, self.query, anywhere) if covers(m, one)]
            if there and there[0].distance > limit:
                found.append(there[0])
        return found


def _expansion(
    library: Store, query: Query, settings: SearchSettings
) -> Callable[[Node], Sequence[Match]]:
    """A function that searches the query or a member of its family."""

    def find(node: Node) -> Matches:
        return search(library, query if node.tier == 0 else Query.at(library, node), settings)

    return find
