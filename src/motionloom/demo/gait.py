"""Walking, marching and jogging along a path, and stepping up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.demo.plan import OTHER, REST_ARM, SIGN, MotionPlan, PlannedAction
from motionloom.motion.kinematics.body import GRAVITY

Array = NDArray[np.float64]


@dataclass(frozen=True)
class FloorPath:
    """A path on the floor, sampled by arc length: positions (x, z) and headings."""

    length: Array
    places: Array
    headings: Array

    def at(self, distance: float) -> tuple[Array, float]:
        """Return the position (x, z) and heading after `distance` meters."""
        x = np.interp(distance, self.length, self.places[:, 0])
        z = np.interp(distance, self.length, self.places[:, 1])
        return np.array([x, z]), float(np.interp(distance, self.length, self.headings))


def path_from(
    plan: MotionPlan, distance: float, curvature: Callable[[Array], Array] | float = 0.0
) -> FloorPath:
    """Return a path from the plan's current position; curvature is in 1/m, positive to the left."""
    ds = 0.01
    length = np.arange(0.0, distance + 3.0, ds)
    bend = curvature(length) if callable(curvature) else np.full(len(length), curvature)
    # The path is straight beyond the given distance.
    bend = np.where(length <= distance, bend, 0.0)
    heading = plan.heading + np.cumsum(bend) * ds
    heading = np.concatenate([[plan.heading], heading[:-1]])
    steps = ds * np.stack([np.sin(heading), np.cos(heading)], axis=-1)
    places = plan.middle + np.concatenate([np.zeros((1, 2)), np.cumsum(steps, axis=0)[:-1]])
    return FloorPath(length, places, heading)


def walk(
    plan: MotionPlan,
    *,
    speed: float = 1.25,
    steps: int = 8,
    curvature: Callable[[Array], Array] | float = 0.0,
    lead: str = "left",
    march: bool = False,
    action: str = "walk",
    **parameters,
) -> PlannedAction:
    """Walk `steps` steps at `speed` m/s along a path, from standing to standing.

    The first step is half as long, and the last step brings the feet together. Marching raises the
    knees.
    """
    who, start = plan.performer, plan.time
    # The preferred cadence grows with the square root of the speed (Grieve and Gear 1966), and
    # small people step faster.
    rate = 2.0 * np.sqrt(speed / 1.3) * (0.85 / who.leg) ** 0.3 * who.tempo
    if march:
        rate = 1.6 * who.tempo
    stride, period = speed / rate, 1.0 / rate
    swing = period * float(np.clip(0.78 + 0.06 * (speed - 1.2), 0.70, 0.83))
    if march:
        swing = 0.86 * period
    path = path_from(plan, stride * (steps - 0.5), curvature)
    width = plan.performer.stance_width * (0.75 if not march else 0.9)
    vigor = float(np.clip(speed / 1.3, 0.5, 1.6))
    side, traveled = lead, 0.0
    first = start + 0.45
    # While walking, the pelvis is ahead of the midpoint of the feet, because the rear heel is
    # raised.
    plan.ease("offset", first, first + 0.5, (0.0, 0.0, 0.045 * vigor))
    plan.ease("height", first, first + 0.5, -0.022 + 0.006 * who.bounce)
    _lean_in(plan, first, speed, curvature)
    for k in range(steps + 1):
        lift = first + k * period
        last = k == steps
        traveled += 0.0 if last else stride * (0.5 if k == 0 else 1.0)
        place, heading = path.at(traveled)
        wide = None if last else width
        spot, yaw = plan.slot(side, place, heading, width=wide, floor=plan.floor)
        flat = last or k == 0
        plan.step(
            side,
            lift,
            lift + swing,
            spot,
            yaw,
            clearance=0.05 + 0.02 * vigor,
            shift=0.45 if k == 0 else 0.3,
            heel=0.3 if k == 0 else (0.85 if not march else 0.4) * min(0.5 + 0.5 * vigor, 1.15),
            heel_time=0.38 * period + (period - swing),
            toe=0.0 if march else (0.12 if flat else 0.30 * min(vigor, 1.15)),
            toe_time=0.16 * period + 0.02,
        )
        if march:
            _knee_up(plan, side, lift, lift + swing)
        size = 0.0 if last else vigor * (0.6 if k == 0 else 1.0)
        _swing_arms(plan, side, lift, lift + swing, size=size)
        side = OTHER[side]
    end = first + steps * period + swing
    plan.balance(end, end + 0.4)
    plan.relax(end - 0.3, end + 0.6)
    finish = end + 0.7
    row = plan.add_action(
        action, start, finish, speed=speed, lead=lead, step_length=stride,
        step_period=period, **parameters,
    )  # fmt: skip
    row.window = (first + 2.5 * period, first + (steps - 0.5) * period)
    return row


