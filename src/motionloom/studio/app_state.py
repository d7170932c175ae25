"""What is open while the studio runs: the library, things made from it, and long work."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from motionloom.studio.jobs import Jobs
from motionloom.studio.uploads import Incoming

if TYPE_CHECKING:
    from motionloom.library import Library

_KEPT = 12  # things of one kind, as the first words of keys tell: families, graphs, dances
_OF_THE_WHOLE = ("family", "graph", "prepared")  # kinds that depend on all motions and labels


# What a window may have changed: which motions there are, their labels, or what is kept by name.
Change = Literal["motions", "labels", "kept"]
Listener = Callable[[Change], None]


class Workshop:
    """One library, and what the windows that look at it have in common.

    Parameters
    ----------
    library : Library
    """

    def __init__(self, library: Library) -> None:
        self.library = library
        self.jobs = Jobs()
        self.incoming = Incoming(library.path)
        self._kept: OrderedDict[tuple, Any] = OrderedDict()
        self._making: dict[tuple, threading.Lock] = {}
        self._lock = threading.Lock()
        self._listeners: list[Listener] = []

    def once(self, key: tuple, make: Callable[[], Any]) -> Any:
        """What `make` gives, made once for a key and kept among the latest few of its kind.

        The first word of a key is its kind: beats of many takes do not push out a graph. Two
        windows that ask for the same at once wait for one making of it.
        """
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
            making = self._making.setdefault(key, threading.Lock())
        with making:
            with self._lock:
                if key in self._kept:
                    return self._kept[key]
            try:
                made = make()
                with self._lock:
                    self._kept[key] = made
                    alike = [one for one in self._kept if one[0] == key[0]]
                    for oldest in alike[:-_KEPT]:
                        del self._kept[oldest]
            finally:
                with self._lock:
                    self._making.pop(key, None)
            return made

    def forget(self, matches: Callable[[tuple], bool]) -> None:
        """Drop what was kept under keys that match, as when the library has grown."""
        with self._lock:
            for key in [key for key in self._kept if matches(key)]:
                del self._kept[key]

    def changed(self, what: Change) -> None:
        """Tell every window; with other motions or labels, what was found is found anew."""
        if what != "kept":
            self.forget(lambda key: key[0] in _OF_THE_WHOLE)
        with self._lock:
            listeners = list(self._listeners)
        for listener in listeners:
            listener(what)

    def rekept(self, key: tuple) -> None:
        """Another thing is kept by name in the library, or none: what was opened is forgotten."""
        self.forget(lambda one: one == key)
        self.changed("kept")

    @contextmanager
    def listened(self, listener: Listener) -> Iterator[None]:
        """Call `listener`, from any thread, with what is changed while the context lasts.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> shop = Workshop(ml.Library.create(f"{folder.name}/takes.loom"))
        >>> heard = []
        >>> with shop.listened(heard.append):
        ...     shop.changed("labels")
        >>> shop.changed("motions")
        >>> heard
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
        """End what is under way and remove what was sent but not imported."""
        self.jobs.close()
        self.incoming.close()
