"""Catalogue replicas, for cluster workers and for copied libraries.

Workers of a cluster may have access only to the object store. They read a replica of the catalogue
in the object store, which shows the library as it was when the work was submitted.

A copied library folder has its frames in the same object store as the original. If both were
written to, each would remove objects that only the other lists in its catalogue. The copy is
therefore a read-only replica.
"""

from __future__ import annotations

import hashlib
import shutil
import time
from pathlib import Path

from motionloom.errors import LibraryError
from motionloom.store.catalogue import Catalogue
from motionloom.store.catalogue_file import FILE
from motionloom.store.remote.cache import local_cache
from motionloom.store.remote.object_store import ObjectStore

FOLDER = "catalogue"
_MAX_AGE_SECONDS = (
    7 * 86400
)  # lifetime of a replica; all work that was submitted with it has ended by then


def replica_for_workers(catalogue: Catalogue, files: ObjectStore) -> str:
    """Return the name of a replica of the current catalogue, writing it if necessary."""
    key = _content_key(catalogue)
    there = files.names(FOLDER)
    for name in there:
        if f".{key}-" in name:
            return name
    scratch = local_cache().scratch()
    try:
        catalogue.write_replica(scratch / FILE)
        now = int(time.time())
        written = files.put(scratch / FILE, f"{FOLDER}/{now}.{key}.sqlite").name
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    files.remove(name for name in there if _written_at(name) < now - _MAX_AGE_SECONDS)
    return written


def check_not_replica(catalogue: Catalogue, path: Path) -> None:
    """Raise `LibraryError` if the library at `path` is a copy of an existing library."""
    meta, here = catalogue.meta(), str(path.resolve())
    home = meta.get("home", here)
    if home == here:
        return
    if _identity(Path(home)) == meta.get("id"):
        raise LibraryError(
            f"{path} is a read-only replica of {home}; both keep their frames in "
            f"{meta['store']}. Make changes in {home}"
        )
    catalogue.set_meta("home", here)  # the library was moved


def _identity(library: Path) -> str | None:
    if not (library / FILE).exists():
        return None
    try:
        return Catalogue(library).meta().get("id")
    except LibraryError:
        return None


def _content_key(catalogue: Catalogue) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for query in (
        "SELECT name, file, skeleton FROM motions ORDER BY name",
        "SELECT name, label FROM labels ORDER BY name, label",
        "SELECT folder, file, pieces FROM stored WHERE about IS NULL ORDER BY folder, file",
    ):
        for row in catalogue.rows(query):
            digest.update(repr(row).encode())
    return digest.hexdigest()


def _written_at(name: str) -> int:
    """Return the time a replica was written, from its name, or 0 for other objects."""
    text = Path(name).name.split(".")[0]
    return int(text) if text.isdigit() else 0
