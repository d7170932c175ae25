"""Settings of parametric motions: how one is learned, and how a target is reached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from motionloom.blending.settings import ExampleChoice
from motionloom.settings import Settings, preset, setting


@dataclass(frozen=True, kw_only=True)
class ExampleRules(ExampleChoice):
    """Which examples of a parametric motion are dropped."""

    redundant: float | None = setting(
        None,
        "Drop redundant examples: those whose parameters the others reach within this tolerance.",
        unit="m",
        metavar="METERS",
        above=0.0,
    )
    redundant_by: Literal["interpolated", "refined"] = setting(
        "interpolated",
        "How the others reach a redundant example: by interpolating nearby ones (interpolated, as "
        "in Kovar & Gleicher 2004), or by any blend of them (refined).",
    )


@dataclass(frozen=True, kw_only=True)
class ParametrizeSettings(Settings):
    """How a parametric motion is learned; see `motionloom.Library.parametrize`.

    Examples
    --------
    >>> ParametrizeSettings(samples=100).delta
    0.1
    """

    samples: int = setting(
        1000, "Random blends by which the map from parameters to weights is learned.", least=0
    )
    delta: float = setting(
        0.1, "How far blend weights may lie outside 0 to 1.", least=0.0, greatest=1.0
    )
    spacing: float = setting(
        0.0127,  # Kovar & Gleicher 2004, section 4.2: half an inch
        "Least distance between two samples, in the unit of the parameters.",
        least=0.0,
    )
    sampling: Literal["mixed", "nearest"] = setting(
        "mixed",
        "Examples of a sample: the nearest to a random point (nearest, as in Kovar & Gleicher "
        "2004), or for every other sample those around it (mixed).",
    )
    examples: ExampleRules = setting(ExampleRules(), "Which examples are used.")
    seed: int | Any = setting(0, "Random seed for sampling.", least=0)

    @preset
    def kg04(cls: Any) -> ParametrizeSettings:
        """Kovar & Gleicher 2004, section 4."""
        rules = ExampleRules(redundant_by="interpolated")
        return cls(samples=1000, spacing=0.0127, sampling="nearest", examples=rules)


@dataclass(frozen=True, kw_only=True)
class SynthesisSettings(Settings):
    """How a parametric motion reaches a target; see `ParametricMotion.reach`.

    Examples
    --------
    >>> SynthesisSettings().scheme
    'samples'
    """

    refine: bool = setting(True, "Refine the interpolated weights until the target is reached.")
    tolerance: float = setting(
        0.01, "Largest distance to the target, in the unit of the parameters."
    )
    scheme: Literal["samples", "cardinal"] = setting(
        "samples",
        "Interpolate the samples (weights are bounded), or the examples by cardinal basis "
        "functions (cardinal).",
    )

    @preset
    def kg04(cls: Any) -> SynthesisSettings:
        """Kovar & Gleicher 2004, section 4: the interpolated weights alone."""
        return cls(refine=False, scheme="samples")
