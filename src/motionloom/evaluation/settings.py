"""Settings of the verbs that evaluate; imports nothing heavy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from motionloom.errors import InvalidInput
from motionloom.search import settings
from motionloom.settings import PRESET, Settings, described, setting

DEFAULT_METHODS = ("statistics", "dtw-clip", "emd", "dtw", "scaling", "dtw-e15")
CLIP_METHODS = tuple(
    name for name, kind in settings.METHODS.items() if issubclass(kind, settings.ClipMethod)
)
SHORTEST_SECONDS = 0.3  # of a clip


@dataclass(frozen=True, kw_only=True)
class EvaluateSettings(Settings):
    """Settings of an evaluation of clip measures; see `motionloom.Library.evaluate`."""

    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "tz07": {  # section 4; weights of joints are not given
            "methods": ("emd", "dtw", "scaling"),
            "curve_threshold": 10.0,
            "line_distance": "perpendicular",
            "time_weight": 1.0,
            "clip_frames": 128,
            "band": 0.1,
            "scale_factor": 1.2,
            "stretch_only": True,
        }
    }

    labels: str | Any = setting(
        None,
        "CSV file with columns clip and label. [the library's labels]",
        metavar="FILE",
    )
    methods: tuple[Any, ...] | None = setting(
        None,
        "Clip measures: statistics, dtw-clip, emd, dtw (or dtw-angles), scaling, dtw-e15, "
        "dtw-pc11, dtw-jrd. "
        f"[{', '.join(DEFAULT_METHODS)}]",
        metavar="NAME,...",
        commas=True,
    )
    label_column: str | None = setting(None, "Column of the CSV file that holds the label. [label]")
    covariance_weight: float | None = setting(None, settings.COVARIANCE_WEIGHT)
    spectrum_weight: float | None = setting(None, settings.SPECTRUM_WEIGHT)
    trend_weight: float | None = setting(None, settings.TREND_WEIGHT)
    length_weight: float | None = setting(None, settings.LENGTH_WEIGHT)
    turn_weight: float | None = setting(None, settings.TURN_WEIGHT)
    joint_spread: bool | None = setting(None, settings.JOINT_SPREAD)
    curve_threshold: float | None = setting(None, settings.CURVE_THRESHOLD)
    line_distance: Literal["time", "perpendicular"] | None = setting(None, settings.LINE_DISTANCE)
    time_weight: float | None = setting(None, settings.TIME_WEIGHT)
    clip_frames: int | None = setting(None, settings.CLIP_FRAMES)
    joint_weights: str | Any = setting(None, settings.JOINT_WEIGHTS)
    whole_turns: bool | None = setting(None, settings.WHOLE_TURNS)
    band: float | None = setting(None, settings.CURVE_BAND)
    scale_factor: float | None = setting(None, settings.SCALE_FACTOR)
    stretch_only: bool | None = setting(None, settings.STRETCH_ONLY)
    preset: Literal["tz07"] | None = setting(None, PRESET)

    def clip_methods(self) -> dict[str, settings.ClipMethod]:
        """Methods by the name shown, with the options that are given.

        Raises
        ------
        InvalidInput
            If there is no such method, or none of them has an option that is given.
        """
        chosen = DEFAULT_METHODS if self.methods is None else self.methods
        if not chosen:
            raise InvalidInput(f"methods must name at least one of {', '.join(_known())}")
        given = {
            name: value
            for name, value in self.arguments().items()
            if name not in ("labels", "methods", "label_column", "preset") and value is not None
        }
        out: dict[str, settings.ClipMethod] = {}
        used: set[str] = set()
        for one in chosen:
            if isinstance(one, settings.ClipMethod):
                out[_shown(one)] = one
                continue
            if one not in _known():
                raise InvalidInput(
                    f"no measure of clips is called {one!r}; there are {', '.join(_known())}"
                )
            kind = settings.METHODS[PAPER_NAMES.get(one, one)]
            own = {name: value for name, value in given.items() if name in described(kind)}
            used |= set(own)
            out[one] = kind(**own)  # type: ignore[assignment]
        for name in given:
            if name not in used and self.preset is None:
                raise InvalidInput(f"{name} is an option of none of {', '.join(out)}")
        return out


@dataclass(frozen=True, kw_only=True)
class ProtocolSettings(Settings):
    """Settings of an evaluation over several sets; see `motionloom.evaluation.protocol`."""

    sets: tuple[str, ...] | None = setting(
        None,
        "Labelled sets: judge every method on each with settings chosen on the others. Clips: "
        "corpus, cmu-groups, cmu-kinds, exercises, bandai, bandai-styles; queries: corpus-takes, "
        "cmu-queries, cmu-marks, bandai-sessions; or all.",
        metavar="NAME,...",
        commas=True,
    )
    data: str | Any = setting(
        None, "Folder of the data of sets, with its archives or unpacked.", metavar="FOLDER"
    )
    keep: str | Any = setting(
        "evaluation-sets", "Folder where libraries of the sets are kept.", metavar="FOLDER"
    )


PAPER_NAMES = {"dtw": "dtw-angles"}
"""Names in the literature of measures that have another name here (``dtw`` is a search)."""


def _known() -> tuple[str, ...]:
    clips = [n for n, kind in settings.METHODS.items() if issubclass(kind, settings.ClipMethod)]
    return (*clips, *PAPER_NAMES)


def _shown(method: settings.ClipMethod) -> str:
    """Name of a method and its options that are not the defaults.

    Examples
    --------
    >>> _shown(settings.Emd(time_weight=0.0))
    'emd:time_weight=0.0'
    """
    usual = type(method)().arguments()
    changed = {n: v for n, v in method.arguments().items() if v != usual[n]}
    return ":".join([method.NAME, *(f"{name}={value}" for name, value in changed.items())])


@dataclass(frozen=True, kw_only=True)
class StudySettings(Settings):
    """Settings of a study of rank correlations; see `motionloom.Library.study`."""

    measures: tuple[Any, ...] | None = setting(
        None, "Feature sets and frame distances. [all]", metavar="NAME,...", commas=True
    )
    clips: int = setting(76, "Number of clips, drawn at random.", least=1)
    seconds: float = setting(3.0, "Approximate length of a clip.", unit="s", least=SHORTEST_SECONDS)
    queries: int = setting(1024, "Number of frames whose neighbours are ranked.", least=1)
    neighbours: int = setting(256, "Number of nearest frames that are ranked.", least=3)
    ranked: int = setting(8, "Number of nearest clips that are ranked.", least=3)
    seed: int = setting(0, "Random seed of the draws.", least=0)


@dataclass(frozen=True, kw_only=True)
class CaptionScoreSettings(Settings):
    """Settings of a comparison of captions with the labels of sets."""

    sets: tuple[str, ...] | None = setting(
        None,
        "Labelled sets: exercises, cmu-groups, cmu-kinds, bandai. [all]",
        metavar="NAME,...",
        commas=True,
    )
    data: str | Any = setting(
        None, "Folder of the data of sets, with its archives or unpacked.", metavar="FOLDER"
    )
    keep: str | Any = setting(
        "evaluation-sets", "Folder where libraries of the sets are kept.", metavar="FOLDER"
    )
    workers: int | None = setting(None, "Processes to use. [one per core]", least=1)


@dataclass(frozen=True, kw_only=True)
class SentenceSettings(Settings):
    """Settings of an evaluation of finding by sentences; see `Library.evaluate_sentences`."""

    same: Any = setting(
        None,
        "CSV file with columns file and duplicate_of: takes that repeat another count once.",
        metavar="FILE",
    )
    performer: str = setting(
        r"^([^_/]+)_", "Regular expression on the name of a take, with a group for its performer."
    )
    folds: int = setting(2, "Parts into which the performers are divided.", least=2)
    seed: int = setting(0, "Seed of the division.", least=0)
    workers: int | None = setting(None, "Processes to use. [one per core]", least=1)
