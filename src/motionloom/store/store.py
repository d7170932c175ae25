"""A library on disk: motions by name, with labels.

::

    takes.loom/
      catalogue.sqlite      which motions there are (`motionloom.store.catalogue`)
      frames/NAME.MARK.npy  the frames of one motion (`motionloom.store.frames`)
      trash/TIME/frames/... frames of no motion any more (`motionloom.store.trash`)
      derived/...           artifacts: what was computed from the motions
                            (`motionloom.store.artifacts`)
      lock                  held by the one process that writes

Any number of processes may read while one writes, and a reader sees a motion whole or not at all;
a second writer waits for the first. Frames and artifacts may be in an object store instead
(`motionloom.store.remote.object_store`); the catalogue stays in the folder.
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
from motionloom.store.ingest.sources import find_sources
from motionloom.store.lock import writer_lock
from motionloom.store.records import character_key
from motionloom.store.remote.replica import check_not_replica
from motionloom.store.settings import ImportSettings
from motionloom.store.stored_motions import StoredMotions
from motionloom.store.trash import empty_trash
from motionloom.store.upgrade import upgrade
from motionloom.store.verify import VerifyReport, recover, verified


class Store(StoredMotions):
    """Motions on disk by name; `motionloom.Library` adds the verbs.

    Parameters
    ----------
    path : str or Path
        An existing library. `create` makes one.
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
    >>> lib.names, lib.labels["still"], len(lib["still"])
    (('still',), ('rest',), 1)
    """

    # Kinds of artifacts that grow file by file: how their files are decoded, for `verify`.
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

        Parameters
        ----------
        path : str or Path
            The folder, by convention ``something.loom``. It may exist if it is empty.
        fps : float, optional
            Frame rate of the library: everything added is resampled to it. Default: every
            motion keeps its own.
        store : str, optional
            Address of an object store for frames and artifacts, such as ``s3://bucket/prefix``.
            Default: they are in the library's folder.
        exist_ok : bool
            Open the library if it exists, instead of raising.

        Raises
        ------
        LibraryError
            If `path` is a library, a file or a folder with other content; if the object store
            cannot be reached or belongs to another library.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     len(ml.Library.create(f"{folder}/takes.loom", fps=30))
        0
        """
        created = create_folder(Path(path), fps=fps, store=store)
        if not created and not exist_ok:
            raise LibraryError(f"{path}: there is a library already; open it with Library(...)")
        library = cls(path)
        if not created:
            check_address(library, store)
            if fps is not None:
                with writer_lock(library.path, timeout=600.0):
                    set_rate(library, fps)
        return library

    @property
    def artifacts(self) -> Artifacts:
        """What is derived from the motions and kept with them: features, webs, graphs ..."""
        return Artifacts(self)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the writer lock for the ``with`` block; blocks may be nested.

        Raises
        ------
        LibraryError
            If another process holds it for longer than `timeout`, or the library is a
            read-only replica.
        """
        if getattr(self._lock, "held", False):  # by an enclosing block
            yield
            return
        self.check_writable()
        with writer_lock(self.path, timeout=self.timeout):
            self._lock.held = True
            try:
                yield
            finally:
                self._lock.held = False

    def check_writable(self) -> None:
        """Raise if the library is a read-only replica."""
        if self._replica:
            raise LibraryError(
                f"{self.path}: workers of a cluster read a replica of the catalogue and cannot "
                "write to it"
            )
        if self.files.remote:
            check_not_replica(self.catalogue, self.path)

    def damage(self) -> list[str]:
        """Read everything and compare it with its checksums; one message per problem.

        Examples
        --------
        >>> lib.store.damage()
        []
        """
        return list(verified(self).problems)

    def verify(self, *, repair: bool = False) -> VerifyReport:
        """Read everything and compare it with its checksums: catalogue, frames, artifacts.

        Parameters
        ----------
        repair : bool
            Mend what can be mended: list frames that the catalogue has lost, restore entries from
            the frame files, read damaged frames from their source again, remove artifacts that
            can be made again, add missing checksums. Nothing is deleted.

        Returns
        -------
        report : VerifyReport

        Examples
        --------
        >>> report = lib.verify()
        >>> report.problems, report.motions
        ((), 6)
        """
        return verified(self, repair=repair)

    def empty_trash(self) -> int:
        """Delete the files in the trash, and forget what could be undone; returns how many.

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
        """Make the catalogue of a library anew from its frame files, if it has no usable one.

        A damaged catalogue is moved to the trash first. Labels were in it only, and are lost.

        Returns
        -------
        count : int
            Number of motions that are listed again; 0 if the catalogue is usable.
        """
        return recover(Path(path))

    # --- adding and removing ------------------------------------------------------------

    @staticmethod
    def find_files(*paths: str | Path) -> list[Path]:
        """Motion files among `paths` and in the folders among them: what `add` imports.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> from motionloom.store import Store
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = ml.demo.clip("walk").save(f"{folder}/takes/walk.bvh")
        ...     [path.name for path in Store.find_files(folder)]
        ['walk.bvh']
        """
        return [Path(source.shown) for source in find_sources(paths)[0]]

    def add(
        self,
        *paths: str | Path,
        settings: ImportSettings | None = None,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Import files, and all motion files in folders.

        Files that the library has already (same bytes, same options) are skipped, so an
        interrupted import is resumed by calling it again. A file that has changed replaces its
        motion. A file that cannot be read is reported, and the import continues.

        Parameters
        ----------
        *paths : str or Path
            Files and folders.
        settings : ImportSettings, optional
        progress : callable, optional
            Called with the number of files finished since the last call.

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
        settings = settings or ImportSettings()
        with self.writing():
            present = importing.sweep(self)
            if settings.fps is not None:
                set_rate(self, settings.fps)
            with self.change("import"), importing.interruptible(self):
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

        Parameters
        ----------
        motion : Motion
        name : str, optional
            Default: ``motion.name``.
        labels : iterable of str, optional
        replace : bool
            Replace another motion of that name.

        Raises
        ------
        LibraryError
            If another motion has that name and `replace` is false.

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
        """Add labels to a motion or to a segment of it, or remove them.

        Parameters
        ----------
        place : str
            ``NAME`` for the whole motion, or ``NAME:START-END`` in frames (or seconds, ``1s-3s``).
        *labels : str
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
        """Remove motions and their labels. `undo` brings them back, until the trash is emptied.

        Examples
        --------
        >>> lib.remove("walk")
        >>> "walk" in lib
        False
        """
        with self.change("remove"):
            for name in names:
                self.entry(name)
            importing.remove_files(self.files, self.catalogue.put(remove=names))

    def rename(self, name: str, new: str) -> None:
        """Give a motion another name; its labels, and beats given by hand, stay with it.

        Parametric motions, graphs and choreographies that were saved go on naming the old one.

        Raises
        ------
        LibraryError
            If there is no such motion, or another one has the new name.

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
                    f"{self.path}: there is another motion called {new!r}; choose a name"
                )
            importing.rename_motion(self, entry, new)

    # --- undo -----------------------------------------------------------------------------

    @contextmanager
    def change(self, what: str) -> Iterator[None]:
        """Everything that is written within the ``with`` block is one change for `undo`.

        Blocks may be nested: the outermost one counts. The writer lock is held.

        Parameters
        ----------
        what : str
            The kind of change in a word, for `history`.

        Examples
        --------
        >>> with lib.store.change("label"):
        ...     lib.store.label("walk", "calm")
        ...     lib.store.label("jog", "calm")
        >>> print(lib.undo(), lib.store.labels("walk"), lib.store.labels("jog"))
        label jog, walk ('walk',) ('jog',)
        """
        with self.writing(), self.catalogue.recording(what):
            yield

    def history(self) -> list[Change]:
        """Changes that can be undone or redone, the latest first.

        Imports, added, removed and renamed motions, labels, beats given by hand, edits of graphs,
        parametric motions and choreographies; the latest 100. `empty_trash` forgets them.

        Examples
        --------
        >>> lib.store.set_labels("walk", ["calm"])
        >>> str(lib.history()[0])
        'label walk'
        """
        return [change for _, change in changes(self.catalogue)]

    def undo(self) -> Change:
        """Undo the latest change of the library; returns what was undone.

        Raises
        ------
        LibraryError
            If there is nothing to undo, or what it needs is no longer in the trash.

        Examples
        --------
        >>> lib.remove("walk")
        >>> print(lib.undo(), "walk" in lib)
        remove walk True
        """
        return self._exchange(False, "undo")

    def redo(self) -> Change:
        """Do the change again that was undone last; returns it.

        Raises
        ------
        LibraryError
            If nothing was undone since the last change.

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
            found = [one for one in changes(self.catalogue) if one[1].undone == undone]
            if not found:
                raise LibraryError(f"{self.path}: there is nothing to {verb}")
            number, change = found[-1] if undone else found[0]
            exchange(self, number)
            return replace(change, undone=not undone)
