"""Actions with known targets: kicks, punches, reaches, and sitting on a seat."""

from __future__ import annotations

from typing import Literal

import numpy as np

from motionloom.demo.plan import OTHER, SIGN, Aim, MotionPlan, PlannedAction, on_grid
from motionloom.motion.kinematics.body import GRAVITY

GUARD = (1.62, -0.02, 2.15)
_CARRYING = (0.3, 0.1, 1.6)  # flexion, abduction, elbow bend of an arm that holds something


def kick(
    plan: MotionPlan,
    *,
    side: str = "right",
    azimuth: float = 0.0,
    elevation: float = 0.0,
    extension: float = 0.95,
    leap: float = 0.0,
    action: str = "kick",
) -> PlannedAction:
    """Kick at a target with one leg, from standing to standing.

    Parameters
    ----------
    side : str
        The kicking leg.
    azimuth, elevation : float
        Direction from the hip to the ankle's target: radians to the left of straight ahead, and
        radians above the horizontal (negative below).
    extension : float
        Distance of the target from the hip, as a fraction of the leg's length.
    leap : float
        Height of a leap in meters; the kick hits at its apex.
    """
    start, pace = plan.time, 1.0 / plan.performer.tempo
    sign, other = SIGN[side], OTHER[side]
    outward = sign * azimuth  # positive: away from the body's midline
    high = float(np.clip((elevation + 0.9) / 1.3, 0.0, 1.0))
    sideways = float(np.clip(outward, -0.5, 1.4))
    lift = start + 0.5 * pace
    hit = on_grid(lift + (0.55 + 0.12 * high) * pace)
    chamber = hit - 0.24 * pace
    land = hit + (0.62 + 0.12 * high) * pace

    home = plan.curves[f"{side}_place"].last
    plan.step(
        side, lift, land, home, float(plan.curves[f"{side}_yaw"].last),
        clearance=0.10, shift=0.5 * pace, heel=0.45, heel_time=0.2, toe=0.0,
    )  # fmt: skip
    knee_up = (0.75 + 0.75 * high) * max(np.cos(sideways), 0.25)
    knee_out = 0.08 + 0.75 * max(sideways, 0.0) * (0.6 + 0.4 * high)
    bent = (knee_up, knee_out, 1.75)
    plan.ease(f"{side}_free", lift, chamber, 1.0)
    plan.ease(f"{side}_free_leg", lift - 0.05, chamber, bent)
    plan.ease(f"{side}_free_leg", hit, hit + 0.34 * pace, (0.6 * knee_up, 0.6 * knee_out, 1.3))
    plan.ease(f"{side}_free", hit + 0.22 * pace, land, 0.0)
    plan.ease(f"{side}_ankle", chamber, hit, -0.25 if sideways > 0.6 else 0.35)
    plan.ease(f"{side}_ankle", hit + 0.05, hit + 0.35, 0.0)
    direction = _direction(azimuth, elevation)
    aim = Aim(f"{side}_foot", chamber, hit, hit + 0.04, hit + 0.36 * pace, direction, extension)
    plan.aims.append(aim)

    # The chest leans away from the leg. The guard is up, and the other arm is forward for balance.
    back, away = 0.34 * high * np.cos(sideways), 0.55 * high * np.sin(max(sideways, 0.0))
    _lean(plan, start + 0.15, chamber, hit, side, back=back, away=away, sideways=sideways)
    plan.ease("offset", lift, hit, (0.0, 0.0, 0.03 - 0.05 * high))
    top = (1.15, 0.25, 1.7)
    plan.pose_arms(start + 0.1, chamber - 0.12, GUARD, GUARD)
    plan.ease(f"{side}_arm", chamber - 0.12, hit + 0.1, (0.45, 0.45 + 0.2 * high, 1.3))
    plan.ease(f"{other}_arm", chamber - 0.12, hit + 0.1, top)
    if leap > 0.0:
        _leap(plan, other, hit, leap)
    else:
        plan.ease("height", start + 0.1, lift, -0.03)
        plan.ease("height", chamber, hit, -0.012)
        plan.ease("height", hit, land, -0.03)
    end = land + 0.62 * pace
    plan.balance(land, land + 0.45 * pace)
    plan.relax(hit + 0.12, end - 0.05)
    row = plan.add_action(
        action, start, end, leg=side, azimuth=azimuth, elevation=elevation, leap=leap,
        point=f"{side.title()}Foot", hit_time=hit,
    )  # fmt: skip
    aim.parameters = row.parameters
    return row


