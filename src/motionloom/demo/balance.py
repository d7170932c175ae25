"""Feet, balance and torso of a motion plan, computed before arms and legs are solved.

The sole of a planted foot does not move. When the heel rises, the foot rotates about its ball while
the toes stay flat; when the foot lands on its heel, it rotates about the heel.

On the floor, the body is modeled as an inverted pendulum: its center of mass accelerates away from
the center of pressure, ``a = (g / h) (x - p)``. Its only bounded motion is ``p`` filtered with a
two-sided exponential window. The filter looks ahead, so the weight is over one foot before the
other lifts, and a walker leans into the first step. In flight, there is no pressure and no
horizontal acceleration, which means ``p = x``; a few iterations solve this condition.

The height of the pelvis follows the plan but is lowered where a foot would be out of reach.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.demo.performers import SIDES, Performer
from motionloom.demo.plan import SIGN, MotionPlan, Step, bump, noise
from motionloom.motion.kinematics.body import GRAVITY
from motionloom.motion.rotations import quaternions as rot

Array = NDArray[np.float64]

_X = np.array([1.0, 0.0, 0.0])


@dataclass(frozen=True)
class PlannedFoot:
    """Trajectory of one foot over T frames.

    Attributes
    ----------
    center : ndarray, shape (T, 3)
        Center of the sole, excluding the height of the swing.
    yaw : ndarray, shape (T,)
    ankle : ndarray, shape (T, 3)
    rotation : ndarray, shape (T, 4)
        World rotation of the ankle joint, ``wxyz``.
    heel : ndarray, shape (T,)
        Rotation of the raised heel about the ball of the foot, in radians.
    airborne : ndarray of bool, shape (T,)
        True during a swing.
    swing : ndarray, shape (T,)
        0 on the floor, rising to 1 in the middle of a swing.
    ball_still, heel_still : ndarray of bool, shape (T,)
        True where the ball of the foot, or the whole sole, is at rest on the floor.
    """

    center: Array
    yaw: Array
    ankle: Array
    rotation: Array
    heel: Array
    airborne: NDArray[np.bool_]
    swing: Array
    ball_still: NDArray[np.bool_]
    heel_still: NDArray[np.bool_]


def planned_feet(plan: MotionPlan, times: Array) -> dict[str, PlannedFoot]:
    """Return the trajectories of both feet of `plan` at `times` (T,), keyed by side."""
    return {side: _planned_foot(plan, side, times) for side in SIDES}


def sole_to_ball(performer: Performer) -> float:
    """Return the distance from the center of the sole to the ball of the foot."""
    return performer.foot - (performer.foot - performer.heel) / 2.0


def _flight(times: Array, step: Step, slack: float) -> Array:
    """Return the height (T,) of a foot below a body in flight, with the leg extended by `slack`."""
    since, until = times - step.lift, step.land - times
    speed = 0.5 * GRAVITY * (step.land - step.lift)
    rate = speed / slack
    extension = slack * -np.expm1(-rate * since) * -np.expm1(-rate * until)
    return 0.5 * GRAVITY * since * until - extension


def _planned_foot(plan: MotionPlan, side: str, times: Array) -> PlannedFoot:
    who = plan.performer
    center = plan.curves[f"{side}_place"].sample(times)
    yaw = plan.curves[f"{side}_yaw"].sample(times)
    heel = plan.curves[f"{side}_heel"].sample(times)
    toe = plan.curves[f"{side}_toe"].sample(times)
    free = plan.curves[f"{side}_free"].sample(times)
    lifted = center.copy()
    airborne = np.zeros(len(times), dtype=bool)
    swing = np.zeros(len(times))
    for step in plan.steps[side]:
        inside = (times > step.lift + 1e-6) & (times < step.land - 1e-6)
        airborne |= inside
        swing[inside] = bump(times[inside], step.lift, step.land)
        lifted[inside, 1] += step.clearance * swing[inside]
        if step.flight:
            lifted[inside, 1] += _flight(times[inside], step, 0.05 * who.leg)

    turn = rot.yaw(yaw)
    ball = lifted + rot.rotate(turn, [0.0, who.ball_height, sole_to_ball(who)])
    to_ball = np.array([0.0, who.ball_height - who.ankle_height, who.foot])
    raised = rot.multiply(turn, rot.from_axis_angle(_X, heel))
    ankle = ball - rot.rotate(raised, to_ball)
    pivot = lifted + rot.rotate(turn, [0.0, 0.0, sole_to_ball(who) - who.foot - who.heel])
    tip = rot.multiply(rot.multiply(turn, rot.from_axis_angle(_X, -toe)), rot.inverse(turn))
    ankle = pivot + rot.rotate(tip, ankle - pivot)
    planted = ~airborne & (toe < 1e-9) & (free < 1e-9)
    return PlannedFoot(
        center=center,
        yaw=yaw,
        ankle=ankle,
        rotation=rot.multiply(tip, raised),
        heel=heel,
        airborne=airborne,
        swing=swing,
        ball_still=planted,
        heel_still=planted & (heel < 1e-9),
    )


_REACH = 0.99  # fraction of the leg's length that leaves a knee bend of about 16 degrees
_FLIGHT_ROUNDS = 12  # for flights below half a second, each iteration at least halves the error
_LOOK_AROUND = 0.09  # seconds over which a dip of the pelvis is spread to either side


def balanced_path(
    feet: dict[str, PlannedFoot], weight: Array, step: float, pelvis_height: float
) -> Array:
    """Return the horizontal path of the center of mass (x, floor height, z), shape (T, 3).

    Parameters
    ----------
    feet : dict of PlannedFoot
    weight : ndarray, shape (T,)
        Fraction of the weight on the left foot.
    step : float
        Seconds between samples.
    pelvis_height : float
        Length of the pendulum.
    """
    left = weight[:, None]
    pressure = left * feet["left"].center + (1.0 - left) * feet["right"].center
    flight = feet["left"].airborne & feet["right"].airborne
    decay = float(np.exp(-np.sqrt(GRAVITY / pelvis_height) * step))
    path = _two_sided_window(pressure, decay)
    if np.any(flight):
        for _ in range(_FLIGHT_ROUNDS):
            pressure[flight] = path[flight]
            path = _two_sided_window(pressure, decay)
    return path


def smooth_share(weight: Array, step: float, pelvis_height: float) -> Array:
    """Return the lateral position of the weight (T,): 1 over the left foot, -1 over the right."""
    decay = float(np.exp(-np.sqrt(GRAVITY / pelvis_height) * step))
    return _two_sided_window(2.0 * weight[:, None] - 1.0, decay)[:, 0]


def _two_sided_window(p: Array, a: float) -> Array:
    """Filter `p` with the normalized window a**|k|, extending the end values."""
    from scipy.signal import lfilter

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
    """Lower the `height` (T,) of the pelvis smoothly where a foot would be out of reach.

    Parameters
    ----------
    height : ndarray, shape (T,)
    hips : dict of ndarray, shape (T, 3), by side
        Hip joints with the pelvis at `height`.
    feet : dict of PlannedFoot
    tied : dict of ndarray of bool, shape (T,), by side
        True where the leg must reach the foot.
    performer : Performer
    step : float
        Seconds between samples.
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
    from scipy.ndimage import maximum_filter1d
    from scipy.signal import fftconvolve

    half = max(int(round(_LOOK_AROUND / step)), 2)
    # Dilate by the half width of the window first, so that the smoothed dip is deep enough.
    widened = maximum_filter1d(too_high, 2 * half + 1, mode="nearest")
    window = np.hanning(2 * half + 3)[1:-1]
    padded = np.pad(widened, half, mode="edge")
    return height - fftconvolve(padded, window / window.sum(), mode="valid")


