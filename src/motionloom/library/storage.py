"""A library that can be written to: made, added to, labelled, cut down.

Any number of processes may read while one writes; a second writer waits for the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Self
from uuid import uuid4

from motionloom.errors import InvalidInput, LibraryError, MotionloomError
from motionloom.library.catalogue import FILE, Catalogue
from motionloom.library.frames import (
    FOLDER,
    frame_table,
    sync_folder,
    table_digest,
)
from motionloom.library.importing import (
    ImportReport,
    Progress,
    import_files,
    remove_files,
    sweep,
)
from motionloom.library.intake import new_entry, reader_options
from motionloom.library.labelling import LabelSpec
from motionloom.library.lock import not_writable, writer_lock
from motionloom.library.shelf import Shelf
from motionloom.library.store import ObjectStore, normal_address
from motionloom.motion import Motion
from motionloom.motion.frames import positive_rate


class Storage(Shelf):
    """Motions on disk by name; see `motionloom.Library`, which adds the verbs.

    Parameters
    ----------
    path : str or Path
        An existing library. Make one with `create`.
    timeout : float
        Seconds that a write waits for another process that is writing.

    Examples
    --------
    >>> import tempfile, motionloom as ml
    >>> from motionloom import Motion, Skeleton
    >>> folder = tempfile.TemporaryDirectory()
    >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
    >>> hips = Skeleton(["hips"], [-1], [[0, 0, 0]])
    >>> still = Motion(hips, [[[1.0, 0, 0, 0]]], [[0, 1, 0]], fps=30)
    >>> lib.add_motion(still, name="still", labels=["rest"])
    >>> lib.names, lib.labels("still"), len(lib["still"])
    (('still',), ('rest',), 1)
    """

    @classmethod
    def create(
        cls,
        path: str | Path,
        *,
        fps: float | None = None,
        store: str | None = None,
        exist_ok: bool = False,
    ) -> Self:
        """Make an empty library in a new folder.

        Parameters
        ----------
        path : str or Path
            The folder, by custom ``something.loom``. An empty one may exist.
        fps : float, optional
            The library's frame rate: everything added is resampled to it. Default: every
            motion keeps its own.
        store : str, optional
            Address of an object store for frames and derived arrays, such as
            ``s3://bucket/prefix``. Default: they lie in the library's folder.
        exist_ok : bool
            Open the library if it is there already, instead of raising.

        Raises
        ------
        LibraryError
            If there is a library, a file or a folder with other things at `path`; if the
            store cannot be reached, or is another library's.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     len(ml.Library.create(f"{folder}/takes.loom", fps=30))
        0
        """
        path = Path(path)
        if path.exists():
            _check_room(path)
        address = None if store is None else normal_address(store)
        settings = {} if fps is None else {"fps": repr(positive_rate(fps))}
        if address is not None and not (path / FILE).exists():
            ObjectStore(address).check_free()  # complains before a library is made
            settings |= {"store": address, "id": uuid4().hex, "home": str(path.resolve())}
        path.mkdir(parents=True, exist_ok=True)
        catalogue = Catalogue(path)
        with writer_lock(path, timeout=60.0):
            (path / FOLDER).mkdir(exist_ok=True)
            made = catalogue.create(settings)
            if made and address is not None:
                _claim(ObjectStore(address), settings["id"], path)
        catalogue.close()
        if not made and not exist_ok:
            raise LibraryError(f"{path}: there is a library already; open it with Library(...)")
        library = cls(path)
        if not made:
            library._check_store(address)
        if not made and fps is not None:
            with writer_lock(path, timeout=60.0):
                library._settle_rate(fps)
        return library

    # --- adding and removing ------------------------------------------------------------

    def add(
        self,
        *paths: str | Path,
        labels: LabelSpec | Sequence[LabelSpec] | None = None,
        label_columns: str | Sequence[str] | None = None,
        fps: float | None = None,
        unit: str | float | None = None,
        up: str | None = None,
        roles: str | Path | Mapping[str, str] | None = None,
        force: bool = False,
        workers: int | None = None,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Import files, and all motion files in folders.

        Files that the library has already (same bytes, same options) are skipped, so an
        import that was stopped is continued by calling it again. A file that has changed
        replaces its motion. A bad file is reported and the rest goes on.

        Parameters
        ----------
        *paths : str or Path
            Files and folders.
        labels : optional
            ``"folder"``, ``"pattern:REGEX"``, a CSV file, a mapping from name to labels,
            or several of these (see `motionloom.library.labelling`). They replace the
            labels of the motions they speak of.
        label_columns : str or sequence of str, optional
            Columns of the CSV file that hold labels. Default: ``label``.
        fps : float, optional
            Sets the library's frame rate; possible as long as that resamples nothing that
            is in it.
        unit : str or float, optional
            Unit of the files' lengths, if the reader should not infer it.
        up : str, optional
            Up axis of the files, such as ``"z"``, if the reader should not infer it.
        roles : mapping, str or Path, optional
            Joint roles, or a file with them, for skeletons whose names say too little.
        force : bool
            Read unchanged files again too.
        workers : int, optional
            Processes. Default: one per core, fewer for little work.
        progress : callable, optional
            Called with the number of files done since the last call.

        Returns
        -------
        report : ImportReport

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> _ = ml.demo.clip("walk").save(f"{folder.name}/walk.bvh")
        >>> made = ml.Library.create(f"{folder.name}/takes.loom")
        >>> made.add(folder.name).added, made.names
        (1, ('walk',))
        """
        if not paths:
            raise InvalidInput("add needs at least one file or folder")
        reader = reader_options(unit=unit, up=up, roles=roles)
        with self.writing():
            present = sweep(self.store, self._catalogue)
            if fps is not None:
                self._settle_rate(fps)
            try:
                return import_files(
                    self.path,
                    self.store,
                    self._catalogue,
                    paths,
                    labels=labels,
                    label_columns=label_columns,
                    fps=self.fps,
                    reader=reader,
                    force=force,
                    workers=workers,
                    progress=progress,
                    present=present,
                )
            except LibraryError:  # the disk is full: do not leave what was half-written there
                sweep(self.store, self._catalogue)
                raise

    def add_motion(
        self,
        motion: Motion,
        *,
        name: str | None = None,
        labels: Iterable[str] | None = None,
        replace: bool = False,
    ) -> None:
        """Add a motion from memory.

        Parameters
        ----------
        motion : Motion
        name : str, optional
            Default: the motion's own.
        labels : iterable of str, optional
        replace : bool
            Put it in the place of another motion of that name.

        Raises
        ------
        LibraryError
            If the name is taken by another motion.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     made = ml.Library.create(f"{folder}/takes.loom")
        ...     made.add_motion(ml.demo.clip("walk"), name="stroll", labels=["walk"])
        ...     print(made.names, made.labels("stroll"))
        ('stroll',) ('walk',)
        """
        name = name if name is not None else motion.name
        if not name or not name.isprintable():
            raise InvalidInput(f"name must be a printable text; got {name!r}")
        if len(motion) == 0:
            raise InvalidInput(f"motion {name!r} has no frames")
        given = None if labels is None else {name: _checked_labels(labels)}
        if self.fps is not None:
            motion = motion.resample(self.fps)
        with self.writing():
            held = self._catalogue.entry(name)
            if held is not None and not replace:
                if held.digest == table_digest(frame_table(motion)):
                    self._catalogue.put(labels=given)
                    return
                raise LibraryError(
                    f"{self.path}: there is another motion called {name!r}; choose a name, "
                    "or pass replace=True"
                )
            try:
                entry, skeleton = new_entry(
                    motion, name, self.store, source="", source_hash="", options="{}"
                )
                if not self.store.remote:
                    sync_folder(self.store.local(FOLDER))
            except OSError as error:
                raise not_writable(self.path, error) from None
            old = self._catalogue.put([entry], skeletons={entry.skeleton: skeleton}, labels=given)
            remove_files(self.store, old)

    def set_labels(self, name: str, labels: Iterable[str]) -> None:
        """Give a motion these labels instead of those it has.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     made = ml.Library.create(f"{folder}/takes.loom")
        ...     made.add_motion(ml.demo.clip("walk"), name="walk")
        ...     made.set_labels("walk", ["calm", "walk"])
        ...     print(made.labels("walk"))
        ('calm', 'walk')
        """
        given = _checked_labels(labels)
        with self.writing():
            self.entry(name)
            self._catalogue.put(labels={name: given})

    def remove(self, name: str) -> None:
        """Take a motion and its labels out of the library.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     made = ml.Library.create(f"{folder}/takes.loom")
        ...     made.add_motion(ml.demo.clip("walk"), name="walk")
        ...     made.remove("walk")
        ...     print(made.names)
        ()
        """
        with self.writing():
            self.entry(name)
            remove_files(self.store, self._catalogue.put(remove=[name]))

    def _check_store(self, address: str | None) -> None:
        held = self._catalogue.meta().get("store")
        if address is not None and address != held:
            raise LibraryError(
                f"{self.path}: the frames of this library lie in {held or 'its own folder'}, not "
                f"in {address}; import without a store, or into a new library"
            )

    def _settle_rate(self, fps: float) -> None:
        wanted, held = positive_rate(fps), self.fps
        if held == wanted:
            return
        if held is not None:
            raise LibraryError(
                f"{self.path}: this library is kept at {held:g} fps, not {wanted:g}; import "
                "without a rate, or into a new library"
            )
        others = sorted({entry.fps for entry in self.entries()} - {wanted})
        if others:
            raise LibraryError(
                f"{self.path}: this library holds motions at {others[0]:g} fps, which would "
                f"not be resampled to {wanted:g}; import into a new library"
            )
        self._catalogue.set_meta("fps", repr(wanted))


def _claim(store: ObjectStore, identity: str, path: Path) -> None:
    try:
        store.claim(identity)
    except MotionloomError:
        (path / FILE).unlink()  # as if nobody had tried
        raise


def _check_room(path: Path) -> None:
    if not path.is_dir():
        raise LibraryError(f"{path}: there is a file of that name; a library is a folder")
    if (path / FILE).exists():
        return
    strangers = sorted(item.name for item in path.iterdir() if item.name not in (FOLDER, "lock"))
    if strangers:
        raise LibraryError(
            f"{path}: this folder holds other things ({strangers[0]}); a library needs a "
            "folder of its own"
        )


def _checked_labels(labels: Iterable[str]) -> tuple[str, ...]:
    if isinstance(labels, str):
        raise InvalidInput(f"labels must be several texts, as in [{labels!r}]; got one text")
    given = {str(label).strip() for label in labels}
    return tuple(sorted(given - {""}))
