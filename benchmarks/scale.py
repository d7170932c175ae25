"""``python -m benchmarks scale --frames 1e8``: search more frames than fit into memory.

Rows are synthetic (`benchmarks.scale_rows`) and are deleted afterwards. They need 60 bytes per
frame, and the index and the run boxes need the same again. Results are compared with brute force on
a tenth of the rows, and those of a cluster of two workers, each with half of the rows, with those
of one process. Memory is sampled: it is the sum over this process and its children, with shared
pages divided among them.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import Settings
from benchmarks.scale_rows import motion_starts, similar_frames, write_rows
from benchmarks.takes import whole_library
from benchmarks.timing import CLOCKS, Log, Result
from motionloom.errors import InvalidInput
from motionloom.parallel import on_cluster
from motionloom.search.candidates import Candidate, Limits
from motionloom.search.index.neighbors import open_index
from motionloom.search.index.shards import Shards
from motionloom.search.subsequence.dtw import BoxedTable, dtw_matches, moving_weights
from motionloom.search.subsequence.rerank import MORE
from motionloom.search.subsequence.run_boxes import RunBoxes
from motionloom.store.artifacts.row_table import row_range

SUMMARY = "searches beyond memory: index, nearest frames and subsequences of synthetic rows"
PACKAGES = ()
DEFAULT_FRAMES = 1_000_000
QUERY_FRAMES, K, MATCHES = 90, 16, 20  # three seconds at 30 Hz
_QUERIES = 8
_SAMPLE_S = 0.2  # seconds between two samples of memory
_LEAST_FRAMES = 20_000
# As in a search: more candidates than matches, because candidates may overlap by half.
LIMITS = Limits(max_matches=MORE * MATCHES, max_overlap=0.5)


@dataclass
class Memory:
    """Peak memory of this process and its children, in bytes, by stage."""

    greatest: int = 0
    stages: dict[str, int] = field(default_factory=dict)

    def sample(self) -> None:
        """Take a sample now."""
        self.greatest = max(self.greatest, tree_bytes(os.getpid()))

    @contextmanager
    def sampled(self) -> Iterator[None]:
        """Take five samples per second during the block."""
        done = threading.Event()

        def watch() -> None:
            while not done.wait(_SAMPLE_S):
                self.sample()

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def stage(self, name: str) -> int:
        """Peak bytes since the last call, recorded under `name`."""
        self.sample()
        self.stages[name], self.greatest = self.greatest, 0
        return self.stages[name]


def tree_bytes(process: int) -> int:
    """Proportional set size of a process and its children; 0 if the system has none."""
    total = 0
    try:
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += 1024 * int(line.split()[1])
        for thread in Path(f"/proc/{process}/task").iterdir():
            for child in (thread / "children").read_text().split():
                total += tree_bytes(int(child))
    except OSError:  # it has ended, or this is not Linux
        pass
    return total


@dataclass(frozen=True)
class Stage:
    """One stage: wall and processor seconds, and memory in bytes."""

    wall_s: float
    cpu_s: float
    bytes: int


def run(settings: Settings, log: Log) -> dict[str, Any]:
    """Return the results, a description of the data, and the measured constants."""
    frames = int(settings.frames or DEFAULT_FRAMES)
    if frames < _LEAST_FRAMES:
        raise InvalidInput(f"frames must be at least {_LEAST_FRAMES}; got {frames}")
    memory = Memory()
    stages: dict[str, Stage] = {}

    def timed(name: str, work: Callable[[], Any]) -> Any:
        log(name)
        wall, cpu = CLOCKS.wall(), CLOCKS.cpu()
        out = work()
        stages[name] = Stage(CLOCKS.wall() - wall, CLOCKS.cpu() - cpu, memory.stage(name))
        return out

    with tempfile.TemporaryDirectory() as scratch, whole_library(settings, log=log) as whole:
        with memory.sampled():
            data = _Data(Path(scratch), frames, settings.seed)
            features = whole.library.features("e15")
            similar = similar_frames(features, open_index(whole.library.store, features, "bucket"))
            memory.stage("captured data")
            timed("rows", lambda: data.write(features, similar))
            timed("index", lambda: Shards.build(data.index, data.table, workers=2))
            timed("boxes", lambda: RunBoxes.build(data.rows, data.starts, folder=data.boxes))
            answers = _searches(data, timed, log)
            checks = _checks(data, answers, timed)
            checks |= _on_a_cluster(data, answers, timed)
        credit, source = whole.credit, whole.data
        sizes = {
            name: sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
            for name, folder in (("rows", data.table), ("index", data.index), ("boxes", data.boxes))
        }
    measured = {
        "frames": frames,
        "motions": len(data.starts) - 1,
        "stages": {name: vars(stage) for name, stage in stages.items()},
        "sizes": sizes,
        "nearest_cpu_s": answers.nearest_cpu,
        "subsequence_cpu_s": answers.subsequence_cpu,
        "aligned_part": answers.aligned,
        "checks": checks,
        "greatest_bytes": max(memory.stages.values()),
        "memory": memory.stages,
    }
    return {
        "data": f"{frames:,} synthetic frames of 15 features, derived from {source}",
        "credit": credit,
        "results": [row.as_dict() for row in _rows(measured)],
        "measured": measured,
    }


class _Data:
    """Folders of the rows, the index and the boxes."""

    def __init__(self, scratch: Path, frames: int, seed: int) -> None:
        self.table, self.index, self.boxes = (scratch / n for n in ("table", "index", "boxes"))
        for folder in (self.table, self.index, self.boxes):
            folder.mkdir()
        self.starts, self.seed = motion_starts(frames, seed), seed

    def write(self, features, similar) -> None:
        write_rows(self.table / "rows.npy", features, similar, self.starts, self.seed)

    @property
    def rows(self) -> NDArray[np.float32]:
        """Map the rows again, so that pages read earlier are not in memory."""
        return row_range(self.table, 0, int(self.starts[-1]))

    def queries(self) -> list[NDArray[np.float32]]:
        """Segments of three seconds in random motions, two of which are not captured."""
        rng = np.random.default_rng(self.seed + 1)
        motions = rng.choice(len(self.starts) - 1, _QUERIES)
        rows = self.rows
        segments = []
        for m in motions.tolist():
            first = rng.integers(self.starts[m], self.starts[m + 1] - QUERY_FRAMES)
            segments.append(np.array(rows[first : first + QUERY_FRAMES]))
        return segments


@dataclass
class _Found:
    nearest: list[tuple]
    matches: list[list[Candidate]]
    nearest_cpu: list[float]
    subsequence_cpu: list[float]
    aligned: list[float]


def _searches(data: _Data, timed, log: Log) -> _Found:
    """Search every query with the index and with the bounded pass, in this process."""
    queries = data.queries()
    index = Shards.open(data.index, data.table, workers=1)
    boxes = RunBoxes.open(data.boxes, data.starts, queries[0].shape[1])
    answers = _Found([], [], [], [], [])
    # Compile the kernels, and read the files that every search reads.
    _nearest(index, queries[0]), _matches(data, boxes, queries[0])

    def nearest() -> None:
        for query in queries:
            began = time.process_time()
            answers.nearest.append(_nearest(index, query))
            answers.nearest_cpu.append(time.process_time() - began)

    def subsequences() -> None:
        for query in queries:
            began = time.process_time()
            answers.matches.append(_matches(data, boxes, query))
            answers.subsequence_cpu.append(time.process_time() - began)

    timed("nearest frames", nearest)
    timed("subsequences", subsequences)
    for query in queries:
        answers.aligned.append(_aligned_part(data, boxes, query))
    return answers


def _nearest(index: Shards, query: NDArray[np.float32]):
    return index.nearest(query, np.empty((0, query.shape[1]), np.float32), k=K)


def _matches(data: _Data, bounds, query, *, allowed=None, rows=None) -> list[Candidate]:
    return dtw_matches(
        query,
        data.rows if rows is None else rows,
        data.starts,
        weights=moving_weights(query),
        allowed=allowed,
        limits=LIMITS,
        bounds=bounds,
    )


def _aligned_part(data: _Data, boxes: RunBoxes, query) -> float:
    """Share of all frames that the query is aligned with in the last step."""
    from motionloom.search.subsequence.lower_bounds import BoundedPass

    search = BoundedPass(query, data.rows, data.starts, boxes, weights=moving_weights(query))
    wanted = MORE * MATCHES
    return search.costs(wanted=wanted + wanted // 10 + 2).frames / int(data.starts[-1])


# --- answers ----------------------------------------------------------------------------------


def _checks(data: _Data, answers: _Found, timed) -> dict[str, Any]:
    """Compare with brute force on the first tenth of the motions."""
    motions = max(1, int(np.searchsorted(data.starts, data.starts[-1] // 10)))
    tenth = int(data.starts[motions])
    rows = data.rows[:tenth]
    query = data.queries()[0]
    allowed = np.zeros(int(data.starts[-1]), np.bool_)
    allowed[:tenth] = True
    index = Shards.open(data.index, data.table, workers=1)
    by_index = index.nearest(query[::9], rows, k=K, allowed=allowed)
    by_force = timed("nearest frames by brute force", partial(brute_force, query[::9], rows, K))
    boxes = RunBoxes.open(data.boxes, data.starts, query.shape[1])
    mask = np.zeros(len(data.starts) - 1, np.bool_)
    mask[:motions] = True
    bounded = _matches(data, boxes, query, allowed=mask)
    full = timed("subsequences by a full pass", partial(_matches, data, None, query, allowed=mask))
    return {
        "tenth": tenth,
        "nearest": bool(
            np.array_equal(by_index[1], by_force[0]) and np.array_equal(by_index[2], by_force[1])
        ),
        "subsequences": same_matches(bounded, full),
        "matches": len(full),
    }


def brute_force(
    queries: NDArray[np.float32], rows: NDArray[np.float32], k: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Indices and distances of the k nearest rows, from all distances in double precision.

    Examples
    --------
    >>> brute_force(np.zeros((1, 1), "f"), np.array([[3], [1], [2]], "f"), 2)
    (array([1, 2]), array([1., 2.]))
    """
    numbers: list[NDArray[np.int64]] = [np.empty(0, np.int64)] * len(queries)
    distances: list[NDArray[np.float64]] = [np.empty(0)] * len(queries)
    for first in range(0, len(rows), 500_000):
        some = np.asarray(rows[first : first + 500_000], np.float64)
        for q, query in enumerate(queries.astype(np.float64)):
            squares = np.zeros(len(some))
            for d in range(len(query)):  # sum in the order of the features, as the index does
                squares += (query[d] - some[:, d]) ** 2
            near = np.argpartition(squares, min(2 * k, len(squares) - 1))[: 2 * k]
            numbers[q] = np.concatenate([numbers[q], near + first])
            distances[q] = np.concatenate([distances[q], np.sqrt(squares[near])])
            order = np.lexsort([numbers[q], distances[q]])[:k]
            numbers[q], distances[q] = numbers[q][order], distances[q][order]
    return np.concatenate(numbers), np.concatenate(distances)


