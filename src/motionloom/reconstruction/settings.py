"""Settings for reconstruction."""

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
        "Skeleton of the performer: a file, or a motion in the library. [a library skeleton scaled "
        "to the markers]",
        metavar="FILE|NAME",
    )
    roles: str | Any = setting(
        None,
        "Marker label for each role, needed if the labels are not role names.",
        metavar="ROLE=LABEL,...",
    )
    mode: Literal["offline", "online"] = setting(
        "offline",
        "Solve the whole sequence at once (offline), or each frame from past frames only (online).",
    )
    features: str | Any = setting("e15", "Features used to search for neighbors.")
    # On CMU take 86_01, 1024 neighbors were slower and no more accurate.
    neighbors: int = setting(512, "Number of neighbors in a local model.", least=8, command=False)
