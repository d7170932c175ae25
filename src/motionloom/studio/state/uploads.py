"""Uploaded files, stored temporarily and imported together.

Files are stored in ``LIB/incoming/SERVER/BATCH`` under their original names and folders until
`UploadBatch.add_to` imports them with the readers of ``motionloom import``. Input is not trusted:
every part of a name is checked, every byte is counted, and links are never followed. The next
server deletes files left behind by a killed server.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import date
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, BinaryIO

from motionloom.errors import InvalidInput, LibraryError
from motionloom.files import is_reserved, remove_tree
from motionloom.formats import MOTION_SUFFIXES
from motionloom.library import find_sources, is_companion, writer_lock

if TYPE_CHECKING:
    from motionloom.library import Library

FOLDER = "incoming"
LARGEST_FILE = 512 << 20  # bytes; about an hour of a 60-joint BVH at 120 Hz
LARGEST_BATCH = 8 << 30
MOST_FILES = 20_000  # per batch
MOST_BATCHES = 16  # at once
IDLE_SECONDS = 300.0  # time after which a batch without new data is deleted
# A USD file can reference other files on this machine, which the USD library would read.
_REFUSED = (".usd", ".usda", ".usdc")
_LONGEST_PART, _LONGEST_NAME, _DEEPEST = 200, 1000, 24


class Uploads:
    """Temporary storage for the files sent to one server.

    Parameters
    ----------
    library : Path
        Folder of the library.
    """

    def __init__(self, library: Path) -> None:
        self._root = library / FOLDER
        self._batches: dict[str, UploadBatch] = {}
        self._lock = threading.Lock()
        self._locks = ExitStack()
        self._folder: Path | None = None

    def begin(self) -> UploadBatch:
        """Start a new, empty batch; abandoned batches are deleted."""
        with self._lock:
            self._expire()
            if len(self._batches) >= MOST_BATCHES:
                raise InvalidInput(
                    f"{MOST_BATCHES} imports are in progress; wait for one to finish, or stop one "
                    f"(GET and DELETE /api/uploads). After {IDLE_SECONDS:g} s without data, an "
                    f"import is deleted"
                )
            key = secrets.token_urlsafe(12)
            folder = self._own_folder() / f"batch-{key}"
            _make_folder(folder)
            self._batches[key] = UploadBatch(key, folder)
            return self._batches[key]

    def batches(self) -> list[UploadBatch]:
        """Return the batches that are not imported yet, oldest first; delete abandoned ones."""
        with self._lock:
            self._expire()
            return list(self._batches.values())

    def _expire(self) -> None:
        for batch in [batch for batch in self._batches.values() if batch.idle > IDLE_SECONDS]:
            del self._batches[batch.key]
            batch.remove()

    def __getitem__(self, key: str) -> UploadBatch:
        with self._lock:
            if key not in self._batches:
                raise LibraryError(f"there is no import {key[:40]!r} in progress; start one first")
            return self._batches[key]

    def finish(self, key: str) -> UploadBatch:
        """Close a batch to further files and return it; call its `remove` when done."""
        batch = self[key]
        with self._lock:
            self._batches.pop(key, None)
        return batch

    def close(self) -> None:
        """Delete all uploaded files that were not imported."""
        with self._lock:
            self._batches.clear()
            self._locks.close()  # close first, because some systems cannot delete an open file
            if self._folder is not None:
                remove_tree(self._folder)
                self._folder = None
        try:
            self._root.rmdir()  # if no other server uses it
        except OSError:
            pass

    def _own_folder(self) -> Path:
        """Return this server's folder; on first use, create it and delete abandoned folders."""
        if self._folder is not None and not self._folder.is_dir():
            self._locks.close()  # the library was replaced on disk, and the folder went with it
            self._batches.clear()
            self._folder = None
        if self._folder is None:
            _make_folder(self._root, exist_ok=True)
            for other in self._root.iterdir():
                _remove_abandoned(other)
            folder = self._root / secrets.token_hex(6)
            _make_folder(folder)
            self._locks.enter_context(writer_lock(folder, timeout=0.0))
            self._folder = folder
        return self._folder


