"""Settings of the verbs that evaluate; imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from motionloom.settings import Settings, setting

DEFAULT_METHODS = ("dtw-clip", "emd", "dtw", "scaling", "dtw-e15")
SHORTEST_SECONDS = 0.3  # of a clip


@dataclass(frozen=True, kw_only=True)
class EvaluateSettings(Settings):
    """Settings of an evaluation of clip measures; see `motionloom.Library.evaluate`."""

    labels: str | Any = setting(
        None,
        "CSV file with columns clip and label [the library's labels].",
        metavar="FILE",
    )
    methods: tuple[str, ...] | None = setting(
        None,
        "Clip measures: dtw-clip, emd, dtw (or dtw-angles), scaling, dtw-e15, dtw-pc11, dtw-jrd "
        f"[{','.join(DEFAULT_METHODS)}].",
        metavar="NAME,...",
        commas=True,
    )
    label_column: str | None = setting(None, "Column of the CSV file that holds the label [label].")


@dataclass(frozen=True, kw_only=True)
class StudySettings(Settings):
    """Settings of a study of rank correlations; see `motionloom.Library.study`."""

    measures: tuple[Any, ...] | None = setting(
        None, "Feature sets and frame distances [all].", metavar="NAME,...", commas=True
    )
    clips: int = setting(76, "Number of clips, drawn at random.", least=1)
    seconds: float = setting(3.0, "Approximate length of a clip.", unit="s", least=SHORTEST_SECONDS)
    queries: int = setting(1024, "Number of frames whose neighbours are ranked.", least=1)
    neighbours: int = setting(256, "Number of nearest frames that are ranked.", least=3)
    ranked: int = setting(8, "Number of nearest clips that are ranked.", least=3)
    seed: int = setting(0, "Random seed of the draws.", least=0)
