"""A march: ranks and files along a street, dressed through its corners, in step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.blending.player import frame_count
from motionloom.crowd.player import Block, CrowdMotion, CrowdPlayer, gathered, movement_frames
from motionloom.crowd.settings import MarchSettings
from motionloom.crowd.steering import marched, travel_weights
from motionloom.errors import InvalidInput
from motionloom.motion.feet.contacts import landings
from motionloom.motion.rotations.planar_transform import PlanarTransform
from motionloom.rhythm.choreography import Choreography

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class March(CrowdMotion):
    """What was marched, and where.

    Examples
    --------
    >>> from motionloom.crowd.built_in import march_steps
    >>> from motionloom.crowd import MarchSettings, march
    >>> scene = MarchSettings(points=((0, 0), (0, 9)), ranks=2, files=1, tempo_bpm=96, seconds=4)
    >>> made = march(scene, march_steps())
    >>> made.centres.shape, made.left_feet_in_step() > 0.9
    ((2, 120, 2), True)
    """

    scene: MarchSettings

    def misplacement(self) -> Array:
        """Metres between everybody and their ideal place, (A, T)."""
        times = np.arange(self.centres.shape[1]) / self.motions[0][0].fps
        ideal = formation(self.scene, times)
        return np.hypot(*(self.centres - ideal[..., :2]).transpose(2, 0, 1))

    def left_feet_in_step(self) -> float:
        """Share of left landings within one frame of when most of the others land."""
        stands = np.stack([agent[0].contacts()["left_heel"] for agent in self.motions])
        every = [landings(one) for one in stands]
        beats = landings(stands.mean(axis=0) > 0.5)
        if not len(beats):
            return 0.0
        near = [np.abs(beats[None] - one[:, None]).min(axis=1) <= 1 for one in every if len(one)]
        return float(np.concatenate(near).mean())


def formation(scene: MarchSettings, times: Array) -> Array:
    """Ideal places (A, T, 3) of everybody at times (T,), rank by rank, the right file first."""
    ranks = np.repeat(np.arange(scene.ranks), scene.files)
    offsets = np.tile(scene.offsets, scene.ranks)
    way = scene.speed * times[None] + scene.spacing * (scene.ranks - 1 - ranks)[:, None]
    return scene.street.beside(way, offsets[:, None])


def march(scene: MarchSettings, choreography: Choreography) -> March:
    """March a scene.

    Parameters
    ----------
    scene : MarchSettings
    choreography : Choreography
        Marches of several speeds and turns.

    Examples
    --------
    >>> from motionloom.crowd.built_in import march_steps
    >>> scene = MarchSettings(points=((0, 0), (0, 9)), ranks=2, files=2, tempo_bpm=96, seconds=4)
    >>> made = march(scene, march_steps())
    >>> len(made.motions), bool(made.misplacement().mean() < 0.25)
    (4, True)
    """
    music = scene.heard(choreography.meter, scene.seconds_on_street)
    blocks = list(marched_blocks(scene, choreography))
    made = gathered(blocks, choreography, music, "soldier", ("",))
    return March(made.motions, made.centres, music, scene)


def marched_blocks(scene: MarchSettings, choreography: Choreography) -> Iterator[Block]:
    """The scene movement by movement, in constant memory."""
    fps, meter = choreography.fps, choreography.meter
    if len(choreography.movements[0].bodies) != 1:
        raise InvalidInput("soldiers march alone; these movements are of several bodies")
    music = scene.heard(meter, scene.seconds_on_street)
    seconds = min(scene.seconds or music.seconds, scene.seconds_on_street)
    frames = frame_count(seconds, None, fps)
    starts = formation(scene, np.zeros(1))[:, 0]
    player = CrowdPlayer(choreography, starts)
    count, node = len(starts), player.nodes[0]
    centres = starts[:, :2].copy()
    drifts, yaws, rates = np.zeros((count, 2)), np.zeros(count), np.zeros(count)
    facing, last = starts[:, 2].copy(), None
    length = meter * 60.0 / music.bpm
    start = 0
    for due in movement_frames(music, choreography, frames):
        now = (start + np.arange(len(due))) / fps
        goals = formation(scene, now)
        later = formation(scene, np.array([now[0] + length]))[:, 0]
        here = PlanarTransform(centres[:, 0], centres[:, 1], facing)
        wish = PlanarTransform.between(here, PlanarTransform.from_array(later)).to_array()
        wish[:, 2] = (wish[:, 2] + np.pi) % (2.0 * np.pi) - np.pi
        weights = list(travel_weights(node, wish))

        def carry(natural: Array, headings: Array, goals: Array = goals) -> tuple[Array, Array]:
            nonlocal last, facing
            before = natural[:, 0] if last is None else last
            steps = np.diff(np.concatenate([before[:, None], natural], axis=1), axis=1)
            out, turned = np.empty(natural.shape), np.empty(headings.shape)
            marched(centres, yaws, rates, drifts, steps, headings, goals, 1.0 / fps, out, turned)
            last = natural[:, -1].copy()
            facing = headings[:, -1] + turned[:, -1]
            return out, turned

        yield player.block(np.zeros(count, np.int64), weights, due, carry)
        start += len(due)