def _lean(plan, start, chamber, hit, side, *, back, away, sideways) -> None:
    """Make pelvis and chest follow the leg and lean away from the target."""
    sign = SIGN[side]
    plan.ease("tilt", chamber - 0.1, hit, -back)
    plan.ease("chest_bend", chamber - 0.1, hit, 0.45 * back)
    # The hip of the kicking leg moves forward and, in a side kick, up.
    plan.ease("twist", start, chamber, -sign * 0.08)
    plan.ease("twist", chamber, hit, -sign * 0.30 * max(np.cos(1.6 * sideways), -0.4))
    plan.ease("roll", chamber - 0.15, hit, sign * 0.8 * away)
    plan.ease("chest_side", chamber - 0.15, hit, sign * 0.35 * away)
    plan.ease("look_yaw", chamber - 0.2, hit, sign * 0.6 * sideways)


def _leap(plan: MotionPlan, side: str, hit: float, leap: float) -> None:
    """Jump off the standing leg, with a free flight of the pelvis whose apex is at `hit`."""
    rise = np.sqrt(2.0 * leap / GRAVITY)
    off, on = hit - rise, hit + rise
    speed = GRAVITY * rise
    height = plan.curves["height"]
    up = 0.035 * plan.performer.height / 1.75
    plan.ease("height", off - 0.75, off - 0.28, -0.13)
    height.key(off, up, velocity=speed, acceleration=-GRAVITY)
    height.key(on, up, velocity=-speed, acceleration=-GRAVITY)
    height.key(on + 0.26, -0.14)
    height.key(on + 0.75, -0.03)
    plan.step(
        side, off, on, plan.curves[f"{side}_place"].last,
        float(plan.curves[f"{side}_yaw"].last), clearance=0.04, shift=None, flight=True,
        heel=0.75, heel_time=0.22, tiptoe=0.75, toe_time=0.16,
    )  # fmt: skip


def punch(
    plan: MotionPlan,
    *,
    side: str = "right",
    azimuth: float = 0.0,
    elevation: float = 0.0,
    extension: float = 0.95,
    action: str = "punch",
) -> PlannedAction:
    """Punch at a target from a guard, from standing to standing.

    `azimuth` and `elevation` give the direction from the shoulder to the target, as in `kick`. The
    end of the hand reaches the target.
    """
    start, pace = plan.time, 1.0 / plan.performer.tempo
    sign, other = SIGN[side], OTHER[side]
    hit = on_grid(start + 0.95 * pace)
    launch = hit - 0.26 * pace
    direction = _direction(azimuth, elevation)
    aim = Aim(f"{side}_hand", launch, hit, hit + 0.03, hit + 0.36 * pace, direction, extension)
    plan.aims.append(aim)
    inward = -sign * azimuth
    turn = -sign * (0.18 + 0.35 * np.clip(inward, -0.5, 1.0))
    plan.pose_arms(start, launch - 0.05, GUARD, GUARD)
    plan.ease(f"{other}_arm", launch, hit, (1.5, -0.05, 2.25))
    plan.ease("height", start, launch, -0.05)
    plan.ease("height", launch, hit, -0.035 + 0.15 * min(elevation, 0.0))
    plan.balance(start, launch, 0.5 + 0.15 * sign)
    plan.balance(launch, hit + 0.1, 0.5 - 0.18 * sign)
    plan.ease("twist", start + 0.1, launch, -0.35 * turn)
    plan.ease("twist", launch, hit, 0.55 * turn)
    plan.ease("chest_twist", start + 0.1, launch, -0.5 * turn)
    plan.ease("chest_twist", launch, hit, 1.3 * turn)
    plan.ease("chest_bend", launch, hit, 0.08 - 0.25 * min(elevation, 0.0))
    plan.ease("look_yaw", launch - 0.2, hit, 0.6 * azimuth)
    plan.ease("look_pitch", launch - 0.2, hit, -0.4 * elevation)
    plan.ease(f"{side}_heel", launch, hit, 0.3)
    plan.ease(f"{side}_heel", hit + 0.1, hit + 0.5 * pace, 0.0)
    end = hit + 0.95 * pace
    plan.pose_arms(hit, hit + 0.36 * pace, GUARD, GUARD)
    plan.relax(hit + 0.36 * pace, end - 0.02)
    plan.balance(hit + 0.2, end)
    row = plan.add_action(
        action, start, end, arm=side, azimuth=azimuth, elevation=elevation,
        point=f"{side.title()}Hand_End", hit_time=hit,
    )  # fmt: skip
    aim.parameters = row.parameters
    return row


