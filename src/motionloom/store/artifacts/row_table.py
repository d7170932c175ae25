"""Row tables: artifacts that store rows of numbers for every motion in a single file.

``rows.npy`` contains the rows of all motions, concatenated and sorted by name, and is
memory-mapped. ``index.json`` lists which rows belong to which motion.

Rows of unchanged motions are copied from the previous version. Workers compute all other rows and
write them to their range in the file. In a library with an object store, they write objects that
together make up the file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from motionloom import parallel
from motionloom.checked_arrays import check_offsets, open_array
from motionloom.errors import LibraryError
from motionloom.files import parse_json, read_regular
from motionloom.motion import Motion
from motionloom.parallel import Progress, one_thread
from motionloom.ragged import offsets_of
from motionloom.store.artifacts.folders import FOLDER
from motionloom.store.records import Entry
from motionloom.store.remote.folder import Folder, RemoteFolder, between, joined, point_to
from motionloom.store.remote.object_store import ObjectStore, Piece

if TYPE_CHECKING:
    from motionloom.store.store import Store

ROWS, INDEX = "rows.npy", "index.json"
_INDEX_KEYS = ("names", "keys", "starts", "width", "fps", "frames", "left_out", "stamp")
BATCH_FRAMES = 16_000  # per task, which is a few tenths of a second of work
MIN_POOL_FRAMES = 150_000  # frames; below this, starting processes takes longer than they save

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class RowTable:
    """Rows of all motions: N rows of D numbers for M motions."""

    rows: NDArray[np.float32]  # (N, D), memory-mapped, read-only
    starts: NDArray[np.int64]  # (M + 1,): motion m has rows starts[m] to starts[m + 1]
    names: tuple[str, ...]  # sorted
    fps: NDArray[np.float64]  # (M,), for each motion as stored
    frames: NDArray[np.int64]  # (M,), for each motion as stored
    left_out: dict[str, str]  # motions without rows, with the reason


def row_total(folder: Folder) -> int:
    """Return the number of rows in a table."""
    if isinstance(folder, RemoteFolder):
        return read_index(folder)["starts"][-1]
    return len(_opened_rows(folder))


def row_range(folder: Folder, first: int, last: int) -> NDArray[np.float32]:
    """Return rows `first` to `last` of a table, memory-mapped. Only these rows are fetched."""
    if not isinstance(folder, RemoteFolder):
        rows = _opened_rows(folder)
        if not 0 <= first <= last <= len(rows):
            raise LibraryError(f"{folder / ROWS}: damaged: expected {last} rows, found {len(rows)}")
        return rows[first:last]
    index = read_index(folder)
    row_bytes = 4 * index["width"]
    header = folder.size(ROWS) - row_bytes * index["starts"][-1]
    shape = (last - first, index["width"])
    if not shape[0]:
        return np.empty(shape, np.float32)
    path = folder.byte_range(ROWS, header + row_bytes * first, header + row_bytes * last)
    return np.memmap(path, dtype="<f4", mode="r", shape=shape)


def load_rows(folder: Folder) -> RowTable:
    """Open a table written by `build_rows`."""
    index, rows = read_index(folder), _opened_rows(folder)
    shape = (index["starts"][-1], index["width"])
    if rows.shape != shape:
        raise LibraryError(
            f"{folder / ROWS}: damaged: expected float32 of {shape}, found {rows.dtype} of "
            f"{rows.shape}"
        )
    return RowTable(
        rows,
        np.array(index["starts"], dtype=np.int64),
        tuple(index["names"]),
        np.array(index["fps"], dtype=np.float64),
        np.array(index["frames"], dtype=np.int64),
        index["left_out"],
    )


def read_index(folder: Folder) -> dict[str, Any]:
    """Return the content of ``index.json``. Raise `LibraryError` if it is incomplete."""
    try:
        index = parse_json(read_regular(folder / INDEX))
        content = {key: index[key] for key in _INDEX_KEYS}
        _check_index(content)
        return content
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise LibraryError(f"{folder / INDEX}: damaged: {error}") from None


def _check_index(index: dict[str, Any]) -> None:
    """Raise `ValueError` unless all values in an index have the right type and length."""
    count, width = len(index["names"]), index["width"]
    if type(width) is not int or not 0 <= width < 1 << 24:
        raise ValueError(f"width {width!r}")
    starts = index["starts"]
    check_offsets(starts, starts[-1] if starts else 0, "starts")
    if len(starts) != count + 1 or type(starts[-1]) is not int:
        raise ValueError(
            f"there must be {count + 1} starts, one more than motions; found {len(starts)}"
        )
    kinds = {"names": str, "keys": str, "fps": int | float, "frames": int}
    for key, kind in kinds.items():
        values = index[key]
        if len(values) != count or not all(isinstance(value, kind) for value in values):
            raise ValueError(f"expected {count} {key}, found {str(values)[:80]}")
    if not all(0 < rate < np.inf for rate in index["fps"]) or min(index["frames"], default=0) < 0:
        raise ValueError("all rates and lengths must be positive")
    if not isinstance(index["left_out"], dict):
        raise ValueError("left_out must be a JSON object")


def _opened_rows(folder: Folder) -> NDArray[np.float32]:
    rows = open_array(folder / ROWS)
    if rows.dtype != np.float32 or rows.ndim != 2 or not rows.flags.c_contiguous:
        raise LibraryError(
            f"{folder / ROWS}: damaged: expected rows of float32, found {rows.dtype} of "
            f"{rows.shape}"
        )
    return rows


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
    """Apply `work` to all motions and write the table of results to `folder`.

    Parameters
    ----------
    folder, previous
        Arguments that `motionloom.store.artifacts.Artifacts.derive` passes to `build`.
    library : Store
        Library that contains the motions.
    work : callable
        Function that returns the rows of a motion, shape (length, width). It must be importable by
        name.
    width : int
        Number of values per row.
    length : callable
        Function that returns the number of rows for the motion of an entry.
    left_out : dict of str to str
        Motions without rows, each with the reason.
    stamp : str
        Digest of anything else the rows depend on. Rows from a version with another stamp are not
        reused.
    workers, progress : optional
        Number of processes, and a function called with the number of finished motions.
    """
    entries = [entry for entry in library.entries() if entry.name not in left_out]
    counts = np.array([length(entry) for entry in entries], dtype=np.int64)
    starts = offsets_of(counts)
    keys = [entry.key for entry in entries]
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
    """Table to write, with its motions, the positions of their rows, and how to compute them."""

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
        """Size of a row, in bytes."""
        return 4 * self.width

    @property
    def header(self) -> bytes:
        """Header of the ``.npy`` file."""
        out = BytesIO()
        about = {"descr": "<f4", "fortran_order": False, "shape": (len(self), self.width)}
        np.lib.format.write_array_header_1_0(out, about)
        return out.getvalue()

    def place(self, m: int) -> tuple[int, int]:
        """Return the first row and the number of rows of the motion at an index."""
        return int(self.starts[m]), int(self.starts[m + 1] - self.starts[m])

    def reusable(self, previous: Folder | None) -> dict[int, int]:
        """Map the index of each motion with rows in the previous version to its first row there."""
        if previous is None:
            return {}
        try:
            index = read_index(previous)
        except (LibraryError, OSError):
            return {}
        if (index["stamp"], index["width"]) != (self.stamp, self.width):
            return {}
        counts = np.diff(index["starts"])
        rows = {key: (index["starts"][n], counts[n]) for n, key in enumerate(index["keys"])}
        reusable = {}
        for m, key in enumerate(self.keys):
            start, count = rows.get(key, (0, -1))
            if count == self.place(m)[1]:
                reusable[m] = start
        return reusable

    def new(self, reusable: Collection[int]) -> dict[str, tuple[int, int]]:
        """Map the names of all other motions to their first row and number of rows."""
        return {
            entry.name: self.place(m) for m, entry in enumerate(self.entries) if m not in reusable
        }


def _in_folder(folder: Path, previous: Folder | None, job: _Job) -> None:
    """Write the rows to one file. Each worker writes to a different range."""
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
    """Copy rows from the previous version, and return the indices of their motions."""
    reusable = job.reusable(previous)
    if previous is None or not reusable:
        return {}
    try:
        rows = load_rows(previous).rows
    except (LibraryError, OSError):
        return {}
    with open(path, "rb+") as out:
        for m, old in reusable.items():
            start, count = job.place(m)
            out.seek(offset + job.row_bytes * start)
            out.write(np.ascontiguousarray(rows[old : old + count]).data)
    return reusable


def _fill(
    motion: Motion,
    work: Callable[[Motion], NDArray],
    path: Path,
    offset: int,
    width: int,
    place: dict[str, tuple[int, int]],
) -> None:
    """Compute the rows of a motion and write them to their range in the file."""
    start, count = place[motion.name]
    rows = _checked(work(motion), motion.name, count, width)
    # A memory map would kill the process without a message if the disk is full.
    with open(path, "rb+") as out:
        out.seek(offset + 4 * width * start)
        out.write(rows.data)


def _in_store(folder: Path, previous: Folder | None, job: _Job, store: ObjectStore) -> None:
    """Let workers write rows to the object store, and write pointers to them in the folder."""
    name = f"{FOLDER}/{folder.name}/{ROWS}"
    reusable = job.reusable(previous) if isinstance(previous, RemoteFolder) else {}
    pieces: dict[str, tuple[Piece, ...]] = {}
    if isinstance(previous, RemoteFolder) and reusable:
        rows = row_total(previous)
        for m, old in reusable.items():
            first = previous.size(ROWS) - job.row_bytes * (rows - old)
            last = first + job.row_bytes * job.place(m)[1]
            pieces[job.entries[m].name] = between(previous.files[ROWS], first, last)
    place = job.new(reusable)
    put = partial(
        _put_rows,
        library=job.library,
        work=job.work,
        store=store,
        name=name,
        width=job.width,
        counts={motion: count for motion, (_, count) in place.items()},
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
    """Compute the rows of motions, write them as one object, and return its pieces."""
    results = [
        (motion, _checked(rows, motion, counts[motion], width))
        for motion, rows in batch_work(names, library, work)
    ]
    whole = store.put(b"".join(rows.tobytes() for _, rows in results), name)
    pieces: dict[str, tuple[Piece, ...]] = {}
    at = 0
    for motion, rows in results:
        pieces[motion] = (whole._replace(start=at, length=rows.nbytes),)
        at += rows.nbytes
    return pieces


def _checked(rows: NDArray, name: str, count: int, width: int) -> NDArray[np.float32]:
    rows = np.ascontiguousarray(rows, dtype="<f4")
    if rows.shape != (count, width):
        raise LibraryError(
            f"{name}: expected {count} rows of {width} numbers, got shape {rows.shape}"
        )
    return rows


def over_motions(
    library: Store,
    work: Callable[[Motion], Result],
    entries: Sequence[Entry],
    workers: int | None = None,
    progress: Progress | None = None,
) -> Iterator[tuple[str, Result]]:
    """Apply `work` to the motions of `entries` in parallel. Yield (name, result) in any order.

    `work` is a function of one motion, importable by name. By default, there is one process per
    core, or only this process for little work.
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
    """Apply `task` to batches of names in parallel. Yield the results in any order."""
    if workers is None and sum(entry.frames for entry in entries) < MIN_POOL_FRAMES:
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
        if frames >= BATCH_FRAMES:
            batches.append(tuple(names))
            names, frames = [], 0
    return [*batches, tuple(names)] if names else batches


def batch_work(names: Sequence[str], library: Store, work: Callable[[Motion], Any]) -> list:
    """Apply `work` to a batch of motions, and return their names with the results."""
    library.fetch(names)
    with one_thread():
        return [(name, work(library[name])) for name in names]
