"""Distances between all pairs of clips, rows of the table by rows, wherever work runs.

A worker opens the clips' kept rows itself and computes some rows of the table; what comes back
is put together here. The table is that of `ClipMeasure.matrix`, to the last bit.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from motionloom import engine
from motionloom.errors import LibraryError
from motionloom.library.shelf import Shelf
from motionloom.search.clip_table import ClipTable, clip_table
from motionloom.search.clips import ClipMeasure, mirrored
from motionloom.threads import one_thread

_TASKS_PER_WORKER = 8
_WORTH_A_POOL = 3.0  # seconds of work; for less, processes take longer to start than to help

Portion = tuple[int, int]


def clip_matrix(
    library: Shelf,
    table: ClipTable,
    chosen: NDArray[np.int64],
    *,
    workers: int | None = None,
) -> tuple[NDArray[np.float64], float]:
    """Distances between some clips of a table, and the processor time they took.

    Parameters
    ----------
    library : Shelf
        Whose clips they are.
    table : ClipTable
        All of them.
    chosen : ndarray of int64, shape (C,)
        Numbers of those to be compared, in the order wanted.
    workers : int, optional
        Processes. Default: one per core, or this one for little work.

    Returns
    -------
    distances : ndarray, shape (C, C)
        From each clip (a row) to each (a column).
    seconds : float
        Processor time of all distances, one thread.
    """
    measure, count = table.measure, len(chosen)
    work = _Rows(library, table.measure, chosen, table.some(chosen))
    if workers is None and not engine.is_on_cluster():
        workers = 1 if work.estimated_seconds() < _WORTH_A_POOL else None
    shares = _TASKS_PER_WORKER * (1 if workers == 1 else engine.available_workers())
    portions = _portions(count, shares, symmetric=measure.symmetric)
    out = np.full((count, count), np.nan)
    seconds = 0.0
    with engine.executor(library.store.workers(workers), tasks=len(portions)) as pool:
        # In this process the clips are open; others open them for themselves.
        here = isinstance(pool, engine.InThisProcess)
        task = work if here else replace(work, table=None)
        for done in engine.completed(task, portions, pool):
            if done.error is not None or done.result is None:
                raise done.error or LibraryError(f"{library.path}: clips were not compared")
            rows, taken = done.result
            out[done.item[0] : done.item[1]] = rows
            seconds += taken
    return (mirrored(out) if measure.symmetric else out), seconds


@dataclass(eq=False)
class _Rows:
    """Work on some rows of the table; the clips are opened once."""

    library: Shelf
    measure: ClipMeasure
    chosen: NDArray[np.int64]
    table: ClipTable | None = None
    warm: bool = field(default=False, init=False)

    def __call__(self, portion: Portion) -> tuple[NDArray[np.float64], float]:
        with one_thread():
            table = self._opened()
            begun = time.process_time()
            rows = table.measure.matrix_rows(table.clips, *portion)
            return rows, time.process_time() - begun

    def estimated_seconds(self) -> float:
        """Processor time of the whole table, going by its last row, the longest."""
        count = len(self.chosen)
        _, seconds = self((count - 1, count))
        symmetric = self._opened().measure.symmetric
        return seconds * count / (2 if symmetric else 1)

    def _opened(self) -> ClipTable:
        if self.table is None:
            self.table = clip_table(self.library, self.measure).some(self.chosen)
        if not self.warm:
            few = self.table.some(np.arange(min(2, len(self.chosen)))).clips
            self.table.measure.matrix_rows(few, 0, len(few))  # compiles
            self.warm = True
        return self.table


def _portions(count: int, shares: int, *, symmetric: bool) -> list[Portion]:
    """Rows in about `shares` portions with as many pairs each.

    Examples
    --------
    >>> _portions(8, 2, symmetric=False)
    [(0, 4), (4, 8)]
    >>> _portions(8, 2, symmetric=True)
    [(0, 6), (6, 8)]
    """
    share = np.linspace(0.0, 1.0, min(shares, count) + 1)
    ends = np.unique(np.rint(count * (np.sqrt(share) if symmetric else share)).astype(int))
    return list(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True))
