"""Settings of the search verbs, and of each search method.

The module imports nothing heavy: the command line builds its options from these classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

from motionloom.errors import InvalidInput
from motionloom.settings import (
    EXCLUDE,
    LABEL,
    ONLY,
    PRESET,
    Names,
    Setting,
    Settings,
    chosen_of,
    setting,
)

ANY_DURATION = (0.0, float("inf"))
MAX_OVERLAP = 0.3  # adjacent repetitions of an action may share this part of the shorter one
# Matches of the web are at least half and at most twice as long as the query, also in later rounds
# of query expansion: a family must not shrink from round to round until everything is similar.
WEB_DURATIONS = (0.5, 2.0)
MEMBER_LENGTHS = (0.5, 2.0)
FAMILY_DISTANCE = 0.08  # metres; join distance where there is no plateau to choose one from
LARGEST_JOIN = 0.25  # metres; greatest join distance that is chosen
# Neighbours of Krüger et al.; with bridges, four fifths of what DTW finds in a fifth of its time.
LAZY_K = 256
NEAR_FRAMES = 200_000  # of a library, from which its match web is one of near cells
NEAR_MATCHES = 0.1  # metres; matches that a web of near cells has
SAME, APART = 0.8, 0.2  # Kovar & Gleicher 2004, section 3.3

# --- groups of options that methods share ---------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class FeatureOptions(Settings):
    """Options of methods that compare feature vectors."""

    features: str | Any = setting(
        "e15", "Feature set that frames are compared by; dtw also takes any frame distance."
    )
    normalize: Literal["heading", "full", "paper"] | None = setting(
        None,
        "Remove heading and place of every pose, or position and whole rotation of the pelvis "
        "(full and paper). [heading]",
    )
    scale_free: bool | None = setting(None, "Scale performers of all sizes to one.")


@dataclass(frozen=True, kw_only=True)
class NeighbourOptions(Settings):
    """Options of methods that search nearest neighbours."""

    k: int | None = setting(
        None,
        "Neighbours of each query frame, at most (lazy: 256); number of clips (clip methods).",
        least=1,
    )
    radius: float | None = setting(
        None, "Only neighbours within this distance.", unit="m", least=0.0
    )
    index: Literal["bucket", "kdtree", "shards"] = setting(
        "bucket", "Nearest-neighbour index; all give the same answers."
    )
    epsilon: float = setting(
        0.0, "Relative error allowed for the k-th distance; 0 is exact.", least=0.0
    )

    def __post_init__(self) -> None:
        if self.index == "blocks":  # its name in release 0.1
            object.__setattr__(self, "index", "bucket")
        super().__post_init__()


@dataclass(frozen=True, kw_only=True)
class SegmentOptions(Settings):
    """Options of methods that find segments, as opposed to whole clips."""

    max_overlap: float = setting(
        MAX_OVERLAP,
        "Part of the shorter of two matches that they may share; with 1, matches may end at every "
        "frame.",
        least=0.0,
        greatest=1.0,
    )
    durations: tuple[float, float] = setting(
        ANY_DURATION,
        "Least and greatest length of a match, in lengths of the query.",
    )

    def check(self) -> None:
        """Check the range of durations."""
        low, high = self.durations
        if not 0.0 <= low <= high:
            raise InvalidInput(
                f"durations must be the least and the greatest ratio; got {self.durations}"
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
        3, "Match web: frames of one motion that correspond to one of the other, at most.", least=1
    )
    chain_seconds: float = setting(
        0.25, "Match web: shorter chains of minima are dropped.", unit="s", least=0.0
    )
    bridge_seconds: float = setting(
        2.0,
        "Match web: bridges between chains span less than this, the sum of both motions.",
        unit="s",
        least=0.0,
    )
    squares: bool = setting(
        False,
        "Match web: average squared distances, as in the paper; a match has the root of the mean.",
    )
    rules: Literal["default", "paper"] = setting(
        "default", "Match web: rules of chains, of motionloom or of the paper alone."
    )
    cells: Literal["auto", "all", "near"] = setting(
        "auto",
        "Match web: compare all frames, or only where poses are near neighbours, which finds "
        f"matches up to {NEAR_MATCHES} m (auto: near from {NEAR_FRAMES:,} frames on, if the web is "
        "not built yet).",
    )


# --- methods ----------------------------------------------------------------------------------

Steps = Literal["slope", "classic"]
_STEPS = Setting("Alignment steps: slope (half to twice the speed of the query) or classic.")
_EXCLUDE_QUERY = Setting("Leave out the frames of the query itself.")


@dataclass(frozen=True, kw_only=True)
class Dtw(SegmentOptions, FeatureOptions):
    """Subsequence DTW over the whole library: exact."""

    NAME: ClassVar = "dtw"

    steps: Steps = setting("slope", _STEPS)
    weights: Literal["moving", "equal"] | None = setting(
        None,
        "Weight joints equally, or by how far they move in the query. [equal; in families moving]",
    )
    rank: Literal["movement", "distance"] | None = setting(
        None,
        "Rank by the distance of movements or by the mean distance of poses; lazy also "
        "by the sum of distances. [movement; in families distance]",
    )
    speed_seconds: float = setting(
        0.15,
        "Weight of joint speeds where the start and end of a match are refined; 0: none.",
        unit="s",
        least=0.0,
    )


@dataclass(frozen=True, kw_only=True)
class LazyGraph(SegmentOptions, NeighbourOptions, FeatureOptions):
    """Lazy neighbourhood graph (Krüger et al. 2010): alignments of near neighbours only."""

    NAME: ClassVar = "lazy"

    steps: Steps = setting("slope", _STEPS)
    bridge: int | None = setting(
        None,
        "Query frames without a neighbour that a path may pass over; 0 is the paper's graph. "
        "[any number]",
        least=0,
    )
    rank: Literal["distance", "sum"] = setting(
        "distance",
        "Rank by the mean distance per cell of the alignment, or by the sum over the cells, as in "
        "the paper.",
    )


@dataclass(frozen=True, kw_only=True)
class MatchWeb(SegmentOptions, WebOptions):
    """Match web (Kovar & Gleicher 2004), built beforehand: the fastest.

    The options of the web are those that it was built with.
    """

    NAME: ClassVar = "web"

    durations: tuple[float, float] = setting(
        WEB_DURATIONS,
        "Least and greatest length of a match, in lengths of the query.",
    )


@dataclass(frozen=True, kw_only=True)
class ClipMethod(Settings):
    """Options of methods that compare whole clips."""

    NAME: ClassVar[str]

    k: int | None = setting(None, "Number of clips, at most.", least=1)


COVARIANCE_WEIGHT = Setting(
    "Weight of which joints move together, and around which pose.", least=0.0
)
SPECTRUM_WEIGHT = Setting("Weight of how fast each joint moves, in octaves.", least=0.0)
TREND_WEIGHT = Setting("Weight of what comes first in a clip and what last.", least=0.0)
LENGTH_WEIGHT = Setting("Weight of the logarithm of the duration.", least=0.0)
TURN_WEIGHT = Setting("Weight of how far the body turns, left or right.", least=0.0)


@dataclass(frozen=True, kw_only=True)
class ClipStatistics(ClipMethod):
    """Whole clips: statistics of poses and travel, in any order and of any length."""

    NAME = "statistics"

    covariance_weight: float = setting(1.0, COVARIANCE_WEIGHT)
    spectrum_weight: float = setting(1.0, SPECTRUM_WEIGHT)
    trend_weight: float = setting(1.0, TREND_WEIGHT)
    length_weight: float = setting(0.2, LENGTH_WEIGHT)
    turn_weight: float = setting(0.1, TURN_WEIGHT)

    def check(self) -> None:
        """At least one weight must be above zero."""
        weights = {name: value for name, value in self.arguments().items() if name != "k"}
        if not any(weights.values()):
            raise InvalidInput(f"at least one of {', '.join(weights)} must be above 0")


JOINT_SPREAD = Setting("Add how differently the joints spread over a clip, in any order.")


@dataclass(frozen=True, kw_only=True)
class ClipDtw(ClipMethod):
    """Whole clips: banded DTW of poses, travel and length, and spread of the joints."""

    NAME = "dtw-clip"

    joint_spread: bool = setting(True, JOINT_SPREAD)


JOINT_WEIGHTS = Setting(
    "Weights of the joints: importance (limbs and trunk above fingers), equal, or those of some "
    "joints, JOINT=WEIGHT,...",
    metavar="importance|equal|JOINT=WEIGHT,...",
)
CLIP_FRAMES = Setting("Frames that a clip is resampled to.", least=2)
CURVE_THRESHOLD = Setting(
    "Tolerance of the Douglas-Peucker points of a curve.",
    unit="degrees",
    least=0.0,
)
TIME_WEIGHT = Setting("Degrees that one frame counts for in the Earth Mover's Distance.", least=0.0)
CURVE_BAND = Setting("Half-width of the band, as a fraction of the clip.", least=0.0, greatest=1.0)
SCALE_FACTOR = Setting("Largest factor by which the speed of a clip is changed.", least=1.0)
WHOLE_TURNS = Setting("Compare angles up to whole turns: 179 and -179 degrees are 2 degrees apart.")
LINE_DISTANCE = Setting(
    "Distance of a frame from the line of its curve: at its time, or perpendicular (a frame counts "
    "as a degree)."
)
STRETCH_ONLY = Setting("Never compare a beginning that is shorter than the query.")


@dataclass(frozen=True, kw_only=True)
class Emd(ClipMethod):
    """Whole clips: Earth Mover's Distance of rotation curves (Tam et al. 2007)."""

    NAME = "emd"

    curve_threshold: float = setting(10.0, CURVE_THRESHOLD)
    line_distance: Literal["time", "perpendicular"] = setting("time", LINE_DISTANCE)
    time_weight: float = setting(1.0, TIME_WEIGHT)
    clip_frames: int = setting(128, CLIP_FRAMES)
    joint_weights: str | Any = setting("importance", JOINT_WEIGHTS)
    whole_turns: bool = setting(True, WHOLE_TURNS)


