"""What is computed from a library's motions once and kept with them.

::

    takes.loom/derived/KIND.OPTIONS.CONTENT/    files of one derived thing

OPTIONS is a digest of how it was made, CONTENT one of the motions it was made from: a
library that has changed has no such folder, and a new one is made from the old and what is
new. Folders are written under a temporary name, renamed, and never changed. Those of
earlier content are removed by whoever makes the next, under the writer lock.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from motionloom.errors import LibraryError
from motionloom.library.lock import not_writable
from motionloom.library.records import Entry
from motionloom.library.shelf import Shelf
from motionloom.library.store import ObjectStore
from motionloom.library.stored_derived import stored_derived

FOLDER = "derived"
_SCRATCH = ".part-"
_ATTEMPTS = 5

Thing = TypeVar("Thing")


def derived(
    library: Shelf,
    kind: str,
    options: Mapping[str, Any],
    *,
    build: Callable[[Path, Any], None],
    load: Callable[[Any], Thing],
) -> Thing:
    """A thing derived from all motions of a library, made if it is not there.

    Parameters
    ----------
    library : Shelf
    kind : str
        What it is; part of a folder's name.
    options : mapping
        How it is made, as JSON; things made in other ways are kept side by side.
    build : callable
        ``build(folder, previous)`` writes the thing's files into the new, empty `folder`.
        `previous` is the folder of the same thing made from earlier content, or None. No
        motion is added or removed meanwhile. In a library whose files lie in a store,
        `previous` and the folder for `load` are of the kind
        `motionloom.library.stored_folder.StoredFolder`.
    load : callable
        ``load(folder)`` opens it. If it raises `FileNotFoundError` or `LibraryError`, the
        thing is made once more.

    Returns
    -------
    thing
        What `load` gives.

    Raises
    ------
    LibraryError
        If the library cannot be written to.
    """
    stem = _stem(kind, options)
    if isinstance(library.store, ObjectStore):
        content = partial(content_key, library)
        return stored_derived(library, library.store, FOLDER, stem, content, build=build, load=load)
    place = library.path.absolute() / FOLDER  # workers of a cluster are in other folders
    damage: LibraryError | None = None
    for _ in range(_ATTEMPTS):
        folder = place / f"{stem}.{content_key(library)}"
        if damage is None and folder.is_dir():
            try:
                return load(folder)
            except FileNotFoundError:  # swept while we looked: the library has changed
                continue
            except LibraryError as error:
                damage = error
        with library.writing():
            target = place / f"{stem}.{content_key(library)}"
            if damage is not None:
                shutil.rmtree(target, ignore_errors=True)
            if not target.is_dir():
                _make(place, stem, target, build)
        damage = None
    raise LibraryError(f"{place}: the library keeps changing; try again when nobody writes to it")


def is_derived(library: Shelf, kind: str, options: Mapping[str, Any]) -> bool:
    """Whether the thing that `derived` gives is there, and need not be made."""
    name = f"{_stem(kind, options)}.{content_key(library)}"
    if isinstance(library.store, ObjectStore):
        return bool(library.catalogue.stored(name))
    return (library.path / FOLDER / name).is_dir()


def content_key(library: Shelf) -> str:
    """Fingerprint of all motions of a library and their names; labels do not count."""
    return _digest(*(repr(row) for row in library.fingerprints()), size=8)


def motion_key(entry: Entry) -> str:
    """Fingerprint of one motion: its frames, its skeleton and its rate."""
    return _digest(entry.digest, entry.skeleton, repr(entry.fps), size=8)


def _stem(kind: str, options: Mapping[str, Any]) -> str:
    return f"{kind}.{_digest(json.dumps(options, sort_keys=True), size=6)}"


def _make(place: Path, stem: str, target: Path, build: Callable[[Path, Path | None], None]) -> None:
    try:
        place.mkdir(exist_ok=True)
        for stale in place.glob(f"{_SCRATCH}*"):  # left by a killed process
            shutil.rmtree(stale, ignore_errors=True)
        earlier = sorted(place.glob(f"{stem}.*"), key=lambda path: path.stat().st_mtime)
        scratch = Path(tempfile.mkdtemp(prefix=_SCRATCH, dir=place))
    except OSError as error:
        raise not_writable(place, error) from None
    try:
        build(scratch, earlier[-1] if earlier else None)
        mask = os.umask(0)
        os.umask(mask)
        scratch.chmod(0o777 & ~mask)  # mkdtemp is private; readers may be other users
        os.rename(scratch, target)
    except OSError as error:
        raise not_writable(place, error) from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    for old in earlier:
        shutil.rmtree(old, ignore_errors=True)


def _digest(*texts: str, size: int) -> str:
    digest = hashlib.blake2b(digest_size=size)
    for text in texts:
        digest.update(text.encode())
        digest.update(b"\0")
    return digest.hexdigest()
