"""Pelvis, spine and head of a score: where they are before arms and legs are put on.

Where the pelvis goes so that the body stands over its feet.

On the floor the body is a pendulum on its head: its centre of mass accelerates away from
the centre of pressure, ``a = (g / h) (x - p)``. Of all its motions only one never falls:
``p`` seen through a two-sided exponential window. It looks ahead: the weight is over the
foot before the other one lifts, and a walker leans into the first step. In flight there is
no pressure and no acceleration, which is ``p = x``; a few rounds settle that.

The height follows the score, but never so high that a planned foot gets out of reach.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import CubicSpline
from scipy.ndimage import maximum_filter1d
from scipy.signal import fftconvolve, lfilter

from motionloom.demo.curves import GRAVITY, noise
from motionloom.demo.feet import PlannedFoot, planned_feet
from motionloom.demo.performers import SIDES, Performer
from motionloom.demo.score import SIGN, Score
from motionloom.motion.rotations import quaternions as rot

Array = NDArray[np.float64]

_REACH = 0.99  # of the leg's length: what is left is the knee's bend of about 16 degrees
_FLIGHT_ROUNDS = 12  # each halves the error at least, for flights below half a second
_LOOK_AROUND = 0.09  # seconds over which a dip of the pelvis is spread to either side


def balanced_path(
    feet: dict[str, PlannedFoot], weight: Array, step: float, pelvis_height: float
) -> Array:
    """Centre of mass over the floor (x, floor height, z), shape (T, 3).

    Parameters
    ----------
    feet : planned feet, T moments
    weight : ndarray, shape (T,)
        Share of the weight on the left foot.
    step : float
        Seconds between moments.
    pelvis_height : float
        Length of the pendulum.
    """
    left = weight[:, None]
    pressure = left * feet["left"].centre + (1.0 - left) * feet["right"].centre
    flight = feet["left"].airborne & feet["right"].airborne
    decay = float(np.exp(-np.sqrt(GRAVITY / pelvis_height) * step))
    path = _two_sided_window(pressure, decay)
    if np.any(flight):
        for _ in range(_FLIGHT_ROUNDS):
            pressure[flight] = path[flight]
            path = _two_sided_window(pressure, decay)
    return path


def smooth_share(weight: Array, step: float, pelvis_height: float) -> Array:
    """How far the body is over its left (1) or right (-1) foot, shape (T,)."""
    decay = float(np.exp(-np.sqrt(GRAVITY / pelvis_height) * step))
    return _two_sided_window(2.0 * weight[:, None] - 1.0, decay)[:, 0]


def _two_sided_window(p: Array, a: float) -> Array:
    """`p` through the window a**|k|, normalised; the ends count as going on for ever."""
    ahead = lfilter([1 - a], [1, -a], p, axis=0, zi=a * p[:1])[0]
    back = lfilter([1 - a], [1, -a], p[::-1], axis=0, zi=a * p[-1:])[0][::-1]
    return (ahead + back - (1 - a) * p) / (1 + a)


def within_reach(
    height: Array,
    hips: dict[str, Array],
    feet: dict[str, PlannedFoot],
    tied: dict[str, NDArray[np.bool_]],
    performer: Performer,
    step: float,
) -> Array:
    """`height` (T,) of the pelvis, lowered smoothly where a foot would be out of reach.

    Parameters
    ----------
    height : ndarray, shape (T,)
    hips : by side, shape (T, 3)
        Hip joints as they are with the pelvis at `height`.
    feet : planned feet
    tied : by side, bool, shape (T,)
        Where the foot has to be met.
    performer : Performer
    step : float
        Seconds between moments.
    """
    too_high = np.zeros(len(height))
    longest = _REACH * performer.leg
    for side in SIDES:
        apart = hips[side] - feet[side].ankle
        level = np.hypot(apart[:, 0], apart[:, 2])
        allowed = np.sqrt(np.maximum(longest**2 - level**2, 0.01))
        over = np.where(tied[side], apart[:, 1] - allowed, 0.0)
        too_high = np.maximum(too_high, over)
    if not np.any(too_high > 0.0):
        return height
    half = max(int(round(_LOOK_AROUND / step)), 2)
    # Widened by the window's half width first, the smoothed dip is nowhere too shallow.
    widened = maximum_filter1d(too_high, 2 * half + 1, mode="nearest")
    window = np.hanning(2 * half + 3)[1:-1]
    padded = np.pad(widened, half, mode="edge")
    return height - fftconvolve(padded, window / window.sum(), mode="valid")


_GRID = 120.0  # moments per second of the balance
_PAD = 1.5  # seconds of standing before and after, for the balance to look at
_LOOK_AHEAD = 0.15  # seconds by which the head leads a turn
_WOBBLES = 12  # channels of involuntary movement


@dataclass(frozen=True)
class Torso:
    """Pelvis, chest and head over T moments; world positions and rotations ``wxyz``."""

    performer: Performer
    times: Array
    root: Array
    pelvis: Array
    spine: Array
    chest: Array
    neck: Array
    head: Array
    heading: Array
    feet: dict[str, PlannedFoot]
    wobble: Array

    def on_pelvis(self, offset: ArrayLike) -> Array:
        """A point fixed to the pelvis, `offset` from the root, shape (T, 3)."""
        return self.root + rot.rotate(self.pelvis, offset)

    def on_chest(self, offset: ArrayLike) -> Array:
        """A point fixed to the chest, `offset` from the joint Spine1, shape (T, 3)."""
        offsets = self.performer.skeleton.offsets
        chest = self.on_pelvis(offsets[1]) + rot.rotate(self.spine, offsets[2])
        return chest + rot.rotate(self.chest, offset)


class Balance:
    """The path of the pelvis for a whole score, ready to be sampled at any moment."""

    def __init__(self, score: Score) -> None:
        who = score.performer
        end = score.time + _PAD
        times = np.arange(-_PAD, end, 1.0 / _GRID)
        feet = planned_feet(score, times)
        weight = score.curves["weight"].sample(times)
        path = balanced_path(feet, weight, 1.0 / _GRID, who.pelvis_height)
        self._side = CubicSpline(times, smooth_share(weight, 1.0 / _GRID, who.pelvis_height))
        pelvis, heading = self.pelvis(score, times, feet)
        root = path + rot.rotate(rot.yaw(heading), _carriage(score, times))
        root[:, 1] = path[:, 1] + who.pelvis_height + score.curves["height"].sample(times)
        world = score.curves["pelvis_world"].sample(times)[:, None]
        root += world * (score.curves["pelvis_place"].sample(times) - root)
        hips = {
            side: root + rot.rotate(pelvis, [SIGN[side] * who.hip_width / 2, -who.hip_drop, 0.0])
            for side in SIDES
        }
        flight = feet["left"].airborne & feet["right"].airborne
        tied = {side: ~flight & (loose(score, side, times) < 0.02) for side in SIDES}
        root[:, 1] = within_reach(root[:, 1], hips, feet, tied, who, 1.0 / _GRID)
        self.root = CubicSpline(times, root)

    def pelvis(
        self, score: Score, times: Array, feet: dict[str, PlannedFoot]
    ) -> tuple[Array, Array]:
        """World rotation of the pelvis (T, 4) and heading (T,)."""
        heading = 0.5 * (feet["left"].yaw + feet["right"].yaw)
        shake = wobble(score, times)
        hip_up = 0.10 * score.performer.sway * self._side(times)
        angles = np.stack(
            [
                heading + score.curves["twist"].sample(times) + shake[:, 0],
                score.curves["tilt"].sample(times),
                score.curves["roll"].sample(times) + hip_up + 0.5 * shake[:, 1],
            ],
            axis=-1,
        )
        return rot.from_euler(angles, "YXZ"), heading

    def torso(self, score: Score, times: Array) -> Torso:
        """Pelvis, spine and head at `times` (T,)."""
        feet = planned_feet(score, times)
        pelvis, heading = self.pelvis(score, times, feet)
        curves, shake = score.curves, wobble(score, times)
        hip_up = 0.10 * score.performer.sway * self._side(times)
        half = 0.5 * np.stack(
            [
                curves["chest_twist"].sample(times) + shake[:, 2],
                curves["chest_bend"].sample(times) + score.performer.lean + shake[:, 3],
                curves["chest_side"].sample(times) - 0.8 * hip_up + 0.7 * shake[:, 4],
            ],
            axis=-1,
        )
        bend = rot.from_euler(half, "YXZ")
        spine = rot.multiply(pelvis, bend)
        chest = rot.multiply(spine, bend)
        ahead = times + _LOOK_AHEAD
        facing = 0.5 * sum(curves[f"{side}_yaw"].sample(ahead) for side in SIDES)
        look = np.stack(
            [
                curves["look_yaw"].sample(times) + 1.5 * shake[:, 5],
                curves["look_pitch"].sample(times) + shake[:, 6],
            ],
            axis=-1,
        )
        level = rot.from_euler(look + np.stack([facing, 0 * facing], axis=-1), "YX")
        head = rot.slerp(
            rot.multiply(chest, rot.from_euler(look, "YX")),
            level,
            curves["look_level"].sample(times),
        )
        return Torso(
            performer=score.performer,
            times=times,
            root=self.root(times),
            pelvis=pelvis,
            spine=spine,
            chest=chest,
            neck=rot.slerp(chest, head, np.full(len(times), 0.5)),
            head=head,
            heading=heading,
            feet=feet,
            wobble=shake,
        )


def wobble(score: Score, times: Array) -> Array:
    """Involuntary movement (T, 12), radians; the same for the same score."""
    rng = np.random.default_rng(score.noise_seed)
    return score.performer.noise * noise(times, rng, _WOBBLES)


def loose(score: Score, side: str, times: Array) -> Array:
    """How far the plan has let go of a foot (T,): 0 not at all, 1 wholly."""
    free = score.curves[f"{side}_free"].sample(times)
    aimed, _ = aiming(score, f"{side}_foot", times)
    return 1.0 - (1.0 - free) * (1.0 - aimed)


def aiming(score: Score, limb: str, times: Array) -> tuple[Array, Array]:
    """How much a limb is bound to its aim (T,), and the aim's target (T, 3)."""
    share = np.zeros(len(times))
    target = np.zeros((len(times), 3))
    for aim in score.aims:
        if aim.limb != limb:
            continue
        inside = (times > aim.start) & (times < aim.end)
        t = times[inside]
        rise = np.clip((t - aim.start) / (aim.hit - aim.start), 0.0, 1.0)
        fall = np.clip((aim.end - t) / (aim.end - aim.leave), 0.0, 1.0)
        share[inside] = _ease(np.minimum(rise, fall))
        if aim.target is not None:
            target[inside] = aim.target
    return share, target


def _ease(u: Array) -> Array:
    return u**3 * (10.0 - 15.0 * u + 6.0 * u**2)


def _carriage(score: Score, times: Array) -> Array:
    """Pelvis from the centre of mass, in the heading frame: back when the chest leans on."""
    curves = score.curves
    lean = curves["tilt"].sample(times) + 0.5 * curves["chest_bend"].sample(times)
    offset = curves["offset"].sample(times).copy()
    offset[:, 1] = 0.0
    offset[:, 2] -= 0.12 * score.performer.height / 1.75 * np.sin(lean)
    return offset
