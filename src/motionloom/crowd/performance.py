"""A performance of a troupe: blocks of frames put together, and how well it went.

An account of a performance: how well everybody moved, and what it was made of.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.crowd.crowd_player import Block
from motionloom.motion import Motion, Provenance, Source
from motionloom.motion.diagnostics.quality import QualityReport, quality_report, usual_acceleration
from motionloom.motion.feet.contacts import FOOT_PARTS, landings
from motionloom.rhythm.choreography import Choreography
from motionloom.rhythm.dance_nodes import DanceNode
from motionloom.rhythm.music.beat_clock import MusicClock
from motionloom.rhythm.music.music import Music, beats_met

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Performance:
    """Everybody's motion.

    Attributes
    ----------
    motions : tuple of tuple of Motion
        Per agent, one per body: ``(leader, follower)`` or ``(soldier,)``.
    centres : ndarray, shape (A, T, 2)
        Where each agent's middle is, ``x, z``.
    music : Music
    """

    motions: tuple[tuple[Motion, ...], ...]
    centres: Array
    music: Music

    @property
    def every(self) -> list[Motion]:
        """All characters."""
        return [motion for agent in self.motions for motion in agent]

    def beats_on_time(self) -> tuple[int, int]:
        """Beats of the music times agents, and on how many a foot lands within one frame.

        Landings of heels and balls are found anew, in the motions as they came out.
        """
        fps, frames = self.motions[0][0].fps, self.centres.shape[1]
        heard = self.music.inner_beats((frames - 1) / fps)
        within = 0
        for agent in self.motions:
            found = [motion.contacts() for motion in agent]
            landed = np.concatenate([landings(one[part]) for one in found for part in FOOT_PARTS])
            within += beats_met(heard, landed / fps, fps)
        return len(heard) * len(self.motions), within


def movement_frames(music: Music, choreography: Choreography, frames: int) -> Iterator[Array]:
    """Frame by frame of the music, movement by movement: frames (n,) of it that are due."""
    meter = choreography.meter
    beats = MusicClock(music).beats_at(0, frames, choreography.fps)
    first = (float(music.downbeats[0]) if len(music.downbeats) else 0.0) + choreography.lead
    # A frame just short of a start by rounding is on it.
    bars = np.floor((beats - first) / meter + 1e-9)
    edges = np.flatnonzero(np.diff(bars)) + 1
    for start, stop in zip([0, *edges], [*edges, frames], strict=True):
        due = (beats[start:stop] - first - meter * bars[start]) * choreography.beat_frames
        yield np.clip(due, 0.0, None)


def gathered(
    blocks: list[Block], choreography: Choreography, music: Music, name: str, roles: Sequence[str]
) -> Performance:
    """Blocks one after the other, from the first frame on."""
    nodes = choreography.dance_nodes
    skeletons = [clips.skeleton for clips in nodes[0].clips]
    bodies = range(len(skeletons))
    turned = [np.concatenate([one.rotations[c] for one in blocks], axis=1) for c in bodies]
    moved = [np.concatenate([one.root[c] for one in blocks], axis=1) for c in bodies]
    motions = tuple(
        tuple(
            Motion(
                skeletons[c], turned[c][i], moved[c][i], choreography.fps,
                name=" ".join(filter(None, (name, str(i + 1), roles[c]))),
                provenance=_provenance(blocks, nodes, i, c),
            )
            for c in bodies
        )
        for i in range(len(moved[0]))
    )  # fmt: skip
    # The middles of the bodies as they came out, held feet and all.
    centres = np.asarray(np.mean([one[..., [0, 2]] for one in moved], axis=0, dtype=np.float64))
    return Performance(motions, centres, music)


def _provenance(
    blocks: list[Block], nodes: Sequence[DanceNode], agent: int, body: int
) -> Provenance:
    """Which source frames an agent's body shows, with which weights."""
    sources, seams, start = [], [], 0
    for block in blocks:
        stop = start + len(block.frames)
        movements = nodes[block.chosen[agent]].movements
        for movement, weight in zip(movements, block.weights[agent], strict=True):
            if weight > 0.0:
                first, last = movement.source_frames(block.frames[[0, -1]])
                sources.append(
                    Source(
                        movement.source[body], float(first), float(last) + 1.0, start, stop,
                        float(weight),
                    )
                )  # fmt: skip
        seams += [start] * (start > 0)
        start = stop
    return Provenance(tuple(sources), tuple(seams))


@dataclass(frozen=True)
class CrowdQuality:
    """The quality of a crowd.

    Attributes
    ----------
    worst : QualityReport
        The largest of each figure over all characters.
    mean : QualityReport
        Their means.
    """

    worst: QualityReport
    mean: QualityReport


def crowd_quality(performance: Performance, choreography: Choreography) -> CrowdQuality:
    """Foot slide, floor penetration and seams of all characters.

    Accelerations at seams are held against those of the movements of the same body: leaders
    against leaders, followers against followers.
    """
    usual = [
        usual_acceleration(movement.bodies[body] for movement in choreography.movements)
        for body in range(len(performance.motions[0]))
    ]
    reports = [
        quality_report(motion, usual=usual[body])
        for agent in performance.motions
        for body, motion in enumerate(agent)
    ]
    return CrowdQuality(QualityReport.worst_of(reports), QualityReport.mean_of(reports))


def crowd_sources(performance: Performance) -> list[dict[str, Any]]:
    """What the crowd was made of: source frames, when they were shown, and by how many.

    ``weight`` is the mean over the characters that show them, ``characters`` how many do.
    """
    weights: dict[tuple, list[float]] = {}
    for motion in performance.every:
        for source in motion.sources:
            row = source.as_dict()
            weight = row.pop("weight")
            weights.setdefault(tuple(row.items()), []).append(weight)
    rows = [
        {**dict(key), "weight": round(float(np.mean(seen)), 6), "characters": len(seen)}
        for key, seen in weights.items()
    ]
    return sorted(rows, key=lambda row: (row["start"], row["motion"]))
