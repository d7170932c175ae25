"""Bounded passes over parts of a library: on the workers of a cluster, with one answer.

Each worker finds the costs up to a threshold of its own, below which its part alone has enough
alignments. Below the least of these thresholds the costs of all parts are known, and there are
enough alignments in all: that of the least threshold has them already.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from motionloom import parallel
from motionloom.errors import LibraryError
from motionloom.search.subsequence.lower_bounds import BoundedPass, SparseCosts
from motionloom.search.subsequence.run_boxes import RunBoxes
from motionloom.store.artifacts.row_table import row_range
from motionloom.store.remote.folder import Folder


@dataclass(frozen=True, eq=False)
class BoxedTable:
    """A table of feature vectors on disk, and its run boxes, for workers to map.

    Attributes
    ----------
    table, boxes : Path or RemoteFolder
        Folders of the feature vectors and of `RunBoxes`.
    starts : ndarray of int64, shape (K + 1,)
        Where each motion begins.
    """

    table: Folder
    boxes: Folder
    starts: NDArray[np.int64]

    def costs(
        self,
        query: NDArray[np.float32],
        *,
        weights: NDArray[np.float32] | None,
        allowed: NDArray[np.bool_] | None,
        reach: int,
        limit: float,
        wanted: int,
    ) -> SparseCosts:
        """As `BoundedPass.costs`, each part of the motions by another worker."""
        parts = motion_parts(self.starts, parallel.available_workers())
        work = partial(
            _part_costs,
            held=self,
            query=query,
            weights=weights,
            allowed=allowed,
            reach=reach,
            limit=limit,
            wanted=wanted,
        )
        found: list[tuple[int, SparseCosts]] = []
        with parallel.executor(tasks=len(parts)) as pool:
            for done in parallel.completed(work, parts, pool):
                if done.error is not None or done.result is None:
                    raise done.error or LibraryError(f"{self.table}: a part gave no answer")
                found.append((done.item[0], done.result))
        return merged([one for _, one in sorted(found, key=lambda pair: pair[0])])


def motion_parts(starts: NDArray[np.int64], count: int) -> list[tuple[int, int]]:
    """Ranges of motions with about the same number of frames.

    Examples
    --------
    >>> motion_parts(np.array([0, 10, 20, 100]), 2)
    [(0, 2), (2, 3)]
    """
    ideal = np.linspace(0, starts[-1], count + 1)[1:-1]
    after = np.searchsorted(starts, ideal)
    before = np.maximum(after - 1, 0)
    cuts = np.where(ideal - starts[before] < starts[after] - ideal, before, after)  # the nearer one
    bounds = np.unique(np.concatenate([[0], cuts, [len(starts) - 1]])).tolist()
    return list(zip(bounds[:-1], bounds[1:], strict=True))


def merged(parts: list[SparseCosts]) -> SparseCosts:
    """The costs of all parts up to the least of their thresholds."""
    threshold = min(part.threshold for part in parts)
    costs = np.concatenate([part.costs for part in parts])
    costs[costs > threshold] = np.inf
    return SparseCosts(np.concatenate([part.spans for part in parts]), costs, threshold)


def _part_costs(part: tuple[int, int], held: BoxedTable, query, weights, allowed, reach, **wanted):
    first, last = part
    rows, boxes = _opened(held.table, held.boxes, held.starts.tobytes())
    chosen = np.zeros(len(held.starts) - 1, np.bool_)
    chosen[first:last] = True if allowed is None else allowed[first:last]
    search = BoundedPass(
        query, rows, held.starts, boxes, weights=weights, allowed=chosen, reach=reach
    )
    return search.costs(**wanted)


@lru_cache(maxsize=4)
def _opened(table: Folder, boxes: Folder, starts: bytes):
    """Rows and boxes, mapped once per process."""
    bounds = np.frombuffer(starts, np.int64)
    rows = row_range(table, 0, int(bounds[-1]))
    return rows, RunBoxes.open(boxes, bounds, rows.shape[1])
