"""Queries: a segment of a library, a motion, or a file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput, LibraryError
from motionloom.features import LibraryFeatures, library_features
from motionloom.features.feature_table import frames_per_row
from motionloom.formats import holds_motion, is_marker_file, load
from motionloom.motion import Motion
from motionloom.motion.segment import Segment, split_segment
from motionloom.search.methods import FeatureOptions
from motionloom.store.store import Store

if TYPE_CHECKING:
    from motionloom.search.match_graph.members import Node


@dataclass(frozen=True, eq=False)
class Query:
    """A segment of a motion to search for.

    Attributes
    ----------
    text : str
        The query as a user would type it.
    motion : Motion
        The whole motion that the segment belongs to.
    start_frame, end_frame : int
        Half-open range of frames in that motion.
    name : str or None
        Name of the motion in the library, or None if the library does not contain it.
    """

    text: str
    motion: Motion
    start_frame: int
    end_frame: int
    name: str | None

    @classmethod
    def at(cls, library: Store, node: Node) -> Query:
        """Return a family member as a query."""
        return cls(node.text, library[node.motion], node.start_frame, node.end_frame, node.motion)

    @property
    def clip(self) -> Motion:
        """Segment to search for, as a motion."""
        return self.motion[self.start_frame : self.end_frame]

    def mirrored(self) -> Query:
        """Return the query with left and right exchanged, as a motion outside the library."""
        return Query(self.text, self.motion.mirror(), self.start_frame, self.end_frame, None)

    def span(self, features: LibraryFeatures) -> tuple[int, int] | None:
        """Return the range of the query in a library's feature vectors, or None if absent."""
        if self.name is None or self.name in features.left_out:
            return None
        m = features.motion_index(self.name)
        first = features.row_index(m, self.start_frame)
        last = features.row_index(m, self.end_frame - 1) + 1
        return int(features.starts[m]) + first, int(features.starts[m]) + last

    def features(
        self, library: Store, options: FeatureOptions
    ) -> tuple[LibraryFeatures, NDArray[np.float32]]:
        """Return the features of the library and of the query, at the same rate, shape (M, D)."""
        estimated = bool(self.motion.origin.expected_error)  # a film does not show a body's size
        features = library_features(
            library,
            options.features,
            normalize=options.normalize,
            scale_free=options.scale_free if options.scale_free is not None else estimated or None,
        )
        span = self.span(features)
        if span is not None:
            vectors = np.asarray(features.rows[span[0] : span[1]])
        else:
            vectors = self.cut(features.of(self.motion), features.rate)
        self.check_length(len(vectors), features.rate)
        if not np.isfinite(vectors).all():
            bad = int(np.flatnonzero(~np.isfinite(vectors).all(axis=1))[0])
            raise InvalidInput(
                f"{self.text}: a query must not have missing values, but frame {bad} has some"
            )
        return features, vectors

    def cut(self, values: NDArray, rate: float) -> NDArray:
        """Cut the query's values from per-frame values of the whole motion at `rate`."""
        return values[slice(*self.row_span(rate, len(values)))]

    def row_span(self, rate: float, count: int) -> tuple[int, int]:
        """Return the query's range in the `count` frames of the whole motion at `rate`."""
        return row_span(self.start_frame, self.end_frame, self.motion.fps, rate, count)

    def check_length(self, count: int, rate: float) -> None:
        """Raise `InvalidInput` if the query has fewer than two frames at the rate of the search."""
        if count < 2:
            raise InvalidInput(
                f"{self.text}: a query must have at least two frames at {rate:g} fps; got {count}"
            )


def row_span(
    start_frame: int, end_frame: int, fps: float, rate: float, count: int
) -> tuple[int, int]:
    """Convert a frame range at `fps` to `rate`, for a motion with `count` frames at `rate`.

    Examples
    --------
    >>> row_span(40, 81, 120.0, 30.0, 100), row_span(2900, 2960, 29.97, 30.0, 3000)
    ((10, 21), (2900, 2960))
    """
    per_row = frames_per_row(fps, rate)
    first, last = (min(round(frame / per_row), count - 1) for frame in (start_frame, end_frame - 1))
    return first, last + 1


def as_query(library: Store, query: str | Path | Motion | Query) -> Query:
    """Convert a string, path or motion to a query.

    Parameters
    ----------
    library : Store
    query : str, Path or Motion
        A `Motion`, a motion name in the library, or a file. A name or file may be followed by
        ``:START-END``, in frames, or in seconds with a trailing ``s``.

    Raises
    ------
    InvalidInput
        If the range is not within the motion, or is shorter than two frames.
    LibraryError
        If there is neither a motion nor a file of that name.
    """
    if isinstance(query, Query):
        return query
    if isinstance(query, Motion):
        return _query(query.name or "motion", query, None)
    text = str(query)
    whole = os.path.exists(text) or text in library  # a name may itself look like NAME:START-END
    name = text if whole else split_segment(text)[0]
    if name in library:
        return _query(text, library[name], name, whole=whole)
    if os.path.isfile(name):
        if is_marker_file(Path(name)) and not holds_motion(Path(name)):
            raise InvalidInput(
                f"{name} contains markers without a skeleton, but a query must be a motion"
            )
        return _query(text, load(name), None, whole=whole)
    try:
        library.entry(name)
    except LibraryError as error:
        raise LibraryError(f"{error} (there is also no file named {name})") from None
    raise LibraryError(f"{library.path}: the library has no motion named {name!r}")


def library_query(library: Store, text: str) -> Query:
    """Convert ``NAME:START-END`` or ``NAME`` to a query; files are not accepted.

    Raises
    ------
    InvalidInput
        If the range is not within the motion, or is shorter than two frames.
    LibraryError
        If there is no such motion.
    """
    whole = text in library  # a name may look like a name with a range
    name = text if whole else split_segment(text)[0]
    return _query(text, library[library.entry(name).name], name, whole=whole)


def _query(text: str, motion: Motion, name: str | None, *, whole: bool = True) -> Query:
    part = Segment(text, 0, len(motion)) if whole else Segment.parse(text, motion)
    if len(part) < 2:
        raise InvalidInput(f"{text}: a query must have at least two frames; got {len(part)}")
    return Query(text, motion, part.start_frame, part.end_frame, name)
