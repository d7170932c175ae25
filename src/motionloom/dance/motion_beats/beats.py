"""Motion beats and their confidence (Kim, Park and Shin 2003, section 3).

Candidates are changes of direction (module `candidates`). From their dominant period (`period`),
dynamic programming finds reference beats (`tracking`). A motion beat is Huber's M-estimate of the
candidates around a reference beat, or the reference beat if there are no candidates. Unlike in the
paper, foot landings are used to distinguish beats from half beats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motionloom.dance.motion_beats.candidates import (
    Candidates,
    candidate_beats,
    smooth_angles,
)
from motionloom.dance.motion_beats.landings import (
    LandingFit,
    landed_beats,
    landing_events,
    landing_fit,
)
from motionloom.dance.motion_beats.period import (
    Period,
    at_level,
    contrast,
    led_by,
    other_levels,
    periods,
    self_similarity,
    superposed,
)
from motionloom.dance.motion_beats.steps import (
    led_by_landings,
    led_by_steps,
    step_cycle,
    step_period,
)
from motionloom.dance.motion_beats.tracking import (
    density,
    grid_phase,
    local_periods,
    steady_beats,
    tracked_beats,
    with_ends,
)
from motionloom.dance.settings import RHYTHMIC, BeatSettings
from motionloom.errors import InvalidInput
from motionloom.motion.smoothing import gaussian_smooth
from motionloom.settings import takes

if TYPE_CHECKING:
    from motionloom.motion import Motion

Array = NDArray[np.float64]

_REPEAT_SECONDS = 4.0  # longest time after which a repetition is looked for, in seconds
_HUBER = 0.04  # threshold of Huber's loss, as a fraction of the period
# Weight of the reference beat among its candidates, as a fraction of their median total weight. It
# prevents two stray candidates of a dancer who hardly moves from defining a beat.
OWN = 0.1
# Feet land on beats. Every other beat is taken for a half beat if there are at least 8 landings, at
# most a tenth of them fall on these beats, and twice the period is at least half as strong. (A body
# may also change direction between steps.) This rule changes none of 365 gaits and dances of CMU.
_STEPS, _STRAY, _AS_WELL = 8, 0.1, 0.5
# If there are more landings per beat than this, the number of beats is doubled, so that each step
# has a beat. Walks and marches have 1 landing per beat. CMU's 94 (Indian dance) has 1.4 to 1.8 at
# the period that the body suggests.
_CROWDED = 1.2


@dataclass(frozen=True, eq=False)
class Beats:
    """Motion beats of a motion.

    Attributes
    ----------
    times : ndarray, shape (K,)
        Motion beats, in seconds from the first frame.
    period : float
        Typical number of seconds between beats.
    phase : float
        Offset in seconds, in [0, period), of the grid ``phase + k * period`` that fits `times`
        best.
    confidence : float
        Confidence from 0 to 1, computed from the contrast of the periodogram and the
        self-similarity of the motion. Motions with less than `RHYTHMIC` count as having no rhythm.
    alternatives : tuple of Period
        Other possible periods, the strongest first. Each has its ratio to `period` if that is a
        simple fraction (1/2 means twice as many beats). Half and twice the period are always
        included.
    candidates : Candidates
        Changes of direction of all joints.
    reference : ndarray, shape (K,)
        Reference beats around which `times` were estimated.
    repeats : int
        Number of beats after which the motion repeats, or 0 if it does not. It is a hint at the
        meter.
    fps, seconds : float
        Frame rate and duration of the motion.
    given : bool
        True if the tempo or the first beat was set by hand.

    Examples
    --------
    >>> import motionloom as ml
    >>> detected = ml.beats(ml.demo.clip("dance_groove"))
    >>> detected.bpm > 60, len(detected) > 10
    (True, True)
    """

    times: Array
    period: float
    phase: float
    confidence: float
    alternatives: tuple[Period, ...]
    candidates: Candidates
    reference: Array
    repeats: int
    fps: float
    seconds: float
    given: bool = False

    def __len__(self) -> int:
        return len(self.times)

    @property
    def bpm(self) -> float:
        """Beats per minute."""
        return 60.0 / self.period

    @property
    def frames(self) -> Array:
        """Beats in fractional frames, shape (K,)."""
        return self.times * self.fps

    def on_landings(self) -> Beats:
        """Return the beats moved to foot landings where possible; see `landed_beats`."""
        moved = landed_beats(self.times, self.candidates.landings, seconds=self.seconds)
        return replace(self, times=moved)

    @cached_property
    def landings(self) -> LandingFit:
        """Compare the foot landings with the beats."""
        return landing_fit(self.candidates.landings, self.times, fps=self.fps)

    @property
    def rhythmic(self) -> bool:
        """True if the motion has a rhythm."""
        return self.confidence >= RHYTHMIC

    def as_dict(self) -> dict:
        """Return the beats as plain data, as printed by ``motionloom beats --json``."""
        return {
            "beats": [round(float(time), 5) for time in self.times],
            "period": self.period,
            "phase": self.phase,
            "bpm": self.bpm,
            "confidence": self.confidence,
            "rhythmic": self.rhythmic,
            "given": self.given,
            "repeats": self.repeats,
            "alternatives": [
                {
                    "period": period.seconds,
                    "bpm": 60.0 / period.seconds,
                    "ratio": str(period.ratio) if period.ratio else None,
                    "strength": period.strength,
                }
                for period in self.alternatives
            ],
            "candidates": len(self.candidates),
            "landings": self.landings.to_json(),
        }


@takes(BeatSettings)
def beats(
    motion: Motion | Sequence[Motion], settings: BeatSettings | None = None, **options: Any
) -> Beats:
    """Find the beats of a motion.

    Parameters
    ----------
    motion : Motion, or several
        Motions of characters that move together, such as a couple, are analyzed together. They
        must have the same frame rate and length.
    settings : BeatSettings, optional

    Returns
    -------
    beats : Beats

    Raises
    ------
    InvalidInput
        If the motion is shorter than three times the shortest period, or the tempo range is empty.
        A motion without rhythm does not raise an error but has a low `confidence`.

    Examples
    --------
    >>> import motionloom as ml
    >>> detected = ml.beats(ml.demo.clip("dance_groove"))
    >>> truth = ml.demo.annotated("dance_groove").truth
    >>> abs(detected.bpm / truth.tempo_bpm - 1) < 0.01, detected.rhythmic
    (True, True)
    """
    return analyze_beats(_together(motion), BeatSettings.given(settings, options))


def analyze_beats(motions: Sequence[Motion], settings: BeatSettings) -> Beats:
    """Find the motion beats of one motion, or of several motions together; see `beats`."""
    motions = _together(motions)
    slow, fast = settings.tempo_bpm
    shortest, longest = 60.0 / float(fast), 60.0 / float(slow)
    first = motions[0]
    least = 3.0 * (60.0 / settings.bpm if settings.bpm else shortest)
    if first.duration < least:
        raise InvalidInput(
            f"beats need at least {least:.2f} s of motion; {first.name or 'the motion'} "
            f"lasts {first.duration:.2f} s"
        )
    if settings.first_beat is not None and settings.first_beat > first.duration:
        raise InvalidInput(
            f"first_beat must be within {first.name or 'the motion'}, which lasts "
            f"{first.duration:.2f} s; got {settings.first_beat:g} s"
        )
    candidates = candidate_beats(
        motions, weights=settings.weights, kind=settings.candidates, weighted=settings.weighted,
        smoothing=settings.cleaning.smoothing, min_turn=settings.cleaning.min_turn,
    )  # fmt: skip
    signal = superposed(candidates)
    possible = _possible_periods(motions, candidates, signal, settings)
    if not possible:
        return _no_beats(candidates, first, longest)
    possible, reference, times = _beats_of(candidates, signal, possible, settings)
    best = possible[0]
    given = settings.bpm is not None or settings.first_beat is not None
    period = best.seconds
    if not given and settings.period == "combined":
        period = step_period(_refined(best, times), candidates.feet)
    sure = _confidence(
        best, contrast(signal, shortest=shortest, longest=longest), len(times), candidates.seconds
    )
    return Beats(
        times=times,
        period=period,
        phase=_phase(times, period),
        confidence=1.0 if given else sure,
        alternatives=_alternatives(possible, signal, period),
        candidates=candidates,
        reference=reference,
        repeats=best.repeats,
        fps=first.fps,
        seconds=first.duration,
        given=given,
    )


def _possible_periods(
    motions: list[Motion], candidates: Candidates, signal: Array, settings: BeatSettings
) -> list[Period]:
    """Return possible periods, the best first; empty if there are none."""
    first = motions[0]
    fast, slow = (60.0 / float(tempo) for tempo in reversed(settings.tempo_bpm))
    likeness = _likeness(motions) if settings.period == "combined" else None
    longest = slow if likeness is None else min(slow, 0.6 * first.duration)
    possible = periods(signal, likeness, rate=first.fps, shortest=fast, longest=longest)
    if settings.bpm is not None:
        exact = Period(
            60.0 / settings.bpm, max((period.strength for period in possible), default=1.0)
        )
        return led_by(exact, [exact, *possible])
    if not possible or len(candidates) < 3:
        return []
    if likeness is None:
        return possible
    cycle = step_cycle(candidates.feet, candidates.seconds)
    if cycle is not None:
        possible = led_by_steps(
            possible, cycle, likeness, signal, rate=first.fps, shortest=fast, longest=slow
        )
    return led_by_landings(possible, candidates.feet, shortest=fast, longest=slow)


def _beats_of(
    candidates: Candidates, signal: Array, possible: list[Period], settings: BeatSettings
) -> tuple[list[Period], Array, Array]:
    """Return the periods, the chosen one first, with the reference beats and the motion beats."""
    is_given = settings.bpm is not None
    if settings.level != 1.0 and (is_given or settings.first_beat is not None):
        possible = led_by(at_level(possible, settings.level), possible)
    if settings.first_beat is not None or len(candidates) < 3:
        grid = steady_beats(
            settings.first_beat or 0.0, possible[0].seconds, 0.0, candidates.seconds
        )  # fmt: skip
        return possible, grid, grid
    if not is_given and settings.period == "combined":
        possible = _level_of_steps(
            candidates, signal, possible, shortest=60.0 / settings.tempo_bpm[1]
        )
    reference, times = _counted(candidates, signal, possible[0].seconds, settings)
    if is_given:
        return possible, reference, times
    slower = next(
        (period for period in possible if period.ratio == 2 and period.strength >= _AS_WELL), None
    )
    combined = settings.period == "combined"
    if combined and slower is not None and steps_alternate(times, candidates.landings):
        possible = led_by(slower, possible)
        reference, times = _counted(candidates, signal, slower.seconds, settings)
    if settings.level != 1.0:
        possible = led_by(at_level(possible, settings.level), possible)
        reference, times = _counted(candidates, signal, possible[0].seconds, settings)
    return possible, reference, times


def _level_of_steps(
    candidates: Candidates, signal: Array, possible: list[Period], *, shortest: float
) -> list[Period]:
    """Move half of the best period to the front if feet land more than once per beat."""
    landed = [len(landing_events(np.concatenate(feet))) for feet in candidates.feet]
    period = possible[0].seconds
    crowded = float(np.mean(landed or [0])) > _CROWDED * candidates.seconds / period
    if not crowded or 0.5 * period < shortest:
        return possible
    return led_by(at_level(possible, 0.5), possible)


def huber_beats(candidates: Candidates, reference: Array, *, own_weight: float = OWN) -> Array:
    """Estimate motion beats (K,) from the candidates near reference beats, equations (9) to (11).

    A motion beat is the weighted Huber estimate of location of the candidates nearest to a
    reference beat, or the reference beat if it has no candidates. Unlike in the paper, the
    reference beat also counts, with the weight `own_weight`, a fraction of the median total weight
    of the candidates.
    """
    if len(reference) < 2:
        return reference.copy()
    middle = 0.5 * (reference[1:] + reference[:-1])
    gaps = np.diff(reference)
    left = np.concatenate([[reference[0] - 0.5 * gaps[0]], middle])
    right = np.concatenate([middle, [reference[-1] + 0.5 * gaps[-1]]])
    weights = candidates.weights
    out = reference.copy()
    bounds = np.searchsorted(candidates.times, np.stack([left, right]))
    sums = np.concatenate([[0.0], np.cumsum(weights)])
    own = own_weight * float(np.median(sums[bounds[1]] - sums[bounds[0]]))
    for k, (start, end) in enumerate(bounds.T):
        if end > start:
            out[k] = _huber(
                np.append(candidates.times[start:end], reference[k]),
                np.append(weights[start:end], own),
                reference[k], _HUBER * (right[k] - left[k]),
            )  # fmt: skip
    return out


def steps_alternate(times: Array, landings: Array) -> bool:
    """Return whether feet land only on every other beat, in which case only those are beats."""
    nearest = np.searchsorted(0.5 * (times[1:] + times[:-1]), landings)
    odd, count = int(np.sum(nearest % 2)), len(nearest)
    return count >= _STEPS and min(odd, count - odd) <= _STRAY * count


def _huber(times: Array, weights: Array, guess: float, bend: float) -> float:
    """Compute the weighted Huber estimate of location by iterative reweighting."""
    for _ in range(100):
        off = np.abs(times - guess)
        pull = weights * np.minimum(1.0, bend / np.maximum(off, 1e-12))
        better = float(np.sum(pull * times) / np.sum(pull))
        if abs(better - guess) < 1e-6:
            return better
        guess = better
    return guess


def _together(motion: Motion | Sequence[Motion]) -> list[Motion]:
    motions = list(motion) if isinstance(motion, Sequence) else [motion]
    if not motions:
        raise InvalidInput("motion must be one or more motions; got an empty list")
    first = motions[0]
    for other in motions[1:]:
        if len(other) != len(first) or abs(other.fps - first.fps) > 1e-6 * first.fps:
            raise InvalidInput(
                "motions analyzed together must have the same frame rate and length; got "
                f"{len(first)} frames at {first.fps:g} fps and {len(other)} at {other.fps:g}"
            )
    return motions


def _likeness(motions: list[Motion]) -> Array:
    """Return the self-similarity of motions: 30 % from joint angles, 70 % from velocities."""
    angles = np.concatenate([smooth_angles(motion) for motion in motions], axis=1)
    fps = motions[0].fps
    speeds = np.gradient(angles, axis=0) * fps
    swings = angles - gaussian_smooth(angles, 0.5 * fps)
    options = {"rate": fps, "longest": _REPEAT_SECONDS}
    return 0.3 * self_similarity(swings, **options) + 0.7 * self_similarity(speeds, **options)


def _counted(
    candidates: Candidates, signal: Array, period: float, settings: BeatSettings
) -> tuple[Array, Array]:
    """Return the reference beats and motion beats for a period."""
    reference = _reference(candidates, signal, period, steady=settings.steady)
    own = OWN if settings.weighted else 0.0
    times = huber_beats(candidates, reference, own_weight=own)
    if not settings.cleaning.extrapolate:
        return reference, times
    return reference, _edges(times, reference, period, candidates.seconds)


def _reference(candidates: Candidates, signal: Array, period: float, *, steady: bool) -> Array:
    # Beats may lie up to one period outside the candidates.
    first = max(candidates.times[0] - 1.1 * period, 0.0)
    last = min(candidates.times[-1] + 1.1 * period, candidates.seconds)
    if steady:
        return steady_beats(grid_phase(signal, period), period, first, last)
    local = local_periods(signal, period)
    beats = tracked_beats(density(candidates), local, first, last)
    return with_ends(beats, first, last, before=float(local[0]), after=float(local[-1]))


def _edges(times: Array, reference: Array, period: float, seconds: float) -> Array:
    """Extrapolate beats near the ends, where half of the candidates are missing."""
    if len(times) < 4:
        return times
    times = times.copy()
    if reference[0] < 0.15 * period:
        times[0] = max(times[1] - float(np.median(np.diff(times[1:5]))), 0.0)
    if reference[-1] > seconds - 0.15 * period:
        times[-1] = min(times[-2] + float(np.median(np.diff(times[-5:-1]))), seconds)
    return times


def _refined(best: Period, times: Array) -> float:
    """Return the period from self-similarity, or from the beats if the motion does not repeat."""
    gaps = np.diff(times)
    regular = gaps[np.abs(np.log(np.maximum(gaps, 1e-9) / best.seconds)) < 0.25]
    if best.repeats or len(regular) < 4:
        return best.seconds
    return float(np.mean(regular))


def _alternatives(possible: list[Period], signal: Array, period: float) -> tuple[Period, ...]:
    """Return other possible periods, the strongest first, including half and twice the best one."""
    others = list(possible[1:5])
    ratios = {other.ratio for other in others}
    levels = other_levels(signal, replace(possible[0], seconds=period))
    others += [level for level in levels if level.ratio not in ratios]
    return tuple(sorted(others, key=lambda other: -other.strength))


def _phase(times: Array, period: float) -> float:
    if not len(times):
        return 0.0
    turn = np.sum(np.exp(2j * np.pi * times / period))
    return float((np.angle(turn) / (2.0 * np.pi) * period) % period)


def _confidence(best: Period, contrast: float, beats: int, seconds: float) -> float:
    """Compute the confidence from the contrast of the periodogram and from self-similarity.

    Motions without rhythm have a contrast of at most 1, walks and salsas about 1.4, and dances 1.5
    to 4 (medians over CMU takes and the built-in corpus). One strong measure is sufficient for a
    high confidence. Both count less if there are few beats or repetitions.
    """
    spectral = (1.0 - np.exp(-1.2 * max(contrast - 0.9, 0.0))) * min(beats / 8.0, 1.0)
    rounds = seconds / (best.repeats * best.seconds) if best.repeats else 1.0
    alike = max(best.likeness - 0.1, 0.0) / 0.9 * min(max(rounds - 1.0, 0.0) / 2.0, 1.0)
    return float(1.0 - (1.0 - spectral) * (1.0 - alike))


def _no_beats(candidates: Candidates, motion: Motion, longest: float) -> Beats:
    empty = np.zeros(0)
    return Beats(empty, longest, 0.0, 0.0, (), candidates, empty, 0, motion.fps, motion.duration)
