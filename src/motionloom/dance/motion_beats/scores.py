"""Scores of beats that were found against beats that are known.

Each known beat is matched with at most one beat that was found, and the other way round, so that
beats too many cost as much as beats that are missed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class BeatScore:
    """Beats found against K known ones.

    Attributes
    ----------
    known, matched, extra : int
        Known beats; those that are matched within the tolerance; beats found in the same time
        that match none.
    mean_error, variance : float
        Mean of the absolute error and variance of the signed one, in frames, from each known beat
        to the nearest one found.
    largest_error : float
        Frames.
    """

    known: int
    matched: int
    extra: int
    mean_error: float
    variance: float
    largest_error: float

    @property
    def precision(self) -> float:
        """Matched beats as a fraction of those found."""
        return self.matched / (self.matched + self.extra) if self.matched else 0.0

    @property
    def recall(self) -> float:
        """Matched beats as a fraction of the known ones."""
        return self.matched / self.known if self.known else 0.0

    @property
    def f_measure(self) -> float:
        """Harmonic mean of precision and recall."""
        total = self.precision + self.recall
        return 2.0 * self.precision * self.recall / total if total else 0.0


def beat_score(
    known: ArrayLike, found: ArrayLike, *, fps: float = 30.0, tolerance: float = 1.0
) -> BeatScore:
    """Score beats against known ones, both in seconds.

    Parameters
    ----------
    known, found : array_like, shapes (K,) and (N,)
        Beats found more than half a gap outside of the known ones do not count.
    fps : float
        Frames per second, the unit of errors.
    tolerance : float
        Largest error of a match, frames.

    Examples
    --------
    >>> score = beat_score([1.0, 2.0, 3.0], [1.01, 1.5, 2.0, 2.5, 3.2])
    >>> score.matched, score.extra, round(score.f_measure, 2)
    (2, 3, 0.5)
    """
    truth = np.sort(np.asarray(known, np.float64))
    times = np.sort(np.asarray(found, np.float64))
    if not len(truth):
        return BeatScore(0, 0, len(times), 0.0, 0.0, 0.0)
    half = 0.5 * float(np.median(np.diff(truth))) if len(truth) > 1 else np.inf
    times = times[(times > truth[0] - half) & (times < truth[-1] + half)]
    if not len(times):
        return BeatScore(len(truth), 0, 0, np.inf, 0.0, np.inf)
    within = tolerance / fps + 1e-6
    matched = here = 0
    for beat in truth:  # in order of time, so no match is lost
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
