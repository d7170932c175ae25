"""Transition files (``.mogra``), a plain-text format shared with other motion graph programs.

::

    Transitions: 2 0 1
    357 211
    199 365

A header for each pair of motions A and B gives the number of transitions and the two motions,
counted from 0. Each line below it contains a frame i of A and a frame j of B. Kravcevich (2014)
blends A_i to A_(i+k-1) with B_(j-k+1) to B_j (section 4.6), and also B_j to B_(j+k-1) with
A_(i-k+1) to A_i (section 4.8). The *window* determines the meaning of the two frames:

``kr14``
    As in the dissertation: i is the first blended frame of A and j the last blended frame of B.
    The transition back is added. This is the default when reading.
``directed``
    Like ``kr14``, but without the transitions back. `write_mogra` writes this format, with one line
    for each directed transition of a graph. Programs that follow section 4.6 of the dissertation
    blend the same frames as the graph. Programs that also follow section 4.8 add transitions back,
    and those blend different frames than the graph does.
``centered``
    i and j are the middles of the blended frames. The transition back uses the same frames.

The number in a header may be wrong: the sample in the dissertation (Figure 4.12) announces eight
transitions but contains six. The reader issues a warning in this case.

References
----------
.. [1] A. Kravcevich. Motion synthesis using relative joint distances. Dissertation, 2014.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from motionloom.blending.examples import conform
from motionloom.blending.transitions import RootPath
from motionloom.errors import InvalidInput, MotionFormatError
from motionloom.features import FrameDistance, frame_distance
from motionloom.files import atomic_write, read_regular_text
from motionloom.motion import Motion
from motionloom.motion_graph.build import connected
from motionloom.motion_graph.graph import MotionGraph
from motionloom.motion_graph.transitions.transitions import transitions_at

_HEAD = "Transitions:"
_DIGITS = 15  # numbers with more digits cannot be frame numbers

TransitionCandidates = dict[tuple[int, int], NDArray[np.int64]]


def write_mogra(
    graph: MotionGraph, path: str | Path, *, window: Literal["directed", "centered"] = "directed"
) -> None:
    """Write the transitions of a graph to a file, with motions numbered as in ``graph.names``.

    Each line is written only once. If a transition and the transition back have the same line, as
    in graphs built with ``window="kr14"``, the program that reads the file adds the transition
    back.

    Parameters
    ----------
    graph : MotionGraph
    path : str or Path
    window : {"directed", "centered"}
        Meaning of the frames; see the module docstring.
    """
    transitions = graph.transitions
    blend = transitions.blend
    lines: dict[tuple[int, int, int, int], None] = {}
    for (a, i), (b, j) in zip(
        transitions.source.tolist(), transitions.target.tolist(), strict=True
    ):
        if window == "directed":
            first, last = i - blend // 2, j - blend // 2 + blend - 1
            line, back = (a, b, first, last), (b, a, last, first)
        else:
            line, back = (a, b, i, j), (b, a, j, i)
        if back not in lines:
            lines[line] = None
    if window == "centered":  # the lower motion number first
        lines = {min((a, b, i, j), (b, a, j, i)): None for a, b, i, j in lines}
    with atomic_write(path) as scratch, scratch.open("w", encoding="ascii", newline="\n") as file:
        for pair in sorted({line[:2] for line in lines}):
            rows = sorted(line[2:] for line in lines if line[:2] == pair)
            file.write(f"{_HEAD} {len(rows)} {pair[0]} {pair[1]}\n")
            file.writelines(f"{i} {j}\n" for i, j in rows)


def read_mogra(path: str | Path, lengths: Sequence[int] | None = None) -> TransitionCandidates:
    """Read the frame pairs in a transition file, grouped by pair of motions.

    Parameters
    ----------
    path : str or Path
    lengths : sequence of int, optional
        Number of frames of each motion, used to check the frame numbers in the file.

    Returns
    -------
    candidates : dict of (int, int) to ndarray of int64, shape (n, 2)

    Warns
    -----
    UserWarning
        If the number of transitions in a header differs from the number that follow it.

    Raises
    ------
    MotionFormatError
        If the file is not a transition file, or refers to a motion or frame that does not exist.
    """
    try:
        text = read_regular_text(path, encoding="ascii")
    except UnicodeDecodeError:
        raise MotionFormatError(
            "not a transition file, because it is not plain text", path=path
        ) from None
    candidates: dict[tuple[int, int], list[tuple[int, int]]] = {}
    pair, announced, head, count = None, 0, 0, 0
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if not words:
            continue
        if words[0] == _HEAD:
            _compare(path, head, announced, count)
            announced, a, b = _numbers(path, number, words[1:], f"{_HEAD} COUNT MOTION MOTION", 3)
            for motion in (a, b):
                if lengths is not None and motion >= len(lengths):
                    raise MotionFormatError(
                        f"motion {motion} does not exist; the graph has {len(lengths)} motions, "
                        f"counted from 0",
                        path=path,
                        line=number,
                    )
            pair, head, count = (a, b), number, 0
            candidates.setdefault(pair, [])
            continue
        if pair is None:
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
        count += 1
    _compare(path, head, announced, count)
    if not candidates:
        raise MotionFormatError("the file has no transitions", path=path)
    return {key: np.array(rows, np.int64).reshape(-1, 2) for key, rows in candidates.items()}


def graph_from_mogra(
    path: str | Path,
    motions: Sequence[Motion],
    *,
    distance: str | FrameDistance = "jrd",
    blend_seconds: float = 0.4,
    smooth: float | None = None,
    window: Literal["kr14", "directed", "centered"] = "kr14",
    root_path: RootPath = "aligned",
    dead_ends: bool = False,
    labels: Mapping[str, tuple[str, ...]] | None = None,
) -> MotionGraph:
    """Build a motion graph from a transition file.

    Parameters
    ----------
    path : str or Path
    motions : sequence of Motion
        Motions, numbered as in the file; they are conformed to one skeleton and frame rate.
    distance : str or FrameDistance
        Frame distance that measures the error of each transition.
    blend_seconds : float
        Duration of a transition.
    smooth : float, optional
        Maximum relative acceleration of a transition; see `TransitionSettings`. Default: no limit.
    window : {"kr14", "directed", "centered"}
        Meaning of the frames in the file; see the module docstring.
    root_path, dead_ends
        As in `TransitionRules`.
    labels : mapping of str to tuple of str, optional
        Labels of the motions, by name.

    Raises
    ------
    MotionFormatError, InvalidInput
        If the file is invalid, or its transitions form no cycle.
    """
    if not blend_seconds > 0.0:
        raise InvalidInput(f"blend_seconds must be positive; got {blend_seconds}")
    ready = conform(motions)
    candidates = read_mogra(path, [len(motion) for motion in ready])
    blend = max(round(blend_seconds * ready[0].fps), 2)
    chosen = frame_distance(distance)
    report = transitions_at(
        ready,
        chosen,
        candidates,
        blend,
        smooth,
        window="centered" if window == "centered" else "kr14",
        mirror=window != "directed",
        root_path=root_path,
    )
    report = replace(report, dead_ends=dead_ends)
    return connected(ready, report, chosen.name, labels or {})


def _numbers(path, number: int, words: list[str], expected: str, count: int) -> list[int]:
    if len(words) != count or not all(w.isdigit() and len(w) <= _DIGITS for w in words):
        raise MotionFormatError(
            f"expected {expected}; got {' '.join(words)[:40]!r}", path=path, line=number
        )
    return [int(word) for word in words]


def _compare(path, head: int, announced: int, count: int) -> None:
    if announced != count:
        warnings.warn(
            f"{path}:{head}: the header announces {announced} transitions, but {count} follow it",
            stacklevel=3,
        )
