"""Atomic writes, and safe reading of untrusted files.

A written file appears complete or not at all. Libraries and imported files are not trusted. Names
and links in them must not lead out of the library, pipes and devices must not block the reader, and
a number in a file must not determine how much memory is used or which files are read.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import sqlite3
import stat
import tempfile
import tomllib
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from motionloom.errors import LibraryError, MotionFormatError

LARGEST = 1 << 30  # maximum size of a file that is read at once, in bytes
_DEVICES = {
    "CON",
    "PRN",
    "AUX",
    "NUL",
    *(f"{port}{n}" for port in ("COM", "LPT") for n in "123456789"),
}
_PORTION = 1 << 18  # bytes read at a time; small enough for the processor cache
_ESCAPED = re.compile(r"\\u[dD][89a-fA-F]")  # may be an unpaired surrogate, which cannot be encoded
_ESCAPED_BYTES = re.compile(_ESCAPED.pattern.encode())
_FORMULA = re.compile("'*[=+\\-@\t\r]")
_EXPRESSION = re.compile(r"\b(check|generated|as|default|virtual|select|where|references)\b", re.I)
_PLAIN_INDEX = re.compile(r"CREATE (UNIQUE )?INDEX \w+ ON \w+ ?\(\w+(, ?\w+)*\)")  # of columns only


def plain_name(name: object) -> str:
    """Return `name` if it is a relative path that consists of plain names and forward slashes.

    Raises
    ------
    LibraryError
        If it is absolute, or contains ``..``, a drive, a backslash or a control character.

    Examples
    --------
    >>> plain_name("frames/walk.npy")
    'frames/walk.npy'
    """
    parts = name.split("/") if isinstance(name, str) else [""]
    for part in parts:
        if part in ("", ".", "..") or not part.isprintable() or set(part) & set("\\:"):
            raise LibraryError(
                f"the library is damaged: it refers to the file {str(name)[:200]!r}, but library "
                "files "
                "must have plain names such as frames/walk.npy"
            )
    return str(name)


def file_stem(name: str, longest: int = 150) -> str:
    """Convert a name to a file name, without an extension, that is valid on every system.

    Examples
    --------
    >>> file_stem("kicks/86 01"), file_stem("CON")
    ('kicks_86_01', '_CON')
    """
    stem = (
        re.sub(r"[^\w.-]+", "_", name).encode("utf-8", "replace")[:longest].decode(errors="ignore")
    )
    return f"_{stem}" if is_reserved(stem) or stem.startswith(".") else stem or "_"


def unique_stem(name: str, taken: set[str]) -> str:
    """Return `file_stem` of a name, numbered if it is already in `taken`, and add it to `taken`.

    Different names may have one stem, and some systems do not distinguish upper and lower case.

    Examples
    --------
    >>> taken = set()
    >>> [unique_stem(name, taken) for name in ("a/walk", "a walk", "A_Walk")]
    ['a_walk', 'a_walk_2', 'A_Walk_3']
    """
    stem = base = file_stem(name)
    number = 2
    while stem.casefold() in taken:
        stem, number = f"{base}_{number}", number + 1
    taken.add(stem.casefold())
    return stem


def is_reserved(name: str) -> bool:
    """Return whether Windows treats a file name such as ``CON`` or ``nul.bvh`` as a device.

    Examples
    --------
    >>> is_reserved("Con.bvh"), is_reserved("contact.bvh")
    (True, False)
    """
    return name.split(".")[0].strip().upper() in _DEVICES


def below(root: Path, name: str) -> Path:
    """Return the path of the file `name` in the folder `root`, whether or not it exists.

    Raises
    ------
    LibraryError
        If the name is not plain, or part of the path is a link that could lead out of the folder,
        or is not a folder.
    """
    path = root
    parts = plain_name(name).split("/")
    for number, part in enumerate(parts, start=1):
        path = path / part
        try:
            mode = path.lstat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            continue
        if stat.S_ISLNK(mode):
            raise LibraryError(
                f"{path}: this is a symbolic link, but library files must be in the library "
                "folder or "
                "in an object store (see motionloom import --store)"
            )
        if number < len(parts) and not stat.S_ISDIR(mode):
            raise LibraryError(f"{path}: expected a folder, found {_kind(mode)}")
    return path


def check_regular(path: str | Path) -> os.stat_result:
    """Return the status of a file; raise if it is a pipe, a device, a socket or a folder.

    Raises
    ------
    MotionFormatError
        If it is not a regular file.
    OSError
        If it does not exist or cannot be read.
    """
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        raise MotionFormatError(f"expected a file; found {_kind(status.st_mode)}", path=path)
    return status


def read_regular(
    path: str | Path,
    *,
    largest: int = LARGEST,
    span: tuple[int, int] | None = None,
    links: bool = True,
) -> bytes:
    """Return the content of a regular file of at most `largest` bytes, or the byte range `span`.

    Pipes and devices are refused without blocking, and with ``links=False`` also symbolic links.
    Data appended after the file was opened is not read.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    handle = os.open(path, flags if links else flags | getattr(os, "O_NOFOLLOW", 0))
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise MotionFormatError(f"expected a file; found {_kind(status.st_mode)}", path=path)
        if status.st_size > largest and span is None:
            raise MotionFormatError(
                f"the file has {status.st_size} bytes; at most {largest} can be read", path=path
            )
        if span is None:
            return file.read(status.st_size)
        file.seek(span[0])
        return file.read(max(min(span[1], status.st_size) - span[0], 0))


