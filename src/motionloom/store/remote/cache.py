"""Local cache of objects, limited in size and shared by all processes on a machine.

Objects never change, so a cached copy is never out of date. When the cache exceeds its size limit,
the least recently used files are removed. A removed file that is memory-mapped stays readable on
Linux and macOS; on Windows, files are not removed while they are open.

The folder is the first of ``MOTIONLOOM_CACHE``, ``cache`` in ``[store]`` of ``motionloom.toml``,
and ``~/.cache/motionloom``. The size limit in GB is the first of ``MOTIONLOOM_CACHE_GB``,
``cache_gb`` in ``[store]``, and 20.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from motionloom.configuration import section, user_cache
from motionloom.errors import InvalidInput, LibraryError
from motionloom.files import atomic_write

DEFAULT_GB = 20.0
_CHECK_AFTER = 0.02  # fraction of the limit that may be added before the size is measured again


class Cache:
    """Files by key, with a total size of at most `limit` bytes.

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
        self._added: float | None = None  # bytes added since the size was measured

    def file(self, key: str, fill: Callable[[Path], object]) -> Path:
        """Return the file for a key. If it is not cached, `fill` writes it."""
        path = self._path(key)
        try:
            os.utime(path)  # mark as used
        except FileNotFoundError:
            self._make(path, fill)
        except OSError:  # the file is in the cache of another user
            pass
        return path

    def adopt(self, key: str, path: Path) -> None:
        """Move a file into the cache."""
        self._make(self._path(key), lambda scratch: path.replace(scratch))

    def remove(self, key: str) -> None:
        """Remove the file for a key."""
        self._path(key).unlink(missing_ok=True)

    def scratch(self) -> Path:
        """Create a temporary folder on the same disk. The caller must remove it."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            return Path(tempfile.mkdtemp(prefix="scratch-", dir=self.folder))
        except OSError as error:
            raise self._not_writable(error) from None

    def _path(self, key: str) -> Path:
        digest = hashlib.blake2b(key.encode(), digest_size=16).hexdigest()
        # Some readers need the suffix, so it is kept.
        return self.folder / digest[:2] / f"{digest}{Path(key).suffix}"

    def _make(self, path: Path, fill: Callable[[Path], object]) -> None:
        try:
            with atomic_write(path) as scratch:
                fill(scratch)
                size = scratch.stat().st_size
        except FileNotFoundError:
            raise
        except OSError as error:
            raise self._not_writable(error) from None
        if self._added is None or self._added + size > _CHECK_AFTER * self.limit:
            self._evict(keep=path)
            self._added = 0.0
        self._added += size

    def _evict(self, keep: Path) -> None:
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

    def _not_writable(self, error: OSError) -> LibraryError:
        return LibraryError(
            f"{self.folder}: cannot write to the cache: {error.strerror or error}; set "
            "MOTIONLOOM_CACHE to another folder"
        )


def local_cache() -> Cache:
    """Return the cache on this machine, as configured by the user."""
    return _cache(
        os.environ.get("MOTIONLOOM_CACHE"), os.environ.get("MOTIONLOOM_CACHE_GB"), os.getcwd()
    )


@lru_cache(maxsize=8)
def _cache(place: str | None, size: str | None, here: str) -> Cache:
    options = section("store", Path(here, "motionloom.toml"))
    place = place or options.get("cache")
    if not place:
        place = str(user_cache() / "motionloom")
    try:
        gigabytes = float(size if size else options.get("cache_gb", DEFAULT_GB))
        if not 0.0 < gigabytes < float("inf"):
            raise ValueError(gigabytes)
    except (TypeError, ValueError):
        raise InvalidInput(
            "the size of the cache (MOTIONLOOM_CACHE_GB, or cache_gb in [store] of "
            f"motionloom.toml) must be a positive number of gigabytes; got "
            f"{size or options.get('cache_gb')!r}"
        ) from None
    return Cache(Path(here, Path(place).expanduser()), 1e9 * gigabytes)
