"""What can be asked of a search: one set of options, checked once, for all methods.

Which matches are wanted: how many, how near, how long, and apart from each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.alignment.dtw import check_steps
from motionloom.distance import FeatureSet
from motionloom.errors import InvalidInput
from motionloom.search.candidates import MAX_OVERLAP, Limits
from motionloom.search.filters import chosen_mask
from motionloom.search.index.neighbours import check_neighbourhood
from motionloom.search.match_graph.family import APART, SAME
from motionloom.search.rerank import RANKS
from motionloom.store.store import Store

DEFAULT_MAX = 100


@dataclass(frozen=True)
class Options:
    """How to search; see `motionloom.Library.search`.

    Raises
    ------
    InvalidInput
        If a value means nothing.

    Examples
    --------
    >>> from motionloom.search import Options
    >>> Options().method
    'dtw'
    """

    method: str = "dtw"
    features: str | FeatureSet | Any = "e15"
    distance: str | Any = "pc11"
    k: int | None = None
    radius: float | None = None
    max_matches: int | None = DEFAULT_MAX
    max_distance: float | None = None
    within: str | Iterable[str] | None = None
    only: str | Iterable[str] | None = None
    without: str | Iterable[str] | None = None
    steps: str = "slope"
    weights: str | None = "moving"
    speed_seconds: float = 0.15
    rank: str | None = None
    index: str = "blocks"
    epsilon: float = 0.0
    bridge: int | None = None
    durations: tuple[float, float] = (0.0, float("inf"))
    max_overlap: float = MAX_OVERLAP
    same: float = SAME
    apart: float = APART
    exclude_query: bool = False
    normalize: str | None = None
    scale_free: bool | None = None

    def __post_init__(self) -> None:
        check_steps(self.steps)
        if self.k is not None or self.radius is not None:
            check_neighbourhood(self.k, self.radius)
        if self.weights not in (None, "moving"):
            raise InvalidInput(f"weights must be 'moving' or None; got {self.weights!r}")
        if self.rank is not None and self.rank not in RANKS:
            raise InvalidInput(f"rank must be one of {', '.join(RANKS)}; got {self.rank!r}")
        if self.max_matches is not None and self.max_matches < 1:
            raise InvalidInput(f"max must be at least 1; got {self.max_matches}")
        if self.max_distance is not None and not self.max_distance >= 0.0:
            raise InvalidInput(f"max_distance must not be negative; got {self.max_distance}")
        if not self.speed_seconds >= 0.0:
            raise InvalidInput(f"speed_seconds must not be negative; got {self.speed_seconds}")
        if not 0.0 <= self.max_overlap < 1.0:
            raise InvalidInput(f"max_overlap must lie in 0..1; got {self.max_overlap}")
        if self.bridge is not None and self.bridge < 0:
            raise InvalidInput(f"bridge must not be negative; got {self.bridge}")
        low, high = self.durations
        if not 0.0 <= low <= high:
            raise InvalidInput(f"durations must be least and greatest ratio; got {self.durations}")

    @classmethod
    def of(cls, others: dict[str, Any], **named: Any) -> Options:
        """Those that a function names, and others that it was given by name.

        Examples
        --------
        >>> Options.of({"steps": "classic"}, method="lazy").steps
        'classic'
        """
        known = {field.name for field in fields(cls)} - {"max_matches", *named}
        for name in others:
            if name not in known:
                raise InvalidInput(f"no option {name!r}; there are {', '.join(sorted(known))}")
        return cls(**named, **others)

    def allowed(self, library: Store, names: Sequence[str]) -> NDArray[np.bool_] | None:
        """Which of some motions are to be searched, shape (M,); None for all."""
        return chosen_mask(library, names, within=self.within, only=self.only, without=self.without)

    def limits(self, occupied: Sequence[tuple[int, int]] = (), *, scale: float = 1.0) -> Limits:
        """What may be found, among rows whose distances times `scale` are metres."""
        return Limits(
            max_matches=self.max_matches,
            max_distance=np.inf if self.max_distance is None else self.max_distance / scale,
            max_overlap=self.max_overlap,
            durations=self.durations,
            occupied=tuple(occupied),
        )
