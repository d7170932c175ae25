"""Methods that find segments of motions, and their shared options.

This module must be fast to import, because the command line builds its options from these classes.
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
MAX_OVERLAP = 0.3  # fraction of the shorter match; adjacent repetitions of an action overlap
# Matches of the web are half to twice as long as the query, even in later rounds of query
# expansion. Otherwise, members could become shorter every round until everything is similar.
WEB_DURATIONS = (0.5, 2.0)
# As in Krüger et al. With bridges, this many neighbors find four fifths of the DTW matches in a
# fifth of the time.
LAZY_K = 256
SPEED_SECONDS = 0.15  # weight of joint speeds in the second pass of a search
NEAR_FRAMES = 200_000  # from this size, a library's match web has only near cells
NEAR_MATCHES = 0.1  # meters; maximum distance of the matches in a web of near cells


@dataclass(frozen=True, kw_only=True)
class FeatureChoice(Settings):
    """Choice of the feature vectors to compare."""

    features: str | Any = setting(
        "e15", "Feature set used to compare frames; dtw also accepts any frame distance."
    )


@dataclass(frozen=True, kw_only=True)
class PoseOptions(Settings):
    """Normalization of poses before feature vectors are computed."""

    normalize: Literal["heading", "full"] | None = setting(
        None,
        "Remove the heading and floor position of every pose (heading), or the position and full "
        "rotation of the pelvis (full). [heading]",
    )
    scale_free: bool | None = setting(None, "Scale all performers to the same body size.")


@dataclass(frozen=True, kw_only=True)
class FeatureOptions(PoseOptions, FeatureChoice):
    """Options of methods that compare feature vectors."""


@dataclass(frozen=True, kw_only=True)
class NeighborOptions(Settings):
    """Options of methods that search for nearest neighbors."""

    k: int | None = setting(
        None,
        "Maximum number of neighbors per query frame. [lazy 256, neighbors 16]",
        least=1,
    )
    radius: float | None = setting(None, "Maximum distance of a neighbor.", unit="m", least=0.0)
    index: Literal["bucket", "kdtree", "shards"] = setting(
        "bucket", "Nearest-neighbor index. All indexes give the same results."
    )
    epsilon: float = setting(
        0.0, "Maximum relative error of the k-th distance. With 0, the search is exact.", least=0.0
    )


@dataclass(frozen=True, kw_only=True)
class SegmentOptions(Settings):
    """Options of methods that find segments, as opposed to whole clips."""

    max_overlap: float = setting(
        MAX_OVERLAP,
        "Maximum overlap of two matches, as a fraction of the shorter one. With 1, matches may end "
        "at every frame.",
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
                "durations must be a minimum and a maximum ratio, with 0 <= minimum <= maximum; "
                f"got {self.durations}"
            )


WebRules = Literal[
    "default", "paper", "separate-chains", "second-pass", "extended-chains", "border-minima"
]


@dataclass(frozen=True, kw_only=True)
class WebOptions(Settings):
    """Options of a match web (Kovar & Gleicher 2004, sections 3.1 and 3.2)."""

    distance: str | Any = setting("pc11", "Frame distance of the match web.")
    alpha: float = setting(
        0.15,
        "Match web: size of the valid region, as the fraction by which squared distances may "
        "exceed those of the minima.",
        least=0.0,
    )
    max_slope: int = setting(
        3,
        "Match web: maximum number of frames of one motion that correspond to one frame of the "
        "other.",
        least=1,
    )
    chain_seconds: float = setting(
        0.25, "Match web: minimum length of a chain of minima.", unit="s", least=0.0
    )
    bridge_seconds: float = setting(
        2.0,
        "Match web: maximum length of a bridge between chains, summed over both motions.",
        unit="s",
        least=0.0,
    )
    squares: bool = setting(
        False,
        "Match web: average squared distances, as in the paper, and take the root for each match.",
    )
    rules: WebRules = setting(
        "default",
        "Match web: follow chains by the rules of motionloom (default), by those of the paper, or "
        "by those of the paper and one more: a chain ends where it meets another one "
        "(separate-chains), cells far from any chain are searched again (second-pass), refined "
        "chains continue along minima (extended-chains), or the first and last frames of a motion "
        "can be minima (border-minima).",
    )
    cells: Literal["auto", "all", "near"] = setting(
        "auto",
        "Match web: compare all pairs of frames (all), or only pairs with similar poses (near), "
        f"which finds matches up to {NEAR_MATCHES} m. With auto, a new web uses near if the "
        f"library has at least {NEAR_FRAMES:,} frames.",
    )

    @preset
    def kg04(cls: Any) -> WebOptions:
        """Settings of Kovar & Gleicher (2004), sections 3.1 and 3.2."""
        return cls(squares=True, rules="paper")


Steps = Literal["slope", "classic"]
_STEPS = Setting(
    "Alignment steps: slope (matches run at half to twice the query's speed) or classic DTW steps."
)


@register_method
@dataclass(frozen=True, kw_only=True)
class Dtw(SegmentOptions, FeatureOptions, Method):
    """Exact subsequence DTW over the whole library.

    With the default options, a film is compared as seen from one direction (`filmed`).
    """

    NAME: ClassVar = "dtw"

    steps: Steps = setting("slope", _STEPS)
    weights: Literal["moving", "equal"] | None = setting(
        None,
        "Weight joints equally (equal) or by how far they move in the query (moving). [equal; in "
        "families moving]",
    )
    rank: Literal["movement", "distance"] | None = setting(
        None,
        "Rank matches by how similar their movements are (movement) or by their mean pose distance "
        "(distance). [movement; in families distance]",
    )
    speed_seconds: float = setting(
        SPEED_SECONDS,
        "Weight of joint speeds when refining the start and end of a match. With 0, speeds are "
        "ignored.",
        unit="s",
        least=0.0,
    )

    def candidates(
        self, library: Store, query: Query, settings: SearchSettings
    ) -> tuple[list[Candidate], Timeline]:
        """Search by subsequence DTW, or for a film as seen from one direction."""
        from motionloom.search.subsequence.dtw import dtw_search
        from motionloom.search.subsequence.filmed import applies, film_search

        if applies(query, self):
            return film_search(library, query, settings)
        return dtw_search(library, query, settings)

    def unit(self) -> str:
        """Unit of the frame distance."""
        return _unit_of(self.features)

    def for_families(self) -> Dtw:
        """Return settings for families, which rank by the poses of moving joints."""
        return replace(self, rank=self.rank or "distance", weights=self.weights or "moving")


@register_method
@dataclass(frozen=True, kw_only=True)
class LazyGraph(SegmentOptions, NeighborOptions, FeatureOptions, Method):
    """Lazy neighborhood graph (Krüger et al. 2010), which aligns only nearest neighbors."""

    NAME: ClassVar = "lazy"

    steps: Steps = setting("slope", _STEPS)
    bridge: int | None = setting(
        None,
        "Maximum number of consecutive query frames without a neighbor that a path may skip; 0 as "
        "in the paper. [any number]",
        least=0,
    )
    rank: Literal["movement", "distance", "sum"] | None = setting(
        None,
        "Rank matches by how similar their movements are (movement), by their mean pose distance "
        "(distance), or by the sum of pose distances, as in the paper (sum). [movement; in "
        "families distance]",
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

    def for_families(self) -> LazyGraph:
        """Return settings for families, which rank by poses."""
        return replace(self, rank=self.rank or "distance")

    @preset
    def kt10(cls: Any) -> LazyGraph:
        """Settings of Krüger et al. (2010); k and radius are not from the paper."""
        return cls(features="e15", normalize="heading", steps="classic", bridge=0, rank="sum")


@register_method
@dataclass(frozen=True, kw_only=True)
class MatchWeb(SegmentOptions, WebOptions, Method):
    """Match web (Kovar & Gleicher 2004), the fastest method, which needs a web built in advance.

    The options must be the same as when the web was built.
    """

    NAME: ClassVar = "web"

    durations: tuple[float, float] = setting(
        WEB_DURATIONS,
        "Minimum and maximum length of a match, as multiples of the query length.",
    )
    rank: Literal["movement", "distance"] | None = setting(
        None,
        "Rank matches by how similar their movements are (movement) or by their mean frame "
        "distance (distance). [movement; in families distance]",
    )

    def candidates(
        self, library: Store, query: Query, settings: SearchSettings
    ) -> tuple[list[Candidate], Timeline]:
        """Search the webs of the query's motion."""
        from motionloom.search.match_web.search import web_search

        return web_search(library, query, settings)

    def unit(self) -> str:
        """Meters, or the unit of the frame distance if matches are ranked by it."""
        return _unit_of(self.distance) if self.rank == "distance" else "m"

    def for_families(self) -> MatchWeb:
        """Return settings for families, which rank by the distance of the web."""
        return replace(self, rank=self.rank or "distance")

    @preset
    def kg04(cls: Any) -> MatchWeb:
        """Settings of Kovar and Gleicher (2004)."""
        return cls(
            squares=True, rules="paper", max_overlap=0.8, durations=ANY_DURATION, rank="distance"
        )


def _unit_of(distance: Any) -> str:
    from motionloom.features import frame_distance

    return frame_distance(distance).unit
