"""Hours of motion to a BVH file, in little memory, and how good it is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from motionloom.blending.player import FrameBlock
from motionloom.formats.bvh.writer import bvh_stream
from motionloom.motion import Motion, Provenance, Source
from motionloom.motion.diagnostics.quality import (
    QualityReport,
    floor_penetration,
    foot_slide,
    seam_ratio,
    usual_acceleration,
)
from motionloom.motion.feet.contacts import foot_contacts
from motionloom.motion.provenance import merged
from motionloom.parallel import Progress

if TYPE_CHECKING:
    from motionloom.motion_graph.graph import MotionGraph
    from motionloom.motion_graph.player import GraphPlayer

_BLOCK = 3_000  # frames made, measured and written at once
_SOURCES = 20_000  # that are reported at most


@dataclass(frozen=True)
class Written:
    """A file that was written: its frames, their quality, what they are made of."""

    frames: int
    quality: QualityReport
    sources: tuple[Source, ...]


def write_walk(
    player: GraphPlayer,
    path: str | Path,
    frames: int,
    *,
    progress: Progress | None = None,
) -> Written:
    """Play so many frames into a BVH file.

    Parameters
    ----------
    player : GraphPlayer
    path : str or Path
        The file appears when it is complete.
    frames : int
    progress : callable, optional
        Called with the number of frames done since the last call.

    Returns
    -------
    written : Written
    """
    meter = _Meter(player.graph)
    sources: list[Source] = []
    with bvh_stream(path, player.skeleton, frames=frames, fps=player.fps) as out:
        left = frames
        while left:
            block = player.read(min(_BLOCK, left))
            if not len(block):
                break
            out.write(block.rotations, block.root)
            meter.measure(block)
            if len(sources) < _SOURCES:
                sources += block.sources
            left -= len(block)
            if progress is not None:
                progress(len(block))
    return Written(frames, meter.report(), merged(sources))


class _Meter:
    """Quality of what is played, block by block."""

    def __init__(self, graph: MotionGraph) -> None:
        self._graph = graph
        self._usual = usual_acceleration(graph.motions)
        self._slide = self._contacts = self._depth = self._frames = 0.0
        self._abrupt: float | None = None

    def measure(self, block: FrameBlock) -> None:
        seams = tuple(seam - block.start for seam in block.seams)
        clip = Motion(
            self._graph.skeleton,
            block.rotations,
            block.root,
            self._graph.fps,
            provenance=Provenance((), seams),
        )
        contacts = foot_contacts(clip)
        slide = foot_slide(clip, contacts)
        self._slide += slide.per_contact_m * slide.contacts
        self._contacts += slide.contacts
        self._depth += floor_penetration(clip, contacts) * len(clip)
        self._frames += len(clip)
        worst = seam_ratio(clip, self._usual)
        if worst is not None:
            self._abrupt = max(worst, self._abrupt or 0.0)

    def report(self) -> QualityReport:
        return QualityReport(
            self._slide / max(self._contacts, 1.0),
            self._depth / max(self._frames, 1.0),
            self._abrupt,
        )
