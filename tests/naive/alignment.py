"""Alignments straight from the definition: try every path, one cell at a time."""

from functools import cache

import numpy as np


def best_path(matrix, *, steps, end, subsequence):
    """(cost, path) of the lowest-cost path to the last row and column `end`, by recursion."""
    rows, columns = len(matrix), len(matrix[0])

    @cache
    def reach(i, j):
        if i < 0 or j < 0:
            return float("inf"), ()
        options = []
        if i == 0 and (subsequence or j == 0):
            options.append((matrix[i][j], ((i, j),)))
        if steps == "classic":
            moves = [((1, 1), ()), ((1, 0), ()), ((0, 1), ())]
        else:
            moves = [((1, 1), ()), ((1, 2), ()), ((2, 1), ((i - 1, j),))]
        for (down, right), between in moves:
            if i - down < 0 or j - right < 0 or (subsequence and i == 0):
                continue
            cost, path = reach(i - down, j - right)
            cost += sum(matrix[a][b] for a, b in between) + matrix[i][j]
            options.append((cost, (*path, *between, (i, j))))
        return min(options, key=lambda option: option[0], default=(float("inf"), ()))

    assert rows <= 40 and columns <= 200  # the recursion is deep
    cost, path = reach(rows - 1, end)
    return cost, np.array(path if cost < float("inf") else ()).reshape(-1, 2)


def end_costs(query, motions, *, steps):
    """Cost of the best subsequence alignment that ends at each frame of each motion."""
    out = []
    for motion in motions:
        matrix = [[float(np.linalg.norm(np.subtract(q, x))) for x in motion] for q in query]
        for end in range(len(motion)):
            out.append(best_path(matrix, steps=steps, end=end, subsequence=True)[0])
    return np.array(out)


def time_alignment(matrix, allowed, *, start, end, max_slope):
    """(cost, path) of the lowest-cost time alignment, by trying every admissible path.

    Paths go one cell down, right, or both. At most `max_slope` consecutive cells of a path lie in
    one row or in one column. The cost is infinite, without a path, if there is none.
    """

    @cache
    def reach(i, j, right, down):
        """Best path to (i, j) that ends with this many cells in one row, or in one column."""
        if i < start[0] or j < start[1] or not allowed[i][j] or not matrix[i][j] == matrix[i][j]:
            return float("inf"), ()
        if (i, j) == tuple(start):
            result = (matrix[i][j], ((i, j),)) if right == 1 and down == 1 else (float("inf"), ())
            return result
        options = []
        if right == 1 and down == 1:
            options += [reach(i - 1, j - 1, *run) for run in runs]
        elif down == 1:  # one to the right: the run in this row is one longer
            options += [reach(i, j - 1, *run) for run in runs if run[0] == right - 1]
        else:
            options += [reach(i - 1, j, *run) for run in runs if run[1] == down - 1]
        cost, path = min(options, key=lambda option: option[0])
        return cost + matrix[i][j], (*path, (i, j))

    runs = [(1, 1)]
    runs += [(n, 1) for n in range(2, max_slope + 1)] + [(1, n) for n in range(2, max_slope + 1)]
    cost, path = min((reach(*end, *run) for run in runs), key=lambda option: option[0])
    return cost, np.array(path if cost < float("inf") else ()).reshape(-1, 2)


def local_minima(matrix, *, ends=False):
    """Kovar & Gleicher (2004), section 3.1: sets of cells that are minima of their row, and of
    their column. The last of equal cells counts.

    The paper does not say that the ends of a line are minima, where "varying the other" frame is
    possible on one side only. With `ends`, they are if they are smaller than their one neighbor.
    """
    rows, columns = len(matrix), len(matrix[0])

    def least(line):
        return [
            n
            for n in range(len(line))
            if len(line) > 1
            and (ends if n == 0 else line[n] <= line[n - 1])
            and (ends if n == len(line) - 1 else line[n] < line[n + 1])
        ]

    in_row = {(i, j) for i in range(rows) for j in least(matrix[i])}
    in_column = {(i, j) for j in range(columns) for i in least([matrix[i][j] for i in range(rows)])}
    return in_row, in_column


def valid_region(matrix, in_row, in_column, alpha):
    """Same section: minima, extended along their line to the first cell that is larger by alpha."""
    rows, columns = len(matrix), len(matrix[0])

    def around(line, n):
        result = {n}
        for step in (-1, 1):
            at = n + step
            while 0 <= at < len(line) and line[at] < (1 + alpha) * line[n]:
                result.add(at)
                at += step
        return result

    region = set()
    for i, j in in_row:
        region |= {(i, at) for at in around(matrix[i], j)}
    for i, j in in_column:
        line = [matrix[row][j] for row in range(rows)]
        region |= {(at, j) for at in around(line, i)}
    assert all(j < columns for _, j in region)
    return region
