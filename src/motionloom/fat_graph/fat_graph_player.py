"""Playback of a fat graph: endless motion with steerable direction and speed.

The player plays one fat edge at a time. Turn and speed may change at any frame, and the blend
weights follow their targets. An edge ends in a base pose, where the next edge begins, and the
offset between the two poses fades out (`motionloom.blending.inertialization`). If no blend turns
enough, the path is bent a little, as far as the feet can follow. The next edge is chosen by the
cost of keeping the requested speed from there on, so the player finds a route from standing to
running if one exists. The controls of ``steer`` are:

``direction``
    Heading in radians from +Z toward +X; None means straight on.
``speed``
    Speed in m/s; None allows any speed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motionloom.blending import BlendPlayer
from motionloom.blending.inertialization import Inertializer
from motionloom.blending.player import FrameBlock, Player
from motionloom.blending.transitions import Window, aligning_transform
from motionloom.errors import InvalidInput
from motionloom.motion import Motion, Source
from motionloom.motion.diagnostics.quality import QualityReport
from motionloom.motion.feet.streaming import StreamingFootLock
from motionloom.motion.rotations.planar_transform import PlanarTransform

if TYPE_CHECKING:
    from motionloom.fat_graph.graph import FatEdge, FatGraph

Array = NDArray[np.float64]

_FORESIGHT = 0.9  # discount factor per edge
_LATE = 0.8  # fraction of an edge after which new controls apply to the next edge
_BEND = 0.35  # rad/s; maximum bending of the path if no blend turns enough
# Cost of changing the gait, in meters of deviation. Without it, the player would keep a speed
# between a walk and a jog by changing from one to the other and back.
_CHANGE_OF_GAIT = 1.0
_SEEN = 3  # frames of the next edge that the seam needs


class FatPlayer(Player):
    """Player of a fat graph; see `FatGraph.player`.

    Parameters
    ----------
    graph : FatGraph
    direction, speed : float or None
        Initial controls, as in `steer`.
    start : int
        Base pose to start with. The player starts at the origin and moves along +Z.

    Examples
    --------
    >>> from motionloom.fat_graph import FatGraphSettings, FatPlayer, fat_graph
    >>> walks = [ml.demo.clip(kind) for kind in ("walk", "walk_left", "walk_right")]
    >>> player = FatPlayer(fat_graph(walks, FatGraphSettings(examples=4)), speed=1.2)
    >>> player.steer(direction=0.8)
    >>> player.record(seconds=2)
    Motion(60 frames at 30 fps = 2.00 s, 21 joints)
    """

    controls = ("direction", "speed")

    def __init__(
        self,
        graph: FatGraph,
        *,
        direction: float | None = 0.0,
        speed: float | None = None,
        start: int = 0,
    ) -> None:
        if not 0 <= start < len(graph.poses):
            raise InvalidInput(
                f"start must be the number of a base pose, 0 to {len(graph.poses) - 1}; got {start}"
            )
        self.graph, self.skeleton, self.fps = graph, graph.skeleton, graph.fps
        self._clips = {str(clip): clip for edge in graph.edges for clip in edge.clips}
        self._controls = {
            "direction": _number(direction, "direction"),
            "speed": _number(speed, "speed"),
        }
        self._asked = {} if speed is None else {float(speed): None}  # requested speeds, in order
        self._inertializer = Inertializer(len(self.skeleton), self.fps)
        self._foot_lock = StreamingFootLock(self.skeleton, self.fps)
        self._played = 0
        self._costs = self._costs_to_go()
        self._last: FrameBlock | None = None  # the last frame, before the foot lock
        self._ready: FrameBlock | None = None  # frames of the edge that were read but not played
        self._facing = 0.0  # direction of travel at the start of the edge
        self._enter(start)

    def quality(self, motion: Motion) -> QualityReport:
        """Return the quality of recorded frames, with warnings about speeds that cannot be kept."""
        return self.graph.quality(motion, self._asked)

    def _read(self, count: int) -> FrameBlock:
        parts, seams = [FrameBlock.empty(len(self.skeleton), self._played)], []
        while count > 0:
            part = self._next(count)
            if not len(part):
                self._enter(self._edge.target)
                seams.append(self._played)
                continue
            rotations, root = self._inertializer.apply(part.rotations, part.root)
            part = replace(part, rotations=rotations, root=root)
            self._last = replace(
                part, rotations=rotations[-1:], root=root[-1:], contacts=part.contacts[-1:]
            )
            parts.append(part)
            count -= len(part)
            self._played += len(part)
        whole = FrameBlock.joined(parts)
        rotations, root = self._foot_lock.lock(whole.rotations, whole.root, whole.contacts)
        return replace(whole, rotations=rotations, root=root, seams=tuple(seams))

    def _steer(self, **controls: Any) -> None:
        self._controls |= {name: _number(value, name) for name, value in controls.items()}
        if "speed" in controls:
            self._costs = self._costs_to_go()
            if (speed := self._controls["speed"]) is not None:
                self._asked[speed] = None
        gone = min(self._frames_on_edge / max(self._edge.seconds * self.fps, 1.0), 1.0)
        if gone < _LATE:
            self._aim(gone)

    # --- playing, edge by edge -------------------------------------------------------

    def _next(self, count: int) -> FrameBlock:
        """Return up to `count` transformed frames of the edge, or none at the end of the edge."""
        part = self._ready
        if part is not None and len(part) > count:
            self._ready = _cut(part, count, len(part))
            part = _cut(part, 0, count)
        elif part is not None:
            self._ready = None
        else:
            part = self._moved(self._blend.read(count))
        self._frames_on_edge += len(part)
        shift = self._played - part.start
        sources = tuple(self._captured(source.moved(shift)) for source in part.sources)
        return replace(part, start=self._played, sources=sources)

    def _enter(self, pose: int) -> None:
        """Start the best edge from a base pose."""
        if self._last is not None:
            heading = float(self._pose(self._last).headings()[0])
            self._facing = heading + float(self.graph.offsets[pose])
        wanted = self._wanted_turn()
        self._edge = self._choice(pose, wanted)
        self._frames_on_edge = 0
        self._turn = self._bend = 0.0
        self._blend = BlendPlayer(
            self._edge.parametric.registration, self._weights(wanted), lock_feet=False
        )
        first = self._blend.read(1)
        self._transform = self._joining_transform(first, pose)
        if self._last is None:
            self._ready = self._moved(first)
            return
        self._ready = self._moved(self._blend.read(_SEEN))
        if len(self._ready) == _SEEN:
            self._inertializer.seam(self._ready.rotations, self._ready.root)

    def _joining_transform(self, first: FrameBlock, pose: int) -> PlanarTransform:
        """Return the transform that moves the first frame of an edge to the last frame played."""
        if self._last is not None:
            a, b = (
                Window(block.rotations, block.root, block.contacts) for block in (self._last, first)
            )
            return aligning_transform(self.skeleton, a, b)
        ahead = PlanarTransform(0.0, 0.0, -float(self.graph.offsets[pose]))
        return ahead @ PlanarTransform.to_origin(self._pose(first))

    def _moved(self, part: FrameBlock) -> FrameBlock:
        """Transform frames of the blend and bend them around the body."""
        transforms = np.empty((len(part), 3))
        for k, place in enumerate(part.root):
            x, _, z = self._transform.apply(place)
            to_body = PlanarTransform(-x, -z, 0.0)
            self._transform = PlanarTransform(x, z, self._bend) @ (to_body @ self._transform)
            transforms[k] = self._transform.to_array()
        whole = PlanarTransform.from_array(transforms)
        rotations, root = whole.apply_to_poses(part.rotations, part.root)
        return replace(part, rotations=rotations, root=root)

    def _pose(self, block: FrameBlock) -> Motion:
        """Return the first frame of a block as a motion."""
        return Motion(self.skeleton, block.rotations[:1], block.root[:1], self.fps)

    def _captured(self, source: Source) -> Source:
        """Convert a source to frames of the motion that its clip was cut from."""
        clip = self._clips[source.motion]
        return replace(
            source,
            motion=clip.motion,
            start_frame=source.start_frame + clip.start_frame,
            end_frame=source.end_frame + clip.start_frame,
        )

    # --- choosing edges --------------------------------------------------------------------

    def _wanted_turn(self) -> float:
        direction = self._controls["direction"]
        if direction is None:
            return 0.0
        return float(np.angle(np.exp(1j * (direction - self._facing))))

    def _aim(self, gone: float) -> None:
        """Change the blend weights so that the remaining frames of the edge complete the turn."""
        turned = self._turn + self._bend * self._edge.seconds * self.fps
        wanted = (self._wanted_turn() - gone * turned) / (1.0 - gone)
        self._blend.steer(weights=self._weights(wanted))

    def _weights(self, wanted: float) -> Array:
        """Return the blend weights for a turn of the path and the requested speed."""
        edge, offsets = self._edge, self.graph.offsets
        hips = wanted + float(offsets[edge.source] - offsets[edge.target])
        turn = float(np.clip(hips, *edge.turns))
        speed = self._controls["speed"]
        slow, fast = edge.speeds
        speed = 0.5 * (slow + fast) if speed is None else float(np.clip(speed, slow, fast))
        self._turn = turn - (hips - wanted)
        missing = (wanted - self._turn) / edge.seconds
        self._bend = float(np.clip(missing, -_BEND, _BEND)) / self.fps
        return edge.parametric.space.weights_for([turn, speed])

    def _choice(self, pose: int, wanted: float) -> FatEdge:
        edges = [self.graph.edges[number] for number in self.graph.leaving(pose)]

        def cost(edge: FatEdge) -> float:
            short = abs(wanted - float(np.clip(wanted, *edge.turns)))
            return self._cost(edge) + 0.5 * short + _FORESIGHT * float(self._costs[edge.target])

        return min(edges, key=cost)

    def _cost(self, edge: FatEdge) -> float:
        """Return the cost of an edge: speed deviation times duration, lower with more examples."""
        speed = self._controls["speed"]
        off = 0.0 if speed is None else abs(speed - float(np.clip(speed, *edge.speeds)))
        change = _CHANGE_OF_GAIT if edge.bridge else 0.0
        return (off + 0.1 / np.sqrt(edge.members)) * edge.seconds + change

    def _costs_to_go(self) -> Array:
        """Return the cost (B,) of continuing from each base pose, computed by value iteration."""
        costs = np.zeros(len(self.graph.poses))
        own = [(edge.source, edge.target, self._cost(edge)) for edge in self.graph.edges]
        for _ in range(100):
            best = np.full(len(costs), np.inf)
            for source, target, cost in own:
                best[source] = min(best[source], cost + _FORESIGHT * costs[target])
            if np.allclose(best, costs, atol=1e-6):
                break
            costs = best
        return costs


def _cut(part: FrameBlock, first: int, last: int) -> FrameBlock:
    """Return the frames ``[first, last)`` of a block."""
    low, high = part.start + first, part.start + last
    cuts = (source.cut(low, high) for source in part.sources)
    return FrameBlock(
        part.rotations[first:last],
        part.root[first:last],
        part.contacts[first:last],
        low,
        tuple(source for source in cuts if source is not None),
    )


def _number(value: float | None, name: str) -> float | None:
    if value is None:
        return None
    given = float(value) if np.ndim(value) == 0 else np.nan
    if not np.isfinite(given) or (name == "speed" and given < 0.0):
        kind = "finite, non-negative number" if name == "speed" else "finite number"
        raise InvalidInput(f"{name} must be a {kind}; got {value!r}")
    return given
