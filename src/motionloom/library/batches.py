"""Work on many motions, some at a time: a task is long enough to be worth handing out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

from motionloom import engine
from motionloom.library.importing import Progress
from motionloom.library.records import Entry
from motionloom.library.shelf import Shelf
from motionloom.motion import Motion
from motionloom.threads import one_thread

_BATCH_FRAMES = 16_000  # per task: tenths of a second of work
_WORTH_A_POOL = 150_000  # frames; for fewer, processes take longer to start than to help

Result = TypeVar("Result")


def over_motions(
    library: Shelf,
    work: Callable[[Motion], Result],
    entries: Sequence[Entry],
    workers: int | None = None,
    progress: Progress | None = None,
) -> Iterator[tuple[str, Result]]:
    """Do `work` on the motions of `entries`, in parallel; yields (name, result), in any order.

    Parameters
    ----------
    library : Shelf
    work : callable
        From a motion to what is wanted of it; importable by name.
    entries : sequence of Entry
    workers : int, optional
        Processes. Default: one per core, or this one for little work.
    progress : callable, optional
        Called with the number of motions done since the last call.
    """
    task = partial(batch_work, library=library, work=work)
    for results in over_batches(library, task, entries, workers, progress):
        yield from results


def over_batches(
    library: Shelf,
    task: Callable[[tuple[str, ...]], Result],
    entries: Sequence[Entry],
    workers: int | None,
    progress: Progress | None,
) -> Iterator[Result]:
    """Do `task` on names of some motions at a time, in parallel; in any order."""
    if workers is None and sum(entry.frames for entry in entries) < _WORTH_A_POOL:
        workers = 1
    batches = _batches(entries)
    with engine.executor(library.store.workers(workers), tasks=len(batches)) as pool:
        for done in engine.completed(task, batches, pool):
            if done.error is not None:
                raise done.error
            yield done.result  # type: ignore[misc]
            if progress is not None:
                progress(len(done.item))


def _batches(entries: Sequence[Entry]) -> list[tuple[str, ...]]:
    batches: list[tuple[str, ...]] = []
    names: list[str] = []
    frames = 0
    for entry in entries:
        names.append(entry.name)
        frames += entry.frames
        if frames >= _BATCH_FRAMES:
            batches.append(tuple(names))
            names, frames = [], 0
    return [*batches, tuple(names)] if names else batches


def batch_work(names: Sequence[str], library: Shelf, work: Callable[[Motion], Any]) -> list:
    """What `work` gives for some motions, with their names."""
    library.fetch(names)
    with one_thread():
        return [(name, work(library[name])) for name in names]
