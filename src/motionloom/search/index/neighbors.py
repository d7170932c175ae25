"""Search for the k library frames nearest to a query frame, or for all within a radius."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput, LibraryError
from motionloom.features import LibraryFeatures
from motionloom.motion import Motion
from motionloom.ragged import offsets_of
from motionloom.search.candidates import Candidate
from motionloom.search.filters import chosen_mask
from motionloom.search.index.bucket_index import Answer, BucketIndex
from motionloom.search.index.shards import SHARD_ROWS, Shards
from motionloom.search.match import Match, Timeline
from motionloom.search.methods import FeatureOptions, NeighborOptions
from motionloom.search.query import Query, as_query
from motionloom.search.settings import NeighborSettings
from motionloom.settings import motion_choice
from motionloom.store.remote.folder import Folder
from motionloom.store.store import Store

INDEXES = ("bucket", "kdtree", "shards")
_NEAREST_K = 16
_VERSION = 2  # version 1 had float32 buckets without a tree


class FrameIndex(Protocol):
    """Protocol for an index; see `motionloom.search.index.bucket_index.BucketIndex`."""

    def nearest(self, queries, rows, *, k: int, radius=np.inf, epsilon=0.0, allowed=None) -> Answer:
        """Return the offsets, indices and distances of the `k` nearest vectors within `radius`."""


@dataclass(frozen=True, eq=False)
class Neighbors:
    """Neighbors of Q frames. Frame q has the entries ``offsets[q]`` to ``offsets[q + 1]``.

    Attributes
    ----------
    offsets : ndarray of int64, shape (Q + 1,)
    rows : ndarray of int64
        Indices of feature vectors of the library, nearest first; ties are in index order.
    distances : ndarray of float64
        In meters.

    Examples
    --------
    >>> import numpy as np
    >>> from motionloom.search import Neighbors
    >>> near = Neighbors(np.array([0, 2]), np.array([7, 3]), np.array([0.0, 0.1]))
    >>> near.of(0)
    (array([7, 3]), array([0. , 0.1]))
    """

    offsets: NDArray[np.int64]
    rows: NDArray[np.int64]
    distances: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def of(self, frame: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the indices and distances of a frame's neighbors."""
        part = slice(self.offsets[frame], self.offsets[frame + 1])
        return self.rows[part], self.distances[part]


def neighbors(
    queries: NDArray[np.float32],
    features: LibraryFeatures,
    index: FrameIndex,
    *,
    k: int | None = 16,
    radius: float | None = None,
    epsilon: float = 0.0,
    allowed: NDArray[np.bool_] | None = None,
) -> Neighbors:
    """Return the `k` nearest frames, all frames within `radius`, or the k nearest within `radius`.

    Parameters
    ----------
    queries : ndarray, shape (Q, D)
        Feature vectors of a motion; successive frames are faster to search than random ones.
    features : LibraryFeatures
    index : FrameIndex
        See `open_index`.
    k : int or None
        Maximum number of neighbors; None for all, which requires a radius.
    radius : float, optional
        Maximum distance in meters.
    epsilon : float
        Tolerance of an approximate search: the k-th distance is at most ``1 + epsilon`` times the
        true k-th distance. With 0, results are exact.
    allowed : ndarray of bool, shape (N,), optional
        Feature vectors that may be returned.

    Examples
    --------
    >>> from motionloom.search import neighbors, open_index
    >>> features = lib.features("e15")
    >>> index = open_index(lib.store, features, "bucket")
    >>> near = neighbors(features.rows[:2], features, index, k=4)
    >>> len(near), near.of(0)[0].shape
    (2, (4,))
    """
    check_neighborhood(k, radius)
    if not epsilon >= 0.0:
        raise InvalidInput(f"epsilon must not be negative; got {epsilon}")
    scale = features.feature_set.scale
    offsets, rows, distances = index.nearest(
        queries,
        features.rows,
        k=len(features) if k is None else min(k, len(features)),
        radius=np.inf if radius is None else radius / scale,
        epsilon=epsilon,
        allowed=allowed,
    )
    return Neighbors(offsets, rows, distances * scale)


def library_neighbors(
    library: Store,
    features: LibraryFeatures,
    vectors: NDArray[np.float32],
    options: NeighborOptions,
    motions: dict[str, Any],
    *,
    default_k: int,
    away: tuple[int, int] | None = None,
) -> Neighbors:
    """Return the neighbors of feature vectors in the selected motions, outside the range `away`."""
    mask = chosen_mask(library, features.names, **motions)
    allowed = None if mask is None else np.repeat(mask, np.diff(features.starts))
    if away is not None:
        allowed = np.ones(len(features), np.bool_) if allowed is None else allowed
        allowed[away[0] : away[1]] = False
    return neighbors(
        vectors,
        features,
        open_index(library, features, options.index),
        k=default_k if options.k is None and options.radius is None else options.k,
        radius=options.radius,
        epsilon=options.epsilon,
        allowed=allowed,
    )


def nearest_frames(
    library: Store, query: str | Path | Motion | Query, settings: NeighborSettings
) -> list[list[Match]]:
    """Return the nearest frames to each query frame, as single-frame matches.

    Examples
    --------
    >>> from motionloom.search import NeighborSettings, nearest_frames
    >>> near = nearest_frames(lib.store, "walk:10-12", NeighborSettings(k=3))
    >>> [len(frame) for frame in near]
    [3, 3]
    """
    query = as_query(library, query)
    options = FeatureOptions(features=settings.features, **vars(settings.poses))
    features, vectors = query.features(library, options)
    away = query.span(features) if settings.exclude_query else None
    near = library_neighbors(
        library, features, vectors, settings, motion_choice(settings),
        default_k=_NEAREST_K, away=away,
    )  # fmt: skip
    timeline = Timeline.of(features)

    def match(frame: int, row: int, gap: float) -> Match:
        candidate = Candidate(row, row + 1, gap, np.array([[frame, row]]))
        return timeline.match(candidate, query, library.labels)

    return [
        [match(frame, int(row), float(gap)) for row, gap in zip(*near.of(frame), strict=True)]
        for frame in range(len(near))
    ]


