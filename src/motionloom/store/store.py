"""A library's store on disk: named motions and their labels.

::

    takes.loom/
      catalogue.sqlite      list of the motions (`motionloom.store.catalogue`)
      frames/NAME.MARK.npy  frames of one motion (`motionloom.store.frames`)
      trash/TIME/frames/... frames that are no longer used (`motionloom.store.trash`)
      derived/...           artifacts: data computed from the motions
                            (`motionloom.store.artifacts`)
      lock                  held by the process that is writing

Any number of processes may read while one writes, and readers never see a partial motion. A second
writer waits for the first. Frames and artifacts may be in an object store instead
(`motionloom.store.remote.object_store`), but the catalogue stays in the folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

from motionloom.configuration import trust
from motionloom.errors import InvalidInput, LibraryError
from motionloom.motion import Motion
from motionloom.motion.segment import Segment, split_segment
from motionloom.parallel import Progress
from motionloom.store.artifacts import Artifacts
from motionloom.store.creation import check_address, create_folder, set_rate
from motionloom.store.history import Change, changes, exchange
from motionloom.store.ingest import importing
from motionloom.store.ingest.importing import ImportReport
from motionloom.store.ingest.labels import checked_labels
from motionloom.store.lock import writer_lock
from motionloom.store.records import character_key
from motionloom.store.remote.replica import check_not_replica
from motionloom.store.settings import ImportSettings
from motionloom.store.stored_motions import StoredMotions
from motionloom.store.trash import empty_trash
from motionloom.store.upgrade import upgrade
from motionloom.store.verify import VerifyReport, recover, tidy, verified


class Store(StoredMotions):
    """Motions on disk, by name. `motionloom.Library` adds all other methods.

    Parameters
    ----------
    path : str or Path
        Folder of an existing library. Use `create` for a new one.
    timeout : float
        Seconds to wait for another process that is writing.

    Examples
    --------
    >>> import tempfile, motionloom as ml
    >>> from motionloom import Motion, Skeleton
    >>> folder = tempfile.TemporaryDirectory()
    >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
    >>> hips = Skeleton(["hips"], [-1], [[0, 0, 0]])
    >>> still = Motion(hips, [[[1.0, 0, 0, 0]]], [[0, 1, 0]], fps=30)
    >>> lib.add_motion(still, name="still", labels=["rest"])
    >>> lib.names, lib.labels["still"], len(lib["still"])
    (('still',), ('rest',), 1)
    """

    # Kinds of artifacts that grow file by file, with functions that decode their files for
    # `verify`.
    COLLECTIONS: ClassVar[Mapping[str, Callable[[bytes], Any]]] = {}

    def __init__(self, path: str | Path, *, timeout: float = 600.0) -> None:
        super().__init__(path, timeout=timeout)
        upgrade(self)

    @classmethod
    def create(
        cls,
        path: str | Path,
        *,
        fps: float | None = None,
        store: str | None = None,
        exist_ok: bool = False,
    ) -> Self:
        """Create an empty library in a new folder.

        See `motionloom.Library.create`.
        """
        created = create_folder(Path(path), fps=fps, store=store)
        if not created and not exist_ok:
            raise LibraryError(f"{path}: this library already exists; open it with Library(...)")
        library = cls(path)
        if not created:
            check_address(library, store)
            if fps is not None:
                with writer_lock(library.path, timeout=600.0):
                    set_rate(library, fps)
        return library

    @property
    def artifacts(self) -> Artifacts:
        """Data derived from the motions and stored with them: features, webs, graphs, ..."""
        return Artifacts(self)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the writer lock for the ``with`` block. Blocks may be nested.

        Raises
        ------
        LibraryError
            If another process holds the lock for longer than `timeout`, or the library is a
            read-only replica.
        """
        if getattr(self._lock, "held", False):  # held by an enclosing block
            yield
            return
        self.check_writable()
        with writer_lock(self.path, timeout=self.timeout, mark=True) as interrupted:
            self._lock.held = True
            try:
                if interrupted:
                    tidy(self)
                yield
            finally:
                self._lock.held = False

    def check_writable(self) -> None:
        """Raise `LibraryError` if the library is a read-only replica."""
        if self._replica:
            raise LibraryError(
                f"{self.path}: workers of a cluster read a replica of the catalogue and cannot "
                "write to it"
            )
        if self.files.remote:
            check_not_replica(self.catalogue, self.path)

    def damage(self) -> list[str]:
        """Compare all data with its checksums, and return one message per problem.

        Examples
        --------
        >>> lib.store.damage()
        []
        """
        return list(verified(self).problems)

    def verify(self, *, repair: bool = False) -> VerifyReport:
        """Compare the catalogue, all frames and all artifacts with their checksums.

        See `motionloom.Library.verify`.

        Examples
        --------
        >>> report = lib.verify()
        >>> report.problems, report.motions
        ((), 6)
        """
        return verified(self, repair=repair)

    def empty_trash(self) -> int:
        """Delete the history and the files in the trash. Return the number of deleted files.

        Examples
        --------
        >>> lib.store.empty_trash()
        0
        """
        with self.writing():
            self.catalogue.forget_changes()
            return empty_trash(self.path)

    @classmethod
    def recover(cls, path: str | Path) -> int:
        """Rebuild the catalogue of a library from its frame files if the catalogue is unusable.

        A damaged catalogue is moved to the trash first. Labels exist only in the catalogue and are
        lost.

        Returns
        -------
        count : int
            Number of recovered motions, or 0 if the catalogue is usable.
        """
        return recover(Path(path))

    # --- adding and removing ------------------------------------------------------------

    def add(
        self,
        *paths: str | Path,
        settings: ImportSettings | None = None,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Import files, including all motion files in folders.

        See `motionloom.Library.add`.
        """
        if not paths:
            raise InvalidInput("add needs at least one file or folder")
        settings = settings or ImportSettings()
        with self.writing():
            present = importing.sweep(self)
            if settings.fps is not None:
                set_rate(self, settings.fps)
            with self.change("import", whole=False), importing.interruptible(self):
                return importing.import_files(
                    self, paths, settings, present=present, progress=progress
                )

    def add_motion(
        self,
        motion: Motion,
        *,
        name: str | None = None,
        labels: Iterable[str] | None = None,
        replace: bool = False,
    ) -> None:
        """Add a motion from memory.

        See `motionloom.Library.add_motion`.

        Examples
        --------
        >>> lib.add_motion(ml.demo.clip("walk"), name="stroll", labels=["walk"])
        >>> lib.store.labels("stroll")
        ('walk',)
        """
        if motion.origin.character is not None:
            trust(character_key(motion.origin.character))  # chosen by the user of this machine
        with self.change("add"):
            importing.import_motion(
                self, motion, motion.name if name is None else name, labels=labels, replace=replace
            )

    def set_labels(self, name: str, labels: Iterable[str]) -> None:
        """Replace the labels of a motion.

        Examples
        --------
        >>> lib.store.set_labels("walk", ["calm", "walk"])
        >>> lib.store.labels("walk")
        ('calm', 'walk')
        """
        given = checked_labels(labels)
        with self.change("label"):
            if set(given) != set(self.labels(name)):
                self.catalogue.put(labels={name: given})

    def label(self, place: str, *labels: str, remove: bool = False) -> None:
        """Add labels to a motion or a segment of it, or remove them.

        Parameters
        ----------
        place : str
            ``NAME`` for the whole motion, or ``NAME:START-END`` for a segment in frames or, as in
            ``1s-3s``, in seconds.
        *labels : str
            Labels to add or remove.
        remove : bool
            Remove the labels instead of adding them.

        Examples
        --------
        >>> lib.store.label("walk:20-80", "calm")
        >>> [(str(part), label) for part, label in lib.store.segment_labels("walk")]
        [('walk:20-80', 'calm')]
        """
        name, written = split_segment(place)
        if written is None or place in self:
            name = self.entry(place).name
            kept = [each for each in self.labels(name) if each not in labels]
            self.set_labels(name, kept if remove else [*kept, *labels])
            return
        given = checked_labels(labels)
        name = self.entry(name).name
        part = Segment.parse(place, self[name])
        with self.change("label"):
            rows = [(name, part.start_frame, part.end_frame, label) for label in given]
            self.catalogue.put_segment_labels(rows, remove=remove)

    def remove(self, *names: str) -> None:
        """Remove motions and their labels. `undo` restores them until the trash is emptied.

        Examples
        --------
        >>> lib.remove("walk")
        >>> "walk" in lib
        False
        """
        with self.change("remove"):
            for name in names:
                self.entry(name)
            importing.remove_unused(self, self.catalogue.put(remove=names))

    def rename(self, name: str, new: str) -> None:
        """Rename a motion, keeping its labels and manually set beats.

        Saved parametric motions, graphs and choreographies still refer to the old name.

        Raises
        ------
        LibraryError
            If the motion does not exist, or the new name is taken.

        Examples
        --------
        >>> lib.rename("walk", "calm walk")
        >>> lib.store.labels("calm walk")
        ('walk',)
        """
        importing.check_name(new)
        with self.change("rename"):
            entry = self.entry(name)
            if new == name:
                return
            if new in self:
                raise LibraryError(
                    f"{self.path}: there is already a motion called {new!r}; choose another name"
                )
            importing.rename_motion(self, entry, new)

    # --- undo -----------------------------------------------------------------------------

    @contextmanager
    def change(self, what: str, *, whole: bool = True) -> Iterator[None]:
        """Combine everything written within the ``with`` block into one change for `undo`.

        Either the whole change is made or, if the block fails or the process is killed, none of it.
        Nested blocks belong to the outermost one, which holds the writer lock.

        Parameters
        ----------
        what : str
            Short description of the change, for `history`.
        whole : bool
            If False, the parts of the change are saved one after the other, and those saved before
            a failure remain.

        Examples
        --------
        >>> with lib.store.change("label"):
        ...     lib.store.label("walk", "calm")
        ...     lib.store.label("jog", "calm")
        >>> print(lib.undo(), lib.store.labels("walk"), lib.store.labels("jog"))
        label jog, walk ('walk',) ('jog',)
        """
        with self.writing(), self.catalogue.recording(what, whole=whole):
            yield

    def history(self) -> list[Change]:
        """Return the latest 100 changes that can be undone or redone, latest first.

        The history includes imports, added, removed and renamed motions, labels, manually set
        beats, graph edits, parametric motions and choreographies. `empty_trash` deletes the
        history.

        Examples
        --------
        >>> lib.store.set_labels("walk", ["calm"])
        >>> str(lib.history()[0])
        'label walk'
        """
        return [change for _, change in changes(self.catalogue)]

    def undo(self) -> Change:
        """Undo the latest change to the library and return it.

        Raises
        ------
        LibraryError
            If there is nothing to undo, or required files are no longer in the trash.

        Examples
        --------
        >>> lib.remove("walk")
        >>> print(lib.undo(), "walk" in lib)
        remove walk True
        """
        return self._exchange(False, "undo")

    def redo(self) -> Change:
        """Redo the most recently undone change and return it.

        Raises
        ------
        LibraryError
            If nothing has been undone since the last change.

        Examples
        --------
        >>> lib.remove("walk")
        >>> _ = lib.undo()
        >>> print(lib.redo(), "walk" in lib)
        remove walk False
        """
        return self._exchange(True, "redo")

    def _exchange(self, undone: bool, verb: str) -> Change:
        with self.writing():
            candidates = [
                change for change in changes(self.catalogue) if change[1].undone == undone
            ]
            if not candidates:
                raise LibraryError(f"{self.path}: there is nothing to {verb}")
            number, change = candidates[-1] if undone else candidates[0]
            exchange(self, number)
            return replace(change, undone=not undone)
