"""A table derived from motions: some rows of numbers for each, all in one file.

``rows.npy`` holds the rows of all motions one after the other, ordered by name, and is
memory-mapped; ``index.json`` says whose they are. Rows of motions that have not changed
are copied from the table before.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from motionloom import engine
from motionloom.errors import LibraryError
from motionloom.library.derived import motion_key
from motionloom.library.importing import Progress
from motionloom.library.records import Entry
from motionloom.library.shelf import Shelf
from motionloom.motion import Motion

ROWS, INDEX = "rows.npy", "index.json"
_BATCH_FRAMES = 16_000  # per task: tenths of a second of work
_WORTH_A_POOL = 150_000  # frames; for fewer, processes take longer to start than to help

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class RowTable:
    """The rows of all motions.

    Attributes
    ----------
    rows : ndarray of float32, shape (N, D)
        Memory-mapped, read-only.
    starts : ndarray of int64, shape (M + 1,)
        Motion m has rows ``starts[m]`` to ``starts[m + 1]``.
    names : tuple of str, length M
        Sorted.
    fps : ndarray, shape (M,)
        Rate of each motion as stored.
    frames : ndarray of int64, shape (M,)
        Frames of each motion as stored.
    left_out : dict of str to str
        Motions without rows, and why.
    stamp : str
        What else the rows depend on.
    """

    rows: NDArray[np.float32]
    starts: NDArray[np.int64]
    names: tuple[str, ...]
    fps: NDArray[np.float64]
    frames: NDArray[np.int64]
    left_out: dict[str, str]
    stamp: str


def build_rows(
    folder: Path,
    previous: Path | None,
    library: Shelf,
    work: Callable[[Motion], NDArray],
    *,
    width: int,
    length: Callable[[Entry], int],
    left_out: dict[str, str],
    stamp: str = "",
    workers: int | None = None,
    progress: Progress | None = None,
) -> None:
    """Write the table of `work` over all motions into `folder`.

    Parameters
    ----------
    folder, previous : Path
        As `motionloom.library.derived.derived` hands them to its `build`.
    library : Shelf
    work : callable
        From a motion to its rows (`length`, `width`); importable by name.
    width : int
    length : callable
        How many rows the motion of an entry will have.
    left_out : dict of str to str
        Motions that get no rows, and why.
    stamp : str
        What else the rows depend on; earlier rows with another stamp are not reused.
    workers, progress : optional
        Processes; called with the number of motions done.
    """
    entries = [entry for entry in library.entries() if entry.name not in left_out]
    counts = np.array([length(entry) for entry in entries], dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(counts)])
    path = folder / ROWS
    with open(path, "wb") as out:
        shape = (int(starts[-1]), width)
        header = {"descr": "<f4", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(out, header)
        offset = out.tell()
        out.truncate(offset + 4 * shape[0] * shape[1])
    keys = [motion_key(entry) for entry in entries]
    new = _copy_known(path, offset, previous, keys, starts, width, stamp)
    place = {entries[m].name: (int(starts[m]), int(counts[m])) for m in new}
    fill = partial(_fill, work=work, path=path, offset=offset, width=width, place=place)
    for _ in over_motions(library, fill, [entries[m] for m in new], workers, progress):
        pass
    with open(path, "rb+") as out:
        os.fsync(out.fileno())
    index = {
        "names": [entry.name for entry in entries],
        "keys": keys,
        "starts": starts.tolist(),
        "fps": [entry.fps for entry in entries],
        "frames": [entry.frames for entry in entries],
        "left_out": left_out,
        "stamp": stamp,
    }
    (folder / INDEX).write_text(json.dumps(index), encoding="utf-8")


def load_rows(folder: Path) -> RowTable:
    """Open a table that `build_rows` wrote."""
    index = _read_index(folder)
    try:
        rows = np.load(folder / ROWS, mmap_mode="r", allow_pickle=False)
        if len(rows) != index["starts"][-1] or rows.dtype != np.float32:
            raise ValueError(f"{len(rows)} rows of {rows.dtype}")
    except (ValueError, EOFError) as error:
        raise LibraryError(f"{folder / ROWS}: damaged: {error}") from None
    return RowTable(
        rows,
        np.array(index["starts"], dtype=np.int64),
        tuple(index["names"]),
        np.array(index["fps"], dtype=np.float64),
        np.array(index["frames"], dtype=np.int64),
        index["left_out"],
        index["stamp"],
    )


def over_motions(
    library: Shelf,
    work: Callable[[Motion], Result],
    entries: Sequence[Entry],
    workers: int | None = None,
    progress: Progress | None = None,
):
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
    if workers is None and sum(entry.frames for entry in entries) < _WORTH_A_POOL:
        workers = 1
    batches = _batches(entries)
    task = partial(_batch_work, library=library, work=work)
    with engine.executor(workers, tasks=len(batches)) as pool:
        for done in engine.completed(task, batches, pool):
            if done.error is not None:
                raise done.error
            yield from done.result or ()
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


def _batch_work(names: Sequence[str], library: Shelf, work: Callable[[Motion], Any]) -> list:
    return [(name, work(library[name])) for name in names]


def _fill(
    motion: Motion,
    work: Callable[[Motion], NDArray],
    path: Path,
    offset: int,
    width: int,
    place: dict[str, tuple[int, int]],
) -> None:
    """Compute the rows of a motion and write them to their place in the file."""
    start, count = place[motion.name]
    rows = np.ascontiguousarray(work(motion), dtype="<f4")
    if rows.shape != (count, width):
        raise LibraryError(
            f"{motion.name}: expected {count} rows of {width} numbers, got shape {rows.shape}"
        )
    # Not through a memory map: on a full disk that ends the process without a word.
    with open(path, "rb+") as out:
        out.seek(offset + 4 * width * start)
        out.write(rows.data)


def _copy_known(
    path: Path,
    offset: int,
    previous: Path | None,
    keys: Sequence[str],
    starts: NDArray[np.int64],
    width: int,
    stamp: str,
) -> list[int]:
    """Copy rows that `previous` has; the numbers of the motions that are still to be done."""
    everything = list(range(len(keys)))
    if previous is None:
        return everything
    try:
        held, table = _read_index(previous), load_rows(previous)
    except (LibraryError, OSError):
        return everything
    if table.stamp != stamp or table.rows.shape[1] != width:
        return everything
    known = {key: m for m, key in enumerate(held["keys"])}
    new = []
    with open(path, "rb+") as out:
        for m, key in enumerate(keys):
            old = known.get(key)
            if old is None or np.diff(table.starts)[old] != starts[m + 1] - starts[m]:
                new.append(m)
                continue
            out.seek(offset + 4 * width * int(starts[m]))
            rows = table.rows[table.starts[old] : table.starts[old + 1]]
            out.write(np.ascontiguousarray(rows).data)
    return new


def _read_index(folder: Path) -> dict[str, Any]:
    try:
        return json.loads((folder / INDEX).read_text(encoding="utf-8"))
    except ValueError as error:
        raise LibraryError(f"{folder / INDEX}: damaged: {error}") from None
