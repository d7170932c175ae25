"""Where between its samples a curve turns: the parabola through a sample and its neighbours."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def summit_offset(before: ArrayLike, here: ArrayLike, after: ArrayLike) -> NDArray[np.float64]:
    """How far from a sample, half a sample at most, its parabola is highest or lowest.

    Zero where the three lie on a line. Arguments broadcast.

    Examples
    --------
    >>> summit_offset([1.0, 0.0], [2.0, 1.0], [2.0, 2.0])
    array([0.5, 0. ])
    """
    first, middle, last = (np.asarray(one, np.float64) for one in (before, here, after))
    bend = first - 2.0 * middle + last
    slope = 0.5 * (first - last)
    shift = np.divide(slope, bend, out=np.zeros_like(bend), where=bend != 0.0)
    return np.asarray(np.clip(shift, -0.5, 0.5))
