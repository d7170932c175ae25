"""Base poses by all distances: Krüger et al. (2010), section 5.3, without an index."""

import math


def neighbor_counts(rows, radius, k=math.inf):
    """Step 1: how many frames lie within the radius of each, at most k."""
    return [min(sum(math.dist(row, other) <= radius for other in rows), k) for row in rows]


def base_pose_rows(rows, radius, most, k=math.inf):
    """Step 2: the pose with the most neighbors; then, among the frames that are not neighbors of a
    base pose, again the one with the most."""
    counts = neighbor_counts(rows, radius, k)
    free, chosen = list(range(len(rows))), []
    while free and len(chosen) < most:
        best = max(free, key=lambda n: counts[n])  # of equals the first
        chosen.append(best)
        free = [n for n in free if math.dist(rows[n], rows[best]) > radius]
    return chosen
