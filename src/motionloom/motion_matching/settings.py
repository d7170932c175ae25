"""Settings for motion matching databases and for walks generated with them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite, radians
from pathlib import Path
from typing import Any, Literal

from motionloom.errors import InvalidInput
from motionloom.motion_graph.settings import WalkSettings
from motionloom.settings import MotionChoice, Names, Settings, setting

HORIZONS = (1.0 / 3.0, 2.0 / 3.0, 1.0)  # seconds ahead: 20, 40 and 60 frames at 60 Hz


@dataclass(frozen=True, kw_only=True)
class MatchingWeights(Settings):
    """Feature weights for motion matching.

    Weights convert every feature to meters, so that a cost is a distance. For example, a
    difference of 1 m/s in the velocity of a foot counts as 0.4 m if the weight is 0.4 s.
    """

    foot_position: float = setting(1.5, "Weight of foot positions.", least=0.0)
    foot_velocity: float = setting(0.4, "Weight of foot velocities.", unit="s", least=0.0)
    hip_velocity: float = setting(0.6, "Weight of the hip velocity.", unit="s", least=0.0)
    trajectory_position: float = setting(
        1.0, "Weight of the positions along the trajectory.", least=0.0
    )
    trajectory_facing: float = setting(
        1.5, "Weight of the facing directions along the trajectory.", unit="m", least=0.0
    )
    normalize: Literal["meters", "spread"] = setting(
        "meters",
        "Scale of the features: converted to meters by the weights (meters); or divided by the "
        "standard deviation of their group, as in most engines, with weights that have no unit "
        "(spread).",
    )

    def check(self) -> None:
        """Check that weights are finite and not all zero."""
        weights = self.values
        if not all(isfinite(weight) for weight in weights):
            raise InvalidInput(f"weights must be finite; got {', '.join(map(str, weights))}")
        if not any(weights):
            raise InvalidInput("at least one feature weight must be positive; all are 0")

    @property
    def values(self) -> tuple[float, float, float, float, float]:
        """Weights of foot positions, foot velocities, hip velocity, trajectory and facing."""
        return (
            self.foot_position,
            self.foot_velocity,
            self.hip_velocity,
            self.trajectory_position,
            self.trajectory_facing,
        )


@dataclass(frozen=True, kw_only=True)
class MatchingSettings(MotionChoice):
    """Settings for building a matching database; see `motionloom.Library.motion_matching`.

    Examples
    --------
    >>> MatchingSettings(mirror=False).weights.foot_position
    1.5
    """

    mirror: bool = setting(True, "Also use a mirrored copy of each take.")
    fps: float | None = setting(
        None, "Frames per second of the database. [frame rate of the first take]", above=0.0
    )
    weights: MatchingWeights = setting(MatchingWeights(), "How strongly each feature counts.")


@dataclass(frozen=True, kw_only=True)
class MatchingWalkSettings(Settings):
    """Settings for a walk generated with a matching database; see `MatchingDatabase.walk`.

    Examples
    --------
    >>> MatchingWalkSettings(steer=("4:90:1.4",)).changes()
    [(4.0, 1.5707963267948966, 1.4)]
    """

    seconds: float | None = setting(
        None, "Duration of the walk. [10, or until the end of the path]", unit="s", above=0.0
    )
    direction: float = setting(0.0, "Direction of travel: 0 is +Z, 90 is +X.", unit="degrees")
    speed: float | None = setting(None, "Speed of the walk. [1.3]", unit="m/s", least=0.0)
    facing: float | None = setting(
        None,
        "Direction that the body faces: 0 is +Z, 90 is +X. [the direction of travel]",
        unit="degrees",
    )
    gait: Names = setting(
        None,
        "Use only frames with this gait or label; may be repeated.",
        metavar="GAIT",
    )
    path: str | Any = setting(
        None,
        "Walk along a path: CSV rows of x and z in meters.",
        metavar="FILE",
    )
    steer: tuple[str, ...] | Any = setting(
        None,
        "At this time in seconds, change the direction and optionally the speed (m/s); may be "
        "repeated.",
        metavar="SECOND:DEGREES[:SPEED]",
    )
    dynamics: Literal["sprung", "clamped"] = setting(
        "sprung",
        "How the character approaches the desired velocity: like a spring (sprung), or with a "
        "limited acceleration (clamped).",
    )

    def check(self) -> None:
        """Check that strings can be parsed."""
        self.changes()
        self.floor_path()

    def floor_path(self) -> Any:
        """Return the path as rows of x and z, read from a file if `path` names one."""
        is_file = isinstance(self.path, str | Path)
        return WalkSettings(path=self.path).floor_path() if is_file else self.path

    def changes(self) -> list[tuple[float, float, float | None]]:
        """Return the time in seconds, direction in radians and speed of each change, in order."""
        texts: Iterable[Any] = (self.steer,) if isinstance(self.steer, str) else self.steer or ()
        return sorted((_change(text) for text in texts), key=lambda change: change[0])


def _change(text: Any) -> tuple[float, float, float | None]:
    try:
        values = [float(part) for part in str(text).split(":")]
    except ValueError:
        values = []
    if len(values) not in (2, 3) or not all(map(isfinite, values)) or values[0] < 0.0:
        raise InvalidInput(
            "steer must be SECOND:DEGREES or SECOND:DEGREES:SPEED with a second of at least 0; "
            f"got {text}"
        )
    return values[0], radians(values[1]), values[2] if len(values) == 3 else None
