"""Settings for text search and clustering."""

from __future__ import annotations

from dataclasses import dataclass

from motionloom.settings import MotionChoice, setting


@dataclass(frozen=True, kw_only=True)
class FindSettings(MotionChoice):
    """Settings for text search; see `motionloom.Library.find`."""

    max: int | None = setting(20, "Maximum number of results.", least=1)
    every: bool = setting(False, "Return all matching segments of a motion, not only the best one.")
    workers: int | None = setting(
        None, "Number of processes for captioning motions the first time. [one per core]", least=1
    )


FINENESS = 0.65  # fraction of the median distance between takes


@dataclass(frozen=True, kw_only=True)
class ClusterSettings(MotionChoice):
    """Settings for clustering; see `motionloom.Library.clusters`."""

    fineness: float = setting(
        FINENESS,
        "Maximum distance within a cluster, as a fraction of the median distance between takes. "
        "Smaller values give more clusters.",
        above=0.0,
    )
    names: bool = setting(
        True,
        "Name the clusters after captions, and find their rhythms, which takes most of the time "
        "of a first run.",
    )
    workers: int | None = setting(
        None, "Number of processes for captioning motions the first time. [one per core]", least=1
    )

    @property
    def steps(self) -> int:
        """Number of steps per motion that are reported as progress."""
        return 3 if self.names else 1
