"""A library's catalogue: an SQLite file whose tables list its motions.

The tables are ``meta`` (format version, frame rate of the library), ``motions``, ``skeletons``
(each skeleton once, by its key), ``labels``, ``segment_labels``, and ``artifacts`` (the current
version of each artifact that was saved under a name). A library with an object store also has the
table ``stored``, with the files of artifacts and the objects they consist of.
``checks`` contains a checksum of the rows of each motion in the other tables, which is verified
when an entry or its labels are read. These rows contain no times or counters, so the same motions
give the same rows. Data replaced by changes is stored in the three tables of
`motionloom.store.history`. Every value is checked before it is used.
`motionloom.store.catalogue_file` opens the file.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import astuple
from pathlib import Path

from motionloom.errors import LibraryError
from motionloom.files import parse_json, plain_name
from motionloom.motion import Skeleton
from motionloom.motion.segment import FASTEST, SLOWEST
from motionloom.store import history
from motionloom.store.catalogue_file import APPLICATION, FORMAT, CatalogueFile
from motionloom.store.records import COLUMNS, MARKS, Entry, skeleton_from
from motionloom.store.remote.folder import as_pieces
from motionloom.store.remote.object_store import Piece

_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS skeletons (key TEXT PRIMARY KEY, data TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS motions (
    name TEXT PRIMARY KEY, file TEXT NOT NULL, digest TEXT NOT NULL,
    source TEXT NOT NULL, source_hash TEXT NOT NULL, options TEXT NOT NULL,
    frames INTEGER NOT NULL, fps REAL NOT NULL, skeleton TEXT NOT NULL, origin TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS motions_by_source ON motions (source);
CREATE TABLE IF NOT EXISTS labels (
    name TEXT NOT NULL, label TEXT NOT NULL, PRIMARY KEY (name, label)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS labels_by_label ON labels (label);
CREATE TABLE IF NOT EXISTS segment_labels (
    name TEXT NOT NULL, start INTEGER NOT NULL, end INTEGER NOT NULL, label TEXT NOT NULL,
    PRIMARY KEY (name, start, end, label)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS checks (
    name TEXT PRIMARY KEY, facts TEXT NOT NULL, labels TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS artifacts (stem TEXT PRIMARY KEY, version TEXT NOT NULL) WITHOUT ROWID;
{history.SCHEMA}
"""
_STORED = """
CREATE TABLE stored (
    folder TEXT NOT NULL, file TEXT NOT NULL, pieces TEXT NOT NULL, about BLOB,
    PRIMARY KEY (folder, file)
) WITHOUT ROWID
"""
_IMPORTING = "importing"  # key in `meta` that release 0.2 wrote during an import


