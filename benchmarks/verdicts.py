"""Measure how much relevance feedback (`accept`, `reject`) improves average precision.

    python benchmarks/verdicts.py LIBRARY [LABELS.csv ...] [--method dtw-clip]

Every labeled clip is used as a query once. Feedback is given in two ways: the first n clips of the
ranked list are judged correct or wrong; or the first n wrong clips are rejected. The precision
includes judged clips, accepted ones first and rejected ones last; "rest" excludes them from the
list and the truth, before and after. With several libraries, the constant of the method is chosen
without the library that it is tested on.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import motionloom as ml
from motionloom.evaluation.retrieval import ranked_precision
from motionloom.search.clips.measures import clip_distances, clip_measure
from motionloom.search.clips.retrieval import clip_table
from motionloom.search.feedback import CONTRAST, combined_distances

CONTRASTS = (0.0, 0.25, 0.5, 0.75, 1.0, 2.0)
WAYS = ("first", "wrong")


@dataclass(frozen=True, eq=False)
class LabeledClips:
    """Distances of labeled clips."""

    name: str
    distances: NDArray[np.float64]
    labels: NDArray


@dataclass(frozen=True)
class Gain:
    """Mean average precision before and after feedback, with judged clips and without them."""

    before: float
    after: float
    rest_before: float
    rest_after: float

    @property
    def share(self) -> float:
        """Gain as a share of the possible gain."""
        return (self.after - self.before) / max(1.0 - self.before, 1e-9)


def labeled_clips(library: ml.Library, labels: dict[str, str], method: str) -> LabeledClips:
    """Distances of the labeled clips of a library."""
    measure = clip_measure(method)
    table = clip_table(library.store, measure)
    chosen = np.array([k for k, name in enumerate(table.names) if name in labels])
    table = table.some(chosen)
    distances = clip_distances(measure, table.clips)
    np.fill_diagonal(distances, 0.0)
    named = np.array([labels[name] for name in table.names])
    return LabeledClips(library.path.stem, distances, named)


def gain(clips: LabeledClips, count: int, way: str, contrast: float = CONTRAST) -> Gain:
    """The gain of `count` judgments, averaged over clips whose label occurs at least twice."""
    rows = []
    for q in range(len(clips.labels)):
        others = np.flatnonzero(np.arange(len(clips.labels)) != q)
        right = clips.labels[others] == clips.labels[q]
        if right.sum() < 2:
            continue
        before = clips.distances[q, others]
        order = np.argsort(before, kind="stable")
        judged = (order if way == "first" else order[~right[order]])[:count]
        accepted, rejected = judged[right[judged]], judged[~right[judged]]
        wanted = clips.distances[np.append(q, others[accepted])][:, others]
        after = combined_distances(wanted, clips.distances[others[rejected]][:, others], contrast)
        counted = after.copy()
        counted[accepted], counted[rejected] = -1.0, np.inf
        rest = np.ones(len(others), bool)
        rest[judged] = False
        row = [ranked_precision(before, right), ranked_precision(counted, right)]
        if right[rest].any():
            row += [ranked_precision(value[rest], right[rest]) for value in (before, after)]
        rows.append((row + [np.nan, np.nan])[:4])
    return Gain(*(float(value) for value in np.nanmean(np.array(rows), axis=0)))


def chosen_without(sets: Sequence[LabeledClips], left_out: int) -> float:
    """The constant with the highest mean over the other sets, with three judgments in both ways."""
    others = [clips for k, clips in enumerate(sets) if k != left_out]
    scores = {
        value: np.mean([gain(clips, 3, way, value).after for clips in others for way in WAYS])
        for value in CONTRASTS
    }
    return max(scores, key=lambda value: (round(float(scores[value]), 4), -value))


def _labels(library: ml.Library, path: str | None) -> dict[str, str]:
    if path is None:
        return {name: library.labels[name][0] for name in library.names if library.labels[name]}
    with open(path, encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    column = next(name for name in ("label", "content") if name in rows[0])
    return {row["clip"].removesuffix(".bvh"): row[column] for row in rows}


def main(words: Sequence[str] | None = None) -> None:
    """Print the table for one or several libraries."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("given", nargs="+", metavar="LIBRARY [LABELS.csv]")
    parser.add_argument("--method", default="dtw-clip")
    options = parser.parse_args(words)
    sets: list[LabeledClips] = []
    given = list(options.given)
    while given:
        library = ml.Library(given.pop(0))
        table = given.pop(0) if given and given[0].endswith(".csv") else None
        sets.append(labeled_clips(library, _labels(library, table), options.method))
    for number, clips in enumerate(sets):
        contrast = chosen_without(sets, number) if len(sets) > 1 else CONTRAST
        for way in WAYS:
            for count in (1, 3, 10):
                gained = gain(clips, count, way, contrast)
                print(
                    f"{clips.name:12s} contrast {contrast:4.2f} {way:5s} {count:2d}: "
                    f"{gained.before:.3f} -> {gained.after:.3f}, share {gained.share:5.2f}; rest "
                    f"{gained.rest_before:.3f} -> {gained.rest_after:.3f}",
                    flush=True,
                )


if __name__ == "__main__":
    sys.exit(main())
