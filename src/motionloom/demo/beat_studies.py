"""Motions for measuring beat trackers: every beat known, at any tempo and regularity.

After the three test motions of Kim, Park and Shin (2003, figure 6): a short cycle repeated
without end, the same with every beat off by up to a given part of its period, and a dance
whose limbs are early and late.
"""

from __future__ import annotations

import numpy as np

from motionloom.demo.body import perform
from motionloom.demo.dances import dance_to
from motionloom.demo.performers import performer as numbered
from motionloom.demo.score import Score
from motionloom.errors import InvalidInput
from motionloom.motion import Motion

STUDIES = ("regular", "perturbed", "dance")


def beat_study(
    kind: str,
    *,
    performer: int = 0,
    seed: int = 0,
    fps: float = 30.0,
    seconds: float = 30.0,
    period: float | None = None,
    jitter: float = 0.15,
) -> tuple[Motion, tuple[float, ...]]:
    """A motion with known beats, and the beats in seconds.

    Parameters
    ----------
    kind : {"regular", "perturbed", "dance"}
        One bar over and over, on the beat; the same with beats off by up to `jitter` of the
        period; or a free dance on the beat whose arms and chest are early or late.
    performer : int
        Who does it, 0 to 3.
    seed : int
        Same seed, same bytes.
    fps, seconds : float
        The motion starts between two beats and lasts `seconds`.
    period : float, optional
        Seconds between beats. Default: 0.5, and 0.4 for the dance, as in the paper.
    jitter : float
        Of "perturbed".

    Examples
    --------
    >>> motion, beats = beat_study("regular")
    >>> len(motion), beats[:3]
    (900, (0.25, 0.75, 1.25))
    """
    if kind not in STUDIES:
        raise InvalidInput(f"kind must be one of {', '.join(STUDIES)}; got {kind!r}")
    gap = period if period is not None else 0.4 if kind == "dance" else 0.5
    if not (gap > 0.2 and seconds >= 4.0 * gap):
        raise InvalidInput(
            f"period must be over 0.2 s and fit into seconds four times; got {gap} and {seconds}"
        )
    rng = np.random.default_rng([seed, performer, STUDIES.index(kind)])
    score = Score(numbered(performer), rng)
    lead, count = 1.0, int(np.ceil(seconds / gap)) + 5
    beats = np.asarray(lead + gap * np.arange(count), np.float64)
    if kind == "perturbed":
        beats = beats + gap * rng.uniform(-jitter, jitter, size=count)
    dance_to(
        score,
        beats,
        style="free" if kind == "dance" else "cycle",
        late=0.1 * gap if kind == "dance" else 0.0,
    )
    start = lead + 3.5 * gap  # the first bar is where it gets going
    motion = perform(score, fps, start=start, end=start + seconds - 1.0 / fps, name=kind)
    inside = [
        float(round(b - start, 6)) for b in beats if 0.0 <= b - start <= (len(motion) - 1) / fps
    ]
    return motion, tuple(inside)
