"""Match graph: segments of motions, with edges between similar segments.

An edge joins two numerically similar segments, and its cost is the cost of their alignment (Kovar &
Gleicher 2004, section 3.3). The distance between a node and the query is the cost of the shortest
path, so a leaping side kick is reached from a front kick through intermediate kicks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput, MissingExtra
from motionloom.files import atomic_write
from motionloom.search.match import Matches

if TYPE_CHECKING:
    import networkx

    from motionloom.search.match_graph.sweep import LimitSweep

_LEAST_COST = 1e-12  # a sparse graph treats a zero cost as a missing edge


@dataclass(frozen=True)
class Node:
    """A segment of a motion in a family.

    `tier` is 0 for the query, 1 for its matches, and so on.

    Examples
    --------
    >>> from motionloom.search import Node
    >>> Node("walk", 10, 40, 0).text
    'walk:10-40'
    """

    motion: str
    start_frame: int
    end_frame: int
    tier: int

    @property
    def text(self) -> str:
        """Segment as a string, ``NAME:START-END``."""
        return f"{self.motion}:{self.start_frame}-{self.end_frame}"


@dataclass(frozen=True, eq=False)
class Edge:
    """Edge between two similar nodes.

    Attributes
    ----------
    a, b : int
        Indices of the nodes; `b` is a match of `a`.
    cost : float
        Mean distance over the cells of the alignment.
    alignment : ndarray of int, shape (L, 2)
        Pairs of frames, counted from the start of each node. The first pair contains the first
        frames of both nodes, and the last pair contains their last frames.
    clear : bool
        True if the frames correspond clearly, that is, if a time alignment lies in the valid region
        of the distances (criterion 2 of Kovar & Gleicher 2004, section 3.1). Always True with the
        match web.
    cuts_off : int
        Number of nodes that cannot be reached from the query without this edge. It is 0 unless the
        edge is a cut edge.

    Examples
    --------
    >>> kicks = lib.family("kick_front_mid_right:5-40", expansion=ml.Expansion(join_distance=0.3))
    >>> edge = kicks.edges[0]
    >>> edge.a, edge.b, edge.alignment.shape[1]
    (0, 1, 2)
    """

    a: int
    b: int
    cost: float
    alignment: NDArray[np.int64] = field(repr=False)
    clear: bool = True
    cuts_off: int = 0


@dataclass(frozen=True, eq=False)
class Family:
    """A match graph in which node 0 is the query.

    Attributes
    ----------
    query : str
    nodes : tuple of Node
    edges : tuple of Edge
    matches : Matches
        All nodes except the query as matches, nearest first. `distance` is the distance to the
        query, and `alignment` follows the shortest path.
    squares : bool
        If True, the cost of a path is the root of the sum of its squared edge costs, because the
        distances of the paper are squared. Otherwise, it is the sum of the edge costs.
    join_distance : float or None
        Maximum distance at which nodes were joined.
    sweep : LimitSweep or None
        Growth of the family with the join distance, if that distance was chosen automatically.

    Examples
    --------
    >>> kicks = lib.family("kick_front_mid_right:5-40", expansion=ml.Expansion(join_distance=0.3))
    >>> kicks.nodes[0].motion
    'kick_front_mid_right'
    """

    query: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    matches: Matches
    squares: bool = False
    join_distance: float | None = None
    sweep: LimitSweep | None = None

    def __len__(self) -> int:
        return len(self.nodes)

    def __repr__(self) -> str:
        return f"Family({len(self.matches)} of {self.query!r}, {len(self.edges)} edges)"

    def distance_to_query(self) -> NDArray[np.float64]:
        """Return the cost of the shortest path from each node to the query, shape (len(nodes),)."""
        return shortest_paths(len(self.nodes), self.edges, self.squares)[0]

    def path_to_query(self, node: int) -> tuple[int, ...]:
        """Return the nodes on the shortest path from the query to `node`.

        Raises
        ------
        InvalidInput
            If there is no such node.
        """
        if not 0 <= node < len(self.nodes):
            raise InvalidInput(f"node must be 0 to {len(self.nodes) - 1}; got {node}")
        before = shortest_paths(len(self.nodes), self.edges, self.squares)[1]
        return path_from_query(before, node)

    @property
    def unclear(self) -> tuple[Edge, ...]:
        """Edges whose frames do not clearly correspond; see `Edge.clear`."""
        return tuple(edge for edge in self.edges if not edge.clear)

    @property
    def cut_edges(self) -> tuple[Edge, ...]:
        """Edges whose removal splits the family, sorted by the number of nodes they cut off.

        All nodes beyond a cut edge depend on a single match. If that match is wrong, all of them
        may be wrong.
        """
        edges = [edge for edge in self.edges if edge.cuts_off]
        return tuple(sorted(edges, key=lambda edge: (-edge.cuts_off, -edge.cost)))

    def without(self, numbers: Iterable[int]) -> Family:
        """Return the family without some nodes and without all nodes reached only through them.

        Raises ------ InvalidInput If a node does not exist or is the query.

        Examples
        --------
        >>> from motionloom.search import Match, grow_family
        >>> steps = {"a": [("b", 0.1), ("d", 0.2)], "b": [("c", 0.2)], "c": [], "d": []}
        >>> def find(node):
        ...     pairs = np.array([[0, 0], [9, 9]])
        ...     matches = steps[node.motion]
        ...     return [Match(n, 0, 10, 0.0, 1.0, c, alignment=pairs) for n, c in matches]
        >>> family = grow_family(Node("a", 0, 10, 0), "a:0-10", find)
        >>> [node.motion for node in family.without([1]).nodes]
        ['a', 'd']
        """
        left_out = set(numbers)
        for number in sorted(left_out):
            if not 1 <= number < len(self.nodes):
                raise InvalidInput(
                    f"node must be 1 to {len(self.nodes) - 1} (0 is the query); got {number}"
                )
        kept = [e for e in self.edges if e.a not in left_out and e.b not in left_out]
        gaps = shortest_paths(len(self.nodes), kept, self.squares)[0]
        return self.only(np.flatnonzero(np.isfinite(gaps)).tolist())

    def only(self, numbers: Iterable[int]) -> Family:
        """Return the family restricted to some nodes; the query is always included.

        Edges between these nodes are preserved. A node whose path to the query is interrupted is
        joined directly to the query, with the alignment along its former path.

        Raises
        ------
        InvalidInput
            If there is no such node.

        Examples
        --------
        >>> from motionloom.search import Match, grow_family
        >>> steps = {"a": [("b", 0.1)], "b": [("c", 0.2)], "c": []}
        >>> def find(node):
        ...     pairs = np.array([[0, 0], [9, 9]])
        ...     matches = steps[node.motion]
        ...     return [Match(n, 0, 10, 0.0, 1.0, c, alignment=pairs) for n, c in matches]
        >>> family = grow_family(Node("a", 0, 10, 0), "a:0-10", find)
        >>> some = family.only([2])
        >>> [node.motion for node in some.nodes], some.distance_to_query().round(3)
        (['a', 'c'], array([0. , 0.3]))
        """
        kept = sorted({0, *numbers})
        if kept[0] < 0 or kept[-1] >= len(self.nodes):
            wrong = kept[0] if kept[0] < 0 else kept[-1]
            raise InvalidInput(f"node must be 0 to {len(self.nodes) - 1}; got {wrong}")
        place = {number: k for k, number in enumerate(kept)}
        edges = [
            replace(edge, a=place[edge.a], b=place[edge.b])
            for edge in self.edges
            if edge.a in place and edge.b in place
        ]
        nodes = tuple(self.nodes[number] for number in kept)
        matches = {match.text: match for match in self.matches}
        gaps = shortest_paths(len(nodes), edges, self.squares)[0]
        for k in np.flatnonzero(~np.isfinite(gaps)).tolist():
            match = matches[nodes[k].text]
            frames = match.alignment - (0, nodes[k].start_frame)
            edges.append(Edge(0, k, match.distance, frames, clear=False))
        texts = {node.text for node in nodes[1:]}
        left = [match for match in self.matches if match.text in texts]
        shown = Matches(left, query=self.matches.query, unit=self.matches.unit)
        marked = with_cut_edges(len(nodes), edges)
        return replace(self, nodes=nodes, edges=marked, matches=shown)

    def to_networkx(self) -> networkx.Graph:
        """Return the graph as a `networkx.Graph`.

        Nodes have the same numbers as in `nodes` and the attributes ``motion``, ``start_frame``,
        ``end_frame``, ``tier`` and ``distance_to_query``. Edges have ``weight`` (the cost) and
        ``alignment`` as JSON, with frames of the lower-numbered node first. All attributes can be
        written as GraphML.

        Raises
        ------
        MissingExtra
            If NetworkX is not installed.

        Examples
        --------
        >>> family = Family("a", (Node("a", 0, 9, 0),), (), Matches([]))
        >>> family.to_networkx().nodes[0]["motion"]
        'a'
        """
        try:
            import networkx
        except ImportError:
            raise MissingExtra(
                "exporting a graph requires NetworkX; install it with: "
                "pip install 'motionloom[graphs]'"
            ) from None
        graph = networkx.Graph(query=self.query)
        plain = self.to_json()
        for number, node in enumerate(plain["nodes"]):
            graph.add_node(number, **node)
        for edge in self.edges:
            pairs = edge.alignment if edge.a < edge.b else edge.alignment[:, ::-1]
            text = json.dumps(pairs.tolist(), separators=(",", ":"))
            graph.add_edge(edge.a, edge.b, weight=float(edge.cost), alignment=text)
        return graph

    def write_graphml(self, path: str | Path) -> Path:
        """Write the graph as GraphML for Gephi, yEd, Cytoscape and similar programs.

        See `to_networkx` for the attributes.
        """
        graph = self.to_networkx()
        import networkx

        path = Path(path)
        with atomic_write(path) as scratch:
            networkx.write_graphml(graph, scratch)
        return path

    def to_json(self) -> dict[str, Any]:
        """Return the graph as JSON-compatible data."""
        swept = {} if self.sweep is None else {"sweep": self.sweep.to_json()}
        return {
            "query": self.query,
            "join_distance": self.join_distance,
            **swept,
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
            "edges": [
                {
                    "a": edge.a,
                    "b": edge.b,
                    "cost": float(edge.cost),
                    "clear": edge.clear,
                    "cuts_off": edge.cuts_off,
                    "alignment": edge.alignment.tolist(),
                }
                for edge in self.edges
            ],
        }


def shortest_paths(
    count: int, edges: Iterable[Edge], squares: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Return the cost of the shortest path from the query to each node, and each predecessor.

    With `squares`, the cost of a path is the root of the sum of its squared edge costs.
    """
    from scipy.sparse import (
        csr_array,  # importing takes half a second, and a plain search does not need it
    )
    from scipy.sparse.csgraph import dijkstra

    edges = list(edges)
    costs = np.array([max(edge.cost, _LEAST_COST) for edge in edges]).reshape(-1)
    costs = np.maximum(costs**2, _LEAST_COST) if squares else costs
    ends = np.array([(edge.a, edge.b) for edge in edges]).reshape(-1, 2)
    graph = csr_array((costs, (ends[:, 0], ends[:, 1])), shape=(count, count))
    gaps, before = dijkstra(graph, directed=False, indices=[0], return_predecessors=True)
    gaps = np.sqrt(gaps) if squares else gaps
    return np.where(gaps[0] < 1e-9, 0.0, gaps[0]), before[0]


