"""Match web: all potentially similar segments of two motions, as a network of paths.

Rows of the distance matrix are frames of one motion, and columns are frames of another. *Chains*
run along one-dimensional minima (`motionloom.search.match_web.chains`); *bridges* join chains
through the valid region (`motionloom.search.match_web.chains`). Every path along chains and over
bridges is a nearly optimal time alignment, so its rows and columns are segments of the two motions
that may be similar (Kovar & Gleicher 2004, section 3.2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.alignment import ALPHA, MAX_SLOPE, matrix_minima, valid_region
from motionloom.alignment.dtw import checked_matrix
from motionloom.errors import InvalidInput
from motionloom.ragged import offsets_of
from motionloom.search.match_web.chains import bridges_between, minima_chains
from motionloom.search.methods import WebOptions

if TYPE_CHECKING:
    from motionloom.search.match_web.near_cells import NearCells

LEAST_SECONDS = 0.25  # shorter chains are dropped; Kovar & Gleicher 2004, section 3.2
REACH_SECONDS = 2.0  # bridges are shorter than this in total over both motions; same section


@dataclass(frozen=True)
class WebLimits:
    """Rules for the chains and bridges of a web.

    Parameters
    ----------
    alpha : float
        Size of the valid region. A cell belongs to it if its squared distance exceeds that of a
        minimum by at most this fraction.
    max_slope : int
        Maximum number of frames of one motion that correspond to one frame of the other.
    chain_seconds : float
        Minimum length of a chain, averaged over both motions, in seconds. Shorter chains are
        dropped.
    bridge_seconds : float
        Maximum total span of a bridge over both motions, in seconds (exclusive).
    squares : bool
        If True, bridges minimize the mean squared distance instead of the mean distance.
    edge_minima : bool
        If True, the first and the last frame of a motion can be minima.
    shared_cells : bool
        If True, chains may continue over cells of earlier chains.
    second_pass : bool
        If True, areas without chains are searched a second time.
    extended_chains : bool
        If True, refined chains follow minima beyond their ends.
    near : float
        Maximum mean distance of relevant matches, in meters.
    network_seconds : float
        Minimum duration of a network of chains and bridges in each motion, in seconds. Shorter
        networks are dropped.
    """

    alpha: float = ALPHA
    max_slope: int = MAX_SLOPE
    chain_seconds: float = LEAST_SECONDS
    bridge_seconds: float = REACH_SECONDS
    squares: bool = False
    edge_minima: bool = False
    shared_cells: bool = False
    second_pass: bool = True
    extended_chains: bool = True
    near: float = math.inf
    network_seconds: float = 0.0

    @property
    def is_near(self) -> bool:
        """True if the web is restricted to near cells."""
        return self.near < math.inf

    @classmethod
    def of(cls, options: WebOptions) -> WebLimits:
        """Return the limits for web options; see `motionloom.search.settings.WebOptions`."""

        def applies(rule: str) -> bool:
            return options.rules in ("default", rule)

        return cls(
            alpha=options.alpha,
            max_slope=options.max_slope,
            chain_seconds=options.chain_seconds,
            bridge_seconds=options.bridge_seconds,
            squares=options.squares,
            edge_minima=options.rules == "border-minima",
            shared_cells=not applies("separate-chains"),
            second_pass=applies("second-pass"),
            extended_chains=applies("extended-chains"),
        )

    def __post_init__(self) -> None:
        if not self.alpha >= 0.0:
            raise InvalidInput(f"alpha must not be negative; got {self.alpha}")
        if self.max_slope < 1:
            raise InvalidInput(f"max_slope must be at least 1; got {self.max_slope}")
        for name in ("chain_seconds", "bridge_seconds"):
            if not getattr(self, name) >= 0.0:
                raise InvalidInput(f"{name} must not be negative; got {getattr(self, name)}")


@dataclass(frozen=True, eq=False)
class Web:
    """Chains and bridges between one motion (rows) and one or more others (columns).

    Attributes
    ----------
    shape : tuple of int
        Number of rows M and columns N of the matrix, which are frames of the motions at `rate`.
    rate : float
        Frames per second of rows and columns.
    cells : ndarray of int32, shape (C, 2)
        Row and column of the cells of all paths, first of the chains, then of the bridges. Rows and
        columns never decrease along a path.
    values : ndarray of float32, shape (C,)
        Distance at each cell.
    offsets : ndarray of int64, shape (paths + 1,)
        Path p has cells ``offsets[p]`` to ``offsets[p + 1]``. A bridge between adjacent cells has
        no cells.
    chain_count : int
        Paths 0 to ``chain_count - 1`` are chains.
    leaves, arrives : ndarray of int64, shape (B,)
        Bridge b (path ``chain_count + b``) leads from chain cell ``leaves[b]`` over the bridge
        cells to chain cell ``arrives[b]``. Both are indices into `cells`.

    Examples
    --------
    >>> frames = np.arange(40.0)
    >>> web = build_web(np.abs(np.subtract.outer(frames, frames[5:25])), rate=10.0)
    >>> web
    Web(40 x 20 at 10 fps: 1 chains, 0 bridges, 20 cells)
    >>> web.cells[:2].tolist()
    [[5, 0], [6, 1]]
    """

    shape: tuple[int, int]
    rate: float
    cells: NDArray[np.int32]
    values: NDArray[np.float32]
    offsets: NDArray[np.int64]
    chain_count: int
    leaves: NDArray[np.int64]
    arrives: NDArray[np.int64]

    @classmethod
    def empty(cls, shape: tuple[int, int], rate: float) -> Web:
        """Return a web without paths."""
        nothing = np.empty(0, np.int64)
        cells, values = np.empty((0, 2), np.int32), np.empty(0, np.float32)
        return cls(shape, rate, cells, values, np.zeros(1, np.int64), 0, nothing, nothing)

    @property
    def bridge_count(self) -> int:
        """Number of bridges."""
        return len(self.leaves)

    def path(self, number: int) -> NDArray[np.int32]:
        """Return the cells of a chain or bridge, shape (L, 2)."""
        return self.cells[self.offsets[number] : self.offsets[number + 1]]

    def transposed(self) -> Web:
        """Return the same web with rows and columns exchanged."""
        return Web(
            (self.shape[1], self.shape[0]),
            self.rate,
            self.cells[:, ::-1],
            self.values,
            self.offsets,
            self.chain_count,
            self.leaves,
            self.arrives,
        )

    def moved(self, rows: int) -> Web:
        """Return the web shifted by a number of rows."""
        return replace(self, cells=self.cells + np.array([rows, 0], np.int32))

    def between(self, first: int, last: int) -> Web:
        """Return the part of the web in columns `first` to `last`, of one or more motions.

        Chains must be ordered by motion, as in the result of `build_web`.
        """
        heads = self.cells[self.offsets[: self.chain_count], 1]
        low, high = np.searchsorted(heads >= first, True), np.searchsorted(heads >= last, True)
        ends = self.offsets[[low, high]]
        left, right = np.searchsorted(self.leaves, ends)
        bridges = self.offsets[self.chain_count + left : self.chain_count + right + 1]
        chains = self.offsets[low : high + 1]
        chosen = np.r_[ends[0] : ends[1], bridges[0] : bridges[-1]]
        return Web(
            (self.shape[0], last - first),
            self.rate,
            self.cells[chosen] - np.array([0, first], np.int32),
            self.values[chosen],
            np.concatenate([chains - ends[0], bridges[1:] - bridges[0] + (ends[1] - ends[0])]),
            int(high - low),
            self.leaves[left:right] - ends[0],
            self.arrives[left:right] - ends[0],
        )

    def __repr__(self) -> str:
        return (
            f"Web({self.shape[0]} x {self.shape[1]} at {self.rate:g} fps: {self.chain_count} "
            f"chains, {self.bridge_count} bridges, {len(self.cells)} cells)"
        )


def joined(webs: Sequence[tuple[Web, int]], shape: tuple[int, int], rate: float) -> Web:
    """Join webs with the same rows, each with its columns shifted.

    Parameters
    ----------
    webs : sequence of (Web, int)
        Webs and their first columns. They must be in increasing order for `Web.between` to work.
    shape : tuple of int
    rate : float
    """
    chain_sizes = [int(web.offsets[web.chain_count]) for web, _ in webs]
    before = offsets_of(chain_sizes)
    shifts = [np.array([0, column], np.int32) for _, column in webs]
    chains = [web.cells[:n] + s for (web, _), n, s in zip(webs, chain_sizes, shifts, strict=True)]
    bridges = [web.cells[n:] + s for (web, _), n, s in zip(webs, chain_sizes, shifts, strict=True)]
    lengths = [np.diff(web.offsets[: web.chain_count + 1]) for web, _ in webs]
    lengths += [np.diff(web.offsets[web.chain_count :]) for web, _ in webs]
    values = [web.values[:n] for (web, _), n in zip(webs, chain_sizes, strict=True)]
    values += [web.values[n:] for (web, _), n in zip(webs, chain_sizes, strict=True)]
    nothing = np.empty(0, np.int64)
    return Web(
        shape,
        rate,
        np.concatenate([np.empty((0, 2), np.int32), *chains, *bridges]),
        np.concatenate([np.empty(0, np.float32), *values]),
        offsets_of(np.concatenate([nothing, *lengths])),
        sum(web.chain_count for web, _ in webs),
        np.concatenate([nothing, *(w.leaves + n for (w, _), n in zip(webs, before, strict=False))]),
        np.concatenate(
            [nothing, *(w.arrives + n for (w, _), n in zip(webs, before, strict=False))]
        ),
    )


def build_web(
    matrix: ArrayLike,
    *,
    rate: float,
    starts: ArrayLike | None = None,
    itself: int | None = None,
    lag: int = 0,
    limits: WebLimits | None = None,
    near: NearCells | None = None,
) -> Web:
    """Build the web of a distance matrix at the rate of the matrix.

    Parameters
    ----------
    matrix : array_like, shape (M, N)
    rate : float
        Frames per second of its rows and columns.
    starts : array_like of int, shape (K + 1,), optional
        First column of each of K motions, followed by N. No path leads from one motion to another.
        Default: a single motion.
    itself : int, optional
        First column of the row motion itself, if it is among the columns. In these columns, a cell
        counts only if its column is later than its row by at least the length of the shortest
        chain. All other cells belong to the trivial diagonal or to the mirror image.
    lag : int
        Offset in frames of the column `itself` relative to the first row, if rows and columns are
        parts of that motion.
    limits : WebLimits, optional
    near : NearCells, optional
        Cells that paths may visit. Default: all.

    Returns
    -------
    web : Web
    """
    limits = limits or WebLimits()
    matrix = checked_matrix(matrix)
    if not rate > 0.0:
        raise InvalidInput(f"rate must be positive; got {rate}")
    bounds = np.array([0, matrix.shape[1]] if starts is None else starts, dtype=np.int64)
    shape = (matrix.shape[0], matrix.shape[1])
    minima = matrix_minima(matrix, starts=bounds, edges=limits.edge_minima)
    if near is not None:
        minima *= near.around
    region = valid_region(matrix, alpha=limits.alpha, starts=bounds, minima=minima)
    if near is not None:
        region &= near.cells
    if itself is not None:
        last = int(bounds[np.searchsorted(bounds, itself, side="right")])
        apart = int(limits.chain_seconds * rate) - lag
        trivial = np.tri(len(matrix), last - itself, apart, dtype=np.bool_)
        minima[:, itself:last][trivial] = 0
        region[:, itself:last][trivial] = False
    cells, offsets = minima_chains(
        matrix,
        minima,
        bounds,
        max_slope=limits.max_slope,
        least_length=limits.chain_seconds * rate,
        shared_cells=limits.shared_cells,
        second_pass=limits.second_pass,
    )
    bridges = bridges_between(
        matrix * matrix if limits.squares else matrix,
        region,
        bounds,
        cells,
        offsets,
        max_slope=limits.max_slope,
        reach=limits.bridge_seconds * rate,
        near=near,
    )
    every = np.concatenate([cells, bridges.cells])
    return Web(
        shape,
        float(rate),
        every,
        matrix[every[:, 0], every[:, 1]].astype(np.float32),
        np.concatenate([offsets, offsets[-1] + bridges.offsets[1:]]),
        len(offsets) - 1,
        bridges.leaves,
        bridges.arrives,
    )
