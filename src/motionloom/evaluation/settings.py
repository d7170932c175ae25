"""Settings of the verbs that evaluate; imports nothing heavy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from motionloom.errors import InvalidInput
from motionloom.search.methods import AngleDtw, ClipMethod, Emd, UniformScaling, clip_methods
from motionloom.settings import Settings, parsed_value, preset, setting

DEFAULT_METHODS = ("statistics", "dtw-clip", "emd", "dtw", "scaling", "dtw-e15")
PAPER_NAMES = {"dtw": "dtw-angles"}
"""Names in the literature of measures that have another name here (``dtw`` is a search)."""
SHORTEST_SECONDS = 0.3  # of a clip


@dataclass(frozen=True, kw_only=True)
class EvaluateSettings(Settings):
    """Settings of an evaluation of clip measures; see `motionloom.Library.evaluate`."""

    labels: str | Any = setting(
        None,
        "CSV file with columns clip and label. [the library's labels]",
        metavar="FILE",
    )
    methods: tuple[Any, ...] | Mapping[str, Any] | None = setting(
        None,
        "Clip measures: statistics, dtw-clip, emd, dtw (or dtw-angles), scaling, dtw-e15, "
        "dtw-pc11, dtw-jrd; with options as in emd:time_weight=0. "
        f"[{', '.join(DEFAULT_METHODS)}]",
        metavar="NAME,...",
        commas=True,
    )
    label_column: str | None = setting(None, "Column of the CSV file that holds the label. [label]")

    @preset
    def tz07(cls: Any) -> EvaluateSettings:
        """Tam et al. 2007, section 4; the paper does not give its weights of joints."""
        return cls(methods={"emd": Emd.tz07(), "dtw": AngleDtw(), "scaling": UniformScaling.tz07()})

    @classmethod
    def of(cls, options: Mapping[str, Any], *, start: Self | None = None) -> Self:
        """As for all settings; methods of a preset by their names keep its values.

        Examples
        --------
        >>> EvaluateSettings.tz07(methods=["emd:time_weight=0"]).clip_methods()
        {'emd:time_weight=0': Emd(...line_distance='perpendicular', time_weight=0.0...)}
        """
        chosen = options.get("methods")
        if start is not None and isinstance(start.methods, Mapping) and chosen is not None:
            named = chosen if isinstance(chosen, Mapping) else _by_name(chosen, start.methods)
            options = {**options, "methods": named}
        return super().of(options, start=start)

    def clip_methods(self) -> dict[str, ClipMethod]:
        """Methods by the name shown.

        Raises
        ------
        InvalidInput
            If there is no such method, or it does not have an option that is given.
        """
        if isinstance(self.methods, Mapping):
            return dict(self.methods)
        chosen = DEFAULT_METHODS if self.methods is None else self.methods
        if not chosen:
            raise InvalidInput(f"methods must name at least one of {', '.join(_names())}")
        return _by_name(chosen, {})


def _by_name(chosen: Iterable[Any], known: Mapping[str, ClipMethod]) -> dict[str, ClipMethod]:
    """Methods, given as objects or as text, by the name shown."""
    return {
        each if isinstance(each, str) else _shown(each): (
            each if isinstance(each, ClipMethod) else _method(each, known)
        )
        for each in chosen
    }


def _method(text: str, known: Mapping[str, ClipMethod]) -> ClipMethod:
    """The method of ``NAME`` or ``NAME:OPTION=VALUE:...``; of `known` ones, with other options.

    Examples
    --------
    >>> _method("emd:time_weight=0", {}).time_weight
    0.0
    """
    name, *options = str(text).split(":")
    if name not in _names():
        raise InvalidInput(
            f"no measure of clips is called {name!r}; there are {', '.join(_names())}"
        )
    kind = clip_methods()[PAPER_NAMES.get(name, name)]
    pairs = dict(option.partition("=")[::2] for option in options)
    return kind.of(
        {option: parsed_value(kind, option, value) for option, value in pairs.items()},
        start=known.get(name),
    )


def _names() -> tuple[str, ...]:
    return (*clip_methods(), *PAPER_NAMES)


def _shown(method: ClipMethod) -> str:
    """Name of a method and its options that are not the defaults.

    Examples
    --------
    >>> _shown(Emd(time_weight=0.0))
    'emd:time_weight=0.0'
    """
    return ":".join([method.NAME, *(f"{name}={value}" for name, value in method.changed().items())])


@dataclass(frozen=True, kw_only=True)
class ProtocolSettings(Settings):
    """Settings of an evaluation over several sets; see `motionloom.evaluation.protocol`."""

    sets: tuple[str, ...] | None = setting(
        None,
        "Labeled sets: judge every method on each with settings chosen on the others. Clips: "
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


@dataclass(frozen=True, kw_only=True)
class StudySettings(Settings):
    """Settings of a study of rank correlations; see `motionloom.Library.study`."""

    measures: tuple[Any, ...] | None = setting(
        None, "Feature sets and frame distances. [all]", metavar="NAME,...", commas=True
    )
    clips: int = setting(76, "Number of clips, drawn at random.", least=1)
    seconds: float = setting(3.0, "Approximate length of a clip.", unit="s", least=SHORTEST_SECONDS)
    queries: int = setting(1024, "Number of frames whose neighbors are ranked.", least=1)
    neighbors: int = setting(256, "Number of nearest frames that are ranked.", least=3)
    ranked: int = setting(8, "Number of nearest clips that are ranked.", least=3)
    seed: int = setting(0, "Random seed of the draws.", least=0)


@dataclass(frozen=True, kw_only=True)
class CaptionScoreSettings(Settings):
    """Settings of a comparison of captions with the labels of sets."""

    sets: tuple[str, ...] | None = setting(
        None,
        "Labeled sets: exercises, cmu-groups, cmu-kinds, bandai. [all]",
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
    """Settings of `motionloom.library.evaluate_sentences`: how finding by sentences is scored."""

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
