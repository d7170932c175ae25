"""Where work runs: in this process, in processes on this machine, or on a cluster.

Work is submitted to a `concurrent.futures.Executor` and comes back through `completed`, in
the order in which it ends. Only a few tasks are under way at a time, so memory stays
bounded whatever the number of items, and a worker process that dies (killed for want of
memory, a crash in compiled code) costs its own item, never the others.

On Linux workers are forked: they start at once, and scripts need no ``if __name__ ==
"__main__"``. Elsewhere they are spawned, and scripts do need it. Workers use one thread
each, leave Ctrl-C to the parent, and end with it, however it ends.

Within ``with on_cluster("tcp://host:8786"):`` the same work goes to a Dask cluster (see
`motionloom.parallel.cluster`); what comes of it is the same, to the byte.
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
_CHECK_SECONDS = 1.0  # a cluster is asked how it is after waiting so long


class _GivenUp(Exception):
    """A cluster has given a task up, after several workers died that had it."""


class WorkerDied(MotionloomError):
    """A worker process ended in the middle of a task, twice."""


@dataclass(frozen=True)
class TaskResult(Generic[Item, Result]):
    """One finished task: the item, and either what came of it or the exception it raised."""

    item: Item
    result: Result | None = None
    error: Exception | None = None


@contextmanager
def executor(
    workers: int | None = None, *, tasks: int | None = None, cluster: str | None = None
) -> Iterator[Executor]:
    """An executor to submit work to; closed at the end of the ``with`` block.

    Parameters
    ----------
    workers : int, optional
        How many processes. One: the work is done in this process. Default: one per core
        that this process may use.
        On a cluster: one means this process, all else as many as there are.
    tasks : int, optional
        How many tasks will come, if known: no more workers than that are started.
    cluster : str, optional
        Address of a Dask scheduler, ``tcp://host:8786``. Default: that of the `on_cluster`
        block around the call, if any; else this machine.

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
            pool.kill()  # do not wait for long tasks: something has gone wrong
        raise
    pool.shutdown()


@contextmanager
def on_cluster(address: str) -> Iterator[None]:
    """All work within the ``with`` block goes to a Dask cluster.

    Little work, for which sending it takes longer than doing it, is still done here.

    Parameters
    ----------
    address : str
        Of the scheduler, ``tcp://host:8786``. Its workers must see the libraries and files
        under the same paths as this process.

    Raises
    ------
    MissingExtra, ClusterError
        If Dask is not installed; if no cluster with workers answers.
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
    """Do `work` on every item; yields each result as it comes, in any order.

    Parameters
    ----------
    work : callable
        A function of one argument. For processes it must be importable by name, or a
        `functools.partial` of such a function.
    items : iterable
        Taken as they are needed: two per worker are under way at a time.
    where : Executor
        From `executor`, or any other.

    Yields
    ------
    done : TaskResult
        One per item. An exception in `work` comes back in ``done.error``. If a worker
        process dies, the items that were under way are tried once more, one by one in a
        fresh pool; one that brings its worker down again comes back with `WorkerDied`. A
        cluster tries them again by itself, a few times; what it gives up is tried once more
        here, as the workers may have died of something else.

    Raises
    ------
    ClusterError
        If the cluster has gone.
    """
    upcoming = iter(items)
    under_way: dict[Future[Result], Item] = {}
    try:
        while True:
            suspects = _hand_out(work, upcoming, under_way, where)
            if not under_way and not suspects:
                return
            for future in () if suspects else _some_ended(under_way, where):
                done = _outcome(under_way.pop(future), future, where)
                if isinstance(done.error, _GivenUp):
                    yield _second_try(work, done.item, where)
                elif isinstance(done.error, BrokenExecutor):
                    suspects.append(done.item)
                else:
                    yield done
            if suspects:
                # A broken pool fails all that was under way; some of it may have ended well.
                for future, item in list(under_way.items()):
                    done = _outcome(item, future, where)
                    if isinstance(done.error, BrokenExecutor):
                        suspects.append(item)
                    else:
                        yield done
                under_way.clear()
                for item in suspects:
                    yield _second_try(work, item, where)
    finally:
        for future in under_way:
            future.cancel()


def is_on_cluster() -> bool:
    """Whether an `on_cluster` block is around this call."""
    return _cluster.get() is not None


def available_workers() -> int:
    """Tasks that can be done at a time: by the cluster around this call, or by this machine."""
    remote = _cluster.get()
    return available_cores() if remote is None else remote.workers


def available_cores() -> int:
    """Cores this process may use; a container or ``taskset`` may allow fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


class SerialExecutor(Executor):
    """An executor that does each task at once, where it is submitted."""

    workers = 1

    def submit(self, fn, /, *args, **kwargs):
        """Do the task now; the future that comes back is finished."""
        future: Future = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class ProcessPool(Executor):
    """A pool of worker processes that can be replaced after one of them has died."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._pool: ProcessPoolExecutor | None = None

    def submit(self, fn, /, *args, **kwargs):
        """Queue the task; the first one starts the processes."""
        if self._pool is None:
            method = "fork" if sys.platform == "linux" else "spawn"
            self._pool = ProcessPoolExecutor(
                self.workers, multiprocessing.get_context(method), initializer=_settle_in
            )
        return self._pool.submit(fn, *args, **kwargs)

    def kill(self) -> None:
        """End the worker processes now, whatever they are doing; the next task starts new ones."""
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
        """Let the tasks under way end, then the processes."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=wait, cancel_futures=cancel_futures)


def _hand_out(
    work: Callable[[Item], Result],
    upcoming: Iterator[Item],
    under_way: dict[Future[Result], Item],
    where: Executor,
) -> list[Item]:
    """Submit items until enough are under way; the one that a broken pool did not take."""
    limit = 2 * getattr(where, "workers", os.cpu_count() or 1)
    for item in islice(upcoming, max(0, limit - len(under_way))):
        try:
            under_way[where.submit(work, item)] = item
        except BrokenExecutor:
            return [item]
    return []


def _some_ended(under_way: Iterable[Future[Result]], where: Executor) -> set[Future[Result]]:
    """Wait until a task has ended; a cluster that has gone would let us wait for ever."""
    if not isinstance(where, ClusterExecutor):
        return wait(under_way, return_when=FIRST_COMPLETED).done
    while True:
        ended = wait(under_way, timeout=_CHECK_SECONDS, return_when=FIRST_COMPLETED).done
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
    """The item alone in a fresh pool: if that breaks too, it is the one to blame."""
    if isinstance(where, ProcessPool):
        where.kill()
    try:
        future = where.submit(work, item)
        _some_ended([future], where)
        done = _outcome(item, future, where)
    except BrokenExecutor as error:
        done = TaskResult(item, error=error)
    if isinstance(done.error, _GivenUp):
        return TaskResult(item, error=_worker_died("again and again"))
    if not isinstance(done.error, BrokenExecutor):
        return done
    if isinstance(where, ProcessPool):
        where.kill()
    return TaskResult(item, error=_worker_died("twice"))


def _worker_died(how_often: str) -> WorkerDied:
    return WorkerDied(
        f"the worker process died {how_often} in the middle of it; "
        "most often that means too little memory"
    )


def _settle_in() -> None:
    """First thing in a worker: one thread, no Ctrl-C, and no life without the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    use_one_thread()
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    """Without this, workers of a parent that was killed would wait for tasks for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait_for_any([parent.sentinel])
        os._exit(1)
