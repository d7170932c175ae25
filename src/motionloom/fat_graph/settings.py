"""Settings for fat graphs."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal

from motionloom.errors import InvalidInput
from motionloom.settings import MotionChoice, preset, setting


@dataclass(frozen=True, kw_only=True)
class FatGraphSettings(MotionChoice):
    """Settings for building a fat graph; see `motionloom.Library.fat_graph`.

    Examples
    --------
    >>> FatGraphSettings(examples=4).radius
    0.07
    """

    radius: float = setting(
        0.07,
        "Maximum distance between neighboring poses, as the root mean square over the joints.",
        unit="m",
        above=0.0,
    )
    features: str | Any = setting("e15x3", "Features used to compare poses.")
    normalize: Literal["heading", "full"] | None = setting(
        None,
        "Remove the heading and floor position of every pose (heading), or the position and full "
        "rotation of the pelvis (full). [heading]",
    )
    poses: int = setting(8, "Maximum number of base poses.", least=1)
    k: int | None = setting(
        None, "Maximum number of neighbors to count for each frame. [all]", least=1
    )
    examples: int = setting(20, "Maximum number of clips to blend on each fat edge.", least=2)
    bridge: bool = setting(
        True, "Generate transitions between gaits that share no poses, such as walks and jogs."
    )
    seed: int | Any = setting(0, "Random seed for sampling blends.", least=0)

    @preset
    def kt10(cls: Any) -> FatGraphSettings:
        """Settings of Krüger et al. (2010)."""
        return cls(features="e15", normalize="heading", bridge=False)

    def check(self) -> None:
        """Check that the radius is finite."""
        if not isfinite(self.radius):
            raise InvalidInput(f"radius must be finite; got {self.radius}")
