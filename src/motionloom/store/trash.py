"""Trash of a library: frame files that no motion uses any more, by the time they were removed.

::

    takes.loom/trash/2026-11-17T08-48-04Z/frames/walk.0a1b2c.npy

Nothing is deleted by an import, by a replaced or by a removed motion: files are moved here, from
where ``motionloom undo LIB`` brings them back (`motionloom.store.history`); and ``motionloom verify
LIB --repair`` lists them again as motions once they are moved back to ``frames`` by hand.
``motionloom verify LIB --empty-trash`` deletes them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from motionloom.errors import LibraryError
from motionloom.files import below
from motionloom.store.remote.object_store import FileStore, ObjectStore

FOLDER = "trash"


def move_to_trash(root: Path, names: Iterable[str]) -> list[str]:
    """Move files and folders of the library at `root` to its trash; returns those moved.

    Names are relative to `root`. What cannot be moved stays where it is.
    """
    moved = []
    stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%SZ")
    for name in names:
        try:
            path = below(root, name)
            target = below(root, f"{FOLDER}/{stamp}/{name}")
            target.parent.mkdir(parents=True, exist_ok=True)
            while target.exists():  # moved before, within the same second
                target = target.with_name(f"{target.name}~")
            os.rename(path, target)
        except FileNotFoundError:
            continue
        except (OSError, LibraryError):
            continue
        moved.append(name)
    return moved


def restore_from_trash(files: FileStore, names: Iterable[str]) -> set[str]:
    """Move files and folders back from the trash, the latest of each name; those found."""
    if isinstance(files, ObjectStore):
        return files.restore(names)
    wanted = {}
    for path in sorted(below(files.root, FOLDER).glob("*/*/*")):  # by time
        wanted["/".join(path.parts[-2:]).rstrip("~")] = path
    found = set()
    for name in names:
        if name in wanted:
            target = below(files.root, name)
            target.parent.mkdir(exist_ok=True)
            os.rename(below(files.root, str(wanted[name].relative_to(files.root))), target)
            os.utime(target)  # of several versions of an artifact the latest one is current
            found.add(name)
    return found


def trash_size(root: Path) -> tuple[int, int]:
    """Number and bytes of the files in the trash."""
    folder = root / FOLDER
    if folder.is_symlink():
        return 0, 0
    sizes = [path.lstat().st_size for path in folder.rglob("*") if not path.is_dir()]
    return len(sizes), sum(sizes)


def empty_trash(root: Path) -> int:
    """Delete all files in the trash; returns how many."""
    count, _ = trash_size(root)
    folder = below(root, FOLDER)
    if folder.is_dir():
        shutil.rmtree(folder, ignore_errors=True)
    return count
