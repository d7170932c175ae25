"""Frames by number and by rate: what motions and markers are cut by, and runs of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput


def positive_rate(fps: float) -> float:
    """`fps` as a float, if it is a rate; else `InvalidInput`.

    Examples
    --------
    >>> positive_rate(120)
    120.0
    """
    rate = float(fps)
    if not 0.0 < rate < float("inf"):
        raise InvalidInput(f"fps must be positive; got {fps}")
    return rate


def frame_slice(key: Any, frames: int, whole: str) -> slice:
    """A slice of `frames` frames, with a positive step, from a slice or a frame number.

    Parameters
    ----------
    key : int or slice
    frames : int
        How many there are.
    whole : str
        What is cut, for messages: ``"motion"``.

    Examples
    --------
    >>> frame_slice(-1, 30, "motion"), frame_slice(slice(None, 10), 30, "motion")
    (slice(29, 30, 1), slice(0, 10, 1))
    """
    if isinstance(key, (int, np.integer)):
        index = int(key)
        if not -frames <= index < frames:
            raise IndexError(f"frame {index} is outside this {whole} of {frames} frames")
        index %= frames
        return slice(index, index + 1, 1)
    if not isinstance(key, slice):
        raise InvalidInput(f"a {whole} is cut with frame numbers or slices; got {key!r}")
    start, stop, step = key.indices(frames)
    if step < 0:
        raise InvalidInput(f"a {whole} cannot be cut backwards; the step must be positive")
    return slice(start, stop, step)


def intervals(mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Half-open ranges in which a mask (T,) is true.

    Examples
    --------
    >>> intervals(np.array([True, True, False, True]))
    [(0, 2), (3, 4)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(np.int8), [0]])))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]
