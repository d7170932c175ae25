"""Refinement of blend weights: Gauss-Newton steps from interpolated weights to a target.

Interpolated weights come near the target but do not reach it, as blends are not linear. Steps are
taken on the weights of the few examples that matter. They keep the sum of the weights, and weights
that would leave their bounds are held there (an active set), so that every iterate is valid and a
target out of reach is approached as far as possible. Derivatives are measured once, by finite
differences, and then updated by Broyden's rank-one formula.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.parametric.parameter_space import Measure

Array = NDArray[np.float64]

TOLERANCE = 0.01  # metres, or the unit of the parameters
STEPS = 8
_NUDGE = 0.02
_SHRINK = 0.5
_STALLED = 0.02  # stop after a step that reduces the error by less than this share
_STIFF = 1e-6


@dataclass(frozen=True, eq=False)
class RefinedWeights:
    """Weights (N,), the parameters (d,) they reach, and their distance to the target."""

    weights: Array
    reached: Array
    error: float


def refined_weights(
    start: ArrayLike,
    target: ArrayLike,
    measure: Measure,
    *,
    delta: float,
    tolerance: float = TOLERANCE,
    steps: int = STEPS,
    most: int | None = None,
) -> RefinedWeights:
    """Valid weights that reach a target, from weights that nearly do.

    Parameters
    ----------
    start : array_like, shape (N,)
        Valid weights.
    target : array_like, shape (d,)
    measure : callable
        Parameters (d,) of the blend with weights (N,).
    delta : float
        Weights stay in ``[-delta, 1 + delta]``.
    tolerance : float
        Stop within this distance of the target.
    steps : int
        At most this many measurements after those of the derivatives.
    most : int, optional
        Number of examples whose weights change: those with the largest. Default 2 d + 2.

    Examples
    --------
    >>> def bent(weights):
    ...     return np.array([weights[1] + 0.3 * weights[1] * weights[0]])
    >>> found = refined_weights([0.5, 0.5], [0.8], bent, delta=0.1, tolerance=1e-4)
    >>> found.error < 1e-4
    True
    """
    target = np.asarray(target, np.float64)
    best = _measured(np.asarray(start, np.float64), target, measure)
    if best.error <= tolerance or steps < 1:
        return best
    chosen = _chosen(best.weights, 2 * len(target) + 2 if most is None else most)
    if len(chosen) < 2:
        return best
    slopes = _slopes(best, chosen, measure, delta)
    at, reach = best, 1.0
    for _ in range(steps):
        step = _step(slopes, target - at.reached, at.weights[chosen], delta)
        if np.abs(step).max(initial=0.0) < 1e-9:
            break
        weights = at.weights.copy()
        weights[chosen] += reach * step
        then = _measured(weights, target, measure)
        _update(slopes, reach * step, then.reached - at.reached)
        if then.error < at.error:
            stalled = at.error - then.error < _STALLED * at.error
            at, best, reach = then, then, min(1.0, reach / _SHRINK)
            if then.error <= tolerance or stalled:
                break
        else:
            reach *= _SHRINK
    return best


def _measured(weights: Array, target: Array, measure: Measure) -> RefinedWeights:
    reached = measure(weights)
    return RefinedWeights(weights, reached, float(np.linalg.norm(reached - target)))


def _chosen(weights: Array, most: int) -> NDArray[np.intp]:
    largest = np.argsort(-np.abs(weights), kind="stable")[:most]
    return np.sort(largest[np.abs(weights[largest]) > 1e-9])


def _slopes(at: RefinedWeights, chosen: NDArray[np.intp], measure: Measure, delta: float) -> Array:
    """Derivatives (d, m) of the parameters by each chosen weight.

    A change of one weight is compensated by all chosen weights equally, so columns are known up to
    one common term, which steps that keep the sum do not see.
    """
    count = len(chosen)
    slopes = np.empty((len(at.reached), count))
    for k in range(count):
        step = np.full(count, -_NUDGE / count)
        step[k] += _NUDGE
        if at.weights[chosen[k]] + step[k] > 1.0 + delta:
            step = -step
        weights = at.weights.copy()
        weights[chosen] += step
        slopes[:, k] = (measure(weights) - at.reached) / (_NUDGE if step[k] > 0.0 else -_NUDGE)
    return slopes


def _step(slopes: Array, gap: Array, weights: Array, delta: float) -> Array:
    """The least step that closes the gap, keeps the sum, and stays within the bounds."""
    low, high = -delta - weights, 1.0 + delta - weights
    step = np.zeros(len(weights))
    free = np.ones(len(weights), bool)
    for _ in range(len(weights)):
        fixed = step[~free]
        rest = gap - slopes[:, ~free] @ fixed
        trial = _least(slopes[:, free], rest, -fixed.sum())
        outside = (trial < low[free] - 1e-12) | (trial > high[free] + 1e-12)
        if not outside.any():
            step[free] = trial
            return step
        held = np.flatnonzero(free)[outside]
        step[held] = np.clip(trial[outside], low[held], high[held])
        free[held] = False
        if free.sum() < 2:
            break
    # Hardly any weight is free: go along the step as far as the bounds allow.
    whole = _least(slopes, gap, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(whole > 0.0, high / whole, np.where(whole < 0.0, low / whole, np.inf))
    return float(np.clip(room.min(initial=1.0), 0.0, 1.0)) * whole


def _least(slopes: Array, gap: Array, total: float) -> Array:
    """The smallest x with ``slopes @ x = gap``, in the least-squares sense, and sum `total`."""
    count = slopes.shape[1]
    mean = np.full(count, total / count)
    level = slopes - slopes.mean(axis=1, keepdims=True)
    normal = level @ level.T
    normal += _STIFF * (np.trace(normal) / len(normal) + 1e-12) * np.eye(len(normal))
    return mean + level.T @ np.linalg.solve(normal, gap - slopes @ mean)


def _update(slopes: Array, step: Array, change: Array) -> None:
    """Broyden's update: the least change of the derivatives that explains the last step."""
    size = float(step @ step)
    if size > 1e-16:
        slopes += np.outer(change - slopes @ step, step) / size
