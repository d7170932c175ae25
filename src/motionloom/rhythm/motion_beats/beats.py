"""Motion beats: when a body keeps time, and how surely (Kim, Park and Shin 2003, section 3).

Candidates are where joints turn back (`candidates`); their common period and phase make
reference beats (`beat_period`, `tracking`); around each of these the candidates are averaged
by Huber's M-estimator, which is the motion beat. A reference beat without candidates stands
for itself. Beyond the paper, half beats are told from beats by the feet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.rhythm.motion_beats.candidates import (
    Candidates,
    Kind,
    candidate_beats,
    smooth_angles,
)
from motionloom.rhythm.motion_beats.period import (
    Period,
    contrast,
    led_by,
    other_levels,
    periods,
    self_similarity,
    superposed,
)
from motionloom.rhythm.motion_beats.tracking import (
    density,
    grid_phase,
    local_periods,
    steady_beats,
    tracked_beats,
    with_ends,
)
from motionloom.rhythm.settings import LONGEST, RHYTHMIC, SHORTEST, BeatSettings

if TYPE_CHECKING:
    from motionloom.motion import Motion

Array = NDArray[np.float64]

_REPEAT_SECONDS = 4.0  # movements that repeat themselves do so within this
_HUBER = 0.04  # of a period: farther candidates count by their side only
# What the reference beat counts for among its candidates, of what they usually weigh: where a
# dancer hardly turns, two stray candidates are no beat.
_REFERENCE = 0.1
# Feet land on beats. Where hardly a landing in ten, of this many, falls on every other beat, and
# the period twice as long is half as strong or more, those are half beats: a body that lilts
# turns back between steps, too. Of 365 gaits and dances of CMU it changes none.
_STEPS, _STRAY, _AS_WELL = 8, 0.1, 0.5


@dataclass(frozen=True, eq=False)
class Beats:
    """Motion beats and what they were found from.

    Attributes
    ----------
    times : ndarray, shape (K,)
        Motion beats, seconds from the first frame.
    period : float
        Seconds between beats; where the tempo changes, the usual ones.
    phase : float
        Seconds, in [0, period): ``phase + k * period`` are regular beats nearest to `times`.
    confidence : float
        0 to 1: how much of what turns, turns with the beat, and how alike the motion is to
        itself some beats later. Below `RHYTHMIC` there is no rhythm to speak of.
    alternatives : tuple of Period
        Other periods the motion may be counted in, the strongest first, each with its ratio
        to `period` where that is simple (1/2: twice as many beats). Half and double are
        always among them.
    candidates : Candidates
        All evident turns of all joints.
    reference : ndarray, shape (K,)
        Reference beats that `times` were estimated around.
    repeats : int
        Beats after which the motion repeats itself, 0 if it does not: a hint at the meter.
    fps, seconds : float
        Rate and duration of the motion.

    Examples
    --------
    >>> import motionloom as ml
    >>> found = ml.beats(ml.demo.clip("dance_groove"))
    >>> found.bpm > 60, len(found) > 10
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

    def __len__(self) -> int:
        return len(self.times)

    @property
    def bpm(self) -> float:
        """Beats per minute."""
        return 60.0 / self.period

    @property
    def frames(self) -> Array:
        """Beats in frames of the motion, not rounded, shape (K,)."""
        return self.times * self.fps

    @property
    def rhythmic(self) -> bool:
        """Whether there is a rhythm at all."""
        return self.confidence >= RHYTHMIC

    def as_dict(self) -> dict:
        """Plain data, as ``motionloom beats --json`` prints it."""
        return {
            "beats": [round(float(time), 5) for time in self.times],
            "period": self.period,
            "phase": self.phase,
            "bpm": self.bpm,
            "confidence": self.confidence,
            "rhythmic": self.rhythmic,
            "repeats": self.repeats,
            "alternatives": [
                {
                    "period": one.seconds,
                    "bpm": 60.0 / one.seconds,
                    "ratio": str(one.ratio) if one.ratio else None,
                    "strength": one.strength,
                }
                for one in self.alternatives
            ],
            "candidates": len(self.candidates),
        }


