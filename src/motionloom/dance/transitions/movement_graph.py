"""Movement transition graphs, which consist of groups of movements and transition probabilities.

A node is a group of similar movements. The probability of an edge combines smoothness and the
transitions seen in the takes, equation (27); unlikely edges are dropped and the others normalized
(Kim, Park and Shin 2003, sections 4.2 and 4.3). Graphs are immutable: every edit returns a new
graph. Files are JSON, or GraphML for graph editors.
"""

from __future__ import annotations

import json
import xml.etree.ElementTree as xml
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput, MotionFormatError
from motionloom.files import atomic_write, parse_json, read_regular_text

Array = NDArray[np.float64]

_VERSION = 1
_LIKELY = 0.05  # minimum likelihood of an edge
MAX_FILE_BYTES = 32 * 2**20  # size limit of a graph file; thousands of nodes need a few megabytes
MAX_NODES = 2000  # the table of transitions grows with their square
_GRAPHML = "{http://graphml.graphdrawing.org/xmlns}"


@dataclass(frozen=True, eq=False)
class TransitionGraph:
    """Graph of movements: nodes with movements, and transition probabilities between nodes.

    Attributes
    ----------
    names : tuple of str
        Names of the K nodes.
    members : tuple of tuple of int
        Indices of the movements of each node, the center first.
    start : ndarray, shape (K,)
        Probability that a dance starts at each node.
    transitions : ndarray, shape (K, K)
        ``transitions[i, j]`` is the probability that j follows i. Rows sum to 1; a row of zeros is
        a dead end.

    Examples
    --------
    >>> import numpy as np
    >>> graph = lib.choreography(label="dance", meter=4).graph
    >>> bool(np.allclose(graph.transitions.sum(axis=1), 1.0))
    True
    """

    names: tuple[str, ...]
    members: tuple[tuple[int, ...], ...]
    start: Array
    transitions: Array

    def __post_init__(self) -> None:
        count = len(self.names)
        _check_count(count)
        start = np.array(self.start, dtype=np.float64)
        steps = np.array(self.transitions, dtype=np.float64)
        if start.shape != (count,) or steps.shape != (count, count):
            raise InvalidInput(
                f"start must have shape ({count},) and transitions ({count}, {count}), one per "
                f"node; got {start.shape} and {steps.shape}"
            )
        if len(set(self.names)) != count or len(self.members) != count:
            raise InvalidInput("names must be unique, and there must be as many members as names")
        if not (np.all(np.isfinite(steps)) and np.all(np.isfinite(start))):
            raise InvalidInput("probabilities must be finite")
        if np.any(steps < 0.0) or np.any(start < 0.0):
            raise InvalidInput("probabilities must not be negative")
        for name, array in (("start", _normal(start)), ("transitions", _normal(steps))):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def edges(self) -> list[tuple[str, str, float]]:
        """Source, target and probability of every edge."""
        rows, columns = np.nonzero(self.transitions)
        return [
            (self.names[i], self.names[j], float(self.transitions[i, j]))
            for i, j in zip(rows, columns, strict=True)
        ]

    @property
    def dead_ends(self) -> tuple[str, ...]:
        """Nodes without outgoing edges."""
        return tuple(
            name for name, row in zip(self.names, self.transitions, strict=True) if not row.any()
        )

    @property
    def movements_per_node(self) -> float:
        """Mean number of movements per node."""
        return sum(len(group) for group in self.members) / max(len(self), 1)

    def node(self, name: str) -> int:
        """Return the index of the node with a given name."""
        if name not in self.names:
            raise InvalidInput(
                f"the graph has no node {name!r}; its nodes are {', '.join(self.names)}"
            )
        return self.names.index(name)

    # --- editing ------------------------------------------------------------------------

    def with_edge(self, source: str, target: str, likelihood: float = 0.5) -> TransitionGraph:
        """Add an edge with this probability, and rescale the other edges of its source.

        Examples
        --------
        >>> graph = TransitionGraph(("a", "b"), ((0,), (1,)), [1, 0], [[0, 1], [1, 0]])
        >>> graph.with_edge("a", "a", 0.25).transitions
        array([[0.25, 0.75],
               [1.  , 0.  ]])
        """
        if not 0.0 < likelihood <= 1.0:
            raise InvalidInput(
                f"likelihood must be greater than 0 and at most 1; got {likelihood:g}"
            )
        i, j = self.node(source), self.node(target)
        steps = self.transitions.copy()
        steps[i, j] = 0.0
        rest = steps[i].sum()
        steps[i] *= (1.0 - likelihood) / rest if rest > 0.0 else 0.0
        steps[i, j] = likelihood
        return replace(self, transitions=steps)

    def without_edge(self, source: str, target: str) -> TransitionGraph:
        """Remove an edge, and rescale the other edges of its source."""
        i, j = self.node(source), self.node(target)
        if self.transitions[i, j] == 0.0:
            raise InvalidInput(f"there is no edge from {source} to {target}")
        steps = self.transitions.copy()
        steps[i, j] = 0.0
        return replace(self, transitions=steps)

    def reweighted(self, source: str, target: str, factor: float) -> TransitionGraph:
        """Multiply the weight of an existing edge by `factor`."""
        if not (np.isfinite(factor) and factor > 0.0):
            raise InvalidInput(f"factor must be positive; got {factor:g}")
        i, j = self.node(source), self.node(target)
        if self.transitions[i, j] == 0.0:
            raise InvalidInput(f"there is no edge from {source} to {target}")
        steps = self.transitions.copy()
        steps[i, j] *= factor
        return replace(self, transitions=steps)

    def renamed(self, names: Mapping[str, str]) -> TransitionGraph:
        """Return the graph with nodes renamed by the mapping `names`."""
        for name in names:
            self.node(name)
        return replace(self, names=tuple(names.get(name, name) for name in self.names))

    def cycle(self, names: Iterable[str]) -> TransitionGraph:
        """Return a graph that repeats these nodes in this order."""
        chosen = tuple(dict.fromkeys(names))
        members = tuple(self.members[self.node(name)] for name in chosen)
        identity = np.eye(len(chosen))
        return TransitionGraph(chosen, members, identity[0], np.roll(identity, 1, axis=1))

    def without_nodes(self, names: Iterable[str]) -> TransitionGraph:
        """Remove nodes and their edges."""
        gone = {self.node(name) for name in names}
        keep = [k for k in range(len(self)) if k not in gone]
        if not keep:
            raise InvalidInput("names lists all nodes; at least one node must remain")
        return TransitionGraph(
            tuple(self.names[k] for k in keep),
            tuple(self.members[k] for k in keep),
            self.start[keep],
            self.transitions[np.ix_(keep, keep)],
        )

    def without_dead_ends(self) -> TransitionGraph:
        """Return the strongly connected component with the most movements, as in motion graphs.

        From each node of this component, a dance can continue indefinitely.
        """
        from scipy.sparse.csgraph import connected_components

        count, part = connected_components(self.transitions > 0.0, connection="strong")
        weight = np.array([sum(len(self.members[k]) for k in np.flatnonzero(part == c))
                           for c in range(count)])  # fmt: skip
        alive = np.array([
            np.any(self.transitions[np.ix_(part == c, part == c)]) for c in range(count)
        ])  # fmt: skip
        if not alive.any():
            raise InvalidInput(
                "every path through this graph ends, because it has no cycle. Lower "
                "min_likelihood or behavior, or add edges"
            )
        best = int(np.argmax(np.where(alive, weight, -1)))
        return self.without_nodes(
            name for name, where in zip(self.names, part, strict=True) if where != best
        )

    # --- files --------------------------------------------------------------------------

    def as_dict(self, texts: Sequence[str] | None = None) -> dict[str, Any]:
        """Return plain data, optionally with the source of each movement."""
        return {
            "motionloom": "movement transition graph",
            "version": _VERSION,
            "nodes": [
                {
                    "name": name,
                    "start": float(start),
                    "movements": list(group),
                    **({"sources": [texts[k] for k in group]} if texts else {}),
                }
                for name, group, start in zip(self.names, self.members, self.start, strict=True)
            ],
            "edges": [
                {"from": source, "to": target, "likelihood": likelihood}
                for source, target, likelihood in self.edges
            ],
        }

    def save(self, path: str | Path, texts: Sequence[str] | None = None) -> Path:
        """Write the graph as ``.json`` or ``.graphml``."""
        path = Path(path)
        if path.suffix.lower() not in (".json", ".graphml"):
            raise InvalidInput(f"{path}: a graph must be written to .json or .graphml")
        data = self.as_dict(texts)
        with atomic_write(path) as scratch:
            if path.suffix.lower() == ".json":
                scratch.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
            else:
                xml.ElementTree(_as_graphml(data)).write(
                    scratch, encoding="utf-8", xml_declaration=True
                )
        return path


