"""Writer lock: an operating-system lock on a file in the library.

The lock is released when the process that holds it ends for any reason. Readers do not need the
lock, because SQLite isolates them from the writer.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from motionloom.errors import LibraryError

_log = logging.getLogger("motionloom.store")
_PATIENCE = 1.0  # seconds before a wait is logged
_held: set[int] = set()  # open lock files of this process


@contextmanager
def writer_lock(folder: Path, *, timeout: float) -> Iterator[None]:
    """Hold the writer lock of the library in `folder` for the ``with`` block.

    Waits up to `timeout` seconds for another writer, and logs a wait of more than a second. Raises
    `LibraryError` after that time, or if the folder cannot be written to.
    """
    end = time.monotonic() + timeout
    while True:
        handle = _opened(folder)
        _held.add(handle)
        try:
            _acquire(handle, folder, max(0.0, end - time.monotonic()))
            if not _is_current(handle, folder):
                continue  # the library was replaced on disk while we waited
            yield
            return
        finally:
            _held.discard(handle)
            os.close(handle)  # releases the lock


def _opened(folder: Path) -> int:
    """Open or create the lock file. Links are not followed, and pipes do not block."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        return os.open(folder / "lock", flags, 0o666)
    except OSError as error:
        raise not_writable(folder, error) from None


def _is_current(handle: int, folder: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(folder / "lock"))
    except FileNotFoundError:
        return False


def not_writable(place: Path, error: OSError) -> LibraryError:
    """Return the error for a library, or a folder in it, that cannot be written to."""
    return LibraryError(f"{place}: cannot write to this library: {error.strerror or error}")


def _acquire(handle: int, folder: Path, timeout: float) -> None:
    start, logged = time.monotonic(), False
    while not _try_lock(handle):
        waited = time.monotonic() - start
        if waited >= timeout:
            raise LibraryError(
                f"{folder}: another process has been writing to this library for "
                f"{waited:.0f} s; wait until it is done and run this again"
            )
        if waited >= _PATIENCE and not logged:
            _log.warning(
                "%s: waiting for another process to finish writing to this library", folder
            )
            logged = True
        time.sleep(min(0.05, max(0.0, timeout - waited)))


if sys.platform == "win32":
    import msvcrt

    def _try_lock(handle: int) -> bool:
        try:
            os.lseek(handle, 0, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _try_lock(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _close_in_child() -> None:
        # A forked worker shares the open file and therefore the lock. If it outlived its parent,
        # the library would stay locked.
        for handle in _held:
            os.close(handle)
        _held.clear()

    os.register_at_fork(after_in_child=_close_in_child)
