"""Artifact folders, which are written under a temporary name, committed and then immutable.

A folder is called ``STEM.VERSION``. In a library folder, a commit is one rename, and the caller
removes the earlier versions of that stem. In an object store, a commit is one catalogue
transaction, which records the objects that the files consist of and removes earlier versions.

A folder contains ``checks.json`` with the size, CRC-32 and page checksum of each file. Size and
pages are verified when a process first opens the folder (only the size for files above 512 MB),
because this takes a quarter of the time that a CRC would take. ``motionloom verify`` reads and
verifies everything. The user's cache records when a large folder was verified; for one day, it is
not verified again unless one of its files changes. Objects in a store have block checksums in the
catalogue, which are verified when the objects are fetched. Folders from earlier releases have no
checksums, or no page checksums; the CRC is verified if there is one.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import sqlite3
import stat
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath

from motionloom.checked_arrays import forget_mappings, page_checksum
from motionloom.configuration import user_cache
from motionloom.errors import LibraryError
from motionloom.files import (
    atomic_write,
    below,
    file_checksum,
    parse_json,
    plain_name,
    read_regular,
    remove_tree,
)
from motionloom.store.catalogue import Catalogue
from motionloom.store.frames import sync_folder
from motionloom.store.lock import not_writable
from motionloom.store.remote.cache import local_cache
from motionloom.store.remote.folder import POINTER, Folder, RemoteFolder, objects_of, uploaded
from motionloom.store.remote.object_store import ObjectStore
from motionloom.store.trash import move_to_trash

FOLDER = "derived"
CHECKS = "checks.json"
CHECKED_WHEN_READ = 1 << 29  # bytes; smaller files are verified completely when first read
_STAMPED = 1 << 22  # bytes; the verification of larger folders is recorded in the user's cache
_STAMP_SECONDS = 86_400.0  # how long that record is valid
_SETTLED = 2.0  # seconds since a file was written
_SCRATCH = ".part-"
_verified: dict[str, tuple[int, int]] = {}  # folders this process has verified: inode, time

Build = Callable[[Path, Folder | None], None]


@dataclass(frozen=True)
class LocalFolders:
    """Artifact folders on disk. `root` is absolute, because workers run in other folders."""

    root: Path

    def names(self) -> list[str]:
        """Return the names of all folders, latest last."""
        folders = []
        if self.root.is_symlink():
            below(self.root.parent, self.root.name)  # raises
        for path in self.root.glob("[!.]*/"):
            if path.is_symlink():
                continue
            with suppress(FileNotFoundError):  # removed meanwhile
                folders.append((path.stat().st_mtime_ns, path.name))
        return [name for _, name in sorted(folders)]

    def open(self, name: str) -> Path | None:
        """Return the folder, or None if it does not exist."""
        path = self._path(name)
        return path if path.is_dir() else None

    def size(self, name: str) -> int:
        """Return the total size of a folder's files, in bytes."""
        return sum(path.lstat().st_size for path in self._path(name).rglob("*") if path.is_file())

    def commit(self, stem: str, version: str, build: Build) -> list[str]:
        """Call ``build(folder, previous)`` to write the files of a version, then rename it.

        Returns the names of earlier versions, which the caller removes.
        """
        target = self._path(f"{stem}.{version}")
        try:
            self.root.mkdir(exist_ok=True)
            for left in self.root.glob(f"{_SCRATCH}*"):  # left by a killed process
                remove_tree(left)
            self.remove([target.name])  # damaged
            earlier = versions(self.names(), stem)
            scratch = Path(tempfile.mkdtemp(prefix=_SCRATCH, dir=self.root))
        except OSError as error:
            raise not_writable(self.root, error) from None
        try:
            build(scratch, self._previous(earlier))
            write_checks(scratch)
            _sync_files(scratch)
            mask = os.umask(0)
            os.umask(mask)
            scratch.chmod(
                0o777 & ~mask
            )  # mkdtemp folders are private, but readers may be other users
            os.rename(scratch, target)
            sync_folder(self.root)
        except OSError as error:
            raise not_writable(self.root, error) from error
        except sqlite3.OperationalError as error:  # an artifact may be an SQLite file
            raise not_writable(self.root, OSError(str(error))) from error
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        return earlier

    def _previous(self, names: Sequence[str]) -> Path | None:
        """Return the latest version, unless it contains anything but files and folders."""
        try:
            previous = self.open(names[-1]) if names else None
            if previous is not None:
                check_plain(previous)
            return previous
        except LibraryError:
            return None

    def _path(self, name: str) -> Path:
        return below(self.root.parent, f"{self.root.name}/{name}")

    def remove(self, names: Iterable[str], *, trash: bool = False) -> None:
        """Remove folders or move them to the trash. Readers never see partial folders."""
        if trash:
            move_to_trash(self.root.parent, [f"{self.root.name}/{name}" for name in names])
            return
        for name in names:
            hidden = self._path(f"{_SCRATCH}{secrets.token_hex(6)}")
            with suppress(OSError, LibraryError):  # on Windows, a reader may have it open
                os.rename(self._path(name), hidden)
                remove_tree(hidden)


