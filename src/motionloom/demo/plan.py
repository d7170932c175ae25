"""Motion plans: the control curves from which a performer's poses are computed.

A plan contains control curves (pelvis, torso, head, arms, free legs), footsteps, hand and foot
targets, and the list of actions. Actions are appended one after the other. Each starts and ends on
both feet, so that one action makes a clip, and several actions make a take without visible seams.

Between two keys, a curve follows the quintic that matches value, velocity and acceleration at both.
With zero velocity and acceleration, this is the minimum-jerk movement typical of human reaching
(Flash and Hogan 1985); with ballistic ends, it is the parabola of free flight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.demo.performers import SIDES, Performer
from motionloom.motion.rotations import quaternions as rot

Array = NDArray[np.float64]


class ControlCurve:
    """A scalar or vector over time, defined by keys in chronological order.

    Parameters
    ----------
    value : array_like, shape (D,) or scalar
        Value before the first key.

    Examples
    --------
    >>> curve = ControlCurve(0.0)
    >>> curve.ease(1.0, 2.0, 10.0)
    >>> curve.sample([0.0, 1.5, 3.0])
    array([ 0.,  5., 10.])
    """

    def __init__(self, value: ArrayLike = 0.0) -> None:
        self.scalar = np.ndim(value) == 0
        first = np.atleast_1d(np.asarray(value, dtype=np.float64))
        self._times: list[float] = []
        self._keys: list[tuple[Array, Array, Array]] = []
        self._first = first
        self._still = np.zeros_like(first)

    @property
    def last(self) -> Array:
        """Value of the last key."""
        value = self._keys[-1][0] if self._keys else self._first
        return value[0] if self.scalar else value

    @property
    def last_time(self) -> float:
        """Time of the last key, in seconds."""
        return self._times[-1] if self._times else -np.inf

    def key(
        self,
        time: float,
        value: ArrayLike,
        *,
        velocity: ArrayLike = 0.0,
        acceleration: ArrayLike = 0.0,
    ) -> None:
        """Add a key; a key that is not later than the last one replaces it."""
        key = self._spread(value), self._spread(velocity), self._spread(acceleration)
        if self._times and time <= self._times[-1] + 1e-9:
            self._keys[-1] = key
            return
        self._times.append(float(time))
        self._keys.append(key)

    def rebase(self, value: ArrayLike) -> None:
        """Reset the curve to `value` after the last key, for example to remove a full turn."""
        self._again(self._spread(value), self._still)

    def _again(self, value: Array, acceleration: Array) -> None:
        """Add a key at the same time as the last one, which applies only after that time."""
        self._times.append(self._times[-1])
        self._keys.append((value, self._still, acceleration))

    def hold(self, time: float) -> None:
        """Keep the last value until `time`."""
        if time > self.last_time + 1e-9:
            self.key(time, self.last)

    def ease(self, start: float, end: float, value: ArrayLike, *, push: float = 0.0) -> None:
        """Hold until `start`, then make a minimum-jerk transition that ends at `end`.

        `push` is the acceleration at both ends, in units of distance over duration squared. With a
        push of zero, the largest acceleration of the transition is 5.8 in these units.
        """
        self.hold(start)
        end = max(end, self.last_time + 1e-3)
        if push == 0.0:
            self.key(end, value)
            return
        goal = self._spread(value)
        kick = push * (goal - self._keys[-1][0]) / (end - self.last_time) ** 2
        self._again(self._keys[-1][0], kick)
        self.key(end, goal, acceleration=-kick)
        self._again(goal, self._still)

    def _spread(self, value: ArrayLike) -> Array:
        return self._still + np.asarray(value, dtype=np.float64)

    def sample(self, times: ArrayLike) -> Array:
        """Return the values at `times` (T,): shape (T, D), or (T,) for a scalar curve."""
        t = np.asarray(times, dtype=np.float64)
        if not self._times:
            out = np.broadcast_to(self._first, (*t.shape, *self._first.shape)).copy()
            return out[..., 0] if self.scalar else out
        knots = np.array([self._times[0] - 1.0, *self._times, self._times[-1] + 1.0])
        still = self._still
        keys = [(self._keys[0][0], still, still), *self._keys, (self._keys[-1][0], still, still)]
        values, velocities, accelerations = (np.array(part) for part in zip(*keys, strict=True))
        inside = np.clip(t, knots[0], knots[-1])
        k = np.clip(np.searchsorted(knots, inside, side="right") - 1, 0, len(knots) - 2)
        h = (knots[k + 1] - knots[k])[:, None]
        out = _quintic(
            (inside[:, None] - knots[k][:, None]) / h,
            (values[k], velocities[k] * h, accelerations[k] * h**2),
            (values[k + 1], velocities[k + 1] * h, accelerations[k + 1] * h**2),
        )
        return out[..., 0] if self.scalar else out


def _quintic(u: Array, start: Sequence[Array], end: Sequence[Array]) -> Array:
    """Evaluate at u in [0, 1] a quintic with specified value, slope and curvature at both ends."""
    p0, v0, a0 = start
    p1, v1, a1 = end
    d = p1 - p0
    c3 = 10 * d - 6 * v0 - 4 * v1 - 1.5 * a0 + 0.5 * a1
    c4 = -15 * d + 8 * v0 + 7 * v1 + 1.5 * a0 - a1
    c5 = 6 * d - 3 * (v0 + v1) - 0.5 * (a0 - a1)
    return p0 + u * (v0 + u * (0.5 * a0 + u * (c3 + u * (c4 + u * c5))))


def bump(times: Array, start: float, end: float) -> Array:
    """Return a bump of height 1 over [start, end] with zero slope at both ends, shape (T,)."""
    u = np.clip((times - start) / (end - start), 0.0, 1.0)
    return 64.0 * (u * (1.0 - u)) ** 3


def noise(times: Array, rng: np.random.Generator, channels: int) -> Array:
    """Return smooth noise below 1 Hz with about unit amplitude, shape (T, channels).

    Each channel is a sum of six sinusoids with random frequencies and phases, and therefore a
    function of continuous time.
    """
    waves = 6
    frequency = rng.uniform(0.12, 0.9, size=(waves, channels))
    phase = rng.uniform(0.0, 2.0 * np.pi, size=(waves, channels))
    angle = 2.0 * np.pi * frequency * times[:, None, None] + phase
    return np.sin(angle).sum(axis=1) / np.sqrt(waves / 2.0)


def on_grid(time: float, rate: float = 30.0) -> float:
    """Round `time` to the nearest frame of the corpus's base rate."""
    return round(time * rate) / rate


