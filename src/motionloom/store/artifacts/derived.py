"""What is computed from a library's motions once and kept with them.

::

    takes.loom/derived/KIND.OPTIONS.CONTENT/    files of one derived thing

OPTIONS is a digest of how it was made, CONTENT one of the motions it was made from: a
library that has changed has no such folder, and a new one is made from the old and what is
new. Folders are written under a temporary name, renamed, and never changed. Those of
earlier content are removed by whoever makes the next, under the writer lock.

Derived things of a library whose files lie in a store.

They are built as anywhere: in a folder on this machine's disk. What workers wrote to the store
themselves is only noted there (see `motionloom.store.remote.folder`). Then the files go to
the store, and one transaction in the catalogue makes them those of the thing, and those of
earlier content nobody's.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from motionloom.errors import LibraryError
from motionloom.store.lock import not_writable
from motionloom.store.records import Entry
from motionloom.store.remote.cache import local_cache
from motionloom.store.remote.folder import Folder, RemoteFolder, objects_of, uploaded
from motionloom.store.remote.object_store import ObjectStore, ObjectStoreError
from motionloom.store.store import Store

_STORED_ATTEMPTS = 6

Thing = TypeVar("Thing")


def stored_derived(
    library: Store,
    store: ObjectStore,
    place: str,
    stem: str,
    content: Callable[[], str],
    *,
    build: Callable[[Path, Folder | None], None],
    load: Callable[[Folder], Thing],
) -> Thing:
    """A derived thing, made if it is not there; see `motionloom.store.artifacts.derived.derived`.

    Parameters
    ----------
    library : Store
    store : ObjectStore
        Where its files are.
    place : str
        Folder of the store for derived things.
    stem : str
        Of the folder's name: the kind of thing, and how it is made.
    content : callable
        The end of the folder's name: a fingerprint of the motions there are now.
    build, load : callable
    """
    damage = 0
    for _ in range(_STORED_ATTEMPTS):
        name = f"{stem}.{content()}"
        files = library.catalogue.stored(name)
        if files and damage < 2:
            folder = RemoteFolder(store, name, files)
            try:
                return load(folder)
            except ObjectStoreError:
                raise
            except (FileNotFoundError, LibraryError):
                # A copy was swept or is damaged: fetch it again. Then it is the store's own.
                folder.forget()
                damage += 1
                continue
        with library.writing():
            name = f"{stem}.{content()}"
            if damage >= 2 or not library.catalogue.stored(name):
                _make_stored(library, store, f"{place}/{stem}", name, build)
        damage = 0
    raise LibraryError(
        f"{library.path}: the library keeps changing; try again when nobody writes to it"
    )


def _make_stored(
    library: Store,
    store: ObjectStore,
    place: str,
    name: str,
    build: Callable[[Path, Folder | None], None],
) -> None:
    catalogue, stem = library.catalogue, PurePosixPath(place).name
    earlier = {other: catalogue.stored(other) for other in catalogue.stored_folders(stem)}
    earlier.pop(name, None)  # damaged
    known = objects_of(earlier.values())
    store.remove(sorted(set(store.names(place)) - known))  # left by a killed build
    previous = next((RemoteFolder(store, *one) for one in earlier.items()), None)
    scratch = local_cache().scratch()
    try:
        folder = scratch / stem  # where workers write to, too, in the store
        folder.mkdir()
        build(folder, previous)
        files = uploaded(folder, store, place)
        catalogue.store(name, files, instead_of=[name, *earlier])
    except OSError as error:
        raise LibraryError(
            f"{scratch.parent}: cannot write there: {error.strerror or error}; name another "
            "place in MOTIONLOOM_CACHE"
        ) from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    store.remove(sorted(known - objects_of([files])))


FOLDER = "derived"
_SCRATCH = ".part-"
_ATTEMPTS = 5


def derived(
    library: Store,
    kind: str,
    options: Mapping[str, Any],
    *,
    build: Callable[[Path, Any], None],
    load: Callable[[Any], Thing],
) -> Thing:
    """A thing derived from all motions of a library, made if it is not there.

    Parameters
    ----------
    library : Store
    kind : str
        What it is; part of a folder's name.
    options : mapping
        How it is made, as JSON; things made in other ways are kept side by side.
    build : callable
        ``build(folder, previous)`` writes the thing's files into the new, empty `folder`.
        `previous` is the folder of the same thing made from earlier content, or None. No
        motion is added or removed meanwhile. In a library whose files lie in a store,
        `previous` and the folder for `load` are of the kind
        `motionloom.store.remote.folder.RemoteFolder`.
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
    if isinstance(library.files, ObjectStore):
        content = partial(content_key, library)
        return stored_derived(library, library.files, FOLDER, stem, content, build=build, load=load)
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


def is_derived(library: Store, kind: str, options: Mapping[str, Any]) -> bool:
    """Whether the thing that `derived` gives is there, and need not be made."""
    name = f"{_stem(kind, options)}.{content_key(library)}"
    if isinstance(library.files, ObjectStore):
        return bool(library.catalogue.stored(name))
    return (library.path / FOLDER / name).is_dir()


def content_key(library: Store) -> str:
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
