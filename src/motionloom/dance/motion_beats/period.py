"""Find the dominant period of candidate beats and its alternatives.

Two measures are combined. *Periodogram* (Kim, Park and Shin 2003, section 3.2): the candidates of
each signal become a piecewise cosine with a crest at every candidate. The power spectrum of the
sum of all cosines peaks at the frequency of the beat. *Self-similarity* (not in the paper): a
motion that repeats after 1, 2, 3, 4, 6 or 8 beats correlates most with itself after exactly that
time. This measures the period far more precisely than a spectrum of a few seconds. Free dances
hardly repeat; for them, the periodogram decides.

Every rhythm has several metrical levels: steps, beats, bars. Listeners choose the level nearest to
a comfortable tempo. Here, a mild weight prefers that level in the same way, and the other levels
are reported as alternatives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from motionloom.dance.motion_beats.candidates import Candidates, peak_offset

Array = NDArray[np.float64]

RATE = 60.0  # samples per second of the superposed signal, because beats are far slower than 30 Hz
# Preferred period in seconds (about two beats per second) and the width of the preference, which is
# so wide that the motion mostly determines the level.
COMFORTABLE, OCTAVES = 0.55, 0.9
_REPEATS = (1, 2, 3, 4, 6, 8)  # beats after which movements repeat
_NEAR = 0.08  # maximum distance (natural log) from a spectral peak to the repeating period
_ALIKE = 0.06  # minimum self-similarity; lower values occur by chance
# Typical relative error of a period measured by self-similarity. (The error of a spectral peak
# falls with the number of beats.) If the two measurements differ by more than `_AGREE` (natural
# log), the tempo is not steady.
LAG_ERROR, _AGREE = 0.012, 0.035
_FINE = 16  # factor of the zero padding of the periodogram
_RATIOS = tuple(Fraction(a, b) for a, b in ((1, 4), (1, 3), (1, 2), (2, 3), (3, 4), (1, 1),
                                            (4, 3), (3, 2), (2, 1), (3, 1), (4, 1)))  # fmt: skip


@dataclass(frozen=True)
class Period:
    """Possible beat period.

    Attributes
    ----------
    seconds : float
    strength : float
        Strength relative to the strongest period, 0 to 1.
    repeats : int
        Number of periods after which the motion repeats; 0 if it does not.
    likeness : float
        Correlation of the motion with itself after `repeats` periods, 0 to 1.
    ratio : Fraction or None
        Ratio to the chosen period, or None if it is not a simple fraction.
    """

    seconds: float
    strength: float
    repeats: int = 0
    likeness: float = 0.0
    ratio: Fraction | None = Fraction(1)


def superposed(candidates: Candidates, *, rate: float = RATE) -> Array:
    """Return the weighted sum of all signals' piecewise cosines, equation (4), at `rate` Hz."""
    moments = np.arange(int(candidates.seconds * rate) + 1) / rate
    total = np.zeros(len(moments))
    order = np.argsort(candidates.signals, kind="stable")
    signals = candidates.signals[order]
    times, sizes = candidates.times[order], candidates.sizes[order]
    edges = np.flatnonzero(np.diff(signals, prepend=-1, append=-1))
    for start, end in zip(edges[:-1], edges[1:], strict=True):
        if end - start >= 2:
            weight = float(np.median(sizes[start:end]))
            _add_cosine(total, moments, times[start:end], weight)
    return total


def _add_cosine(total: Array, moments: Array, crests: Array, weight: float) -> None:
    first, last = np.searchsorted(moments, [crests[0], crests[-1]])
    inside = moments[first:last]
    after = np.clip(np.searchsorted(crests, inside, side="right"), 1, len(crests) - 1)
    gap = np.maximum(crests[after] - crests[after - 1], 1e-9)
    total[first:last] += weight * np.cos(2.0 * np.pi * (inside - crests[after - 1]) / gap)


def periodogram(signal: Array, *, rate: float = RATE) -> tuple[Array, Array]:
    """Return the power spectrum of a signal, equation (5): frequencies in hertz and powers."""
    centered = signal - signal.mean()
    size = 1 << int(np.ceil(np.log2(max(_FINE * len(signal), 4096))))
    power = np.abs(np.fft.rfft(centered, size)) ** 2 / max(len(signal), 1)
    return np.fft.rfftfreq(size, 1.0 / rate).astype(np.float64), power


