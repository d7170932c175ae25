"""Ragged arrays: many rows of different lengths in one array, separated by `offsets`.

Row ``i`` is ``values[offsets[i]:offsets[i + 1]]``. Kernels and files use the two arrays; Python
code uses rows, which are views.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from motionloom.errors import InvalidInput


@dataclass(frozen=True, eq=False)
class Ragged:
    """N rows of different lengths in one array.

    Parameters
    ----------
    values : array_like, shape (M, ...)
        All rows, concatenated. The array is not copied.
    offsets : array_like of int, shape (N + 1,)
        Start of each row, followed by M.

    Examples
    --------
    >>> rows = Ragged.from_rows([[1, 2, 3], [], [4, 5]])
    >>> len(rows), rows.offsets, rows.lengths
    (3, array([0, 3, 3, 5]), array([3, 0, 2]))
    >>> rows[2], rows.row_of([0, 2, 3])
    (array([4, 5]), array([0, 0, 2]))
    """

    values: NDArray[Any]
    offsets: NDArray[np.int64]

    def __post_init__(self) -> None:
        values, offsets = np.asarray(self.values), np.asarray(self.offsets)
        if (
            offsets.ndim != 1
            or not len(offsets)
            or offsets[0] != 0
            or offsets[-1] != len(values)
            or (offsets[1:] < offsets[:-1]).any()
        ):
            raise InvalidInput(
                f"offsets must start at 0, never decrease, and end at {len(values)}, the number "
                f"of values; got {offsets}"
            )
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "offsets", offsets.astype(np.int64, copy=False))

    @classmethod
    def from_rows(cls, rows: Iterable[ArrayLike], *, dtype: DTypeLike | None = None) -> Ragged:
        """Concatenate rows (n_i, ...) into a ragged array."""
        parts = [np.asarray(row, dtype) for row in rows]
        used = [part for part in parts if len(part)] or parts[:1]
        values = np.concatenate(used) if used else np.zeros(0, dtype)
        return cls(values, offsets_of([len(part) for part in parts]))

    @classmethod
    def from_lengths(cls, values: ArrayLike, lengths: ArrayLike) -> Ragged:
        """Split `values` (M, ...) into rows with the given `lengths` (N,)."""
        return cls(np.asarray(values), offsets_of(lengths))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> NDArray[Any]:
        """Return row `row` as a view (n, ...)."""
        if not -len(self) <= row < len(self):
            raise IndexError(f"row {row} does not exist; the array has {len(self)} rows")
        row = int(row) % len(self)
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return (self.values[a:b] for a, b in zip(self.offsets, self.offsets[1:], strict=False))

    @property
    def rows(self) -> list[NDArray[Any]]:
        """List of all rows, as views."""
        return list(self)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Length of each row, shape (N,)."""
        return np.diff(self.offsets)

    def row_of(self, index: ArrayLike) -> Any:
        """Return the index of the row that contains each index (...) into `values`."""
        return row_of(self.offsets, index)


def offsets_of(lengths: Sequence[int] | ArrayLike) -> NDArray[np.int64]:
    """Return the offsets (N + 1,) of rows with the given `lengths` (N,).

    Examples
    --------
    >>> offsets_of([3, 0, 2])
    array([0, 3, 3, 5])
    """
    lengths = np.asarray(lengths, np.int64)
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def row_of(offsets: NDArray[np.int64], index: ArrayLike) -> Any:
    """Return the index of the row that contains each index (...), given `offsets` (N + 1,).

    Examples
    --------
    >>> row_of(offsets_of([3, 0, 2]), [2, 3])
    array([0, 2])
    """
    return np.searchsorted(offsets, index, side="right") - 1
