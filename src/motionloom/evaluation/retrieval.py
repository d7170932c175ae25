"""Retrieval quality of a search: average precision, recall, and boundary accuracy.

A match is a hit if its intersection over union with a true occurrence is at least one half. Each
occurrence can be hit only once. Further matches of the same occurrence, and matches of *optional*
(mirrored or incomplete) occurrences, are ignored.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from motionloom.errors import InvalidInput

Range = tuple[float, float]
_HIT = 0.5
_TOLERANCE = 0.15  # seconds


@dataclass(frozen=True)
class Task:
    """A query and the true occurrences of its action in the same motion, in seconds."""

    name: str
    motion: str
    start: float
    end: float
    action: str
    occurrences: tuple[Range, ...]
    optional: tuple[Range, ...] = ()


@dataclass(frozen=True)
class Score:
    """Scores of one ranked list.

    Attributes
    ----------
    average_precision : float
        Precision at the rank where each occurrence is hit (0 if it is never hit), averaged over the
        occurrences.
    recall : float
        Fraction of the occurrences that are hit.
    on_time : float
        Fraction of the hits whose start and end are both within 0.15 s of the truth.
    precision_at_full_recall : float
        Precision at the rank where all occurrences are hit, or 0 if some are never hit.
    """

    average_precision: float
    recall: float
    on_time: float
    precision_at_full_recall: float


def score(
    ranked: Sequence[Range],
    occurrences: Sequence[Range],
    optional: Sequence[Range] = (),
    *,
    tolerance: float = _TOLERANCE,
) -> Score:
    """Score ranked ranges against the true occurrences. All ranges are in seconds.

    Examples
    --------
    >>> score([(0.0, 1.0), (5.0, 6.0), (2.0, 3.1)], [(0.0, 1.0), (2.0, 3.0)])
    Score(average_precision=0.83..., recall=1.0, on_time=1.0, precision_at_full_recall=0.66...)
    """
    if not occurrences:
        raise InvalidInput("a score requires at least one true occurrence")
    hit: set[int] = set()
    precisions, on_time, counted = [], 0, 0
    for candidate in ranked:
        overlaps = [_overlap(candidate, true) for true in occurrences]
        best = int(np.argmax(overlaps))
        if overlaps[best] >= _HIT:
            if best in hit:
                continue
            hit.add(best)
            counted += 1
            precisions.append(len(hit) / counted)
            start, end = occurrences[best]
            late = max(abs(candidate[0] - start), abs(candidate[1] - end))
            on_time += late <= tolerance + 1e-9
        elif not any(_overlap(candidate, other) >= _HIT for other in optional):
            counted += 1
    count = len(occurrences)
    return Score(
        sum(precisions) / count,
        len(hit) / count,
        on_time / len(hit) if hit else 0.0,
        precisions[-1] if len(hit) == count else 0.0,
    )


def ranked_precision(distances: ArrayLike, relevant: ArrayLike) -> float:
    """Return the average precision of items ranked by distance.

    Examples
    --------
    >>> ranked_precision([0.1, 0.3, 0.2], [True, True, False])
    0.83...
    """
    order = np.argsort(np.asarray(distances), kind="stable")
    right = np.asarray(relevant, dtype=bool)[order]
    if not right.any():
        raise InvalidInput("relevant must contain at least one True")
    return float((np.cumsum(right) / np.arange(1, len(right) + 1))[right].mean())


def read_tasks(path: str | Path) -> list[Task]:
    """Read tasks from a CSV file.

    The columns are ``id, file, fps, query_start, query_end, action, occurrences, optional``. Ranges
    are written as ``START-END;START-END``, as row numbers in the original file. Row 0 of that file
    is a prepended T-pose and is not counted.
    """
    tasks = []
    with Path(path).open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            fps = float(row["fps"])

            def seconds(text: str, fps: float = fps) -> float:
                return (int(text) - 1) / fps

            def ranges(text: str, convert=seconds) -> tuple[Range, ...]:
                pairs = [part.split("-") for part in text.split(";") if part]
                return tuple((convert(a), convert(b)) for a, b in pairs)

            tasks.append(
                Task(
                    row["id"],
                    row["file"],
                    seconds(row["query_start"]),
                    seconds(row["query_end"]),
                    row["action"],
                    ranges(row["occurrences"]),
                    ranges(row["optional"]),
                )
            )
    return tasks


def _overlap(a: Range, b: Range) -> float:
    """Return the intersection over union of two ranges."""
    shared = min(a[1], b[1]) - max(a[0], b[0])
    return max(0.0, shared) / (max(a[1], b[1]) - min(a[0], b[0]))
