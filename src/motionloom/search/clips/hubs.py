"""Correction for hubs: clips that are near to everything.

In a space with many dimensions, some clips are among the nearest neighbors of most others. Such
hubs appear in results where they do not belong. The correction divides a distance by the geometric
mean of the *scales* of both clips. The scale of a clip is its mean distance to the nearest fifth of
the library. A hub has a small scale, which makes its distances larger.

The scale of a clip hardly changes if only some clips of the library are measured. Scales are
therefore computed from at most `SAMPLE` reference clips and are stored with the library. A query
from outside gets its scale from its own distances to the reference clips. The order of the results
of one query depends only on the stored scales.

Corrected distances are multiplied by the median scale, so that they have the unit and about the
size of the distances, and identical clips still have the distance 0.

docs/evidence/evaluation.md compares this rule with local scaling (the distance to the seventh
neighbor), CSLS and mutual proximity.

References
----------
.. [1] H. Jegou, C. Schmid, H. Harzallah, J. Verbeek. Accurate image search using the contextual
   dissimilarity measure. PAMI 2010.
.. [2] D. Schnitzer, A. Flexer, M. Schedl, G. Widmer. Local and global scaling reduce hubs in space.
   JMLR 2012.
.. [3] L. Zelnik-Manor, P. Perona. Self-tuning spectral clustering. NIPS 2004.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from inspect import signature

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.alignment.banded_dtw import Nearest
from motionloom.search.clips.vectors import ClipMeasure, ClipVectors

FEWEST = 20  # clips; smaller libraries are not corrected
SAMPLE = 128  # reference clips
SHARE = 0.2  # of the library that counts as the neighborhood of a clip
LEAST = 7  # clips in a neighborhood
_SMALLEST = 1e-3  # of the median scale: a clip with many copies


def neighborhood_scale(distances: ArrayLike) -> float:
    """Return the mean of the smallest fifth of the distances from a clip to other clips.

    Examples
    --------
    >>> neighborhood_scale(range(100))
    9.5
    """
    distances = np.asarray(distances, dtype=np.float64)
    finite = distances[np.isfinite(distances)]
    count = min(len(finite), max(LEAST, round(SHARE * len(finite))))
    return float(np.partition(finite, count - 1)[:count].mean()) if count else np.nan


def checked_scales(scales: ArrayLike) -> NDArray[np.float64]:
    """Return positive scales: zero and missing values are replaced.

    Examples
    --------
    >>> checked_scales([2.0, 0.0, np.nan]).tolist()
    [2.0, 0.002, 2.0]
    """
    scales = np.asarray(scales, dtype=np.float64)
    positive = scales[np.isfinite(scales) & (scales > 0.0)]
    middle = float(np.median(positive)) if len(positive) else 1.0
    return np.maximum(np.where(np.isfinite(scales), scales, middle), _SMALLEST * middle)


def corrected(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the corrected distances (C, C) between all clips of a set.

    Row c contains the distances from clip c. Sets with fewer than `FEWEST` clips are returned
    unchanged.

    Examples
    --------
    >>> at = np.r_[np.linspace(0.0, 1.0, 20), 30.0]
    >>> far = corrected(np.abs(at[:, None] - at))
    >>> bool(far[0, 20] < 5.0), float(far[3, 3])
    (True, 0.0)
    """
    if len(distances) < FEWEST:
        return distances
    apart = np.where(np.eye(len(distances), dtype=bool), np.nan, distances)
    scales = checked_scales([neighborhood_scale(row) for row in apart])
    return distances * (np.median(scales) / np.sqrt(scales[:, None] * scales))


def reference_clips(names: Sequence[str], whole: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the indices of up to `SAMPLE` clips without gaps, drawn by their names.

    The draw hardly changes when clips are added or removed.
    """
    order = sorted(np.flatnonzero(whole).tolist(), key=lambda c: sha256(names[c].encode()).digest())
    return np.array(sorted(order[:SAMPLE]), dtype=np.int64)


def scale_to(
    measure: ClipMeasure, rows: NDArray, references: ClipVectors, *, without: int | None = None
) -> float:
    """Return the scale of a clip with feature vectors `rows`, measured to the reference clips.

    `without` is the index of the clip itself among the references, if it is one of them.
    """
    near = measure.nearest(rows, references, k=len(references), prune=False)
    return neighborhood_scale(near.distances[near.clips != (-1 if without is None else without)])


def corrected_nearest(
    measure: ClipMeasure, rows: NDArray, clips: ClipVectors, scales: NDArray[np.float64], *, k: int
) -> Nearest:
    """Return the `k` clips with the smallest distances divided by the square root of their scales.

    Measures that accept `factors` skip clips by lower bounds; others compare all clips.
    """
    factors = 1.0 / np.sqrt(scales)
    if "factors" in signature(measure.nearest).parameters:
        return measure.nearest(rows, clips, k=k, factors=factors)  # type: ignore[call-arg]
    near = measure.nearest(rows, clips, k=len(clips))
    values = near.distances * factors[near.clips]
    best = np.lexsort((near.clips, values))[:k]
    return Nearest(near.clips[best], values[best], near.computed)
