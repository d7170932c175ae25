"""A library's history: the data that each change replaced, for undo and redo.

Within ``with store.change("label"):``, the catalogue saves the data that it replaces, in the same
transaction as the change: the entry, labels and labeled segments of each motion, and the version of
each named artifact. Frames and artifacts that are no longer used are in the trash
(`motionloom.store.trash`). Undoing a change exchanges the current data with the data in the
history, so undoing it a second time redoes it. If a process is killed, a change or its undo is
either complete or has no effect, because files are added before the transaction and removed after
it.

The catalogue tables are ``history`` (number, kind of change, whether it is undone),
``history_motions`` and ``history_artifacts``. Every row has a checksum. Only the latest
`REMEMBERED` changes are kept. Emptying the trash deletes the history.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING

from motionloom.errors import LibraryError
from motionloom.files import below, parse_json
from motionloom.store.records import COLUMNS, MARKS, Entry, text_digest
from motionloom.store.trash import move_to_trash, restore_from_trash

if TYPE_CHECKING:
    from motionloom.store.catalogue import Catalogue
    from motionloom.store.store import Store

REMEMBERED = 100  # number of changes that can be undone
TABLES = {"history", "history_motions", "history_artifacts"}
SCHEMA = """
CREATE TABLE IF NOT EXISTS history (
    number INTEGER PRIMARY KEY, what TEXT NOT NULL, undone INTEGER NOT NULL, checksum TEXT);
