"""The most likely path of a point with known variances, by dense least squares."""

import numpy as np


def most_likely_path(path, weights, noise, change):
    """Minimize sum w |y - x|^2 / r + sum |x(t-1) - 2 x(t) + x(t+1)|^2 / q(t), row by row."""
    frames = len(path)
    rows, values = [], []
    for t in range(frames):
        if weights[t] > 0.0:
            row = np.zeros(frames)
            row[t] = np.sqrt(weights[t]) / noise
            rows.append(row)
            values.append(path[t] * row[t])
    for t in range(1, frames - 1):
        row = np.zeros(frames)
        row[t - 1 : t + 2] = np.array([1.0, -2.0, 1.0]) / np.sqrt(change[t - 1])
        rows.append(row)
        values.append(np.zeros(3))
    return np.linalg.lstsq(np.array(rows), np.array(values), rcond=None)[0]
