"""Rows of many motions, and the frames they stand for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.distance import LibraryFeatures
from motionloom.distance.feature_table import frames_per_row, row_count
from motionloom.ragged import offsets_of, row_of
from motionloom.search.candidates import Candidate
from motionloom.search.match import Match
from motionloom.search.query import Query, row_span
from motionloom.store.records import Entry


@dataclass(frozen=True, eq=False)
class Timeline:
    """Motions one after the other at one rate, and what they are in the library.

    Attributes
    ----------
    names : tuple of str, length M
    starts : ndarray of int64, shape (M + 1,)
    fps : ndarray, shape (M,)
        Rate of each motion as stored.
    frames : ndarray of int64, shape (M,)
        Frames of each motion as stored.
    rate : float
        Rate of the rows.
    """

    names: tuple[str, ...]
    starts: NDArray[np.int64]
    fps: NDArray[np.float64]
    frames: NDArray[np.int64]
    rate: float

    @classmethod
    def of(cls, features: LibraryFeatures) -> Timeline:
        """The timeline of a library's features."""
        f = features
        return cls(f.names, f.starts, np.asarray(f.fps), np.asarray(f.frames), f.rate)

    @classmethod
    def at(cls, entries: Sequence[Entry], rate: float) -> Timeline:
        """Motions of a library one after the other, at `rate`."""
        counts = [row_count(entry, rate) for entry in entries]
        return cls(
            tuple(entry.name for entry in entries),
            offsets_of(counts),
            np.array([entry.fps for entry in entries]),
            np.array([entry.frames for entry in entries], dtype=np.int64),
            float(rate),
        )

    def row_range(self, name: str, start_frame: int, end_frame: int) -> tuple[int, int]:
        """Rows of some frames of a motion."""
        m = self.names.index(name)
        first, count = int(self.starts[m]), int(self.starts[m + 1] - self.starts[m])
        start, end = row_span(start_frame, end_frame, float(self.fps[m]), self.rate, count)
        return first + start, first + end

    def match(
        self, found: Candidate, query: Query, labels: Callable[[str], tuple[str, ...]]
    ) -> Match:
        """What was found among the rows, in frames and seconds of the motion as stored."""
        m = int(row_of(self.starts, found.start))
        first = int(self.starts[m])
        rows = int(self.starts[m + 1]) - first
        fps, frames, name = float(self.fps[m]), int(self.frames[m]), self.names[m]
        per_row = frames_per_row(fps, self.rate)
        start = min(round((found.start - first) * per_row), frames - 1)
        end = frames if found.end - first == rows else round((found.end - first) * per_row)
        end = min(max(end, start + 1), frames)
        length = query.end_frame - query.start_frame
        per_query_row = frames_per_row(query.motion.fps, self.rate)
        alignment = found.path - np.array([0, first])
        if not per_row == per_query_row == 1.0:
            steps = np.rint(alignment * [per_query_row, per_row]).astype(np.int64)
            alignment = np.minimum(steps, [length - 1, frames - 1])
        return Match(
            motion=name,
            start_frame=start,
            end_frame=end,
            start=start / fps,
            end=end / fps,
            distance=found.distance,
            alignment=alignment,
            label=", ".join(labels(name)) or None,
        )
