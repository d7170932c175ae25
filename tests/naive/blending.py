"""Blending from its definitions: matrices, eigenvectors, loops over frames and joints."""

import math

import numpy as np


def catmull_rom(values, time):
    """Value of a clip's rows (T, ...) at any time; constant beyond its ends."""
    last = len(values) - 1
    time = min(max(time, 0.0), float(last))
    k = min(int(time), max(last - 1, 0))
    f = time - k
    p = [np.asarray(values[min(max(k + d, 0), last)], float) for d in (-1, 0, 1, 2)]
    a = -p[0] + 3 * p[1] - 3 * p[2] + p[3]
    b = 2 * p[0] - 5 * p[1] + 4 * p[2] - p[3]
    return 0.5 * (2 * p[1] + (p[2] - p[0]) * f + b * f**2 + a * f**3)


def chordal_mean(quaternions, weights):
    """Unit quaternion with minimum weighted squared distance, all in one hemisphere."""
    total = np.zeros(4)
    for w, q in zip(weights, quaternions, strict=True):
        sign = 1.0 if np.dot(q, quaternions[0]) >= 0.0 else -1.0
        total += w * sign * np.asarray(q, float)
    return total / math.sqrt(float(total @ total))


def eigenvector_mean(quaternions, weights):
    """Markley et al. 2007: the top eigenvector of the weighted sum of outer products."""
    total = sum(w * np.outer(q, q) for w, q in zip(weights, quaternions, strict=True))
    return np.linalg.eigh(total)[1][:, -1]


def turned(yaw, point):
    """Rotate a point about the vertical with a matrix."""
    c, s = math.cos(yaw), math.sin(yaw)
    return np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]) @ np.asarray(point, float)


def product(a, b):
    """Hamilton's product of two quaternions."""
    (aw, *av), (bw, *bv) = a, b
    av, bv = np.array(av), np.array(bv)
    return np.array([aw * bw - av @ bv, *(aw * bv + bw * av + np.cross(av, bv))])


def mixed_pose(clips, roots, weights, times, grounds, place):
    """One blended pose: each clip is moved to the origin, averaged and moved back."""
    poses, places = [], []
    for clip, path, time, (gx, gz, yaw) in zip(clips, roots, times, grounds, strict=True):
        pose = catmull_rom(clip, time)
        half = np.array([math.cos(-yaw / 2), 0, math.sin(-yaw / 2), 0])
        pose[0] = product(half, pose[0])
        poses.append(pose)
        places.append(turned(-yaw, catmull_rom(path, time) - [gx, 0, gz]))
    rotations = np.array(
        [chordal_mean([pose[j] for pose in poses], weights) for j in range(len(poses[0]))]
    )
    root = sum(w * p for w, p in zip(weights, places, strict=True))
    half = np.array([math.cos(place[2] / 2), 0, math.sin(place[2] / 2), 0])
    rotations[0] = product(half, rotations[0])
    return rotations, turned(place[2], root) + [place[0], 0, place[1]]


def blended_path(places, weights):
    """Positions (K, 3), ``x, z, yaw``, of a blend: many small steps of the mean velocity.

    `places` (N, K, 3) are the positions of the examples. Between two knots each of them moves
    along an arc with constant velocity relative to the body.
    """
    here = np.array(places[0][0], float)
    path = [here.copy()]
    steps = 2000
    for k in range(len(places[0]) - 1):
        velocity = np.zeros(3)
        for w, place in zip(weights, places, strict=True):
            velocity += w * _felt_velocity(place[k], place[k + 1])
        for _ in range(steps):
            middle = here[2] + 0.5 * velocity[2] / steps
            step = turned(middle, [velocity[0], 0.0, velocity[1]]) / steps
            here += [step[0], step[2], velocity[2] / steps]
        path.append(here.copy())
    return np.array(path)


def _felt_velocity(a, b):
    """Velocity, in the axes of the body, of the arc from `a` to `b` in one unit of time."""
    chord = turned(-a[2], [b[0] - a[0], 0.0, b[1] - a[1]])
    yaw = b[2] - a[2]
    if abs(yaw) < 1e-12:
        return np.array([chord[0], chord[2], 0.0])
    # On a circle: the chord points half the turn to the side, and is shorter than the arc.
    ahead = turned(-yaw / 2, chord) * (yaw / 2) / math.sin(yaw / 2)
    return np.array([ahead[0], ahead[2], yaw])
