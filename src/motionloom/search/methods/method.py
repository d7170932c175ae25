"""`Method`, the base class of all search methods, and the registry of methods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeVar

from motionloom.errors import InvalidInput
from motionloom.settings import Settings

if TYPE_CHECKING:
    from motionloom.search.candidates import Candidate
    from motionloom.search.clips.retrieval import WholeClips
    from motionloom.search.match import Timeline
    from motionloom.search.query import Query
    from motionloom.search.settings import SearchSettings
    from motionloom.store.store import Store

M = TypeVar("M", bound="type[Method]")

METHODS: dict[str, type[Method]] = {}
"""All search methods by name. `register_method` adds a method to this table."""


@dataclass(frozen=True, kw_only=True)
class Method(Settings):
    """A search method with its options. Its `candidates` method performs the search.

    To add a method, write a subclass and register it with `register_method`; see CONTRIBUTING.md.
    """

    NAME: ClassVar[str]

    def candidates(
        self, library: Store, query: Query, settings: SearchSettings
    ) -> tuple[list[Candidate], Timeline | WholeClips]:
        """Return the candidates for the query, nearest first, and the timeline of their frames."""
        raise NotImplementedError

    def unit(self) -> str:
        """Unit of the distances."""
        return "m"

    def for_families(self) -> Method:
        """Return the settings with which a family is searched."""
        return self


def register_method(method: M) -> M:
    """Add a search method to every function, command and form that offers methods.

    Use it as a decorator. See "A search method" in CONTRIBUTING.md.

    Raises
    ------
    InvalidInput
        If the name is already taken.
    """
    if METHODS.setdefault(method.NAME, method) is not method:
        raise InvalidInput(
            f"a search method named {method.NAME!r} already exists; choose another name"
        )
    return method
