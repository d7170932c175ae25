"""Find base poses, the poses that motions pass through most often.

The pose with the most neighbors within a radius is the first base pose. The next one is the pose
with the most neighbors among the remaining poses, and so on. An index counts the neighbors of a
frame by visiting only nearby rows instead of all n frames [1]_. Neighbors are counted but not
stored, so their number is not limited. With the limit `k` of the paper, up to 80 % of the frames of
captured walks have `k` neighbors, so chance decides which of them becomes a base pose.

Two rules go beyond the papers. First, frames around every pass through a base pose are excluded
(`apart`), so that motions between base poses are long enough to be blended. Second, motions must
pass through a base pose several times (`least`).

References
----------
.. [1] B. Krueger, J. Tautges, A. Weber, A. Zinke. Fast local and global similarity searches in
   large motion capture databases. SCA 2010, section 5.3.
.. [2] H. J. Shin, H. S. Oh. Fat graphs: constructing an interactive character with continuous
   controls. SCA 2006.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.ragged import Ragged
from motionloom.search.index.bucket_index import BucketIndex

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class BasePoses:
    """B base poses, and the frames at which motions pass through them.

    Attributes
    ----------
    rows : ndarray of int64, shape (B,)
        Row of each base pose, sorted by decreasing number of neighbors.
    counts : ndarray of int64, shape (B,)
        Number of neighbors of each base pose, including itself.
    passes : ndarray of int64, shape (P, 2)
        Row and base pose of each pass, sorted by row.

    Examples
    --------
    >>> import numpy as np
    >>> from motionloom.fat_graph import BasePoses
    >>> len(BasePoses(np.array([5, 9]), np.array([40, 12]), np.zeros((0, 2), int)))
    2
    """

    rows: Ints
    counts: Ints
    passes: Ints

    def __len__(self) -> int:
        return len(self.rows)


def base_poses(
    rows: Ragged,
    *,
    radius: float,
    apart: int,
    k: int | None = None,
    most: int = 8,
    least: int = 4,
) -> BasePoses:
    """Find the base poses of motions.

    Parameters
    ----------
    rows : Ragged
        Feature vectors (n, D) of the frames of each motion.
    radius : float
        Maximum distance of neighbors, in the unit of the rows.
    apart : int
        Minimum number of rows between a neighbor of one base pose and another base pose. With 0,
        only the neighbors themselves are excluded.
    k : int, optional
        Maximum number of neighbors to count. By default, all are counted. If two poses have the
        same number of neighbors, the first becomes the base pose.
    most : int
        Maximum number of base poses.
    least : int
        Minimum number of times that motions must pass through a base pose.

    Examples
    --------
    An oscillation is slowest at its turning points:

    >>> swing = np.cos(np.arange(120) * np.pi / 30)[:, None]
    >>> bases = base_poses(Ragged.from_rows([swing]), radius=0.05, apart=10, most=2, least=2)
    >>> bases.passes[:, 1].tolist()
    [0, 1, 0, 1, 0]
    """
    table, bounds = np.ascontiguousarray(rows.values, np.float32), rows.offsets
    _check(table, radius, apart, k)
    index = BucketIndex.build(table)
    counts = index.counts(table, table, radius=float(radius))
    if k is not None:
        counts = np.minimum(counts, k)
    order = np.argsort(-counts, kind="stable")
    free = np.ones(len(table), bool)
    chosen: list[int] = []
    members: list[tuple[Ints, NDArray[np.float64]]] = []
    for row in order:
        if len(chosen) == most or counts[row] < least:
            break
        if not free[row]:
            continue
        _, near, away = index.nearest(table[row][None], table, k=len(table), radius=float(radius))
        visits, _ = _visits(near, away, bounds, apart)
        _set_aside(free, near, bounds, apart)
        if len(visits) >= least:
            chosen.append(int(row))
            members.append((near, away))
    return BasePoses(
        np.array(chosen, np.int64),
        counts[chosen].astype(np.int64) if chosen else np.empty(0, np.int64),
        _all_passes(members, bounds, apart),
    )


def _all_passes(members: list[tuple[Ints, NDArray[np.float64]]], bounds: Ints, apart: int) -> Ints:
    """Return the row and base pose of every pass. If two passes are close, keep the nearer one."""
    every = []
    for number, (near, away) in enumerate(members):
        visits, gaps = _visits(near, away, bounds, apart)
        every += [(float(g), int(v), number) for v, g in zip(visits, gaps, strict=True)]
    taken: list[tuple[int, int]] = []
    motion_of = np.searchsorted(bounds, [row for _, row, _ in every], side="right")
    kept_rows: dict[int, list[int]] = {}
    for k in sorted(range(len(every)), key=lambda k: every[k]):
        _, row, number = every[k]
        others = kept_rows.setdefault(int(motion_of[k]), [])
        if all(abs(row - other) > apart // 2 for other in others):
            others.append(row)
            taken.append((row, number))
    return np.array(sorted(taken), np.int64).reshape(-1, 2)


def _visits(
    near: Ints, away: NDArray[np.float64], bounds: Ints, apart: int
) -> tuple[Ints, NDArray[np.float64]]:
    """Return the nearest row of each run of consecutive rows near a pose, and its distance."""
    order = np.argsort(near)
    near, away = near[order], away[order]
    motion = np.searchsorted(bounds, near, side="right")
    breaks = (np.diff(near) > max(apart // 2, 1)) | (np.diff(motion) > 0)
    parts = np.split(np.arange(len(near)), np.flatnonzero(breaks) + 1)
    best = np.array([part[np.argmin(away[part])] for part in parts], np.int64)
    return near[best], away[best]


def _set_aside(free: NDArray[np.bool_], near: Ints, bounds: Ints, apart: int) -> None:
    """Exclude rows of the same motion within `apart` of the rows `near`."""
    motion = np.searchsorted(bounds, near, side="right")
    low = np.maximum(near - apart, bounds[motion - 1])
    high = np.minimum(near + apart + 1, bounds[motion])
    for first, last in zip(low, high, strict=True):
        free[first:last] = False


def _check(table, radius, apart, k) -> None:
    if table.ndim != 2 or not len(table) or not np.all(np.isfinite(table)):
        raise InvalidInput(
            f"rows must be a 2-D array of finite numbers, at least one row; got shape {table.shape}"
        )
    if not (np.isfinite(radius) and radius > 0.0):
        raise InvalidInput(f"radius must be positive; got {radius}")
    if apart < 0:
        raise InvalidInput(f"apart must not be negative; got {apart}")
    if k is not None and k < 1:
        raise InvalidInput(f"k must be at least 1; got {k}")
