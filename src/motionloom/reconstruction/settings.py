"""Settings of reconstruction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from motionloom.settings import MotionChoice, setting


@dataclass(frozen=True, kw_only=True)
class ReconstructSettings(MotionChoice):
    """How a body is reconstructed from markers; see `motionloom.Library.reconstruct`.

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
        "Label of the marker of each role, where labels do not name the role.",
        metavar="ROLE=LABEL,...",
    )
    mode: Literal["offline", "online"] = setting(
        "offline", "The whole sequence at once (offline), or from past frames only (online)."
    )
    features: str | Any = setting("e15", "Features by which neighbors are searched.")
    # On 86_01 of CMU, 1024 neighbors were no better and slower.
    neighbors: int = setting(512, "Poses of a local model.", least=8, command=False)
