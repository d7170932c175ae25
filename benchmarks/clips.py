"""``python -m benchmarks clips``: distances between whole clips, and an index of 3,000 clips.

Rivals receive the same input, and their results are compared with ours before timing starts.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import Settings
from benchmarks.rivals import Package, absence, label
from benchmarks.takes import everything, labeled_clips
from benchmarks.timing import Contestant, Log, Missing, Result, compare
from motionloom.alignment.banded_dtw import band_reach, dtw_matrix
from motionloom.features.curves import CURVE_JOINTS, JOINT_IMPORTANCE, curve_joints, rotation_curves
from motionloom.features.earth_mover import transport
from motionloom.formats import load
from motionloom.motion import Motion
from motionloom.search.clips.emd_signature import EmdSignatures, emd_matrix_rows, emd_nearest
from motionloom.search.clips.measures import PAPER_ROWS
from motionloom.search.clips.vectors import even_rows

SUMMARY = "Earth Mover's Distance and DTW of whole clips, and an index of 3,000 clips"
# The packages after the fifth are dependencies of the others.
PACKAGES = (
    Package("POT", "ot"),
    Package("pyemd", "pyemd"),
    Package("aeon", "aeon.distances"),
    Package("dtaidistance", "dtaidistance.dtw_ndim"),
    Package("tslearn", "tslearn.metrics"),
    Package("scikit-learn", "sklearn"),
    Package("joblib", "joblib"),
    Package("cloudpickle", "cloudpickle"),
    Package("narwhals", "narwhals"),
    Package("pandas", "pandas"),
    Package("deprecated", "deprecated"),
    Package("wrapt", "wrapt"),
)
_CLIPS = 115  # the same number as in Tam et al. 2007
_PAIRS = 2000
_PIECES = 3000
_K = 10
_QUERIES = 20
_SECONDS = (1.0, 4.0)  # duration of a piece


def run(settings: Settings, log: Log) -> dict[str, Any]:
    """Return the results and a description of the data."""
    rng = np.random.default_rng(settings.seed)
    with tempfile.TemporaryDirectory() as scratch:
        folder, data, credit = labeled_clips(settings, Path(scratch) / "clips", log=log)
        log("computing rotation curves of the clips")
        curves, joints = _curves([load(path) for path in sorted(folder.rglob("*.bvh"))[:_CLIPS]])
        signatures = EmdSignatures.of(curves)
        results = _transport_rows(signatures, len(joints), rng, settings, log)
        results += _matrix_rows(curves, settings, log)
        results += _energy_rows(curves, signatures, joints, settings, log)
        source = everything(settings, Path(scratch) / "all", log=log)[0]
        results += _index_rows(source, rng, settings, log)
    also = f"{_PIECES} pieces of the built-in corpus and of {source.name}"
    words = f"{len(curves)} clips ({data}); {also}"
    return {"data": words, "credit": credit, "results": [row.as_dict() for row in results]}


# --- the Earth Mover's Distance -------------------------------------------------------------


def _transport_rows(
    signatures: EmdSignatures, joints: int, rng, settings: Settings, log: Log
) -> list[Result]:
    problems = []
    for _ in range(_PAIRS):
        joint = int(rng.integers(joints))
        a, b = (int(c) * joints + joint for c in rng.choice(len(signatures), 2, replace=False))
        this, other = slice(*signatures.starts[a : a + 2]), slice(*signatures.starts[b : b + 2])
        gaps = signatures.points[this][:, None] - signatures.points[other]
        problems.append(
            (np.sqrt((gaps**2).sum(axis=2)), signatures.mass[this], signatures.mass[other])
        )
    truth = np.array([transport(*problem) for problem in problems])
    rivals: list[Contestant | Missing] = []
    for package, make in zip(PACKAGES[:2], (_pot, _pyemd), strict=True):
        missing = absence(package, "clips")
        if missing is not None:
            rivals.append(missing)
            continue
        act = make(problems)
        gap = float(np.max(np.abs(np.array(list(act())) - truth)))
        rivals.append(
            Contestant(label(package), partial(_all, act), f"agrees: within {gap:.1g} degrees")
        )
    points = np.diff(signatures.starts)
    ours = Contestant(
        "motionloom",
        partial(_all, lambda: (transport(*problem) for problem in problems)),
        f"{int(points.min())} to {int(points.max())} points",
    )
    what = f"Earth Mover's Distance of {_PAIRS} pairs of joints, costs given"
    return _compare(what, ours, rivals, settings, log)


def _pot(problems) -> Callable[[], Iterator[float]]:
    emd2 = import_module("ot").emd2
    return lambda: (emd2(a, b, costs) for costs, a, b in problems)


def _pyemd(problems) -> Callable[[], Iterator[float]]:
    emd = import_module("pyemd").emd
    ready = []
    for costs, a, b in problems:
        n, m = costs.shape
        square = np.zeros((n + m, n + m))
        square[:n, n:], square[n:, :n] = costs, costs.T
        ready.append((np.concatenate([a, np.zeros(m)]), np.concatenate([np.zeros(n), b]), square))
    return lambda: (emd(*problem) for problem in ready)


def _energy_rows(curves, signatures, joints, settings: Settings, log: Log) -> list[Result]:
    """Compare our EMD with our DTW; in the paper, the Earth Mover's Distance is faster than DTW."""
    weights = _weights(joints)
    ours = Contestant("motionloom", partial(dtw_matrix, _flat(curves)))
    rival = Contestant(
        "motionloom, emd", partial(emd_matrix_rows, signatures, weights, 0, len(signatures))
    )
    what = f"all distances of {len(curves)} clips, dtw-angles compared with emd"
    return _compare(what, ours, [rival], settings, log)