@dataclass(frozen=True)
class RemoteFolders:
    """Artifact folders in an object store, recorded in the catalogue.

    They are built in a folder on this machine. Files that workers write directly to the object
    store are represented there by pointers (see `motionloom.store.remote.folder.point_to`).
    """

    files: ObjectStore
    catalogue: Catalogue

    def names(self) -> list[str]:
        """Return the names of all folders."""
        return self.catalogue.artifact_folders()

    def open(self, name: str) -> RemoteFolder | None:
        """Return the folder, or None if it does not exist."""
        files = self.catalogue.artifact_files(name)
        return RemoteFolder(self.files, name, files) if files else None

    def size(self, name: str) -> int:
        """Return the total size of a folder's files, in bytes."""
        files = self.catalogue.artifact_files(name)
        return sum(piece.length for pieces in files.values() for piece in pieces)

    def commit(self, stem: str, version: str, build: Build) -> list[str]:
        """Commit a version like `LocalFolders.commit`, and delete earlier versions."""
        name, place = f"{stem}.{version}", f"{FOLDER}/{stem}"
        earlier = {
            other: self.catalogue.artifact_files(other)
            for other in versions(self.names(), stem)
            if other != name  # damaged
        }
        used = objects_of(earlier.values())
        self.files.remove(sorted(set(self.files.names(place)) - used))  # left by a killed build
        previous = next((RemoteFolder(self.files, *version) for version in earlier.items()), None)
        scratch = local_cache().scratch()
        try:
            folder = scratch / PurePosixPath(place).name  # workers also write to this name
            folder.mkdir()
            build(folder, previous)
            write_checks(folder)
            files = uploaded(folder, self.files, place)
            self.catalogue.put_artifact_files(name, files, instead_of=[name, *earlier])
        except OSError as error:
            raise LibraryError(
                f"{scratch.parent}: cannot write to this folder: {error.strerror or error}; set "
                "MOTIONLOOM_CACHE to another folder"
            ) from error
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        unused = sorted(used - objects_of([files]))
        self.catalogue.at_end(lambda: self.files.remove(unused))
        return []

    def remove(self, names: Iterable[str], *, trash: bool = False) -> None:
        """Remove folders; there is no trash for artifacts in an object store."""
        for name in names:
            unused = sorted(objects_of([self.catalogue.artifact_files(name)]))
            self.catalogue.put_artifact_files(name, {}, instead_of=[name])
            self.catalogue.at_end(partial(self.files.remove, unused))


def versions(names: Iterable[str], stem: str) -> list[str]:
    """Return all folders with a given stem.

    Examples
    --------
    >>> versions(["kick.1", "kick.low.2", "kick.3"], "kick")
    ['kick.1', 'kick.3']
    """
    return [name for name in names if name.rpartition(".")[0] == stem]


def left_over(catalogue: Catalogue, folders: LocalFolders | RemoteFolders) -> list[str]:
    """Return versions of artifacts saved under a name that are not, or no longer, current.

    An interrupted change leaves them. Their version contains a hyphen.
    """
    current = {f"{stem}.{version}" for stem, version in catalogue.artifact_versions().items()}
    return [
        name
        for name in folders.names()
        if "-" in name.rpartition(".")[2] and name.count(".") > 1 and name not in current
    ]


def check_plain(folder: Path) -> None:
    """Raise `LibraryError` if a folder contains links, pipes, sockets or devices."""
    for path in (folder, *folder.rglob("*")):
        mode = path.lstat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise LibraryError(f"{path}: expected a file, found a link, a pipe or a device")


def write_checks(folder: Path) -> None:
    """Write ``checks.json``: size in bytes, CRC-32 and page checksum of each file.

    Files in an object store have null instead.
    """
    checks: dict[str, list[int] | None] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and name != CHECKS:
            if name.endswith(POINTER):  # its bytes are in the object store
                checks[name.removesuffix(POINTER)] = None
            else:
                checks[name] = [*file_checksum(path), page_checksum(path)[1]]
    with atomic_write(folder / CHECKS) as scratch:  # replaces a link instead of following it
        scratch.write_text(json.dumps(checks, sort_keys=True), encoding="utf-8")


