"""Read access to a library's motions, their labels and their digests.

Any number of processes may read while one writes, and readers never see a partial motion.
"""

from __future__ import annotations

import difflib
import hashlib
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Self

from motionloom import parallel
from motionloom.errors import InvalidInput, LibraryError
from motionloom.motion import Motion, Skeleton
from motionloom.motion.segment import Segment, plausible_rate
from motionloom.store.catalogue import Catalogue
from motionloom.store.frames import FOLDER, frame_path, open_frames, unpacked
from motionloom.store.records import Entry, origin_from
from motionloom.store.remote.object_store import (
    FileStore,
    FolderStore,
    ObjectStore,
    trusted_store,
)
from motionloom.store.remote.replica import replica_for_workers

_FEW = 50  # entries that are read one by one


class StoredMotions:
    """Read access to a library. `motionloom.store.Store` adds write access."""

    def __init__(self, path: str | Path, *, timeout: float = 600.0) -> None:
        self.path = Path(path)
        self.timeout = timeout
        self.catalogue = Catalogue(self.path)
        self._skeletons: dict[str, Skeleton] = {}
        self._files: FileStore | None = None
        self._files_of: object = None  # the catalogue that names them
        self._lock = threading.local()
        self._replica = ""  # on a cluster worker: name of the replica of the catalogue
        self.catalogue.check()

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open the library at `path`. This is equivalent to calling the class."""
        return cls(path)

    def close(self) -> None:
        """Close the catalogue. It is reopened when the library is used again."""
        self.catalogue.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getstate__(self) -> dict:
        state = {"path": self.path.absolute(), "timeout": self.timeout}
        if isinstance(self.files, ObjectStore) and parallel.is_on_cluster():
            # Workers on other machines see the object store, not the catalogue.
            replica = self._replica or replica_for_workers(self.catalogue, self.files)
            state |= {"files": self.files, "replica": replica}
        return state

    def __setstate__(self, state: dict) -> None:
        if "files" not in state:
            self.__init__(state["path"], timeout=state["timeout"])  # type: ignore[misc]
            return
        self.path, self.timeout = state["path"], state["timeout"]
        self._files, self._replica = state["files"], state["replica"]
        self._files_of = None
        self._skeletons, self._lock = {}, threading.local()
        replica = state["files"].local(state["replica"])
        self.catalogue = Catalogue(replica.parent, file=replica.name)
        self.catalogue.check()

    @property
    def files(self) -> FileStore:
        """Storage of frames and artifacts: the library's folder or an object store."""
        current = None if self._replica else self.catalogue.identity()
        if self._files is None or self._files_of != current:
            meta = self.catalogue.settings()
            self._files = (
                trusted_store(self.path, str(meta["store"]), str(meta.get("id", "")))
                if meta.get("store")
                else FolderStore(self.path.absolute())
            )
            self._files_of = current
        return self._files

    # --- motions ------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all motions, sorted."""
        return tuple(self.catalogue.names())

    def __len__(self) -> int:
        return self.catalogue.rows("SELECT count(*) FROM motions")[0][0]

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.catalogue.entry(name) is not None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r}, {len(self)} motions)"

    @property
    def id(self) -> str:
        """Identifier of the library, which changes if it is rebuilt but not if it is moved."""
        return self.catalogue.meta()["id"]

    @property
    def fps(self) -> float | None:
        """Frame rate of the library, or None if motions may have different rates."""
        value = self.catalogue.settings().get("fps")
        try:
            return None if value is None else plausible_rate(float(value))
        except (TypeError, ValueError, InvalidInput):
            raise LibraryError(
                f"{self.path}: the catalogue is damaged: its frame rate is {value!r}"
            ) from None

    @property
    def frames(self) -> int:
        """Total number of frames in all motions."""
        return self.catalogue.rows("SELECT coalesce(sum(frames), 0) FROM motions")[0][0]

    @property
    def seconds(self) -> float:
        """Total duration of all motions, in seconds."""
        return self.catalogue.rows("SELECT total(frames / fps) FROM motions")[0][0]

    def entry(self, name: str) -> Entry:
        """Return the frame count, rate, source and digest of a motion, without opening its frames.

        Examples
        --------
        >>> lib.store.entry("walk").frames, lib.store.entry("walk").fps
        (138, 30.0)
        """
        entry = self.catalogue.entry(name)
        if entry is None:
            raise LibraryError(self._not_found(name))
        return entry

    def entries(self, names: Iterable[str] | None = None) -> list[Entry]:
        """Return the entries of motions, or of all motions sorted by name.

        For many names, this is much faster than calling `entry` for each.
        """
        if names is None:
            return self.catalogue.entries()
        chosen = tuple(names)
        if len(chosen) < _FEW:
            return [self.entry(name) for name in chosen]
        every = {entry.name: entry for entry in self.catalogue.entries()}
        return [every[name] if name in every else self.entry(name) for name in chosen]

    def __getitem__(self, name: str) -> Motion:
        """Return the motion named `name`, with memory-mapped arrays."""
        for attempt in range(10):
            entry = self.entry(name)
            skeleton = self.skeleton(entry.skeleton)
            try:
                path = self.files.local(f"{FOLDER}/{entry.file}")
                table = open_frames(
                    path, frames=entry.frames, joints=len(skeleton), digest=entry.digest
                )
            except FileNotFoundError:
                # Replaced since the catalogue was read, so read it again.
                if attempt and self.catalogue.entry(name) == entry:
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
            f"{frame_path(self, entry)}: the frames of {name!r} are missing; import the motion "
            "again"
        )

    def fetch(self, names: Iterable[str]) -> None:
        """Copy the frames of motions from the object store, if there is one, to this machine."""
        if self.files.remote:
            self.files.fetch(f"{FOLDER}/{self.entry(name).file}" for name in names)

    def skeleton(self, key: str) -> Skeleton:
        """Return the skeleton with this key (see `Entry`). Every call returns the same object.

        Examples
        --------
        >>> len(lib.store.skeleton(lib.store.entry("walk").skeleton))
        21
        """
        if key not in self._skeletons:
            self._skeletons[key] = self.catalogue.skeleton(key)
        return self._skeletons[key]

    # --- labels -------------------------------------------------------------------------

    def labels(self, name: str) -> tuple[str, ...]:
        """Return the labels of a motion, sorted.

        Examples
        --------
        >>> lib.labels["walk_fast"]
        ('walk',)
        """
        labels = self.catalogue.labels_of(name)
        if not labels:
            self.entry(name)  # raises an error if the motion does not exist
        return labels

    def label_counts(self) -> dict[str, int]:
        """Return all labels, sorted, with the number of motions that have each label.

        Examples
        --------
        >>> lib.labels.counts()
        {'dance': 1, 'jog': 1, 'kick': 2, 'walk': 2}
        """
        having: dict[str, set[str]] = {}
        for name, labels in self.catalogue.labels().items():
            for label in labels:
                having.setdefault(label, set()).add(name)
        for name, _, _, label in self.catalogue.segment_labels():
            having.setdefault(label, set()).add(name)
        return {label: len(having[label]) for label in sorted(having)}

    def with_label(self, label: str) -> tuple[str, ...]:
        """Return the sorted names of motions that have `label`, or that have a segment with it.

        Examples
        --------
        >>> lib.labels.motions("kick")
        ('kick_front_high_right', 'kick_front_mid_right')
        """
        query = "SELECT name FROM labels WHERE label = ?"
        names = {name for (name,) in self.catalogue.rows(query, (label,))}
        names |= {name for name, _, _, each in self.catalogue.segment_labels() if each == label}
        return tuple(sorted(names))

    def segment_labels(self, name: str) -> list[tuple[Segment, str]]:
        """Return the labeled segments of a motion with their labels, sorted by frame.

        Examples
        --------
        >>> lib.labels.segments("walk_fast")
        []
        """
        rate = self.entry(name).fps
        rows = [row[1:] for row in self.catalogue.segment_labels() if row[0] == name]
        return [(Segment(name, start, end, rate), label) for start, end, label in sorted(rows)]

    def names_with_segments(self) -> tuple[str, ...]:
        """Return the names of motions that have labeled segments, sorted."""
        return tuple(sorted({row[0] for row in self.catalogue.segment_labels()}))

    # --- digests ------------------------------------------------------------------------

    def digest(self) -> str:
        """Return a digest of all motions and labels, which is equal for equal content.

        The digest does not depend on the paths of the source files, or on when and in which order
        they were added.

        Examples
        --------
        >>> import motionloom as ml
        >>> lib.store.digest() == ml.Library(lib.path).store.digest()
        True
        """
        labels = self.catalogue.labels()
        digest = hashlib.blake2b(repr(self.fps).encode(), digest_size=16)
        for e in self.entries():
            facts = (e.name, e.digest, e.source_hash, e.options, e.frames, e.fps, e.skeleton)
            digest.update(repr((*facts, e.origin, labels.get(e.name, ()))).encode())
        for row in sorted(self.catalogue.segment_labels()):
            digest.update(repr(row).encode())
        return digest.hexdigest()

    def fingerprints(self) -> list[tuple]:
        """Return the name, frame digest, skeleton key and rate of each motion, sorted by name."""
        query = "SELECT name, digest, skeleton, fps FROM motions ORDER BY name"
        return self.catalogue.rows(query)

    def _not_found(self, name: str) -> str:
        names = self.names
        if not names:
            return f"{self.path}: no motion {name!r}: the library is empty"
        ends = [other for other in names if other.endswith(f"/{name}")]
        close = difflib.get_close_matches(str(name), names, n=5, cutoff=0.5)
        likeness = {
            candidate: difflib.SequenceMatcher(None, candidate, str(name)).ratio()
            for candidate in close
        }
        close.sort(key=lambda candidate: (-likeness[candidate], candidate))
        near = list(dict.fromkeys([*ends, *close]))[:8]
        before = str(name).rpartition(":")[0]  # a range that could not be read is part of the name
        if before in names:
            also = f"write a range of frames as {before}:START-END, of seconds as {before}:1.5s-4s"
        elif labeled := self.with_label(str(name)):
            some = ", ".join(labeled[:8]) + (", ..." if len(labeled) > 8 else "")
            also = f"this is a label of {some}"
        elif near:
            also = f"did you mean {', '.join(near)}?"
        elif len(names) <= 8:
            also = f"this library contains {', '.join(names)}"
        else:
            also = f"this library contains {len(names)} motions: {', '.join(names[:8])}, ..."
        return f"{self.path}: no motion {name!r}; {also}"
