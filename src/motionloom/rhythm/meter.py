"""Estimation of the meter: beats per movement.

Beyond the paper, which takes the meter from the kind of dance. Two measures are added for each
possible meter: the self-similarity of the motion after one bar, which is clear for marches and
waltzes, and the inequality of the accents within a bar, since the body moves most on downbeats.
A dance that sways from foot to foot on every beat looks like 2/4 even if the music is in 4/4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.motion import Motion
from motionloom.rhythm.motion_beats.beats import Beats
from motionloom.rhythm.motion_beats.candidates import smooth_angles

Array = NDArray[np.float64]

METERS = (2, 3, 4)


@dataclass(frozen=True)
class Meter:
    """An estimated meter.

    Attributes
    ----------
    beats : int
        Beats per movement.
    downbeat : int
        Index of the first beat that starts one.
    scores : dict of int to float
        Score of each meter; the highest wins.
    """

    beats: int
    downbeat: int
    scores: dict[int, float]


def estimated_meter(
    motion: Motion | Sequence[Motion], beats: Beats, *, meters: Sequence[int] = METERS
) -> Meter:
    """The meter of a motion with known beats.

    Examples
    --------
    >>> import motionloom as ml
    >>> leader, follower = ml.demo.couple()
    >>> pair = [leader.motion, follower.motion]
    >>> estimated_meter(pair, ml.beats(pair)).beats
    3
    """
    alike = _beat_likeness(motion, beats, 2 * max(meters))
    accents = beat_accents(beats)
    scores = {}
    for meter in meters:
        if len(beats) < 2 * meter + 1:
            continue
        # A bar resembles the next one, or the one after that: dances go left, then right.
        # In two, only the next one counts: the second next starts with the same foot anyway.
        later = [meter] if meter == 2 else [meter, 2 * meter]
        repeat = max(alike.get(lag, 0.0) for lag in later)
        scores[meter] = float(repeat) + 0.5 * _inequality(accents, meter)
    best = max(scores, key=lambda meter: (scores[meter], -meter)) if scores else min(meters)
    return Meter(best, downbeat(beats, best), scores)


def usual_meter(takes: Sequence[tuple[Sequence[Motion], Beats]]) -> int:
    """The meter with the highest total score over takes with known beats."""
    votes: dict[int, float] = {}
    for motions, found in takes:
        meter = estimated_meter(motions, found)
        for count, score in meter.scores.items():
            votes[count] = votes.get(count, 0.0) + score * len(found)
    return max(votes, key=lambda count: votes[count]) if votes else 2


def downbeat(beats: Beats, meter: int) -> int:
    """Offset, below `meter`, of the beats with the strongest accents."""
    if meter <= 1 or len(beats) < 2 * meter:
        return 0
    accents = beat_accents(beats)
    return int(np.argmax([np.mean(accents[offset::meter]) for offset in range(meter)]))


def beat_accents(beats: Beats) -> Array:
    """Accent of each beat: total weight of the candidates nearest to it, shape (K,)."""
    total = np.zeros(len(beats))
    if len(beats) < 2:
        return total
    middle = 0.5 * (beats.times[1:] + beats.times[:-1])
    np.add.at(total, np.searchsorted(middle, beats.candidates.times), beats.candidates.weights)
    return total


def _beat_likeness(motion, beats: Beats, longest: int) -> dict[int, float]:
    """Correlation of the motion with itself 1, 2, ... beats later, in beat time."""
    motions = [motion] if isinstance(motion, Motion) else list(motion)
    steps = 8
    count = (len(beats) - 1) * steps + 1
    if count <= steps:
        return {}
    frames = np.interp(np.arange(count) / steps, np.arange(len(beats)), beats.frames)
    angles = np.concatenate([smooth_angles(one) for one in motions], axis=1)
    low = np.clip(frames.astype(int), 0, len(angles) - 2)
    speeds = np.gradient(angles, axis=0)
    x = speeds[low] + (frames - low)[:, None] * (speeds[low + 1] - speeds[low])
    x = x - x.mean(axis=0)
    out = {}
    for lag in range(1, longest + 1):
        a, b = x[: -lag * steps], x[lag * steps :]
        if len(a) < 2 * steps:
            break
        scale = np.sqrt(np.sum(a**2) * np.sum(b**2))
        out[lag] = float(np.sum(a * b) / scale) if scale > 0.0 else 0.0
    return out


def _inequality(accents: Array, meter: int) -> float:
    """Coefficient of variation of the mean accents of the beats of a bar."""
    means = [float(np.mean(accents[offset::meter])) for offset in range(meter)]
    whole = float(np.mean(accents))
    return float(np.std(means)) / whole if whole > 0.0 else 0.0
