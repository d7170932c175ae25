"""Analyze steps: find the cycle of the feet, its number of beats, and the exact beat period.

Landings are events. A standard test for periodic events is the Z statistic of Buccheri et al.
(1983), which is the power of the landings at a frequency and its first harmonics. Here, it is
averaged over windows, so that a pause does not matter. The right foot of dancers and walkers
repeats the steps of the left foot half a cycle later. Right landings are therefore shifted by half
a cycle, which means that harmonic j of a right foot has the sign ``(-1)^j``.

Many dances take three steps in half a cycle. In a waltz the steps are even, one on each of six
beats; three strides of a walk are also even. In a salsa they are quick, quick, slow, on six of
eight beats. Even steps have power only at harmonics 3 and 6. If the power at harmonics 1, 2, 4 and
5 exceeds that of scattered even steps, the steps are uneven. This decides which of two periods in
the ratio 4:3 (or 3:2, one level higher) is the beat. If the steps scatter too much, the whole body
decides: the changes of direction of all joints have more power at a sixth of a cycle if it has six
beats, and at a quarter of a cycle if it has eight.

`step_period` refines the beat period by least squares over the whole take. The time between two
landings of one foot is a whole number of beats. Each such interval of up to a few steps, divided by
its number of beats, is therefore a measurement of the period. Longer intervals are not used,
because the tempo may change. The refinement is needed because a spectrum of a few seconds is
imprecise, and a motion that repeats after six beats may be mistaken for one that repeats after
five.

The constants were chosen on 106 walks, runs, marches and salsas of CMU with leave-one-subject-out
validation (docs/evidence/beats.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from motionloom.dance.motion_beats.period import LAG_ERROR, Period, led_by, powers_at

Array = NDArray[np.float64]
Feet = Sequence[tuple[Array, Array]]  # landings of the left and the right foot of each character

_HARMONICS = 6
_EVEN, _OTHERS = [2, 5], [0, 1, 3, 4]  # indices of harmonics 3 and 6, and of the others
_LONGEST = 4.6  # seconds: eight beats at 104 beats per minute
_FINE = 0.002  # step of the logarithm of the cycle
_WINDOW = 15.0  # seconds during which the tempo is constant: five cycles of a salsa
_FEWEST = 8  # minimum number of landings of a character
# Minimum power of harmonics 3 and 6, per character, for three steps in half a cycle. Random
# landings have 4; the largest of 500 independent cycles has about 16.
_STEPS = 14.0
# Minimum power of uneven steps beyond that of scattered even steps; random landings have 8. Ten of
# CMU's 15 salsa couples have more, and none of its walks, runs and marches
# (docs/evidence/beats.md).
_QUICK_SLOW = 1.0
# Minimum self-similarity of a gait after one stride, and relative to that after three strides.
# Gaits have 0.27 to 0.6, salsas at most 0.06.
_GAIT_LEAST, _GAIT = 0.2, 0.5
_SAME = 0.04  # maximum distance (natural log) between two measurements of one period
_LEAST_ERROR = 0.01  # share of the cycle skipped at both ends, where steps rarely keep the tempo


@dataclass(frozen=True)
class StepCycle:
    """Time in which each foot takes three steps.

    Attributes
    ----------
    seconds : float
    error : float
        Relative error of `seconds`.
    evenness : float
        Power at harmonics 3 and 6, per character.
    unevenness : float
        Power at the other harmonics that exceeds that of scattered even steps, per character.
    """

    seconds: float
    error: float
    evenness: float
    unevenness: float


def step_cycle(feet: Feet, seconds: float) -> StepCycle | None:
    """Find the step cycle of one or more characters, or return None if they have none.

    Parameters
    ----------
    feet : sequence of (left, right)
        Landings in seconds, one pair of arrays per character.
    seconds : float
        Duration of the motion.

    Examples
    --------
    >>> left = np.arange(0.0, 30.0, 1.0)
    >>> walk = step_cycle([(left, left + 0.5)], 30.0)
    >>> round(walk.seconds, 2), walk.unevenness < 1.0
    (3.0, True)
    >>> bars = np.arange(0.0, 30.0, 3.2)[:, None]
    >>> left, right = (bars + [0.0, 0.8, 2.0]).ravel(), (bars + [0.4, 1.6, 2.4]).ravel()
    >>> salsa = step_cycle([(left, right)], 30.0)
    >>> round(salsa.seconds, 2), salsa.unevenness > 1.0
    (3.2, True)
    """
    feet = [(left, right) for left, right in feet if len(left) + len(right) >= _FEWEST]
    if not feet or min(min(len(left), len(right)) for left, right in feet) < 2:
        return None
    longest = min(_LONGEST, 0.7 * seconds)
    if longest <= 0.6:
        return None
    tried = np.exp(np.arange(np.log(0.6), np.log(longest), _FINE))
    best = float(tried[np.argmax(landing_powers(feet, tried, seconds).sum(axis=0))])
    cycles = [_measured(feet, n * best, seconds) for n in (1, 2, 3, 4) if n * best <= _LONGEST]
    threes = [cycle for cycle in cycles if cycle is not None]
    return max(threes, key=lambda cycle: cycle.evenness, default=None)


def landing_powers(feet: Feet, cycles: Array, seconds: float) -> Array:
    """Return the mean power (6, C) of landings at the harmonics of cycles (C,).

    The mean of each power is 2 for random landings.
    """
    count = int(np.ceil(max(seconds / _WINDOW - 1.0, 0.0) * 2.0)) + 1
    starts = np.linspace(0.0, max(seconds - _WINDOW, 0.0), count)
    total, weight = np.zeros((_HARMONICS, len(cycles))), 0
    for start in starts:
        for sides in feet:
            inside = [side[(side >= start) & (side < start + _WINDOW)] for side in sides]
            size = sum(map(len, inside))
            if not size:
                continue
            weight += size  # windows with few landings count less
            for j in range(1, _HARMONICS + 1):
                left, right = (
                    np.exp(2j * np.pi * j * side[:, None] / cycles).sum(axis=0) for side in inside
                )
                total[j - 1] += 2.0 * np.abs(left + (-1) ** j * right) ** 2
    return total / max(weight, 1)


def led_by_steps(
    possible: list[Period],
    cycle: StepCycle,
    likeness: Array,
    signal: Array,
    *,
    rate: float,
    shortest: float,
    longest: float,
) -> list[Period]:
    """Move the period that the steps indicate to the front of the possible periods.

    Parameters
    ----------
    possible : list of Period
        Result of `motionloom.dance.motion_beats.period.periods`.
    cycle : StepCycle
    likeness : ndarray, shape (L,)
        Self-similarity, with `rate` lags per second.
    signal : ndarray, shape (M,)
        Result of `motionloom.dance.motion_beats.period.superposed`.
    rate : float
    shortest, longest : float
        Range of plausible periods, in seconds.

    Returns
    -------
    periods : list of Period
        Periods, the best first. If the best period already fits the steps, it is only refined. A
        cycle of quick, quick, slow steps gets eight beats rather than four if the tempo range
        allows it, because six steps do not fit into four beats.
    """
    first = possible[0]
    even = [cycle.seconds / n for n in (6, 3, 12, 2)]
    eight = [cycle.seconds / n for n in ((8,) if cycle.seconds / 8 >= shortest else (4, 2))]
    if _is_gait(cycle, likeness, rate):
        wanted = even
    elif cycle.unevenness > _QUICK_SLOW or not any(
        _near(first.seconds, seconds) for seconds in even
    ):
        wanted = eight
    else:
        quarter, sixth = powers_at(signal, [cycle.seconds / 4, cycle.seconds / 6])
        wanted = eight if quarter > sixth else even
    for seconds in wanted:
        if _near(first.seconds, seconds):
            refined = replace(first, seconds=_mean(first.seconds, seconds, cycle.error))
            return led_by(refined, [refined, *possible[1:]])
    best = next((seconds for seconds in wanted if shortest <= seconds <= longest), 0.0)
    if not best:
        return possible
    beats = round(cycle.seconds / best)
    alike = _at(likeness, cycle.seconds * rate)
    led = Period(best, first.strength, beats, float(np.clip(alike, first.likeness, 1.0)))
    return led_by(led, [led, *(period for period in possible if not _near(period.seconds, best))])


def _is_gait(cycle: StepCycle, likeness: Array, rate: float) -> bool:
    """Return whether every stride resembles the previous one."""
    stride, whole = (_at(likeness, cycle.seconds * rate * share) for share in (1.0 / 3.0, 1.0))
    return stride >= max(_GAIT_LEAST, _GAIT * whole)


def _at(values: Array, place: float) -> float:
    """Return the largest value within 3 % of a fractional index; 0 beyond the end."""
    low, high = int(np.floor(0.97 * place)), int(np.ceil(1.03 * place)) + 1
    return float(values[low:high].max()) if high <= len(values) else 0.0


def _near(a: float, b: float) -> bool:
    return bool(abs(np.log(a / b)) < _SAME)


def _mean(lag: float, steps: float, error: float) -> float:
    """Average two periods by precision: from self-similarity or spectrum, and from steps."""
    trust = np.array([1.0 / LAG_ERROR, 1.0 / max(error, _LEAST_ERROR)]) ** 2
    return float(np.exp(np.average(np.log([lag, steps]), weights=trust)))


def _measured(feet: Feet, about: float, seconds: float) -> StepCycle | None:
    """Return the best cycle near `about`, or None if a foot does not take three steps in it."""
    tried = about * np.exp(np.linspace(-0.03, 0.03, 61))
    powers = landing_powers(feet, tried, seconds)
    best = int(np.argmax(powers.sum(axis=0)))
    power, cycle = powers[:, best], float(tried[best])
    even = float(power[_EVEN].sum())
    if even < _STEPS or power[2] < max(2.0 * power[:2].max(), 0.5 * power[5]):
        return None
    count = sum(len(left) + len(right) for left, right in feet)
    inside = max(count / len(feet) * min(_WINDOW / seconds, 1.0), 2.0)  # landings in a window
    # Even steps with a scatter of s have the power 2 + 2 (n - 1) exp(-(2 pi j s / cycle)^2) at
    # harmonic 3 and its complement, 2 - 2 exp(...), at those that are not multiples of 3.
    kept = np.clip((power[2] - 2.0) / (2.0 * (inside - 1.0)), 0.02, 0.999)
    spread = -np.log(kept) / 9.0  # (2 pi s / cycle)^2
    others = np.array(_OTHERS) + 1.0
    explained = float(np.sum(2.0 - 2.0 * np.exp(-spread * others**2)))
    scatter = cycle * np.sqrt(spread) / (2.0 * np.pi)
    error = np.sqrt(12.0 / count) * scatter / min(seconds, _WINDOW)  # error of a fitted slope
    return StepCycle(cycle, float(error), even, float(power[_OTHERS].sum()) - explained)


_LONGEST_INTERVAL = 2.0  # maximum time between landings of one foot, in seconds
_SHORTEST = 0.3  # share of the period: shorter intervals are between two contacts of one step
_NEAR = 0.2  # share of the period: intervals that differ more from whole beats are ignored
_HUBER = 0.05  # threshold of Huber's loss, as a share of the period
_CHANGE = 0.08  # maximum change of the period (natural log)
_FEWEST_INTERVALS = 6  # intervals
_ROUNDS = 5
# Support of a period: mean of exp(-(x / _SPREAD)^2 / 2), where x is the distance of the intervals
# between successive landings from whole numbers of beats. Random intervals have 0.25.
_SPREAD, _SUPPORTED = 0.1, 0.5
_SUCCESSIVE = (0.25, 2.2)  # seconds
# Another period of at least this strength is better if its support is larger by this amount.
_AS_STRONG, _BETTER = 0.9, 0.4


def step_period(period: float, feet: Feet) -> float:
    """Return the period near `period` that fits the landings of each foot best.

    Parameters
    ----------
    period : float
        Approximate period, in seconds.
    feet : sequence of (left, right)
        Landings in seconds, one pair of arrays per character.

    Returns
    -------
    period : float
        Least-squares period, or `period` if there are too few landings or they do not fit.

    Examples
    --------
    >>> left = np.arange(0.0, 20.0, 1.0)
    >>> round(step_period(0.52, [(left, left + 0.5)]), 3)
    0.5
    """
    refined = _least_squares(period, _intervals(feet))
    is_supported = _support(refined, _successive(feet)) >= _SUPPORTED
    return refined if is_supported else period


def led_by_landings(
    possible: list[Period], feet: Feet, *, shortest: float, longest: float
) -> list[Period]:
    """Move the period that the landings indicate to the front, if it is strong enough."""
    gaps, intervals = _successive(feet), _intervals(feet)
    if len(gaps) < _FEWEST_INTERVALS:
        return possible
    able = [
        choice
        for choice in possible
        if choice is possible[0]
        or (choice.strength >= _AS_STRONG and shortest <= choice.seconds <= longest)
    ]
    supports = [_support(_least_squares(period.seconds, intervals), gaps) for period in able]
    best = int(np.argmax(supports))
    if supports[best] - supports[0] <= _BETTER or supports[best] < _SUPPORTED:
        return possible
    return led_by(able[best], possible)


def _intervals(feet: Feet) -> Array:
    """Return the times between any two landings of the same foot, up to `_LONGEST_INTERVAL`."""
    parts = [np.zeros(0)]
    for sides in feet:
        for side in sides:
            gaps = np.subtract.outer(side, side).ravel()
            parts.append(gaps[(gaps > 0.0) & (gaps <= _LONGEST_INTERVAL)])
    return np.concatenate(parts)


def _successive(feet: Feet) -> Array:
    """Return the times between successive landings of the same foot."""
    gaps = np.concatenate(
        [np.zeros(0), *(np.diff(np.sort(side)) for sides in feet for side in sides)]
    )
    return gaps[(gaps > _SUCCESSIVE[0]) & (gaps < _SUCCESSIVE[1])]


def _least_squares(period: float, intervals: Array) -> float:
    best = period
    intervals = intervals[intervals > _SHORTEST * period]
    for _ in range(_ROUNDS):
        beats = np.round(intervals / best)
        off = np.abs(intervals / best - beats)
        near = (beats >= 1) & (off < _NEAR)
        if near.sum() < _FEWEST_INTERVALS:
            return period
        weights = np.minimum(1.0, _HUBER / np.maximum(off, 1e-9))[near]
        some, counts = intervals[near], beats[near]
        best = float(np.sum(weights * some * counts) / np.sum(weights * counts**2))
        if abs(np.log(best / period)) > _CHANGE:
            return period
    return best


def _support(period: float, gaps: Array) -> float:
    if len(gaps) < _FEWEST_INTERVALS:
        return 0.0
    beats = np.round(gaps / period)
    off = np.abs(gaps / period - beats)
    return float(np.mean(np.where(beats >= 1, np.exp(-0.5 * (off / _SPREAD) ** 2), 0.0)))
