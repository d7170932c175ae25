"""Collections: artifacts to which workers add one file after another.

In a library folder, a file that exists is complete, because it is written under a temporary name
and then renamed. In an object store, only files that the catalogue lists are part of the
collection. A worker writes a file and returns its name, and the client commits the name. The next
build removes files that were not committed.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from motionloom.errors import LibraryError, MotionloomError
from motionloom.files import atomic_write, below, parse_json, read_regular, unpacked_bytes
from motionloom.store.artifacts.folders import FOLDER
from motionloom.store.catalogue import Catalogue
from motionloom.store.remote.folder import objects_of
from motionloom.store.remote.object_store import ObjectStore, Piece

_LONGEST = 1 << 24  # maximum size of a description, in bytes


@dataclass(frozen=True)
class WrittenFile:
    """File written by a worker, with its name, its location in the store, and its description."""

    name: str
    piece: Piece | None = None
    about: bytes = b""


@dataclass(frozen=True)
class LocalCollection:
    """Collection whose files are in a folder."""

    root: Path  # of the library; absolute, since workers of a cluster run in other folders
    name: str  # of the folder, relative to the library
    describe: Callable[[Path], dict]  # reads the description of a file from the file itself

    @property
    def path(self) -> Path:
        """Path of the folder. Raise `LibraryError` if it is, or is in, anything but a folder."""
        path = below(self.root, self.name)
        if path.exists() and not path.is_dir():
            raise LibraryError(f"{path}: expected a folder, found a file, a pipe or a device")
        return path

    def _file(self, name: str) -> Path:
        return below(self.root, f"{self.name}/{name}")

    def write(self, name: str, content: bytes, about: dict) -> WrittenFile:
        """Write a file. Called by workers."""
        with atomic_write(self._file(name)) as scratch, open(scratch, "wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        return WrittenFile(name)

    def commit(self, written: Iterable[WrittenFile]) -> None:
        """Do nothing, because files that exist are already committed."""

    def names(self) -> list[str]:
        """Return the names of all files, sorted."""
        # Files that are being written, or that a killed worker left, start with a dot; the lock has
        # no suffix.
        return sorted(path.name for path in self.path.glob("*.*") if path.name[0] != ".")

    def about(self, names: Iterable[str]) -> dict[str, dict]:
        """Return the descriptions of the given files."""
        return {name: self.describe(self._file(name)) for name in names}

    def read(
        self, name: str, decode: Callable[[bytes], Any], span: tuple[int, int] | None = None
    ) -> Any:
        """Return the decoded content of a file, or of the byte range `span` in it."""
        try:
            return decode(read_regular(self._file(name), span=span))
        except MotionloomError as error:
            raise LibraryError(
                f"{self.path / name}: {error}. Remove this file and rebuild the web"
            ) from None

    def check(self, name: str, decode: Callable[[bytes], Any]) -> Any:
        """Return the decoded content of a file; leave it in place even if it is damaged."""
        return self.read(name, decode)

    def fetch(self) -> None:
        """Do nothing, because all files are on this machine."""

    def remove(self, names: Iterable[str]) -> None:
        """Remove the given files."""
        for name in names:
            self._file(name).unlink(missing_ok=True)

    def sweep(self) -> None:
        """Remove leftovers of killed workers."""
        for scratch in self.path.glob(".*.part.*"):
            scratch.unlink(missing_ok=True)

    def size(self) -> int:
        """Return the total size of all files, in bytes."""
        return sum(self._file(name).stat().st_size for name in self.names())

    def state(self) -> Any:
        """Return a value that changes when files are added, or None if there is no collection."""
        try:
            return self.path.lstat().st_mtime_ns
        except FileNotFoundError:
            return None


@dataclass(frozen=True)
class RemoteCollection:
    """Collection whose files are in an object store and recorded in the catalogue."""

    files: ObjectStore
    folder: str
    catalogue: Catalogue | None = None  # workers have none

    def __getstate__(self) -> dict:
        return {"files": self.files, "folder": self.folder, "catalogue": None}

    def write(self, name: str, content: bytes, about: dict) -> WrittenFile:
        """Write a file to the object store. Called by workers."""
        piece = self.files.put(content, f"{FOLDER}/{self.folder}/{name}")
        return WrittenFile(name, piece, zlib.compress(json.dumps(about).encode()))

    def commit(self, written: Iterable[WrittenFile]) -> None:
        """Record files in the catalogue in one transaction. Called by the client."""
        every = [file for file in written if file.piece is not None]
        self._known.put_artifact_files(
            self.folder,
            {file.name: (file.piece,) for file in every if file.piece is not None},
            about={file.name: file.about for file in every},
        )

    def names(self) -> list[str]:
        """Return the names of all files, sorted."""
        query = "SELECT file FROM stored WHERE folder = ? ORDER BY file"
        return [name for (name,) in self._known.rows(query, (self.folder,))]

    def about(self, names: Iterable[str]) -> dict[str, dict]:
        """Return the descriptions of the given files."""
        described = self._known.artifact_descriptions(self.folder)
        return {name: parse_json(unpacked_bytes(described[name], _LONGEST)) for name in names}

    def read(
        self, name: str, decode: Callable[[bytes], Any], span: tuple[int, int] | None = None
    ) -> Any:
        """Return the decoded content of a file, or of the byte range `span` in it."""
        try:
            return self.check(name, lambda content: decode(content[slice(*(span or (None,)))]))
        except LibraryError as error:
            self.remove([name])
            raise LibraryError(f"{error}. The file was removed and must be rebuilt") from None

    def check(self, name: str, decode: Callable[[bytes], Any]) -> Any:
        """Return the decoded content of a file; leave it in place even if it is damaged."""
        piece = self._known.artifact_files(self.folder, name)[name][0]
        try:
            content = read_regular(self.files.local(piece.name))
            self.files.verify(piece, content)
            return decode(content)
        except FileNotFoundError:
            problem = "the file is missing"
        except LibraryError as error:
            problem = str(error)
        raise LibraryError(f"{self.files.address}/{piece.name}: {problem}")

    def fetch(self) -> None:
        """Copy all files to this machine."""
        files = self._known.artifact_files(self.folder)
        self.files.fetch(pieces[0].name for pieces in files.values())

    def remove(self, names: Iterable[str]) -> None:
        """Remove the given files."""
        files = self._known.artifact_files(self.folder)
        gone = {name: files[name] for name in names}
        self._known.put_artifact_files(self.folder, {}, remove=gone)
        self.files.remove(objects_of([gone]))

    def sweep(self) -> None:
        """Remove files that were written but never committed."""
        committed = objects_of([self._known.artifact_files(self.folder)])
        there = self.files.names(f"{FOLDER}/{self.folder}")
        self.files.remove(name for name in there if name not in committed)

    def size(self) -> int:
        """Return the total size of all files, in bytes."""
        files = self._known.artifact_files(self.folder)
        return sum(piece.length for pieces in files.values() for piece in pieces)

    def state(self) -> Any:
        """Return a value that changes when files are added, or None if there is no collection."""
        names = self.names()
        return hash(tuple(names)) if names else None

    @property
    def _known(self) -> Catalogue:
        if self.catalogue is None:
            raise LibraryError("workers only write files; the collection is read by the client")
        return self.catalogue


Collection = LocalCollection | RemoteCollection
