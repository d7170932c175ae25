"""Dynamic time warping of whole clips within a Sakoe-Chiba band, and its lower bound.

Both clips are aligned from start to end, and a frame is aligned only with frames within a band
around the diagonal. The cost of a path is the sum of the squared distances between paired frames,
and the distance is the square root of the minimum cost.

Keogh's bound uses an envelope around the query, which is the minimum and maximum value within the
band at each frame. The part of a clip outside the envelope gives a lower bound on the cost. A clip
whose bound exceeds the best cost so far does not have to be aligned, and an alignment is abandoned
as soon as its cost plus the bound of the rest exceeds the best cost. The results are the same as
without the bound.

Frames are stored in single precision; costs are summed in double precision.

References
----------
.. [1] H. Sakoe, S. Chiba. Dynamic programming algorithm optimization for spoken word
   recognition. IEEE TASSP 26, 1978.
.. [2] E. Keogh. Exact indexing of dynamic time warping. VLDB 2002.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput
from motionloom.kernels import kernel

BAND = 0.1  # fraction of the longer clip; Keogh 2002, and Tam et al. 2007, section 4
_ROUNDING = 2.0**-22  # rounding of a sum of squares in single precision, per feature


@dataclass(frozen=True, eq=False)
class Nearest:
    """Nearest clips, and the number of distances computed.

    Attributes
    ----------
    clips : ndarray of int64, shape (k,)
        Indices of the clips, nearest first; ties are ordered by index.
    distances : ndarray, shape (k,)
    computed : int
        Number of distances computed in full or in part.
    """

    clips: NDArray[np.int64]
    distances: NDArray[np.float64]
    computed: int


def banded_dtw(a: ArrayLike, b: ArrayLike, *, band: float = BAND) -> float:
    """Return the distance between two clips under the best alignment within a band.

    Parameters
    ----------
    a, b : array_like, shapes (M, D), (N, D)
        Frames of the two clips, converted to single precision.
    band : float
        Half-width of the band, as a fraction of the longer clip. The band is at least one frame
        wide on each side, and always wide enough for a path.

    Returns
    -------
    distance : float
        Square root of the sum of squared distances along the path.

    Raises
    ------
    InvalidInput
        If shapes do not match or `band` is negative.

    Examples
    --------
    >>> banded_dtw([[0.0], [1.0], [5.0]], [[0.0], [0.0], [1.0], [5.0]], band=0.5)
    0.0
    """
    rows_a, rows_b = checked_frames("a", a), checked_frames("b", b)
    if rows_a.shape[1] != rows_b.shape[1]:
        raise InvalidInput(
            "a and b must have the same number of features; "
            f"got {rows_a.shape[1]} and {rows_b.shape[1]}"
        )
    reach = band_reach(len(rows_a), len(rows_b), band)
    return float(np.sqrt(_cost(rows_a, np.ascontiguousarray(rows_b.T), reach)))


def dtw_matrix(clips: ArrayLike, *, band: float = BAND) -> NDArray[np.float64]:
    """Return the distances between all pairs of clips of equal length.

    Parameters
    ----------
    clips : array_like, shape (C, T, D)
    band : float

    Returns
    -------
    distances : ndarray, shape (C, C)
        Symmetric matrix with zeros on the diagonal, and NaN where a clip has missing values.

    Examples
    --------
    >>> dtw_matrix([[[0.0], [1.0]], [[0.0], [3.0]]]).tolist()
    [[0.0, 2.0], [2.0, 0.0]]
    """
    rows = _stack(clips)
    half = dtw_matrix_rows(rows, 0, len(rows), band=band)
    return np.where(np.triu(np.ones(half.shape, dtype=bool), 1), half.T, half)


def dtw_matrix_rows(
    clips: ArrayLike, first: int, last: int, *, band: float = BAND
) -> NDArray[np.float64]:
    """Return rows `first` to `last` of `dtw_matrix`, with NaN beyond the diagonal.

    Examples
    --------
    >>> dtw_matrix_rows([[[0.0], [1.0]], [[0.0], [3.0]]], 1, 2).tolist()
    [[2.0, 0.0]]
    """
    rows = _stack(clips)
    reach = band_reach(rows.shape[1], rows.shape[1], band)
    columns = np.ascontiguousarray(rows.transpose(0, 2, 1))
    return np.sqrt(_matrix_rows(rows, columns, reach, whole_clips(rows), first, last))


def dtw_nearest(
    query: ArrayLike,
    clips: ArrayLike,
    *,
    k: int,
    band: float = BAND,
    usable: ArrayLike | None = None,
    offsets: ArrayLike | None = None,
    factors: ArrayLike | None = None,
    prune: bool = True,
) -> Nearest:
    """Find the `k` clips nearest to a query of the same length.

    Parameters
    ----------
    query : array_like, shape (T, D)
    clips : array_like, shape (C, T, D)
    k : int
    band : float
    usable : array_like of bool, shape (C,), optional
        Mask of the clips to compare, none of which may have missing values. Default: all clips
        without missing values.
    offsets : array_like, shape (C,), optional
        Non-negative values added to the distance of each clip. Default: zero.
    factors : array_like, shape (C,), optional
        Positive values by which the sums are multiplied. Default: one.
    prune : bool
        Skip clips whose lower bound is too large. If False, every distance is computed. The result
        is the same.

    Examples
    --------
    >>> nearest = dtw_nearest([[0.0], [1.0]], [[[9.0], [9.0]], [[0.0], [1.5]]], k=1)
    >>> nearest.clips.tolist(), nearest.distances.tolist()
    ([1], [0.5])
    """
    rows, query = _stack(clips), checked_frames("query", query)
    if query.shape != rows.shape[1:]:
        raise InvalidInput(
            f"query must have the same shape as the clips, {rows.shape[1:]}; got {query.shape}"
        )
    if k < 1:
        raise InvalidInput(f"k must be at least 1; got {k}")
    reach = band_reach(len(query), len(query), band)
    low, high = envelope(query, reach)
    there = np.flatnonzero(whole_clips(rows) if usable is None else np.asarray(usable, bool))
    bounds, rests = np.zeros(len(rows)), np.zeros((len(rows), len(query) + 1))
    if prune:
        _keogh(rows, there, low, high, bounds, rests)
        # Their sums are rounded differently than those of an alignment.
        bounds *= 1.0 - _ROUNDING * (rows.shape[2] + 4)
        rests *= 1.0 - _ROUNDING * (rows.shape[2] + 4)
    more = np.zeros(len(rows)) if offsets is None else np.ascontiguousarray(offsets, np.float64)
    times = np.ones(len(rows)) if factors is None else np.ascontiguousarray(factors, np.float64)
    bounds = times * (more + np.sqrt(bounds) * (1.0 - 1e-12))
    order = there[np.argsort(bounds[there], kind="stable")]
    columns = np.ascontiguousarray(query.T)
    clips_found, distances, computed = _nearest(
        rows, columns, reach, order, bounds, rests, more, times, min(k, len(order))
    )
    best = np.lexsort((clips_found, distances))
    return Nearest(clips_found[best], distances[best], int(computed))


def keogh_bounds(query: ArrayLike, clips: ArrayLike, *, band: float = BAND) -> NDArray[np.float64]:
    """Return lower bounds on the distances from a query (T, D) to clips (C, T, D), shape (C,)."""
    query, rows = checked_frames("query", query), _stack(clips)
    low, high = envelope(query, band_reach(len(query), len(query), band))
    bounds = np.zeros(len(rows))
    _keogh(rows, np.arange(len(rows)), low, high, bounds, np.zeros((len(rows), len(query) + 1)))
    return np.sqrt(bounds)


def whole_clips(clips: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Return a mask of the clips (C, T, D) without missing values, shape (C,)."""
    # A sum is finite if all its terms are, and needs no array of flags.
    return np.isfinite(clips.reshape(len(clips), -1).sum(axis=1, dtype=np.float64))


