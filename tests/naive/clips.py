"""Whole-clip measures straight from Tam et al. 2007 and Keogh et al. 2004, in plain Python."""

import math
from functools import cache


def douglas_peucker(curve, threshold, perpendicular=True):
    """Kept frames, with the recursion of section 3.1.1 on the distance of a point from the line.

    The paper's line is in time and angles. `perpendicular=False` measures at the time of the
    point, which is a rule of motionloom.
    """

    def from_line(t, first, last):
        a, b, p = ([float(k), *curve[k]] for k in (first, last, t))
        way = [y - x for x, y in zip(a, b, strict=True)]
        from_a = [y - x for x, y in zip(a, p, strict=True)]
        if perpendicular:
            dot = sum(x * y for x, y in zip(way, from_a, strict=True))
            share = dot / sum(x * x for x in way)
        else:
            share = (t - first) / (last - first)
        return math.dist(p, [x + share * y for x, y in zip(a, way, strict=True)])

    def split(first, last):
        worst, where = threshold, None
        for t in range(first + 1, last):
            gap = from_line(t, first, last)
            if gap > worst:
                worst, where = gap, t
        if where is None:
            return []
        return [*split(first, where), where, *split(where, last)]

    ends = sorted({0, len(curve) - 1})
    return [ends[0], *split(0, len(curve) - 1), *ends[1:]]


def frames_stood_for(kept, count):
    """Each frame counts toward the nearest kept frame, or half toward each of two."""
    mass = [0.0] * len(kept)
    for frame in range(count):
        gaps = [abs(frame - k) for k in kept]
        near = [n for n, gap in enumerate(gaps) if gap == min(gaps)]
        for n in near:
            mass[n] += 1.0 / len(near)
    return mass


def frames_up_to_the_next(kept, count):
    """Each frame counts toward the last kept frame that is not after it (section 3.2.3: `t` is the
    start frame of a piece of mass).
    """
    mass = [0.0] * len(kept)
    for frame in range(count):
        mass[max(n for n, k in enumerate(kept) if k <= frame)] += 1.0
    return mass


