"""A library's trash, which contains unused files grouped by the time of their removal.

::

    takes.loom/trash/2026-11-17T08-48-04Z/frames/walk.0a1b2c.npy

Importing, replacing and removing motions does not delete any files; they are moved to the trash.
``motionloom undo LIB`` restores them (`motionloom.store.history`). If you move files back to
``frames`` manually, ``motionloom verify LIB --repair`` lists them as motions again.
``motionloom verify LIB --empty-trash`` deletes the files in the trash.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from motionloom.errors import LibraryError
from motionloom.files import below, plain_name
from motionloom.store.remote.object_store import FileStore, ObjectStore

FOLDER = "trash"


def move_to_trash(root: Path, names: Iterable[str]) -> list[str]:
    """Move files and folders of the library at `root` to its trash. Return the moved names.

    Names are relative to `root`. Files that cannot be moved stay where they are. A link is moved
    itself; the file that it names is not touched.
    """
    moved = []
    stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%SZ")
    for name in names:
        try:
            folder, _, last = plain_name(name).rpartition("/")
            path = (below(root, folder) if folder else root) / last
            target = below(root, f"{FOLDER}/{stamp}/{name}")
            target.parent.mkdir(parents=True, exist_ok=True)
            while os.path.lexists(
                target
            ):  # another file of this name was moved within the same second
                target = target.with_name(f"{target.name}~")
            os.rename(path, target)
        except FileNotFoundError:
            continue
        except (OSError, LibraryError):
            continue
        moved.append(name)
    return moved


def restore_from_trash(files: FileStore, names: Iterable[str]) -> set[str]:
    """Restore the latest file or folder of each name from the trash. Return the restored names."""
    if isinstance(files, ObjectStore):
        return files.restore(names)
    wanted = {}
    for time in sorted(_folders(below(files.root, FOLDER))):
        for folder in _folders(time):
            for path in sorted(folder.iterdir()):
                wanted[f"{folder.name}/{path.name.rstrip('~')}"] = path
    restored = set()
    for name in names:
        if name in wanted:
            target = below(files.root, name)
            target.parent.mkdir(exist_ok=True)
            os.rename(below(files.root, wanted[name].relative_to(files.root).as_posix()), target)
            restored.add(name)
    return restored


def _folders(path: Path) -> list[Path]:
    """Return the folders in a folder, without links."""
    if not path.is_dir():
        return []
    return [each for each in path.iterdir() if each.is_dir() and not each.is_symlink()]


def trash_size(root: Path) -> tuple[int, int]:
    """Return the number and total size in bytes of the files in the trash."""
    folder = root / FOLDER
    if folder.is_symlink():
        return 0, 0
    sizes = []
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):  # emptied meanwhile
            status = path.lstat()
            if not stat.S_ISDIR(status.st_mode):
                sizes.append(status.st_size)
    return len(sizes), sum(sizes)


def empty_trash(root: Path) -> int:
    """Delete all files in the trash, and return their number."""
    count, _ = trash_size(root)
    folder = below(root, FOLDER)
    if folder.is_dir():
        shutil.rmtree(folder, ignore_errors=True)
    return count
