"""Kicks and punches at known targets."""

from __future__ import annotations

import numpy as np

from motionloom.demo.curves import GRAVITY, on_grid
from motionloom.demo.score import OTHER, SIGN, Aim, Performed, Score

GUARD = (1.62, -0.02, 2.15)


def kick(
    score: Score,
    *,
    side: str = "right",
    azimuth: float = 0.0,
    elevation: float = 0.0,
    extension: float = 0.95,
    leap: float = 0.0,
    action: str = "kick",
) -> Performed:
    """Kick with one leg at a target; from standing to standing.

    Parameters
    ----------
    side : str
        The leg that kicks.
    azimuth, elevation : float
        Where the ankle goes, seen from the hip: radians to the left of straight ahead, and
        above (below: negative) the horizontal.
    extension : float
        How far, as a part of the leg's length.
    leap : float
        Height of the leap in metres; the kick lands at its top.
    """
    start, pace = score.time, 1.0 / score.performer.tempo
    sign, other = SIGN[side], OTHER[side]
    outward = sign * azimuth  # positive: away from the body's midline
    high = float(np.clip((elevation + 0.9) / 1.3, 0.0, 1.0))
    sideways = float(np.clip(outward, -0.5, 1.4))
    lift = start + 0.5 * pace
    hit = on_grid(lift + (0.55 + 0.12 * high) * pace)
    chamber = hit - 0.24 * pace
    land = hit + (0.62 + 0.12 * high) * pace

    home = score.curves[f"{side}_place"].last
    score.step(
        side, lift, land, home, float(score.curves[f"{side}_yaw"].last),
        clearance=0.10, shift=0.5 * pace, heel=0.45, heel_time=0.2, toe=0.0,
    )  # fmt: skip
    knee_up = (0.75 + 0.75 * high) * max(np.cos(sideways), 0.25)
    knee_out = 0.08 + 0.75 * max(sideways, 0.0) * (0.6 + 0.4 * high)
    bent = (knee_up, knee_out, 1.75)
    score.ease(f"{side}_free", lift, chamber, 1.0)
    score.ease(f"{side}_free_leg", lift - 0.05, chamber, bent)
    score.ease(f"{side}_free_leg", hit, hit + 0.34 * pace, (0.6 * knee_up, 0.6 * knee_out, 1.3))
    score.ease(f"{side}_free", hit + 0.22 * pace, land, 0.0)
    score.ease(f"{side}_ankle", chamber, hit, -0.25 if sideways > 0.6 else 0.35)
    score.ease(f"{side}_ankle", hit + 0.05, hit + 0.35, 0.0)
    direction = np.array([
        np.sin(azimuth) * np.cos(elevation), np.sin(elevation),
        np.cos(azimuth) * np.cos(elevation),
    ])  # fmt: skip
    aim = Aim(f"{side}_foot", chamber, hit, hit + 0.04, hit + 0.36 * pace, direction, extension)
    score.aims.append(aim)

    # The chest leans away from the leg; arms up, the other one forward for balance.
    back, away = 0.34 * high * np.cos(sideways), 0.55 * high * np.sin(max(sideways, 0.0))
    _lean(score, start + 0.15, chamber, hit, side, back=back, away=away, sideways=sideways)
    score.ease("offset", lift, hit, (0.0, 0.0, 0.03 - 0.05 * high))
    top = (1.15, 0.25, 1.7)
    score.pose_arms(start + 0.1, chamber - 0.12, GUARD, GUARD)
    score.ease(f"{side}_arm", chamber - 0.12, hit + 0.1, (0.45, 0.45 + 0.2 * high, 1.3))
    score.ease(f"{other}_arm", chamber - 0.12, hit + 0.1, top)
    if leap > 0.0:
        _leap(score, other, hit, leap)
    else:
        score.ease("height", start + 0.1, lift, -0.03)
        score.ease("height", chamber, hit, -0.012)
        score.ease("height", hit, land, -0.03)
    end = land + 0.62 * pace
    score.balance(land, land + 0.45 * pace)
    score.relax(hit + 0.12, end - 0.05)
    row = score.performed(
        action, start, end, leg=side, azimuth=azimuth, elevation=elevation, leap=leap,
        point=f"{side.title()}Foot", hit_time=hit,
    )  # fmt: skip
    aim.parameters = row.parameters
    return row