def beats(
    motion: Motion | Sequence[Motion],
    *,
    tempo_bpm: tuple[float, float] = (60.0 / LONGEST, 60.0 / SHORTEST),
    steady: bool = False,
    weights: Mapping[str, float] | None = None,
    kind: Kind = "turns",
) -> Beats:
    """When a motion keeps time.

    Parameters
    ----------
    motion : Motion, or several
        Several characters that move to one beat (a couple) are analysed together; their
        motions must have one rate and one length.
    tempo_bpm : pair of float
        Least and greatest plausible tempo, beats per minute.
    steady : bool
        Reference beats on one regular grid, as in the paper, instead of a tempo that may
        change.
    weights : dict, optional
        Role or joint name to a factor on its turns; 0 leaves a joint out.
    kind : {"turns", "acceleration"}
        What counts as a candidate; see `motionloom.rhythm.motion_beats.candidates`.

    Returns
    -------
    beats : Beats

    Raises
    ------
    InvalidInput
        If the motion is shorter than three of the shortest periods, or the tempo range means
        nothing. A motion without rhythm is not an error: its `confidence` is low.

    Examples
    --------
    >>> import motionloom as ml
    >>> found = ml.beats(ml.demo.clip("dance_groove"))
    >>> truth = ml.demo.annotated("dance_groove").truth
    >>> abs(found.bpm / truth.tempo_bpm - 1) < 0.01, found.rhythmic
    (True, True)
    """
    return analyse_beats(
        _together(motion),
        BeatSettings(tempo_bpm=tempo_bpm, steady=steady, weights=weights, kind=kind),
    )


def analyse_beats(motions: Sequence[Motion], settings: BeatSettings) -> Beats:
    """Motion beats of one motion, or of several that move together; see `beats`."""
    motions = _together(motions)
    slow, fast = settings.tempo_bpm
    shortest, longest = 60.0 / float(fast), 60.0 / float(slow)
    first = motions[0]
    if first.duration < 3.0 * shortest:
        raise InvalidInput(
            f"a rhythm takes at least {3.0 * shortest:.2f} s to show; {first.name or 'the motion'} "
            f"lasts {first.duration:.2f} s"
        )
    candidates = candidate_beats(motions, weights=settings.weights, kind=settings.kind)
    signal = superposed(candidates)
    likeness = _likeness(motions)
    found = periods(
        signal, likeness, rate=first.fps, shortest=shortest,
        longest=min(longest, 0.6 * first.duration),
    )  # fmt: skip
    if not found or len(candidates) < 3:
        return _nothing(candidates, first, longest)
    reference, times = _counted(candidates, signal, found[0].seconds, steady=settings.steady)
    slower = next((one for one in found if one.ratio == 2 and one.strength >= _AS_WELL), None)
    if slower is not None and steps_alternate(times, candidates.landings):
        found = led_by(slower, found)
        reference, times = _counted(candidates, signal, slower.seconds, steady=settings.steady)
    best = found[0]
    period = _refined(best, times)
    return Beats(
        times=times,
        period=period,
        phase=_phase(times, period),
        confidence=_confidence(
            best,
            contrast(signal, shortest=shortest, longest=longest),
            len(times),
            candidates.seconds,
        ),
        alternatives=_alternatives(found, signal, period),
        candidates=candidates,
        reference=reference,
        repeats=best.repeats,
        fps=first.fps,
        seconds=first.duration,
    )


