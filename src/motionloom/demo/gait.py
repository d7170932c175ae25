"""Walking, jogging, marching: footsteps along a path, and arms that go with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
        rate = 1.75 * who.tempo
    stride, period = speed / rate, 1.0 / rate
    swing = period * float(np.clip(0.78 + 0.06 * (speed - 1.2), 0.70, 0.83))
    path = path_from(score, stride * (steps - 0.5), curvature)
    width = score.performer.stance_width * (0.75 if not march else 0.9)
    vigour = float(np.clip(speed / 1.3, 0.5, 1.6))
    side, travelled = lead, 0.0
    first = start + 0.45
    # In a gait the pelvis is carried ahead of the middle: the rear foot is on its toes.
    score.ease("offset", first, first + 0.5, (0.0, 0.0, 0.045 * vigour))
    score.ease("height", first, first + 0.5, -0.022 + 0.006 * who.bounce)
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
    row.window = (first + 1.5 * period, first + (steps - 0.5) * period)
    return row


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
    score.curves[f"{side}_free_leg"].key(middle, (1.0, 0.03, 1.55))
    score.ease(f"{side}_free", middle + 0.02, land - 0.02, 0.0)
