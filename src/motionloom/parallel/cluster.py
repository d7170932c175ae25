"""Work on a Dask cluster, behind the same door as work on this machine.

A scheduler has an address, ``tcp://host:8786``; workers on any number of machines ask it for
tasks. All of them must see the library and the files under the same paths. What they are
handed is a function's name and which motions; frames are read and results written by the
workers themselves. A worker that dies costs the time of its tasks: the scheduler gives them
to others. A scheduler that dies ends the command, which can be run again.
"""

from __future__ import annotations

import logging
import pickle
import time
from concurrent.futures import Executor, Future
from contextlib import suppress
from functools import cache, lru_cache
from typing import Any

from motionloom.errors import InvalidInput, MissingExtra, MotionloomError
from motionloom.parallel.threads import use_one_thread

_CONNECT_SECONDS = 10.0
_GONE = (OSError, TimeoutError, RuntimeError)  # what Dask raises when the scheduler is not there
_RESTART = "10 minutes"  # for a worker of a local cluster to come up again
_CALM = {  # what Dask does all the time to watch itself: workers share these cores
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "500ms",
}
_LOOK_SECONDS = 2.0  # workers are counted anew after so long
_WORKERS_SECONDS = 30.0  # for the first worker to be there
_PATIENCE_SECONDS = 300.0  # without a single worker, before we give up


class ClusterError(MotionloomError):
    """A cluster cannot be reached, has no workers, or has gone away."""


class ClusterExecutor(Executor):
    """An executor over a Dask cluster; close it with `shutdown`.

    Parameters
    ----------
    address : str
        Of the scheduler.
    patience : float
        Seconds to wait for workers while there are none.

    Raises
    ------
    MissingExtra
        If Dask is not installed.
    ClusterError
        If nobody answers at that address, or the cluster has no workers.
    """

    def __init__(self, address: str, *, patience: float = _PATIENCE_SECONDS) -> None:
        distributed = _dask()
        self.address, self._patience = address, patience
        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
        try:
            self._client = distributed.Client(
                address, timeout=_CONNECT_SECONDS, set_as_default=False, name="motionloom"
            )
        except (OSError, TimeoutError) as error:
            raise ClusterError(
                f"no cluster answers at {address} ({type(error).__name__}); start one with "
                "motionloom cluster, or leave --cluster out to work on this machine"
            ) from None
        except ValueError as error:
            raise InvalidInput(
                f"cluster must be an address such as tcp://host:8786; got {address!r}: {error}"
            ) from None
        self._tasks = self._client.get_executor(pure=False)
        self._function: tuple[Any, bytes] | None = None
        self._workers, self._looked = 0, 0.0
        self._seen = time.monotonic()
        try:
            self._client.wait_for_workers(1, timeout=_WORKERS_SECONDS)
        except TimeoutError:
            self.shutdown()
            raise ClusterError(
                f"the cluster at {address} has no workers; start some with "
                f"dask worker {address} --nthreads 1"
            ) from None

    @property
    def workers(self) -> int:
        """Tasks that the cluster can do at a time, at least 1; counted every few seconds."""
        self._count_workers()
        return max(1, self._workers)

    def _count_workers(self) -> None:
        now = time.monotonic()
        if not self._looked or now - self._looked > _LOOK_SECONDS:
            self._check_connection()
            try:
                self._workers = sum(self._client.nthreads().values())
            except _GONE:
                raise self._lost() from None
            self._looked = now
            if self._workers:
                self._seen = now

    def submit(self, fn, /, *args, **kwargs) -> Future:
        """Hand the task to the scheduler."""
        self._check_connection()
        try:
            return self._tasks.submit(_on_worker, self._pack(fn), _packed((args, kwargs)))
        except _GONE:
            self._check_connection()
            raise

    def _pack(self, fn: Any) -> bytes:
        """The function as bytes, made once for all tasks that share it.

        Pickled here and now: the scheduler would unpickle it otherwise, and has neither the
        libraries nor, perhaps, a reason to open them.
        """
        if self._function is None or self._function[0] is not fn:
            self._function = (fn, _packed(fn))
        return self._function[1]

    def check(self) -> None:
        """Complain if the scheduler has gone, or there have been no workers for long.

        Raises
        ------
        ClusterError
        """
        self._check_connection()
        self._count_workers()
        if time.monotonic() - self._seen > self._patience:
            raise ClusterError(
                f"the cluster at {self.address} has had no workers for {self._patience:.0f} s; "
                "what is done is safe: start workers and run the same command to go on"
            )

    def reason(self, error: BaseException) -> Exception | None:
        """What a failed task's exception means if the cluster, not the task, is to blame."""
        from concurrent.futures import CancelledError

        if isinstance(error, CancelledError):
            return self._lost()
        return None

    def died(self, error: BaseException) -> bool:
        """Whether the task's workers died again and again, and the scheduler gave it up."""
        return isinstance(error, _dask().KilledWorker)

    def cancel(self) -> None:
        """Give up what was handed over and has not begun."""
        if self._client.status == "running":
            with suppress(*_GONE):
                self._tasks.shutdown(wait=False)
            self._tasks = self._client.get_executor(pure=False)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave the cluster; it goes on without us."""
        with suppress(*_GONE):
            self._client.close(timeout=2)

    def _check_connection(self) -> None:
        if self._client.status != "running":
            raise self._lost()

    def _lost(self) -> ClusterError:
        return ClusterError(
            f"the connection to the cluster at {self.address} is lost; what is done is safe: "
            "run the same command to go on when it is back, or without --cluster"
        )


def local_cluster(workers: int, *, port: int = 0) -> Any:
    """A Dask cluster on this machine: a scheduler here, and `workers` processes of one thread.

    Parameters
    ----------
    workers : int
    port : int
        Of the scheduler; 0 for any that is free.

    Returns
    -------
    cluster : distributed.LocalCluster
        With ``scheduler_address`` and ``close()``; usable in a ``with`` statement.
    """
    if workers < 1:
        raise InvalidInput(f"workers must be at least 1; got {workers}")
    distributed = _dask()
    # A worker that was killed is started again; on a busy machine that takes longer than the
    # quarter of a minute after which Dask would give it up for good.
    import dask

    dask.config.set({"distributed.deploy.lost-worker-timeout": _RESTART, **_CALM})
    try:
        return distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            scheduler_port=port,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        )
    except (OSError, RuntimeError) as error:
        raise ClusterError(f"cannot start a cluster on port {port}: {error}") from None


def _dask() -> Any:
    try:
        import distributed
    except ImportError:
        raise MissingExtra(
            "a cluster needs Dask; install it with: pip install 'motionloom[cluster]'"
        ) from None
    return distributed


def _packed(thing: Any) -> bytes:
    from distributed.protocol.pickle import dumps

    return dumps(thing)


def _on_worker(function: bytes, values: bytes) -> Any:
    """The task, where the cluster does it: with one thread, as in our own processes."""
    _settle_in()
    args, kwargs = pickle.loads(values)
    return _unpacked(function)(*args, **kwargs)


@lru_cache(maxsize=4)
def _unpacked(function: bytes) -> Any:
    """The function, with the libraries that it holds open; once for many tasks."""
    return pickle.loads(function)


@cache
def _settle_in() -> None:
    use_one_thread()
