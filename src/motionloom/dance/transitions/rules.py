"""Apply choreographic rules, which edit a movement transition graph.

A rules file is a JSON list of rules, applied in order::

    [
      {"from": "m1", "to": "m3", "likelihood": 0.6},
      {"from": "*", "to": "m2", "factor": 0.5},
      {"from": "m4", "to": "m4", "forbid": true},
      {"rename": {"m1": "box step left"}},
      {"start": {"m1": 1.0}}
    ]

``*`` in ``from`` or ``to`` means all nodes. ``factor`` and ``forbid`` only affect existing edges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from motionloom.dance.transitions.movement_graph import TransitionGraph
from motionloom.errors import InvalidInput, MotionFormatError
from motionloom.files import parse_json, read_regular_text

_KINDS = ("likelihood", "factor", "forbid")


def with_rules(graph: TransitionGraph, rules: Sequence[Mapping[str, Any]]) -> TransitionGraph:
    """Apply rules to a graph, in order.

    Examples
    --------
    >>> graph = TransitionGraph(("a", "b"), ((0,), (1,)), [1, 0], [[0.5, 0.5], [1, 0]])
    >>> with_rules(graph, [{"from": "a", "to": "a", "forbid": True}]).edges
    [('a', 'b', 1.0), ('b', 'a', 1.0)]
    """
    if not isinstance(rules, Sequence) or isinstance(rules, str):
        raise InvalidInput(f"rules must be a list; got {type(rules).__name__}")
    for number, rule in enumerate(rules, start=1):
        try:
            graph = _applied(graph, rule)
        except InvalidInput as error:
            raise InvalidInput(f"rule {number}: {error}") from None
    return graph


def load_rules(path: str | Path) -> list[dict[str, Any]]:
    """Read rules from a JSON file."""
    path = Path(path)
    try:
        rules = parse_json(read_regular_text(path, errors="replace"))
    except ValueError as error:
        line = getattr(error, "lineno", None)
        why = getattr(error, "msg", str(error))
        raise MotionFormatError(
            f"the rules file is not valid JSON: {why}", path=path, line=line
        ) from None
    if not isinstance(rules, list):
        raise MotionFormatError("a rules file must contain a list of rules", path=path)
    return rules


def _applied(graph: TransitionGraph, rule: Mapping[str, Any]) -> TransitionGraph:
    if not isinstance(rule, Mapping):
        raise InvalidInput(
            f"a rule must be an object with keys such as from, to and factor; got {rule!r}"
        )
    if set(rule) == {"rename"}:
        return graph.renamed(_by_name(rule, "rename", str, "names"))
    if set(rule) == {"start"}:
        start = np.zeros(len(graph))
        for name, chance in _by_name(rule, "start", int | float, "numbers").items():
            start[graph.node(name)] = float(chance)
        return replace(graph, start=start)
    kinds = [kind for kind in _KINDS if kind in rule]
    if len(kinds) != 1 or set(rule) != {"from", "to", kinds[0]}:
        raise InvalidInput(
            "a rule must have the keys from, to and one of likelihood, factor or forbid; or only "
            f"rename; or only start; got {', '.join(rule) or 'no keys'}"
        )
    kind = kinds[0]
    try:
        number = float(rule[kind])
    except (TypeError, ValueError):
        raise InvalidInput(f"{kind} must be a number; got {rule[kind]!r}") from None
    for source in _named(graph, rule["from"]):
        for target in _named(graph, rule["to"]):
            there = graph.transitions[graph.node(source), graph.node(target)] > 0.0
            if kind == "likelihood":
                graph = graph.with_edge(source, target, number)
            elif there and kind == "factor":
                graph = graph.reweighted(source, target, number)
            elif there and number:
                graph = graph.without_edge(source, target)
    return graph


def _by_name(rule: Mapping[str, Any], kind: str, values: Any, words: str) -> Mapping[str, Any]:
    given = rule[kind]
    if not isinstance(given, Mapping) or not all(isinstance(v, values) for v in given.values()):
        raise InvalidInput(f"{kind} must be an object that maps names to {words}; got {given!r}")
    return given


def _named(graph: TransitionGraph, name: str) -> tuple[str, ...]:
    if name == "*":
        return graph.names
    graph.node(name)
    return (name,)
