"""The map from parameters to blend weights by cardinal basis functions.

One function per example that is 1 at its own parameters and 0 at those of all others, a linear
part fitted by least squares plus radial parts (Rose, Cohen & Bodenheimer 1998; Sloan, Rose & Cohen
2001; used on-line by Park, Shin & Shin 2002). It is smooth and needs no samples. But weights are
not bounded, a target between examples is met only as far as blends are linear, and every example
takes part in every blend; so sampling (`motionloom.parametric.parameter_space`) is the default.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput
from motionloom.parametric.parameter_space import checked_target

Array = NDArray[np.float64]

_SUPPORT = 2.0  # radii of the radial parts, in distances to the nearest other example


@dataclass(frozen=True, eq=False)
class CardinalBasis:
    """Weights of N examples as functions of d parameters.

    Attributes
    ----------
    examples : ndarray, shape (N, d)
    linear : ndarray, shape (d + 1, N)
        Coefficients of 1 and the parameters.
    radial : ndarray, shape (N, N)
        Coefficients of the radial functions about each example.
    radii : ndarray, shape (N,)
    """

    examples: Array
    linear: Array
    radial: Array
    radii: Array

    @classmethod
    def of(cls, examples: ArrayLike) -> CardinalBasis:
        """The basis of examples with parameters (N, d).

        Raises
        ------
        InvalidInput
            If two examples have the same parameters.

        Examples
        --------
        >>> basis = CardinalBasis.of([[0.0], [1.0], [3.0]])
        >>> basis.weights_for([1.0]).round(9) + 0.0
        array([0., 1., 0.])
        >>> float(basis.weights_for([9.0]).max()) > 1.5
        True
        """
        places = np.atleast_2d(np.asarray(examples, np.float64))
        count = len(places)
        gaps = np.linalg.norm(places[:, None] - places[None], axis=-1)
        if count > 1:
            nearest = (gaps + np.where(np.eye(count, dtype=bool), np.inf, 0.0)).min(axis=1)
            if nearest.min() < 1e-9:
                n = int(nearest.argmin())
                raise InvalidInput(
                    f"examples must differ in their parameters; {n} has the same as another: "
                    f"{places[n].tolist()}. Leave one out"
                )
            radii = _SUPPORT * nearest
        else:
            radii = np.ones(1)
        flat = np.column_stack([np.ones(count), places])
        linear = np.asarray(np.linalg.lstsq(flat, np.eye(count), rcond=None)[0], np.float64)
        rest = np.eye(count) - flat @ linear
        radial = np.asarray(np.linalg.lstsq(_bumps(gaps / radii), rest, rcond=None)[0], np.float64)
        return cls(places, linear, radial, radii)

    def weights_for(self, target: ArrayLike) -> Array:
        """Weights (N,) for parameters (d,); they sum to 1 and are not bounded."""
        wanted = checked_target(target, self.examples.shape[1])
        gaps = np.linalg.norm(self.examples - wanted, axis=1) / self.radii
        weights = np.concatenate([[1.0], wanted]) @ self.linear + _bumps(gaps) @ self.radial
        return weights / weights.sum() if abs(weights.sum()) > 1e-9 else weights


def _bumps(gaps: Array) -> Array:
    """The cubic B-spline of distances in radii: 1 at the centre, 0 from one radius on."""
    x = 2.0 * np.abs(gaps)
    near = 1.0 - 1.5 * x**2 + 0.75 * x**3
    far = 0.25 * np.maximum(2.0 - x, 0.0) ** 3
    return np.where(x < 1.0, near, far)