def jog(
    plan: MotionPlan,
    *,
    speed: float = 2.4,
    steps: int = 10,
    curvature: Callable[[Array], Array] | float = 0.0,
    lead: str = "left",
    action: str = "jog",
    **parameters,
) -> PlannedAction:
    """Jog `steps` steps at `speed` m/s along a path, with a flight phase in every step.

    Between lift-off and landing, the height of the pelvis follows the parabola of free flight.
    """
    who, start = plan.performer, plan.time
    rate = (2.55 + 0.12 * (speed - 2.2)) * (0.85 / who.leg) ** 0.3 * who.tempo
    stride, period = speed / rate, 1.0 / rate
    # A foot stays on the floor as long as the leg can reach it, ahead and behind.
    contact = min(0.80 * period, 0.78 * who.leg / speed)
    flight = period - contact
    carried = 0.05 + 0.012 * speed
    path = path_from(plan, stride * (steps - 0.4), curvature)
    first = start + 0.45
    landing = first + 0.34 + np.arange(steps + 1) * period
    low = _jog_height(plan, 0.5 * speed * contact - carried)
    plan.ease("offset", first, first + 0.6, (0.0, 0.0, carried))
    plan.ease("tilt", first, first + 0.6, 0.05 + 0.02 * speed)
    _lean_in(plan, first, speed, curvature)
    height, leap = plan.curves["height"], 0.5 * GRAVITY * flight
    plan.ease("height", start + 0.1, landing[0], low - 0.02)
    for k in range(steps):
        height.key(landing[k] + contact, low, velocity=leap, acceleration=-GRAVITY)
        height.key(landing[k + 1], low, velocity=-leap, acceleration=-GRAVITY)
    height.key(landing[-1] + 0.25, low - 0.06)
    side, traveled = lead, 0.0
    for k in range(steps + 2):
        closing = k == steps + 1
        lift = (first, landing[0] + 0.06)[k] if k < 2 else landing[k - 2] + contact
        land = landing[-1] + 0.34 if closing else landing[k]
        traveled += 0.0 if closing else stride * (0.35, 0.75, 1.0)[min(k, 2)]
        place, heading = path.at(traveled)
        wide = None if closing else 0.6 * who.stance_width
        spot, yaw = plan.slot(side, place, heading, width=wide, floor=plan.floor)
        plan.step(
            side,
            lift,
            land,
            spot,
            yaw,
            clearance=0.08 if k == 0 or closing else 0.10 + 0.035 * speed,
            shift=0.4 if k == 0 else None,
            heel=0.4 if k == 0 else 0.85,
            heel_time=0.2 if k == 0 else 0.6 * contact,
            toe=0.0 if closing else 0.12,
            toe_time=0.06,
            push=0.0 if k == 0 or closing else 5.0,
        )
        if 0 < k <= steps:  # the weight changes feet during flight
            takeoff = landing[k - 1] + (0.06 if k == 0 else contact)
            plan.balance(takeoff, landing[k], 1.0 if side == "left" else 0.0)
        elif k == 0:
            plan.balance(landing[0] - 0.05, landing[0] + 0.06, 1.0 if side == "left" else 0.0)
        size = 0.0 if closing else (0.6 if k == 0 else 1.0)
        _pump_arms(plan, side, lift if k < 2 else land - period, land, size=size)
        side = OTHER[side]
    end = landing[-1] + 0.34
    plan.balance(end, end + 0.4)
    plan.relax(end - 0.1, end + 0.6)
    row = plan.add_action(
        action, start, end + 0.7, speed=speed, lead=lead, step_length=stride,
        step_period=period, flight=flight, **parameters,
    )  # fmt: skip
    row.window = (landing[4] - 0.5 * flight, landing[steps - 2] - 0.5 * flight)
    return row


