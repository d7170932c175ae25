"""Executor that runs tasks on a Dask cluster.

A scheduler has an address such as ``tcp://host:8786``, and workers on any number of machines
connect to it. All machines must see libraries and files under the same paths. A task contains only
a function and motion names, because workers read frames and write results themselves. If a worker
dies, the scheduler gives its tasks to other workers. If the scheduler dies, the command ends and
can be run again.

Connecting to a cluster means trusting it, because its results are unpickled on this machine, and
its workers run any code that they are sent. With ``tcp://``, everyone who can reach its ports can
join. All members of a cluster at ``tls://host:8786`` present the same certificate, so only machines
that have the key can connect. The command ``openssl`` creates the key and the certificate once, in
the user's configuration folder. Other machines of the cluster need a copy of that folder.
"""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import shutil
import subprocess
import tempfile
import time
import weakref
from concurrent.futures import CancelledError, Executor, Future
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from motionloom.configuration import user_settings
from motionloom.errors import InvalidInput, MissingExtra, MotionloomError
from motionloom.parallel.threads import use_one_thread

CONNECT_SECONDS = 60.0  # seconds for the scheduler to answer; allows for a loaded machine
_GONE = (OSError, TimeoutError, RuntimeError)  # raised by Dask if the scheduler cannot be reached
_RESTART = "10 minutes"  # seconds for a worker of a local cluster to restart
_QUIET = {  # reduces Dask's self-monitoring, which competes with the workers for cores
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "500ms",
}
_COUNT_SECONDS = 2.0  # seconds between counts of the workers
WORKERS_SECONDS = 300.0  # seconds for the first worker to connect; allows for a loaded machine
_PATIENCE_SECONDS = 300.0  # seconds without a worker before the work is given up
_CLOSE_SECONDS = 30.0  # to disconnect


class ClusterError(MotionloomError):
    """A cluster cannot be reached, has no workers, or has lost its connection."""


class ClusterExecutor(Executor):
    """An executor that runs tasks on a Dask cluster; close it with `shutdown`.

    Parameters
    ----------
    address : str
        Address of the scheduler.
    patience : float
        Seconds to wait while the cluster has no workers.

    Raises
    ------
    MissingExtra
        If Dask is not installed.
    ClusterError
        If no scheduler answers at that address, or the cluster has no workers.
    """

    def __init__(self, address: str, *, patience: float = _PATIENCE_SECONDS) -> None:
        distributed = _dask()
        self.address, self._patience = address, patience
        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
        try:
            self._client = distributed.Client(
                address,
                timeout=CONNECT_SECONDS,
                set_as_default=False,
                name="motionloom",
                security=security() if address.startswith("tls://") else None,
            )
        except (OSError, TimeoutError) as error:
            raise ClusterError(
                f"no cluster answers at {address} ({type(error).__name__}). Start one with "
                "motionloom cluster, or omit --cluster to work on this machine"
            ) from None
        except MotionloomError:
            raise
        except ValueError as error:
            raise InvalidInput(
                f"cluster must be an address such as tcp://host:8786; got {address!r}: {error}"
            ) from None
        self._tasks: weakref.WeakSet[Any] = weakref.WeakSet()
        self._function: tuple[Any, bytes] | None = None
        self._workers, self._counted = 0, 0.0
        self._seen = time.monotonic()
        try:
            self._client.wait_for_workers(1, timeout=WORKERS_SECONDS)
        except TimeoutError:
            self.shutdown()
            raise ClusterError(
                f"the cluster at {address} has no workers. Start some with "
                f"dask worker {address} --nthreads 1"
            ) from None

    @property
    def workers(self) -> int:
        """Number of tasks that can run at the same time (at least 1), updated every few seconds."""
        self._count_workers()
        return max(1, self._workers)

    def _count_workers(self) -> None:
        now = time.monotonic()
        if not self._counted or now - self._counted > _COUNT_SECONDS:
            self._check_connection()
            try:
                self._workers = sum(self._client.nthreads().values())
            except _GONE:
                raise self._lost() from None
            self._counted = now
            if self._workers:
                self._seen = now

    def submit(self, fn, /, *args, **kwargs) -> Future:
        """Submit a task to the scheduler."""
        self._check_connection()
        try:
            task = self._client.submit(
                _on_worker, self._pack(fn), _packed((args, kwargs)), pure=False
            )
        except _GONE:
            self._check_connection()
            raise
        self._tasks.add(task)
        future: Future = Future()
        future.add_done_callback(lambda done: task.cancel() if done.cancelled() else None)
        self._client.loop.add_callback(pass_on, task, future)
        return future

    def _pack(self, fn: Any) -> bytes:
        """Return the pickled function, which is reused by all tasks that share it.

        Without this, the scheduler would unpickle the function and open its libraries.
        """
        if self._function is None or self._function[0] is not fn:
            self._function = (fn, _packed(fn))
        return self._function[1]

    def check(self) -> None:
        """Raise `ClusterError` if the connection is lost or workers have been missing too long."""
        self._check_connection()
        self._count_workers()
        if time.monotonic() - self._seen > self._patience:
            raise ClusterError(
                f"the cluster at {self.address} has had no workers for {self._patience:.0f} s. "
                "Finished work is saved. Start workers and run the same command again to resume"
            )

    def reason(self, error: BaseException) -> Exception | None:
        """Return a `ClusterError` if the cluster caused an exception, or None if the task did."""
        return self._lost() if isinstance(error, CancelledError) else None

    def died(self, error: BaseException) -> bool:
        """Return whether the scheduler gave up the task because its workers kept dying."""
        return isinstance(error, _dask().KilledWorker)

    def cancel(self) -> None:
        """Cancel submitted tasks that have not started."""
        if self._client.status == "running":
            with suppress(*_GONE):
                self._client.cancel(list(self._tasks))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Disconnect from the cluster, which keeps running."""
        with suppress(*_GONE):
            self._client.close(timeout=_CLOSE_SECONDS)

    def _check_connection(self) -> None:
        if self._client.status != "running":
            raise self._lost()

    def _lost(self) -> ClusterError:
        return ClusterError(
            f"the connection to the cluster at {self.address} is lost. Finished work is saved. Run "
            "the same command again when the cluster is back, or without --cluster"
        )


async def pass_on(task: Any, future: Future) -> None:
    """Wait for a Dask task and copy its result or exception to a future.

    Dask's executor would leave the future pending indefinitely if a worker dies with the result of
    a finished task and the repeated task fails.
    """
    error = result = None
    try:
        result = await task
    except asyncio.CancelledError:
        future.cancel()
    except Exception as raised:
        error = raised
    if not future.set_running_or_notify_cancel():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)


def local_cluster(
    workers: int, *, port: int = 0, tls: bool = False, dashboard: int | None = None
) -> Any:
    """Start a Dask cluster on this machine: a scheduler and `workers` single-thread processes.

    Parameters
    ----------
    workers : int
        Number of worker processes.
    port : int
        Port of the scheduler. 0 selects any free port.
    tls : bool
        Require all members to present this user's certificate, which is created if it does not
        exist.
    dashboard : int, optional
        Port of Dask's dashboard on 127.0.0.1. Default: any free port. Like the scheduler, the
        dashboard listens only on this machine.

    Returns
    -------
    cluster : distributed.LocalCluster
        Cluster with ``scheduler_address`` and ``close()``; usable in a ``with`` statement.
    """
    if workers < 1:
        raise InvalidInput(f"workers must be at least 1; got {workers}")
    distributed = _dask()
    # A killed worker is restarted; on a busy machine, this takes longer than the 15 seconds after
    # which Dask would give it up.
    import dask

    dask.config.set({"distributed.deploy.lost-worker-timeout": _RESTART, **_QUIET})
    try:
        return distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            scheduler_port=port,
            host="127.0.0.1",
            dashboard_address=f"127.0.0.1:{dashboard or 0}",
            worker_dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
            **({"protocol": "tls://", "security": security(make_certificates())} if tls else {}),
        )
    except (OSError, RuntimeError) as error:
        raise ClusterError(f"cannot start a cluster on port {port}: {error}") from None


def _dask() -> Any:
    try:
        import distributed
    except ImportError:
        raise MissingExtra(
            "a cluster needs Dask. Install it with: pip install 'motionloom[cluster]'"
        ) from None
    return distributed


def _packed(thing: Any) -> bytes:
    from distributed.protocol.pickle import dumps

    return dumps(thing)


def _on_worker(function: bytes, values: bytes) -> Any:
    """Run a task with one thread. This is the function that cluster workers execute."""
    _start_worker()
    args, kwargs = pickle.loads(values)
    return _unpacked(function)(*args, **kwargs)


@lru_cache(maxsize=4)
def _unpacked(function: bytes) -> Any:
    """Return the unpickled function with its libraries open, cached for the following tasks."""
    return pickle.loads(function)


@cache
def _start_worker() -> None:
    use_one_thread()


KEY, CERTIFICATE = "key.pem", "certificate.pem"
_DAYS = 3650


def certificate_folder() -> Path:
    """Return the folder with the key and the certificate of this user's clusters."""
    return user_settings().with_name("tls")


