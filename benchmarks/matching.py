"""``python -m benchmarks matching``: the search of motion matching, one query at a time.

The rival is the search of orangeduck's Motion-Matching (https://github.com/orangeduck), its own C++
header, one thread, on the same normalized features. Both search for the single nearest frame,
excluding the last 20 frames of each take, and their answers are compared before timing starts.
There are two kinds of queries: a pose and the trajectory of the same frame, both with noise, as
when a character continues its motion; and the pose of one frame with the trajectory of another, as
when a player changes direction.

The rival is not part of this repository, and neither are instructions to build it. Set
``MOTION_MATCHING_RIVALS`` to shared libraries (separated as in ``PATH``) that export two C
functions around ``database_search``:

    void load(const float *rows, int frames, int features,
              const int *starts, const int *stops, int ranges);
    void search(const float *queries, const int *current, int count, int *found, float *costs);
"""

from __future__ import annotations

import ctypes
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import Settings
from benchmarks.takes import everything
from benchmarks.timing import Contestant, Log, Missing, Result, compare
from motionloom.errors import MotionloomError
from motionloom.formats import load
from motionloom.motion_matching.features import Normalization, matching_features
from motionloom.motion_matching.settings import MatchingSettings
from motionloom.search.index.bucket_index import BucketIndex

SUMMARY = "search for the frame that motion matching plays next"
PACKAGES = ()
_SOME = 60_000  # frames
_QUERIES = 500
_LEFT_OUT = 20  # excluded frames at the end of each take
_NOISE = 0.1  # m
_NAME = "orangeduck Motion-Matching"
_PLACES = "MOTION_MATCHING_RIVALS"

Rows = NDArray[np.float32]


def run(settings: Settings, log: Log) -> dict[str, Any]:
    """Return the results and a description of the data."""
    results: list[Result] = []
    with tempfile.TemporaryDirectory() as scratch:
        folder, source, credit = everything(settings, Path(scratch), log=log)
        rows, lengths = _features(folder, log)
        cut = int(np.searchsorted(np.cumsum(lengths), _SOME)) + 1
        for count in dict.fromkeys((cut, len(lengths))):
            part = rows[: int(lengths[:count].sum())]
            results += _measured(part, lengths[:count], settings, log)
    data = f"{source}: {len(rows)} frames of {len(lengths)} takes"
    return {"data": data, "credit": credit, "results": [row.as_dict() for row in results]}


def _features(folder: Path, log: Log) -> tuple[Rows, NDArray[np.int64]]:
    """Normalized features of all takes, and the length of each take."""
    tables, lengths = [], []
    files = sorted(folder.rglob("*.bvh"))
    for number, file in enumerate(files):
        try:
            motion = load(file)
            if len(motion) > 2 * _LEFT_OUT:
                tables.append(matching_features(motion).astype(np.float32))
                lengths.append(len(motion))
        except MotionloomError as error:
            log(f"{file.name}: {error}")
        if number % 200 == 199:
            log(f"features of {number + 1} of {len(files)} takes")
    rows = np.concatenate(tables)
    return Normalization.of(rows, MatchingSettings()).apply(rows), np.array(lengths)


def _measured(rows: Rows, lengths: NDArray[np.int64], settings: Settings, log: Log) -> list[Result]:
    stops = np.cumsum(lengths)
    starts = stops - lengths
    kept = rows.copy()
    for stop in stops:
        kept[stop - _LEFT_OUT : stop] = np.nan
    index = BucketIndex.build(kept)
    places = [Path(path) for path in os.environ.get(_PLACES, "").split(os.pathsep) if path]
    rivals = {place.stem: _rival(place, rows, starts, stops) for place in places}
    results: list[Result] = []
    for kind, queries in _queries(rows, settings.seed).items():
        find = index.finder(rows)
        truth = np.concatenate([find(query)[0] for query in queries])
        contestants: list[Contestant | Missing] = []
        if not rivals:
            contestants.append(
                Missing(_NAME, f"not available; set {_PLACES} to shared libraries with its search")
            )
        for name, rival in rivals.items():
            frames = rival(queries)
            same = np.mean(frames == truth)
            # Answers may differ if two frames are equally near in single precision.
            gaps = np.linalg.norm(queries - rows[frames], axis=1)
            ours = np.linalg.norm(queries - rows[truth], axis=1)
            worst = float(np.abs(gaps - ours).max())
            note = f"same frame for {same:.1%} of queries, costs within {worst:.0e} m"
            contestants.append(
                Contestant(f"{_NAME}, {name}", lambda rival=rival, q=queries: rival(q), note)
            )

        def ours_run(find=find, queries=queries):
            for query in queries:
                find(query)

        results += compare(
            f"{len(queries)} queries, {kind}, {len(rows)} frames x {rows.shape[1]}",
            Contestant("motionloom", ours_run),
            contestants,
            rounds=settings.rounds,
            budget_s=settings.budget_s,
            log=log,
        )
    return results


def _queries(rows: Rows, seed: int) -> dict[str, Rows]:
    rng = np.random.default_rng(seed)
    here, there = rng.integers(len(rows), size=(2, _QUERIES))
    noise = rng.normal(0.0, _NOISE, (_QUERIES, rows.shape[1])).astype(np.float32)
    changed = rows[here].copy()
    changed[:, 15:] = rows[there, 15:]
    return {"continuing": rows[here] + noise, "changing direction": changed + noise}


def _rival(built: Path, rows: Rows, starts: NDArray, stops: NDArray):
    """A function that maps queries (Q, 27) to frames (Q,)."""
    library = ctypes.CDLL(str(built))
    whole = np.ascontiguousarray(rows)
    ends = [np.ascontiguousarray(part, np.int32) for part in (starts, stops)]
    library.load(
        _pointer(whole), len(rows), rows.shape[1], _pointer(ends[0]), _pointer(ends[1]), len(starts)
    )

    def search(queries: Rows) -> NDArray[np.int32]:
        given = np.ascontiguousarray(queries)
        current = np.full(len(queries), -1, np.int32)
        frames, costs = np.empty(len(queries), np.int32), np.empty(len(queries), np.float32)
        library.search(
            _pointer(given), _pointer(current), len(queries), _pointer(frames), _pointer(costs)
        )
        return frames

    return search


def _pointer(array: NDArray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
