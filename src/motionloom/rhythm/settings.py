"""Settings of motion beats, choreographies and dances.

Imported by the command line at every start, so this module imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from motionloom.errors import InvalidInput
from motionloom.settings import EXCLUDE, LABEL, ONLY, Names, Settings, setting

SHORTEST, LONGEST = 0.28, 1.5  # seconds between beats: 214 and 40 beats per minute
TUNE = "tune"  # instead of a music file: a generated tune
RHYTHMIC = 0.25  # confidence below which a motion has no rhythm


@dataclass(frozen=True, kw_only=True)
class BeatSettings(Settings):
    """How to find motion beats; see `motionloom.beats`."""

    tempo_bpm: tuple[float, float] = setting(
        (60.0 / LONGEST, 60.0 / SHORTEST), "Slowest and fastest plausible tempo.", command=False
    )
    steady: bool = setting(False, "Assume a constant tempo, as in the paper.")
    weights: Mapping[str, float] | None = setting(
        None, "Role or joint name to a factor on its candidate beats.", command=False
    )
    kind: Literal["turns", "acceleration"] = setting(
        "turns", "Candidate beats: changes of direction, or of acceleration.", command=False
    )

    def check(self) -> None:
        """Check that the tempo range is a range."""
        try:
            slow, fast = (float(value) for value in self.tempo_bpm)
        except (TypeError, ValueError):
            slow = fast = float("nan")
        if not (0.0 < slow < fast <= 600.0):
            raise InvalidInput(
                "tempo_bpm must be two tempos from slow to fast, at most 600; "
                f"got {self.tempo_bpm!r}"
            )


@dataclass(frozen=True, kw_only=True)
class ChoreographySettings(Settings):
    """How to learn a choreography from takes; see `motionloom.Library.choreography`."""

    meter: int | None = setting(None, "Beats per movement. [estimated]", least=1)
    groups: int | None = setting(
        None, "Number of groups of similar movements. [found by subtractive clustering]"
    )
    radius: float | None = setting(
        None, "Radius of a group in subtractive clustering. [from the data]", above=0.0
    )
    weights: Mapping[str, float] | str = setting(
        "important",
        "Joint weights in the comparison of movements: important, all, or role or joint to weight.",
        command=False,
    )
    velocity_weight: float | None = setting(
        None, "Weight of velocities against postures. [equal shares]", unit="s²", least=0.0
    )
    mirror: bool = setting(False, "Use every take mirrored, too.")
    behaviour: float = setting(
        0.5,
        "Weight of the transitions seen in the takes against smooth ones, 0 to 1.",
        least=0.0,
        greatest=1.0,
    )
    sigma: float | None = setting(
        None, "Scale at which dissimilar transitions become unlikely. [from the data]", above=0.0
    )
    min_likelihood: float = setting(
        0.05, "Drop transitions that are less likely.", least=0.0, old_options=("--threshold",)
    )
    min_confidence: float = setting(RHYTHMIC, "Skip takes whose beats are less certain.")
    kind: str = setting("", "Name of the dance, for example waltz.")
    seed: int = setting(0, "Random seed for clustering.", least=0)
    label: Names = setting(None, LABEL)
    only: Names = setting(None, ONLY)
    exclude: Names = setting(None, EXCLUDE)


@dataclass(frozen=True, kw_only=True)
class DanceSettings(Settings):
    """How to dance to music; see `motionloom.rhythm.Choreography.dance`."""

    seed: int = setting(0, "Random seed for the path through the transition graph.", least=0)
    synced: bool = setting(True, "Align the movements with the beats of the music.", command=False)
    follow: Any = setting(None, "Path to follow, rows of seconds, x, z.", command=False)
    seconds: float | None = setting(None, "Length of the dance. [as the music]", unit="s")
    skeleton: Any = setting(None, "Skeleton to retarget to, or one per dancer.", command=False)
