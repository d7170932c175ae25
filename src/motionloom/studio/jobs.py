"""Long work behind the page: begun by one request, looked at by others."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from motionloom.errors import InvalidInput, MotionloomError

_REMEMBERED = 50  # ended jobs the page may still ask about


class Stopped(Exception):
    """Raised inside a job's work when somebody has asked it to stop."""


@dataclass
class Job:
    """One piece of long work and how far it is."""

    id: int
    title: str
    done: int = 0
    total: int | None = None
    state: str = "running"  # then "done", "failed" or "stopped"
    error: str = ""
    result: Any = None
    _stop: threading.Event = field(default_factory=threading.Event, repr=False)

    def advance(self, steps: int = 1) -> None:
        """Say that `steps` more are done; ends the work if somebody asked for that."""
        if self._stop.is_set():
            raise Stopped
        self.done += steps

    def stop(self) -> None:
        """Ask the work to end at its next step."""
        self._stop.set()

    def told(self) -> dict[str, Any]:
        """What the page shows of it."""
        names = ("id", "title", "done", "total", "state", "error", "result")
        return {name: getattr(self, name) for name in names}


class Jobs:
    """All jobs of this server, the latest last.

    Examples
    --------
    >>> jobs = Jobs()
    >>> job = jobs.start("counting", lambda job: job.advance(3) or "three")
    >>> jobs.wait(job.id)["result"]
    'three'
    """

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._jobs: dict[int, Job] = {}
        self._threads: dict[int, threading.Thread] = {}
        self._lock = threading.Lock()

    def start(self, title: str, work: Callable[[Job], Any], *, total: int | None = None) -> Job:
        """Begin `work` in a thread of its own; what it returns must go into JSON."""
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

    def all(self) -> list[dict[str, Any]]:
        """Every job that is remembered, as the page shows them."""
        with self._lock:
            return [job.told() for job in self._jobs.values()]

    def wait(self, number: int, timeout: float | None = None) -> dict[str, Any]:
        """Wait until a job has ended; what the page shows of it then."""
        job = self[number]
        self._threads[number].join(timeout)
        return job.told()

    def close(self, timeout: float = 1.0) -> None:
        """Ask all to stop and wait a moment until they have; then they go with the process."""
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
    except Stopped:
        job.state = "stopped"
    except MotionloomError as error:
        job.state, job.error = "failed", str(error)
    except Exception as error:  # the page must hear of it; the thread has no other listener
        job.state, job.error = "failed", f"{type(error).__name__}: {error}"