_GRID = 120.0  # samples per second of the balance
_PAD = 1.5  # seconds of standing at both ends, for the two-sided filter
_LOOK_AHEAD = 0.15  # seconds by which the head leads a turn
_WOBBLES = 12  # channels of involuntary movement


@dataclass(frozen=True)
class Torso:
    """Pelvis, chest and head over T frames; world positions and rotations ``wxyz``."""

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
        """Return the world position (T, 3) of a point at `offset` from the root in pelvis axes."""
        return self.root + rot.rotate(self.pelvis, offset)

    def on_chest(self, offset: ArrayLike) -> Array:
        """Return the world position (T, 3) of a point at `offset` from Spine1 in chest axes."""
        offsets = self.performer.skeleton.offsets
        chest = self.on_pelvis(offsets[1]) + rot.rotate(self.spine, offsets[2])
        return chest + rot.rotate(self.chest, offset)


class Balance:
    """Pelvis path for a plan, as a function of continuous time."""

    def __init__(self, plan: MotionPlan) -> None:
        from scipy.interpolate import CubicSpline

        who = plan.performer
        end = plan.time + _PAD
        times = np.arange(-_PAD, end, 1.0 / _GRID)
        feet = planned_feet(plan, times)
        weight = plan.curves["weight"].sample(times)
        path = balanced_path(feet, weight, 1.0 / _GRID, who.pelvis_height)
        self._side = CubicSpline(times, smooth_share(weight, 1.0 / _GRID, who.pelvis_height))
        pelvis, heading = self.pelvis(plan, times, feet)
        root = path + rot.rotate(rot.yaw(heading), _carriage(plan, times))
        root[:, 1] = path[:, 1] + who.pelvis_height + plan.curves["height"].sample(times)
        world = plan.curves["pelvis_world"].sample(times)[:, None]
        root += world * (plan.curves["pelvis_place"].sample(times) - root)
        hips = {
            side: root + rot.rotate(pelvis, [SIGN[side] * who.hip_width / 2, -who.hip_drop, 0.0])
            for side in SIDES
        }
        flight = feet["left"].airborne & feet["right"].airborne
        tied = {side: ~flight & (loose(plan, side, times) < 0.02) for side in SIDES}
        root[:, 1] = within_reach(root[:, 1], hips, feet, tied, who, 1.0 / _GRID)
        self.root = CubicSpline(times, root)

    def pelvis(
        self, plan: MotionPlan, times: Array, feet: dict[str, PlannedFoot]
    ) -> tuple[Array, Array]:
        """Return the pelvis's world rotation (T, 4) and heading (T,)."""
        heading = 0.5 * (feet["left"].yaw + feet["right"].yaw)
        shake = wobble(plan, times)
        hip_up = 0.10 * plan.performer.sway * self._side(times)
        angles = np.stack(
            [
                heading + plan.curves["twist"].sample(times) + shake[:, 0],
                plan.curves["tilt"].sample(times),
                plan.curves["roll"].sample(times) + hip_up + 0.5 * shake[:, 1],
            ],
            axis=-1,
        )
        return rot.from_euler(angles, "YXZ"), heading

    def torso(self, plan: MotionPlan, times: Array) -> Torso:
        """Return pelvis, spine and head at `times` (T,)."""
        feet = planned_feet(plan, times)
        pelvis, heading = self.pelvis(plan, times, feet)
        curves, shake = plan.curves, wobble(plan, times)
        hip_up = 0.10 * plan.performer.sway * self._side(times)
        half = 0.5 * np.stack(
            [
                curves["chest_twist"].sample(times) + shake[:, 2],
                curves["chest_bend"].sample(times) + plan.performer.lean + shake[:, 3],
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
            performer=plan.performer,
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


def wobble(plan: MotionPlan, times: Array) -> Array:
    """Return the involuntary movement (T, 12) in radians, deterministic for each plan."""
    rng = np.random.default_rng(plan.noise_seed)
    return plan.performer.noise * noise(times, rng, _WOBBLES)


def loose(plan: MotionPlan, side: str, times: Array) -> Array:
    """Return the weight (T,), 0 to 1, of free legs and targets relative to the footsteps."""
    free = plan.curves[f"{side}_free"].sample(times)
    aimed, _ = aiming(plan, f"{side}_foot", times)
    return 1.0 - (1.0 - free) * (1.0 - aimed)


def aiming(plan: MotionPlan, limb: str, times: Array) -> tuple[Array, Array]:
    """Return the weight (T,) of a limb's target, and the target (T, 3)."""
    share = np.zeros(len(times))
    target = np.zeros((len(times), 3))
    for aim in plan.aims:
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


def _carriage(plan: MotionPlan, times: Array) -> Array:
    """Return the pelvis offset from the center of mass; it points backward in a forward lean."""
    curves = plan.curves
    lean = curves["tilt"].sample(times) + 0.5 * curves["chest_bend"].sample(times)
    offset = curves["offset"].sample(times).copy()
    offset[:, 1] = 0.0
    offset[:, 2] -= 0.12 * plan.performer.height / 1.75 * np.sin(lean)
    return offset
