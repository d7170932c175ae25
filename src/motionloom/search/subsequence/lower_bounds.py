r"""Exact subsequence DTW that uses lower bounds to skip almost all of a library.

An alignment with slope-limited steps visits every query frame once and advances by at most two
library frames per query frame. Split the query into groups of g frames, each with mean m. If the
frames of a group are aligned with library frames inside a convex set S, the triangle inequality
gives

    ``sum of |q_i - x_f(i)|  >=  |sum of (q_i - x_f(i))|  =  g |m - mean of x_f(i)|  >=  g d(m, S)``

because the mean of library frames in S is in S. S is the box of the block of ``2 g`` frames in
which the group starts, and of the frames that the group may reach from there (see
`motionloom.search.subsequence.run_boxes`). The next group starts in the same block or in the next.
At most four groups start in one block, because a library frame is aligned with at most two query
frames, so an alignment is in another block ``4 g`` query frames later. (Without this limit, a query
that stands still could be aligned with its single nearest pose throughout.) With these steps, the
lowest-cost path through the matrix ``g d(m, S)`` of groups and blocks costs no more than any
alignment that passes those blocks. This is a lower bound with 2 g^2 times fewer cells than the
alignment itself.

Forward and backward sums give, for each block and group, the lowest-cost path that leaves the block
after that group. A block survives if the smallest of them is within the threshold. An alignment
within the threshold visits only surviving, successive blocks, so it lies in one run of surviving
blocks. Runs that survive one level are examined on the next finer level, and finally with boxes
computed from the rows themselves. In the runs that survive all levels, the kernel of the full pass
computes the costs.

**Exactness.** Let T be the threshold. The costs of all ends up to T are then identical to those of
the full pass, because each is the minimum over the same alignments, computed by the same
operations. All other costs are infinite. Whether an end up to T is a local minimum depends only on
costs up to T. Candidates are visited in order of cost, so all decisions of non-maximum suppression
up to T are those of the full pass. If enough candidates are accepted, the full pass would also have
stopped there. Otherwise, T was too small, and the search is repeated with a larger threshold or as
a full pass.

T is found by aligning the query where the bounds are smallest. Any existing alignments provide a
valid threshold, and the better they are, the fewer blocks survive. Rounding can make the float32
costs of the kernel smaller than exact costs. This error is bounded (`_rounding`) and added to the
threshold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from motionloom.checked_arrays import release
from motionloom.kernels import kernel
from motionloom.ragged import offsets_of
from motionloom.search.subsequence.end_costs import prepared_query, slope_costs
from motionloom.search.subsequence.run_boxes import LEVELS, STRIDE, RunBoxes, first_blocks

_PIECE = 1024  # frames per trial alignment when finding a threshold
_PROBES = 4  # minimum number of trial alignments per requested match
_ROWS_PER_PROBE = 50_000  # frames of the library per trial alignment
_BATCH_ROWS = 8_000_000
_PART = 0.2  # scale of the boxes when choosing trial alignments
_COMPARED = 8  # spans compared on the finest level, per trial alignment
_STAYS = 4  # maximum number of successive groups that start in one block
_COLUMNS = 480  # blocks processed together, because spans are short and short loops are slow


@dataclass(frozen=True, eq=False)
class SparseCosts:
    """Costs of alignment ends up to a threshold, stored for spans of the timeline.

    All costs outside the spans exceed the threshold.

    Attributes
    ----------
    spans : ndarray of int64, shape (S, 3)
        Index of the motion, first frame, and last frame (exclusive) of each span.
    costs : ndarray of float32
        Costs of all spans, concatenated; infinite above the threshold.
    threshold : float
    """

    spans: NDArray[np.int64]
    costs: NDArray[np.float32]
    threshold: float

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Offsets of the spans: span s has costs ``offsets[s]`` to ``offsets[s + 1]``."""
        return offsets_of(self.spans[:, 2] - self.spans[:, 1])

    @property
    def frames(self) -> int:
        """Number of frames in all spans."""
        return len(self.costs)


