"""``python -m benchmarks.cost_model RESULTS PAGE``: estimate the cost of a billion frames.

Reads the reports of ``python -m benchmarks scale`` in RESULTS and rewrites the section ``cost`` of
PAGE. Every worker holds as many frames as one of the measured libraries, so the time of its part of
a query is measured, not extrapolated. Effects that one machine cannot show are simulated: a hundred
workers, some of which are slow and some of which fail.

The simulation has one event per task that ends or is lost. Tasks wait in one queue, as in Dask: a
free worker takes the next task; the task of a failed worker returns to the front of the queue, and
the worker returns after some time. No task is computed twice on purpose.
"""

from __future__ import annotations

import heapq
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import write_section
from motionloom.errors import InvalidInput
from motionloom.search.match_web.store import NEAR_CELL_SECONDS

FRAMES, WORKERS = 1_000_000_000, 100
# dollars per core-hour: an assumption, about the price of general-purpose cloud machines
DOLLARS = 0.05
_RUNS = 500  # simulated queries
_LABEL_FRAMES = 1_000_000
_BUILDS = 50  # simulated builds


@dataclass(frozen=True)
class Cluster:
    """Workers and their failures; all numbers are assumptions and are stated with the results.

    Parameters
    ----------
    workers : int
    spread : float
        Standard deviation of the logarithm of the duration of a task.
    straggling : float
        Share of the tasks that take `slowdown` times as long.
    slowdown : float
    failure_hours : float
        Mean time between failures of a worker.
    restart_s : float
        Time until a failed worker is back.
    overhead_s : float
        Time to assign a task and to fetch its result.
    """

    workers: int = WORKERS
    spread: float = 0.2
    straggling: float = 0.02
    slowdown: float = 5.0
    failure_hours: float = 100.0
    restart_s: float = 120.0
    overhead_s: float = 0.005


@dataclass(frozen=True)
class Outcome:
    """Seconds until the last task ends, core-seconds spent, and number of lost tasks."""

    seconds: float
    core_seconds: float
    lost: int


def simulated(cluster: Cluster, tasks: list[float], rng: np.random.Generator) -> Outcome:
    """Simulate tasks with the given durations on an idle core, in this order.

    Examples
    --------
    >>> calm = Cluster(workers=2, spread=0.0, straggling=0.0, failure_hours=1e12, overhead_s=0.0)
    >>> simulated(calm, [3.0, 1.0, 1.0], np.random.default_rng(1))
    Outcome(seconds=3.0, core_seconds=5.0, lost=0)
    """
    waiting = list(reversed(tasks))
    fails = rng.exponential(3600.0 * cluster.failure_hours, cluster.workers)
    free = [(0.0, w) for w in range(cluster.workers)]  # time at which each worker can take a task
    end, spent, lost = 0.0, 0.0, 0
    while waiting:
        now, worker = heapq.heappop(free)
        if now >= fails[worker]:
            fails[worker] = now + rng.exponential(3600.0 * cluster.failure_hours)
            heapq.heappush(free, (now + cluster.restart_s, worker))
            continue
        task = waiting.pop()
        lasts = cluster.overhead_s + task * np.exp(cluster.spread * rng.standard_normal())
        if rng.random() < cluster.straggling:
            lasts *= cluster.slowdown
        if now + lasts > fails[worker]:
            spent += fails[worker] - now
            lost += 1
            waiting.append(task)
            # The task becomes available when the failure is noticed.
            heapq.heappush(free, (fails[worker] + cluster.restart_s, worker))
            fails[worker] += cluster.restart_s + rng.exponential(3600.0 * cluster.failure_hours)
            continue
        spent += lasts
        end = max(end, now + lasts)
        heapq.heappush(free, (now + lasts, worker))
    return Outcome(float(end), float(spent), lost)


def reports(folder: Path) -> dict[int, dict[str, Any]]:
    """Measured constants, by number of frames."""
    by_size = {}
    for path in sorted(folder.glob("scale*.json")):
        measured = json.loads(path.read_text(encoding="utf-8"))["measured"]
        by_size[int(measured["frames"])] = measured
    if not by_size:
        raise InvalidInput(
            f"{folder} has no reports. To create one, run: python -m benchmarks scale "
            f"--results {folder}"
        )
    return by_size


