"""Settings for reconstruction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from motionloom.settings import MotionChoice, Settings, preset, setting


@dataclass(frozen=True, kw_only=True)
class ReconstructionRules(Settings):
    """Rules that are not in the papers; see docs/explanation/reconstruction.md, "Departures"."""

    heading_path: bool = setting(
        True,
        "Offline: use the most likely path of headings. Otherwise, smooth the headings that the "
        "markers suggest.",
        command=False,
    )
    upright_smoothing: bool = setting(
        True, "Offline: smooth the poses of the first pass without their heading.", command=False
    )
    two_passes: bool = setting(
        True,
        "Offline: solve in two passes. Otherwise, solve every frame independently.",
        command=False,
    )
    slacks: tuple[float, ...] = setting(
        (0.05, 0.01),
        "Tolerances at which markers are matched first. Without any, they are matched exactly from "
        "the first step.",
        unit="m",
        command=False,
    )
    hold_feet: bool = setting(True, "Hold feet that are in contact in place.", command=False)
    joint_limits: bool = setting(
        True, "Keep joints within the range of the library.", command=False
    )
    near_weights: bool = setting(
        True, "Give nearer poses more weight in a local model.", command=False
    )
    damping: float = setting(
        0.6,
        "Online: fraction of the last step that is extrapolated; 1 in Chai and Hodgins (2005).",
        command=False,
    )

    @preset
    def kt10(cls: Any) -> ReconstructionRules:
        """Rules of Krüger et al. (2010), who use the basic technique of Chai and Hodgins (2005)."""
        return cls(
            heading_path=False, upright_smoothing=False, two_passes=False, slacks=(),
            hold_feet=False, joint_limits=False, near_weights=False, damping=1.0,
        )  # fmt: skip


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
    rules: ReconstructionRules = setting(
        ReconstructionRules(), "Rules that are not in the papers.", command=False
    )

    @preset
    def kt10(cls: Any) -> ReconstructSettings:
        """Settings of Krüger et al. (2010), section 5.2: each frame from the frames before it."""
        return cls(mode="online", features="e15", rules=ReconstructionRules.kt10())
