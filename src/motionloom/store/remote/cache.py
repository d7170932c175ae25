"""A local copy of what was read from afar: bounded, shared by all processes of a machine.

Files in a store never change under their names, so a copy is right for ever; it is the
memory of the machine that is not. When the copies take more room than they may, those that
were not used for longest go. A file that is mapped meanwhile stays readable where the system
has it so (Linux, macOS); elsewhere it stays until nobody has it open.

The place is ``MOTIONLOOM_CACHE``, else ``cache`` in ``[store]`` of ``motionloom.toml``, else
``~/.cache/motionloom``; its size ``MOTIONLOOM_CACHE_GB``, else ``cache_gb``, else 20.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from motionloom.atomic_write import atomic_write
from motionloom.configuration import section, user_cache
from motionloom.errors import InvalidInput, LibraryError

DEFAULT_GB = 20.0
_LOOK_AGAIN = 0.02  # of the limit: so much may be added before the room is measured again


class Cache:
    """Files by key, at most `limit` bytes of them.

    Parameters
    ----------
    folder : Path
    limit : float
        Bytes.

    Examples
    --------
    >>> place = tempfile.TemporaryDirectory()
    >>> cache = Cache(Path(place.name), limit=1e6)
    >>> cache.file("a key", lambda path: path.write_text("fetched")).read_text()
    'fetched'
    >>> cache.file("a key", lambda path: path.write_text("again")).read_text()
    'fetched'
    """

    def __init__(self, folder: Path, limit: float) -> None:
        self.folder, self.limit = folder, limit
        self._added: float | None = None  # bytes since the room was measured

    def file(self, key: str, fill: Callable[[Path], object]) -> Path:
        """The file of a key; `fill` writes it if it is not there."""
        path = self._path(key)
        try:
            os.utime(path)  # used now
        except FileNotFoundError:
            self._make(path, fill)
        except OSError:  # a cache of another user: it is there, and that is enough
            pass
        return path

    def adopt(self, key: str, path: Path) -> None:
        """Take a file over as that of a key; it is gone from where it was."""
        self._make(self._path(key), lambda scratch: path.replace(scratch))

    def remove(self, key: str) -> None:
        """Remove the file of a key."""
        self._path(key).unlink(missing_ok=True)

    def scratch(self) -> Path:
        """A new folder for work in progress, on the same disk; whoever asks removes it."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            return Path(tempfile.mkdtemp(prefix="scratch-", dir=self.folder))
        except OSError as error:
            raise self._no_room(error) from None

    def _path(self, key: str) -> Path:
        digest = hashlib.blake2b(key.encode(), digest_size=16).hexdigest()
        # The ending stays: some readers go by it.
        return self.folder / digest[:2] / f"{digest}{Path(key).suffix}"

    def _make(self, path: Path, fill: Callable[[Path], object]) -> None:
        try:
            with atomic_write(path) as scratch:
                fill(scratch)
                size = scratch.stat().st_size
        except FileNotFoundError:
            raise
        except OSError as error:
            raise self._no_room(error) from None
        if self._added is None or self._added + size > _LOOK_AGAIN * self.limit:
            self._make_room(keep=path)
            self._added = 0.0
        self._added += size

    def _make_room(self, keep: Path) -> None:
        files = []
        for path in self.folder.glob("??/*"):
            try:
                status = path.stat()
            except OSError:
                continue
            files.append((status.st_mtime, status.st_size, path))
        excess = sum(size for _, size, _ in files) - self.limit
        for _, size, path in sorted(files):
            if excess <= 0:
                break
            if path != keep:
                try:
                    path.unlink()
                except OSError:
                    continue
                excess -= size

    def _no_room(self, error: OSError) -> LibraryError:
        return LibraryError(
            f"{self.folder}: cannot keep local copies there: {error.strerror or error}; name "
            "another place in MOTIONLOOM_CACHE"
        )


def local_cache() -> Cache:
    """The cache of this machine; see the top of this module."""
    return _cache(
        os.environ.get("MOTIONLOOM_CACHE"), os.environ.get("MOTIONLOOM_CACHE_GB"), os.getcwd()
    )


@lru_cache(maxsize=8)
def _cache(place: str | None, size: str | None, here: str) -> Cache:
    told = section("store", Path(here, "motionloom.toml"))
    place = place or told.get("cache")
    if not place:
        place = str(user_cache() / "motionloom")
    try:
        gigabytes = float(size if size else told.get("cache_gb", DEFAULT_GB))
        if not 0.0 < gigabytes < float("inf"):
            raise ValueError(gigabytes)
    except (TypeError, ValueError):
        raise InvalidInput(
            "the size of the cache (MOTIONLOOM_CACHE_GB, or cache_gb in [store] of "
            f"motionloom.toml) must be a positive number; got {size or told.get('cache_gb')!r}"
        ) from None
    return Cache(Path(here, Path(place).expanduser()), 1e9 * gigabytes)
