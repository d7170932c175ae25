"""Motion plans: the control curves from which the poses of one performer are solved.

A plan holds control curves (pelvis, torso, head, arms, free legs), footsteps, targets of hands
and feet, and the list of actions. Actions append to it one after the other, each starting and
ending on both feet: one action makes a clip, several make a take without visible seams.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.demo.curves import ControlCurve
from motionloom.demo.performers import SIDES, Performer
from motionloom.motion.rotations import quaternions as rot

Array = NDArray[np.float64]

SIGN = {"left": 1.0, "right": -1.0}
OTHER = {"left": "right", "right": "left"}
REST_ARM = (0.06, 0.16, 0.30)
HANGING_LEG = (0.15, 0.04, 0.35)


@dataclass
class Step:
    """One swing of one foot; times in seconds."""

    lift: float
    land: float
    clearance: float
    flight: bool = False  # the other foot is in the air, too


@dataclass
class Aim:
    """A target of a hand or foot at a known time.

    The target is given as a direction from hip or shoulder, in the heading frame, and a
    fraction of the limb's length; the solver computes its world position (`target`).
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
    """One action of a plan; times in seconds."""

    action: str
    start: float
    end: float
    parameters: dict[str, Any] = field(default_factory=dict)
    beats: list[float] = field(default_factory=list)
    tempo_bpm: float | None = None
    window: tuple[float, float] | None = None  # part shown by a clip, if not all


class MotionPlan:
    """Control curves, footsteps and targets of one performer, in seconds and metres.

    Parameters
    ----------
    performer : Performer
    rng : numpy.random.Generator
        Random generator of all choices.
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
        """Position (x, y, z) and yaw of a foot beside `position` (x, z) for a given heading."""
        wide = self.performer.stance_width if width is None else width
        x, z = np.asarray(position, dtype=np.float64)
        across = SIGN[side] * wide / 2.0
        place = np.array([x + across * np.cos(heading), floor, z - across * np.sin(heading)])
        return place, heading + SIGN[side] * self.performer.toe_out

    @property
    def heading(self) -> float:
        """Mean direction of the feet at the current end of the plan, radians."""
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
        """Point (x, z) ahead of `middle` by `distance`, and to the left by `sideways`."""
        turned = rot.rotate(rot.yaw(self.heading), [sideways, 0.0, distance])
        return self.middle + turned[[0, 2]]

    # --- used by actions ----------------------------------------------------------------

    def ease(
        self, name: str, start: float, end: float, value: ArrayLike, *, push: float = 0.0
    ) -> None:
        """Minimum-jerk transition of one curve; see `ControlCurve.ease`."""
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
        """One swing: the foot leaves the floor at `lift` and lands at `land`.

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
            # The heel is still rising at lift-off, and continues to rise for a moment.
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
        """Shift the weight: 1 is all on the left foot, 0.5 on both."""
        self.ease("weight", max(start, self.curves["weight"].last_time), end, weight)

    def pose_arms(self, start: float, end: float, left: ArrayLike, right: ArrayLike) -> None:
        """Move both arms to (flexion, abduction, elbow bend)."""
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
