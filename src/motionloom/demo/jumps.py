"""Jumps, hops and cartwheels, with known takeoff, landing and contact frames."""

from __future__ import annotations

import numpy as np

from motionloom.demo.performers import SIDES
from motionloom.demo.plan import OTHER, SIGN, Aim, ControlCurve, MotionPlan, PlannedAction
from motionloom.motion.kinematics.body import GRAVITY
from motionloom.motion.rotations import quaternions as rot


def jump(
    plan: MotionPlan,
    *,
    height: float = 0.25,
    forward: float = 0.0,
    turn: float = 0.0,
    action: str = "jump",
) -> PlannedAction:
    """Jump with both feet.

    Parameters
    ----------
    height : float
        Rise of the pelvis in free flight, in meters.
    forward : float
        Forward distance of the landing, in meters.
    turn : float
        Rotation during flight, radians to the left.
    """
    start = plan.time
    rise = np.sqrt(2.0 * height / GRAVITY)
    off = start + 0.95
    on = off + 2.0 * rise
    size = plan.performer.height / 1.75
    _flight(plan, start + 0.1, off, on, crouch=0.24 * size, up=(0.045 - 0.06 * forward) * size)
    ahead = plan.forward(forward)
    heading = plan.heading + turn
    for side in SIDES:
        place, yaw = plan.slot(side, ahead, heading, floor=plan.floor)
        plan.step(
            side, off, on, place, yaw, clearance=0.05, shift=None, flight=True, push=3.0,
            heel=0.85, heel_time=0.22, tiptoe=0.8, toe_time=0.17,
        )  # fmt: skip
    swing = 1.0 if forward > 0.3 else 0.7
    back, up = (-0.5 * swing, 0.2, 0.35), (1.35 * swing, 0.2, 0.7)
    plan.pose_arms(start + 0.1, off - 0.38, back, back)
    plan.pose_arms(off - 0.38, off + 0.1, up, up)
    plan.pose_arms(on - 0.2, on + 0.3, (0.5, 0.35, 0.6), (0.5, 0.35, 0.6))
    plan.ease("tilt", start + 0.1, off - 0.3, 0.45)
    plan.ease("chest_bend", start + 0.1, off - 0.3, 0.3)
    plan.ease("tilt", off - 0.3, off, 0.06 + 0.15 * min(forward, 1.0))
    plan.ease("chest_bend", off - 0.3, off, -0.05)
    plan.ease("tilt", on - 0.1, on + 0.25, 0.4)
    plan.ease("chest_bend", on - 0.1, on + 0.25, 0.25)
    if turn:
        for name, share in (("chest_twist", 0.28), ("twist", 0.18)):
            plan.ease(name, start + 0.2, off - 0.3, -share * np.sign(turn))
            plan.ease(name, off - 0.3, off + 0.05, 0.8 * share * np.sign(turn))
            plan.ease(name, off + 0.05, on, 0.0)
    plan.relax(on + 0.25, on + 0.9)
    return plan.add_action(
        action, start, on + 1.0, rise=height, forward=forward, turn=turn,
        takeoff_time=off, landing_time=on,
    )  # fmt: skip


