"""Parallel import of many files, which can be interrupted, resumed and repeated.

Each file is one task (see `motionloom.store.ingest.task`), which writes the frames under a name
that depends on their content. The process that holds the writer lock commits the rows, a few dozen
at a time. A killed import loses only the last half second of work, and the next import resumes it.
The stored data depends only on the files, not on when they were read, because results are committed
in the order of the files. If several skeletons differ only by rounding, the first one is stored.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from dataclasses import replace as replaced
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from motionloom import parallel
from motionloom.errors import InvalidInput, LibraryError, MotionloomError
from motionloom.formats import FORMATS
from motionloom.motion import Motion
from motionloom.motion.kinematics.root_carrier import hips_as_root
from motionloom.motion.segment import plausible_rate
from motionloom.parallel import Progress
from motionloom.store.catalogue import Catalogue
from motionloom.store.catalogue_file import recovery_advice
from motionloom.store.frames import FOLDER, frame_table, sync_folder, table_digest
from motionloom.store.ingest.labels import Labeling, checked_labels, labeling
from motionloom.store.ingest.sources import SourceFile, assign_names, find_sources, left_out
from motionloom.store.ingest.task import (
    ImportTask,
    Outcome,
    StoredSkeletons,
    content_hash,
    entries_by_file,
    failure_reason,
    ingest,
    new_entry,
)
from motionloom.store.lock import not_writable
from motionloom.store.records import Entry, origin_from
from motionloom.store.remote.object_store import FileStore, ObjectStore
from motionloom.store.settings import ImportSettings
from motionloom.store.trash import move_to_trash

if TYPE_CHECKING:
    from motionloom.store.store import Store

BATCH_ROWS, BATCH_SECONDS = 64, 0.5  # seconds of work that are lost if the process is killed
_WORTH_A_WORKER = (
    2_000_000  # bytes of files per worker process, because starting a process takes time
)
_USUAL_HEIGHTS = (0.5, 4.0)  # meters; the height of other bodies is reported


@dataclass(frozen=True)
class Failure:
    """A file that could not be imported, with the reason.

    Examples
    --------
    >>> from motionloom.store import Failure
    >>> Failure("broken.bvh", "line 3: a number expected")
    Failure(file='broken.bvh', reason='line 3: a number expected')
    """

    file: str
    reason: str


@dataclass(frozen=True)
class ImportReport:
    """Result of an import.

    `added` counts new and changed motions (the changed ones are also in `replaced`), and `skipped`
    counts unchanged ones. `frames` and `seconds` are totals of the added motions. `left_out`
    counts, by suffix, motion capture files that cannot be stored in a library, such as C3D files.
    `carriers` counts added motions with joints above the hips, by the names of these joints. Such
    joints are merged into the hips. `unusual_heights` contains the height in meters of added
    motions whose body is shorter than 0.5 m or taller than 4 m, so their unit may be wrong.

    Examples
    --------
    >>> from motionloom.store import ImportReport
    >>> print(ImportReport(added=2, skipped=0, failed=(), frames=60, seconds=2.0))
    2 added, 0 skipped, 0 failed: 60 frames, 2.0 s of motion
    """

    added: int
    skipped: int
    failed: tuple[Failure, ...]
    frames: int
    seconds: float
    replaced: int = 0
    unmatched_labels: tuple[str, ...] = ()
    elapsed_seconds: float = 0.0
    left_out: Mapping[str, int] = field(default_factory=dict)
    carriers: Mapping[str, int] = field(default_factory=dict)
    unusual_heights: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        text = f"{self.added} added, {self.skipped} skipped, {len(self.failed)} failed"
        return f"{text}: {self.frames} frames, {self.seconds:.1f} s of motion"


def import_files(
    library: Store,
    paths: Sequence[str | Path],
    settings: ImportSettings,
    *,
    present: Collection[str],
    progress: Progress | None,
) -> ImportReport:
    """Import `paths` while the caller holds the writer lock. See `Store.add`.

    `present` lists the existing frame files.
    """
    start = time.monotonic()
    reader, files, fps = settings.reader_options(), library.files, library.fps
    sources, unreadable = find_sources(paths)
    labeled = labeling(settings.labels, sources, columns=settings.label_columns)
    tasks = _tasks(sources, library.catalogue, present)
    options = json.dumps({"fps": fps, **reader}, sort_keys=True)
    work = partial(
        ingest, files=files, fps=fps, reader=reader, options=options, force=settings.force
    )
    batch = _Batch(files, library.catalogue, labeled)
    failures = [Failure(folder, reason) for folder, reason in unreadable]
    if not all(task.existing for task in tasks):
        _load_readers(sources)
    workers = _useful_workers(sources) if settings.workers is None else settings.workers
    count = files.workers(workers)
    try:
        with parallel.executor(count, tasks=len(tasks)) as pool:
            for done in _in_order(parallel.completed(work, tasks, pool), tasks):
                outcome = done.result or Outcome(failure=failure_reason(done.error))
                if outcome.write_error:
                    raise LibraryError(
                        f"{library.path}: cannot write to this library: {outcome.write_error}. "
                        "Motions added so far are saved. Run the same import again to resume it"
                    )
                shown = done.item.source.shown
                failures += [Failure(f"{shown}/{t}", why) for t, why in outcome.failed_takes]
                if outcome.failure:
                    failures.append(Failure(shown, outcome.failure))
                else:
                    batch.add(done.item, outcome)
                if progress is not None:
                    progress(1)
    finally:
        batch.flush()
    return ImportReport(
        added=batch.added,
        skipped=batch.skipped,
        failed=tuple(sorted(failures, key=lambda failure: failure.file)),
        frames=batch.frames,
        seconds=batch.seconds,
        replaced=batch.replaced,
        unmatched_labels=labeled.unmatched,
        carriers=dict(batch.carriers),
        unusual_heights=batch.unusual_heights,
        elapsed_seconds=time.monotonic() - start,
        left_out=left_out(paths),
    )


def import_motion(
    library: Store, motion: Motion, name: str, *, labels: Iterable[str] | None, replace: bool
) -> None:
    """Add a motion from memory. See `Store.add_motion`."""
    check_name(name)
    if len(motion) == 0:
        raise InvalidInput(f"motion {name!r} has no frames")
    given = None if labels is None else {name: checked_labels(labels)}
    plausible_rate(motion.fps)
    motion = hips_as_root(motion)
    if library.fps is not None:
        motion = motion.resample(library.fps)
    with library.writing():
        existing = library.catalogue.entry(name)
        if existing is not None and not replace:
            if existing.digest == table_digest(frame_table(motion)):
                library.catalogue.put(labels=given)
                return
            raise LibraryError(
                f"{library.path}: there is already another motion called {name!r}; choose "
                "another name, or replace it"
            )
        try:
            entry, skeleton = new_entry(
                motion, name, library.files, source="", source_hash="", options="{}"
            )
            if not library.files.remote:
                sync_folder(library.files.local(FOLDER))
        except OSError as error:
            raise not_writable(library.path, error) from None
        _remove_unlisted(library, entry)
        entry, skeleton = StoredSkeletons(library.catalogue).adopt(entry, skeleton)
        old = library.catalogue.put([entry], skeletons={entry.skeleton: skeleton}, labels=given)
        remove_unused(library, old)


def check_name(name: str) -> None:
    """Raise `InvalidInput` if a name is not valid for a motion."""
    if not name or not name.isprintable():
        raise InvalidInput(f"name must be a printable string; got {name!r}")


def rename_motion(library: Store, entry: Entry, name: str) -> None:
    """Store a motion under another name, which is also written to its frame file."""
    try:
        stored, skeleton = new_entry(
            library[entry.name], name, library.files,
            source=entry.source, source_hash=entry.source_hash, options=entry.options,
        )  # fmt: skip
        if not library.files.remote:
            sync_folder(library.files.local(FOLDER))
    except OSError as error:
        raise not_writable(library.path, error) from None
    _remove_unlisted(library, stored)
    stored, skeleton = StoredSkeletons(library.catalogue).adopt(stored, skeleton)
    old = library.catalogue.put(
        [stored], skeletons={stored.skeleton: skeleton}, remove=[entry.name],
        rename={entry.name: name},
    )  # fmt: skip
    remove_unused(library, old)


def sweep(library: Store) -> set[str]:
    """Return the frame files in use, and move partial files to the trash.

    Raises
    ------
    LibraryError
        If the catalogue lists no motions although there are frame files, so it was lost.
    """
    files, catalogue = library.files, library.catalogue
    needed = {file for (file,) in catalogue.rows("SELECT file FROM motions")}
    there = frame_files(files)
    partial = {
        name for name in there if name.startswith(".")
    }  # never complete, so no motion is lost
    remove_files(files, sorted(partial))
    there -= partial
    if not needed and there:
        raise LibraryError(f"{library.path}: {recovery_advice(library.path, len(there))}")
    return there & needed


def frame_files(files: FileStore) -> set[str]:
    """Return the names of all existing frame files."""
    if isinstance(files, ObjectStore):
        return {Path(name).name for name in files.names(FOLDER)}
    folder = files.local(FOLDER)
    return set(os.listdir(folder)) if folder.is_dir() else set()


@contextmanager
def interruptible(library: Store) -> Iterator[None]:
    """Remove files that an import wrote but did not list.

    After an error such as a full disk, they are deleted; files of a worker that was killed before
    it could report them are moved to the trash. Nothing is removed if the catalogue has been
    replaced by another.
    """
    files, catalogue = library.files, library.catalogue
    before, opened = frame_files(files), catalogue.identity()

    def end(*, trash: bool) -> None:
        listed = {file for (file,) in catalogue.rows("SELECT file FROM motions")}
        if catalogue.identity() == opened:
            remove_files(files, sorted(frame_files(files) - before - listed), trash=trash)

    try:
        yield
    except MotionloomError:
        end(trash=False)
        raise
    end(trash=True)


def _remove_unlisted(library: Store, entry: Entry) -> None:
    """Remove the frame file of a new entry if the change fails, unless a motion uses it."""

    def remove() -> None:
        if not library.catalogue.rows("SELECT 1 FROM motions WHERE file = ?", (entry.file,)):
            remove_files(library.files, [entry.file])

    library.catalogue.at_end(remove, committed=False)


def remove_unused(library: Store, names: Sequence[str]) -> None:
    """Move frame files to the trash once the change that replaced them is committed."""
    library.catalogue.at_end(lambda: remove_files(library.files, names))


def remove_files(files: FileStore, names: Sequence[str], *, trash: bool = True) -> None:
    """Move frame files to the trash, or delete them. Files that cannot be moved are kept."""
    places = [f"{FOLDER}/{name}" for name in names]
    if isinstance(files, ObjectStore):
        files.remove(places, trash=trash)
    elif trash:
        move_to_trash(files.root, places)
    else:
        for place in places:
            with suppress(OSError, LibraryError):
                os.unlink(files.local(place))


def _in_order(
    results: Iterable[parallel.TaskResult[ImportTask, Outcome]], tasks: Sequence[ImportTask]
) -> Iterator[parallel.TaskResult[ImportTask, Outcome]]:
    """Yield results in task order, so that the stored skeletons do not depend on timing."""
    waiting: dict[int, parallel.TaskResult[ImportTask, Outcome]] = {}
    upcoming = iter(tasks)
    following = next(upcoming, None)
    for done in results:
        waiting[id(done.item)] = done
        while following is not None and id(following) in waiting:
            yield waiting.pop(id(following))
            following = next(upcoming, None)
    yield from waiting.values()


class _Batch:
    """Rows that are committed to the catalogue together."""

    def __init__(self, files: FileStore, catalogue: Catalogue, labeled: Labeling) -> None:
        self.files, self.catalogue = files, catalogue
        self.wanted = labeled.by_path
        self.held = catalogue.labels()
        self.stored = StoredSkeletons(catalogue)
        self.added = self.replaced = self.skipped = self.frames = 0
        self._durations: list[float] = []
        self.carriers: Counter[str] = Counter()
        self.unusual_heights: dict[str, float] = {}
        self._clear()

    def add(self, task: ImportTask, outcome: Outcome) -> None:
        names = []
        if not outcome.entries and not outcome.failed_takes:
            self.skipped += len(task.existing)
            for existing in task.existing:
                names.append(existing.name)
                if existing.source != task.source.path and not os.path.exists(existing.source):
                    self.entries.append(replaced(existing, source=task.source.path))  # moved
        replaced_names = {entry.name for entry in task.existing}
        for new, data in outcome.entries:
            entry, skeleton = self.stored.adopt(new, data)
            self.added += 1
            self.replaced += entry.name in replaced_names
            self.frames += entry.frames
            self._durations.append(entry.seconds)
            self.entries.append(entry)
            carrier = origin_from(entry).carrier
            if carrier is not None:
                self.carriers[", ".join(carrier.names)] += 1
            self.skeletons[entry.skeleton] = skeleton
            height = self.stored.height(entry.skeleton)
            if height is not None and not _USUAL_HEIGHTS[0] <= height <= _USUAL_HEIGHTS[1]:
                self.unusual_heights[entry.name] = height
            names.append(entry.name)
        labels = self.wanted.get(task.source.path)
        for name in names:
            if labels is not None and labels != self.held.get(name):
                self.labels[name] = labels
        if self.size >= BATCH_ROWS or time.monotonic() - self.since >= BATCH_SECONDS:
            self.flush()

    def flush(self) -> None:
        if self.size:
            if self.entries and not isinstance(self.files, ObjectStore):
                sync_folder(self.files.local(FOLDER))
            old = self.catalogue.put(self.entries, skeletons=self.skeletons, labels=self.labels)
            remove_files(self.files, old)
        self._clear()

    @property
    def seconds(self) -> float:
        return math.fsum(self._durations)  # independent of the order of files

    @property
    def size(self) -> int:
        return len(self.entries) + len(self.labels)

    def _clear(self) -> None:
        self.entries: list[Entry] = []
        self.skeletons: dict[str, str] = {}
        self.labels: dict[str, tuple[str, ...]] = {}
        self.since = time.monotonic()


def _tasks(
    sources: Sequence[SourceFile], catalogue: Catalogue, present: Collection[str]
) -> list[ImportTask]:
    entries = entries_by_file(catalogue.entries())

    def same(source: SourceFile, name: str) -> bool:
        try:
            stored = entries.get(name, [])
            return bool(stored) and stored[0].source_hash == content_hash(source.shown)
        except OSError:
            return False

    sources_by_name = {name: stored[0].source for name, stored in entries.items()}
    names = assign_names(sources, sources_by_name, same)
    here = os.getcwd()  # workers of a cluster run in other folders
    existing = [tuple(entries.get(names[source.path], ())) for source in sources]
    return [
        ImportTask(
            source, names[source.path], stored, here,
            any(entry.file not in present for entry in stored),
        )
        for source, stored in zip(sources, existing, strict=True)
    ]  # fmt: skip


def _load_readers(sources: Sequence[SourceFile]) -> None:
    """Import the readers before workers are forked, so that each worker inherits them."""
    for suffix in {Path(source.path).suffix.lower() for source in sources}:
        importlib.import_module(FORMATS[suffix].module)


def _useful_workers(sources: Sequence[SourceFile]) -> int:
    size = 0
    for source in sources:
        try:
            size += os.path.getsize(source.shown)
        except OSError:
            pass  # the task reports it
    return max(1, min(parallel.available_workers(), size // _WORTH_A_WORKER))
