"""Bucket index: exact nearest neighbors from a tree of buckets, searched in order of distance.

Feature vectors are rotated into their principal axes, which preserves distances but concentrates
them in the first few coordinates. The vectors are then repeatedly split in half across the axis of
largest variance until each part, a bucket, contains 64 vectors. 32 buckets that lie close together
form a node, 32 nodes form a node of the next level, and so on up to a single root. A node stores
the bounding boxes of its children.

A query visits nodes and buckets in order of the distance to their boxes, using a heap, until the
next box is farther than the k nearest vectors so far. No other order visits fewer blocks. For
example, on the 938,413 CMU frames with 15 features, a query visits 33 nodes and 177 buckets for k =
16.

Nodes and buckets are stored as blocks of 8-bit codes relative to the bounding box of the block,
axis by axis, so that 64 vectors or 32 boxes are compared with the query at once. The boxes of a
node are rounded outward, and the rounding error of each bucket is stored. Every vector within that
error of the k-th distance is measured again from the original vectors in double precision, so the
result is exact. Codes use a quarter of the memory of floats, and queries take two thirds of the
time.

The frames of a motion are queried in order, and the neighbors of successive frames are almost the
same. By the triangle inequality, the k-th neighbor of a frame is at most as far away as the k-th
neighbor of the previous frame plus the step between the two frames. The search starts from that
bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from motionloom.checked_arrays import largest_value, open_array
from motionloom.errors import InvalidInput
from motionloom.kernels import kernel
from motionloom.search.index.bucket_tree import (
    CHILDREN,
    CHUNK,
    WIDTH,
    bucket_order,
    child_offsets,
    encoded,
    padded,
    principal_axes,
    rotated_rows,
)
from motionloom.store.remote.folder import Folder

Answer = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
"""Offsets, numbers and distances of neighbors; see `BucketIndex.nearest`."""


@dataclass(frozen=True, eq=False)
class BucketIndex:
    """Index of N vectors in D dimensions, padded to P axes. L of its B blocks are buckets.

    Attributes
    ----------
    blocks : ndarray of float32, shape (B, 18 * P)
        Nodes level by level from the root, followed by the buckets. A block contains, for each
        axis, the lower end of its box and the step of its codes, followed by 64 one-byte codes per
        axis. They encode 64 vectors, or the lower and upper ends of 32 boxes.
    rows : ndarray of int64, shape (N,)
        Index of each bucket vector among the original vectors.
    errors : ndarray of float32, shape (L,)
        Largest distance between a vector of the bucket and its code.
    center : ndarray, shape (D,)
    axes : ndarray, shape (D, D)
        ``(vector - center) @ axes`` is the rotated vector.
    """

    blocks: NDArray[np.float32]
    rows: NDArray[np.int64]
    errors: NDArray[np.float32]
    center: NDArray[np.float64]
    axes: NDArray[np.float64]

    @classmethod
    def build(cls, rows: NDArray[np.float32]) -> BucketIndex:
        """Build an index of feature vectors (N, D); vectors with missing values are skipped."""
        numbers = np.flatnonzero(np.isfinite(rows).all(axis=1))
        center, axes = principal_axes(rows, numbers)
        rotated = rotated_rows(rows, numbers, center, axes)
        order = bucket_order(rotated, WIDTH, CHILDREN)
        blocks, errors = encoded(rotated, order)
        return cls(blocks, numbers[order], errors, center, axes)

    def save(self, folder: Path) -> None:
        """Save the index, one ``.npy`` file per array."""
        for name in self.__dataclass_fields__:
            np.save(folder / f"{name}.npy", getattr(self, name))

    @classmethod
    def open(cls, folder: Folder) -> BucketIndex:
        """Open an index written by `save`; large arrays are memory-mapped.

        Raises
        ------
        ValueError
            If the arrays do not fit together. Kernels would otherwise read out of bounds.
        """
        large = ("blocks", "rows")
        index = cls(
            **{
                name: open_array(folder / f"{name}.npy", memory_map=name in large)
                for name in cls.__dataclass_fields__
            }
        )
        index._check()
        return index

    def _check(self) -> None:
        if self.center.ndim != 1 or self.rows.ndim != 1:
            raise ValueError(
                f"center and rows must have one dimension; got shapes {self.center.shape} and "
                f"{self.rows.shape}"
            )
        n_axes = len(self.center)
        n_buckets = -(-len(self.rows) // WIDTH)
        expected = {
            "blocks": (np.float32, (child_offsets(n_buckets)[-1], 18 * padded(n_axes))),
            "rows": (np.int64, (len(self.rows),)),
            "errors": (np.float32, (n_buckets,)),
            "center": (np.float64, (n_axes,)),
            "axes": (np.float64, (n_axes, n_axes)),
        }
        for name, (dtype, shape) in expected.items():
            array = getattr(self, name)
            if array.dtype != dtype or array.shape != shape:
                raise ValueError(
                    f"{name} must be {np.dtype(dtype)} with shape {shape}; "
                    f"got {array.dtype} with shape {array.shape}"
                )
        for name in ("center", "axes", "errors"):
            array = getattr(self, name)
            if not (np.abs(array) < largest_value(array.dtype)).all():
                raise ValueError(f"{name} must contain finite numbers that are not too large")
        if self.rows.min(initial=0) < 0:
            raise ValueError(f"rows must contain non-negative numbers; got {self.rows.min()}")

    @cached_property
    def _last_row(self) -> int:
        return int(self.rows.max(initial=-1))

    @cached_property
    def _children(self) -> NDArray[np.int64]:
        return child_offsets(len(self.errors))

    def nearest(
        self,
        queries: NDArray[np.float32],
        rows: NDArray[np.float32],
        *,
        k: int,
        radius: float = np.inf,
        epsilon: float = 0.0,
        allowed: NDArray[np.bool_] | None = None,
    ) -> Answer:
        """Return the `k` nearest vectors within `radius` of each query; see `neighbors`.

        Returns
        -------
        offsets : ndarray, shape (Q + 1,)
            Query q has entries ``offsets[q]`` to ``offsets[q + 1]`` of the other two arrays.
        numbers : ndarray of int64
            Indices of the vectors, nearest first; ties are in index order.
        distances : ndarray of float64
        """
        if k < 0:
            raise InvalidInput(f"k must not be negative; got {k}")
        if allowed is not None:
            self._check_length("allowed", allowed)
        return _nearest(
            *self._tables(queries, rows),
            k,
            float(radius),
            1.0 + epsilon,
            _read_only(np.ones(1, np.bool_) if allowed is None else allowed),
            allowed is None,
        )

    def finder(self, rows: NDArray[np.float32]) -> Finder:
        """Return a function that searches for one query at a time, with tables prepared once."""
        return Finder(self, rows)

    def counts(
        self, queries: NDArray[np.float32], rows: NDArray[np.float32], *, radius: float
    ) -> NDArray[np.int64]:
        """Return the exact number of vectors within `radius` of each query, shape (Q,)."""
        return _counts(*self._tables(queries, rows), float(radius))

    def _tables(self, queries: NDArray[np.float32], rows: NDArray[np.float32]) -> tuple:
        """Return the checked queries and the tables of the index, ready for the kernels."""
        queries = np.ascontiguousarray(queries, dtype=np.float32)
        self._check_rows(queries, rows)
        blocks = np.asarray(self.blocks)
        return (
            _read_only(queries),
            self._rotated(queries),
            _read_only(rows),
            _read_only(blocks),
            _read_only(blocks.view(np.uint8)),
            _read_only(self.rows),
            self.errors,
            self._children,
        )

    def _rotated(self, queries: NDArray[np.float32]) -> NDArray[np.float32]:
        n_axes = len(self.center)
        rotated = np.zeros((len(queries), padded(n_axes)), np.float32)
        rotated[:, :n_axes] = (queries.astype(np.float64) - self.center) @ self.axes
        return rotated

    def _check_rows(self, queries: NDArray, rows: NDArray) -> None:
        n_axes = len(self.center)
        for name, array in (("queries", queries), ("rows", rows)):
            if array.ndim != 2 or array.shape[1] != n_axes:
                raise InvalidInput(f"{name} must have shape (n, {n_axes}); got {array.shape}")
        self._check_length("rows", rows)

    def _check_length(self, name: str, given: NDArray) -> None:
        if len(given) <= self._last_row:
            raise InvalidInput(
                f"{name} must have at least {self._last_row + 1} rows, as many as were indexed; "
                f"got {len(given)}"
            )


class Finder:
    """Nearest-vector search for one query at a time, as needed by a player in every frame.

    Parameters
    ----------
    index : BucketIndex
    rows : ndarray, shape (N, D)
        As in `BucketIndex.nearest`.

    Examples
    --------
    >>> rows = np.random.default_rng(1).normal(size=(500, 4)).astype(np.float32)
    >>> find = BucketIndex.build(rows).finder(rows)
    >>> find(rows[7])[0]
    array([7])
    """

    def __init__(self, index: BucketIndex, rows: NDArray[np.float32]) -> None:
        empty = np.zeros((0, len(index.center)), np.float32)
        self._index = index
        self._tables = index._tables(empty, rows)[2:]
        self._rotated = np.zeros((1, padded(len(index.center))), np.float32)
        self._anywhere = _read_only(np.ones(1, np.bool_))
        self._center, self._axes = index.center, index.axes

    def __call__(
        self,
        query: NDArray[np.float32],
        k: int = 1,
        radius: float = np.inf,
        allowed: NDArray[np.bool_] | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the indices and distances of the `k` vectors nearest to a query (D,)."""
        if query.shape != self._center.shape:
            raise InvalidInput(f"query must have shape {self._center.shape}; got {query.shape}")
        if allowed is not None:
            self._index._check_length("allowed", allowed)
        self._rotated[0, : len(query)] = (query - self._center) @ self._axes
        _, numbers, distances = _nearest(
            _read_only(np.ascontiguousarray(query, np.float32)[None]),
            self._rotated,
            *self._tables,
            k,
            float(radius),
            1.0,
            self._anywhere if allowed is None else _read_only(allowed),
            allowed is None,
        )
        return numbers, distances


