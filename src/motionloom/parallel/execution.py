"""Executors that run tasks in this process, in a process pool or on a Dask cluster.

Tasks are submitted to a `concurrent.futures.Executor`, and `completed` yields their results in
completion order. Only a few tasks are submitted at a time, so memory use stays bounded for any
number of items. If a worker process dies (because it runs out of memory or compiled code crashes),
only the item it was working on is affected.

On Linux, workers are forked. They start at once, and scripts need no ``if __name__ == "__main__"``.
On other systems they are spawned, and scripts do need it. Each worker uses one thread, ignores
Ctrl-C, and exits when its parent exits for any reason.

Within ``with on_cluster("tcp://host:8786"):``, the same tasks run on a Dask cluster (see
`motionloom.parallel.cluster`). The results are bit-identical.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import islice
from multiprocessing.connection import wait as wait_for_any
from typing import Generic, TypeVar

from motionloom.errors import InvalidInput, MotionloomError
from motionloom.parallel.cluster import ClusterExecutor
from motionloom.parallel.threads import use_one_thread

Progress = Callable[[int], None]  # called with the number of items finished since the last call
Item = TypeVar("Item")
Result = TypeVar("Result")

_cluster: ContextVar[ClusterExecutor | None] = ContextVar("cluster", default=None)
_CHECK_SECONDS = 1.0  # seconds between checks that the cluster is still there


class _GivenUp(Exception):
    """The cluster gave up a task after several workers died while running it."""


class WorkerDied(MotionloomError):
    """A worker process died twice while running the same task."""


@dataclass(frozen=True)
class TaskResult(Generic[Item, Result]):
    """A finished task: the item, and its result or the exception it raised."""

    item: Item
    result: Result | None = None
    error: Exception | None = None


@contextmanager
def executor(
    workers: int | None = None, *, tasks: int | None = None, cluster: str | None = None
) -> Iterator[Executor]:
    """Provide an executor that is shut down at the end of the ``with`` block.

    Parameters
    ----------
    workers : int, optional
        Number of processes; 1 runs the tasks in this process. Default: one per core that this
        process may use. On a cluster, any number other than 1 means all its workers.
    tasks : int, optional
        Number of tasks, if known. At most one worker per task is started.
    cluster : str, optional
        Address of a Dask scheduler, ``tcp://host:8786``. Default: the address of the enclosing
        `on_cluster` block, if any; otherwise, this machine.

    Examples
    --------
    >>> with executor(workers=1) as here:
    ...     sorted(done.result for done in completed(abs, [3, -1, -2], here))
    [1, 2, 3]
    """
    if workers is not None and workers < 1:
        raise InvalidInput(f"workers must be at least 1; got {workers}")
    if cluster is not None:
        with on_cluster(cluster), executor(workers, tasks=tasks) as pool:
            yield pool
        return
    remote = _cluster.get()
    if remote is not None and workers != 1 and (tasks is None or tasks > 1):
        try:
            yield remote
        except BaseException:
            remote.cancel()
            raise
        return
    count = workers if workers is not None else available_cores()
    if tasks is not None:
        count = min(count, tasks)
    pool = ProcessPool(count) if count > 1 else SerialExecutor()
    try:
        yield pool
    except BaseException:
        if isinstance(pool, ProcessPool):
            pool.kill()  # after an error, do not wait for long tasks
        raise
    pool.shutdown()


@contextmanager
def on_cluster(address: str) -> Iterator[None]:
    """Run all tasks of the ``with`` block on a Dask cluster.

    Work that is too small to be worth sending still runs in this process.

    Parameters
    ----------
    address : str
        Address of the scheduler, ``tcp://host:8786``. Its workers must see libraries and files
        under the same paths as this process.

    Raises
    ------
    MissingExtra, ClusterError
        If Dask is not installed, or no cluster with workers answers.
    """
    remote = ClusterExecutor(address)
    token = _cluster.set(remote)
    try:
        yield
    finally:
        _cluster.reset(token)
        remote.shutdown()


def completed(
    work: Callable[[Item], Result], items: Iterable[Item], where: Executor
) -> Iterator[TaskResult[Item, Result]]:
    """Apply `work` to every item; yield results in completion order.

    Parameters
    ----------
    work : callable
        A function of one argument. For processes, it must be importable by name, or a
        `functools.partial` of such a function.
    items : iterable
        Items to process. They are consumed lazily, and two per worker are submitted at a time.
    where : Executor
        Executor returned by `executor`, or any other.

    Yields
    ------
    done : TaskResult
        One result per item. If `work` raises an exception, it is in ``done.error``. If a worker
        process dies, the submitted items are tried again one by one in a new pool, and an item
        whose worker dies again has the error `WorkerDied`. A cluster repeats failed tasks a few
        times. Tasks that it gives up are submitted once more, because its workers may have died for
        another reason.

    Raises
    ------
    ClusterError
        If the connection to the cluster is lost.
    """
    upcoming = iter(items)
    running: dict[Future[Result], Item] = {}
    try:
        while True:
            suspects = _submit(work, upcoming, running, where)
            if not running and not suspects:
                return
            for future in () if suspects else _finished(running, where):
                done = _outcome(running.pop(future), future, where)
                if isinstance(done.error, _GivenUp):
                    yield _second_try(work, done.item, where)
                elif isinstance(done.error, BrokenExecutor):
                    suspects.append(done.item)
                else:
                    yield done
            if suspects:
                # A broken pool fails all its tasks, even though some may have finished before.
                for future, item in list(running.items()):
                    done = _outcome(item, future, where)
                    if isinstance(done.error, BrokenExecutor):
                        suspects.append(item)
                    else:
                        yield done
                running.clear()
                for item in suspects:
                    yield _second_try(work, item, where)
    finally:
        for future in running:
            future.cancel()


def is_on_cluster() -> bool:
    """Return whether the call is inside an `on_cluster` block."""
    return _cluster.get() is not None


def available_workers() -> int:
    """Return the number of tasks that can run at once, on the cluster or on this machine."""
    remote = _cluster.get()
    return available_cores() if remote is None else remote.workers


def available_cores() -> int:
    """Return the number of cores this process may use, which a container may restrict."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


