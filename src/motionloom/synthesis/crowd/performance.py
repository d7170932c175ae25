"""A performance of a troupe: blocks of frames put together, and how well it went."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.motion import Motion, Provenance, Source
from motionloom.motion.contacts import FOOT_PARTS, landings
from motionloom.synthesis.crowd.troupe import Block
from motionloom.synthesis.rhythm.beat_clock import MusicClock
from motionloom.synthesis.rhythm.choreography import Choreography
from motionloom.synthesis.rhythm.dance_nodes import DanceNode
from motionloom.synthesis.rhythm.music import Music, beats_met

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
