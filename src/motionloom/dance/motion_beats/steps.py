"""Steps: the cycle after which the feet repeat, how many beats it has, and the exact beat period.

Landings are events, and the test for a period in events is the Z statistic of Buccheri et al.
(1983): the power of the landings at a frequency and its first harmonics, here averaged over
windows so that a pause does not matter. Dancers and walkers do with the right foot what they did
with the left one half a cycle earlier, so right landings enter half a cycle later: harmonic j of a
right foot has the sign ``(-1)^j``.

Many dances take three steps in half a cycle. In a waltz the steps are even, one on each of six
beats; so are three strides of a walk. In a salsa they are quick, quick, slow, on six of eight
beats. Even steps have power at harmonics 3 and 6 only. Power at 1, 2, 4 and 5, beyond what the
scatter of even steps explains, decides which of two periods in the ratio 4:3 (or 3:2, a level
higher) is the beat. Where the steps scatter too much, the whole body decides: changes of direction
of all joints have more power at a sixth of the cycle where that has six beats, and at a quarter
where it has eight.

`step_period` refines the beat period by least squares over the whole take. A foot lands after whole
numbers of beats. All intervals between landings of one foot, up to a few steps apart, divided by
their numbers of beats, measure the period: a spectrum of few seconds is blunt, and a motion that
repeats after six beats may be mistaken for one that repeats after five. Longer intervals would
suffer from changes of the tempo.

Constants were chosen on 106 walks, runs, marches and salsas of CMU by leaving out one subject at a
time (docs/beats.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from motionloom.dance.motion_beats.period import Period, led_by, powers_at

Array = NDArray[np.float64]
Feet = Sequence[tuple[Array, Array]]  # landings of the left and the right foot of each character

_HARMONICS = 6
_EVEN, _OTHERS = [2, 5], [0, 1, 3, 4]  # indices of harmonics 3 and 6, and of the others
_LONGEST = 4.6  # seconds: eight beats at 104 beats per minute
_FINE = 0.002  # steps of the logarithm of the cycle
_WINDOW = 15.0  # seconds in which the tempo is constant: five cycles of a salsa
_FEWEST = 8  # landings of a character
# Least power of harmonics 3 and 6, per character, for three steps in half a cycle: random landings
# have 4, the largest of 500 independent cycles about 16.
_STEPS = 14.0
# Least power, beyond the scatter of even steps, of uneven ones; random landings have 8. Of CMU's 15
# salsa couples, 10 have more; of its walks, runs and marches none (see docs/beats.md).
_QUICK_SLOW = 1.0
# Least self-similarity of a gait after one stride, and relative to that after three: gaits have
# 0.27 to 0.6, salsas at most 0.06.
_GAIT_LEAST, _GAIT = 0.2, 0.5
_SAME = 0.04  # largest distance (natural log) of two measurements of one period
_LAG_ERROR = 0.012  # typical relative error of a period from self-similarity
_LEAST_ERROR = 0.01  # of the cycle: first and last steps are seldom at the tempo of the rest


@dataclass(frozen=True)
class StepCycle:
    """A cycle of three steps with each foot.

    Attributes
    ----------
    seconds : float
    error : float
        Relative error of `seconds`.
    evenness : float
        Power at harmonics 3 and 6, per character.
    unevenness : float
        Power at the other harmonics beyond what scattered even steps have, per character.
    """

    seconds: float
    error: float
    evenness: float
    unevenness: float


def step_cycle(feet: Feet, seconds: float) -> StepCycle | None:
    """The cycle of the steps of one or several characters, None if there is none.

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
    threes = [one for one in cycles if one is not None]
    return max(threes, key=lambda one: one.evenness, default=None)


