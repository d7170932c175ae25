"""What is open while the studio runs: the library, things made from it, and long work."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

from motionloom.studio.incoming import Incoming
from motionloom.studio.jobs import Jobs

if TYPE_CHECKING:
    from motionloom.loom import Library

_KEPT = 24  # things made from the library and kept: searches, blends, graphs
_OF_THE_WHOLE = (
    "family",
    "graph",
    "prepared",
)  # first words of keys whose things depend on all motions


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
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()
        self._making: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()

    def once(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """What `make` gives, made once for a key and kept while it is among the latest few.

        Two windows that ask for the same at once wait for one making of it.
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
                    while len(self._kept) > _KEPT:
                        self._kept.popitem(last=False)
            finally:
                with self._lock:
                    self._making.pop(key, None)
            return made

    def forget(self, matches: Callable[[Hashable], bool]) -> None:
        """Drop what was kept under keys that match, as when the library has grown."""
        with self._lock:
            for key in [key for key in self._kept if matches(key)]:
                del self._kept[key]

    def grown(self) -> None:
        """The library has new motions: what was found in the old ones is found anew."""
        self.forget(lambda key: isinstance(key, tuple) and key[0] in _OF_THE_WHOLE)

    def close(self) -> None:
        """End what is under way and remove what was sent but not imported."""
        self.jobs.close()
        self.incoming.close()