def read_regular_text(
    path: str | Path, *, encoding: str = "utf-8", errors: str = "strict", largest: int = LARGEST
) -> str:
    """Return the text of a regular file with its original line endings; see `read_regular`.

    Raises
    ------
    UnicodeDecodeError
        If the file is not text in this encoding.
    """
    return read_regular(path, largest=largest).decode(encoding, errors)


def csv_rows(
    path: str | Path, text: str | None = None, *, delimiter: str = ","
) -> list[tuple[int, list[str]]]:
    """Return the line number and cells of each row in a UTF-8 CSV file.

    If the file has already been read, pass its content as `text`.

    Raises
    ------
    MotionFormatError
        If the path is not a regular file or its content is not a table.
    """
    try:
        content = read_regular_text(path, encoding="utf-8-sig") if text is None else text
        reader = csv.reader(io.StringIO(content, newline=""), delimiter=delimiter)
        return [(reader.line_num, row) for row in reader]
    except (UnicodeDecodeError, csv.Error) as error:
        raise MotionFormatError(f"the file cannot be read as a table: {error}", path=path) from None


def csv_cell(text: str) -> str:
    """Return text for a CSV cell; a spreadsheet would run a cell that begins with = as a formula.

    An apostrophe in front marks text in all spreadsheets; `csv_cell_text` removes it.

    Examples
    --------
    >>> csv_cell("=1+1"), csv_cell("walk"), csv_cell_text("'=1+1")
    ("'=1+1", 'walk', '=1+1')
    """
    return f"'{text}" if _FORMULA.match(text) else text


def csv_cell_text(cell: str) -> str:
    """Return the text of a cell that `csv_cell` made."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def unpacked_bytes(data: bytes, largest: int = LARGEST) -> bytes:
    """Decompress zlib data to at most `largest` bytes.

    Raises
    ------
    ValueError
        If the data is damaged or decompresses to more than `largest` bytes.
    """
    unpack = zlib.decompressobj()
    try:
        out = unpack.decompress(data, largest + 1)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if len(out) > largest or not unpack.eof:
        raise ValueError(f"the compressed data is cut off, or has more than {largest} bytes")
    return out


def file_checksum(path: Path) -> tuple[int, int]:
    """Return the size of a file in bytes and its CRC-32, computed at 4 GB per second.

    Raises `LibraryError` if it is not a regular file.
    """
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(handle, "rb", buffering=0) as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise LibraryError(f"{path}: expected a file; found {_kind(status.st_mode)}")
        size = crc = 0
        part = memoryview(bytearray(min(_PORTION, max(1, status.st_size))))
        while count := file.readinto(part):
            crc = zlib.crc32(part[:count], crc)
            size += count
        return size, crc


def parse_json(text: str | bytes, *, finite: bool = False) -> Any:
    """Parse JSON, requiring integers to fit in 64 bits.

    Raises
    ------
    ValueError
        If the text is not JSON, is nested too deeply, or contains an integer that is too large or
        a string with an unpaired surrogate. With `finite`, also if a number is not finite.

    Examples
    --------
    >>> parse_json('{"frames": 3}')
    {'frames': 3}
    """
    refuse = _refused_constant if finite else None
    try:
        value = json.loads(text, parse_int=_whole_number, parse_constant=refuse)
        if (_ESCAPED_BYTES if isinstance(text, bytes) else _ESCAPED).search(text):  # type: ignore[arg-type]
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None
    except UnicodeEncodeError:
        raise ValueError("a string contains half a character (an unpaired surrogate)") from None


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML, with the same checks as `parse_json`."""
    try:
        table = tomllib.loads(text)
        return parse_json(json.dumps(table, default=str))
    except RecursionError:
        raise ValueError("the TOML is nested too deeply") from None


