"""Functions of time series: filters, derivatives, smooth steps, corrections, damped springs.

The filters give the same results as SciPy's filters without the cost of importing SciPy.
Corrections to a motion are known in some frames (where a foot is planted or a hand touches
something) and must fade out in the surrounding frames. The curve of least bending passes through
the known values with matching slopes, which keeps the edited motion smooth.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.kernels import kernel

Array = NDArray[np.float64]
_FIXED = 1e7  # weight of a known row against the bending of the curve


def gaussian_smooth(values: ArrayLike, width: float) -> NDArray:
    """Smooth values (T, ...) along the first axis, repeating the end values beyond the ends.

    Parameters
    ----------
    values : array_like, shape (T, ...)
        Real or complex values.
    width : float
        Standard deviation of the Gaussian in samples; it is truncated at four standard deviations.

    Returns
    -------
    smoothed : ndarray, shape (T, ...)
        Equal to ``scipy.ndimage.gaussian_filter1d(values, width, axis=0, mode="nearest")``, whose
        import takes longer than smoothing a take.

    Examples
    --------
    >>> gaussian_smooth([0.0, 0.0, 1.0, 0.0, 0.0], 0.5).round(3)
    array([0.   , 0.106, 0.787, 0.106, 0.   ])
    """
    x = np.asarray(values)
    radius = int(4.0 * float(width) + 0.5)
    if radius == 0 or len(x) == 0:
        return x.copy()
    steps = np.arange(-radius, radius + 1)
    weights = np.exp(-0.5 / (width * width) * steps**2)
    weights /= weights.sum()
    wide = np.concatenate([np.repeat(x[:1], radius, 0), x, np.repeat(x[-1:], radius, 0)])
    wide = wide.astype(np.result_type(x, np.float64), copy=False)
    smoothed = wide[radius : radius + len(x)] * weights[radius]
    for step in range(radius):  # the outermost pair first, in the same order as SciPy
        mirrored = 2 * radius - step
        smoothed += (wide[step : step + len(x)] + wide[mirrored : mirrored + len(x)]) * weights[
            step
        ]
    return smoothed.astype(x.dtype, copy=False)


def running_maximum(
    values: ArrayLike, size: int, *, beyond: float | None = None
) -> NDArray[np.float64]:
    """Return the maximum of the `size` values around each value (T,); `size` must be odd.

    Beyond the ends, values are `beyond`, or the first and last value if `beyond` is None.

    Examples
    --------
    >>> running_maximum([0.0, 2.0, 0.0, 0.0, 1.0], 3).tolist()
    [2.0, 2.0, 2.0, 1.0, 1.0]
    """
    reach, given = size // 2, np.asarray(values, np.float64)
    if beyond is None:
        padded = np.pad(given, reach, mode="edge")
    else:
        padded = np.pad(given, reach, constant_values=beyond)
    return np.lib.stride_tricks.sliding_window_view(padded, size).max(axis=-1)


def second_derivative(values: NDArray, window: int, step: float) -> NDArray[np.float64]:
    """Second derivative (T, ...) of cubics fitted to windows of samples (Savitzky-Golay).

    Parameters
    ----------
    values : ndarray, shape (T, ...)
    window : int
        Number of samples in each fit; it must be odd.
    step : float
        Time between samples.

    Returns
    -------
    curve : ndarray, shape (T, ...)
        Second derivative; NaN where the window extends beyond an end.

    Examples
    --------
    >>> second_derivative(np.arange(7.0) ** 2, 5, 1.0).round(6)
    array([nan, nan,  2.,  2.,  2., nan, nan])
    """
    half = window // 2
    steps = np.arange(-half, half + 1.0)
    weights = 2.0 * np.linalg.pinv(np.vander(steps, 4, increasing=True))[2] / step**2
    inner = len(values) - 2 * half
    curve = np.full(values.shape, np.nan)
    curve[half : half + inner] = sum(
        weight * values[k : k + inner] for k, weight in enumerate(weights)
    )
    return curve


def smooth_step(share: Array) -> Array:
    """Smooth step from 0 to 1 (...,), with zero slope at both ends.

    Examples
    --------
    >>> smooth_step(np.array([0.0, 0.25, 0.5, 1.0]))
    array([0.     , 0.15625, 0.5    , 1.     ])
    """
    return share * share * (3.0 - 2.0 * share)


def ease_corrections(corrections: Array, reach: float) -> Array:
    """Return the curve of least bending through the known rows, which is zero far from them.

    Parameters
    ----------
    corrections : ndarray, shape (T, D)
        Known corrections, with NaN in unknown rows.
    reach : float
        Distance in frames from the nearest known row beyond which the curve is zero.

    Returns
    -------
    curve : ndarray, shape (T, D)
        The curve that minimizes the sum of squared second differences.

    Examples
    --------
    >>> known = np.array([[np.nan]] * 4 + [[1.0]] * 3 + [[np.nan]] * 4)
    >>> ease_corrections(known, 3).round(2).ravel() + 0.0
    array([0. , 0. , 0.3, 0.7, 1. , 1. , 1. , 0.7, 0.3, 0. , 0. ])
    """
    from scipy.linalg import solveh_banded

    frames = len(corrections)
    given = np.all(np.isfinite(corrections), axis=1)
    if not given.any():
        return np.zeros_like(corrections)
    where = np.flatnonzero(given)
    times = np.arange(frames)
    after = where[np.clip(np.searchsorted(where, times), 0, len(where) - 1)]
    before = where[np.clip(np.searchsorted(where, times, side="right") - 1, 0, len(where) - 1)]
    distance = np.minimum(np.abs(times - after), np.abs(times - before))
    fixed = given | (distance >= reach)
    values = np.where(given[:, None], np.nan_to_num(corrections), 0.0)
    if frames < 3 or fixed.all():
        return values
    # Squared second differences give a matrix with five diagonals; known rows have a high weight.
    band = np.zeros((3, frames))
    for k, c in enumerate((1.0, -2.0, 1.0)):
        for j, d in enumerate((1.0, -2.0, 1.0)):
            if j >= k:
                band[2 - (j - k), j : j + frames - 2] += c * d
    band[2] += np.where(fixed, _FIXED, 1e-9)
    # Zero slope at both ends of the motion keeps the curve from running away after the last
    # contact.
    for a in (0, frames - 2):
        band[2, a : a + 2] += 1.0
        band[1, a + 1] -= 1.0
    curve = solveh_banded(band, _FIXED * np.where(fixed[:, None], values, 0.0))
    return np.where(fixed[:, None], values, curve)


@kernel
def critically_damped_spring(away, speed, rate, time):
    """Return the offset and velocity of a critically damped spring after `time`.

    Parameters
    ----------
    away, speed : float or ndarray
        Offset from the rest position, and its velocity.
    rate : float
        Decay rate per unit of time; a tenth of the offset is left after about ``4 / rate``.
    time : float

    Returns
    -------
    away, speed : float or ndarray

    Examples
    --------
    >>> away, speed = critically_damped_spring(1.0, 0.0, 10.0, 0.4)
    >>> round(away, 3), speed < 0.0
    (0.092, True)
    """
    pull = speed + rate * away
    left = np.exp(-rate * time)
    return (away + pull * time) * left, (speed - rate * pull * time) * left
