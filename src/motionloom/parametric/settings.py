"""Settings for learning a parametric motion and for reaching a target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from motionloom.blending.settings import ExampleChoice
from motionloom.settings import Settings, preset, setting


@dataclass(frozen=True, kw_only=True)
class ExampleRules(ExampleChoice):
    """Settings for dropping and aligning the examples of a parametric motion."""

    redundant: float | None = setting(
        None,
        "Drop examples whose parameters the other examples reach within this tolerance.",
        unit="m",
        metavar="METERS",
        above=0.0,
    )
    redundant_by: Literal["interpolated", "nearest", "refined"] = setting(
        "interpolated",
        "Rule for redundant examples. With interpolated, an example is redundant if interpolating "
        "nearby examples reproduces it (Kovar & Gleicher 2004); with nearest, if a blend of the "
        "d + 1 nearest ones does, where d is the number of parameters; with refined, if any blend "
        "of the others does.",
    )


@dataclass(frozen=True, kw_only=True)
class BlendRules(Settings):
    """Settings for generating and measuring the blends of a parametric motion."""

    counted: Literal["kept", "generated"] = setting(
        "kept",
        "Blends that count as samples. With generated, every random blend counts, and those too "
        "close to another are then eliminated (Kovar & Gleicher 2004); with kept, only the "
        "remaining ones count, and sampling stops when 100 in a row are too close.",
    )
    whole_frames: bool = setting(
        True,
        "Shift times by up to half a frame so that parameters are measured on captured frames of "
        "the examples and on whole frames of the blends.",
    )
    lock_feet: bool = setting(True, "Hold feet in place during contacts.")


@dataclass(frozen=True, kw_only=True)
class ParametrizeSettings(Settings):
    """Settings for learning a parametric motion; see `motionloom.Library.parametrize`.

    Examples
    --------
    >>> ParametrizeSettings(samples=100).delta
    0.1
    """

    samples: int = setting(
        1000, "Number of random blends that sample the map from parameters to weights.", least=0
    )
    delta: float = setting(
        0.1, "How far blend weights may exceed the range from 0 to 1.", least=0.0, greatest=1.0
    )
    spacing: float = setting(
        0.0127,  # Kovar & Gleicher 2004, section 4.2: half an inch
        "Minimum distance between two samples, in the unit of the parameters.",
        least=0.0,
    )
    sampling: Literal["mixed", "nearest"] = setting(
        "mixed",
        "How to choose the examples for a sample. With nearest, a sample blends the examples "
        "nearest to a random point (Kovar & Gleicher 2004); with mixed, every other sample blends "
        "the examples around the point.",
    )
    blends: BlendRules = setting(BlendRules(), "Rules for generating and measuring blends.")
    examples: ExampleRules = setting(ExampleRules(), "Rules for dropping and aligning examples.")
    seed: int | Any = setting(0, "Random seed for sampling.", least=0)

    @preset
    def kg04(cls: Any) -> ParametrizeSettings:
        """Settings from Kovar & Gleicher 2004, section 4."""
        return cls(
            samples=1000,
            spacing=0.0127,
            sampling="nearest",
            blends=BlendRules(counted="generated", whole_frames=False, lock_feet=False),
            examples=ExampleRules(redundant_by="interpolated", align_squares=True),
        )


@dataclass(frozen=True, kw_only=True)
class SynthesisSettings(Settings):
    """Settings for reaching a target; see `ParametricMotion.reach`.

    Examples
    --------
    >>> SynthesisSettings().scheme
    'samples'
    """

    refine: bool = setting(True, "Refine the interpolated weights until the target is reached.")
    tolerance: float = setting(
        0.01, "Maximum distance to the target, in the unit of the parameters."
    )
    scheme: Literal["samples", "cardinal"] = setting(
        "samples",
        "How to find the weights. With samples, they are interpolated between samples and bounded; "
        "with cardinal, cardinal basis functions interpolate between examples.",
    )

    @preset
    def kg04(cls: Any) -> SynthesisSettings:
        """Settings from Kovar & Gleicher 2004, section 4, where weights are not refined."""
        return cls(refine=False, scheme="samples")
