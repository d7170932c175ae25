"""Search with any method, including query expansion, feedback and mirrored queries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path

from motionloom.errors import LibraryError
from motionloom.motion import Motion
from motionloom.search.candidates import Candidate, Limits
from motionloom.search.feedback import search_with_verdicts
from motionloom.search.match import Match, Matches
from motionloom.search.match_graph.growth import library_family
from motionloom.search.methods import ClipMethod
from motionloom.search.query import Query, as_query
from motionloom.search.settings import Expansion, SearchSettings
from motionloom.store.store import Store


def search(library: Store, query: str | Path | Motion | Query, settings: SearchSettings) -> Matches:
    """Return the matches for the query in the library, nearest first, without query expansion.

    Examples
    --------
    >>> from motionloom.search import SearchSettings, search
    >>> search(lib.store, "kick_front_mid_right:5-40", SearchSettings()).query
    'kick_front_mid_right:5-40'
    """
    if not len(library):
        raise LibraryError(f"{library.path}: the library is empty; import motions first")
    query = as_query(library, query)
    if settings.feedback:
        return search_with_verdicts(library, query, settings, search)
    candidates, timeline = settings.method.candidates(library, query, settings)
    if settings.mirror:
        mirrored, _ = settings.method.candidates(library, query.mirrored(), settings)
        both = [replace(each, mirrored=True) for each in mirrored]
        candidates = _both_sides(candidates, both, settings)
    labels = cache(library.labels)
    matches = [
        replace(timeline.match(each, query, labels), mirrored=each.mirrored) for each in candidates
    ]
    if settings.mirror:
        matches = [match for match in matches if not _is_own(match, query, settings)]
        matches = matches[: settings.max]
    return Matches(matches, query=query.text, unit=settings.method.unit())


def expanded_search(
    library: Store, query: str | Path | Motion | Query, settings: SearchSettings
) -> Matches:
    """Return the matches for the query and from query expansion, nearest first.

    Members of the family are ranked by their distance to the query in the match graph, and the
    other matches of the query by their pose distance. The result includes all direct matches of the
    query; those that are found only by movement have that distance.
    """
    given = as_query(library, query)
    matches = list(library_family(library, given, settings).matches)
    once = replace(settings, expansion=Expansion(tiers=1))
    by_pose = replace(once, method=settings.method.for_families(), max_distance=None)
    alone = search(library, given, by_pose)
    direct = alone if by_pose == once else search(library, given, once)
    for others in (alone, direct):
        matches += [match for match in others if not _is_among(match, matches)]
    ranked = sorted(matches, key=lambda match: match.distance)
    if settings.max_distance is not None:
        ranked = [
            match
            for match in ranked
            if match.distance <= settings.max_distance or _is_among(match, direct)
        ]
    return Matches(ranked[: settings.max], query=given.text, unit=alone.unit)


def _is_among(match: Match, matches: Iterable[Match]) -> bool:
    return any(match.motion == other.motion and _are_same(match, other) for other in matches)


def _both_sides(
    candidates: list[Candidate], mirrored: list[Candidate], settings: SearchSettings
) -> list[Candidate]:
    """Merge the candidates for the query and its mirror image, nearest first.

    Both lists refer to frames or clips of the same library. If two candidates overlap, the nearer
    one is kept.
    """
    ranked = sorted(
        [*candidates, *mirrored],
        key=lambda candidate: (candidate.distance, candidate.mirrored, candidate.start),
    )
    overlap = getattr(settings.method, "max_overlap", 0.0)
    suppression = Limits(max_overlap=overlap).suppression()
    kept = [candidate for candidate in ranked if suppression.keep(candidate.start, candidate.end)]
    return kept[: getattr(settings.method, "k", None) if _are_clips(settings) else None]


def _are_clips(settings: SearchSettings) -> bool:
    return isinstance(settings.method, ClipMethod)


def _is_own(match: Match, query: Query, settings: SearchSettings) -> bool:
    """Return whether a mirrored match covers excluded frames of the query."""
    return (
        settings.exclude_query
        and match.mirrored
        and match.motion == query.name
        and match.start_frame < query.end_frame
        and match.end_frame > query.start_frame
    )


def _are_same(a: Match, b: Match) -> bool:
    """Return whether two matches in the same motion share half of the shorter one."""
    shared = min(a.end_frame, b.end_frame) - max(a.start_frame, b.start_frame)
    shorter = min(a.end_frame - a.start_frame, b.end_frame - b.start_frame)
    return 2 * shared > shorter
