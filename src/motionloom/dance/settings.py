"""Settings for motion beats, choreographies and dances.

The command line imports this module at every start, so it avoids slow imports.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from motionloom.errors import InvalidInput
from motionloom.settings import MotionChoice, Settings, preset, setting

SHORTEST, LONGEST = 0.28, 1.5  # seconds between beats: 214 to 40 beats per minute
SLOWEST, FASTEST = 2.0, 600.0  # beats per minute: the widest range of tempos
# Radians (3.4 degrees): smaller changes of direction are involuntary.
MIN_TURN = 0.06
TUNE = "tune"  # name of the generated tune, used instead of a music file
RHYTHMIC = 0.25  # motions with a lower confidence count as not rhythmic
MAX_SEAM = 1.5  # maximum acceleration at a seam, relative to the 99.9th percentile of the takes


@dataclass(frozen=True, kw_only=True)
class BeatCleaning(Settings):
    """Settings for noise and for the ends of takes when motion beats are detected."""

    smoothing: float | None = setting(
        None,
        "Standard deviation of the Gaussian that smooths the joint angles; 0 turns smoothing off, "
        "as in the paper. [0.04, or 0.06 in noisy takes]",
        unit="s",
        least=0.0,
        expert=True,
    )
    min_turn: float = setting(
        MIN_TURN,
        "Ignore smaller changes of direction, and joints that move less; 0 ignores none, as in "
        "the paper.",
        unit="rad",
        least=0.0,
        expert=True,
    )
    extrapolate: bool = setting(
        True,
        "Extrapolate a beat at the very start or end of a take, where half of the candidates are "
        "missing, from the beats next to it.",
        expert=True,
    )


@dataclass(frozen=True, kw_only=True)
class BeatSettings(Settings):
    """Settings for detecting motion beats; see `motionloom.beats`."""

    tempo_bpm: tuple[float, float] = setting(
        (60.0 / LONGEST, 60.0 / SHORTEST),
        "Slowest and fastest tempo to look for.",
        unit="beats per minute",
        option="--tempo-range",
    )
    bpm: float | None = setting(
        None,
        "Tempo of the takes, if known. The beats then have a confidence of 1. [detected]",
        unit="beats per minute",
        above=0.0,
        greatest=600.0,
    )
    first_beat: float | None = setting(
        None,
        "Time of the first beat in each take. The other beats follow at a constant tempo. "
        "[detected]",
        unit="s",
        least=0.0,
    )
    steady: bool = setting(False, "Assume a constant tempo, as in the paper.")
    level: float = setting(
        1.0,
        "Metrical level: 2 counts every other beat, 0.5 counts twice as many beats.",
        above=0.0,
        greatest=8.0,
    )
    weights: Mapping[str, float] | None = setting(
        None, "Weights of candidate beats by role or joint name; 0 ignores a joint.", command=False
    )
    candidates: Literal["turns", "velocity", "acceleration"] = setting(
        "turns",
        "Candidate beats: changes of direction and landings (turns); only changes of direction, "
        "as in the paper (velocity); or zero crossings of the angular acceleration, as in "
        "equation (2) of the paper (acceleration).",
        expert=True,
    )
    weighted: bool = setting(
        True,
        "Weight candidate beats by their size and by how still the body is. If False, all have "
        "the same weight, as in the paper.",
        expert=True,
    )
    period: Literal["combined", "periodogram"] = setting(
        "combined",
        "How the beat period is found: from the periodogram, self-similarity and foot landings "
        "(combined), or from the highest power of the periodogram, as in the paper (periodogram).",
        expert=True,
    )
    cleaning: BeatCleaning = setting(
        BeatCleaning(), "How noise and the ends of takes are treated.", command=False
    )

    def check(self) -> None:
        """Check that the tempo range is valid."""
        slow, fast = self.tempo_bpm
        if not (0.0 < slow < fast <= FASTEST):
            raise InvalidInput(
                "tempo_bpm must be two tempos, the slower one first, above 0 and at most "
                f"{FASTEST:g}; got {self.tempo_bpm!r}"
            )

    @preset
    def kp03(cls: Any) -> BeatSettings:
        """Settings of Kim, Park and Shin 2003."""
        return cls(
            candidates="velocity", weighted=False,
            period="periodogram", tempo_bpm=(SLOWEST, FASTEST), steady=True,
            cleaning=BeatCleaning(smoothing=0.0, min_turn=0.0, extrapolate=False),
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class MovementSettings(Settings):
    """Settings for cutting takes into movements."""

    align: Literal["landings", "beats"] = setting(
        "landings",
        "Events of a take that are aligned with the beats of the music: foot landings near motion "
        "beats (landings), or the motion beats themselves, as in the paper (beats).",
    )
    even: bool = setting(
        True,
        "Drop movements with beats that deviate from a regular period by more than a quarter, and "
        "movements in which feet do not land on beats.",
        expert=True,
    )
    downbeat: Literal["accent", "first"] = setting(
        "accent",
        "Where movements start: at the beats with the most changes of direction and landings "
        "(accent), or at the first beat and every METER beats after it, as in the paper (first).",
        expert=True,
    )
    mirror: bool = setting(False, "Also use a mirrored copy of every take, for more movements.")
    min_confidence: float = setting(
        RHYTHMIC, "Skip takes whose beats have a lower confidence than this, 0 to 1.", expert=True
    )

    @preset
    def kp03(cls: Any) -> MovementSettings:
        """Settings of Kim, Park and Shin 2003: all takes and movements are used."""
        return cls(align="beats", even=False, downbeat="first", min_confidence=0.0)


@dataclass(frozen=True, kw_only=True)
class GroupingSettings(Settings):
    """Settings for grouping similar movements into the nodes of a transition graph."""

    groups: int | None = setting(
        None, "Number of groups of similar movements. [found by subtractive clustering]"
    )
    radius: float = setting(
        0.74,
        "Radius of a group in subtractive clustering, relative to the median distance to the "
        "most similar movement.",
        above=0.0,
        expert=True,
    )
    joint_weights: Mapping[str, float] | str = setting(
        "important",
        "Joint weights for comparing movements: important (only pelvis, spine, shoulders, elbows, "
        "hips and knees), all, or a mapping of roles or joints to weights.",
        command=False,
    )
    velocity_weight: float | None = setting(
        None,
        "Weight of velocities relative to postures. [both count equally]",
        unit="s²",
        least=0.0,
        expert=True,
    )
    seed: int = setting(0, "Random seed for clustering.", least=0)


@dataclass(frozen=True, kw_only=True)
class LikelihoodSettings(Settings):
    """Settings for the transitions between movements and their likelihoods."""

    behavior: float = setting(
        0.5,
        "Weight of the transitions seen in the takes, 0 to 1. The rest of the weight goes to "
        "smooth transitions.",
        least=0.0,
        greatest=1.0,
    )
    sigma: float | None = setting(
        None,
        "Posture difference at which a transition becomes unlikely; larger values allow rougher "
        "transitions. [from the data]",
        above=0.0,
        expert=True,
    )
    min_likelihood: float | None = setting(
        None,
        "Drop transitions with a lower probability than this. [0.05, or less in large graphs]",
        least=0.0,
        expert=True,
    )
    max_seam: float | None = setting(
        MAX_SEAM,
        "Drop transitions in which joints accelerate more than this multiple of the usual maximum "
        "in the takes. Also drop transitions that move a standing foot or make the body jump.",
        above=0.0,
        expert=True,
    )


@dataclass(frozen=True, kw_only=True)
class ChoreographySettings(MotionChoice):
    """Settings for learning a choreography; see `motionloom.Library.choreography`."""

    meter: int | None = setting(None, "Beats per movement. [estimated, 2 to 8]", least=1)
    kind: str = setting("", "Name of the dance, for example waltz.")
    beats: BeatSettings = setting(BeatSettings(), "How the beats of the takes are detected.")
    movements: MovementSettings = setting(
        MovementSettings(), "How the takes are cut into movements."
    )
    grouping: GroupingSettings = setting(GroupingSettings(), "How similar movements are grouped.")
    transitions: LikelihoodSettings = setting(
        LikelihoodSettings(), "Which movements may follow each other."
    )

    @preset
    def kp03(cls: Any) -> ChoreographySettings:
        """Settings of Kim, Park and Shin 2003: their beat detection, all takes and movements."""
        return cls(
            beats=BeatSettings.kp03(),
            movements=MovementSettings.kp03(),
            transitions=LikelihoodSettings(max_seam=None),
        )


@dataclass(frozen=True, kw_only=True)
class PathSettings(Settings):
    """Settings for joining movements to a dance and for following a path."""

    blend: Literal["least_squares", "cardinal"] = setting(
        "least_squares",
        "Blend weights of a dance that follows a path: non-negative least squares "
        "(least_squares), or cardinal basis functions, as in the paper (cardinal).",
        expert=True,
    )
    bend: bool = setting(
        True, "Turn and shift movements toward the path, in addition to blending.", expert=True
    )
    prefer: bool = setting(
        True,
        "Prefer nodes whose movements end near the path. If False, nodes are drawn with the "
        "probabilities of the graph, as in the paper.",
        expert=True,
    )
    inertialize: bool = setting(
        True,
        "Fade the difference between two movements after a transition. If False, movements are "
        "joined unchanged, as in the paper.",
        expert=True,
    )
    one_movement: bool = setting(
        True,
        "Without a path, play one movement of each node. If False, play the blend of all its "
        "movements, as in the paper.",
        expert=True,
    )


@dataclass(frozen=True, kw_only=True)
class ClockSettings(Settings):
    """Settings for correcting the clock of a dance."""

    corrections: int = setting(
        6,
        "Maximum number of times that the clock is corrected, using landings or beats detected in "
        "the dance.",
        least=0,
        expert=True,
    )
    align: Literal["landings", "beats"] = setting(
        "landings",
        "Events used to correct the clock: foot landings, or motion beats if there are few "
        "landings (landings); or always motion beats (beats).",
        expert=True,
    )


@dataclass(frozen=True, kw_only=True)
class DanceSettings(Settings):
    """Settings for dancing to music; see `motionloom.dance.choreography.Choreography.dance`."""

    seed: int = setting(0, "Random seed for the path through the transition graph.", least=0)
    synced: bool = setting(True, "Align the movements with the beats of the music.", command=False)
    follow: Any = setting(
        None, "Path to follow: rows of time in seconds and position x, z in meters.", command=False
    )
    seconds: float | None = setting(
        None, "Duration of the dance. [duration of the music]", unit="s", above=0.0
    )
    skeleton: Any = setting(
        None, "Skeleton to retarget the dance to, or one skeleton per dancer.", command=False
    )
    phrases: int = setting(
        1, "Number of previous movements on which the next one depends.", least=1
    )
    dynamics: float = setting(
        0.0,
        "How strongly energetic movements are preferred in loud bars. 0 has no effect, 1 a clear "
        "effect.",
        least=0.0,
        greatest=10.0,
    )
    path: PathSettings = setting(
        PathSettings(), "How movements are joined, and how a dance follows a path."
    )
    clock: ClockSettings = setting(ClockSettings(), "How the clock is corrected.")

    @preset
    def kp03(cls: Any) -> DanceSettings:
        """Settings of Kim, Park and Shin 2003: blended movements, joined unchanged."""
        return cls(
            path=PathSettings(
                blend="cardinal", bend=False, prefer=False, inertialize=False, one_movement=False
            ),
            clock=ClockSettings(corrections=0, align="beats"),
        )
