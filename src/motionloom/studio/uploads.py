"""Files on their way into the library: sent by the page, kept aside, imported together.

They lie in ``LIB/incoming/SERVER/BATCH``, under the names of the dropped files and folders,
until `Batch.add_to` has imported them with the same readers as ``motionloom import``. Nothing
here trusts what is sent: every part of a name is looked at, every byte is counted, links are
never followed, and a server that was killed leaves only files that the next one removes.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import threading
from collections.abc import Callable
from contextlib import ExitStack
from datetime import date
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, BinaryIO

from motionloom.errors import InvalidInput, LibraryError
from motionloom.formats import MOTION_SUFFIXES
from motionloom.store.ingest.sources import is_companion
from motionloom.store.lock import writer_lock

if TYPE_CHECKING:
    from motionloom.library import Library

FOLDER = "incoming"
LARGEST_FILE = 512 << 20  # bytes; an hour of a 60-joint BVH at 120 Hz is about this long
LARGEST_BATCH = 8 << 30
MOST_FILES = 20_000  # of one batch
MOST_BATCHES = 16  # at once
# A USD file can name other files, of this machine too, and USD reads them.
_NOT_SENT = (".usd", ".usda", ".usdc")
_LONGEST_PART, _LONGEST_NAME, _DEEPEST = 200, 1000, 24


class Incoming:
    """The place for what is sent to one server.

    Parameters
    ----------
    library : Path
        The library's folder.
    """

    def __init__(self, library: Path) -> None:
        self._root = library / FOLDER
        self._batches: dict[str, Batch] = {}
        self._lock = threading.Lock()
        self._held = ExitStack()
        self._place: Path | None = None

    def begin(self) -> Batch:
        """A new, empty batch."""
        with self._lock:
            if len(self._batches) >= MOST_BATCHES:
                raise InvalidInput(
                    f"{MOST_BATCHES} imports are under way; wait for one to end, or stop it"
                )
            key = secrets.token_urlsafe(12)
            folder = self._own_place() / f"batch-{key}"
            _made(folder)
            self._batches[key] = Batch(key, folder)
            return self._batches[key]

    def __getitem__(self, key: str) -> Batch:
        with self._lock:
            if key not in self._batches:
                raise LibraryError(f"no import {key[:40]!r} is under way; begin one first")
            return self._batches[key]

    def take(self, key: str) -> Batch:
        """A batch that is complete: nothing more can be sent to it. Remove it when done."""
        batch = self[key]
        with self._lock:
            self._batches.pop(key, None)
        return batch

    def close(self) -> None:
        """Remove everything that was not imported."""
        with self._lock:
            self._batches.clear()
            self._held.close()  # first: some systems do not remove a file that is open
            if self._place is not None:
                shutil.rmtree(self._place, ignore_errors=True)
                self._place = None
        try:
            self._root.rmdir()  # if no other server uses it
        except OSError:
            pass

    def _own_place(self) -> Path:
        """Folder of this server, made at the first use; what others have left is removed then."""
        if self._place is None:
            _made(self._root, exist_ok=True)
            for other in self._root.iterdir():
                _remove_left_over(other)
            place = self._root / secrets.token_hex(6)
            _made(place)
            self._held.enter_context(writer_lock(place, timeout=0.0))
            self._place = place
        return self._place


class Batch:
    """Some files that are imported together; made by `Incoming.begin`."""

    def __init__(self, key: str, folder: Path) -> None:
        self.key = key
        # Where names clash, motions are told apart by their folders: a date says something.
        self.folder = folder / date.today().isoformat()
        _made(self.folder)
        self.files = self.motions = self.size = 0
        self._lock = threading.Lock()

    def open(self, name: str) -> Arriving:
        """A file to write what arrives to; `name` may have folders, with forward slashes."""
        path = self.folder.joinpath(*checked_name(name).parts)
        with self._lock:
            if self.files >= MOST_FILES:
                raise InvalidInput(f"at most {MOST_FILES} files in one import")
            self.files += 1
            self.motions += not is_companion(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
            handle = os.open(path, flags | getattr(os, "O_BINARY", 0), 0o600)
        except OSError as error:
            self.uncount(path)
            raise _refused(name, error) from None
        return Arriving(self, name, path, os.fdopen(handle, "wb"))

    def uncount(self, path: Path, size: int = 0) -> None:
        """A file of which `size` bytes have come, and no more will."""
        with self._lock:
            self.size -= size
            self.files -= 1
            self.motions -= not is_companion(path)

    def count(self, size: int) -> None:
        """Add to the bytes that have arrived."""
        with self._lock:
            self.size += size
            if self.size > LARGEST_BATCH:
                raise InvalidInput(f"one import may have {LARGEST_BATCH >> 30} GB; split it")

    def add_to(
        self, library: Library, *, by_folder: bool, progress: Callable[[int], None]
    ) -> dict[str, Any]:
        """Import the files; what ``motionloom import --json`` tells, and the motions' names."""
        report = library.add(
            self.folder,
            labels="folder" if by_folder else None,
            workers=1,  # processes forked from a server with threads may hang
            progress=progress,
        )
        place = os.path.realpath(self.folder)
        inside = [e.name for e in library.entries() if e.source.startswith(place + os.sep)]
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
            "names": inside,
        }

    def remove(self) -> None:
        """Remove the files from the disk."""
        shutil.rmtree(self.folder.parent, ignore_errors=True)

    def _shown(self, text: str) -> str:
        """Words about a file as the sender knows it."""
        for place in (str(self.folder), os.path.realpath(self.folder)):
            text = text.replace(place + os.sep, "")
        return text


