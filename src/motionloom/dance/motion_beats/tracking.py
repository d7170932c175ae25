"""Find reference beats by beat tracking with dynamic programming.

In the paper, reference beats are a regular grid, ``phase + k * period``. A dancer who follows a
song with a changing tempo leaves this grid within a few bars. Here, the period may change slowly,
along the best path through local periodograms. The reference beats are the sequence of times that
has the highest density of candidates and gaps near the period (after Ellis 2007). With ``steady``,
the reference beats are the grid of the paper.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from motionloom.dance.motion_beats.candidates import Candidates, peak_offset
from motionloom.dance.motion_beats.period import RATE

Array = NDArray[np.float64]

_WIDTH = 0.03  # seconds: standard deviation of the kernel around a candidate
_WINDOW, _HOP = 6.0, 0.5  # seconds: window and hop of the local periodograms
_SPAN = 1.4  # maximum ratio of tempos, less than 3:2
_STEPS = 61  # number of periods tried within that span
_STIFF_LEVEL = 4.0  # cost of the squared log ratio of a local period to the global one
_STIFF_TEMPO = 12.0  # cost of the log ratio of successive local periods
_STIFF_GAP = 30.0  # cost of the squared log ratio of a gap to its period


def density(candidates: Candidates, *, rate: float = RATE) -> Array:
    """Return the density (M,) of the candidates over time, by weight."""
    from scipy.ndimage import gaussian_filter1d

    count = int(candidates.seconds * rate) + 1
    total = np.zeros(count)
    place = candidates.times * rate
    below = np.clip(place.astype(int), 0, count - 1)
    share = place - below
    np.add.at(total, below, candidates.weights * (1.0 - share))
    np.add.at(total, np.minimum(below + 1, count - 1), candidates.weights * share)
    return gaussian_filter1d(total, _WIDTH * rate, mode="constant")


def grid_phase(signal: Array, period: float, *, rate: float = RATE) -> float:
    """Return the phase, in seconds in [0, period), of the cosine that fits the signal best."""
    moments = np.arange(len(signal)) / rate
    turn = np.sum(signal * np.exp(-2j * np.pi * moments / period))
    return float((-np.angle(turn) / (2.0 * np.pi) * period) % period)


def steady_beats(phase: float, period: float, first: float, last: float) -> Array:
    """Return the reference beats of the paper, ``phase + k * period``, within [first, last]."""
    start = np.ceil((first - phase) / period - 0.1)
    count = int(np.floor((last - phase) / period + 0.1) - start) + 1
    return np.clip(phase + period * (start + np.arange(max(count, 0))), first, last)


def local_periods(signal: Array, period: float, *, rate: float = RATE) -> Array:
    """Return the local period (M,) at every sample, in seconds, which changes slowly."""
    window = int(_WINDOW * rate)
    if len(signal) < 1.5 * window:
        return np.full(len(signal), period)
    tried = period * _SPAN ** np.linspace(-1.0, 1.0, _STEPS)
    centers = np.arange(window // 2, len(signal) - window // 2 + 1, int(_HOP * rate))
    lag = (np.arange(window) - window // 2) / rate
    waves = np.hanning(window) * np.exp(-2j * np.pi * lag / tried[:, None])
    pieces = np.stack([signal[c - window // 2 : c - window // 2 + window] for c in centers])
    power = _without_slopes(np.abs(pieces @ waves.T) ** 2)
    power /= np.maximum(power.max(axis=1, keepdims=True), 1e-300)
    unusual = _STIFF_LEVEL * np.log(tried / period) ** 2
    path = _cheapest_path(unusual - np.log(power + 0.05), np.log(tried))
    return np.interp(np.arange(len(signal)), centers, tried[path])


def _without_slopes(power: Array) -> Array:
    """Flatten the slopes at both ends of power (W, N), which belong to peaks of other levels.

    Otherwise a neighboring metrical level would attract the beats, for example of a waltz.
    """
    leveled = power.copy()
    for row in leveled:
        for side in (row, row[::-1]):
            rising = np.flatnonzero(np.diff(side) > 0.0)
            valley = int(rising[0]) if len(rising) else len(side) - 1
            side[:valley] = side[valley]
    return leveled


def _cheapest_path(costs: Array, places: Array) -> NDArray[np.int64]:
    """Return the columns (W,) of the lowest-cost path through `costs` (W, N).

    The cost of a move to another column is proportional to its distance.
    """
    moves = _STIFF_TEMPO * np.abs(places[:, None] - places[None, :])
    total = costs[0]
    back = np.zeros(costs.shape, dtype=np.int64)
    for row in range(1, len(costs)):
        ways = total[None, :] + moves
        back[row] = np.argmin(ways, axis=1)
        total = ways[np.arange(len(places)), back[row]] + costs[row]
    path = np.empty(len(costs), dtype=np.int64)
    path[-1] = int(np.argmin(total))
    for row in range(len(costs) - 1, 0, -1):
        path[row - 1] = back[row, path[row]]
    return path


def tracked_beats(
    weights: Array, periods: Array, first: float, last: float, *, rate: float = RATE
) -> Array:
    """Return the beat sequence with the highest total density and gaps near `periods`.

    Parameters
    ----------
    weights : ndarray, shape (M,)
        Result of `density`.
    periods : ndarray, shape (M,)
        Result of `local_periods`.
    first, last : float
        Time range in seconds.

    Returns
    -------
    beats : ndarray, shape (K,)
        Times of the beats, in seconds.
    """
    spread = float(np.std(weights))
    height = weights / spread if spread > 0.0 else weights
    begin, end = int(max(first * rate, 0)), min(int(last * rate) + 1, len(height))
    best = height.copy()
    back = np.full(len(height), -1, dtype=np.int64)
    for now in range(begin, end):
        period = periods[now] * rate
        near = np.arange(int(0.55 * period), int(1.8 * period) + 1)
        before = now - near[near <= now - begin]
        if not len(before):
            continue
        ways = best[before] - _STIFF_GAP * np.log((now - before) / period) ** 2
        choice = int(np.argmax(ways))
        if ways[choice] > 0.0 or now - begin > period:
            best[now] += ways[choice]
            back[now] = before[choice]
    tail = np.arange(max(begin, end - int(periods[end - 1] * rate)), end)
    now = int(tail[np.argmax(best[tail])]) if len(tail) else -1
    beats = []
    while now >= 0:
        beats.append((now + _peak(height, now)) / rate)
        now = int(back[now])
    return np.array(beats[::-1])


def _peak(height: Array, place: int) -> float:
    """Return the sub-sample offset of a maximum, in [-0.5, 0.5]; 0 if there is no maximum."""
    if not 0 < place < len(height) - 1:
        return 0.0
    before, here, after = height[place - 1 : place + 2]
    return float(peak_offset(before, here, after)) if 2.0 * here > before + after else 0.0


def with_ends(beats: Array, first: float, last: float, *, before: float, after: float) -> Array:
    """Extrapolate beats at regular gaps to both ends of [first, last].

    Examples
    --------
    >>> with_ends(np.array([1.0, 1.5]), 0.0, 2.6, before=0.5, after=0.5)
    array([0. , 0.5, 1. , 1.5, 2. , 2.5])
    """
    if not len(beats):
        return beats
    lead = int((beats[0] - first) / before + 0.1)
    trail = int((last - beats[-1]) / after + 0.1)
    head = beats[0] - before * np.arange(lead, 0, -1)
    tail = beats[-1] + after * np.arange(1, trail + 1)
    return np.concatenate([np.maximum(head, first), beats, np.minimum(tail, last)])
