"""Bucket index: exact nearest neighbours by buckets of 64 vectors that lie close together.

Feature vectors are rotated into their principal axes, which changes no distance but puts most
of it into the first few coordinates. They are then halved repeatedly across the axis of largest
variance until 64 are left: a bucket, with its bounding box. A query visits the boxes first, and
then the buckets whose box is nearer than the k nearest vectors found so far. Within a bucket,
the coordinates of one axis are contiguous, so that 64 distances are computed at a time, and
abandoned after a few axes if all are too far.

The frames of a motion are queried in order, and the neighbours of a frame are almost those of
the frame before. By the triangle inequality the k-th neighbour of a frame is at most as far as
the k-th of the frame before plus the step between the two; the search starts from that bound.

Rotated vectors have single precision. Whatever lies within their rounding of the k-th distance
is kept and measured again, from the original vectors in double precision, so that the answer
is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from motionloom.kernels import kernel
from motionloom.store.remote.folder import Folder

_WIDTH = 64  # vectors in a bucket: 16 SIMD registers of four; 15,000 boxes per million frames
_GROUP = 16  # buckets in a group, which has a bounding box too
_CHUNK = 8  # axes after which a bucket may be abandoned
_FAR = np.float32(1e18)  # coordinates of the padding of the last bucket


@dataclass(frozen=True, eq=False)
class BucketIndex:
    """Index of N vectors in D dimensions: L buckets, G groups of buckets.

    Attributes
    ----------
    values : ndarray of float32, shape (L, D, 64)
        Rotated vectors.
    rows : ndarray of int64, shape (L * 64,)
        Number of each vector among those given; -1 for padding.
    low, high : ndarray of float32, shape (L, D)
        Bounding boxes of the buckets.
    group_low, group_high : ndarray of float32, shape (G, D)
        Bounding boxes of 16 buckets each.
    centre : ndarray, shape (D,)
    axes : ndarray, shape (D, D)
        ``(vector - centre) @ axes`` is the rotated vector.
    """

    values: NDArray[np.float32]
    rows: NDArray[np.int64]
    low: NDArray[np.float32]
    high: NDArray[np.float32]
    group_low: NDArray[np.float32]
    group_high: NDArray[np.float32]
    centre: NDArray[np.float64]
    axes: NDArray[np.float64]

    @classmethod
    def build(cls, rows: NDArray[np.float32]) -> BucketIndex:
        """Index feature vectors (N, D); those with missing values are left out."""
        numbers = np.flatnonzero(np.isfinite(rows).all(axis=1))
        centre, axes = _principal_axes(rows, numbers)
        rotated = _rotated(rows, numbers, centre, axes)
        order = _bucket_order(rotated, _WIDTH)
        n_buckets = -(-len(order) // _WIDTH)
        # The last group may be smaller.
        n_groups = -(-n_buckets // _GROUP)
        values = np.full((n_buckets * _WIDTH, rotated.shape[1]), _FAR, np.float32)
        values[: len(order)] = rotated[order]
        held = np.full(n_buckets * _WIDTH, -1, np.int64)
        held[: len(order)] = numbers[order]
        in_buckets = values.reshape(n_buckets, _WIDTH, -1)
        real = np.where(in_buckets == _FAR, np.nan, in_buckets)
        low, high = np.nanmin(real, axis=1), np.nanmax(real, axis=1)
        first = np.arange(n_groups) * _GROUP
        return cls(
            np.ascontiguousarray(in_buckets.transpose(0, 2, 1)),
            held,
            low,
            high,
            np.minimum.reduceat(low, first, axis=0),
            np.maximum.reduceat(high, first, axis=0),
            centre,
            axes,
        )

    def save(self, folder: Path) -> None:
        """One ``.npy`` file per array."""
        for name in self.__dataclass_fields__:
            np.save(folder / f"{name}.npy", getattr(self, name))

    @classmethod
    def open(cls, folder: Folder) -> BucketIndex:
        """Open what `save` wrote; large arrays are memory-mapped."""
        large = ("values", "rows")
        return cls(
            **{
                name: np.load(folder / f"{name}.npy", mmap_mode="r" if name in large else None)
                for name in cls.__dataclass_fields__
            }
        )

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
        """The `k` nearest vectors within `radius` of every query; see `neighbours`.

        Returns
        -------
        offsets : ndarray, shape (Q + 1,)
            Query q has entries ``offsets[q]`` to ``offsets[q + 1]`` of the other two.
        found : ndarray of int64
            Numbers of the vectors; nearest first, ties by number.
        distances : ndarray of float64
        """
        queries = np.ascontiguousarray(queries, dtype=np.float32)
        rotated = ((queries.astype(np.float64) - self.centre) @ self.axes).astype(np.float32)
        reach = max(float(np.abs(self.group_low).max(initial=0.0)), 1e-30)
        reach = max(reach, float(np.abs(self.group_high).max(initial=0.0)))
        slack = 8.0 * np.finfo(np.float32).eps * np.sqrt(len(self.centre)) * reach
        everything = np.ones(1, np.bool_) if allowed is None else allowed
        return _nearest(
            queries,
            rotated,
            rows,
            self.values,
            self.rows,
            self.low,
            self.high,
            self.group_low,
            self.group_high,
            k,
            float(radius),
            1.0 + epsilon,
            slack,
            everything,
            allowed is None,
        )


def _principal_axes(rows, numbers):
    """Mean and principal axes, largest variance first."""
    some = rows[numbers[:: max(1, len(numbers) // 100_000)]].astype(np.float64)
    if not len(some):
        return np.zeros(rows.shape[1]), np.eye(rows.shape[1])
    centre = some.mean(axis=0)
    _, axes = np.linalg.eigh((some - centre).T @ (some - centre))
    return centre, np.ascontiguousarray(axes[:, ::-1])


def _rotated(rows, numbers, centre, axes):
    out = np.empty((len(numbers), rows.shape[1]), np.float32)
    for first in range(0, len(numbers), 65_536):
        part = numbers[first : first + 65_536]
        out[first : first + len(part)] = (rows[part].astype(np.float64) - centre) @ axes
    return out


@kernel
def _bucket_order(rows, width):
    """An order in which every `width` successive vectors lie close together."""
    order = np.arange(len(rows))
    keys = np.empty(len(rows), np.float32)
    firsts, lasts = np.empty(128, np.int64), np.empty(128, np.int64)
    firsts[0], lasts[0] = 0, len(rows)
    depth = 1
    while depth > 0:
        depth -= 1
        first, last = firsts[depth], lasts[depth]
        if last - first <= width:
            continue
        axis = _widest_axis(rows, order, first, last)
        for i in range(first, last):
            keys[i] = rows[order[i], axis]
        n_buckets = (last - first + width - 1) // width
        middle = first + (n_buckets // 2) * width
        _select(keys, order, first, last, middle)
        firsts[depth], lasts[depth] = first, middle
        firsts[depth + 1], lasts[depth + 1] = middle, last
        depth += 2
    return order


@kernel
def _widest_axis(rows, order, first, last):
    step = max(1, (last - first) // 4096)
    widest, axis = -1.0, 0
    for d in range(rows.shape[1]):
        total, squares, count = 0.0, 0.0, 0
        for i in range(first, last, step):
            value = np.float64(rows[order[i], d])
            total += value
            squares += value * value
            count += 1
        spread = squares / count - (total / count) ** 2
        if spread > widest:
            widest, axis = spread, d
    return axis


@kernel
def _select(keys, order, first, last, middle):
    """Partition at `middle` by Hoare's quickselect."""
    low, high = first, last - 1
    while low < high:
        a, b, c = keys[low], keys[(low + high) // 2], keys[high]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while keys[j] > pivot:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@kernel
def _nearest(
    queries, rotated, rows, values, numbers, low, high, group_low, group_high,
    k, radius, factor, slack, allowed, all_allowed,
):  # fmt: skip
    n_queries, n_axes = rotated.shape
    n_rows = len(numbers)
    k = min(k, n_rows)
    offsets = np.zeros(n_queries + 1, np.int64)
    found = np.empty(max(64, n_queries * min(k, 4096)), np.int64)
    distances = np.empty(len(found))
    squares = np.empty(2 * k + 4 * _WIDTH, np.float32)  # candidates so far
    members = np.empty(len(squares), np.int64)
    sums = np.empty(_WIDTH, np.float32)
    carried, total = np.inf, 0
    for q in range(n_queries):
        point = rotated[q]
        if q > 0:
            step = 0.0
            for d in range(n_axes):
                step += (np.float64(point[d]) - rotated[q - 1, d]) ** 2
            carried = carried + np.sqrt(step) + slack if np.isfinite(step) else np.inf
        missing = not np.isfinite(point).all()
        bound, count = min(carried, radius), 0
        for _ in range(2):
            limit = np.float32(min((bound + slack) ** 2, 1e30))
            for g in range(0 if missing else len(group_low)):
                if _box_square(point, group_low[g], group_high[g]) * factor * factor > limit:
                    continue
                for b in range(g * _GROUP, min((g + 1) * _GROUP, len(low))):
                    if _box_square(point, low[b], high[b]) * factor * factor > limit:
                        continue
                    if not _bucket_squares(point, values[b], sums, limit):
                        continue
                    for p in range(_WIDTH):
                        if sums[p] <= limit:
                            number = numbers[b * _WIDTH + p]
                            if number >= 0 and (all_allowed or allowed[number]):
                                squares[count] = sums[p]
                                members[count] = number
                                count += 1
                    if count + _WIDTH > len(squares):
                        count, bound = _tightened(squares, members, count, k, bound, slack)
                        limit = np.float32(min((bound + slack) ** 2, 1e30))
                        if count + 2 * _WIDTH > len(squares):  # many vectors at one distance
                            squares = _longer(squares, 2 * len(squares))
                            members = _longer(members, len(squares))
            if count >= k or factor == 1.0 or carried >= radius:
                break
            # With epsilon, boxes may hide what the bound of the previous query promises: drop it.
            bound, carried, count = radius, np.inf, 0
        if count > k:
            count, bound = _tightened(squares, members, count, k, bound, slack)
        exact = _exact_distances(queries[q], rows, members, count)
        order = _by_distance(exact, members, count)
        kept = 0
        if total + k > len(found):
            found = _longer(found, max(total + k, 2 * len(found)))
            distances = _longer(distances, len(found))
        for i in order:
            if kept < k and exact[i] <= radius:
                found[total + kept] = members[i]
                distances[total + kept] = exact[i]
                kept += 1
        total += kept
        offsets[q + 1] = total
        carried = distances[total - 1] + slack if kept == k and kept > 0 else np.inf
    return offsets, found[:total].copy(), distances[:total].copy()


@kernel
def _box_square(point, low, high):
    """Squared distance from a point to a box."""
    square = np.float32(0.0)
    for d in range(len(point)):
        below, above = low[d] - point[d], point[d] - high[d]
        gap = below if below > above else above
        gap = gap if gap > 0.0 else np.float32(0.0)
        square += gap * gap
    return square


@kernel
def _bucket_squares(point, bucket, sums, limit):
    """Squared distances of 64 vectors, or False as soon as all are beyond the limit."""
    for p in range(_WIDTH):
        sums[p] = 0.0
    n_axes = len(point)
    for first in range(0, n_axes, _CHUNK):
        for d in range(first, min(first + _CHUNK, n_axes)):
            value, axis = point[d], bucket[d]
            for p in range(_WIDTH):
                gap = axis[p] - value
                sums[p] += gap * gap
        if first + _CHUNK < n_axes:
            least = sums[0]
            for p in range(_WIDTH):
                least = sums[p] if sums[p] < least else least
            if least > limit:
                return False
    return True


@kernel
def _tightened(squares, members, count, k, bound, slack):
    """Keep the k smallest, and what rounding cannot distinguish from the k-th."""
    if count <= k:
        return count, bound
    kth = np.sqrt(np.float64(np.partition(squares[:count], k - 1)[k - 1]))
    bound = min(bound, kth + slack)
    limit = np.float32((bound + slack) ** 2)
    kept = 0
    for i in range(count):
        if squares[i] <= limit:
            squares[kept], members[kept] = squares[i], members[i]
            kept += 1
    return kept, bound


@kernel
def _exact_distances(query, rows, members, count):
    out = np.empty(count)
    for i in range(count):
        row = rows[members[i]]
        square = 0.0
        for d in range(len(query)):
            difference = np.float64(query[d]) - row[d]
            square += difference * difference
        out[i] = np.sqrt(square)
    return out


@kernel
def _by_distance(distances, members, count):
    """Order by distance, then by number."""
    order = np.argsort(distances)
    first = 0
    for i in range(1, count + 1):
        if i == count or distances[order[i]] != distances[order[first]]:
            if i - first > 1:
                tied = order[first:i].copy()
                order[first:i] = tied[np.argsort(members[tied])]
            first = i
    return order


@kernel
def _longer(values, length):
    out = np.empty(length, values.dtype)
    out[: len(values)] = values
    return out