def hop(
    plan: MotionPlan,
    *,
    side: str = "right",
    hops: int = 3,
    height: float = 0.10,
    forward: float = 0.25,
    action: str = "hop",
) -> PlannedAction:
    """Hop `hops` times on one leg, `forward` meters each, then put the other foot down."""
    start, who = plan.time, plan.performer
    other = "left" if side == "right" else "right"
    rise, contact = np.sqrt(2.0 * height / GRAVITY), 0.42
    lift = start + 0.5
    first = lift + 0.55
    takeoffs = first + np.arange(hops) * (2.0 * rise + contact)
    landings = takeoffs + 2.0 * rise
    speed, up = GRAVITY * rise, 0.02 * who.height / 1.75
    curve = plan.curves["height"]
    plan.ease("height", lift, first - 0.22, -0.10)
    moving = {"acceleration": -GRAVITY}
    for off, on in zip(takeoffs, landings, strict=True):
        curve.key(off, up, velocity=speed, **moving)
        curve.key(on, up, velocity=-speed, **moving)
        curve.key(on + 0.5 * contact, -0.09)
    down = landings[-1] + 0.75
    final = plan.forward(forward * hops)
    heading, floor = plan.heading, plan.floor
    spot, yaw = plan.slot(other, final, heading, floor=floor)
    plan.step(other, lift, down, spot, yaw, clearance=0.12, shift=0.5, heel=0.4)
    plan.ease(f"{other}_free", lift, lift + 0.45, 1.0)
    plan.ease(f"{other}_free_leg", lift - 0.1, lift + 0.4, (-0.12, 0.05, 1.25))
    plan.ease(f"{other}_free", landings[-1] + 0.25, down, 0.0)
    middle = plan.curves[f"{side}_place"].last
    ahead = rot.rotate(rot.yaw(heading), [0.0, 0.0, forward])
    for k, (off, on) in enumerate(zip(takeoffs, landings, strict=True)):
        plan.step(
            side, off, on, middle + (k + 1) * ahead, float(plan.curves[f"{side}_yaw"].last),
            clearance=0.02, shift=None, flight=True, push=3.0, heel=0.7, heel_time=0.18,
            tiptoe=0.65, toe_time=0.15,
        )  # fmt: skip
        plan.pose_arms(off - 0.2, off + 0.05, (0.75, 0.5, 1.0), (0.75, 0.5, 1.0))
        plan.pose_arms(off + 0.05, on + 0.15, (0.3, 0.45, 0.8), (0.3, 0.45, 0.8))
    plan.ease("roll", lift, lift + 0.4, SIGN[side] * 0.05)
    plan.ease("chest_bend", lift, lift + 0.4, 0.12)
    plan.balance(down - 0.05, down + 0.4)
    plan.relax(landings[-1] + 0.3, down + 0.5)
    return plan.add_action(
        action, start, down + 0.6, leg=side, hops=hops, rise=height, forward=forward,
        takeoff_times=[float(t) for t in takeoffs], landing_times=[float(t) for t in landings],
    )  # fmt: skip


def _flight(
    plan: MotionPlan, start: float, off: float, on: float, *, crouch: float, up: float
) -> None:
    """Set the height of the pelvis: crouch, push-off, parabola, landing."""
    speed = 0.5 * GRAVITY * (on - off)
    curve = plan.curves["height"]
    plan.ease("height", start, off - 0.27, -crouch)
    curve.key(off, up, velocity=speed, acceleration=-GRAVITY)
    curve.key(on, up, velocity=-speed, acceleration=-GRAVITY)
    curve.key(on + 0.27, -0.8 * crouch)
    curve.key(on + 0.85, 0.0)


_TURN = 2.1  # duration of the full turn, seconds


