"""Run boxes: bounding boxes of short runs of frames, used for lower bounds on DTW costs.

Level l has a box for every ``stride = 8 * 2**l`` frames of a motion. The box of block b bounds
frames ``b * stride`` to ``b * stride + 2 * stride - 2``. Wherever in the block a run of ``stride //
2`` query frames starts, all library frames aligned with it are inside the box, because an alignment
advances by at most two frames per query frame. Boxes are parallel to the feature axes, so they
bound distances for any feature weights.

The boxes are stored as 16-bit codes in the range of each feature, rounded outward. The finest level
takes an eighth of the size of the rows, and all three levels take a quarter.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from motionloom.checked_arrays import open_array, release
from motionloom.kernels import kernel
from motionloom.ragged import offsets_of
from motionloom.store.remote.folder import Folder

STRIDE = 8  # frames per block of the finest level
LEVELS = 3  # the coarsest level has blocks of 32 frames, about a second
_LARGEST = 65_535  # code
_AT_ONCE = 1_000_000  # frames read at a time


@dataclass(frozen=True, eq=False)
class RunBoxes:
    """Boxes of runs of N feature vectors in D dimensions, in K motions.

    Attributes
    ----------
    codes : tuple of ndarray of uint16, shapes (B, 2, D)
        Lower and upper ends of the boxes of each level, the finest first. The blocks of a motion
        are contiguous. A block without finite vectors has its lower end above its upper end.
    low, step : ndarray of float32, shape (D,)
        A code represents the coordinate ``low + step * code``.
    """

    codes: tuple[NDArray[np.uint16], ...]
    low: NDArray[np.float32]
    step: NDArray[np.float32]

    @classmethod
    def build(
        cls,
        rows: NDArray[np.float32],
        starts: NDArray[np.int64],
        *,
        folder: Path | None = None,
    ) -> RunBoxes:
        """Compute the boxes of all motions.

        Parameters
        ----------
        rows : ndarray, shape (N, D)
            Feature vectors; may be memory-mapped. About a million are read at a time.
        starts : ndarray, shape (K + 1,)
            Start of each motion, followed by N.
        folder : Path, optional
            Write the boxes to this folder instead of to memory; see `open`.
        """
        low, step = _ranges(rows)
        n_features = rows.shape[1]
        codes = []
        for level in range(LEVELS):
            shape = (int(first_blocks(starts, STRIDE << level)[-1]), 2, n_features)
            if folder is None or not shape[0]:
                codes.append(np.empty(shape, np.uint16))
            else:
                path = folder / f"codes{level}.npy"
                codes.append(
                    np.lib.format.open_memmap(path, mode="w+", dtype=np.uint16, shape=shape)
                )
        motion, n_motions = 0, len(starts) - 1
        while motion < n_motions:
            last = int(np.searchsorted(starts, starts[motion] + _AT_ONCE, side="right")) - 1
            last = min(max(last, motion + 1), n_motions)
            part = np.asarray(starts[motion : last + 1], np.int64)
            some = np.ascontiguousarray(rows[part[0] : part[-1]])
            finer = _row_boxes(some, part - part[0], low, step)
            for level in range(LEVELS):
                stride = STRIDE << level
                if level:
                    finer = _joined_boxes(
                        finer, first_blocks(part, stride // 2), first_blocks(part, stride)
                    )
                place = first_blocks(starts[: motion + 1], stride)[-1]
                codes[level][place : place + len(finer)] = finer
            motion = last
            release(rows, *codes)
        if folder is not None:
            np.save(folder / "range.npy", np.stack([low, step]))
            for level, level_codes in enumerate(codes):
                if isinstance(level_codes, np.memmap):
                    level_codes.flush()
                else:
                    np.save(folder / f"codes{level}.npy", level_codes)
        return cls(tuple(codes), low, step)

    @classmethod
    def open(cls, folder: Folder, starts: NDArray[np.int64], n_features: int) -> RunBoxes:
        """Open boxes written by `build` for these motions, with memory-mapped codes.

        Raises
        ------
        ValueError
            If the arrays do not fit the motions. Kernels would otherwise read out of bounds.
        """
        ranges = open_array(folder / "range.npy", memory_map=False)
        if ranges.shape != (2, n_features) or ranges.dtype != np.float32:
            raise ValueError(
                f"range must be float32 with shape {(2, n_features)}; got {ranges.dtype} with "
                f"shape {ranges.shape}"
            )
        codes = []
        for level in range(LEVELS):
            level_codes = open_array(folder / f"codes{level}.npy")
            shape = (int(first_blocks(starts, STRIDE << level)[-1]), 2, n_features)
            if level_codes.shape != shape or level_codes.dtype != np.uint16:
                raise ValueError(
                    f"codes{level} must be uint16 with shape {shape}; got {level_codes.dtype} with "
                    f"shape {level_codes.shape}"
                )
            codes.append(level_codes)
        return cls(tuple(codes), ranges[0], ranges[1])


def first_blocks(starts: NDArray[np.int64], stride: int) -> NDArray[np.int64]:
    """Return the index of the first block of each motion, and the total, shape (K + 1,).

    Examples
    --------
    >>> first_blocks(np.array([0, 9, 17]), 8).tolist()
    [0, 2, 3]
    """
    return offsets_of(-(-np.diff(starts) // stride))


def _ranges(rows: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the lower ends of all feature ranges, and the code steps."""
    low = np.full(rows.shape[1], np.inf)
    high = np.full(rows.shape[1], -np.inf)
    for first in range(0, len(rows), _AT_ONCE):
        least, greatest = _least_and_greatest(np.ascontiguousarray(rows[first : first + _AT_ONCE]))
        low, high = np.minimum(low, least), np.maximum(high, greatest)
        release(rows)
    empty = ~(low <= high)
    low[empty], high[empty] = 0.0, 0.0
    # The range is slightly larger than that of the features, so rounding stays within it.
    margin = 1e-6 * np.maximum(np.abs(low), np.abs(high)) + 1e-30
    low = (low - margin).astype(np.float32)
    step = ((high + margin - low) / (_LARGEST - 1)).astype(np.float32)
    return low, np.maximum(step, np.float32(1e-30))


