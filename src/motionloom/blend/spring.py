"""A critically damped spring: the quickest way to rest without swinging over.

What players give back, run after or let fade moves like this: feet after a contact, blend
weights after a new wish, what a pose lacks after a seam.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def sprung(away, speed, rate, time):
    """Distance from rest and speed after some time.

    Parameters
    ----------
    away, speed : float or ndarray
        Distance from where it will rest, and how fast that changes.
    rate : float
        Per unit of time; a tenth is left of a distance after about ``4 / rate``.
    time : float

    Returns
    -------
    away, speed : float or ndarray

    Examples
    --------
    >>> away, speed = sprung(1.0, 0.0, 10.0, 0.4)
    >>> round(away, 3), speed < 0.0
    (0.092, True)
    """
    pull = speed + rate * away
    left = np.exp(-rate * time)
    return (away + pull * time) * left, (speed - rate * pull * time) * left