class Catalogue(CatalogueFile):
    """Reader and writer for the tables of a catalogue."""

    # --- reading ------------------------------------------------------------------------

    def settings(self) -> dict[str, str]:
        """Return `meta`. Raise `LibraryError` if its checksum is wrong."""
        values = self.meta()
        if self._verified.get("") != tuple(sorted(values.items())):
            if self.check_of("", "facts") not in (None, self._meta_sum()):
                raise LibraryError(
                    f"{self.folder}: the catalogue is damaged: the settings of the library "
                    f"have a wrong checksum; run motionloom verify {self.folder} --repair"
                )
            self._verified[""] = tuple(sorted(values.items()))
        return values

    def names(self) -> list[str]:
        """Return all names, sorted."""
        names = [name for (name,) in self.rows("SELECT name FROM motions ORDER BY name")]
        if not all(isinstance(name, str) for name in names):
            raise LibraryError(f"{self.folder}: the catalogue is damaged: a motion has no name")
        return names

    def entry(self, name: str) -> Entry | None:
        """Return the entry of the motion named `name`, or None."""
        rows = self.rows(f"SELECT {COLUMNS} FROM motions WHERE name = ?", (name,))
        if not rows:
            return None
        entry = self._checked_entry(rows[0])
        if self._verified.get(name) != rows[0]:
            self._verify(name, "facts", _facts_sum(rows[0]), "its entry has")
            self._verified[name] = rows[0]
        return entry

    def entries(self) -> list[Entry]:
        """Return the entries of all motions, sorted by name."""
        rows = self.rows(f"SELECT {COLUMNS} FROM motions ORDER BY name")
        return [self._checked_entry(row) for row in rows]

    def raw_entries(self) -> list[Entry]:
        """Return the entries of all motions, including invalid ones, for verification."""
        return [Entry(*row) for row in self.rows(f"SELECT {COLUMNS} FROM motions ORDER BY name")]

    def forget(self, name: str) -> None:
        """Remove a motion, its labels and checksums from the catalogue only."""
        self.put(remove=[name])

    def _checked_entry(self, row: tuple) -> Entry:
        """Convert a row to an entry. Raise `LibraryError` if a value is invalid."""
        entry = Entry(*row)
        problem = entry_problem(entry)
        if problem:
            raise LibraryError(
                f"{self.folder}: the catalogue is damaged: motion {str(entry.name)[:80]!r} "
                f"{problem}; run motionloom verify {self.folder} --repair"
            )
        return entry

    def labels_of(self, name: str) -> tuple[str, ...]:
        """Return the labels of a motion, sorted. Raise `LibraryError` if the checksum is wrong."""
        rows = self.rows("SELECT label FROM labels WHERE name = ? ORDER BY label", (name,))
        labels = tuple(label for (label,) in self._typed(rows, str))
        key = f"labels of {name}"
        if self._verified.get(key) != labels:
            self._verify(name, "labels", self._labels_sum(name), "its labels have")
            self._verified[key] = labels
        return labels

    def _verify(self, name: str, column: str, checksum: str, what: str) -> None:
        expected = self.check_of(name, column)
        if expected is not None and expected != checksum:
            raise LibraryError(
                f"{self.folder}: the catalogue is damaged: motion {name!r}: {what} a wrong "
                f"checksum; run motionloom verify {self.folder} --repair"
            )

    def check_of(self, name: str, column: str) -> str | None:
        """Return a motion's checksum in the ``facts`` or ``labels`` column, or None."""
        rows = self.rows(f"SELECT {column} FROM checks WHERE name = ?", (name,))
        return rows[0][0] if rows else None

    def wrong_checks(self) -> list[tuple[str, str]]:
        """Return the motion name and column (``facts`` or ``labels``) of each wrong checksum.

        An empty name stands for the settings of the library.
        """
        wrong = []
        checks = {name: both for name, *both in self.rows("SELECT name, facts, labels FROM checks")}
        rows = {row[0]: row for row in self.rows(f"SELECT {COLUMNS} FROM motions")}
        for name in sorted({"", *rows, *checks}, key=str):
            facts, labels = checks.get(name, ("", ""))
            now = self._meta_sum() if name == "" else _facts_sum(rows.get(name, ()))
            if now != facts:
                wrong.append((name, "facts"))
            if self._labels_sum(name) != labels:
                wrong.append((name, "labels"))
        return wrong

    def put_checks(self, names: Iterable[str] | None = None) -> None:
        """Accept the current values of some or all motions by writing new checksums."""
        with self.transaction() as connection:
            self._put_checks(connection, names)

    def _put_checks(self, connection: sqlite3.Connection, names: Iterable[str] | None) -> None:
        """Write new checksums within a transaction."""
        if names is None:
            connection.execute("DELETE FROM checks")
            names = [name for (name,) in connection.execute("SELECT name FROM motions")]
        values = [("", self._meta_sum(), self._labels_sum(""))]
        for name in names:
            query = f"SELECT {COLUMNS} FROM motions WHERE name = ?"
            row = connection.execute(query, (name,)).fetchone()
            connection.execute("DELETE FROM checks WHERE name = ?", (name,))
            if row is not None:
                values.append((name, _facts_sum(row), self._labels_sum(name)))
        connection.executemany("INSERT OR REPLACE INTO checks VALUES (?, ?, ?)", values)

    def _labels_sum(self, name: str) -> str:
        rows = self.rows("SELECT label FROM labels WHERE name = ? ORDER BY label", (name,))
        query = "SELECT start, end, label FROM segment_labels WHERE name = ?"
        rows += sorted(self.rows(query, (name,)), key=repr)
        return _row_sum(rows) if rows else ""

    def _meta_sum(self) -> str:
        return _row_sum(sorted(row for row in self.meta().items() if row[0] != _IMPORTING))

    def labels(self) -> dict[str, tuple[str, ...]]:
        """Return the labels of every labeled motion, sorted."""
        by_name: dict[str, list[str]] = {}
        rows = self.rows("SELECT name, label FROM labels ORDER BY name, label")
        for name, label in self._typed(rows, str, str):
            by_name.setdefault(name, []).append(label)
        return {name: tuple(labels) for name, labels in by_name.items()}

    def segment_labels(self) -> list[tuple[str, int, int, str]]:
        """Return the name, start frame, end frame (exclusive) and label of each labeled segment."""
        rows = self.rows("SELECT name, start, end, label FROM segment_labels")
        return self._typed(rows, str, int, int, str)

    def _typed(self, rows: list[tuple], *kinds: type) -> list[tuple]:
        """Check the types of label rows, because SQLite allows any type in any column."""
        if not all(all(map(isinstance, row, kinds)) for row in rows):
            raise LibraryError(
                f"{self.folder}: the catalogue is damaged: a label is not a string, or has "
                f"invalid frames; "
                f"run motionloom verify {self.folder} --repair"
            )
        return rows

    def repair_labels(self, name: str) -> None:
        """Convert all labels of a motion to strings. Remove segment labels without valid frames."""
        with self.transaction() as connection:
            for table in ("labels", "segment_labels"):
                wrong = f"SELECT label FROM {table} WHERE name = ? AND typeof(label) = 'blob'"
                for (label,) in connection.execute(wrong, (name,)).fetchall():
                    connection.execute(
                        f"UPDATE OR REPLACE {table} SET label = ? WHERE name = ? AND label = ?",
                        (label.decode("utf-8", "replace"), name, label),
                    )
            connection.execute(
                "DELETE FROM segment_labels WHERE name = ? AND "
                "(typeof(start) <> 'integer' OR typeof(end) <> 'integer')",
                (name,),
            )
            self._put_checks(connection, [name])

    def put_segment_labels(
        self, rows: Sequence[tuple[str, int, int, str]], *, remove: bool = False
    ) -> None:
        """Add labels to segments (name, start, end, label), or remove them, in one transaction."""
        names = sorted({name for name, *_ in rows})
        statement = (
            "DELETE FROM segment_labels WHERE name = ? AND start = ? AND end = ? AND label = ?"
            if remove
            else "INSERT OR IGNORE INTO segment_labels VALUES (?, ?, ?, ?)"
        )
        with self.transaction() as connection:
            self._record(connection, names)
            connection.executemany(statement, rows)
            self._put_checks(connection, names)

    def skeleton(self, key: str) -> Skeleton:
        """Return the skeleton with this key."""
        rows = self.rows("SELECT data FROM skeletons WHERE key = ?", (key,))
        skeleton = skeleton_from(rows[0][0]) if rows else None
        if skeleton is None or skeleton.key != key:
            raise LibraryError(f"{self.folder}: damaged: skeleton {key} does not match its key")
        return skeleton

    # --- writing ------------------------------------------------------------------------

    def create(self, settings: dict[str, str]) -> bool:
        """Create the tables in one transaction. Return False if another process has done so."""
        with self.transaction(create=True) as connection:
            if connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
                return False
            _create_tables(connection)
            if "store" in settings:
                connection.execute(_STORED)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            settings = {"format": str(FORMAT), **settings}
            connection.executemany("INSERT INTO meta VALUES (?, ?)", sorted(settings.items()))
            self._put_checks(connection, None)
        return True

    def upgrade(self, artifacts: Iterable[tuple[str, str]]) -> None:
        """Upgrade the catalogue to the current format, in one transaction.

        `artifacts` are the current versions of artifacts saved under a name.
        """
        with self.transaction() as connection:
            _create_tables(connection)
            history.put_checksums(connection)
            connection.executemany("INSERT OR IGNORE INTO artifacts VALUES (?, ?)", artifacts)
            connection.execute("DELETE FROM meta WHERE key = ?", (_IMPORTING,))
            connection.execute("UPDATE meta SET value = ? WHERE key = 'format'", (str(FORMAT),))
            self._put_checks(connection, [])

    def set_meta(self, key: str, value: str) -> None:
        """Change a library setting."""
        with self.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))
            self._put_checks(connection, [])

    def put(
        self,
        entries: Iterable[Entry] = (),
        *,
        skeletons: dict[str, str] | None = None,
        labels: dict[str, tuple[str, ...]] | None = None,
        remove: Iterable[str] = (),
        rename: Mapping[str, str] | None = None,
    ) -> list[str]:
        """Add or replace motions, replace labels and remove motions, all in one transaction.

        `skeletons` maps the keys of the entries' skeletons to JSON (see `skeleton_json`). `rename`
        maps names to new names and moves labels and labeled segments. Returns the frame files that
        are no longer used.
        """
        entries, remove = list(entries), list(remove)
        changed = sorted({*(entry.name for entry in entries), *remove, *(labels or {})})
        with self.transaction() as connection:
            self._record(connection, changed)
            for table in ("labels", "segment_labels"):
                moved = ((new, name) for name, new in (rename or {}).items())
                connection.executemany(f"UPDATE {table} SET name = ? WHERE name = ?", moved)
            before = "SELECT file FROM motions WHERE name = ?"
            names = [(name,) for name in [*(entry.name for entry in entries), *remove]]
            old = {file for name in names for (file,) in connection.execute(before, name)}
            gone = [(name,) for name in remove]
            for table in ("motions", "labels", "segment_labels"):
                connection.executemany(f"DELETE FROM {table} WHERE name = ?", gone)
            connection.executemany(
                "DELETE FROM segment_labels WHERE name = ? AND end > ?",
                ((entry.name, entry.frames) for entry in entries),
            )
            connection.executemany(
                "INSERT OR IGNORE INTO skeletons VALUES (?, ?)", (skeletons or {}).items()
            )
            connection.executemany(
                f"INSERT OR REPLACE INTO motions ({COLUMNS}) VALUES ({MARKS})",
                map(astuple, entries),
            )
            for name, given in (labels or {}).items():
                connection.execute("DELETE FROM labels WHERE name = ?", (name,))
                connection.executemany(
                    "INSERT OR IGNORE INTO labels VALUES (?, ?)", ((name, x) for x in given)
                )
            if old:
                self._drop_skeletons(connection)
            self._put_checks(connection, changed)
        return sorted(old - {entry.file for entry in entries})

    def _drop_skeletons(self, connection: sqlite3.Connection) -> None:
        """Remove unused skeletons that the history does not need, within a transaction."""
        used = (
            "SELECT skeleton FROM motions "
            "UNION SELECT skeleton FROM history_motions WHERE skeleton IS NOT NULL"
        )
        connection.execute(f"DELETE FROM skeletons WHERE key NOT IN ({used})")

    # --- history --------------------------------------------------------------------------

    @contextmanager
    def recording(self, what: str, *, whole: bool = True) -> Iterator[None]:
        """Record everything changed within the ``with`` block as one change in the history.

        The change is one transaction, unless `whole` is False.
        """
        if getattr(self._local, "recorder", None) is not None:
            yield  # part of the enclosing change
            return
        self._local.recorder = history.Recorder(what)
        try:
            with self.transaction() if whole else nullcontext():
                yield
        finally:
            self._local.recorder = None

    def _record(self, connection: sqlite3.Connection, names: Iterable[str]) -> None:
        recorder = getattr(self._local, "recorder", None)
        if recorder is not None:
            recorder.motions(connection, names)

    def exchange(self, number: int) -> tuple[list[str], list[str]]:
        """Undo or redo a change (see `history.exchange`). Return unused files and artifacts."""
        with self.transaction() as connection:
            names, unused, artifacts = history.exchange_rows(connection, number)
            self._drop_skeletons(connection)
            self._put_checks(connection, names)
        return unused, artifacts

    def forget_changes(self) -> None:
        """Delete the history, so that nothing can be undone anymore."""
        with self.transaction() as connection:
            history.forget(connection)
            self._drop_skeletons(connection)

    # --- artifacts saved under a name -----------------------------------------------------

    def artifact_versions(self) -> dict[str, str]:
        """Return the current version of each artifact that was saved under a name, by stem."""
        rows = self.rows("SELECT stem, version FROM artifacts ORDER BY stem")
        return {plain_name(stem): plain_name(version) for stem, version in rows}

    def artifact_version(self, stem: str) -> str | None:
        """Return the current version of an artifact that was saved under a name, or None."""
        rows = self.rows("SELECT version FROM artifacts WHERE stem = ?", (stem,))
        return plain_name(rows[0][0]) if rows else None

    def put_artifact_version(self, stem: str, version: str | None, *, record: bool = True) -> bool:
        """Make a version of an artifact the current one; None deletes the artifact.

        Returns whether the previous version was recorded in the history.
        """
        recorder = getattr(self._local, "recorder", None) if record else None
        with self.transaction() as connection:
            if recorder is not None:
                recorder.artifact(connection, stem)
            history.put_version(connection, stem, version)
        return recorder is not None

    # --- files of artifacts in an object store ------------------------------------------

    def artifact_files(self, folder: str, file: str | None = None) -> dict[str, tuple[Piece, ...]]:
        """Return one or all of an artifact's files in the object store, with their pieces."""
        query = "SELECT file, pieces FROM stored WHERE folder = ? AND file = coalesce(?, file)"
        files = self.rows(f"{query} ORDER BY file", (folder, file))
        return {name: as_pieces(parse_json(text)) for name, text in files}

    def artifact_folders(self) -> list[str]:
        """Return the names of all artifacts in the object store."""
        query = "SELECT DISTINCT folder FROM stored ORDER BY folder"
        return [folder for (folder,) in self.rows(query)]

    def artifact_descriptions(self, folder: str) -> dict[str, bytes]:
        """Return the descriptions of an artifact's files."""
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

        The files in `remove` and the folders in `instead_of` are deleted.
        """
        rows = [
            (folder, file, json.dumps(pieces), (about or {}).get(file))
            for file, pieces in files.items()
        ]
        with self.transaction() as connection:
            put = connection.executemany
            put("DELETE FROM stored WHERE folder = ?", ((other,) for other in instead_of))
            put("DELETE FROM stored WHERE folder = ? AND file = ?", ((folder, x) for x in remove))
            put("INSERT OR REPLACE INTO stored VALUES (?, ?, ?, ?)", rows)

    def write_replica(self, path: Path) -> None:
        """Write a replica for workers on other machines, without history or file descriptions."""
        with self._explained():
            self.connection()  # raises an error if there is no catalogue
            with closing(sqlite3.connect(path, isolation_level=None)) as copy:
                self.connection().backup(copy)
                copy.execute("DELETE FROM stored WHERE about IS NOT NULL")
                history.forget(copy)
                copy.execute("VACUUM")


def _create_tables(connection: sqlite3.Connection) -> None:
    for statement in _SCHEMA.split(";"):
        connection.execute(statement)


def entry_problem(entry: Entry) -> str:
    """Return a description of the first invalid value in an entry, or an empty string."""
    texts = ("name", "file", "digest", "source", "source_hash", "options", "skeleton", "origin")
    for key in texts:
        if not isinstance(getattr(entry, key), str):
            return f"has a {key} that is not a string"
    if not isinstance(entry.frames, int) or not 0 < entry.frames < 1 << 40:
        return f"has {entry.frames!r} frames"
    if not isinstance(entry.fps, float) or not SLOWEST <= entry.fps <= FASTEST:
        return f"has {entry.fps!r} frames per second, not {SLOWEST:g} to {FASTEST:g}"
    if "/" in entry.file:
        return f"names the file {entry.file[:200]!r}, which is not a plain name"
    try:
        plain_name(entry.file)
    except LibraryError:
        return f"names the file {entry.file[:200]!r}, which is not a plain name"
    return ""


def _row_sum(row: object) -> str:
    return hashlib.blake2b(repr(row).encode("utf-8", "replace"), digest_size=8).hexdigest()


def _facts_sum(row: tuple) -> str:
    return _row_sum(tuple(row)) if row else ""
