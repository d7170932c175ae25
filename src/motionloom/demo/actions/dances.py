"""Two free-style dances with known beats: every move turns or stops on a beat.

Motions for measuring beat trackers: every beat known, at any tempo and regularity.

After the three test motions of Kim, Park and Shin (2003, figure 6): a short cycle repeated
without end, the same with every beat off by up to a given part of its period, and a dance
whose limbs are early and late.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from motionloom.demo.body import perform
from motionloom.demo.performers import SIDES
from motionloom.demo.performers import performer as numbered
from motionloom.demo.score import OTHER, SIGN, Performed, Score
from motionloom.errors import InvalidInput
from motionloom.motion import Motion

Array = NDArray[np.float64]
Arm = tuple[float, float, float]

# Places of an arm: flexion, abduction, bend of the elbow.
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
    """Moments of `count` beats; each interval is off by up to `jitter` of itself."""
    period = 60.0 / tempo_bpm
    gaps = np.full(count - 1, period)
    if jitter > 0.0 and rng is not None:
        gaps *= 1.0 + rng.uniform(-jitter, jitter, size=count - 1)
    return start + np.concatenate([[0.0], np.cumsum(gaps)])


def groove(
    score: Score, *, tempo_bpm: float = 108.0, bars: int = 8, action: str = "dance_groove"
) -> Performed:
    """Side steps and arms over a regular beat, four to the bar, a quarter turn at times."""
    beats = beat_times(score.time + 0.9, 4 * bars + 1, tempo_bpm)
    return _dance(score, beats, _side_steps, tempo_bpm, action, start=score.time)


def sway(
    score: Score,
    *,
    tempo_bpm: float = 96.0,
    bars: int = 7,
    jitter: float = 0.15,
    action: str = "dance_sway",
) -> Performed:
    """Grapevines and rocking steps over a beat that is off by up to `jitter` each time."""
    beats = beat_times(score.time + 0.9, 4 * bars + 1, tempo_bpm, jitter=jitter, rng=score.rng)
    return _dance(score, beats, _grapevine, tempo_bpm, action, start=score.time, jitter=jitter)


def dance_to(score: Score, beats: Array, *, style: str = "free", late: float = 0.0) -> Performed:
    """A dance to given beats: one bar over and over ("cycle"), or another each time ("free").

    Arms and chest are early or late by up to `late` seconds, each time anew; feet are not.
    """
    footwork = _grapevine if style == "free" else _in_place
    return _dance(
        score, beats, footwork, 60.0 * (len(beats) - 1) / float(beats[-1] - beats[0]),
        "dance", start=score.time, late=late, varied=style == "free",
    )  # fmt: skip


def _in_place(score, bar, count, before, now, *, last) -> None:
    """Left forward, back to place, right forward, back to place."""
    _grapevine(score, 2, count, before, now, last=last)


def _dance(
    score, beats, footwork, tempo_bpm, action, *, start, late=0.0, varied=True, **parameters
) -> Performed:
    rng = score.rng
    slips = np.zeros(2)  # by how much arms and chest are late, this time and the last
    score.ease("height", start + 0.2, float(beats[0]), -0.06)
    _arms(score, "low", "low", beats[0] - 0.5, beats[0])
    pair = _PAIRS[0]
    for k in range(1, len(beats)):
        bar, count = divmod(k - 1, 4)
        if count == 0 and (varied or bar == 0):
            pair = _PAIRS[int(rng.integers(len(_PAIRS)))]
            together = bool(rng.integers(2))
            lean = 0.07 + 0.08 * rng.random()
        before, now = float(beats[k - 1]), float(beats[k])
        footwork(score, bar, count, before, now, last=k == len(beats) - 1)
        if late > 0.0:
            before_late, slips = slips, rng.uniform(-late, late, size=2)
        else:
            before_late = slips
        first, second = pair if count % 2 == 0 else pair[::-1]
        _arms(score, first, first if together else second, before + before_late[0], now + slips[0])
        _bounce(score, before, now, depth=0.045 * score.performer.bounce)
        way = 1.0 if count % 2 == 0 else -1.0
        turn = 1.0 if together else 2.2
        score.ease("chest_side", before + before_late[1], now + slips[1], way * lean * 1.4)
        score.ease("chest_twist", before + before_late[1], now + slips[1], -way * lean * turn)
        score.ease("twist", before, now, way * 0.6 * lean * turn)
        score.ease("look_pitch", before, now, 0.05 + 0.06 * way)
        score.ease("chest_bend", before, now, 0.06 if count % 2 == 0 else -0.02)
    end = float(beats[-1])
    score.balance(end + 0.05, end + 0.5)
    score.relax(end + 0.05, end + 0.85)
    return score.performed(
        action, start, end + 1.0, beats=[float(b) for b in beats], tempo_bpm=tempo_bpm,
        **parameters,
    )  # fmt: skip


def _arms(score: Score, left: str, right: str, before: float, now: float) -> None:
    for side, name in (("left", left), ("right", right)):
        flexion, abduction, bend = ARMS[name]
        wide = 0.9 + 0.1 * score.performer.swing
        score.ease(f"{side}_arm", before, now, (wide * flexion, wide * abduction, bend))


def _bounce(score: Score, before: float, now: float, *, depth: float) -> None:
    """Down on the beat, up in between."""
    low = -0.035 - depth
    score.ease("height", before, 0.5 * (before + now), low + depth)
    score.ease("height", 0.5 * (before + now), now, low)


def _put(score, side, before, now, place, heading, *, width=None) -> None:
    """Move one foot so that it lands on the beat `now`."""
    gap = now - before
    spot, yaw = score.slot(side, place, heading, width=width, floor=score.floor)
    score.step(
        side, before + 0.36 * gap, now, spot, yaw, clearance=0.06, shift=0.36 * gap,
        heel=0.35, heel_time=0.3 * gap,
    )  # fmt: skip


def _side_steps(score, bar, count, before, now, *, last) -> None:
    """Left, close, right, close; every other bar a quarter turn to the left."""
    side = SIDES[0] if count in (0, 3) else SIDES[1]
    heading = score.heading
    wide = 2.6 * score.performer.stance_width
    if count in (0, 2):  # open
        turned = heading + (np.pi / 4 if bar % 2 == 1 else 0.0)
        standing = score.curves[f"{OTHER[side]}_place"].last[[0, 2]]
        across = -SIGN[OTHER[side]] * wide / 2.0
        middle = standing + across * np.array([np.cos(turned), -np.sin(turned)])
        _put(score, side, before, now, middle, turned, width=wide)
        return
    standing_side = OTHER[side]
    turned = float(score.curves[f"{standing_side}_yaw"].last)
    turned -= SIGN[standing_side] * score.performer.toe_out
    _close(score, side, before, now, turned)


def _close(score, side, before, now, heading) -> None:
    """Put one foot beside the other."""
    other = OTHER[side]
    standing = score.curves[f"{other}_place"].last[[0, 2]]
    across = -SIGN[other] * score.performer.stance_width / 2.0
    middle = standing + across * np.array([np.cos(heading), -np.sin(heading)])
    _put(score, side, before, now, middle, heading)


def _grapevine(score, bar, count, before, now, *, last) -> None:
    """Side, behind, side, close, to the left and to the right; then rocking forward."""
    style = bar % 3
    heading = score.heading
    width = score.performer.stance_width
    if style == 2:  # rock: left forward, back to place, right forward, back to place
        side = SIDES[0] if count < 2 else SIDES[1]
        if count % 2 == 0:
            _put(score, side, before, now, score.forward(0.30), heading)
        else:
            _close(score, side, before, now, heading)
        return
    lead = SIDES[style]
    side = lead if count % 2 == 0 else OTHER[lead]
    across = SIGN[lead] * 1.35 * width
    if count in (0, 2):
        standing = score.curves[f"{OTHER[side]}_place"].last[[0, 2]]
        shift = across * np.array([np.cos(heading), -np.sin(heading)])
        middle = standing + 0.8 * shift
        if count == 2:  # uncross: back onto the line
            middle = middle + 0.17 * np.array([np.sin(heading), np.cos(heading)])
        _put(score, side, before, now, middle, heading, width=1.6 * abs(across))
    elif count == 1:  # behind the other foot
        standing = score.curves[f"{OTHER[side]}_place"].last[[0, 2]]
        back = -0.17 * np.array([np.sin(heading), np.cos(heading)])
        _put(score, side, before, now, standing + back, heading, width=0.1 * width)
    else:
        _close(score, side, before, now, heading)


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
    """A motion with known beats, and the beats in seconds.

    Parameters
    ----------
    kind : {"regular", "perturbed", "dance"}
        One bar over and over, on the beat; the same with beats off by up to `jitter` of the
        period; or a free dance on the beat whose arms and chest are early or late.
    performer : int
        Who does it, 0 to 3.
    seed : int
        Same seed, same bytes.
    fps, seconds : float
        The motion starts between two beats and lasts `seconds`.
    period : float, optional
        Seconds between beats. Default: 0.5, and 0.4 for the dance, as in the paper.
    jitter : float
        Of "perturbed".

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
            f"period must be over 0.2 s and fit into seconds four times; got {gap} and {seconds}"
        )
    rng = np.random.default_rng([seed, performer, STUDIES.index(kind)])
    score = Score(numbered(performer), rng)
    lead, count = 1.0, int(np.ceil(seconds / gap)) + 5
    beats = np.asarray(lead + gap * np.arange(count), np.float64)
    if kind == "perturbed":
        beats = beats + gap * rng.uniform(-jitter, jitter, size=count)
    dance_to(
        score,
        beats,
        style="free" if kind == "dance" else "cycle",
        late=0.1 * gap if kind == "dance" else 0.0,
    )
    start = lead + 3.5 * gap  # the first bar is where it gets going
    motion = perform(score, fps, start=start, end=start + seconds - 1.0 / fps, name=kind)
    inside = [
        float(round(b - start, 6)) for b in beats if 0.0 <= b - start <= (len(motion) - 1) / fps
    ]
    return motion, tuple(inside)
