"""Construction of a bucket index: the order of its vectors, its tree of boxes and its codes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from motionloom.kernels import kernel

WIDTH = 64  # vectors in a bucket; 32 are as fast for k = 16 and slower for k = 256
CHILDREN = (
    WIDTH // 2
)  # children of a node: a box has two codes per axis, so all blocks have the same size
CHUNK = 8  # the number of axes is padded to a multiple of this
_LARGEST = 255  # code
_AT_ONCE = 1024  # buckets encoded at a time


def padded(n_axes: int) -> int:
    """Return the number of axes including the padding axes, whose coordinates are always zero."""
    return -(-n_axes // CHUNK) * CHUNK


def child_offsets(n_buckets: int) -> NDArray[np.int64]:
    """Return the child offsets of all nodes of a tree.

    The children of node i are the blocks ``offsets[i]`` to ``offsets[i + 1]``.

    Blocks are numbered level by level from the root; the last offset is the number of blocks.

    Examples
    --------
    >>> child_offsets(40).tolist()  # a root, two nodes, 32 and 8 buckets
    [1, 3, 35, 43]
    """
    sizes = [n_buckets]
    while sizes[0] > 1:
        sizes.insert(0, -(-sizes[0] // CHILDREN))
    ends = np.cumsum(sizes)
    levels = [end + CHILDREN * np.arange(size) for end, size in zip(ends, sizes[:-1], strict=False)]
    return np.concatenate([*levels, ends[-1:]])


def principal_axes(
    rows: NDArray[np.float32], numbers: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean and the principal axes, largest variance first."""
    some = rows[numbers[:: max(1, len(numbers) // 100_000)]].astype(np.float64)
    if not len(some):
        return np.zeros(rows.shape[1]), np.eye(rows.shape[1])
    center = some.mean(axis=0)
    _, axes = np.linalg.eigh((some - center).T @ (some - center))
    return center, np.ascontiguousarray(axes[:, ::-1])


def rotated_rows(
    rows: NDArray[np.float32],
    numbers: NDArray[np.int64],
    center: NDArray[np.float64],
    axes: NDArray[np.float64],
) -> NDArray[np.float32]:
    """Return rows `numbers` in their principal axes, padded."""
    out = np.zeros((len(numbers), padded(rows.shape[1])), np.float32)
    for first in range(0, len(numbers), 65_536):
        part = numbers[first : first + 65_536]
        here = slice(first, first + len(part))
        out[here, : rows.shape[1]] = (rows[part].astype(np.float64) - center) @ axes
    return out


def encoded(
    rotated: NDArray[np.float32], order: NDArray[np.int64]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the encoded blocks, and the errors of the buckets.

    See `motionloom.search.index.bucket_index.BucketIndex`.
    """
    n_axes, n_buckets = rotated.shape[1], -(-len(order) // WIDTH)
    blocks = np.empty((child_offsets(n_buckets)[-1], (2 + WIDTH // 4) * n_axes), np.float32)
    first = len(blocks) - n_buckets
    low = np.empty((n_buckets, n_axes), np.float32)
    high = np.empty_like(low)
    for start in range(0, n_buckets, _AT_ONCE):
        part = order[start * WIDTH : (start + _AT_ONCE) * WIDTH]
        vectors = _grouped(rotated[part], WIDTH)
        here = slice(start, start + len(vectors))
        low[here], high[here] = vectors.min(axis=1), vectors.max(axis=1)
        coded = _frame(blocks[first:][here], low[here], high[here])
        coded[:] = np.rint(_in_steps(vectors, blocks[first:][here]))
    steps = blocks[first:, n_axes : 2 * n_axes].astype(np.float64)
    errors = (0.5 * np.sqrt(np.sum(steps**2, axis=1))).astype(np.float32)
    while first > 0:
        lows, highs = _grouped(low, CHILDREN), _grouped(high, CHILDREN)
        low, high = lows.min(axis=1), highs.max(axis=1)
        level = blocks[first - len(low) : first]
        coded = _frame(level, low, high)
        coded[:, :CHILDREN] = np.floor(_in_steps(lows, level))
        coded[:, CHILDREN:] = np.ceil(_in_steps(highs, level))
        first -= len(low)
    return blocks, errors


def _grouped(rows, size):
    """Split successive rows into groups (G, size, P).

    The last row is repeated to fill the last group.
    """
    filled = np.concatenate([rows, np.repeat(rows[-1:], -len(rows) % size, axis=0)])
    return filled.reshape(-1, size, rows.shape[1])


def _frame(blocks, low, high):
    """Write the boxes and steps of blocks; return a view of their codes, shape (B, 64, P)."""
    n_axes = low.shape[1]
    blocks[:, :n_axes] = low
    blocks[:, n_axes : 2 * n_axes] = (high.astype(np.float64) - low) / _LARGEST
    coded = blocks.view(np.uint8)[:, 8 * n_axes :]
    return coded.reshape(len(blocks), n_axes, WIDTH).transpose(0, 2, 1)


def _in_steps(vectors, blocks):
    """Convert coordinates (B, n, P) to steps from the lower corner of each block's box."""
    n_axes = vectors.shape[2]
    low, step = blocks[:, None, :n_axes], blocks[:, None, n_axes : 2 * n_axes]
    steps = np.divide(vectors - low, step, out=np.zeros_like(vectors), where=step > 0.0)
    return np.clip(steps, 0.0, _LARGEST)


@kernel
def bucket_order(rows, width, children):
    """Return an order that places the vectors of each bucket and node close together."""
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
        size = width  # size of the blocks at the level being split
        while size * children < last - first:
            size *= children
        n_blocks = (last - first + size - 1) // size
        middle = first + (n_blocks // 2) * size
        _select(keys, order, first, last, middle)
        firsts[depth], lasts[depth] = first, middle
        firsts[depth + 1], lasts[depth + 1] = middle, last
        depth += 2
    return order


@kernel
def _widest_axis(rows, order, first, last):
    """Return the axis along which vectors `first` to `last` have the largest variance.

    Large ranges are sampled.
    """
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
