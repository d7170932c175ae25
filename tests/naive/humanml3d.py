"""HumanML3D's 263 features, frame by frame from the description of the data set.

Written with rotation matrices and scalar loops; the fast version uses quaternions. The conventions
are those of the data set's script ``motion_representation``.
"""

import math

import numpy as np

PARENTS = [-1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 12, 13, 14, 16, 17, 18, 19]
REST = {1: (1, 0, 0), 2: (-1, 0, 0), 3: (0, 1, 0), 4: (0, -1, 0), 5: (0, -1, 0), 6: (0, 1, 0),
        7: (0, -1, 0), 8: (0, -1, 0), 9: (0, 1, 0), 10: (0, 0, 1), 11: (0, 0, 1), 12: (0, 1, 0),
        13: (1, 0, 0), 14: (-1, 0, 0), 15: (0, 0, 1), 16: (0, -1, 0), 17: (0, -1, 0),
        18: (0, -1, 0), 19: (0, -1, 0), 20: (0, -1, 0), 21: (0, -1, 0)}  # fmt: skip


def shortest(u, v):
    """Matrix of the shortest rotation from direction u to direction v (Rodrigues)."""
    u, v = np.asarray(u, float), np.asarray(v, float)
    u, v = u / math.sqrt(u @ u), v / math.sqrt(v @ v)
    w = np.cross(u, v)
    k = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
    return np.eye(3) + k + k @ k / (1.0 + u @ v)


def placed(positions):
    """On the floor, over the origin, the first frame facing +Z."""
    p = np.array(positions, float)
    lowest = min(p[t, j, 1] for t in range(len(p)) for j in range(22))
    p[:, :, 1] -= lowest
    x, z = p[0, 0, 0], p[0, 0, 2]
    p[:, :, 0] -= x
    p[:, :, 2] -= z
    across = (p[0, 2] - p[0, 1]) + (p[0, 17] - p[0, 16])
    turn = shortest(np.cross([0, 1, 0], across), [0, 0, 1])
    return np.array([[turn @ p[t, j] for j in range(22)] for t in range(len(p))])


def facings(p):
    """Facing of each frame, smoothed by a Gaussian of 20 frames that repeats the ends."""
    raw = []
    for frame in p:
        across = (frame[1] - frame[2]) + (frame[17] - frame[16])  # the script swaps the hips
        raw.append(np.cross([0, 1, 0], across / math.sqrt(across @ across)))
    smooth = []
    for t in range(len(p)):
        total, weight = np.zeros(3), 0.0
        for k in range(-80, 81):  # four standard deviations
            w = math.exp(-0.5 * (k / 20.0) ** 2)
            total += w * raw[min(max(t + k, 0), len(p) - 1)]
            weight += w
        smooth.append(total / weight)
    return smooth


def features(p):
    """One row per pair of frames."""
    turns = [shortest(f, [0, 0, 1]) for f in facings(p)]
    rows = []
    for t in range(len(p) - 1):
        relative = turns[t + 1] @ turns[t].T
        # The script stores the arc sine of the y part of the quaternion: half of the angle.
        angle = math.atan2(relative[0, 2], relative[0, 0])
        velocity = turns[t + 1] @ (p[t + 1, 0] - p[t, 0])
        row = [0.5 * angle, velocity[0], velocity[2], p[t, 0, 1]]
        for j in range(1, 22):
            row += list(turns[t] @ (p[t, j] - p[t, 0] * [1, 0, 1]))
        world = {}
        for j in range(1, 22):
            world[j] = shortest(REST[j], p[t, j] - p[t, PARENTS[j]])
            # Chains that start at the chest also begin with the rotation of the root.
            before = turns[t] if PARENTS[j] == 0 or j in (13, 14) else world[PARENTS[j]]
            local = before.T @ world[j]
            row += list(local[:, 0]) + list(local[:, 1])
        for j in range(22):
            row += list(turns[t] @ (p[t + 1, j] - p[t, j]))
        for j in (7, 10, 8, 11):
            d = p[t + 1, j] - p[t, j]
            row.append(1.0 if d @ d < 0.002 else 0.0)
        rows.append(row)
    return np.array(rows)
