"""The catalogue of a library: an SQLite file that lists its motions.

Tables: ``meta`` (version of the format, frame rate of the library), ``motions``, ``skeletons``
(each once, by its key) and ``labels``. A library with labels on segments has a table
``segment_labels``, and one with an object store a table ``stored``: the files of artifacts, and the
objects they consist of. No row holds a time or a counter: the same
motions give the same rows. SQLite's rollback journal isolates readers from the one writer; it works
on shared and read-only folders too.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import astuple, fields
from pathlib import Path

from motionloom.errors import LibraryError
from motionloom.motion import Skeleton
from motionloom.store.records import Entry, skeleton_from
from motionloom.store.remote.folder import as_pieces
from motionloom.store.remote.object_store import Piece

FILE = "catalogue.sqlite"
FORMAT = 2
_APPLICATION = 0x4C4F4F4D  # "LOOM", in the header of the SQLite file
_PATIENCE = 600.0  # seconds to wait for a transaction of another process
_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE skeletons (key TEXT PRIMARY KEY, data TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE motions (
    name TEXT PRIMARY KEY, file TEXT NOT NULL, digest TEXT NOT NULL,
    source TEXT NOT NULL, source_hash TEXT NOT NULL, options TEXT NOT NULL,
    frames INTEGER NOT NULL, fps REAL NOT NULL, skeleton TEXT NOT NULL, origin TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX motions_by_source ON motions (source);
CREATE TABLE labels (name TEXT NOT NULL, label TEXT NOT NULL, PRIMARY KEY (name, label))
    WITHOUT ROWID;
CREATE INDEX labels_by_label ON labels (label);
"""
_STORED = """
CREATE TABLE IF NOT EXISTS stored (
    folder TEXT NOT NULL, file TEXT NOT NULL, pieces TEXT NOT NULL, about BLOB,
    PRIMARY KEY (folder, file)
) WITHOUT ROWID
"""

_SEGMENTS = """
CREATE TABLE IF NOT EXISTS segment_labels (
    name TEXT NOT NULL, start INTEGER NOT NULL, end INTEGER NOT NULL, label TEXT NOT NULL,
    PRIMARY KEY (name, start, end, label)
) WITHOUT ROWID
"""

_COLUMNS = ", ".join(field.name for field in fields(Entry))
_MARKS = ", ".join("?" for _ in fields(Entry))


def is_library(path: str | Path) -> bool:
    """Whether there is a library at `path`."""
    return Path(path, FILE).is_file()