def transport(costs, supply, demand):
    """Minimum cost of moving supply to demand, as a linear program."""
    import numpy as np
    from scipy.optimize import linprog

    n, m = len(supply), len(demand)
    rows = [[1.0 if k // m == i else 0.0 for k in range(n * m)] for i in range(n)]
    rows += [[1.0 if k % m == j else 0.0 for k in range(n * m)] for j in range(m)]
    flat = [cost for row in costs for cost in row]
    # One equation follows from the others; dropping it keeps rounding from causing a
    # contradiction.
    equal = [*supply, *demand]
    done = linprog(flat, A_eq=np.array(rows[:-1]), b_eq=equal[:-1], method="highs")
    assert done.success, done.message
    return done.fun


def energy(query, candidate, weights, threshold, perpendicular=True, represented=frames_stood_for):
    """Equations 1 to 3: clips are lists of joints, joints lists of frames of three angles."""
    total = 0.0
    for weight, first, other in zip(weights, query, candidate, strict=True):
        sides = []
        for curve in (first, other):
            kept = douglas_peucker(curve, threshold, perpendicular)
            mass = [m / len(curve) for m in represented(kept, len(curve))]
            sides.append(([(*curve[t], t) for t in kept], mass))
        (points, supply), (holes, demand) = sides
        costs = [[math.dist(p, q) for q in holes] for p in points]
        total += weight * transport(costs, supply, demand)
    return total


def in_band(i, j, n, m, reach):
    """Return whether a cell lies within `reach` columns of the diagonal."""
    center = i * (m - 1) / (n - 1) if n > 1 else j
    return abs(j - center) <= reach


def banded_dtw(a, b, reach):
    """Square root of the minimum sum of squared distances over all paths within the band."""

    @cache
    def reach_cell(i, j):
        if i < 0 or j < 0 or not in_band(i, j, len(a), len(b), reach):
            return math.inf
        cost = math.dist(a[i], b[j]) ** 2
        if i == j == 0:
            return cost
        return cost + min(reach_cell(i - 1, j - 1), reach_cell(i - 1, j), reach_cell(i, j - 1))

    return math.sqrt(reach_cell(len(a) - 1, len(b) - 1))


def scaled_distance(query, clip, factor, stretch_only=True):
    """Minimum distance over all beginnings of the clip, scaled to the query.

    Keogh et al. compare beginnings that are at least as long as the query; `stretch_only=False`
    also compares shorter ones, which is a rule of motionloom.
    """
    n, m = len(query), len(clip)
    least = n if stretch_only else n / factor
    allowed = [p for p in range(1, m + 1) if least <= p <= n * factor]
    best = math.inf
    for p in allowed or [m]:
        places = [math.ceil(p * (i + 1) / n) - 1 for i in range(n)]
        total = sum(math.dist(q, clip[at]) ** 2 for q, at in zip(query, places, strict=True))
        best = min(best, math.sqrt(total))
    return best


def clip_statistics(rows, rate=30.0):
    """The six statistics of rows (T, D) of one clip, straight from their definitions.

    Covariance by SciPy's matrix logarithm, spectrum by the sum of a Fourier transform, trend by
    sums of cosines; returned as a list of lists.
    """
    import numpy as np
    from scipy.linalg import logm

    count, width = len(rows), len(rows[0])
    columns = [[float(row[d]) for row in rows] for d in range(width)]
    extended = [*columns, [1.0] * count]
    moments = [
        [sum(x * y for x, y in zip(a, b, strict=True)) / count for b in extended] for a in extended
    ]
    for d in range(width):
        moments[d][d] += 0.02**2
    logarithm = logm(np.array(moments))
    covariance = [
        logarithm[i][j] * (1.0 if i == j else math.sqrt(2.0))
        for i in range(width + 1)
        for j in range(i + 1)
    ]

    window = [0.5 - 0.5 * math.cos(2 * math.pi * (k + 1) / (count + 1)) for k in range(count)]
    size = math.sqrt(sum(w * w for w in window) / count)
    padded = max(128, count)
    edges = [0.0, 0.3, 0.6, 1.2, 2.4, 4.8, math.inf]
    power = [[0.0] * width for _ in edges[1:]]
    for d, column in enumerate(columns):
        mean = sum(column) / count
        values = [(x - mean) * w / size for x, w in zip(column, window, strict=True)]
        for k in range(padded // 2 + 1):
            turns = [2 * math.pi * k * t / padded for t in range(count)]
            real = sum(v * math.cos(a) for v, a in zip(values, turns, strict=True))
            imaginary = sum(v * math.sin(a) for v, a in zip(values, turns, strict=True))
            octave = max(n for n in range(6) if k * rate / padded >= edges[n])
            power[octave][d] += 2 * (real**2 + imaginary**2) / (count * padded)
    spectrum = [math.log(math.sqrt(value) + 0.01) for octave in power for value in octave]

    even = []
    for column in columns:
        at = [k * (count - 1) / 63 for k in range(64)]
        values = []
        for x in at:
            low = min(int(x), count - 2)
            values.append(column[low] + (x - low) * (column[low + 1] - column[low]))
        mean = sum(values) / 64
        even.append([v - mean for v in values])
    extent = math.sqrt(sum(v * v for column in even for v in column) / (64 * width)) + 0.01
    trend = [
        sum(v * math.sqrt(2) * math.cos(math.pi * j * (k + 0.5) / 64) for k, v in enumerate(column))
        / (64 * extent)
        for j in range(1, 5)
        for column in even
    ]
    turned = sum(columns[-1]) / 0.2 / rate
    left, forward = (sum(columns[d]) / count / 0.2 for d in (-4, -2))
    return [
        covariance, spectrum, trend, [math.log(count / rate)], [math.tanh(turned / 1.5)],
        [math.asinh(left / 0.3), math.asinh(forward / 0.3)],
    ]  # fmt: skip


def statistics_distance(a, b, weights=(1.0, 1.0, 1.0, 0.2, 0.1, 0.3)):
    """Weighted sum of the root mean square differences of two clips' statistics."""
    total = 0.0
    for first, other, weight in zip(a, b, weights, strict=True):
        squares = [(x - y) ** 2 for x, y in zip(first, other, strict=True)]
        total += weight * math.sqrt(sum(squares) / len(squares))
    return total


def contextual_dissimilarity(distances):
    """One step of Jegou et al. 2010: divide by the root of both neighborhoods' mean distances.

    A neighborhood is the nearest fifth of the other clips, and at least seven of them. The result
    is multiplied by the median of the mean distances.
    """
    count = len(distances)
    radii = []
    for i in range(count):
        others = sorted(distances[i][j] for j in range(count) if j != i)
        near = others[: max(7, round(0.2 * (count - 1)))]
        radii.append(sum(near) / len(near))
    ordered = sorted(radii)
    median = (ordered[(count - 1) // 2] + ordered[count // 2]) / 2
    return [
        [distances[i][j] * median / math.sqrt(radii[i] * radii[j]) for j in range(count)]
        for i in range(count)
    ]
