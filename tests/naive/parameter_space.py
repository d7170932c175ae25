"""Kovar & Gleicher 2004, equations 1 to 3, and cardinal basis functions, as written."""

import numpy as np


def interpolated_weights(target, parameters, weights, k):
    """Equations 2 and 3 over samples with dense weights."""
    gaps = [
        float(np.sqrt(sum((a - b) ** 2 for a, b in zip(p, target, strict=True))))
        for p in parameters
    ]
    order = sorted(range(len(gaps)), key=lambda i: gaps[i])[:k]
    last = gaps[order[-1]]
    alphas = [1.0 / gaps[i] - 1.0 / last for i in order]
    total = sum(alphas)
    result = np.zeros(len(weights[0]))
    for alpha, i in zip(alphas, order, strict=True):
        result += alpha / total * np.asarray(weights[i])
    return result


def is_valid(weights, delta, slack=1e-9):
    """Equation 1."""
    inside = all(-delta - slack <= w <= 1.0 + delta + slack for w in weights)
    return inside and abs(sum(weights) - 1.0) < slack
