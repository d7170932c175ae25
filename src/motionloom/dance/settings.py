"""Settings of motion beats, choreographies and dances.

Imported by the command line at every start, so this module imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from motionloom.errors import InvalidInput
from motionloom.settings import EXCLUDE, LABEL, ONLY, PRESET, Names, Settings, setting

SHORTEST, LONGEST = 0.28, 1.5  # seconds between beats: 214 and 40 beats per minute
TUNE = "tune"  # instead of a music file: a generated tune
RHYTHMIC = 0.25  # confidence below which a motion has no rhythm
MAX_SEAM = 1.5  # largest acceleration at a seam, over the 99.9th percentile of the takes


_TEMPOS = (60.0 / LONGEST, 60.0 / SHORTEST)
_TEMPO = "Slowest and fastest plausible tempo."
_STEADY = "Assume a constant tempo, as in the paper."
_LEVEL = "Metrical level: 2 counts every other beat, 0.5 twice as many."
_BPM = "Tempo of the takes, if it is known; their confidence is 1 then. [found]"
_FIRST_BEAT = "Time of the first beat in the takes: beats are a regular grid from it. [found]"


@dataclass(frozen=True, kw_only=True)
class BeatSettings(Settings):
    """How to find motion beats; see `motionloom.beats`."""

    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "kp03": {
            "kind": "acceleration",
            "midway": False,
            "weighted": False,
            "period": "periodogram",
            "steady": True,
        }
    }

    tempo_bpm: tuple[float, float] = setting(_TEMPOS, _TEMPO, command=False)
    bpm: float | None = setting(None, _BPM, unit="beats per minute", above=0.0, greatest=600.0)
    first_beat: float | None = setting(None, _FIRST_BEAT, unit="s", least=0.0)
    steady: bool = setting(False, _STEADY)
    level: float = setting(1.0, _LEVEL, above=0.0, greatest=8.0)
    weights: Mapping[str, float] | None = setting(
        None, "Role or joint name to a factor on its candidate beats.", command=False
    )
    kind: Literal["turns", "acceleration"] = setting(
        "turns",
        "Candidate beats: changes of direction and landings (turns), or zero crossings of the "
        "angular acceleration, as in the paper (acceleration).",
    )
    midway: bool = setting(
        True,
        "With acceleration: beats lie midway between the crossings if the body is slower there.",
    )
    weighted: bool = setting(
        True, "Weigh candidate beats by size and stillness; all weigh the same in the paper."
    )
    period: Literal["combined", "periodogram"] = setting(
        "combined",
        "Beat period by periodogram, self-similarity and landings (combined), or by the highest "
        "peak of the periodogram, as in the paper.",
    )
    preset: Literal["kp03"] | None = setting(None, PRESET)

    def check(self) -> None:
        """Check that the tempo range is a range."""
        _check_tempos(self.tempo_bpm)


def _check_tempos(given: Any) -> None:
    try:
        slow, fast = (float(value) for value in given)
    except (TypeError, ValueError):
        slow = fast = float("nan")
    if not (0.0 < slow < fast <= 600.0):
        raise InvalidInput(
            f"tempo_bpm must be two tempos from slow to fast, at most 600; got {given!r}"
        )


@dataclass(frozen=True, kw_only=True)
class ChoreographySettings(Settings):
    """How to learn a choreography from takes; see `motionloom.Library.choreography`."""

    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "kp03": {"even": False, "min_confidence": 0.0, "align": "beats", "max_seam": None}
    }

    meter: int | None = setting(None, "Beats per movement. [estimated]", least=1)
    tempo_bpm: tuple[float, float] = setting(_TEMPOS, _TEMPO, command=False)
    bpm: float | None = setting(None, _BPM, unit="beats per minute", above=0.0, greatest=600.0)
    first_beat: float | None = setting(None, _FIRST_BEAT, unit="s", least=0.0)
    steady: bool = setting(False, _STEADY)
    level: float = setting(1.0, _LEVEL, above=0.0, greatest=8.0)
    align: Literal["landings", "beats"] = setting(
        "landings",
        "What of a take meets the beats of the music: its foot landings, as far as they are near "
        "beats (landings), or its motion beats, as in the paper (beats).",
    )
    even: bool = setting(
        True,
        "Drop movements whose beats are a quarter off their period, or whose feet do not land on "
        "beats.",
    )
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
    min_likelihood: float | None = setting(
        None,
        "Drop transitions that are less likely. [0.05, by chance in large graphs]",
        least=0.0,
        old_options=("--threshold",),
    )
    max_seam: float | None = setting(
        MAX_SEAM,
        "Drop transitions with more than this multiple of the accelerations of the takes, onto "
        "another foot, or with a jump of the body.",
        above=0.0,
    )
    min_confidence: float = setting(RHYTHMIC, "Skip takes whose beats are less certain.")
    kind: str = setting("", "Name of the dance, for example waltz.")
    seed: int = setting(0, "Random seed for clustering.", least=0)
    label: Names = setting(None, LABEL)
    only: Names = setting(None, ONLY)
    exclude: Names = setting(None, EXCLUDE)
    preset: Literal["kp03"] | None = setting(None, PRESET)

    def check(self) -> None:
        """Check that the tempo range is a range."""
        _check_tempos(self.tempo_bpm)

    @property
    def beats(self) -> BeatSettings:
        """How the beats of the takes are found."""
        return BeatSettings(
            tempo_bpm=self.tempo_bpm, bpm=self.bpm, first_beat=self.first_beat,
            steady=self.steady, level=self.level, preset=self.preset,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class DanceSettings(Settings):
    """How to dance to music; see `motionloom.dance.Choreography.dance`."""

    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "kp03": {"blend": "cardinal", "bend": False, "corrections": 0, "align": "beats"}
    }

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
    blend: Literal["least_squares", "cardinal"] = setting(
        "least_squares",
        "Blend weights of a dance that follows a path: non-negative least squares, or cardinal "
        "basis functions, as in the paper.",
    )
    bend: bool = setting(True, "Turn and shift movements towards the path, beyond blending.")
    corrections: int = setting(
        6, "How often landings or beats found in the dance correct its clock, at most.", least=0
    )
    align: Literal["landings", "beats"] = setting(
        "landings",
        "What corrects the clock: foot landings in the dance (landings; motion beats if there are "
        "few), or motion beats (beats).",
    )
    preset: Literal["kp03"] | None = setting(None, PRESET)
