"""Frame files, which contain the frames of a motion as a memory-mapped ``.npy`` array.

The array has one float32 row per frame: the root path (x, y, z), the local rotation of every joint
(w, x, y, z) and, if bones change their length, the offset of every joint (x, y, z).

The file name contains the name of the motion and a digest of name and content. A file therefore
never changes, because different content goes to a different file, and readers never see a partial
file.

The array is followed by a description, which contains the name, rate, skeleton and origin of the
motion, and a checksum of the frames. The checksum is verified when a process first reads the file.
If the catalogue is lost, it can be rebuilt from the frame files alone (`motionloom.store.verify`).
Files from earlier releases have no description. They are verified against the digest in the
catalogue.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import struct
import zlib
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motionloom.checked_arrays import open_array
from motionloom.errors import LibraryError
from motionloom.files import atomic_write, check_regular, is_reserved, parse_json
from motionloom.motion import Motion
from motionloom.store.records import Entry, origin_json, skeleton_json
from motionloom.store.remote.object_store import FileStore, ObjectStore

if TYPE_CHECKING:
    from motionloom.store.stored_motions import StoredMotions

FOLDER = "frames"
_MARK = b"mloomfrm"
_TAIL = struct.Struct(
    "<QII8s"
)  # size of the description in bytes, its CRC-32, CRC-32 of the frames, mark
_LARGEST_DESCRIPTION = (
    1 << 24
)  # maximum size of a description in bytes, compressed and uncompressed
_verified: dict[
    str, tuple[int, int, int]
] = {}  # files this process has verified: inode, size, time


@dataclass(frozen=True)
class FrameFile:
    """Name and content digest of a motion's frame file."""

    file: str
    digest: str


@dataclass(frozen=True)
class FrameDescription:
    """Description in a frame file, from which the catalogue entry of the motion can be rebuilt."""

    name: str
    frames: int
    fps: float
    skeleton: str  # as JSON
    origin: str  # as JSON
    source: str
    source_hash: str
    options: str

    @classmethod
    def of(
        cls, motion: Motion, name: str, *, source: str = "", source_hash: str = "",
        options: str = "{}",
    ) -> FrameDescription:  # fmt: skip
        """Return the description of a motion stored as `name`."""
        return cls(
            name, len(motion), motion.fps, skeleton_json(motion.skeleton),
            origin_json(motion.origin), source, source_hash, options,
        )  # fmt: skip

    @classmethod
    def from_json(cls, text: bytes | str) -> FrameDescription:
        """Parse a description from JSON. Raise `ValueError` if it is damaged."""
        values = parse_json(text)
        kinds: dict[str, Any] = {"frames": int, "fps": (int, float)}
        if not isinstance(values, dict) or set(values) != set(cls.__dataclass_fields__):
            raise ValueError("the description of the frames is incomplete")
        for key, value in values.items():
            if not isinstance(value, kinds.get(key, str)) or isinstance(value, bool):
                raise ValueError(f"the description of the frames has an invalid {key}, {value!r}")
        return cls(**values)


def write_frames(motion: Motion, description: FrameDescription, files: FileStore) -> FrameFile:
    """Write the frames of a motion and their description, atomically."""
    table = frame_table(motion)
    return write_frame_table(table, description, files)


def write_frame_table(
    table: NDArray[np.float32], description: FrameDescription, files: FileStore
) -> FrameFile:
    """Write a frame table and its description, atomically."""
    digest = table_digest(table)
    mark = hashlib.blake2b(f"{description.name}\0{digest}".encode(), digest_size=6).hexdigest()
    file = f"{_slug(description.name)}.{mark}.npy"
    if isinstance(files, ObjectStore):
        content = BytesIO()
        _write_table(table, description, content)
        return FrameFile(Path(files.put(content.getvalue(), f"{FOLDER}/{file}").name).name, digest)
    with atomic_write(files.local(f"{FOLDER}/{file}")) as scratch, open(scratch, "wb") as out:
        _write_table(table, description, out)
        out.flush()
        os.fsync(out.fileno())
    return FrameFile(file, digest)


def _write_table(table: NDArray[np.float32], description: FrameDescription, out: IO[bytes]) -> None:
    # `np.save` is not used, because it does not report a full disk.
    header = np.lib.format.header_data_from_array_1_0(table)
    np.lib.format.write_array_header_1_0(out, header)
    out.write(table.data)
    text = zlib.compress(json.dumps(asdict(description), sort_keys=True).encode(), 6)
    out.write(text)
    out.write(_TAIL.pack(len(text), zlib.crc32(text), zlib.crc32(table.data), _MARK))