class Arriving:
    """One file while it is being sent. Whole once `done`, gone if that never comes."""

    def __init__(self, batch: Batch, name: str, path: Path, file: BinaryIO) -> None:
        self._batch, self._name, self._path, self._file = batch, name, path, file
        self._size = self._counted = 0
        self._whole = False

    def __enter__(self) -> Arriving:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        if not self._whole:
            self._path.unlink(missing_ok=True)
            self._batch.uncount(self._path, self._counted)

    def write(self, part: bytes) -> None:
        """The next bytes."""
        self._size += len(part)
        if self._size > LARGEST_FILE:
            raise InvalidInput(
                f"{self._name}: a file may have {LARGEST_FILE >> 20} MB here; "
                "use motionloom import for larger ones"
            )
        self._counted += len(part)
        self._batch.count(len(part))
        try:
            self._file.write(part)
        except OSError as error:
            raise _refused(self._name, error) from None

    def done(self) -> int:
        """All has come; how many bytes."""
        try:
            self._file.flush()
        except OSError as error:
            raise _refused(self._name, error) from None
        self._whole = True
        return self._size


def checked_name(name: str) -> PurePosixPath:
    """A file's name as a path below the place for it.

    Raises
    ------
    InvalidInput
        If it would lead elsewhere, is no name that every system can hold, or is of a kind
        of file that is not imported.

    Examples
    --------
    >>> checked_name("kicks/high.bvh").parts
    ('kicks', 'high.bvh')
    """
    shown = repr(name[:80])
    parts = name.split("/")
    if not name or len(name) > _LONGEST_NAME or len(parts) > _DEEPEST:
        raise InvalidInput(
            f"the file name {shown} is too long: at most {_LONGEST_NAME} characters and "
            f"{_DEEPEST} folders"
        )
    for part in parts:
        if part in ("", ".", "..") or set(part) & set('\\:*?"<>|') or not part.isprintable():
            raise InvalidInput(f"{shown} is no name for a file: look at {part[:40]!r}")
        if part.startswith(".") or part.endswith((".", " ")):
            raise InvalidInput(f"{shown}: hidden files are not imported, nor names with an odd end")
        if len(os.fsencode(part)) > _LONGEST_PART:
            raise InvalidInput(f"{shown}: {part[:40]!r}... is too long for a file name")
    path = PurePosixPath(*parts)
    suffix = path.suffix.lower()
    if suffix in _NOT_SENT:
        raise InvalidInput(
            f"{shown}: USD files may refer to others and are not taken here; "
            "use motionloom import LIB FILE"
        )
    if suffix not in MOTION_SUFFIXES and not is_companion(path):
        known = ", ".join(kind for kind in MOTION_SUFFIXES if kind not in _NOT_SENT)
        raise InvalidInput(f"{shown}: one of {known} expected")
    return path


def _made(folder: Path, *, exist_ok: bool = False) -> None:
    try:
        folder.mkdir(mode=0o700, exist_ok=exist_ok)
        if folder.is_symlink():
            raise LibraryError(f"{folder} is a link; remove it")
    except OSError as error:
        raise LibraryError(f"{folder}: cannot be made: {error.strerror}") from None


def _remove_left_over(place: Path) -> None:
    """Remove the folder of a server that has ended, however it ended."""
    if place.is_symlink() or not place.is_dir():
        return
    try:
        with writer_lock(place, timeout=0.0):
            pass
    except LibraryError:
        return  # that server runs
    shutil.rmtree(place, ignore_errors=True)


def _refused(name: str, error: OSError) -> InvalidInput:
    if isinstance(error, FileExistsError):
        return InvalidInput(f"{name}: sent twice in one import")
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return InvalidInput(f"{name}: no room left on the disk of the library")
    return InvalidInput(f"{name}: cannot be written: {error.strerror}")
