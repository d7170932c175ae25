"""Settings of fat graphs."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal

from motionloom.errors import InvalidInput
from motionloom.settings import MotionChoice, preset, setting


@dataclass(frozen=True, kw_only=True)
class FatGraphSettings(MotionChoice):
    """How a fat graph is built; see `motionloom.Library.fat_graph`.

    Examples
    --------
    >>> FatGraphSettings(examples=4).radius
    0.07
    """

    radius: float = setting(
        0.07,
        "Largest distance between neighboring poses, root mean square over joints.",
        unit="m",
        above=0.0,
    )
    features: str | Any = setting("e15x3", "Features by which poses are compared.")
    normalize: Literal["heading", "full", "paper"] | None = setting(
        None,
        "Remove heading and place of every pose, or position and whole rotation of the pelvis "
        "(full and paper). [heading]",
    )
    poses: int = setting(8, "At most this many base poses.", least=1)
    k: int | None = setting(None, "Neighbors of a frame that are counted, at most. [all]", least=1)
    examples: int = setting(20, "Clips of a fat edge that are blended, at most.", least=2)
    bridge: bool = setting(
        True, "Make transitions between gaits that share no pose, such as walks and jogs."
    )
    seed: int | Any = setting(0, "Random seed for sampling blends.", least=0)

    @preset
    def kt10(cls: Any) -> FatGraphSettings:
        """Krüger et al. 2010."""
        return cls(features="e15", normalize="paper")

    def check(self) -> None:
        """Check that the radius is finite."""
        if not isfinite(self.radius):
            raise InvalidInput(f"radius must be finite; got {self.radius}")
