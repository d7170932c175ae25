"""Takes for crowds: waltzes that travel and turn, marches of several speeds and turns.

Each comes with its exact beats: a foot lands on every one of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.demo.actions.gait import walk
from motionloom.demo.actions.waltz import Footwork, waltz
from motionloom.demo.body import perform
from motionloom.demo.performers import performer
from motionloom.demo.score import Score
from motionloom.motion import Motion

Array = NDArray[np.float64]

# What a bar of a travelling waltz does: metres ahead, radians to the left; the side step goes
# to the side of the foot that makes it.
_FIGURES = tuple(
    (ahead, turn) for ahead in (-0.35, -0.1, 0.15, 0.4, 0.65) for turn in (-0.6, 0.0, 0.6)
)
_ASIDE = 0.28
# Couples in a crowd are to be seen to keep time: they lilt, and feet land on the beat, not into it.
_CRISP = Footwork(
    lift=0.43,
    late=0.03,
    clearance=0.08,
    heel=0.1,
    push=5.0,
    levels=(0.045, 0.045, 0.045),
    lilt=0.08,
)
# Marches: m/s, and radians to the left per second; all in one cadence.
_MARCHES = tuple((speed, turn) for speed in (0.3, 0.75, 1.15, 1.5) for turn in (-0.4, 0.0, 0.4))
_STEPS = 7


@dataclass(frozen=True, eq=False)
class TroupeTake:
    """Motions of those who move together, and their beats.

    Attributes
    ----------
    motions : tuple of Motion
    beats : ndarray, shape (B,)
        Seconds; the first is a downbeat.
    """

    motions: tuple[Motion, ...]
    beats: Array


def waltz_take(seed: int = 0, fps: float = 30.0) -> TroupeTake:
    """A couple's waltz, bars of which travel and turn every way, led by either foot in turn.

    Examples
    --------
    >>> take = waltz_take()
    >>> len(take.motions), (len(take.beats) - 1) % 3
    (2, 0)
    """
    rng = np.random.default_rng([seed, 3])
    order = [_FIGURES[i] for i in rng.permutation(len(_FIGURES))]
    figures = []
    for left, right in zip(order, order[::-1], strict=True):
        figures += [(left[0], -_ASIDE, left[1]), (right[0], _ASIDE, right[1])]
    made = waltz(
        performer(0), performer(1), rng, fps=fps, tempo_bpm=90.0, figures=figures, footwork=_CRISP,
        names=("ballroom_leader", "ballroom_follower"),
    )  # fmt: skip
    return TroupeTake((made.leader, made.follower), np.array(made.leader_score.rows[0].beats))


def march_takes(seed: int = 0, fps: float = 30.0) -> list[TroupeTake]:
    """One soldier's marches of four speeds and three turns; the left foot on the downbeat.

    Examples
    --------
    >>> len(march_takes())
    12
    """
    takes = []
    for k, (speed, turn) in enumerate(_MARCHES):
        score = Score(performer(0), np.random.default_rng([seed, 2, k]))
        walk(
            score, speed=speed, steps=_STEPS, curvature=turn / speed, lead="left", march=True,
            action="march",
        )  # fmt: skip
        lands = [[step.land for step in score.steps[side]] for side in ("left", "right")]
        # The first step is half as long and the last ones close the feet.
        left, right = lands[0][1:-1], lands[1][1:-1]
        beats = np.array(sorted([*left, *right]))
        beats = beats[np.searchsorted(beats, left[0]) :]
        name = f"march_{speed:g}_{'left' if turn > 0 else 'right' if turn else 'straight'}"
        takes.append(
            TroupeTake((perform(score, fps, start=0.0, end=score.time, name=name),), beats)
        )
    return takes
