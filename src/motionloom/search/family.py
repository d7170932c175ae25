"""Multi-step search: matches become queries until nothing new appears.

What is found is a *match graph* (Kovar & Gleicher 2004, section 3.3): nodes are stretches of
motion, an edge joins two that are numerically alike and costs as much as their alignment.
The distance of a node to the query is that of the cheapest path, so that a leaping side kick
is reached from a front kick by way of kicks in between.

A stretch that was just found is compared with the node that it overlaps most: by more than
80 % it is that node again, and their ranges are averaged; by less than 20 % it is new;
between, it is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.search.match import Match, Matches

SAME = 0.8  # Kovar & Gleicher 2004, section 3.3
APART = 0.2
_LEAST_COST = 1e-12  # an edge of no cost would be no edge to a sparse graph


@dataclass(frozen=True)
class Node:
    """A stretch of motion in a family.

    `tier` is 0 for the query, 1 for what it found, and so on.
    """

    motion: str
    start_frame: int
    end_frame: int
    tier: int

    @property
    def text(self) -> str:
        """``NAME:START-END``."""
        return f"{self.motion}:{self.start_frame}-{self.end_frame}"


@dataclass(frozen=True, eq=False)
class Edge:
    """Two nodes that are alike: their numbers, the cost, and the alignment of their frames."""

    a: int
    b: int
    cost: float
    alignment: NDArray[np.int64] = field(repr=False)


@dataclass(frozen=True, eq=False)
class Family:
    """A match graph. Node 0 is the query.

    Attributes
    ----------
    query : str
    nodes : tuple of Node
    edges : tuple of Edge
    matches : Matches
        All nodes but the query as matches; `distance` is the distance to the query.
    """

    query: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    matches: Matches

    def __len__(self) -> int:
        return len(self.nodes)

    def distance_to_query(self) -> NDArray[np.float64]:
        """Cost of the cheapest path from each node to the query, shape (len(nodes),)."""
        return _distances(len(self.nodes), self.edges)

    def to_json(self) -> dict[str, Any]:
        """The graph as plain data."""
        return {
            "query": self.query,
            "nodes": [
                {
                    "motion": node.motion,
                    "start_frame": node.start_frame,
                    "end_frame": node.end_frame,
                    "distance_to_query": float(distance),
                    "tier": node.tier,
                }
                for node, distance in zip(self.nodes, self.distance_to_query(), strict=True)
            ],
            "edges": [{"a": edge.a, "b": edge.b, "cost": edge.cost} for edge in self.edges],
        }


def grow_family(
    query: Node,
    text: str,
    find: Callable[[Node], Iterable[Match]],
    *,
    tiers: int | None = None,
    max_nodes: int | None = None,
    same: float = SAME,
    apart: float = APART,
) -> Family:
    """Search again from everything found, tier by tier.

    Parameters
    ----------
    query : Node
        The query, as node of tier 0; of a motion that need not be in the library.
    text : str
        What to call the query.
    find : callable
        ``find(node)`` gives the matches of a node, the nearest first.
    tiers : int or None
        So many steps; None: until nothing new appears.
    max_nodes : int or None
        Stop when there are so many nodes besides the query.
    same, apart : float
        Overlaps above and below which a stretch is a node again, or a new one.

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
        raise InvalidInput(f"overlaps must have 0 <= apart <= same <= 1; got {apart}, {same}")
    if tiers is not None and tiers < 1:
        raise InvalidInput(f"tiers must be at least 1, or all; got {tiers}")
    nodes: list[Node] = [query]
    seen: list[Match | None] = [None]
    edges: dict[tuple[int, int], Edge] = {}
    by_motion: dict[str, list[int]] = {query.motion: [0]}
    frontier = [0]
    while frontier and (tiers is None or nodes[frontier[0]].tier < tiers):
        following = []
        for a in frontier:
            for match in find(nodes[a]):
                near = by_motion.setdefault(match.motion, [])
                b, overlap = _most_overlapping(nodes, near, match)
                if b is not None and overlap > same:
                    if b not in (a, 0):
                        nodes[b] = _averaged(nodes[b], match)
                elif overlap < apart and (max_nodes is None or len(nodes) <= max_nodes):
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
                    edges[pair] = Edge(a, b, match.distance, match.alignment)
        frontier = following
    kept = tuple(edges.values())
    gaps = _distances(len(nodes), kept)
    return Family(text, tuple(nodes), kept, _as_matches(nodes, seen, gaps, text))


def _most_overlapping(nodes: list[Node], near: list[int], match: Match) -> tuple[int | None, float]:
    best, most = None, 0.0
    for b in near:
        node = nodes[b]
        shared = min(node.end_frame, match.end_frame) - max(node.start_frame, match.start_frame)
        shorter = min(node.end_frame - node.start_frame, match.end_frame - match.start_frame)
        if shared > most * shorter:
            best, most = b, shared / shorter
    return best, most


def _averaged(node: Node, match: Match) -> Node:
    start = round((node.start_frame + match.start_frame) / 2)
    end = round((node.end_frame + match.end_frame) / 2)
    return replace(node, start_frame=start, end_frame=end)


def _distances(count: int, edges: Iterable[Edge]) -> NDArray[np.float64]:
    from scipy.sparse import csr_array  # half a second that a plain search need not pay
    from scipy.sparse.csgraph import dijkstra

    edges = list(edges)
    costs = np.array([max(edge.cost, _LEAST_COST) for edge in edges])
    ends = np.array([(edge.a, edge.b) for edge in edges]).reshape(-1, 2)
    graph = csr_array((costs, (ends[:, 0], ends[:, 1])), shape=(count, count))
    gaps = dijkstra(graph, directed=False, indices=[0])[0]
    return np.where(gaps < 1e-9, 0.0, gaps)


def _as_matches(nodes, seen, gaps, text: str) -> Matches:
    rows = []
    for node, match, gap in zip(nodes[1:], seen[1:], gaps[1:], strict=True):
        fps = (match.end_frame - match.start_frame) / (match.end - match.start)
        rows.append(
            replace(
                match,
                start_frame=node.start_frame,
                end_frame=node.end_frame,
                start=node.start_frame / fps,
                end=node.end_frame / fps,
                distance=float(gap),
                tier=node.tier,
            )
        )
    rows.sort(key=lambda match: (match.distance, match.motion, match.start_frame))
    return Matches(rows, query=text)
