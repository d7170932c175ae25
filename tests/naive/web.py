"""The match web from the text of Kovar & Gleicher (2004), sections 3.1 and 3.2, cell by cell.

`grid` contains the paper's distance d, a sum of squares. `naive.web_departures` has the rules of
motionloom that the paper does not have. The paper does not say with which of several minima a
chain continues: here, the one ahead in both motions, otherwise the smaller one. It also does not
say how to measure the length of a chain: here, as the mean of its frames in both motions.
"""

from naive.alignment import local_minima, time_alignment, valid_region


def web(grid, *, alpha, max_slope, least_length, reach):
    """Chains, as lists of cells, and bridges, as {(from chain, to chain): path with both ends}."""
    in_row, in_column = local_minima(grid)
    region = valid_region(grid, in_row, in_column, alpha)
    result = chains(grid, in_row | in_column, max_slope=max_slope, least_length=least_length)
    return result, bridges(grid, region, result, max_slope=max_slope, reach=reach)


def chains(grid, minima, *, max_slope, least_length):
    """ "We locate all minima that have no neighbors to the left, bottom, or bottom-left [...] then
    for each of these minima we form a chain by iteratively searching the top, right, and top-right
    cells for other minima, making sure [...] that the non-degeneracy condition is not violated.
    [...] we simply remove chains below a threshold length."
    """
    every = []
    for i, j in sorted(minima):
        if not minima & {(i, j - 1), (i - 1, j), (i - 1, j - 1)}:
            path = [(i, j)]
            while (cell := following(grid, minima, path, max_slope)) is not None:
                path.append(cell)
            every.append(path)
    return [path for path in every if length(path) >= least_length]


def following(grid, minima, path, max_slope):
    """The next cell of a chain, or None."""
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


def length(path):
    """Frames, as the mean of both motions."""
    return (path[-1][0] - path[0][0] + 1 + path[-1][1] - path[0][1] + 1) / 2


def bridges(grid, region, chains, *, max_slope, reach):
    """ "We then compute for each cell C_i on C the optimal path to each cell on C' whose Manhattan
    distance to C_i is less than L. The path with the smallest average distance is retained."
    """
    mask = [[(i, j) in region for j in range(len(grid[0]))] for i in range(len(grid))]
    result = {}
    for a, chain in enumerate(chains):
        for b, other in enumerate(chains):
            paths = [
                optimal_path(grid, mask, start, end, max_slope)
                for start in chain
                for end in other
                if a != b and start != end and is_near(start, end, reach)
            ]
            paths = [path for path in paths if path]
            if paths:
                result[a, b] = min(paths, key=lambda path: mean(grid, path))
    return result


def is_near(start, end, reach):
    down, right = end[0] - start[0], end[1] - start[1]
    return down >= 0 and right >= 0 and down + right < reach


def optimal_path(grid, mask, start, end, max_slope):
    _, path = time_alignment(grid, mask, start=start, end=end, max_slope=max_slope)
    return [tuple(cell) for cell in path.tolist()]


def mean(grid, path):
    return sum(grid[i][j] for i, j in path) / len(path)