def same_matches(matches: list[Candidate], others: list[Candidate]) -> bool:
    """Return whether matches are equal: frames, distances and alignments, to the last bit."""
    return len(matches) == len(others) and all(
        (a.start, a.end, a.distance) == (b.start, b.end, b.distance)
        and np.array_equal(a.path, b.path)
        for a, b in zip(matches, others, strict=True)
    )


def _on_a_cluster(data: _Data, answers: _Found, timed) -> dict[str, Any]:
    """Run the same searches on two workers, each with half of the rows."""
    from motionloom.parallel.cluster import local_cluster

    queries = data.queries()
    index = Shards.open(data.index, data.table)
    table = BoxedTable(data.table, data.boxes, data.starts)
    rows = data.rows
    with local_cluster(2) as cluster, on_cluster(cluster.scheduler_address):
        _nearest(index, queries[0]), _matches(data, table, queries[0], rows=rows)
        nearest = timed(
            "nearest frames on a cluster", lambda: [_nearest(index, query) for query in queries]
        )
        matches = timed(
            "subsequences on a cluster",
            lambda: [_matches(data, table, query, rows=rows) for query in queries],
        )
    same = [
        all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))
        for a, b in zip(nearest, answers.nearest, strict=True)
    ]
    return {
        "cluster_nearest": all(same),
        "cluster_subsequences": all(map(same_matches, matches, answers.matches)),
    }


