"""Methods that compare whole clips."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from motionloom.errors import InvalidInput
from motionloom.search.methods.method import METHODS, Method, register_method
from motionloom.settings import Setting, preset, setting

if TYPE_CHECKING:
    from motionloom.search.candidates import Candidate
    from motionloom.search.clips.measures import ClipMeasure
    from motionloom.search.clips.retrieval import WholeClips
    from motionloom.search.query import Query
    from motionloom.search.settings import SearchSettings
    from motionloom.store.store import Store


@dataclass(frozen=True, kw_only=True)
class ClipMethod(Method):
    """Options shared by methods that compare whole clips."""

    k: int | None = setting(None, "Maximum number of clips.", least=1)
    hub_correction: bool = setting(
        True,
        "Divide distances by how near each clip is to its part of the library, so that clips that "
        "are near to everything do not appear everywhere (libraries of 20 clips or more).",
    )

    def candidates(
        self, library: Store, query: Query, settings: SearchSettings
    ) -> tuple[list[Candidate], WholeClips]:
        """Return the nearest clips."""
        from motionloom.search.clips.retrieval import clip_search

        return clip_search(library, query, settings)

    def measure(self) -> ClipMeasure:
        """Return the distance measure with this method's options."""
        raise NotImplementedError

    def unit(self) -> str:
        """Unit of the distances."""
        return self.measure().unit


@register_method
@dataclass(frozen=True, kw_only=True)
class ClipStatistics(ClipMethod):
    """Whole clips: statistics of poses and travel, and their alignment; the best start."""

    NAME = "statistics"

    covariance_weight: float = setting(
        1.0,
        "Weight of the covariance, which captures the mean pose and which joints move together.",
        least=0.0,
    )
    spectrum_weight: float = setting(
        1.0, "Weight of the spectrum: how fast each joint moves.", least=0.0
    )
    trend_weight: float = setting(
        1.0, "Weight of the trend: the order of events in a clip.", least=0.0
    )
    length_weight: float = setting(
        0.2, "Weight of the difference in duration, on a logarithmic scale.", least=0.0
    )
    turn_weight: float = setting(
        0.1, "Weight of the angle by which the body turns to the left or right.", least=0.0
    )
    travel_weight: float = setting(
        0.3,
        "Weight of the direction and speed of travel, relative to where the body faces.",
        least=0.0,
    )
    alignment_weight: float = setting(
        0.4, "Weight of the alignment from start to end, which is the distance dtw-clip.", least=0.0
    )

    def check(self) -> None:
        """Check that at least one weight is above zero."""
        weights = {name: value for name, value in vars(self).items() if name.endswith("_weight")}
        if not any(weights.values()):
            raise InvalidInput(f"at least one of {', '.join(weights)} must be above 0; all are 0")

    def measure(self) -> ClipMeasure:
        """Return the distance measure."""
        from motionloom.search.clips.statistics import StatisticsMeasure

        return StatisticsMeasure(
            covariance_weight=self.covariance_weight,
            spectrum_weight=self.spectrum_weight,
            trend_weight=self.trend_weight,
            length_weight=self.length_weight,
            turn_weight=self.turn_weight,
            travel_weight=self.travel_weight,
            alignment_weight=self.alignment_weight,
        )


@register_method
@dataclass(frozen=True, kw_only=True)
class ClipDtw(ClipMethod):
    """Whole clips: banded DTW of poses, travel and length, plus the spread of each joint."""

    NAME = "dtw-clip"

    joint_spread: bool = setting(True, "Also compare how far each joint moves over the clip.")

    def measure(self) -> ClipMeasure:
        """Return the distance measure."""
        from motionloom.search.clips.measures import pose_and_travel_dtw

        return pose_and_travel_dtw(spread=self.joint_spread)


JOINT_WEIGHTS = Setting(
    "Joint weights: importance (limbs and trunk count more than fingers), equal, or "
    "JOINT=WEIGHT,... to set the weights of individual joints.",
    metavar="importance|equal|JOINT=WEIGHT,...",
)
CLIP_FRAMES = Setting("Number of frames to which each clip is resampled.", least=2)
WHOLE_TURNS = Setting(
    "Ignore whole turns when comparing angles, so that 179 and -179 degrees differ by 2 degrees."
)


