"""Redundant examples of a parametric motion: those that the others make superfluous.

Two rules. *interpolated* is that of Kovar & Gleicher (2004, section 4.4): an example is redundant
if its parameters are reproduced by interpolating nearby examples, with the weights of their
equations 2 and 3. *refined* is ours: it is redundant if any blend of the examples around it
reaches its parameters, so that less stays and nothing is lost from reach, but the example itself
is no longer what interpolation returns there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from motionloom.parametric.parameter_space import NEIGHBOURS, Measure, Neighbourhood, shares_of
from motionloom.parametric.weight_refinement import refined_weights

Array = NDArray[np.float64]


def needed_examples(
    values: Array,
    measure: Measure,
    tolerance: float,
    *,
    rule: Literal["interpolated", "refined"] = "interpolated",
) -> list[int]:
    """Examples that are not redundant, in order; the query, the first, is always one.

    Parameters
    ----------
    values : ndarray, shape (N, d)
        Parameters of the examples.
    measure : callable
        Parameters (d,) of the blend with weights (N,).
    tolerance : float
        Distance within which parameters are reproduced.
    rule : {"interpolated", "refined"}
        *interpolated* tries the examples as they come; *refined* those closest to others first.

    Examples
    --------
    Halfway between two others, an example is redundant; blends are linear here:

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
        near = rest[np.argsort(gaps[n, rest], kind="stable")[:NEIGHBOURS]]
        around = Neighbourhood(shares_of(gaps[n, near]), np.eye(count)[near], values[near])
        steps = {} if refine else {"steps": 0}
        found = refined_weights(around, values[n], measure, tolerance=tolerance, **steps)
        if found.error <= tolerance:
            kept.discard(n)
    return sorted(kept)
