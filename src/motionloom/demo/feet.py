"""Where the feet are: the footstep plan of a score, sampled.

A foot that stands does not move at all. Its heel may rise: then it turns about the ball of
the foot, and the toes stay flat. It lands on its heel: then it turns about the heel.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.demo.curves import GRAVITY, bump
from motionloom.demo.performers import SIDES, Performer
from motionloom.demo.score import Score, Step
from motionloom.motion.rotations import quaternions as rot

Array = NDArray[np.float64]

_X = np.array([1.0, 0.0, 0.0])


@dataclass(frozen=True)
class PlannedFoot:
    """One foot over T moments as the footstep plan has it.

    Attributes
    ----------
    centre : ndarray, shape (T, 3)
        Middle of the sole, without the lift of the swing.
    yaw : ndarray, shape (T,)
    ankle : ndarray, shape (T, 3)
    rotation : ndarray, shape (T, 4)
        World rotation of the ankle joint, ``wxyz``.
    heel : ndarray, shape (T,)
        How far the heel is raised about the ball of the foot, radians.
    airborne : ndarray of bool, shape (T,)
        In a swing.
    swing : ndarray, shape (T,)
        0 on the floor, rising to 1 in the middle of a swing.
    ball_still, heel_still : ndarray of bool, shape (T,)
        Ball of the foot, and the whole sole, at rest on the floor.
    """

    centre: Array
    yaw: Array
    ankle: Array
    rotation: Array
    heel: Array
    airborne: NDArray[np.bool_]
    swing: Array
    ball_still: NDArray[np.bool_]
    heel_still: NDArray[np.bool_]


def planned_feet(score: Score, times: Array) -> dict[str, PlannedFoot]:
    """Both feet of `score` at `times` (T,), by side."""
    return {side: _planned_foot(score, side, times) for side in SIDES}


def sole_to_ball(performer: Performer) -> float:
    """Distance from the middle of the sole to the ball of the foot."""
    return performer.foot - (performer.foot - performer.heel) / 2.0


def _flight(times: Array, step: Step, slack: float) -> Array:
    """Rise (T,) of a foot that follows a body in free flight, the leg stretched by `slack`."""
    since, until = times - step.lift, step.land - times
    speed = 0.5 * GRAVITY * (step.land - step.lift)
    rate = speed / slack
    stretch = slack * -np.expm1(-rate * since) * -np.expm1(-rate * until)
    return 0.5 * GRAVITY * since * until - stretch


def _planned_foot(score: Score, side: str, times: Array) -> PlannedFoot:
    who = score.performer
    centre = score.curves[f"{side}_place"].sample(times)
    yaw = score.curves[f"{side}_yaw"].sample(times)
    heel = score.curves[f"{side}_heel"].sample(times)
    toe = score.curves[f"{side}_toe"].sample(times)
    free = score.curves[f"{side}_free"].sample(times)
    lifted = centre.copy()
    airborne = np.zeros(len(times), dtype=bool)
    swing = np.zeros(len(times))
    for step in score.steps[side]:
        inside = (times > step.lift + 1e-6) & (times < step.land - 1e-6)
        airborne |= inside
        swing[inside] = bump(times[inside], step.lift, step.land)
        lifted[inside, 1] += step.clearance * swing[inside]
        if step.flight:
            lifted[inside, 1] += _flight(times[inside], step, 0.05 * who.leg)

    turn = rot.yaw(yaw)
    ball = lifted + rot.rotate(turn, [0.0, who.ball_height, sole_to_ball(who)])
    to_ball = np.array([0.0, who.ball_height - who.ankle_height, who.foot])
    raised = rot.multiply(turn, rot.from_axis_angle(_X, heel))
    ankle = ball - rot.rotate(raised, to_ball)
    pivot = lifted + rot.rotate(turn, [0.0, 0.0, sole_to_ball(who) - who.foot - who.heel])
    tip = rot.multiply(rot.multiply(turn, rot.from_axis_angle(_X, -toe)), rot.inverse(turn))
    ankle = pivot + rot.rotate(tip, ankle - pivot)
    planted = ~airborne & (toe < 1e-9) & (free < 1e-9)
    return PlannedFoot(
        centre=centre,
        yaw=yaw,
        ankle=ankle,
        rotation=rot.multiply(tip, raised),
        heel=heel,
        airborne=airborne,
        swing=swing,
        ball_still=planted,
        heel_still=planted & (heel < 1e-9),
    )
