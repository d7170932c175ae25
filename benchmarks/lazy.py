"""``python -m benchmarks lazy``: the lazy neighborhood graph compared with exact DTW.

The note of each row gives the share of the twenty best DTW matches that the graph finds; DTW uses
the steps of the graph. The steps in the paper are diagonal, horizontal and vertical. The paper
gives neither k nor a radius, so those are ours.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks import Settings
from benchmarks.takes import whole_library
from benchmarks.timing import Contestant, Log, Result, compare
from motionloom.search.candidates import Alignments, Limits
from motionloom.search.index.bucket_index import BucketIndex
from motionloom.search.subsequence.dtw import dtw_matches
from motionloom.search.subsequence.lazy_graph import lazy_matches
from motionloom.search.subsequence.rerank import differences

SUMMARY = "lazy neighborhood graph compared with exact DTW"
PACKAGES = ()
_BEST = 20


def run(settings: Settings, log: Log) -> dict[str, Any]:
    """Return the results and a description of the data."""
    from scipy.spatial import cKDTree

    results: list[Result] = []
    with whole_library(settings, log=log) as place:
        features = place.library.features("e15")
        rows, starts = np.ascontiguousarray(features.rows), np.asarray(features.starts)
        queries = place.queries(features, settings.seed)
        log("building the indexes")
        index, tree = BucketIndex.build(rows), cKDTree(rows)
        limits = Limits(max_matches=_BEST)
        exact_matches = {
            steps: [dtw_matches(q, rows, starts, steps=steps, limits=limits) for q in queries]
            for steps in ("slope", "classic")
        }
        for k, bridge in ((256, 0), (256, None), (1024, None), (4096, 0)):
            steps = "classic" if bridge == 0 else "slope"
            exact = exact_matches[steps]
            graph = partial(_graph, partial(_buckets, index, rows), rows, starts, k, bridge)
            recall = np.mean(
                [_recall(best, graph(q)) for best, q in zip(exact, queries, strict=True)]
            )
            kind = "the graph of the paper" if bridge == 0 else "with bridges, realigned"
            ours = Contestant(
                "motionloom",
                partial(_each, graph, queries),
                f"recall {recall:.2f} of the {_BEST} best matches of DTW",
            )
            dtw = partial(dtw_matches, vectors=rows, starts=starts, steps=steps, limits=limits)
            rivals = [
                Contestant("motionloom, exact DTW", partial(_each, dtw, queries)),
                Contestant(
                    "scipy cKDTree and the same graph",
                    partial(
                        _each,
                        partial(_graph, partial(_tree, tree), rows, starts, k, bridge),
                        queries,
                    ),
                ),
            ]
            what = f"{len(queries)} queries of {len(queries[0])} frames, k = {k}, {kind}"
            results += compare(
                what, ours, rivals, rounds=settings.rounds, budget_s=settings.budget_s, log=log
            )
        data, credit = place.data, place.credit
    return {"data": data, "credit": credit, "results": [row.as_dict() for row in results]}


def _graph(neighbors, rows, starts, k, bridge, query):
    length = len(query)
    reach = length - 1 if bridge is None else bridge
    most = _BEST if bridge == 0 else 3 * _BEST
    offsets, near, gaps = neighbors(query, k)
    limits = Limits(max_matches=most)
    if bridge == 0:
        return lazy_matches(
            offsets, near, gaps, starts, steps="classic", per_cell=False, limits=limits
        )
    matches = lazy_matches(offsets, near, gaps, starts, bridge=reach, limits=limits)
    matrix_of = lambda low, high: differences(query, rows[low:high])  # noqa: E731
    return Alignments(matrix_of, starts, length).realigned(matches)[:_BEST]


def _buckets(index, rows, query, k):
    return index.nearest(query, rows, k=k)


def _tree(tree, query, k):
    gaps, numbers = tree.query(query, k)
    return np.arange(len(query) + 1) * k, numbers.ravel().astype(np.int64), gaps.ravel()


def _recall(best, matches) -> float:
    def same(a, b) -> bool:
        shared = min(a.end, b.end) - max(a.start, b.start)
        return shared > 0.8 * min(a.end - a.start, b.end - b.start)

    return float(np.mean([any(same(candidate, other) for other in matches) for candidate in best]))


def _each(act, queries) -> None:
    for query in queries:
        act(query)