@register_method
@dataclass(frozen=True, kw_only=True)
class Emd(ClipMethod):
    """Whole clips: Earth Mover's Distance of rotation curves (Tam et al. 2007)."""

    NAME = "emd"

    curve_threshold: float = setting(
        10.0,
        "Douglas-Peucker tolerance for simplifying rotation curves.",
        unit="degrees",
        least=0.0,
    )
    line_distance: Literal["time", "perpendicular"] = setting(
        "time",
        "How to measure the distance of a frame from the simplified curve: at the same time, or "
        "perpendicular to the curve (one frame counts as one degree).",
    )
    point_mass: Literal["nearest", "following"] = setting(
        "nearest",
        "Mass of a point of the simplified curve: the number of frames nearest to it, or the "
        "number of frames from it up to the next point.",
    )
    time_weight: float = setting(
        1.0, "Weight of time in the Earth Mover's Distance, in degrees per frame.", least=0.0
    )
    clip_frames: int = setting(128, CLIP_FRAMES)
    joint_weights: str | Any = setting("importance", JOINT_WEIGHTS)
    whole_turns: bool = setting(True, WHOLE_TURNS)

    def measure(self) -> ClipMeasure:
        """Return the distance measure."""
        from motionloom.search.clips.measures import EmdMeasure

        return EmdMeasure(
            threshold=self.curve_threshold,
            line_distance=self.line_distance,
            point_mass=self.point_mass,
            time_weight=self.time_weight,
            frames=self.clip_frames,
            joint_weights=_weights(self.joint_weights),
            whole_turns=self.whole_turns,
        )

    @preset
    def tz07(cls: Any) -> Emd:
        """Settings of Tam et al. (2007), section 4."""
        return cls(line_distance="perpendicular", whole_turns=False, hub_correction=False)


@register_method
@dataclass(frozen=True, kw_only=True)
class AngleDtw(ClipMethod):
    """Whole clips: banded DTW of rotation curves."""

    NAME = "dtw-angles"

    band: float = setting(
        0.1,
        "Half-width of the DTW band, as a fraction of the clip length.",
        least=0.0,
        greatest=1.0,
    )
    clip_frames: int = setting(128, CLIP_FRAMES)
    joint_weights: str | Any = setting("importance", JOINT_WEIGHTS)
    whole_turns: bool = setting(True, WHOLE_TURNS)

    def measure(self) -> ClipMeasure:
        """Return the distance measure."""
        from motionloom.search.clips.measures import AngleDtwMeasure

        return AngleDtwMeasure(
            band=self.band,
            frames=self.clip_frames,
            joint_weights=_weights(self.joint_weights),
            whole_turns=self.whole_turns,
        )

    @preset
    def tz07(cls: Any) -> AngleDtw:
        """Settings of Tam et al. (2007), section 4."""
        return cls(whole_turns=False, hub_correction=False)


@register_method
@dataclass(frozen=True, kw_only=True)
class UniformScaling(ClipMethod):
    """Whole clips: uniform scaling of rotation curves (Keogh et al. 2004)."""

    NAME = "scaling"

    scale_factor: float = setting(
        1.2, "Maximum factor by which a clip is sped up or slowed down.", least=1.0
    )
    stretch_only: bool = setting(
        False, "Compare the query only with initial segments that are at least as long."
    )
    joint_weights: str | Any = setting("importance", JOINT_WEIGHTS)
    whole_turns: bool = setting(True, WHOLE_TURNS)

    def measure(self) -> ClipMeasure:
        """Return the distance measure."""
        from motionloom.search.clips.measures import ScalingMeasure

        return ScalingMeasure(
            factor=self.scale_factor,
            stretch_only=self.stretch_only,
            joint_weights=_weights(self.joint_weights),
            whole_turns=self.whole_turns,
        )

    @preset
    def tz07(cls: Any) -> UniformScaling:
        """Settings of Tam et al. (2007), section 4: segments are never shorter than the query."""
        return cls(stretch_only=True, whole_turns=False, hub_correction=False)


@register_method
@dataclass(frozen=True, kw_only=True)
class PoseDtw(ClipMethod):
    """Whole clips: banded DTW of poses alone."""

    NAME = "dtw-e15"

    def measure(self) -> ClipMeasure:
        """Return the distance measure."""
        from motionloom.search.clips.measures import pose_dtw

        return pose_dtw()


@register_method
@dataclass(frozen=True, kw_only=True)
class PointCloudDtw(ClipMethod):
    """Whole clips: banded DTW of point clouds."""

    NAME = "dtw-pc11"

    def measure(self) -> ClipMeasure:
        """Return the distance measure."""
        from motionloom.search.clips.measures import FrameDistanceMeasure

        return FrameDistanceMeasure("dtw-pc11", "pc11", "banded DTW of point clouds")


@register_method
@dataclass(frozen=True, kw_only=True)
class JointRelativeDtw(ClipMethod):
    """Whole clips: banded DTW of joint relative distances."""

    NAME = "dtw-jrd"

    def measure(self) -> ClipMeasure:
        """Return the distance measure."""
        from motionloom.search.clips.measures import FrameDistanceMeasure

        return FrameDistanceMeasure("dtw-jrd", "jrd", "banded DTW of joint relative distances")


def clip_methods() -> dict[str, type[ClipMethod]]:
    """Return the methods that compare whole clips, by name."""
    return {name: kind for name, kind in METHODS.items() if issubclass(kind, ClipMethod)}


def _weights(given: Any) -> Any:
    """Convert joint weights for a measure: mappings become sorted pairs."""
    return tuple(sorted(given.items())) if isinstance(given, Mapping) else given
