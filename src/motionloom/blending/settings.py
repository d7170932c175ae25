"""Settings for blending."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from motionloom.settings import Settings, preset, setting


@dataclass(frozen=True, kw_only=True)
class ExampleChoice(Settings):
    """Settings that determine which examples of a blend are dropped and how they are aligned."""

    drop_unmatched: bool = setting(
        False,
        "Drop and list examples whose foot contacts do not match the query, instead of reporting "
        "an error.",
    )
    drop_unclear: bool = setting(
        False,
        "Drop and list examples whose frames do not clearly correspond to those of their neighbor "
        "in the family (criterion 2 of Kovar & Gleicher 2004).",
    )
    align_squares: bool | None = setting(
        None,
        "Minimize the sum of squared frame distances when aligning examples in time, as in Kovar & "
        "Gleicher (2004), instead of the sum of distances. [as the family was searched]",
    )


@dataclass(frozen=True, kw_only=True)
class BlendSettings(ExampleChoice):
    """Settings for registering a family; see `motionloom.Library.blend`.

    Examples
    --------
    >>> BlendSettings(fps=60.0).distance
    'pc11'
    """

    query: Any = setting(
        None, "The whole motion that contains the query, if it is not in the library."
    )
    skeleton: Any = setting(None, "Skeleton to which all examples are converted. [the query's]")
    fps: float | None = setting(
        None, "Frame rate of all examples, in frames per second. [the query's]", above=0.0
    )
    distance: str | Any = setting("pc11", "Frame distance used for time alignment.")

    @preset
    def kg04(cls: Any) -> BlendSettings:
        """Settings of Kovar & Gleicher 2004, section 4.1: squared distances."""
        return cls(align_squares=True)
