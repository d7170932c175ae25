"""Settings of blends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from motionloom.settings import Settings, setting


@dataclass(frozen=True, kw_only=True)
class ExampleChoice(Settings):
    """Which examples of a blend are dropped."""

    drop_unmatched: bool = setting(
        False,
        "Drop examples whose foot contacts do not match the query's, and list them, instead of "
        "raising.",
    )
    drop_unclear: bool = setting(
        False,
        "Drop examples without a time alignment in the valid region, and list them. By default "
        "they get the cheapest alignment.",
    )


@dataclass(frozen=True, kw_only=True)
class BlendSettings(ExampleChoice):
    """How the members of a family are registered; see `motionloom.Library.blend`.

    Examples
    --------
    >>> BlendSettings(fps=60.0).distance
    'pc11'
    """

    query: Any = setting(None, "The whole motion of the query, if it is not in the library.")
    skeleton: Any = setting(None, "Skeleton of all examples. [that of the query]")
    fps: float | None = setting(None, "Frame rate of all examples. [that of the query]", above=0.0)
    distance: str | Any = setting("pc11", "Frame distance of the time alignments.")
