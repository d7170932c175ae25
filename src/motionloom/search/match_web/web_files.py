"""Where the files of webs lie: in a folder of the library, or in its store.

In a folder a file that is there is a web: it was written under a temporary name and renamed.
In a store a web is what the catalogue says it is: a worker writes it and tells its name, and
the client commits that; what is not committed is nobody's, and swept away by the next build.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from motionloom.atomic_write import atomic_write
from motionloom.errors import LibraryError
from motionloom.search.match_web.encoding import decoded, described, encoded
from motionloom.search.match_web.web import Web
from motionloom.store.artifacts.derived import FOLDER
from motionloom.store.catalogue import Catalogue
from motionloom.store.remote.folder import objects_of
from motionloom.store.remote.object_store import ObjectStore, Piece
from motionloom.store.store import Store


@dataclass(frozen=True)
class Written:
    """A web that a worker has written: its name, where it is in the store, whose it is."""

    name: str
    piece: Piece | None = None
    about: bytes = b""


@dataclass(frozen=True)
class WebFolder:
    """Webs in a folder.

    Attributes
    ----------
    path : Path
        Absolute: workers of a cluster have folders of their own to be in.
    """

    path: Path

    def write(self, name: str, web: Web, about: dict) -> Written:
        """Write a web; done by workers."""
        with atomic_write(self.path / name) as scratch:
            with open(scratch, "wb") as out:
                out.write(encoded(web, about))
                out.flush()
                os.fsync(out.fileno())
        return Written(name)

    def commit(self, written: Iterable[Written]) -> None:
        """Nothing: what is there is there."""

    def names(self) -> list[str]:
        """All webs, sorted."""
        # Files that are being written, or were when a worker was killed, start with a dot.
        return sorted(path.name for path in self.path.glob("*.web") if path.name[0] != ".")

    def about(self, names: Iterable[str]) -> dict[str, dict]:
        """Whose rows and columns webs are."""
        return {name: described(self.path / name) for name in names}

    def read(self, name: str) -> Web:
        """One web."""
        try:
            return decoded((self.path / name).read_bytes())
        except LibraryError as error:
            raise LibraryError(f"{self.path / name}: {error}; remove it and build again") from None

    def fetch(self) -> None:
        """Nothing: all of them are here."""

    def remove(self, names: Iterable[str]) -> None:
        """Remove webs."""
        for name in names:
            (self.path / name).unlink(missing_ok=True)

    def sweep(self) -> None:
        """Remove what killed workers had begun to write."""
        for scratch in self.path.glob(".*.part.web"):
            scratch.unlink(missing_ok=True)

    def size(self) -> int:
        """Bytes of all webs."""
        return sum((self.path / name).stat().st_size for name in self.names())

    def state(self) -> Any:
        """Something that changes when webs are added; None if there are none."""
        try:
            return self.path.stat().st_mtime_ns
        except FileNotFoundError:
            return None


@dataclass(frozen=True)
class StoredWebs:
    """Webs in a store; the catalogue knows them.

    Attributes
    ----------
    store : ObjectStore
    folder : str
    catalogue : Catalogue or None
        Workers need none.
    """

    store: ObjectStore
    folder: str
    catalogue: Catalogue | None = None

    def __getstate__(self) -> dict:
        return {"store": self.store, "folder": self.folder, "catalogue": None}

    def write(self, name: str, web: Web, about: dict) -> Written:
        """Write a web to the store; done by workers."""
        piece = self.store.put(encoded(web, about), f"{FOLDER}/{self.folder}/{name}")
        return Written(name, piece, zlib.compress(json.dumps(about).encode()))

    def commit(self, written: Iterable[Written]) -> None:
        """Make webs those of the library, in one transaction; done by the client."""
        every = [one for one in written if one.piece is not None]
        self._known.store(
            self.folder,
            {one.name: (one.piece,) for one in every if one.piece is not None},
            about={one.name: one.about for one in every},
        )

    def names(self) -> list[str]:
        """All webs, sorted."""
        query = "SELECT file FROM stored WHERE folder = ? ORDER BY file"
        return [name for (name,) in self._known.rows(query, (self.folder,))]

    def about(self, names: Iterable[str]) -> dict[str, dict]:
        """Whose rows and columns webs are."""
        told = self._known.stored_about(self.folder)
        return {name: json.loads(zlib.decompress(told[name])) for name in names}

    def read(self, name: str) -> Web:
        """One web."""
        piece = self._known.stored(self.folder, name)[name][0]
        try:
            return decoded(self.store.local(piece.name).read_bytes())
        except FileNotFoundError:
            problem = "it is missing"
        except LibraryError as error:
            problem = str(error)
        self.remove([name])
        raise LibraryError(
            f"{self.store.address}/{piece.name}: {problem}; build the webs again, of which it "
            "is no longer one"
        )

    def fetch(self) -> None:
        """Bring all webs here at once."""
        files = self._known.stored(self.folder)
        self.store.fetch(pieces[0].name for pieces in files.values())

    def remove(self, names: Iterable[str]) -> None:
        """Remove webs."""
        files = self._known.stored(self.folder)
        gone = {name: files[name] for name in names}
        self._known.store(self.folder, {}, remove=gone)
        self.store.remove(objects_of([gone]))

    def sweep(self) -> None:
        """Remove what was written and never committed."""
        known = objects_of([self._known.stored(self.folder)])
        there = self.store.names(f"{FOLDER}/{self.folder}")
        self.store.remove(name for name in there if name not in known)

    def size(self) -> int:
        """Bytes of all webs."""
        files = self._known.stored(self.folder)
        return sum(piece.length for pieces in files.values() for piece in pieces)

    def state(self) -> Any:
        """Something that changes when webs are added; None if there are none."""
        names = self.names()
        return hash(tuple(names)) if names else None

    @property
    def _known(self) -> Catalogue:
        if self.catalogue is None:
            raise LibraryError("workers write webs, the client knows them")
        return self.catalogue


WebFiles = WebFolder | StoredWebs


def web_files(library: Store, folder: str) -> WebFiles:
    """Where a library has the webs of one kind."""
    if isinstance(library.files, ObjectStore):
        return StoredWebs(library.files, folder, library.catalogue)
    return WebFolder(library.path.absolute() / FOLDER / folder)
