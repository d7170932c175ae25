"""``python -m benchmarks knn``: nearest frames in the whole library.

There are two kinds of queries: unrelated random single frames, and the consecutive frames of
segments of 3 s (1 s for 45 numbers), whose neighbors change little from one frame to the next. All
contestants receive the same feature vectors and the same queries: the random frames in one call,
the segments in one call each. Results of exact methods are compared with ours before timing starts;
approximate methods are tuned to the same recall, which the note gives.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import Settings
from benchmarks.rivals import Package, absence, label
from benchmarks.takes import whole_library
from benchmarks.timing import Contestant, Log, Missing, Result, compare
from motionloom.search.index.bucket_index import BucketIndex

SUMMARY = "nearest frames, exact and approximate"
PACKAGES = (
    Package("pykdtree", "pykdtree.kdtree"),
    Package("faiss-cpu", "faiss"),
    Package("hnswlib", "hnswlib"),
)
_K = (16, 256)
_RECALLS = (0.95, 0.99)
_EPSILONS = (3.0, 2.0, 1.5, 1.25, 1.0, 0.75, 0.5, 0.25, 0.0)  # loosest first
_EFFORTS = (16, 32, 48, 64, 96, 128, 256, 512)  # hnswlib's ef

Rows = NDArray[np.float32]
Search = Callable[[Rows, int], tuple[Any, Any]]  # queries, k -> distances, rows


def run(settings: Settings, log: Log) -> dict[str, Any]:
    """Return the results and a description of the data."""
    results: list[Result] = []
    with whole_library(settings, log=log) as place:
        for name in ("e15", "e15x3"):
            features = place.library.features(name)
            rows = np.ascontiguousarray(features.rows)
            segments = place.queries(features, settings.seed)
            if name != "e15":
                segments = [segments[0][:30]]  # trees take a tenth of a second per frame
            kinds = _kinds(segments, rows, settings.seed)
            log(f"building the indexes of {name}")
            index = BucketIndex.build(rows)
            rivals: list[tuple[str, Search | Missing]] = [("scipy cKDTree", _scipy(rows))]
            for package, make in zip(PACKAGES[:2], (_pykdtree, _faiss), strict=True):
                missing = absence(package, "knn")
                rivals.append((label(package), missing or make(rows)))
            if name == "e15":
                missing = absence(PACKAGES[2], "knn")
                approximate = (label(PACKAGES[2]), missing or _hnswlib(rows))
                for kind, queries in kinds.items():
                    results += _approximate(kind, index, rows, queries, approximate, settings, log)
            for kind, queries in kinds.items():
                for k in _K:
                    what = f"{k} nearest of {kind}, {rows.shape[1]} numbers ({name})"
                    results += _exact(what, index, rows, queries, k, rivals, settings, log)
        data, credit = place.data, place.credit
    return {"data": data, "credit": credit, "results": [row.as_dict() for row in results]}


def _kinds(segments: list[Rows], rows: Rows, seed: int) -> dict[str, list[Rows]]:
    """Random frames, and segments with the same total number of frames."""
    count = sum(len(segment) for segment in segments)
    finite = np.flatnonzero(np.isfinite(rows).all(axis=1))
    chosen = np.random.default_rng(seed).choice(finite, min(count, len(finite)), replace=False)
    return {
        f"{len(chosen)} random single frames": [rows[chosen]],
        f"{count} consecutive frames (runs of {len(segments[0])})": segments,
    }


def _exact(what, index, rows, queries, k, rivals, settings, log) -> list[Result]:
    truth = [index.nearest(query, rows, k=k)[2].reshape(-1, k) for query in queries]
    taking_part: list[Contestant | Missing] = []
    for title, ask in rivals:
        if isinstance(ask, Missing):
            taking_part.append(ask)
            continue
        gaps = [
            float(np.max(np.abs(np.sort(ask(query, k)[0], axis=1) - true)))
            for query, true in zip(queries, truth, strict=True)
        ]
        note = f"agrees: within {1e3 * max(gaps):.1g} mm of ours"
        if max(gaps) > 2e-3:
            note = f"differs: by up to {1e3 * max(gaps):.2g} mm"
        taking_part.append(Contestant(title, partial(_search_all, ask, queries, k), note))
    ours = Contestant("motionloom", partial(_ours, index, rows, queries, k, 0.0))
    return compare(
        what, ours, taking_part, rounds=settings.rounds, budget_s=settings.budget_s, log=log
    )


def _approximate(kind, index, rows, queries, rival, settings, log) -> list[Result]:
    """Rows at equal recall: each contestant uses the loosest setting that reaches it."""
    k = 16
    truth = [index.nearest(query, rows, k=k)[1].reshape(-1, k) for query in queries]
    title, make = rival
    results = []
    for wanted in _RECALLS:
        epsilon, reached = _loosest(
            _EPSILONS,
            lambda e: [index.nearest(q, rows, k=k, epsilon=e)[1].reshape(-1, k) for q in queries],
            truth,
            wanted,
        )
        taking_part: list[Contestant | Missing] = [make] if isinstance(make, Missing) else []
        if not taking_part:
            effort, theirs = _loosest(
                _EFFORTS, lambda ef: [make(ef)(query, k)[1] for query in queries], truth, wanted
            )
            note = f"ef {effort}: recall {theirs:.3f}"
            taking_part = [Contestant(title, partial(_search_all, make(effort), queries, k), note)]
        contestant = Contestant(
            "motionloom",
            partial(_ours, index, rows, queries, k, epsilon),
            f"ours with epsilon {epsilon:g}: recall {reached:.3f}",
        )
        results += compare(
            f"approximate: recall {wanted:g} of the {k} nearest of {kind} (e15)",
            contestant,
            taking_part,
            rounds=settings.rounds,
            budget_s=settings.budget_s,
            log=log,
        )
    return results


def _loosest(settings, found_with, truth, wanted):
    """First setting with a recall of at least `wanted`, or the last one, and its recall."""
    for setting in settings:
        recall = _recall(truth, found_with(setting))
        if recall >= wanted:
            break
    return setting, recall


def _recall(truth, neighbors) -> float:
    hits = [
        len(np.intersect1d(a, b)) / len(a)
        for true, theirs in zip(truth, neighbors, strict=True)
        for a, b in zip(true, theirs, strict=True)
    ]
    return float(np.mean(hits))


def _ours(index: BucketIndex, rows: Rows, queries: list[Rows], k: int, epsilon: float) -> None:
    for query in queries:
        index.nearest(query, rows, k=k, epsilon=epsilon)


def _search_all(ask: Search, queries: list[Rows], k: int) -> None:
    for query in queries:
        ask(query, k)


def _scipy(rows: Rows) -> Search:
    from scipy.spatial import cKDTree

    tree = cKDTree(rows)
    return lambda queries, k: tree.query(queries, k)


def _pykdtree(rows: Rows) -> Search:
    tree = import_module("pykdtree.kdtree").KDTree(rows)
    return lambda queries, k: tree.query(queries, k)


def _faiss(rows: Rows) -> Search:
    faiss = import_module("faiss")
    faiss.omp_set_num_threads(1)
    index = faiss.IndexFlatL2(rows.shape[1])
    index.add(rows)

    def ask(queries: Rows, k: int):
        squares, numbers = index.search(queries, k)
        return np.sqrt(np.maximum(squares, 0.0)), numbers

    return ask


def _hnswlib(rows: Rows) -> Callable[[int], Search]:
    index = import_module("hnswlib").Index(space="l2", dim=rows.shape[1])
    index.init_index(max_elements=len(rows), ef_construction=80, M=12)
    index.set_num_threads(1)
    index.add_items(rows, num_threads=1)

    def with_effort(ef: int) -> Search:
        def ask(queries: Rows, k: int):
            index.set_ef(ef)
            numbers, squares = index.knn_query(queries, k=k, num_threads=1)
            return np.sqrt(squares), numbers

        return ask

    return with_effort
