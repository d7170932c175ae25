"""Alignments straight from the definition: try every path, one cell at a time."""

from functools import cache

import numpy as np


def best_path(grid, *, steps, end, subsequence):
    """(cost, path) of the cheapest path to the last row and column `end`, by recursion."""
    rows, columns = len(grid), len(grid[0])

    @cache
    def reach(i, j):
        if i < 0 or j < 0:
            return float("inf"), ()
        options = []
        if i == 0 and (subsequence or j == 0):
            options.append((grid[i][j], ((i, j),)))
        if steps == "classic":
            moves = [((1, 1), ()), ((1, 0), ()), ((0, 1), ())]
        else:
            moves = [((1, 1), ()), ((1, 2), ()), ((2, 1), ((i - 1, j),))]
        for (down, right), between in moves:
            if i - down < 0 or j - right < 0 or (subsequence and i == 0):
                continue
            cost, path = reach(i - down, j - right)
            cost += sum(grid[a][b] for a, b in between) + grid[i][j]
            options.append((cost, (*path, *between, (i, j))))
        return min(options, key=lambda option: option[0], default=(float("inf"), ()))

    assert rows <= 40 and columns <= 200  # the recursion is deep
    cost, path = reach(rows - 1, end)
    return cost, np.array(path if cost < float("inf") else ()).reshape(-1, 2)


def end_costs(query, motions, *, steps):
    """Cost of the best subsequence alignment that ends at each frame of each motion."""
    out = []
    for motion in motions:
        grid = [[float(np.linalg.norm(np.subtract(q, x))) for x in motion] for q in query]
        for end in range(len(motion)):
            out.append(best_path(grid, steps=steps, end=end, subsequence=True)[0])
    return np.array(out)