def read_description(path: Path) -> tuple[FrameDescription, int] | None:
    """Return the description of a frame file and the checksum of its frames, or None.

    Raises `LibraryError` if the array or the description is damaged.
    """
    table = open_array(path)
    try:
        size, end = check_regular(path).st_size, _end_of(table)
        if size == end:
            return None  # written by an earlier release
        with open(path, "rb") as file:
            file.seek(max(0, size - _TAIL.size))
            tail = file.read(_TAIL.size)
            if len(tail) < _TAIL.size or not tail.endswith(_MARK):
                raise ValueError("the description of the frames is truncated")
            length, text_crc, table_crc, _ = _TAIL.unpack(tail)
            if length != size - _TAIL.size - end or length > _LARGEST_DESCRIPTION:
                raise ValueError("the description of the frames is truncated")
            file.seek(size - _TAIL.size - length)
            text = file.read(length)
        if zlib.crc32(text) != text_crc:
            raise ValueError("the description of the frames has a wrong checksum")
        plain = zlib.decompressobj().decompress(text, _LARGEST_DESCRIPTION)
        return FrameDescription.from_json(plain), table_crc
    except FileNotFoundError:
        raise
    except (OSError, ValueError, TypeError, zlib.error, RecursionError) as error:
        raise LibraryError(f"{path}: damaged frames: {error}") from None


def frame_table(motion: Motion) -> NDArray[np.float32]:
    """Return the frame table of a motion, shape (T, 3 + 4 J) or (T, 3 + 7 J)."""
    count = len(motion)
    parts = [motion.root, motion.rotations.reshape(count, -1)]
    if motion.translations is not None:
        parts.append(motion.translations.reshape(count, -1))
    return np.ascontiguousarray(np.concatenate(parts, axis=1), dtype="<f4")


def table_digest(table: NDArray[np.float32]) -> str:
    """Return a digest of the shape and bytes of a frame table."""
    digest = hashlib.blake2b(repr(table.shape).encode(), digest_size=16)
    digest.update(np.ascontiguousarray(table).data)
    return digest.hexdigest()


def open_frames(
    path: Path, *, frames: int, joints: int, digest: str | None = None
) -> NDArray[np.float32]:
    """Open the frame table in `path`, memory-mapped and read-only.

    Raises `FileNotFoundError` if the file is missing, and `LibraryError` if it does not contain
    `frames` frames of `joints` joints or does not match its checksum. `digest` is the digest in the
    catalogue. A file is verified once per process.
    """
    try:
        table = open_array(path)
    except LibraryError as error:
        raise LibraryError(str(error).replace(": damaged: ", ": damaged frames: ", 1)) from None
    widths = (3 + 4 * joints, 3 + 7 * joints)
    if table.dtype != np.float32 or table.ndim != 2 or table.shape[1] not in widths:
        raise LibraryError(
            f"{path}: damaged frames: expected float32 of shape ({frames}, {widths[0]}), "
            f"found {table.dtype} of shape {table.shape}"
        )
    if len(table) != frames:
        raise LibraryError(f"{path}: damaged frames: expected {frames} frames, found {len(table)}")
    if not table.flags.c_contiguous:
        raise LibraryError(f"{path}: damaged frames: expected contiguous rows")
    if digest is not None:
        _verify_once(path, table, digest)
    return table


def _verify_once(path: Path, table: NDArray[np.float32], digest: str) -> None:
    status = os.stat(path)
    state = (status.st_ino, status.st_size, status.st_mtime_ns)
    if _verified.get(str(path)) == state:
        return
    described = read_description(path)
    if described is None:
        same = table_digest(table) == digest
    else:
        same = zlib.crc32(table.data) == described[1]
    if not same:
        raise LibraryError(f"{path}: damaged frames: the checksum is wrong; run motionloom verify")
    _verified[str(path)] = state


def frame_path(library: StoredMotions, entry: Entry) -> str:
    """Return the path or address of a motion's frames, for messages."""
    where = library.files.address if library.files.remote else library.path
    return f"{where}/{FOLDER}/{entry.file}"


def _end_of(table: NDArray) -> int:
    """Return the end of the array in a memory-mapped file, as a byte offset."""
    return getattr(table, "offset", 0) + table.nbytes


def is_whole(path: Path, *, frames: int) -> bool:
    """Return whether the file exists with all its frames and their description."""
    try:
        table = open_array(path)
        read_description(path)
        return table.ndim == 2 and len(table) == frames
    except (LibraryError, OSError):
        return False


def unpacked(table: NDArray[np.float32], joints: int) -> dict[str, NDArray[np.float32] | None]:
    """Return the `root`, `rotations` and `translations` of a motion as views of its frame table."""
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
    """Convert a name to a form that is valid in file names on any operating system."""
    slug = re.sub(r"[^A-Za-z0-9_-]+", "_", name)[:60] or "_"
    return f"_{slug}" if is_reserved(slug) else slug
