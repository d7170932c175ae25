"""Writer lock: operating-system locks on two files in the library.

A writer first locks ``queue`` and then ``lock``, and releases ``queue`` as soon as it holds
``lock``. A writer that finishes and starts again therefore waits behind the writers that already
wait, so none of them is starved. Both locks are released when the process that holds them ends for
any reason. Readers do not need them, because SQLite isolates readers from the writer.

``lock`` is empty unless a writer is at work. Meanwhile, it names the state of the catalogue in
which the writer found it. If the writer is killed, the text stays, and the next writer knows that
files may be left over. The text is ignored if the catalogue was replaced since then.
"""

from __future__ import annotations

import logging
import os
import re
import stat
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from motionloom.errors import LibraryError
from motionloom.store.catalogue_file import FILE

LOCK, QUEUE = "lock", "queue"
_log = logging.getLogger("motionloom.store")
_PATIENCE = 1.0  # seconds before a wait is logged
_SHORTEST, _LONGEST = 0.001, 0.02  # seconds between two attempts
_held: set[int] = set()  # open lock files of this process
# Open catalogues. They stay open, because a process that closes a file releases all locks that it
# has on this file, also those of SQLite.
_catalogues: dict[tuple[int, int], int] = {}
_MOST_OPEN = 64
_reading = threading.Lock()


@contextmanager
def writer_lock(folder: Path, *, timeout: float, mark: bool = False) -> Iterator[bool]:
    """Hold the writer lock of the library in `folder` for the ``with`` block.

    With `mark`, the lock is marked meanwhile, and the value is True if the previous writer that
    marked it was interrupted. Waits up to `timeout` seconds for
    other writers, and logs a wait of more than a second. Raises `LibraryError` after that time, or
    if the folder cannot be written to.
    """
    end = time.monotonic() + timeout
    while True:
        with _opened(folder, LOCK) as handle:
            with _opened(folder, QUEUE) as queue:
                _acquire(queue, folder, end)
                _acquire(handle, folder, end)
            if not _is_current(handle, folder):
                continue  # the library was replaced on disk while we waited
            interrupted = mark and _mark(handle, folder)
            try:
                yield interrupted
            except Exception:
                _clear(handle, mark)
                raise
            _clear(handle, mark)
            return


@contextmanager
def _opened(folder: Path, name: str) -> Iterator[int]:
    """Open or create a lock file. Links are not followed, and pipes do not block."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        if (folder / name).is_symlink():  # for systems without O_NOFOLLOW
            raise OSError(f"{name} is a link")
        handle = os.open(folder / name, flags, 0o666)
    except OSError as error:
        raise not_writable(folder, error) from None
    _held.add(handle)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise not_writable(folder, OSError(f"{name} is not a regular file"))
        yield handle
    finally:
        if handle in _held:  # not in a forked process, which closed it
            _held.discard(handle)
            os.close(handle)  # releases the lock


def _is_current(handle: int, folder: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(folder / LOCK))
    except FileNotFoundError:
        return False


def _mark(handle: int, folder: Path) -> bool:
    """Write the state of the catalogue, and return whether the previous writer left one."""
    try:
        os.lseek(handle, 0, os.SEEK_SET)
        interrupted = _is_interrupted(os.read(handle, 200), folder)
        text = " ".join(map(str, _catalogue_state(folder))).encode()
        os.ftruncate(handle, 0)
        os.lseek(handle, 0, os.SEEK_SET)
        os.write(handle, text)
        os.fsync(handle)
    except OSError as error:
        raise not_writable(folder, error) from None
    return interrupted


def _clear(handle: int, mark: bool) -> None:
    if mark and handle in _held:  # not in a forked process
        os.ftruncate(handle, 0)


def _is_interrupted(text: bytes, folder: Path) -> bool:
    numbers = [int(number) for number in re.findall(rb"\d{1,20}", text)]
    current = _catalogue_state(folder)
    return (
        len(numbers) == len(current) > 0
        and tuple(numbers[:2]) == current[:2]
        and (numbers[2] <= current[2])  # a catalogue restored from a backup is older
    )


def _catalogue_state(folder: Path) -> tuple[int, ...]:
    """Return device, inode and change counter of the catalogue, or nothing if there is none."""
    with suppress(OSError), _reading:
        status = os.lstat(folder / FILE)
        place = (status.st_dev, status.st_ino)
        handle = _catalogues.get(place)
        if handle is None:
            flags = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
            handle = os.open(folder / FILE, os.O_RDONLY | getattr(os, "O_BINARY", 0) | flags)
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode) or place != (status.st_dev, status.st_ino):
                os.close(handle)
                return ()
        os.lseek(handle, 24, os.SEEK_SET)
        header = os.read(handle, 4)
        if os.name != "posix":  # an open file could not be deleted, and locks work otherwise
            os.close(handle)
        else:
            _catalogues[place] = handle
            while len(_catalogues) > _MOST_OPEN:
                os.close(_catalogues.pop(next(iter(_catalogues))))
        if len(header) == 4:
            return *place, int.from_bytes(header, "big")
    return ()


def not_writable(place: Path, error: OSError) -> LibraryError:
    """Return the error for a library, or a folder in it, that cannot be written to."""
    return LibraryError(f"{place}: cannot write to this library: {error.strerror or error}")


def _acquire(handle: int, folder: Path, end: float) -> None:
    """Lock an open file, trying until the time `end`."""
    start, logged, pause = time.monotonic(), False, _SHORTEST
    while not _try_lock(handle):
        now = time.monotonic()
        if now >= end:
            raise LibraryError(
                f"{folder}: another process has been writing to this library for "
                f"{now - start:.0f} s; wait until it is done and run this again"
            )
        if now - start >= _PATIENCE and not logged:
            _log.warning(
                "%s: waiting for another process to finish writing to this library", folder
            )
            logged = True
        time.sleep(min(pause, end - now))
        pause = min(2.0 * pause, _LONGEST)


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
        global _reading
        _reading = threading.Lock()  # another thread may have held it
        # A forked worker shares the open file and therefore the lock. If it outlived its parent,
        # the library would stay locked.
        for handle in _held:
            os.close(handle)
        _held.clear()

    os.register_at_fork(after_in_child=_close_in_child)
