"""Requests for searches and families."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError

from motionloom.errors import InvalidInput
from motionloom.library import segment_query
from motionloom.library.settings import (
    SEARCH_METHODS,
    Dtw,
    FamilySettings,
    LazyGraph,
    MatchWeb,
    SearchSettings,
)
from motionloom.settings import described
from motionloom.studio.requests.models import CodeLines, Name, Names, VerbRequest, from_setting
from motionloom.studio.state.app_state import AppState

if TYPE_CHECKING:
    from motionloom.library import Family, Library, Matches

MAX_MATCHES = 500  # of one search


class QueryRequest(VerbRequest):
    """What searches and families have in common."""

    query: Name = Field(description="NAME:START-END of the library, in frames.")
    method: Name = from_setting(SearchSettings, "method", Dtw.NAME)
    features: Name = from_setting(Dtw, "features")
    distance: Name = from_setting(MatchWeb, "distance")
    k: int | None = from_setting(LazyGraph, "k", le=100_000)
    radius: float | None = from_setting(LazyGraph, "radius")
    max: int = from_setting(SearchSettings, "max", le=MAX_MATCHES)
    max_distance: float | None = from_setting(SearchSettings, "max_distance")
    within: Names = from_setting(SearchSettings, "label", ())
    only: Names = from_setting(SearchSettings, "only", ())
    without: Names = from_setting(SearchSettings, "exclude", ())
    accept: Names = from_setting(SearchSettings, "accept", ())
    reject: Names = from_setting(SearchSettings, "reject", ())
    steps: Literal["slope", "classic"] = from_setting(Dtw, "steps")
    weights: Literal["moving", "equal"] | None = from_setting(Dtw, "weights")

    def arguments(self) -> dict[str, Any]:
        """Arguments of the verb that differ from their defaults and that the method has."""
        given = super().arguments()
        if self.method not in SEARCH_METHODS:
            return given
        known = {*described(SearchSettings), *described(SEARCH_METHODS[self.method])}
        return {name: value for name, value in given.items() if name in known}

    def _lines(self, verb: str, result: str, library: Path) -> CodeLines:
        command = [verb, str(library), self.query]
        return self.code(result, library, command, f"{verb}({self.query!r}")


class SearchRequest(QueryRequest):
    """A search."""

    rank: Literal["movement", "distance"] | None = from_setting(Dtw, "rank")
    exclude_query: bool = from_setting(SearchSettings, "exclude_query")
    mirror: bool = from_setting(SearchSettings, "mirror")

    def matches(self, library: Library) -> Matches:
        """Matches in the library; the query cannot be a file."""
        return library.search(segment_query(library, self.query), **self.arguments())

    def lines(self, library: Path) -> CodeLines:
        """The search as a command line and as Python code."""
        return self._lines("search", "matches", library)


class FamilyRequest(QueryRequest):
    """A family: the matches of a query, their matches, and so on."""

    tiers: Annotated[int, Field(ge=1, le=100)] | Literal["all"] = from_setting(
        FamilySettings, "tiers"
    )
    join_distance: float | None = from_setting(FamilySettings, "join_distance")
    same: float = from_setting(FamilySettings, "same")
    apart: float = from_setting(FamilySettings, "apart")
    members: Annotated[tuple[int, ...], Field(max_length=MAX_MATCHES)] | None = Field(
        None, description="Indices of the nodes to keep; all by default."
    )

    def family(self, library: Library, progress: Callable[[int], None] | None = None) -> Family:
        """The family, reduced to its `members`."""
        query = segment_query(library, self.query)
        family = library.family(query, **self.arguments(), progress=progress)
        return family if self.members is None else family.only(self.members)

    def lines(self, library: Path) -> CodeLines:
        """The family as a command line (whole) and as Python code (its members only)."""
        lines = self._lines("family", "family", library)
        if self.members is not None:
            lines.python += f".only({list(self.members)})"
        return lines

    @property
    def id(self) -> str:
        """The request as text for an address, from which the family can be computed again."""
        given = self.model_dump(exclude_defaults=True, mode="json")
        text = json.dumps(given, sort_keys=True, separators=(",", ":"))
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    @classmethod
    def from_id(cls, id: str) -> FamilyRequest:
        """The request of an `id`.

        >>> FamilyRequest.from_id(FamilyRequest(query="walk:0-30", max=8).id).max
        8
        """
        try:
            return cls.model_validate_json(base64.urlsafe_b64decode(id + "=" * (-len(id) % 4)))
        except (ValueError, ValidationError):
            raise InvalidInput(f"{id[:40]!r} is not the id of a family") from None


def family_of(state: AppState, id: str) -> Family:
    """The family of an id given by ``POST /api/families``: cached, or computed again."""
    request = FamilyRequest.from_id(id)
    if request.members is None:
        return state.cached(("family", id), lambda: request.family(state.library))
    whole = family_of(state, request.model_copy(update={"members": None}).id)
    return state.cached(("family", id), lambda: whole.only(request.members or ()))


def corresponding_frames(matches: Matches, length: int) -> NDArray[np.int32]:
    """For each match, the frame aligned with each of the `length` frames of the query."""
    rows = np.zeros((len(matches), length), np.int32)
    for row, match in zip(rows, matches, strict=True):
        row[:] = np.rint(match.corresponding_frames(length))
    return rows
