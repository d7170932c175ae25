"""Query expansion: matches become queries until there are no new matches.

The result is a match graph (Kovar & Gleicher 2004, section 3.3). Every match of the query becomes a
node. A later match is compared with the node that it overlaps most. If they share more than 80 % of
the longer one, the match is identified with that node. If they share less than 20 % of the shorter
one, the match becomes a new node. Otherwise, the match is dropped.

In the paper, the range of a node is averaged with the ranges of all matches identified with it. The
boundaries of every match are slightly off, so averaging makes the node boundaries drift: half of
100 walk cycles become too short to correspond to the query. By default, a node therefore keeps its
range. In either case, an alignment need not start and end where its nodes do, so `fitted` trims and
extends it. `composed` chains several alignments, which aligns distant motions through nearer ones.

*Clear correspondence* is criterion 2 of numerical similarity. Two segments correspond clearly if a
time alignment lies in the valid region of their distances (Kovar & Gleicher 2004, section 3.1).
Matches of the match web satisfy this by construction. Matches of other methods are checked here, on
point clouds of eleven poses as in the web and in registration. A search locates the boundaries of a
match only to within a few frames, so a tenth of a second at both ends also counts as valid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from motionloom.alignment import clear_alignment, corresponding
from motionloom.errors import InvalidInput, RoleError
from motionloom.features.feature_table import RATE, at_rate
from motionloom.features.matrix import DistanceMatrix, PreparedFrames, prepared_frames
from motionloom.kernels import kernel
from motionloom.search.match import Match, Matches
from motionloom.search.match_graph.members import (
    Edge,
    Family,
    Node,
    path_from_query,
    shortest_paths,
    with_cut_edges,
)
from motionloom.search.query import Query, row_span
from motionloom.search.settings import APART, SAME
from motionloom.store.store import Store

MARGIN_SECONDS = 0.1  # at both ends of a segment
_CONTEXT_SECONDS = 0.3  # around a segment: the first and last frame of a matrix cannot be minima
_MOST_SEGMENTS = 512  # segments in the cache


def fitted(path: NDArray[np.int64], a: tuple[int, int], b: tuple[int, int]) -> NDArray[np.int64]:
    """Fit an alignment to the ranges `a` and `b`, from corner to corner.

    Parameters
    ----------
    path : ndarray of int, shape (L, 2)
        Pairs of frames, both increasing; they need not lie in the ranges.
    a, b : (start, end)
        Half-open ranges of frames.

    Returns
    -------
    path : ndarray of int, shape (M, 2)
        Pairs of frames counted from the starts of `a` and `b`: the pairs of `path` that lie in both
        ranges, extended by straight lines to (0, 0) and to the last frames.

    Examples
    --------
    >>> fitted(np.array([[9, 19], [10, 20], [11, 21], [12, 22]]), (10, 14), (20, 24)).tolist()
    [[0, 0], [1, 1], [2, 2], [3, 3]]
    """
    return _fitted_to_nodes(np.ascontiguousarray(path, np.int64), a[0], a[1], b[0], b[1])


@kernel
def _fitted_to_nodes(path, first_a, end_a, first_b, end_b):
    """Compute the result of `fitted` from the pairs (L, 2) of a path."""
    low, high = 0, len(path)
    while low < high and (path[low, 0] < first_a or path[low, 1] < first_b):
        low += 1
    while high > low and (path[high - 1, 0] >= end_a or path[high - 1, 1] >= end_b):
        high -= 1
    last_i, last_j = end_a - 1 - first_a, end_b - 1 - first_b
    out = np.empty((2 * (last_i + last_j + 2) + high - low, 2), np.int64)
    count, i, j = 1, 0, 0
    out[0] = 0
    for k in range(low, high + 1):
        to_i = path[k, 0] - first_a if k < high else last_i
        to_j = path[k, 1] - first_b if k < high else last_j
        inside = low < k < high
        steps = 1 if inside else max(to_i - i, to_j - j)
        for step in range(1, steps + 1):
            out[count, 0] = round(i + (to_i - i) * step / steps)
            out[count, 1] = round(j + (to_j - j) * step / steps)
            count += 1
        i, j = to_i, to_j
    return out[:count].copy()


def composed(paths: Iterable[NDArray[np.int64]], length: int) -> NDArray[np.float64]:
    """Return the frames to which each of `length` frames maps through a chain of alignments.

    Parameters
    ----------
    paths : iterable of ndarray of int, shape (L, 2)
        Alignments as returned by `fitted`. The second column of each alignment counts the same
        frames as the first column of the next one.
    length : int

    Returns
    -------
    times : ndarray, shape (length,)
        Frames of the last motion, not rounded and non-decreasing.

    Examples
    --------
    >>> twice = np.array([[0, 0], [0, 1], [1, 2], [1, 3], [2, 4], [2, 5]])
    >>> composed([twice], 3).tolist()
    [0.5, 2.5, 4.5]
    """
    times = np.arange(length, dtype=np.float64)
    for path in paths:
        times = corresponding(path, times)
    return times


def grow_family(
    query: Node,
    text: str,
    find: Callable[[Node], Iterable[Match]],
    *,
    tiers: int | None = None,
    max_nodes: int | None = None,
    same: float = SAME,
    apart: float = APART,
    unit: str = "m",
    average_ranges: bool = False,
    seconds: tuple[float, float] = (0.0, math.inf),
    squares: bool = False,
    is_clear: Callable[[Node, Match], bool] | None = None,
    keep_unclear: bool = False,
) -> Family:
    """Grow a match graph by query expansion, round by round.

    Parameters
    ----------
    query : Node
        The query, as a node of tier 0; its motion need not be in the library.
    text : str
        Name of the query.
    find : callable
        ``find(node)`` returns the matches of a node, nearest first.
    tiers : int or None
        Rounds of query expansion; None to continue until there are no new matches.
    max_nodes : int or None
        Maximum number of nodes besides the query.
    same, apart : float
        Overlap above which a match is identified with an existing node (`same`), and overlap below
        which it becomes a new node (`apart`).
    unit : str
        Unit of the distances.
    average_ranges : bool
        Average the range of a node, including the query, with the range of every match identified
        with it. By default, a node keeps its first range.
    seconds : (float, float)
        Minimum and maximum duration of a match, in seconds.
    squares : bool
        Measure a path in the graph by the root of the sum of its squared costs. By default, the
        costs are added.
    is_clear : callable, optional
        ``is_clear(node, match)`` returns whether the frames of a match correspond clearly to those
        of the node. Default: all matches do.
    keep_unclear : bool
        Keep matches that do not correspond clearly, as edges with ``clear=False``.

    Examples
    --------
    >>> steps = {"a:0-10": [("b", 0.1)], "b:0-10": [("c", 0.2), ("a", 0.1)], "c:0-10": []}
    >>> def find(node):
    ...     return [Match(name, 0, 10, 0.0, 1.0, cost) for name, cost in steps[node.text]]
    >>> family = grow_family(Node("a", 0, 10, 0), "a:0-10", find)
    >>> [(node.motion, node.tier) for node in family.nodes], family.distance_to_query().round(3)
    ([('a', 0), ('b', 1), ('c', 2)], array([0. , 0.1, 0.3]))
    """
    if not 0.0 <= apart <= same <= 1.0:
        raise InvalidInput(
            f"apart and same must satisfy 0 <= apart <= same <= 1; got apart={apart}, same={same}"
        )
    if tiers is not None and tiers < 1:
        raise InvalidInput(f"tiers must be at least 1 or all; got {tiers}")
    least, most = seconds
    nodes: list[Node] = [query]
    seen: list[Match | None] = [None]
    edges: dict[tuple[int, int], Edge] = {}
    by_motion: dict[str, list[int]] = {query.motion: [0]}
    frontier = [0]
    while frontier and (tiers is None or nodes[frontier[0]].tier < tiers):
        following = []
        for a in frontier:
            for match in find(nodes[a]):
                if not least <= match.end - match.start <= most:
                    continue
                near = by_motion.setdefault(match.motion, [])
                b, overlap, of_longer = most_overlapping(nodes, near, match)
                is_known = b >= 0 and of_longer > same
                if not is_known and a != 0 and overlap >= apart:
                    continue
                clear = True
                if is_clear is not None and b != a:
                    existing = edges.get((min(a, b), max(a, b))) if is_known else None
                    clear = existing.clear if existing is not None else is_clear(nodes[a], match)
                    if not clear and not keep_unclear:
                        continue
                if is_known:
                    if b != a and average_ranges:
                        nodes[b] = _averaged(nodes[b], match)
                elif max_nodes is None or len(nodes) <= max_nodes:
                    b = len(nodes)
                    tier = nodes[a].tier + 1
                    nodes.append(Node(match.motion, match.start_frame, match.end_frame, tier))
                    seen.append(match)
                    near.append(b)
                    following.append(b)
                else:
                    continue
                pair = (min(a, b), max(a, b))
                if a != b and (pair not in edges or match.distance < edges[pair].cost):
                    frames = match.alignment + (nodes[a].start_frame, 0)
                    edges[pair] = Edge(a, b, match.distance, frames, clear)
        frontier = following
    kept = with_cut_edges(len(nodes), (_fitted(edge, nodes) for edge in edges.values()))
    matches = _as_matches(nodes, seen, kept, text, unit, squares)
    return Family(text, tuple(nodes), kept, matches, squares)


def most_overlapping(
    nodes: Sequence[Node], near: Iterable[int], match: Match
) -> tuple[int, float, float]:
    """Return the node that overlaps a match most, and the shared fractions of both lengths."""
    best, most, of_longer = -1, 0.0, 0.0
    first, last = match.start_frame, match.end_frame
    for b in near:
        node = nodes[b]
        start, end = node.start_frame, node.end_frame
        if start >= last or end <= first:  # most nodes: a slow test of thousands takes seconds
            continue
        shared = min(end, last) - max(start, first)
        lengths = end - start, last - first
        if shared > most * min(lengths):
            best, most, of_longer = b, shared / min(lengths), shared / max(lengths)
    return best, most, of_longer


def _averaged(node: Node, match: Match) -> Node:
    start = round((node.start_frame + match.start_frame) / 2)
    end = round((node.end_frame + match.end_frame) / 2)
    return replace(node, start_frame=start, end_frame=end)


def _fitted(edge: Edge, nodes: list[Node]) -> Edge:
    ranges = [(nodes[n].start_frame, nodes[n].end_frame) for n in (edge.a, edge.b)]
    return replace(edge, alignment=fitted(edge.alignment, *ranges))


def _as_matches(nodes, seen, edges, text: str, unit: str, squares: bool) -> Matches:
    gaps, before = shortest_paths(len(nodes), edges, squares)
    between = {}
    for edge in edges:
        between[edge.a, edge.b] = edge.alignment
        between[edge.b, edge.a] = edge.alignment[:, ::-1]
    length = nodes[0].end_frame - nodes[0].start_frame
    rows = []
    for number, (node, match) in enumerate(zip(nodes, seen, strict=True)):
        if match is None:
            continue
        path = path_from_query(before, number)
        times = composed((between[step] for step in zip(path, path[1:], strict=False)), length)
        frames = np.rint(times).astype(np.int64) + node.start_frame
        fps = (match.end_frame - match.start_frame) / (match.end - match.start)
        rows.append(
            replace(
                match,
                start_frame=node.start_frame,
                end_frame=node.end_frame,
                start=node.start_frame / fps,
                end=node.end_frame / fps,
                distance=float(gaps[number]),
                tier=node.tier,
                alignment=np.column_stack([np.arange(length), frames]),
            )
        )
    rows.sort(key=lambda match: (match.distance, match.motion, match.start_frame))
    return Matches(rows, query=text, unit=unit)


@dataclass(frozen=True, eq=False)
class _Frames:
    """Frames of a segment and its surroundings.

    Rows `first` to `last` (inclusive) are the segment.
    """

    frames: PreparedFrames
    first: int
    last: int


class ClearCorrespondence:
    """Test that decides whether a match clearly corresponds to a member of a family.

    Parameters
    ----------
    library : Store
    query : Query
        The query of the family, which need not be in the library.

    Examples
    --------
    >>> from motionloom.search.query import as_query
    >>> query = as_query(lib.store, "kick_front_mid_right:5-40")
    >>> node = Node("kick_front_mid_right", 5, 40, 0)
    >>> match = Match("kick_front_mid_right", 5, 40, 0.2, 1.3, 0.0)
    >>> ClearCorrespondence(lib.store, query)(node, match)
    True
    """

    def __init__(self, library: Store, query: Query) -> None:
        self.rate = float(library.fps or RATE)
        self._library, self._query = library, query
        self._frames = lru_cache(_MOST_SEGMENTS)(self._prepared)

    def __call__(self, node: Node, match: Match) -> bool:
        """Return whether the match corresponds clearly.

        If the skeletons lack the required joints, the test is skipped and the result is True.
        """
        try:
            is_query = node.tier == 0
            a = self._frames(node.motion, node.start_frame, node.end_frame, is_query)
            b = self._frames(match.motion, match.start_frame, match.end_frame, False)
        except RoleError:
            return True
        alignment = clear_alignment(
            DistanceMatrix(a.frames, [b.frames]).block(),
            start=(a.first, b.first),
            end=(a.last, b.last),
            margin=max(1, round(MARGIN_SECONDS * self.rate)),
        )
        return alignment is not None

    def _prepared(self, name: str, start: int, end: int, is_query: bool) -> _Frames:
        motion = self._query.motion if is_query else self._library[name]
        pad = round(_CONTEXT_SECONDS * motion.fps)
        low = max(start - pad, 0)
        around = at_rate(motion[low : end + pad], self.rate)
        first, stop = row_span(start - low, end - low, motion.fps, self.rate, len(around))
        return _Frames(prepared_frames(around, "pc11"), first, stop - 1)