@dataclass(frozen=True, kw_only=True)
class AngleDtw(ClipMethod):
    """Whole clips: banded DTW of rotation curves."""

    NAME = "dtw-angles"

    band: float = setting(0.1, CURVE_BAND)
    clip_frames: int = setting(128, CLIP_FRAMES)
    joint_weights: str | Any = setting("importance", JOINT_WEIGHTS)
    whole_turns: bool = setting(True, WHOLE_TURNS)


@dataclass(frozen=True, kw_only=True)
class UniformScaling(ClipMethod):
    """Whole clips: uniform scaling of rotation curves (Keogh et al. 2004)."""

    NAME = "scaling"

    scale_factor: float = setting(1.2, SCALE_FACTOR)
    stretch_only: bool = setting(False, STRETCH_ONLY)
    joint_weights: str | Any = setting("importance", JOINT_WEIGHTS)
    whole_turns: bool = setting(True, WHOLE_TURNS)


class PoseDtw(ClipMethod):
    """Whole clips: banded DTW of poses alone."""

    NAME = "dtw-e15"


class PointCloudDtw(ClipMethod):
    """Whole clips: banded DTW of point clouds."""

    NAME = "dtw-pc11"


class JointRelativeDtw(ClipMethod):
    """Whole clips: banded DTW of joint relative distances."""

    NAME = "dtw-jrd"