def contrast(signal: Array, *, shortest: float, longest: float, rate: float = RATE) -> float:
    """Return the height of the highest spectral peak, relative to the maximum expected of noise.

    The noise level is that of the octave around the peak. Motion without rhythm has a broad hill in
    the spectrum, whereas a rhythm is a narrow peak.
    """
    frequencies, power = periodogram(signal, rate=rate)
    inside = (frequencies >= 1.0 / longest) & (frequencies <= 1.0 / shortest)
    if not inside.any() or power[inside].max() <= 0.0:
        return 0.0
    top = float(power[inside].max())
    crest = frequencies[inside][int(np.argmax(power[inside]))]
    around = (frequencies > crest / np.sqrt(2.0)) & (frequencies < crest * np.sqrt(2.0))
    # The powers of noise are exponentially distributed; this is the expected maximum of independent
    # powers.
    independent = max(len(signal) / rate * (1.0 / shortest - 1.0 / longest), 1.0)
    return top / (float(power[around].mean()) * (np.log(independent) + np.euler_gamma))


def self_similarity(signals: Array, *, rate: float, longest: float) -> Array:
    """Return the autocorrelation (L,) of a motion; lag k is ``k / rate`` seconds.

    `signals` (T, D) has one vector per frame. Lags at which less than 30 % of the frames overlap
    are omitted.
    """
    x = signals - signals.mean(axis=0)
    count = len(x)
    lags = min(int(longest * rate) + 2, int(0.7 * count))
    size = 1 << int(np.ceil(np.log2(max(2 * count, 2))))
    spectrum = np.sum(np.abs(np.fft.rfft(x, size, axis=0)) ** 2, axis=1)
    products = np.fft.irfft(spectrum, size)[:lags]
    energy = np.concatenate([[0.0], np.cumsum(np.sum(x**2, axis=1))])
    lag = np.arange(lags)
    scale = np.sqrt(np.maximum(energy[count - lag] * (energy[count] - energy[lag]), 1e-300))
    return products / scale


def periods(
    signal: Array, likeness: Array | None, *, rate: float, shortest: float, longest: float
) -> list[Period]:
    """Return possible periods by strength, the best first, refined by self-similarity.

    Parameters
    ----------
    signal : ndarray, shape (M,)
        Signal, as returned by `superposed`.
    likeness : ndarray, shape (L,), optional
        Result of `self_similarity`, with `rate` lags per second. If omitted, the best period is
        that of the highest power of the periodogram, equation (6).
    rate : float
    shortest, longest : float
        Range of plausible periods, in seconds.

    Returns
    -------
    periods : list of Period
        Possible periods; empty if the spectrum has no power in the range.
    """
    frequencies, power = periodogram(signal)
    inside = (frequencies >= 1.0 / longest) & (frequencies <= 1.0 / shortest)
    seconds, power = 1.0 / frequencies[inside], power[inside]
    if len(power) < 3 or power.max() <= 0.0:
        return []
    if likeness is None:  # equation (6): the highest power, even at an end of the range
        power = power / power.max()
        top = int(np.argmax(power))
        peaks = [Period(float(seconds[top]), 1.0), *_spectral(seconds, power)]
        return _distinct(sorted(peaks, key=lambda peak: -peak.strength), shortest, longest)
    comfort = np.exp(-0.5 * (np.log2(seconds / COMFORTABLE) / OCTAVES) ** 2)
    weighed = power * comfort
    weighed = weighed / weighed.max()
    possible = _spectral(seconds, weighed) + _repeating(
        seconds, weighed, likeness, rate, len(signal) / RATE
    )
    return _distinct(sorted(possible, key=lambda period: -period.strength), shortest, longest)


def led_by(first: Period, possible: list[Period]) -> list[Period]:
    """Move `first` to the front, and make ratios and strengths relative to it."""
    others = [period for period in possible if period is not first]
    return _distinct([first, *others], 0.0, np.inf)


def at_level(possible: list[Period], level: float) -> Period:
    """Return the period of another metrical level, taken from `possible` if it is listed there."""
    wanted = possible[0].seconds * level
    near = [period for period in possible[1:] if abs(np.log(period.seconds / wanted)) < _NEAR]
    return near[0] if near else Period(wanted, possible[0].strength, ratio=simple_ratio(level))


