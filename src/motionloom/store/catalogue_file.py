"""A catalogue's SQLite file, which is checked when opened and has one connection per thread.

SQLite's rollback journal isolates readers from the single writer. It also works in shared and
read-only folders. Transactions may be nested: the outermost one commits, and then files that are no
longer used are removed (`CatalogueFile.at_end`).

Catalogues are not trusted. The schema may contain only tables and indices, but no views, triggers
or expressions. Links, and journals that name other files, are refused. A catalogue that was
replaced on disk while open is reopened.
"""

from __future__ import annotations

import os
import re
import sqlite3
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from motionloom.errors import LibraryError
from motionloom.files import below, check_plain_schema, plain_name
from motionloom.store import history

FILE = "catalogue.sqlite"
FORMAT = 4
OLDEST_FORMAT = 2  # release 0.2; `motionloom.store.upgrade` converts it to the current format
APPLICATION = 0x4C4F4F4D  # "LOOM", in the header of the SQLite file
_PATIENCE = 600.0  # seconds to wait for another process to finish its transaction
_KNOWN = {  # everything that a catalogue may contain
    "meta", "skeletons", "motions", "labels", "segment_labels", "stored", "checks", "artifacts",
    "motions_by_source", "labels_by_label", *history.TABLES,
}  # fmt: skip
_SUPER_JOURNAL = bytes.fromhex(
    "d9d505f920a163d7"
)  # last bytes of a journal that names another file
_LONGEST_VALUE = 1 << 28  # bytes
# Statements that begin, commit and roll back a transaction that is not, or is, within another.
_STATEMENTS = (
    ("BEGIN IMMEDIATE", "COMMIT", ("ROLLBACK",)),
    ("SAVEPOINT part", "RELEASE part", ("ROLLBACK TO part", "RELEASE part")),
)


def is_library(path: str | Path) -> bool:
    """Return whether there is a library at `path`."""
    return Path(path, FILE).is_file()


def is_unused(folder: Path) -> bool:
    """Return whether the catalogue in a folder is missing or has no tables yet."""
    try:
        # The file is not opened: closing it would release all locks of SQLite in this process.
        status = os.lstat(folder / FILE)
    except OSError as error:
        return isinstance(error, FileNotFoundError)
    return stat.S_ISREG(status.st_mode) and status.st_size == 0


