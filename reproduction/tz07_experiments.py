"""Experiments on Tam et al. 2007: joints in step, a hard limit on time, and DTW without vectors.

The paper names two limitations (section 5) and leaves them to future work: the joints of a body are
matched independently, and strayed matches are discouraged but not prevented. Both are tried here on
the signatures of its method, to measure costs and gains. Neither is part of the package.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from motionloom.features.curves import masses
from motionloom.features.earth_mover import transport
from motionloom.kernels import kernel
from motionloom.search.clips.emd_signature import EmdSignatures

Curves = NDArray[np.float64]  # (C, T, J, 3), in degrees
STRAYED = 360.0  # degrees added to the cost of a move beyond the limit


def synchronized_distances(
    curves: Curves, weights: NDArray[np.float64], threshold: float = 10.0
) -> NDArray[np.float64]:
    """Distances (C, C) of clips whose joints must move together.

    A clip has one signature. Its points are poses, kept until no joint is farther than `threshold`
    from its line. The cost of moving one pose to another is the weighted sum of the ground
    distances of the joints, so a single flow applies to all of them.
    """
    count = curves.shape[1]
    kept = [jointly_kept(clip, threshold) for clip in curves]
    poses = np.concatenate([clip[frames] for clip, frames in zip(curves, kept, strict=True)])
    mass = np.concatenate([masses(frames, count) / count for frames in kept])
    starts = np.concatenate([[0], np.cumsum([len(frames) for frames in kept])])
    times = np.concatenate(kept).astype(np.float64)
    return _synchronized(poses, times, mass, starts, weights)


def jointly_kept(clip: NDArray[np.float64], threshold: float) -> NDArray[np.int64]:
    """Frames of a clip (T, J, 3) that Douglas-Peucker keeps if a line may fail for any joint."""
    count, joints, _ = clip.shape
    times = np.broadcast_to(np.arange(count, dtype=np.float64)[:, None, None], (count, joints, 1))
    points = np.concatenate([clip, times], axis=2)
    kept, waiting = {0, count - 1}, [(0, count - 1)]
    while waiting:
        first, last = waiting.pop()
        if last - first < 2:
            continue
        way = points[last] - points[first]
        ahead = points[first + 1 : last] - points[first]
        share = (ahead * way).sum(axis=-1) / (way * way).sum(axis=-1)
        gaps = np.linalg.norm(ahead - share[..., None] * way, axis=-1).max(axis=1)
        worst = int(gaps.argmax())
        if gaps[worst] > threshold:
            middle = first + 1 + worst
            kept.add(middle)
            waiting += [(first, middle), (middle, last)]
    return np.array(sorted(kept), np.int64)


@kernel
def _synchronized(poses, times, mass, starts, weights):
    count, joints = len(starts) - 1, len(weights)
    out = np.zeros((count, count))
    for a in range(count):
        for b in range(a):
            first, other = poses[starts[a] : starts[a + 1]], poses[starts[b] : starts[b + 1]]
            t, u = times[starts[a] : starts[a + 1]], times[starts[b] : starts[b + 1]]
            costs = np.zeros((len(first), len(other)))
            for i in range(len(first)):
                for k in range(len(other)):
                    for j in range(joints):
                        square = (t[i] - u[k]) ** 2
                        for axis in range(3):
                            square += (first[i, j, axis] - other[k, j, axis]) ** 2
                        costs[i, k] += weights[j] * np.sqrt(square)
            out[a, b] = out[b, a] = transport(
                costs, mass[starts[a] : starts[a + 1]], mass[starts[b] : starts[b + 1]]
            )
    return out


def limited_distances(
    signatures: EmdSignatures, weights: NDArray[np.float64], reach: float
) -> NDArray[np.float64]:
    """Distances (C, C) if mass may move by at most `reach` frames wherever that is possible."""
    return _limited(
        signatures.points, signatures.mass, signatures.starts, weights, float(reach), STRAYED
    )


@kernel
def _limited(points, mass, starts, weights, reach, strayed):
    joints = len(weights)
    count = (len(starts) - 1) // joints
    out = np.zeros((count, count))
    for a in range(count):
        for b in range(a):
            for j in range(joints):
                p, q = starts[a * joints + j], starts[a * joints + j + 1]
                r, s = starts[b * joints + j], starts[b * joints + j + 1]
                costs = np.empty((q - p, s - r))
                for i in range(q - p):
                    for k in range(s - r):
                        square = 0.0
                        for axis in range(4):
                            square += (points[p + i, axis] - points[r + k, axis]) ** 2
                        costs[i, k] = np.sqrt(square)
                        if abs(points[p + i, 3] - points[r + k, 3]) > reach:
                            costs[i, k] += strayed
                out[a, b] += weights[j] * transport(costs, mass[p:q], mass[r:s])
            out[b, a] = out[a, b]
    return out


def best_flow(
    costs: NDArray[np.float64], supply: NDArray[np.float64], demand: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Flow (n, m) of least cost, by linear programming."""
    from scipy.optimize import linprog

    n, m = costs.shape
    rows = np.kron(np.eye(n), np.ones(m))
    columns = np.kron(np.ones(n), np.eye(m))
    # One equation follows from the others; without it, rounding cannot cause a contradiction.
    equations = np.concatenate([rows, columns])[:-1]
    flow = linprog(costs.ravel(), A_eq=equations, b_eq=np.concatenate([supply, demand])[:-1])
    return flow.x.reshape(n, m)


@kernel
def scalar_dtw(curves, weights, reach):
    """Banded DTW distances (C, C) of curves (C, T, J, 3), computed one number at a time."""
    count, frames, joints, _ = curves.shape
    out = np.zeros((count, count))
    costs = np.empty((2, frames + 1))
    for a in range(count):
        for b in range(a):
            costs[:] = np.inf
            costs[0, 0] = 0.0
            for i in range(frames):
                now, before = costs[(i + 1) % 2], costs[i % 2]
                now[:] = np.inf
                for k in range(max(0, i - reach), min(frames, i + reach + 1)):
                    square = 0.0
                    for j in range(joints):
                        gap = 0.0
                        for axis in range(3):
                            gap += (curves[a, i, j, axis] - curves[b, k, j, axis]) ** 2
                        square += weights[j] * gap
                    now[k + 1] = square + min(before[k], before[k + 1], now[k])
            out[a, b] = out[b, a] = np.sqrt(costs[frames % 2, frames] / frames)
    return out
