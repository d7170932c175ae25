"""Request models for searches and families, and the lookup of families by id."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError

from motionloom.errors import InvalidInput
from motionloom.library import segment_query
from motionloom.library.requests import MOST_VALUES
from motionloom.library.settings import FamilySettings, SearchSettings
from motionloom.studio.requests import (
    CodeLines,
    Name,
    RequestModel,
    Served,
    code_lines,
)
from motionloom.studio.state.app_state import AppState

if TYPE_CHECKING:
    from motionloom.library import Family, Library, Matches

Query = Annotated[Name, Field(description="Segment of the library, NAME:START-END in frames.")]


class SearchRequest(RequestModel):
    """A query and the settings of its search."""

    query: Query
    settings: Served[SearchSettings] = SearchSettings()

    def matches(self, library: Library) -> Matches:
        """Search the library; the query cannot be a file."""
        return library.search(segment_query(library, self.query), self.settings)

    def lines(self, library: Path) -> CodeLines:
        """Format the search as a command line and as Python code."""
        command = ["search", str(library), self.query]
        return code_lines(library, command, "matches", f"search({self.query!r}", self.settings)


class FamilyRequest(RequestModel):
    """Request for a family: the matches of a query, their matches, and so on."""

    query: Query
    settings: Served[FamilySettings] = FamilySettings()
    members: Annotated[tuple[int, ...], Field(max_length=MOST_VALUES)] | None = Field(
        None, description="Indices of the nodes to keep; default: all."
    )

    def family(self, library: Library, progress: Callable[[int], None] | None = None) -> Family:
        """Compute the family, reduced to its `members`."""
        query = segment_query(library, self.query)
        family = library.family(query, self.settings, progress=progress)
        return family if self.members is None else family.only(self.members)

    def lines(self, library: Path) -> CodeLines:
        """Format the whole family as a command line, and its members as Python code."""
        command = ["family", str(library), self.query]
        lines = code_lines(library, command, "family", f"family({self.query!r}", self.settings)
        if self.members is not None:
            lines.python += f".only({list(self.members)})"
        return lines

    @property
    def id(self) -> str:
        """URL-safe encoding of the request, from which the family can be recomputed."""
        given = self.model_dump(exclude_defaults=True, mode="json")
        text = json.dumps(given, sort_keys=True, separators=(",", ":"))
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    @classmethod
    def from_id(cls, id: str) -> FamilyRequest:
        """Return the request that an `id` encodes.

        >>> request = FamilyRequest(query="walk:0-30", settings=FamilySettings(max=8))
        >>> FamilyRequest.from_id(request.id).settings.max
        8
        """
        try:
            return cls.model_validate_json(base64.urlsafe_b64decode(id + "=" * (-len(id) % 4)))
        except (ValueError, ValidationError):
            raise InvalidInput(f"{id[:40]!r} is not the id of a family") from None


def family_of(state: AppState, id: str) -> Family:
    """Return the family with an id from ``POST /api/families``, cached or recomputed."""
    request = FamilyRequest.from_id(id)
    if request.members is None:
        return state.cached(("family", id), lambda: request.family(state.library))
    whole = family_of(state, request.model_copy(update={"members": None}).id)
    return state.cached(("family", id), lambda: whole.only(request.members or ()))


def corresponding_frames(matches: Matches, length: int) -> NDArray[np.int32]:
    """Return, for each match, the frames that correspond to the query's `length` frames."""
    rows = np.zeros((len(matches), length), np.int32)
    for row, match in zip(rows, matches, strict=True):
        row[:] = np.rint(match.corresponding_frames(length))
    return rows
