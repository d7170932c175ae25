"""Distances between all whole clips of a library, stored so that each pair is compared once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from motionloom.checked_arrays import open_array
from motionloom.errors import LibraryError
from motionloom.parallel import Progress
from motionloom.search.clips.retrieval import ClipTable, clip_marks, table_options
from motionloom.search.clips.vectors import mirrored
from motionloom.store.remote.folder import Folder
from motionloom.store.store import Store

KIND = "clip-distances"
_MOST_PAIRS = 50_000_000  # 400 MB; distances of larger libraries are not stored
_CLIPS_AT_ONCE = 128


def clip_distance_table(
    library: Store,
    table: ClipTable,
    chosen: NDArray[np.int64],
    *,
    progress: Progress | None = None,
) -> NDArray[np.float64]:
    """Return the distances between all pairs of the chosen clips, shape (N, N).

    The distances between all clips of the library are stored, and only those of new clips are
    computed. A small part of a library without stored distances is compared on its own.

    Parameters
    ----------
    library : Store
    table : ClipTable
        Table of all clips.
    chosen : ndarray of int64, shape (N,)
        Indices of clips without gaps.
    progress : callable, optional
        Called with the number of clips compared since the last call; as many in total as the
        library has motions.
    """
    whole = np.flatnonzero(table.clips.whole)
    report = progress or (lambda steps: None)
    options = table_options(table)
    small = 2 * len(chosen) < len(whole) and library.artifacts.stale(KIND, options)
    if small or len(whole) * (len(whole) - 1) // 2 > _MOST_PAIRS:
        distances = mirrored(_compared(table.some(chosen), 0, report))
        report(len(library) - len(chosen))
        return distances
    marks = np.array(clip_marks(library, [table.names[c] for c in whole]))
    compared = 0

    def build(folder: Path, previous: Folder | None) -> None:
        nonlocal compared
        order, old = np.arange(len(marks)), np.zeros((0, 0))
        if previous is not None:
            before = open_array(previous / "marks.npy", memory_map=False)
            kept = np.flatnonzero(np.isin(before, marks))
            place = {mark: k for k, mark in enumerate(marks.tolist())}
            first = np.array([place[mark] for mark in before[kept].tolist()], np.int64)
            order = np.concatenate([first, np.setdiff1d(order, first)])
            square = _square(open_array(previous / "distances.npy"), len(before))
            old = square[np.ix_(kept, kept)]
        distances = np.full((len(marks), len(marks)), np.nan)
        distances[: len(old), : len(old)] = old
        compared = len(marks) - len(old)
        distances[len(old) :] = _compared(table.some(whole[order]), len(old), report)
        np.save(folder / "marks.npy", marks[order])
        np.save(folder / "distances.npy", distances[np.tril_indices(len(marks), -1)])

    def load(folder: Folder) -> tuple[NDArray, NDArray[np.float64]]:
        stored = open_array(folder / "marks.npy", memory_map=False)
        distances = open_array(folder / "distances.npy")
        pairs = len(stored) * (len(stored) - 1) // 2
        if distances.shape != (pairs,) or distances.dtype != np.float64:
            raise LibraryError(f"{folder}: damaged: expected {pairs} distances")
        if sorted(stored.tolist()) != sorted(marks.tolist()) or (distances < 0.0).any():
            raise LibraryError(f"{folder}: damaged: the distances belong to other clips")
        return stored, _square(distances, len(stored))

    stored, distances = library.artifacts.derive(KIND, options, build=build, read=load)
    report(len(library) - compared)
    place = {mark: k for k, mark in enumerate(stored.tolist())}
    number = {int(c): place[mark] for c, mark in zip(whole, marks.tolist(), strict=True)}
    rows = np.array([number[int(c)] for c in chosen], np.int64)
    return distances[np.ix_(rows, rows)]


def _compared(table: ClipTable, first: int, report: Progress) -> NDArray[np.float64]:
    """Return the distances of the clips from `first` on to all clips before them."""
    parts = []
    for start in range(first, len(table.names), _CLIPS_AT_ONCE):
        end = min(start + _CLIPS_AT_ONCE, len(table.names))
        parts.append(table.measure.matrix_rows(table.clips, start, end))
        report(end - start)
    return np.concatenate([np.zeros((0, len(table.names))), *parts])


def _square(pairs: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Return the symmetric matrix whose lower triangle is `pairs`, row by row."""
    square = np.zeros((count, count))
    square[np.tril_indices(count, -1)] = pairs
    return square + square.T
