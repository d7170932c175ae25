"""A library as it lies on disk: motions by name, with labels.

::

    takes.loom/
      catalogue.sqlite     what there is (see `motionloom.library.catalogue`)
      frames/NAME.MARK.npy the frames of one motion (see `motionloom.library.frames`)
      derived/...          what was computed from them (see `motionloom.library.derived`)
      kept/...             what people made of them (see `motionloom.library.keepsakes`)
      lock                 held by the one process that writes

Any number of processes may read while one writes; a reader sees a motion whole or not at
all. Frames and derived arrays may lie in an object store instead (see
`motionloom.library.store`); the rest stays here.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from motionloom import engine
from motionloom.errors import LibraryError
from motionloom.library.catalogue import Catalogue
from motionloom.library.catalogue_copy import check_home, copy_for_workers
from motionloom.library.frames import FOLDER, open_frames, table_digest, unpacked
from motionloom.library.lock import writer_lock
from motionloom.library.records import Entry, origin_from
from motionloom.library.store import FolderStore, ObjectStore, Store
from motionloom.motion import Motion, Skeleton


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
