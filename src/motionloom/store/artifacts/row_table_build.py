"""Making a table derived from motions (see `motionloom.store.artifacts.row_table`).

Rows of motions that have not changed are taken from the table before; those of the others are
computed by workers and written by them: to their place in one file, or, where the library's
files lie in a store, as objects of which the file then consists.

Work on many motions, some at a time: a task is long enough to be worth handing out.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from motionloom import parallel
from motionloom.errors import LibraryError
from motionloom.motion import Motion
from motionloom.parallel import Progress, one_thread
from motionloom.store.artifacts.derived import FOLDER as DERIVED
from motionloom.store.artifacts.derived import motion_key
from motionloom.store.artifacts.row_table import INDEX, ROWS, load_rows, read_index, row_total
from motionloom.store.records import Entry
from motionloom.store.remote.folder import Folder, RemoteFolder, between, joined, point_to
from motionloom.store.remote.object_store import ObjectStore, Piece
from motionloom.store.store import Store

_BATCH_FRAMES = 16_000  # per task: tenths of a second of work
_WORTH_A_POOL = 150_000  # frames; for fewer, processes take longer to start than to help

Result = TypeVar("Result")


def over_motions(
    library: Store,
    work: Callable[[Motion], Result],
    entries: Sequence[Entry],
    workers: int | None = None,
    progress: Progress | None = None,
) -> Iterator[tuple[str, Result]]:
    """Do `work` on the motions of `entries`, in parallel; yields (name, result), in any order.

    Parameters
    ----------
    library : Store
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
    library: Store,
    task: Callable[[tuple[str, ...]], Result],
    entries: Sequence[Entry],
    workers: int | None,
    progress: Progress | None,
) -> Iterator[Result]:
    """Do `task` on names of some motions at a time, in parallel; in any order."""
    if workers is None and sum(entry.frames for entry in entries) < _WORTH_A_POOL:
        workers = 1
    batches = _batches(entries)
    with parallel.executor(library.files.workers(workers), tasks=len(batches)) as pool:
        for done in parallel.completed(task, batches, pool):
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


def batch_work(names: Sequence[str], library: Store, work: Callable[[Motion], Any]) -> list:
    """What `work` gives for some motions, with their names."""
    library.fetch(names)
    with one_thread():
        return [(name, work(library[name])) for name in names]


