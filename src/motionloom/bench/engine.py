"""``motionloom bench engine``: one web build, by a plain pool, by the engine, by a Dask cluster.

The same webs are built again and again, by turns: by `concurrent.futures.ProcessPoolExecutor`
as it comes, by the engine's two processes, by a cluster of two workers on this machine, by one
of a single worker, and by this process alone. Processor time counts all that is at work:
workers, scheduler and the process that asks; on a busy machine it tells what wall time cannot.
What two workers gain over one is a matter of wall time; how many cores the machine gave them
meanwhile is told beside it.

It takes about three minutes; ``--files 2`` makes it a tenth of the work, to try.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
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
from motionloom.threads import use_one_thread

SUMMARY = "the engine: a web built by processes and by a cluster"
PACKAGES = ()
_FRAMES = 25_000  # of all motions: some 20 seconds of one core
_USUAL_FILES = 20  # what --files says unless it says otherwise
_BUSY = 0.9  # cores given to a worker, below which others were at work

PLAIN, ENGINE, ALONE = "plain pool of 2", "engine, 2 processes", "engine, this process"
TWO, ONE = "cluster of 2", "cluster of 1"


@dataclass(frozen=True)
class _Run:
    wall_s: float
    cpu_s: float
    worker_s: float
    load: float

    @property
    def cores(self) -> float:
        """How many cores the machine gave to the workers, on average."""
        return self.worker_s / self.wall_s


def run(settings: Settings, say: Say) -> dict[str, Any]:
    """Rows of the bench, and what it ran on."""
    use_one_thread()  # forked workers begin as this process is
    wanted = max(1_000, _FRAMES * min(settings.files, _USUAL_FILES) // _USUAL_FILES)
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch) / "takes.loom"
        motions, frames = _library(place, wanted)
        say("starting clusters")
        with local_cluster(1) as one, local_cluster(2) as two:
            contestants: dict[str, Callable[..., _Run]] = {
                PLAIN: _by_plain_pool,
                TWO: partial(_by_cluster, cluster=two),
                ENGINE: partial(_by_engine, workers=2),
                ONE: partial(_by_cluster, cluster=one),
                ALONE: partial(_by_engine, workers=1),
            }
            few = Library(place).names[:12]
            for name, build in contestants.items():  # workers load what they need
                say(f"{name}, warm-up")
                build(place, only=few)
            runs: dict[str, list[_Run]] = {name: [] for name in contestants}
            for turn in range(min(settings.rounds, 3)):
                for name, build in contestants.items():
                    say(f"{name}, round {turn + 1}")
                    runs[name].append(build(place))
    return {
        "data": f"{motions} motions (built-in), {frames} frames at 30 Hz",
        "results": [row.as_dict() for row in _rows(runs, frames)],
    }


def _rows(runs: dict[str, list[_Run]], frames: int) -> list[Result]:
    wall = {name: median(one.wall_s for one in every) for name, every in runs.items()}
    cpu = {name: median(one.cpu_s for one in every) for name, every in runs.items()}
    rounds = len(runs[PLAIN])
    what = f"web of {frames} frames"

    def row(ours: str, rival: str, note: str) -> Result:
        return Result(
            f"{what}, {ours}",
            wall[ours],
            f"motionloom, {rival}" if rival != PLAIN else "concurrent.futures, two processes",
            wall[rival],
            wall[rival] / wall[ours],
            note,
            cpu[ours],
            cpu[rival],
            cpu[rival] / cpu[ours],
            rounds=rounds,
        )

    return [
        row(ENGINE, PLAIN, _overhead(cpu, ENGINE, PLAIN)),
        row(TWO, PLAIN, _overhead(cpu, TWO, PLAIN)),
        row(TWO, ONE, _gain(runs, cpu, TWO, ONE)),
        row(ENGINE, ALONE, _gain(runs, cpu, ENGINE, ALONE)),
    ]


def _overhead(cpu: dict[str, float], ours: str, rival: str) -> str:
    more = 100.0 * (cpu[ours] / cpu[rival] - 1.0)
    return f"{more:+.1f} % processor time: {cpu[ours]:.2f} s for {cpu[rival]:.2f} s"


def _gain(runs: dict[str, list[_Run]], cpu: dict[str, float], two: str, one: str) -> str:
    given = {name: median(each.cores for each in runs[name]) for name in (two, one)}
    load = max(each.load for name in (two, one) for each in runs[name])
    text = (
        f"the two were given {given[two]:.2f} cores, the one {given[one]:.2f}; load before at "
        f"most {load:.1f}"
    )
    if given[two] < 2 * _BUSY or given[one] < _BUSY:
        free = 2.0 * cpu[one] / cpu[two]
        text += f": a busy machine. By processor time, two free cores would gain {free:.2f}"
    return text


def _library(place: Path, wanted: int) -> tuple[int, int]:
    library = Library.create(place)
    frames = 0
    for name in demo.names():
        motion = demo.clip(name)
        library.add_motion(motion, name=name)
        frames += len(motion)
        if frames >= wanted:
            break
    library.close()
    return len(library.names), frames


def _children() -> float:
    times = os.times()  # children count once they have ended, and the pools' have
    return times.children_user + times.children_system


def _by_engine(place: Path, workers: int, only: Sequence[str] | None = None) -> _Run:
    others = _children if workers > 1 else time.process_time
    build = partial(_engine_build, only=only, workers=workers)
    return _measured(place, nullcontext(), others, build)


def _by_plain_pool(place: Path, only: Sequence[str] | None = None) -> _Run:
    return _measured(place, nullcontext(), _children, partial(_plain_build, only=only))


def _by_cluster(place: Path, cluster: Any, only: Sequence[str] | None = None) -> _Run:
    from distributed import Client

    with Client(cluster, set_as_default=False) as client:

        def others() -> float:
            return sum(client.run(time.process_time).values())

        where = on_cluster(cluster.scheduler_address)
        return _measured(place, where, others, partial(_engine_build, only=only, workers=2))


def _engine_build(store: WebStore, only: Sequence[str] | None, workers: int) -> None:
    store.build(only=only, workers=workers)  # on a cluster: all there are


def _plain_build(store: WebStore, only: Sequence[str] | None) -> None:
    """What anybody would write: the same tasks, a pool, `map`."""
    work, tasks = store.planned(only=only)
    method = "fork" if sys.platform == "linux" else "spawn"
    with ProcessPoolExecutor(
        2, multiprocessing.get_context(method), initializer=use_one_thread
    ) as pool:
        _exhaust(pool.map(work, tasks))


def _exhaust(results: Iterable[Any]) -> None:
    for _ in results:
        pass


def _measured(
    place: Path,
    where: AbstractContextManager,
    others: Callable[[], float],
    build: Callable[[WebStore], None],
) -> _Run:
    for path in WebStore(Library(place)).folder.glob("*.web"):
        path.unlink()
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    with where:
        there, here, wall = others(), time.process_time(), time.perf_counter()
        build(WebStore(Library(place)))
        wall = time.perf_counter() - wall
        here, there = time.process_time() - here, others() - there
    every = there if others is time.process_time else here + there
    return _Run(wall, every, there, load)
