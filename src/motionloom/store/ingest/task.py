"""Ingest task: import of one file, run by a worker.

Hash the bytes, stop if the library has them, else read, resample and write the frames. Problems
with the file are returned, not raised; the catalogue is written by the process that holds the
writer lock.

Skeletons that differ by rounding only are stored as one (`StoredSkeletons`): programs write the
bones of one performer anew in every take, with the rounding of that take, so their offsets differ
by fractions of a millimeter. Such a take is stored with the skeleton that the library has already;
its frames are not changed.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace
from pathlib import Path

from motionloom.errors import MotionFormatError, MotionloomError
from motionloom.files import check_regular
from motionloom.formats import load
from motionloom.motion import Motion
from motionloom.store.catalogue import Catalogue
from motionloom.store.frames import (
    FOLDER,
    FrameDescription,
    FrameFile,
    is_whole,
    write_frames,
)
from motionloom.store.ingest.sources import SourceFile, companions
from motionloom.store.records import Entry, skeleton_from, skeleton_json
from motionloom.store.remote.object_store import FileStore, ObjectStoreError


@dataclass(frozen=True)
class ImportTask:
    """A file, the name of its motion, and the entry of the library with that name."""

    source: SourceFile
    name: str
    known: Entry | None
    folder: str = ""  # that the path is relative to
    missing: bool = False  # whether `known` has no frames, or joints above the hips: read again

    @property
    def file(self) -> str:
        """Absolute path, as the task may run in another folder."""
        return os.path.join(self.folder, self.source.shown)


@dataclass(frozen=True)
class Outcome:
    """Result of a task: an entry, nothing new, or a failure."""

    entry: Entry | None = None  # None: unchanged
    skeleton: str = ""  # as JSON
    failure: str = ""
    write_error: str = ""  # why the library cannot be written to


def ingest(
    task: ImportTask,
    *,
    files: FileStore,
    fps: float | None,
    reader: dict,
    options: str,
    force: bool,
) -> Outcome:
    """Run the task; `options` (JSON) is all that determines the result besides the file."""
    source, known, file = task.source, task.known, task.file
    try:
        before = _state(file)
        content = content_hash(file)
        if known is not None and not force:
            same = (known.source_hash, known.options) == (content, options)
            if same and not task.missing and _is_there(known, files):
                return Outcome()
        motion = load(file, **reader)
        if _state(file) != before:
            return Outcome(failure="the file changed while it was being read; import it again")
        if len(motion) == 0:
            return Outcome(failure="holds no frames")
        if fps is not None:
            motion = motion.resample(fps)
    except Exception as error:
        return Outcome(failure=failure_reason(error))
    try:
        entry, skeleton = new_entry(
            motion, task.name, files, source=source.path, source_hash=content, options=options
        )
    except ObjectStoreError as error:
        return Outcome(write_error=str(error))
    except OSError as error:
        return Outcome(write_error=error.strerror or str(error))
    return Outcome(entry, skeleton)


def new_entry(
    motion: Motion, name: str, files: FileStore, *, source: str, source_hash: str, options: str
) -> tuple[Entry, str]:
    """Write the frames of a motion; returns its entry, and its skeleton as JSON."""
    told = FrameDescription.of(
        motion, name, source=source, source_hash=source_hash, options=options
    )
    stored = write_frames(motion, told, files)
    return described_entry(told, stored, motion.skeleton.key), told.skeleton


def described_entry(told: FrameDescription, stored: FrameFile, skeleton: str) -> Entry:
    """The entry of the motion that a frame file describes."""
    return Entry(
        name=told.name,
        file=stored.file,
        digest=stored.digest,
        source=told.source,
        source_hash=told.source_hash,
        options=told.options,
        frames=told.frames,
        fps=told.fps,
        skeleton=skeleton,
        origin=told.origin,
    )


def _is_there(known: Entry, files: FileStore) -> bool:
    # The objects of a store were listed before the tasks were submitted.
    return files.remote or is_whole(files.local(f"{FOLDER}/{known.file}"), frames=known.frames)


def failure_reason(error: Exception | None) -> str:
    """Message for a file whose import raised `error`."""
    if isinstance(error, MotionFormatError):
        return error.problem if error.line is None else f"line {error.line}: {error.problem}"
    if isinstance(error, MotionloomError):
        return str(error)
    if isinstance(error, OSError):
        return error.strerror or str(error)
    if isinstance(error, MemoryError):
        return "too large for the memory of this machine"
    return f"unexpected {type(error).__name__}: {error}"


def content_hash(path: str) -> str:
    """Digest of the bytes of a file and of those its reader reads with it."""
    digest = hashlib.blake2b(digest_size=16)
    for part in (Path(path), *companions(path)):
        check_regular(part)
        with open(part, "rb") as file:
            digest.update(hashlib.file_digest(file, hashlib.blake2b).digest())
    return digest.hexdigest()


def _state(path: str) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns


class StoredSkeletons:
    """The skeletons of a library, by key, while motions are added to it."""

    def __init__(self, catalogue: Catalogue) -> None:
        rows = catalogue.rows("SELECT key, data FROM skeletons ORDER BY key")
        found = {key: skeleton_from(data) for key, data in rows}
        self._stored = {key: skeleton for key, skeleton in found.items() if skeleton is not None}
        self._same: dict[str, str] = {}  # key of a skeleton to that of the one stored for it

    def adopt(self, entry: Entry, data: str) -> tuple[Entry, str]:
        """The entry with a stored skeleton of the same body, if there is one; and its JSON."""
        key = self._same.get(entry.skeleton)
        if key is None:
            skeleton = self._stored.get(entry.skeleton) or skeleton_from(data)
            if skeleton is None:
                return entry, data
            self._stored.setdefault(entry.skeleton, skeleton)
            # A library may hold several of one body: the first one counts.
            stored = self._stored.items()
            key = next(key for key, other in stored if other.is_same_body(skeleton))
            self._same[entry.skeleton] = key
        if key == entry.skeleton:
            return entry, data
        return replace(entry, skeleton=key), skeleton_json(self._stored[key])
