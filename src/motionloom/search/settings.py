"""Settings for the search functions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from motionloom.errors import InvalidInput
from motionloom.search.methods import (
    METHODS,
    Dtw,
    Emd,
    FeatureChoice,
    LazyGraph,
    MatchWeb,
    Method,
    NeighborOptions,
    PoseOptions,
    WebOptions,
)
from motionloom.search.methods.own import as_method
from motionloom.search.methods.segments import ANY_DURATION
from motionloom.settings import MotionChoice, Names, Settings, preset, setting

MEMBER_LENGTHS = (0.5, 2.0)
FAMILY_DISTANCE = 0.08  # meters; join distance used if there is no plateau
LARGEST_JOIN = 0.25  # meters; maximum join distance that is chosen automatically
SAME, APART = 0.8, 0.2  # Kovar & Gleicher 2004, section 3.3


@dataclass(frozen=True, kw_only=True)
class Expansion(Settings):
    """Query expansion: the matches of a query become queries in turn."""

    tiers: int | str = setting(
        "all",
        "Number of search rounds. With 1, there is no query expansion; with all, rounds continue "
        "until there are no new matches.",
        metavar="1|N|all",
    )
    join_distance: float | None = setting(
        None,
        "Query expansion: maximum distance between two joined members (mean pose distance per cell "
        "of their alignment), in meters, or in degrees for some clip methods. [automatic: within "
        "the widest range over which the family does not change]",
        least=0.0,
    )
    same: float = setting(
        SAME,
        "Query expansion: overlap above which a match counts as an existing member, as a fraction "
        "of the longer one.",
        least=0.0,
        greatest=1.0,
        expert=True,
    )
    apart: float = setting(
        APART,
        "Query expansion: overlap below which a match becomes a new member, as a fraction of the "
        "shorter one. Cyclic motions need more than 0.2.",
        least=0.0,
        greatest=1.0,
        expert=True,
    )
    average_ranges: bool = setting(
        False,
        "Query expansion: when a match counts as an existing member, average the start and end of "
        "both. By default, members keep their start and end.",
        expert=True,
    )
    member_lengths: tuple[float, float] = setting(
        MEMBER_LENGTHS,
        "Query expansion: minimum and maximum length of a member, as multiples of the query "
        "length.",
        expert=True,
    )
    clear: bool = setting(
        True,
        "Query expansion with dtw or lazy: join only members whose time alignment lies in the "
        "valid region of their distances, as in a match web.",
        expert=True,
    )

    def check(self) -> None:
        """Check the number of rounds, the member lengths and the overlaps."""
        low, high = self.member_lengths
        if not 0.0 <= low <= high:
            raise InvalidInput(
                "member_lengths must be a minimum and a maximum ratio, with "
                f"0 <= minimum <= maximum; got {self.member_lengths}"
            )
        if self.apart > self.same:
            raise InvalidInput(
                f"apart must not exceed same; got apart={self.apart} and same={self.same}"
            )
        self.rounds  # noqa: B018  # raises if `tiers` is invalid

    @property
    def rounds(self) -> int | None:
        """Number of search rounds, or None to continue until there are no new matches.

        Examples
        --------
        >>> Expansion(tiers=2).rounds, Expansion(tiers="3").rounds, Expansion().rounds
        (2, 3, None)
        """
        if self.tiers == "all":
            return None
        if not str(self.tiers).isdecimal() or int(self.tiers) < 1:
            raise InvalidInput(f"tiers must be an integer of at least 1, or all; got {self.tiers}")
        return int(self.tiers)

    @preset
    def kg04(cls: Any) -> Expansion:
        """Settings of Kovar & Gleicher (2004), section 3.3."""
        return cls(
            same=0.8, apart=0.2, average_ranges=True, member_lengths=ANY_DURATION,
            join_distance=FAMILY_DISTANCE,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Feedback(Settings):
    """Relevance feedback: correct and incorrect matches from an earlier search."""

    accept: Names | Any = setting(
        None,
        "Correct matches as NAME:START-END, which are used as additional queries. In a family, "
        "they are members at any distance.",
        metavar="MATCH,...",
        commas=True,
    )
    reject: Names | Any = setting(
        None,
        "Incorrect matches as NAME:START-END. They are excluded, and similar matches are ranked "
        "lower. In a family, members reached only through them are also excluded.",
        metavar="MATCH,...",
        commas=True,
    )

    def __post_init__(self) -> None:
        for name in ("accept", "reject"):
            object.__setattr__(self, name, _places(name, getattr(self, name)))
        super().__post_init__()

    def __bool__(self) -> bool:
        return bool(self.accept or self.reject)


def _places(name: str, given: Any) -> tuple[str, ...] | None:
    """Convert one or more matches or strings to strings of the form ``NAME:START-END``."""
    if given is None:
        return None
    single = isinstance(given, str) or hasattr(given, "text") or not isinstance(given, Iterable)
    several = [given] if single else list(given)
    places = [getattr(each, "text", each) for each in several]
    if not all(isinstance(place, str) for place in places):
        raise InvalidInput(
            f"{name} must contain matches or strings of the form NAME:START-END; got {given!r}"
        )
    return tuple(places) or None


@dataclass(frozen=True, kw_only=True)
class FamilySettings(MotionChoice):
    """Settings for a family; see `motionloom.Library.family`."""

    method: Method = setting(
        Dtw(),
        "Search method. To find segments: dtw (exact), lazy (neighborhood graph) or web (match "
        "web, built with motionloom web). To find whole clips: statistics, dtw-clip, emd, "
        "dtw-angles, scaling, dtw-e15, dtw-pc11 or dtw-jrd.",
        methods=METHODS,
        adapt=as_method,
        metavar="NAME",
    )
    max: int | None = setting(
        100, "Maximum number of members, not counting the query.", least=1, metavar="N"
    )
    exclude_query: bool = setting(False, "Exclude the query's own frames from the matches.")
    expansion: Expansion = setting(Expansion(), "Query expansion.")
    feedback: Feedback = setting(Feedback(), "Relevance feedback.")

    @preset
    def kg04(cls: Any) -> FamilySettings:
        """Settings of Kovar & Gleicher (2004): match web, squared distances, the paper's rules."""
        return cls(method=MatchWeb.kg04(), max=None, expansion=Expansion.kg04())

    @preset
    def kt10(cls: Any) -> FamilySettings:
        """Settings of Krüger et al. (2010): lazy neighborhood graph.

        Query expansion is that of Kovar and Gleicher (2004), as in section 5.1, but a member is any
        match of the graph, without a further test.
        """
        expansion = replace(Expansion.kg04(), join_distance=None, clear=False)
        return cls(
            method=LazyGraph.kt10(), expansion=replace(expansion, tiers=cls().expansion.tiers)
        )

    @preset
    def tz07(cls: Any) -> FamilySettings:
        """Settings of Tam et al. (2007): Earth Mover's Distance of whole clips."""
        return cls(method=Emd.tz07())


