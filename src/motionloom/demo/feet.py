"""Foot trajectories of a motion plan.

A standing foot does not move at all. When its heel rises, it turns about the ball of the foot
and the toes stay flat; when it lands on the heel, it turns about the heel.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.demo.curves import GRAVITY, bump
from motionloom.demo.performers import SIDES, Performer
from motionloom.demo.plan import MotionPlan, Step
from motionloom.motion.rotations import quaternions as rot

Array = NDArray[np.float64]

_X = np.array([1.0, 0.0, 0.0])


@dataclass(frozen=True)
class PlannedFoot:
    """Trajectory of one foot over T frames.

    Attributes
    ----------
    centre : ndarray, shape (T, 3)
        Centre of the sole, without the height of the swing.
    yaw : ndarray, shape (T,)
    ankle : ndarray, shape (T, 3)
    rotation : ndarray, shape (T, 4)
        World rotation of the ankle joint, ``wxyz``.
    heel : ndarray, shape (T,)
        Rotation of the raised heel about the ball of the foot, radians.
    airborne : ndarray of bool, shape (T,)
        During a swing.
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


def planned_feet(plan: MotionPlan, times: Array) -> dict[str, PlannedFoot]:
    """Both feet of `plan` at `times` (T,), by side."""
    return {side: _planned_foot(plan, side, times) for side in SIDES}


def sole_to_ball(performer: Performer) -> float:
    """Distance from the centre of the sole to the ball of the foot."""
    return performer.foot - (performer.foot - performer.heel) / 2.0


def _flight(times: Array, step: Step, slack: float) -> Array:
    """Height (T,) of a foot that follows a body in free flight, the leg extended by `slack`."""
    since, until = times - step.lift, step.land - times
    speed = 0.5 * GRAVITY * (step.land - step.lift)
    rate = speed / slack
    extension = slack * -np.expm1(-rate * since) * -np.expm1(-rate * until)
    return 0.5 * GRAVITY * since * until - extension


def _planned_foot(plan: MotionPlan, side: str, times: Array) -> PlannedFoot:
    who = plan.performer
    centre = plan.curves[f"{side}_place"].sample(times)
    yaw = plan.curves[f"{side}_yaw"].sample(times)
    heel = plan.curves[f"{side}_heel"].sample(times)
    toe = plan.curves[f"{side}_toe"].sample(times)
    free = plan.curves[f"{side}_free"].sample(times)
    lifted = centre.copy()
    airborne = np.zeros(len(times), dtype=bool)
    swing = np.zeros(len(times))
    for step in plan.steps[side]:
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
