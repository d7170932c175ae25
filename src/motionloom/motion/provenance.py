"""Provenance: the captured frames that make up a synthesized motion.

A blend lists all its examples over its whole length, each with its weight. A random walk lists its
segments one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Source:
    """A segment of captured motion that is part of a synthesized motion.

    Attributes
    ----------
    motion : str
        Name of the captured motion in its library.
    start_frame, end_frame : float
        Frames ``[start_frame, end_frame)`` of the stored motion; fractional after a timewarp.
    start, end : int
        Frames ``[start, end)`` of the result.
    weight : float
        Mean blend weight in these frames.
    part : str
        The part of the body that the segment moves, such as ``right arm``; empty for the whole
        body.
    mirrored : bool
        True if left and right were swapped.

    Examples
    --------
    >>> from motionloom.motion import Source
    >>> Source("walk", 10, 20, 0, 10, 1.0).moved(5)
    Source(motion='walk', start_frame=10, end_frame=20, start=5, end=15, weight=1.0,
           part='', mirrored=False)
    """

    motion: str
    start_frame: float
    end_frame: float
    start: int
    end: int
    weight: float = 1.0
    part: str = ""
    mirrored: bool = False

    def cut(self, start: int, end: int) -> Source | None:
        """Return the part within result frames ``[start, end)``, or None if it is empty."""
        first, last = max(start, self.start), min(end, self.end)
        if first >= last:
            return None
        rate = (self.end_frame - self.start_frame) / (self.end - self.start)
        return replace(
            self,
            start_frame=self.start_frame + rate * (first - self.start),
            end_frame=self.start_frame + rate * (last - self.start),
            start=first,
            end=last,
        )

    def moved(self, frames: int) -> Source:
        """Return the source, shifted by `frames` frames in the result."""
        return replace(self, start=self.start + frames, end=self.end + frames)

    def as_dict(self) -> dict[str, Any]:
        """Return the source as a plain dictionary."""
        return {
            "motion": self.motion,
            "start_frame": round(self.start_frame, 3),
            "end_frame": round(self.end_frame, 3),
            "start": self.start,
            "end": self.end,
            "weight": round(self.weight, 6),
            **({"part": self.part} if self.part else {}),
            **({"mirrored": True} if self.mirrored else {}),
        }


@dataclass(frozen=True)
class Provenance:
    """Sources of a motion, and the seams at which one source is followed by the next.

    Attributes
    ----------
    sources : tuple of Source
    seams : tuple of int
        The frame of the result in the middle of each transition.

    Examples
    --------
    >>> made = Provenance((Source("walk", 10, 40, 0, 30), Source("jog", 5, 45, 20, 60)), (25,))
    >>> made.cut(20, 60).sources[0]
    Source(motion='walk', start_frame=30.0, end_frame=40.0, start=0, end=10, weight=1.0,
           part='', mirrored=False)
    >>> made.cut(20, 60).seams
    (5,)
    """

    sources: tuple[Source, ...]
    seams: tuple[int, ...] = ()

    def cut(self, start: int, end: int, step: int = 1) -> Provenance:
        """Return the provenance of every `step`-th frame in ``[start, end)``."""
        parts = (source.cut(start, end) for source in self.sources)
        kept = Provenance(
            tuple(part.moved(-start) for part in parts if part is not None),
            tuple(seam - start for seam in self.seams if start <= seam < end),
        )
        return kept if step == 1 else kept.resampled(1.0 / step)

    def resampled(self, ratio: float) -> Provenance:
        """Return the provenance after resampling to `ratio` times the frame rate."""
        spread = []
        for source in self.sources:
            start = round(source.start * ratio)
            end = max(round(source.end * ratio), start + 1)
            spread.append(replace(source, start=start, end=end))
        return Provenance(tuple(spread), tuple(round(seam * ratio) for seam in self.seams))

    def take_at(self, frame: int) -> str:
        """Return the take with the largest weight in a frame of the result, or "" if none."""
        there = [
            source
            for source in self.sources
            if source.start <= frame < source.end and not source.part
        ]
        return max(there, key=lambda source: source.weight).motion if there else ""

    def to_json(self) -> list[dict[str, Any]]:
        """Return the sources as JSON-compatible data."""
        return [source.as_dict() for source in self.sources]


def joined_provenance(parts: Sequence[tuple[Provenance | None, int]]) -> Provenance | None:
    """Join the provenance of consecutive motions; `parts` holds (provenance, frame count) pairs.

    Returns None if no part has provenance.
    """
    if all(provenance is None for provenance, _ in parts):
        return None
    sources: list[Source] = []
    seams: list[int] = []
    at = 0
    for provenance, frames in parts:
        if provenance is not None:
            sources.extend(source.moved(at) for source in provenance.sources)
            seams.extend(seam + at for seam in provenance.seams)
        at += frames
    return Provenance(merged(sources), tuple(seams))


def merged(sources: Iterable[Source]) -> tuple[Source, ...]:
    """Merge consecutive sources if one continues the other.

    Examples
    --------
    >>> merged([Source("walk", 0, 10, 0, 10), Source("walk", 10, 15, 10, 15)])
    (Source(motion='walk', start_frame=0, end_frame=15, start=0, end=15, weight=1.0,
           part='', mirrored=False),)
    """
    whole: list[Source] = []
    open_ends: dict[tuple[str, int, float, str, bool], int] = {}
    for source in sources:
        at = open_ends.pop(
            (source.motion, source.start, source.weight, source.part, source.mirrored), None
        )
        if at is not None and abs(whole[at].end_frame - source.start_frame) < 1e-6:
            whole[at] = replace(whole[at], end_frame=source.end_frame, end=source.end)
        else:
            at = len(whole)
            whole.append(source)
        open_ends[source.motion, source.end, source.weight, source.part, source.mirrored] = at
    return tuple(whole)
