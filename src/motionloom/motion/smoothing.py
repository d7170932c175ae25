"""Filters and slopes of curves along time, without the import of SciPy's."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def gaussian_smooth(values: ArrayLike, width: float) -> NDArray:
    """Values (T, ...) smoothed along the first axis; beyond the ends, the first and last go on.

    Parameters
    ----------
    values : array_like, shape (T, ...)
        Real or complex.
    width : float
        Standard deviation of the Gaussian in samples; it is cut off at four of them.

    Returns
    -------
    smoothed : ndarray, shape (T, ...)
        The same as ``scipy.ndimage.gaussian_filter1d(values, width, axis=0, mode="nearest")``,
        whose import takes longer than smoothing a take.

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
    for step in range(radius):  # the outermost pair first, in the order of SciPy
        mirrored = 2 * radius - step
        smoothed += (wide[step : step + len(x)] + wide[mirrored : mirrored + len(x)]) * weights[
            step
        ]
    return smoothed.astype(x.dtype, copy=False)


def running_maximum(
    values: ArrayLike, size: int, *, beyond: float | None = None
) -> NDArray[np.float64]:
    """Largest of the `size` values around each, an odd number; values have shape (T,).

    Beyond the ends the first and last go on, or all are `beyond`.

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
        Odd number of samples of each fit.
    step : float
        Time between samples.

    Returns
    -------
    curve : ndarray, shape (T, ...)
        NaN where the window reaches beyond an end.

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