def with_cut_edges(count: int, edges: Iterable[Edge]) -> tuple[Edge, ...]:
    """Return the edges of a connected graph with `cuts_off` set; node 0 is the query.

    An edge of the depth-first tree is a cut edge if no edge leads from below it to above it (Tarjan
    1974).

    Examples
    --------
    >>> pairs = np.empty((0, 2), int)
    >>> ring = [Edge(0, 1, 0.1, pairs), Edge(1, 2, 0.1, pairs), Edge(2, 0, 0.1, pairs)]
    >>> tail = [Edge(2, 3, 0.1, pairs), Edge(3, 4, 0.1, pairs)]
    >>> [edge.cuts_off for edge in with_cut_edges(5, [*ring, *tail])]
    [0, 0, 0, 2, 1]
    """
    edges = list(edges)
    around: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    for number, edge in enumerate(edges):
        around[edge.a].append((edge.b, number))
        around[edge.b].append((edge.a, number))
    seen = [-1] * count  # order of discovery
    low = [0] * count  # earliest node reachable from below without the edge above
    below = [1] * count
    cuts = [0] * len(edges)
    seen[0], clock = 0, 1
    path = [(0, -1, iter(around[0]))]
    while path:
        node, via, rest = path[-1]
        for other, number in rest:
            if number == via:
                continue
            if seen[other] >= 0:
                low[node] = min(low[node], seen[other])
                continue
            seen[other] = low[other] = clock
            clock += 1
            path.append((other, number, iter(around[other])))
            break
        else:
            path.pop()
            if path:
                above = path[-1][0]
                low[above] = min(low[above], low[node])
                below[above] += below[node]
                if low[node] > seen[above]:
                    cuts[via] = below[node]
    return tuple(replace(edge, cuts_off=cut) for edge, cut in zip(edges, cuts, strict=True))


def path_from_query(before: NDArray[np.int32], node: int) -> tuple[int, ...]:
    """Return the nodes from the query to `node`, given the predecessor of each node."""
    path = [node]
    while path[-1] != 0:
        path.append(int(before[path[-1]]))
    return tuple(path[::-1])
