"""A ballroom: couples waltz around it and never bump."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.blending.player import frame_count
from motionloom.crowd.player import Block, CrowdMotion, CrowdPlayer, gathered, movement_frames
from motionloom.crowd.settings import SWAY, BallroomSettings
from motionloom.crowd.steering import danced, travel_weights
from motionloom.rhythm.choreography import Choreography

Array = NDArray[np.float64]

_TURN = 0.6  # radians that couples are asked to turn at most per movement


@dataclass(frozen=True, eq=False)
class Ballroom(CrowdMotion):
    """What was danced, and where.

    Examples
    --------
    >>> from motionloom.crowd.built_in import waltz_steps
    >>> from motionloom.crowd import BallroomSettings, ballroom
    >>> made = ballroom(BallroomSettings(couples=2, tempo_bpm=90, seconds=3), waltz_steps())
    >>> [motion.name for motion in made.every]
    ['couple 1 leader', 'couple 1 follower', 'couple 2 leader', 'couple 2 follower']
    """

    scene: BallroomSettings

    def clearance(self) -> float:
        """Least gap in metres, over all frames, between discs, walls and columns; >= 0 is well."""
        scene, at = self.scene, self.centres
        gaps = [np.inf]
        if scene.room is not None:
            half = 0.5 * np.asarray(scene.room)
            gaps.append(float((half - np.abs(at)).min()) - scene.radius)
        for x, z, size in scene.columns:
            away = np.hypot(at[..., 0] - x, at[..., 1] - z)
            gaps.append(float(away.min()) - scene.radius - size)
        for i in range(len(at) - 1):
            away = np.hypot(*(at[i + 1 :] - at[i]).transpose(2, 0, 1))
            gaps.append(float(away.min()) - 2.0 * scene.radius)
        return min(gaps)


def ballroom(scene: BallroomSettings, choreography: Choreography) -> Ballroom:
    """Dance a scene.

    Parameters
    ----------
    scene : BallroomSettings
    choreography : Choreography
        What couples dance, of one or more bodies each.

    Examples
    --------
    >>> from motionloom.crowd.built_in import waltz_steps
    >>> made = ballroom(BallroomSettings(couples=3, tempo_bpm=90, seconds=4), waltz_steps())
    >>> len(made.motions), made.clearance() >= 0.0
    (3, True)
    """
    music = scene.heard(choreography.meter)
    blocks = list(danced_blocks(scene, choreography))
    count = len(blocks[0].root)
    roles = ("leader", "follower") if count == 2 else ("",) * count
    made = gathered(blocks, choreography, music, "couple", roles)
    return Ballroom(made.motions, made.centres, music, scene)


def danced_blocks(scene: BallroomSettings, choreography: Choreography) -> Iterator[Block]:
    """The scene movement by movement, in constant memory."""
    music, fps = scene.heard(choreography.meter), choreography.fps
    frames = frame_count(music.seconds if scene.seconds is None else scene.seconds, None, fps)
    floor = _Floor(scene, choreography)
    for due in movement_frames(music, choreography, frames):
        chosen, weights = floor.choice(choreography.meter * 60.0 / music.bpm)
        yield floor.player.block(chosen, weights, due, floor.carry)


class _Floor:
    """Everybody on the floor: the state between movements."""

    def __init__(self, scene: BallroomSettings, choreography: Choreography) -> None:
        self.graph = choreography.graph
        self._rng = np.random.default_rng([scene.seed, 2])
        self._centres = scene.starts().copy()
        count = len(self._centres)
        self._half = np.full(2, np.inf) if scene.room is None else 0.5 * np.asarray(scene.room)
        self._columns = np.asarray(scene.columns, np.float64).reshape(-1, 3)
        self._radii = np.full(count, float(scene.radius) + SWAY)
        self._speed, self._dt = float(scene.speed), 1.0 / choreography.fps
        self._wanted, self._drifts = np.zeros((count, 2)), np.zeros((count, 2))
        self._yaws, self._rates = np.zeros(count), np.zeros(count)
        turns = self._rng.uniform(-np.pi, np.pi, count)
        self._headings = turns.copy()
        self._last: Array | None = None
        self._now: NDArray[np.int64] | None = None
        self.player = CrowdPlayer(choreography, np.column_stack([self._centres, turns]))

    def choice(self, seconds: float) -> tuple[NDArray[np.int64], list[Array]]:
        """Everybody's next node and weights, after where each wants to go in `seconds`."""
        way = seconds * np.hypot(*self._wanted.T)
        turn = np.arctan2(*self._wanted.T) - self._headings
        turn = (turn + np.pi) % (2.0 * np.pi) - np.pi
        around = np.where(way > 0.1, np.clip(turn, -_TURN, _TURN), 0.0)
        wishes = np.column_stack([way * np.sin(turn), way * np.cos(turn), around])
        chosen = np.array([self._drawn(i, wish) for i, wish in enumerate(wishes)], np.int64)
        weights: list[Array] = [np.empty(0)] * len(wishes)
        for number in np.unique(chosen):
            who = np.flatnonzero(chosen == number)
            rows = travel_weights(self.player.nodes[number], wishes[who])
            for i, row in zip(who, rows, strict=True):
                weights[i] = row
        self._now = chosen
        return chosen, weights

    def _drawn(self, agent: int, wish: Array) -> int:
        """One agent's next node, by the graph's chances and by how it travels."""
        graph = self.graph
        chances = graph.start if self._now is None else graph.transitions[self._now[agent]]
        possible = np.flatnonzero(chances)
        if len(possible) == 1:
            return int(possible[0])
        odds = chances[possible] * [self.player.nodes[k].suits(wish) for k in possible]
        return int(self._rng.choice(possible, p=odds / odds.sum()))

    def carry(self, natural: Array, headings: Array) -> tuple[Array, Array]:
        """Forces, bends and discs over the frames of a movement."""
        last = natural[:, 0] if self._last is None else self._last
        steps = np.diff(np.concatenate([last[:, None], natural], axis=1), axis=1)
        means = steps.mean(axis=1) / self._dt
        centres, yaws = np.empty(natural.shape), np.empty(headings.shape)
        danced(
            self._centres, self._wanted, self._yaws, self._rates, self._drifts, steps, means,
            self._radii, self._half, self._columns, self._speed, self._dt, centres, yaws,
        )  # fmt: skip
        self._last = natural[:, -1].copy()
        self._headings = headings[:, -1] + yaws[:, -1]
        return centres, yaws
