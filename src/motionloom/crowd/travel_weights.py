"""Which blend of a node's movements travels as somebody wishes: weights for all at once.

Least squares over blends whose weights are not negative (Lawson & Hanson 1974, by products of
columns as Bro & De Jong 1997). Far movements cost: a long step ahead and one back make a short
step of sorts, but with the low body and the straight legs of long ones, and feet in the floor.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from motionloom.rhythm.dance_nodes import DanceNode

Array = NDArray[np.float64]

_TRIFLE = 0.02  # weights below are left out
_FAR = 0.1  # what the squared distance of a movement, by its weight, costs beside a squared miss
_WHOLE = 10.0  # how much it counts, beside a metre, that weights sum up to 1
_ENOUGH = 1e-10  # of the sum's weight: a gain below is rounding


def travel_weights(node: DanceNode, travel: ArrayLike) -> Array:
    """Weights (A, n), none negative, few not zero, of blends that travel nearly so.

    The least of the squared miss and of `_FAR` times the mean squared distance of the movements.

    Parameters
    ----------
    node : DanceNode
        Of n movements.
    travel : array_like, shape (A, 3)
        What each would do, ``x, z, turn`` as seen from its start.

    Examples
    --------
    >>> from motionloom.crowd.defaults import march_steps
    >>> node = march_steps().dance_nodes[0]
    >>> wish = node.travel[:2].mean(axis=0)
    >>> travel_weights(node, [wish])[0].round(1)[:3]
    array([0.5, 0.5, 0. ])
    """
    wishes = np.ascontiguousarray(np.atleast_2d(np.asarray(travel, np.float64)))
    weights = np.zeros((len(wishes), len(node)))
    _weigh(np.ascontiguousarray(node.travel, np.float64), wishes, weights)
    return weights


@njit(cache=True, nogil=True)
def _weigh(travel, wishes, weights):
    """Kernel of `travel_weights`: movements (n, 3), wishes (A, 3), fills weights (A, n)."""
    count = len(travel)
    products, away, pull = np.empty((count, count)), np.empty((count, 3)), np.empty(count)
    for a in range(len(wishes)):
        for i in range(count):
            for c in range(3):
                away[i, c] = travel[i, c] - wishes[a, c]
        for i in range(count):
            for j in range(count):
                dot = 0.0
                for c in range(3):
                    dot += away[i, c] * away[j, c]
                products[i, j] = dot + _WHOLE**2
                if i == j:
                    pull[i] = _WHOLE**2 - 0.5 * _FAR * dot
        _solve(products, pull, weights[a])
        whole = weights[a].sum()
        for i in range(count):
            if weights[a, i] < _TRIFLE * whole:
                weights[a, i] = 0.0
        weights[a] /= weights[a].sum()


@njit(cache=True, nogil=True)
def _solve(products, pull, x):
    """Least of ``x @ products @ x / 2 - pull @ x`` where no x is negative."""
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
            # As far towards it as no weight gets negative; what is at zero stays there.
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


@njit(cache=True, nogil=True)
def _positive(matrix, values, rows):
    """Solution s of ``matrix[rows, rows] @ s = values[rows]``, by Cholesky's factor."""
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
