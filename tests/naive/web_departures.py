"""Rules of motionloom's match web that the paper does not have (docs/explanation/match-webs.md)."""

from naive.web import following, length


def chains(grid, minima, *, max_slope, least_length, second_pass=True):
    """Chains that end where they meet an earlier one; then a second search.

    Second search: away from all chains by more than a cell, a chain may begin at any minimum, and
    must be twice as long.
    """
    found, visited = [], set()
    for i, j in sorted(minima):
        if not minima & {(i, j - 1), (i - 1, j), (i - 1, j - 1)}:
            path = chain_from((i, j), grid, minima, visited, max_slope)
            visited |= set(path)
            if length(path) >= least_length:
                found.append(path)
    if not second_pass:
        return found
    around = {cell for chain in found for cell in neighborhood(chain)}
    for cell in sorted(minima):
        path = chain_from(cell, grid, minima, around, max_slope)
        if path and length(path) >= 2 * least_length:
            found.append(path)
            around |= neighborhood(path)
    return found


def chain_from(cell, grid, minima, used, max_slope):
    path = []
    while cell is not None and cell not in used:
        path.append(cell)
        cell = following(grid, minima, path, max_slope)
    return path


def neighborhood(path):
    return {(i + a, j + b) for i, j in path for a in (-1, 0, 1) for b in (-1, 0, 1)}