def load_graph(path: str | Path) -> TransitionGraph:
    """Read a graph from ``.json`` or ``.graphml``.

    Raises
    ------
    MotionFormatError
        If the file does not contain a movement transition graph.

    Examples
    --------
    >>> import tempfile
    >>> from motionloom.dance.transitions.movement_graph import load_graph
    >>> graph = lib.choreography(label="dance", meter=4).graph
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(load_graph(graph.save(f"{folder}/graph.json")).names == graph.names)
    True
    """
    return graph_from(graph_data(path), path)


def graph_data(path: str | Path) -> dict[str, Any]:
    """Return the contents of a graph file as plain data, without checks."""
    path = Path(path)
    if path.stat().st_size > MAX_FILE_BYTES:
        raise MotionFormatError(
            f"a graph file may have at most {MAX_FILE_BYTES} bytes; "
            f"this one has {path.stat().st_size}",
            path=path,
        )
    text = read_regular_text(path, errors="replace")
    try:
        data = _from_graphml(text) if path.suffix.lower() == ".graphml" else parse_json(text)
    except (ValueError, KeyError, xml.ParseError, RecursionError) as error:
        raise _no_graph(error, path) from None
    if not isinstance(data, dict):
        raise _no_graph(f"expected a JSON object, got {type(data).__name__}", path)
    return data


