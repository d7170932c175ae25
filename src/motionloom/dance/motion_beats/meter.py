"""Estimate the meter of a dance, which is the number of beats per movement, 2 to 8.

The paper takes the meter from the kind of dance; the estimate is our addition. For bars of two,
three and four beats it sums two measures: the self-similarity of the motion after one bar, which
is clear for marches and waltzes, and the inequality of the accents within a bar, because the body
moves most on downbeats. A dance that sways from foot to foot on every beat looks like 2/4 even if
the music is in 4/4. Bars of five to eight beats must repeat clearly better than all shorter bars.
Bars of six and eight are also accepted if the second half is not the mirror image of the first, as
it is in a waltz.

Steps repeat more exactly than arms and turns. If six steps take four or eight beats
(`motionloom.dance.motion_beats.steps`), as in salsa, the meter divides this number. With eight
beats, a bar is half of them: three steps and a pause, which the next bar repeats with the other
foot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.dance.motion_beats.beats import Beats
from motionloom.dance.motion_beats.candidates import smooth_angles
from motionloom.dance.motion_beats.steps import step_cycle
from motionloom.errors import RoleError
from motionloom.motion import Motion

Array = NDArray[np.float64]

METERS = (2, 3, 4, 5, 6, 7, 8)
_LONGEST_SCORED = 4
_EXACT = 0.9  # minimum self-similarity of an exact repetition; walks have 0.97, dances 0.6
_CLEAR = 0.2  # minimum advantage of a long bar over shorter ones; the groove has 0.14 for 8 beats
_CYCLES = (4, 8)  # beats in six quick and slow steps; six even steps have six beats
_NEAR = 0.03  # maximum deviation of the step cycle from a whole number of beats, as a fraction
_MIRRORED = 0.4  # limit of the self-similarity with the mirror image half a bar later; waltz: 0.7


@dataclass(frozen=True)
class Meter:
    """An estimated meter.

    Attributes
    ----------
    beats : int
        Beats per movement.
    downbeat : int
        Index of the first beat that starts a movement.
    scores : dict of int to float
        Score of each meter; the highest wins.
    """

    beats: int
    downbeat: int
    scores: dict[int, float]


def estimated_meter(
    motion: Motion | Sequence[Motion], beats: Beats, *, meters: Sequence[int] = METERS
) -> Meter:
    """Estimate the meter of a motion with known beats.

    Examples
    --------
    >>> import motionloom as ml
    >>> leader, follower = ml.demo.couple()
    >>> pair = [leader.motion, follower.motion]
    >>> estimated_meter(pair, ml.beats(pair)).beats
    3
    """
    seen = _Evidence.of(motion, beats, meters)
    best = seen.best(meters)
    return Meter(best, downbeat(beats, best), seen.scores)


def usual_meter(takes: Sequence[tuple[Sequence[Motion], Beats]]) -> int:
    """Return the meter with the highest total score over several takes with known beats."""
    seen = [(_Evidence.of(motions, beats, METERS), len(beats)) for motions, beats in takes]
    return _Evidence.total(seen).best(METERS)


@dataclass(frozen=True)
class _Evidence:
    """Scores of short meters, and the self-similarity after each number of beats, also mirrored.

    `cycle` is the number of beats in six quick and slow steps, or 0 if there is no such cycle.
    """

    scores: dict[int, float]
    alike: dict[int, float]
    mirrored: dict[int, float]
    cycle: int = 0

    @classmethod
    def of(
        cls, motion: Motion | Sequence[Motion], beats: Beats, meters: Sequence[int]
    ) -> _Evidence:
        motions = [motion] if isinstance(motion, Motion) else list(motion)
        alike = _beat_likeness(motions, motions, beats, 2 * max(meters))
        long = max(meters) > _LONGEST_SCORED and len(beats) > 2 * (_LONGEST_SCORED + 1)
        images = _mirrored(motions) if long else []
        mirrored = _beat_likeness(motions, images, beats, max(meters) // 2) if images else {}
        accents = beat_accents(beats)
        scores = {}
        for meter in meters:
            if len(beats) < 2 * meter + 1:
                continue
            # A bar resembles the next bar or the one after that, because dances go left, then
            # right. With two beats, only the next bar counts, because every second bar starts with
            # the same foot anyway.
            later = [meter] if meter == 2 or meter > _LONGEST_SCORED else [meter, 2 * meter]
            repeat = max(alike.get(lag, 0.0) for lag in later)
            scores[meter] = float(repeat) + 0.5 * _inequality(accents, meter)
        return cls(scores, alike, mirrored, _cycle_beats(beats))

    @classmethod
    def total(cls, seen: Sequence[tuple[_Evidence, int]]) -> _Evidence:
        """Average over takes, weighted by their number of beats."""

        def mean(parts: Sequence[tuple[Mapping[int, float], int]]) -> dict[int, float]:
            keys = sorted({key for part, _ in parts for key in part})
            beats = sum(count for _, count in parts)
            return {k: sum(p.get(k, 0.0) * count for p, count in parts) / beats for k in keys}

        cycles = {
            cycle: sum(count for evidence, count in seen if evidence.cycle == cycle)
            for cycle in sorted({evidence.cycle for evidence, _ in seen})
        }
        return cls(*(mean([(getattr(evidence, name), count) for evidence, count in seen])
                     for name in ("scores", "alike", "mirrored")),
                   max(cycles, key=lambda cycle: cycles[cycle]))  # fmt: skip

    def best(self, meters: Sequence[int]) -> int:
        """Return the meter with the most evidence."""
        meters = [meter for meter in meters if not self.cycle % meter] or meters
        for meter in sorted(meters):
            if meter in self.scores and self.alike.get(meter, 0.0) >= _EXACT and self._whole(meter):
                return meter
        longer = [m for m in meters if m > _LONGEST_SCORED and m in self.scores and self._clear(m)]
        if longer:
            return max(longer, key=lambda meter: self.alike[meter])
        scored = {m: score for m, score in self.scores.items() if m in meters}
        if self.cycle // 2 in scored and self.cycle == max(_CYCLES):
            return self.cycle // 2
        scores = {m: score for m, score in scored.items() if m <= _LONGEST_SCORED} or scored
        return max(scores, key=lambda m: (scores[m], -m)) if scores else min(meters)

    def _clear(self, meter: int) -> bool:
        shorter = max(self.alike.get(lag, 0.0) for lag in range(1, meter))
        return self.alike.get(meter, 0.0) >= shorter + _CLEAR and self._whole(meter)

    def _whole(self, meter: int) -> bool:
        """Return whether a bar is a whole, rather than two bars of which the second is mirrored."""
        half, rest = divmod(meter, 2)
        return rest > 0 or half == 1 or self.mirrored.get(half, 0.0) < _MIRRORED


def _cycle_beats(beats: Beats) -> int:
    """Return the number of beats in six quick and slow steps, or 0 if there is no such cycle."""
    cycle = step_cycle(beats.candidates.feet, beats.seconds)
    count = 0.0 if cycle is None else cycle.seconds / beats.period
    return next((n for n in _CYCLES if abs(count / n - 1.0) <= _NEAR), 0)


def downbeat(beats: Beats, meter: int) -> int:
    """Return the offset of the downbeats, 0 to ``meter - 1``, where accents are strongest."""
    if meter <= 1 or len(beats) < 2 * meter:
        return 0
    accents = beat_accents(beats)
    return int(np.argmax([np.mean(accents[offset::meter]) for offset in range(meter)]))


def beat_accents(beats: Beats) -> Array:
    """Return the accent (K,) of each beat: the total weight of the candidates nearest to it."""
    total = np.zeros(len(beats))
    if len(beats) < 2:
        return total
    middle = 0.5 * (beats.times[1:] + beats.times[:-1])
    np.add.at(total, np.searchsorted(middle, beats.candidates.times), beats.candidates.weights)
    return total


def _beat_likeness(
    motions: Sequence[Motion], others: Sequence[Motion], beats: Beats, longest: int
) -> dict[int, float]:
    """Return the correlation of motions with `others` 1, 2, ... beats later."""
    steps = 8
    count = (len(beats) - 1) * steps + 1
    if count <= steps:
        return {}
    frames = np.interp(np.arange(count) / steps, np.arange(len(beats)), beats.frames)
    x = _speeds(motions, frames)
    y = x if others is motions else _speeds(others, frames)
    out = {}
    for lag in range(1, longest + 1):
        a, b = x[: -lag * steps], y[lag * steps :]
        if len(a) < 2 * steps:
            break
        scale = np.sqrt(np.sum(a**2) * np.sum(b**2))
        out[lag] = float(np.sum(a * b) / scale) if scale > 0.0 else 0.0
    return out


def _mirrored(motions: Sequence[Motion]) -> list[Motion]:
    """Return the mirrored motions, or an empty list if the skeleton has no known sides."""
    try:
        return [motion.mirror() for motion in motions]
    except RoleError:
        return []


def _speeds(motions: Sequence[Motion], frames: Array) -> Array:
    """Return the angular velocities at fractional frames, minus their mean."""
    angles = np.concatenate([smooth_angles(motion) for motion in motions], axis=1)
    low = np.clip(frames.astype(int), 0, len(angles) - 2)
    speeds = np.gradient(angles, axis=0)
    x = speeds[low] + (frames - low)[:, None] * (speeds[low + 1] - speeds[low])
    return np.asarray(x - x.mean(axis=0))


def _inequality(accents: Array, meter: int) -> float:
    """Return the inequality of the beats in a bar: the relative deviation of their mean accents."""
    means = [float(np.mean(accents[offset::meter])) for offset in range(meter)]
    whole = float(np.mean(accents))
    return float(np.std(means)) / whole if whole > 0.0 else 0.0
