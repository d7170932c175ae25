"""Settings of the verbs that use words."""

from __future__ import annotations

from dataclasses import dataclass

from motionloom.settings import MotionChoice, setting


@dataclass(frozen=True, kw_only=True)
class FindSettings(MotionChoice):
    """How motions are found by words; see `motionloom.Library.find`."""

    max: int | None = setting(20, "Greatest number of results.", least=1)
    every: bool = setting(
        False, "Every segment of a motion that answers the text, not its best alone."
    )
    workers: int | None = setting(
        None, "Processes that describe motions, the first time. [one per core]", least=1
    )


FINENESS = 0.7  # of the median distance of two takes


@dataclass(frozen=True, kw_only=True)
class ClusterSettings(MotionChoice):
    """How takes are put into clusters; see `motionloom.Library.clusters`."""

    fineness: float = setting(
        FINENESS,
        "Greatest distance within a cluster, as a share of the median distance of two takes: "
        "less makes more clusters.",
        above=0.0,
    )
    workers: int | None = setting(
        None, "Processes that describe motions, the first time. [one per core]", least=1
    )