def check_neighborhood(k: int | None, radius: float | None) -> None:
    """Raise `InvalidInput` if `k` or `radius` is out of range, or if both are None."""
    if k is not None and k < 1:
        raise InvalidInput(f"k must be at least 1; got {k}")
    if radius is not None and not radius >= 0.0:
        raise InvalidInput(f"radius, in meters, must not be negative; got {radius}")
    if k is None and radius is None:
        raise InvalidInput("neighbors need k, a radius, or both; got neither")


def open_index(
    library: Store,
    features: LibraryFeatures,
    kind: str | None = None,
    *,
    shards: int | None = None,
) -> FrameIndex:
    """Open the index of a library's features, building it if it does not exist.

    Parameters
    ----------
    library : Store
    features : LibraryFeatures
        Features of that library.
    kind : {"bucket", "kdtree", "shards"}, optional
        Default: ``bucket``, or ``shards`` if there are more frames than fit into one shard.
        ``bucket`` is stored with the library and memory-mapped. ``kdtree`` is SciPy's, rebuilt on
        each call. ``shards`` are bucket indexes of parts of the library, for more frames than fit
        into memory; the workers of a cluster share them. All give the same results.
    shards : int, optional
        Number of shards. Default: one for every four million frames.

    Examples
    --------
    >>> from motionloom.search import open_index
    >>> index = open_index(lib.store, lib.features("e15"), "bucket")
    >>> type(index).__name__
    'BucketIndex'
    """
    if kind is None:
        kind = "bucket" if len(features) <= SHARD_ROWS else "shards"
    if kind not in INDEXES:
        raise InvalidInput(f"index must be one of {', '.join(INDEXES)}; got {kind!r}")
    if kind == "kdtree":
        return KDTree.build(features.rows)

    table = features.folder

    def build(folder: Path, previous: Folder | None) -> None:
        if kind == "shards":
            Shards.build(folder, table, shards=shards, store=library.files)
        else:
            BucketIndex.build(features.rows).save(folder)

    def load(folder: Folder) -> BucketIndex | Shards:
        try:
            return Shards.open(folder, table) if kind == "shards" else BucketIndex.open(folder)
        except (ValueError, EOFError) as error:
            raise LibraryError(f"{folder}: damaged: {error}") from None

    # The folder name of the features identifies how they were computed.
    made_from = features.folder.name.rsplit(".", 1)[0]
    options: dict[str, Any] = {"version": _VERSION, "features": made_from}
    if kind == "shards":
        options["shards"] = shards
    return library.artifacts.derive(kind, options, build=build, read=load)


class KDTree:
    """Index of N feature vectors based on SciPy's k-d tree, with the results of `BucketIndex`."""

    def __init__(self, rows: NDArray[np.float32]) -> None:
        from scipy.spatial import cKDTree  # imported only if this index is used

        self._numbers = np.flatnonzero(np.isfinite(rows).all(axis=1))
        self._tree = cKDTree(rows[self._numbers]) if len(self._numbers) else None

    @classmethod
    def build(cls, rows: NDArray[np.float32]) -> KDTree:
        """Build an index of feature vectors (N, D); vectors with missing values are skipped."""
        return cls(rows)

    def nearest(self, queries, rows, *, k: int, radius=np.inf, epsilon=0.0, allowed=None) -> Answer:
        """Return the nearest vectors; see `BucketIndex.nearest`."""
        nearest, distances = [], []
        for query in np.asarray(queries, dtype=np.float64):
            numbers = self._candidates(query, k, radius, epsilon, allowed)
            gaps = np.sqrt(np.sum((rows[numbers].astype(np.float64) - query) ** 2, axis=1))
            order = np.lexsort([numbers, gaps])
            order = order[gaps[order] <= radius][:k]
            nearest.append(numbers[order])
            distances.append(gaps[order])
        sizes = [len(part) for part in nearest]
        offsets = offsets_of(sizes)
        if not nearest:
            return offsets, np.empty(0, np.int64), np.empty(0)
        return offsets, np.concatenate(nearest).astype(np.int64), np.concatenate(distances)

    def _candidates(self, query, k, radius, epsilon, allowed):
        """Return at least the k nearest allowed vectors, including all at the k-th distance."""
        if self._tree is None or not np.isfinite(query).all():
            return np.empty(0, np.int64)
        count = min(k, self._tree.n)
        while True:
            gaps, indices = self._tree.query(
                query, count, eps=epsilon, distance_upper_bound=_above(radius)
            )
            gaps, indices = np.atleast_1d(gaps), np.atleast_1d(indices)
            numbers = self._numbers[indices[np.isfinite(gaps)]]
            kept = numbers if allowed is None else numbers[allowed[numbers]]
            if len(kept) >= k or count == self._tree.n or len(numbers) < count:
                break
            count = min(2 * count, self._tree.n)
        if epsilon > 0.0 or len(numbers) < count:
            return kept
        # The tree returns an arbitrary one of several vectors at the k-th distance; we want the
        # first.
        near = self._tree.query_ball_point(query, _above(float(gaps[len(numbers) - 1])))
        numbers = self._numbers[np.asarray(near, dtype=np.int64)]
        return numbers if allowed is None else numbers[allowed[numbers]]


def _above(distance: float) -> float:
    return distance * (1.0 + 1e-9) + 1e-12