def envelope(rows: NDArray, reach: int) -> tuple[NDArray, NDArray]:
    """Return the minimum and maximum within `reach` frames of each frame, both (T, D)."""
    reach = min(reach, len(rows))
    padded = np.pad(rows, [(reach, reach), (0, 0)], mode="edge")
    near = np.lib.stride_tricks.sliding_window_view(padded, 2 * reach + 1, axis=0)
    return np.ascontiguousarray(near.min(axis=-1)), np.ascontiguousarray(near.max(axis=-1))


def band_reach(n: int, m: int, band: float) -> int:
    """Return the half-width of the band, in frames, for clips of `n` and `m` frames."""
    if not band >= 0.0:
        raise InvalidInput(f"band must not be negative; got {band}")
    steep = (max(n, m) - 1) / max(1, min(n, m) - 1)
    return max(1, int(min(band, 1.0) * max(n, m)), ceil(0.5 * steep))


def banded_matrix(matrix: NDArray[np.float64], *, band: float = BAND) -> NDArray[np.float64]:
    """Return a distance matrix (M, N) that is infinite outside the band."""
    n, m = matrix.shape
    reach = band_reach(n, m, band)
    slope = (m - 1) / (n - 1) if n > 1 else 0.0
    off = np.abs(slope * np.arange(n)[:, None] - np.arange(m)[None, :])
    return np.where(off <= (reach if n > 1 else m), matrix, np.inf)


def checked_frames(name: str, rows: ArrayLike, dtype: type = np.float32) -> NDArray[Any]:
    """Convert frames (T, D) to single precision; raise an error if there are none."""
    out: NDArray[Any] = np.ascontiguousarray(rows, dtype=dtype)
    if out.ndim != 2 or 0 in out.shape:
        raise InvalidInput(
            f"{name} must have shape (T, D) with T and D at least 1; got {out.shape}"
        )
    return out


def _stack(clips: ArrayLike) -> NDArray[np.float32]:
    out = np.ascontiguousarray(clips, dtype=np.float32)
    if out.ndim != 3 or 0 in out.shape:
        raise InvalidInput(
            f"clips must have shape (C, T, D) with C, T and D at least 1; got {out.shape}"
        )
    return out


