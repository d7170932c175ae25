"""Euclidean distance matrices computed with one matrix product."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput

Number = TypeVar("Number", np.float32, np.float64)


def matching_tables(
    a: ArrayLike, b: ArrayLike, dtype: type[Number]
) -> tuple[NDArray[Number], NDArray[Number]]:
    """Check two arrays and convert them to shapes (M, D) and (N, D) of one type.

    Raises
    ------
    InvalidInput
        If an array is not two-dimensional, or if D differs.

    Examples
    --------
    >>> one, other = matching_tables([[0, 1]], [[2, 3], [4, 5]], np.float32)
    >>> one.shape, other.dtype
    ((1, 2), dtype('float32'))
    """
    rows_a, rows_b = np.asarray(a, dtype=dtype), np.asarray(b, dtype=dtype)
    for name, rows in (("a", rows_a), ("b", rows_b)):
        if rows.ndim != 2:
            raise InvalidInput(f"{name} must have shape (frames, features); got {rows.shape}")
    if rows_a.shape[1] != rows_b.shape[1]:
        raise InvalidInput(
            f"a and b must have equal numbers of features; got {rows_a.shape[1]} and "
            f"{rows_b.shape[1]}"
        )
    return rows_a, rows_b


def euclidean_matrix(a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    """Return the Euclidean distance between every row of `a` and every row of `b`.

    Parameters
    ----------
    a, b : array_like, shapes (M, D), (N, D)

    Returns
    -------
    distances : ndarray, shape (M, N)

    Notes
    -----
    Distances are computed in double precision relative to one row of `b`. A distance below about
    ``1e-7`` times the spread of the rows is a rounding error. Rows with a missing (NaN) value have
    distance NaN.

    Examples
    --------
    >>> euclidean_matrix([[0.0, 0.0]], [[3.0, 4.0], [0.0, 0.0]])
    array([[5., 0.]])
    """
    return np.sqrt(squared_matrix(a, b))


def squared_matrix(a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    """Return squared Euclidean distances between all rows of `a` and `b`."""
    rows_a, rows_b = matching_tables(a, b, np.float64)
    center = _some_row(rows_b)
    rows_a, rows_b = rows_a - center, rows_b - center
    squared = rows_a @ rows_b.T
    squared *= -2.0
    squared += np.einsum("ij,ij->i", rows_a, rows_a)[:, None]
    squared += np.einsum("ij,ij->i", rows_b, rows_b)
    return np.maximum(squared, 0.0, out=squared)  # rounding can give negative values


def _some_row(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the first row without a missing value, or zeros."""
    for row in rows:
        if not np.isnan(row).any():
            return row
    return np.zeros(rows.shape[1])
