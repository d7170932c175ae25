"""Motion matching frame by frame: features by definition, exhaustive search."""

import math

import numpy as np


def features(floor, facing, left, right, hips, fps):
    """Rows of 27 numbers from root motion (x, z), facing, and world positions of three points."""
    count = len(floor)
    rows = []
    for t in range(count):
        row = []
        for point in (left, right):
            row += _local(point[t] - np.array([floor[t][0], 0.0, floor[t][1]]), facing[t])
        for point in (left, right, hips):
            row += _local(_slope(point, t) * fps, facing[t])
        places, directions = [], []
        for seconds in (1 / 3, 2 / 3, 1.0):
            (x, z), angle = _ahead(floor, facing, t + seconds * fps, fps)
            way = _local(np.array([x - floor[t][0], 0.0, z - floor[t][1]]), facing[t])
            places += [way[0], way[2]]
            directions += [math.sin(angle - facing[t]), math.cos(angle - facing[t])]
        rows.append(row + places + directions)
    return np.array(rows)


def _local(vector, facing):
    """A vector in axes in which a body with heading `facing` faces +Z."""
    c, s = math.cos(facing), math.sin(facing)
    return [c * vector[0] - s * vector[2], vector[1], s * vector[0] + c * vector[2]]


def _slope(path, t):
    """Central difference per frame; one-sided at the ends."""
    if t == 0:
        return path[1] - path[0]
    if t == len(path) - 1:
        return path[t] - path[t - 1]
    return 0.5 * (path[t + 1] - path[t - 1])


def _ahead(floor, facing, time, fps):
    """Position and facing at a time in frames; after the end, speed and turn rate are constant."""
    last = len(floor) - 1
    if time <= last:
        low = int(math.floor(time))
        high, share = min(low + 1, last), time - low
        place = [(1 - share) * floor[low][k] + share * floor[high][k] for k in (0, 1)]
        return place, (1 - share) * facing[low] + share * facing[high]
    back = max(last - max(round(0.25 * fps), 1), 0)
    steps = max(last - back, 1)
    turn = (facing[last] - facing[back]) / steps
    vx, vz = ((floor[last][k] - floor[back][k]) / steps for k in (0, 1))
    x, z = floor[last]
    beyond, done, tiny = time - last, 0.0, 1e-2
    while done < beyond - 1e-9:  # small steps along the arc
        step = min(tiny, beyond - done)
        angle = turn * (done + 0.5 * step)
        x += step * (math.cos(angle) * vx + math.sin(angle) * vz)
        z += step * (-math.sin(angle) * vx + math.cos(angle) * vz)
        done += step
    return (x, z), facing[last] + turn * beyond


def nearest(rows, query, allowed):
    """Index of the nearest allowed row and its distance; the first of equals."""
    best, least = -1, math.inf
    for n, row in enumerate(rows):
        if allowed[n]:
            distance = math.sqrt(
                sum((float(a) - float(b)) ** 2 for a, b in zip(row, query, strict=True))
            )
            if distance < least:
                best, least = n, distance
    return best, least
