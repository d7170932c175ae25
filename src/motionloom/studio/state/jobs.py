"""Long computations in background threads, started by one request and polled by others.

All windows share one queue: a few jobs run at a time, a few more wait, and further jobs are
rejected. A waiting job that is stopped leaves the queue immediately; a running job ends at its next
step.

A job with a key is not started twice: whoever asks for the same key gets the job that runs, waits
or has already ended with a result. Of jobs for the same request, one at a time runs or waits. A job
that several have asked for goes on until the last of them gives it up. Background jobs run one at a
time and in order, so that they never occupy all threads; a job that waits for work of another job
leaves its place to a waiting one (`Jobs.holding`).
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel

from motionloom.errors import InvalidInput, MotionloomError

_REMEMBERED = 50  # finished jobs whose status can still be requested
AT_ONCE = 2  # jobs that run at a time
MOST = 16  # jobs that run or wait

Result = TypeVar("Result")
JobState = Literal["running", "done", "failed", "stopped"]


class JobStatus(BaseModel, Generic[Result]):
    """Progress and outcome of a job; the result is null until the job is done."""

    id: int
    title: str
    done: int
    total: int | None
    state: JobState
    error: str
    result: Result | None
    view: str  # address in the page that shows the result, such as "library?show=groups"


class JobStopped(Exception):
    """Raised inside a job that was asked to stop."""


@dataclass
class Job(Generic[Result]):
    """One long computation and its progress."""

    id: int
    title: str
    done: int = 0
    total: int | None = None
    state: JobState = "running"
    error: str = ""
    result: Result | None = None
    view: str = ""
    key: tuple = ()
    request: tuple = ()
    background: bool = False
    asked: int = 1  # how often it was asked for, and not given up
    _stop: threading.Event = field(default_factory=threading.Event, repr=False)
    _ended: threading.Event = field(default_factory=threading.Event, repr=False)

    @property
    def usable(self) -> bool:
        """True if the job has a result, or will have one."""
        return self.state == "done" or (self.state == "running" and not self._stop.is_set())

    def advance(self, steps: int = 1) -> None:
        """Report `steps` more completed steps; raise `JobStopped` if asked to stop."""
        if self._stop.is_set():
            raise JobStopped
        self.done += steps

    def stop(self) -> None:
        """Stop the job at its next step, or before it begins."""
        self._stop.set()

    def wait(self, timeout: float | None = None) -> None:
        """Wait until the job ends, for at most `timeout` seconds."""
        self._ended.wait(timeout)

    def run(self, work: Callable[[Job[Result]], Result]) -> None:
        """Run the computation in this thread and record its outcome."""
        try:
            self.advance(0)
            self.result = work(self)
            if self.total is not None:
                self.done = self.total  # less was needed if parts of the work were cached
            self.state = "done"
        except JobStopped:
            self.state = "stopped"
        except MotionloomError as error:
            self.state, self.error = "failed", str(error)
        except MemoryError:
            self.state, self.error = "failed", "this machine does not have enough memory"
        except Exception as error:  # report any error to the page; nothing else watches this thread
            said = f"{type(error).__name__}: {error}"
            self.state = "failed"
            self.error = f"internal error of motionloom; please report it ({said})"
        finally:
            self._ended.set()

    def status(self) -> JobStatus[Result]:
        """Return the job's status, as sent to the page."""
        return JobStatus(**{name: getattr(self, name) for name in JobStatus.model_fields})


