"""Settings of motion matching: the database and what the character is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Literal

from motionloom.errors import InvalidInput
from motionloom.settings import EXCLUDE, LABEL, ONLY, Names, Settings, setting

HORIZONS = (1.0 / 3.0, 2.0 / 3.0, 1.0)  # seconds ahead: 20, 40 and 60 frames at 60 Hz


@dataclass(frozen=True, kw_only=True)
class MatchingSettings(Settings):
    """How a matching database is built; see `motionloom.Library.motion_matching`.

    The weights convert every feature to metres, so that a cost is a distance: 1 m of a foot, 1 m/s
    of a foot, 1 m of the trajectory and 1 radian of its facing count as many metres as given.

    Examples
    --------
    >>> MatchingSettings(mirror=False).foot_position
    1.5
    """

    mirror: bool = setting(True, "Also use each take mirrored, left and right exchanged.")
    fps: float | None = setting(
        None, "Frames per second of the database [that of the first take].", above=0.0
    )
    foot_position: float = setting(1.5, "Weight of the positions of the feet.", least=0.0)
    foot_velocity: float = setting(
        0.4, "Weight of the velocities of the feet.", unit="s", least=0.0
    )
    hip_velocity: float = setting(0.6, "Weight of the velocity of the hips.", unit="s", least=0.0)
    trajectory_position: float = setting(
        1.0, "Weight of the positions of the trajectory.", least=0.0
    )
    trajectory_facing: float = setting(
        1.5, "Weight of the facing of the trajectory.", unit="m", least=0.0
    )
    normalize: Literal["metres", "spread"] = setting(
        "metres",
        "Divide features by one unit each, or by the standard deviation of their group, as most "
        "engines do; the weights then have no unit.",
    )
    label: Names = setting(None, LABEL)
    only: Names = setting(None, ONLY)
    exclude: Names = setting(None, EXCLUDE)

    def check(self) -> None:
        """Check that weights are finite and not all zero."""
        weights = self.weights
        if not all(isfinite(weight) for weight in weights):
            raise InvalidInput(f"weights must be finite; got {', '.join(map(str, weights))}")
        if not any(weights):
            raise InvalidInput("at least one weight must be above zero; all are 0")

    @property
    def weights(self) -> tuple[float, float, float, float, float]:
        """Weights of feet, their velocities, hips, trajectory and its facing."""
        return (
            self.foot_position,
            self.foot_velocity,
            self.hip_velocity,
            self.trajectory_position,
            self.trajectory_facing,
        )