def check_plain_schema(connection: sqlite3.Connection) -> set[str]:
    """Return the names of the tables and indices of an SQLite file.

    Raises
    ------
    LibraryError
        If the file contains a view, a trigger, a virtual table or an expression, because reading a
        table could then run indefinitely.
    """
    names = set()
    query = "SELECT type, name, sql FROM sqlite_master"
    for kind, name, sql in connection.execute(query).fetchall():
        plain = kind in ("table", "index") and not _EXPRESSION.search(str(sql or ""))
        if kind == "index" and sql is not None:  # SQLite creates some itself
            plain = plain and _PLAIN_INDEX.fullmatch(" ".join(str(sql).split())) is not None
        if not plain:
            raise LibraryError(
                f"damaged or not trustworthy: expected only plain tables, found the {kind} "
                f"{str(name)[:80]!r}"
            )
        if not str(name).startswith("sqlite_"):  # SQLite creates these itself
            names.add(str(name))
    return names


def _whole_number(text: str) -> int:
    if len(text) < 19:
        return int(text)
    if len(text) > 20 or not -(1 << 63) <= int(text) < 1 << 63:
        raise ValueError(f"the number {text[:24]} has too many digits")
    return int(text)


def _refused_constant(text: str) -> float:
    raise ValueError(f"{text} is not a number")


def _kind(mode: int) -> str:
    kinds = {
        stat.S_IFREG: "a file",
        stat.S_IFIFO: "a pipe",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
        stat.S_IFSOCK: "a socket",
        stat.S_IFDIR: "a folder",
    }
    return kinds.get(stat.S_IFMT(mode), "something else")


def remove_tree(folder: Path) -> None:
    """Delete a folder, or a file in its place, as far as possible.

    Links are deleted and not followed, pipes are not waited for, and a folder may have any depth.
    """
    with suppress(OSError):
        if not stat.S_ISDIR(folder.lstat().st_mode):
            folder.unlink()
    folders = [str(folder)]
    for place in folders:  # grows while it is read
        with suppress(OSError), os.scandir(place) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                else:
                    with suppress(OSError):
                        os.unlink(entry.path)
    for place in reversed(folders):  # inner folders first
        with suppress(OSError):
            os.rmdir(place)


@contextmanager
def atomic_write(path: str | Path) -> Iterator[Path]:
    """Provide a temporary file, which replaces `path` on success and is removed on failure.

    Missing parent folders are created.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(f"{folder}/note.txt") as scratch:
    ...         _ = scratch.write_text("hello")
    ...     print(os.listdir(folder))
    ['note.txt']
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Some writers choose their format by the suffix, so it is kept.
    try:
        handle, name = tempfile.mkstemp(
            prefix=f".{path.stem[:40]}-", suffix=f".part{path.suffix}", dir=path.parent
        )
    except OSError as error:
        error.filename = str(path)  # name the file that was requested, not the temporary one
        raise
    os.close(handle)
    scratch = Path(name)
    try:
        yield scratch
        mask = os.umask(0)
        os.umask(mask)
        scratch.chmod(0o666 & ~mask)  # mkstemp makes the file readable by its owner only
        _flush(scratch)
        os.replace(scratch, path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise


def _flush(path: Path) -> None:
    """Flush a file to disk before it is renamed, so that a power cut cannot leave it incomplete."""
    with suppress(OSError), open(path, "rb+") as file:
        os.fsync(file.fileno())
