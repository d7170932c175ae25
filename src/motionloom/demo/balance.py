"""Where the pelvis goes so that the body stands over its feet.

On the floor the body is a pendulum on its head: its centre of mass accelerates away from
the centre of pressure, ``a = (g / h) (x - p)``. Of all its motions only one never falls:
``p`` seen through a two-sided exponential window. It looks ahead: the weight is over the
foot before the other one lifts, and a walker leans into the first step. In flight there is
no pressure and no acceleration, which is ``p = x``; a few rounds settle that.

The height follows the score, but never so high that a planned foot gets out of reach.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter1d
from scipy.signal import fftconvolve, lfilter

from motionloom.demo.curves import GRAVITY
from motionloom.demo.feet import PlannedFoot
from motionloom.demo.performers import SIDES, Performer

Array = NDArray[np.float64]

_REACH = 0.99  # of the leg's length: what is left is the knee's bend of about 16 degrees
_FLIGHT_ROUNDS = 12  # each halves the error at least, for flights below half a second
_LOOK_AROUND = 0.09  # seconds over which a dip of the pelvis is spread to either side


def balanced_path(
    feet: dict[str, PlannedFoot], weight: Array, step: float, pelvis_height: float
) -> Array:
    """Centre of mass over the floor (x, floor height, z), shape (T, 3).

    Parameters
    ----------
    feet : planned feet, T moments
    weight : ndarray, shape (T,)
        Share of the weight on the left foot.
    step : float
        Seconds between moments.
    pelvis_height : float
        Length of the pendulum.
    """
    left = weight[:, None]
    pressure = left * feet["left"].centre + (1.0 - left) * feet["right"].centre
    flight = feet["left"].airborne & feet["right"].airborne
    decay = float(np.exp(-np.sqrt(GRAVITY / pelvis_height) * step))
    path = _two_sided_window(pressure, decay)
    if np.any(flight):
        for _ in range(_FLIGHT_ROUNDS):
            pressure[flight] = path[flight]
            path = _two_sided_window(pressure, decay)
    return path


def smooth_share(weight: Array, step: float, pelvis_height: float) -> Array:
    """How far the body is over its left (1) or right (-1) foot, shape (T,)."""
    decay = float(np.exp(-np.sqrt(GRAVITY / pelvis_height) * step))
    return _two_sided_window(2.0 * weight[:, None] - 1.0, decay)[:, 0]


def _two_sided_window(p: Array, a: float) -> Array:
    """`p` through the window a**|k|, normalised; the ends count as going on for ever."""
    ahead = lfilter([1 - a], [1, -a], p, axis=0, zi=a * p[:1])[0]
    back = lfilter([1 - a], [1, -a], p[::-1], axis=0, zi=a * p[-1:])[0][::-1]
    return (ahead + back - (1 - a) * p) / (1 + a)


def within_reach(
    height: Array,
    hips: dict[str, Array],
    feet: dict[str, PlannedFoot],
    tied: dict[str, NDArray[np.bool_]],
    performer: Performer,
    step: float,
) -> Array:
    """`height` (T,) of the pelvis, lowered smoothly where a foot would be out of reach.

    Parameters
    ----------
    height : ndarray, shape (T,)
    hips : by side, shape (T, 3)
        Hip joints as they are with the pelvis at `height`.
    feet : planned feet
    tied : by side, bool, shape (T,)
        Where the foot has to be met.
    performer : Performer
    step : float
        Seconds between moments.
    """
    too_high = np.zeros(len(height))
    longest = _REACH * performer.leg
    for side in SIDES:
        apart = hips[side] - feet[side].ankle
        level = np.hypot(apart[:, 0], apart[:, 2])
        allowed = np.sqrt(np.maximum(longest**2 - level**2, 0.01))
        over = np.where(tied[side], apart[:, 1] - allowed, 0.0)
        too_high = np.maximum(too_high, over)
    if not np.any(too_high > 0.0):
        return height
    half = max(int(round(_LOOK_AROUND / step)), 2)
    # Widened by the window's half width first, the smoothed dip is nowhere too shallow.
    widened = maximum_filter1d(too_high, 2 * half + 1, mode="nearest")
    window = np.hanning(2 * half + 3)[1:-1]
    padded = np.pad(widened, half, mode="edge")
    return height - fftconvolve(padded, window / window.sum(), mode="valid")
