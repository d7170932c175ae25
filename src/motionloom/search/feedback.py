"""Relevance feedback: rerank all matches by the matches that the user accepted or rejected.

The query and the accepted matches are positive examples; the rejected matches are negative
examples. Each example is used as a query with the same method and settings. The distance of a match
to the positive examples is the root of the harmonic mean of its squared distances to them, so a
match near any one of them counts as near. This distance is multiplied by a power of its ratio to
the distance of the nearest rejected match (nearest-neighbor relevance feedback, after Giacinto &
Roli 2004). Matches that are nearer to a rejected match than to any positive example move down the
ranking; others move up.

Feedback only needs distances, so it works with every method.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.search.candidates import NonMaximumSuppression
from motionloom.search.match import Match, Matches
from motionloom.search.match_graph.family import composed, fitted
from motionloom.search.methods import ClipMethod, SegmentOptions
from motionloom.search.query import Query, library_query
from motionloom.search.settings import Feedback, SearchSettings
from motionloom.store.store import Store

# Chosen from 0, 1/4, 1/2, 3/4, 1 and 2 by cross-validation over labeled sets
# (docs/evidence/refined-search.md).
CONTRAST = 0.5
_DEPTH = 4  # matches to find per example, as a multiple of the requested number of matches
_LEAST_DEPTH = 200

PlainSearch = Callable[[Store, Query, SearchSettings], Matches]


def search_with_verdicts(
    library: Store, query: Query, settings: SearchSettings, plain: PlainSearch
) -> Matches:
    """Search with the query and the accepted matches, and move results near rejected matches down.

    Accepted matches have a distance of 0, like the query. Rejected matches are excluded.

    Parameters
    ----------
    library : Store
    query : Query
    settings : SearchSettings
        Must set `accept` or `reject`.
    plain : callable
        The search without feedback.
    """
    accepted = judged(library, settings.feedback.accept)
    rejected = judged(library, settings.feedback.reject)
    for example in accepted:
        if any(_same_segment(example, other) for other in rejected):
            raise InvalidInput(f"{example.text} is both accepted and rejected")
    method, most = settings.method, settings.max
    if isinstance(method, ClipMethod) and method.k is not None:
        method, most = replace(method, k=None), method.k
    depth = None if most is None else max(_DEPTH * most, _LEAST_DEPTH)
    each = replace(settings, method=method, feedback=Feedback(), max=depth, max_distance=None)
    matches = plain(library, query, each)
    own = replace(each, exclude_query=False)
    wanted = [
        matches,
        *(_by_way_of(example, plain(library, example, own), matches) for example in accepted),
    ]
    unwanted = [plain(library, example, own) for example in rejected]
    hidden = [*rejected, query] if settings.exclude_query else rejected
    shown = _suppressed(_ranked(wanted, unwanted), hidden, settings)
    return Matches(shown[:most], query=query.text, unit=matches.unit)


def judged(library: Store, given: str | Sequence[str] | None) -> list[Query]:
    """Return accepted or rejected matches as queries; they must be segments of the library."""
    texts = (given,) if isinstance(given, str) else given or ()
    return [library_query(library, text) for text in texts]


def covers(a: Match | Query, b: Match | Query) -> bool:
    """Return whether two segments share more than half of the shorter one."""
    a_name, b_name = (each.motion if isinstance(each, Match) else each.name for each in (a, b))
    if a_name != b_name:
        return False
    shared = min(a.end_frame, b.end_frame) - max(a.start_frame, b.start_frame)
    return 2 * shared > min(a.end_frame - a.start_frame, b.end_frame - b.start_frame)


def combined_distances(
    wanted: NDArray[np.float64], unwanted: NDArray[np.float64], contrast: float = CONTRAST
) -> NDArray[np.float64]:
    """Combine distances from N candidates to examples (W, N) and to rejected matches (U, N).

    Examples
    --------
    >>> wanted, unwanted = np.array([[0.1, 0.1], [0.1, 0.2]]), np.array([[0.1, 0.4]])
    >>> combined_distances(wanted, unwanted).round(3)
    array([0.1  , 0.071])
    """
    least = 1e-9
    near = np.mean(np.maximum(wanted, least) ** -2.0, axis=0) ** -0.5
    if not len(unwanted):
        return near
    return near * (near / np.maximum(unwanted.min(axis=0), least)) ** contrast


def _same_segment(a: Query, b: Query) -> bool:
    return (a.name, a.start_frame, a.end_frame) == (b.name, b.start_frame, b.end_frame)


def _ranked(wanted: Sequence[Matches], unwanted: Sequence[Matches]) -> list[Match]:
    """Return all matches of the examples with their combined distances, nearest first."""
    candidates = [match for matches in wanted for match in matches]
    if not candidates:
        return []
    near, far = (
        np.array([_distances(each, candidates) for each in some]).reshape(-1, len(candidates))
        for some in (wanted, unwanted)
    )
    distances = combined_distances(near, far)
    order = np.argsort(distances, kind="stable")
    return [replace(candidates[k], distance=float(distances[k])) for k in order]


def _distances(matches: Matches, candidates: Sequence[Match]) -> list[float]:
    """Return the distance of each candidate, taken from the nearest match that covers it.

    A candidate that no match covers gets the distance of the farthest match.
    """
    by_motion: dict[str, list[Match]] = {}
    for match in matches:
        by_motion.setdefault(match.motion, []).append(match)
    far = max((match.distance for match in matches), default=np.inf)
    return [
        min(
            (m.distance for m in by_motion.get(candidate.motion, ()) if covers(m, candidate)),
            default=far,
        )
        for candidate in candidates
    ]


def _by_way_of(example: Query, matches: Matches, of_query: Matches) -> Matches:
    """Return the matches of an accepted match, and use its alignment to align them with the query.

    This corresponds to the second round of query expansion. If the accepted match is not aligned
    with the query, its matches have no alignment either.
    """
    there = next((match for match in of_query if covers(match, example)), None)
    if there is None or not len(there.alignment):
        no_pairs = np.empty((0, 2), np.int64)
        rows = [replace(match, tier=2, alignment=no_pairs) for match in matches]
        return Matches(rows, query=matches.query, unit=matches.unit)
    length = int(there.alignment[-1, 0]) + 1
    span = (example.start_frame, example.end_frame)
    first = fitted(there.alignment, (0, length), span)
    rows = []
    for match in matches:
        own = (match.start_frame, match.end_frame)
        pairs = fitted(match.alignment, (0, span[1] - span[0]), own)
        times = np.rint(composed([first, pairs], length)).astype(np.int64) + own[0]
        rows.append(replace(match, tier=2, alignment=np.column_stack([np.arange(length), times])))
    return Matches(rows, query=matches.query, unit=matches.unit)


def _suppressed(
    ranked: Sequence[Match], hidden: Sequence[Query], settings: SearchSettings
) -> list[Match]:
    """Return the matches in rank order, without overlapping, hidden and too distant matches."""
    method = settings.method
    overlap = method.max_overlap if isinstance(method, SegmentOptions) else 0.0
    limit = np.inf if settings.max_distance is None else settings.max_distance
    kept: dict[str, NonMaximumSuppression] = {}
    shown = []
    for match in ranked:
        if match.distance > limit or any(covers(match, segment) for segment in hidden):
            continue
        suppression = kept.setdefault(match.motion, NonMaximumSuppression(overlap))
        if suppression.keep(match.start_frame, match.end_frame):
            shown.append(match)
    return shown
