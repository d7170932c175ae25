"""Creation of a library, including its folder, its catalogue and its object store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from motionloom.errors import LibraryError, MotionloomError
from motionloom.files import below
from motionloom.motion.segment import plausible_rate
from motionloom.store.catalogue import Catalogue
from motionloom.store.catalogue_file import FILE, is_unused, lost_frames, recovery_advice
from motionloom.store.frames import FOLDER
from motionloom.store.lock import LOCK, QUEUE, writer_lock
from motionloom.store.remote.object_store import ObjectStore, normal_address, trust_store

if TYPE_CHECKING:
    from motionloom.store.store import Store


def create_folder(path: Path, *, fps: float | None, store: str | None) -> bool:
    """Create an empty library in a folder, or return False if one exists. See `Store.create`."""
    if path.exists():
        _check_empty(path)
    address = None if store is None else normal_address(store)
    settings = {"id": uuid4().hex}
    if fps is not None:
        settings["fps"] = repr(plausible_rate(fps))
    if address is not None and not (path / FILE).exists():
        ObjectStore(address).check_free()  # raises an error before a library is created
        settings |= {"store": address, "home": str(path.resolve())}
    path.mkdir(parents=True, exist_ok=True)
    catalogue = Catalogue(path)
    with writer_lock(path, timeout=600.0):
        below(path, FOLDER).mkdir(exist_ok=True)
        if is_unused(path) and lost_frames(path):
            raise LibraryError(f"{path}: {recovery_advice(path, lost_frames(path))}")
        created = catalogue.create(settings)
        if created and address is not None:
            trust_store(address, settings["id"])
            try:
                ObjectStore(address).claim(settings["id"])
            except MotionloomError:
                (path / FILE).unlink()
                raise
    catalogue.close()
    return created


def check_address(library: Store, store: str | None) -> None:
    """Raise `LibraryError` if a library's frames are not in the object store at `address`."""
    current = library.catalogue.meta().get("store")
    address = None if store is None else normal_address(store)
    if address is not None and address != current:
        raise LibraryError(
            f"{library.path}: the frames of this library are in {current or 'its own folder'}, not "
            f"in {address}; import without a store, or into a new library"
        )


def set_rate(library: Store, fps: float) -> None:
    """Set the frame rate of a library, unless one of its motions would need resampling."""
    wanted, current = plausible_rate(fps), library.fps
    if current == wanted:
        return
    if current is not None:
        raise LibraryError(
            f"{library.path}: this library has a frame rate of {current:g} fps, not {wanted:g}; "
            "import without a rate, or into a new library"
        )
    others = sorted({entry.fps for entry in library.entries()} - {wanted})
    if others:
        raise LibraryError(
            f"{library.path}: this library contains motions at {others[0]:g} fps, which would "
            f"not be resampled to {wanted:g}; import into a new library"
        )
    library.catalogue.set_meta("fps", repr(wanted))


def _check_empty(path: Path) -> None:
    """Raise `LibraryError` if `path` is a file, or a folder with other content."""
    if not path.is_dir():
        raise LibraryError(f"{path}: this is a file, but a library must be a folder")
    if (path / FILE).exists():
        return
    if count := lost_frames(path):
        raise LibraryError(f"{path}: {recovery_advice(path, count)}")
    others = sorted(item.name for item in path.iterdir() if item.name not in (FOLDER, LOCK, QUEUE))
    if others:
        raise LibraryError(
            f"{path}: this folder contains other files ({others[0]}); a library needs its own "
            "folder"
        )
