"""What is searched for: a stretch of a library, a motion, or a file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from motionloom.distance import LibraryFeatures
from motionloom.distance.feature_table import frames_per_row
from motionloom.errors import InvalidInput, LibraryError
from motionloom.formats import is_marker_file, load
from motionloom.motion import Motion
from motionloom.motion.segment import Segment, split_segment
from motionloom.search.match_graph.graph import Node
from motionloom.store.store import Store


@dataclass(frozen=True, eq=False)
class Query:
    """A stretch of a motion.

    Attributes
    ----------
    text : str
        As the user would write it.
    motion : Motion
        The whole motion that it is a stretch of.
    start_frame, end_frame : int
        Frames of that motion.
    name : str or None
        Its name in the library, if it is there.
    """

    text: str
    motion: Motion
    start_frame: int
    end_frame: int
    name: str | None

    @classmethod
    def at(cls, library: Store, node: Node) -> Query:
        """A member of a family, to search on from."""
        return cls(node.text, library[node.motion], node.start_frame, node.end_frame, node.motion)

    @property
    def clip(self) -> Motion:
        """The stretch alone."""
        return self.motion[self.start_frame : self.end_frame]

    def row_range(self, features: LibraryFeatures) -> tuple[int, int] | None:
        """Rows of the query among those of the library; None if it is not there."""
        if self.name is None or self.name in features.left_out:
            return None
        m = features.motion_index(self.name)
        first = features.row_index(m, self.start_frame)
        last = features.row_index(m, self.end_frame - 1) + 1
        return int(features.starts[m]) + first, int(features.starts[m]) + last

    def rows(self, features: LibraryFeatures) -> NDArray[np.float32]:
        """Features of the query's frames, at the rate of the library's, shape (M, D)."""
        where = self.row_range(features)
        if where is not None:
            rows = np.asarray(features.rows[where[0] : where[1]])
        else:
            rows = self.cut_rows(features.of(self.motion), features.rate)
        self.check_length(len(rows), features.rate)
        if not np.isfinite(rows).all():
            bad = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
            raise InvalidInput(
                f"{self.text}: a query must have no missing values; frame {bad} of it has some"
            )
        return rows

    def cut_rows(self, rows: NDArray, rate: float) -> NDArray:
        """Of the rows of the whole motion at some rate, those of the query."""
        return rows[slice(*self.row_span(rate, len(rows)))]

    def row_span(self, rate: float, count: int) -> tuple[int, int]:
        """Rows of the query among the `count` of the whole motion at some rate."""
        return row_span(self.start_frame, self.end_frame, self.motion.fps, rate, count)

    def check_length(self, count: int, rate: float) -> None:
        """Complain about a query that has fewer than two frames at the rate of the search."""
        if count < 2:
            raise InvalidInput(
                f"{self.text}: a query must have at least two frames at {rate:g} fps; got {count}"
            )


def row_span(
    start_frame: int, end_frame: int, fps: float, rate: float, count: int
) -> tuple[int, int]:
    """Rows that stand for frames of a motion of `fps`, which has `count` rows at `rate`.

    Examples
    --------
    >>> row_span(40, 81, 120.0, 30.0, 100), row_span(2900, 2960, 29.97, 30.0, 3000)
    ((10, 21), (2900, 2960))
    """
    per_row = frames_per_row(fps, rate)
    first, last = (min(round(frame / per_row), count - 1) for frame in (start_frame, end_frame - 1))
    return first, last + 1


def as_query(library: Store, query: str | Path | Motion | Query) -> Query:
    """The query that the user means.

    Parameters
    ----------
    library : Store
    query : str, Path or Motion
        ``NAME:START-END`` of the library in frames, or in seconds with an ``s``; ``NAME``;
        a file, with or without a range; or a motion.

    Raises
    ------
    InvalidInput
        If the range is not within the motion or shorter than two frames.
    LibraryError
        If there is no such motion and no such file.
    """
    if isinstance(query, Query):
        return query
    if isinstance(query, Motion):
        return _query(query.name or "motion", query, None)
    text = str(query)
    whole = os.path.exists(text) or text in library  # a name may look like one with a range
    name = text if whole else split_segment(text)[0]
    if name in library:
        return _query(text, library[name], name, whole=whole)
    if os.path.isfile(name):
        if is_marker_file(Path(name)):
            raise InvalidInput(f"{name} holds markers without a skeleton; a query is a motion")
        return _query(text, load(name), None, whole=whole)
    try:
        library.entry(name)
    except LibraryError as error:
        raise LibraryError(f"{error} (and there is no file {name})") from None
    raise LibraryError(f"{library.path}: no motion {name!r}")


def library_query(library: Store, text: str) -> Query:
    """The stretch of a library that ``NAME:START-END`` or ``NAME`` means; never a file.

    Raises
    ------
    InvalidInput
        If the range is not within the motion or shorter than two frames.
    LibraryError
        If there is no such motion.
    """
    whole = text in library  # a name may look like one with a range
    name = text if whole else split_segment(text)[0]
    return _query(text, library[library.entry(name).name], name, whole=whole)


def _query(text: str, motion: Motion, name: str | None, *, whole: bool = True) -> Query:
    part = Segment(text, 0, len(motion)) if whole else Segment.parse(text, motion)
    if len(part) < 2:
        raise InvalidInput(f"{text}: a query must have at least two frames; got {len(part)}")
    return Query(text, motion, part.start_frame, part.end_frame, name)
