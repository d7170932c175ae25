"""Storage for a library's files, in the library folder or in an object store.

An object store is any storage with an fsspec address, such as ``s3://bucket/prefix``, ``gs://...``
or ``file:///mnt/share/...``. Tests use ``memory://``.

- Every object is written once, as a whole, under a unique name that ends in a random mark. A writer
  that is killed, or that runs its task twice, leaves an object that the catalogue does not list.
  The next writer removes it.
- Every process that needs an object, including the workers of a cluster, reads it from the object
  store and caches it (see `motionloom.store.remote.cache`), so files are memory-mapped as usual.

The catalogue stays in the library folder, and only the catalogue lists the content of the library.

Libraries and the addresses in them are not trusted. fsspec supports many kinds of file systems, but
only those for storage are opened. An address that was not chosen on this machine is opened only
after the user has trusted the library (``motionloom trust LIB``). Names of objects must be plain.
"""

from __future__ import annotations

import io
import json
import os
import secrets
import zlib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar, NamedTuple

from motionloom.configuration import is_trusted, trust
from motionloom.errors import InvalidInput, LibraryError, MissingExtra, MotionloomError
from motionloom.files import below, plain_name
from motionloom.store.remote.cache import local_cache

MARKER = "motionloom.json"
_AT_ONCE = 16  # objects fetched in parallel, because latency matters more than throughput
_BLOCK = 1 << 18  # bytes per checksum
_PORTION = 64 * _BLOCK  # bytes per request
PROTOCOLS = (
    "file", "local", "memory", "s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "oci", "sftp",
    "ssh", "smb", "hdfs", "webhdfs",
)  # fmt: skip


class ObjectStoreError(LibraryError):
    """Raised when an object store cannot be reached, read or written."""


class Piece(NamedTuple):
    """Part of an object: `length` bytes from `start`.

    `sums` are the CRC-32 values of all blocks of the object, so any part of it can be verified when
    it is read. Objects from earlier releases have none.
    """

    name: str
    start: int
    length: int
    sums: tuple[int, ...] = ()


@dataclass(frozen=True)
class FolderStore:
    """Storage in the library folder."""

    root: Path

    remote: ClassVar[bool] = False

    @property
    def address(self) -> str:
        """Path of the folder."""
        return str(self.root)

    def local(self, name: str) -> Path:
        """Return the path of a file. Raise `LibraryError` if it is outside the folder."""
        return below(self.root, name)

    def fetch(self, names: Iterable[str]) -> None:
        """Do nothing, because all files are on this machine."""

    def workers(self, workers: int | None) -> int | None:
        """Return the number of processes that can use the store, which is not limited."""
        return workers