CREATE TABLE IF NOT EXISTS history_motions (
    number INTEGER NOT NULL, name TEXT NOT NULL, skeleton TEXT, image TEXT NOT NULL,
    checksum TEXT, PRIMARY KEY (number, name)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS history_artifacts (
    number INTEGER NOT NULL, stem TEXT NOT NULL, version TEXT, checksum TEXT,
    PRIMARY KEY (number, stem)) WITHOUT ROWID
"""
_SHOWN = 3  # number of names shown in the description of a change


@dataclass(frozen=True)
class Change:
    """A change to a library, for `Store.history`.

    Attributes
    ----------
    what : str
        Kind of change: ``import``, ``label``, ``remove``, ``rename``, ``beats of walk`` ...
    names : tuple of str
        Names of the changed motions, sorted.
    undone : bool
        True if the change is undone and can be redone with `Store.redo`.

    Examples
    --------
    >>> from motionloom.store.history import Change
    >>> print(Change("label", ("walk_1", "walk_2")))
    label walk_1, walk_2
    """

    what: str
    names: tuple[str, ...]
    undone: bool = False

    def __str__(self) -> str:
        some = ", ".join(self.names[:_SHOWN])
        more = len(self.names) - _SHOWN
        return f"{self.what} {some}".strip() + (f" and {more} more" if more > 0 else "")


@dataclass(frozen=True)
class Image:
    """Catalogue data of a motion. The entry is None if the motion does not exist."""

    entry: Entry | None
    labels: tuple[str, ...] = ()
    segments: tuple[tuple[int, int, str], ...] = ()

    @classmethod
    def of(cls, connection: sqlite3.Connection, name: str) -> Image:
        """Return the current data of a motion."""
        row = connection.execute(
            f"SELECT {COLUMNS} FROM motions WHERE name = ?", (name,)
        ).fetchone()
        if row is None:
            return cls(None)
        labels = "SELECT label FROM labels WHERE name = ? ORDER BY label"
        segments = "SELECT start, end, label FROM segment_labels WHERE name = ?"
        return cls(
            Entry(*row),
            tuple(label for (label,) in connection.execute(labels, (name,))),
            tuple(sorted(connection.execute(segments, (name,)))),
        )

    @classmethod
    def from_json(cls, text: str) -> Image:
        """Parse data from the history. Raise `LibraryError` if it is damaged."""
        from motionloom.store.catalogue import entry_problem

        try:
            entry, labels, segments = parse_json(text)
            image = cls(
                None if entry is None else Entry(*entry),
                tuple(map(str, labels)),
                tuple((int(start), int(end), str(label)) for start, end, label in segments),
            )
        except (ValueError, TypeError, RecursionError):
            raise LibraryError(
                "the history is damaged: the data of a motion cannot be read"
            ) from None
        if image.entry is not None and (problem := entry_problem(image.entry)):
            raise LibraryError(f"the history is damaged: a recorded motion {problem}")
        return image

    def to_json(self) -> str:
        """Return the data as JSON for the history."""
        entry = None if self.entry is None else astuple(self.entry)
        return json.dumps([entry, self.labels, self.segments])

    def write(self, connection: sqlite3.Connection, name: str) -> None:
        """Write the data of a motion to the catalogue."""
        for table in ("motions", "labels", "segment_labels"):
            connection.execute(f"DELETE FROM {table} WHERE name = ?", (name,))
        if self.entry is None:
            return
        put = connection.executemany
        put(f"INSERT INTO motions ({COLUMNS}) VALUES ({MARKS})", [astuple(self.entry)])
        put("INSERT INTO labels VALUES (?, ?)", ((name, label) for label in self.labels))
        put("INSERT INTO segment_labels VALUES (?, ?, ?, ?)", ((name, *x) for x in self.segments))


class Recorder:
    """Recorder of the data that a change replaces. It exists while the change is made."""

    def __init__(self, what: str) -> None:
        self.what = what
        self._number: int | None = None

    def motions(self, connection: sqlite3.Connection, names: Iterable[str]) -> None:
        """Record motions before they are changed, within a transaction."""
        rows = [(name, Image.of(connection, name)) for name in names]
        if not rows:
            return
        number = self._begin(connection)
        connection.executemany(
            "INSERT OR IGNORE INTO history_motions VALUES (?, ?, ?, ?, ?)",
            (
                _summed(number, name, image.entry and image.entry.skeleton, image.to_json())
                for name, image in rows
            ),
        )

    def artifact(self, connection: sqlite3.Connection, stem: str) -> None:
        """Record the version of an artifact, if it exists, before it is saved or deleted."""
        connection.execute(
            "INSERT OR IGNORE INTO history_artifacts VALUES (?, ?, ?, ?)",
            _summed(self._begin(connection), stem, _version(connection, stem)),
        )

    def _begin(self, connection: sqlite3.Connection) -> int:
        """Record the change, once. Changes undone before can then no longer be redone."""
        if self._number is None:
            forget(connection, "undone = 1")
            (last,) = connection.execute("SELECT coalesce(max(number), 0) FROM history").fetchone()
            self._number = last + 1
            forget(connection, f"number <= {self._number - REMEMBERED}")
        connection.execute(
            "INSERT OR IGNORE INTO history VALUES (?, ?, ?, ?)",
            _summed(self._number, self.what, 0),
        )
        return self._number


def forget(connection: sqlite3.Connection, which: str = "1") -> None:
    """Delete changes from the history, within a transaction. `which` is an SQL condition."""
    numbers = connection.execute(f"SELECT number FROM history WHERE {which}").fetchall()
    for table in sorted(TABLES):
        connection.executemany(f"DELETE FROM {table} WHERE number = ?", numbers)


def changes(catalogue: Catalogue) -> list[tuple[int, Change]]:
    """Return all changes with their numbers, latest first."""
    names: dict[int, set[str]] = {}
    for number, name in catalogue.rows("SELECT number, name FROM history_motions"):
        names.setdefault(number, set()).add(str(name))
    rows = catalogue.rows("SELECT number, what, undone FROM history ORDER BY number DESC")
    return [
        (number, Change(str(what), tuple(sorted(names.get(number, ()))), bool(undone)))
        for number, what, undone in rows
    ]


def damaged_changes(catalogue: Catalogue) -> list[int]:
    """Return the numbers of changes of which a row has a wrong checksum."""
    return sorted({row[0] for table in sorted(TABLES) for row in _damaged_rows(catalogue, table)})


def put_checksums(connection: sqlite3.Connection) -> None:
    """Write new checksums of all rows, within a transaction; earlier formats have none."""
    for table in sorted(TABLES):
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        if "checksum" not in columns:
            connection.execute(f"ALTER TABLE {table} ADD COLUMN checksum TEXT")
            columns.append("checksum")
        rows = connection.execute(f"SELECT * FROM {table}").fetchall()
        marks = ", ".join("?" for _ in columns)
        connection.executemany(
            f"INSERT OR REPLACE INTO {table} VALUES ({marks})", (_summed(*row[:-1]) for row in rows)
        )


def put_version(connection: sqlite3.Connection, stem: str, version: str | None) -> None:
    """Set or delete the current version of an artifact, within a transaction."""
    connection.execute("DELETE FROM artifacts WHERE stem = ?", (stem,))
    if version is not None:
        connection.execute("INSERT INTO artifacts VALUES (?, ?)", (stem, version))


def exchange(store: Store, number: int) -> None:
    """Exchange the data replaced by a change with the current data.

    The caller holds the writer lock.

    Raises
    ------
    LibraryError
        If the history is damaged, or required frames or artifacts are no longer in the trash.
    """
    from motionloom.store.artifacts.folders import FOLDER as DERIVED
    from motionloom.store.frames import FOLDER as FRAMES
    from motionloom.store.frames import sync_folder
    from motionloom.store.ingest.importing import frame_files, remove_files

    catalogue, files = store.catalogue, store.files
    if any(_damaged_rows(catalogue, table, number) for table in sorted(TABLES)):
        raise LibraryError(
            f"{store.path}: this cannot be undone: the history is damaged; run motionloom verify "
            f"{store.path} --repair"
        )
    query = "SELECT image FROM history_motions WHERE number = ?"
    wanted = [Image.from_json(text).entry for (text,) in catalogue.rows(query, (number,))]
    there = frame_files(files)
    needed = {
        f"{FRAMES}/{entry.file}": f"the frames of {entry.name!r} are"
        for entry in wanted
        if entry and entry.file not in there
    }
    query = "SELECT stem, version FROM history_artifacts WHERE number = ?"
    for stem, version in catalogue.rows(query, (number,)):
        if not isinstance(stem, str) or not isinstance(version, str | None):
            raise LibraryError("the history is damaged: it refers to an invalid artifact")
        name = f"{DERIVED}/{stem}.{version}"
        if version is not None and not below(store.path, name).is_dir():
            needed[name] = f"{stem.partition('.')[2]!r} is"
    back = restore_from_trash(files, sorted(needed))
    for name in sorted(needed.keys() - back):
        raise LibraryError(
            f"{store.path}: this cannot be undone: {needed[name]} not in the trash anymore"
        )
    if not files.remote:
        for folder in sorted({name.partition("/")[0] for name in back}):
            sync_folder(files.local(folder))
    unused, artifacts = catalogue.exchange(number)
    remove_files(files, unused)
    move_to_trash(store.path, [f"{DERIVED}/{name}" for name in artifacts])


def exchange_rows(
    connection: sqlite3.Connection, number: int
) -> tuple[list[str], list[str], list[str]]:
    """Exchange the catalogue rows within a transaction.

    Returns the names of motions, and the frame files and artifact folders that are now unused.
    """
    query = "SELECT name, image FROM history_motions WHERE number = ?"
    rows = connection.execute(query, (number,)).fetchall()
    used = "SELECT file FROM motions"
    before = {file for (file,) in connection.execute(used)} if rows else set()
    for name, text in rows:
        now = Image.of(connection, name)
        Image.from_json(text).write(connection, name)
        connection.execute(
            "INSERT OR REPLACE INTO history_motions VALUES (?, ?, ?, ?, ?)",
            _summed(number, name, now.entry and now.entry.skeleton, now.to_json()),
        )
    query = "SELECT stem, version FROM history_artifacts WHERE number = ?"
    folders = []
    for stem, version in connection.execute(query, (number,)).fetchall():
        current = _version(connection, stem)
        put_version(connection, stem, version)
        connection.execute(
            "INSERT OR REPLACE INTO history_artifacts VALUES (?, ?, ?, ?)",
            _summed(number, stem, current),
        )
        if current not in (None, version):
            folders.append(f"{stem}.{current}")
    query = "SELECT what, undone FROM history WHERE number = ?"
    what, undone = connection.execute(query, (number,)).fetchone()
    connection.execute(
        "INSERT OR REPLACE INTO history VALUES (?, ?, ?, ?)", _summed(number, what, 1 - undone)
    )
    after = {file for (file,) in connection.execute(used)} if rows else set()
    return [name for name, _ in rows], sorted(before - after), folders


def _version(connection: sqlite3.Connection, stem: str) -> str | None:
    query = "SELECT version FROM artifacts WHERE stem = ?"
    return (connection.execute(query, (stem,)).fetchone() or (None,))[0]


def _summed(*row: object) -> tuple[object, ...]:
    """Return a row with its checksum."""
    return *row, text_digest(repr(row))


def _damaged_rows(catalogue: Catalogue, table: str, number: int | None = None) -> list[tuple]:
    rows = catalogue.rows(f"SELECT * FROM {table} WHERE number = coalesce(?, number)", (number,))
    return [row for row in rows if _summed(*row[:-1]) != row]
