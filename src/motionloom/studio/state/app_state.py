"""State shared by all windows of a studio: library, cache, jobs, uploads, listeners."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import Depends, Request

from motionloom.errors import LibraryError
from motionloom.studio.server.limits import Limiter
from motionloom.studio.state.jobs import Jobs
from motionloom.studio.state.uploads import Uploads

if TYPE_CHECKING:
    from motionloom.formats.vmc import LiveStream
    from motionloom.library import Library
    from motionloom.studio.state.library_choice import LibraryChoice

_CACHED = (
    12  # cached values per kind, which is the first element of a key: families, graphs, dances, ...
)
_FEWER = {
    "crowd": 3,
    "music": 4,
    "dance": 4,
    "crowd-steps": 4,
    "film": 3,
    "export": 2,
    "walk": 6,
    "first-walk": 2,
    "acted": 4,
    "matching": 3,
    "character": 3,
}  # kinds whose values take many megabytes
# Kinds that depend on all motions and labels.
_LIBRARY_WIDE = ("family", "graph", "prepared", "walk", "first-walk", "matching")
# Kinds that are saved in the library under a name.
_SAVED = ("parametric", "movements")
_CLOCK_STEP = 50_000_000  # nanoseconds


# Kinds of changes: motions of the library, their labels, saved artifacts, jobs, or the library
# shown.
Change = Literal["motions", "labels", "kept", "jobs", "library"]
Listener = Callable[[Change], None]


class AppState:
    """An open library, and the state that all of the studio's windows share.

    Parameters
    ----------
    library : Library, optional
        Default: none; the page asks for one.
    choice : LibraryChoice, optional
        Libraries that the page may open instead. Default: none.
    limiter : Limiter, optional
    stream : LiveStream, optional
        Program that also receives the frames that characters play.
    """

    def __init__(
        self,
        library: Library | None,
        *,
        choice: LibraryChoice | None = None,
        limiter: Limiter | None = None,
        stream: LiveStream | None = None,
    ) -> None:
        self._library = library
        self.choice = choice
        self.jobs = Jobs(lambda: self.notify("jobs"))
        self.limiter = limiter or Limiter()
        self.stream = stream
        self._uploads = Uploads(library.path) if library is not None else None
        self._cache: OrderedDict[tuple, Any] = OrderedDict()
        self._computing: dict[tuple, threading.Lock] = {}
        self._lock = threading.Lock()
        self.describing = threading.Lock()  # held while motions are captioned, which is done once
        self._listeners: list[Listener] = []
        self._stamp: tuple = ()  # of the catalogue, when `_seen` was read
        self._seen: tuple[str, tuple] | None = None  # motions and labels, and saved artifacts
        self._changes = 0  # of motions and labels

    @property
    def is_open(self) -> bool:
        """True if a library is open."""
        return self._library is not None

    @property
    def library(self) -> Library:
        """Library that is currently open."""
        if self._library is None:
            raise LibraryError("no library is open; choose one on the start page")
        return self._library

    @property
    def uploads(self) -> Uploads:
        """Uploaded files that are not imported yet."""
        if self._uploads is None:
            raise LibraryError("no library is open; choose one on the start page")
        return self._uploads

    def successor(self, library: Library) -> AppState:
        """Return a new state for another library on the same server."""
        return AppState(library, choice=self.choice, limiter=self.limiter, stream=self.stream)

    def motions_key(self) -> str:
        """Return a digest of the names and frames of all motions; labels do not matter."""
        rows = [f"{entry.name}\0{entry.digest}" for entry in self.library.entries()]
        return hashlib.blake2b(
            "\n".join(rows).encode("utf-8", "replace"), digest_size=12
        ).hexdigest()

    def cached(self, key: tuple, compute: Callable[[], Any]) -> Any:
        """Return the value for a key, computing it on first use; only a few per kind are kept.

        The first element of a key is its kind, so that the beats of many takes do not evict a
        motion graph. Concurrent requests for the same key wait for a single computation.
        """
        with self._lock:
            if key in self._cache:
                self._cache.move_to_end(key)
                return self._cache[key]
            computing = self._computing.setdefault(key, threading.Lock())
        with computing:
            with self._lock:
                if key in self._cache:
                    return self._cache[key]
            try:
                changes = self._changes
                value = compute()
                with self._lock:
                    if key[0] in _LIBRARY_WIDE and changes != self._changes:
                        return value  # not kept, because it is out of date
                    self._cache[key] = value
                    same_kind = [other for other in self._cache if other[0] == key[0]]
                    for oldest in same_kind[: -_FEWER.get(key[0], _CACHED)]:
                        del self._cache[oldest]
            finally:
                with self._lock:
                    self._computing.pop(key, None)
            return value

    @property
    def cached_keys(self) -> tuple[tuple, ...]:
        """Keys of all cached values, least recently used first."""
        with self._lock:
            return tuple(self._cache)

    @property
    def listener_count(self) -> int:
        """Number of open `listening` contexts."""
        with self._lock:
            return len(self._listeners)

    def invalidate(self, matches: Callable[[tuple], bool]) -> None:
        """Drop the cached values for whose keys `matches` returns True."""
        with self._lock:
            for key in [key for key in self._cache if matches(key)]:
                del self._cache[key]

    def stamp(self) -> tuple:
        """Return a value that differs after each change of the library by any process."""
        if self._library is None:
            return ()
        catalogue = self._library.store.catalogue
        try:
            # Never open the file here: closing it would release the locks of SQLite.
            status = os.stat(catalogue.folder / catalogue.file)
        except OSError:
            return ()
        return status.st_ino, status.st_size, status.st_mtime_ns

    @property
    def followed(self) -> tuple:
        """The stamp of the library at the last call of `follow`."""
        return self._stamp

    def follow(self) -> None:
        """Notice what other processes have changed in the library since the last call."""
        stamp = self.stamp()
        if stamp == self._stamp or self._library is None:
            return
        store = self._library.store
        saved = tuple(store.catalogue.rows("SELECT stem, version FROM artifacts ORDER BY stem"))
        seen = (store.digest(), saved)
        # The clock of a file system has steps: another change could get the same time.
        settled = not stamp or time.time_ns() - stamp[2] > _CLOCK_STEP
        with self._lock:
            before, self._seen, self._stamp = self._seen, seen, stamp if settled else ()
        if before is not None and before[0] != seen[0]:
            self.notify("motions")
        if before is not None and before[1] != seen[1]:
            self.invalidate(lambda key: key[0] in _SAVED)
            self.notify("kept")

    def notify(self, change: Change) -> None:
        """Notify all windows of a change; new motions or labels also invalidate cached values."""
        if change in ("motions", "labels"):
            with self._lock:
                self._changes += 1
            self.invalidate(lambda key: key[0] in _LIBRARY_WIDE)
            if self._seen is not None and self._library is not None:
                # Windows hear of this change once, not again from `follow`.
                self._seen = (self._library.store.digest(), self._seen[1])
        with self._lock:
            listeners = list(self._listeners)
        for listener in listeners:
            listener(change)

    def all_changed(self) -> None:
        """Drop all cached values that depend on motions, labels or artifacts."""
        # These are results, which keep showing their original state.
        made = ("crowd", "dance", "film", "export", "music")
        self.invalidate(lambda key: key[0] not in made)
        self.notify("motions")
        self.notify("kept")

    def artifact_changed(self, key: tuple) -> None:
        """Drop a cached artifact that was replaced or deleted, and notify all windows."""
        self.invalidate(lambda other: other == key)
        self.notify("kept")

    @contextmanager
    def listening(self, listener: Listener) -> Iterator[None]:
        """Call `listener` with every change, from any thread, while the context is open.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> state = AppState(ml.Library.create(f"{folder.name}/takes.loom"))
        >>> changes = []
        >>> with state.listening(changes.append):
        ...     state.notify("labels")
        >>> state.notify("motions")
        >>> changes
        ['labels']
        """
        with self._lock:
            self._listeners.append(listener)
        try:
            yield
        finally:
            with self._lock:
                self._listeners.remove(listener)

    def close(self) -> None:
        """Stop all jobs and delete uploaded files that were not imported."""
        self.jobs.close()
        if self._uploads is not None:
            self._uploads.close()
        if self._library is not None:
            self._library.close()


def _state(request: Request) -> AppState:
    return request.app.state.studio


State = Annotated[AppState, Depends(_state)]  # type of a route's parameter