class CatalogueFile:
    """The connections to an SQLite file, and its transactions."""

    def __init__(self, folder: Path, *, file: str = FILE) -> None:
        self.folder, self.file = folder, file
        self._local = threading.local()
        self._verified: dict[str, tuple] = {}  # rows whose checksum has been verified

    def rows(self, query: str, values: tuple = ()) -> list[tuple]:
        """Return all rows of a query."""
        with self._explained():
            return self.connection().execute(query, values).fetchall()

    def meta(self) -> dict[str, str]:
        """Return the format version and the settings of the library."""
        return dict(self.rows("SELECT key, value FROM meta"))

    def check(self) -> None:
        """Raise `LibraryError` unless this is a readable library."""
        path = self.folder / self.file
        if not self.folder.exists():
            raise LibraryError(
                f"{self.folder}: no such library; create it with `motionloom import` "
                "or, in "
                "Python, Library.create"
            )
        if not path.exists() and not path.is_symlink():
            orphans = lost_frames(self.folder)
            why = "it is a file" if self.folder.is_file() else f"it has no {FILE}"
            raise LibraryError(
                f"{self.folder}: not a motionloom library: {why}"
                + (
                    f". {recovery_advice(self.folder, orphans)}"
                    if orphans
                    else "; to create one from motion files, run motionloom import NEW.loom "
                    f"{self.folder}"
                )
            )
        tables = self._checked_schema()
        (application,) = self.rows("PRAGMA application_id")[0]
        if not tables:
            orphans = lost_frames(self.folder)
            raise LibraryError(
                f"{self.folder}: the creation of this library was interrupted; "
                + (recovery_advice(self.folder, orphans) if orphans else "create it again")
            )
        if application != APPLICATION or "meta" not in tables:
            raise LibraryError(
                f"{self.folder}: not a motionloom library: {FILE} belongs to another application"
            )
        version = str(self.meta().get("format", ""))
        if not re.fullmatch("[0-9]{1,4}", version) or int(version) > FORMAT:
            raise LibraryError(
                f"{self.folder}: written by a newer motionloom (format {version}; this version "
                f"reads up to {FORMAT}); update motionloom"
            )
        if int(version) < OLDEST_FORMAT:
            raise LibraryError(
                f"{self.folder}: written by a motionloom before 0.2 (format {version}); import "
                "its motions into a new library"
            )

    @property
    def format(self) -> int:
        """Format version recorded in the catalogue."""
        return int(self.meta()["format"])

    def _checked_schema(self) -> set[str]:
        """Return the names of the tables. Raise an error for anything but tables and indices."""
        with self._explained():
            try:
                names = check_plain_schema(self.connection())
                for name in sorted(names - _KNOWN):
                    raise LibraryError(
                        "damaged or not trustworthy: expected the tables of a library, found "
                        f"{name[:80]!r}"
                    )
            except LibraryError as error:
                if self.connection().execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
                    raise LibraryError(
                        f"{self.folder}: not a motionloom library: {FILE} belongs to another "
                        "application"
                    ) from None
                raise LibraryError(f"{self.folder}: the catalogue is {error}") from None
        return names

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
    def transaction(self, *, create: bool = False) -> Iterator[sqlite3.Connection]:
        """Write everything within the ``with`` block, or nothing if an exception leaves it.

        Within another transaction of this thread, the data is committed with the outer one.
        """
        with self._explained():
            connection = self.connection(create=create)
            outer = getattr(self._local, "ends", None)
            ends: list[tuple[bool, Callable[[], None]]] = []
            self._local.ends = ends
            begin, commit, rollback = _STATEMENTS[connection.in_transaction]
            committed = False
            try:
                connection.execute(begin)
                yield connection
                connection.execute(commit)
                committed = True
            finally:
                self._local.ends = outer
                if not committed and connection.in_transaction:
                    for statement in rollback:
                        connection.execute(statement)
                if committed and outer is not None:
                    outer += ends  # the outermost transaction decides
                else:
                    for if_committed, action in ends:
                        if if_committed == committed:
                            action()

    def at_end(self, action: Callable[[], None], *, committed: bool = True) -> None:
        """Call `action` when the current transaction is committed, or now if there is none.

        With ``committed=False``, it is called only if the transaction is rolled back.
        """
        ends = getattr(self._local, "ends", None)
        if ends is not None:
            ends.append((committed, action))
        elif committed:
            action()

    def connection(self, *, create: bool = False) -> sqlite3.Connection:
        """Return the SQLite connection of this thread and process."""
        local = self._local
        current = getattr(local, "connection", None)
        # A connection must not be used in a forked process.
        if current is not None and local.process == os.getpid():
            if current.in_transaction or local.identity == self.identity():
                return current
            self.close()  # the library was replaced on disk
            self._open(create=False)
            self._verified.clear()
            self.check()
        else:
            if current is not None:
                _inherited.append(current)
            self._open(create=create)
        return local.connection

    def identity(self) -> tuple[int, int]:
        """Return the device and inode of the file, which change if the library is replaced."""
        try:
            status = os.stat(self.folder / self.file)
        except OSError as error:
            raise LibraryError(
                f"{self.folder}: the catalogue cannot be opened: {error.strerror or error}"
            ) from None
        return status.st_dev, status.st_ino

    def _open(self, *, create: bool) -> None:
        local = self._local
        self._check_files()
        # "rw" lets a reader roll back the transaction of a killed writer; in a read-only folder,
        # SQLite falls back to read-only access.
        place = (
            f"{self.folder.absolute().joinpath(self.file).as_uri()}"
            f"?mode={'rwc' if create else 'rw'}"
        )
        for _ in range(10):
            before = None if create else self.identity()
            connection = sqlite3.connect(place, uri=True, timeout=_PATIENCE, isolation_level=None)
            if before in (None, self.identity()):
                break
            connection.close()  # replaced a moment ago
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        local.connection, local.identity, local.process = connection, self.identity(), os.getpid()

    def _check_files(self) -> None:
        """Raise an error if the catalogue, or a file next to it, refers to another file."""
        for ending in ("", "-journal", "-wal", "-shm"):
            path = below(self.folder, plain_name(self.file + ending))
            try:
                status = path.lstat()
            except OSError:
                continue
            if not stat.S_ISREG(status.st_mode):
                raise LibraryError(f"{path}: expected an SQLite file, found something else")
            if ending == "-journal" and status.st_size >= len(_SUPER_JOURNAL):
                with open(path, "rb") as file:
                    file.seek(-len(_SUPER_JOURNAL), os.SEEK_END)
                    if file.read() == _SUPER_JOURNAL:
                        raise LibraryError(
                            f"{path}: this journal names another file, which SQLite would "
                            "delete; motionloom writes no such journal. Remove it"
                        )

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorname", "") or ""
            raise LibraryError(f"{self.folder}: {_reason(code, str(error))}") from error


# Connections that a forked process inherited. Closing them could roll back a transaction of the
# parent, so they stay open but unused.
_inherited: list[sqlite3.Connection] = []


def lost_frames(folder: Path) -> int:
    """Return the number of frame files in a library folder without a usable catalogue."""
    frames = folder / "frames"
    if frames.is_symlink() or not frames.is_dir():
        return 0
    return sum(name.endswith(".npy") and name[0] != "." for name in os.listdir(frames))


def recovery_advice(folder: Path, count: int) -> str:
    """Return advice about frame files that the catalogue does not list."""
    motions = "1 motion that is" if count == 1 else f"{count} motions that are"
    return (
        f"there are frames of {motions} not listed in the catalogue; to list them again, run "
        f"motionloom verify {folder} --repair"
    )


def _reason(code: str, text: str) -> str:
    if code.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
        return (
            f"the catalogue is damaged ({text}); restore it, or list the motions again with "
            "motionloom verify LIB --repair"
        )
    if code.startswith("SQLITE_FULL"):
        return "the disk is full; committed changes are safe. Free some space and run this again"
    if code.startswith("SQLITE_READONLY_ROLLBACK") or code.startswith("SQLITE_READONLY_RECOVERY"):
        return (
            "an import was killed while writing, and a read-only folder cannot be recovered; "
            "open the library once with write access"
        )
    if code.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return f"cannot open the catalogue: {text}"
    if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return "the catalogue is locked by another process; run the same command again later"
    return f"the catalogue cannot be used: {text}"
