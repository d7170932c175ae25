"""Feature vectors of clips, and what every measure of clips must have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from motionloom.alignment.banded_dtw import Nearest, banded_matrix
from motionloom.alignment.dtw import warp
from motionloom.errors import RoleError
from motionloom.motion import Motion, Skeleton


@dataclass(frozen=True, eq=False)
class ClipVectors:
    """Feature vectors of many clips, with the columns of the joints that all have.

    Attributes
    ----------
    rows : ndarray of float32, shape (N, D)
    starts : ndarray of int64, shape (C + 1,)
        Clip c has vectors ``starts[c]`` to ``starts[c + 1]``.
    joints : tuple of str
        Joints that are compared.
    """

    rows: NDArray[np.float32]
    starts: NDArray[np.int64]
    joints: tuple[str, ...]
    made: dict = field(default_factory=dict, repr=False)  # what a measure caches

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def stack(self) -> NDArray[np.float32]:
        """Feature vectors of clips of equal length, shape (C, T, D)."""
        return self.rows.reshape(len(self), -1, self.rows.shape[1])

    @property
    def whole(self) -> NDArray[np.bool_]:
        """Which clips have no missing values, shape (C,)."""
        if "whole" not in self.made:
            bad = ~np.isfinite(self.rows.sum(axis=1, dtype=np.float64))
            self.made["whole"] = ~np.logical_or.reduceat(bad, self.starts[:-1])
        return self.made["whole"]


def mirrored(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """A square matrix that is given up to the diagonal, completed.

    Examples
    --------
    >>> mirrored(np.array([[0.0, np.nan], [3.0, 0.0]])).tolist()
    [[0.0, 3.0], [3.0, 0.0]]
    """
    upper = np.triu(np.ones(rows.shape, dtype=bool), 1)
    return np.where(upper, rows.T, rows)


class ClipMeasure(Protocol):
    """Protocol of a clip measure."""

    @property
    def name(self) -> str:
        """Name of the measure."""

    @property
    def unit(self) -> str:
        """Unit of the distances."""

    @property
    def about(self) -> str:
        """Short description."""

    @property
    def joints(self) -> tuple[str, ...]:
        """Joints that it can compare."""

    @property
    def key(self) -> Mapping[str, Any]:
        """What `clip_rows` depends on besides the motion and the name, as plain values."""

    def joints_of(self, skeleton: Skeleton) -> tuple[str, ...]:
        """Those of `joints` that a skeleton has; `RoleError` if it cannot be compared."""

    def length(self, frames: int, fps: float) -> int:
        """Number of feature vectors of a clip."""

    def clip_rows(self, motion: Motion) -> NDArray[np.float64]:
        """Feature vectors of a clip, (length, width), NaN for joints that it lacks."""

    def columns(self, joints: tuple[str, ...], width: int) -> NDArray[np.int64]:
        """Which of all `width` columns belong to some joints."""

    @property
    def symmetric(self) -> bool:
        """Whether distances are symmetric."""

    def matrix_rows(self, clips: ClipVectors, first: int, last: int) -> NDArray[np.float64]:
        """Distance from clips `first` to `last` (rows) to each (a column).

        NaN for clips with gaps and, where distances are symmetric, beyond the diagonal.
        """

    def nearest(self, query: NDArray, clips: ClipVectors, *, k: int, prune: bool = True) -> Nearest:
        """The `k` clips nearest to one with feature vectors `query`."""

    def path(self, query: NDArray, clip: NDArray) -> NDArray[np.int64]:
        """Alignment of the feature vectors of two clips, pairs (L, 2)."""


def banded_path(query: NDArray, clip: NDArray, band: float) -> NDArray[np.int64]:
    """Alignment of feature vectors (T, D) and (S, D) by banded DTW, pairs (L, 2)."""
    gaps = query[:, None, :].astype(np.float64) - clip[None]
    return warp(banded_matrix((gaps**2).sum(axis=2), band=band)).path


def enough_joints(found: tuple[str, ...], wanted: tuple[str, ...]) -> tuple[str, ...]:
    """`found`; raises `RoleError` if these are fewer than half of the joints wanted."""
    if 2 * len(found) < len(wanted):
        raise RoleError(
            f"has {len(found)} of the {len(wanted)} joints that are compared, fewer than half: "
            f"{', '.join(wanted)}"
        )
    return found


def joint_columns(joints: tuple[str, ...], some: tuple[str, ...]) -> NDArray[np.int64]:
    """Columns of some of the joints, three for each.

    Examples
    --------
    >>> joint_columns(("head", "left_wrist"), ("left_wrist",)).tolist()
    [3, 4, 5]
    """
    numbers = np.array([joints.index(joint) for joint in some], dtype=np.int64)
    return (3 * numbers[:, None] + np.arange(3)).ravel()
