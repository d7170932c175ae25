"""Blend weights by travel: which blend of the movements of a node goes where it should.

Non-negative least squares (Lawson and Hanson 1974, with the normal equations of Bro and De Jong
1997). Distant movements are penalized: a blend of a long step ahead and a long step back is a short
step, but with low hips and straight legs. Dances and crowds use the same weights.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput
from motionloom.kernels import kernel

Array = NDArray[np.float64]

_TRIFLE = 0.02  # smaller weights are set to zero
FAR_COST = 0.1  # cost of the weighted mean squared distance relative to the squared error
_WHOLE = 10.0  # metres: scale of the constraint that weights sum to 1
_ENOUGH = 1e-10  # relative gain below which a change is rounding


def travel_weights(travels: ArrayLike, wanted: ArrayLike) -> Array:
    """Sparse non-negative blend weights (A, n) with travels near the wanted ones.

    Minimizes the squared error plus `FAR_COST` times the weighted mean squared distance.

    Parameters
    ----------
    travels : array_like, shape (n, D)
        Travel of each movement from its start to its end: ``x, z``, or ``x, z, turn``.
    wanted : array_like, shape (A, D)

    Examples
    --------
    >>> travel_weights([[0.0, 1.0], [0.0, 2.0], [1.0, 1.0]], [[0.0, 1.5]]).round(2)
    array([[0.5, 0.5, 0. ]])
    """
    there = np.ascontiguousarray(np.atleast_2d(np.asarray(travels, np.float64)))
    targets = np.ascontiguousarray(np.atleast_2d(np.asarray(wanted, np.float64)))
    if there.shape[1] != targets.shape[1] or not len(there):
        raise InvalidInput(
            "travels and wanted must have the same columns, and travels at least one row; got "
            f"shapes {there.shape} and {targets.shape}"
        )
    weights = np.zeros((len(targets), len(there)))
    _weigh(there, targets, weights)
    return weights


@kernel
def _weigh(travel, targets, weights):
    """Kernel of `travel_weights`: movements (n, D), targets (A, D), fills weights (A, n)."""
    count, columns = travel.shape
    products, away, pull = np.empty((count, count)), np.empty((count, columns)), np.empty(count)
    for a in range(len(targets)):
        for i in range(count):
            for c in range(columns):
                away[i, c] = travel[i, c] - targets[a, c]
        for i in range(count):
            for j in range(count):
                dot = 0.0
                for c in range(columns):
                    dot += away[i, c] * away[j, c]
                products[i, j] = dot + _WHOLE**2
                if i == j:
                    pull[i] = _WHOLE**2 - 0.5 * FAR_COST * dot
        _solve(products, pull, weights[a])
        whole = weights[a].sum()
        for i in range(count):
            if weights[a, i] < _TRIFLE * whole:
                weights[a, i] = 0.0
        weights[a] /= weights[a].sum()


@kernel
def _solve(products, pull, x):
    """Minimum of ``x @ products @ x / 2 - pull @ x`` over x >= 0."""
    count = len(x)
    free = np.zeros(count, np.bool_)
    x[:] = 0.0
    gain = pull.copy()
    for _ in range(3 * count):
        best, most = -1, _ENOUGH * _WHOLE**2
        for i in range(count):
            if not free[i] and gain[i] > most:
                best, most = i, gain[i]
        if best < 0:
            return
        free[best] = True
        while True:
            rows = np.flatnonzero(free)
            s = _positive(products, pull, rows)
            if s.min() > 0.0:
                x[:] = 0.0
                for i in range(len(rows)):
                    x[rows[i]] = s[i]
                break
            # Step until the first weight becomes zero; that weight leaves the free set.
            step = 1.0
            for i in range(len(rows)):
                if s[i] <= 0.0:
                    step = min(step, x[rows[i]] / (x[rows[i]] - s[i]))
            for i in range(len(rows)):
                x[rows[i]] += step * (s[i] - x[rows[i]])
                if x[rows[i]] <= 1e-14 and s[i] <= 0.0:
                    x[rows[i]] = 0.0
                    free[rows[i]] = False
        for i in range(count):
            gain[i] = pull[i]
            for j in range(count):
                gain[i] -= products[i, j] * x[j]


@kernel
def _positive(matrix, values, rows):
    """Solution s of ``matrix[rows, rows] @ s = values[rows]``, by Cholesky factorization."""
    size = len(rows)
    low, s = np.zeros((size, size)), np.empty(size)
    for i in range(size):
        for j in range(i + 1):
            left = matrix[rows[i], rows[j]]
            for k in range(j):
                left -= low[i, k] * low[j, k]
            low[i, j] = np.sqrt(max(left, 1e-18)) if i == j else left / low[j, j]
    for i in range(size):
        s[i] = values[rows[i]]
        for k in range(i):
            s[i] -= low[i, k] * s[k]
        s[i] /= low[i, i]
    for i in range(size - 1, -1, -1):
        for k in range(i + 1, size):
            s[i] -= low[k, i] * s[k]
        s[i] /= low[i, i]
    return s