def reach(
    plan: MotionPlan,
    *,
    side: str = "right",
    azimuth: float = 0.0,
    elevation: float = 0.0,
    extension: float = 0.92,
    carried: Literal["away", "back"] | None = None,
    action: str = "reach",
) -> PlannedAction:
    """Reach for a point with one hand, hold it briefly, and return.

    Parameters
    ----------
    side : str
        The reaching hand, whose fingertips touch the target.
    azimuth, elevation : float
        Direction from the shoulder to the target: radians to the left of straight ahead, and
        radians above the horizontal.
    extension : float
        Distance of the target from the shoulder, as a fraction of the arm's length.
    carried : {"away", "back"}, optional
        Direction in which the hand carries an object: away from the target, so that the arm is bent
        at the end, or back to it, so that the arm is bent at the beginning.
    """
    start, pace = plan.time, 1.0 / plan.performer.tempo
    sign, size = SIGN[side], plan.performer.height / 1.75
    outward = sign * azimuth
    low, high = max(-elevation, 0.0), max(elevation, 0.0)
    go = start + 0.25
    hit = on_grid(go + (0.85 + 0.15 * low) * pace)
    leave = hit + 0.2 * pace
    back = leave + (0.9 + 0.1 * low) * pace
    direction = _direction(azimuth, elevation)
    aim = Aim(f"{side}_hand", go, hit, leave, back, direction, extension)
    plan.aims.append(aim)

    if carried == "back":
        plan.ease(f"{side}_arm", start - 0.8, start - 0.3, _CARRYING)
    # The hand first leaves the thigh sideways and forward, then moves to the target.
    plan.ease(f"{side}_arm", go - 0.1, hit - 0.15, _intermediate_pose(outward, elevation))
    plan.ease(f"{OTHER[side]}_arm", go, hit, (0.02, 0.22 + 0.1 * high, 0.4))
    behind = max(abs(azimuth) - 1.2, 0.0)
    plan.ease("twist", go, hit - 0.05, azimuth * (0.16 + 0.12 * behind))
    plan.ease("chest_twist", go, hit, np.clip(azimuth * 0.36, -0.75, 0.75))
    ahead = np.cos(azimuth)
    plan.ease("tilt", go, hit, 0.55 * low * (0.4 + 0.6 * max(ahead, 0.0)))
    plan.ease("chest_bend", go, hit, 0.62 * low * (0.25 + 0.75 * max(ahead, 0.0)) - 0.12 * high)
    # Positive roll lowers the right side; the body leans toward a low target at the side.
    plan.ease("chest_side", go, hit, -np.sin(azimuth) * (0.45 * low + 0.06) + 0.1 * sign * high)
    plan.ease("height", go, hit, (-0.27 * low**1.3 + 0.06 * high * (high > 0.6)) * size)
    if high > 0.6:
        plan.tiptoe(go + 0.1, hit, 0.55 * high)
        plan.tiptoe(leave + 0.1, back, 0.0)
    plan.balance(go, hit, float(np.clip(0.5 + 0.26 * np.sin(azimuth), 0.1, 0.9)))
    plan.ease("look_yaw", go - 0.1, hit - 0.25, np.clip(0.75 * azimuth, -1.25, 1.25))
    plan.ease("look_pitch", go - 0.1, hit - 0.25, -0.45 * elevation + 0.25 * low)
    if carried == "away":
        plan.ease(f"{side}_arm", leave + 0.05, back, _CARRYING)
        plan.relax(leave + 0.05, back, but=(f"{side}_arm",))
    else:
        plan.relax(leave + 0.05, back)
    plan.balance(leave, back)
    row = plan.add_action(
        action, start, back + 0.25, arm=side, azimuth=azimuth, elevation=elevation,
        point=f"{side.title()}Hand_End", hit_time=hit,
    )  # fmt: skip
    aim.parameters = row.parameters
    return row


