"""History of a library: what every change replaced, so that it can be undone and redone.

Within ``with store.change("label"):`` the catalogue writes what it replaces, in the transaction of
the change itself: entry, labels and labeled segments of each motion, and the version of each named
artifact. Frames and artifacts that are no longer used are in the trash (`motionloom.store.trash`).
Undoing a change exchanges what there is now with what the history holds, so that undoing it again
restores it. A killed process leaves the change, or its undoing, whole or not at all.

Tables of the catalogue: ``history`` (number, what was done, whether it is undone),
``history_motions`` and ``history_artifacts``. The latest `REMEMBERED` changes are kept; emptying
the trash forgets all.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from typing import TYPE_CHECKING

from motionloom.errors import LibraryError
from motionloom.files import parse_json
from motionloom.store.records import Entry
from motionloom.store.trash import move_to_trash, restore_from_trash

if TYPE_CHECKING:
    from motionloom.store.catalogue import Catalogue
    from motionloom.store.store import Store

REMEMBERED = 100  # changes that can be undone
TABLES = {"history", "history_motions", "history_artifacts"}
SCHEMA = """
CREATE TABLE IF NOT EXISTS history (
    number INTEGER PRIMARY KEY, what TEXT NOT NULL, undone INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS history_motions (
    number INTEGER NOT NULL, name TEXT NOT NULL, skeleton TEXT, image TEXT NOT NULL,
    PRIMARY KEY (number, name)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS history_artifacts (
    number INTEGER NOT NULL, stem TEXT NOT NULL, version TEXT,
    PRIMARY KEY (number, stem)) WITHOUT ROWID
"""
_COLUMNS = ", ".join(field.name for field in fields(Entry))
_MARKS = ", ".join("?" for _ in fields(Entry))
_SHOWN = 3  # names in the description of a change


@dataclass(frozen=True)
class Change:
    """One change of a library, for `Store.history`.

    Attributes
    ----------
    what : str
        What was done: ``import``, ``label``, ``remove``, ``rename``, ``beats of walk`` ...
    names : tuple of str
        Motions that it changed, sorted.
    undone : bool
        Whether it is undone, and `Store.redo` would do it again.

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
    """What the catalogue says of one motion; no entry if there is no such motion."""

    entry: Entry | None
    labels: tuple[str, ...] = ()
    segments: tuple[tuple[int, int, str], ...] = ()

    @classmethod
    def of(cls, connection: sqlite3.Connection, name: str) -> Image:
        """As it is now."""
        row = connection.execute(
            f"SELECT {_COLUMNS} FROM motions WHERE name = ?", (name,)
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
        """Read from the history; raises `LibraryError` if it is damaged."""
        from motionloom.store.catalogue import entry_problem

        try:
            entry, labels, segments = parse_json(text)
            found = cls(
                None if entry is None else Entry(*entry),
                tuple(map(str, labels)),
                tuple((int(start), int(end), str(label)) for start, end, label in segments),
            )
        except (ValueError, TypeError, RecursionError):
            raise LibraryError("the history is damaged: a motion in it cannot be read") from None
        if found.entry is not None and (problem := entry_problem(found.entry)):
            raise LibraryError(f"the history is damaged: a motion in it {problem}")
        return found

    def to_json(self) -> str:
        """As text for the history."""
        entry = None if self.entry is None else astuple(self.entry)
        return json.dumps([entry, self.labels, self.segments])

    def write(self, connection: sqlite3.Connection, name: str) -> None:
        """Make the catalogue say this of a motion."""
        for table in ("motions", "labels", "segment_labels"):
            connection.execute(f"DELETE FROM {table} WHERE name = ?", (name,))
        if self.entry is None:
            return
        put = connection.executemany
        put(f"INSERT INTO motions ({_COLUMNS}) VALUES ({_MARKS})", [astuple(self.entry)])
        put("INSERT INTO labels VALUES (?, ?)", ((name, label) for label in self.labels))
        put("INSERT INTO segment_labels VALUES (?, ?, ?, ?)", ((name, *x) for x in self.segments))


class Recorder:
    """Writes what one change replaces; lives as long as the change."""

    def __init__(self, what: str) -> None:
        self.what = what
        self._number: int | None = None

    def motions(self, connection: sqlite3.Connection, names: Iterable[str]) -> None:
        """Within a transaction, before it changes these motions."""
        rows = [(name, Image.of(connection, name)) for name in names]
        if not rows:
            return
        number = self._begin(connection)
        connection.executemany(
            "INSERT OR IGNORE INTO history_motions VALUES (?, ?, ?, ?)",
            (
                (number, name, image.entry and image.entry.skeleton, image.to_json())
                for name, image in rows
            ),
        )

    def artifact(self, connection: sqlite3.Connection, stem: str, version: str | None) -> None:
        """Within a transaction, before an artifact is saved or deleted; its version, if any."""
        connection.execute(
            "INSERT OR IGNORE INTO history_artifacts VALUES (?, ?, ?)",
            (self._begin(connection), stem, version),
        )

    def _begin(self, connection: sqlite3.Connection) -> int:
        """Enter the change, unless it is entered; what was undone before can no more be redone."""
        if self._number is None:
            forget(connection, "undone = 1")
            (last,) = connection.execute("SELECT coalesce(max(number), 0) FROM history").fetchone()
            self._number = last + 1
            forget(connection, f"number <= {self._number - REMEMBERED}")
        connection.execute(
            "INSERT OR IGNORE INTO history VALUES (?, ?, 0)", (self._number, self.what)
        )
        return self._number


def forget(connection: sqlite3.Connection, which: str = "1") -> None:
    """Forget changes, within a transaction; `which` is a condition in SQL."""
    numbers = connection.execute(f"SELECT number FROM history WHERE {which}").fetchall()
    for table in sorted(TABLES):
        connection.executemany(f"DELETE FROM {table} WHERE number = ?", numbers)


def changes(catalogue: Catalogue) -> list[tuple[int, Change]]:
    """All changes with their numbers, the latest first."""
    names: dict[int, set[str]] = {}
    for number, name in catalogue.rows("SELECT number, name FROM history_motions"):
        names.setdefault(number, set()).add(str(name))
    rows = catalogue.rows("SELECT number, what, undone FROM history ORDER BY number DESC")
    return [
        (number, Change(str(what), tuple(sorted(names.get(number, ()))), bool(undone)))
        for number, what, undone in rows
    ]


def exchange(store: Store, number: int) -> None:
    """Exchange what a change replaced with what there is now; the caller holds the writer lock.

    Raises
    ------
    LibraryError
        If frames or an artifact that it needs are no longer in the trash.
    """
    from motionloom.store.frames import FOLDER as FRAMES
    from motionloom.store.frames import sync_folder
    from motionloom.store.ingest.importing import frame_files, remove_files

    catalogue, files = store.catalogue, store.files
    query = "SELECT image FROM history_motions WHERE number = ?"
    wanted = [Image.from_json(text).entry for (text,) in catalogue.rows(query, (number,))]
    there = frame_files(files)
    needed = {entry.file: entry.name for entry in wanted if entry and entry.file not in there}
    back = restore_from_trash(files, [f"{FRAMES}/{file}" for file in sorted(needed)])
    for file in sorted(needed):
        if f"{FRAMES}/{file}" not in back:
            raise LibraryError(
                f"{store.path}: this cannot be undone: the frames of {needed[file]!r} are no "
                "longer in the trash"
            )
    if back and not files.remote:
        sync_folder(files.local(FRAMES))
    gone = _restore_artifacts(store, number)
    unused = catalogue.exchange(number, dict(gone))
    remove_files(files, unused)
    move_to_trash(store.path, [f"derived/{stem}.{version}" for stem, version in gone if version])


def _restore_artifacts(store: Store, number: int) -> list[tuple[str, str | None]]:
    """Bring back the artifacts that a change replaced; stem and version of those there were."""
    from motionloom.store.artifacts.folders import LocalFolders, versions

    rows = store.catalogue.rows(
        "SELECT stem, version FROM history_artifacts WHERE number = ?", (number,)
    )
    if not rows:
        return []
    folders = LocalFolders(store.path.absolute() / "derived")
    found: list[tuple[str, str | None]] = []
    for stem, version in rows:
        if not isinstance(stem, str) or not isinstance(version, str | None):
            raise LibraryError("the history is damaged: it names an artifact that cannot be")
        current = versions(folders.names(), stem)
        names = [name for name in current if name != f"{stem}.{version}"]
        found.append((stem, names[-1].rpartition(".")[2] if names else None))
        if version is not None and f"{stem}.{version}" not in current:
            if not restore_from_trash(store.files, [f"derived/{stem}.{version}"]):
                raise LibraryError(
                    f"{store.path}: this cannot be undone: {stem.partition('.')[2]!r} is no "
                    "longer in the trash"
                )
    return found


def exchange_rows(
    connection: sqlite3.Connection, number: int, artifacts: dict[str, str | None]
) -> tuple[list[str], list[str]]:
    """The catalogue's part, within a transaction; names of motions, files that are unused now."""
    query = "SELECT name, image FROM history_motions WHERE number = ?"
    rows = connection.execute(query, (number,)).fetchall()
    used = "SELECT file FROM motions"
    before = {file for (file,) in connection.execute(used)} if rows else set()
    for name, text in rows:
        now = Image.of(connection, name)
        Image.from_json(text).write(connection, name)
        connection.execute(
            "UPDATE history_motions SET skeleton = ?, image = ? WHERE number = ? AND name = ?",
            (now.entry and now.entry.skeleton, now.to_json(), number, name),
        )
    connection.executemany(
        "UPDATE history_artifacts SET version = ? WHERE number = ? AND stem = ?",
        ((version, number, stem) for stem, version in artifacts.items()),
    )
    connection.execute("UPDATE history SET undone = 1 - undone WHERE number = ?", (number,))
    after = {file for (file,) in connection.execute(used)} if rows else set()
    return [name for name, _ in rows], sorted(before - after)
