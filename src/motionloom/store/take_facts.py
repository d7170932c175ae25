"""Facts about single takes, found once per take and kept with the library.

A fact is a small JSON value that follows from the frames of one take alone: its tempo, its grave
fault, whether it is a loop. Facts are kept by a digest of the take, so a take that is renamed keeps
them, and a take that changes is examined again. All facts of a kind are one named artifact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from motionloom.errors import LibraryError
from motionloom.store.store import Store

_NAME = "detected"

Fact = TypeVar("Fact")


@dataclass(frozen=True)
class TakeFacts(Generic[Fact]):
    """A kind of fact.

    Attributes
    ----------
    kind : str
        Kind of the artifact.
    version : int
        Increment it when the analysis gives different results than before.
    is_valid : callable
        Checks a stored fact. If one of them is damaged, all are found again.

    Examples
    --------
    >>> lengths: TakeFacts[int] = TakeFacts("lengths", 1, lambda fact: type(fact) is int)
    >>> keys = {"walk": lib.store.entry("walk").key}
    >>> found = lengths.values(lib.store, keys, lambda name: len(lib[name]))
    >>> found == lengths.known(lib.store, keys) == {"walk": len(lib["walk"])}
    True
    """

    kind: str
    version: int
    is_valid: Callable[[Any], bool]
    _unsaved: dict[str, Fact] = field(default_factory=dict, compare=False, repr=False)

    def values(
        self,
        library: Store,
        keys: Mapping[str, str],
        find: Callable[[str], Fact],
        progress: Callable[[int], None] | None = None,
    ) -> dict[str, Fact]:
        """Return the fact of each take, and keep those that are new.

        Parameters
        ----------
        library : Store
        keys : mapping of str to str
            A digest of everything that the fact depends on, by the name of the take.
        find : callable
            Finds the fact of a take by name. It is called only for takes without a stored fact.
        progress : callable, optional
            Called with 1 for every take. If it raises an error, the facts so far are still kept.
        """
        facts = self.known(library, keys)
        new: dict[str, Fact] = {}
        try:
            for name, key in keys.items():
                if name not in facts:
                    if key not in new:
                        new[key] = find(name)
                    facts[name] = new[key]
                if progress is not None:
                    progress(1)
        finally:
            if new:
                self.keep(library, new)
        return {name: facts[name] for name in keys}

    def known(self, library: Store, keys: Mapping[str, str]) -> dict[str, Fact]:
        """Return the facts that are already known, without reading any take."""
        stored = {**self.stored(library), **self._unsaved}
        return {name: stored[key] for name, key in keys.items() if key in stored}

    def stored(self, library: Store) -> dict[str, Fact]:
        """Return the stored facts by digest; empty if they are damaged or of another version."""
        if _NAME not in library.artifacts.names(self.kind):
            return {}
        try:
            about = library.artifacts.about(self.kind, _NAME)
            facts = about[self.kind] if about.get("version") == self.version else {}
            return dict(facts) if all(map(self.is_valid, facts.values())) else {}
        except (LibraryError, KeyError, TypeError, AttributeError):
            return {}

    def keep(self, library: Store, new: Mapping[str, Fact]) -> None:
        """Save new facts by digest, or keep them for this process if the library is read-only."""
        try:
            with library.writing():
                facts = {**self.stored(library), **new}
                about = {"version": self.version, self.kind: facts}
                library.artifacts.save(self.kind, _NAME, about)
        except (LibraryError, OSError):
            self._unsaved.update(new)

    def forget(self, library: Store) -> None:
        """Remove all stored facts of this kind."""
        self._unsaved.clear()
        with suppress(LibraryError, OSError), library.writing():
            if _NAME in library.artifacts.names(self.kind):
                library.artifacts.delete(self.kind, _NAME)