def _intermediate_pose(outward: float, elevation: float) -> tuple[float, float, float]:
    raised = 0.55 * (elevation + np.pi / 2)
    return (raised * np.cos(outward), 0.1 + raised * np.sin(np.clip(outward, -0.3, 1.8)), 0.8)


def sit_and_stand(
    plan: MotionPlan, *, seat: float = 0.46, wait: float = 1.0, action: str = "sit_stand"
) -> PlannedAction:
    """Sit down on a seat `seat` meters high behind the feet, wait, and stand up again."""
    start, who, pace = plan.time, plan.performer, 1.0 / plan.performer.tempo
    down, sit = start + 0.3, start + 0.3 + 1.25 * pace
    rise = sit + wait
    stand = rise + 1.2 * pace
    # The hip joints are 9 cm above the seat.
    drop = seat + 0.09 + who.hip_drop - who.pelvis_height
    behind = (0.0, 0.0, -(0.92 * who.thigh + 0.02))
    plan.ease("height", down, sit, drop)
    plan.ease("offset", down - 0.1, sit, behind)
    plan.ease("tilt", down - 0.1, down + 0.62 * pace, 0.55)
    plan.ease("chest_bend", down, down + 0.62 * pace, 0.45)
    plan.ease("tilt", down + 0.7 * pace, sit + 0.25, -0.08)
    plan.ease("chest_bend", down + 0.7 * pace, sit + 0.25, 0.12)
    plan.pose_arms(down, sit + 0.1, (0.75, 0.06, 0.9), (0.75, 0.06, 0.9))
    plan.ease("look_pitch", down, down + 0.5, 0.25)
    plan.ease("look_pitch", down + 0.8 * pace, sit + 0.2, 0.0)
    plan.ease("tilt", rise - 0.25, rise + 0.35 * pace, 0.6)
    plan.ease("chest_bend", rise - 0.25, rise + 0.35 * pace, 0.45)
    plan.ease("height", rise, stand, 0.0)
    plan.ease("offset", rise - 0.05, stand, np.zeros(3))
    plan.pose_arms(rise - 0.2, rise + 0.4 * pace, (0.95, 0.08, 0.6), (0.95, 0.08, 0.6))
    plan.relax(rise + 0.45 * pace, stand + 0.15)
    return plan.add_action(
        action, start, stand + 0.35, seat_height=seat, seated_time=sit + 0.25,
        rising_time=rise - 0.25,
    )  # fmt: skip


def _direction(azimuth: float, elevation: float) -> np.ndarray:
    """Return a unit vector (3,) in the heading frame."""
    return np.array([
        np.sin(azimuth) * np.cos(elevation), np.sin(elevation),
        np.cos(azimuth) * np.cos(elevation),
    ])  # fmt: skip
