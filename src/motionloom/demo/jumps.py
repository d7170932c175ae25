"""Hops, jumps, and jumps with a turn: free flight between known frames."""

from __future__ import annotations

import numpy as np

from motionloom.demo.curves import GRAVITY
from motionloom.demo.performers import SIDES
from motionloom.demo.score import SIGN, Performed, Score
from motionloom.motion import rotations as rot


def jump(
    score: Score,
    *,
    height: float = 0.25,
    forward: float = 0.0,
    turn: float = 0.0,
    action: str = "jump",
) -> Performed:
    """Jump from both feet onto both feet.

    Parameters
    ----------
    height : float
        Rise of the pelvis in free flight, metres.
    forward : float
        How far ahead the feet land.
    turn : float
        Turn in the air, radians to the left.
    """
    start = score.time
    rise = np.sqrt(2.0 * height / GRAVITY)
    off = start + 0.95
    on = off + 2.0 * rise
    size = score.performer.height / 1.75
    _flight(score, start + 0.1, off, on, crouch=0.24 * size, up=(0.045 - 0.06 * forward) * size)
    ahead = score.forward(forward)
    heading = score.heading + turn
    for side in SIDES:
        place, yaw = score.slot(side, ahead, heading, floor=score.floor)
        score.step(
            side, off, on, place, yaw, clearance=0.05, shift=None, flight=True, push=3.0,
            heel=0.85, heel_time=0.22, tiptoe=0.8, toe_time=0.17,
        )  # fmt: skip
    swing = 1.0 if forward > 0.3 else 0.7
    back, up = (-0.5 * swing, 0.2, 0.35), (1.35 * swing, 0.2, 0.7)
    score.pose_arms(start + 0.1, off - 0.38, back, back)
    score.pose_arms(off - 0.38, off + 0.1, up, up)
    score.pose_arms(on - 0.2, on + 0.3, (0.5, 0.35, 0.6), (0.5, 0.35, 0.6))
    score.ease("tilt", start + 0.1, off - 0.3, 0.45)
    score.ease("chest_bend", start + 0.1, off - 0.3, 0.3)
    score.ease("tilt", off - 0.3, off, 0.06 + 0.15 * min(forward, 1.0))
    score.ease("chest_bend", off - 0.3, off, -0.05)
    score.ease("tilt", on - 0.1, on + 0.25, 0.4)
    score.ease("chest_bend", on - 0.1, on + 0.25, 0.25)
    if turn:
        for name, share in (("chest_twist", 0.28), ("twist", 0.18)):
            score.ease(name, start + 0.2, off - 0.3, -share * np.sign(turn))
            score.ease(name, off - 0.3, off + 0.05, 0.8 * share * np.sign(turn))
            score.ease(name, off + 0.05, on, 0.0)
    score.relax(on + 0.25, on + 0.9)
    return score.performed(
        action, start, on + 1.0, rise=height, forward=forward, turn=turn,
        takeoff_time=off, landing_time=on,
    )  # fmt: skip


def hop(
    score: Score,
    *,
    side: str = "right",
    hops: int = 3,
    height: float = 0.10,
    forward: float = 0.25,
    action: str = "hop",
) -> Performed:
    """Hop on one leg, `hops` times, `forward` metres each, then put the other foot down."""
    start, who = score.time, score.performer
    other = "left" if side == "right" else "right"
    rise, contact = np.sqrt(2.0 * height / GRAVITY), 0.42
    lift = start + 0.5
    first = lift + 0.55
    takeoffs = first + np.arange(hops) * (2.0 * rise + contact)
    landings = takeoffs + 2.0 * rise
    speed, up = GRAVITY * rise, 0.02 * who.height / 1.75
    curve = score.curves["height"]
    score.ease("height", lift, first - 0.22, -0.10)
    moving = {"acceleration": -GRAVITY}
    for off, on in zip(takeoffs, landings, strict=True):
        curve.key(off, up, velocity=speed, **moving)
        curve.key(on, up, velocity=-speed, **moving)
        curve.key(on + 0.5 * contact, -0.09)
    down = landings[-1] + 0.75
    final = score.forward(forward * hops)
    heading, floor = score.heading, score.floor
    spot, yaw = score.slot(other, final, heading, floor=floor)
    score.step(other, lift, down, spot, yaw, clearance=0.12, shift=0.5, heel=0.4)
    score.ease(f"{other}_free", lift, lift + 0.45, 1.0)
    score.ease(f"{other}_free_leg", lift - 0.1, lift + 0.4, (-0.12, 0.05, 1.25))
    score.ease(f"{other}_free", landings[-1] + 0.25, down, 0.0)
    middle = score.curves[f"{side}_place"].last
    ahead = rot.rotate(rot.yaw(heading), [0.0, 0.0, forward])
    for k, (off, on) in enumerate(zip(takeoffs, landings, strict=True)):
        score.step(
            side, off, on, middle + (k + 1) * ahead, float(score.curves[f"{side}_yaw"].last),
            clearance=0.02, shift=None, flight=True, push=3.0, heel=0.7, heel_time=0.18,
            tiptoe=0.65, toe_time=0.15,
        )  # fmt: skip
        score.pose_arms(off - 0.2, off + 0.05, (0.75, 0.5, 1.0), (0.75, 0.5, 1.0))
        score.pose_arms(off + 0.05, on + 0.15, (0.3, 0.45, 0.8), (0.3, 0.45, 0.8))
    score.ease("roll", lift, lift + 0.4, SIGN[side] * 0.05)
    score.ease("chest_bend", lift, lift + 0.4, 0.12)
    score.balance(down - 0.05, down + 0.4)
    score.relax(landings[-1] + 0.3, down + 0.5)
    return score.performed(
        action, start, down + 0.6, leg=side, hops=hops, rise=height, forward=forward,
        takeoff_times=[float(t) for t in takeoffs], landing_times=[float(t) for t in landings],
    )  # fmt: skip


def _flight(score: Score, start: float, off: float, on: float, *, crouch: float, up: float) -> None:
    """Height of the pelvis: crouch, push off, parabola, landing."""
    speed = 0.5 * GRAVITY * (on - off)
    curve = score.curves["height"]
    score.ease("height", start, off - 0.27, -crouch)
    curve.key(off, up, velocity=speed, acceleration=-GRAVITY)
    curve.key(on, up, velocity=-speed, acceleration=-GRAVITY)
    curve.key(on + 0.27, -0.8 * crouch)
    curve.key(on + 0.85, 0.0)
