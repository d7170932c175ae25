"""Dances with known beats: every movement reverses or stops on a beat.

`beat_study` generates motions for evaluating beat trackers at any tempo and regularity, after the
three test motions of Kim, Park and Shin (2003, figure 6): a repeated short cycle, the same cycle
with each beat displaced by up to a fraction of the period, and a dance whose limbs are early
or late.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from motionloom.demo.body import solve_motion
from motionloom.demo.performers import SIDES
from motionloom.demo.performers import performer as numbered
from motionloom.demo.plan import OTHER, SIGN, MotionPlan, PlannedAction
from motionloom.errors import InvalidInput
from motionloom.motion import Motion

Array = NDArray[np.float64]
Arm = tuple[float, float, float]

# Arm poses: flexion, abduction, elbow bend (radians).
ARMS: dict[str, Arm] = {
    "low": (0.25, 0.30, 0.7),
    "hip": (0.35, 0.45, 1.6),
    "out": (0.30, 1.35, 0.5),
    "front": (1.35, 0.10, 0.5),
    "chest": (1.35, -0.15, 1.9),
    "high": (0.9, 2.3, 0.6),
    "up": (2.45, 0.35, 0.5),
    "back": (-0.45, 0.35, 0.6),
}
_PAIRS = (
    ("out", "chest"), ("up", "low"), ("high", "hip"), ("front", "back"), ("out", "low"),
    ("high", "chest"), ("front", "hip"), ("up", "out"),
)  # fmt: skip


def beat_times(
    start: float, count: int, tempo_bpm: float, *, jitter: float = 0.0, rng=None
) -> Array:
    """Return the times of `count` beats in seconds, with intervals varied by up to `jitter`."""
    period = 60.0 / tempo_bpm
    gaps = np.full(count - 1, period)
    if jitter > 0.0 and rng is not None:
        gaps *= 1.0 + rng.uniform(-jitter, jitter, size=count - 1)
    return start + np.concatenate([[0.0], np.cumsum(gaps)])


def groove(
    plan: MotionPlan, *, tempo_bpm: float = 108.0, bars: int = 8, action: str = "dance_groove"
) -> PlannedAction:
    """Dance side steps with arm movements and quarter turns, on a regular beat in 4/4 time."""
    beats = beat_times(plan.time + 0.9, 4 * bars + 1, tempo_bpm)
    return _dance(plan, beats, _side_steps, tempo_bpm, action, start=plan.time)


def sway(
    plan: MotionPlan,
    *,
    tempo_bpm: float = 96.0,
    bars: int = 7,
    jitter: float = 0.15,
    action: str = "dance_sway",
) -> PlannedAction:
    """Dance grapevines and rocking steps, with beat intervals varied by up to `jitter`."""
    beats = beat_times(plan.time + 0.9, 4 * bars + 1, tempo_bpm, jitter=jitter, rng=plan.rng)
    return _dance(plan, beats, _grapevine, tempo_bpm, action, start=plan.time, jitter=jitter)


def dance_to(
    plan: MotionPlan, beats: Array, *, style: str = "free", late: float = 0.0
) -> PlannedAction:
    """Dance on the listed beats, repeating one bar ("cycle") or with a new bar each time ("free").

    Arms and chest are early or late by a random offset of up to `late` seconds; feet are not.
    """
    footwork = _grapevine if style == "free" else _in_place
    return _dance(
        plan, beats, footwork, 60.0 * (len(beats) - 1) / float(beats[-1] - beats[0]),
        "dance", start=plan.time, late=late, varied=style == "free",
    )  # fmt: skip


def _in_place(plan, bar, count, before, now) -> None:
    """Step forward with the left foot and back, then forward with the right foot and back."""
    _grapevine(plan, 2, count, before, now)


def _dance(
    plan, beats, footwork, tempo_bpm, action, *, start, late=0.0, varied=True, **parameters
) -> PlannedAction:
    rng = plan.rng
    slips = np.zeros(2)  # delays of arms and of chest (s)
    plan.ease("height", start + 0.2, float(beats[0]), -0.06)
    _arms(plan, "low", "low", beats[0] - 0.5, beats[0])
    pair = _PAIRS[0]
    for k in range(1, len(beats)):
        bar, count = divmod(k - 1, 4)
        if count == 0 and (varied or bar == 0):
            pair = _PAIRS[int(rng.integers(len(_PAIRS)))]
            together = bool(rng.integers(2))
            lean = 0.07 + 0.08 * rng.random()
        before, now = float(beats[k - 1]), float(beats[k])
        footwork(plan, bar, count, before, now)
        if late > 0.0:
            before_late, slips = slips, rng.uniform(-late, late, size=2)
        else:
            before_late = slips
        first, second = pair if count % 2 == 0 else pair[::-1]
        _arms(plan, first, first if together else second, before + before_late[0], now + slips[0])
        _bounce(plan, before, now, depth=0.045 * plan.performer.bounce)
        way = 1.0 if count % 2 == 0 else -1.0
        turn = 1.0 if together else 2.2
        plan.ease("chest_side", before + before_late[1], now + slips[1], way * lean * 1.4)
        plan.ease("chest_twist", before + before_late[1], now + slips[1], -way * lean * turn)
        plan.ease("twist", before, now, way * 0.6 * lean * turn)
        plan.ease("look_pitch", before, now, 0.05 + 0.06 * way)
        plan.ease("chest_bend", before, now, 0.06 if count % 2 == 0 else -0.02)
    end = float(beats[-1])
    plan.balance(end + 0.05, end + 0.5)
    plan.relax(end + 0.05, end + 0.85)
    return plan.add_action(
        action, start, end + 1.0, beats=[float(b) for b in beats], tempo_bpm=tempo_bpm,
        **parameters,
    )  # fmt: skip


def _arms(plan: MotionPlan, left: str, right: str, before: float, now: float) -> None:
    for side, name in (("left", left), ("right", right)):
        flexion, abduction, bend = ARMS[name]
        wide = 0.9 + 0.1 * plan.performer.swing
        plan.ease(f"{side}_arm", before, now, (wide * flexion, wide * abduction, bend))


def _bounce(plan: MotionPlan, before: float, now: float, *, depth: float) -> None:
    """Lower the pelvis on the beat and raise it in between."""
    low = -0.035 - depth
    plan.ease("height", before, 0.5 * (before + now), low + depth)
    plan.ease("height", 0.5 * (before + now), now, low)


def _put(plan, side, before, now, place, heading, *, width=None) -> None:
    """Move one foot so that it lands on the beat `now`."""
    gap = now - before
    spot, yaw = plan.slot(side, place, heading, width=width, floor=plan.floor)
    plan.step(
        side, before + 0.36 * gap, now, spot, yaw, clearance=0.06, shift=0.36 * gap,
        heel=0.35, heel_time=0.3 * gap,
    )  # fmt: skip


def _side_steps(plan, bar, count, before, now) -> None:
    """Step left, close, right, close, with a quarter turn to the left in every other bar."""
    side = SIDES[0] if count in (0, 3) else SIDES[1]
    heading = plan.heading
    wide = 2.6 * plan.performer.stance_width
    if count in (0, 2):  # open
        turned = heading + (np.pi / 4 if bar % 2 == 1 else 0.0)
        standing = plan.curves[f"{OTHER[side]}_place"].last[[0, 2]]
        across = -SIGN[OTHER[side]] * wide / 2.0
        middle = standing + across * np.array([np.cos(turned), -np.sin(turned)])
        _put(plan, side, before, now, middle, turned, width=wide)
        return
    standing_side = OTHER[side]
    turned = float(plan.curves[f"{standing_side}_yaw"].last)
    turned -= SIGN[standing_side] * plan.performer.toe_out
    _close(plan, side, before, now, turned)


def _close(plan, side, before, now, heading) -> None:
    """Place one foot next to the other."""
    other = OTHER[side]
    standing = plan.curves[f"{other}_place"].last[[0, 2]]
    across = -SIGN[other] * plan.performer.stance_width / 2.0
    middle = standing + across * np.array([np.cos(heading), -np.sin(heading)])
    _put(plan, side, before, now, middle, heading)


def _grapevine(plan, bar, count, before, now) -> None:
    """Step side, behind, side, close, to the left and then the right; then rock forward."""
    style = bar % 3
    heading = plan.heading
    width = plan.performer.stance_width
    if style == 2:  # rock: left forward, back to place, right forward, back to place
        side = SIDES[0] if count < 2 else SIDES[1]
        if count % 2 == 0:
            _put(plan, side, before, now, plan.forward(0.30), heading)
        else:
            _close(plan, side, before, now, heading)
        return
    lead = SIDES[style]
    side = lead if count % 2 == 0 else OTHER[lead]
    across = SIGN[lead] * 1.35 * width
    if count in (0, 2):
        standing = plan.curves[f"{OTHER[side]}_place"].last[[0, 2]]
        shift = across * np.array([np.cos(heading), -np.sin(heading)])
        middle = standing + 0.8 * shift
        if count == 2:  # uncross: back onto the line
            middle = middle + 0.17 * np.array([np.sin(heading), np.cos(heading)])
        _put(plan, side, before, now, middle, heading, width=1.6 * abs(across))
    elif count == 1:  # behind the other foot
        standing = plan.curves[f"{OTHER[side]}_place"].last[[0, 2]]
        back = -0.17 * np.array([np.sin(heading), np.cos(heading)])
        _put(plan, side, before, now, standing + back, heading, width=0.1 * width)
    else:
        _close(plan, side, before, now, heading)


STUDIES = ("regular", "perturbed", "dance")


def beat_study(
    kind: str,
    *,
    performer: int = 0,
    seed: int = 0,
    fps: float = 30.0,
    seconds: float = 30.0,
    period: float | None = None,
    jitter: float = 0.15,
) -> tuple[Motion, tuple[float, ...]]:
    """Return a motion and its exact beats in seconds.

    Parameters
    ----------
    kind : {"regular", "perturbed", "dance"}
        Respectively: one bar repeated on the beat; the same bar with beats displaced by up to
        `jitter` of the period; a free dance on the beat whose arms and chest are early or late.
    performer : int
        Index of the performer, 0 to 3.
    seed : int
        Random seed.
    fps, seconds : float
        Frame rate and duration; the motion starts between two beats.
    period : float, optional
        Seconds between beats. Default: 0.5, and 0.4 for the dance, as in the paper.
    jitter : float
        Maximum displacement of a beat for "perturbed", as a fraction of the period.

    Examples
    --------
    >>> motion, beats = beat_study("regular")
    >>> len(motion), beats[:3]
    (900, (0.25, 0.75, 1.25))
    """
    if kind not in STUDIES:
        raise InvalidInput(f"kind must be one of {', '.join(STUDIES)}; got {kind!r}")
    gap = period if period is not None else 0.4 if kind == "dance" else 0.5
    if not (gap > 0.2 and seconds >= 4.0 * gap):
        raise InvalidInput(
            f"period must be greater than 0.2 s and at most seconds / 4; got a period of {gap} s "
            f"and {seconds} seconds"
        )
    rng = np.random.default_rng([seed, performer, STUDIES.index(kind)])
    plan = MotionPlan(numbered(performer), rng)
    lead, count = 1.0, int(np.ceil(seconds / gap)) + 5
    beats = np.asarray(lead + gap * np.arange(count), np.float64)
    if kind == "perturbed":
        beats = beats + gap * rng.uniform(-jitter, jitter, size=count)
    dance_to(
        plan,
        beats,
        style="free" if kind == "dance" else "cycle",
        late=0.1 * gap if kind == "dance" else 0.0,
    )
    start = lead + 3.5 * gap  # skip the first bar, in which the dance starts
    motion = solve_motion(plan, fps, start=start, end=start + seconds - 1.0 / fps, name=kind)
    inside = [
        float(round(b - start, 6)) for b in beats if 0.0 <= b - start <= (len(motion) - 1) / fps
    ]
    return motion, tuple(inside)