@dataclass(frozen=True)
class ObjectStore:
    """Storage in an object store with an fsspec address."""

    address: str  # normalized, see `normal_address`

    remote: ClassVar[bool] = True

    # --- reading ------------------------------------------------------------------------

    def local(self, name: str) -> Path:
        """Return the path of a local copy of an object, which is fetched if necessary.

        Raises `FileNotFoundError` if the object does not exist, and `ObjectStoreError` if it cannot
        be reached.
        """
        return local_cache().file(self._key(name), lambda path: self._get(name, path))

    def drop_local(self, name: str) -> None:
        """Remove the local copy of an object."""
        local_cache().remove(self._key(name))

    def fetch(self, names: Iterable[str]) -> None:
        """Fetch many objects in parallel. Missing objects are ignored."""
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            list(threads.map(self._try, names))

    def assembled(self, pieces: Sequence[Piece], ending: str) -> Path:
        """Return a local file with the concatenated pieces, fetching them if necessary."""

        def fill(path: Path) -> None:
            with ThreadPoolExecutor(_AT_ONCE) as threads, open(path, "wb") as out:
                for some in _batched(_portions(pieces), _AT_ONCE):
                    for content in threads.map(self._read, some):
                        out.write(content)

        return local_cache().file(self.pieces_key(pieces, ending), fill)

    def pieces_key(self, pieces: Sequence[Piece], ending: str) -> str:
        """Return the cache key of the file that `assembled` returns."""
        return self._key(json.dumps([piece[:3] for piece in pieces]) + ending)

    def names(self, folder: str) -> list[str]:
        """Return the names of all objects in a folder."""
        files, root = self._files()
        with self._explained("read"):
            try:
                paths = files.find(f"{root}/{folder}")
            except FileNotFoundError:
                return []
        return sorted(str(name)[len(root) + 1 :] for name in paths)

    # --- writing ------------------------------------------------------------------------

    def put(self, content: bytes | Path, name: str) -> Piece:
        """Write a new object named `name` plus a random suffix."""
        path = PurePosixPath(name)
        own = str(path.with_name(f"{path.stem}-{secrets.token_hex(6)}{path.suffix}"))
        size = self._write(content, own)
        return Piece(own, 0, size, _block_sums(content))

    def remove(self, names: Iterable[str], *, trash: bool = False) -> None:
        """Remove objects or move them to the trash. Objects that cannot be removed are kept."""
        files, root = self._files()
        stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%SZ")
        for name in names:
            place = f"{root}/{plain_name(name)}"
            try:
                if trash:
                    target = f"{root}/trash/{stamp}/{name}"
                    files.makedirs(target.rpartition("/")[0], exist_ok=True)
                    files.mv(place, target)
                else:
                    files.rm_file(place)
            except Exception:  # each file system raises its own exceptions
                pass
            self.drop_local(name)

    def restore(self, names: Iterable[str]) -> set[str]:
        """Move the latest object of each name back from the trash. Return the restored names."""
        files, root = self._files()
        wanted = {name.split("/", 2)[2]: name for name in self.names("trash")}  # sorted by time
        restored = {name for name in names if name in wanted}
        with self._explained("written"):
            for name in sorted(restored):
                files.mv(f"{root}/{wanted[name]}", f"{root}/{plain_name(name)}")
        return restored

    def claim(self, identity: str) -> None:
        """Mark the object store as used by a library. Raise an error if another library uses it."""
        self.check_free()
        self._write(json.dumps({"library": identity}).encode(), MARKER)

    def check_free(self) -> None:
        """Raise an error if a library already uses the object store, or it cannot be reached."""
        files, root = self._files()
        with self._explained("reached"):
            taken = files.exists(f"{root}/{MARKER}")
        if taken:
            raise ObjectStoreError(
                f"{self.address}: this object store belongs to another library; choose another "
                "prefix"
            )

    def workers(self, workers: int | None) -> int | None:
        """Return the number of processes that can use the store, which is 1 for ``memory://``."""
        return 1 if self.address.startswith("memory:") else workers

    # --- the file system ----------------------------------------------------------------

    def _try(self, name: str) -> None:
        try:
            self.local(name)
        except FileNotFoundError:
            pass

    def _get(self, name: str, path: Path) -> None:
        files, root = self._files()
        with self._explained("read"):
            files.get_file(f"{root}/{plain_name(name)}", str(path))

    def _read(self, piece: Piece) -> bytes:
        """Read the bytes of a piece, and the blocks around it to verify their checksums."""
        files, root = self._files()
        first, last = piece.start, piece.start + piece.length
        if piece.sums:
            first, last = first - first % _BLOCK, last + -last % _BLOCK
        with self._explained("read"):
            data = files.cat_file(f"{root}/{plain_name(piece.name)}", start=first, end=last)
        content = data[piece.start - first :][: piece.length]
        if len(content) != piece.length:
            raise LibraryError(
                f"{self.address}/{piece.name}: damaged: expected {piece.length} bytes at offset "
                f"{piece.start}, found {len(content)}"
            )
        self.verify(piece, data, first)
        return content

    def verify(self, piece: Piece, content: bytes, first: int = 0) -> None:
        """Raise `LibraryError` if bytes of an object, starting at `first`, have a wrong checksum.

        `first` is a multiple of the block length, and the last block is complete.
        """
        sums = piece.sums[first // _BLOCK :]
        for at, expected in zip(range(0, len(content), _BLOCK), sums, strict=False):
            if zlib.crc32(content[at : at + _BLOCK]) != expected:
                raise LibraryError(
                    f"{self.address}/{piece.name}: damaged: the block at byte {first + at} has a "
                    "wrong checksum"
                )

    def _write(self, content: bytes | Path, name: str) -> int:
        files, root = self._files()
        with self._explained("written to"):
            try:
                if isinstance(content, Path):
                    files.put_file(str(content), f"{root}/{name}")
                    return content.stat().st_size
                files.pipe_file(f"{root}/{name}", content)
                return len(content)
            except FileNotFoundError as error:  # no such bucket
                raise ObjectStoreError(
                    f"{self.address}: this address does not exist: {error}"
                ) from None

    def _files(self) -> tuple[Any, str]:
        """Return the fsspec file system, and the prefix of all names."""
        return _file_system(self.address)

    def _key(self, name: str) -> str:
        return f"{self.address}/{name}"

    @contextmanager
    def _explained(self, what: str) -> Iterator[None]:
        try:
            yield
        except (FileNotFoundError, MotionloomError):
            raise
        except Exception as error:  # each file system raises its own exceptions
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise ObjectStoreError(
                f"{self.address}: the object store cannot be {what}: {_first_line(reason)}"
            ) from None


FileStore = FolderStore | ObjectStore


def trusted_store(library: Path, address: str, identity: str) -> ObjectStore:
    """Return the object store at a library's address, if the user trusts it.

    Raises
    ------
    LibraryError
        If the address was neither chosen on this machine nor trusted later.
    """
    _check_protocol(address)
    if not is_trusted(store_key(address, identity)):
        raise LibraryError(
            f"{library}: the frames of this library are in {address}, an address that was not "
            f"chosen on this machine. If the address is correct, run motionloom trust {library}"
        )
    return ObjectStore(address)


def store_key(address: str, identity: str) -> str:
    """Return the key under which a library's object store is trusted."""
    return f"store {identity} {address}"


def trust_store(address: str, identity: str) -> None:
    """Record that the user has chosen this address for a library."""
    _check_protocol(address)
    trust(store_key(address, identity))


def _check_protocol(address: str) -> None:
    """Raise an error unless the address belongs to exactly one storage file system."""
    protocol, separator, _ = address.partition("://")
    if "::" in address or (separator and protocol not in PROTOCOLS):
        raise InvalidInput(
            f"store must be an address such as s3://bucket/prefix, with one of "
            f"{', '.join(PROTOCOLS)}; got {address[:200]!r}"
        )


def normal_address(address: str | os.PathLike[str]) -> str:
    """Return a complete address without a trailing slash. Raise an error if it is not valid."""
    files, root = _file_system(os.fspath(address))
    if not root.strip("/"):
        raise InvalidInput(
            f"an object store needs a prefix, such as s3://bucket/prefix; got {str(address)!r}"
        )
    return files.unstrip_protocol(root).rstrip("/")


def _file_system(address: str) -> tuple[Any, str]:
    _check_protocol(address)
    try:
        import fsspec.core
    except ImportError:
        raise MissingExtra(
            "an object store needs fsspec. Install it with: pip install 'motionloom[cloud]'"
        ) from None
    # Cached listings are out of date where several processes write.
    options: dict[str, Any] = {"use_listings_cache": False}
    if "://" not in address or address.startswith(("file:", "local:")):
        options["auto_mkdir"] = True
    try:
        files, root = fsspec.core.url_to_fs(address, **options)
    except ImportError as error:
        raise MissingExtra(f"{address}: {_first_line(str(error))}") from None
    except Exception as error:  # each file system checks its addresses differently
        raise InvalidInput(
            f"store must be an address such as s3://bucket/prefix; got {address!r}: "
            f"{_first_line(str(error))}"
        ) from None
    return files, root.rstrip("/")


def _portions(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Split pieces into portions that are small enough for memory."""
    for piece in pieces:
        at, end = piece.start, piece.start + piece.length
        while at < end:
            cut = min(end, at - at % _PORTION + _PORTION)
            yield piece._replace(start=at, length=cut - at)
            at = cut


def _block_sums(content: bytes | Path) -> tuple[int, ...]:
    """Return the CRC-32 of each block of an object."""
    whole = io.BytesIO(content) if isinstance(content, bytes) else open(content, "rb")
    with whole:
        return tuple(zlib.crc32(block) for block in iter(lambda: whole.read(_BLOCK), b""))


def _batched(things: Iterable[Piece], count: int) -> Iterator[list[Piece]]:
    every = iter(things)
    while some := list(islice(every, count)):
        yield some


def _first_line(text: str) -> str:
    return text.strip().splitlines()[0].rstrip(".") if text.strip() else "no reason given"