def _no_graph(why: object, path: Path) -> MotionFormatError:
    what = f"the key {why} is missing" if isinstance(why, KeyError) else why
    return MotionFormatError(f"not a movement transition graph: {what}", path=path)


def graph_from(data: Mapping[str, Any], path: str | Path) -> TransitionGraph:
    """Build a graph from plain data (see `TransitionGraph.as_dict`); errors mention `path`."""
    try:
        nodes = data["nodes"]
        _check_count(len(nodes))
        names = [str(node["name"]) for node in nodes]
        places = {name: k for k, name in enumerate(names)}
        steps = np.zeros((len(names), len(names)))
        for edge in data["edges"]:
            steps[places[str(edge["from"])], places[str(edge["to"])]] = float(edge["likelihood"])
        return TransitionGraph(
            tuple(names),
            tuple(tuple(int(k) for k in node["movements"]) for node in nodes),
            np.array([float(node.get("start", 0.0)) for node in nodes]),
            steps,
        )
    except (
        AttributeError, InvalidInput, KeyError, OverflowError, TypeError, ValueError,
    ) as error:  # fmt: skip
        raise _no_graph(error, Path(path)) from None


def _check_count(count: int) -> None:
    if count > MAX_NODES:
        raise InvalidInput(f"a graph may have at most {MAX_NODES} nodes; got {count}")


def _as_graphml(data: Mapping[str, Any]) -> xml.Element:
    root = xml.Element("graphml", xmlns=_GRAPHML.strip("{}"))
    keys = (("start", "node", "double"), ("movements", "node", "string"),
            ("weight", "edge", "double"))  # fmt: skip
    for name, whose, kind in keys:
        xml.SubElement(root, "key", id=name, attrib={
            "for": whose, "attr.name": name, "attr.type": kind,
        })  # fmt: skip
    graph = xml.SubElement(root, "graph", edgedefault="directed")
    for node in data["nodes"]:
        element = xml.SubElement(graph, "node", id=node["name"])
        xml.SubElement(element, "data", key="start").text = repr(node["start"])
        numbers = " ".join(map(str, node["movements"]))
        xml.SubElement(element, "data", key="movements").text = numbers
    for edge in data["edges"]:
        element = xml.SubElement(graph, "edge", source=edge["from"], target=edge["to"])
        xml.SubElement(element, "data", key="weight").text = repr(edge["likelihood"])
    return root


