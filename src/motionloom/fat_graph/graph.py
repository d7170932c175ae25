"""Fat graph: base poses and the fat edges between them.

A fat edge is a family of registered clips from one base pose to another. It is a parametric motion
with the parameters turn and speed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motionloom.blending.player import FrameBlock, frame_count
from motionloom.errors import InvalidInput
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
    from motionloom.fat_graph.fat_graph_player import FatPlayer

Array = NDArray[np.float64]

_SPEED_TOLERANCE = 0.05  # m/s: requested speeds this far outside the range are not reported


@dataclass(frozen=True, eq=False)
class FatEdge:
    """Clips from one base pose to another, as a motion with the parameters turn and speed.

    Attributes
    ----------
    source, target : int
        Numbers of the base poses where the edge starts and ends.
    clips : tuple of Segment
        The examples that are blended.
    members : int
        Number of clips found, including clips that are not used as examples.
    parametric : ParametricMotion
        Motion with the parameters ``turn`` in radians and ``average_speed`` in m/s.
    bridge : bool
        True if the clips were generated to connect two gaits.

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
    bridge: bool = False

    @cached_property
    def turns(self) -> tuple[float, float]:
        """Minimum and maximum turn that the edge can reach, in radians."""
        turns = self.parametric.accessible[:, 0]
        return float(turns.min()), float(turns.max())

    @cached_property
    def speeds(self) -> tuple[float, float]:
        """Minimum and maximum speed that the edge can reach, in m/s."""
        speeds = self.parametric.accessible[:, 1]
        return float(speeds.min()), float(speeds.max())

    @property
    def seconds(self) -> float:
        """Mean duration of the edge, in seconds."""
        registration = self.parametric.registration
        return float(np.mean(registration.clips.lengths - 1)) / registration.fps