METHODS: dict[str, type[Settings]] = {
    method.NAME: method
    for method in (
        Dtw, LazyGraph, MatchWeb,
        ClipStatistics, ClipDtw, Emd, AngleDtw, UniformScaling,
        PoseDtw, PointCloudDtw, JointRelativeDtw,
    )
}  # fmt: skip
"""Search methods by name: settings class of each."""

PRESETS: dict[str, dict[str, Any]] = {
    "kg04": {
        "method": MatchWeb(
            distance="pc11",
            alpha=0.15,
            chain_seconds=0.25,
            bridge_seconds=2.0,
            squares=True,
            rules="paper",
            max_overlap=0.8,
            durations=ANY_DURATION,
        ),
        "max": None,
        "tiers": "all",
        "same": 0.8,
        "apart": 0.2,
        "average_ranges": True,
        "member_lengths": ANY_DURATION,
        "join_distance": FAMILY_DISTANCE,
    },
    # The paper gives neither k nor radius; both are ours.
    "kt10": {
        "method": LazyGraph(
            features="e15", normalize="paper", steps="classic", bridge=0, rank="sum"
        )
    },
    "tz07": {"method": Emd(line_distance="perpendicular")},
}
"""Settings of `search` and `family` as in the papers."""

# --- verbs ------------------------------------------------------------------------------------


