"""``python -m benchmarks dtw``: subsequence DTW of a 3 s query over the whole library.

Rivals receive all motions as one long sequence without boundaries, which is not a disadvantage.
They compute accumulated costs only; motionloom also selects the twenty best matches and traces
their alignments.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks import Settings
from benchmarks.rivals import Package, absence, label
from benchmarks.takes import whole_library
from benchmarks.timing import Contestant, Log, Missing, Result, compare
from motionloom.search.candidates import Limits
from motionloom.search.subsequence.dtw import dtw_matches
from motionloom.search.subsequence.end_costs import end_costs

SUMMARY = "subsequence DTW over the whole library"
# The packages after the second are dependencies of tslearn.
PACKAGES = (
    Package("dtaidistance", "dtaidistance.dtw_ndim"),
    Package("tslearn", "tslearn.metrics"),
    Package("scikit-learn", "sklearn"),
    Package("joblib", "joblib"),
    Package("cloudpickle", "cloudpickle"),
    Package("narwhals", "narwhals"),
)
_BEST = 20


def run(settings: Settings, log: Log) -> dict[str, Any]:
    """Return the results and a description of the data."""
    results: list[Result] = []
    with whole_library(settings, log=log) as place:
        features = place.library.features("e15")
        rows, starts = np.ascontiguousarray(features.rows), np.asarray(features.starts)
        query = place.queries(features, settings.seed)[0]
        long = np.ascontiguousarray(rows, dtype=np.float64)
        short = np.ascontiguousarray(query, dtype=np.float64)
        ours_alone = end_costs(query, rows, np.array([0, len(rows)]), steps="classic")
        rivals: list[Contestant | Missing] = []
        for package, make in zip(PACKAGES[:2], (_dtaidistance, _tslearn), strict=True):
            missing = absence(package, "dtw")
            if missing is not None:
                rivals.append(missing)
                continue
            log(f"comparing the costs of {package.name} with ours")
            act = make()
            gap = float(np.max(np.abs(act(short, long) - ours_alone) / (1.0 + ours_alone)))
            note = f"agrees: within {gap:.1g} of ours"
            if package.name == "tslearn":
                note = "sums squared distances: the same work, a different measure"
            elif gap > 1e-2:
                note = f"differs: by up to {gap:.2g}"
            rivals.append(Contestant(label(package), partial(act, short, long), note))
        best = Limits(max_matches=_BEST)
        for steps in ("slope", "classic"):
            ours = Contestant(
                "motionloom",
                partial(dtw_matches, query, rows, starts, steps=steps, limits=best),
            )
            results += compare(
                f"{len(query)} frames against all, {steps} steps",
                ours,
                rivals,
                rounds=settings.rounds,
                budget_s=settings.budget_s,
                log=log,
            )
        data, credit = place.data, place.credit
    return {"data": data, "credit": credit, "results": [row.as_dict() for row in results]}


Costs = Callable[[Any, Any], Any]


def _dtaidistance() -> Costs:
    dtw_ndim = import_module("dtaidistance.dtw_ndim")

    def costs(query, long):
        # psi: the match may start and end anywhere in the long sequence.
        free = [0, 0, len(long), len(long)]
        _, paths = dtw_ndim.warping_paths_fast(
            query, long, psi=free, psi_neg=False, inner_dist="euclidean"
        )
        return paths[-1, 1:]

    return costs


def _tslearn() -> Costs:
    subsequence_cost_matrix = import_module("tslearn.metrics").subsequence_cost_matrix
    # It sums squared distances: a different measure, but the same work.
    return lambda query, long: np.asarray(subsequence_cost_matrix(query, long))[-1]