def section(constants_of: dict[int, dict[str, Any]], cluster: Cluster | None = None) -> str:
    """Markdown text of the cost model."""
    cluster = cluster or Cluster()
    rng = np.random.default_rng(1)
    share = FRAMES // cluster.workers
    # Use the measured library whose size is nearest to the share of a worker.
    size = min(constants_of, key=lambda frames: abs(np.log(frames / share)))
    measured, per = constants_of[size], share / size
    stages = measured["stages"]
    rows = []

    def query(what: str, seconds: list[float]) -> None:
        runs = []
        for _ in range(_RUNS):
            tasks = rng.choice(seconds, cluster.workers) * per
            runs.append(simulated(cluster, tasks.tolist(), rng))
        rows.append((what, runs, "s"))

    def build(what: str, seconds: float, tasks: int, *, builds: int = _BUILDS) -> None:
        runs = [simulated(cluster, [seconds / tasks] * tasks, rng) for _ in range(builds)]
        rows.append((what, runs, "min" if seconds < 1e6 else "h"))

    query("nearest 16 frames of 3 s, exact", measured["nearest_cpu_s"])
    query("20 best subsequences of 3 s, exact", measured["subsequence_cpu_s"])
    parts = FRAMES // 4_000_000
    build("index, in shards of 4 million", stages["index"]["cpu_s"] * FRAMES / size, parts)
    build("run boxes", stages["boxes"]["cpu_s"] * FRAMES / size, parts)
    pairs = FRAMES / _LABEL_FRAMES * _LABEL_FRAMES**2 / 2  # cells of the distance matrices
    build(
        f"match webs of near cells within labels of {_LABEL_FRAMES:,} frames",
        pairs * NEAR_CELL_SECONDS,
        int(pairs * NEAR_CELL_SECONDS / 600.0),
        builds=3,
    )
    basis = f"the share of each of {cluster.workers} workers that together hold {FRAMES:,} frames"
    if per != 1:
        basis = (
            f"each of {cluster.workers} workers would hold {per:g} times as many, out of {FRAMES:,}"
        )
    lines = [
        f"The measured library has {size:,} frames: {basis}.",
        (
            f"The simulation ({_RUNS:,} queries, {_BUILDS} builds) assumes that durations vary by "
            f"{100 * cluster.spread:.0f} %, {100 * cluster.straggling:.0f} % of the tasks take "
            f"{cluster.slowdown:g} times as long, a worker fails every {cluster.failure_hours:g} "
            f"hours and is back after {cluster.restart_s:g} s, and assigning a task takes "
            f"{1e3 * cluster.overhead_s:g} ms. A core-hour is assumed to cost ${DOLLARS:g}. All "
            "of these are assumptions; only the time per unit of work is measured."
        ),
        "",
        "| task | median | 99th percentile | core-hours | dollars | tasks lost per run |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for what, runs, unit in rows:
        times = np.array([run.seconds for run in runs]) / {"s": 1.0, "min": 60.0, "h": 3600.0}[unit]
        hours = float(np.mean([run.core_seconds for run in runs])) / 3600.0
        lost = float(np.mean([run.lost for run in runs]))
        lines.append(
            f"| {what} | {_short(np.median(times))} {unit} | "
            f"{_short(np.quantile(times, 0.99))} {unit} | {_short(hours)} | "
            f"{_short(hours * DOLLARS)} | {_short(lost)} |"
        )
    sizes = measured["sizes"]
    disk = sum(sizes.values()) / size * FRAMES / 1e9
    memory = measured["greatest_bytes"] / 1e9
    lines += [
        "",
        (
            f"Each worker needs {disk / cluster.workers:.1f} GB of disk ({disk:.0f} GB in total). "
            f"The largest measured memory use was {memory:.1f} GB."
        ),
    ]
    return "\n".join(lines) + "\n"


def _short(value: float) -> str:
    return f"{value:.2g}" if value < 100 else f"{value:,.0f}"


def main(folder: str, page: str) -> None:
    """Rewrite the section of a page."""
    write_section(Path(page), "cost", section(reports(Path(folder))))


if __name__ == "__main__":
    main(*sys.argv[1:])
