"""Folders in an object store, used like local folders.

``folder / "rows.npy"`` fetches a file on demand and returns the path of the local copy, so code
that reads artifacts need not know where they are stored. A file may consist of pieces of several
objects that workers wrote in parallel.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from motionloom.store.remote.cache import local_cache
from motionloom.store.remote.object_store import ObjectStore, Piece

POINTER = ".pieces"

Files = dict[str, tuple[Piece, ...]]


@dataclass(frozen=True)
class RemoteFolder:
    """Files by name, with their pieces. Names of files in subfolders contain ``/``."""

    store: ObjectStore
    name: str
    files: Files = field(compare=False, repr=False)

    def __truediv__(self, name: str) -> Any:
        """Return a local copy of a file, or a subfolder. Raise `FileNotFoundError` if missing."""
        if name in self.files:
            return self.store.assembled(self.files[name], PurePosixPath(name).suffix)
        below = {
            file.removeprefix(f"{name}/"): pieces
            for file, pieces in self.files.items()
            if file.startswith(f"{name}/")
        }
        if not below:
            raise FileNotFoundError(f"the folder {self.name} has no file {name}")
        return RemoteFolder(self.store, f"{self.name}/{name}", below)

    def absolute(self) -> RemoteFolder:
        """Return this folder, for compatibility with paths."""
        return self

    def is_dir(self) -> bool:
        """Return True, for compatibility with paths."""
        return True

    def byte_range(self, name: str, first: int, last: int) -> Path:
        """Return a local copy of bytes `first` to `last` of a file. Only these are fetched."""
        return self.store.assembled(between(self.files[name], first, last), ".raw")

    def size(self, name: str) -> int:
        """Return the size of a file, in bytes."""
        return sum(piece.length for piece in self.files[name])

    def drop_local(self) -> None:
        """Remove all local copies."""
        for name, pieces in self.files.items():
            local_cache().remove(self.store.pieces_key(pieces, PurePosixPath(name).suffix))


Folder = Path | RemoteFolder


def between(pieces: Sequence[Piece], first: int, last: int) -> tuple[Piece, ...]:
    """Return the pieces that hold bytes `first` to `last` of a file that consists of `pieces`.

    Examples
    --------
    >>> between([Piece("a", 0, 10), Piece("b", 5, 10)], 8, 12)
    (Piece(name='a', start=8, length=2, sums=()), Piece(name='b', start=5, length=2, sums=()))
    """
    out, at = [], 0
    for piece in pieces:
        low, high = max(first, at), min(last, at + piece.length)
        if low < high:
            out.append(piece._replace(start=piece.start + low - at, length=high - low))
        at += piece.length
    return joined(out)


def joined(pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    """Join adjacent pieces."""
    out: list[Piece] = []
    for piece in pieces:
        last = out[-1] if out else None
        if last and (last.name, last.start + last.length) == (piece.name, piece.start):
            out[-1] = last._replace(length=last.length + piece.length)
        else:
            out.append(piece)
    return tuple(out)


def point_to(path: Path, pieces: Sequence[Piece]) -> None:
    """Write a pointer to pieces in the object store in place of a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_name(path.name + POINTER).write_text(json.dumps(pieces), encoding="utf-8")


def uploaded(scratch: Path, store: ObjectStore, folder: str) -> Files:
    """Upload all files below `scratch`, except pointers, to a folder in the object store."""
    files: Files = {}
    for path in sorted(path for path in scratch.rglob("*") if path.is_file()):
        name = path.relative_to(scratch).as_posix()
        if name.endswith(POINTER):
            pieces = as_pieces(json.loads(path.read_text(encoding="utf-8")))
            files[name.removesuffix(POINTER)] = pieces
        else:
            files[name] = (store.put(path, f"{folder}/{name}"),)
            local_cache().adopt(store.pieces_key(files[name], path.suffix), path)
    return files


def as_pieces(values: Iterable[Sequence]) -> tuple[Piece, ...]:
    """Convert plain lists to pieces."""
    return tuple(
        Piece(str(name), int(start), int(length), *(tuple(map(int, sums)) for sums in more))
        for name, start, length, *more in values
    )


def objects_of(folders: Iterable[Mapping[str, Sequence[Piece]]]) -> set[str]:
    """Return the names of all objects that contain the files."""
    return {piece.name for files in folders for pieces in files.values() for piece in pieces}
