"""Two tables of numbers whose rows are compared: checked at the door, once for all grids."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput

Number = TypeVar("Number", np.float32, np.float64)


def matching_tables(
    a: ArrayLike, b: ArrayLike, dtype: type[Number]
) -> tuple[NDArray[Number], NDArray[Number]]:
    """Tables (M, D) and (N, D) with numbers of one kind.

    Raises
    ------
    InvalidInput
        If one is no table, or their rows differ in length.

    Examples
    --------
    >>> one, other = matching_tables([[0, 1]], [[2, 3], [4, 5]], np.float32)
    >>> one.shape, other.dtype
    ((1, 2), dtype('float32'))
    """
    rows_a, rows_b = np.asarray(a, dtype=dtype), np.asarray(b, dtype=dtype)
    for name, rows in (("a", rows_a), ("b", rows_b)):
        if rows.ndim != 2:
            raise InvalidInput(f"{name} must have shape (frames, numbers); got {rows.shape}")
    if rows_a.shape[1] != rows_b.shape[1]:
        raise InvalidInput(
            "a and b must have rows of one length; "
            f"got {rows_a.shape[1]} and {rows_b.shape[1]} numbers"
        )
    return rows_a, rows_b
