"""Motion graphs the slow way: sectors, prunings, minima and reachability by definition."""


def sector_minima(grid, sector, allowed):
    """Least allowed cell of every sector: (i, j, error), row by row."""
    found = []
    for top in range(0, len(grid), sector):
        for left in range(0, len(grid[0]), sector):
            cells = [
                (grid[i][j], i, j)
                for i in range(top, min(top + sector, len(grid)))
                for j in range(left, min(left + sector, len(grid[0])))
                if allowed(i, j)
            ]
            if cells:
                error, i, j = min(cells)
                found.append((i, j, error))
    return found


def local_minima(grid, allowed):
    """Allowed cells that no allowed cell around them is below."""
    found = []
    for i in range(len(grid)):
        for j in range(len(grid[0])):
            around = [
                grid[a][b]
                for a in range(max(i - 1, 0), min(i + 2, len(grid)))
                for b in range(max(j - 1, 0), min(j + 2, len(grid[0])))
                if allowed(a, b)
            ]
            if allowed(i, j) and grid[i][j] <= min(around):
                found.append((i, j, grid[i][j]))
    return found


def window_mean(grid, i, j, blend):
    """Mean error of the frames that are blended."""
    steps = range(-(blend // 2), blend - blend // 2)
    return sum(grid[i + step][j + step] for step in steps) / blend


def endless(leave, enter):
    """Transitions of the largest set in which each leads to each, by walking everywhere."""
    count = len(leave)

    def follows(k):
        return [
            n for n in range(count) if leave[n][0] == enter[k][0] and leave[n][1] >= enter[k][1]
        ]

    reached = []
    for k in range(count):
        seen, stack = set(), follows(k)
        while stack:
            n = stack.pop()
            if n not in seen:
                seen.add(n)
                stack.extend(follows(n))
        reached.append(seen)
    sets = {
        frozenset(n for n in reached[k] if k in reached[n]) for k in range(count) if k in reached[k]
    }
    return max(map(len, sets), default=0), sets
