"""Reaching for points all around, and sitting down."""

from __future__ import annotations

import numpy as np

from motionloom.demo.curves import on_grid
from motionloom.demo.score import OTHER, SIGN, Aim, Performed, Score


def reach(
    score: Score,
    *,
    side: str = "right",
    azimuth: float = 0.0,
    elevation: float = 0.0,
    extension: float = 0.92,
    action: str = "reach",
) -> Performed:
    """Reach for a point with one hand, hold it for a moment, come back.

    Parameters
    ----------
    side : str
        The hand that reaches; its finger tips meet the target.
    azimuth, elevation : float
        Where the target is, seen from the shoulder: radians to the left of straight ahead,
        and above the horizontal.
    extension : float
        How far, as a part of the arm's length.
    """
    start, pace = score.time, 1.0 / score.performer.tempo
    sign, size = SIGN[side], score.performer.height / 1.75
    outward = sign * azimuth
    low, high = max(-elevation, 0.0), max(elevation, 0.0)
    go = start + 0.25
    hit = on_grid(go + (0.85 + 0.15 * low) * pace)
    leave = hit + 0.2 * pace
    back = leave + (0.9 + 0.1 * low) * pace
    direction = np.array([
        np.sin(azimuth) * np.cos(elevation), np.sin(elevation),
        np.cos(azimuth) * np.cos(elevation),
    ])  # fmt: skip
    aim = Aim(f"{side}_hand", go, hit, leave, back, direction, extension)
    score.aims.append(aim)

    # On the way the hand leaves the thigh sideways and forward before it goes to the point.
    score.ease(f"{side}_arm", go - 0.1, hit - 0.15, _on_the_way(outward, elevation))
    score.ease(f"{OTHER[side]}_arm", go, hit, (0.02, 0.22 + 0.1 * high, 0.4))
    behind = max(abs(azimuth) - 1.2, 0.0)
    score.ease("twist", go, hit - 0.05, azimuth * (0.16 + 0.12 * behind))
    score.ease("chest_twist", go, hit, np.clip(azimuth * 0.36, -0.75, 0.75))
    ahead = np.cos(azimuth)
    score.ease("tilt", go, hit, 0.55 * low * (0.4 + 0.6 * max(ahead, 0.0)))
    score.ease("chest_bend", go, hit, 0.62 * low * (0.25 + 0.75 * max(ahead, 0.0)) - 0.12 * high)
    # Rolling to the left side (+) lowers the right; lean towards a low point at the side.
    score.ease("chest_side", go, hit, -np.sin(azimuth) * (0.45 * low + 0.06) + 0.1 * sign * high)
    score.ease("height", go, hit, (-0.27 * low**1.3 + 0.06 * high * (high > 0.6)) * size)
    if high > 0.6:
        score.tiptoe(go + 0.1, hit, 0.55 * high)
        score.tiptoe(leave + 0.1, back, 0.0)
    score.balance(go, hit, float(np.clip(0.5 + 0.26 * np.sin(azimuth), 0.1, 0.9)))
    score.ease("look_yaw", go - 0.1, hit - 0.25, np.clip(0.75 * azimuth, -1.25, 1.25))
    score.ease("look_pitch", go - 0.1, hit - 0.25, -0.45 * elevation + 0.25 * low)
    score.relax(leave + 0.05, back)
    score.balance(leave, back)
    row = score.performed(
        action, start, back + 0.25, arm=side, azimuth=azimuth, elevation=elevation,
        point=f"{side.title()}Hand_End", hit_time=hit,
    )  # fmt: skip
    aim.parameters = row.parameters
    return row


def _on_the_way(outward: float, elevation: float) -> tuple[float, float, float]:
    raised = 0.55 * (elevation + np.pi / 2)
    return (raised * np.cos(outward), 0.1 + raised * np.sin(np.clip(outward, -0.3, 1.8)), 0.8)


def sit_and_stand(
    score: Score, *, seat: float = 0.46, wait: float = 1.0, action: str = "sit_stand"
) -> Performed:
    """Sit down on a seat `seat` metres high behind the feet, wait, and stand up again."""
    start, who, pace = score.time, score.performer, 1.0 / score.performer.tempo
    down, sit = start + 0.3, start + 0.3 + 1.25 * pace
    rise = sit + wait
    stand = rise + 1.2 * pace
    # Hip joints are a hand's breadth above the seat.
    drop = seat + 0.09 + who.hip_drop - who.pelvis_height
    behind = (0.0, 0.0, -(0.92 * who.thigh + 0.02))
    score.ease("height", down, sit, drop)
    score.ease("offset", down - 0.1, sit, behind)
    score.ease("tilt", down - 0.1, down + 0.62 * pace, 0.55)
    score.ease("chest_bend", down, down + 0.62 * pace, 0.45)
    score.ease("tilt", down + 0.7 * pace, sit + 0.25, -0.08)
    score.ease("chest_bend", down + 0.7 * pace, sit + 0.25, 0.12)
    score.pose_arms(down, sit + 0.1, (0.75, 0.06, 0.9), (0.75, 0.06, 0.9))
    score.ease("look_pitch", down, down + 0.5, 0.25)
    score.ease("look_pitch", down + 0.8 * pace, sit + 0.2, 0.0)
    score.ease("tilt", rise - 0.25, rise + 0.35 * pace, 0.6)
    score.ease("chest_bend", rise - 0.25, rise + 0.35 * pace, 0.45)
    score.ease("height", rise, stand, 0.0)
    score.ease("offset", rise - 0.05, stand, np.zeros(3))
    score.pose_arms(rise - 0.2, rise + 0.4 * pace, (0.95, 0.08, 0.6), (0.95, 0.08, 0.6))
    score.relax(rise + 0.45 * pace, stand + 0.15)
    return score.performed(
        action, start, stand + 0.35, seat_height=seat, seated_time=sit + 0.25,
        rising_time=rise - 0.25,
    )  # fmt: skip
