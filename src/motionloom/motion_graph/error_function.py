"""The error function of two motions: how unlike every frame of one is to every of the other.

It is worked on in bands of rows, so that two takes of an hour need no more room than two of a
minute. A motion against itself is the same on both sides of the diagonal: only the half above
it is computed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.distance import FrameDistance

_CELLS = 4_000_000  # of a band: 32 MB in double precision


@dataclass(frozen=True)
class Band:
    """Rows from `row` and columns from `column` on of an error function.

    `inner` are the rows that no other band has; beside them lie those of the margin.
    """

    row: int
    column: int
    cells: NDArray[Any]
    inner: slice


def error_bands(
    distance: FrameDistance,
    a: NDArray[Any],
    b: NDArray[Any] | None = None,
    *,
    multiple: int = 1,
    margin: int = 0,
) -> Iterator[Band]:
    """Distances between all frames of two prepared motions, band by band.

    Parameters
    ----------
    distance : FrameDistance
    a, b : ndarray, shapes (M, D), (N, D)
        What `distance.prepare` gave. Without `b`: `a` against itself, of which each band
        starts at its own row.
    multiple : int
        Bands start at multiples of so many rows.
    margin : int
        So many rows of the bands before and behind are given too.

    Examples
    --------
    >>> import motionloom as ml
    >>> from motionloom.distance import frame_distance
    >>> jrd, walk = frame_distance("jrd"), ml.demo.clip("walk")
    >>> rows = jrd.prepare(walk)
    >>> [band.cells.shape == (len(walk), len(walk)) for band in error_bands(jrd, rows, rows)]
    [True]
    """
    columns = a if b is None else b
    height = max(_CELLS // max(len(columns), 1) // multiple, 1) * multiple
    for row in range(0, len(a), height):
        above = max(row - margin, 0)
        first = above if b is None else 0
        cells = distance.matrix(a[above : row + height + margin], columns[first:])
        inner = slice(row - above, row - above + min(height, len(a) - row))
        yield Band(above, first, cells, inner)


def error_function(
    distance: FrameDistance, a: NDArray[Any], b: NDArray[Any] | None = None
) -> NDArray[np.float32]:
    """The whole of it, shape (M, N), in single precision; for pictures and small motions."""
    columns = a if b is None else b
    out = np.empty((len(a), len(columns)), dtype=np.float32)
    for band in error_bands(distance, a, b):
        out[band.row : band.row + len(band.cells), band.column :] = band.cells
        if b is None:
            out[band.column :, band.row : band.row + len(band.cells)] = band.cells.T
    return out
