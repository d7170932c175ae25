"""Ballrooms, in which couples dance around a room without colliding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.blending.player import frame_count
from motionloom.crowd.couples import couple_radius
from motionloom.crowd.crowd_player import (
    Block,
    BlockPlayer,
    CrowdMotion,
    CrowdPlayer,
    movement_frames,
    smoothest,
)
from motionloom.crowd.settings import RADIUS, SWAY, BallroomSettings
from motionloom.crowd.steering import danced
from motionloom.dance.choreography import Choreography
from motionloom.errors import InvalidInput
from motionloom.parallel import Progress

Array = NDArray[np.float64]

_MARGIN = 0.04  # meters of free space around a couple
_TURN = 0.6  # maximum turn of a couple per movement, in radians


@dataclass(frozen=True, eq=False)
class Ballroom(CrowdMotion):
    """Result of `ballroom`: the motions of all couples."""

    settings: BallroomSettings

    def clearance(self) -> float:
        """Return the smallest gap between a couple and another, a wall or a column, in meters."""
        settings, at = self.settings, self.centers
        gaps = [np.inf]
        if settings.floor.room is not None:
            half = 0.5 * np.asarray(settings.floor.room)
            gaps.append(float((half - np.abs(at)).min()) - settings.floor.disc_radius)
        for x, z, size in settings.floor.columns:
            away = np.hypot(at[..., 0] - x, at[..., 1] - z)
            gaps.append(float(away.min()) - settings.floor.disc_radius - size)
        for i in range(len(at) - 1):
            away = np.hypot(*(at[i + 1 :] - at[i]).transpose(2, 0, 1))
            gaps.append(float(away.min()) - 2.0 * settings.floor.disc_radius)
        return min(gaps)


def ballroom(
    settings: BallroomSettings, choreography: Choreography, *, progress: Progress | None = None
) -> Ballroom:
    """Let couples dance around a room.

    Parameters
    ----------
    settings : BallroomSettings
    choreography : Choreography
        Choreography for one or more characters.
    progress : callable, optional
        Called with the number of hundredths done since the last call, 100 in total.

    Examples
    --------
    >>> from motionloom.crowd.built_in import waltz_steps
    >>> made = ballroom(BallroomSettings(couples=3, tempo_bpm=90, seconds=4), waltz_steps())
    >>> len(made.motions), made.clearance() >= 0.0, made.scene.names[:2]
    (3, True, ('couple 1 leader', 'couple 1 follower'))
    """
    made = smoothest(lambda avoid: BallroomPlayer(settings, choreography, avoid=avoid), progress)
    return Ballroom(**vars(made), settings=settings)


def fitted_ballroom(settings: BallroomSettings, choreography: Choreography) -> BallroomSettings:
    """Measure the radius of the couples in the takes, unless it is set."""
    if settings.floor.radius is not None or not settings.has_takes:
        return settings
    radius = max(round(couple_radius(choreography) + _MARGIN, 1), RADIUS)
    return replace(settings, floor=replace(settings.floor, radius=radius))


class BallroomPlayer(BlockPlayer):
    """Play all couples in a ballroom.

    The controls are ``speed``, the speed around the room in m/s, and ``facing``, the direction that
    leaders face, in degrees from the direction of travel. If ``facing`` is None, it is determined
    by the movements.

    Parameters
    ----------
    settings : BallroomSettings
    choreography : Choreography
    avoid : iterable of (int, int)
        Pairs of movements of which the second must not follow the first.
    """

    controls = ("speed", "facing")

    def __init__(
        self,
        settings: BallroomSettings,
        choreography: Choreography,
        *,
        avoid: Iterable[tuple[int, int]] = (),
    ) -> None:
        self._floor = _Floor(settings, choreography, avoid)
        music = settings.loaded_music(choreography.meter)
        super().__init__(
            danced_blocks(settings, choreography, floor=self._floor),
            choreography,
            settings.couples,
            "couple",
            _roles(choreography),
            music=music,
            seconds=music.seconds if settings.seconds is None else settings.seconds,
        )

    def _steer(self, **controls: Any) -> None:
        self._floor.steer_to(**controls)


def _roles(choreography: Choreography) -> tuple[str, ...]:
    count = len(choreography.movements[0].bodies)
    return ("leader", "follower") if count == 2 else ("",) * count


def danced_blocks(
    settings: BallroomSettings,
    choreography: Choreography,
    *,
    floor: _Floor | None = None,
) -> Iterator[Block]:
    """Yield the frames of all couples, one movement at a time, in constant memory."""
    music, fps = settings.loaded_music(choreography.meter), choreography.fps
    seconds = music.seconds if settings.seconds is None else settings.seconds
    frames = frame_count(seconds, None, fps)
    floor = floor or _Floor(settings, choreography)
    floor.player.set_speed(choreography.period * music.bpm / 60.0)
    for due in movement_frames(music, choreography, frames):
        chosen, weights = floor.choice(choreography.meter * 60.0 / music.bpm)
        yield floor.player.block(chosen, weights, due, floor.steer)


class _Floor:
    """State of all couples between movements."""

    def __init__(
        self,
        settings: BallroomSettings,
        choreography: Choreography,
        avoid: Iterable[tuple[int, int]] = (),
        *,
        by_travel: bool = True,
    ) -> None:
        self.graph, self._by_travel = choreography.graph, by_travel
        self._rng = np.random.default_rng([settings.seed, 2])
        self._centers = settings.starts().copy()
        count = len(self._centers)
        self._half = (
            np.full(2, np.inf)
            if settings.floor.room is None
            else 0.5 * np.asarray(settings.floor.room)
        )
        self._columns = np.asarray(settings.floor.columns, np.float64).reshape(-1, 3)
        self._radii = np.full(count, float(settings.floor.disc_radius) + SWAY)
        self._speed, self._dt = float(settings.floor.speed), 1.0 / choreography.fps
        self._facing = None if settings.floor.facing is None else np.deg2rad(settings.floor.facing)
        self._wanted, self._drifts = np.zeros((count, 2)), np.zeros((count, 2))
        self._yaws, self._rates = np.zeros(count), np.zeros(count)
        turns = self._rng.uniform(-np.pi, np.pi, count)
        self._headings = turns.copy()
        self._last: Array | None = None
        self._now: NDArray[np.int64] | None = None
        self.player = CrowdPlayer(
            choreography, np.column_stack([self._centers, turns]), avoid=avoid
        )

    def steer_to(self, **controls: Any) -> None:
        """Change speed (m/s) and facing (degrees) of all couples."""
        for name, value in controls.items():
            fine = value is None if name == "facing" else False
            if not fine and not (isinstance(value, int | float) and np.isfinite(value)):
                raise InvalidInput(f"{name} must be a finite number; got {value!r}")
        if "speed" in controls:
            self._speed = float(controls["speed"])
        if "facing" in controls:
            given = controls["facing"]
            self._facing = None if given is None else float(np.deg2rad(given))

    def choice(self, seconds: float) -> tuple[NDArray[np.int64], list[Array]]:
        """Choose the next node and blend weights of each agent, according to its desired travel."""
        way = seconds * np.hypot(*self._wanted.T)
        turn = np.arctan2(*self._wanted.T) - self._headings
        around = _wrapped(turn + (self._facing or 0.0))
        around = np.where(way > 0.1, np.clip(around, -_TURN, _TURN), 0.0)
        targets = np.column_stack([way * np.sin(turn), way * np.cos(turn), around])
        able = np.stack([self.player.able(i) for i in range(len(targets))])
        chosen = np.array(
            [self._drawn(i, target, able[i]) for i, target in enumerate(targets)], np.int64
        )
        weights: list[Array] = [np.empty(0)] * len(targets)
        for number in np.unique(chosen):
            who = np.flatnonzero(chosen == number)
            rows = self.player.weights_for(int(number), targets[who], able[who])
            for i, row in zip(who, rows, strict=True):
                weights[i] = row
        self._now = chosen
        return chosen, weights

    def _drawn(self, agent: int, target: Array, able: NDArray[np.bool_]) -> int:
        """Draw an agent's next node by transition probability and, by default, by its travel."""
        graph = self.graph
        likelihoods = graph.start if self._now is None else graph.transitions[self._now[agent]]
        smooth = likelihoods * [able[list(group)].any() for group in graph.members]
        likelihoods = smooth if smooth.any() else likelihoods
        possible = np.flatnonzero(likelihoods)
        if len(possible) == 1:
            return int(possible[0])
        odds = likelihoods[possible]
        if self._by_travel:
            odds = odds * [self.player.nodes[k].suits(target) for k in possible]
        return int(self._rng.choice(possible, p=odds / odds.sum()))

    def steer(self, natural: Array, headings: Array) -> tuple[Array, Array]:
        """Steer all couples through the frames of a movement."""
        last = natural[:, 0] if self._last is None else self._last
        steps = np.diff(np.concatenate([last[:, None], natural], axis=1), axis=1)
        means = steps.mean(axis=1) / self._dt
        centers, yaws = danced(
            self._centers, self._wanted, self._yaws, self._rates, self._drifts, steps, means,
            np.ascontiguousarray(headings), np.nan if self._facing is None else self._facing,
            self._radii, self._half, self._columns, self._speed, self._dt,
        )  # fmt: skip
        self._last = natural[:, -1].copy()
        self._headings = headings[:, -1] + yaws[:, -1]
        return centers, yaws


def _wrapped(angles: Array) -> Array:
    """Wrap angles to [-pi, pi)."""
    return (angles + np.pi) % (2.0 * np.pi) - np.pi
