"""Claims of a paper: its statement, the figures measured here, and a rule that decides."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from motionloom.errors import InvalidInput
from reproduction.data import Data

__all__ = ["Claim", "Data", "Paper", "not_tested", "report"]

HOLDS, FAILS, NOT_TESTED = "holds", "does not hold", "not tested"
Number = float | int
Table = tuple[Sequence[str], Sequence[Sequence[object]]]


@dataclass(frozen=True)
class Paper:
    """A paper, and the pages of the documentation about its methods.

    Attributes
    ----------
    key : str
        Its name on the command line: ``kg04``.
    slug : str
        Name of its page in ``docs/evidence/papers``, without the suffix.
    name : str
        Authors and year.
    title : str
        Title and venue.
    summary : str
        The contribution of the paper and how well it can be reproduced, in a few sentences.
    pages : tuple of str
        Paths in ``docs`` of pages about its methods.
    """

    key: str
    slug: str
    name: str
    title: str
    summary: str
    pages: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One statement of a paper, tested on open data.

    Attributes
    ----------
    place : str
        Table, figure or section of the paper.
    statement : str
        The statement, in one sentence.
    paper : str or mapping of str to number
        The paper's figures; empty where it gives none.
    ours : mapping of str to number
        The figures measured here. Names are identifiers.
    rule : str
        A Python expression over the names in `ours`, and over ``paper_NAME`` for the numbers in
        `paper`. The claim holds if it is true.
    data : str
        The data used.
    note : str
        Definitions and caveats that a reader needs to judge the figures.
    table : (header, rows), optional
        Detailed figures.
    picture : str, optional
        File name in ``docs/pictures``.
    reason : str
        Why the claim was not tested. Such a claim has no figures and no rule.

    Examples
    --------
    >>> claim = Claim(place="Figure 5", statement="EMD finds more than DTW.",
    ...               ours={"emd": 0.85, "dtw": 0.82}, rule="emd > dtw", data="115 clips")
    >>> claim.outcome
    'holds'
    """

    place: str
    statement: str
    paper: str | Mapping[str, Number] = ""
    ours: Mapping[str, Number] = field(default_factory=dict)
    rule: str = ""
    data: str = ""
    note: str = ""
    table: Table | None = None
    picture: str | None = None
    reason: str = ""

    def __post_init__(self) -> None:
        if bool(self.reason) == bool(self.rule):
            raise InvalidInput(
                f"{self.place}: a claim needs either a rule or a reason why it was not tested"
            )
        if self.rule:
            _ = self.outcome

    @property
    def outcome(self) -> str:
        """``holds``, ``does not hold`` or ``not tested``."""
        if self.reason:
            return NOT_TESTED
        names: dict[str, Any] = {"min": min, "max": max, "abs": abs}
        names |= {name: _plain(value) for name, value in self.ours.items()}
        if not isinstance(self.paper, str):
            names |= {f"paper_{name}": value for name, value in self.paper.items()}
        try:
            return HOLDS if eval(self.rule, {"__builtins__": {}}, names) else FAILS
        except Exception as error:
            raise InvalidInput(f"{self.place}: rule {self.rule!r}: {error}") from None

    def as_json(self) -> dict[str, Any]:
        """The claim as JSON-serializable data."""
        return {
            "place": self.place,
            "statement": self.statement,
            "paper": self.paper if isinstance(self.paper, str) else dict(self.paper),
            "ours": {name: _plain(value) for name, value in self.ours.items()},
            "rule": self.rule,
            "outcome": self.outcome,
            "data": self.data,
            "note": self.note,
            "table": self.table
            and [list(self.table[0]), [[_plain(cell) for cell in row] for row in self.table[1]]],
            "picture": self.picture,
            "reason": self.reason,
        }


def not_tested(place: str, statement: str, reason: str) -> Claim:
    """A claim that was not tested, with the reason."""
    return Claim(place=place, statement=statement, reason=reason)


Part = Callable[[Data], Iterator[Claim]]


def report(module: ModuleType, data: Data, *, only: str = "") -> dict[str, Any]:
    """Run the parts of a paper and collect their claims.

    Parameters
    ----------
    module : module
        A module of this folder with ``PAPER`` and ``PARTS``.
    data : Data
    only : str
        Run only the parts whose name contains this string.

    Returns
    -------
    report : dict
        ``{name, slug, authors, title, summary, pages, seconds, claims: [...]}``. Seconds are
        processor time, by part.
    """
    paper: Paper = module.PAPER
    parts: Sequence[Part] = [part for part in module.PARTS if only in part.__name__]
    if not parts:
        names = ", ".join(part.__name__ for part in module.PARTS)
        raise InvalidInput(f"{paper.key} has no part named like {only!r}. Its parts: {names}")
    claims, seconds = [], {}
    for part in parts:
        data.log(f"{paper.key}: {part.__name__}")
        start = time.process_time()
        claims += [claim.as_json() for claim in part(data)]
        seconds[part.__name__] = round(time.process_time() - start, 1)
    return {
        "name": paper.key,
        "slug": paper.slug,
        "authors": paper.name,
        "title": paper.title,
        "summary": paper.summary,
        "pages": list(paper.pages),
        "seconds": seconds,
        "claims": claims,
    }


def _plain(value: Any) -> Any:
    """Convert a NumPy number to a Python number; return other values unchanged."""
    return value.item() if hasattr(value, "item") else value
