"""Foot contacts and slide, and the least bent curve, straight from their definitions."""

import math

import numpy as np


def naive_contacts(paths, fps):
    """Mask (T, P) of standing points: slower than 0.3 m/s over the floor, within 3 cm of the
    lowest height within half a second, and for at least 0.1 s.
    """
    frames, points = len(paths), len(paths[0])
    half = round(0.5 * fps)
    stands = np.zeros((frames, points), dtype=bool)
    for p in range(points):
        for t in range(frames):
            before, after = max(t - 1, 0), min(t + 1, frames - 1)
            dx = float(paths[after][p][0]) - float(paths[before][p][0])
            dz = float(paths[after][p][2]) - float(paths[before][p][2])
            speed = math.hypot(dx, dz) * fps / max(after - before, 1)
            around = range(max(t - half, 0), min(t + half + 1, frames))
            lowest = min(float(paths[k][p][1]) for k in around)
            stands[t, p] = speed < 0.3 and float(paths[t][p][1]) < lowest + 0.03
        for start, end in runs(stands[:, p]):
            if end - start < 0.1 * fps:
                stands[start:end, p] = False
    return stands


def naive_slide(paths, stands):
    """Mean horizontal travel within a contact, meters."""
    ways = []
    for p in range(stands.shape[1]):
        for start, end in runs(stands[:, p]):
            way = 0.0
            for t in range(start, end - 1):
                dx = float(paths[t + 1][p][0]) - float(paths[t][p][0])
                dz = float(paths[t + 1][p][2]) - float(paths[t][p][2])
                way += math.hypot(dx, dz)
            ways.append(way)
    return sum(ways) / len(ways) if ways else 0.0


def runs(mask):
    """Half-open ranges of true values."""
    result, start = [], None
    for t, value in enumerate([*mask, False]):
        if value and start is None:
            start = t
        if not value and start is not None:
            result.append((start, t))
            start = None
    return result


def least_bent(fixed, reach):
    """The curve (T,) with minimum squared second differences through the known values, zero at
    least `reach` frames away from all of them, and level at both ends; by dense least squares.
    """
    frames = len(fixed)
    given = [t for t in range(frames) if not math.isnan(fixed[t])]
    rows, right = [], []
    for t in range(frames):
        row = [0.0] * frames
        row[t] = 1e4
        if t in given:
            rows.append(row)
            right.append(1e4 * fixed[t])
        elif min(abs(t - g) for g in given) >= reach:
            rows.append(row)
            right.append(0.0)
    for t in range(1, frames - 1):
        row = [0.0] * frames
        row[t - 1], row[t], row[t + 1] = 1.0, -2.0, 1.0
        rows.append(row)
        right.append(0.0)
    for a, b in ((0, 1), (frames - 2, frames - 1)):
        row = [0.0] * frames
        row[a], row[b] = 1.0, -1.0
        rows.append(row)
        right.append(0.0)
    return np.linalg.lstsq(np.array(rows), np.array(right), rcond=None)[0]
