"""Corrections for hubs on all labeled sets of whole clips, with the rule chosen on the other sets.

    python benchmarks/hub_corrections.py --data DATA [--keep FOLDER] [--sets NAME,...]

Compares the rule of `motionloom.search.clips.hubs` for several sizes of the neighborhood with local
scaling by the seventh neighbor (Zelnik-Manor and Perona 2004), CSLS with ten neighbors (Conneau et
al. 2018) and mutual proximity with normal distributions (Schnitzer et al. 2012).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from motionloom.evaluation.clips import clip_matrix
from motionloom.evaluation.labeled_sets import CLIP_SETS, DataFolder, clip_set
from motionloom.evaluation.retrieval import ranked_precision
from motionloom.search.clips.measures import clip_measure
from motionloom.search.clips.retrieval import clip_table
from motionloom.search.methods import clip_methods

Matrix = NDArray[np.float64]


def _sorted_rows(far: Matrix) -> Matrix:
    """Distances to the other clips, nearest first, shape (C, C - 1)."""
    apart = far.copy()
    np.fill_diagonal(apart, np.inf)
    return np.sort(apart, axis=1)[:, :-1]


def _scaled(far: Matrix, scales: NDArray) -> Matrix:
    return far / np.sqrt(np.maximum(scales[:, None] * scales, 1e-12))


def local_scaling(far: Matrix, k: int = 7) -> Matrix:
    """Divide by the distances of both clips to their k-th neighbor."""
    return _scaled(far, _sorted_rows(far)[:, k - 1])


def csls(far: Matrix, k: int = 10) -> Matrix:
    """Subtract the mean distances of both clips to their k nearest neighbors."""
    near = _sorted_rows(far)[:, :k].mean(axis=1)
    return 2.0 * far - near[:, None] - near


def mutual_proximity(far: Matrix) -> Matrix:
    """Probability that another clip is nearer to one of the two clips, distances being normal."""
    rows = _sorted_rows(far)
    mean, deviation = rows.mean(axis=1), np.maximum(rows.std(axis=1), 1e-12)
    farther = norm.sf(far, mean[:, None], deviation[:, None])
    return 1.0 - farther * norm.sf(far, mean, deviation)


def neighborhood(far: Matrix, share: float) -> Matrix:
    """Divide by the mean distances of both clips to a share of the clips, at least seven."""
    rows = _sorted_rows(far)
    return _scaled(far, rows[:, : max(7, round(share * rows.shape[1]))].mean(axis=1))


RULES: dict[str, Callable[[Matrix], Matrix]] = {
    "none": lambda far: far,
    "local scaling": local_scaling,
    "CSLS": csls,
    "mutual proximity": mutual_proximity,
    "nearest tenth": lambda far: neighborhood(far, 0.1),
    "nearest fifth": lambda far: neighborhood(far, 0.2),
    "nearest third": lambda far: neighborhood(far, 1 / 3),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", required=True)
    parser.add_argument("--keep", default="evaluation-sets")
    parser.add_argument("--sets", default=",".join(n for n, s in CLIP_SETS.items() if not s.apart))
    given = parser.parse_args()
    data, sets = DataFolder(given.data, given.keep), given.sets.split(",")
    scores: dict[tuple[str, str, str], float] = {}
    for name in sets:
        labeled = clip_set(name, data)
        labels = np.array(labeled.labels)
        queries = [q for q in range(len(labels)) if (labels == labels[q]).sum() > 1]
        for method in clip_methods():
            table = clip_table(labeled.library, clip_measure(method))
            number = {clip: n for n, clip in enumerate(table.names)}
            chosen = np.array([number[clip] for clip in labeled.clips])
            far = clip_matrix(labeled.library, table, chosen)[0]
            far = 0.5 * (far + far.T)
            for rule, correct in RULES.items():
                rows = correct(far)
                scores[method, name, rule] = float(
                    np.mean([_precision(rows[q], labels, labeled.answers(q), q) for q in queries])
                )
    print(f"| | {' | '.join(RULES)} |\n|---|{'---:|' * len(RULES)}")
    for method in clip_methods():
        means = [np.mean([scores[method, name, rule] for name in sets]) for rule in RULES]
        print(f"| `{method}` | {' | '.join(f'{mean:.3f}' for mean in means)} |")
    for name in sets if len(sets) > 1 else ():
        others = [key for key in scores if key[1] != name]
        best = max(RULES, key=lambda r: np.mean([scores[k] for k in others if k[2] == r]))  # noqa: B023
        print(f"chosen without {name}: {best}")


def _precision(row: NDArray, labels: NDArray, allowed: NDArray, query: int) -> float:
    return ranked_precision(row[allowed], labels[allowed] == labels[query])


if __name__ == "__main__":
    main()
