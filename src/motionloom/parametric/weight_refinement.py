"""Refinement of interpolated blend weights so that they reach a target.

Interpolated weights come near the target but do not reach it, because blends are not linear. Each
step changes the shares of the samples around the target, never a single blend weight. Shares stay
non-negative and sum to 1, so refined weights, like interpolated ones, lie in the convex hull of the
sample weights. The properties of every sample (valid weights, at most d + 1 of them negative)
therefore also bound every refined blend, and a target out of reach is approached as far as the
samples around it allow.

The parameters of the samples are known and give the first estimate of the derivatives, so no extra
blends are needed to measure them. Broyden's rank-one formula corrects the derivatives after every
step. Each step is a non-negative least-squares problem.

`needed_examples` drops redundant examples of a parametric motion by one of three rules. According
to Kovar & Gleicher (2004, section 4.4), an example is redundant if "interpolating nearby examples"
reproduces its parameters. *interpolated* uses the weights of their equations 2 and 3; *nearest*
uses any weights of the d + 1 nearest examples, which their section 4.2 calls nearby, and comes
closer to the figures of the paper. *refined* is our rule: an example is redundant if any blend of
the examples around it reaches its parameters. This rule drops more examples, and all parameters
stay within reach. However, interpolation at the parameters of a dropped example no longer returns
this example.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.parametric.parameter_space import NEIGHBORS, Measure, Neighborhood, shares_of

Array = NDArray[np.float64]

TOLERANCE = 0.01  # meters, or the unit of the parameters
STEPS = 8
_THOROUGH = 20  # steps that decide whether the d + 1 nearest examples reproduce another one
# Number of samples around the target whose shares change. On the built-in reaches and kicks, the
# 95th percentile of the error is 1.0 cm with 12 samples and 0.9 cm with 48; the largest errors are
# 2.5 cm and 1.8 cm.
SAMPLES = 48
_SHRINK = 0.5
_STALLED = 0.02  # stop after a step that reduces the error by less than this share
_STIFF = 0.1  # penalty on large steps; 0.01 to 0.3 reach the target equally well
_SUM = 1e3  # weight of the constraint that the shares sum to 1


@dataclass(frozen=True, eq=False)
class RefinedWeights:
    """Weights (N,), the parameters (d,) they reach, and their distance to the target."""

    weights: Array
    reached: Array
    error: float


@dataclass(frozen=True, eq=False)
class _Reached:
    shares: Array
    reached: Array
    error: float


def refined_weights(
    around: Neighborhood,
    target: ArrayLike,
    measure: Measure,
    *,
    tolerance: float = TOLERANCE,
    steps: int = STEPS,
) -> RefinedWeights:
    """Find weights that reach a target within the convex hull of the nearby samples' weights.

    Parameters
    ----------
    around : Neighborhood
        Samples around the target and their interpolated shares, from `ParameterSpace.around`.
    target : array_like, shape (d,)
    measure : callable
        Function that maps weights (N,) to the parameters (d,) of the blend.
    tolerance : float
        Distance from the target at which the refinement stops.
    steps : int
        Maximum number of blends, starting from the interpolated weights. If they do not reach the
        target, the same number is allowed starting from the nearest sample, because the map may
        fold between samples.

    Examples
    --------
    >>> from motionloom.parametric.parameter_space import sampled_space
    >>> def bent(weights):
    ...     return np.array([weights[1] + 0.3 * weights[1] * weights[0]])
    >>> space = sampled_space([[0.0], [1.0]], bent, samples=5, seed=1)
    >>> refined = refined_weights(space.around([0.8]), [0.8], bent, tolerance=1e-4)
    >>> refined.error < 1e-4
    True
    """
    wanted = np.asarray(target, np.float64)
    best = _descended(around, around.shares, wanted, measure, tolerance, steps)
    if best.error > tolerance and steps:
        nearest = np.eye(1, len(around.shares))[0]
        again = _descended(around, nearest, wanted, measure, tolerance, steps)
        best = again if again.error < best.error else best
    return RefinedWeights(best.shares @ around.weights, best.reached, best.error)


def _descended(
    around: Neighborhood,
    start: Array,
    target: Array,
    measure: Measure,
    tolerance: float,
    steps: int,
) -> _Reached:
    def reached(shares: Array) -> _Reached:
        parameters = measure(shares @ around.weights)
        return _Reached(shares, parameters, float(np.linalg.norm(parameters - target)))

    at, reach = reached(start), 1.0
    slopes = around.parameters.T.copy()  # (d, K): derivatives with respect to the shares
    for _ in range(steps):
        if at.error <= tolerance:
            break
        step = _step(slopes, target - at.reached, at.shares)
        if np.abs(step).max(initial=0.0) < 1e-9:
            break
        then = reached(at.shares + reach * step)
        _update(slopes, reach * step, then.reached - at.reached)
        if then.error < at.error:
            stalled = at.error - then.error < _STALLED * at.error
            at, reach = then, min(1.0, reach / _SHRINK)
            if stalled:
                break
        else:
            reach *= _SHRINK
    return at


def _step(slopes: Array, gap: Array, shares: Array) -> Array:
    """Return the step that best reduces the error; shares stay non-negative and sum to 1."""
    from scipy.optimize import nnls

    level = slopes - slopes.mean(axis=1, keepdims=True)  # irrelevant if the sum is kept
    size = float(np.sqrt(np.mean(level**2)))
    if size < 1e-12:
        return np.zeros(len(shares))
    rows = np.vstack([level / size, _STIFF * np.eye(len(shares)), np.full(len(shares), _SUM)])
    wanted = np.concatenate([(gap + level @ shares) / size, _STIFF * shares, [_SUM]])
    solution = np.asarray(nnls(rows, wanted)[0], np.float64)
    return solution / solution.sum() - shares


def _update(slopes: Array, step: Array, change: Array) -> None:
    """Apply Broyden's update, the smallest change of the slopes that explains the last step."""
    size = float(step @ step)
    if size > 1e-16:
        slopes += np.outer(change - slopes @ step, step) / size