def build_rows(
    folder: Path,
    previous: Folder | None,
    library: Store,
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
    folder : Path
    previous : Path, RemoteFolder or None
        As `motionloom.store.artifacts.derived.derived` hands them to its `build`.
    library : Store
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
    keys = [motion_key(entry) for entry in entries]
    job = _Job(library, work, entries, keys, starts, width, stamp, workers, progress)
    if isinstance(library.files, ObjectStore):
        _in_store(folder, previous, job, library.files)
    else:
        _in_folder(folder, previous, job)
    index = {
        "names": [entry.name for entry in entries],
        "keys": keys,
        "starts": starts.tolist(),
        "width": width,
        "fps": [entry.fps for entry in entries],
        "frames": [entry.frames for entry in entries],
        "left_out": left_out,
        "stamp": stamp,
    }
    (folder / INDEX).write_text(json.dumps(index), encoding="utf-8")


@dataclass(frozen=True, eq=False)
class _Job:
    """What is to be written, whose rows and how many, and how it is computed."""

    library: Store
    work: Callable[[Motion], NDArray]
    entries: list[Entry]
    keys: list[str]
    starts: NDArray[np.int64]
    width: int
    stamp: str
    workers: int | None
    progress: Progress | None

    def __len__(self) -> int:
        return int(self.starts[-1])

    @property
    def row_bytes(self) -> int:
        """Bytes of a row."""
        return 4 * self.width

    @property
    def header(self) -> bytes:
        """What comes before the rows in a ``.npy`` file."""
        out = BytesIO()
        about = {"descr": "<f4", "fortran_order": False, "shape": (len(self), self.width)}
        np.lib.format.write_array_header_1_0(out, about)
        return out.getvalue()

    def place(self, m: int) -> tuple[int, int]:
        """First row of a motion, by its number, and how many it has."""
        return int(self.starts[m]), int(self.starts[m + 1] - self.starts[m])

    def known(self, previous: Folder | None) -> dict[int, int]:
        """Motions whose rows an earlier table has, by number: from which row on."""
        if previous is None:
            return {}
        try:
            held = read_index(previous)
        except (LibraryError, OSError):
            return {}
        if (held["stamp"], held["width"]) != (self.stamp, self.width):
            return {}
        counts = np.diff(held["starts"])
        rows = {key: (held["starts"][n], counts[n]) for n, key in enumerate(held["keys"])}
        found = {}
        for m, key in enumerate(self.keys):
            start, count = rows.get(key, (0, -1))
            if count == self.place(m)[1]:
                found[m] = start
        return found

    def new(self, known: Collection[int]) -> dict[str, tuple[int, int]]:
        """The other motions, by name: the first row of each, and how many it has."""
        return {entry.name: self.place(m) for m, entry in enumerate(self.entries) if m not in known}


def _in_folder(folder: Path, previous: Folder | None, job: _Job) -> None:
    """Write the rows to one file, to which workers add theirs."""
    path, offset = folder / ROWS, len(job.header)
    with open(path, "wb") as out:
        out.write(job.header)
        out.truncate(offset + job.row_bytes * len(job))
    place = job.new(_copy_known(path, offset, previous, job))
    fill = partial(_fill, work=job.work, path=path, offset=offset, width=job.width, place=place)
    new = [entry for entry in job.entries if entry.name in place]
    for _ in over_motions(job.library, fill, new, job.workers, job.progress):
        pass
    with open(path, "rb+") as out:
        os.fsync(out.fileno())


def _copy_known(path: Path, offset: int, previous: Folder | None, job: _Job) -> dict[int, int]:
    """Copy rows that an earlier table has; whose, by number."""
    known = job.known(previous)
    if previous is None or not known:
        return {}
    try:
        held = load_rows(previous).rows
    except (LibraryError, OSError):
        return {}
    with open(path, "rb+") as out:
        for m, old in known.items():
            start, count = job.place(m)
            out.seek(offset + job.row_bytes * start)
            out.write(np.ascontiguousarray(held[old : old + count]).data)
    return known


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
    rows = _checked(work(motion), motion.name, count, width)
    # Not through a memory map: on a full disk that ends the process without a word.
    with open(path, "rb+") as out:
        out.seek(offset + 4 * width * start)
        out.write(rows.data)


def _in_store(folder: Path, previous: Folder | None, job: _Job, store: ObjectStore) -> None:
    """Have workers write rows to the store, some motions at a time; note here what they are."""
    name = f"{DERIVED}/{folder.name}/{ROWS}"
    known = job.known(previous) if isinstance(previous, RemoteFolder) else {}
    pieces: dict[str, tuple[Piece, ...]] = {}
    if isinstance(previous, RemoteFolder) and known:
        rows = row_total(previous)
        for m, old in known.items():
            first = previous.size(ROWS) - job.row_bytes * (rows - old)
            last = first + job.row_bytes * job.place(m)[1]
            pieces[job.entries[m].name] = between(previous.files[ROWS], first, last)
    place = job.new(known)
    put = partial(
        _put_rows,
        library=job.library,
        work=job.work,
        store=store,
        name=name,
        width=job.width,
        counts={one: count for one, (_, count) in place.items()},
    )
    new = [entry for entry in job.entries if entry.name in place]
    for made in over_batches(job.library, put, new, job.workers, job.progress):
        pieces |= made
    every = [store.put(job.header, name)]
    for entry in job.entries:
        every += pieces[entry.name]
    point_to(folder / ROWS, joined(every))


def _put_rows(
    names: Sequence[str],
    library: Store,
    work: Callable[[Motion], NDArray],
    store: ObjectStore,
    name: str,
    width: int,
    counts: dict[str, int],
) -> dict[str, tuple[Piece, ...]]:
    """Compute the rows of some motions and write them as one object; whose piece is which."""
    found = [
        (one, _checked(rows, one, counts[one], width))
        for one, rows in batch_work(names, library, work)
    ]
    whole = store.put(b"".join(rows.tobytes() for _, rows in found), name)
    pieces: dict[str, tuple[Piece, ...]] = {}
    at = 0
    for one, rows in found:
        pieces[one] = (Piece(whole.name, at, rows.nbytes),)
        at += rows.nbytes
    return pieces


def _checked(rows: NDArray, name: str, count: int, width: int) -> NDArray[np.float32]:
    rows = np.ascontiguousarray(rows, dtype="<f4")
    if rows.shape != (count, width):
        raise LibraryError(
            f"{name}: expected {count} rows of {width} numbers, got shape {rows.shape}"
        )
    return rows
