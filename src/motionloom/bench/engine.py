"""``motionloom bench engine``: a web built by a pool of processes and by a Dask cluster.

The same library is built again and again, by turns: by two processes of the pool, by a
cluster of two workers on this machine, and by one of a single worker. Processor time counts
all that is at work: workers, scheduler and the process that asks.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from motionloom import demo
from motionloom.bench import Settings
from motionloom.bench.measuring import Result, Say
from motionloom.cluster import local_cluster
from motionloom.engine import on_cluster
from motionloom.loom import Library
from motionloom.search.web_store import WebStore

SUMMARY = "the engine: a web built by processes and by a cluster"
PACKAGES = ()
_FRAMES = 5_000


@dataclass(frozen=True)
class _Run:
    wall_s: float
    cpu_s: float
    worker_s: float

    @property
    def cores(self) -> float:
        """How many cores the machine gave to the workers, on average."""
        return self.worker_s / self.wall_s


def run(settings: Settings, say: Say) -> dict[str, Any]:
    """Rows of the bench, and what it ran on."""
    with tempfile.TemporaryDirectory() as scratch:
        motions, frames = _library(Path(scratch) / "takes.loom")
        say("starting clusters")
        with local_cluster(1) as one, local_cluster(2) as two:
            contestants: dict[str, Callable[[Path], _Run]] = {
                "pool of 2": _by_pool,
                "cluster of 2": partial(_by_cluster, cluster=two),
                "cluster of 1": partial(_by_cluster, cluster=one),
            }
            runs: dict[str, list[_Run]] = {name: [] for name in contestants}
            place = Path(scratch) / "takes.loom"
            for turn in range(-1, min(settings.rounds, 3)):
                for name, build in contestants.items():
                    say(f"{name}, {'warm-up' if turn < 0 else f'round {turn + 1}'}")
                    measured = build(place)
                    if turn >= 0:  # before that, workers load what they need
                        runs[name].append(measured)
    return {
        "data": f"{motions} motions (built-in), {frames} frames at 30 Hz",
        "results": [row.as_dict() for row in _rows(runs, frames)],
    }


def _rows(runs: dict[str, list[_Run]], frames: int) -> list[Result]:
    wall = {name: median(one.wall_s for one in every) for name, every in runs.items()}
    cpu = {name: median(one.cpu_s for one in every) for name, every in runs.items()}
    cores = {name: median(one.cores for one in every) for name, every in runs.items()}
    rounds = len(runs["pool of 2"])
    overhead = 100.0 * (cpu["cluster of 2"] / cpu["pool of 2"] - 1.0)
    gain = wall["cluster of 1"] / wall["cluster of 2"]
    given = cores["cluster of 2"] / cores["cluster of 1"]
    what = f"web of {frames} frames"
    return [
        Result(
            f"{what}, cluster of two workers",
            wall["cluster of 2"],
            "motionloom, two processes of the pool",
            wall["pool of 2"],
            wall["pool of 2"] / wall["cluster of 2"],
            f"{overhead:+.1f} % processor time: {cpu['cluster of 2']:.2f} s for "
            f"{cpu['pool of 2']:.2f} s",
            cpu["cluster of 2"],
            cpu["pool of 2"],
            cpu["pool of 2"] / cpu["cluster of 2"],
            rounds=rounds,
        ),
        Result(
            f"{what}, cluster of two workers",
            wall["cluster of 2"],
            "motionloom, cluster of one worker",
            wall["cluster of 1"],
            gain,
            f"the workers were given {cores['cluster of 2']:.2f} cores and the one "
            f"{cores['cluster of 1']:.2f}, {given:.2f} times as much",
            cpu["cluster of 2"],
            cpu["cluster of 1"],
            cpu["cluster of 1"] / cpu["cluster of 2"],
            rounds=rounds,
        ),
    ]


def _library(place: Path) -> tuple[int, int]:
    library = Library.create(place)
    frames = 0
    for name in demo.names():
        motion = demo.clip(name)
        library.add_motion(motion, name=name)
        frames += len(motion)
        if frames >= _FRAMES:
            break
    library.close()
    return len(library.names), frames


def _by_pool(place: Path) -> _Run:
    def others() -> float:
        times = os.times()  # children count once they have ended, and the pool's have
        return times.children_user + times.children_system

    return _measured(place, nullcontext(), others)


def _by_cluster(place: Path, cluster: Any) -> _Run:
    from distributed import Client

    with Client(cluster, set_as_default=False) as client:

        def others() -> float:
            return sum(client.run(time.process_time).values())

        return _measured(place, on_cluster(cluster.scheduler_address), others)


def _measured(place: Path, where: AbstractContextManager, others: Callable[[], float]) -> _Run:
    store = WebStore(Library(place))
    for path in store.folder.glob("*.web"):
        path.unlink()
    with where:
        there, here, wall = others(), time.process_time(), time.perf_counter()
        WebStore(Library(place)).build(workers=2)  # on a cluster: all there are
        wall = time.perf_counter() - wall
        here, there = time.process_time() - here, others() - there
    return _Run(wall, here + there, there)