SIGN = {"left": 1.0, "right": -1.0}
OTHER = {"left": "right", "right": "left"}
REST_ARM = (0.06, 0.16, 0.30)
HANGING_LEG = (0.15, 0.04, 0.35)


@dataclass
class Step:
    """A single swing of a foot; times in seconds."""

    lift: float
    land: float
    clearance: float
    flight: bool = False  # True if the other foot is also in the air


@dataclass
class Aim:
    """A target for a hand or foot at a known time.

    The target is specified as a direction from the hip or shoulder, in the heading frame, and a
    fraction of the limb's length. The solver computes its world position (`target`).
    """

    limb: str  # "left_hand", "right_foot", ...
    start: float
    hit: float
    leave: float
    end: float
    direction: Array
    extension: float
    parameters: dict[str, Any] = field(default_factory=dict)
    target: Array | None = None


@dataclass
class PlannedAction:
    """A single action in a plan; times in seconds."""

    action: str
    start: float
    end: float
    parameters: dict[str, Any] = field(default_factory=dict)
    beats: list[float] = field(default_factory=list)
    tempo_bpm: float | None = None
    window: tuple[float, float] | None = None  # part that a clip shows; None for all of it


class MotionPlan:
    """Control curves, footsteps and targets for one performer, in seconds and meters.

    Parameters
    ----------
    performer : Performer
    rng : numpy.random.Generator
        Random generator for all choices.
    position, heading : (x, z) and radians
        Initial position and heading.

    Attributes
    ----------
    time : float
        Start time of the next action.
    """

    def __init__(
        self,
        performer: Performer,
        rng: np.random.Generator,
        *,
        position: tuple[float, float] = (0.0, 0.0),
        heading: float = 0.0,
    ) -> None:
        self.performer = performer
        self.rng = rng
        self.noise_seed = int(rng.integers(2**31))
        self.time = 0.0
        self.curves: dict[str, ControlCurve] = {
            **{name: ControlCurve() for name in _SCALARS},
            "offset": ControlCurve(np.zeros(3)),
            "pelvis_place": ControlCurve(np.zeros(3)),
            "look_level": ControlCurve(1.0),
            "weight": ControlCurve(0.5),
        }
        self.steps: dict[str, list[Step]] = {side: [] for side in SIDES}
        self.aims: list[Aim] = []
        self.actions: list[PlannedAction] = []
        for side in SIDES:
            place, yaw = self.slot(side, position, heading)
            self.curves[f"{side}_place"] = ControlCurve(place)
            self.curves[f"{side}_yaw"] = ControlCurve(yaw)
            self.curves[f"{side}_arm"] = ControlCurve(REST_ARM)
            self.curves[f"{side}_free_leg"] = ControlCurve(HANGING_LEG)

    # --- foot placement -----------------------------------------------------------------

    def slot(
        self, side: str, position: ArrayLike, heading: float, *, width: float | None = None,
        floor: float = 0.0,
    ) -> tuple[Array, float]:  # fmt: skip
        """Return the position (x, y, z) and yaw of a foot that stands next to `position` (x, z)."""
        wide = self.performer.stance_width if width is None else width
        x, z = np.asarray(position, dtype=np.float64)
        across = SIGN[side] * wide / 2.0
        place = np.array([x + across * np.cos(heading), floor, z - across * np.sin(heading)])
        return place, heading + SIGN[side] * self.performer.toe_out

    @property
    def heading(self) -> float:
        """Mean direction of the feet at the current end of the plan, in radians."""
        return float(np.mean([self.curves[f"{side}_yaw"].last for side in SIDES]))

    @property
    def middle(self) -> Array:
        """Midpoint (x, z) of the feet at the current end of the plan."""
        return np.mean([self.curves[f"{side}_place"].last[[0, 2]] for side in SIDES], axis=0)

    @property
    def floor(self) -> float:
        """Height of the floor under the feet at the current end of the plan."""
        return float(np.mean([self.curves[f"{side}_place"].last[1] for side in SIDES]))

    def forward(self, distance: float, sideways: float = 0.0) -> Array:
        """Return the point (x, z) `distance` ahead of `middle` and `sideways` to its left."""
        turned = rot.rotate(rot.yaw(self.heading), [sideways, 0.0, distance])
        return self.middle + turned[[0, 2]]

    # --- used by actions ----------------------------------------------------------------

    def ease(
        self, name: str, start: float, end: float, value: ArrayLike, *, push: float = 0.0
    ) -> None:
        """Add a minimum-jerk transition to a curve; see `ControlCurve.ease`."""
        self.curves[name].ease(start, end, value, push=push)

    def step(
        self,
        side: str,
        lift: float,
        land: float,
        place: Array,
        yaw: float,
        *,
        clearance: float = 0.07,
        shift: float | None = 0.35,
        heel: float = 0.25,
        heel_time: float = 0.18,
        toe: float = 0.0,
        toe_time: float = 0.12,
        tiptoe: float = 0.0,
        push: float = 0.0,
        flight: bool = False,
    ) -> None:
        """Add a step, in which the foot leaves the floor at time `lift` and lands at time `land`.

        Before lift-off the heel rises by `heel` radians within `heel_time`; at landing the
        toes are raised by `toe` (a heel strike) or the heel by `tiptoe`, and come down within
        `toe_time`. The weight moves to the other foot within `shift` seconds before lift-off;
        ``None`` leaves the weight to the caller. `push` adds acceleration at both ends (see
        `ControlCurve.ease`); a foot in `flight` rises and falls with the body.
        """
        if shift is not None:
            start = max(lift - shift, self.curves["weight"].last_time)
            landed = self.steps[OTHER[side]]
            if landed:
                start = max(start, min(landed[-1].land, lift - 0.05))
            self.ease("weight", start, lift, 0.0 if side == "left" else 1.0)
        swing = land - lift
        self.ease(f"{side}_place", lift, land, place, push=push)
        self.ease(f"{side}_yaw", lift, land, yaw)
        raised, toes = self.curves[f"{side}_heel"], self.curves[f"{side}_toe"]
        if heel > 0.0:
            begin = max(lift - heel_time, raised.last_time, toes.last_time)
            raised.hold(begin)
            # The heel is still rising at lift-off and continues to rise for a moment.
            rate = 1.3 * heel / (lift - begin + 0.02)
            raised.key(lift, heel, velocity=rate)
            raised.key(lift + 0.16 * swing, heel + 0.07 * swing * rate)
        if tiptoe > 0.0:
            raised.ease(lift + 0.16 * swing, land, tiptoe)
            raised.ease(land, land + toe_time, 0.0)
        elif raised.last > 0.0:
            raised.ease(lift + 0.16 * swing, lift + 0.7 * swing, 0.0)
        if toe > 0.0:
            toes.ease(lift + 0.4 * swing, land, toe)
            toes.ease(land, land + toe_time, 0.0)
        self.steps[side].append(Step(lift, land, clearance, flight))

    def tiptoe(self, start: float, end: float, angle: float) -> None:
        """Raise or lower both heels while standing; the balls of the feet do not move."""
        for side in SIDES:
            self.ease(f"{side}_heel", start, end, angle)

    def balance(self, start: float, end: float, weight: float = 0.5) -> None:
        """Shift the weight; 1 means entirely on the left foot, and 0.5 equally on both feet."""
        self.ease("weight", max(start, self.curves["weight"].last_time), end, weight)

    def pose_arms(self, start: float, end: float, left: ArrayLike, right: ArrayLike) -> None:
        """Move both arms to the angles (flexion, abduction, elbow bend)."""
        self.ease("left_arm", start, end, left)
        self.ease("right_arm", start, end, right)

    def relax(self, start: float, end: float, *, but: tuple[str, ...] = ()) -> None:
        """Return torso, head, pelvis and arms to the standing pose, except the curves in `but`."""
        for name in _RELAXED:
            if name not in but and self.curves[name].last != 0.0:
                self.ease(name, start, end, 0.0)
        for side in SIDES:
            arm = self.curves[f"{side}_arm"]
            if f"{side}_arm" not in but and not np.allclose(arm.last, REST_ARM):
                arm.ease(start, end, REST_ARM)
        if "offset" not in but and np.any(self.curves["offset"].last):
            self.ease("offset", start, end, np.zeros(3))

    def add_action(
        self, action: str, start: float, end: float, *, beats: list[float] | None = None,
        tempo_bpm: float | None = None, **parameters: Any,
    ) -> PlannedAction:  # fmt: skip
        """Append an action and move `time` to its end."""
        row = PlannedAction(action, start, end, parameters, beats or [], tempo_bpm)
        self.actions.append(row)
        self.time = end
        return row


_TORSO = ("twist", "tilt", "roll", "chest_twist", "chest_bend", "chest_side")
_RELAXED = (*_TORSO, "look_yaw", "look_pitch", "height")
_SCALARS = (
    *_RELAXED,
    "pelvis_world",
    *(
        f"{side}_{part}"
        for side in SIDES
        for part in ("heel", "toe", "elbow", "wrist", "free", "ankle")
    ),
)