def other_levels(signal: Array, best: Period) -> list[Period]:
    """Return half and twice the best period, with their power relative to it.

    Both are always reported, because it is ambiguous which metrical level is the beat.
    """
    ratios = (Fraction(1, 2), Fraction(2))
    whole, *levels = powers_at(signal, [best.seconds * float(ratio) for ratio in (1, *ratios)])
    return [
        Period(best.seconds * float(ratio), min(power / max(whole, 1e-300), 1.0), ratio=ratio)
        for ratio, power in zip(ratios, levels, strict=True)
    ]


def powers_at(signal: Array, periods: Sequence[float]) -> list[float]:
    """Return the largest power of a signal within 4 % of each of several periods in seconds."""
    frequencies, power = periodogram(signal)
    powers = []
    for seconds in periods:
        near = np.abs(np.log(np.maximum(frequencies, 1e-9) * seconds)) < 0.5 * _NEAR
        powers.append(float(power[near].max()) if near.any() else 0.0)
    return powers


def _spectral(seconds: Array, power: Array) -> list[Period]:
    crest = np.flatnonzero(
        (power[1:-1] >= power[:-2]) & (power[1:-1] > power[2:]) & (power[1:-1] > 0.1)
    )
    best = [Period(float(seconds[k]), float(power[k])) for k in crest + 1]
    top = int(np.argmax(power))
    return best or [Period(float(seconds[top]), float(power[top]))]


def _repeating(
    seconds: Array, power: Array, likeness: Array, rate: float, duration: float
) -> list[Period]:
    """Return periods such that a lag with high self-similarity is a multiple of them."""
    lags = [(lag, value) for lag, value in _crests(likeness, rate) if value > _ALIKE]
    if not lags:
        return []
    most = max(value for _, value in lags)
    logs = np.log(seconds)
    repeating = []
    for lag, value in lags:
        for beats in _REPEATS:
            period = lag / beats
            near = np.exp(-0.5 * ((logs - np.log(period)) / _NEAR) ** 2)
            crest = int(np.argmax(power * near))
            nearby = float(power[crest] * near[crest])
            if nearby > 0.1 and seconds[-1] <= period <= seconds[0]:
                # Prefer fewer beats, because more beats are more likely to fit by chance.
                strength = nearby * (1.0 + value / most) * (1.0 - 0.03 * beats)
                both = _between(period, float(seconds[crest]), duration)
                repeating.append(Period(both, strength, beats, min(float(value), 1.0)))
    return repeating


def _between(repeating: float, spectral: float, duration: float) -> float:
    """Average two measurements of a period, weighted by precision.

    If they disagree, the tempo varies, and only the period from self-similarity is used, because a
    varying tempo shifts spectral peaks more than lags.
    """
    if abs(np.log(repeating / spectral)) > _AGREE:
        return repeating
    beats = duration / spectral
    trust = np.array([1.0 / LAG_ERROR, 3.0 * beats]) ** 2
    return float(np.exp(np.average(np.log([repeating, spectral]), weights=trust)))


def _crests(values: Array, rate: float) -> list[tuple[float, float]]:
    here = np.flatnonzero((values[1:-1] >= values[:-2]) & (values[1:-1] > values[2:])) + 1
    here = here[here >= 0.2 * rate]
    before, at, after = values[here - 1], values[here], values[here + 1]
    shift = peak_offset(before, at, after)
    height = at - 0.25 * (before - after) * shift
    return list(zip((here + shift) / rate, height, strict=True))


def _distinct(possible: list[Period], shortest: float, longest: float) -> list[Period]:
    """Remove near duplicates, and make ratios and strengths relative to the first period."""
    kept: list[Period] = []
    for period in possible:
        if not shortest <= period.seconds <= longest:
            continue
        if all(abs(np.log(period.seconds / other.seconds)) > 0.1 for other in kept):
            first = kept[0] if kept else period
            strength = min(period.strength / first.strength, 1.0)
            ratio = simple_ratio(period.seconds / first.seconds)
            kept.append(Period(period.seconds, strength, period.repeats, period.likeness, ratio))
    return kept


def simple_ratio(value: float, *, within: float = 0.04) -> Fraction | None:
    """Return the simple fraction near `value`, or None.

    Examples
    --------
    >>> simple_ratio(0.505), simple_ratio(1.2)
    (Fraction(1, 2), None)
    """
    nearest = min(_RATIOS, key=lambda ratio: abs(np.log(value / float(ratio))))
    return nearest if abs(value / float(nearest) - 1.0) <= within else None
