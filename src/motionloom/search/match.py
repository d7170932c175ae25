"""`Match`: where something alike happens. Every search of motionloom returns these."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Match:
    """A stretch of a motion that is like the query.

    Attributes
    ----------
    motion : str
        Name of the motion in the library.
    start_frame, end_frame : int
        Half-open range of frames of the motion as stored.
    start, end : float
        The same in seconds.
    distance : float
        Metres per cell of the alignment (for measures with a unit of their own, in that).
    tier : int
        1: found by the query itself; 2: by a match of the first tier; and so on.
    alignment : ndarray of int, shape (L, 2)
        Pairs of query frame, counted from the query's start, and frame of the motion.
    label : str or None
        The motion's labels.

    Examples
    --------
    >>> hit = lib.search("walk:0-40")[0]
    >>> hit.motion in lib, hit.end_frame > hit.start_frame
    (True, True)
    """

    motion: str
    start_frame: int
    end_frame: int
    start: float
    end: float
    distance: float
    tier: int = 1
    alignment: NDArray[np.int64] = field(
        default_factory=lambda: np.empty((0, 2), np.int64), repr=False
    )
    label: str | None = None

    @property
    def text(self) -> str:
        """``NAME:START-END``, as a query is written."""
        return f"{self.motion}:{self.start_frame}-{self.end_frame}"

    def file_name(self, rank: int) -> str:
        """What a file with this stretch is called, without suffix: safe on every system.

        >>> Match("kicks/86 01", 10, 40, 0.33, 1.33, 0.02).file_name(3)
        '003_kicks_86_01_10-40'
        """
        name = re.sub(r"[^\w.-]+", "_", self.motion)
        return f"{rank:03d}_{name}_{self.start_frame}-{self.end_frame}"

    def as_dict(self) -> dict[str, Any]:
        """The match as plain data, without the alignment."""
        return {
            "motion": self.motion,
            "start_frame": self.start_frame,
            "end_frame": self.end_frame,
            "start": round(self.start, 6),
            "end": round(self.end, 6),
            "distance": self.distance,
            "tier": self.tier,
            "label": self.label,
        }


class Matches(Sequence[Match]):
    """Matches in order of rank, the nearest first; `unit` is what distances are told in.

    Examples
    --------
    >>> found = Matches([Match("walk", 0, 30, 0.0, 1.0, 0.02)], query="walk:0-30")
    >>> len(found), found[0].motion, found.to_json()[0]["distance"]
    (1, 'walk', 0.02)
    """

    def __init__(self, matches: Sequence[Match], *, query: str = "", unit: str = "m") -> None:
        self._matches = tuple(matches)
        self.query = query
        self.unit = unit

    def __len__(self) -> int:
        return len(self._matches)

    @overload
    def __getitem__(self, index: int) -> Match: ...
    @overload
    def __getitem__(self, index: slice) -> Matches: ...
    def __getitem__(self, index):
        if isinstance(index, slice):
            return Matches(self._matches[index], query=self.query, unit=self.unit)
        return self._matches[index]

    def __iter__(self) -> Iterator[Match]:
        return iter(self._matches)

    def __repr__(self) -> str:
        return f"Matches({len(self)} of {self.query!r})"

    def to_json(self) -> list[dict[str, Any]]:
        """The matches as plain data, in order of rank."""
        return [match.as_dict() for match in self._matches]

    def _repr_html_(self) -> str:
        names = ("motion", "start", "end", f"distance ({self.unit})", "tier")
        head = f"<tr>{''.join(f'<th>{name}</th>' for name in names)}</tr>"
        rows = "".join(
            f"<tr><td>{escape(match.motion)}</td><td>{match.start:.2f} s</td>"
            f"<td>{match.end:.2f} s</td><td>{match.distance:.4f}</td><td>{match.tier}</td></tr>"
            for match in self._matches
        )
        return f"<table>{head}{rows}</table>"
