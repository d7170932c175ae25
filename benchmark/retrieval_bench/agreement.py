"""Agreement of two annotations of marked segments.

Each second segment is matched with the first segment that it overlaps most, at most one each. The
agreement is the intersection over union of matched segments, the segments without a match at an IoU
of one half, and Cohen's kappa of the frames inside and outside of segments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from retrieval_bench.data import MANIFESTS, data_files
from retrieval_bench.scores import HIT, Result, overlap
from retrieval_bench.sets import Place
from retrieval_bench.tables import read_rows

SECOND = MANIFESTS.parent / "annotations" / "cmu-marks-second.csv"


@dataclass(frozen=True)
class Agreement:
    """Agreement of two annotations of one action, or of all.

    Attributes
    ----------
    label : str
    first, second, matched : int
        Numbers of segments in each annotation, and of matches.
    iou : float
        Mean intersection over union of the matched segments.
    boundary : float
        Median distance of matched starts and ends, in seconds.
    kappa : float
        Cohen's kappa of the frames.
    """

    label: str
    first: int
    second: int
    matched: int
    iou: float
    boundary: float
    kappa: float


def agreements(name: str = "cmu-marks", second: Path = SECOND) -> list[Agreement]:
    """Return the agreement for each action of the second annotation, and for all together."""
    frames = data_files()
    first = _marks(MANIFESTS / "segments" / f"{name}-marks.csv")
    again = _marks(second)
    parts, rows = [], []
    for label, marks in again.items():
        own = [mark for mark in first[label] if mark[1] == ""]
        skipped = [mark[0] for mark in first[label] if mark[1]]
        places = [mark[0] for mark in marks]
        part = _compared([mark[0] for mark in own], places, skipped, frames[places[0].file].frames)
        parts.append(part)
        rows.append(_summary(label, [part]))
    return [*rows, _summary("all", parts)]


def cohen_kappa(a: Sequence[bool], b: Sequence[bool]) -> float:
    """Return Cohen's kappa of two yes-no judgments of the same frames.

    Examples
    --------
    >>> cohen_kappa([True, True, False, False], [True, False, False, False])
    0.5
    """
    x, y = np.asarray(a, bool), np.asarray(b, bool)
    same = float((x == y).mean())
    chance = float(x.mean() * y.mean() + (1.0 - x.mean()) * (1.0 - y.mean()))
    return 1.0 if chance == 1.0 else (same - chance) / (1.0 - chance)


_Compared = tuple[int, int, list[float], list[float], np.ndarray, np.ndarray]


def _compared(
    first: Sequence[Place], second: Sequence[Place], skipped: Sequence[Place], frames: int
) -> _Compared:
    """Return both counts, the IoU of matches, their offsets, and both judgments per frame.

    A second segment on an optional one of the first annotation is not compared.
    """
    pairs = [
        (overlap(Result(b.file, 0.0, b.start, b.end), a), i, j)
        for i, a in enumerate(first)
        for j, b in enumerate(second)
    ]
    of_first: set[int] = set()
    of_second: set[int] = set()
    ious, offsets = [], []
    for iou, i, j in sorted(pairs, reverse=True):
        if iou >= HIT and i not in of_first and j not in of_second:
            of_first.add(i)
            of_second.add(j)
            ious.append(iou)
            offsets += [abs(first[i].start - second[j].start), abs(first[i].end - second[j].end)]
    kept = [
        b
        for j, b in enumerate(second)
        if j in of_second
        or all(overlap(Result(b.file, 0.0, b.start, b.end), a) < HIT for a in skipped)
    ]
    ignored = _inside(skipped, frames)
    return (
        len(first), len(kept), ious, offsets,
        _inside(first, frames)[~ignored], _inside(second, frames)[~ignored],
    )  # fmt: skip


def _inside(places: Sequence[Place], frames: int, fps: float = 30.0) -> np.ndarray:
    times = np.arange(frames) / fps
    inside = np.zeros(frames, bool)
    for place in places:
        inside |= (times >= place.start) & (times < place.end)
    return inside


def _summary(label: str, parts: Sequence[_Compared]) -> Agreement:
    ious = [iou for part in parts for iou in part[2]]
    offsets = [offset for part in parts for offset in part[3]]
    return Agreement(
        label,
        sum(part[0] for part in parts),
        sum(part[1] for part in parts),
        len(ious),
        float(np.mean(ious)) if ious else 0.0,
        float(np.median(offsets)) if offsets else float("nan"),
        cohen_kappa(
            np.concatenate([part[4] for part in parts]).tolist(),
            np.concatenate([part[5] for part in parts]).tolist(),
        ),
    )


def _marks(path: Path) -> dict[str, list[tuple[Place, str]]]:
    out: dict[str, list[tuple[Place, str]]] = {}
    for _, row in read_rows(path, ("label", "file", "start", "end")):
        place = Place(row["file"], float(row["start"]), float(row["end"]))
        out.setdefault(row["label"], []).append((place, row.get("optional", "")))
    return out
