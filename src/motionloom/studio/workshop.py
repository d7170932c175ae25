"""What is open while the studio runs: the library, things made from it, and long work."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from motionloom.studio.incoming import Incoming
from motionloom.studio.jobs import Jobs

if TYPE_CHECKING:
    from motionloom.loom import Library

_KEPT = 12  # things of one kind, as the first words of keys tell: families, graphs, dances
_OF_THE_WHOLE = ("family", "graph", "prepared")  # kinds that depend on all motions and labels


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

    def grown(self) -> None:
        """The library has other motions or labels: what was found in it is found anew."""
        self.forget(lambda key: key[0] in _OF_THE_WHOLE)

    def close(self) -> None:
        """End what is under way and remove what was sent but not imported."""
        self.jobs.close()
        self.incoming.close()
