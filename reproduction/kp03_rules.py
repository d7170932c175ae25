"""Rules of ours that the method of Kim, Park & Shin 2003 does not have."""

from __future__ import annotations

from motionloom.dance.settings import FASTEST, SLOWEST, ChoreographySettings, DanceSettings
from reproduction.our_rules import OurRule

OUR_RULES = (
    OurRule(
        "Landings of the feet are candidate beats, in addition to changes of direction.",
        ChoreographySettings, "beats.candidates", "velocity",
    ),
    OurRule(
        "Joint angles are smoothed over 0.04 s, or 0.06 s in noisy takes.",
        ChoreographySettings, "beats.cleaning.smoothing", 0.0,
    ),
    OurRule(
        "Changes of direction by less than 3.4 degrees are ignored.",
        ChoreographySettings, "beats.cleaning.min_turn", 0.0,
    ),
    OurRule(
        "Candidates are weighted by their size and by how still the body is, and the reference "
        "beat counts as a tenth of its candidates.",
        ChoreographySettings, "beats.weighted", False,
    ),
    OurRule(
        "The period is found from the periodogram, self-similarity and landings, near a "
        "comfortable tempo.",
        ChoreographySettings, "beats.period", "periodogram",
    ),
    OurRule(
        "Periods from 0.28 to 1.5 s are searched. The paper goes down to one frame, where the "
        "sampling of a motion may be its strongest period, so the preset ends at 0.1 s.",
        ChoreographySettings, "beats.tempo_bpm", (SLOWEST, FASTEST),
    ),
    OurRule(
        "The reference beats follow a changing tempo.",
        ChoreographySettings, "beats.steady", True,
    ),
    OurRule(
        "Beats at the very start or end of a take are extrapolated.",
        ChoreographySettings, "beats.cleaning.extrapolate", False,
    ),
    OurRule(
        "The beats of a movement are moved to landings.",
        ChoreographySettings, "movements.align", "beats",
    ),
    OurRule(
        "Movements with uneven beats, or in which feet do not land on beats, are dropped.",
        ChoreographySettings, "movements.even", False,
    ),
    OurRule(
        "Movements start at the beats with the strongest accents.",
        ChoreographySettings, "movements.downbeat", "first",
    ),
    OurRule(
        "Takes without a rhythm are skipped.",
        ChoreographySettings, "movements.min_confidence", 0.0,
    ),
    OurRule(
        "Transitions are rendered, and rough ones are dropped.",
        ChoreographySettings, "transitions.max_seam", None,
    ),
    OurRule(
        "Without a path, one movement of a node is played instead of a blend.",
        DanceSettings, "path.one_movement", False,
    ),
    OurRule(
        "Differences between two movements fade after a transition.",
        DanceSettings, "path.inertialize", False,
    ),
    OurRule(
        "Blend weights for a path are non-negative least squares.",
        DanceSettings, "path.blend", "cardinal",
    ),
    OurRule(
        "Movements are turned and shifted toward a path.",
        DanceSettings, "path.bend", False,
    ),
    OurRule(
        "Nodes that end near the path are preferred.",
        DanceSettings, "path.prefer", False,
    ),
    OurRule(
        "The clock is corrected by the landings or beats of the finished dance.",
        DanceSettings, "clock.corrections", 0,
    ),
    OurRule(
        "Paths through the graph whose landings miss the beats are drawn again.",
        DanceSettings, "clock.align", "beats",
    ),
)  # fmt: skip
