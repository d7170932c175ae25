"""Motion matching: coverage of the built-in walks and jogs, and the courses seen from above."""

from pathlib import Path

import motionloom as ml
from motionloom.motion_matching import MatchingSettings, matching_database
from motionloom.plots.matching_coverage import coverage_figure
from motionloom.plots.pages.page import write_figure

HERE = Path(__file__).parent
KINDS = (
    "walk", "walk_slow", "walk_fast", "walk_left", "walk_right", "walk_left_tight",
    "walk_right_tight", "jog", "jog_fast", "jog_left", "jog_right", "take_locomotion",
)  # fmt: skip


def main() -> None:
    """Draw motion-matching.png."""
    database = matching_database([ml.demo.clip(kind) for kind in KINDS], MatchingSettings())
    write_figure(coverage_figure(database.coverage()), HERE / "motion-matching.png", dpi=80)


if __name__ == "__main__":
    main()
