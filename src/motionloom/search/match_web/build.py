"""Build match webs, either at 10 Hz with later refinement or directly at the full rate.

The distance matrix between one motion and many others is in memory at the full rate only while
their web is built. A pair of motions whose matrix is too large is processed in parts that overlap
by more than the length of most queries. Memory therefore grows neither with the number of motions
nor with their lengths.

A web of near cells (`WebLimits.near`) is built only where lower bounds of the distances permit
matches; see `motionloom.search.match_web.near_cells`.

The webs of a library are built in *tasks*: batches of missing pairs of motions, each processed by
one worker.
"""

from __future__ import annotations

import math
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from motionloom import parallel
from motionloom.features import FrameDistance
from motionloom.features.feature_table import at_rate
from motionloom.features.matrix import DistanceMatrix, PreparedFrames, prepared_frames
from motionloom.motion import Motion
from motionloom.parallel import one_thread
from motionloom.ragged import offsets_of, row_of
from motionloom.search.match_web.encoding import description, encoded
from motionloom.search.match_web.near_cells import (
    TrendMatrix,
    WindowTrends,
    near_cells,
    window_trends,
    with_neighbors,
)
from motionloom.search.match_web.networks import useful_paths
from motionloom.search.match_web.refinement import corridor, refined, strides
from motionloom.search.match_web.web import Web, WebLimits, build_web, joined
from motionloom.store.artifacts.collection import Collection, WrittenFile
from motionloom.store.records import Entry, text_digest
from motionloom.store.store import Store

MOST_CELLS = 16_000_000  # maximum matrix cells in memory: 128 MB
# Cells of the motions that are processed together. This many fit into the processor's cache.
CHUNK_CELLS = 2_000_000
# A path may become a match by refinement if its mean at 10 Hz is below the limit times this factor.
_COARSE_PATHS = 1.5
_ROUNDED = 5e-4  # step of the stored values, in meters
OVERLAP_SECONDS = 10.0  # overlap of the parts of long motions
_GROUP_FRAMES = 80_000  # frames in the columns of one file
_HELD_FRAMES = 160_000  # frames that a process caches between tasks: 320 MB for near cells
MAX_TASK_CELLS = 1_000_000_000  # maximum cells per task: ten seconds to a minute of work
MIN_TASK_CELLS = 5_000_000  # minimum cells per task, so that the overhead of scheduling is small
_TASKS_PER_WORKER = 8  # minimum if there is enough work, so that workers finish together
_COPY = "copy-"  # key prefix for another motion with the same frames

Frames = PreparedFrames | WindowTrends
Task = tuple[tuple[str, tuple[str, ...]], ...]
"""Row motions and their column motions, by name."""

_held: OrderedDict[tuple, Frames] = OrderedDict()  # frames used by the last tasks of this process


