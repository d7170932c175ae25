"""An account of a performance: how well everybody moved, and what it was made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from motionloom.motion.quality import QualityReport, quality_report, usual_acceleration
from motionloom.synthesis.crowd.performance import Performance
from motionloom.synthesis.rhythm.choreography import Choreography


@dataclass(frozen=True)
class CrowdQuality:
    """The quality of a crowd.

    Attributes
    ----------
    worst : QualityReport
        The largest of each figure over all characters.
    mean : QualityReport
        Their means.
    """

    worst: QualityReport
    mean: QualityReport


def crowd_quality(performance: Performance, choreography: Choreography) -> CrowdQuality:
    """Foot slide, floor penetration and seams of all characters.

    Accelerations at seams are held against those of the movements of the same body: leaders
    against leaders, followers against followers.
    """
    usual = [
        usual_acceleration(movement.bodies[body] for movement in choreography.movements)
        for body in range(len(performance.motions[0]))
    ]
    reports = [
        quality_report(motion, usual=usual[body])
        for agent in performance.motions
        for body, motion in enumerate(agent)
    ]
    return CrowdQuality(QualityReport.worst_of(reports), QualityReport.mean_of(reports))


def crowd_sources(performance: Performance) -> list[dict[str, Any]]:
    """What the crowd was made of: source frames, when they were shown, and by how many.

    ``weight`` is the mean over the characters that show them, ``characters`` how many do.
    """
    weights: dict[tuple, list[float]] = {}
    for motion in performance.every:
        for source in motion.sources:
            row = source.as_dict()
            weight = row.pop("weight")
            weights.setdefault(tuple(row.items()), []).append(weight)
    rows = [
        {**dict(key), "weight": round(float(np.mean(seen)), 6), "characters": len(seen)}
        for key, seen in weights.items()
    ]
    return sorted(rows, key=lambda row: (row["start"], row["motion"]))