@dataclass(frozen=True, kw_only=True)
class SearchSettings(FamilySettings):
    """Settings for a search; see `motionloom.Library.search`.

    Examples
    --------
    >>> SearchSettings(method="lazy").method.index
    'bucket'
    >>> SearchSettings.of({"method": "lazy", "k": 64, "max": 10}).method.k
    64
    >>> SearchSettings.kg04(tiers=1).expansion.tiers
    1
    """

    max: int | None = setting(100, "Maximum number of matches.", least=1, metavar="N")
    max_distance: float | None = setting(
        None,
        "Maximum distance of a match, in meters, or in degrees for some clip methods. This is the "
        "distance by which matches are ranked; with query expansion, it is the distance in the "
        "match graph.",
        least=0.0,
    )
    mirror: bool = setting(
        False,
        "Also search for the mirrored query, such as a left kick for a right kick. Mirrored "
        "matches are marked.",
    )
    expansion: Expansion = setting(Expansion(tiers=1), "Query expansion.")

    def check(self) -> None:
        """Check that the settings permit a mirrored query."""
        if self.mirror and self.expansion.rounds != 1:
            raise InvalidInput(
                "mirror requires a search without query expansion (tiers 1), because mirrored "
                "members cannot be blended with the other members of a family; got tiers "
                f"{self.expansion.tiers}"
            )
        if self.mirror and isinstance(self.method, MatchWeb):
            raise InvalidInput(
                "mirror does not work with a match web, which cannot search for a query from "
                "outside the library; use dtw or lazy"
            )


@dataclass(frozen=True, kw_only=True)
class NeighborSettings(MotionChoice, NeighborOptions, FeatureChoice):
    """Settings for a nearest-frame search; see `motionloom.Library.neighbors`."""

    poses: PoseOptions = setting(PoseOptions(), "How every pose is normalized.")
    exclude_query: bool = setting(False, "Exclude the query's own frames from the matches.")

    @preset
    def kt10(cls: Any) -> NeighborSettings:
        """Settings of Krüger et al. (2010)."""
        return cls(features="e15", poses=PoseOptions(normalize="heading"), k=256)


@dataclass(frozen=True, kw_only=True)
class WebSettings(MotionChoice):
    """Settings for building match webs; see `motionloom.library.webs.Webs.build`."""

    web: WebOptions = setting(WebOptions(), "Match web options.")

    @preset
    def kg04(cls: Any) -> WebSettings:
        """Settings of Kovar and Gleicher (2004)."""
        return cls(web=WebOptions.kg04())
