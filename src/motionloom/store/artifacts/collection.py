"""Collections: artifacts that grow file by file, written by workers.

In a library's own folder a file that exists is complete: it was written under a temporary name
and renamed. In an object store a file exists if the catalogue lists it: a worker writes it and
returns its name, and the client commits that. Files that were not committed are removed by the
next build.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from motionloom.errors import LibraryError
from motionloom.files import atomic_write, below, parse_json, read_regular, unpacked_bytes
from motionloom.store.artifacts.folders import FOLDER
from motionloom.store.catalogue import Catalogue
from motionloom.store.remote.folder import objects_of
from motionloom.store.remote.object_store import ObjectStore, Piece

_LONGEST = 1 << 24  # bytes of a description


@dataclass(frozen=True)
class WrittenFile:
    """A file that a worker has written: its name, where it is in the store, its description."""

    name: str
    piece: Piece | None = None
    about: bytes = b""


@dataclass(frozen=True)
class LocalCollection:
    """Files in a folder; the methods are described in `RemoteCollection`."""

    path: Path  # absolute, as workers of a cluster run in other folders
    describe: Callable[[Path], dict]  # reads the description of a file from the file

    def write(self, name: str, content: bytes, about: dict) -> WrittenFile:
        """Write a file; called by workers."""
        with atomic_write(self.path / name) as scratch, open(scratch, "wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        return WrittenFile(name)

    def commit(self, written: Iterable[WrittenFile]) -> None:
        """Nothing to do: files that exist are committed."""

    def names(self) -> list[str]:
        """All files, sorted."""
        # Files that are being written, or were when a worker was killed, start with a dot; the
        # lock has no suffix.
        return sorted(path.name for path in self.path.glob("*.*") if path.name[0] != ".")

    def about(self, names: Iterable[str]) -> dict[str, dict]:
        """Descriptions of files."""
        return {name: self.describe(self.path / name) for name in names}

    def read(
        self, name: str, decode: Callable[[bytes], Any], span: tuple[int, int] | None = None
    ) -> Any:
        """The decoded content of a file, or of the bytes `span` of it."""
        try:
            return decode(read_regular(below(self.path, name), span=span))
        except LibraryError as error:
            raise LibraryError(f"{self.path / name}: {error}; remove it and build again") from None

    def fetch(self) -> None:
        """Nothing to do: all files are on this machine."""

    def remove(self, names: Iterable[str]) -> None:
        """Remove files."""
        for name in names:
            (self.path / name).unlink(missing_ok=True)

    def sweep(self) -> None:
        """Remove what killed workers left."""
        for scratch in self.path.glob(".*.part.*"):
            scratch.unlink(missing_ok=True)

    def size(self) -> int:
        """Bytes of all files."""
        return sum((self.path / name).stat().st_size for name in self.names())

    def state(self) -> Any:
        """A value that changes when files are added; None if there is no collection."""
        try:
            return self.path.stat().st_mtime_ns
        except FileNotFoundError:
            return None


@dataclass(frozen=True)
class RemoteCollection:
    """Files in an object store, recorded in the catalogue."""

    files: ObjectStore
    folder: str
    catalogue: Catalogue | None = None  # workers have none

    def __getstate__(self) -> dict:
        return {"files": self.files, "folder": self.folder, "catalogue": None}

    def write(self, name: str, content: bytes, about: dict) -> WrittenFile:
        """Write a file to the object store; called by workers."""
        piece = self.files.put(content, f"{FOLDER}/{self.folder}/{name}")
        return WrittenFile(name, piece, zlib.compress(json.dumps(about).encode()))

    def commit(self, written: Iterable[WrittenFile]) -> None:
        """Record files in the catalogue, in one transaction; called by the client."""
        every = [one for one in written if one.piece is not None]
        self._known.put_artifact_files(
            self.folder,
            {one.name: (one.piece,) for one in every if one.piece is not None},
            about={one.name: one.about for one in every},
        )

    def names(self) -> list[str]:
        """All files, sorted."""
        query = "SELECT file FROM stored WHERE folder = ? ORDER BY file"
        return [name for (name,) in self._known.rows(query, (self.folder,))]

    def about(self, names: Iterable[str]) -> dict[str, dict]:
        """Descriptions of files."""
        described = self._known.artifact_descriptions(self.folder)
        return {name: parse_json(unpacked_bytes(described[name], _LONGEST)) for name in names}

    def read(
        self, name: str, decode: Callable[[bytes], Any], span: tuple[int, int] | None = None
    ) -> Any:
        """The decoded content of a file, or of the bytes `span` of it."""
        piece = self._known.artifact_files(self.folder, name)[name][0]
        try:
            content = read_regular(self.files.local(piece.name))
            self.files.verify(piece, content)
            return decode(content if span is None else content[slice(*span)])
        except FileNotFoundError:
            problem = "it is missing"
        except LibraryError as error:
            problem = str(error)
        self.remove([name])
        raise LibraryError(
            f"{self.files.address}/{piece.name}: {problem}; it was removed: build again"
        )

    def fetch(self) -> None:
        """Copy all files to this machine."""
        files = self._known.artifact_files(self.folder)
        self.files.fetch(pieces[0].name for pieces in files.values())

    def remove(self, names: Iterable[str]) -> None:
        """Remove files."""
        files = self._known.artifact_files(self.folder)
        gone = {name: files[name] for name in names}
        self._known.put_artifact_files(self.folder, {}, remove=gone)
        self.files.remove(objects_of([gone]))

    def sweep(self) -> None:
        """Remove what was written and never committed."""
        known = objects_of([self._known.artifact_files(self.folder)])
        there = self.files.names(f"{FOLDER}/{self.folder}")
        self.files.remove(name for name in there if name not in known)

    def size(self) -> int:
        """Bytes of all files."""
        files = self._known.artifact_files(self.folder)
        return sum(piece.length for pieces in files.values() for piece in pieces)

    def state(self) -> Any:
        """A value that changes when files are added; None if there is no collection."""
        names = self.names()
        return hash(tuple(names)) if names else None

    @property
    def _known(self) -> Catalogue:
        if self.catalogue is None:
            raise LibraryError("workers write files; only the client reads the collection")
        return self.catalogue


Collection = LocalCollection | RemoteCollection
