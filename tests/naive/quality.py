"""Quality measures straight from their definitions, with plain loops."""

import math

import numpy as np


def segment_distance(a, b, c, d):
    """Distance of segments a-b and c-d: the minimum over a fine grid, refined around it."""
    low, high = np.zeros(2), np.ones(2)
    for _ in range(12):
        s, t = (np.linspace(low[k], high[k], 21) for k in range(2))
        first = a + s[:, None] * (b - a)
        second = c + t[:, None] * (d - c)
        gaps = np.linalg.norm(first[:, None] - second[None], axis=-1)
        i, j = np.unravel_index(np.argmin(gaps), gaps.shape)
        step = (high - low) / 20.0
        low = np.maximum(np.array([s[i], t[j]]) - 2 * step, 0.0)
        high = np.minimum(np.array([s[i], t[j]]) + 2 * step, 1.0)
    return float(gaps.min())


def distance_outside(point, corners):
    """Distance of a point (2,) from the convex hull of some points: zero inside."""
    pairs = [(p, q) for p in corners for q in corners]
    edges = min(_distance_to_edge(point, p, q) for p, q in pairs)
    inside = all(
        max(_cross(q - p, r - p) for r in [point]) >= 0.0
        or any(_cross(q - p, r - p) < 0.0 for r in corners)
        for p, q in pairs
        if math.dist(p, q) > 0.0
    )
    return 0.0 if inside else edges


def _distance_to_edge(point, p, q):
    squared = float((q - p) @ (q - p))
    share = min(max(float((point - p) @ (q - p)) / squared, 0.0), 1.0) if squared else 0.0
    return math.dist(point, p + share * (q - p))


def _cross(a, b):
    return float(a[0] * b[1] - a[1] * b[0])


def slide_per_contact(path, contacts):
    """Mean distance traveled over the floor within contacts, from a path (T, 3)."""
    ways = []
    for start, end in contacts:
        way = 0.0
        for k in range(start, end - 1):
            way += math.hypot(path[k + 1][0] - path[k][0], path[k + 1][2] - path[k][2])
        ways.append(way)
    return ways


def largest_acceleration(positions, fps, frames):
    """Largest second difference of any joint at some frames, m/s^2."""
    largest = 0.0
    for k in frames:
        if 1 <= k < len(positions) - 1:
            second = positions[k + 1] - 2.0 * positions[k] + positions[k - 1]
            largest = max(largest, float(np.linalg.norm(second, axis=-1).max()) * fps**2)
    return largest


def distance_from_line(point, line):
    """Distance of a point from the nearest of densely sampled points of a polyline."""
    samples = [
        p + share * (q - p)
        for p, q in zip(line[:-1], line[1:], strict=True)
        for share in np.linspace(0.0, 1.0, 101)
    ]
    return min(math.dist(point, sample) for sample in samples)


def gravity_error(path, fps):
    """Distance from gravity, in g, of the acceleration of the parabola through a path (T, 3)."""
    total = 0.0
    for axis, gravity in ((0, 0.0), (1, -9.81), (2, 0.0)):
        times = [k / fps for k in range(len(path))]
        curve = np.polynomial.Polynomial.fit(times, [float(p[axis]) for p in path], 2)
        total += (float(curve.convert().coef[2]) * 2.0 - gravity) ** 2
    return math.sqrt(total) / 9.81
