"""The match web straight from Kovar & Gleicher (2004), section 3.2, one cell at a time."""

from .alignment import minima_and_region, time_alignment


def web(grid, *, alpha, max_slope, least_length, reach, allowed=lambda i, j: True):
    """Chains, as lists of cells, and bridges, as {(from chain, to chain): path with both ends}.

    `allowed` tells which cells count at all.
    """
    in_row, in_column, region = minima_and_region(grid, alpha)
    minima = {cell for cell in in_row | in_column if allowed(*cell)}
    region = {cell for cell in region if allowed(*cell)}
    chains = minima_chains(grid, minima, max_slope=max_slope, least_length=least_length)
    return chains, bridges(grid, region, chains, max_slope=max_slope, reach=reach)


def minima_chains(grid, minima, *, max_slope, least_length):
    """Chains that begin where no minimum is to the left, below, or both."""
    chains, visited = [], set()
    for i, j in sorted(minima):
        if minima & {(i, j - 1), (i - 1, j), (i - 1, j - 1)}:
            continue
        path = []
        cell = (i, j)
        while cell is not None and cell not in visited:
            visited.add(cell)
            path.append(cell)
            cell = following(grid, minima, path, max_slope)
        frames = (path[-1][0] - path[0][0] + 1 + path[-1][1] - path[0][1] + 1) / 2
        if frames >= least_length:
            chains.append(path)
    return chains


def following(grid, minima, path, max_slope):
    """The next cell of a chain: ahead in both motions if that can be, else in one."""
    i, j = path[-1]
    if (i + 1, j + 1) in minima:
        return i + 1, j + 1
    options = []
    for cell, axis in [((i, j + 1), 0), ((i + 1, j), 1)]:
        same = 1
        while same < len(path) and path[-1 - same][axis] == path[-1][axis]:
            same += 1
        if cell in minima and same < max_slope:
            options.append(cell)
    return min(options, key=lambda cell: grid[cell[0]][cell[1]], default=None)


def bridges(grid, region, chains, *, max_slope, reach):
    """Between any two chains, the path with the smallest mean.

    A cell of the other chain is reached from the last cell of the first that leads there.
    """
    mask = [[(i, j) in region for j in range(len(grid[0]))] for i in range(len(grid))]
    found = {}
    for a, chain in enumerate(chains):
        for b, other in enumerate(chains):
            best = None
            for target in other if a != b else ():
                path = last_way(grid, mask, chain, target, max_slope, reach)
                if path is not None:
                    mean = sum(grid[i][j] for i, j in path) / len(path)
                    if best is None or mean < best[0]:
                        best = (mean, path)
            if best is not None:
                path = best[1]
                arrival = next(n for n, cell in enumerate(path) if cell in other)
                found[a, b] = path[: arrival + 1]
    return found


def last_way(grid, mask, chain, target, max_slope, reach):
    for source in reversed(chain):
        gap = abs(target[0] - source[0]) + abs(target[1] - source[1])
        if gap >= reach or target[0] < source[0] or target[1] < source[1]:
            continue
        _, path = time_alignment(grid, mask, start=source, end=target, max_slope=max_slope)
        if len(path):
            return [tuple(cell) for cell in path.tolist()]
    return None