JOIN_DISTANCE = Setting(
    "Query expansion: pose distance up to which two members are joined, the mean distance per cell "
    "of their alignment; in metres, except for clip methods in degrees. "
    "[found: within the widest range in which the family stays the same]",
    least=0.0,
)
ACCEPT = Setting(
    "Matches that are right, NAME:START-END: they are searched as well.",
    metavar="MATCH,...",
    commas=True,
)
REJECT = Setting(
    "Matches that are wrong, NAME:START-END: they are left out, and what is like them goes down.",
    metavar="MATCH,...",
    commas=True,
)


@dataclass(frozen=True, kw_only=True)
class SearchSettings(Settings):
    """Settings of a search; see `motionloom.Library.search`.

    Examples
    --------
    >>> SearchSettings().method
    Dtw(features='e15', normalize=None, scale_free=None, max_overlap=0.3, durations=(0.0, inf), ...
    >>> SearchSettings.of("lazy", {"k": 64}, max=10).method.k
    64
    >>> SearchSettings.of("web", {"k": 64})
    Traceback (most recent call last):
        ...
    motionloom.errors.InvalidInput: k is not an option of method web, which has distance, ...
    """

    METHODS: ClassVar[Mapping[str, type[Settings]]] = METHODS
    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = PRESETS

    method: Settings = setting(
        Dtw(),
        "Search method. Segments: dtw (exact), lazy (neighbourhood graph), web (built by "
        "motionloom web). Whole clips: statistics, dtw-clip, emd, dtw-angles, scaling, dtw-e15, "
        "dtw-pc11, dtw-jrd.",
    )
    max: int | None = setting(100, "Number of matches, at most.", least=1, metavar="N")
    max_distance: float | None = setting(
        None,
        "Drop matches farther than this, in the unit of the ranking: distance of movements, or "
        "mean distance per cell of the alignment; with query expansion, distance in the match "
        "graph. Metres, except for clip methods in degrees.",
        least=0.0,
        old_options=("--threshold",),
    )
    accept: Names = setting(None, ACCEPT)
    reject: Names = setting(None, REJECT)
    tiers: int | str = setting(
        1,
        "Rounds of query expansion (1: none; all: until nothing new is found).",
        metavar="1|N|all",
    )
    join_distance: float | None = setting(None, JOIN_DISTANCE)
    label: Names = setting(None, LABEL)
    only: Names = setting(None, ONLY)
    exclude: Names = setting(None, EXCLUDE)
    exclude_query: bool = setting(False, _EXCLUDE_QUERY)
    mirror: bool = setting(
        False,
        "Search for the mirrored query too, a left kick for a right one; matches tell which.",
    )
    same: float = setting(
        SAME,
        "Query expansion: a match that overlaps a member by more than this is that member.",
        least=0.0,
        greatest=1.0,
    )
    apart: float = setting(
        APART,
        "Query expansion: a match that overlaps all members by less than this is a new member; "
        "cyclic motions need more than 0.2.",
        least=0.0,
        greatest=1.0,
    )
    average_ranges: bool = setting(
        False,
        "Query expansion: average start and end of a member, and of the query, with those of "
        "every match that is that member; else they stay as they were found.",
    )
    member_lengths: tuple[float, float] = setting(
        MEMBER_LENGTHS,
        "Query expansion: least and greatest length of a member, in lengths of the query.",
    )
    clear: bool = setting(
        True,
        "Query expansion with dtw or lazy: join only members with a time alignment in the valid "
        "region of their distances, as the web does.",
    )
    preset: Literal["kg04", "kt10", "tz07"] | None = setting(None, PRESET)

    @classmethod
    def of(cls, method: str | Settings, options: dict[str, Any], **settings: Any) -> Self:
        """Settings with a method chosen by name, and options of that method."""
        found = chosen_of(cls, "method", method, options, settings.get("preset"))
        return cls(method=found, **settings)

    def check(self) -> None:
        """Check the method and what depends on several fields."""
        if type(self.method) not in METHODS.values():
            raise InvalidInput(
                f"method must be one of {', '.join(METHODS)} or the settings of one; "
                f"got {self.method!r}"
            )
        low, high = self.member_lengths
        if not 0.0 <= low <= high:
            raise InvalidInput(
                "member_lengths must be the least and the greatest ratio; "
                f"got {self.member_lengths}"
            )
        if self.apart > self.same:
            raise InvalidInput(f"apart must not be above same; got {self.apart} and {self.same}")
        if self.mirror and expansion_rounds(self.tiers) != 1:
            raise InvalidInput(
                "mirror needs tiers=1: members of families are blended, and a mirrored one would "
                f"not fit; got tiers={self.tiers}"
            )
        if self.mirror and isinstance(self.method, MatchWeb):
            raise InvalidInput(
                "mirror needs a method that searches motions from outside the library; a match "
                "web has none of them: use dtw or lazy"
            )
        expansion_rounds(self.tiers)