# --- the report -------------------------------------------------------------------------------


def _rows(measured: dict[str, Any]) -> list[Result]:
    stages, sizes = measured["stages"], measured["sizes"]

    def row(what: str, name: str, note: str, *, count: int = 1) -> Result:
        stage = stages[name]
        wall, cpu = stage["wall_s"] / count, stage["cpu_s"] / count
        cost = f"{cpu:.3g} s of processor time, {stage['bytes'] / 1e9:.2f} GB of memory"
        note = "; ".join(filter(None, [note, cost]))
        return Result(what, wall, "", None, None, note, cpu, rounds=count)

    checks = measured["checks"]
    agree = {True: "equal to", False: "NOT equal to"}
    slowest = max(measured["subsequence_cpu_s"])
    aligned = median(measured["aligned_part"])
    return [
        row("generate the rows", "rows", f"{sizes['rows'] / 1e9:.2f} GB"),
        row("build the index", "index", f"{sizes['index'] / 1e9:.2f} GB, two processes"),
        row("build the run boxes", "boxes", f"{sizes['boxes'] / 1e9:.2f} GB"),
        row(
            f"{K} nearest of the {QUERY_FRAMES} frames of a query",
            "nearest frames",
            f"exact; {agree[checks['nearest']]} brute force on a tenth",
            count=_QUERIES,
        ),
        row(
            f"{MATCHES} best subsequences of 3 s ({MORE * MATCHES} candidates)",
            "subsequences",
            f"exact; {agree[checks['subsequences']]} the full pass on a tenth; slowest "
            f"{slowest:.2f} s; {100 * aligned:.2f} % of the frames are aligned",
            count=_QUERIES,
        ),
        row(
            "nearest frames on a cluster of two",
            "nearest frames on a cluster",
            f"answers {agree[checks['cluster_nearest']]} those of one process; processor time "
            "is that of the client",
            count=_QUERIES,
        ),
        row(
            "subsequences on a cluster of two",
            "subsequences on a cluster",
            f"answers {agree[checks['cluster_subsequences']]} those of one process",
            count=_QUERIES,
        ),
        row(
            f"full pass over a tenth ({checks['tenth']:,} frames)",
            "subsequences by a full pass",
            "for comparison",
        ),
    ]