def make_certificates(folder: Path | None = None) -> Path:
    """Create the key and the certificate if they do not exist, and return their folder.

    Raises
    ------
    MissingExtra
        If the command ``openssl`` is not installed.
    InvalidInput
        If ``openssl`` fails, or the folder cannot be written to.
    """
    folder = certificate_folder() if folder is None else folder
    if (folder / KEY).is_file() and (folder / CERTIFICATE).is_file():
        return folder
    openssl = shutil.which("openssl")
    if openssl is None:
        raise MissingExtra(
            f"creating certificates requires openssl, which is not installed. Install it, or put "
            f"{KEY} and {CERTIFICATE} into {folder} yourself"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            made = Path(scratch)
            command = [
                openssl, "req", "-x509", "-newkey", "rsa:3072", "-sha256", "-nodes", "-days",
                str(_DAYS), "-subj", "/CN=motionloom cluster", "-keyout", str(made / KEY), "-out",
                str(made / CERTIFICATE),
            ]  # fmt: skip
            done = subprocess.run(command, capture_output=True, text=True, umask=0o077)
            if done.returncode:
                raise InvalidInput(f"openssl failed: {done.stderr.strip().splitlines()[-1:]}")
            os.replace(made / KEY, folder / KEY)
            os.replace(made / CERTIFICATE, folder / CERTIFICATE)
    except OSError as error:
        raise InvalidInput(f"{folder}: cannot be written to: {error.strerror or error}") from None
    return folder


def security(folder: Path | None = None) -> Any:
    """Return a Dask security object that requires encryption, with the certificates in a folder.

    Raises
    ------
    InvalidInput
        If the folder has no certificates.
    """
    from distributed.security import Security

    folder = certificate_folder() if folder is None else folder
    key, certificate = folder / KEY, folder / CERTIFICATE
    if not (key.is_file() and certificate.is_file()):
        raise InvalidInput(
            f"a cluster with TLS needs {key} and {certificate.name}. Create them with motionloom "
            "cluster --tls, or copy the folder from the machine that runs the scheduler"
        )
    roles = ("client", "scheduler", "worker")
    return Security(
        require_encryption=True,
        tls_ca_file=str(certificate),
        **{f"tls_{role}_cert": str(certificate) for role in roles},
        **{f"tls_{role}_key": str(key) for role in roles},
    )
