"""Search in a match web: match sequences from the first to the last frame of the query.

A *match sequence* starts where a path of the web passes the query's first frame, follows that path,
may branch off over bridges to other paths, and ends at the last cell in the query's last frame. Its
columns are a match, and its mean distance is the distance of the match (Kovar & Gleicher 2004,
section 3.3).

There are very many sequences, but among sequences with the same ends, only the one with the
smallest mean can be a match. Instead of enumerating sequences, the search propagates *labels*. A
label stores the total distance (T) and the number of cells (n) so far. A label dominates another if
it is at least as good for every final mean between 0 and the threshold, that is, both in T and in T
- threshold * n. Dropping dominated labels loses nothing, and few remain on each path.

A sequence is a time alignment, so at most `max_slope` of its consecutive cells may lie in one row
or column, even across the transition between a chain and a bridge. A label therefore stores the
*run* with which it enters its chain: the number of steps to the right (positive) or down (negative)
at its end. A label does not dominate labels with a shorter run.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from motionloom.kernels import kernel
from motionloom.ragged import row_of
from motionloom.search.candidates import Candidate, Limits
from motionloom.search.match_web.networks import WebIndex


def web_matches(
    index: WebIndex,
    start: int,
    end: int,
    limits: Limits,
    *,
    allowed: NDArray[np.bool_] | None = None,
) -> list[Candidate]:
    """Return the matches of a segment that belongs to one of the motions in a web, nearest first.

    Parameters
    ----------
    index : WebIndex
    start, end : int
        Half-open range of frames of one motion, numbered as in `index`.
    limits : Limits
        Limits of the matches. If two matches overlap too much, the nearer one is kept.
    allowed : ndarray of bool, shape (M,), optional
        Motions to search.

    Returns
    -------
    matches : list of Candidate
        Matches with frames numbered as in `index`. Their paths pair query frames, counted from
        `start`, with frames of the match.
    """
    if not len(index):
        return []
    # No mean exceeds the largest value, so labels can be compared at a finite threshold.
    threshold = float(limits.max_distance)
    threshold = min(threshold**2 if index.squares else threshold, index.greatest * (1.0 + 1e-6))
    shortest, longest = (ratio * (end - start) for ratio in limits.durations)
    directions = []
    for direction in range(len(index.passing)):
        paths = index.starting(direction, start)
        if allowed is not None and len(paths):
            other = index.cells[index.offsets[paths], 1 - direction]
            paths = paths[allowed[row_of(index.starts, other)]]
        network = _Network.of(index, direction)
        directions.append(
            _sequences(network, paths, start, end - 1, threshold, index.max_slope - 1)
        )
    means = np.concatenate([part[0] for part in directions])
    # First cell, last cell, last label, and the bridge with the last cell; see `_sequences`.
    ends = np.concatenate([part[1] for part in directions])
    side = np.repeat(np.arange(len(directions)), [len(part[0]) for part in directions])
    first = index.cells[ends[:, 0], 1 - side].astype(np.int64)
    last = index.cells[ends[:, 1], 1 - side].astype(np.int64) + 1
    lengths = last - first
    order = np.lexsort((last, first, means))
    order = order[(lengths[order] >= shortest) & (lengths[order] <= longest)]
    taken = np.array(limits.occupied, np.int64).reshape(-1, 2)
    most = len(order) if limits.max_matches is None else limits.max_matches
    kept = _kept(first, last, order, taken, limits.max_overlap, most)
    matches = []
    for k in kept.tolist():
        direction = int(side[k])
        path = index.cells[_cells_of(index, directions[direction][2], *ends[k].tolist())].astype(
            np.int64
        )
        if direction == 1:
            path = path[:, ::-1].copy()
        path[:, 0] -= start
        distance = means[k] ** 0.5 if index.squares else means[k]
        matches.append(Candidate(int(first[k]), int(last[k]), float(distance), path))
    return matches


class _Network(NamedTuple):
    """Arrays of a `WebIndex`, read in one direction: C cells, P paths, B bridges."""

    rows: NDArray[np.int32]  # (C,) frames on the query side
    columns: NDArray[np.int32]  # (C,) frames on the other side
    sums: NDArray[np.float64]  # (C + 1,)
    offsets: NDArray[np.int64]  # (P + 1,)
    bridge_of: NDArray[np.int64]  # (P,)
    leaves: NDArray[np.int64]  # (B,) sorted
    arrives: NDArray[np.int64]  # (B,)
    bridge_paths: NDArray[np.int64]  # (B,)
    arrive_paths: NDArray[np.int64]  # (B,)

    @classmethod
    def of(cls, index: WebIndex, direction: int) -> _Network:
        """Return the network whose rows are the rows (`direction` 0) or columns (1) of the webs."""
        sides = index.cells[:, direction], index.cells[:, 1 - direction]
        return cls(*sides, *(getattr(index, name) for name in cls._fields[2:]))


def _cells_of(
    index: WebIndex, labels, first: int, last: int, label: int, bridge: int
) -> NDArray[np.int64]:
    """Return the cell indices of a sequence in order, traced back from its end."""
    entry, before, taken = labels
    parts = []
    if bridge >= 0:
        own, after = index.offsets[index.bridge_paths[bridge] :][:2]
        begin = own if label >= 0 else first
        if last == index.arrives[bridge]:
            parts.append(np.append(np.arange(begin, after), last))
        else:
            parts.append(np.arange(begin, last + 1))
        last = index.leaves[bridge]
    while label >= 0:
        parts.append(np.arange(entry[label], last + 1))
        bridge, label = taken[label], before[label]
        if bridge >= 0:
            own, after = index.offsets[index.bridge_paths[bridge] :][:2]
            parts.append(np.arange(own if label >= 0 else first, after))
            last = index.leaves[bridge]
    return np.concatenate(parts[::-1])


@kernel
def _sequences(network, paths, a, b, threshold, most_steps):
    """Compute sequences from row `a` to row `b` that start on `paths` (S,).

    At most `most_steps` consecutive steps go right, or down. Returns means (S,), ends (S, 4) and
    labels. `ends` contains the first cell, the last cell, the last label (or -1), and the bridge
    after it on which the last cell lies (or -1). Labels contain the input of `_cells_of`: the entry
    cell, the previous label, and the bridge between them.

    Each start has a separate set of labels, because sequences with different first cells are
    different matches. Labels are visited in order of the sum of row and column of their entry
    cells. This sum increases along paths and over bridges, so all labels that could dominate a
    label exist when it is visited.
    """
    rows, columns, sums, offsets = network.rows, network.columns, network.sums, network.offsets
    leaves, arrives, bridge_of = network.leaves, network.arrives, network.bridge_of
    bridge_paths, arrive_paths = network.bridge_paths, network.arrive_paths
    means = np.empty(256)
    ends = np.empty((256, 4), np.int64)
    count = 0
    entry = np.empty(256, np.int64)  # cell where a label enters its chain
    chain = np.empty(256, np.int64)
    total = np.empty(256)  # so that total + sums[x + 1] is T at cell x of the chain
    number = np.empty(256, np.int64)  # and number + x + 1 is n
    run = np.empty(256, np.int64)  # run at the entry cell
    until = np.empty(256, np.int64)  # last cell of the chain before its run becomes too long
    before = np.empty(256, np.int64)
    taken = np.empty(256, np.int64)
    labels = 0
    following = np.empty(256, np.int64)  # next visited label on the same chain
    visited = np.full(len(offsets) - 1, -1, np.int32)
    queue = np.empty(256, np.int64)  # labels to visit, last first
    waiting = 0
    for s in range(len(paths)):
        origin = labels
        if labels == len(entry):
            entry, chain, total = _doubled(entry), _doubled(chain), _doubled(total)
            number, before = _doubled(number), _doubled(before)
            taken, following = _doubled(taken), _doubled(following)
            run, until = _doubled(run), _doubled(until)
        p = paths[s]
        x = _first_at(rows, offsets[p], offsets[p + 1], a)
        first_cell = x
        bridge = bridge_of[p]
        if bridge >= 0:
            stop, ended = _bridge_end(rows, offsets, p, arrives[bridge], b)
            if stop >= 0:
                T, n = _along(sums, offsets, p, x, stop, arrives[bridge])
                if T <= threshold * n:
                    means, ends = _room(means, ends, count)
                    means[count] = T / n
                    ends[count] = (x, stop, -1, bridge)
                    count += 1
            if ended:
                continue
            T, n = _along(sums, offsets, p, x, arrives[bridge], arrives[bridge])
            y = arrives[bridge]
            chain[labels], entry[labels] = arrive_paths[bridge], y
            total[labels], number[labels] = T - sums[y + 1], n - y - 1
            before[labels], taken[labels] = -1, bridge
            last = offsets[p + 1] - 1
            run[labels] = _longer(_run_at(rows, columns, x, last, 0), _step(rows, columns, last, y))
        else:
            chain[labels], entry[labels] = p, x
            total[labels], number[labels] = -sums[x], -x
            before[labels], taken[labels] = -1, -1
            run[labels] = 0
        until[labels] = _last_within(
            rows, columns, entry[labels], offsets[chain[labels] + 1], run[labels], most_steps
        )
        queue[0], waiting = labels, 1
        labels += 1
        while waiting:
            waiting -= 1
            now = queue[waiting]
            c, T, n, x = chain[now], total[now], number[now], entry[now]
            # Dominated: another label of this chain has neither a larger T nor a larger
            # T - threshold * n, reaches this cell, and does not have a longer run here.
            worse = False
            other = visited[c]
            while other >= 0:
                if (
                    total[other] <= T
                    and total[other] - threshold * number[other] <= T - threshold * n
                    and until[other] >= x
                ):
                    here = _run_at(rows, columns, entry[other], x, run[other])
                    if here == 0 or (here * run[now] > 0 and abs(here) <= abs(run[now])):
                        worse = True
                        break
                other = following[other]
            if worse:
                continue
            following[now] = visited[c]
            visited[c] = now
            last = offsets[c + 1]
            stop = last
            if rows[last - 1] >= b:  # the chain passes the last frame of the query: a sequence ends
                stop = _first_at(rows, x, last, b)
                y = _first_at(rows, stop, last, b + 1) - 1
                mean = (T + sums[y + 1]) / (n + y + 1)
                if mean <= threshold and y <= until[now]:
                    means, ends = _room(means, ends, count)
                    means[count] = mean
                    ends[count] = (first_cell, y, now, -1)
                    count += 1
            stop = min(stop, until[now] + 1)
            k = np.searchsorted(leaves, x)  # bridges that leave the chain after this cell
            while k < len(leaves) and leaves[k] < stop:
                out = leaves[k]
                so_far, cells = T + sums[out + 1], n + out + 1
                q, y = bridge_paths[k], arrives[k]
                leaving = _run_at(rows, columns, x, out, run[now])
                allowed = _cells_within(
                    rows, columns, out, offsets[q], offsets[q + 1], y, leaving, most_steps
                )
                finish, ended = _bridge_end(rows, offsets, q, y, b)
                if finish >= 0:
                    more, extra = _along(sums, offsets, q, offsets[q], finish, y)
                    mean = (so_far + more) / (cells + extra)
                    if mean <= threshold and extra <= allowed:
                        means, ends = _room(means, ends, count)
                        means[count] = mean
                        ends[count] = (first_cell, finish, now, k)
                        count += 1
                if not ended and allowed > offsets[q + 1] - offsets[q]:
                    more, extra = _along(sums, offsets, q, offsets[q], y, y)
                    if labels == len(entry):
                        entry, chain, total = _doubled(entry), _doubled(chain), _doubled(total)
                        number, before = _doubled(number), _doubled(before)
                        taken, following = _doubled(taken), _doubled(following)
                        run, until = _doubled(run), _doubled(until)
                    chain[labels], entry[labels] = arrive_paths[k], y
                    total[labels] = so_far + more - sums[y + 1]
                    number[labels] = cells + extra - y - 1
                    before[labels], taken[labels] = now, k
                    run[labels] = _run_over(
                        rows, columns, out, offsets[q], offsets[q + 1], y, leaving
                    )
                    until[labels] = _last_within(
                        rows, columns, y, offsets[arrive_paths[k] + 1], run[labels], most_steps
                    )
                    if waiting == len(queue):
                        queue = _doubled(queue)
                    # The queue ends with the next label to visit; no earlier one can still appear.
                    at = waiting
                    while at > 0 and _is_before(rows, columns, entry[queue[at - 1]], y):
                        queue[at] = queue[at - 1]
                        at -= 1
                    queue[at] = labels
                    waiting += 1
                    labels += 1
                k += 1
        for label in range(origin, labels):
            visited[chain[label]] = -1
    return means[:count], ends[:count], (entry[:labels], before[:labels], taken[:labels])


@kernel
def _step(rows, columns, first, second):
    """Return 1 for a step to the right, -1 for a step down, 0 for a diagonal step."""
    if rows[first] == rows[second]:
        return 1
    return -1 if columns[first] == columns[second] else 0


@kernel
def _longer(run, step):
    """Return a run extended by one step."""
    if step == 0:
        return 0
    return run + step if run * step > 0 else step


@kernel
def _run_at(rows, columns, first, last, entering):
    """Return the run at cell `last` of a path that was entered at cell `first` with a run."""
    run, x = 0, last
    while x > first:
        step = _step(rows, columns, x - 1, x)
        if step == 0 or run * step < 0:
            return run
        run, x = run + step, x - 1
    return run + entering if run * entering >= 0 else run


@kernel
def _run_over(rows, columns, leave, first, last, arrive, run):
    """Return the run at the end of a bridge (cells `first` to `last`) entered with `run`."""
    if first == last:
        return _longer(run, _step(rows, columns, leave, arrive))
    run = _longer(run, _step(rows, columns, leave, first))
    run = _run_at(rows, columns, first, last - 1, run)
    return _longer(run, _step(rows, columns, last - 1, arrive))


@kernel
def _last_within(rows, columns, x, last, run, most_steps):
    """Return the last cell of a chain that a run at cell x can reach within the length limit."""
    steps = abs(run)
    for y in range(x + 1, last):
        if run * _step(rows, columns, y - 1, y) <= 0:
            break
        steps += 1
        if steps > most_steps:
            return y - 1
    return last - 1


@kernel
def _cells_within(rows, columns, leave, first, last, arrive, run, most_steps):
    """Return how many cells of a bridge, including the cell of arrival, a run can reach."""
    steps, here = abs(run), leave
    for x in range(first, last + 1):
        there = x if x < last else arrive
        if run * _step(rows, columns, here, there) <= 0:
            break
        steps, here = steps + 1, there
        if steps > most_steps:
            return x - first
    return last - first + 1


@kernel
def _first_at(rows, low, high, row):
    """Return the first cell in low..high of a path whose row is at least `row`, or `high`."""
    while low < high:
        middle = (low + high) // 2
        if rows[middle] < row:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _is_before(rows, columns, first, second):
    """Return whether one cell has a smaller sum of row and column than another."""
    return rows[first] + columns[first] < rows[second] + columns[second]


@kernel
def _bridge_end(rows, offsets, path, arrival, b):
    """Return the last cell of a bridge in row `b` (or -1), and whether it reaches that row."""
    if rows[arrival] == b:
        return arrival, True
    first, last = offsets[path], offsets[path + 1]
    if last > first and rows[last - 1] >= b:
        return _first_at(rows, first, last, b + 1) - 1, True
    return -1, rows[arrival] > b


@kernel
def _along(sums, offsets, path, first, last, arrival):
    """Return the total distance and number of a bridge's cells from `first` to `last`."""
    if last != arrival:
        return sums[last + 1] - sums[first], last + 1 - first
    own = offsets[path + 1] - first
    T = sums[offsets[path + 1]] - sums[first] + sums[arrival + 1] - sums[arrival]
    return T, own + 1


@kernel
def _room(means, ends, count):
    """Return both arrays, doubled in length if full."""
    if count < len(means):
        return means, ends
    return _doubled(means), _doubled(ends)


@kernel
def _doubled(numbers):
    """Return a copy of an array with twice the room."""
    return np.concatenate((numbers, np.empty_like(numbers)))


@kernel
def _kept(first, last, order, taken, max_overlap, limit):
    """Return the matches in `order` that do not overlap a previously accepted match too much."""
    low = np.empty(len(order) + len(taken), np.int64)
    high = np.empty(len(order) + len(taken), np.int64)
    count = len(taken)
    low[:count], high[:count] = taken[:, 0], taken[:, 1]
    out = np.empty(len(order), np.int64)
    kept = 0
    for k in order:
        if kept >= limit:
            break
        fits = True
        for t in range(count):
            shared = min(high[t], last[k]) - max(low[t], first[k])
            if shared > max_overlap * min(high[t] - low[t], last[k] - first[k]):
                fits = False
                break
        if fits:
            low[count], high[count] = first[k], last[k]
            count += 1
            out[kept] = k
            kept += 1
    return out[:kept]