def cartwheel(plan: MotionPlan, *, side: str = "left", action: str = "cartwheel") -> PlannedAction:
    """Perform a cartwheel toward `side`, facing forward throughout.

    The second half mirrors the first in time and space: the foot that leaves the floor last
    corresponds to the hand that touches it last, and so on.
    """
    start, who, sign, far = plan.time, plan.performer, SIGN[side], OTHER[side]
    size = who.leg / 0.85
    heading, floor = plan.heading, plan.floor
    origin = plan.middle

    def place(along: float, height: float = 0.0) -> np.ndarray:
        """Return the world point `along` meters to the side of the start."""
        turned = rot.rotate(rot.yaw(heading), [sign * along * size, 0.0, 0.0])
        return np.array([origin[0] + turned[0], floor + height, origin[1] + turned[2]])

    # Lunge to the side with raised arms.
    near_foot, lunge = 0.42, start + 0.55
    yaws = {s: float(plan.curves[f"{s}_yaw"].last) for s in (side, far)}
    plan.step(side, lunge, lunge + 0.4, place(near_foot), yaws[side], heel=0.3, shift=0.4)
    up = (0.25, 2.65, 0.25)
    plan.pose_arms(start + 0.15, lunge + 0.45, up, up)
    begin = lunge + 0.45
    end = begin + _TURN
    plan.balance(lunge + 0.4, begin + 0.1, 0.5 + 0.4 * sign)

    # The body angle is a single minimum-jerk turn, whose inverse gives the time of every event.
    roll = plan.curves["roll"]
    roll.hold(begin)
    roll.key(end, -sign * 2.0 * np.pi)
    grid = np.linspace(begin, end, 4001)
    angle = ControlCurve(0.0)
    angle.ease(begin, end, 360.0)
    degrees = angle.sample(grid)

    def moment(body_degrees: float) -> float:
        return float(np.interp(body_degrees, degrees, grid))

    apex = near_foot + 1.18  # midpoint of the hands
    width = 2.50
    for body, along, height in (
        (0.0, apex - width / 2, None),
        (60.0, apex - 0.335 * width, 0.80),
        (180.0, apex, 1.10),
        (300.0, apex + 0.335 * width, 0.80),
        (360.0, apex + width / 2, None),
    ):
        level = who.pelvis_height - 0.05 * size if height is None else height * size
        speed = _speed(body, width) * size
        velocity = rot.rotate(rot.yaw(heading), [sign * speed, 0.0, 0.0])
        plan.curves["pelvis_place"].key(moment(body), place(along, level), velocity=velocity)
    plan.ease("pelvis_world", begin - 0.15, begin + 0.3, 1.0)
    plan.ease("pelvis_world", end - 0.3, end + 0.15, 0.0)
    plan.ease("look_level", begin - 0.2, moment(25.0), 0.0)
    plan.ease("look_level", moment(335.0), end + 0.2, 1.0)
    plan.ease("look_pitch", begin, moment(60.0), -0.35)
    plan.ease("look_pitch", moment(240.0), end, 0.0)

    straddle = (0.05, 0.72, 0.25)
    last = 2.0 * apex - near_foot
    for foot, leaves, lands, spot in (
        (far, 28.0, 272.0, last),
        (side, 88.0, 332.0, last + 0.42 + who.stance_width * 0.25),
    ):
        lift, land = moment(leaves), moment(lands)
        target = place(spot)
        plan.step(
            foot, lift, land, target, yaws[foot], clearance=0.25, shift=None, heel=0.85,
            heel_time=0.2, tiptoe=0.8, toe_time=0.17,
        )  # fmt: skip
        plan.ease(f"{foot}_free_leg", begin, lift, straddle)
        plan.ease(f"{foot}_free", lift, lift + 0.2, 1.0, push=5.0)
        plan.ease(f"{foot}_free", land - 0.2, land, 0.0, push=5.0)
        plan.ease(f"{foot}_ankle", lift, lift + 0.4, 0.3)
        plan.ease(f"{foot}_ankle", land - 0.4, land, 0.0)
    contacts = {}
    for hand, along, down, off in (
        (side, apex - 0.21, 90.0, 204.0),
        (far, apex + 0.21, 156.0, 270.0),
    ):
        hit, leave = moment(down), moment(off)
        point = place(along, 0.02).round(3)
        plan.aims.append(
            Aim(f"{hand}_hand", hit - 0.42, hit, leave, leave + 0.42, np.zeros(3), 0.0,
                target=point)
        )  # fmt: skip
        plan.ease(f"{hand}_wrist", hit - 0.25, hit, 0.55)
        plan.ease(f"{hand}_wrist", leave, leave + 0.2, 0.0)
        contacts[hand] = (hit, leave)
    plan.balance(moment(150.0), moment(210.0), 0.5 - 0.4 * sign)
    plan.ease("height", end - 0.2, end, -0.05 * size)
    roll.rebase(0.0)
    return _finish(plan, action, side, start, end, apex, size, contacts)


def _finish(plan, action, side, start, end, apex, size, contacts) -> PlannedAction:
    far = OTHER[side]
    close = end + 0.55
    spot = plan.curves[f"{side}_place"].last - plan.curves[f"{far}_place"].last
    wide = spot / np.linalg.norm(spot) * plan.performer.stance_width
    target = plan.curves[f"{side}_place"].last - wide
    yaw = float(plan.curves[f"{far}_yaw"].last)
    plan.step(far, close, close + 0.4, target, yaw, shift=0.4, heel=0.3)
    plan.balance(close + 0.4, close + 0.75)
    plan.relax(end, close + 0.5)
    return plan.add_action(
        action, start, close + 0.85, side=side,
        hand_down_times=[contacts[side][0], contacts[far][0]],
        hand_up_times=[contacts[side][1], contacts[far][1]],
        inverted_time=end - _TURN / 2.0, travel=2.0 * apex * size,
    )  # fmt: skip


def _speed(body: float, width: float) -> float:
    """Return the sideways speed when the body has rotated by `body` degrees, out of 360."""
    if body in (0.0, 360.0):
        return 0.0
    fraction = body / 360.0
    # Slope of the minimum-jerk curve at the point where it has reached `fraction`.
    u = np.linspace(0.0, 1.0, 2001)
    done = u**3 * (10 - 15 * u + 6 * u**2)
    at = np.interp(fraction, done, u)
    return float(width / _TURN * 30.0 * at**2 * (1.0 - at) ** 2)
