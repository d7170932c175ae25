"""The match web straight from Kovar & Gleicher (2004), section 3.2, one cell at a time."""

from naive.alignment import minima_and_region, time_alignment


def web(matrix, *, alpha, max_slope, least_length, reach, allowed=lambda i, j: True):
    """Chains, as lists of cells, and bridges, as {(from chain, to chain): path with both ends}.

    `allowed` tells which cells count at all.
    """
    in_row, in_column, region = minima_and_region(matrix, alpha)
    minima = {cell for cell in in_row | in_column if allowed(*cell)}
    region = {cell for cell in region if allowed(*cell)}
    chains = minima_chains(matrix, minima, max_slope=max_slope, least_length=least_length)
    return chains, bridges(matrix, region, chains, max_slope=max_slope, reach=reach)


def minima_chains(matrix, minima, *, max_slope, least_length):
    """Chains that begin where no minimum is to the left, below, or both.

    And then, away from those by more than a cell, at any minimum, if twice as long.
    """
    chains, visited = [], set()
    for i, j in sorted(minima):
        if not minima & {(i, j - 1), (i - 1, j), (i - 1, j - 1)}:
            path = chain_from((i, j), matrix, minima, visited, max_slope)
            visited |= set(path)
            if length(path) >= least_length:
                chains.append(path)
    around = {cell for chain in chains for cell in neighbourhood(chain)}
    for cell in sorted(minima):
        path = chain_from(cell, matrix, minima, around, max_slope)
        if path and length(path) >= 2 * least_length:
            chains.append(path)
            around |= neighbourhood(path)
    return chains


def chain_from(cell, matrix, minima, used, max_slope):
    path = []
    while cell is not None and cell not in used:
        path.append(cell)
        cell = following(matrix, minima, path, max_slope)
    return path


def length(path):
    """Frames, as the mean of both motions."""
    return (path[-1][0] - path[0][0] + 1 + path[-1][1] - path[0][1] + 1) / 2


def neighbourhood(path):
    return {(i + a, j + b) for i, j in path for a in (-1, 0, 1) for b in (-1, 0, 1)}


def following(matrix, minima, path, max_slope):
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
    return min(options, key=lambda cell: matrix[cell[0]][cell[1]], default=None)


def bridges(matrix, region, chains, *, max_slope, reach):
    """Between any two chains, the path with the smallest mean that meets no third.

    A cell of the other chain is reached from the last cell of the first that leads there.
    """
    on_chains = {cell for chain in chains for cell in chain}
    found = {}
    for a, chain in enumerate(chains):
        for b, other in enumerate(chains):
            ways = [
                last_way(matrix, region - on_chains, chain, target, max_slope, reach)
                for target in other
                if a != b
            ]
            ways = [path for path in ways if path is not None]
            if ways:
                found[a, b] = min(
                    ways, key=lambda path: sum(matrix[i][j] for i, j in path) / len(path)
                )
    return found


def last_way(matrix, free, chain, target, max_slope, reach):
    for source in reversed(chain):
        gap = abs(target[0] - source[0]) + abs(target[1] - source[1])
        if gap >= reach or target[0] < source[0] or target[1] < source[1]:
            continue
        allowed = free | {source, target}
        mask = [[(i, j) in allowed for j in range(len(matrix[0]))] for i in range(len(matrix))]
        _, path = time_alignment(matrix, mask, start=source, end=target, max_slope=max_slope)
        if len(path):
            return [tuple(cell) for cell in path.tolist()]
    return None
