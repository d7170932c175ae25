"""Settings for evaluations. This module avoids slow imports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from motionloom.errors import InvalidInput
from motionloom.search.methods import AngleDtw, ClipMethod, Emd, UniformScaling, clip_methods
from motionloom.search.methods.own import FrameClips, OwnDistance, as_clip_method
from motionloom.settings import Settings, parsed_value, preset, setting

DEFAULT_METHODS = ("statistics", "dtw-clip", "emd", "dtw", "scaling", "dtw-e15")
PAPER_NAMES = {"dtw": "dtw-angles"}
"""Names from the literature for measures with other names here (``dtw`` is a search method)."""
SHORTEST_SECONDS = 0.3  # of a clip


@dataclass(frozen=True, kw_only=True)
class EvaluateSettings(Settings):
    """Settings for evaluating clip measures; see `motionloom.Library.evaluate`."""

    labels: str | Any = setting(
        None,
        "CSV file with the columns clip and label. [the library's labels]",
        metavar="FILE",
    )
    methods: tuple[Any, ...] | Mapping[str, Any] | None = setting(
        None,
        "Clip measures: statistics, dtw-clip, emd, dtw (or dtw-angles), scaling, dtw-e15, "
        "dtw-pc11, dtw-jrd; options are appended, as in emd:time_weight=0; also FILE.py:NAME, "
        "your function of two motions. "
        f"[{', '.join(DEFAULT_METHODS)}]",
        metavar="NAME,...",
        commas=True,
    )
    label_column: str | None = setting(
        None, "Column of the CSV file that contains the labels. [label]"
    )
    performer: str | None = setting(
        None,
        "Exclude clips of the query's performer from its results: a regular expression that "
        "matches the name of a clip; its group is the performer.",
        metavar="REGEX",
    )

    @preset
    def tz07(cls: Any) -> EvaluateSettings:
        """Settings of Tam et al. 2007, section 4; the paper does not state its joint weights."""
        return cls(
            methods={"emd": Emd.tz07(), "dtw": AngleDtw.tz07(), "scaling": UniformScaling.tz07()}
        )

    @classmethod
    def of(cls, options: Mapping[str, Any], *, start: Self | None = None) -> Self:
        """Create settings like `Settings.of`, but keep preset values for methods given by name.

        Examples
        --------
        >>> EvaluateSettings.tz07(methods=["emd:time_weight=0"]).clip_methods()
        {'emd:time_weight=0': Emd(...line_distance='perpendicular', ...time_weight=0.0...)}
        """
        chosen = options.get("methods")
        if start is not None and isinstance(start.methods, Mapping) and chosen is not None:
            named = chosen if isinstance(chosen, Mapping) else _by_name(chosen, start.methods)
            options = {**options, "methods": named}
        return super().of(options, start=start)

    def clip_methods(self) -> dict[str, ClipMethod]:
        """Return the methods by display name.

        Raises
        ------
        InvalidInput
            If a method does not exist, or if it does not have one of its options.
        """
        if isinstance(self.methods, Mapping):
            return dict(self.methods)
        chosen = DEFAULT_METHODS if self.methods is None else self.methods
        if not chosen:
            raise InvalidInput(f"methods must contain at least one of {', '.join(_names())}")
        return _by_name(chosen, {})


def _by_name(chosen: Iterable[Any], presets: Mapping[str, ClipMethod]) -> dict[str, ClipMethod]:
    """Return methods by display name; `chosen` contains objects or strings."""
    return {
        given if isinstance(given, str) and ".py:" not in given else _shown(each): (
            each if isinstance(each, ClipMethod) else _method(each, presets)
        )
        for given, each in ((given, _own(given)) for given in chosen)
    }


def _own(given: Any) -> Any:
    """Return the method for an object of the user, or the value unchanged."""
    built_in = isinstance(given, str) and given.partition(":")[0] in _names()
    return given if built_in else as_clip_method(given)


def _method(text: str, presets: Mapping[str, ClipMethod]) -> ClipMethod:
    """Parse ``NAME`` or ``NAME:OPTION=VALUE:...``; options override those of a method in `presets`.

    Examples
    --------
    >>> _method("emd:time_weight=0", {}).time_weight
    0.0
    """
    name, *options = str(text).split(":")
    if name.endswith(".py"):
        raise InvalidInput(f"name a function of {name}, as in {name}:NAME")
    if name not in _names():
        raise InvalidInput(
            f"there is no clip measure {name!r}; choose from {', '.join(_names())}, a registered "
            "frame distance, a function of two motions, or FILE.py:NAME"
        )
    kind = clip_methods()[PAPER_NAMES.get(name, name)]
    pairs = dict(option.partition("=")[::2] for option in options)
    return kind.of(
        {option: parsed_value(kind, option, value) for option, value in pairs.items()},
        start=presets.get(name),
    )


def _names() -> tuple[str, ...]:
    return (*clip_methods(), *PAPER_NAMES)


def _shown(method: ClipMethod) -> str:
    """Return the name of a method with the options that differ from the defaults.

    Examples
    --------
    >>> _shown(Emd(time_weight=0.0))
    'emd:time_weight=0.0'
    """
    if isinstance(method, OwnDistance | FrameClips):
        return method.title
    return ":".join([method.NAME, *(f"{name}={value}" for name, value in method.changed().items())])


@dataclass(frozen=True, kw_only=True)
class ProtocolSettings(Settings):
    """Settings for an evaluation over several sets; see `motionloom.evaluation.protocol`."""

    sets: tuple[str, ...] | None = setting(
        None,
        "Labeled sets on which every method is evaluated, with settings tuned on the other sets. "
        "Clips: "
        "corpus, cmu-groups, cmu-kinds, cmu-directions, exercises, bandai, bandai-styles, kaykit, "
        "sword-shield; queries: corpus-takes, cmu-queries, cmu-marks, bandai-sessions; or all.",
        metavar="NAME,...",
        commas=True,
    )
    data: str | Any = setting(
        None, "Folder with the data of the sets, as archives or unpacked.", metavar="FOLDER"
    )
    keep: str | Any = setting(
        "evaluation-sets", "Folder for the libraries of the sets.", metavar="FOLDER"
    )
    outside: tuple[str, ...] | None = setting(
        None,
        "Also score other methods: MODULE:FUNCTION or FILE.py:FUNCTION in Python, or a command "
        "that reads a manifest and writes a ranking.",
        metavar="METHOD,...",
        commas=True,
    )


@dataclass(frozen=True, kw_only=True)
class StudySettings(Settings):
    """Settings for a study of rank correlations; see `motionloom.Library.study`."""

    measures: tuple[Any, ...] | None = setting(
        None, "Feature sets and frame distances to compare. [all]", metavar="NAME,...", commas=True
    )
    clips: int = setting(76, "Number of clips, drawn at random.", least=1)
    seconds: float = setting(3.0, "Approximate length of a clip.", unit="s", least=SHORTEST_SECONDS)
    queries: int = setting(1024, "Number of frames whose neighbors are ranked.", least=1)
    neighbors: int = setting(
        256, "Number of nearest frames that are ranked for each query frame.", least=3
    )
    ranked: int = setting(8, "Number of nearest clips that are ranked for each clip.", least=3)
    seed: int = setting(0, "Random seed for drawing clips and frames.", least=0)


@dataclass(frozen=True, kw_only=True)
class CaptionScoreSettings(Settings):
    """Settings for comparing captions with the labels of labeled sets."""

    sets: tuple[str, ...] | None = setting(
        None,
        "Labeled sets to compare with: exercises, cmu-groups, cmu-kinds, bandai. [all]",
        metavar="NAME,...",
        commas=True,
    )
    data: str | Any = setting(
        None, "Folder with the data of the sets, as archives or unpacked.", metavar="FOLDER"
    )
    keep: str | Any = setting(
        "evaluation-sets", "Folder for the libraries of the sets.", metavar="FOLDER"
    )
    workers: int | None = setting(None, "Number of processes. [one per core]", least=1)


@dataclass(frozen=True, kw_only=True)
class SentenceSettings(Settings):
    """Settings for evaluating text search; see `motionloom.library.evaluate_sentences`."""

    same: Any = setting(
        None,
        "CSV file with the columns file and duplicate_of. Duplicate takes count once.",
        metavar="FILE",
    )
    performer: str = setting(
        r"^([^_/]+)_",
        "Regular expression that matches the name of a take; its group is the performer.",
    )
    folds: int = setting(2, "Number of folds into which performers are divided.", least=2)
    seed: int = setting(0, "Random seed for dividing performers into folds.", least=0)
    workers: int | None = setting(None, "Number of processes. [one per core]", least=1)