def read_checks(folder: Folder) -> dict[str, tuple[int, ...] | None] | None:
    """Read ``checks.json``: two or three numbers per file, or None if it does not exist.

    Raises `LibraryError` if it is damaged.
    """
    try:
        content = parse_json(read_regular(folder / CHECKS))
        return {
            plain_name(name): None if check is None else (int(check[0]), *map(int, check[1:3]))
            for name, check in content.items()
        }
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, AttributeError, LookupError, ArithmeticError, OSError):
        raise LibraryError(f"{folder}/{CHECKS}: damaged") from None


def check_folder(folder: Folder, *, whole: bool = False) -> None:
    """Raise `LibraryError` if a file in an artifact folder does not match its checksum.

    A folder is checked once per process. `whole` checks it again, including large files and all
    CRCs.
    """
    key, state = _state(folder)
    if not whole and _verified.get(key) == state:
        return
    if isinstance(folder, Path):
        check_plain(folder)
    if whole and isinstance(folder, RemoteFolder):
        folder.drop_local()  # the objects themselves are verified as they are fetched
    checks = read_checks(folder)
    stamp = _stamp(folder, checks or {}) if isinstance(folder, Path) else None
    if stamp is not None and not whole and _is_recent(stamp):
        _verified[key] = state
        return
    forget_mappings()
    for name, expected in (checks or {}).items():
        if expected is None and not whole:
            continue
        try:
            path = below(folder, name) if isinstance(folder, Path) else folder / name
            if expected is None:
                continue
            actual = _found(path, expected, whole)
        except FileNotFoundError:
            raise LibraryError(f"{folder}/{name}: missing") from None
        if actual != expected:
            forget_mappings()  # Windows cannot remove a mapped file
            raise LibraryError(
                f"{folder}/{name}: damaged: wrong checksum ({actual[0]} bytes, expected "
                f"{expected[0]})"
            )
    _verified[key] = state
    if stamp is not None:
        with suppress(OSError):  # it will be verified again
            stamp.parent.mkdir(parents=True, exist_ok=True)
            for old in stamp.parent.iterdir():
                if not _is_recent(old):
                    old.unlink(missing_ok=True)
            stamp.touch()


def _found(path: Path, expected: tuple[int, ...], whole: bool) -> tuple[int, ...]:
    """Return the actual size and checksums of a file, or the `expected` ones where not verified."""
    if not whole and expected[0] > CHECKED_WHEN_READ:
        return path.stat().st_size, *expected[1:]
    if len(expected) < 3:
        return file_checksum(path)
    # Read the file before mapping it: if the disk cannot read a mapped page, the process is killed.
    crc = file_checksum(path)[1] if whole else expected[1]
    size, pages = page_checksum(path, keep=not whole)
    return size, crc, pages


def _stamp(folder: Path, checks: Mapping[str, tuple[int, ...] | None]) -> Path | None:
    """Return the cache file that records that these files were verified in their current state.

    Its name is a digest of their checksums, sizes, inodes and times. The result is None for small
    folders, which every process verifies; for missing files; and for new files, which could still
    change within the resolution of the clock.
    """
    facts, size, latest = [], 0, 0.0
    try:
        for name in sorted(checks):
            status = below(folder, name).stat()
            size, latest = size + status.st_size, max(latest, status.st_mtime, status.st_ctime)
            facts.append((status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns))
    except (OSError, LibraryError):
        return None
    if size < _STAMPED or not latest + _SETTLED < time.time():
        return None
    text = repr((str(folder.absolute()), sorted(checks.items()), facts))
    name = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()
    return user_cache() / "motionloom" / "verified" / name


def _is_recent(stamp: Path) -> bool:
    try:
        return 0.0 <= time.time() - stamp.lstat().st_mtime < _STAMP_SECONDS
    except OSError:
        return False


def _state(folder: Folder) -> tuple[str, tuple[int, int]]:
    if isinstance(folder, RemoteFolder):
        return f"{folder.store.address}/{folder.name}", (0, 0)
    status = folder.stat()
    return str(folder), (status.st_ino, status.st_mtime_ns)


def _sync_files(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            with open(path, "rb+") as file:
                os.fsync(file.fileno())
    sync_folder(folder)
