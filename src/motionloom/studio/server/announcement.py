"""Address and token of running studios, in files that only the user can read.

Each studio has a folder in ``~/.config/motionloom/studios`` with ``studio.json``, from which the
user's other programs learn where it listens and its token, and ``open.html``, which the browser
opens. The browser's command line, which every user of the machine can see, then has no token.

A studio holds the lock of its folder while it runs. Programs use only folders that are locked:
after a crash, any user's program could listen on the port of the studio.
"""

from __future__ import annotations

import html
import json
import os
import secrets
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from motionloom.configuration import user_settings
from motionloom.errors import LibraryError, MotionFormatError
from motionloom.files import parse_json, read_regular
from motionloom.library import writer_lock

_LARGEST = 10_000  # bytes of a studio.json
_YOUNG = 60.0  # seconds in which a folder is not removed, because its studio may not hold it yet
_OLD_TOKEN = "studio-token"  # of earlier releases: one token for all starts


@dataclass(frozen=True)
class RunningStudio:
    """Where a studio of this user listens."""

    address: str  # http://HOST:PORT, without the token
    token: str  # empty if the studio requires none


def running_studios() -> list[RunningStudio]:
    """Return the user's running studios on this machine, the latest first.

    Send a token only to the address that comes with it. Every start has a new token.

    Examples
    --------
    >>> [studio.address for studio in running_studios()]    # doctest: +SKIP
    ['http://127.0.0.1:8765']
    """
    studios = []
    for folder in _folders():
        try:
            # Read before the lock is tested: the studio may stop in between.
            content = parse_json(read_regular(folder / "studio.json", largest=_LARGEST))
            started = float(content["started"])
            studio = RunningStudio(str(content["address"]), str(content["token"]))
        except (OSError, ValueError, LookupError, TypeError, MotionFormatError):
            continue
        if _is_held(folder):
            studios.append((started, studio))
    return [studio for _, studio in sorted(studios, key=lambda row: row[0], reverse=True)]


@contextmanager
def announced(address: str, token: str | None) -> Iterator[Path | None]:
    """Write the files of a studio for the ``with`` block; provide the page that opens it.

    Provides None if the files cannot be written.
    """
    _remove_old()
    folder = _folder() / secrets.token_hex(6)
    try:
        _make_private(folder.parent)
        folder.mkdir(mode=0o700)
        lock = writer_lock(folder, timeout=0.0)
        lock.__enter__()
    except (OSError, LibraryError):
        shutil.rmtree(folder, ignore_errors=True)
        yield None
        return
    try:
        yield _written(folder, address, token or "")
    finally:
        lock.__exit__(None, None, None)  # first, because Windows cannot delete an open file
        shutil.rmtree(folder, ignore_errors=True)


def _written(folder: Path, address: str, token: str) -> Path | None:
    target = html.escape(f"{address}/?token={token}" if token else f"{address}/")
    page = (
        '<!doctype html><meta charset="utf-8"><title>motionloom studio</title>'
        f'<meta http-equiv="refresh" content="0;url={target}">'
        f'<p>Continue to <a href="{target}">motionloom studio</a>.'
    )
    content = json.dumps({"address": address, "token": token, "started": time.time()})
    try:
        _write_private(folder / "studio.json", content)
        _write_private(folder / "open.html", page)
    except OSError:
        return None
    return folder / "open.html"


def _write_private(path: Path, text: str) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)


def _folder() -> Path:
    return user_settings().with_name("studios")


def _make_private(folder: Path) -> None:
    """Create the folder of all studios; raise `OSError` if others can change it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    if not _is_private(folder):
        folder.chmod(0o700, follow_symlinks=False)
        if not _is_private(folder):
            raise PermissionError(f"{folder} is not private")


def _is_private(folder: Path) -> bool:
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode):
        return False
    return os.name != "posix" or (status.st_uid == os.getuid() and not status.st_mode & 0o77)


def _folders() -> list[Path]:
    try:
        root = _folder()
        inside = list(root.iterdir()) if _is_private(root) else []
        return [folder for folder in inside if _is_private(folder)]
    except OSError:
        return []


def _is_held(folder: Path) -> bool:
    try:
        with writer_lock(folder, timeout=0.0):
            return False
    except LibraryError:
        return True


def _remove_old() -> None:
    """Delete the folders of killed studios, and the fixed token of earlier releases."""
    for folder in _folders():
        try:
            young = time.time() - folder.stat().st_mtime < _YOUNG
        except OSError:
            continue
        if not young and not _is_held(folder):
            shutil.rmtree(folder, ignore_errors=True)
    try:
        user_settings().with_name(_OLD_TOKEN).unlink(missing_ok=True)
    except OSError:
        pass
