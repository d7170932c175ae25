"""The fat graph: base poses, and fat edges between them.

A fat edge is a family of registered clips from one base pose to another: one parametric motion
with the parameters turn and speed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motionloom.motion import Motion, Skeleton
from motionloom.motion.diagnostics.quality import (
    QualityReport,
    SourceStatistics,
    TakesUsed,
    quality_report,
)
from motionloom.motion.segment import Segment
from motionloom.parametric.parametric_motion import ParametricMotion

if TYPE_CHECKING:
    from motionloom.fat_graph.player import FatPlayer

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FatEdge:
    """Clips from one base pose to another, as one motion with the parameters turn and speed.

    Attributes
    ----------
    source, target : int
        Base poses.
    clips : tuple of Segment
        The examples that are blended.
    members : int
        Number of clips found, of which the examples are some.
    parametric : ParametricMotion
        By ``turn`` in radians and ``average_speed`` in m/s.

    Examples
    --------
    >>> from motionloom.fat_graph import FatGraphSettings, fat_graph
    >>> walks = [ml.demo.clip(kind) for kind in ("walk", "walk_left", "walk_right")]
    >>> edge = fat_graph(walks, FatGraphSettings(examples=4)).edges[0]
    >>> edge.turns[0] < 0.0 < edge.turns[1], edge.members >= len(edge.clips) == 4
    (True, True)
    """

    source: int
    target: int
    clips: tuple[Segment, ...]
    members: int
    parametric: ParametricMotion

    @cached_property
    def turns(self) -> tuple[float, float]:
        """Least and largest turn in reach, radians."""
        turns = self.parametric.accessible[:, 0]
        return float(turns.min()), float(turns.max())

    @cached_property
    def speeds(self) -> tuple[float, float]:
        """Least and largest speed in reach, m/s."""
        speeds = self.parametric.accessible[:, 1]
        return float(speeds.min()), float(speeds.max())

    @property
    def seconds(self) -> float:
        """Mean duration."""
        registration = self.parametric.registration
        return float(np.mean(registration.clips.lengths - 1)) / registration.fps


@dataclass(frozen=True, eq=False)
class FatGraph:
    """Base poses and fat edges; built by `motionloom.fat_graph.fat_graph`.

    Attributes
    ----------
    motions : tuple of Motion
        With one skeleton and frame rate.
    poses : tuple of (str, int)
        Motion and frame of each base pose.
    offsets : ndarray, shape (B,)
        Angle from heading to direction of travel, to the left, in each base pose.
    edges : tuple of FatEdge
    removed : dict
        Number of base poses and clips left out, by reason.

    Examples
    --------
    >>> from motionloom.fat_graph import FatGraphSettings, fat_graph
    >>> walks = [ml.demo.clip(kind) for kind in ("walk", "walk_left", "walk_right")]
    >>> graph = fat_graph(walks, FatGraphSettings(examples=4))
    >>> graph, graph.leaving(0)
    (FatGraph(2 base poses, 2 fat edges), [0])
    """

    motions: tuple[Motion, ...]
    poses: tuple[tuple[str, int], ...]
    offsets: Array
    edges: tuple[FatEdge, ...]
    removed: dict[str, int] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"FatGraph({len(self.poses)} base poses, {len(self.edges)} fat edges)"

    @property
    def skeleton(self) -> Skeleton:
        """Skeleton of all motions."""
        return self.motions[0].skeleton

    @property
    def fps(self) -> float:
        """Frames per second."""
        return self.motions[0].fps

    @property
    def speeds(self) -> tuple[float, float]:
        """Least and largest speed of any edge, m/s."""
        ranges = np.array([edge.speeds for edge in self.edges])
        return float(ranges[:, 0].min()), float(ranges[:, 1].max())

    def leaving(self, pose: int) -> list[int]:
        """Numbers of the edges that leave a base pose; at least one."""
        return [number for number, edge in enumerate(self.edges) if edge.source == pose]

    def info(self) -> dict[str, Any]:
        """Figures of the graph as plain data."""
        return {
            "motions": len(self.motions),
            "frames": sum(map(len, self.motions)),
            "base_poses": [f"{name}:{frame}" for name, frame in self.poses],
            "edges": [
                {
                    "source": edge.source,
                    "target": edge.target,
                    "clips": edge.members,
                    "examples": len(edge.clips),
                    "seconds": edge.seconds,
                    "turn": list(edge.turns),
                    "speed": list(edge.speeds),
                }
                for edge in self.edges
            ],
            "removed": dict(self.removed),
        }

    def player(
        self, *, direction: float | None = 0.0, speed: float | None = None, start: int = 0
    ) -> FatPlayer:
        """Endless motion with a given direction and speed; see `FatPlayer`.

        Parameters
        ----------
        direction : float or None
            Heading, radians; None: straight on.
        speed : float or None
            m/s. None: the usual speed.
        start : int
            Base pose to start with.
        """
        from motionloom.fat_graph.player import FatPlayer

        return FatPlayer(self, direction=direction, speed=speed, start=start)

    def quality(self, motion: Motion) -> QualityReport:
        """Quality of a motion made from this graph, relative to the graph's motions."""
        report = quality_report(motion, usual=self.statistics)
        names = [one.name for one in self.motions]
        takes = TakesUsed.of(motion.sources, motion.fps, dict.fromkeys(names, "not needed"))
        return report.with_parts(takes=takes, speeds_m_s=self.speeds)

    @cached_property
    def statistics(self) -> SourceStatistics:
        """What is usual in the motions, with which synthesized motion is compared."""
        return SourceStatistics.of(self.motions)
