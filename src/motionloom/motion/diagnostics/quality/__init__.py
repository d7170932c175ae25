"""Motion quality: measures, and the report that accompanies every synthesized motion."""

from motionloom.motion.diagnostics.quality.gate import (
    QualityMeter,
    SourceStatistics,
    quality_report,
    worst_seam,
)
from motionloom.motion.diagnostics.quality.measures import (
    FootSlide,
    floor_penetration,
    foot_slide,
    joint_accelerations,
    jump_sizes,
    part_path,
    seam_accelerations,
    usual_acceleration,
)
from motionloom.motion.diagnostics.quality.parts import (
    BeatFit,
    PathFit,
    RetargetFit,
    Seam,
    TakesUsed,
    WorstFrame,
    grouped_reasons,
    reasons_text,
)
from motionloom.motion.diagnostics.quality.posture import (
    flight_errors,
    imbalance,
    limb_overlaps,
    repeated_steps,
)
from motionloom.motion.diagnostics.quality.report import QualityReport

__all__ = [
    "BeatFit",
    "FootSlide",
    "PathFit",
    "QualityMeter",
    "QualityReport",
    "RetargetFit",
    "Seam",
    "SourceStatistics",
    "TakesUsed",
    "WorstFrame",
    "flight_errors",
    "floor_penetration",
    "foot_slide",
    "grouped_reasons",
    "imbalance",
    "joint_accelerations",
    "jump_sizes",
    "limb_overlaps",
    "part_path",
    "quality_report",
    "reasons_text",
    "repeated_steps",
    "seam_accelerations",
    "usual_acceleration",
    "worst_seam",
]
