"""Derived things of a library whose files lie in a store.

They are built as anywhere: in a folder on this machine's disk. What workers wrote to the store
themselves is only noted there (see `motionloom.library.stored_folder`). Then the files go to
the store, and one transaction in the catalogue makes them those of the thing, and those of
earlier content nobody's.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import TypeVar

from motionloom.errors import LibraryError
from motionloom.library.cache import local_cache
from motionloom.library.shelf import Shelf
from motionloom.library.store import ObjectStore, StoreError
from motionloom.library.stored_folder import Folder, StoredFolder, objects_of, uploaded

_ATTEMPTS = 6

Thing = TypeVar("Thing")


def stored_derived(
    library: Shelf,
    store: ObjectStore,
    place: str,
    stem: str,
    content: Callable[[], str],
    *,
    build: Callable[[Path, Folder | None], None],
    load: Callable[[Folder], Thing],
) -> Thing:
    """A derived thing, made if it is not there; see `motionloom.library.derived.derived`.

    Parameters
    ----------
    library : Shelf
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
    for _ in range(_ATTEMPTS):
        name = f"{stem}.{content()}"
        files = library.catalogue.stored(name)
        if files and damage < 2:
            folder = StoredFolder(store, name, files)
            try:
                return load(folder)
            except StoreError:
                raise
            except (FileNotFoundError, LibraryError):
                # A copy was swept or is damaged: fetch it again. Then it is the store's own.
                folder.forget()
                damage += 1
                continue
        with library.writing():
            name = f"{stem}.{content()}"
            if damage >= 2 or not library.catalogue.stored(name):
                _make(library, store, f"{place}/{stem}", name, build)
        damage = 0
    raise LibraryError(
        f"{library.path}: the library keeps changing; try again when nobody writes to it"
    )


def _make(
    library: Shelf,
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
    previous = next((StoredFolder(store, *one) for one in earlier.items()), None)
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