# --- DTW ------------------------------------------------------------------------------------


def _matrix_rows(curves: NDArray, settings: Settings, log: Log) -> list[Result]:
    rows = _flat(curves)
    reach = band_reach(rows.shape[1], rows.shape[1], 0.1)
    truth = dtw_matrix(rows)
    rivals: list[Contestant | Missing] = []
    for package, make in zip(PACKAGES[2:5], (_aeon, _dtaidistance, _tslearn), strict=True):
        missing = absence(package, "clips")
        if missing is not None:
            rivals.append(missing)
            continue
        act = make(rows.astype(np.float64), reach)
        gap = float(np.max(np.abs(act() - truth)) / truth.max())
        rivals.append(Contestant(label(package), act, f"agrees: within {gap:.1g} of the largest"))
    ours = Contestant("motionloom", partial(dtw_matrix, rows))
    count, length, width = rows.shape
    what = f"banded DTW, all distances of {count} clips of {length} frames of {width} angles"
    return _compare(what, ours, rivals, settings, log)


def _aeon(rows, reach: int) -> Callable[[], NDArray]:
    pairwise = import_module("aeon.distances").dtw_pairwise_distance
    series = np.ascontiguousarray(rows.transpose(0, 2, 1))
    window = reach / rows.shape[1]
    return lambda: np.sqrt(pairwise(series, window=window))


def _dtaidistance(rows, reach: int) -> Callable[[], NDArray]:
    matrix = import_module("dtaidistance.dtw_ndim").distance_matrix_fast

    def act():
        upper = matrix(rows, window=reach + 1, parallel=False)
        upper[~np.isfinite(upper)] = 0.0
        return np.triu(upper, 1) + np.triu(upper, 1).T

    return act


def _tslearn(rows, reach: int) -> Callable[[], NDArray]:
    cdist = import_module("tslearn.metrics").cdist_dtw
    return lambda: cdist(rows, global_constraint="sakoe_chiba", sakoe_chiba_radius=reach, n_jobs=1)


# --- the index ------------------------------------------------------------------------------


def _index_rows(source: Path, rng, settings: Settings, log: Log) -> list[Result]:
    curves, joints = _pieces(source, rng, log)
    signatures, weights = EmdSignatures.of(curves), _weights(joints)
    queries = [
        signatures.take(np.array([q])) for q in rng.choice(len(signatures), _QUERIES, replace=False)
    ]
    computed = []
    for query in queries:
        quick, slow = (
            emd_nearest(query, signatures, weights, k=_K, prune=p) for p in (True, False)
        )
        if quick.clips.tolist() != slow.clips.tolist():
            raise AssertionError("the index changed a result")  # the comparison would be void
        computed.append(quick.computed / len(signatures))
    ask = lambda prune: [  # noqa: E731
        emd_nearest(query, signatures, weights, k=_K, prune=prune) for query in queries
    ]
    note = f"same results; computes {np.mean(computed):.1%} of the distances"
    ours = Contestant("motionloom", partial(ask, True), note)
    rival = Contestant("motionloom, all distances", partial(ask, False))
    what = f"{_K} nearest of {len(signatures)} clips by emd, {_QUERIES} queries"
    return _compare(what, ours, [rival], settings, log)


def _pieces(source: Path, rng, log: Log) -> tuple[NDArray, tuple[str, ...]]:
    """Rotation curves of pieces of one to four seconds, at most three per take and pass."""
    from motionloom import demo

    log(f"cutting {_PIECES} pieces")
    paths = sorted(source.rglob("*.bvh"))
    named = [name.rsplit("_p", 1) for name in demo.names()[::3] if "_p" in name]
    takes: list[Callable[[], Motion]] = [partial(demo.clip, n, performer=int(p)) for n, p in named]
    takes += [partial(load, paths[k]) for k in rng.permutation(len(paths))]
    pieces: list[Motion] = []
    while len(pieces) < _PIECES:
        for take in takes:
            motion = take()
            for _ in range(3):
                length = int(rng.uniform(*_SECONDS) * motion.fps)
                if len(motion) >= length:
                    start = int(rng.integers(len(motion) - length + 1))
                    pieces.append(motion[start : start + length])
            if len(pieces) >= _PIECES:
                break
    return _curves(pieces[:_PIECES])


def _curves(motions: list[Motion]) -> tuple[NDArray, tuple[str, ...]]:
    """Rotation curves at 128 frames for the joints common to all motions, shape (C, 128, J, 3)."""
    shared = set.intersection(*(set(curve_joints(motion.skeleton)) for motion in motions))
    joints = tuple(joint for joint in CURVE_JOINTS if joint in shared)
    return np.stack([even_rows(rotation_curves(m, joints), PAPER_ROWS) for m in motions]), joints


def _weights(joints: tuple[str, ...]) -> NDArray[np.float64]:
    weights = np.array([JOINT_IMPORTANCE[joint] for joint in joints])
    return weights / weights.sum()


def _flat(curves: NDArray) -> NDArray[np.float32]:
    return curves.reshape(*curves.shape[:2], -1).astype(np.float32)


def _compare(what, ours, rivals, settings: Settings, log: Log) -> list[Result]:
    return compare(what, ours, rivals, rounds=settings.rounds, budget_s=settings.budget_s, log=log)


def _all(act: Callable[[], Iterator[float]]) -> None:
    for _ in act():
        pass
