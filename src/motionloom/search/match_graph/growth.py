"""Growth of a query's family: each new member is used as a query until no new members appear."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from motionloom.motion import Motion
from motionloom.search.feedback import covers, judged
from motionloom.search.match import Match, Matches
from motionloom.search.match_graph.family import ClearCorrespondence, grow_family
from motionloom.search.match_graph.members import Family, Node
from motionloom.search.match_graph.sweep import LimitSweep, limit_sweep
from motionloom.search.match_web.search import web_expansion
from motionloom.search.methods import ClipMethod, Dtw, LazyGraph, MatchWeb
from motionloom.search.query import Query, as_query
from motionloom.search.settings import (
    FAMILY_DISTANCE,
    LARGEST_JOIN,
    FamilySettings,
    SearchSettings,
)
from motionloom.settings import motion_choice
from motionloom.store.store import Store


def library_family(
    library: Store,
    query: str | Path | Motion | Query,
    settings: FamilySettings,
    *,
    progress: Callable[[int], None] | None = None,
) -> Family:
    """Return the match graph of a query; see `motionloom.Library.family`.

    `progress` is called with the value 1 after each member has been searched.

    Examples
    --------
    >>> from motionloom.search import FamilySettings, library_family
    >>> kicks = library_family(lib.store, "kick_front_mid_right:5-40", FamilySettings())
    >>> kicks.nodes[0].text
    'kick_front_mid_right:5-40'
    """
    growth = _Growth(library, as_query(library, query), settings, progress)
    sweep = None
    limit = settings.expansion.join_distance
    if limit is None:
        sweep = growth.sweep()
        limit = sweep.proposed
    family = grow_family(
        growth.node,
        growth.query.text,
        growth.find(limit),
        tiers=settings.expansion.rounds,
        unit=settings.method.for_families().unit(),
        max_nodes=settings.max,
        same=settings.expansion.same,
        apart=settings.expansion.apart,
        average_ranges=settings.expansion.average_ranges,
        seconds=growth.seconds,
        squares=isinstance(settings.method, MatchWeb) and settings.method.squares,
        is_clear=growth.is_clear,
        keep_unclear=not settings.expansion.clear,
    )
    return replace(family, join_distance=float(limit), sweep=sweep)


def family_sweep(
    library: Store, query: str | Path | Motion | Query, settings: FamilySettings
) -> LimitSweep:
    """Return the sizes of a query's families at all join distances, up to `max` members."""
    return _Growth(library, as_query(library, query), settings, None).sweep(complete=True)


def _member_seconds(query: Query, settings: FamilySettings) -> tuple[float, float]:
    """Return the allowed durations of a member in seconds: minimum and maximum."""
    if isinstance(settings.method, ClipMethod):
        return 0.0, math.inf
    low, high = settings.expansion.member_lengths
    return low * query.clip.duration, high * query.clip.duration


class _Growth:
    """Searches from the members of a family, filtered by accepted and rejected matches."""

    def __init__(
        self,
        library: Store,
        query: Query,
        settings: FamilySettings,
        progress: Callable[[int], None] | None,
    ) -> None:
        self.library, self.query, self.settings, self.progress = library, query, settings, progress
        # An external query must not have the name of a motion in the library.
        name = query.name or (f"{query.text} (query)" if query.text in library else query.text)
        self.node = Node(name, query.start_frame, query.end_frame, 0)
        self.seconds = _member_seconds(query, settings)
        method = settings.method
        # Matches of the web correspond clearly by construction; whole clips are not aligned.
        is_checked = isinstance(method, Dtw | LazyGraph)
        self.is_clear = ClearCorrespondence(library, query) if is_checked else None
        self.rejected = judged(library, settings.feedback.reject)
        self.accepted = judged(library, settings.feedback.accept)
        self._found: dict[str, tuple[float, Sequence[Match]]] = {}

    def find(self, limit: float) -> Callable[[Node], Sequence[Match]]:
        """Return a function that searches with the query or a member, up to distance `limit`."""
        method = self.settings.method.for_families()
        # Members may be at any distance from the query, but each search has a maximum distance.
        each = SearchSettings(
            method=method, max=self.settings.max, max_distance=limit,
            exclude_query=self.settings.exclude_query, **motion_choice(self.settings),
        )  # fmt: skip
        expansion = web_expansion if isinstance(method, MatchWeb) else _expansion
        find = expansion(self.library, self.query, each)

        def judged_matches(node: Node) -> Sequence[Match]:
            key = node.text if node.tier else ""
            within, matches = self._found.get(key, (-1.0, ()))
            if within < limit:
                matches = find(node)
                # Fewer than `max` matches include all matches of smaller limits.
                is_whole = self.settings.max is None or len(matches) < self.settings.max
                self._found[key] = (limit if is_whole else -1.0, matches)
                if self.progress is not None:
                    self.progress(1)
            matches = [
                match
                for match in matches
                if match.distance <= limit and not self._is_rejected(match)
            ]
            return matches if node.tier else [*matches, *self._accepted_beyond(limit, each)]

        return judged_matches

    def sweep(self, *, complete: bool = False) -> LimitSweep:
        """Return the sizes of the families at all join distances."""
        in_meters = self.settings.method.for_families().unit() == "m"
        is_clip = isinstance(self.settings.method, ClipMethod)
        largest = LARGEST_JOIN if in_meters and not is_clip else math.inf
        return limit_sweep(
            self.node,
            self.query.text,
            self.find(largest),
            largest=largest,
            fallback=FAMILY_DISTANCE if in_meters else 0.0,
            complete=complete,
            max_nodes=self.settings.max,
            same=self.settings.expansion.same,
            apart=self.settings.expansion.apart,
            seconds=self.seconds,
            is_clear=self.is_clear if self.settings.expansion.clear else None,
            unit=self.settings.method.for_families().unit(),
        )

    def _is_rejected(self, match: Match) -> bool:
        return any(covers(match, rejected) for rejected in self.rejected)

    def _accepted_beyond(self, limit: float, settings: SearchSettings) -> list[Match]:
        """Return accepted members that are farther from the query than the limit."""
        from motionloom.search.retrieval import search

        matches = []
        for accepted in self.accepted:
            assert accepted.name is not None
            anywhere = replace(settings, max_distance=None, max=None, only=(accepted.name,))
            there = [m for m in search(self.library, self.query, anywhere) if covers(m, accepted)]
            if there and there[0].distance > limit:
                matches.append(there[0])
        return matches


def _expansion(
    library: Store, query: Query, settings: SearchSettings
) -> Callable[[Node], Sequence[Match]]:
    """Return a function that searches with the query or a member of its family."""
    from motionloom.search.retrieval import search

    def find(node: Node) -> Matches:
        return search(library, query if node.tier == 0 else Query.at(library, node), settings)

    return find
