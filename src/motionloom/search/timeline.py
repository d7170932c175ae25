"""Rows of many motions, and the frames they stand for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.distance import LibraryFeatures
from motionloom.search.match import Match
from motionloom.search.minima import Found
from motionloom.search.query import Query

_SAME_RATE = 2e-3  # 29.97 and 30 count as one rate


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

    def match(self, found: Found, query: Query, labels: Callable[[str], tuple[str, ...]]) -> Match:
        """What was found among the rows, in frames and seconds of the motion as stored."""
        m = int(np.searchsorted(self.starts, found.start, side="right")) - 1
        first = int(self.starts[m])
        rows = int(self.starts[m + 1]) - first
        fps, frames, name = float(self.fps[m]), int(self.frames[m]), self.names[m]
        per_row = _frames_per_row(fps, self.rate)
        start = min(round((found.start - first) * per_row), frames - 1)
        end = frames if found.end - first == rows else round((found.end - first) * per_row)
        end = min(max(end, start + 1), frames)
        length = query.end_frame - query.start_frame
        per_query_row = _frames_per_row(query.motion.fps, self.rate)
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


def _frames_per_row(fps: float, rate: float) -> float:
    return 1.0 if abs(fps - rate) <= _SAME_RATE * rate else fps / rate
