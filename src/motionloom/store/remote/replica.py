"""Copies of a catalogue: those that workers read, and those that people make.

Workers of a cluster may see the store and nothing else. What they are handed is the name of a
copy of the catalogue in the store, as it was when the work was handed out.

A library that was copied with its folder, catalogue and all, has its frames in the same store
as the one it was copied from. If both were written to, each would sweep away what only the
other knows of; so the copy can only be read.
"""

from __future__ import annotations

import hashlib
import shutil
import time
from pathlib import Path

from motionloom.errors import LibraryError
from motionloom.store.catalogue import FILE, Catalogue
from motionloom.store.remote.cache import local_cache
from motionloom.store.remote.object_store import ObjectStore

FOLDER = "catalogue"
_KEPT_SECONDS = 7 * 86400  # of a copy: work that was handed out with it has ended by then


def replica_for_workers(catalogue: Catalogue, store: ObjectStore) -> str:
    """Name in the store of a copy of the catalogue as it is now, made if it is not there."""
    key = _content(catalogue)
    there = store.names(FOLDER)
    for name in there:
        if f".{key}-" in name:
            return name
    scratch = local_cache().scratch()
    try:
        catalogue.write_replica(scratch / FILE)
        now = int(time.time())
        made = store.put(scratch / FILE, f"{FOLDER}/{now}.{key}.sqlite").name
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    store.remove(name for name in there if _made(name) < now - _KEPT_SECONDS)
    return made


def check_not_replica(catalogue: Catalogue, path: Path) -> None:
    """Complain if the library at `path` is a copy of one that is still there.

    Raises
    ------
    LibraryError
    """
    meta, here = catalogue.meta(), str(path.resolve())
    home = meta.get("home", here)
    if home == here:
        return
    if _identity(Path(home)) == meta.get("id"):
        raise LibraryError(
            f"{path}: this is a replica of {home}, and the frames of both lie in {meta['store']}: "
            "a replica can be read, not written to"
        )
    catalogue.set_meta("home", here)  # it was moved


def _identity(library: Path) -> str | None:
    if not (library / FILE).exists():
        return None
    try:
        return Catalogue(library).meta().get("id")
    except LibraryError:
        return None


def _content(catalogue: Catalogue) -> str:
    """Fingerprint of all that a copy holds."""
    digest = hashlib.blake2b(digest_size=8)
    for query in (
        "SELECT name, file, skeleton FROM motions ORDER BY name",
        "SELECT name, label FROM labels ORDER BY name, label",
        "SELECT folder, file, pieces FROM stored WHERE about IS NULL ORDER BY folder, file",
    ):
        for row in catalogue.rows(query):
            digest.update(repr(row).encode())
    return digest.hexdigest()


def _made(name: str) -> int:
    """When a copy was made, in seconds, by its name; never, for what is no copy."""
    text = Path(name).name.split(".")[0]
    return int(text) if text.isdigit() else 0