def needed_examples(
    values: Array,
    measure: Measure,
    tolerance: float,
    *,
    rule: Literal["interpolated", "nearest", "refined"] = "interpolated",
) -> list[int]:
    """Return the sorted indices of examples that are not redundant; the query (0) is always kept.

    Parameters
    ----------
    values : ndarray, shape (N, d)
        Parameters of the examples.
    measure : callable
        Function that maps weights (N,) to the parameters (d,) of the blend.
    tolerance : float
        Maximum distance at which parameters count as reproduced.
    rule : {"interpolated", "nearest", "refined"}
        *refined* first tests the examples that are closest to others; the other rules test the
        examples in order. See the module for all rules.

    Examples
    --------
    An example halfway between two others is redundant, because blends are linear here:

    >>> heights = np.array([[0.0], [0.5], [1.0], [3.0]])
    >>> needed_examples(heights, lambda weights: weights @ heights, 0.01)
    [0, 2, 3]
    """
    count, size = values.shape
    gaps = np.linalg.norm(values[:, None] - values[None], axis=-1)
    refine = rule == "refined"
    order: Sequence[int] = range(count)
    if refine:
        nearest = np.sort(gaps, axis=1)[:, 1 : size + 2].mean(axis=1)
        order = [int(n) for n in np.argsort(nearest, kind="stable")]
    kept = set(range(count))
    for n in order:
        rest = np.array(sorted(kept - {n}))
        if n == 0 or len(rest) < 2:
            continue
        few = size + 1 if rule == "nearest" else NEIGHBORS
        near = rest[np.argsort(gaps[n, rest], kind="stable")[:few]]
        # Equation 3 gives the farthest neighbor no share, so few neighbors start with equal ones.
        even = np.full(len(near), 1.0 / len(near))
        shares = even if rule == "nearest" else shares_of(gaps[n, near])
        around = Neighborhood(shares, np.eye(count)[near], values[near])
        steps = {"steps": {"interpolated": 0, "nearest": _THOROUGH, "refined": STEPS}[rule]}
        refined = refined_weights(around, values[n], measure, tolerance=tolerance, **steps)
        if refined.error <= tolerance:
            kept.discard(n)
    return sorted(kept)
