"""Removal of noise, outliers and gaps from trajectories of points, over a whole take at once.

Each point moves with a velocity that changes by a random amount in every frame, and is observed
with noise. Given both variances, the most likely path `x` for the observations `y` minimizes ::

    sum of u(t) |y(t) - x(t)|^2 / r  +  sum of |x(t - 1) - 2 x(t) + x(t + 1)|^2 / q(t)

which is the result of a Kalman smoother with a constant-velocity model [1]_, computed here from one
matrix with five diagonals. Nothing has to be set:

- The noise `r` of a point comes from the quietest parts of its path, where fourth differences
  contain hardly any motion. It is one number per point, since noise comes from the camera or the
  sensor and does not depend on the action.
- The variance of the motion, `q`, varies over time, so that quiet parts are smoothed more than
  impacts. It is estimated by expectation maximization from the smoothed path and its uncertainty.
- The weights `u` are those of a Student t distribution, which gives little weight to outliers [2]_.

A fixed low-pass filter smooths each point in each frame equally, and delays or blunts impacts. A
path without noise is returned unchanged, apart from gaps and spikes.

References
----------
.. [1] H. E. Rauch, F. Tung, C. T. Striebel. Maximum likelihood estimates of linear dynamic systems.
   AIAA Journal 3(8), 1965.
.. [2] K. L. Lange, R. J. A. Little, J. M. G. Taylor. Robust statistical modeling using the t
   distribution. Journal of the American Statistical Association 84(408), 1989.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput
from motionloom.motion.smoothing import gaussian_smooth, running_maximum

Array = NDArray[np.float64]

# Meters. Optical captures have as much noise: in 60 takes of two data sets, the lower quartile over
# the points is at most 1.1 mm. A take with less than QUIET is not smoothed, except for single
# points with far more.
QUIET = 0.0015
_LOUD = 3.0  # times QUIET; fast points of short takes have an estimate of up to 2.2 mm
_ROUNDS = 12  # of expectation maximization; the paths change by less than 0.1 mm after that
_FREEDOM = 4.0  # degrees of freedom of the Student t distribution
_WIDTH = 0.1  # seconds over which the variance of the motion is averaged
_SPIKE = 0.06  # meters; a smaller deviation in a path without noise may be a real impact
_STEPS = 2.0  # steps from frame to frame; a spike in a path without noise is farther away
_OUTLIER = 0.15  # weight below which an observation is reported as an outlier
_DAMPING = 0.25  # seconds after which the velocity in a gap has decayed
_LEAST_CONFIDENCE = 0.05
_WINDOW = 11  # differences in one window of the noise estimate
_LOW = 0.2  # quantile of the windows from which the noise is estimated
_SUM_OF_SQUARES = 70.0  # of the coefficients 1, -4, 6, -4, 1 of a fourth difference
_LEAST_CHANGE = 1e-6  # times the noise; keeps the matrix well conditioned where nothing moves
_LEAST_FRAMES = 5  # fewer frames cannot be smoothed


@dataclass(frozen=True)
class Denoised:
    """Result of `denoise_positions`.

    Attributes
    ----------
    positions : ndarray, shape (T, P, 3)
        Smoothed positions without gaps. Points that were seen in less than two frames are NaN.
    noise : ndarray, shape (P,)
        Estimated standard deviation of the noise in each coordinate, in meters.
    smoothed : ndarray of bool, shape (P,)
        Points that had enough noise to be smoothed.
    outliers, filled : ndarray of bool, shape (T, P)
        Observations that were far from the path, and positions that were missing.
    """

    positions: Array
    noise: Array
    smoothed: NDArray[np.bool_]
    outliers: NDArray[np.bool_]
    filled: NDArray[np.bool_]


def denoise_positions(
    points: ArrayLike,
    *,
    fps: float,
    confidence: ArrayLike | None = None,
    quiet: float = QUIET,
) -> Denoised:
    """Smooth trajectories, fill gaps and replace outliers.

    Parameters
    ----------
    points : array_like, shape (T, P, 3)
        Positions in meters; NaN where a point is missing.
    fps : float
        Frames per second.
    confidence : array_like, shape (T, P), optional
        Confidence of each observation, from 0 (missing) to 1. The noise of an observation is
        assumed to be inversely proportional to it.
    quiet : float
        Standard deviation in meters below which a take is not smoothed. 0 smooths all points.

    Returns
    -------
    denoised : Denoised

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk")
    >>> exact = walk.positions().astype(float)
    >>> noisy = exact + np.random.default_rng(0).normal(0.0, 0.01, exact.shape)
    >>> result = denoise_positions(noisy, fps=walk.fps)
    >>> bool(abs(result.positions - exact).mean() < 0.6 * abs(noisy - exact).mean())
    True
    """
    seen = np.asarray(points, np.float64)
    if seen.ndim != 3 or seen.shape[2] != 3:
        raise InvalidInput(f"points must have shape (frames, points, 3); got {seen.shape}")
    trust = np.asarray(np.isfinite(seen).all(axis=2), np.float64)
    if confidence is not None:
        given = np.asarray(confidence, np.float64)
        if given.shape != trust.shape:
            raise InvalidInput(
                f"confidence must have shape {trust.shape}, one per point; got {given.shape}"
            )
        given = np.nan_to_num(given).clip(0.0, 1.0)
        trust = trust * np.square(np.where(given >= _LEAST_CONFIDENCE, given, 0.0))
    positions = np.full(seen.shape, np.nan)
    noise = np.zeros(seen.shape[1])
    outliers = np.zeros(trust.shape, bool)
    paths = np.where(trust[:, :, None] > 0.0, seen, np.nan)
    shown = np.count_nonzero(trust, axis=0) >= 2
    noise[shown] = [noise_of(paths[:, point]) for point in np.flatnonzero(shown)]
    typical = float(np.quantile(noise[shown], 0.25)) if shown.any() else 0.0
    smoothed = noise > (quiet if typical > quiet else _LOUD * quiet)
    for point in np.flatnonzero(shown):
        positions[:, point], outliers[:, point] = _denoised(
            paths[:, point],
            trust[:, point],
            fps,
            max(noise[point], min(quiet, QUIET)),
            smoothed[point],
        )
    return Denoised(positions, noise, smoothed & shown, outliers, trust == 0.0)


def noise_of(path: Array) -> float:
    """Estimate the standard deviation of the noise in a path (T, 3), which may have gaps.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> round(noise_of(rng.normal(0.0, 0.01, (300, 3))), 2)
    0.01
    """
    energy = (np.diff(path, n=4, axis=0) ** 2).mean(axis=1) / _SUM_OF_SQUARES
    energy = energy[np.isfinite(energy)]
    if len(energy) == 0:
        return 0.0
    size = min(_WINDOW, len(energy))
    return float(np.sqrt(_quiet_energy(energy, size) / _white_noise(size)))


def _quiet_energy(energy: Array, size: int) -> float:
    """Return a low quantile of the energy in windows, each without its largest values."""
    windows = np.sort(np.lib.stride_tricks.sliding_window_view(energy, size), axis=1)
    return float(np.quantile(windows[:, : max(1, 3 * size // 4)].mean(axis=1), _LOW))


@lru_cache(maxsize=16)
def _white_noise(size: int) -> float:
    """Return the expected result of `_quiet_energy` for noise with a variance of 1."""
    differences = np.diff(np.random.default_rng(0).normal(size=(8000, 3)), n=4, axis=0)
    return _quiet_energy((differences**2).mean(axis=1) / _SUM_OF_SQUARES, size)


def _denoised(
    path: Array, trust: Array, fps: float, noise: float, smoothed: bool
) -> tuple[Array, NDArray[np.bool_]]:
    """Return one path (T, 3) without gaps, and its outliers (T,)."""
    seen = trust > 0.0
    if len(path) < _LEAST_FRAMES or np.count_nonzero(seen) < _LEAST_FRAMES:
        times = np.arange(len(path))
        filled = [np.interp(times, times[seen], axis) for axis in path[seen].T]
        return np.stack(filled, axis=1), np.zeros(len(path), bool)
    smooth, weights = _most_likely_path(path, trust, fps, max(noise, 1e-5))
    away = np.linalg.norm(np.nan_to_num(path - smooth), axis=1)
    outliers = seen & (weights < _OUTLIER)
    if smoothed:
        return smooth, outliers
    outliers &= away > np.maximum(_SPIKE, _STEPS * _local_step(smooth))
    kept = seen & ~outliers
    if kept.all():
        return path.copy(), outliers
    # Only gaps and spikes are replaced, by a path through the observations around them.
    smooth, _ = _most_likely_path(path, np.where(kept, trust, 0.0), fps, 1e-4, heavy_tails=False)
    return np.where(kept[:, None], path, smooth), outliers


def _local_step(path: Array) -> Array:
    """Return the largest step of a path (T, 3) within two frames of each frame, shape (T,)."""
    steps = np.linalg.norm(np.diff(path, axis=0), axis=1)
    return running_maximum(np.concatenate([steps[:1], steps]), 5)


def _most_likely_path(
    path: Array, trust: Array, fps: float, noise: float, *, heavy_tails: bool = True
) -> tuple[Array, Array]:
    """Return the most likely path (T, 3), and the weight of each observation (T,)."""
    from scipy.linalg import solveh_banded

    seen = trust > 0.0
    observed = np.where(seen[:, None], path, 0.0)
    variance = noise * noise
    shared = np.convolve(seen, np.full(3, 1.0 / 3.0), "valid").clip(1e-3)  # of a second difference
    change = np.full(len(path) - 2, variance)
    weights = trust.copy()
    smooth = observed
    for _ in range(_ROUNDS):
        bands = _bands(weights / variance, change, ~seen, _DAMPING * fps)
        smooth = solveh_banded(bands, observed * (weights / variance)[:, None])
        if heavy_tails:
            squared = trust * np.nan_to_num(((path - smooth) ** 2).sum(axis=1)) / variance
            weights = trust * (_FREEDOM + 3.0) / (_FREEDOM + squared)
        energy = (np.diff(smooth, n=2, axis=0) ** 2).mean(axis=1)
        # Differences within gaps say nothing about the variance of the motion.
        width = min(_WIDTH * fps, len(path))
        mean = gaussian_smooth(energy * shared, width) / gaussian_smooth(shared, width)
        change = np.maximum(mean + _uncertainty(change, variance), _LEAST_CHANGE * variance)
    return smooth, weights / np.where(seen, trust, 1.0)


def _bands(weights: Array, change: Array, missing: NDArray[np.bool_], damping: float) -> Array:
    """Return the upper bands (3, T) of the normal equations.

    In gaps, a penalty on the velocity keeps long ones from overshooting: without it, the path would
    leave the last observation with a constant velocity.
    """
    frames = len(weights)
    bands = np.zeros((3, frames))
    precision = 1.0 / change
    for i, a in enumerate((1.0, -2.0, 1.0)):
        for j, b in enumerate((1.0, -2.0, 1.0)):
            if j >= i:
                bands[2 - (j - i), j : j + frames - 2] += a * b * precision
    around = np.pad(precision, 1, mode="edge")
    braked = np.where(missing[1:] | missing[:-1], around[1:] / damping**2, 0.0)
    bands[2, 1:] += braked
    bands[2, :-1] += braked
    bands[1, 1:] -= braked
    bands[2] += weights
    return bands


def _uncertainty(change: Array, variance: float) -> Array:
    """Return the variance of second differences that the smoothed path does not show.

    In the stationary case, with the power spectrum ``d(f)`` of a second difference of white noise,
    this is the mean over all frequencies of ``q r d / (q + r d)``.
    """
    ratios, values = _uncertainty_table()
    return variance * np.exp(np.interp(np.log(change / variance), ratios, values))


@lru_cache(maxsize=1)
def _uncertainty_table() -> tuple[Array, Array]:
    frequencies = np.linspace(0.0, np.pi, 2049)[1:]
    power = (2.0 - 2.0 * np.cos(frequencies)) ** 2
    ratios = np.linspace(-24.0, 14.0, 153)
    values = [np.mean(q * power / (q + power)) for q in np.exp(ratios)]
    return ratios, np.log(values)
