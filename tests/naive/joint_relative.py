"""Joint relative distance and its weights, straight from Tang et al. (2008)."""

import math


def other(role):
    side, _, part = role.partition("_")
    return {"left": f"right_{part}", "right": f"left_{part}"}.get(side, role)


def relative_difference(p, q, i, j):
    """Equation 4.2; poses are dicts from role to place."""
    return abs(math.dist(p[i], p[j]) - math.dist(q[i], q[j]))


def feature(p, q, i, j):
    """Equation 4.3."""
    if {i, j} == {other(i), other(j)}:
        return relative_difference(p, q, i, j)
    mirror = relative_difference(p, q, other(i), other(j))
    return (relative_difference(p, q, i, j) + mirror) / 2


def distance(p, q, weights):
    """Equation 4.4; pairs with joints that a pose lacks are skipped."""
    total = 0.0
    for (i, j), weight in weights.items():
        if all(role in pose for role in (i, j, other(i), other(j)) for pose in (p, q)):
            total += weight * feature(p, q, i, j)
    return total


def learned(features, similar):
    """Section 4.3: W = Y A+, A+ = At (A At)^-1, a column of A for each tagged pair of poses.

    With more tagged pairs than features A At is invertible. The weights are absolute values.
    """
    import numpy as np

    a = np.array(features).T
    y = np.array([1.0 if tag else -1.0 for tag in similar])
    return [abs(w) for w in y @ a.T @ np.linalg.inv(a @ a.T)]
