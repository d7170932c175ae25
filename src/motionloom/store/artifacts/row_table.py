"""Reading a table derived from motions: some rows of numbers for each, all in one file.

``rows.npy`` holds the rows of all motions one after the other, ordered by name, and is
memory-mapped; ``index.json`` says whose they are.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import LibraryError
from motionloom.store.remote.folder import Folder, RemoteFolder

ROWS, INDEX = "rows.npy", "index.json"
_TOLD = ("names", "keys", "starts", "width", "fps", "frames", "left_out", "stamp")


@dataclass(frozen=True, eq=False)
class RowTable:
    """The rows of all motions.

    Attributes
    ----------
    rows : ndarray of float32, shape (N, D)
        Memory-mapped, read-only.
    starts : ndarray of int64, shape (M + 1,)
        Motion m has rows ``starts[m]`` to ``starts[m + 1]``.
    names : tuple of str, length M
        Sorted.
    fps : ndarray, shape (M,)
        Rate of each motion as stored.
    frames : ndarray of int64, shape (M,)
        Frames of each motion as stored.
    left_out : dict of str to str
        Motions without rows, and why.
    """

    rows: NDArray[np.float32]
    starts: NDArray[np.int64]
    names: tuple[str, ...]
    fps: NDArray[np.float64]
    frames: NDArray[np.int64]
    left_out: dict[str, str]


def row_total(folder: Folder) -> int:
    """How many rows a table has."""
    if isinstance(folder, RemoteFolder):
        return read_index(folder)["starts"][-1]
    return len(np.load(folder / ROWS, mmap_mode="r", allow_pickle=False))


def row_range(folder: Folder, first: int, last: int) -> NDArray[np.float32]:
    """Rows `first` to `last` of a table, memory-mapped; no others are fetched from a store."""
    if not isinstance(folder, RemoteFolder):
        return np.load(folder / ROWS, mmap_mode="r", allow_pickle=False)[first:last]
    index = read_index(folder)
    row_bytes = 4 * index["width"]
    header = folder.size(ROWS) - row_bytes * index["starts"][-1]
    shape = (last - first, index["width"])
    if not shape[0]:
        return np.empty(shape, np.float32)
    path = folder.stretch(ROWS, header + row_bytes * first, header + row_bytes * last)
    return np.memmap(path, dtype="<f4", mode="r", shape=shape)


def load_rows(folder: Folder) -> RowTable:
    """Open a table that `build_rows` wrote."""
    index = read_index(folder)
    try:
        rows = np.load(folder / ROWS, mmap_mode="r", allow_pickle=False)
        shape = (index["starts"][-1], index["width"])
        if rows.shape != shape or rows.dtype != np.float32:
            raise ValueError(f"expected float32 of {shape}, found {rows.dtype} of {rows.shape}")
    except (ValueError, EOFError) as error:
        raise LibraryError(f"{folder / ROWS}: damaged: {error}") from None
    return RowTable(
        rows,
        np.array(index["starts"], dtype=np.int64),
        tuple(index["names"]),
        np.array(index["fps"], dtype=np.float64),
        np.array(index["frames"], dtype=np.int64),
        index["left_out"],
    )


def read_index(folder: Folder) -> dict[str, Any]:
    """What ``index.json`` says.

    Raises
    ------
    LibraryError
        If it does not say all it should.
    """
    try:
        index = json.loads((folder / INDEX).read_text(encoding="utf-8"))
        return {key: index[key] for key in _TOLD}
    except (ValueError, KeyError, TypeError) as error:
        raise LibraryError(f"{folder / INDEX}: damaged: {error}") from None
