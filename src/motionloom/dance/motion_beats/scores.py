"""Score detected beats against reference beats.

Each reference beat matches at most one detected beat and vice versa, so extra beats cost as much
as missed beats.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class BeatScore:
    """Score of detected beats against K reference beats.

    Attributes
    ----------
    expected, matched, extra : int
        Number of reference beats, number of them that match a detected beat, and number of detected
        beats in the same time that match no reference beat.
    mean_error, variance : float
        Mean absolute error and variance of the signed error, in frames, from each reference beat
        to the nearest detected beat.
    largest_error : float
        Largest absolute error, in frames.
    """

    expected: int
    matched: int
    extra: int
    mean_error: float
    variance: float
    largest_error: float

    @property
    def precision(self) -> float:
        """Matched beats as a fraction of the detected beats."""
        return self.matched / (self.matched + self.extra) if self.matched else 0.0

    @property
    def recall(self) -> float:
        """Matched beats as a fraction of the reference beats."""
        return self.matched / self.expected if self.expected else 0.0

    @property
    def f_measure(self) -> float:
        """Harmonic mean of precision and recall."""
        total = self.precision + self.recall
        return 2.0 * self.precision * self.recall / total if total else 0.0


def beat_score(
    reference: ArrayLike, detected: ArrayLike, *, fps: float = 30.0, tolerance: float = 1.0
) -> BeatScore:
    """Score detected beats against reference beats, both in seconds.

    Parameters
    ----------
    reference, detected : array_like, shapes (K,) and (N,)
        Times of the beats. Detected beats more than half a gap outside the reference beats do not
        count.
    fps : float
        Frames per second, the unit of errors.
    tolerance : float
        Maximum error of a match, in frames.

    Examples
    --------
    >>> score = beat_score([1.0, 2.0, 3.0], [1.01, 1.5, 2.0, 2.5, 3.2])
    >>> score.matched, score.extra, round(score.f_measure, 2)
    (2, 3, 0.5)
    """
    truth = np.sort(np.asarray(reference, np.float64))
    times = np.sort(np.asarray(detected, np.float64))
    if not len(truth):
        return BeatScore(0, 0, len(times), 0.0, 0.0, 0.0)
    half = 0.5 * float(np.median(np.diff(truth))) if len(truth) > 1 else np.inf
    times = times[(times > truth[0] - half) & (times < truth[-1] + half)]
    if not len(times):
        return BeatScore(len(truth), 0, 0, np.inf, 0.0, np.inf)
    within = tolerance / fps + 1e-6
    matched = here = 0
    for beat in truth:  # matching in order of time finds the largest number of matches
        while here < len(times) and times[here] < beat - within:
            here += 1
        if here < len(times) and times[here] <= beat + within:
            matched += 1
            here += 1
    nearest = times[np.abs(times[None] - truth[:, None]).argmin(axis=1)]
    off = fps * (nearest - truth)
    return BeatScore(
        len(truth), matched, len(times) - matched, float(np.abs(off).mean()),
        float(off.var()), float(np.abs(off).max()),
    )  # fmt: skip