def landing_powers(feet: Feet, cycles: Array, seconds: float) -> Array:
    """Mean power of landings, by windows and characters, at harmonics of cycles (C,): (6, C).

    Of random landings, each power has the mean 2.
    """
    count = int(np.ceil(max(seconds / _WINDOW - 1.0, 0.0) * 2.0)) + 1
    starts = np.linspace(0.0, max(seconds - _WINDOW, 0.0), count)
    total, weight = np.zeros((_HARMONICS, len(cycles))), 0
    for start in starts:
        for sides in feet:
            inside = [one[(one >= start) & (one < start + _WINDOW)] for one in sides]
            size = sum(map(len, inside))
            if not size:
                continue
            weight += size  # windows with few landings count less
            for j in range(1, _HARMONICS + 1):
                left, right = (
                    np.exp(2j * np.pi * j * one[:, None] / cycles).sum(axis=0) for one in inside
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
    """Possible periods with the one that the steps speak for as the best.

    Parameters
    ----------
    possible : list of Period
        From `motionloom.dance.motion_beats.period.periods`.
    cycle : StepCycle
    likeness : ndarray, shape (L,)
        Self-similarity, lags at `rate` per second.
    signal : ndarray, shape (M,)
        From `motionloom.dance.motion_beats.period.superposed`.
    rate : float
    shortest, longest : float
        Plausible periods, seconds.

    Returns
    -------
    periods : list of Period
        If the best period fits the steps, it is only refined. Quick, quick, slow steps are counted
        in eight beats, not in four, if the tempo allows: six steps do not fit into four beats.
    """
    first = possible[0]
    even = [cycle.seconds / n for n in (6, 3, 12, 2)]
    eight = [cycle.seconds / n for n in ((8,) if cycle.seconds / 8 >= shortest else (4, 2))]
    if _is_gait(cycle, likeness, rate):
        wanted = even
    elif cycle.unevenness > _QUICK_SLOW or not any(_near(first.seconds, one) for one in even):
        wanted = eight
    else:
        quarter, sixth = powers_at(signal, [cycle.seconds / 4, cycle.seconds / 6])
        wanted = eight if quarter > sixth else even
    for one in wanted:
        if _near(first.seconds, one):
            refined = replace(first, seconds=_mean(first.seconds, one, cycle.error))
            return led_by(refined, [refined, *possible[1:]])
    best = next((one for one in wanted if shortest <= one <= longest), 0.0)
    if not best:
        return possible
    beats = round(cycle.seconds / best)
    alike = _at(likeness, cycle.seconds * rate)
    led = Period(best, first.strength, beats, float(np.clip(alike, first.likeness, 1.0)))
    return led_by(led, [led, *(one for one in possible if not _near(one.seconds, best))])


def _is_gait(cycle: StepCycle, likeness: Array, rate: float) -> bool:
    """Whether every stride is like the last one."""
    stride, whole = (_at(likeness, cycle.seconds * rate * share) for share in (1.0 / 3.0, 1.0))
    return stride >= max(_GAIT_LEAST, _GAIT * whole)


def _at(values: Array, place: float) -> float:
    """The largest value within 3 % of a fractional index; 0 beyond the end."""
    low, high = int(np.floor(0.97 * place)), int(np.ceil(1.03 * place)) + 1
    return float(values[low:high].max()) if high <= len(values) else 0.0


def _near(a: float, b: float) -> bool:
    return bool(abs(np.log(a / b)) < _SAME)


def _mean(lag: float, steps: float, error: float) -> float:
    """Mean of the periods from self-similarity or spectrum and from the steps, by precision."""
    trust = np.array([1.0 / _LAG_ERROR, 1.0 / max(error, _LEAST_ERROR)]) ** 2
    return float(np.exp(np.average(np.log([lag, steps]), weights=trust)))


def _measured(feet: Feet, about: float, seconds: float) -> StepCycle | None:
    """The best cycle near `about`; None if a foot does not take three steps in it."""
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
    # harmonic 3 and its complement, 2 - 2 exp(...), at those that are no multiple of 3.
    kept = np.clip((power[2] - 2.0) / (2.0 * (inside - 1.0)), 0.02, 0.999)
    spread = -np.log(kept) / 9.0  # (2 pi s / cycle)^2
    others = np.array(_OTHERS) + 1.0
    explained = float(np.sum(2.0 - 2.0 * np.exp(-spread * others**2)))
    scatter = cycle * np.sqrt(spread) / (2.0 * np.pi)
    error = np.sqrt(12.0 / count) * scatter / min(seconds, _WINDOW)  # of a slope through landings
    return StepCycle(cycle, float(error), even, float(power[_OTHERS].sum()) - explained)


_LONGEST_INTERVAL = 2.0  # seconds between landings of one foot
_SHORTEST = 0.3  # of the period: two contacts of one step
_NEAR = 0.2  # of the period: intervals farther from a whole number of beats do not count
_HUBER = 0.05  # of the period
_CHANGE = 0.08  # largest change of the period, natural logarithm
_FEWEST_INTERVALS = 6  # intervals
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
    refined = _least_squares(period, _intervals(feet))
    is_supported = _support(refined, _successive(feet)) >= _SUPPORTED
    return refined if is_supported else period


def led_by_landings(
    possible: list[Period], feet: Feet, *, shortest: float, longest: float
) -> list[Period]:
    """Possible periods with the one that landings speak for as the best, if it is as strong."""
    gaps, intervals = _successive(feet), _intervals(feet)
    if len(gaps) < _FEWEST_INTERVALS:
        return possible
    able = [
        one
        for one in possible
        if one is possible[0] or (one.strength >= _AS_STRONG and shortest <= one.seconds <= longest)
    ]
    supports = [_support(_least_squares(one.seconds, intervals), gaps) for one in able]
    best = int(np.argmax(supports))
    if supports[best] - supports[0] <= _BETTER or supports[best] < _SUPPORTED:
        return possible
    return led_by(able[best], possible)


def _intervals(feet: Feet) -> Array:
    """Times between any two landings of one foot, up to `_LONGEST_INTERVAL`."""
    parts = [np.zeros(0)]
    for sides in feet:
        for one in sides:
            gaps = np.subtract.outer(one, one).ravel()
            parts.append(gaps[(gaps > 0.0) & (gaps <= _LONGEST_INTERVAL)])
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