@kernel
def _cost(a, b, reach):
    """Return the squared distance between clips `a` (n, D) and `b` (D, m); see `_fill`."""
    n, m = len(a), b.shape[1]
    cells = np.empty(m, np.float32)
    return _fill(a, b, reach, np.inf, np.zeros(n + 1), cells, np.empty(m + 1), np.empty(m + 1))


@kernel
def _fill(a, b, reach, limit, rest, cells, above, here):
    """Return the cost of the best path between `a` (n, D) and `b` (D, m), or inf beyond `limit`.

    `rest[i]` is a lower bound on the cost of row i and all rows after it.
    """
    n, width = a.shape
    m = b.shape[1]
    slope = (m - 1) / (n - 1) if n > 1 else 0.0
    span = reach if n > 1 else m
    fours = width - width % 4
    above[:] = np.inf
    here[:] = np.inf
    above[0] = 0.0
    for i in range(n):
        low = max(0, int(np.ceil(i * slope - span)))
        high = min(m, int(np.floor(i * slope + span)) + 1)
        count = high - low
        cells[:count] = 0.0
        # Four features at a time, for all columns, so that no sum waits for another.
        for k in range(0, fours, 4):
            p, q, r, s = a[i, k], a[i, k + 1], a[i, k + 2], a[i, k + 3]
            row_p, row_q = b[k, low:high], b[k + 1, low:high]
            row_r, row_s = b[k + 2, low:high], b[k + 3, low:high]
            for j in range(count):
                dp, dq, dr, ds = p - row_p[j], q - row_q[j], r - row_r[j], s - row_s[j]
                cells[j] += (dp * dp + dq * dq) + (dr * dr + ds * ds)
        for k in range(fours, width):
            p, row_p = a[i, k], b[k, low:high]
            for j in range(count):
                dp = p - row_p[j]
                cells[j] += dp * dp
        here[low] = np.inf
        left, best = np.inf, np.inf
        for j in range(low, high):
            step = above[j + 1] if above[j + 1] < above[j] else above[j]
            left = (left if left < step else step) + cells[j - low]
            here[j + 1] = left
            best = left if left < best else best
        above[0] = np.inf  # nothing was written beyond the right end of the band
        if best + rest[i + 1] > limit:
            return np.inf
        above, here = here, above
    return above[m]


@kernel
def _matrix_rows(rows, columns, reach, usable, first, last):
    """Compute squared distances of clips `first` to `last` from earlier clips; NaN if unusable.

    `rows` (C, T, D) and `columns` (C, D, T) are the same clips. All clips share the buffers.
    """
    count, length, _ = rows.shape
    out = np.full((last - first, count), np.nan)
    rest = np.zeros(length + 1)
    cells = np.empty(length, np.float32)
    above, here = np.empty(length + 1), np.empty(length + 1)
    for i in range(first, last):
        for j in range(i + 1):
            if usable[i] and usable[j]:
                cost = 0.0
                if i != j:
                    cost = _fill(rows[i], columns[j], reach, np.inf, rest, cells, above, here)
                out[i - first, j] = cost
    return out


# Sums may be reordered, so that eight run at a time.
@kernel(fastmath={"reassoc"})
def _keogh(rows, clips, low, high, bounds, rests):
    """Compute the squared excess over the envelope: total (C,), and from each row on (C, T + 1)."""
    length, width = low.shape
    for c in clips:
        for t in range(length - 1, -1, -1):
            out = np.float32(0.0)
            for k in range(width):
                below = max(low[t, k] - rows[c, t, k], np.float32(0.0))
                above = max(rows[c, t, k] - high[t, k], np.float32(0.0))
                out += below * below + above * above
            rests[c, t] = rests[c, t + 1] + out
        bounds[c] = rests[c, 0]


@kernel
def farthest(nearest, costs):
    """Return the index of the largest distance (k,), or the last such index if there are ties."""
    worst = 0
    for at in range(1, len(nearest)):
        if costs[at] > costs[worst] or (costs[at] == costs[worst] and nearest[at] > nearest[worst]):
            worst = at
    return worst


@kernel
def _nearest(rows, columns, reach, order, bounds, rests, offsets, factors, k):
    """Return clips (k,), distances with offsets and factors (k,), and the number of alignments."""
    length = rows.shape[1]
    cells = np.empty(length, np.float32)
    above, here = np.empty(length + 1), np.empty(length + 1)
    nearest = np.full(k, -1)
    distances = np.full(k, np.inf)
    computed = 0
    for c in order:
        worst = farthest(nearest, distances)
        limit = distances[worst]
        if bounds[c] > limit:
            break
        computed += 1
        left = max(limit / factors[c] - offsets[c], 0.0) * (1.0 + 1e-12)  # squares are rounded
        cost = _fill(rows[c], columns, reach, left * left, rests[c], cells, above, here)
        distance = factors[c] * (offsets[c] + np.sqrt(cost))
        if distance < limit or (distance == limit and c < nearest[worst]):
            nearest[worst], distances[worst] = c, distance
    return nearest, distances, computed
