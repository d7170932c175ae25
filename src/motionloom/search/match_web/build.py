"""Build match webs: at 10 Hz first, then refined; or directly at the full rate.

The distance matrix of one motion with many is held at the full rate only while their web is
built. A pair of motions whose matrix is too large is processed in parts that overlap by more
than the length of most queries. So memory grows neither with the number of motions nor with
their lengths.

With limits of near cells (`WebLimits.near`), these are searched first, and the rest of the matrix
is never computed: see `motionloom.search.match_web.near_cells`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from motionloom.distance.matrix import DistanceMatrix, PreparedFrames
from motionloom.ragged import offsets_of
from motionloom.search.match_web.near_cells import near_cells
from motionloom.search.match_web.networks import useful_paths
from motionloom.search.match_web.refinement import corridor, refined, strides
from motionloom.search.match_web.web import Web, WebLimits, build_web, joined

MOST_CELLS = 16_000_000  # of the matrix in memory: 128 MB
CHUNK_CELLS = 2_000_000  # of several motions at a time: they stay in the processor's cache
OVERLAP_SECONDS = 10.0  # of the parts of long motions
_COARSER = 1.5  # a mean at 10 Hz is less than this times that of the refined path

Poses = NDArray[np.float32] | None


def motion_web(
    a: PreparedFrames,
    others: Sequence[PreparedFrames],
    *,
    rate: float,
    itself: int | None = None,
    limits: WebLimits | None = None,
    direct: bool = False,
    most_cells: int = MOST_CELLS,
    poses: tuple[Poses, Sequence[Poses]] | None = None,
) -> Web:
    """The web of one motion (rows) and others (columns, concatenated).

    Parameters
    ----------
    a : PreparedFrames
        M frames, as from `motionloom.distance.matrix.prepared_frames`.
    others : sequence of PreparedFrames
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
    poses : (ndarray, sequence of ndarray), optional
        Poses of the motion and of the others, as from
        `motionloom.search.match_web.near_cells.near_poses`: only cells near a pair of near poses
        are computed. Default: all.

    Returns
    -------
    web : Web
        Of shape (M, N). Chains are ordered by motion.

    Examples
    --------
    >>> import motionloom as ml
    >>> from motionloom.distance.matrix import prepared_frames
    >>> walk, jog = prepared_frames(ml.demo.clip("walk")), prepared_frames(ml.demo.clip("jog"))
    >>> web = motion_web(walk, [walk, jog], rate=30.0, itself=0)
    >>> web.shape == (len(walk), len(walk) + len(jog)), web.chain_count > 3
    (True, True)
    """
    limits = limits or WebLimits()
    starts = offsets_of([len(other) for other in others])
    numbers = list(range(len(others)))
    masks: dict[int, NDArray[np.uint8]] = {}
    if poses is not None and not direct:
        stride = strides(rate)[0]
        for k in numbers:
            masks[k] = near_cells(poses[0], [poses[1][k]], (len(a), [len(others[k])]), stride)
        numbers = [k for k in numbers if masks[k].any()]
    webs = []
    chunk = min(most_cells, CHUNK_CELLS)
    for first, last in _chunks([len(others[k]) for k in numbers], len(a), chunk):
        chosen = numbers[first:last]
        some = [others[k] for k in chosen]
        near = np.concatenate([masks[k] for k in chosen], axis=1) if masks else None
        own = chosen.index(itself) if itself in chosen else None
        if len(a) * sum(len(other) for other in some) > 2 * most_cells:
            web = _in_parts(a, some[0], own is not None, rate, limits, direct, most_cells, near)
        else:
            web = _matrix_web(DistanceMatrix(a, some), rate, own, 0, limits, direct, near)
        if len(chosen) == chosen[-1] + 1 - chosen[0]:
            webs.append((web, int(starts[chosen[0]])))
            continue
        ends = offsets_of([len(other) for other in some]).tolist()
        for k, begin, end in zip(chosen, ends[:-1], ends[1:], strict=True):
            webs.append((web.between(begin, end), int(starts[k])))
    return joined(webs, (len(a), int(starts[-1])), float(rate))


def _in_parts(
    a: PreparedFrames,
    b: PreparedFrames,
    is_same: bool,
    rate: float,
    limits: WebLimits,
    direct: bool,
    most_cells: int,
    near: NDArray[np.uint8] | None,
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
            part = None
            if near is not None:
                part = near[
                    top // step : -(-rows[1] // step), left // step : -(-columns[1] // step)
                ]
                if not part.any():
                    continue
            matrix = DistanceMatrix(a.part(*rows), [b.part(*columns)])
            own, lag = (0, left - top) if is_same else (None, 0)
            web = _matrix_web(matrix, rate, own, lag, limits, direct, part)
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
    matrix: DistanceMatrix,
    rate: float,
    itself: int | None,
    lag: int,
    limits: WebLimits,
    direct: bool,
    near: NDArray[np.uint8] | None,
) -> Web:
    stride, *finer = (1,) if direct else strides(rate)
    starts = matrix.sampled_starts(stride)
    if near is not None:
        near = np.ascontiguousarray(near)
        coarse = matrix.sampled(stride, where=near)
        coarse[near == 0] = np.nan
    else:
        coarse = matrix.block() if stride == 1 else matrix.sampled(stride)
    web = build_web(
        coarse,
        rate=rate / stride,
        starts=starts,
        itself=None if itself is None else int(starts[itself]),
        lag=lag // stride,
        limits=limits,
    )
    if limits.is_near and finer and web.chain_count:
        web = useful_paths(
            web,
            _COARSER * limits.near,
            least=limits.network_seconds * rate / stride,
            squares=limits.squares,
        )
    for fine in finer:
        if not web.chain_count:  # nothing to refine
            shape = (matrix.shape[0], matrix.shape[1])
            return replace(web, shape=shape, rate=float(rate))
        ratio, coarse_starts = stride // fine, starts
        stride, starts = fine, matrix.sampled_starts(fine)
        shape = (-(-matrix.shape[0] // stride), int(starts[-1]))
        where = corridor(web, coarse_starts, shape, starts, ratio=ratio)
        values = matrix.sampled(stride, where=where)
        web = refined(web, coarse_starts, values, starts, ratio=ratio, limits=limits)
    return web
