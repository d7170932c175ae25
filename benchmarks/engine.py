"""``python -m benchmarks engine``: build a match web with a pool, our executor and a Dask cluster.

The same webs are built in turn by a plain `concurrent.futures.ProcessPoolExecutor`, by two
processes of `motionloom.parallel`, by a cluster of two workers on this machine, by a cluster of
one worker, and by this process alone. Processor time includes workers, scheduler and client; on
a busy machine it is more reliable than wall time. The gain of two workers over one is a ratio of
wall times; the note gives the number of cores that the workers were given.

It takes about two minutes; ``--files 2`` does a tenth of the work.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import Settings
from benchmarks.timing import Log, Result
from motionloom import demo
from motionloom.errors import MotionloomError
from motionloom.library import Library
from motionloom.parallel import on_cluster, use_one_thread
from motionloom.search.match_web.store import WebStore

SUMMARY = "parallel execution: a match web built by processes and by a cluster"
PACKAGES = ()
_FRAMES = 25_000  # in total, about 20 seconds of one core
_DEFAULT_FILES = 20  # default of --files
_SHUTDOWN_SECONDS = 20.0  # seconds before a cluster is killed
_BUSY = 0.9  # with fewer cores per worker than this, the machine was busy

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
        """Mean number of cores that the workers were given."""
        return self.worker_s / self.wall_s


def run(settings: Settings, log: Log) -> dict[str, Any]:
    """Return the results and a description of the data."""
    use_one_thread()  # set here, because forked workers inherit it
    wanted = max(1_000, _FRAMES * min(settings.files, _DEFAULT_FILES) // _DEFAULT_FILES)
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch) / "takes.loom"
        motions, frames = _library(place, wanted)
        log("starting clusters")
        with _cluster(1) as single, _cluster(2) as two:
            contestants: dict[str, Callable[..., _Run]] = {
                PLAIN: _by_plain_pool,
                TWO: partial(_by_cluster, cluster=two),
                ENGINE: partial(_by_engine, workers=2),
                ONE: partial(_by_cluster, cluster=single),
                ALONE: partial(_by_engine, workers=1),
            }
            few = Library(place).names[:12]
            for name, build in contestants.items():  # let the workers import and compile first
                log(f"{name}, warm-up")
                build(place, only=few)
            runs: dict[str, list[_Run]] = {name: [] for name in contestants}
            for turn in range(min(settings.rounds, 3)):
                for name, build in contestants.items():
                    log(f"{name}, round {turn + 1}")
                    runs[name].append(build(place))
    return {
        "data": f"{motions} motions (built-in), {frames} frames at 30 Hz",
        "results": [row.as_dict() for row in _rows(runs, frames)],
    }


def _rows(runs: dict[str, list[_Run]], frames: int) -> list[Result]:
    wall = {name: median(each.wall_s for each in every) for name, every in runs.items()}
    cpu = {name: median(each.cpu_s for each in every) for name, every in runs.items()}
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
    return f"{more:+.1f} % processor time: {cpu[ours]:.2f} s instead of {cpu[rival]:.2f} s"


def _gain(runs: dict[str, list[_Run]], cpu: dict[str, float], two: str, single: str) -> str:
    given = {name: median(each.cores for each in runs[name]) for name in (two, single)}
    load = max(each.load for name in (two, single) for each in runs[name])
    text = (
        f"two workers had {given[two]:.2f} cores, one had {given[single]:.2f}; load average "
        f"before the run: at most {load:.1f}"
    )
    if given[two] < 2 * _BUSY or given[single] < _BUSY:
        free = 2.0 * cpu[single] / cpu[two]
        text += (
            f" (busy machine). By processor time, two idle cores would be {free:.2f} times as fast"
        )
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


@dataclass(frozen=True)
class _Clock:
    """Processor seconds of all processes except this one, and of the workers."""

    others: Callable[[], float]
    workers: Callable[[], float]


def _children() -> float:
    times = os.times()  # children are counted after they have ended, as those of a pool have
    return times.children_user + times.children_system


_POOL = _Clock(_children, _children)
_NOBODY = _Clock(lambda: 0.0, time.process_time)


def _by_engine(place: Path, workers: int, only: Sequence[str] | None = None) -> _Run:
    clock = _POOL if workers > 1 else _NOBODY
    return _measured(
        place, nullcontext(), clock, partial(_engine_build, only=only, workers=workers)
    )


def _by_plain_pool(place: Path, only: Sequence[str] | None = None) -> _Run:
    return _measured(place, nullcontext(), _POOL, partial(_plain_build, only=only))


def _by_cluster(place: Path, cluster: _Cluster, only: Sequence[str] | None = None) -> _Run:
    clock = _Clock(cluster.all_seconds, cluster.worker_seconds)
    build = partial(_engine_build, only=only, workers=2)  # all workers of the cluster
    return _measured(place, on_cluster(cluster.address), clock, build)


def _engine_build(store: WebStore, only: Sequence[str] | None, workers: int) -> None:
    store.build(only=only, workers=workers)


def _plain_build(store: WebStore, only: Sequence[str] | None) -> None:
    """The straightforward version: map the same tasks over a pool."""
    work, tasks = store.planned(only=only)
    store.folder.mkdir(parents=True, exist_ok=True)
    method = "fork" if sys.platform == "linux" else "spawn"
    with ProcessPoolExecutor(
        2, multiprocessing.get_context(method), initializer=use_one_thread
    ) as pool:
        for _ in pool.map(work, tasks):
            pass


@dataclass(frozen=True)
class _Cluster:
    """A cluster in separate processes: a scheduler with its nannies, and their workers."""

    address: str
    scheduler: int

    def all_seconds(self) -> float:
        return self._seconds(_psutil().Process(self.scheduler)) + self.worker_seconds()

    def worker_seconds(self) -> float:
        children = _psutil().Process(self.scheduler).children(recursive=True)
        return sum(self._seconds(child) for child in children)

    @staticmethod
    def _seconds(process: Any) -> float:
        times = process.cpu_times()
        return times.user + times.system


@contextmanager
def _cluster(workers: int) -> Iterator[_Cluster]:
    """A cluster started by ``motionloom cluster``."""
    command = "from motionloom.cli import main; main()"
    arguments = ["cluster", "--workers", str(workers), "--port", "0"]
    started = subprocess.Popen(
        [sys.executable, "-c", command, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        if started.stdout is None or not (address := started.stdout.readline().strip()):
            raise MotionloomError("cannot start a cluster on this machine. Is Dask installed?")
        yield _Cluster(address, started.pid)
    finally:
        started.terminate()
        try:
            started.wait(timeout=_SHUTDOWN_SECONDS)
        except subprocess.TimeoutExpired:
            started.kill()
            started.wait()
        if started.stdout is not None:
            started.stdout.close()


def _psutil() -> Any:
    """The psutil module, a dependency of Dask."""
    import psutil as found

    return found


def _measured(
    place: Path,
    where: AbstractContextManager,
    clock: _Clock,
    build: Callable[[WebStore], None],
) -> _Run:
    for path in WebStore(Library(place).store).folder.glob("*.web"):
        path.unlink()
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    with where:
        before = (clock.others(), clock.workers(), time.process_time(), time.perf_counter())
        build(WebStore(Library(place).store))
        after = (clock.others(), clock.workers(), time.process_time(), time.perf_counter())
    others, workers, here, wall = (b - a for a, b in zip(before, after, strict=True))
    return _Run(wall, here + others, workers, load)
