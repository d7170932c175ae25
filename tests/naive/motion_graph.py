"""Motion graphs the slow way: Kravcevich 2014, sections 4.5 to 4.8, and reachability by definition.

`blended_mean` is the "average value around the local minima" of the third pruning step, which
should "ensure the poses to be used for blending are of low error". `window_mean` is the same for
frames around the minimum, which is a rule of motionloom.
"""

import math


def blended_frames(i, j, k):
    """Section 4.6: pairs of frames of motions A and B that a transition (i, j) blends."""
    return [(i + p, j - k + 1 + p) for p in range(k)]


def blended_mean(grid, i, j, k):
    """Section 4.5: mean error of the frames that are blended; infinite if some do not exist."""
    pairs = blended_frames(i, j, k)
    if pairs[-1][0] >= len(grid) or pairs[0][1] < 0:
        return math.inf
    return sum(grid[a][b] for a, b in pairs) / k


def root_path(first, second):
    """Equation 4.7: places of the root on the floor (x, z), from those of the blended frames.

    The weight of equation 4.6 is printed without its sign and constant: it goes from motion A to
    motion B. The path starts at the first frame of A.
    """
    k = len(first)
    places = [tuple(first[0])]
    for p in range(1, k):
        x = (p + 1) / k
        share = 3 * x**2 - 2 * x**3
        step = [
            (1 - share) * (first[p][axis] - first[p - 1][axis])
            + share * (second[p][axis] - second[p - 1][axis])
            for axis in (0, 1)
        ]
        places.append((places[-1][0] + step[0], places[-1][1] + step[1]))
    return places


def loaded(headers):
    """Section 4.8: transitions (A, B, i, j) of a file, "a mirror is also loaded into B"."""
    result = set()
    for a, b, rows in headers:
        for i, j in rows:
            result |= {(a, b, i, j), (b, a, j, i)}
    return result


def pruned(minima, around, threshold, k):
    """Section 4.5: sector minima that remain after the three steps, {(column, row): (i, j, error)}.

    Motion one runs from left to right, motion two from top to bottom. "Too close" is less than k
    frames, and "the bottom left most" of bordering minima stays: they are visited row by row from
    the top, each row from right to left, and a minimum too close to a later one is removed.
    """
    first = {sector: spot for sector, spot in minima.items() if spot[2] <= threshold}
    order = sorted(first, key=lambda sector: (sector[1], -sector[0]))
    second = []
    for n, sector in enumerate(order):
        i, j, _ = first[sector]
        later = [other for other in order[n + 1 :] if max(map(abs, minus(sector, other))) == 1]
        close = [first[other] for other in later]
        if not any(max(abs(i - a), abs(j - b)) < k for a, b, _ in close):
            second.append(first[sector])
    third = [spot for spot in second if around(spot[0], spot[1]) <= threshold]
    return first, second, third


def minus(a, b):
    return a[0] - b[0], a[1] - b[1]


def sector_minima(grid, sector, allowed):
    """Minimum allowed cell of every sector: (i, j, error), row by row."""
    result = []
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
                result.append((i, j, error))
    return result


def local_minima(grid, allowed):
    """Allowed cells without a lower allowed cell around them."""
    result = []
    for i in range(len(grid)):
        for j in range(len(grid[0])):
            around = [
                grid[a][b]
                for a in range(max(i - 1, 0), min(i + 2, len(grid)))
                for b in range(max(j - 1, 0), min(j + 2, len(grid[0])))
                if allowed(a, b)
            ]
            if allowed(i, j) and grid[i][j] <= min(around):
                result.append((i, j, grid[i][j]))
    return result


def window_mean(grid, i, j, blend):
    """Mean error of the frames that are blended."""
    steps = range(-(blend // 2), blend - blend // 2)
    return sum(grid[i + step][j + step] for step in steps) / blend


def endless(leave, enter):
    """Transitions of the largest set in which each can reach every other, by exhaustive search."""
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
