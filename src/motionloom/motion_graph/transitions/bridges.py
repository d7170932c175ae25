"""Bridges: transitions that join parts of a motion graph which would be cut off.

Walks and runs have no frames that are similar for the time of a blend, and other feet in contact,
so that a graph of both falls apart and only the larger part is kept. People change from one to the
other within a step. A bridge does so at the most similar poses there are, if the steps alternate
and no joint moves more abruptly than in other transitions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from motionloom.motion_graph.components import components
from motionloom.motion_graph.transitions.candidates import TransitionCandidates
from motionloom.motion_graph.transitions.foot_support import FootSupport, alternates
from motionloom.motion_graph.transitions.transitions import Transitions, inside

Ints = NDArray[np.int64]

_EACH_WAY = 4  # bridges to a part, and back
_TRIED = 100  # candidates of each way, the most similar first


def bridges(
    lengths: Sequence[int],
    foot_supports: Sequence[FootSupport],
    candidates: Mapping[tuple[int, int], TransitionCandidates],
    made: Transitions,
    make: Callable[..., Transitions],
) -> list[Transitions]:
    """Transitions to and from the parts of a graph that are not connected with the largest.

    Parameters
    ----------
    lengths : sequence of int
        Frames of each motion.
    foot_supports : sequence of FootSupport
    candidates : mapping of (int, int) to TransitionCandidates
        For each pair of motions, before feet are compared.
    made : Transitions
        Those found.
    make : callable
        Of a pair of motions, frames (n, 2), errors and means: the transitions that are smooth.
    """
    part = components(made.leave, made.enter)
    found: list[Transitions] = []
    for number in range(1, part.max(initial=-1) + 1):
        ways = []
        for source, target in ((0, number), (number, 0)):
            before = _first_arrivals(len(lengths), made, part == source)
            after = _last_departures(len(lengths), made, part == target)
            rows = _rows(candidates, lengths, foot_supports, made.blend, before, after)
            ways.append(_made(rows, make))
        if all(ways):
            found += [each for way in ways for each in way]
    return found


def _first_arrivals(count: int, made: Transitions, mask: NDArray[np.bool_]) -> Ints:
    """First frame of each motion that can be reached within a part of the graph."""
    first = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(first, made.enter[mask, 0], made.enter[mask, 1])
    return first


def _last_departures(count: int, made: Transitions, mask: NDArray[np.bool_]) -> Ints:
    """Last frame of each motion at which a transition within a part of the graph leaves it."""
    last = np.full(count, -1, np.int64)
    np.maximum.at(last, made.leave[mask, 0], made.leave[mask, 1])
    return last


def _rows(candidates, lengths, foot_supports, blend: int, before: Ints, after: Ints) -> list[tuple]:
    """Error, mean, pair and frames of the candidates from one part to another, nearest first."""
    rows = []
    for (a, b), found in candidates.items():
        for (p, q), frames in (((a, b), found.frames), ((b, a), found.frames[:, ::-1])):
            i, j = frames[:, 0], frames[:, 1]
            good = (i - blend // 2 >= before[p]) & (j + blend - blend // 2 <= after[q])
            good &= inside(frames, lengths[p], lengths[q], blend)
            good &= alternates(foot_supports[p].last[i], foot_supports[q].next[j])
            for k in np.flatnonzero(good):
                error, mean = float(found.errors[k]), float(found.means[k])
                rows.append((error, mean, p, q, int(i[k]), int(j[k])))
    return sorted(rows)[:_TRIED]


def _made(rows: list[tuple], make: Callable[..., Transitions]) -> list[Transitions]:
    made: list[Transitions] = []
    for error, mean, p, q, i, j in rows:
        one = make((p, q), np.array([[i, j]]), np.array([error]), np.array([mean]))
        if len(one):
            made.append(one)
        if len(made) == _EACH_WAY:
            break
    return made