def _from_graphml(text: str) -> dict[str, Any]:
    if "<!ENTITY" in text or "<!DOCTYPE" in text:  # entities could expand to any size
        raise ValueError("GraphML with a document type declaration is not accepted")
    root = xml.fromstring(text)
    titles = {key.get("id"): key.get("attr.name", "") for key in root.iter(f"{_GRAPHML}key")}

    def values(element: xml.Element) -> dict[str, str]:
        elements = element.findall(f"{_GRAPHML}data")
        return {
            titles.get(item.get("key"), item.get("key") or ""): item.text or "" for item in elements
        }

    nodes = [
        {
            "name": node.attrib["id"],
            "start": float(values(node).get("start", 0.0) or 0.0),
            "movements": [int(word) for word in values(node).get("movements", "").split()],
        }
        for node in root.iter(f"{_GRAPHML}node")
    ]
    edges = [
        {
            "from": edge.attrib["source"],
            "to": edge.attrib["target"],
            "likelihood": float(values(edge)["weight"]),
        }
        for edge in root.iter(f"{_GRAPHML}edge")
    ]
    return {"nodes": nodes, "edges": edges}


def combined_graph(
    kinematic: ArrayLike,
    behavioral: ArrayLike,
    start: ArrayLike,
    members: Sequence[Sequence[int]],
    *,
    behavior: float = 0.5,
    min_likelihood: float | None = None,
    names: Sequence[str] | None = None,
) -> TransitionGraph:
    """Combine smoothness and behavior, equation (27), and drop unlikely edges.

    Parameters
    ----------
    kinematic, behavioral : array_like, shape (K, K)
        Results of `kinematic_continuity` and `baum_welch`. If the takes never leave a group, its
        edges depend only on smoothness.
    start : array_like, shape (K,)
    members : sequence of sequence of int
        Movements of each group.
    behavior : float
        Weight of behavior, 0 to 1 (w2 in the paper). The weight of smoothness, w1, is ``1 -
        behavior``.
    min_likelihood : float, optional
        Edges with a lower likelihood are dropped. Default: 0.05 or, in a large graph, the
        likelihood of an edge of average smoothness that does not occur in the takes, so that the
        graph remains connected.
    names : sequence of str, optional
        Names of the nodes. Default: ``m1``, ``m2``, ...
    """
    if not 0.0 <= behavior <= 1.0:
        raise InvalidInput(f"behavior must be between 0 and 1; got {behavior:g}")
    if min_likelihood is None:
        min_likelihood = min(_LIKELY, (1.0 - behavior) / max(len(members), 1))
    if not 0.0 <= min_likelihood < 1.0:
        raise InvalidInput(f"min_likelihood must be at least 0 and below 1; got {min_likelihood:g}")
    smooth, observed = np.asarray(kinematic, np.float64), np.asarray(behavioral, np.float64)
    unknown = observed.sum(axis=1, keepdims=True) <= 0.0
    likely = np.where(unknown, smooth, (1.0 - behavior) * smooth + behavior * observed)
    kept = np.where(likely > min_likelihood, likely, 0.0)
    titles = tuple(names) if names else tuple(f"m{k + 1}" for k in range(len(likely)))
    groups = tuple(tuple(int(k) for k in group) for group in members)
    return TransitionGraph(titles, groups, np.asarray(start, np.float64), kept)


def _normal(values: Array) -> Array:
    """Normalize rows to a sum of 1; rows of zeros stay unchanged."""
    total = values.sum(axis=-1, keepdims=True)
    return np.divide(values, total, out=np.zeros_like(values), where=total > 0.0)
