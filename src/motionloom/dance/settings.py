"""Settings of motion beats, choreographies and dances.

Imported by the command line at every start, so this module imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from motionloom.errors import InvalidInput
from motionloom.settings import MotionChoice, Settings, preset, setting

SHORTEST, LONGEST = 0.28, 1.5  # seconds between beats: 214 and 40 beats per minute
TUNE = "tune"  # instead of a music file: a generated tune
RHYTHMIC = 0.25  # confidence below which a motion has no rhythm
MAX_SEAM = 1.5  # largest acceleration at a seam, over the 99.9th percentile of the takes


@dataclass(frozen=True, kw_only=True)
class BeatSettings(Settings):
    """How to find motion beats; see `motionloom.beats`."""

    tempo_bpm: tuple[float, float] = setting(
        (60.0 / LONGEST, 60.0 / SHORTEST),
        "Slowest and fastest plausible tempo.",
        unit="beats per minute",
        option="--tempo-range",
    )
    bpm: float | None = setting(
        None,
        "Tempo of the takes, if it is known; their confidence is 1 then. [found]",
        unit="beats per minute",
        above=0.0,
        greatest=600.0,
    )
    first_beat: float | None = setting(
        None,
        "Time of the first beat in the takes: beats are a regular grid from it. [found]",
        unit="s",
        least=0.0,
    )
    steady: bool = setting(False, "Assume a constant tempo, as in the paper.")
    level: float = setting(
        1.0,
        "Metrical level: 2 counts every other beat, 0.5 twice as many.",
        above=0.0,
        greatest=8.0,
    )
    weights: Mapping[str, float] | None = setting(
        None, "Role or joint name to a factor on its candidate beats.", command=False
    )
    candidates: Literal["turns", "acceleration"] = setting(
        "turns",
        "Candidate beats: changes of direction and landings (turns), or zero crossings of the "
        "angular acceleration, as in the paper (acceleration).",
        expert=True,
    )
    midway: bool = setting(
        True,
        "With acceleration: beats lie midway between the crossings if the body is slower there.",
        expert=True,
    )
    weighted: bool = setting(
        True,
        "Weigh candidate beats by size and stillness; all weigh the same in the paper.",
        expert=True,
    )
    period: Literal["combined", "periodogram"] = setting(
        "combined",
        "Beat period by periodogram, self-similarity and landings (combined), or by the highest "
        "peak of the periodogram, as in the paper.",
        expert=True,
    )

    def check(self) -> None:
        """Check that the tempo range is a range."""
        slow, fast = self.tempo_bpm
        if not (0.0 < slow < fast <= 600.0):
            raise InvalidInput(
                "tempo_bpm must be two tempos from slow to fast, at most 600; "
                f"got {self.tempo_bpm!r}"
            )

    @preset
    def kp03(cls: Any) -> BeatSettings:
        """Kim, Park and Shin 2003."""
        return cls(
            candidates="acceleration", midway=False, weighted=False, period="periodogram",
            steady=True,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class MovementSettings(Settings):
    """How takes are cut into movements."""

    align: Literal["landings", "beats"] = setting(
        "landings",
        "What of a take meets the beats of the music: its foot landings, as far as they are near "
        "beats (landings), or its motion beats, as in the paper (beats).",
    )
    even: bool = setting(
        True,
        "Drop movements whose beats are a quarter off their period, or whose feet do not land on "
        "beats.",
        expert=True,
    )
    mirror: bool = setting(False, "Also use every take mirrored: twice the movements.")
    min_confidence: float = setting(
        RHYTHMIC, "Skip takes whose beats are less certain.", expert=True
    )

    @preset
    def kp03(cls: Any) -> MovementSettings:
        """Kim, Park and Shin 2003: all takes and movements are used."""
        return cls(align="beats", even=False, min_confidence=0.0)


@dataclass(frozen=True, kw_only=True)
class GroupingSettings(Settings):
    """How similar movements are grouped into the nodes of a movement transition graph."""

    groups: int | None = setting(
        None, "Number of groups of similar movements. [found by subtractive clustering]"
    )
    radius: float | None = setting(
        None, "Radius of a group in subtractive clustering. [from the data]", above=0.0, expert=True
    )
    joint_weights: Mapping[str, float] | str = setting(
        "important",
        "Joint weights in the comparison of movements: important (pelvis, spine, shoulders, "
        "elbows, hips and knees count 1), all, or role or joint to weight.",
        command=False,
    )
    velocity_weight: float | None = setting(
        None,
        "Weight of velocities against postures. [equal shares]",
        unit="s²",
        least=0.0,
        expert=True,
    )
    seed: int = setting(0, "Random seed for clustering.", least=0)


@dataclass(frozen=True, kw_only=True)
class LikelihoodSettings(Settings):
    """Which movements may follow which, and how likely."""

    behavior: float = setting(
        0.5,
        "Weight of the transitions seen in the takes against smooth ones, 0 to 1.",
        least=0.0,
        greatest=1.0,
    )
    sigma: float | None = setting(
        None,
        "Scale at which dissimilar transitions become unlikely. [from the data]",
        above=0.0,
        expert=True,
    )
    min_likelihood: float | None = setting(
        None,
        "Drop transitions that are less likely. [0.05, by chance in large graphs]",
        least=0.0,
        expert=True,
    )
    max_seam: float | None = setting(
        MAX_SEAM,
        "Drop transitions with more than this multiple of the accelerations of the takes, onto "
        "another foot, or with a jump of the body.",
        above=0.0,
        expert=True,
    )


@dataclass(frozen=True, kw_only=True)
class ChoreographySettings(MotionChoice):
    """How to learn a choreography from takes; see `motionloom.Library.choreography`."""

    meter: int | None = setting(None, "Beats per movement. [estimated, 2 to 8]", least=1)
    kind: str = setting("", "Name of the dance, for example waltz.")
    beats: BeatSettings = setting(BeatSettings(), "How the beats of the takes are found.")
    movements: MovementSettings = setting(
        MovementSettings(), "How the takes are cut into movements."
    )
    grouping: GroupingSettings = setting(GroupingSettings(), "How movements are grouped.")
    transitions: LikelihoodSettings = setting(
        LikelihoodSettings(), "Which movements may follow which."
    )

    @preset
    def kp03(cls: Any) -> ChoreographySettings:
        """Kim, Park and Shin 2003: beats as in the paper, all takes and movements used."""
        return cls(
            beats=BeatSettings.kp03(),
            movements=MovementSettings.kp03(),
            transitions=LikelihoodSettings(max_seam=None),
        )


@dataclass(frozen=True, kw_only=True)
class PathSettings(Settings):
    """How a dance follows a path."""

    blend: Literal["least_squares", "cardinal"] = setting(
        "least_squares",
        "Blend weights of a dance that follows a path: non-negative least squares, or cardinal "
        "basis functions, as in the paper.",
        expert=True,
    )
    bend: bool = setting(
        True, "Turn and shift movements toward the path, beyond blending.", expert=True
    )


@dataclass(frozen=True, kw_only=True)
class ClockSettings(Settings):
    """How the clock of a dance is corrected by what is found in it."""

    corrections: int = setting(
        6,
        "How often landings or beats found in the dance correct its clock, at most.",
        least=0,
        expert=True,
    )
    align: Literal["landings", "beats"] = setting(
        "landings",
        "What corrects the clock: foot landings in the dance (landings; motion beats if there are "
        "few), or motion beats (beats).",
        expert=True,
    )


@dataclass(frozen=True, kw_only=True)
class DanceSettings(Settings):
    """How to dance to music; see `motionloom.dance.choreography.Choreography.dance`."""

    seed: int = setting(0, "Random seed for the path through the transition graph.", least=0)
    synced: bool = setting(True, "Align the movements with the beats of the music.", command=False)
    follow: Any = setting(None, "Path to follow, rows of seconds, x, z.", command=False)
    seconds: float | None = setting(None, "Length of the dance. [as the music]", unit="s")
    skeleton: Any = setting(None, "Skeleton to retarget to, or one per dancer.", command=False)
    phrases: int = setting(
        1, "Number of last movements on which the next one depends, as in the takes.", least=1
    )
    dynamics: float = setting(
        0.0, "How much loud bars prefer energetic movements; 1 is clear.", least=0.0, greatest=10.0
    )
    path: PathSettings = setting(PathSettings(), "How a dance follows a path.")
    clock: ClockSettings = setting(ClockSettings(), "How landings correct the clock.")

    @preset
    def kp03(cls: Any) -> DanceSettings:
        """Kim, Park and Shin 2003: cardinal weights, no bending, no correction."""
        return cls(
            path=PathSettings(blend="cardinal", bend=False),
            clock=ClockSettings(corrections=0, align="beats"),
        )
