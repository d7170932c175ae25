"""Methods that find segments of motions, and their shared options.

This module imports nothing slow, because the command line builds its options from these classes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from motionloom.errors import InvalidInput
from motionloom.search.methods.method import Method, register_method
from motionloom.settings import Setting, Settings, preset, setting

if TYPE_CHECKING:
    from motionloom.search.candidates import Candidate
    from motionloom.search.match import Timeline
    from motionloom.search.query import Query
    from motionloom.search.settings import SearchSettings
    from motionloom.store.store import Store

ANY_DURATION = (0.0, float("inf"))
MAX_OVERLAP = 0.3  # adjacent repetitions of an action may share this part of the shorter one
# Matches of the web are half to twice as long as the query, even in later rounds of query
# expansion. Otherwise, members could become shorter every round until everything is similar.
WEB_DURATIONS = (0.5, 2.0)
# Neighbors as in Krüger et al.; with bridges, finds four fifths of the DTW matches in a fifth of
# the time.
LAZY_K = 256
NEAR_FRAMES = 200_000  # frames; in larger libraries, the match web has near cells only
NEAR_MATCHES = 0.1  # meters; maximum distance of the matches in a web of near cells


@dataclass(frozen=True, kw_only=True)
class FeatureChoice(Settings):
    """Choice of the feature vectors to compare."""

    features: str | Any = setting(
        "e15", "Feature set that frames are compared by; dtw also takes any frame distance."
    )


@dataclass(frozen=True, kw_only=True)
class PoseOptions(Settings):
    """Normalization of poses before feature vectors are computed."""

    normalize: Literal["heading", "full", "paper"] | None = setting(
        None,
        "Remove heading and place of every pose, or position and whole rotation of the pelvis "
        "(full and paper). [heading]",
    )
    scale_free: bool | None = setting(None, "Scale performers of all sizes to one.")


@dataclass(frozen=True, kw_only=True)
class FeatureOptions(PoseOptions, FeatureChoice):
    """Options of methods that compare feature vectors."""


@dataclass(frozen=True, kw_only=True)
class NeighborOptions(Settings):
    """Options of methods that search nearest neighbors."""

    k: int | None = setting(
        None,
        "Maximum number of neighbors per query frame. [lazy 256, neighbors 16]",
        least=1,
    )
    radius: float | None = setting(
        None, "Only neighbors within this distance.", unit="m", least=0.0
    )
    index: Literal["bucket", "kdtree", "shards"] = setting(
        "bucket", "Nearest-neighbor index; all give the same answers."
    )
    epsilon: float = setting(
        0.0, "Relative error allowed for the k-th distance; 0 is exact.", least=0.0
    )


@dataclass(frozen=True, kw_only=True)
class SegmentOptions(Settings):
    """Options of methods that find segments, as opposed to whole clips."""

    max_overlap: float = setting(
        MAX_OVERLAP,
        "Fraction of the shorter of two matches that may overlap; with 1, matches may end at every "
        "frame.",
        least=0.0,
        greatest=1.0,
    )
    durations: tuple[float, float] = setting(
        ANY_DURATION,
        "Minimum and maximum length of a match, as multiples of the query length.",
    )

    def check(self) -> None:
        """Check the range of durations."""
        low, high = self.durations
        if not 0.0 <= low <= high:
            raise InvalidInput(
                f"durations must be the minimum and the maximum ratio; got {self.durations}"
            )


@dataclass(frozen=True, kw_only=True)
class WebOptions(Settings):
    """Options of a match web (Kovar & Gleicher 2004, sections 3.1 and 3.2)."""

    distance: str | Any = setting("pc11", "Frame distance of the match web.")
    alpha: float = setting(
        0.15,
        "Match web: the valid region ends where the squared distance exceeds that of a minimum by "
        "this fraction.",
        least=0.0,
    )
    max_slope: int = setting(
        3,
        "Match web: maximum number of frames of one motion that correspond to one frame of the "
        "other.",
        least=1,
    )
    chain_seconds: float = setting(
        0.25, "Match web: shorter chains of minima are dropped.", unit="s", least=0.0
    )
    bridge_seconds: float = setting(
        2.0,
        "Match web: maximum span of a bridge between chains, as the sum of both motions.",
        unit="s",
        least=0.0,
    )
    squares: bool = setting(
        False,
        "Match web: average squared distances, as in the paper; a match has the root of the mean.",
    )
    rules: Literal["default", "paper"] = setting(
        "default", "Match web: use the rules of motionloom or of the paper for chains."
    )
    cells: Literal["auto", "all", "near"] = setting(
        "auto",
        "Match web: compare all frames, or only where poses are near neighbors, which finds "
        f"matches up to {NEAR_MATCHES} m (auto: near from {NEAR_FRAMES:,} frames on, unless a web "
        "already exists).",
    )

    @preset
    def kg04(cls: Any) -> WebOptions:
        """Settings of Kovar & Gleicher (2004), sections 3.1 and 3.2."""
        return cls(squares=True, rules="paper")


Steps = Literal["slope", "classic"]
_STEPS = Setting("Alignment steps: slope (half to twice the speed of the query) or classic.")


@register_method
@dataclass(frozen=True, kw_only=True)
class Dtw(SegmentOptions, FeatureOptions, Method):
    """Exact subsequence DTW over the whole library."""

    NAME: ClassVar = "dtw"

    steps: Steps = setting("slope", _STEPS)
    weights: Literal["moving", "equal"] | None = setting(
        None,
        "Weight joints equally, or by how far they move in the query. [equal; moving in families]",
    )
    rank: Literal["movement", "distance"] | None = setting(
        None,
        "Rank by the distance of movements or by the mean distance of poses; lazy also "
        "by the sum of distances. [movement; in families distance]",
    )
    speed_seconds: float = setting(
        0.15,
        "Weight of joint speeds when refining the start and end of a match; 0 to ignore them.",
        unit="s",
        least=0.0,
    )

    def candidates(
        self, library: Store, query: Query, settings: SearchSettings
    ) -> tuple[list[Candidate], Timeline]:
        """Search by subsequence DTW."""
        from motionloom.search.subsequence.dtw import dtw_search

        return dtw_search(library, query, settings)

    def unit(self) -> str:
        """Unit of the frame distance."""
        return _unit_of(self.features)

    def for_families(self) -> Dtw:
        """Return settings that rank by the poses of moving joints, since families are blended."""
        return replace(self, rank=self.rank or "distance", weights=self.weights or "moving")


@register_method
@dataclass(frozen=True, kw_only=True)
class LazyGraph(SegmentOptions, NeighborOptions, FeatureOptions, Method):
    """Lazy neighborhood graph (Krüger et al. 2010): aligns nearest neighbors only."""

    NAME: ClassVar = "lazy"

    steps: Steps = setting("slope", _STEPS)
    bridge: int | None = setting(
        None,
        "Maximum number of query frames without a neighbor that a path may skip; 0 as in the "
        "paper. "
        "[any number]",
        least=0,
    )
    rank: Literal["distance", "sum"] = setting(
        "distance",
        "Rank by the mean distance per cell of the alignment, or by the sum over the cells, as in "
        "the paper.",
    )

    def candidates(
        self, library: Store, query: Query, settings: SearchSettings
    ) -> tuple[list[Candidate], Timeline]:
        """Search for paths in the lazy neighborhood graph."""
        from motionloom.search.subsequence.lazy_graph import lazy_search

        return lazy_search(library, query, settings)

    def unit(self) -> str:
        """Unit of the features."""
        return _unit_of(self.features)

    @preset
    def kt10(cls: Any) -> LazyGraph:
        """Settings of Krüger et al. (2010); k and radius are not from the paper."""
        return cls(features="e15", normalize="paper", steps="classic", bridge=0, rank="sum")


@register_method
@dataclass(frozen=True, kw_only=True)
class MatchWeb(SegmentOptions, WebOptions, Method):
    """Match web (Kovar & Gleicher 2004): the fastest method, built in advance.

    The web options must be those that the web was built with.
    """

    NAME: ClassVar = "web"

    durations: tuple[float, float] = setting(
        WEB_DURATIONS,
        "Minimum and maximum length of a match, as multiples of the query length.",
    )

    def candidates(
        self, library: Store, query: Query, settings: SearchSettings
    ) -> tuple[list[Candidate], Timeline]:
        """Search the webs of the query's motion."""
        from motionloom.search.match_web.search import web_search

        return web_search(library, query, settings)

    def unit(self) -> str:
        """Unit of the frame distance."""
        return _unit_of(self.distance)

    @preset
    def kg04(cls: Any) -> MatchWeb:
        """Settings of Kovar and Gleicher (2004)."""
        return cls(squares=True, rules="paper", max_overlap=0.8, durations=ANY_DURATION)


def _unit_of(distance: Any) -> str:
    from motionloom.features import frame_distance

    return frame_distance(distance).unit
