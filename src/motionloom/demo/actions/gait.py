"""Walking, jogging, marching: footsteps along a path, and arms that go with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.demo.curves import GRAVITY
from motionloom.demo.score import OTHER, REST_ARM, SIGN, Performed, Score

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Path:
    """A path over the floor by arc length: places (x, z) and headings."""

    length: Array
    places: Array
    headings: Array

    def at(self, distance: float) -> tuple[Array, float]:
        """Place (x, z) and heading after `distance` metres."""
        x = np.interp(distance, self.length, self.places[:, 0])
        z = np.interp(distance, self.length, self.places[:, 1])
        return np.array([x, z]), float(np.interp(distance, self.length, self.headings))


def path_from(
    score: Score, distance: float, curvature: Callable[[Array], Array] | float = 0.0
) -> Path:
    """A path that starts where `score` stands, with a curvature (1/m, left is positive)."""
    ds = 0.01
    length = np.arange(0.0, distance + 3.0, ds)
    bend = curvature(length) if callable(curvature) else np.full(len(length), curvature)
    # Straight on before and after the asked distance.
    bend = np.where(length <= distance, bend, 0.0)
    heading = score.heading + np.cumsum(bend) * ds
    heading = np.concatenate([[score.heading], heading[:-1]])
    steps = ds * np.stack([np.sin(heading), np.cos(heading)], axis=-1)
    places = score.middle + np.concatenate([np.zeros((1, 2)), np.cumsum(steps, axis=0)[:-1]])
    return Path(length, places, heading)


def walk(
    score: Score,
    *,
    speed: float = 1.25,
    steps: int = 8,
    curvature: Callable[[Array], Array] | float = 0.0,
    lead: str = "left",
    march: bool = False,
    action: str = "walk",
    **parameters,
) -> Performed:
    """Walk `steps` steps at `speed` m/s along a path; from standing to standing.

    The first step goes half as far, the last one closes the feet. Marching lifts the knees.
    """
    who, start = score.performer, score.time
    # Preferred cadence grows with the root of the speed (Grieve and Gear 1966), and small
    # people step faster.
    rate = 2.0 * np.sqrt(speed / 1.3) * (0.85 / who.leg) ** 0.3 * who.tempo
    if march:
        rate = 1.6 * who.tempo
    stride, period = speed / rate, 1.0 / rate
    swing = period * float(np.clip(0.78 + 0.06 * (speed - 1.2), 0.70, 0.83))
    if march:
        swing = 0.86 * period
    path = path_from(score, stride * (steps - 0.5), curvature)
    width = score.performer.stance_width * (0.75 if not march else 0.9)
    vigour = float(np.clip(speed / 1.3, 0.5, 1.6))
    side, travelled = lead, 0.0
    first = start + 0.45
    # In a gait the pelvis is carried ahead of the middle: the rear foot is on its toes.
    score.ease("offset", first, first + 0.5, (0.0, 0.0, 0.045 * vigour))
    score.ease("height", first, first + 0.5, -0.022 + 0.006 * who.bounce)
    _lean_in(score, first, speed, curvature)
    for k in range(steps + 1):
        lift = first + k * period
        last = k == steps
        travelled += 0.0 if last else stride * (0.5 if k == 0 else 1.0)
        place, heading = path.at(travelled)
        wide = None if last else width
        spot, yaw = score.slot(side, place, heading, width=wide, floor=score.floor)
        flat = last or k == 0
        score.step(
            side,
            lift,
            lift + swing,
            spot,
            yaw,
            clearance=0.05 + 0.02 * vigour,
            shift=0.45 if k == 0 else 0.3,
            heel=0.3 if k == 0 else (0.85 if not march else 0.4) * min(0.5 + 0.5 * vigour, 1.15),
            heel_time=0.38 * period + (period - swing),
            toe=0.0 if march else (0.12 if flat else 0.30 * min(vigour, 1.15)),
            toe_time=0.16 * period + 0.02,
        )
        if march:
            _knee_up(score, side, lift, lift + swing)
        size = 0.0 if last else vigour * (0.6 if k == 0 else 1.0)
        _swing_arms(score, side, lift, lift + swing, size=size)
        side = OTHER[side]
    end = first + steps * period + swing
    score.balance(end, end + 0.4)
    score.relax(end - 0.3, end + 0.6)
    finish = end + 0.7
    row = score.performed(
        action, start, finish, speed=speed, lead=lead, step_length=stride,
        step_period=period, **parameters,
    )  # fmt: skip
    row.window = (first + 2.5 * period, first + (steps - 0.5) * period)
    return row


def jog(
    score: Score,
    *,
    speed: float = 2.4,
    steps: int = 10,
    curvature: Callable[[Array], Array] | float = 0.0,
    lead: str = "left",
    action: str = "jog",
    **parameters,
) -> Performed:
    """Jog `steps` steps at `speed` m/s along a path, with a flight in every step.

    Between lift and landing the pelvis flies free: its height is the parabola that fits the
    time in the air.
    """
    who, start = score.performer, score.time
    rate = (2.55 + 0.12 * (speed - 2.2)) * (0.85 / who.leg) ** 0.3 * who.tempo
    stride, period = speed / rate, 1.0 / rate
    # A foot stays down as long as the leg reaches it, ahead and behind.
    contact = min(0.80 * period, 0.78 * who.leg / speed)
    flight = period - contact
    carried = 0.05 + 0.012 * speed
    path = path_from(score, stride * (steps - 0.4), curvature)
    first = start + 0.45
    landing = first + 0.34 + np.arange(steps + 1) * period
    low = _jog_height(score, 0.5 * speed * contact - carried)
    score.ease("offset", first, first + 0.6, (0.0, 0.0, carried))
    score.ease("tilt", first, first + 0.6, 0.05 + 0.02 * speed)
    _lean_in(score, first, speed, curvature)
    height, leap = score.curves["height"], 0.5 * GRAVITY * flight
    score.ease("height", start + 0.1, landing[0], low - 0.02)
    for k in range(steps):
        height.key(landing[k] + contact, low, velocity=leap, acceleration=-GRAVITY)
        height.key(landing[k + 1], low, velocity=-leap, acceleration=-GRAVITY)
    height.key(landing[-1] + 0.25, low - 0.06)
    side, travelled = lead, 0.0
    for k in range(steps + 2):
        closing = k == steps + 1
        lift = (first, landing[0] + 0.06)[k] if k < 2 else landing[k - 2] + contact
        land = landing[-1] + 0.34 if closing else landing[k]
        travelled += 0.0 if closing else stride * (0.35, 0.75, 1.0)[min(k, 2)]
        place, heading = path.at(travelled)
        wide = None if closing else 0.6 * who.stance_width
        spot, yaw = score.slot(side, place, heading, width=wide, floor=score.floor)
        score.step(
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
        if 0 < k <= steps:  # the weight changes feet in flight
            takeoff = landing[k - 1] + (0.06 if k == 0 else contact)
            score.balance(takeoff, landing[k], 1.0 if side == "left" else 0.0)
        elif k == 0:
            score.balance(landing[0] - 0.05, landing[0] + 0.06, 1.0 if side == "left" else 0.0)
        size = 0.0 if closing else (0.6 if k == 0 else 1.0)
        _pump_arms(score, side, lift if k < 2 else land - period, land, size=size)
        side = OTHER[side]
    end = landing[-1] + 0.34
    score.balance(end, end + 0.4)
    score.relax(end - 0.1, end + 0.6)
    row = score.performed(
        action, start, end + 0.7, speed=speed, lead=lead, step_length=stride,
        step_period=period, flight=flight, **parameters,
    )  # fmt: skip
    row.window = (landing[4] - 0.5 * flight, landing[steps - 2] - 0.5 * flight)
    return row


def step_up(
    score: Score, *, height: float = 0.18, lead: str = "left", action: str = "step_up"
) -> Performed:
    """Up onto a step, stand there, and down on its far side."""
    start, pace = score.time, 1.0 / score.performer.tempo
    ground, heading = score.floor, score.heading
    near, far = score.forward(0.48), score.forward(0.98)
    lift, side = start + 0.5 * pace, lead
    for place, floor in ((near, height), (near, height), (far, 0.0), (far, 0.0)):
        spot, yaw = score.slot(side, place, heading, floor=ground + floor)
        down = floor == 0.0
        score.step(
            side, lift, lift + 0.6 * pace, spot, yaw, clearance=0.06 if down else 0.13,
            shift=0.42 * pace, heel=0.9 if down else 0.75,
            heel_time=(0.8 if down and side != lead else 0.3) * pace,
            tiptoe=0.3 if down else 0.0, toe_time=0.12,
        )  # fmt: skip
        _swing_arms(score, side, lift, lift + 0.6 * pace, size=0.5)
        lift += (0.92 if side == lead else 1.35) * pace
        side = OTHER[side]
    lift -= 1.35 * pace
    score.ease("look_pitch", start, start + 0.5, 0.3)
    score.balance(lift + 0.6 * pace, lift + 1.0 * pace)
    score.relax(lift + 0.6 * pace, lift + 1.1 * pace)
    return score.performed(
        action, start, lift + 1.2 * pace, step_height=height, lead=lead,
    )  # fmt: skip


def _lean_in(score: Score, start: float, speed: float, curvature: object) -> None:
    """Lean into a bend of constant curvature, as the balance asks for."""
    if isinstance(curvature, (int, float)) and curvature:
        lean = 0.7 * np.arctan(speed**2 * curvature / GRAVITY)
        score.ease("roll", start, start + 0.8, -lean)


def _jog_height(score: Score, ahead: float) -> float:
    """Height at which a leg, `ahead` metres before the pelvis, is just long enough."""
    who = score.performer
    upright = np.sqrt((0.98 * who.leg) ** 2 - ahead**2)
    return float(upright + who.ankle_height + who.hip_drop - who.pelvis_height - 0.012)


def _pump_arms(score: Score, side: str, start: float, moment: float, *, size: float) -> None:
    """Bent arms of a jog at the moment when the foot of `side` lands."""
    pump = size * score.performer.swing**0.5
    ahead = (0.80 + 0.45 * pump, -0.02, 1.75)
    behind = (0.80 - 0.50 * pump, 0.18, 1.6)
    if size == 0.0:
        ahead = behind = REST_ARM
    score.ease(f"{side}_arm", start, moment, behind)
    score.ease(f"{OTHER[side]}_arm", start, moment, ahead)
    score.ease("twist", start, moment, -SIGN[side] * 0.10 * size)
    score.ease("chest_twist", start, moment, SIGN[side] * 0.22 * size)


def _swing_arms(score: Score, side: str, start: float, moment: float, *, size: float) -> None:
    """Arms and twist at the moment when the foot of `side` lands in front."""
    who = score.performer
    bend = 0.28 + 0.2 * size
    reach = 0.42 * size * who.swing
    ahead = (0.02 + reach, 0.13, bend + 0.15 * size)
    behind = (0.06 - 0.85 * reach, 0.17, bend - 0.08 * size)
    if size == 0.0:
        ahead = behind = REST_ARM
    for arm, pose in ((side, behind), (OTHER[side], ahead)):
        score.ease(f"{arm}_arm", start, moment, pose)
    turn = -SIGN[side] * size
    score.ease("twist", start, moment, 0.09 * turn)
    score.ease("chest_twist", start, moment, -0.17 * turn)


def _knee_up(score: Score, side: str, lift: float, land: float) -> None:
    """The high knee of a march within one swing."""
    middle = lift + 0.5 * (land - lift)
    score.ease(f"{side}_free", lift, middle, 1.0)
    score.curves[f"{side}_free_leg"].key(middle, (0.62, 0.03, 1.3))
    score.ease(f"{side}_free", middle, land, 0.0)
