"""Growth of a family as the join distance increases, and the choice of that distance.

As the join distance increases, members enter one by one: first the near matches of the query, then
the matches of those matches. Members are searched nearest first, as in Prim's algorithm, so each is
searched only once and enters at the longest edge of its path to the query. A single growth
therefore yields the families of all join distances.

A wrong match adds all of its matches to the family. The family therefore grows while true members
enter, stays the same size over a plateau, and grows rapidly after the first wrong match. The
proposed join distance is the middle of the widest plateau, measured by the ratio of its ends.
Plateaus far from the typical join distance score lower. The growth ends as soon as no later plateau
can be wider, usually at the first wrong member.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.search.match import Match
from motionloom.search.match_graph.family import most_overlapping
from motionloom.search.match_graph.members import Node
from motionloom.search.settings import APART, SAME

# Typical join distance in meters, and the penalty for a factor e away from it. Chosen by
# leave-one-out on families of captured takes and of the built-in corpus
# (docs/explanation/families.md).
_USUAL, _UNUSUAL = 0.12, 0.5


@dataclass(frozen=True, eq=False)
class LimitSweep:
    """Sizes of a query's families at all join distances.

    Attributes
    ----------
    query : str
    members : tuple of Node
        Members in the order in which they enter, without the query.
    limits : ndarray, shape (K,)
        Smallest join distance at which each member enters, increasing.
    largest : float
        Largest join distance that was tried.
    ended : bool
        True if the growth ended before `largest`, so more members would enter.
    proposed : float
        The proposed join distance.
    plateau : (float, float)
        Range of join distances that give the proposed family.

    Examples
    --------
    >>> sweep = LimitSweep.of("kick", [Node("a", 0, 9, 1), Node("b", 0, 9, 1)], [0.04, 0.05], 0.2)
    >>> sweep.sizes([0.03, 0.045, 0.1]).tolist(), round(sweep.proposed, 3)
    ([0, 1, 2], 0.1)
    """

    query: str
    members: tuple[Node, ...]
    limits: NDArray[np.float64]
    largest: float
    ended: bool
    proposed: float
    plateau: tuple[float, float]
    unit: str = "m"

    @classmethod
    def of(
        cls,
        query: str,
        members: Sequence[Node],
        limits: Sequence[float],
        largest: float,
        *,
        ended: bool = False,
        fallback: float = 0.0,
        unit: str = "m",
    ) -> LimitSweep:
        """Return the sweep for members and the join distances at which they enter.

        If there are no members, `fallback` is the proposed join distance.
        """
        low, high = best_plateau(limits, largest, in_meters=unit == "m", fallback=fallback)
        return cls(
            query,
            tuple(members),
            np.asarray(limits, np.float64),
            float(largest),
            ended,
            math.sqrt(low * high),
            (float(low), float(high)),
            unit,
        )

    def sizes(self, limits: Iterable[float]) -> NDArray[np.int64]:
        """Return the number of members, excluding the query, at each join distance."""
        return np.searchsorted(self.limits, np.asarray(list(limits)), side="right")

    def to_json(self) -> dict[str, Any]:
        """Return the proposal, its plateau and the sizes as JSON-compatible data."""
        limits, last = np.unique(self.limits.round(6), return_index=True)
        sizes = np.append(last[1:], len(self.limits))
        return {
            "proposed": self.proposed,
            "plateau": list(self.plateau),
            "ended": self.ended,
            "limits": limits.tolist(),
            "sizes": sizes.tolist(),
        }


def best_plateau(
    limits: Sequence[float], largest: float, *, in_meters: bool = True, fallback: float = 0.0
) -> tuple[float, float]:
    """Return the best plateau: a range of join distances over which the size is constant.

    Only plateaus with at least one member are considered. The last plateau ends at `largest`.
    Without members, both ends are `fallback`.

    Examples
    --------
    >>> best_plateau([0.06, 0.07, 0.08] + [0.16] * 30, 0.25)
    (0.08, 0.16)
    """
    given = np.maximum(np.asarray(limits, np.float64), 1e-6)
    given = given[given < largest]
    if not len(given):
        return fallback, fallback
    ends = np.append(given[1:], largest if math.isfinite(largest) else given[-1])
    best = int(np.argmax(_preference(given, ends, in_meters)))
    return float(given[best]), float(ends[best])


def _preference(low: Any, high: Any, in_meters: bool) -> Any:
    """Return a score for each plateau between two join distances; higher is better."""
    wide = np.log(high / low)
    if not in_meters:
        return wide
    return wide - _UNUSUAL * np.abs(0.5 * np.log(low * high) - math.log(_USUAL))


def _is_decided(limits: Sequence[float], largest: float, in_meters: bool) -> bool:
    """Return whether no plateau after the last limit can be better than an earlier one."""
    if len(limits) < 2 or not math.isfinite(largest) or limits[-1] <= 0.0:
        return False
    before = np.maximum(np.asarray(limits), 1e-6)
    best = _preference(before[:-1], before[1:], in_meters).max()
    ends = np.geomspace(before[-1], largest, 32)
    return bool(_preference(before[-1], ends, in_meters).max() < best)


def limit_sweep(
    query: Node,
    text: str,
    find: Callable[[Node], Iterable[Match]],
    *,
    largest: float,
    fallback: float = 0.0,
    complete: bool = False,
    max_nodes: int | None = None,
    same: float = SAME,
    apart: float = APART,
    seconds: tuple[float, float] = (0.0, math.inf),
    is_clear: Callable[[Node, Match], bool] | None = None,
    unit: str = "m",
) -> LimitSweep:
    """Grow a family nearest first and record the join distance at which each member enters.

    Parameters
    ----------
    query, text, find, max_nodes, same, apart, seconds, is_clear, unit
        As in `grow_family`; `find` returns matches up to the distance `largest`.
    largest : float
        Largest join distance.
    fallback : float
        Join distance to propose if the query has no match.
    complete : bool
        Continue until `largest` or `max_nodes` is reached. If False, stop as soon as the proposal
        is certain.

    Examples
    --------
    >>> steps = {"a:0-10": [("b", 0.1)], "b:0-10": [("c", 0.05), ("a", 0.1)], "c:0-10": []}
    >>> def find(node):
    ...     return [Match(name, 0, 10, 0.0, 1.0, cost) for name, cost in steps[node.text]]
    >>> sweep = limit_sweep(Node("a", 0, 10, 0), "a:0-10", find, largest=0.3)
    >>> [node.motion for node in sweep.members], sweep.limits
    (['b', 'c'], array([0.1, 0.1]))
    """
    nodes = [query]
    by_motion: dict[str, list[int]] = {query.motion: [0]}
    limits: list[float] = []
    waiting: list[tuple[float, int, int, Match]] = []
    pushed = 0
    frontier: int | None = 0
    ended = False
    while frontier is not None and not ended:
        for match in find(nodes[frontier]):
            if seconds[0] <= match.end - match.start <= seconds[1]:
                heapq.heappush(waiting, (match.distance, pushed, frontier, match))
                pushed += 1
        frontier = None
        while waiting and frontier is None:
            cost, _, a, match = heapq.heappop(waiting)
            near = by_motion.setdefault(match.motion, [])
            b, overlap, of_longer = most_overlapping(nodes, near, match)
            if b >= 0 and (of_longer > same or (overlap >= apart and a != 0)):
                continue
            if is_clear is not None and not is_clear(nodes[a], match):
                continue
            frontier = len(nodes)
            near.append(frontier)
            tier = nodes[a].tier + 1
            nodes.append(Node(match.motion, match.start_frame, match.end_frame, tier))
            limits.append(max(cost, limits[-1] if limits else 0.0))
        ended = max_nodes is not None and len(limits) >= max_nodes
        if frontier is not None and not complete:
            ended = ended or _is_decided(limits, largest, unit == "m")
    return LimitSweep.of(
        text, nodes[1:], limits, largest, ended=ended, fallback=fallback, unit=unit
    )