class Catalogue:
    """Reads and writes the SQLite file; one connection per thread and process."""

    def __init__(self, folder: Path, *, file: str = FILE) -> None:
        self.folder, self.file = folder, file
        self._local = threading.local()

    # --- reading ------------------------------------------------------------------------

    def meta(self) -> dict[str, str]:
        """Version of the format and settings of the library."""
        return dict(self.rows("SELECT key, value FROM meta"))

    def names(self) -> list[str]:
        """All names, sorted."""
        return [name for (name,) in self.rows("SELECT name FROM motions ORDER BY name")]

    def entry(self, name: str) -> Entry | None:
        """The motion called `name`, or None."""
        rows = self.rows(f"SELECT {_COLUMNS} FROM motions WHERE name = ?", (name,))
        return Entry(*rows[0]) if rows else None

    def entries(self) -> list[Entry]:
        """All motions, sorted by name."""
        return [Entry(*row) for row in self.rows(f"SELECT {_COLUMNS} FROM motions ORDER BY name")]

    def labels(self) -> dict[str, tuple[str, ...]]:
        """Labels of every motion that has any, sorted."""
        found: dict[str, list[str]] = {}
        for name, label in self.rows("SELECT name, label FROM labels ORDER BY name, label"):
            found.setdefault(name, []).append(label)
        return {name: tuple(labels) for name, labels in found.items()}

    def segment_labels(self) -> list[tuple[str, int, int, str]]:
        """Name, first frame, last frame (not included) and label of every labelled segment."""
        if not self._has_segments():
            return []
        return self.rows("SELECT name, start, end, label FROM segment_labels")

    def put_segment_labels(
        self, name: str, start: int, end: int, labels: Iterable[str], *, remove: bool = False
    ) -> None:
        """Add labels to frames ``[start, end)`` of a motion, or remove them."""
        statement = (
            "DELETE FROM segment_labels WHERE name = ? AND start = ? AND end = ? AND label = ?"
            if remove
            else "INSERT OR IGNORE INTO segment_labels VALUES (?, ?, ?, ?)"
        )
        with self._transaction() as connection:
            connection.execute(_SEGMENTS)  # libraries of release 0.1 have no such table
            connection.executemany(statement, ((name, start, end, label) for label in labels))

    def _has_segments(self) -> bool:
        return bool(self.rows("SELECT 1 FROM sqlite_master WHERE name = 'segment_labels'"))

    def skeleton(self, key: str) -> Skeleton:
        """The skeleton with that key."""
        rows = self.rows("SELECT data FROM skeletons WHERE key = ?", (key,))
        skeleton = skeleton_from(rows[0][0]) if rows else None
        if skeleton is None or skeleton.key != key:
            raise LibraryError(f"{self.folder}: damaged: skeleton {key} does not match its key")
        return skeleton

    def rows(self, query: str, values: tuple = ()) -> list[tuple]:
        """All rows of a query."""
        with self._explained():
            return self.connection().execute(query, values).fetchall()

    # --- writing ------------------------------------------------------------------------

    def create(self, settings: dict[str, str]) -> bool:
        """Create the tables in one transaction; False if another process has done so."""
        with self._transaction(create=True) as connection:
            if connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
                return False
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)
            if "store" in settings:
                connection.execute(_STORED)
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            settings = {"format": str(FORMAT), **settings}
            connection.executemany("INSERT INTO meta VALUES (?, ?)", sorted(settings.items()))
        return True

    def upgrade(self) -> None:
        """Turn a catalogue of format 1 into one of the current format."""
        with self._transaction() as connection:
            connection.execute("DROP TABLE IF EXISTS kept")
            connection.execute("UPDATE meta SET value = ? WHERE key = 'format'", (str(FORMAT),))

    def set_meta(self, key: str, value: str) -> None:
        """Change a setting of the library."""
        with self._transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def put(
        self,
        entries: Iterable[Entry] = (),
        *,
        skeletons: dict[str, str] | None = None,
        labels: dict[str, tuple[str, ...]] | None = None,
        remove: Iterable[str] = (),
    ) -> list[str]:
        """Add or replace motions, replace labels and remove motions, all in one transaction.

        `skeletons` are those of the entries, key to JSON (see `skeleton_json`). Returns the frame
        files that are no longer used.
        """
        entries, remove = list(entries), list(remove)
        segments = self._has_segments()
        with self._transaction() as connection:
            before = "SELECT file FROM motions WHERE name = ?"
            names = [(name,) for name in [*(entry.name for entry in entries), *remove]]
            old = {file for name in names for (file,) in connection.execute(before, name)}
            gone = [(name,) for name in remove]
            connection.executemany("DELETE FROM motions WHERE name = ?", gone)
            connection.executemany("DELETE FROM labels WHERE name = ?", gone)
            if segments:  # of motions that are gone, and beyond the end of new ones
                connection.executemany("DELETE FROM segment_labels WHERE name = ?", gone)
                connection.executemany(
                    "DELETE FROM segment_labels WHERE name = ? AND end > ?",
                    ((entry.name, entry.frames) for entry in entries),
                )
            connection.executemany(
                "INSERT OR IGNORE INTO skeletons VALUES (?, ?)", (skeletons or {}).items()
            )
            connection.executemany(
                f"INSERT OR REPLACE INTO motions ({_COLUMNS}) VALUES ({_MARKS})",
                map(astuple, entries),
            )
            for name, given in (labels or {}).items():
                connection.execute("DELETE FROM labels WHERE name = ?", (name,))
                connection.executemany(
                    "INSERT OR IGNORE INTO labels VALUES (?, ?)", ((name, x) for x in given)
                )
            if old:
                connection.execute(
                    "DELETE FROM skeletons WHERE key NOT IN (SELECT skeleton FROM motions)"
                )
        return sorted(old - {entry.file for entry in entries})

    # --- files of artifacts in an object store ------------------------------------------

    def artifact_files(self, folder: str, file: str | None = None) -> dict[str, tuple[Piece, ...]]:
        """Files of an artifact in the object store, or one of them, and their pieces."""
        query = "SELECT file, pieces FROM stored WHERE folder = ? AND file = coalesce(?, file)"
        found = self.rows(f"{query} ORDER BY file", (folder, file))
        return {name: as_pieces(json.loads(text)) for name, text in found}

    def artifact_folders(self) -> list[str]:
        """All artifacts in the object store."""
        query = "SELECT DISTINCT folder FROM stored ORDER BY folder"
        return [folder for (folder,) in self.rows(query)]

    def artifact_descriptions(self, folder: str) -> dict[str, bytes]:
        """Descriptions of the files of an artifact."""
        query = "SELECT file, about FROM stored WHERE folder = ? ORDER BY file"
        return dict(self.rows(query, (folder,)))

    def put_artifact_files(
        self,
        folder: str,
        files: Mapping[str, Sequence[Piece]],
        *,
        about: Mapping[str, bytes] | None = None,
        remove: Iterable[str] = (),
        instead_of: Iterable[str] = (),
    ) -> None:
        """Record files of an artifact, their pieces and descriptions, in one transaction.

        The files `remove` of the folder, and the folders `instead_of`, are removed.
        """
        rows = [
            (folder, file, json.dumps(pieces), (about or {}).get(file))
            for file, pieces in files.items()
        ]
        with self._transaction() as connection:
            put = connection.executemany
            put("DELETE FROM stored WHERE folder = ?", ((other,) for other in instead_of))
            put("DELETE FROM stored WHERE folder = ? AND file = ?", ((folder, x) for x in remove))
            put("INSERT OR REPLACE INTO stored VALUES (?, ?, ?, ?)", rows)

    def write_replica(self, path: Path) -> None:
        """Write a replica for workers on other machines: all but descriptions of files."""
        with self._explained():
            self.connection()  # raises if there is no catalogue
            with closing(sqlite3.connect(path, isolation_level=None)) as copy:
                self.connection().backup(copy)
                copy.execute("DELETE FROM stored WHERE about IS NOT NULL")
                copy.execute("VACUUM")

    # --- connections --------------------------------------------------------------------

    def check(self) -> None:
        """Raise `LibraryError` unless this is a readable library."""
        path = self.folder / self.file
        if not self.folder.exists():
            raise LibraryError(
                f"{self.folder}: no such library; create it with `motionloom import` or, in "
                "Python, Library.create"
            )
        if not path.is_file():
            raise LibraryError(f"{self.folder}: not a motionloom library: it has no {FILE}")
        tables = {name for (name,) in self.rows("SELECT name FROM sqlite_master")}
        (application,) = self.rows("PRAGMA application_id")[0]
        if not tables:
            raise LibraryError(
                f"{self.folder}: the creation of this library was interrupted; create it again"
            )
        if application != _APPLICATION or "meta" not in tables:
            raise LibraryError(
                f"{self.folder}: not a motionloom library: {FILE} is of another application"
            )
        found = self.meta().get("format", "")
        if not found.isdigit() or int(found) > FORMAT:
            raise LibraryError(
                f"{self.folder}: made by a newer motionloom (format {found}, this one reads "
                f"up to {FORMAT}); update motionloom"
            )

    def __del__(self) -> None:
        if not sys.is_finalizing():
            self.close()

    def close(self) -> None:
        """Close this thread's connection."""
        connection = getattr(self._local, "connection", None)
        if connection is not None and self._local.process == os.getpid():
            connection.close()
        self._local.connection = None

    @contextmanager
    def _transaction(self, *, create: bool = False) -> Iterator[sqlite3.Connection]:
        with self._explained():
            connection = self.connection(create=create)
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def connection(self, *, create: bool = False) -> sqlite3.Connection:
        """SQLite connection of this thread and process."""
        local = self._local
        # A connection must not be used in a forked process.
        if getattr(local, "connection", None) is None or local.process != os.getpid():
            if getattr(local, "connection", None) is not None:
                _inherited.append(local.connection)
            # "rw" lets a reader roll back the transaction of a killed writer; in a read-only
            # folder SQLite falls back to reading.
            place = (
                f"{self.folder.absolute().joinpath(self.file).as_uri()}"
                f"?mode={'rwc' if create else 'rw'}"
            )
            local.connection = sqlite3.connect(
                place, uri=True, timeout=_PATIENCE, isolation_level=None
            )
            local.process = os.getpid()
        return local.connection

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorname", "") or ""
            raise LibraryError(f"{self.folder}: {_reason(code, str(error))}") from error


# Connections that a forked process inherited: closing them could roll back a transaction of the
# parent, so they are kept and not used.
_inherited: list[sqlite3.Connection] = []


def _reason(code: str, text: str) -> str:
    if code.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
        return f"the catalogue is damaged ({text}); restore it or import into a new library"
    if code.startswith("SQLITE_FULL"):
        return "the disk is full; what was committed is safe. Free some space and run this again"
    if code.startswith("SQLITE_READONLY_ROLLBACK") or code.startswith("SQLITE_READONLY_RECOVERY"):
        return (
            "an import was killed while writing, and a read-only folder cannot be recovered; "
            "open the library once where it can be written to"
        )
    if code.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return f"cannot open the catalogue: {text}"
    if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return "the catalogue is locked by another process; run this again"
    return f"the catalogue cannot be used: {text}"
