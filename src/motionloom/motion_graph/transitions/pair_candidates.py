"""Find the transition candidates of all pairs of motions in worker processes.

Most of the time for building a motion graph is spent searching the error function of every pair.
Workers receive the names of motions, read the motions from the library, and return the few
candidates they find.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom import parallel
from motionloom.blending.examples import conform
from motionloom.features import FrameDistance
from motionloom.motion import Motion
from motionloom.motion.loops import unrolled
from motionloom.motion_graph.transitions.candidates import (
    TransitionCandidates,
    transition_candidates,
)
from motionloom.parallel import Progress, one_thread
from motionloom.store.store import Store

MAX_TASK_CELLS = 100_000_000  # maximum cells per task: a few seconds of work
MIN_TASK_CELLS = 10_000_000  # minimum cells per task, so that dispatching costs little
_TASKS_PER_WORKER = 8
_WORTH_A_POOL = 150_000_000  # cells; smaller jobs take less time than starting processes

Pair = tuple[int, int]


@dataclass(frozen=True)
class LibraryMotions:
    """Library motions by number, conformed to the first motion.

    Numbers beyond the names refer to mirrored copies of the same motions.
    """

    library: Store
    names: tuple[str, ...]
    unroll: bool = False  # repeat short loops

    def motions(self, numbers: Sequence[int]) -> dict[int, Motion]:
        """Load the motions with these numbers."""
        names = {n: self.names[n % len(self.names)] for n in numbers}
        self.library.fetch([self.names[0], *names.values()])
        first = self._motion(self.names[0])
        motions = {}
        for n, name in names.items():
            motion = first if name == self.names[0] else conform([first, self._motion(name)])[1]
            motions[n] = mirrored(motion) if n >= len(self.names) else motion
        return motions

    def _motion(self, name: str) -> Motion:
        motion = self.library[name]
        return unrolled(motion) if self.unroll else motion


def mirrored(motion: Motion) -> Motion:
    """Return a motion with left and right exchanged, named ``NAME_mirrored``."""
    return replace(motion.mirror(), name=f"{motion.name}_mirrored")


def pair_candidates(
    motions: Sequence[Motion],
    distance: FrameDistance,
    options: dict[str, Any],
    *,
    stored: LibraryMotions | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> dict[Pair, TransitionCandidates]:
    """Find the candidates of every pair of motions, including each motion with itself.

    Parameters
    ----------
    motions : sequence of Motion
        Motions with one skeleton and frame rate.
    distance : FrameDistance
    options : dict
        Options of `transition_candidates`.
    stored : LibraryMotions, optional
        Where workers find the same motions. Without it, all work is done in this process.
    workers : int, optional
        Number of worker processes. Default: one per core, or none for small jobs.
    progress : callable, optional
        Called with the number of pairs done since the last call.
    """
    lengths = [len(motion) for motion in motions]
    tasks = _tasks(lengths)
    if stored is None or (workers is None and sum(lengths) ** 2 < 2 * _WORTH_A_POOL):
        workers = 1
    candidates: dict[Pair, TransitionCandidates] = {}
    count = workers if stored is None else stored.library.files.workers(workers)
    with parallel.executor(count, tasks=len(tasks)) as pool:
        if stored is None or isinstance(pool, parallel.SerialExecutor):
            work = partial(
                _task_candidates, rows=_PreparedMotions(distance, motions=motions), options=options
            )
        else:
            work = partial(
                _task_candidates, rows=_PreparedMotions(distance, stored=stored), options=options
            )
        for done in parallel.completed(work, tasks, pool):
            if done.error is not None:
                raise done.error
            candidates |= done.result or {}
            if progress is not None:
                progress(len(done.item))
    return {pair: candidates[pair] for pair in sorted(candidates)}


class _PreparedMotions:
    """Prepared rows of motions by number; each motion is prepared once per process."""

    def __init__(
        self,
        distance: FrameDistance,
        *,
        motions: Sequence[Motion] | None = None,
        stored: LibraryMotions | None = None,
    ) -> None:
        self.distance, self._motions, self._takes = distance, motions, stored
        self._made: dict[int, NDArray[Any]] = {}

    def of(self, numbers: Sequence[int]) -> dict[int, NDArray[Any]]:
        """Return the rows of the motions with these numbers."""
        new = [n for n in numbers if n not in self._made]
        if self._motions is not None:
            motions = {n: self._motions[n] for n in new}
        else:
            if self._takes is None:
                return {}
            self._made = {n: rows for n, rows in self._made.items() if n in numbers}
            motions = self._takes.motions(new)
        self._made |= {n: self.distance.prepare(motion) for n, motion in motions.items()}
        return self._made


def _task_candidates(
    pairs: Sequence[Pair], rows: _PreparedMotions, options: dict[str, Any]
) -> dict[Pair, TransitionCandidates]:
    with one_thread():
        made = rows.of(sorted({n for pair in pairs for n in pair}))
        return {
            (a, b): transition_candidates(
                rows.distance, made[a], None if a == b else made[b], **options
            )
            for a, b in pairs
        }


def _tasks(lengths: Sequence[int]) -> list[tuple[Pair, ...]]:
    """Group all pairs into tasks, each of which one worker processes.

    Examples
    --------
    >>> _tasks([1000, 2000, 3000])
    [((0, 0), (0, 1), (0, 2), (1, 1), (1, 2)), ((2, 2),)]
    """
    every = int(np.sum(lengths)) ** 2 / 2
    portion = min(every / (_TASKS_PER_WORKER * parallel.available_workers()), MAX_TASK_CELLS)
    portion = max(portion, MIN_TASK_CELLS)
    tasks: list[tuple[Pair, ...]] = []
    task: list[Pair] = []
    cells = 0.0
    for a, rows in enumerate(lengths):
        for b in range(a, len(lengths)):
            task.append((a, b))
            cells += rows * lengths[b] / (2 if a == b else 1)
            if cells >= portion:
                tasks.append(tuple(task))
                task, cells = [], 0.0
    return [*tasks, tuple(task)] if task else tasks
