"""Performers of the built-in corpus: body proportions, movement style and skeleton.

Joint names follow HumanIK. The zero pose is a T-pose facing +Z, with the character's left at +X.
All lengths are derived from the standing height with Drillis and Contini's segment lengths,
scaled by each performer's leg, arm and shoulder ratios.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from motionloom.errors import InvalidInput
from motionloom.motion import Skeleton

SIDES = ("left", "right")


@dataclass(frozen=True)
class Performer:
    """Proportions and style of one person; lengths in meters, angles in radians.

    Attributes
    ----------
    name : str
    height : float
        Standing height.
    legs, arms, shoulders : float
        Relative leg length, arm length and shoulder width; 1 is average.
    stance : float
        Distance between the feet at rest, in multiples of the hip width.
    toe_out : float
        Outward rotation of the feet.
    bounce, swing, sway, lean : float
        Style: rise of each step, size of the arm swing and hip roll (1 is average), and forward
        lean of the chest (radians).
    crouch : float
        Lowering of the pelvis at rest due to bent knees, in meters.
    tempo : float
        Relative speed of actions and step cadence.
    noise : float
        Amplitude of involuntary torso and arm movements, in radians.

    Examples
    --------
    >>> import motionloom as ml
    >>> ml.demo.PERFORMERS[0].height
    1.75
    """

    name: str
    height: float = 1.75
    legs: float = 1.0
    arms: float = 1.0
    shoulders: float = 1.0
    stance: float = 1.0
    toe_out: float = 0.12
    bounce: float = 1.0
    swing: float = 1.0
    sway: float = 1.0
    lean: float = 0.04
    crouch: float = 0.01
    tempo: float = 1.0
    noise: float = 0.012

    @property
    def thigh(self) -> float:
        """Distance from hip to knee."""
        return 0.245 * self.height * self.legs

    @property
    def shin(self) -> float:
        """Distance from knee to ankle."""
        return 0.240 * self.height * self.legs

    @property
    def leg(self) -> float:
        """Distance from hip to ankle with a straight knee."""
        return self.thigh + self.shin

    @property
    def ankle_height(self) -> float:
        """Height of the ankle above the sole."""
        return 0.043 * self.height

    @property
    def ball_height(self) -> float:
        """Height of the ball of the foot (toe joint) above the sole."""
        return 0.011 * self.height

    @property
    def foot(self) -> float:
        """Horizontal distance from the ankle to the ball of the foot."""
        return 0.078 * self.height

    @property
    def heel(self) -> float:
        """Horizontal distance from the heel to the ankle."""
        return 0.032 * self.height

    @property
    def toes(self) -> float:
        """Distance from the ball of the foot to the tip of the toes."""
        return 0.040 * self.height

    @property
    def hip_width(self) -> float:
        """Distance between the hip joints."""
        return 0.104 * self.height

    @property
    def hip_drop(self) -> float:
        """Vertical distance from the root joint down to the hip joints."""
        return 0.022 * self.height

    @property
    def upper_arm(self) -> float:
        """Distance from shoulder to elbow."""
        return 0.160 * self.height * self.arms

    @property
    def forearm(self) -> float:
        """Distance from elbow to wrist."""
        return 0.145 * self.height * self.arms

    @property
    def hand(self) -> float:
        """Distance from wrist to fingertips."""
        return 0.095 * self.height * self.arms

    @property
    def stance_width(self) -> float:
        """Distance between the centers of the feet at rest."""
        return 1.15 * self.hip_width * self.stance

    @property
    def pelvis_height(self) -> float:
        """Height of the root joint above the floor in the standing pose."""
        out = 0.5 * (self.stance_width - self.hip_width)
        upright = np.sqrt((0.992 * self.leg) ** 2 - out**2)
        return float(self.ankle_height + upright + self.hip_drop - self.crouch)

    @cached_property
    def skeleton(self) -> Skeleton:
        """Skeleton with 21 joints and 5 end sites."""
        return _skeleton(self)


@lru_cache(maxsize=64)
def _skeleton(performer: Performer) -> Skeleton:
    h = performer.height
    hips = performer.ankle_height + performer.leg + performer.hip_drop
    # Torso and head take the rest of the height, 0.450 of it on average.
    up = (h - hips) / 0.450
    across = h * performer.shoulders
    joints: list[tuple[str, int, tuple[float, float, float]]] = [
        ("Hips", -1, (0.0, 0.0, 0.0)),
        ("Spine", 0, (0.0, 0.055 * up, -0.005 * h)),
        ("Spine1", 1, (0.0, 0.095 * up, -0.003 * h)),
        ("Neck", 2, (0.0, 0.142 * up, -0.004 * h)),
        ("Head", 3, (0.0, 0.052 * up, 0.010 * h)),
    ]
    ends = [("Head_End", 4, (0.0, 0.106 * up, 0.006 * h))]
    for label, sign in (("Left", 1.0), ("Right", -1.0)):
        first = len(joints)
        joints += [
            (f"{label}Shoulder", 2, (sign * 0.018 * across, 0.113 * up, 0.0)),
            (f"{label}Arm", first, (sign * 0.090 * across, 0.002 * up, -0.006 * h)),
            (f"{label}ForeArm", first + 1, (sign * performer.upper_arm, 0.0, 0.0)),
            (f"{label}Hand", first + 2, (sign * performer.forearm, 0.0, 0.0)),
        ]
        ends.append((f"{label}Hand_End", first + 3, (sign * performer.hand, 0.0, 0.0)))
    for label, sign in (("Left", 1.0), ("Right", -1.0)):
        first = len(joints)
        fall = performer.ball_height - performer.ankle_height
        joints += [
            (f"{label}UpLeg", 0, (sign * performer.hip_width / 2, -performer.hip_drop, 0.0)),
            (f"{label}Leg", first, (0.0, -performer.thigh, 0.0)),
            (f"{label}Foot", first + 1, (0.0, -performer.shin, 0.0)),
            (f"{label}ToeBase", first + 2, (0.0, fall, performer.foot)),
        ]
        ends.append((f"{label}ToeBase_End", first + 3, (0.0, 0.0, performer.toes)))
    names, parents, offsets = zip(*joints, strict=True)
    end_names, end_parents, end_offsets = zip(*ends, strict=True)
    return Skeleton(
        names,
        np.array(parents),
        np.array(offsets),
        end_names,
        np.array(end_parents),
        np.array(end_offsets),
    )


PERFORMERS: tuple[Performer, ...] = (
    Performer("p0"),
    Performer(
        "p1", height=1.62, legs=1.03, arms=0.97, shoulders=0.90, stance=0.9, toe_out=0.16,
        bounce=1.25, swing=1.2, sway=1.5, lean=0.0, crouch=0.008, tempo=1.06, noise=0.015,
    ),
    Performer(
        "p2", height=1.90, legs=1.02, arms=1.04, shoulders=1.06, stance=1.15, toe_out=0.09,
        bounce=0.8, swing=0.8, sway=0.7, lean=0.08, crouch=0.02, tempo=0.95, noise=0.010,
    ),
    Performer(
        "p3", height=1.55, legs=0.97, arms=0.98, shoulders=1.0, stance=1.1, toe_out=0.20,
        bounce=1.1, swing=1.4, sway=1.1, lean=0.06, crouch=0.03, tempo=1.0, noise=0.020,
    ),
)  # fmt: skip


def performer(which: int | Performer) -> Performer:
    """Return the performer with index `which`; a `Performer` is returned unchanged."""
    if isinstance(which, Performer):
        return which
    if which not in range(len(PERFORMERS)):
        raise InvalidInput(
            f"performer must be a number from 0 to {len(PERFORMERS) - 1}; got {which}"
        )
    return PERFORMERS[int(which)]