class BoundedPass:
    """Costs below a threshold for one query in a library with run boxes.

    Parameters
    ----------
    query : ndarray, shape (M, D)
    rows : ndarray, shape (N, D)
    starts : ndarray of int64, shape (K + 1,)
    boxes : RunBoxes
        Run boxes of these rows.
    weights : ndarray, shape (D,), optional
    allowed : ndarray of bool, shape (K,), optional
        Motions to search.
    reach : int
        Spans closer than this many frames are joined, so that local minima are the same as in the
        full pass.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> rows = np.cumsum(rng.normal(size=(5000, 3)), axis=0).astype(np.float32)
    >>> starts = np.array([0, 5000])
    >>> search = BoundedPass(rows[700:790], rows, starts, RunBoxes.build(rows, starts))
    >>> sparse = search.costs(5.0)
    >>> sparse.frames < 500, bool(sparse.costs.min() < 0.1)
    (True, True)
    """

    def __init__(
        self,
        query: NDArray[np.float32],
        rows: NDArray[np.float32],
        starts: NDArray[np.int64],
        boxes: RunBoxes,
        *,
        weights: NDArray[np.float32] | None = None,
        allowed: NDArray[np.bool_] | None = None,
        reach: int = 0,
    ) -> None:
        n_features = rows.shape[1]
        self.rows, self.boxes, self.reach = rows, boxes, reach
        self.starts = np.asarray(starts, np.int64)
        self.weights = np.ones(n_features, np.float32) if weights is None else weights
        self.weights = self.weights.astype(np.float32)
        self.length = len(query)
        self._query = np.ascontiguousarray(query, dtype=np.float32)
        self._factors, self._center = prepared_query(query, self.weights)
        self._slack = _rounding(self._query, self.weights)
        motions = np.arange(len(starts) - 1)
        if allowed is not None:
            motions = motions[allowed]
        self._motions = np.column_stack(
            [motions, self.starts[motions], self.starts[motions + 1]]
        ).astype(np.int64)
        self._ends: list[tuple[float, int, int]] = []  # cost, motion and frame of probes

    def threshold(self, wanted: int) -> float:
        """Return a cost that about `wanted` well-separated alignments do not exceed."""
        kept: dict[int, list[int]] = {}
        count = 0
        for cost, motion, end in sorted(self._ends):
            others = kept.setdefault(motion, [])
            if all(abs(end - other) > self.length for other in others):
                others.append(end)
                count += 1
                if count == wanted:
                    return cost
        return float("inf")

    def costs(self, limit: float = np.inf, *, wanted: int = 0) -> SparseCosts:
        """Return the costs of all ends up to `limit`, or up to a smaller cost if that is enough.

        Parameters
        ----------
        limit : float
            Largest cost of interest.
        wanted : int
            If not 0, only about this many sufficiently separate ends are needed.
        """
        spans = self._motions
        threshold = limit
        if wanted:
            self._probe(wanted)
            threshold = min(limit, self.threshold(wanted))
        for level in range(LEVELS - 1, -2, -1):
            spans, _ = self._surviving(level, spans, threshold)
        spans = _joined(spans, max(self.reach, 1))
        return SparseCosts(spans, self._aligned(spans, threshold), threshold)

    def _aligned(self, spans: NDArray[np.int64], threshold: float) -> NDArray[np.float32]:
        """Return the costs of all ends in some spans, concatenated."""
        query = (self._factors, self._center, self.weights, self.rows)
        parts = [np.empty(0, np.float32)]
        for some in _batches(spans):
            parts.append(_span_costs(*query, some, np.float32(threshold)))
            release(self.rows)
        return np.concatenate(parts)

    def _surviving(
        self, level: int, spans: NDArray[np.int64], threshold: float, part: float = 1.0
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the spans that may contain alignments up to the threshold.

        Also return the smallest bound of each span, with motion and end frame, shape (S, 3).
        """
        stride = STRIDE << level if level >= 0 else STRIDE >> -level
        group = stride // 2
        groups = _Groups(*_groups(self._query * self.weights, group), self.weights)
        codes = self.boxes.codes[max(level, 0)]
        blocks = first_blocks(self.starts, stride) if level >= 0 else np.zeros(1, np.int64)
        boxes = _Boxes(codes, self.boxes.low, self.boxes.step, blocks)
        limit = (threshold + self._slack) * (1.0 + 1e-4)
        spared, best = [np.empty((0, 3), np.int64)], [np.empty((0, 3))]
        for some in _batches(spans):
            left, least = _surviving_spans(
                groups, boxes, self.rows, level < 0, self.starts, some, stride,
                np.float32(part), np.float32(limit),
            )  # fmt: skip
            release(self.rows, codes)
            spared.append(left)
            best.append(least)
        return np.concatenate(spared), np.concatenate(best)

    def _best_places(self, best: NDArray[np.float64], count: int) -> NDArray[np.int64]:
        """Return spans around the ends with the smallest bounds, in order."""
        chosen = best[np.argsort(best[:, 0], kind="stable")[:count]]
        chosen = chosen[np.isfinite(chosen[:, 0])].astype(np.int64)
        motion, frame = chosen[:, 1], chosen[:, 2]
        first = np.maximum(self.starts[motion], frame - 2 * self.length)
        last = np.minimum(self.starts[motion + 1], frame + (STRIDE << LEVELS))
        spans = np.column_stack([motion, first, last])
        return _joined(spans[np.argsort(first, kind="stable")], 1)

    def _probe(self, wanted: int) -> None:
        """Align the query where it appears to fit best.

        Bounds are zero in many places. Smaller boxes around the same centers show more clearly
        where good alignments are. Boxes of the coarsest level are compared first, and then boxes of
        the finest level in the best places.
        """
        count = max(_PROBES * wanted, len(self.rows) // _ROWS_PER_PROBE)
        _, best = self._surviving(LEVELS - 1, _pieces(self._motions), np.inf, part=_PART)
        spans = self._best_places(best, _COMPARED * count)
        _, best = self._surviving(0, _pieces(spans), np.inf, part=_PART)
        spans = self._best_places(best, count)
        costs = self._aligned(spans, np.inf)
        offsets = offsets_of(spans[:, 2] - spans[:, 1])
        for (m, low, _), begin, end in zip(
            spans.tolist(), offsets[:-1].tolist(), offsets[1:].tolist(), strict=True
        ):
            # A joined span may contain several alignments.
            for at in range(begin, end, self.length):
                part = costs[at : min(at + self.length, end)]
                least = int(np.argmin(part))
                if np.isfinite(part[least]):
                    self._ends.append((float(part[least]), m, low + at - begin + least))


def _batches(spans: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Split spans into batches of a few million rows, so only one batch is in memory."""
    if not len(spans):
        return []
    number = (spans[:, 1] - spans[0, 1]) // _BATCH_ROWS
    return np.split(spans, np.flatnonzero(np.diff(number)) + 1)


def _pieces(spans: NDArray[np.int64]) -> NDArray[np.int64]:
    """Split spans into pieces of a few hundred frames."""
    counts = -(-(spans[:, 2] - spans[:, 1]) // _PIECE)
    whole = np.repeat(spans, counts, axis=0)
    number = np.arange(len(whole)) - np.repeat(offsets_of(counts)[:-1], counts)
    first = whole[:, 1] + number * _PIECE
    return np.column_stack([whole[:, 0], first, np.minimum(first + _PIECE, whole[:, 2])])


def _rounding(query: NDArray[np.float32], weights: NDArray[np.float32]) -> float:
    """Return a bound on how far a kernel cost can fall below the sum of exact distances.

    With ``|x - q| = d`` and ``|q| <= Q`` relative to the center, the added squares are at most ``(2
    Q + d)^2``, and the error of the sum is a fraction e of that, about twenty roundings. The error
    of the root is at most d where ``d^2 = e (2 Q + d)^2``, and less elsewhere.
    """
    centered = (query - query.mean(axis=0)) * weights
    radius = float(np.sqrt(np.max(np.einsum("md,md->m", centered, centered), initial=0.0)))
    part = (query.shape[1] + 13) * 2.0**-24
    root = np.sqrt(part)
    return len(query) * 2.0 * radius * root / (1.0 - root) + 1e-4 * radius


def _groups(query: NDArray[np.float32], size: int) -> tuple[NDArray[np.float32], NDArray]:
    """Return the means and sizes of groups of `size` frames; the last group may be smaller."""
    bounds = np.append(np.arange(0, len(query), size), len(query))
    sums = np.add.reduceat(query.astype(np.float64), bounds[:-1], axis=0)
    sizes = np.diff(bounds)
    return (sums / sizes[:, None]).astype(np.float32), sizes.astype(np.float32)


def _joined(spans: NDArray[np.int64], gap: int) -> NDArray[np.int64]:
    """Join spans of the same motion that are less than `gap` frames apart."""
    if not len(spans):
        return spans
    ends = np.maximum.accumulate(spans[:, 2])
    apart = (spans[1:, 0] != spans[:-1, 0]) | (spans[1:, 1] - ends[:-1] >= gap)
    first = np.flatnonzero(np.concatenate([[True], apart]))
    last = np.concatenate([first[1:], [len(spans)]]) - 1
    return np.column_stack([spans[first, 0], spans[first, 1], ends[last]])


@kernel
def _span_costs(factors, center, weights, rows, spans, limit):
    """Return the costs of the ends in all spans (S, 3), concatenated; see `slope_costs`."""
    total = 0
    for s in range(len(spans)):
        total += spans[s, 2] - spans[s, 1]
    out = np.empty(total, np.float32)
    at = 0
    starts = np.zeros(2, np.int64)
    for s in range(len(spans)):
        first, last = spans[s, 1], spans[s, 2]
        starts[1] = last - first
        out[at : at + last - first] = slope_costs(
            factors, center, weights, rows[first:last], starts, limit, 0
        )
        at += last - first
    return out


class _Groups(NamedTuple):
    """A query in G groups of successive frames with D features."""

    means: NDArray[np.float32]  # (G, D) weighted
    sizes: NDArray[np.float32]  # (G,) frames of each group
    weights: NDArray[np.float32]  # (D,) weights of the features, for the boxes


class _Boxes(NamedTuple):
    """Boxes of one level; see `RunBoxes`."""

    codes: NDArray[np.uint16]  # (B, 2, D)
    low: NDArray[np.float32]  # (D,)
    step: NDArray[np.float32]  # (D,)
    blocks: NDArray[np.int64]  # (K + 1,) first block of each motion


@kernel
def _surviving_spans(groups, boxes, rows, from_rows, starts, spans, stride, part, limit):
    """Return runs of blocks that may contain an alignment up to `limit`, and their bounds.

    Parameters
    ----------
    groups : _Groups
    boxes : _Boxes
        Stored boxes; not used with `from_rows`.
    rows : ndarray of float32, shape (N, D)
    from_rows : bool
        Compute boxes from the rows, with a finer stride than the stored boxes.
    starts : ndarray of int64, shape (K + 1,)
    spans : ndarray of int64, shape (S, 3)
        Motion, first frame and end of the remaining spans.
    stride : int
        Frames per block.
    part : float32
        Factor of the box size. If less than 1, bounds are estimates, and only the second result is
        meaningful.
    limit : float32

    Returns
    -------
    spans : ndarray of int64, shape (R, 3)
    best : ndarray, shape (S, 3)
        Smallest bound of each span, with its motion and end frame.

    Notes
    -----
    Groups are the outer loop and blocks the inner loop, so a step of the dynamic program takes a
    few vector instructions over the blocks of many spans. Sums only grow, so the blocks are
    abandoned as soon as their smallest sum exceeds the limit. The limit includes a slack for the
    rounding of single precision (`_rounding`). Blocks with missing values have an inverted box,
    which is infinitely far from every point.
    """
    means, sizes, weights = groups.means, groups.sizes, groups.weights
    n_groups, n_features = means.shape
    infinite = np.float32(np.inf)
    out = np.empty((1024, 3), np.int64)
    count = 0
    best = np.full((len(spans), 3), np.inf)
    begins, counts = _span_blocks(spans, starts, stride)
    room = max(_COLUMNS, counts.max() + 1) if len(spans) else 0
    lower = np.zeros((n_features, room), np.float32)
    upper = np.zeros((n_features, room), np.float32)
    costs = np.empty((n_groups, room), np.float32)
    forward = np.empty((n_groups, room), np.float32)
    stays = np.empty((_STAYS - 1, room), np.float32)
    least = np.empty(room, np.float32)
    now, before = np.empty(room, np.float32), np.empty(room, np.float32)
    after = 0
    while after < len(spans):
        # Many short spans next to each other, separated by an infinite column.
        s, n = after, 0
        while after < len(spans) and (n == 0 or n + counts[after] < room):
            m, begin, width = spans[after, 0], begins[after], counts[after]
            if from_rows:
                first = starts[m] + begin * stride
                _boxes_of_rows(rows, first, starts[m + 1], stride, n, width, weights, lower, upper)
            else:
                _boxes_of_codes(
                    boxes.codes, boxes.blocks[m] + begin, n, width, boxes.low, boxes.step,
                    weights, lower, upper,
                )  # fmt: skip
            if part < 1.0:
                _shrink(lower, upper, n, width, part)
            n += width
            lower[0, n], upper[0, n] = infinite, -infinite  # infinitely far in one feature
            n += 1
            after += 1
        dead = False
        for g in range(n_groups):
            _box_distances(means[g], sizes[g], lower, upper, n, costs[g])
            if g == 0:
                _begin(stays, costs[0], forward[0], n)
            else:
                _add_step(stays, forward[g - 1], costs[g], forward[g], n, -1)
            if _least(forward[g], n) > limit:
                dead = True
                break
        if dead:
            continue
        ends = forward[n_groups - 1]
        at = 0
        for i in range(s, after):
            value, where = infinite, 0
            for j in range(counts[i]):
                if ends[at + j] < value:
                    value, where = ends[at + j], j
            best[i, 0], best[i, 1] = value, spans[i, 0]
            best[i, 2] = starts[spans[i, 0]] + (begins[i] + where) * stride
            at += counts[i] + 1
        if part < 1.0:
            continue
        # The lowest-cost path through each block, over all groups.
        least[:n] = ends[:n]
        _begin(stays, costs[n_groups - 1], before, n)
        for g in range(n_groups - 2, -1, -1):
            _join(forward[g], before, least, n)
            if g:
                _add_step(stays, before, costs[g], now, n, 1)
                now, before = before, now
        at = 0
        for i in range(s, after):
            origin = starts[spans[i, 0]] + begins[i] * stride
            j = 0
            while j < counts[i]:
                if not least[at + j] <= limit:
                    j += 1
                    continue
                start = j
                while j < counts[i] and least[at + j] <= limit:
                    j += 1
                if count == len(out):
                    out = np.concatenate((out, np.empty_like(out)))
                out[count, 0] = spans[i, 0]
                out[count, 1] = max(spans[i, 1], origin + start * stride)
                out[count, 2] = min(spans[i, 2], origin + j * stride + stride - 2)
                count += 1
            at += counts[i] + 1
    return out[:count].copy(), best


@kernel
def _span_blocks(spans, starts, stride):
    """Return the first block of each span, counted within its motion, and its block count."""
    begins, counts = np.empty(len(spans), np.int64), np.empty(len(spans), np.int64)
    for s in range(len(spans)):
        first, last = spans[s, 1] - starts[spans[s, 0]], spans[s, 2] - starts[spans[s, 0]]
        begins[s] = first // stride
        counts[s] = max(0, (last - 1) // stride + 1 - begins[s])
    return begins, counts


@kernel
def _shrink(lower, upper, at, n, part):
    """Shrink boxes around their centers."""
    for d in range(len(lower)):
        for j in range(at, at + n):
            center = np.float32(0.5) * (lower[d, j] + upper[d, j])
            half = np.float32(0.5) * part * (upper[d, j] - lower[d, j])
            lower[d, j], upper[d, j] = center - half, center + half


@kernel
def _boxes_of_codes(codes, first, at, n, low, step, weights, lower, upper):
    """Decode the boxes of n blocks, starting at `first`, into columns of arrays (D, room)."""
    for j in range(n):
        for d in range(codes.shape[2]):
            lower[d, at + j] = (low[d] + step[d] * np.float32(codes[first + j, 0, d])) * weights[d]
            upper[d, at + j] = (low[d] + step[d] * np.float32(codes[first + j, 1, d])) * weights[d]


@kernel
def _boxes_of_rows(rows, first, end, stride, at, n, weights, lower, upper):
    """Compute the boxes of n blocks, starting at row `first`, into columns of two arrays (D, room).

    Comparisons with NaN are false, so missing values do not widen a box.
    """
    infinite, n_features = np.float32(np.inf), rows.shape[1]
    least, greatest = np.empty(n_features, np.float32), np.empty(n_features, np.float32)
    for j in range(n):
        start = first + j * stride
        least[:], greatest[:] = infinite, -infinite
        for i in range(start, min(start + 2 * stride - 2, end)):
            for d in range(n_features):
                value = rows[i, d]
                least[d] = value if value < least[d] else least[d]
                greatest[d] = value if value > greatest[d] else greatest[d]
        for d in range(n_features):
            lower[d, at + j], upper[d, at + j] = least[d] * weights[d], greatest[d] * weights[d]


@kernel(fastmath={"contract"})
def _box_distances(mean, size, lower, upper, n, out):
    """Compute the distances between a point and n boxes, times `size`."""
    zero = np.float32(0.0)
    for j in range(n):
        out[j] = zero
    for d in range(len(mean)):
        low, high, value = lower[d], upper[d], mean[d]
        for j in range(n):
            below, above = low[j] - value, value - high[j]
            gap = below if below > above else above
            gap = gap if gap > zero else zero
            out[j] += gap * gap
    for j in range(n):
        out[j] = np.sqrt(out[j]) * size


@kernel
def _begin(stays, costs, now, n):
    """Initialize the paths of a group."""
    stays[:, :n] = np.float32(np.inf)
    stays[0, :n] = costs[:n]
    now[:n] = costs[:n]


# Costs are never NaN, and a minimum that ignores NaN is a vector instruction.
@kernel(fastmath={"nnan", "nsz"})
def _add_step(stays, before, costs, now, n, side):
    """Compute the lowest-cost paths to each block, from the same or an adjacent block.

    ``stays[k]`` contains the paths whose last k + 1 groups (at most four) are in that block.
    `before` contains all paths with one group less, which come from the previous block (`side` -1)
    or, in the backward pass, from the next block (1).
    """
    s0, s1, s2 = stays[0], stays[1], stays[2]
    edge = 0 if side < 0 else n - 1
    first, last = (1, n) if side < 0 else (0, n - 1)
    for j in range(n):
        cost = costs[j]
        fourth, third, second = s2[j] + cost, s1[j] + cost, s0[j] + cost
        s2[j], s1[j] = third, second
        least = third if third < second else second
        now[j] = fourth if fourth < least else least
    s0[edge] = np.float32(np.inf)
    for j in range(first, last):
        cost = before[j + side] + costs[j]
        s0[j] = cost
        now[j] = cost if cost < now[j] else now[j]


@kernel(fastmath={"nnan", "nsz"})
def _join(forward, onward, least, n):
    """Combine paths that end in a block with paths that continue from the next block."""
    for j in range(n - 1):
        total = forward[j] + onward[j + 1]
        least[j] = total if total < least[j] else least[j]


@kernel(fastmath={"nnan", "nsz"})
def _least(values, n):
    """Return the minimum of the first n values."""
    least = np.float32(np.inf)
    for j in range(n):
        least = values[j] if values[j] < least else least
    return least
