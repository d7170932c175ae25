"""Takes for crowds: a travelling waltz, and marches of several speeds and turn rates.

Each comes with its exact beats: a foot lands on every beat.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.demo.actions.gait import walk
from motionloom.demo.actions.waltz import Footwork, waltz
from motionloom.demo.body import solve_motion
from motionloom.demo.performers import performer
from motionloom.demo.plan import MotionPlan
from motionloom.motion import Motion

Array = NDArray[np.float64]

# Bars of a travelling waltz: metres ahead, radians to the left; the side step is towards the
# stepping foot.
_FIGURES = tuple(
    (ahead, turn) for ahead in (-0.35, -0.1, 0.15, 0.4, 0.65) for turn in (-0.6, 0.0, 0.6)
)
_ASIDE = 0.28
# Crisp steps make the beat visible in a crowd: the body rises and falls, feet land on the beat.
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
class CrowdTake:
    """Motions of characters that move together, and their beats.

    Attributes
    ----------
    motions : tuple of Motion
    beats : ndarray, shape (B,)
        Seconds; the first is a downbeat.
    """

    motions: tuple[Motion, ...]
    beats: Array


def waltz_take(seed: int = 0, fps: float = 30.0) -> CrowdTake:
    """A waltz of a couple whose bars travel and turn in all directions, led by either foot.

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
    return CrowdTake((made.leader, made.follower), np.array(made.leader_plan.actions[0].beats))


def march_takes(seed: int = 0, fps: float = 30.0, *, steps: int = _STEPS) -> list[CrowdTake]:
    """Marches of one performer at four speeds and three turn rates; left foot on the downbeat.

    Examples
    --------
    >>> len(march_takes())
    12
    """
    takes = []
    for k, (speed, turn) in enumerate(_MARCHES):
        plan = MotionPlan(performer(0), np.random.default_rng([seed, 2, k]))
        walk(
            plan, speed=speed, steps=steps, curvature=turn / speed, lead="left", march=True,
            action="march",
        )  # fmt: skip
        lands = [[step.land for step in plan.steps[side]] for side in ("left", "right")]
        # Without the first step, which is half as long, and the last, which closes the feet.
        left, right = lands[0][1:-1], lands[1][1:-1]
        beats = np.array(sorted([*left, *right]))
        beats = beats[np.searchsorted(beats, left[0]) :]
        name = f"march_{speed:g}_{'left' if turn > 0 else 'right' if turn else 'straight'}"
        takes.append(
            CrowdTake((solve_motion(plan, fps, start=0.0, end=plan.time, name=name),), beats)
        )
    return takes
