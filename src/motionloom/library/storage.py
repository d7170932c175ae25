"""A library as it lies on disk: motions by name, with labels.

::

    takes.loom/
      catalogue.sqlite     what there is (see `motionloom.library.catalogue`)
      frames/NAME.MARK.npy the frames of one motion (see `motionloom.library.frames`)
      lock                 held by the one process that writes

Any number of processes may read while one writes; a reader sees a motion whole or not at
all. Later parts of motionloom keep what they derive from motions in files beside these,
keyed by the motions' digests.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Self

from motionloom.errors import InvalidInput, LibraryError
from motionloom.library.catalogue import FILE, Catalogue, Entry, origin_from
from motionloom.library.frames import (
    FOLDER,
    frame_table,
    open_frames,
    sync_folder,
    table_digest,
    unpacked,
)
from motionloom.library.importing import (
    ImportReport,
    Progress,
    import_files,
    new_entry,
    remove_files,
    sweep,
)
from motionloom.library.labelling import LabelSpec
from motionloom.library.lock import writer_lock
from motionloom.motion import Motion, Skeleton


class Storage:
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
    >>> folder = tempfile.TemporaryDirectory()
    >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
    >>> still = Motion(Skeleton(["hips"], [-1], [[0, 0, 0]]), [[[1.0, 0, 0, 0]]], [[0, 1, 0]], 30)
    >>> lib.add_motion(still, name="still", labels=["rest"])
    >>> lib.names, lib.labels("still"), len(lib["still"])
    (('still',), ('rest',), 1)
    """

    def __init__(self, path: str | Path, *, timeout: float = 600.0) -> None:
        self.path = Path(path)
        self._timeout = timeout
        self._catalogue = Catalogue(self.path)
        self._skeletons: dict[str, Skeleton] = {}
        self._catalogue.check()

    @classmethod
    def create(cls, path: str | Path, *, fps: float | None = None, exist_ok: bool = False) -> Self:
        """Make an empty library in a new folder.

        Parameters
        ----------
        path : str or Path
            The folder, by custom ``something.loom``. An empty one may exist.
        fps : float, optional
            The library's frame rate: everything added is resampled to it. Default: every
            motion keeps its own.
        exist_ok : bool
            Open the library if it is there already, instead of raising.

        Raises
        ------
        LibraryError
            If there is a library, a file or a folder with other things at `path`.
        """
        path = Path(path)
        if path.exists():
            _check_room(path)
        path.mkdir(parents=True, exist_ok=True)
        catalogue = Catalogue(path)
        settings = {} if fps is None else {"fps": repr(_checked_rate(fps))}
        with writer_lock(path, timeout=60.0):
            (path / FOLDER).mkdir(exist_ok=True)
            made = catalogue.create(settings)
        catalogue.close()
        if not made and not exist_ok:
            raise LibraryError(f"{path}: there is a library already; open it with Library(...)")
        library = cls(path)
        if not made and fps is not None:
            library._settle_rate(fps)
        return library

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """The library at `path`; the same as calling the class."""
        return cls(path)

    def close(self) -> None:
        """Let go of the catalogue; using the library again opens it again."""
        self._catalogue.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getstate__(self) -> dict:
        return {"path": self.path.absolute(), "timeout": self._timeout}

    def __setstate__(self, state: dict) -> None:
        self.__init__(state["path"], timeout=state["timeout"])  # type: ignore[misc]

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
        """Frames, rate, source and digest of a motion, without opening its frames."""
        entry = self._catalogue.entry(name)
        if entry is None:
            raise LibraryError(self._not_found(name))
        return entry

    def entries(self) -> list[Entry]:
        """The entries of all motions, sorted by name."""
        return self._catalogue.entries()

    def __getitem__(self, name: str) -> Motion:
        """The motion called `name`; its arrays are views of the file on disk."""
        for attempt in range(10):
            entry = self.entry(name)
            skeleton = self._skeleton(entry.skeleton)
            path = self.path / FOLDER / entry.file
            try:
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
        raise LibraryError(f"{path}: the frames of {name!r} are missing; import it again")

    # --- labels -------------------------------------------------------------------------

    def labels(self, name: str) -> tuple[str, ...]:
        """Labels of a motion, sorted."""
        rows = self._catalogue.rows(
            "SELECT label FROM labels WHERE name = ? ORDER BY label", (name,)
        )
        if not rows:
            self.entry(name)  # raises if there is no such motion
        return tuple(label for (label,) in rows)

    def label_counts(self) -> dict[str, int]:
        """All labels, sorted, and how many motions have each."""
        query = "SELECT label, count(*) FROM labels GROUP BY label ORDER BY label"
        return dict(self._catalogue.rows(query))

    def with_label(self, label: str) -> tuple[str, ...]:
        """Names of the motions that have `label`, sorted."""
        query = "SELECT name FROM labels WHERE label = ? ORDER BY name"
        return tuple(name for (name,) in self._catalogue.rows(query, (label,)))

    def set_labels(self, name: str, labels: Iterable[str]) -> None:
        """Give a motion these labels instead of those it has."""
        given = _checked_labels(labels)
        with writer_lock(self.path, timeout=self._timeout):
            self.entry(name)
            self._catalogue.put(labels={name: given})

    # --- adding and removing ------------------------------------------------------------

    def add(
        self,
        *paths: str | Path,
        labels: LabelSpec | Sequence[LabelSpec] | None = None,
        label_columns: str | Sequence[str] | None = None,
        fps: float | None = None,
        unit: str | float | None = None,
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
        force : bool
            Read unchanged files again too.
        workers : int, optional
            Processes. Default: one per core, fewer for little work.
        progress : callable, optional
            Called with (files done, files in all).

        Returns
        -------
        report : ImportReport
        """
        if not paths:
            raise InvalidInput("add needs at least one file or folder")
        with writer_lock(self.path, timeout=self._timeout):
            sweep(self.path, self._catalogue)
            if fps is not None:
                self._settle_rate(fps)
            return import_files(
                self.path,
                self._catalogue,
                paths,
                labels=labels,
                label_columns=label_columns,
                fps=self.fps,
                reader={} if unit is None else {"unit": unit},
                force=force,
                workers=workers,
                progress=progress,
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
            Default: the motion's own.
        labels : iterable of str, optional
        replace : bool
            Put it in the place of another motion of that name.

        Raises
        ------
        LibraryError
            If the name is taken by another motion.
        """
        name = name if name is not None else motion.name
        if not name or not name.isprintable():
            raise InvalidInput(f"name must be a printable text; got {name!r}")
        if len(motion) == 0:
            raise InvalidInput(f"motion {name!r} has no frames")
        given = None if labels is None else {name: _checked_labels(labels)}
        if self.fps is not None:
            motion = motion.resample(self.fps)
        with writer_lock(self.path, timeout=self._timeout):
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
                    motion, name, self.path, source="", source_hash="", options="{}"
                )
                sync_folder(self.path / FOLDER)
            except OSError as error:
                raise LibraryError(
                    f"{self.path}: cannot write to this library: {error.strerror}"
                ) from None
            old = self._catalogue.put([entry], skeletons={entry.skeleton: skeleton}, labels=given)
            remove_files(self.path, old)

    def remove(self, name: str) -> None:
        """Take a motion and its labels out of the library."""
        with writer_lock(self.path, timeout=self._timeout):
            self.entry(name)
            remove_files(self.path, self._catalogue.put(remove=[name]))

    # --- the whole ----------------------------------------------------------------------

    def digest(self) -> str:
        """Fingerprint of all motions and labels; equal for equal content.

        Where the files lay, and when and in which order they were added, does not matter.
        """
        labels = self._catalogue.labels()
        digest = hashlib.blake2b(repr(self.fps).encode(), digest_size=16)
        for e in self.entries():
            facts = (e.name, e.digest, e.source_hash, e.options, e.frames, e.fps, e.skeleton)
            digest.update(repr((*facts, e.origin, labels.get(e.name, ()))).encode())
        return digest.hexdigest()

    def damage(self) -> list[str]:
        """Read everything and compare it with the catalogue; one sentence per fault found."""
        found = []
        for entry in self.entries():
            path = self.path / FOLDER / entry.file
            try:
                joints = len(self._skeleton(entry.skeleton))
                table = open_frames(path, frames=entry.frames, joints=joints)
            except FileNotFoundError:
                found.append(f"{entry.name}: its frames are missing ({path})")
            except LibraryError as error:
                found.append(f"{entry.name}: {error}")
            else:
                if table_digest(table) != entry.digest:
                    found.append(f"{entry.name}: its frames are not what was stored ({path})")
        return found

    def _skeleton(self, key: str) -> Skeleton:
        if key not in self._skeletons:
            self._skeletons[key] = self._catalogue.skeleton(key)
        return self._skeletons[key]

    def _settle_rate(self, fps: float) -> None:
        wanted, held = _checked_rate(fps), self.fps
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

    def _not_found(self, name: str) -> str:
        names = self.names
        if not names:
            return f"{self.path}: no motion {name!r}: the library is empty"
        ends = [other for other in names if other.endswith(f"/{name}")]
        near = [*ends, *difflib.get_close_matches(str(name), names, n=5, cutoff=0.5)]
        listed = ", ".join(dict.fromkeys(near[:8] or names[:8]))
        also = "did you mean" if near else f"the first of {len(names)} are"
        return f"{self.path}: no motion {name!r}; {also} {listed}"


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


def _checked_rate(fps: float) -> float:
    if not 0.0 < fps < float("inf"):
        raise InvalidInput(f"fps must be positive; got {fps}")
    return float(fps)


def _checked_labels(labels: Iterable[str]) -> tuple[str, ...]:
    if isinstance(labels, str):
        raise InvalidInput(f"labels must be several texts, as in [{labels!r}]; got one text")
    given = {str(label).strip() for label in labels}
    return tuple(sorted(given - {""}))
