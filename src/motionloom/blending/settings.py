"""Settings for blending."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from motionloom.settings import Settings, setting


@dataclass(frozen=True, kw_only=True)
class ExampleChoice(Settings):
    """Settings that determine which examples are excluded from a blend."""

    drop_unmatched: bool = setting(
        False,
        "Drop and list examples whose foot contacts do not match the query, instead of reporting "
        "an error.",
    )
    drop_unclear: bool = setting(
        False,
        "Drop and list examples that have no time alignment in the valid region. By default, they "
        "are aligned at the lowest cost.",
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
