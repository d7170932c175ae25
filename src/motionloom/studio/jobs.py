"""Long computations in background threads: started by one request, polled by others."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel

from motionloom.errors import InvalidInput, MotionloomError

_REMEMBERED = 50  # finished jobs whose status can still be requested

JobState = Literal["running", "done", "failed", "stopped"]


class JobStatus(BaseModel):
    """Progress and outcome of a job."""

    id: int
    title: str
    done: int
    total: int | None
    state: JobState
    error: str
    result: Any


class JobStopped(Exception):
    """Raised inside a job that was asked to stop."""


@dataclass
class Job:
    """One long computation and its progress."""

    id: int
    title: str
    done: int = 0
    total: int | None = None
    state: JobState = "running"
    error: str = ""
    result: Any = None
    _stop: threading.Event = field(default_factory=threading.Event, repr=False)

    def advance(self, steps: int = 1) -> None:
        """Count `steps` more as done; raises `JobStopped` if the job was asked to stop."""
        if self._stop.is_set():
            raise JobStopped
        self.done += steps

    def stop(self) -> None:
        """Ask the job to stop at its next step."""
        self._stop.set()

    def status(self) -> JobStatus:
        """The job as sent to the page."""
        return JobStatus(**{name: getattr(self, name) for name in JobStatus.model_fields})


class Jobs:
    """All jobs of a server, oldest first.

    Examples
    --------
    >>> jobs = Jobs()
    >>> job = jobs.start("counting", lambda job: job.advance(3) or "three")
    >>> jobs.wait(job.id).result
    'three'
    """

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._jobs: dict[int, Job] = {}
        self._threads: dict[int, threading.Thread] = {}
        self._lock = threading.Lock()

    def start(self, title: str, work: Callable[[Job], Any], *, total: int | None = None) -> Job:
        """Run `work` in a new thread; its return value must be serializable as JSON."""
        job = Job(next(self._numbers), title, total=total)
        thread = threading.Thread(target=_run, args=(job, work), name=title, daemon=True)
        with self._lock:
            self._jobs[job.id] = job
            self._threads[job.id] = thread
            ended = [number for number, one in self._jobs.items() if one.state != "running"]
            for number in ended[:-_REMEMBERED]:
                del self._jobs[number], self._threads[number]
        thread.start()
        return job

    def __getitem__(self, number: int) -> Job:
        with self._lock:
            if number not in self._jobs:
                raise InvalidInput(f"no job {number}; it may have ended long ago")
            return self._jobs[number]

    def all(self) -> list[JobStatus]:
        """Status of every remembered job."""
        with self._lock:
            return [job.status() for job in self._jobs.values()]

    def wait(self, number: int, timeout: float | None = None) -> JobStatus:
        """Status of a job after it has ended, or after `timeout` seconds."""
        job = self[number]
        self._threads[number].join(timeout)
        return job.status()

    def close(self, timeout: float = 1.0) -> None:
        """Ask all jobs to stop and wait up to `timeout` seconds; their threads are daemons."""
        with self._lock:
            running = [n for n, job in self._jobs.items() if job.state == "running"]
            threads = [self._threads[number] for number in running]
            for number in running:
                self._jobs[number].stop()
        end = time.monotonic() + timeout
        for thread in threads:
            thread.join(max(0.0, end - time.monotonic()))


def _run(job: Job, work: Callable[[Job], Any]) -> None:
    try:
        job.result = work(job)
        job.state = "done"
    except JobStopped:
        job.state = "stopped"
    except MotionloomError as error:
        job.state, job.error = "failed", str(error)
    except Exception as error:  # reported to the page; nobody else watches the thread
        job.state, job.error = "failed", f"{type(error).__name__}: {error}"
