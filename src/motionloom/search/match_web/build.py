"""Build match webs: at 10 Hz first, then refined; or directly at the full rate.

The distance matrix of one motion with many is held at the full rate only while their web is
built. A pair of motions whose matrix is too large is processed in parts that overlap by more
than the length of most queries. So memory grows neither with the number of motions nor with
their lengths.

A web of near cells (`WebLimits.near`) is built only where matches may be, which lower bounds of the
distances tell: see `motionloom.features.window_trends` and
`motionloom.search.match_web.near_cells`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from motionloom.features import FrameDistance
from motionloom.features.matrix import DistanceMatrix, PreparedFrames, prepared_frames
from motionloom.features.window_trends import TrendMatrix, WindowTrends, window_trends
from motionloom.motion import Motion
from motionloom.ragged import offsets_of, row_of
from motionloom.search.match_web.near_cells import near_cells, with_neighbours
from motionloom.search.match_web.networks import useful_paths
from motionloom.search.match_web.refinement import corridor, refined, strides
from motionloom.search.match_web.web import Web, WebLimits, build_web, joined

MOST_CELLS = 16_000_000  # of the matrix in memory: 128 MB
CHUNK_CELLS = 2_000_000  # of several motions at a time: they stay in the processor's cache
_COARSE_PATHS = 1.5  # paths with a mean at 10 Hz of so many times the limit may refine to a match
_ROUNDED = 5e-4  # metres: values are stored in such steps
OVERLAP_SECONDS = 10.0  # of the parts of long motions

Frames = PreparedFrames | WindowTrends


def web_frames(motion: Motion, distance: FrameDistance, limits: WebLimits) -> Frames:
    """The frames of a motion at the rate of a web, as `motion_web` takes them."""
    frames = prepared_frames(motion, distance)
    return window_trends(frames) if limits.is_near else frames


def motion_web(
    a: Frames,
    others: Sequence[Frames],
    *,
    rate: float,
    itself: int | None = None,
    limits: WebLimits | None = None,
    direct: bool = False,
    most_cells: int = MOST_CELLS,
) -> Web:
    """The web of one motion (rows) and others (columns, concatenated).

    Parameters
    ----------
    a : PreparedFrames or WindowTrends
        M frames, as from `motionloom.features.matrix.prepared_frames`; for near cells with the
        trends of their windows.
    others : sequence of the same
        N frames in all.
    rate : float
        Frames per second of all of them.
    itself : int, optional
        Number of the motion itself among the others, if it is there.
    limits : WebLimits, optional
    direct : bool
        Build directly at the full rate instead of at 10 Hz first: slower, and exact.
    most_cells : int
        Cells of the distance matrix in memory, at most. Motions with more frames than its
        square root are processed in parts.

    Returns
    -------
    web : Web
        Of shape (M, N). Chains are ordered by motion.

    Examples
    --------
    >>> import motionloom as ml
    >>> from motionloom.features.matrix import prepared_frames
    >>> walk, jog = prepared_frames(ml.demo.clip("walk")), prepared_frames(ml.demo.clip("jog"))
    >>> web = motion_web(walk, [walk, jog], rate=30.0, itself=0)
    >>> web.shape == (len(walk), len(walk) + len(jog)), web.chain_count > 3
    (True, True)
    """
    limits = limits or WebLimits()
    starts = offsets_of([len(other) for other in others])
    webs = []
    chunk = min(most_cells, CHUNK_CELLS)
    for first, last in _chunks([len(other) for other in others], len(a), chunk):
        some = others[first:last]
        own = itself - first if itself is not None and first <= itself < last else None
        if len(a) * sum(len(other) for other in some) > 2 * most_cells:
            web = _in_parts(a, some[0], own is not None, rate, limits, direct, most_cells)
        else:
            web = _matrix_web(a, some, rate, own, 0, limits, direct)
        webs.append((web, int(starts[first])))
    return joined(webs, (len(a), int(starts[-1])), float(rate))


def _in_parts(
    a: Frames,
    b: Frames,
    is_same: bool,
    rate: float,
    limits: WebLimits,
    direct: bool,
    most_cells: int,
) -> Web:
    """The web of two motions from webs of their parts; paths in overlaps appear twice."""
    step = strides(rate)[0]  # parts begin at frames of the coarsest level
    overlap = step * math.ceil(OVERLAP_SECONDS * rate / step)
    advance = max(step * (math.isqrt(most_cells) // step), 2 * overlap) - overlap
    found: list[tuple[Web, int]] = []
    for top in range(0, max(len(a) - overlap, 1), advance):
        rows = (top, min(top + advance + overlap, len(a)))
        for left in range(0, max(len(b) - overlap, 1), advance):
            columns = (left, min(left + advance + overlap, len(b)))
            if is_same and columns[1] <= rows[0]:
                continue  # below the diagonal: the mirror image
            own, lag = (0, left - top) if is_same else (None, 0)
            web = _matrix_web(a.part(*rows), [b.part(*columns)], rate, own, lag, limits, direct)
            found.append((web.moved(top), left))
    return joined(found, (len(a), len(b)), float(rate))


def _chunks(lengths: Sequence[int], rows: int, most_cells: int) -> list[tuple[int, int]]:
    """Ranges of motions whose matrices with `rows` rows fit into `most_cells`."""
    chunks, first, frames = [], 0, 0
    for k, length in enumerate(lengths):
        if k > first and (frames + length) * rows > most_cells:
            chunks.append((first, k))
            first, frames = k, 0
        frames += length
    return [*chunks, (first, len(lengths))] if lengths else []


def _matrix_web(
    a: Frames,
    others: Sequence[Frames],
    rate: float,
    itself: int | None,
    lag: int,
    limits: WebLimits,
    direct: bool,
) -> Web:
    stride, *finer = (1,) if direct else strides(rate)
    if isinstance(a, WindowTrends):
        return _near_web(
            a, cast(Sequence[WindowTrends], others), rate, itself, lag, limits, stride, finer
        )
    matrix = DistanceMatrix(a, cast(Sequence[PreparedFrames], others))
    starts = matrix.sampled_starts(stride)
    web = build_web(
        matrix.block() if stride == 1 else matrix.sampled(stride),
        rate=rate / stride,
        starts=starts,
        itself=None if itself is None else int(starts[itself]),
        lag=lag // stride,
        limits=limits,
    )
    return _refined(web, matrix, rate, limits, stride, finer)


def _near_web(
    a: WindowTrends,
    others: Sequence[WindowTrends],
    rate: float,
    itself: int | None,
    lag: int,
    limits: WebLimits,
    stride: int,
    finer: Sequence[int],
) -> Web:
    """The web of near cells, with the motions that have any."""
    matrix = every = TrendMatrix(a, others)
    starts = matrix.sampled_starts(stride)
    near = near_cells(matrix.lower_bounds(stride), starts, limits)
    if near is None:
        return Web.empty(matrix.shape, float(rate))
    some = near.motions
    if len(some) < len(others):
        matrix = TrendMatrix(a, [others[k] for k in some])
        starts = matrix.sampled_starts(stride)
        itself = some.index(itself) if itself in some else None
    where = with_neighbours(near.around)
    coarse = matrix.sampled(stride, where=where)
    np.copyto(coarse, np.nan, where=where == 0)
    web = build_web(
        coarse,
        rate=rate / stride,
        starts=starts,
        itself=None if itself is None else int(starts[itself]),
        lag=lag // stride,
        limits=limits,
        near=near,
    )
    if finer and web.chain_count:
        web = useful_paths(
            web,
            _COARSE_PATHS * limits.near,
            least=limits.network_seconds * rate / stride,
            squares=limits.squares,
        )
    web = _refined(web, matrix, rate, limits, stride, finer)
    if web.chain_count:
        web = useful_paths(
            web,
            limits.near + _ROUNDED,
            least=limits.network_seconds * rate,
            squares=limits.squares,
        )
    if len(some) < len(others):  # among the columns of all
        motion = row_of(matrix.starts, web.cells[:, 1])
        shift = every.starts[some] - matrix.starts[:-1]
        cells = web.cells + np.column_stack([np.zeros_like(motion), shift[motion]]).astype(np.int32)
        web = replace(web, shape=every.shape, cells=cells)
    return web


def _refined(
    web: Web,
    matrix: DistanceMatrix,
    rate: float,
    limits: WebLimits,
    stride: int,
    finer: Sequence[int],
) -> Web:
    """A web refined from one stride to finer ones."""
    starts = matrix.sampled_starts(stride)
    for fine in finer:
        if not web.chain_count:  # nothing to refine
            return Web.empty(matrix.shape, float(rate))
        ratio, coarse_starts = stride // fine, starts
        stride, starts = fine, matrix.sampled_starts(fine)
        shape = (-(-matrix.shape[0] // stride), int(starts[-1]))
        where = corridor(web, coarse_starts, shape, starts, ratio=ratio, limits=limits)
        values = matrix.sampled(stride, where=where)
        web = refined(web, coarse_starts, values, starts, ratio=ratio, limits=limits)
    return web