class UploadBatch:
    """Uploaded files that are imported together; created by `Uploads.begin`."""

    def __init__(self, key: str, folder: Path) -> None:
        self.key = key
        # Motions with the same name are distinguished by their folder; a date is more informative.
        self.folder = folder / date.today().isoformat()
        _make_folder(self.folder)
        self.files = self.motions = self.size = 0
        self._lock = threading.Lock()
        self._in_use = 0  # files being received, and imports
        self._used = time.monotonic()

    @property
    def idle(self) -> float:
        """Seconds since the last data arrived; 0 while a file is received or imported."""
        with self._lock:
            return 0.0 if self._in_use else time.monotonic() - self._used

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Keep the batch from expiring during the ``with`` block."""
        with self._lock:
            self._in_use += 1
        try:
            yield
        finally:
            with self._lock:
                self._in_use -= 1
                self._used = time.monotonic()

    def open(self, name: str) -> UploadedFile:
        """Open a new file of the batch; `name` may contain folders, with forward slashes."""
        path = self.folder.joinpath(*checked_name(name).parts)
        with self._lock:
            if self.files >= MOST_FILES:
                raise InvalidInput(f"one import may have at most {MOST_FILES} files; split it")
            self.files += 1
            self.motions += not is_companion(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
            handle = os.open(path, flags | getattr(os, "O_BINARY", 0), 0o600)
        except OSError as error:
            self.uncount(path)
            raise _write_error(name, error) from None
        return UploadedFile(self, name, path, os.fdopen(handle, "wb"))

    def uncount(self, path: Path, size: int = 0) -> None:
        """Subtract an incomplete file, of which `size` bytes were received, from the totals."""
        with self._lock:
            self.size -= size
            self.files -= 1
            self.motions -= not is_companion(path)

    def count(self, size: int) -> None:
        """Add to the number of received bytes; raise if the batch is too large."""
        with self._lock:
            self.size += size
            if self.size > LARGEST_BATCH:
                raise InvalidInput(
                    f"one import may have at most {LARGEST_BATCH >> 30} GB; split it"
                )

    def add_to(
        self, library: Library, *, by_folder: bool, progress: Callable[[int], None]
    ) -> dict[str, Any]:
        """Import the files; return the report of ``motionloom import --json``, and ``names``."""
        report = library.add(
            self.folder,
            labels=labels_of_folders(self.folder) if by_folder else None,
            workers=1,  # processes forked from a server with threads may hang
            progress=progress,
        )
        folder = os.path.realpath(self.folder)
        names = [e.name for e in library.entries() if e.source.startswith(folder + os.sep)]
        return {
            "added": report.added,
            "replaced": report.replaced,
            "skipped": report.skipped,
            "failed": [
                {"file": self._shown(bad.file), "reason": self._shown(bad.reason)}
                for bad in report.failed
            ],
            "frames": report.frames,
            "seconds": report.seconds,
            "names": names,
        }

    def remove(self) -> None:
        """Delete the files of the batch."""
        remove_tree(self.folder.parent)

    def _shown(self, text: str) -> str:
        """Replace temporary paths in a message with the original file names."""
        for folder in (str(self.folder), os.path.realpath(self.folder)):
            text = text.replace(folder + os.sep, "")
        return text


class UploadedFile:
    """A file that is being received; deleted on exit unless `done` was called."""

    def __init__(self, batch: UploadBatch, name: str, path: Path, file: BinaryIO) -> None:
        self._batch, self._name, self._path, self._file = batch, name, path, file
        self._size = self._counted = 0
        self._complete = False

    def __enter__(self) -> UploadedFile:
        self._use = self._batch.in_use()
        self._use.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._use.__exit__(None, None, None)
        if not self._complete:
            self._path.unlink(missing_ok=True)
            self._batch.uncount(self._path, self._counted)

    def write(self, part: bytes) -> None:
        """Append bytes to the file."""
        self._size += len(part)
        if self._size > LARGEST_FILE:
            raise InvalidInput(
                f"{self._name}: an uploaded file may have at most {LARGEST_FILE >> 20} MB; use "
                f"motionloom import for larger files"
            )
        self._counted += len(part)
        self._batch.count(len(part))
        try:
            self._file.write(part)
        except OSError as error:
            raise _write_error(self._name, error) from None

    def done(self) -> int:
        """Mark the file as complete and return its size in bytes."""
        try:
            self._file.flush()
        except OSError as error:
            raise _write_error(self._name, error) from None
        self._complete = True
        return self._size


def labels_of_folders(folder: Path) -> dict[str, tuple[str, ...]]:
    """Return labels for the files in a folder: the names of their folders below it.

    A folder that contains all files describes none of them, and a name without a letter is the
    number of a subject or a date, so neither becomes a label.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("cmu/kick/1.bvh", "cmu/kick/2.bvh", "cmu/007/3.bvh"):
    ...         file = Path(folder, name)
    ...         file.parent.mkdir(parents=True, exist_ok=True)
    ...         file.touch()
    ...     sorted(labels_of_folders(Path(folder)).values())
    [('kick',), ('kick',)]
    """
    root = Path(os.path.realpath(folder))
    sources, _ = find_sources([root])
    folders = {
        source.path: Path(source.path).relative_to(root).parts[:-1]
        for source in sources
        if Path(source.path).is_relative_to(root)
    }
    shared = set.intersection(*map(set, folders.values())) if folders else set()
    labels = {
        path: tuple(part for part in parts if part not in shared and re.search(r"[^\W\d_]", part))
        for path, parts in folders.items()
    }
    return {path: given for path, given in labels.items() if given}


def checked_name(name: str) -> PurePosixPath:
    """Return a file name as a relative path, after checking it.

    Raises
    ------
    InvalidInput
        If the name points outside the folder, is invalid on some system, or has an unsupported
        suffix.

    Examples
    --------
    >>> checked_name("kicks/high.bvh").parts
    ('kicks', 'high.bvh')
    """
    shown = repr(name[:80])
    parts = name.split("/")
    if not name or len(name) > _LONGEST_NAME or len(parts) > _DEEPEST:
        raise InvalidInput(
            f"the file name {shown} must have 1 to {_LONGEST_NAME} characters and at most "
            f"{_DEEPEST} levels"
        )
    for part in parts:
        if part in ("", ".", "..") or set(part) & set('\\:*?"<>|') or not part.isprintable():
            raise InvalidInput(f"{shown} is not a valid file name: {part[:40]!r} is not allowed")
        if is_reserved(part):
            raise InvalidInput(
                f"{shown}: {part[:40]!r} is reserved for a device on Windows; rename it"
            )
        if part.startswith(".") or part.endswith((".", " ")):
            raise InvalidInput(
                f"{shown}: hidden files and names that end in a period or space are not accepted"
            )
        if len(os.fsencode(part)) > _LONGEST_PART:
            raise InvalidInput(
                f"{shown}: {part[:40]!r}... is too long; use at most {_LONGEST_PART} bytes"
            )
    path = PurePosixPath(*parts)
    suffix = path.suffix.lower()
    if suffix in _REFUSED:
        raise InvalidInput(
            f"{shown}: USD files can refer to other files, so they cannot be uploaded; use "
            f"motionloom import LIB FILE"
        )
    if suffix not in MOTION_SUFFIXES and not is_companion(path):
        suffixes = ", ".join(kind for kind in MOTION_SUFFIXES if kind not in _REFUSED)
        raise InvalidInput(f"{shown}: the suffix must be one of {suffixes}")
    return path


def _make_folder(folder: Path, *, exist_ok: bool = False) -> None:
    try:
        folder.mkdir(mode=0o700, exist_ok=exist_ok)
        if folder.is_symlink():
            raise LibraryError(f"{folder} is a symbolic link; delete it")
    except OSError as error:
        raise LibraryError(f"the folder {folder} cannot be created: {error.strerror}") from None


def _remove_abandoned(folder: Path) -> None:
    """Delete the folder of a server that is no longer running."""
    if folder.is_symlink() or not folder.is_dir():
        return
    try:
        with writer_lock(folder, timeout=0.0):
            pass
    except LibraryError:
        return  # the server is still running
    remove_tree(folder)


def _write_error(name: str, error: OSError) -> InvalidInput:
    if isinstance(error, FileExistsError):
        return InvalidInput(f"{name} was uploaded twice in one import")
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return InvalidInput(f"{name} cannot be written: the disk of the library is full")
    return InvalidInput(f"{name} cannot be written: {error.strerror}")