@kernel
def _least_and_greatest(rows):
    """Return each feature's minimum and maximum over rows (N, D); skip rows with missing values."""
    n_features = rows.shape[1]
    low, high = np.full(n_features, np.inf), np.full(n_features, -np.inf)
    for i in range(len(rows)):
        if not _is_finite(rows[i]):
            continue
        for d in range(n_features):
            low[d], high[d] = min(low[d], rows[i, d]), max(high[d], rows[i, d])
    return low, high


@kernel
def _is_finite(row):
    """Return whether all values are finite, without branches: zero times an infinity is NaN."""
    total = np.float32(0.0)
    for d in range(len(row)):
        total += row[d] * np.float32(0.0)
    return total == total


@kernel
def _row_boxes(rows, starts, low, step):
    """Compute the codes of the boxes of the finest level, shape (B, 2, D)."""
    n_features, width = rows.shape[1], 2 * STRIDE - 2
    count = 0
    for m in range(len(starts) - 1):
        count += (starts[m + 1] - starts[m] + STRIDE - 1) // STRIDE
    out = np.empty((count, 2, n_features), np.uint16)
    least, greatest = np.empty(n_features, np.float32), np.empty(n_features, np.float32)
    block = 0
    for m in range(len(starts) - 1):
        for first in range(starts[m], starts[m + 1], STRIDE):
            least[:], greatest[:] = np.inf, -np.inf
            for j in range(first, min(first + width, starts[m + 1])):
                if _is_finite(rows[j]):
                    for d in range(n_features):
                        least[d] = min(least[d], rows[j, d])
                        greatest[d] = max(greatest[d], rows[j, d])
            for d in range(n_features):
                if least[d] <= greatest[d]:
                    below = np.floor((np.float64(least[d]) - low[d]) / step[d] - 1e-3)
                    above = np.ceil((np.float64(greatest[d]) - low[d]) / step[d] + 1e-3)
                    out[block, 0, d] = np.uint16(min(max(below, 0.0), 65535.0))
                    out[block, 1, d] = np.uint16(min(max(above, 0.0), 65535.0))
                else:
                    out[block, 0, d], out[block, 1, d] = 65535, 0
            block += 1
    return out


@kernel
def _joined_boxes(finer, finer_blocks, blocks):
    """Join boxes for the next level, where each box covers the frames of three finer blocks."""
    n_features = finer.shape[2]
    out = np.empty((blocks[-1], 2, n_features), np.uint16)
    for m in range(len(blocks) - 1):
        for b in range(blocks[m], blocks[m + 1]):
            first = finer_blocks[m] + 2 * (b - blocks[m])
            last = min(first + 3, finer_blocks[m + 1])
            for d in range(n_features):
                least, greatest = finer[first, 0, d], finer[first, 1, d]
                for fine in range(first + 1, last):
                    least = min(least, finer[fine, 0, d])
                    greatest = max(greatest, finer[fine, 1, d])
                out[b, 0, d], out[b, 1, d] = least, greatest
    return out
