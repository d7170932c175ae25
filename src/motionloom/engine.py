"""Where work runs: in this process, or in a pool of processes on this machine.

Work is submitted to a `concurrent.futures.Executor` and comes back through `completed`, in
the order in which it ends. Only a few tasks are under way at a time, so memory stays
bounded whatever the number of items, and a worker process that dies (killed for want of
memory, a crash in compiled code) costs its own item, never the others.

On Linux workers are forked: they start at once, and scripts need no ``if __name__ ==
"__main__"``. Elsewhere they are spawned, and scripts do need it. Workers use one thread
each, leave Ctrl-C to the parent, and end with it, however it ends.
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
from dataclasses import dataclass
from multiprocessing.connection import wait as wait_for_any
from typing import Generic, TypeVar

from motionloom.errors import InvalidInput, MotionloomError

Item = TypeVar("Item")
Result = TypeVar("Result")

_THREAD_SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class WorkerDied(MotionloomError):
    """A worker process ended in the middle of a task, twice."""


@dataclass(frozen=True)
class Done(Generic[Item, Result]):
    """One finished task: the item, and either what came of it or the exception it raised."""

    item: Item
    result: Result | None = None
    error: Exception | None = None


@contextmanager
def executor(workers: int | None = None, *, tasks: int | None = None) -> Iterator[Executor]:
    """An executor to submit work to; closed at the end of the ``with`` block.

    Parameters
    ----------
    workers : int, optional
        How many processes. One: the work is done in this process. Default: one per core
        that this process may use.
    tasks : int, optional
        How many tasks will come, if known: no more workers than that are started.

    Examples
    --------
    >>> with executor(workers=1) as here:
    ...     sorted(done.result for done in completed(abs, [3, -1, -2], here))
    [1, 2, 3]
    """
    if workers is not None and workers < 1:
        raise InvalidInput(f"workers must be at least 1; got {workers}")
    count = workers if workers is not None else available_cores()
    if tasks is not None:
        count = min(count, tasks)
    pool = Processes(count) if count > 1 else InThisProcess()
    try:
        yield pool
    except BaseException:
        if isinstance(pool, Processes):
            pool.kill()  # do not wait for long tasks: something has gone wrong
        raise
    pool.shutdown()


def completed(
    work: Callable[[Item], Result], items: Iterable[Item], where: Executor
) -> Iterator[Done[Item, Result]]:
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
    done : Done
        One per item. An exception in `work` comes back in ``done.error``. If a worker
        process dies, the items that were under way are tried once more, one by one in a
        fresh pool; one that brings its worker down again comes back with `WorkerDied`.
    """
    upcoming = iter(items)
    under_way: dict[Future[Result], Item] = {}
    limit = 2 * getattr(where, "workers", os.cpu_count() or 1)
    exhausted = False
    try:
        while True:
            suspects: list[Item] = []
            while not exhausted and len(under_way) < limit:
                try:
                    item = next(upcoming)
                except StopIteration:
                    exhausted = True
                    break
                try:
                    under_way[where.submit(work, item)] = item
                except BrokenExecutor:
                    suspects.append(item)
                    break
            if not under_way and not suspects:
                return
            if not suspects:
                ended, _ = wait(under_way, return_when=FIRST_COMPLETED)
                for future in ended:
                    done = _outcome(under_way.pop(future), future)
                    if isinstance(done.error, BrokenExecutor):
                        suspects.append(done.item)
                    else:
                        yield done
            if suspects:
                # A broken pool fails all that was under way; some of it may have ended well.
                for future, item in list(under_way.items()):
                    done = _outcome(item, future)
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


def available_cores() -> int:
    """Cores this process may use; a container or ``taskset`` may allow fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


class InThisProcess(Executor):
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


class Processes(Executor):
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

    def renew(self) -> None:
        """Drop the processes; the next task starts fresh ones."""
        self.kill()

    def kill(self) -> None:
        """End the worker processes now, whatever they are doing."""
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


def _outcome(item: Item, future: Future[Result]) -> Done[Item, Result]:
    try:
        return Done(item, result=future.result())
    except Exception as error:
        return Done(item, error=error)


def _second_try(work: Callable[[Item], Result], item: Item, where: Executor) -> Done[Item, Result]:
    """The item alone in a fresh pool: if that breaks too, it is the one to blame."""
    if isinstance(where, Processes):
        where.renew()
    try:
        done = _outcome(item, where.submit(work, item))
    except BrokenExecutor as error:
        done = Done(item, error=error)
    if not isinstance(done.error, BrokenExecutor):
        return done
    if isinstance(where, Processes):
        where.renew()
    return Done(
        item,
        error=WorkerDied(
            "the worker process died twice in the middle of it; "
            "most often that means too little memory"
        ),
    )


def _settle_in() -> None:
    """First thing in a worker: one thread, no Ctrl-C, and no life without the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _use_one_thread()
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _use_one_thread() -> None:
    for setting in _THREAD_SETTINGS:
        os.environ[setting] = "1"
    if "numba" in sys.modules:
        sys.modules["numba"].set_num_threads(1)
    else:  # once loaded, Numba refuses to see this change
        os.environ["NUMBA_NUM_THREADS"] = "1"
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)


def _leave_with_parent() -> None:
    """Without this, workers of a parent that was killed would wait for tasks for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait_for_any([parent.sentinel])
        os._exit(1)