@dataclass(frozen=True, kw_only=True)
class FamilySettings(SearchSettings):
    """Settings of a family; see `motionloom.Library.family`."""

    mirror: ClassVar[bool] = False  # type: ignore[misc]  # no field here

    max: int | None = setting(
        100, "Number of members besides the query, at most.", least=1, metavar="N"
    )
    join_distance: float | None = setting(
        None, replace(JOIN_DISTANCE, old_options=("--max-distance", "--threshold"))
    )
    max_distance: float | None = setting(
        None, "Earlier name of join_distance.", least=0.0, command=False
    )
    accept: Names = setting(
        None, replace(ACCEPT, help="Members that are right, NAME:START-END, however far.")
    )
    reject: Names = setting(
        None,
        replace(
            REJECT,
            help="Members that are wrong, NAME:START-END: cut out, with all that is reached "
            "through them only.",
        ),
    )
    tiers: int | str = setting(
        "all",
        "Rounds of query expansion (all: until nothing new is found).",
        metavar="N|all",
    )

    def __post_init__(self) -> None:
        if self.max_distance is not None:
            if self.join_distance not in (None, self.max_distance):
                raise InvalidInput(
                    "join_distance and max_distance are one setting of a family; got "
                    f"{self.join_distance} and {self.max_distance}"
                )
            object.__setattr__(self, "join_distance", self.max_distance)
            object.__setattr__(self, "max_distance", None)
        super().__post_init__()


@dataclass(frozen=True, kw_only=True)
class NeighbourSettings(NeighbourOptions, FeatureOptions):
    """Settings of a search for nearest frames; see `motionloom.Library.neighbours`."""

    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "kt10": {"features": "e15", "normalize": "paper", "k": 256}
    }

    label: Names = setting(None, LABEL)
    only: Names = setting(None, ONLY)
    exclude: Names = setting(None, EXCLUDE)
    exclude_query: bool = setting(False, _EXCLUDE_QUERY)
    preset: Literal["kt10"] | None = setting(None, PRESET)


@dataclass(frozen=True, kw_only=True)
class WebSettings(WebOptions):
    """Settings of building match webs; see `motionloom.Library.build_web`."""

    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "kg04": {
            "distance": "pc11",
            "alpha": 0.15,
            "chain_seconds": 0.25,
            "bridge_seconds": 2.0,
            "squares": True,
            "rules": "paper",
        }
    }

    label: Names = setting(None, LABEL)
    only: Names = setting(None, ONLY)
    exclude: Names = setting(None, EXCLUDE)
    preset: Literal["kg04"] | None = setting(None, PRESET)


def expansion_rounds(tiers: int | str) -> int | None:
    """Number of rounds of query expansion; None for all.

    Examples
    --------
    >>> expansion_rounds(2), expansion_rounds("3"), expansion_rounds("all")
    (2, 3, None)
    """
    if tiers == "all":
        return None
    text = str(tiers)
    if not text.isdecimal() or int(text) < 1:
        raise InvalidInput(f"tiers must be a number from 1 on, or all; got {tiers}")
    return int(text)
