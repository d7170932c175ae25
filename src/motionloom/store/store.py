"""A library as it lies on disk: motions by name, with labels.

::

    takes.loom/
      catalogue.sqlite     what there is (see `motionloom.store.catalogue`)
      frames/NAME.MARK.npy the frames of one motion (see `motionloom.store.frames`)
      derived/...          what was computed from them (see `motionloom.store.artifacts.derived`)
      kept/...             what people made of them (see `motionloom.store.artifacts.named`)
      lock                 held by the one process that writes

Any number of processes may read while one writes; a reader sees a motion whole or not at
all. Frames and derived arrays may lie in an object store instead (see
`motionloom.store.remote.object_store`); the rest stays here.

A library that can be written to: made, added to, labelled, cut down.

Any number of processes may read while one writes; a second writer waits for the first.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self
from uuid import uuid4

from motionloom.errors import InvalidInput, LibraryError, MotionloomError
from motionloom.motion import Motion, Skeleton
from motionloom.motion.segment import positive_rate
from motionloom.parallel import executor as engine
from motionloom.store.catalogue import FILE, Catalogue
from motionloom.store.frames import (
    FOLDER,
    frame_table,
    open_frames,
    sync_folder,
    table_digest,
    unpacked,
)
from motionloom.store.ingest.importing import (
    ImportReport,
    Progress,
    import_files,
    remove_files,
    sweep,
)
from motionloom.store.ingest.labels import LabelSpec
from motionloom.store.ingest.task import new_entry, reader_options
from motionloom.store.lock import not_writable, writer_lock
from motionloom.store.records import Entry, origin_from
from motionloom.store.remote.object_store import FolderStore, ObjectStore, Store, normal_address
from motionloom.store.remote.replica import check_home, copy_for_workers


class Shelf:
    """Reads a library: motions by name, their entries and labels.

    Parameters
    ----------
    path : str or Path
        An existing library.
    timeout : float
        Seconds that a write waits for another process that is writing.
    """

    def __init__(self, path: str | Path, *, timeout: float = 600.0) -> None:
        self.path = Path(path)
        self._timeout = timeout
        self._catalogue = Catalogue(self.path)
        self._skeletons: dict[str, Skeleton] = {}
        self._store: Store | None = None
        self._copy = ""  # in the store: the copy of the catalogue that this one reads
        self._catalogue.check()

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """The library at `path`; the same as calling the class.

        Examples
        --------
        >>> import motionloom as ml
        >>> ml.Library.open(lib.path).names == lib.names
        True
        """
        return cls(path)

    @property
    def timeout(self) -> float:
        """Seconds that a write waits for another process that is writing."""
        return self._timeout

    @property
    def catalogue(self) -> Catalogue:
        """The SQLite file that says what there is."""
        return self._catalogue

    def close(self) -> None:
        """Let go of the catalogue; using the library again opens it again.

        Examples
        --------
        >>> import motionloom as ml
        >>> with ml.Library(lib.path) as again:  # closed at the end of the block
        ...     len(again) == len(lib)
        True
        """
        self._catalogue.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getstate__(self) -> dict:
        state = {"path": self.path.absolute(), "timeout": self._timeout}
        if isinstance(self.store, ObjectStore) and engine.is_on_cluster():
            # Workers elsewhere do not see the catalogue; they see the store.
            copy = self._copy or copy_for_workers(self._catalogue, self.store)
            state |= {"store": self.store, "copy": copy}
        return state

    def __setstate__(self, state: dict) -> None:
        if "store" not in state:
            self.__init__(state["path"], timeout=state["timeout"])  # type: ignore[misc]
            return
        self.path, self._timeout = state["path"], state["timeout"]
        self._store, self._copy = state["store"], state["copy"]
        self._skeletons = {}
        self._catalogue = Catalogue.of_copy(state["store"].local(state["copy"]))
        self._catalogue.check()

    # --- where it is --------------------------------------------------------------------

    @property
    def store(self) -> Store:
        """Where frames and derived arrays lie: in the library's folder, or in a store."""
        if self._store is None:
            address = self._catalogue.meta().get("store")
            self._store = ObjectStore(address) if address else FolderStore(self.path.absolute())
        return self._store

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the writer lock for the ``with`` block.

        Raises
        ------
        LibraryError
            If another process keeps it for too long, or this library is only to be read.

        Examples
        --------
        >>> with lib.writing():
        ...     pass  # nobody else writes meanwhile
        """
        self.check_own()
        with writer_lock(self.path, timeout=self._timeout):
            yield

    def check_own(self) -> None:
        """Complain if this library can only be read, by us: it is a copy.

        Examples
        --------
        >>> lib.check_own()  # nothing to complain about: it may be written to
        """
        if self._copy:
            raise LibraryError(f"{self.path}: workers read the catalogue, the client writes it")
        if self.store.remote:
            check_home(self._catalogue, self.path)

    # --- what there is ------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all motions, sorted."""
        return tuple(self._catalogue.names())

    def __len__(self) -> int:
        return self._catalogue.rows("SELECT count(*) FROM motions")[0][0]

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._catalogue.entry(name) is not None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r}, {len(self)} motions)"

    @property
    def fps(self) -> float | None:
        """The library's frame rate, or None if every motion keeps its own."""
        value = self._catalogue.meta().get("fps")
        return None if value is None else float(value)

    @property
    def frames(self) -> int:
        """Frames of all motions together."""
        return self._catalogue.rows("SELECT coalesce(sum(frames), 0) FROM motions")[0][0]

    @property
    def seconds(self) -> float:
        """Seconds of all motions together."""
        rows = self._catalogue.rows("SELECT total(frames / fps) FROM motions")
        return rows[0][0]

    def entry(self, name: str) -> Entry:
        """Frames, rate, source and digest of a motion, without opening its frames.

        Examples
        --------
        >>> lib.entry("walk").frames, lib.entry("walk").fps
        (138, 30.0)
        """
        entry = self._catalogue.entry(name)
        if entry is None:
            raise LibraryError(self._not_found(name))
        return entry

    def entries(self) -> list[Entry]:
        """The entries of all motions, sorted by name.

        Examples
        --------
        >>> [entry.name for entry in lib.entries()][:2]
        ['dance_groove', 'jog']
        """
        return self._catalogue.entries()

    def __getitem__(self, name: str) -> Motion:
        """The motion called `name`; its arrays are views of the file on disk."""
        for attempt in range(10):
            entry = self.entry(name)
            skeleton = self.skeleton(entry.skeleton)
            try:
                path = self.store.local(f"{FOLDER}/{entry.file}")
                table = open_frames(path, frames=entry.frames, joints=len(skeleton))
            except FileNotFoundError:
                # Replaced between our look at the catalogue and now: look again.
                if attempt and self._catalogue.entry(name) == entry:
                    break
                continue
            return Motion(
                skeleton,
                fps=entry.fps,
                name=name,
                origin=origin_from(entry),
                **unpacked(table, len(skeleton)),  # type: ignore[arg-type]
            )
        raise LibraryError(
            f"{self._place(entry)}: the frames of {name!r} are missing; import it again"
        )

    def fetch(self, names: Iterable[str]) -> None:
        """Bring the frames of motions here from the store, if that is where they are.

        Examples
        --------
        >>> lib.fetch(["walk"])  # nothing to do: its frames are on this machine
        """
        if self.store.remote:
            self.store.fetch(f"{FOLDER}/{self.entry(name).file}" for name in names)

    # --- labels -------------------------------------------------------------------------

    def labels(self, name: str) -> tuple[str, ...]:
        """Labels of a motion, sorted.

        Examples
        --------
        >>> lib.labels("walk_fast")
        ('walk',)
        """
        rows = self._catalogue.rows(
            "SELECT label FROM labels WHERE name = ? ORDER BY label", (name,)
        )
        if not rows:
            self.entry(name)  # raises if there is no such motion
        return tuple(label for (label,) in rows)

    def label_counts(self) -> dict[str, int]:
        """All labels, sorted, and how many motions have each.

        Examples
        --------
        >>> lib.label_counts()
        {'dance': 1, 'jog': 1, 'kick': 2, 'walk': 2}
        """
        query = "SELECT label, count(*) FROM labels GROUP BY label ORDER BY label"
        return dict(self._catalogue.rows(query))

    def with_label(self, label: str) -> tuple[str, ...]:
        """Names of the motions that have `label`, sorted.

        Examples
        --------
        >>> lib.with_label("kick")
        ('kick_front_high_right', 'kick_front_mid_right')
        """
        query = "SELECT name FROM labels WHERE label = ? ORDER BY name"
        return tuple(name for (name,) in self._catalogue.rows(query, (label,)))

    # --- the whole ----------------------------------------------------------------------

    def digest(self) -> str:
        """Fingerprint of all motions and labels; equal for equal content.

        Where the files lay, and when and in which order they were added, does not matter.

        Examples
        --------
        >>> import motionloom as ml
        >>> lib.digest() == ml.Library(lib.path).digest()
        True
        """
        labels = self._catalogue.labels()
        digest = hashlib.blake2b(repr(self.fps).encode(), digest_size=16)
        for e in self.entries():
            facts = (e.name, e.digest, e.source_hash, e.options, e.frames, e.fps, e.skeleton)
            digest.update(repr((*facts, e.origin, labels.get(e.name, ()))).encode())
        return digest.hexdigest()

    def fingerprints(self) -> list[tuple]:
        """Name, digest of the frames, skeleton's key and rate of every motion, by name.

        Examples
        --------
        >>> len(lib.fingerprints()) == len(lib)
        True
        """
        query = "SELECT name, digest, skeleton, fps FROM motions ORDER BY name"
        return self._catalogue.rows(query)

    def damage(self) -> list[str]:
        """Read everything and compare it with the catalogue; one sentence per fault found.

        Examples
        --------
        >>> lib.damage()
        []
        """
        found = []
        for entry in self.entries():
            path = self._place(entry)
            try:
                joints = len(self.skeleton(entry.skeleton))
                if isinstance(self.store, ObjectStore):
                    self.store.forget(f"{FOLDER}/{entry.file}")
                file = self.store.local(f"{FOLDER}/{entry.file}")
                table = open_frames(file, frames=entry.frames, joints=joints)
            except FileNotFoundError:
                found.append(f"{entry.name}: its frames are missing ({path})")
            except LibraryError as error:
                found.append(f"{entry.name}: {error}")
            else:
                if table_digest(table) != entry.digest:
                    found.append(f"{entry.name}: its frames are not what was stored ({path})")
        return found

    def skeleton(self, key: str) -> Skeleton:
        """The skeleton with that key, as entries name it; one object however often asked.

        Examples
        --------
        >>> len(lib.skeleton(lib.entry("walk").skeleton))
        21
        """
        if key not in self._skeletons:
            self._skeletons[key] = self._catalogue.skeleton(key)
        return self._skeletons[key]

    def _place(self, entry: Entry) -> str:
        """Where the frames of a motion are, for people."""
        where = self.store.address if self.store.remote else self.path
        return f"{where}/{FOLDER}/{entry.file}"

    def _not_found(self, name: str) -> str:
        names = self.names
        if not names:
            return f"{self.path}: no motion {name!r}: the library is empty"
        ends = [other for other in names if other.endswith(f"/{name}")]
        near = [*ends, *difflib.get_close_matches(str(name), names, n=5, cutoff=0.5)]
        listed = ", ".join(dict.fromkeys(near[:8] or names[:8]))
        also = "did you mean" if near else f"the first of {len(names)} are"
        return f"{self.path}: no motion {name!r}; {also} {listed}"


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
            or several of these (see `motionloom.store.ingest.labels`). They replace the
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
