"""Verification and repair of a library, by comparing all data with its checksums.

======================  ==========================================  ==============================
data                    compared with                               repaired
======================  ==========================================  ==============================
catalogue, missing      --                                          rebuilt from the frame files
entry of a motion       its checksum in the catalogue               from the frame file
labels                  their checksum in the catalogue             no: kept as they are
index of the labels     labels                                      rebuilt from the labels
history                 its checksums in the catalogue              no: cleared
frames                  digest in the catalogue, checksum in file   from the source file
frames of no motion     --                                          listed again, or to the trash
artifact                ``checks.json`` in its folder               if it can be rebuilt
saved artifact          its version in the catalogue                from the trash
======================  ==========================================  ==============================

A repair does not delete anything. Unusable files are moved to the library's trash. Without a
repair, writers need not wait: problems are reported only if they are still there while no other
process writes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from motionloom.errors import LibraryError, MotionloomError
from motionloom.files import parse_json
from motionloom.store.artifacts.folders import (
    FOLDER as DERIVED,
)
from motionloom.store.artifacts.folders import (
    LocalFolders,
    RemoteFolders,
    check_folder,
    left_over,
    read_checks,
    write_checks,
)
from motionloom.store.catalogue import Catalogue, entry_problem
from motionloom.store.catalogue_file import (
    FILE,
    FORMAT,
    OLDEST_FORMAT,
    is_unused,
    lost_frames,
    recovery_advice,
)
from motionloom.store.frames import (
    FOLDER,
    FrameDescription,
    FrameFile,
    frame_path,
    open_frames,
    read_description,
    table_digest,
    write_frame_table,
)
from motionloom.store.history import damaged_changes
from motionloom.store.ingest.importing import frame_files, remove_files
from motionloom.store.ingest.task import StoredSkeletons, content_hash, described_entry
from motionloom.store.lock import writer_lock
from motionloom.store.records import Entry, origin_from, skeleton_from
from motionloom.store.remote.object_store import ObjectStore
from motionloom.store.settings import ImportSettings
from motionloom.store.trash import move_to_trash, restore_from_trash, trash_size

if TYPE_CHECKING:
    from motionloom.store.store import Store


@dataclass(frozen=True)
class VerifyReport:
    """Result of a verification.

    Attributes
    ----------
    motions, artifacts : int
        Number of motions and artifacts read.
    problems : tuple of str
        One line per problem. After a repair, only the remaining problems are listed.
    repaired : tuple of str
        One line per repair.
    notes : tuple of str
        Observations that are not problems, such as missing checksums or files in the trash.
    """

    motions: int
    artifacts: int
    problems: tuple[str, ...] = ()
    repaired: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass
class _Report:
    """A report under construction."""

    repair: bool
    is_certain: bool = True  # False if a process that is writing would give the same report
    problems: list[str] = field(default_factory=list)
    repaired: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def verified(store: Store, *, repair: bool = False) -> VerifyReport:
    """Compare all data in a library with its checksums. See `Store.verify`."""
    if repair:
        with store.writing():
            return _verified(store, _Report(repair))
    report = _Report(repair)
    first = _verified(store, report)
    if report.is_certain and not first.problems:
        return first
    try:
        store.check_writable()
        # A process that was writing meanwhile looks like damage.
        with writer_lock(store.path, timeout=store.timeout):
            return _verified(store, _Report(repair))
    except LibraryError:
        return first  # the folder is read-only, so no process was writing


def tidy(store: Store) -> None:
    """Move everything that an interrupted writer left over to the trash.

    The caller holds the writer lock. Nothing is moved if the catalogue is damaged, because it may
    then not list everything that is in use.
    """
    if store.catalogue.format != FORMAT or store.catalogue.wrong_checks():
        return
    listed = {file for (file,) in store.catalogue.rows("SELECT file FROM motions")}
    remove_files(store.files, sorted(frame_files(store.files) - listed))
    if not isinstance(store.files, ObjectStore):
        move_to_trash(store.path, _left_over(store))


def _left_over(store: Store) -> list[str]:
    folders = LocalFolders(store.path.absolute() / DERIVED)
    return [f"{DERIVED}/{name}" for name in left_over(store.catalogue, folders)]


def _verified(store: Store, report: _Report) -> VerifyReport:
    _check_tables(store, report)
    described = _descriptions(store)
    _check_entries(store, described, report)
    _check_labels(store, report)
    _check_history(store, report)
    motions = _check_frames(store, report)
    _check_orphans(store, described, report)
    artifacts = _check_artifacts(store, report)
    if not isinstance(store.files, ObjectStore):
        count, size = trash_size(store.path)
        if count:
            report.notes.append(f"the trash contains {count} files, {size / 1e6:.1f} MB")
    return VerifyReport(
        motions, artifacts, tuple(report.problems), tuple(report.repaired), tuple(report.notes)
    )


def _repair(report: _Report, note: str, done: str, repair: Any) -> None:
    if report.repair:
        repair()
        report.repaired.append(done)
    else:
        report.notes.append(note)


# --- the catalogue ---------------------------------------------------------------------------


def _check_tables(store: Store, report: _Report) -> None:
    """Compare the tables with their indices, and check the skeletons."""
    catalogue = store.catalogue
    query = "PRAGMA integrity_check(5)"
    broken = [row[0] for row in catalogue.rows(query) if row[0] != "ok"]
    if broken and report.repair:
        with catalogue.transaction() as connection:
            connection.execute("REINDEX")
        left = [row[0] for row in catalogue.rows(query) if row[0] != "ok"]
        if not left:
            report.repaired.append(f"the catalogue was damaged: {broken[0]}; rebuilt its indices")
        broken = left
    report.problems += [f"{store.path}: the catalogue is damaged: {line}" for line in broken]
    for key, data in catalogue.rows("SELECT key, data FROM skeletons"):
        skeleton = skeleton_from(data) if isinstance(data, str) else None
        if skeleton is None or skeleton.key != key:
            report.problems.append(
                f"{store.path}: the catalogue is damaged: skeleton {str(key)[:40]} does not match "
                "its key"
            )


def _check_history(store: Store, report: _Report) -> None:
    damaged = damaged_changes(store.catalogue)
    if not damaged:
        return
    count = "1 change" if len(damaged) == 1 else f"{len(damaged)} changes"
    line = f"{store.path}: the history of {count} has a wrong checksum"
    if report.repair:
        store.catalogue.forget_changes()
        report.repaired.append(f"{line}; the history was cleared, and nothing can be undone")
    else:
        report.problems.append(line)


def _descriptions(store: Store) -> dict[str, FrameDescription]:
    """Return the readable frame-file descriptions, by file."""
    descriptions = {}
    if isinstance(store.files, ObjectStore):
        return {}
    for file in sorted(frame_files(store.files)):
        if file.endswith(".npy") and not file.startswith("."):
            try:
                described = read_description(store.files.local(f"{FOLDER}/{file}"))
            except (LibraryError, OSError):
                continue
            if described is not None:
                descriptions[file] = described[0]
    return descriptions


def _check_entries(
    store: Store, described: Mapping[str, FrameDescription], report: _Report
) -> None:
    """Check for entries with invalid values or wrong checksums."""
    catalogue = store.catalogue
    rows = {row.name: row for row in catalogue.raw_entries()}
    problems = {name: entry_problem(row) for name, row in rows.items() if entry_problem(row)}
    for name, entry in rows.items():
        if name not in problems:
            try:
                origin_from(entry)
            except LibraryError:
                problems[name] = "its origin is damaged"
    for name, column in catalogue.wrong_checks():
        if column == "facts" and name == "":
            problem = "the settings of the library have a wrong checksum"
            if report.repair:
                catalogue.put_checks([])
                report.repaired.append(f"{problem}; they are {_shown(catalogue.meta())} now")
            else:
                report.problems.append(problem)
        elif column == "facts":
            missing = "it is missing from the catalogue"
            problem = "its entry has a wrong checksum" if name in rows else missing
            problems.setdefault(name, problem)
    by_name: dict[str, list[str]] = {}
    for file, about in described.items():
        by_name.setdefault(about.name, []).append(file)
    for name, problem in problems.items():
        row = rows.get(name)
        files = by_name.get(name, [])
        chosen = row.file if row is not None and row.file in files else next(iter(files), None)
        line = f"{name}: {problem}"
        if not report.repair:
            report.problems.append(line)
        elif chosen is not None and _list_again(store, chosen, described[chosen]):
            report.repaired.append(f"{line}; restored from its frame file")
        elif row is None or row.file in described:
            # Nothing is left of the motion, or its file belongs to a motion of another name.
            catalogue.forget(name)
            report.repaired.append(f"{line}; the entry was removed")
        else:
            report.problems.append(
                f"{line}, and its frame file has no description to restore it from"
            )


def _check_labels(store: Store, report: _Report) -> None:
    for name, column in store.catalogue.wrong_checks():
        if column == "labels":
            rows = store.catalogue.rows("SELECT label FROM labels WHERE name = ?", (name,))
            now = ", ".join(sorted(str(label) for (label,) in rows)) or "none"
            line = f"{name}: its labels have a wrong checksum; they are {now} now"
            if report.repair:
                store.catalogue.repair_labels(name)
            (report.repaired if report.repair else report.problems).append(line)


def _list_again(store: Store, file: str, about: FrameDescription) -> bool:
    """Add the motion of a frame file to the catalogue. Return False if the frames are damaged."""
    made = _entry_of(store, file, about)
    if made is None:
        return False
    entry, skeleton = StoredSkeletons(store.catalogue).adopt(*made)
    store.catalogue.put([entry], skeletons={entry.skeleton: skeleton})
    return True


def _entry_of(store: Store, file: str, about: FrameDescription) -> tuple[Entry, str] | None:
    skeleton = skeleton_from(about.skeleton)
    if skeleton is None or not about.name or not about.name.isprintable():
        return None
    path = store.files.local(f"{FOLDER}/{file}")
    try:
        table = open_frames(path, frames=about.frames, joints=len(skeleton), digest="")
    except (LibraryError, OSError):
        return None
    entry = described_entry(about, FrameFile(file, table_digest(table)), skeleton.key)
    entry = replace(entry, fps=float(entry.fps))
    return None if entry_problem(entry) else (entry, about.skeleton)


# --- frames ----------------------------------------------------------------------------------


def _check_frames(store: Store, report: _Report) -> int:
    entries = [row for row in store.catalogue.raw_entries() if not entry_problem(row)]
    undescribed = []
    for entry in entries:
        name, where = f"{FOLDER}/{entry.file}", frame_path(store, entry)
        try:
            joints = len(store.skeleton(entry.skeleton))
            if isinstance(store.files, ObjectStore):
                store.files.drop_local(name)
            path = store.files.local(name)
            table = open_frames(path, frames=entry.frames, joints=joints)
            described = read_description(path)
            if table_digest(table) != entry.digest:
                raise LibraryError(f"its frames have a wrong checksum ({where})")
        except FileNotFoundError:
            _damaged(store, entry, f"{entry.name}: its frames are missing ({where})", report)
        except LibraryError as error:
            _damaged(store, entry, f"{entry.name}: {error}", report)
        else:
            if described is None and not isinstance(store.files, ObjectStore):
                undescribed.append((entry, table))
    if undescribed:
        count = f"{len(undescribed)} of {len(entries)} frame files"
        _repair(
            report,
            f"{count} were written by an earlier release and have no checksum or description",
            f"{count} have checksums and descriptions now",
            lambda: _describe(store, undescribed),
        )
    return len(entries)


def _describe(store: Store, frames: Iterable[tuple[Entry, Any]]) -> None:
    """Rewrite frame files from earlier releases with a description."""
    for entry, table in frames:
        rows = store.catalogue.rows("SELECT data FROM skeletons WHERE key = ?", (entry.skeleton,))
        about = FrameDescription(
            entry.name, entry.frames, entry.fps, rows[0][0], entry.origin, entry.source,
            entry.source_hash, entry.options,
        )  # fmt: skip
        written = write_frame_table(table, about, store.files)
        if written.file != entry.file:
            old = store.catalogue.put([replace(entry, file=written.file)])
            remove_files(store.files, old)


def _damaged(store: Store, entry: Entry, problem: str, report: _Report) -> None:
    """Read damaged frames from their source file again, if it has not changed."""
    if report.repair and entry.source and not isinstance(store.files, ObjectStore):
        try:
            if content_hash(entry.source) == entry.source_hash:
                options = parse_json(entry.options)
                move_to_trash(store.path, [f"{FOLDER}/{entry.file}"])
                reading = {key: options[key] for key in ("unit", "up", "roles") if key in options}
                settings = ImportSettings.given(None, {"force": True, "workers": 1, **reading})
                imported = store.add(entry.source, settings=settings)
                if not imported.failed and store.catalogue.entry(entry.name) is not None:
                    report.repaired.append(f"{problem}; read from {entry.source} again")
                    return
        except (OSError, ValueError):
            pass
    if report.repair:
        problem += "; import it again, because its source is missing or has changed"
    report.problems.append(problem)


def _check_orphans(
    store: Store, described: Mapping[str, FrameDescription], report: _Report
) -> None:
    """Check for unused frame files left by a lost catalogue, an interrupted import or a change."""
    listed = {row.file for row in store.catalogue.raw_entries()}
    orphans = sorted(frame_files(store.files) - listed)
    if not orphans:
        return
    count = len(orphans)
    files = "1 frame file belongs" if count == 1 else f"{count} frame files belong"
    if not report.repair:
        if not listed and any(file in described for file in orphans):
            report.problems.append(f"{store.path}: {recovery_advice(store.path, count)}")
        else:
            report.is_certain = False
            report.notes.append(f"{files} to no motion: an import or a removal was interrupted")
        return
    names = set(store.names)
    again = [file for file in orphans if file in described and described[file].name not in names]
    again = [file for file in again if _list_again(store, file, described[file])]
    remove_files(store.files, [file for file in orphans if file not in again])
    moved = f"{count - len(again)} moved to the trash"
    report.repaired.append(f"{files} to no motion: {len(again)} listed again, {moved}")


# --- artifacts -------------------------------------------------------------------------------


def _check_artifacts(store: Store, report: _Report) -> int:
    if isinstance(store.files, ObjectStore):
        folders: LocalFolders | RemoteFolders = RemoteFolders(store.files, store.catalogue)
    else:
        folders = LocalFolders(store.path.absolute() / DERIVED)
        _check_links(store, folders, report)
    unchecked = []
    _check_saved(store, folders, report)
    names = folders.names()
    for name in names:
        decode = store.COLLECTIONS.get(name.partition(".")[0])
        if decode is not None:
            _check_collection(store, name, decode, report)
            continue
        folder = folders.open(name)
        if folder is None:
            continue
        try:
            check_folder(folder, whole=True)
            if read_checks(folder) is None and isinstance(folder, Path):
                unchecked.append(folder)
        except (MotionloomError, OSError) as error:
            _bad_artifact(store, folders, name, str(error), report)
    if unchecked:
        _repair(
            report,
            f"{len(unchecked)} artifacts were written by an earlier release and have no checksums",
            f"{len(unchecked)} artifacts have checksums now",
            lambda: list(map(write_checks, unchecked)),
        )
    return len(names)


def _check_links(store: Store, folders: LocalFolders, report: _Report) -> None:
    """Check for links in place of artifacts, which are never followed."""
    folders.names()  # raises an error if the folder itself is a link
    for path in sorted(folders.root.iterdir()) if folders.root.is_dir() else ():
        if path.is_symlink():
            line = f"{path}: this is a symbolic link"
            if report.repair and move_to_trash(store.path, [f"{DERIVED}/{path.name}"]):
                report.repaired.append(f"{line}; moved to the trash")
            else:
                report.problems.append(line)


def _check_saved(store: Store, folders: LocalFolders | RemoteFolders, report: _Report) -> None:
    """Check that the artifacts saved under a name are there, and only their current versions."""
    there = set(folders.names())
    for stem, version in store.catalogue.artifact_versions().items():
        name = f"{stem}.{version}"
        if name in there:
            continue
        kind, _, own = stem.partition(".")
        line = f"{store.path}: the {kind} {own!r} is missing"
        if report.repair and restore_from_trash(store.files, [f"{DERIVED}/{name}"]):
            report.repaired.append(f"{line}; restored from the trash")
        else:
            report.problems.append(f"{line}; create it again")
    unused = left_over(store.catalogue, folders)
    if unused and isinstance(folders, LocalFolders):
        count = f"{len(unused)} versions of artifacts are left over from an interrupted change"
        _repair(
            report,
            count,
            f"{count}; moved to the trash",
            lambda: move_to_trash(store.path, _left_over(store)),
        )


def _bad_artifact(
    store: Store, folders: LocalFolders | RemoteFolders, name: str, problem: str, report: _Report
) -> None:
    version = name.rpartition(".")[2]
    by_name = "-" in version  # saved by the user, see `motionloom.store.artifacts`
    if not report.repair or by_name:
        line = f"{problem}; create it again" if by_name and report.repair else problem
        report.problems.append(line)
        return
    if isinstance(folders, LocalFolders):
        move_to_trash(store.path, [f"{DERIVED}/{name}"])
    else:
        folders.remove([name])
    report.repaired.append(f"{problem}; it was removed and is rebuilt when it is needed")


def _check_collection(store: Store, name: str, decode: Any, report: _Report) -> None:
    """Decode all files of a collection."""
    files = store.artifacts.collection(name, lambda path: {})
    for file in files.names():
        try:
            files.check(file, decode)
        except (MotionloomError, OSError) as error:
            if not report.repair:
                report.problems.append(str(error))
                continue
            if isinstance(store.files, ObjectStore):
                files.remove([file])
            else:
                move_to_trash(store.path, [f"{DERIVED}/{name}/{file}"])
            report.repaired.append(f"{error}; it was removed and is rebuilt when it is needed")


# --- a lost catalogue ------------------------------------------------------------------------


def recover(path: Path) -> int:
    """Rebuild the catalogue from the frame files if it is unusable. See `Store.recover`."""
    from motionloom.store.store import Store

    if not _is_lost(path):
        return 0
    if not lost_frames(path):
        raise LibraryError(f"{path}: there are no frames to recover a library from")
    with writer_lock(path, timeout=600.0):
        move_to_trash(path, [FILE + end for end in ("", "-journal", "-wal", "-shm")])
        catalogue = Catalogue(path)
        # In case this is a library of release 0.2: opening it upgrades its artifacts.
        catalogue.create({"id": uuid4().hex, "format": str(OLDEST_FORMAT)})
        catalogue.close()
    store = Store(path)
    with store.writing():
        described = _descriptions(store)
        listed = [file for file, about in described.items() if _list_again(store, file, about)]
        rates = {_rate_option(described[file]) for file in listed}
        if len(rates) == 1 and None not in rates:
            store.catalogue.set_meta("fps", repr(rates.pop()))
    store.close()
    return len(listed)


def _is_lost(path: Path) -> bool:
    if not path.is_dir():
        raise LibraryError(f"{path}: no such library")
    if is_unused(path):
        return True
    catalogue = Catalogue(path)
    try:
        catalogue.check()
        list(catalogue.raw_entries())
    except LibraryError as error:
        code = getattr(error.__cause__, "sqlite_errorname", "") or ""
        damaged = code.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT"))
        no_tables = isinstance(error.__cause__, sqlite3.OperationalError)
        return damaged or no_tables or "was interrupted" in str(error)
    finally:
        catalogue.close()
    return False


def _rate_option(about: FrameDescription) -> float | None:
    """Return the frame rate that the library had when a motion was imported, if it was set."""
    try:
        rate = parse_json(about.options).get("fps")
    except (ValueError, AttributeError, RecursionError):
        return None
    return float(rate) if isinstance(rate, int | float) and rate > 0 else None


def _shown(values: Mapping[str, str]) -> str:
    return ", ".join(f"{key} {value}" for key, value in sorted(values.items()) if key != "id")