class Jobs:
    """All jobs on a server, oldest first.

    Examples
    --------
    >>> jobs = Jobs()
    >>> job = jobs.start("counting", lambda job: job.advance(3) or "three")
    >>> jobs.wait(job.id).result
    'three'

    The same key starts no second job:

    >>> first = jobs.start("counting", lambda job: 3, key=("count", 3))
    >>> jobs.start("counting", lambda job: 3, key=("count", 3)) is first
    True
    """

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        self._changed = changed  # called from any thread when a job begins or ends
        self._numbers = itertools.count(1)
        self._jobs: dict[int, Job] = {}
        self._waiting: deque[tuple[Job, Callable[[Job], Any]]] = deque()
        self._threads: set[threading.Thread] = set()
        self._in_background = 0  # background jobs that run
        self._held_up = 0  # jobs that wait for work of another job
        self._lock = threading.Lock()

    def start(
        self,
        title: str,
        work: Callable[[Job[Result]], Result],
        *,
        total: int | None = None,
        key: tuple = (),
        request: tuple = (),
        background: bool = False,
        view: str = "",
    ) -> Job[Result]:
        """Run `work` in a thread when its turn comes; its result must be JSON-serializable.

        Parameters
        ----------
        title : str
        work : callable
        total : int, optional
            Number of steps.
        key : tuple
            Identity of the computation: its kind, then everything that its result depends on. A job
            with this key that has not failed or been stopped is returned instead of a new one.
        request : tuple
            The request that starts the job. A job that runs or waits for the same request is
            returned instead of a new one, so that two clicks or two windows do not compute the same
            twice.
        background : bool
            Nobody waits for the result. Only one of these jobs runs at a time. A job of the same
            kind with another key is outdated and is stopped, and one that the user has stopped is
            not started again.
        view : str
            Address in the page that shows the result.

        Raises
        ------
        InvalidInput
            If too many jobs are running and waiting.
        """
        if background:
            self._stop_outdated(key)
        with self._lock:
            same = [past for past in self._jobs.values() if key and past.key == key]
            if same and (background or same[-1].usable):
                if not background and any(job is same[-1] for job, _ in self._waiting):
                    same[-1].background = False  # somebody waits for it now
                same[-1].asked += 1
                return same[-1]
            for past in self._jobs.values():
                if request and past.request == request and past.state == "running" and past.usable:
                    past.asked += 1
                    return past
            running = sum(job.state == "running" for job in self._jobs.values())
            if running >= MOST:
                raise InvalidInput(
                    f"{running} jobs are running or waiting; wait for one to finish, or stop one"
                )
            job: Job[Result] = Job(
                next(self._numbers), title, total=total, view=view, key=key, request=request,
                background=background,
            )  # fmt: skip
            self._jobs[job.id] = job
            self._waiting.append((job, work))
            ended = [number for number, past in self._jobs.items() if past.state != "running"]
            for number in ended[:-_REMEMBERED]:
                del self._jobs[number]
            self._start_thread()
        self._changed()
        return job

    def _start_thread(self) -> None:
        """Start a thread for waiting jobs, if there may be one more; `_lock` is held."""
        if len(self._threads) - self._held_up < AT_ONCE:
            thread = threading.Thread(target=self._work, name="jobs", daemon=True)
            self._threads.add(thread)
            thread.start()

    @contextmanager
    def holding(self, lock: threading.Lock) -> Iterator[None]:
        """Hold a lock within a job; while the job waits for it, another job may run."""
        if not lock.acquire(blocking=False):
            with self._lock:
                self._held_up += 1
                if self._waiting:
                    self._start_thread()
            lock.acquire()
            with self._lock:
                self._held_up -= 1
        try:
            yield
        finally:
            lock.release()

    def _work(self) -> None:
        """Run waiting jobs until there are none left, or others that were held up go on."""
        while True:
            with self._lock:
                crowded = len(self._threads) - self._held_up > AT_ONCE
                turn = None if crowded else self._next()
                if turn is None:
                    self._threads.discard(threading.current_thread())
                    return
                self._waiting.remove(turn)
                job, work = turn
                self._in_background += job.background
            job.run(work)
            with self._lock:
                self._in_background -= job.background
            self._changed()

    def _next(self) -> tuple[Job, Callable[[Job], Any]] | None:
        """Return the job whose turn it is: background jobs come last, and one at a time."""
        waiting = sorted(self._waiting, key=lambda entry: entry[0].background)
        free = not self._in_background
        return next((entry for entry in waiting if free or not entry[0].background), None)

    def _stop_outdated(self, key: tuple) -> None:
        """Stop the background job of the same kind that runs or waits for another key."""
        with self._lock:
            outdated = [
                job.id
                for job in self._jobs.values()
                if job.state == "running" and job.background
                and job.key[:1] == key[:1] and job.key != key
            ]  # fmt: skip
        for number in outdated:
            self.stop(number)

    def __getitem__(self, number: int) -> Job:
        with self._lock:
            if number not in self._jobs:
                raise InvalidInput(f"there is no job {number}; it may have ended long ago")
            return self._jobs[number]

    def stop(self, number: int) -> Job:
        """Stop a job; a waiting job ends immediately."""
        job = self[number]
        with self._lock:
            job.stop()
            waiting = [entry for entry in self._waiting if entry[0] is job]
            for entry in waiting:
                self._waiting.remove(entry)
        for waiting_job, work in waiting:
            waiting_job.run(work)  # ends it as stopped
            self._changed()
        return job

    def give_up(self, number: int) -> Job:
        """Stop a job, unless others have also asked for it."""
        job = self[number]
        with self._lock:
            job.asked -= 1
            wanted = job.asked > 0
        return job if wanted else self.stop(number)

    def all(self) -> list[JobStatus]:
        """Return the status of every job that is still remembered, without their results."""
        with self._lock:
            return [job.status().model_copy(update={"result": None}) for job in self._jobs.values()]

    def wait(self, number: int, timeout: float | None = None) -> JobStatus:
        """Wait until a job ends, or for `timeout` seconds, and return its status."""
        job = self[number]
        job.wait(timeout)
        return job.status()

    def close(self, timeout: float = 1.0) -> None:
        """Ask all jobs to stop, and wait up to `timeout` seconds until they have ended."""
        with self._lock:
            running = [job for job in self._jobs.values() if job.state == "running"]
        for job in running:
            self.stop(job.id)
        end = time.monotonic() + timeout
        for job in running:
            job.wait(max(0.0, end - time.monotonic()))