def huber_beats(candidates: Candidates, reference: Array) -> Array:
    """Motion beats from candidates around reference beats, equations (9) to (11), shape (K,).

    Around each reference beat, half-way to its neighbours, the weighted Huber estimate of
    location; the reference beat itself where no candidate falls. Beyond the paper, the reference
    beat counts a little itself.
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
    own = _REFERENCE * float(np.median(sums[bounds[1]] - sums[bounds[0]]))
    for k, (start, end) in enumerate(bounds.T):
        if end > start:
            out[k] = _huber(
                np.append(candidates.times[start:end], reference[k]),
                np.append(weights[start:end], own),
                reference[k], _HUBER * (right[k] - left[k]),
            )  # fmt: skip
    return out


def steps_alternate(times: Array, landings: Array) -> bool:
    """Whether feet land on every other beat alone: then those are the beats."""
    nearest = np.searchsorted(0.5 * (times[1:] + times[:-1]), landings)
    odd, count = int(np.sum(nearest % 2)), len(nearest)
    return count >= _STEPS and min(odd, count - odd) <= _STRAY * count


def _huber(times: Array, weights: Array, guess: float, bend: float) -> float:
    """Weighted Huber estimate of location by reweighting; the loss is convex."""
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
        raise InvalidInput("beats needs a motion; got an empty list")
    first = motions[0]
    for other in motions[1:]:
        if len(other) != len(first) or abs(other.fps - first.fps) > 1e-6 * first.fps:
            raise InvalidInput(
                "motions analysed together must have one rate and one length; got "
                f"{len(first)} frames at {first.fps:g} fps and {len(other)} at {other.fps:g}"
            )
    return motions


def _likeness(motions: list[Motion]) -> Array:
    """Self-similarity of joint angles and, mostly, of their velocities."""
    from scipy.ndimage import gaussian_filter1d

    angles = np.concatenate([smooth_angles(motion) for motion in motions], axis=1)
    fps = motions[0].fps
    speeds = np.gradient(angles, axis=0) * fps
    swings = angles - gaussian_filter1d(angles, 0.5 * fps, axis=0, mode="nearest")
    options = {"rate": fps, "longest": _REPEAT_SECONDS}
    return 0.3 * self_similarity(swings, **options) + 0.7 * self_similarity(speeds, **options)


def _counted(
    candidates: Candidates, signal: Array, period: float, *, steady: bool
) -> tuple[Array, Array]:
    """Reference beats and motion beats of a period."""
    reference = _reference(candidates, signal, period, steady=steady)
    times = huber_beats(candidates, reference)
    return reference, _edges(times, reference, period, candidates.seconds)


def _reference(candidates: Candidates, signal: Array, period: float, *, steady: bool) -> Array:
    # A period of nothing at either end still belongs to the rhythm.
    first = max(candidates.times[0] - 1.1 * period, 0.0)
    last = min(candidates.times[-1] + 1.1 * period, candidates.seconds)
    if steady:
        return steady_beats(grid_phase(signal, period), period, first, last)
    local = local_periods(signal, period)
    found = tracked_beats(density(candidates), local, first, last)
    return with_ends(found, first, last, before=float(local[0]), after=float(local[-1]))


def _edges(times: Array, reference: Array, period: float, seconds: float) -> Array:
    """Beats so near an end that half of their candidates are cut off follow their neighbours."""
    if len(times) < 4:
        return times
    times = times.copy()
    if reference[0] < 0.15 * period:
        times[0] = max(times[1] - float(np.median(np.diff(times[1:5]))), 0.0)
    if reference[-1] > seconds - 0.15 * period:
        times[-1] = min(times[-2] + float(np.median(np.diff(times[-5:-1]))), seconds)
    return times


def _refined(best: Period, times: Array) -> float:
    """The period: as the motion repeats itself, or by the beats where it does not."""
    gaps = np.diff(times)
    usual = gaps[np.abs(np.log(np.maximum(gaps, 1e-9) / best.seconds)) < 0.25]
    if best.repeats or len(usual) < 4:
        return best.seconds
    return float(np.mean(usual))


def _alternatives(found: list[Period], signal: Array, period: float) -> tuple[Period, ...]:
    """What else was found, and in any case the levels an octave away; the strongest first."""
    others = list(found[1:5])
    told = {other.ratio for other in others}
    levels = other_levels(signal, replace(found[0], seconds=period))
    others += [level for level in levels if level.ratio not in told]
    return tuple(sorted(others, key=lambda other: -other.strength))


def _phase(times: Array, period: float) -> float:
    if not len(times):
        return 0.0
    turn = np.sum(np.exp(2j * np.pi * times / period))
    return float((np.angle(turn) / (2.0 * np.pi) * period) % period)


def _confidence(best: Period, contrast: float, beats: int, seconds: float) -> float:
    """From how far the period stands out of the periodogram, and from self-similarity.

    Motions without rhythm have a contrast of at most 1, walks and salsas about 1.4, dances 1.5
    to 4 (medians of CMU takes, and the built-in corpus). Either witness is enough; both count
    for less where there are few beats, or hardly time to repeat anything.
    """
    heard = (1.0 - np.exp(-1.2 * max(contrast - 0.9, 0.0))) * min(beats / 8.0, 1.0)
    rounds = seconds / (best.repeats * best.seconds) if best.repeats else 1.0
    alike = max(best.likeness - 0.1, 0.0) / 0.9 * min(max(rounds - 1.0, 0.0) / 2.0, 1.0)
    return float(1.0 - (1.0 - heard) * (1.0 - alike))


def _nothing(candidates: Candidates, motion: Motion, longest: float) -> Beats:
    empty = np.zeros(0)
    return Beats(empty, longest, 0.0, 0.0, (), candidates, empty, 0, motion.fps, motion.duration)
