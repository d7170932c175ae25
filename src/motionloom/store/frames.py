"""Frame files: the frames of one motion as a ``.npy`` array, memory-mapped.

One row per frame, float32: the root path (x, y, z), the local rotation of every joint (w, x, y, z)
and, only where bones change their length, the offset of every joint (x, y, z).

The file name contains the name of the motion and a digest of name and content. So a file never
changes: other content is another file, and a reader never sees a partial one.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.atomic_write import atomic_write
from motionloom.errors import LibraryError
from motionloom.motion import Motion
from motionloom.store.records import Entry
from motionloom.store.remote.object_store import FileStore, ObjectStore

if TYPE_CHECKING:
    from motionloom.store.store import Store

FOLDER = "frames"


@dataclass(frozen=True)
class FrameFile:
    """File with the frames of a motion: its name and the digest of its content."""

    file: str
    digest: str


def write_frames(motion: Motion, name: str, files: FileStore) -> FrameFile:
    """Write the frames of a motion called `name`, atomically."""
    table = frame_table(motion)
    digest = table_digest(table)
    mark = hashlib.blake2b(f"{name}\0{digest}".encode(), digest_size=6).hexdigest()
    file = f"{_slug(name)}.{mark}.npy"
    if isinstance(files, ObjectStore):
        content = BytesIO()
        _write_table(table, content)
        return FrameFile(Path(files.put(content.getvalue(), f"{FOLDER}/{file}").name).name, digest)
    with atomic_write(files.local(f"{FOLDER}/{file}")) as scratch, open(scratch, "wb") as out:
        _write_table(table, out)
        out.flush()
        os.fsync(out.fileno())
    return FrameFile(file, digest)


def _write_table(table: NDArray[np.float32], out: IO[bytes]) -> None:
    # Not by `np.save`, which does not report a full disk.
    header = np.lib.format.header_data_from_array_1_0(table)
    np.lib.format.write_array_header_1_0(out, header)
    out.write(table.data)


def frame_table(motion: Motion) -> NDArray[np.float32]:
    """Frame table of a motion, one row per frame, shape (T, 3 + 4 J) or (T, 3 + 7 J)."""
    count = len(motion)
    parts = [motion.root, motion.rotations.reshape(count, -1)]
    if motion.translations is not None:
        parts.append(motion.translations.reshape(count, -1))
    return np.ascontiguousarray(np.concatenate(parts, axis=1), dtype="<f4")


def table_digest(table: NDArray[np.float32]) -> str:
    """Digest of a frame table's shape and bytes."""
    digest = hashlib.blake2b(repr(table.shape).encode(), digest_size=16)
    digest.update(np.ascontiguousarray(table).data)
    return digest.hexdigest()


def open_frames(path: Path, *, frames: int, joints: int) -> NDArray[np.float32]:
    """The frame table in `path`, memory-mapped and read-only.

    Raises `FileNotFoundError`, or `LibraryError` if it does not hold `frames` frames of `joints`
    joints.
    """
    try:
        table = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise
    except (ValueError, EOFError, OSError) as error:
        raise LibraryError(f"{path}: damaged frames: {error}") from None
    widths = (3 + 4 * joints, 3 + 7 * joints)
    if table.dtype != np.float32 or table.ndim != 2 or table.shape[1] not in widths:
        raise LibraryError(
            f"{path}: damaged frames: expected float32 of shape ({frames}, {widths[0]}), "
            f"found {table.dtype} of shape {table.shape}"
        )
    if len(table) != frames:
        raise LibraryError(f"{path}: damaged frames: expected {frames} frames, found {len(table)}")
    return table


def damaged_frames(library: Store) -> list[str]:
    """Read all frames and compare them with the catalogue; one message per damaged motion."""
    found = []
    for entry in library.entries():
        path, name = frame_path(library, entry), f"{FOLDER}/{entry.file}"
        try:
            joints = len(library.skeleton(entry.skeleton))
            if isinstance(library.files, ObjectStore):
                library.files.drop_local(name)
            table = open_frames(library.files.local(name), frames=entry.frames, joints=joints)
        except FileNotFoundError:
            found.append(f"{entry.name}: its frames are missing ({path})")
        except LibraryError as error:
            found.append(f"{entry.name}: {error}")
        else:
            if table_digest(table) != entry.digest:
                found.append(f"{entry.name}: its frames are not what was stored ({path})")
    return found


def frame_path(library: Store, entry: Entry) -> str:
    """Path or address of the frames of a motion, for messages."""
    where = library.files.address if library.files.remote else library.path
    return f"{where}/{FOLDER}/{entry.file}"


def is_whole(path: Path, *, frames: int) -> bool:
    """Whether the file exists with all its frames."""
    try:
        return len(np.load(path, mmap_mode="r", allow_pickle=False)) == frames
    except (ValueError, EOFError, OSError, TypeError):
        return False


def unpacked(table: NDArray[np.float32], joints: int) -> dict[str, NDArray[np.float32] | None]:
    """`root`, `rotations` and `translations` of a motion as views of its frame table."""
    count, middle = len(table), 3 + 4 * joints
    moved = table[:, middle:].reshape(count, joints, 3) if table.shape[1] > middle else None
    return {
        "root": table[:, :3],
        "rotations": table[:, 3:middle].reshape(count, joints, 4),
        "translations": moved,
    }


def sync_folder(folder: Path) -> None:
    """Flush renames in `folder` to disk, where the operating system supports it."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _slug(name: str) -> str:
    """The name as part of a file name on any operating system."""
    return re.sub(r"[^A-Za-z0-9_-]+", "_", name)[:60] or "_"
