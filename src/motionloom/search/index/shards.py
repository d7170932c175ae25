"""Sharded index: a library split into parts that each fit in the memory of one worker.

The feature vectors of a library are split into ranges, and each range has its own bucket index (see
`motionloom.search.index.bucket_index`). A query goes to every shard. Each shard returns its k
nearest vectors, measured from the original vectors, so distances from different shards are
comparable to the last bit. The k nearest of all these results are the overall k nearest, exactly as
with a single index. Each shard is memory-mapped by the process that queries it. On a cluster, these
are the workers.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from motionloom import parallel
from motionloom.checked_arrays import check_offsets, open_array, release
from motionloom.errors import InvalidInput, LibraryError
from motionloom.ragged import offsets_of
from motionloom.search.index.bucket_index import Answer, BucketIndex
from motionloom.store.artifacts.folders import FOLDER
from motionloom.store.artifacts.row_table import row_range, row_total
from motionloom.store.remote.cache import local_cache
from motionloom.store.remote.folder import Files, Folder, point_to, uploaded
from motionloom.store.remote.object_store import FileStore, ObjectStore

SHARD_ROWS = 4_000_000  # frames per shard: 0.35 GB with 15 features, vectors and index together
_STARTS = "starts.npy"


@dataclass(frozen=True, eq=False)
class Shards:
    """Index of N feature vectors in S shards.

    Attributes
    ----------
    folder : Path or RemoteFolder
        Shard s is in its subfolder ``s``.
    starts : ndarray of int64, shape (S + 1,)
        Shard s has vectors ``starts[s]`` to ``starts[s + 1]``.
    table : Path or RemoteFolder
        Table of the feature vectors (see `motionloom.store.artifacts.row_table`), which workers
        map themselves.
    workers : int or None
        As in `motionloom.parallel.executor`. With None, a cluster uses its workers, and a single
        machine uses this process, because starting a pool takes longer than a query.
    """

    folder: Folder
    starts: NDArray[np.int64]
    table: Folder
    workers: int | None = None

    @staticmethod
    def build(
        folder: Path,
        table: Folder,
        *,
        shards: int | None = None,
        workers: int | None = None,
        store: FileStore | None = None,
    ) -> None:
        """Build an index of the rows (N, D) of a table, with shards built in parallel.

        Parameters
        ----------
        folder : Path
            Folder of the index.
        table : Path or RemoteFolder
            Table of the feature vectors.
        shards : int, optional
            Default: one for every four million rows.
        workers : int, optional
        store : FileStore, optional
            If this is an object store, shards are written to it, with pointers in `folder`.
        """
        if shards is not None and shards < 1:
            raise InvalidInput(f"shards must be at least 1; got {shards}")
        count = row_total(table)
        shards = shards or -(-count // SHARD_ROWS) or 1
        starts = np.linspace(0, count, shards + 1).astype(np.int64)
        work: Callable[[int], Files | None]
        if isinstance(store, ObjectStore):
            work = partial(_put_shard, folder=folder.name, table=table, starts=starts, store=store)
            workers = store.workers(workers)
        else:
            work = partial(_build_shard, folder=folder.absolute(), table=table, starts=starts)
        with parallel.executor(workers, tasks=shards) as pool:
            for done in parallel.completed(work, range(shards), pool):
                if done.error is not None:
                    raise done.error
                for name, pieces in (done.result or {}).items():
                    point_to(folder / name, pieces)
        np.save(folder / _STARTS, starts)

    @classmethod
    def open(cls, folder: Folder, table: Folder, *, workers: int | None = None) -> Shards:
        """Open an index written by `build`; shards are read when queried."""
        starts = open_array(folder / _STARTS, memory_map=False)
        starts = check_offsets(starts, row_total(table), "shards")
        for number in range(len(starts) - 1):
            try:
                there = (folder / str(number)).is_dir()
            except FileNotFoundError:
                there = False
            if not there:
                raise LibraryError(f"{folder}: damaged: shard {number} is missing")
        return cls(folder.absolute(), starts, table, workers)

    def nearest(self, queries, rows, *, k: int, radius=np.inf, epsilon=0.0, allowed=None) -> Answer:
        """Search like `BucketIndex.nearest`; `rows` is ignored because workers read the table."""
        queries = np.ascontiguousarray(queries, dtype=np.float32)
        tasks = []
        for number, (first, last) in enumerate(zip(self.starts, self.starts[1:], strict=False)):
            own = None if allowed is None else allowed[first:last]
            if own is None or own.any():
                tasks.append((number, own))
        work = partial(
            _query_shard, shards=self, queries=queries, k=k, radius=radius, epsilon=epsilon
        )
        answers: list[tuple[int, Answer]] = []
        workers = self.workers
        if workers is None and not parallel.is_on_cluster():
            workers = 1
        with parallel.executor(workers, tasks=len(tasks)) as pool:
            for done in parallel.completed(work, tasks, pool):
                if done.error is not None or done.result is None:
                    raise done.error or LibraryError(f"{self.folder}: no result from a shard")
                answers.append((done.item[0], done.result))
        ordered = [answer for _, answer in sorted(answers, key=lambda pair: pair[0])]
        return merged(ordered, len(queries), k)


def merged(answers: Sequence[Answer], queries: int, k: int) -> Answer:
    """Merge the results of all shards into the k nearest rows for each query.

    Parameters
    ----------
    answers : sequence of (offsets, rows, distances)
        One result per shard, with row numbers of the whole table.
    queries, k : int

    Examples
    --------
    >>> offsets = np.array([0, 2])
    >>> a = (offsets, np.array([0, 1]), np.array([0.1, 0.4]))
    >>> b = (offsets, np.array([7, 5]), np.array([0.2, 0.4]))
    >>> merged([a, b], 1, 3)[1].tolist()
    [0, 7, 1]
    """
    query = [np.repeat(np.arange(queries), np.diff(offsets)) for offsets, _, _ in answers]
    owner = np.concatenate([np.empty(0, np.int64), *query])
    rows = np.concatenate([np.empty(0, np.int64), *(numbers for _, numbers, _ in answers)])
    distances = np.concatenate([np.empty(0), *(gaps for _, _, gaps in answers)])
    order = np.lexsort([rows, distances, owner])
    owner, rows, distances = owner[order], rows[order], distances[order]
    rank = np.arange(len(owner)) - np.searchsorted(owner, owner, side="left")
    kept = rank < k
    counts = np.bincount(owner[kept], minlength=queries)
    offsets = offsets_of(counts)
    return offsets, rows[kept], distances[kept]


def _build_shard(number: int, folder: Path, table: Folder, starts: NDArray[np.int64]) -> None:
    place = folder / str(number)
    place.mkdir(exist_ok=True)  # a task may be repeated if its worker has died
    BucketIndex.build(row_range(table, int(starts[number]), int(starts[number + 1]))).save(place)


def _put_shard(
    number: int, folder: str, table: Folder, starts: NDArray[np.int64], store: ObjectStore
) -> Files:
    """Build a shard and write it to the object store; return its files."""
    scratch = local_cache().scratch()
    try:
        (scratch / str(number)).mkdir()
        _build_shard(number, scratch, table, starts)
        return uploaded(scratch, store, f"{FOLDER}/{folder}")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _query_shard(
    task: tuple[int, NDArray[np.bool_] | None],
    shards: Shards,
    queries: NDArray[np.float32],
    k: int,
    radius: float,
    epsilon: float,
) -> Answer:
    number, allowed = task
    first, last = int(shards.starts[number]), int(shards.starts[number + 1])
    index, rows = _opened(shards.folder, number, shards.table, first, last)
    offsets, numbers, distances = index.nearest(
        queries, rows, k=min(k, last - first), radius=radius, epsilon=epsilon, allowed=allowed
    )
    release(index.blocks, index.rows, rows)
    return offsets, numbers + first, distances


@lru_cache(maxsize=64)
def _opened(folder: Folder, number: int, table: Folder, first: int, last: int):
    """Return the `BucketIndex` and rows of a shard, mapped once per process."""
    try:
        return BucketIndex.open(folder / str(number)), row_range(table, first, last)
    except (ValueError, EOFError) as error:
        raise LibraryError(f"{folder}/{number}: damaged: {error}") from None
