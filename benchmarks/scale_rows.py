"""Synthetic feature vectors in any number, which move like captured ones.

A motion follows the frames of a captured motion at a speed that varies between two thirds and one
and a half. Every two seconds, on average, it continues from another frame with a similar pose, one
of the nearest neighbors; the offset between the two poses fades within half a second. Each motion
has its own size (5 % standard deviation) and stance (2 cm per coordinate), and noise that changes
slowly. As a result, every segment has many similar ones but no identical one, as in an archive of
the same actions by many performers.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from motionloom.features import LibraryFeatures
from motionloom.kernels import kernel
from motionloom.search.index.neighbors import FrameIndex

_EVERY = 8  # step between captured frames whose neighbors are known
_NEIGHBORS = 64  # every third of them is used, without the first 16, which are adjacent frames
_AT_ONCE = 1_000_000  # rows written at a time
_LENGTHS = (300, 3000)  # frames of a motion


def similar_frames(features: LibraryFeatures, index: FrameIndex) -> NDArray[np.int64]:
    """Frames with poses similar to that of every eighth frame, shape (N / 8, 16)."""
    rows = np.asarray(features.rows[::_EVERY])
    count = min(_NEIGHBORS, len(features))
    offsets, neighbors, _ = index.nearest(rows, features.rows, k=count, epsilon=0.5)
    out = np.empty((len(rows), 16), np.int64)
    for q in range(len(rows)):
        own = neighbors[offsets[q] : offsets[q + 1]]
        own = own if len(own) else np.array([q * _EVERY])
        out[q] = own[np.arange(16, 64, 3) % len(own)]
    return out


def motion_starts(frames: int, seed: int) -> NDArray[np.int64]:
    """Start frames of motions of 10 to 100 s, followed by `frames`."""
    rng = np.random.default_rng(seed)
    ends = np.cumsum(rng.integers(*_LENGTHS, size=frames // _LENGTHS[0] + 1))
    return np.concatenate([[0], ends[ends < frames - _LENGTHS[0]], [frames]]).astype(np.int64)


def write_rows(
    path: Path,
    features: LibraryFeatures,
    similar: NDArray[np.int64],
    starts: NDArray[np.int64],
    seed: int,
) -> None:
    """Write the rows of all motions to an ``.npy`` file, a million at a time."""
    rows = np.asarray(features.rows)
    ends = np.repeat(features.starts[1:], np.diff(features.starts))
    about = {"descr": "<f4", "fortran_order": False, "shape": (int(starts[-1]), rows.shape[1])}
    with open(path, "wb") as out:
        np.lib.format.write_array_header_1_0(out, about)
        motion = 0
        while motion < len(starts) - 1:
            last = int(np.searchsorted(starts, starts[motion] + _AT_ONCE))
            last = min(max(last, motion + 1), len(starts) - 1)
            bounds = starts[motion : last + 1] - starts[motion]
            some = np.empty((int(bounds[-1]), rows.shape[1]), np.float32)
            _walk(some, bounds, rows, ends, similar, seed + motion)
            out.write(some.data)
            motion = last


@kernel
def _walk(out, starts, rows, ends, similar, seed):
    count, size = rows.shape
    stance, fading, noise, pose = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    state = np.empty(1, np.uint64)
    state[0] = np.uint64(seed + 1) * np.uint64(0x9E3779B97F4A7C15)
    for m in range(len(starts) - 1):
        scale = 1.0 + 0.05 * _normal(state)
        for d in range(size):
            stance[d], fading[d], noise[d] = 0.02 * _normal(state), 0.0, 0.0
        place, speed = np.floor(count * _uniform(state)), 1.0
        for t in range(starts[m], starts[m + 1]):
            k = int(place)
            after, part = min(k + 1, ends[k] - 1), place - k
            for d in range(size):
                pose[d] = (1.0 - part) * rows[k, d] + part * rows[after, d] + fading[d]
                noise[d] = 0.95 * noise[d] + 0.007 * (_uniform(state) - 0.5)
                out[t, d] = scale * pose[d] + stance[d] + noise[d]
                fading[d] *= 0.85
            speed = 1.0 + 0.98 * (speed - 1.0) + 0.02 * _normal(state)
            speed = min(1.5, max(0.67, speed))
            if _uniform(state) < 1.0 / 60.0 or place + speed >= ends[k] - 1:
                to = similar[min(k // _EVERY, len(similar) - 1), int(16.0 * _uniform(state))]
                if to + 30 >= ends[to]:  # too close to its end
                    to = int(count * _uniform(state))
                for d in range(size):
                    fading[d] = pose[d] - rows[to, d]
                place = float(to)
            else:
                place += speed


@kernel
def _uniform(state):
    """Random number from 0 to 1 by xorshift, since each frame needs one number per feature."""
    x = state[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    state[0] = x
    return np.float64(x >> np.uint64(11)) / 9007199254740992.0


@kernel
def _normal(state):
    """Nearly normal random number: a sum of uniform ones."""
    total = -6.0
    for _ in range(12):
        total += _uniform(state)
    return total
