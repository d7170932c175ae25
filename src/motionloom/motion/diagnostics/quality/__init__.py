"""Quality of a motion: measures, and the report that all synthesis returns and prints."""

from motionloom.motion.diagnostics.quality.gate import quality_report, worst_seam
from motionloom.motion.diagnostics.quality.measures import (
    FootSlide,
    floor_penetration,
    foot_slide,
    joint_accelerations,
    part_path,
    seam_accelerations,
    usual_acceleration,
)
from motionloom.motion.diagnostics.quality.report import (
    BeatFit,
    PathFit,
    QualityReport,
    Seam,
    TakesUsed,
)

__all__ = [
    "BeatFit",
    "FootSlide",
    "PathFit",
    "QualityReport",
    "Seam",
    "TakesUsed",
    "floor_penetration",
    "foot_slide",
    "joint_accelerations",
    "part_path",
    "quality_report",
    "seam_accelerations",
    "usual_acceleration",
    "worst_seam",
]
