"""Transition files: ``.mogra``, a text format shared with other motion graph programs.

::

    Transitions: 2 0 1
    357 211
    199 365

A header for each pair of motions gives the number of transitions and the two motions, counted
from 0; each line below it holds a frame of the first and a frame of the second. Each transition
may be taken in both directions.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from motionloom.atomic_write import atomic_write
from motionloom.blending.examples import conform
from motionloom.distance import FrameDistance, frame_distance
from motionloom.errors import InvalidInput, MotionFormatError
from motionloom.motion import Motion
from motionloom.motion_graph.build import connected
from motionloom.motion_graph.graph import MotionGraph
from motionloom.motion_graph.transitions import transitions_at

_HEAD = "Transitions:"
_DIGITS = 15  # longer numbers are no frame numbers

TransitionCandidates = dict[tuple[int, int], NDArray[np.int64]]


def write_mogra(graph: MotionGraph, path: str | Path) -> None:
    """Write the transitions of a graph; motions are numbered as in ``graph.names``.

    Each pair of frames is written once, also if the graph has it in one direction only.
    """
    candidates: dict[tuple[int, int], set[tuple[int, int]]] = {}
    transitions = graph.transitions
    for (a, i), (b, j) in zip(
        transitions.source.tolist(), transitions.target.tolist(), strict=True
    ):
        first, second = sorted([(a, i), (b, j)])
        candidates.setdefault((first[0], second[0]), set()).add((first[1], second[1]))
    with atomic_write(path) as scratch, scratch.open("w", encoding="ascii", newline="\n") as file:
        for (a, b), pairs in sorted(candidates.items()):
            file.write(f"{_HEAD} {len(pairs)} {a} {b}\n")
            file.writelines(f"{i} {j}\n" for i, j in sorted(pairs))


def read_mogra(path: str | Path, lengths: Sequence[int] | None = None) -> TransitionCandidates:
    """Pairs of frames, by pair of motions.

    Parameters
    ----------
    path : str or Path
    lengths : sequence of int, optional
        Number of frames of each motion, to check the frames of the file.

    Returns
    -------
    candidates : dict of (int, int) to ndarray of int64, shape (n, 2)

    Raises
    ------
    MotionFormatError
        If the file is not such a file, holds fewer transitions than its headers say, or names a
        motion or frame that does not exist.
    """
    try:
        text = Path(path).read_text(encoding="ascii")
    except UnicodeDecodeError:
        raise MotionFormatError("not a transition file: it is not plain text", path=path) from None
    candidates: dict[tuple[int, int], list[tuple[int, int]]] = {}
    pair, left, head = None, 0, 0
    number = 0
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if not words:
            continue
        if words[0] == _HEAD:
            if left:
                raise _short(path, number, left, head)
            left, a, b = _numbers(path, number, words[1:], f"{_HEAD} COUNT MOTION MOTION", 3)
            for motion in (a, b):
                if lengths is not None and motion >= len(lengths):
                    raise MotionFormatError(
                        f"motion {motion} is named; there are {len(lengths)}, counted from 0",
                        path=path,
                        line=number,
                    )
            pair, head = (a, b), number
            candidates.setdefault(pair, [])
            continue
        if pair is None or not left:
            raise MotionFormatError(
                f"expected '{_HEAD} COUNT MOTION MOTION'; got {line.strip()[:40]!r}",
                path=path,
                line=number,
            )
        i, j = _numbers(path, number, words, "two frames", 2)
        for motion, frame in zip(pair, (i, j), strict=True):
            if lengths is not None and frame >= lengths[motion]:
                raise MotionFormatError(
                    f"frame {frame} is beyond the end of motion {motion}, which has "
                    f"{lengths[motion]} frames",
                    path=path,
                    line=number,
                )
        candidates[pair].append((i, j))
        left -= 1
    if left:
        raise _short(path, number, left, head)
    if not candidates:
        raise MotionFormatError("no transitions: the file is empty", path=path)
    return {key: np.array(rows, np.int64).reshape(-1, 2) for key, rows in candidates.items()}


def graph_from_mogra(
    path: str | Path,
    motions: Sequence[Motion],
    *,
    distance: str | FrameDistance = "jrd",
    blend_seconds: float = 0.4,
    smooth: float | None = None,
) -> MotionGraph:
    """The motion graph of a transition file.

    Parameters
    ----------
    path : str or Path
    motions : sequence of Motion
        Numbered as in the file; conformed to one skeleton and frame rate.
    distance : str or FrameDistance
        Measures the error of each transition.
    blend_seconds : float
        Duration of a transition.
    smooth : float, optional
        Largest relative acceleration of a transition; see `TransitionSettings`. Default: no limit.

    Raises
    ------
    MotionFormatError, InvalidInput
        If the file is invalid, or its transitions have no cycle.
    """
    if not blend_seconds > 0.0:
        raise InvalidInput(f"blend_seconds must be positive; got {blend_seconds}")
    ready = conform(motions)
    candidates = read_mogra(path, [len(motion) for motion in ready])
    blend = max(round(blend_seconds * ready[0].fps), 2)
    chosen = frame_distance(distance)
    return connected(
        ready, transitions_at(ready, chosen, candidates, blend, smooth), chosen.name, {}
    )


def _numbers(path, number: int, words: list[str], expected: str, count: int) -> list[int]:
    if len(words) != count or not all(w.isdigit() and len(w) <= _DIGITS for w in words):
        raise MotionFormatError(
            f"expected {expected}; got {' '.join(words)[:40]!r}", path=path, line=number
        )
    return [int(word) for word in words]


def _short(path, number: int, left: int, head: int) -> MotionFormatError:
    return MotionFormatError(
        f"{left} more transitions were announced in line {head}", path=path, line=number
    )
