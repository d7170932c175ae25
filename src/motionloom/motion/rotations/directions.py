"""Directions: vectors of unit length, and the parts of vectors perpendicular to a direction."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_SHORTEST = 1e-12  # shorter vectors have no direction and stay short


def unit(vectors: Array) -> Array:
    """Scale vectors (..., 3) to unit length; a zero vector remains zero.

    Examples
    --------
    >>> unit(np.array([[3.0, 0.0, 4.0], [0.0, 0.0, 0.0]]))
    array([[0.6, 0. , 0.8],
           [0. , 0. , 0. ]])
    """
    length = np.sqrt((vectors * vectors).sum(axis=-1, keepdims=True))
    return vectors / np.maximum(length, _SHORTEST)


def perpendicular(vectors: Array, direction: Array) -> Array:
    """Return the parts of vectors (..., 3) that are perpendicular to directions (..., 3).

    Examples
    --------
    >>> perpendicular(np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.0, 5.0]))
    array([1., 2., 0.])
    """
    axis = unit(direction)
    return vectors - (vectors * axis).sum(axis=-1, keepdims=True) * axis
