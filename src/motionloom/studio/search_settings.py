"""What is asked when something is looked for, and the lines that ask the same elsewhere.

The settings of a search or of a family are plain data with the names and the defaults that
the command line has. They can be told as a call of `Library.search`, as a line for a
terminal, and as a line of Python: three ways to say one thing.

Settings as options of the command line.
"""

from __future__ import annotations

import base64
import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from motionloom.alignment import corresponding
from motionloom.errors import InvalidInput
from motionloom.search import METHODS, Family, Matches, library_family, search
from motionloom.search import SearchSettings as Searching
from motionloom.search.query import library_query
from motionloom.settings import described


def flags(told: Mapping[str, Any], names: Mapping[str, str] | None = None) -> list[str]:
    """Words of a command for settings that differ from what is taken anyway.

    Labels (``within``) are options of their own, names of takes stand behind one another with
    commas, and what is True needs no value. `names` are options that are called another way.

    Examples
    --------
    >>> flags({"within": ["kick", "punch"], "only": ["a", "b"], "max_distance": 0.25})
    ['--within', 'kick', '--within', 'punch', '--only', 'a,b', '--max-distance', '0.25']
    """
    words: list[str] = []
    for name, value in told.items():
        flag = f"--{(names or {}).get(name, name).replace('_', '-')}"
        if name in ("label", "within"):
            words += [word for label in value for word in (flag, label)]
        elif name in ("only", "exclude", "without"):
            words += [flag, ",".join(value)]
        elif value is True:
            words.append(flag)
        else:
            words += [flag, f"{value:g}" if isinstance(value, float) else str(value)]
    return words


MOST = 500  # matches of one search
_ARGUMENTS = {"within": "label", "without": "exclude"}  # field of a request -> argument
_LONGEST = 300  # characters of a name

Name = Annotated[str, Field(max_length=_LONGEST)]
Names = Annotated[tuple[Name, ...], Field(max_length=1000)]
Part = Annotated[float, Field(ge=0.0, le=1.0)]


class Looking(BaseModel):
    """What searches and families have in common."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    query: str = Field(max_length=_LONGEST, description="NAME:START-END of the library, in frames.")
    method: Name = "dtw"
    features: Name = "e15"
    distance: Name = Field("pc11", description="What the web was built with, for method web.")
    k: int | None = Field(None, ge=1, le=100_000)
    radius: float | None = Field(None, ge=0.0)
    max: int = Field(100, ge=1, le=MOST)
    max_distance: float | None = Field(None, ge=0.0)
    within: Names = ()
    only: Names = ()
    without: Names = ()
    steps: Literal["slope", "classic"] = "slope"
    weights: Literal["moving", "equal"] = "moving"

    def options(self) -> Searching:
        """The settings of the library, without options that the method does not have."""
        given = self.model_dump(exclude={"query", "members", "within", "without"})
        known = described(METHODS[self.method]) if self.method in METHODS else {}
        options = {name: given[name] for name in known if name in given}
        settings = {name: given[name] for name in described(Searching) if name in given}
        return Searching.of(
            settings.pop("method"),
            options,
            **{**settings, "label": self.within, "only": self.only, "exclude": self.without},
        )

    def arguments(self) -> dict[str, Any]:
        """Settings that differ from the defaults, as arguments of `Library.search`."""
        given = self.model_dump(exclude={"query", "members"}, exclude_defaults=True, mode="json")
        known = {**described(METHODS[self.method]), **described(Searching)}
        named = {_ARGUMENTS.get(name, name): value for name, value in given.items()}
        return {name: value for name, value in named.items() if name in known}

    def flags(self) -> list[str]:
        """The same for the command line."""
        return flags(self.arguments())

    def _cli(self, verb: str, library: Path) -> str:
        return shlex.join(["motionloom", verb, str(library), self.query, *self.flags()])

    def _python(self, verb: str, library: Path) -> str:
        said = "".join(f", {name}={value!r}" for name, value in self.arguments().items())
        found = "matches" if verb == "search" else "family"
        call = f"ml.Library({str(library)!r}).{verb}({self.query!r}{said})"
        return f"import motionloom as ml; {found} = {call}"


class SearchSettings(Looking):
    """One search."""

    rank: Literal["movement", "distance"] | None = None
    exclude_query: bool = False

    def matches(self, library) -> Matches:
        """Search the library; only its own motions can be asked for."""
        return search(library, library_query(library, self.query), self.options())

    def lines(self, library: Path) -> dict[str, str]:
        """The same search for a terminal and for Python."""
        return {"cli": self._cli("search", library), "python": self._python("search", library)}


class FamilySettings(Looking):
    """One family: what is like the query, and what is like that."""

    tiers: Annotated[int, Field(ge=1, le=100)] | Literal["all"] = "all"
    same: Part = 0.8
    apart: Part = 0.2
    members: Annotated[tuple[int, ...], Field(max_length=MOST)] | None = Field(
        None, description="Numbers of the nodes to keep; all by default."
    )

    def family(self, library, progress=None) -> Family:
        """Grow it."""
        query = library_query(library, self.query)
        grown = library_family(library, query, self.options(), progress=progress)
        return grown if self.members is None else grown.only(self.members)

    def lines(self, library: Path) -> dict[str, str]:
        """The same family for a terminal (whole) and for Python (its members alone)."""
        some = "" if self.members is None else f".only({list(self.members)})"
        return {
            "cli": self._cli("family", library),
            "python": self._python("family", library) + some,
        }

    @property
    def id(self) -> str:
        """A name from which the family can be grown again, in the address of a page."""
        told = self.model_dump(exclude_defaults=True, mode="json")
        text = json.dumps(told, sort_keys=True, separators=(",", ":"))
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    @classmethod
    def of(cls, id: str) -> FamilySettings:
        """The settings that an id tells.

        >>> FamilySettings.of(FamilySettings(query="walk:0-30", max=8).id).max
        8
        """
        try:
            return cls.model_validate_json(base64.urlsafe_b64decode(id + "=" * (-len(id) % 4)))
        except (ValueError, ValidationError):
            raise InvalidInput(f"{id[:40]!r} names no family; grow one first") from None


def family_of(shop, id: str) -> Family:
    """The family of an id: kept in the workshop, or grown again.

    Parameters
    ----------
    shop : Workshop
    id : str
        As ``POST /api/families`` gave it.
    """
    settings = FamilySettings.of(id)
    if settings.members is None:
        return shop.once(("family", id), lambda: settings.family(shop.library))
    whole = family_of(shop, settings.model_copy(update={"members": None}).id)
    return shop.once(("family", id), lambda: whole.only(settings.members or ()))


def corresponding_frames(matches: Matches, length: int) -> NDArray[np.int32]:
    """For each match and each frame of the query the frame that it is aligned with."""
    times = np.arange(length)
    rows = np.zeros((len(matches), length), np.int32)
    for row, match in zip(rows, matches, strict=True):
        if len(match.alignment):
            row[:] = np.rint(corresponding(match.alignment, times))
        else:
            row[:] = np.rint(np.linspace(match.start_frame, match.end_frame - 1, length))
    return rows