def step_up(
    plan: MotionPlan, *, height: float = 0.18, lead: str = "left", action: str = "step_up"
) -> PlannedAction:
    """Step up, stand, and step down on the far side."""
    start, pace = plan.time, 1.0 / plan.performer.tempo
    ground, heading = plan.floor, plan.heading
    near, far = plan.forward(0.48), plan.forward(0.98)
    lift, side = start + 0.5 * pace, lead
    for place, floor in ((near, height), (near, height), (far, 0.0), (far, 0.0)):
        spot, yaw = plan.slot(side, place, heading, floor=ground + floor)
        down = floor == 0.0
        plan.step(
            side, lift, lift + 0.6 * pace, spot, yaw, clearance=0.06 if down else 0.13,
            shift=0.42 * pace, heel=0.9 if down else 0.75,
            heel_time=(0.8 if down and side != lead else 0.3) * pace,
            tiptoe=0.3 if down else 0.0, toe_time=0.12,
        )  # fmt: skip
        _swing_arms(plan, side, lift, lift + 0.6 * pace, size=0.5)
        lift += (0.92 if side == lead else 1.35) * pace
        side = OTHER[side]
    lift -= 1.35 * pace
    plan.ease("look_pitch", start, start + 0.5, 0.3)
    plan.balance(lift + 0.6 * pace, lift + 1.0 * pace)
    plan.relax(lift + 0.6 * pace, lift + 1.1 * pace)
    return plan.add_action(
        action, start, lift + 1.2 * pace, step_height=height, lead=lead,
    )  # fmt: skip


def _lean_in(plan: MotionPlan, start: float, speed: float, curvature: object) -> None:
    """Lean into a turn of constant curvature."""
    if isinstance(curvature, (int, float)) and curvature:
        lean = 0.7 * np.arctan(speed**2 * curvature / GRAVITY)
        plan.ease("roll", start, start + 0.8, -lean)


def _jog_height(plan: MotionPlan, ahead: float) -> float:
    """Return the pelvis height at which a leg can just reach `ahead` meters forward."""
    who = plan.performer
    upright = np.sqrt((0.98 * who.leg) ** 2 - ahead**2)
    return float(upright + who.ankle_height + who.hip_drop - who.pelvis_height - 0.012)


def _pump_arms(plan: MotionPlan, side: str, start: float, moment: float, *, size: float) -> None:
    """Pose the bent arms of a jog for the time when the foot on `side` lands."""
    pump = size * plan.performer.swing**0.5
    ahead = (0.80 + 0.45 * pump, -0.02, 1.75)
    behind = (0.80 - 0.50 * pump, 0.18, 1.6)
    if size == 0.0:
        ahead = behind = REST_ARM
    plan.ease(f"{side}_arm", start, moment, behind)
    plan.ease(f"{OTHER[side]}_arm", start, moment, ahead)
    plan.ease("twist", start, moment, -SIGN[side] * 0.10 * size)
    plan.ease("chest_twist", start, moment, SIGN[side] * 0.22 * size)


def _swing_arms(plan: MotionPlan, side: str, start: float, moment: float, *, size: float) -> None:
    """Set the arm swing and torso twist for the time when the foot on `side` lands in front."""
    who = plan.performer
    bend = 0.28 + 0.2 * size
    reach = 0.42 * size * who.swing
    ahead = (0.02 + reach, 0.13, bend + 0.15 * size)
    behind = (0.06 - 0.85 * reach, 0.17, bend - 0.08 * size)
    if size == 0.0:
        ahead = behind = REST_ARM
    for arm, pose in ((side, behind), (OTHER[side], ahead)):
        plan.ease(f"{arm}_arm", start, moment, pose)
    turn = -SIGN[side] * size
    plan.ease("twist", start, moment, 0.09 * turn)
    plan.ease("chest_twist", start, moment, -0.17 * turn)


def _knee_up(plan: MotionPlan, side: str, lift: float, land: float) -> None:
    """Raise the knee during the swing of a marching step."""
    middle = lift + 0.5 * (land - lift)
    plan.ease(f"{side}_free", lift, middle, 1.0)
    plan.curves[f"{side}_free_leg"].key(middle, (0.62, 0.03, 1.3))
    plan.ease(f"{side}_free", middle, land, 0.0)
