"""Settings for blending."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from motionloom.settings import Settings, setting


@dataclass(frozen=True, kw_only=True)
class ExampleChoice(Settings):
    """Settings that choose which examples of a blend are dropped."""

    drop_unmatched: bool = setting(
        False,
        "Drop examples whose foot contacts do not match those of the query, and list them, "
        "instead of raising an error.",
    )
    drop_unclear: bool = setting(
        False,
        "Drop examples without a time alignment in the valid region, and list them. By default, "
        "the alignment with the lowest cost is used.",
    )


@dataclass(frozen=True, kw_only=True)
class BlendSettings(ExampleChoice):
    """Settings of the registration of a family; see `motionloom.Library.blend`.

    Examples
    --------
    >>> BlendSettings(fps=60.0).distance
    'pc11'
    """

    query: Any = setting(None, "The whole motion of the query, if it is not in the library.")
    skeleton: Any = setting(None, "Skeleton of all examples. [that of the query]")
    fps: float | None = setting(None, "Frame rate of all examples. [that of the query]", above=0.0)
    distance: str | Any = setting("pc11", "Frame distance of the time alignments.")
