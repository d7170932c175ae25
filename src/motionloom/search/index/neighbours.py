"""The nearest frames of a library to given ones: k nearest, or all within a radius."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from motionloom.distance import LibraryFeatures
from motionloom.errors import InvalidInput, LibraryError
from motionloom.search.index.bucket_index import BucketIndex
from motionloom.search.index.shards import SHARD_ROWS, Shards
from motionloom.store.remote.folder import Folder
from motionloom.store.store import Store

INDEXES = ("blocks", "kdtree", "shards")
_VERSION = 1


class FrameIndex(Protocol):
    """Protocol of an index; see `motionloom.search.index.bucket_index.BucketIndex`."""

    def nearest(
        self,
        queries: NDArray[np.float32],
        rows: NDArray[np.float32],
        *,
        k: int,
        radius: float = np.inf,
        epsilon: float = 0.0,
        allowed: NDArray[np.bool_] | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Offsets, rows and distances of the `k` nearest rows within `radius`."""


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Neighbours of Q frames; those of frame q are entries ``offsets[q]:offsets[q + 1]``.

    Attributes
    ----------
    offsets : ndarray of int64, shape (Q + 1,)
    rows : ndarray of int64
        Rows of the library's features: the nearest first, of equal distances the first.
    distances : ndarray of float64
        In metres.

    Examples
    --------
    >>> import numpy as np
    >>> from motionloom.search import Neighbours
    >>> near = Neighbours(np.array([0, 2]), np.array([7, 3]), np.array([0.0, 0.1]))
    >>> near.of(0)
    (array([7, 3]), array([0. , 0.1]))
    """

    offsets: NDArray[np.int64]
    rows: NDArray[np.int64]
    distances: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def of(self, frame: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Rows and distances of the neighbours of one frame."""
        part = slice(self.offsets[frame], self.offsets[frame + 1])
        return self.rows[part], self.distances[part]


def neighbours(
    queries: NDArray[np.float32],
    features: LibraryFeatures,
    index: FrameIndex,
    *,
    k: int | None = 16,
    radius: float | None = None,
    epsilon: float = 0.0,
    allowed: NDArray[np.bool_] | None = None,
) -> Neighbours:
    """The `k` nearest frames, those within `radius`, or the k nearest of those.

    Parameters
    ----------
    queries : ndarray, shape (Q, D)
        Rows of a motion; frames in a row are found faster than any.
    features : LibraryFeatures
    index : FrameIndex
        See `open_index`.
    k : int or None
        At most so many; None for all, which needs a radius.
    radius : float, optional
        Metres.
    epsilon : float
        0 for exact answers; otherwise the k-th distance is at most ``1 + epsilon`` times
        the true one.
    allowed : ndarray of bool, shape (N,), optional
        Rows that may be found.

    Examples
    --------
    >>> from motionloom.search import neighbours, open_index
    >>> features = lib.features("e15")
    >>> index = open_index(lib, features, "blocks")
    >>> near = neighbours(features.rows[:2], features, index, k=4)
    >>> len(near), near.of(0)[0].shape
    (2, (4,))
    """
    check_neighbourhood(k, radius)
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
    return Neighbours(offsets, rows, distances * scale)


def check_neighbourhood(k: int | None, radius: float | None) -> None:
    """Complain about a k or a radius that mean nothing."""
    if k is not None and k < 1:
        raise InvalidInput(f"k must be at least 1; got {k}")
    if radius is not None and not radius >= 0.0:
        raise InvalidInput(f"radius must not be negative, in metres; got {radius}")
    if k is None and radius is None:
        raise InvalidInput("neighbours need k, or a radius, or both; got neither")


def open_index(
    library: Store,
    features: LibraryFeatures,
    kind: str | None = None,
    *,
    shards: int | None = None,
) -> FrameIndex:
    """The index of a library's features, built if it is not there.

    Parameters
    ----------
    library : Store
    features : LibraryFeatures
        Of that library.
    kind : {"blocks", "kdtree", "shards"}, optional
        Default: ``blocks``, or ``shards`` where there are more frames than one shard holds.
        ``blocks`` is kept with the library and memory-mapped. ``kdtree`` is SciPy's, made
        when it is asked for. ``shards`` are blocks of parts of the library, for more frames
        than fit into memory; a cluster's workers hold some each. All give the same answers.
    shards : int, optional
        How many. Default: one for every four million frames.

    Examples
    --------
    >>> from motionloom.search import open_index
    >>> index = open_index(lib, lib.features("e15"), "blocks")
    >>> type(index).__name__
    'BucketIndex'
    """
    if kind is None:
        kind = "blocks" if len(features) <= SHARD_ROWS else "shards"
    if kind not in INDEXES:
        raise InvalidInput(f"index must be one of {', '.join(INDEXES)}; got {kind!r}")
    if kind == "kdtree":
        from motionloom.search.index.kd_tree import KDTree

        return KDTree.build(features.rows)

    table = features.folder

    def build(folder: Path, previous: Path | None) -> None:
        if kind == "shards":
            Shards.build(folder, table, shards=shards, store=library.files)
        else:
            BucketIndex.build(features.rows).save(folder)

    def load(folder: Folder) -> BucketIndex | Shards:
        try:
            return Shards.open(folder, table) if kind == "shards" else BucketIndex.open(folder)
        except (ValueError, EOFError) as error:
            raise LibraryError(f"{folder}: damaged: {error}") from None

    # The name of the folder of the rows says how they were made.
    made_from = features.folder.name.rsplit(".", 1)[0]
    options: dict[str, Any] = {"version": _VERSION, "features": made_from}
    if kind == "shards":
        options["shards"] = shards
    return library.artifacts.derive(kind, options, build=build, read=load)