def _lean(score, start, chamber, hit, side, *, back, away, sideways) -> None:
    """Pelvis and chest go with the leg and away from the target."""
    sign = SIGN[side]
    score.ease("tilt", chamber - 0.1, hit, -back)
    score.ease("chest_bend", chamber - 0.1, hit, 0.45 * back)
    # The hip of the kicking leg goes forward and, in a side kick, up.
    score.ease("twist", start, chamber, -sign * 0.08)
    score.ease("twist", chamber, hit, -sign * 0.30 * max(np.cos(1.6 * sideways), -0.4))
    score.ease("roll", chamber - 0.15, hit, sign * 0.8 * away)
    score.ease("chest_side", chamber - 0.15, hit, sign * 0.35 * away)
    score.ease("look_yaw", chamber - 0.2, hit, sign * 0.6 * sideways)


def _leap(score: Score, side: str, hit: float, leap: float) -> None:
    """The standing leg jumps: free flight of the pelvis with its top at `hit`."""
    rise = np.sqrt(2.0 * leap / GRAVITY)
    off, on = hit - rise, hit + rise
    speed = GRAVITY * rise
    height = score.curves["height"]
    up = 0.035 * score.performer.height / 1.75
    score.ease("height", off - 0.75, off - 0.28, -0.13)
    height.key(off, up, velocity=speed, acceleration=-GRAVITY)
    height.key(on, up, velocity=-speed, acceleration=-GRAVITY)
    height.key(on + 0.26, -0.14)
    height.key(on + 0.75, -0.03)
    score.step(
        side, off, on, score.curves[f"{side}_place"].last,
        float(score.curves[f"{side}_yaw"].last), clearance=0.04, shift=None, flight=True,
        heel=0.75, heel_time=0.22, tiptoe=0.75, toe_time=0.16,
    )  # fmt: skip


def punch(
    score: Score,
    *,
    side: str = "right",
    azimuth: float = 0.0,
    elevation: float = 0.0,
    extension: float = 0.95,
    action: str = "punch",
) -> Performed:
    """Punch at a target from a guard; from standing to standing.

    `azimuth` and `elevation` give the target from the shoulder as in `kick`; the point that
    meets it is the end of the hand.
    """
    start, pace = score.time, 1.0 / score.performer.tempo
    sign, other = SIGN[side], OTHER[side]
    hit = on_grid(start + 0.95 * pace)
    launch = hit - 0.26 * pace
    direction = np.array([
        np.sin(azimuth) * np.cos(elevation), np.sin(elevation),
        np.cos(azimuth) * np.cos(elevation),
    ])  # fmt: skip
    aim = Aim(f"{side}_hand", launch, hit, hit + 0.03, hit + 0.36 * pace, direction, extension)
    score.aims.append(aim)
    inward = -sign * azimuth
    turn = -sign * (0.18 + 0.35 * np.clip(inward, -0.5, 1.0))
    score.pose_arms(start, launch - 0.05, GUARD, GUARD)
    score.ease(f"{other}_arm", launch, hit, (1.5, -0.05, 2.25))
    score.ease("height", start, launch, -0.05)
    score.ease("height", launch, hit, -0.035 + 0.15 * min(elevation, 0.0))
    score.balance(start, launch, 0.5 + 0.15 * sign)
    score.balance(launch, hit + 0.1, 0.5 - 0.18 * sign)
    score.ease("twist", start + 0.1, launch, -0.35 * turn)
    score.ease("twist", launch, hit, 0.55 * turn)
    score.ease("chest_twist", start + 0.1, launch, -0.5 * turn)
    score.ease("chest_twist", launch, hit, 1.3 * turn)
    score.ease("chest_bend", launch, hit, 0.08 - 0.25 * min(elevation, 0.0))
    score.ease("look_yaw", launch - 0.2, hit, 0.6 * azimuth)
    score.ease("look_pitch", launch - 0.2, hit, -0.4 * elevation)
    score.ease(f"{side}_heel", launch, hit, 0.3)
    score.ease(f"{side}_heel", hit + 0.1, hit + 0.5 * pace, 0.0)
    end = hit + 0.95 * pace
    score.pose_arms(hit, hit + 0.36 * pace, GUARD, GUARD)
    score.relax(hit + 0.36 * pace, end - 0.02)
    score.balance(hit + 0.2, end)
    row = score.performed(
        action, start, end, arm=side, azimuth=azimuth, elevation=elevation,
        point=f"{side.title()}Hand_End", hit_time=hit,
    )  # fmt: skip
    aim.parameters = row.parameters
    return row