def web_frames(motion: Motion, distance: FrameDistance, limits: WebLimits) -> Frames:
    """Return the frames of a motion at the rate of a web, as input to `motion_web`."""
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
    """Build the web of a motion (rows) and other motions (columns, concatenated).

    Parameters
    ----------
    a : PreparedFrames or WindowTrends
        M frames, as returned by `motionloom.features.matrix.prepared_frames`. For near cells, they
        must be `WindowTrends`.
    others : sequence of PreparedFrames or WindowTrends
        N frames in total.
    rate : float
        Frames per second of all motions.
    itself : int, optional
        Index of the row motion in `others`, if it is included there.
    limits : WebLimits, optional
    direct : bool
        Build directly at the full rate instead of starting at 10 Hz, which is slower but exact.
    most_cells : int
        Maximum number of cells of the distance matrix in memory. Motions with more frames than the
        square root of this number are processed in parts.

    Returns
    -------
    web : Web
        Web of shape (M, N); chains are ordered by motion.

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
    """Build the web of two motions from webs of their parts; paths in overlaps appear twice."""
    step = strides(rate)[0]  # parts start at frames of the coarsest level
    overlap = step * math.ceil(OVERLAP_SECONDS * rate / step)
    advance = max(step * (math.isqrt(most_cells) // step), 2 * overlap) - overlap
    pieces: list[tuple[Web, int]] = []
    for top in range(0, max(len(a) - overlap, 1), advance):
        rows = (top, min(top + advance + overlap, len(a)))
        for left in range(0, max(len(b) - overlap, 1), advance):
            columns = (left, min(left + advance + overlap, len(b)))
            if is_same and columns[1] <= rows[0]:
                continue  # below the diagonal: the mirror image
            own, lag = (0, left - top) if is_same else (None, 0)
            web = _matrix_web(a.part(*rows), [b.part(*columns)], rate, own, lag, limits, direct)
            pieces.append((web.moved(top), left))
    return joined(pieces, (len(a), len(b)), float(rate))


def _chunks(lengths: Sequence[int], rows: int, most_cells: int) -> list[tuple[int, int]]:
    """Yield ranges of motions whose matrices with `rows` rows fit in `most_cells`."""
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
    """Build the web of near cells from the motions that have near cells."""
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
    where = with_neighbors(near.around)
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
    if len(some) < len(others):  # position among the columns of all motions
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
    """Refine a web from one stride to finer ones."""
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


def release_frames() -> None:
    """Release the frames cached by the most recent tasks when a build in this process ends."""
    _held.clear()


def web_key(entry: Entry) -> str:
    """Return the fingerprint of a motion's frames.

    Motions with the same frames share their webs.
    """
    return entry.key


def copy_key(key: str) -> str:
    """Return the key for a second motion with the same frames; see `web_keys`."""
    return _COPY + key


def web_keys(entries: Iterable[Entry]) -> dict[str, str]:
    """Return the keys of motions for which webs are built, by name.

    If several motions have the same frames, the first represents all of them. The second also gets
    a key, because the web between two identical motions differs from that of a motion with itself.
    """
    keys: dict[str, str] = {}
    seen: set[str] = set()
    for entry in entries:
        key = web_key(entry)
        key = copy_key(key) if key in seen else key
        if key not in seen:
            seen.add(key)
            keys[entry.name] = key
    return keys


def missing_pairs(keys: dict[str, str], covered: NDArray[np.bool_]) -> dict[str, list[str]]:
    """Return the columns that still have to be built for each row.

    Each pair is built once, and there are as few rows as possible.

    Parameters
    ----------
    keys : dict of str to str
        Keys of N motions, as returned by `web_keys`.
    covered : ndarray of bool, shape (N, N)
        Pairs that have been built, in either order.
    """
    names, number = list(keys), {key: n for n, key in enumerate(keys.values())}
    wanted = ~(covered | covered.T)
    for key, copy in number.items():
        if key.startswith(_COPY):
            first = number[key.removeprefix(_COPY)]
            both = wanted[first, copy]
            wanted[copy], wanted[:, copy] = False, False
            wanted[first, copy] = both
    # A new motion lacks webs with many others, and each of those lacks only the new one. The new
    # motion therefore becomes the row.
    counts = wanted.sum(axis=1)
    order = sorted(range(len(names)), key=lambda n: (-counts[n], names[n]))
    rank = np.empty(len(names), np.int64)
    rank[order] = np.arange(len(names))
    missing = {}
    for n, name in enumerate(names):
        columns = np.flatnonzero(wanted[n] & (rank[n] <= rank))
        if len(columns):
            missing[name] = [names[k] for k in columns.tolist()]
    return missing


def web_tasks(missing: dict[str, list[str]], lengths: dict[str, int]) -> list[Task]:
    """Split rows and their columns into tasks for one worker each."""
    groups: dict[int, list[tuple[str, tuple[str, ...]]]] = defaultdict(list)
    for row, columns in missing.items():
        number, frames = 0, 0
        part: list[str] = []
        for name in sorted(columns):
            if part and frames + lengths[name] > _GROUP_FRAMES:
                groups[number].append((row, tuple(part)))
                number, frames, part = number + 1, 0, []
            part.append(name)
            frames += lengths[name]
        if part:
            groups[number].append((row, tuple(part)))
    every = sum(lengths[a] * sum(lengths[b] for b in columns) for a, columns in missing.items())
    portion = max(every // (_TASKS_PER_WORKER * parallel.available_workers()), MIN_TASK_CELLS)
    portion = min(portion, MAX_TASK_CELLS)
    tasks: list[Task] = []
    for number in sorted(groups):
        task: list[tuple[str, tuple[str, ...]]] = []
        cells = 0
        for group in groups[number]:
            task.append(group)
            cells += lengths[group[0]] * sum(lengths[name] for name in group[1])
            if cells > portion:
                tasks.append(tuple(task))
                task, cells = [], 0
        if task:
            tasks.append(tuple(task))
    return tasks


def built_webs(
    task: Task,
    library: Store,
    files: Collection,
    distance: FrameDistance,
    rate: float,
    limits: WebLimits,
    keys: dict[str, str],
) -> list[WrittenFile]:
    """Build the webs of a task and write them, row by row."""
    written: list[WrittenFile] = []
    library.fetch({name for row, columns in task for name in (row, *columns)})

    def frames(name: str) -> Frames:
        which = (keys[name].removeprefix(_COPY), repr(distance), rate, limits.is_near)
        if which not in _held:
            _held[which] = web_frames(at_rate(library[name], rate), distance, limits)
        _held.move_to_end(which)
        return _held[which]

    with one_thread():
        for row, columns in task:
            own, others = frames(row), [frames(name) for name in columns]
            web = motion_web(
                own,
                others,
                rate=rate,
                itself=columns.index(row) if row in columns else None,
                limits=limits,
            )
            about = {"row": keys[row], "columns": [keys[name] for name in columns]}
            ends = offsets_of([len(other) for other in others])[1:].tolist()
            target = f"{keys[row]}-{text_digest(*about['columns'])}.web"
            content = encoded(web, about, ends=ends)
            written.append(files.write(target, content, description(content)))
            while len(_held) > 1 and sum(map(len, _held.values())) > _HELD_FRAMES:
                _held.popitem(last=False)
    return written