@dataclass(frozen=True, eq=False)
class FatGraph:
    """Base poses and fat edges, as built by `motionloom.fat_graph.fat_graph`.

    Attributes
    ----------
    motions : tuple of Motion
        Motions, all with the same skeleton and frame rate.
    poses : tuple of (str, int)
        Motion and frame of each base pose.
    offsets : ndarray, shape (B,)
        Angle from heading to direction of travel in each base pose, in radians; positive to the
        left.
    edges : tuple of FatEdge
    removed : dict
        Number of dropped base poses and clips, by reason.
    made : tuple of Motion
        Generated transitions between gaits.
    skipped : dict of str to str
        Takes without a body like the others, such as props, each with the reason.

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
    made: tuple[Motion, ...] = ()
    skipped: dict[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"FatGraph({len(self.poses)} base poses, {len(self.edges)} fat edges)"

    @property
    def skeleton(self) -> Skeleton:
        """Skeleton that all motions share."""
        return self.motions[0].skeleton

    @property
    def fps(self) -> float:
        """Frames per second."""
        return self.motions[0].fps

    @cached_property
    def speeds(self) -> tuple[float, float]:
        """Minimum and maximum speed that can be kept, in m/s.

        These are the speeds of the slowest and the fastest cycle through the graph. A single short
        edge may be faster.
        """
        ranges = self.gait_speeds
        return min(slow for slow, _ in ranges), max(fast for _, fast in ranges)

    @cached_property
    def gait_speeds(self) -> tuple[tuple[float, float], ...]:
        """Minimum and maximum speed that each gait can keep, in m/s, slowest gait first.

        Gaits are the parts of the graph that are connected only by the transitions of `bridge`.
        Without these transitions, there is only one gait.
        """
        parts: dict[int, set[int]] = {pose: {pose} for pose in range(len(self.poses))}
        own = [edge for edge in self.edges if not edge.bridge]
        for edge in own:
            joined = parts[edge.source] | parts[edge.target]
            for pose in joined:
                parts[pose] = joined
        groups = {min(part): part for part in parts.values()}.values()
        ranges = []
        for group in groups:
            inside = [edge for edge in own if edge.source in group]
            if inside:
                ends = (self._round_speed(inside, 0, -1.0), self._round_speed(inside, 1, 1.0))
                ranges.append((-ends[0], ends[1]))
        return tuple(sorted(ranges))

    def _round_speed(self, edges: Sequence[FatEdge], end: int, sign: float) -> float:
        """Return the largest mean speed over a cycle, or with `sign` -1, the negated smallest."""
        ends = [(e.source, e.target, sign * e.speeds[end], e.seconds) for e in edges]
        low, high = min(speed for *_, speed, _ in ends), max(speed for *_, speed, _ in ends)
        while high - low > 1e-3:
            middle = 0.5 * (low + high)
            gains = np.zeros(len(self.poses))
            for _ in range(len(self.poses) + 1):  # growth beyond this value indicates a cycle
                before = gains.copy()
                for source, target, speed, seconds in ends:
                    gain = before[source] + (speed - middle) * seconds
                    gains[target] = max(gains[target], gain)
            low, high = (middle, high) if np.any(gains > before + 1e-9) else (low, middle)
        return float(low)

    def leaving(self, pose: int) -> list[int]:
        """Return the numbers of the edges that leave a base pose (at least one)."""
        return [number for number, edge in enumerate(self.edges) if edge.source == pose]

    def info(self) -> dict[str, Any]:
        """Return the statistics of the graph as plain data."""
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
                    "bridge": edge.bridge,
                }
                for edge in self.edges
            ],
            "speeds": list(self.speeds),
            "gait_speeds": [list(speeds) for speeds in self.gait_speeds],
            "made": [motion.name for motion in self.made],
            "removed": dict(self.removed),
            "skipped": dict(self.skipped),
        }

    def player(
        self, *, direction: float | None = 0.0, speed: float | None = None, start: int = 0
    ) -> FatPlayer:
        """Return a player that generates endless motion in a direction at a speed; see `FatPlayer`.

        Parameters
        ----------
        direction : float or None
            Heading in radians; None means straight on.
        speed : float or None
            Speed in m/s; None means the usual speed.
        start : int
            Number of the base pose to start with.
        """
        from motionloom.fat_graph.fat_graph_player import FatPlayer

        return FatPlayer(self, direction=direction, speed=speed, start=start)

    def walk(
        self,
        seconds: float,
        *,
        direction: float | None = 0.0,
        speed: float | None = None,
        steering: Sequence[tuple[float, float | None, float | None]] = (),
    ) -> Motion:
        """Generate a walk that follows changes of direction and speed.

        Parameters
        ----------
        seconds : float
            Duration in seconds.
        direction, speed : float or None
            As in `player`.
        steering : sequence of (second, direction, speed)
            Changes of direction and speed. A speed of None leaves the speed unchanged.

        Returns
        -------
        motion : Motion
            The walk. Its quality lists the takes used and warns about speeds that cannot be kept.

        Examples
        --------
        >>> from motionloom.fat_graph import FatGraphSettings, fat_graph
        >>> walks = [ml.demo.clip(kind) for kind in ("walk", "walk_left", "walk_right")]
        >>> graph = fat_graph(walks, FatGraphSettings(examples=4))
        >>> graph.walk(4.0, speed=1.2, steering=[(2.0, 0.8, None)]).duration
        4.0
        """
        player = self.player(direction=direction, speed=speed)
        frames, at = frame_count(seconds, None, self.fps), 0
        parts: list[FrameBlock] = []
        for second, heading, new_speed in sorted(steering, key=lambda change: change[0]):
            until = round(second * self.fps)
            if not 0 <= until < frames:
                raise InvalidInput(
                    f"steering changes must occur within the {seconds:g} s of the walk; got "
                    f"a change at {second:g} s"
                )
            parts += player.blocks(until - at)
            at = until
            player.steer(direction=heading)
            if new_speed is not None:
                player.steer(speed=new_speed)
        parts += player.blocks(frames - at)
        whole = FrameBlock.joined(parts)
        return whole.to_motion(self.skeleton, self.fps, "walk").with_quality(player.quality)

    def quality(self, motion: Motion, asked: Iterable[float] = ()) -> QualityReport:
        """Return the quality of a walk through this graph, compared with the motions of the graph.

        Parameters
        ----------
        motion : Motion
        asked : iterable of float
            Requested speeds, in m/s. The report warns about speeds that cannot be kept.
        """
        report = quality_report(motion, usual=self.statistics)
        names = [motion.name for motion in self.motions]
        takes = TakesUsed.of(motion.sources, motion.fps, dict.fromkeys(names, "not needed"))
        warnings = [text for speed in asked if (text := self._beyond(speed)) is not None]
        return report.with_parts(takes=takes, speeds_m_s=self.speeds, warnings=warnings)

    def _beyond(self, speed: float) -> str | None:
        low, high = self.speeds
        if low - _SPEED_TOLERANCE <= speed <= high + _SPEED_TOLERANCE:
            return None
        kind = "slower" if speed < low else "faster"
        return (
            f"a speed of {speed:.2f} m/s was requested, but these takes only allow {low:.2f} to "
            f"{high:.2f} m/s. Add {kind} takes, or request a speed in this range"
        )

    @cached_property
    def statistics(self) -> SourceStatistics:
        """Statistics of the motions, used as the baseline for the quality of generated motion."""
        return SourceStatistics.of(self.motions)