class SerialExecutor(Executor):
    """An executor that runs each task in this process when it is submitted."""

    workers = 1

    def submit(self, fn, /, *args, **kwargs):
        """Run the task and return a finished future."""
        future: Future = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class ProcessPool(Executor):
    """A process pool that can be restarted after a worker has died."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._pool: ProcessPoolExecutor | None = None

    def submit(self, fn, /, *args, **kwargs):
        """Submit a task. The first task starts the processes."""
        if self._pool is None:
            method = "fork" if sys.platform == "linux" else "spawn"
            self._pool = ProcessPoolExecutor(
                self.workers, multiprocessing.get_context(method), initializer=_start_worker
            )
        return self._pool.submit(fn, *args, **kwargs)

    def kill(self) -> None:
        """Kill the worker processes. The next task starts new ones."""
        pool, self._pool = self._pool, None
        if pool is None:
            return
        processes = list((getattr(pool, "_processes", None) or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.kill()
        for process in processes:
            process.join()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Wait for running tasks, then end the processes."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=wait, cancel_futures=cancel_futures)


def _submit(
    work: Callable[[Item], Result],
    upcoming: Iterator[Item],
    running: dict[Future[Result], Item],
    where: Executor,
) -> list[Item]:
    """Submit items until enough are running. Return the item that a broken pool refused, if any."""
    limit = 2 * getattr(where, "workers", os.cpu_count() or 1)
    for item in islice(upcoming, max(0, limit - len(running))):
        try:
            running[where.submit(work, item)] = item
        except BrokenExecutor:
            return [item]
    return []


def _finished(running: Iterable[Future[Result]], where: Executor) -> set[Future[Result]]:
    """Wait for a task to finish. Raise `ClusterError` if the cluster is lost in the meantime."""
    if not isinstance(where, ClusterExecutor):
        return wait(running, return_when=FIRST_COMPLETED).done
    while True:
        ended = wait(running, timeout=_CHECK_SECONDS, return_when=FIRST_COMPLETED).done
        if ended:
            return ended
        where.check()


def _outcome(item: Item, future: Future[Result], where: Executor) -> TaskResult[Item, Result]:
    try:
        return TaskResult(item, result=future.result())
    except Exception as error:
        if isinstance(where, ClusterExecutor):
            fault = where.reason(error)
            if fault is not None:
                raise fault from None
            if where.died(error):
                return TaskResult(item, error=_GivenUp())
        return TaskResult(item, error=error)


def _second_try(
    work: Callable[[Item], Result], item: Item, where: Executor
) -> TaskResult[Item, Result]:
    """Run one item alone in a new pool. If this pool also breaks, the item is the cause."""
    if isinstance(where, ProcessPool):
        where.kill()
    try:
        future = where.submit(work, item)
        _finished([future], where)
        done = _outcome(item, future, where)
    except BrokenExecutor as error:
        done = TaskResult(item, error=error)
    if isinstance(done.error, _GivenUp):
        return TaskResult(item, error=_worker_died("repeatedly"))
    if not isinstance(done.error, BrokenExecutor):
        return done
    if isinstance(where, ProcessPool):
        where.kill()
    return TaskResult(item, error=_worker_died("twice"))


def _worker_died(how_often: str) -> WorkerDied:
    return WorkerDied(
        f"the worker process died {how_often} while running this task. "
        "The usual cause is too little memory"
    )


def _start_worker() -> None:
    """Initialize a worker to use one thread, ignore Ctrl-C and exit with its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    use_one_thread()
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    """Exit when the parent exits, because workers of a killed parent would wait indefinitely."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait_for_any([parent.sentinel])
        os._exit(1)
