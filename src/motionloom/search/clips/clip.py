"""Whole clips as rows of numbers, and what a measure of them can do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from motionloom.alignment.banded_dtw import Nearest
from motionloom.motion import Motion, Skeleton


@dataclass(frozen=True, eq=False)
class Clips:
    """Rows of many clips, with the columns of the joints that all have.

    Attributes
    ----------
    rows : ndarray of float32, shape (N, D)
    starts : ndarray of int64, shape (C + 1,)
        Clip c has rows ``starts[c]`` to ``starts[c + 1]``.
    joints : tuple of str
        What they are compared by.
    """

    rows: NDArray[np.float32]
    starts: NDArray[np.int64]
    joints: tuple[str, ...]
    made: dict = field(default_factory=dict, repr=False)  # what a measure keeps for the next call

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def stack(self) -> NDArray[np.float32]:
        """Rows of clips of one length, shape (C, T, D)."""
        return self.rows.reshape(len(self), -1, self.rows.shape[1])

    @property
    def whole(self) -> NDArray[np.bool_]:
        """Which clips have no missing values, shape (C,)."""
        if "whole" not in self.made:
            bad = ~np.isfinite(self.rows.sum(axis=1, dtype=np.float64))
            self.made["whole"] = ~np.logical_or.reduceat(bad, self.starts[:-1])
        return self.made["whole"]


def clip_distances(measure: ClipMeasure, clips: Clips) -> NDArray[np.float64]:
    """Distance from each clip (a row) to each (a column), NaN for clips with gaps."""
    rows = measure.matrix_rows(clips, 0, len(clips))
    return mirrored(rows) if measure.symmetric else rows


def mirrored(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """A square table that is given up to the diagonal, with the other half.

    Examples
    --------
    >>> mirrored(np.array([[0.0, np.nan], [3.0, 0.0]])).tolist()
    [[0.0, 3.0], [3.0, 0.0]]
    """
    behind = np.triu(np.ones(rows.shape, dtype=bool), 1)
    return np.where(behind, rows.T, rows)


def artifact_key(measure: ClipMeasure) -> str:
    """Text that identifies a measure in the names of artifacts.

    It has the class names of release 0.1, so that tables written by it are still found.
    """
    text = repr(measure).replace("kind='summary'", "kind='gist'")
    for name, old in (("EmdMeasure", "EnergyMeasure"), ("FrameDistanceMeasure", "GridMeasure")):
        text = text.replace(f"{name}(", f"{old}(")
    return text


class ClipMeasure(Protocol):
    """What a measure has; see `motionloom.search.clips.measures`."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def unit(self) -> str:
        """What distances are measured in."""

    @property
    def about(self) -> str:
        """What it is, in a few words."""

    @property
    def joints(self) -> tuple[str, ...]:
        """What it can compare; those that a skeleton lacks are left out."""

    def joints_of(self, skeleton: Skeleton) -> tuple[str, ...]:
        """Those of `joints` that a skeleton has; `RoleError` if it cannot be compared."""

    def length(self, frames: int, fps: float) -> int:
        """How many rows a clip has."""

    def clip_rows(self, motion: Motion) -> NDArray[np.float64]:
        """Rows of a clip, (length, width), NaN for joints that it lacks."""

    def columns(self, joints: tuple[str, ...], width: int) -> NDArray[np.int64]:
        """Which of all `width` columns those of some joints are."""

    @property
    def symmetric(self) -> bool:
        """Whether it is as far from one clip to another as back."""

    def matrix_rows(self, clips: Clips, first: int, last: int) -> NDArray[np.float64]:
        """Distance from clips `first` to `last` (rows) to each (a column).

        NaN for clips with gaps; where distances are symmetric, behind the diagonal too.
        """

    def nearest(self, query: NDArray, clips: Clips, *, k: int, prune: bool = True) -> Nearest:
        """The `k` clips nearest to one with rows `query`."""

    def path(self, query: NDArray, clip: NDArray) -> NDArray[np.int64]:
        """Which rows of two clips belong together, pairs (L, 2)."""
