"""Beat period from the landings of each foot: least squares over the whole take.

A foot lands after whole numbers of beats. All intervals between landings of one foot, up to a few
steps apart, divided by their numbers of beats, measure the period: a spectrum of few seconds is
blunt, and a motion that repeats after six beats may be mistaken for one that repeats after five.
Longer intervals would suffer from changes of the tempo.

Constants were chosen on 106 walks, runs, marches and salsas of CMU by leaving out one subject at a
time (docs/beats.md).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from motionloom.dance.motion_beats.period import Period, led_by

Array = NDArray[np.float64]
Feet = Sequence[tuple[Array, Array]]

_LONGEST = 2.0  # seconds between landings of one foot
_SHORTEST = 0.3  # of the period: two contacts of one step
_NEAR = 0.2  # of the period: intervals farther from a whole number of beats do not count
_HUBER = 0.05  # of the period
_CHANGE = 0.08  # largest change of the period, natural logarithm
_FEWEST = 6  # intervals
_ROUNDS = 5
# Support of a period: mean of exp(-(x / _SPREAD)^2 / 2), x the distance of the intervals between
# successive landings from whole numbers of beats. Random intervals have 0.25.
_SPREAD, _SUPPORTED = 0.1, 0.5
_SUCCESSIVE = (0.25, 2.2)  # seconds
# Another period of at least this strength is better if its support is larger by this.
_AS_STRONG, _BETTER = 0.9, 0.4


def step_period(period: float, feet: Feet) -> float:
    """The period near `period` that the landings of each foot fit best, by least squares.

    Parameters
    ----------
    period : float
        Seconds.
    feet : sequence of (left, right)
        Landings in seconds, one pair of arrays per character.

    Returns
    -------
    period : float
        The given one if there are few landings, or if they do not fit.

    Examples
    --------
    >>> left = np.arange(0.0, 20.0, 1.0)
    >>> round(step_period(0.52, [(left, left + 0.5)]), 3)
    0.5
    """
    found = _least_squares(period, _intervals(feet))
    is_supported = _support(found, _successive(feet)) >= _SUPPORTED
    return found if is_supported else period


def led_by_landings(
    found: list[Period], feet: Feet, *, shortest: float, longest: float
) -> list[Period]:
    """Possible periods with the one that landings speak for as the best, if it is as strong."""
    gaps, intervals = _successive(feet), _intervals(feet)
    if len(gaps) < _FEWEST:
        return found
    able = [
        one
        for one in found
        if one is found[0] or (one.strength >= _AS_STRONG and shortest <= one.seconds <= longest)
    ]
    supports = [_support(_least_squares(one.seconds, intervals), gaps) for one in able]
    best = int(np.argmax(supports))
    if supports[best] - supports[0] <= _BETTER or supports[best] < _SUPPORTED:
        return found
    return led_by(able[best], found)


def _intervals(feet: Feet) -> Array:
    """Times between any two landings of one foot, up to `_LONGEST`."""
    parts = [np.zeros(0)]
    for sides in feet:
        for one in sides:
            gaps = np.subtract.outer(one, one).ravel()
            parts.append(gaps[(gaps > 0.0) & (gaps <= _LONGEST)])
    return np.concatenate(parts)


def _successive(feet: Feet) -> Array:
    """Times between successive landings of one foot."""
    gaps = np.concatenate([np.zeros(0), *(np.diff(np.sort(one)) for two in feet for one in two)])
    return gaps[(gaps > _SUCCESSIVE[0]) & (gaps < _SUCCESSIVE[1])]


def _least_squares(period: float, intervals: Array) -> float:
    best = period
    intervals = intervals[intervals > _SHORTEST * period]
    for _ in range(_ROUNDS):
        beats = np.round(intervals / best)
        off = np.abs(intervals / best - beats)
        near = (beats >= 1) & (off < _NEAR)
        if near.sum() < _FEWEST:
            return period
        weights = np.minimum(1.0, _HUBER / np.maximum(off, 1e-9))[near]
        some, counts = intervals[near], beats[near]
        best = float(np.sum(weights * some * counts) / np.sum(weights * counts**2))
        if abs(np.log(best / period)) > _CHANGE:
            return period
    return best


def _support(period: float, gaps: Array) -> float:
    if len(gaps) < _FEWEST:
        return 0.0
    beats = np.round(gaps / period)
    off = np.abs(gaps / period - beats)
    return float(np.mean(np.where(beats >= 1, np.exp(-0.5 * (off / _SPREAD) ** 2), 0.0)))
