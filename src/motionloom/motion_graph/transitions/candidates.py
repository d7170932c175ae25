"""Transition candidates: pairs of frames at which two motions are similar.

The error function of two motions is the matrix of distances between all their frames. It is
computed in bands of rows, so that two one-hour takes need no more memory than two one-minute takes.
Two methods find candidates in it:

``sectors``
    Take the smallest error in every square sector, if it meets three conditions: the error is below
    the threshold, no neighboring sector has a candidate for nearly the same frames that is kept
    instead, and the mean error over the frames to be blended is also below the threshold.
``minima``
    Take every local minimum below the threshold (Kovar, Gleicher & Pighin 2002).

References
----------
.. [1] L. Kovar, M. Gleicher, F. Pighin. Motion graphs. SIGGRAPH 2002, section 3.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.features import FrameDistance

BAND_CELLS = 4_000_000  # cells per band: 32 MB in double precision


@dataclass(frozen=True)
class Band:
    """Part of an error function that starts at row `row` and column `column`.

    `inner` is the slice of rows that belong only to this band; the other rows are its margin.
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
    """Yield the distances between all frames of two motions, one band of rows at a time.

    Parameters
    ----------
    distance : FrameDistance
    a, b : ndarray, shapes (M, D), (N, D)
        Results of `distance.prepare`. Without `b`, `a` is compared with itself; the error function
        is then symmetric, and each band starts at the diagonal.
    multiple : int
        Bands start at multiples of this number of rows.
    margin : int
        Number of rows to include from each neighboring band.

    Examples
    --------
    >>> import motionloom as ml
    >>> from motionloom.features import frame_distance
    >>> jrd, walk = frame_distance("jrd"), ml.demo.clip("walk")
    >>> rows = jrd.prepare(walk)
    >>> [band.cells.shape == (len(walk), len(walk)) for band in error_bands(jrd, rows, rows)]
    [True]
    """
    columns = a if b is None else b
    height = max(BAND_CELLS // max(len(columns), 1) // multiple, 1) * multiple
    for row in range(0, len(a), height):
        above = max(row - margin, 0)
        first = above if b is None else 0
        cells = distance.matrix(a[above : row + height + margin], columns[first:])
        inner = slice(row - above, row - above + min(height, len(a) - row))
        yield Band(above, first, cells, inner)


def error_function(
    distance: FrameDistance, a: NDArray[Any], b: NDArray[Any] | None = None
) -> NDArray[np.float32]:
    """Return the complete error function (M, N) in single precision; only for short motions."""
    columns = a if b is None else b
    out = np.empty((len(a), len(columns)), dtype=np.float32)
    for band in error_bands(distance, a, b):
        out[band.row : band.row + len(band.cells), band.column :] = band.cells
        if b is None:
            out[band.column :, band.row : band.row + len(band.cells)] = band.cells.T
    return out


Method = Literal["sectors", "minima"]
METHODS: tuple[Method, ...] = ("sectors", "minima")

_PAIRED = 64  # number of frame pairs compared at once, as the diagonal of a small matrix

Ints = NDArray[np.int64]
Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TransitionCandidates:
    """Table of n candidates for transitions between two motions.

    Attributes
    ----------
    frames : ndarray of int64, shape (n, 2)
        Frame of the first motion and frame of the second motion.
    errors : ndarray, shape (n,)
        Frame distance between the two frames.
    means : ndarray, shape (n,)
        Mean distance over the frames to be blended; infinite if some of them do not exist.
    sectors : ndarray of int64, shape (n, 2)
        Sector along the first motion and sector along the second.
    examined : int
        Number of sectors of the error function. If a motion is compared with itself and the window
        is centered, only sectors on and above the diagonal count.
    back : ndarray, shape (n,), optional
        Mean distance over the frames blended by the transition from the second motion to the
        first. Default: the same frames are blended, so that it equals `means`.
    """

    frames: Ints
    errors: Array
    means: Array
    sectors: Ints
    examined: int = 0
    back: Array | None = None

    def __len__(self) -> int:
        return len(self.frames)

    @property
    def scores(self) -> Array:
        """Smallest threshold at which each candidate is accepted, shape (n,)."""
        return np.maximum(self.errors, self.means)

    def select(self, mask: NDArray[Any] | slice) -> TransitionCandidates:
        """Select candidates by mask (n,), by index or by slice."""
        return replace(
            self,
            frames=self.frames[mask],
            errors=self.errors[mask],
            means=self.means[mask],
            sectors=self.sectors[mask],
            back=None if self.back is None else self.back[mask],
        )


@dataclass(frozen=True)
class Pruning:
    """Number of candidates that remain after each condition."""

    sectors: int
    below_threshold: int
    not_doubled: int
    alike_around: int


def transition_candidates(
    distance: FrameDistance,
    a: NDArray[Any],
    b: NDArray[Any] | None = None,
    *,
    method: Method = "sectors",
    sector: int = 15,
    blend: int = 12,
    apart: int = 15,
    window: str = "centered",
    skip_ends: bool = True,
) -> TransitionCandidates:
    """Find all candidates between two motions, before a threshold is applied.

    Parameters
    ----------
    distance : FrameDistance
    a, b : ndarray, shapes (M, D), (N, D)
        Results of `distance.prepare`. Without `b`, `a` is compared with itself, and candidates
        within `apart` frames of the diagonal are excluded. If the window is centered, each pair of
        mirrored candidates is then returned once, with the earlier frame first.
    method : {"sectors", "minima"}
    sector : int
        Number of frames along each side of a sector.
    blend : int
        Number of frames that are blended.
    apart : int
        Minimum distance from the diagonal, in frames.
    window : {"centered", "kr14"}
        Frames that are blended; see `window_centers`.
    skip_ends : bool
        Ignore cells at which some of the frames to be blended do not exist. Otherwise, they can
        become candidates, with an infinite mean error.
    """
    if method not in METHODS:
        raise InvalidInput(f"method must be one of {', '.join(METHODS)}; got {method!r}")
    parts: list[tuple[Ints, Array]] = []
    own = b is None
    # A centered transition and the transition back blend the same frames, so half of a symmetric
    # error function is enough.
    half = own and window == "centered"
    second = a if b is None else b
    margin = 0 if method == "sectors" else 1  # local minima are detected from neighboring rows
    whole = None  # the error function, if it is a single band
    for band in error_bands(distance, a, None if half else second, multiple=sector, margin=margin):
        whole = band.cells if band.cells.shape == (len(a), len(second)) else None
        cells = np.where(np.isnan(band.cells), np.inf, band.cells)
        if skip_ends:
            _forbid_ends(cells, band.row, band.column, len(a), len(second), blend, window)
        if own:
            _forbid_diagonal(cells, band.row, band.column, apart, half)
        if method == "sectors":
            candidates, errors = _sector_minima(cells, sector)
        else:
            candidates, errors = _local_minima(cells, band.inner)
        parts.append((candidates + np.array([band.row, band.column], np.int64), errors))
    frames = (
        np.concatenate([candidates for candidates, _ in parts])
        if parts
        else np.zeros((0, 2), np.int64)
    )
    errors = np.concatenate([errors for _, errors in parts]) if parts else np.zeros(0)
    there, reverse = window_centers(frames, blend, window)
    means = _blend_errors(distance, a, second, there, blend, whole)
    back = None
    if window != "centered":  # the frames of the first motion first, as distances are symmetric
        back = _blend_errors(distance, a, second, reverse[:, ::-1], blend, whole)
    high, wide = -(-len(a) // sector), -(-len(second) // sector)
    examined = high * (high + 1) // 2 if half else high * wide
    return TransitionCandidates(frames, errors, means, frames // sector, examined, back)


def window_centers(frames: Ints, blend: int, window: str = "centered") -> tuple[Ints, Ints]:
    """Return the middle frame of each blend, for transitions at frames (i, j) of A and B.

    Parameters
    ----------
    frames : ndarray of int64, shape (n, 2)
        Frame i of A and frame j of B.
    blend : int
        Number k of frames that are blended.
    window : {"centered", "kr14"}
        Frames that are blended. ``"centered"`` blends the frames around i with the frames around j.
        ``"kr14"`` blends A_i to A_(i+k-1) with B_(j-k+1) to B_j, as in Kravcevich 2014, section
        4.6.

    Returns
    -------
    there, back : ndarray of int64, shape (n, 2)
        Source and target frames of the transitions from A to B, and of the transitions from B to A,
        in which i and j are swapped (section 4.8).

    Examples
    --------
    >>> there, back = window_centers(np.array([[357, 211]]), 30, "kr14")
    >>> first = there - 15  # A_357 with B_182
    >>> first.tolist(), back.tolist()
    ([[357, 182]], [[226, 343]])
    """
    mirrored = frames[:, ::-1]
    if window == "centered":
        return frames, mirrored
    shift = np.array([blend // 2, blend // 2 - blend + 1], np.int64)
    return frames + shift, mirrored + shift


def pruned(
    candidates: TransitionCandidates,
    threshold: float,
    *,
    method: Method = "sectors",
    blend: int = 12,
) -> tuple[TransitionCandidates, Pruning]:
    """Return the candidates below a threshold, and how many remain after each condition.

    Parameters
    ----------
    candidates : TransitionCandidates
    threshold : float
        Threshold in the unit of the distance.
    method, blend
        As in `transition_candidates`.
    """
    kept, counts = rows_below(candidates, threshold, method=method, blend=blend)
    return candidates.select(kept), counts


def rows_below(
    candidates: TransitionCandidates,
    threshold: float,
    *,
    method: Method = "sectors",
    blend: int = 12,
) -> tuple[NDArray[np.intp], Pruning]:
    """Return the rows of the candidates that `pruned` returns, and its counts."""
    kept = np.flatnonzero(candidates.errors <= threshold)
    first = len(kept)
    if first and method != "minima":  # most pairs of motions in a library have no candidates here
        kept = kept[~_doubled(candidates, kept, blend)]
    second = len(kept)
    kept = kept[candidates.means[kept] <= threshold]
    return kept, Pruning(candidates.examined, first, second, len(kept))


def _forbid_ends(cells, row, column, rows, columns, blend, window) -> None:
    """Set cells to infinity if the frames to be blended do not exist."""
    i = np.arange(row, row + cells.shape[0])
    j = np.arange(column, column + cells.shape[1])
    for axis, (frames, count) in enumerate(((i, rows), (j, columns))):
        places = np.stack([frames, frames], axis=1)
        center = window_centers(places, blend, window)[0][:, axis]
        outside = (center < blend // 2) | (center > count - (blend - blend // 2))
        if axis == 0:
            cells[outside] = np.inf
        else:
            cells[:, outside] = np.inf


def _forbid_diagonal(cells, row, column, apart, half) -> None:
    """Set cells within `apart` frames of the diagonal and, if `half`, below it to infinity."""
    i = np.arange(row, row + cells.shape[0])[:, None]
    ahead = np.arange(column, column + cells.shape[1])[None] - i
    cells[(ahead if half else np.abs(ahead)) < apart] = np.inf


def _blend_errors(distance, a, b, centers: Ints, blend: int, whole: Array | None) -> Array:
    """Return the mean distance (n,) over each blend; infinite if some of its frames are missing.

    `whole` (M, N) is the error function, or None if it is too large to be kept.
    """
    out = np.full(len(centers), np.inf)
    there = inside(centers, len(a), len(b), blend)
    if whole is None:
        out[there] = mean_errors(distance, a, b, centers[there], blend)
    else:
        i, j = (centers[there, k, None] + _steps(blend) for k in (0, 1))
        out[there] = whole[i, j].mean(axis=1)
    return out


def _sector_minima(cells: Array, sector: int) -> tuple[Ints, Array]:
    """Return the frames and error of the smallest cell in each sector that has a finite cell."""
    high, wide = (-(-side // sector) for side in cells.shape)
    padded = np.full((high * sector, wide * sector), np.inf, dtype=cells.dtype)
    padded[: cells.shape[0], : cells.shape[1]] = cells
    blocks = padded.reshape(high, sector, wide, sector).transpose(0, 2, 1, 3)
    flat = blocks.reshape(high, wide, sector * sector)
    best = flat.argmin(axis=-1)
    errors = np.take_along_axis(flat, best[..., None], axis=-1)[..., 0].astype(np.float64)
    r, c = np.nonzero(np.isfinite(errors))
    inside = best[r, c]
    frames = np.stack([r * sector + inside // sector, c * sector + inside % sector], axis=1)
    return frames.astype(np.int64), errors[r, c]


def _local_minima(cells: Array, inner: slice) -> tuple[Ints, Array]:
    """Return the frames and error of the local minima in the inner rows."""
    from scipy.ndimage import minimum_filter

    least = np.isfinite(cells) & (cells <= minimum_filter(cells, size=3, mode="nearest"))
    least[: inner.start] = False
    least[inner.stop :] = False
    return np.argwhere(least).astype(np.int64), cells[least].astype(np.float64)


def inside(frames: Ints, source: int, target: int, blend: int) -> NDArray[np.bool_]:
    """Return a mask (n,): True if all frames to be blended around `frames` (n, 2) exist."""
    ends = np.array([source, target]) - (blend - blend // 2)
    return np.all((frames >= blend // 2) & (frames <= ends), axis=1)


def _steps(blend: int) -> Ints:
    """Return the frames of a blend, relative to its middle."""
    return np.arange(-(blend // 2), blend - blend // 2)


def mean_errors(
    distance: FrameDistance, a: NDArray[Any], b: NDArray[Any], frames: Ints, blend: int
) -> Array:
    """Return the mean distance (n,) over the `blend` frames around each of `frames` (n, 2)."""
    if not len(frames):
        return np.zeros(0)
    steps = _steps(blend)
    i, j = ((frames[:, k, None] + steps).ravel() for k in (0, 1))
    errors = np.empty(len(i))
    for start in range(0, len(i), _PAIRED):
        part = slice(start, start + _PAIRED)
        errors[part] = np.diagonal(distance.matrix(a[i[part]], b[j[part]]))
    return errors.reshape(len(frames), len(steps)).mean(axis=1)


def _doubled(candidates: TransitionCandidates, rows: NDArray[np.intp], near: int) -> NDArray[Any]:
    """Return a mask (n,) of the candidates `rows` (n,): True if a neighboring sector duplicates it.

    If the first motion runs from left to right and the second from top to bottom, candidates are
    visited from top right to bottom left. A candidate is dropped if a sector that has not been
    visited yet contains another candidate within `near` frames. The bottom left candidate of each
    cluster remains.
    """
    if len(rows) == 1:
        return np.zeros(1, dtype=bool)
    # Plain lists, because a pair of short takes has few candidates.
    sectors = [(i, j) for i, j in candidates.sectors[rows].tolist()]
    frames = dict(zip(sectors, candidates.frames[rows].tolist(), strict=True))

    def doubles(sector: tuple[int, int]) -> bool:
        (i, j), (a, b) = sector, frames[sector]
        for step in ((-1, 0), (-1, 1), (0, 1), (1, 1)):  # left; below left, below, below right
            other = frames.get((i + step[0], j + step[1]))
            if other is not None and abs(a - other[0]) < near and abs(b - other[1]) < near:
                return True
        return False

    return np.array([doubles(sector) for sector in sectors], dtype=bool)
