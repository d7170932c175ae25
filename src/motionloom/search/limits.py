"""Which matches are wanted: how many, how near, how long, and apart from each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

# Adjacent repetitions of an action may share this part of the shorter of the two.
MAX_OVERLAP = 0.3


@dataclass(frozen=True)
class Limits:
    """What may be found.

    Parameters
    ----------
    max_matches : int or None
        At most so many.
    max_distance : float
        Mean distance per cell, in the unit of the rows.
    max_overlap : float
        Part of the shorter of two matches that they may share.
    durations : tuple of float
        Least and greatest length of a match, in lengths of the query.
    occupied : sequence of (start, end)
        Rows that matches must keep away from.

    Examples
    --------
    >>> limits = Limits(durations=(0.5, 2.0), occupied=[(0, 10)])
    >>> limits.allows(30, query=10), limits.taken().add(5, 15)
    (False, False)
    """

    max_matches: int | None = None
    max_distance: float = np.inf
    max_overlap: float = MAX_OVERLAP
    durations: tuple[float, float] = (0.0, np.inf)
    occupied: Sequence[tuple[int, int]] = ()

    def allows(self, length: int, *, query: int) -> bool:
        """Whether a match may have so many rows, for a query of `query` rows."""
        shortest, longest = self.durations
        return shortest * query <= length <= longest * query

    def reached(self, count: int) -> bool:
        """Whether so many matches are all that are wanted."""
        return self.max_matches is not None and count >= self.max_matches

    def taken(self) -> Taken:
        """Where matches are, when there are none yet."""
        return Taken(self.max_overlap, self.occupied)


ANY = Limits()
"""All that can be found, each place once."""


class Taken:
    """Row ranges taken so far; a new one is refused if it shares too much with one."""

    def __init__(self, max_overlap: float, occupied: Sequence[tuple[int, int]] = ()) -> None:
        self.max_overlap = max_overlap
        self._ranges: dict[int, list[tuple[int, int]]] = {}
        for start, end in occupied:
            self.add(start, end)

    def add(self, start: int, end: int) -> bool:
        """Take the range if it overlaps none too much; tell whether it was taken."""
        cells = range(start >> 8, (end >> 8) + 1)
        for cell in cells:
            for a, b in self._ranges.get(cell, ()):
                shared = min(b, end) - max(a, start)
                if shared > self.max_overlap * min(b - a, end - start):
                    return False
        for cell in cells:
            self._ranges.setdefault(cell, []).append((start, end))
        return True
