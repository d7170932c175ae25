"""Blends with a given travel, by exhaustive search over small sets of movements."""

from itertools import combinations

import numpy as np


def best_blend(travel, target, far, most=4):
    """Non-negative weights (n,) of at most `most` movements, with a sum of 1.

    They minimize the squared miss plus `far` times the weighted squared distances.
    """
    count = len(travel)
    away = np.asarray(travel) - np.asarray(target)
    costs = far * np.sum(away**2, axis=1)
    best, least = None, np.inf
    for size in range(1, most + 1):
        for few in combinations(range(count), size):
            rows = list(few)
            # Lagrange: the gradient is the same for all that take part.
            system = np.zeros((size + 1, size + 1))
            system[:size, :size] = 2.0 * away[rows] @ away[rows].T
            system[:size, size] = system[size, :size] = 1.0
            answer = np.linalg.lstsq(system, np.append(-costs[rows], 1.0), rcond=None)[0][:size]
            if np.any(answer < -1e-9) or abs(answer.sum() - 1.0) > 1e-6:
                continue
            cost = float(np.sum((answer @ away[rows]) ** 2) + answer @ costs[rows])
            if cost < least - 1e-12:
                least, best = cost, (rows, answer)
    weights = np.zeros(count)
    weights[best[0]] = best[1]
    return weights, least
