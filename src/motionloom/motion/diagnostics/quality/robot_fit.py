"""Figures about the motion of a robot: whether the robot can follow it, and how true it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

# Limits of the verdict: fractions of the time, meters and degrees.
MAX_SHARE = 0.02
MAX_TRACKING = 0.05
MAX_HEADING = 10.0


@dataclass(frozen=True)
class RobotFit:
    """Fit of a motion to a robot, in the measures of the field.

    Penetration, sliding and contact preservation are defined as in OmniRetarget's evaluator [1]_.

    Attributes
    ----------
    robot : str
        Name of the model.
    penetration_duration, penetration_depth_m : float
        Fraction of the frames in which a shape is more than 1 cm below the floor, and the mean over
        these frames of the largest depth in meters.
    sliding_duration, sliding_speed_m_s : float
        Fraction of the frames with a planted foot (slower than 0.3 m/s in the source) in which a
        planted foot of the robot is faster than 0.3 m/s, and the mean speed in these frames.
    contact_preservation : float
        Fraction of the frames with a foot within 2 cm of the ground in the source, in which the
        robot's foot is also within 2 cm.
    limit_margin_rad : float
        Smallest distance of any hinge from the end of its range; negative beyond the range.
    velocity_ratio : float
        Largest speed of any hinge, divided by its limit.
    acceleration_rad_s2 : float
        Largest acceleration of any hinge.
    collision_duration, collision_depth_m : float
        Fraction of the frames in which parts of the robot overlap, and the largest overlap.
    hand_error_m, foot_error_m, pelvis_error_m, heading_error_deg : float
        Mean tracking error. Hands are compared relative to the shoulder and feet relative to the
        hip, scaled by the length of the limb; the pelvis relative to the scaled path.
    worst_frame : int
        Frame with the largest fault or, if there is none, with the largest tracking error.

    References
    ----------
    .. [1] L. Yang et al. OmniRetarget: interaction-preserving data generation for humanoid
       whole-body loco-manipulation and scene interaction. 2025.
    """

    robot: str
    penetration_duration: float
    penetration_depth_m: float
    sliding_duration: float
    sliding_speed_m_s: float
    contact_preservation: float
    limit_margin_rad: float
    velocity_ratio: float
    acceleration_rad_s2: float
    collision_duration: float
    collision_depth_m: float
    hand_error_m: float
    foot_error_m: float
    pelvis_error_m: float
    heading_error_deg: float
    worst_frame: int = 0

    @property
    def faults(self) -> tuple[str, ...]:
        """Reasons why the robot cannot follow the motion, or does not follow it well."""
        reasons = []
        if self.limit_margin_rad < -1e-6:
            reasons.append("joints beyond their range")
        if self.velocity_ratio > 1.0 + 1e-6:
            reasons.append("joints faster than their limit")
        for share, what in (
            (self.penetration_duration, "parts below the floor"),
            (self.sliding_duration, "sliding feet"),
            (self.collision_duration, "parts that touch each other"),
            (1.0 - self.contact_preservation, "lost foot contacts"),
        ):
            if share > MAX_SHARE:
                reasons.append(f"{what} in {100 * share:.0f} % of the time")
        if max(self.hand_error_m, self.foot_error_m, self.pelvis_error_m) > MAX_TRACKING:
            reasons.append("hands, feet or pelvis far from the source")
        if self.heading_error_deg > MAX_HEADING:
            reasons.append("another heading than the source")
        return tuple(reasons)

    @property
    def verdict(self) -> str:
        """``"feasible"``, or the list of faults."""
        return "feasible" if not self.faults else "faults: " + ", ".join(self.faults)

    def __str__(self) -> str:
        return (
            f"{self.robot}: {self.verdict}; "
            f"penetration {100 * self.penetration_duration:.1f} % of the time, "
            f"sliding {100 * self.sliding_duration:.1f} %, "
            f"contacts kept {100 * self.contact_preservation:.1f} %, "
            f"overlap {100 * self.collision_duration:.1f} %, "
            f"limit margin {self.limit_margin_rad:.2f} rad, "
            f"speed {100 * self.velocity_ratio:.0f} % of the limit, "
            f"acceleration {self.acceleration_rad_s2:.0f} rad/s2, "
            f"errors of hands {100 * self.hand_error_m:.1f} cm, feet {100 * self.foot_error_m:.1f} "
            f"cm, pelvis {100 * self.pelvis_error_m:.1f} cm, heading "
            f"{self.heading_error_deg:.1f} degrees"
        )

    def short_figures(self) -> Iterator[tuple[str, bool]]:
        """Yield the verdict as short text, and whether it reports a fault."""
        yield f"{self.robot} {self.verdict}", bool(self.faults)
