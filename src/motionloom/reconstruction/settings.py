"""Settings of reconstruction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from motionloom.settings import MotionChoice, setting


@dataclass(frozen=True, kw_only=True)
class ReconstructSettings(MotionChoice):
    """Settings for reconstructing a body; see `motionloom.Library.reconstruct`.

    Examples
    --------
    >>> ReconstructSettings(mode="online").neighbors
    512
    """

    skeleton: str | Any = setting(
        None,
        "Skeleton of the performer: a file, or a motion of the library. [scaled to the markers]",
        metavar="FILE|NAME",
    )
    roles: str | Any = setting(
        None,
        "Marker label of each role, if the labels do not name the roles.",
        metavar="ROLE=LABEL,...",
    )
    mode: Literal["offline", "online"] = setting(
        "offline", "Solve the whole sequence at once (offline), or from past frames only (online)."
    )
    features: str | Any = setting("e15", "Features used to search for neighbors.")
    # On 86_01 of CMU, 1024 neighbors were slower and not better.
    neighbors: int = setting(512, "Number of poses in a local model.", least=8, command=False)