def _read_only(array: NDArray) -> NDArray:
    """Return a read-only view, so that in-memory and memory-mapped arrays share a kernel."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


@kernel
def _nearest(
    queries, rotated, rows, blocks, codes, numbers, errors, children,
    k, radius, factor, allowed, all_allowed,
):  # fmt: skip
    """Return the `k` nearest rows for each query: offsets (Q + 1,), row numbers and distances.

    Parameters
    ----------
    queries : ndarray of float32, shape (Q, D)
        Original queries, for exact distances.
    rotated : ndarray of float32, shape (Q, P)
        Queries rotated into the axes of the index.
    rows : ndarray of float32, shape (N, D)
    blocks, codes : ndarray, shapes (B, 18 * P) of float32, (B, 72 * P) of uint8
        Two views of the same memory; see `BucketIndex`.
    numbers, errors : ndarray, shapes (N,) of int64, (L,) of float32
        Row numbers of the vectors in the buckets, and the largest code error of each bucket.
    children : ndarray of int64, shape (nodes + 1,)
        As returned by `child_offsets`.
    k : int
    radius : float
    factor : float
        1 plus epsilon; boxes farther than the bound divided by this factor are not visited.
    allowed : ndarray of bool, shape (N,)
        Rows that may be returned; ignored with `all_allowed`.
    all_allowed : bool

    Notes
    -----
    Queries are visited in order. By the triangle inequality, the k-th distance of a query plus the
    step to the next query bounds the k-th distance of the next query. A query with missing values
    has a non-finite slack and no neighbors. All buffers are allocated once, in this function.
    """
    n_queries, n_axes = rotated.shape
    k = min(k, len(numbers))
    offsets = np.zeros(n_queries + 1, np.int64)
    neighbors = np.empty(max(64, n_queries * min(k, 4096)), np.int64)
    distances = np.empty(len(neighbors))
    heap = np.empty(len(blocks), np.int64)
    nearest = np.empty(k, np.float32)
    least = np.empty(2 * k + 4 * WIDTH, np.float32)
    members = np.empty(len(least), np.int64)
    squares = np.empty(WIDTH + 1, np.float32)
    reach = _reach(blocks, n_axes)
    carried, total = np.inf, 0
    for q in range(n_queries):
        slack = _slack(rotated[q], reach)
        bound, kept = radius, 0
        if q > 0:
            step = 0.0
            for d in range(n_axes):
                step += (np.float64(rotated[q, d]) - rotated[q - 1, d]) ** 2
            bound = min(radius, carried + np.sqrt(step) + slack)
        carried = np.inf
        if np.isfinite(slack) and k > 0:
            while True:
                count = _candidates(
                    rotated[q], blocks, codes, numbers, errors, children, bound, factor, slack,
                    allowed, all_allowed, heap, nearest, least, members, squares,
                    squares.view(np.int32),
                )  # fmt: skip
                if count >= 0:
                    break
                least = np.empty(2 * len(least), np.float32)  # many vectors at the same distance
                members = np.empty(len(least), np.int64)
            exact = _exact_distances(queries[q], rows, members, count)
            order = _by_distance(exact, members, count)
            if total + k > len(neighbors):
                neighbors = _longer(neighbors, max(total + k, 2 * len(neighbors)))
                distances = _longer(distances, len(neighbors))
            for i in order:
                if kept < k and exact[i] <= radius:
                    neighbors[total + kept] = members[i]
                    distances[total + kept] = exact[i]
                    kept += 1
            total += kept
            if kept == k:
                carried = distances[total - 1] + slack
        offsets[q + 1] = total
    return offsets, neighbors[:total].copy(), distances[:total].copy()


@kernel
def _counts(queries, rotated, rows, blocks, codes, numbers, errors, children, radius):
    """Count the vectors within `radius` of each query (Q,). The arguments are those of `_nearest`.

    The radius does not shrink, so nodes need no order, and a stack replaces the heap. Vectors whose
    code lies within the radius by more than its error are counted without being read. Only
    borderline vectors are measured exactly.
    """
    n_queries, n_axes = rotated.shape
    n_nodes, n_rows = len(children) - 1, len(numbers)
    out = np.zeros(n_queries, np.int64)
    stack = np.empty(max(len(blocks), 1), np.int64)
    squares = np.empty(WIDTH + 1, np.float32)
    reach = _reach(blocks, n_axes)
    for q in range(n_queries):
        slack = _slack(rotated[q], reach)
        size = 1 if np.isfinite(slack) and n_rows > 0 else 0
        stack[0] = 0
        outside = np.float32((radius + slack) ** 2)
        while size > 0:
            size -= 1
            block = stack[size]
            if block < n_nodes:
                _box_squares(rotated[q], blocks, codes, block, squares)
                first = children[block]
                for c in range(children[block + 1] - first):
                    if squares[c] <= outside:
                        stack[size] = first + c
                        size += 1
                continue
            bucket = block - n_nodes
            limit = np.float32((radius + slack + errors[bucket]) ** 2)
            if not _bucket_squares(rotated[q], blocks, codes, block, squares, limit):
                continue
            inside = np.float32(max(radius - slack - errors[bucket], 0.0) ** 2)
            for p in range(min(WIDTH, n_rows - bucket * WIDTH)):
                if squares[p] < inside:
                    out[q] += 1
                elif squares[p] <= limit:
                    row = rows[numbers[bucket * WIDTH + p]]
                    out[q] += _exact_distance(queries[q], row) <= radius
    return out


@kernel
def _reach(blocks, n_axes):
    """Return the largest absolute coordinate in the library."""
    reach = 1e-30
    for d in range(n_axes if len(blocks) else 0):
        reach = max(reach, abs(blocks[0, d]), abs(blocks[0, d] + 255 * blocks[0, n_axes + d]))
    return reach


@kernel
def _slack(point, reach):
    """Return a bound on the total rounding error of the vectors, query, code steps and sum."""
    n_axes = len(point)
    farthest = reach
    for d in range(n_axes):
        farthest = max(farthest, abs(point[d]))
    return (16.0 + n_axes) * 1.2e-7 * np.sqrt(n_axes) * farthest


# Arrays are parameters and are never reassigned: Numba would otherwise count references to them
# with atomic operations, which took a third of the time.
@kernel
def _candidates(
    point, blocks, codes, numbers, errors, children, bound, factor, slack,
    allowed, all_allowed, heap, nearest, least, members, squares, bits,
):  # fmt: skip
    """Write the indices of all vectors that may be among the k nearest into `members`.

    Returns their count, or -1 if there is not enough room. `bound` is an upper bound of the k-th
    distance; `least` receives the smallest possible distance of each vector; `nearest` is a heap of
    the k smallest distances so far, with the largest on top. Entries of the heap of blocks have the
    squared distance of the box in their upper half: the bit patterns of positive floats sort like
    the floats.
    """
    k, n_nodes, n_rows = len(nearest), len(children) - 1, len(numbers)
    count, n_nearest, size = 0, 0, 1
    heap[0] = 0
    squares[WIDTH] = (bound + slack) ** 2
    while size > 0 and heap[0] >> 32 <= bits[WIDTH]:
        block = heap[0] & 0xFFFFFFFF
        size -= 1
        _pop(heap, size)
        if block < n_nodes:
            _box_squares(point, blocks, codes, block, squares)
            first = children[block]
            for c in range(children[block + 1] - first):
                if squares[c] <= squares[WIDTH]:
                    _push(heap, size, (np.int64(bits[c]) << 32) | (first + c))
                    size += 1
            continue
        bucket = block - n_nodes
        error = errors[bucket]
        limit = np.float32((bound + slack + error) ** 2)
        if not _bucket_squares(point, blocks, codes, block, squares, limit):
            continue
        if count + WIDTH > len(least):
            count = _within(least, members, count, bound + slack)
            if count + WIDTH > len(least):
                return -1
        for p in range(min(WIDTH, n_rows - bucket * WIDTH)):
            if squares[p] <= limit:
                position = bucket * WIDTH + p
                if all_allowed or allowed[numbers[position]]:
                    distance = np.sqrt(squares[p])
                    least[count] = distance - error
                    members[count] = position
                    count += 1
                    if n_nearest < k:
                        nearest[n_nearest] = distance + error
                        n_nearest += 1
                        if n_nearest == k:
                            for i in range(k // 2 - 1, -1, -1):
                                _sift(nearest, i, nearest[i])
                    elif distance + error < nearest[0]:
                        _sift(nearest, 0, distance + error)
        if n_nearest == k:
            bound = min(bound, nearest[0] + slack)
            squares[WIDTH] = ((bound + slack) / factor) ** 2
    count = _within(least, members, count, bound + slack)
    for i in range(count):
        members[i] = numbers[members[i]]
    return count


@kernel(fastmath={"contract"})
def _box_squares(point, blocks, codes, block, squares):
    """Compute squared distances from a point to the 32 boxes of a node."""
    n_axes = len(point)
    zero = np.float32(0.0)
    for d in range(0, n_axes, CHUNK):
        low = blocks[block, d : d + CHUNK]
        step = blocks[block, n_axes + d : n_axes + d + CHUNK]
        code = codes[block, 8 * n_axes + d * WIDTH : 8 * n_axes + (d + CHUNK) * WIDTH]
        value = point[d : d + CHUNK]
        for c in range(CHILDREN):
            square = squares[c] if d > 0 else zero
            for j in range(CHUNK):
                shift = low[j] - value[j]
                below = shift + step[j] * np.float32(code[j * WIDTH + c])
                above = -(shift + step[j] * np.float32(code[j * WIDTH + CHILDREN + c]))
                gap = below if below > above else above
                gap = gap if gap > zero else zero
                square += gap * gap
            squares[c] = square


@kernel(fastmath={"contract"})
def _bucket_squares(point, blocks, codes, block, squares, limit):
    """Compute squared distances to 64 vectors; return False as soon as all exceed the limit."""
    n_axes = len(point)
    for d in range(0, n_axes, CHUNK):
        low = blocks[block, d : d + CHUNK]
        step = blocks[block, n_axes + d : n_axes + d + CHUNK]
        code = codes[block, 8 * n_axes + d * WIDTH : 8 * n_axes + (d + CHUNK) * WIDTH]
        value = point[d : d + CHUNK]
        if d > 0:
            smallest = squares[0]
            for p in range(WIDTH):
                smallest = squares[p] if squares[p] < smallest else smallest
            if smallest > limit:
                return False
        for p in range(WIDTH):
            square = squares[p] if d > 0 else np.float32(0.0)
            for j in range(CHUNK):
                gap = (low[j] - value[j]) + step[j] * np.float32(code[j * WIDTH + p])
                square += gap * gap
            squares[p] = square
    return True


@kernel
def _push(heap, size, entry):
    """Add an entry to a min-heap."""
    i = size
    while i > 0:
        parent = (i - 1) >> 1
        if heap[parent] <= entry:
            break
        heap[i] = heap[parent]
        i = parent
    heap[i] = entry


@kernel
def _pop(heap, size):
    """Remove the top of a heap, leaving `size` entries."""
    entry = heap[size]
    i, child = 0, 1
    while child < size:
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= entry:
            break
        heap[i] = heap[child]
        i, child = child, 2 * child + 1
    heap[i] = entry


@kernel
def _sift(heap, i, entry):
    """Replace entry `i` of a max-heap by a smaller one."""
    size, child = len(heap), 2 * i + 1
    while child < size:
        if child + 1 < size and heap[child + 1] > heap[child]:
            child += 1
        if heap[child] <= entry:
            break
        heap[i] = heap[child]
        i, child = child, 2 * child + 1
    heap[i] = entry


@kernel
def _within(least, members, count, limit):
    """Keep the candidates that may be within the limit; return their number."""
    kept = 0
    for i in range(count):
        if least[i] <= limit:
            least[kept], members[kept] = least[i], members[i]
            kept += 1
    return kept


@kernel
def _exact_distances(query, rows, members, count):
    """Compute the distances (count,) from a query (D,) to the rows `members`, in float64."""
    out = np.empty(count)
    for i in range(count):
        out[i] = _exact_distance(query, rows[members[i]])
    return out


@kernel
def _exact_distance(query, row):
    """Return the distance between two vectors (D,) in double precision, summed in feature order."""
    square = 0.0
    for d in range(len(query)):
        difference = np.float64(query[d]) - row[d]
        square += difference * difference
    return np.sqrt(square)


@kernel
def _by_distance(distances, members, count):
    """Sort by distance, then by index."""
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
    """Return a copy of an array with room for `length` values."""
    out = np.empty(length, values.dtype)
    out[: len(values)] = values
    return out
