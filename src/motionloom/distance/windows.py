"""Short windows around every frame, sampled in seconds: the same at any frame rate."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def window_samples(
    values: NDArray[np.float64], seconds: ArrayLike, fps: float
) -> NDArray[np.float64]:
    """Values around every frame, at given times before and after it.

    Parameters
    ----------
    values : ndarray, shape (T, ...)
        One entry per frame.
    seconds : array_like, shape (S,)
        Times relative to the frame, negative before it.
    fps : float

    Returns
    -------
    samples : ndarray, shape (T, S, ...)
        Between frames linearly interpolated. Before the first frame the first, after the
        last one the last. A missing (NaN) value spoils the samples that rest on it alone.

    Examples
    --------
    >>> window_samples(np.array([0.0, 1.0, 2.0]), [-0.05, 0.0, 0.1], fps=10.0)
    array([[0. , 0. , 1. ],
           [0.5, 1. , 2. ],
           [1.5, 2. , 2. ]])
    """
    count = len(values)
    offsets = np.atleast_1d(np.asarray(seconds, dtype=np.float64)) * fps
    out = np.empty((count, len(offsets), *values.shape[1:]))
    frames = np.arange(count)
    for k, offset in enumerate(offsets):
        whole = round(offset)
        if abs(offset - whole) < 1e-6:  # a frame itself: no neighbour takes part
            out[:, k] = values[np.clip(frames + whole, 0, count - 1)]
            continue
        before = int(np.floor(offset))
        share = offset - before
        early = values[np.clip(frames + before, 0, count - 1)]
        late = values[np.clip(frames + before + 1, 0, count - 1)]
        out[:, k] = (1.0 - share) * early + share * late
    return out
