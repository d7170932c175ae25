"""Filters for noisy trajectories: Savitzky-Golay, Butterworth, one euro and a Kalman smoother.

They cannot handle gaps. Gaps are filled linearly first, and outliers may be removed by a Hampel
filter (the deviation from a running median), whichever gives the smaller error.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from scipy import signal

# Name -> filter of (values (T, N), fps, noise, *setting), and the settings to try.
Filter = Callable[..., np.ndarray]


def filled(points: np.ndarray, *, hampel: bool) -> np.ndarray:
    """Positions (T, P, 3) without gaps, and without outliers if `hampel`."""
    points = _without_outliers(points) if hampel else points
    flat = points.reshape(len(points), -1).copy()
    times = np.arange(len(flat))
    for column in range(flat.shape[1]):
        seen = np.isfinite(flat[:, column])
        if seen.any():
            flat[:, column] = np.interp(times, times[seen], flat[seen, column])
    return np.nan_to_num(flat)


def _without_outliers(points: np.ndarray, half: int = 3, limit: float = 3.0) -> np.ndarray:
    padded = np.pad(points, ((half, half), (0, 0), (0, 0)), mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        middle = np.nanmedian(windows, axis=-1)
        spread = 1.4826 * np.nanmedian(np.abs(windows - middle[..., None]), axis=-1)
    away = np.linalg.norm(points - middle, axis=-1)
    wild = away > limit * np.maximum(np.linalg.norm(spread, axis=-1), 1e-3)
    return np.where(wild[..., None], np.nan, points)


def savitzky_golay(values, fps, noise, seconds, order):
    """Polynomials fitted to windows."""
    window = max(order + 2 - order % 2, round(seconds * fps) | 1)
    window = min(window, len(values) - 1 + len(values) % 2)
    return signal.savgol_filter(values, window, min(order, window - 1), axis=0)


def butterworth(values, fps, noise, cutoff):
    """Low-pass filter of order 4, forward and backward."""
    if cutoff >= 0.5 * fps:
        return values
    sections = signal.butter(2, cutoff / (0.5 * fps), output="sos")
    return signal.sosfiltfilt(sections, values, axis=0)


def one_euro(values, fps, noise, cutoff, beta):
    """Low-pass filter whose cutoff grows with the speed (Casiez et al. 2012)."""
    smooth, speed = values.copy(), np.zeros(values.shape[1])

    def share(frequency):
        return 1.0 / (1.0 + fps / (2.0 * np.pi * frequency))

    for t in range(1, len(values)):
        speed += share(1.0) * ((values[t] - smooth[t - 1]) * fps - speed)
        weight = share(cutoff + beta * np.abs(speed))
        smooth[t] = weight * values[t] + (1.0 - weight) * smooth[t - 1]
    return smooth


def kalman(values, fps, noise, acceleration):
    """FilterPy's Kalman filter and RTS smoother: constant velocity, the true noise is given.

    Gains do not depend on the values, so those of one coordinate serve for all.
    """
    from filterpy.common import Q_discrete_white_noise
    from filterpy.kalman import predict, rts_smoother, update

    step = 1.0 / fps
    move = np.array([[1.0, step], [0.0, 1.0]])
    change = Q_discrete_white_noise(2, step, acceleration**2)
    seen, error = np.array([[1.0, 0.0]]), np.array([[noise**2]])
    state = np.stack([values[0], np.zeros(values.shape[1])])
    spread = np.diag([noise**2, 1.0])
    states, spreads = [state], [spread]
    for t in range(1, len(values)):
        _, spread = predict(np.zeros(2), spread, move, change)
        state = move @ state
        _, spread, _, gain, _, _ = update(np.zeros(2), spread, 0.0, error, seen, return_all=True)
        state = state + gain @ (values[t] - state[0])[None]
        states.append(state)
        spreads.append(spread)
    count = len(states)
    smooth, _, _, _ = rts_smoother(
        np.array(states), np.array(spreads), [move] * count, [change] * count
    )
    return smooth[:, 0]


FILTERS: dict[str, tuple[Filter, list[tuple[float, ...]]]] = {
    "Savitzky-Golay": (
        savitzky_golay,
        [(s, order) for s in (0.17, 0.23, 0.3, 0.37, 0.43, 0.5, 0.63) for order in (2, 3, 4)],
    ),
    "Butterworth": (butterworth, [(c,) for c in (2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0, 10.0)]),
    "one euro": (
        one_euro,
        [(c, b) for c in (0.5, 1.0, 2.0, 4.0) for b in (2.0, 10.0, 50.0, 100.0)],
    ),
    "Kalman (FilterPy)": (kalman, [(a,) for a in (1.0, 2.0, 5.0, 10.0, 20.0, 40.0)]),
}
