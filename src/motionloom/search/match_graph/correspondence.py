"""Criterion 2 of numerical similarity: whether the frames of two segments correspond clearly.

Two segments correspond clearly if a time alignment lies in the valid region of their distances
(Kovar & Gleicher 2004, section 3.1). Matches of the match web do by construction. Those of other
methods are checked here, on point clouds of eleven poses as in the web and in registration. A
search finds the boundaries of a match to within a few frames, so a tenth of a second at both ends
counts as valid, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from motionloom.alignment import clear_alignment
from motionloom.errors import RoleError
from motionloom.features.feature_table import RATE, at_rate
from motionloom.features.matrix import DistanceMatrix, PreparedFrames, prepared_frames
from motionloom.search.match import Match
from motionloom.search.match_graph.graph import Node
from motionloom.search.query import Query, row_span
from motionloom.store.store import Store

MARGIN_SECONDS = 0.1  # at both ends of a segment
_CONTEXT_SECONDS = 0.3  # around a segment: the first and last frame of a matrix are no minima
_MOST_SEGMENTS = 512  # that are held


@dataclass(frozen=True, eq=False)
class _Frames:
    """Frames of a segment and around it; rows `first` to `last`, both included, are its own."""

    frames: PreparedFrames
    first: int
    last: int


class ClearCorrespondence:
    """Whether a match corresponds clearly to a member of a family.

    Parameters
    ----------
    library : Store
    query : Query
        The query of the family, which need not be in the library.

    Examples
    --------
    >>> from motionloom.search.query import as_query
    >>> query = as_query(lib, "kick_front_mid_right:5-40")
    >>> node = Node("kick_front_mid_right", 5, 40, 0)
    >>> ClearCorrespondence(lib, query)(node, Match("kick_front_mid_right", 5, 40, 0.2, 1.3, 0.0))
    True
    """

    def __init__(self, library: Store, query: Query) -> None:
        self.rate = float(library.fps or RATE)
        self._library, self._query = library, query
        self._frames = lru_cache(_MOST_SEGMENTS)(self._prepared)

    def __call__(self, node: Node, match: Match) -> bool:
        """Whether it does; True if the skeletons lack joints that are needed to tell."""
        try:
            is_query = node.tier == 0
            a = self._frames(node.motion, node.start_frame, node.end_frame, is_query)
            b = self._frames(match.motion, match.start_frame, match.end_frame, False)
        except RoleError:
            return True
        found = clear_alignment(
            DistanceMatrix(a.frames, [b.frames]).block(),
            start=(a.first, b.first),
            end=(a.last, b.last),
            margin=max(1, round(MARGIN_SECONDS * self.rate)),
        )
        return found is not None

    def _prepared(self, name: str, start: int, end: int, is_query: bool) -> _Frames:
        motion = self._query.motion if is_query else self._library[name]
        pad = round(_CONTEXT_SECONDS * motion.fps)
        low = max(start - pad, 0)
        around = at_rate(motion[low : end + pad], self.rate)
        first, stop = row_span(start - low, end - low, motion.fps, self.rate, len(around))
        return _Frames(prepared_frames(around, "pc11"), first, stop - 1)
