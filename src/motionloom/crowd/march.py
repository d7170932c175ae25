"""Marches, in which soldiers in ranks and files walk in step along a street."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from motionloom.blending.player import frame_count
from motionloom.crowd.crowd_player import (
    Block,
    BlockPlayer,
    CrowdMotion,
    CrowdPlayer,
    movement_frames,
    smoothest,
)
from motionloom.crowd.settings import CADENCE, MarchSettings
from motionloom.crowd.steering import marched
from motionloom.crowd.strides import pace
from motionloom.dance.choreography import Choreography
from motionloom.errors import InvalidInput
from motionloom.motion.feet.contacts import landings
from motionloom.motion.rotations.planar_transform import PlanarTransform
from motionloom.parallel import Progress

Array = NDArray[np.float64]

_STREET_SCALES = (1.0, 1.5, 2.0, 3.0, 4.0)
_SPARE = 0.15  # m/s: amount by which outer files may be faster than the takes


@dataclass(frozen=True, eq=False)
class March(CrowdMotion):
    """Result of `march`: the motions of all soldiers."""

    settings: MarchSettings

    def misplacement(self) -> Array:
        """Return the distance (A, T) of each soldier from its place in the formation, in meters."""
        times = np.arange(self.centers.shape[1]) / self.motions[0][0].fps
        ideal = formation(self.settings, times)
        return np.hypot(*(self.centers - ideal[..., :2]).transpose(2, 0, 1))

    def left_feet_in_step(self) -> float:
        """Return the fraction of left foot landings that are within one frame of most soldiers'."""
        stands = np.stack([agent[0].contacts()["left_heel"] for agent in self.motions])
        every = [landings(stand) for stand in stands]
        beats = landings(stands.mean(axis=0) > 0.5)
        if not len(beats):
            return 0.0
        near = [
            np.abs(beats[None] - landed[:, None]).min(axis=1) <= 1
            for landed in every
            if len(landed)
        ]
        return float(np.concatenate(near).mean())


def formation(settings: MarchSettings, times: Array) -> Array:
    """Return positions (A, T, 3) in the formation at times (T,), rank by rank, right file first."""
    ranks = np.repeat(np.arange(settings.formation.ranks), settings.formation.files)
    offsets = np.tile(settings.formation.offsets, settings.formation.ranks)
    way = (
        settings.formation.pace * times[None]
        + settings.formation.spacing * (settings.formation.ranks - 1 - ranks)[:, None]
    )
    return settings.street.positions(way, offsets[:, None])


def march(
    settings: MarchSettings, choreography: Choreography, *, progress: Progress | None = None
) -> March:
    """Let soldiers march along a street.

    Parameters
    ----------
    settings : MarchSettings
    choreography : Choreography
        Choreography of strides that differ in speed and turn.
    progress : callable, optional
        Called with the number of hundredths done since the last call, 100 in total.

    Examples
    --------
    >>> from motionloom.crowd.built_in import march_steps
    >>> from motionloom.crowd.settings import Formation
    >>> pairs = Formation(ranks=2, files=2)
    >>> settings = MarchSettings(points=((0, 0), (0, 9)), formation=pairs, tempo_bpm=96, seconds=4)
    >>> made = march(settings, march_steps())
    >>> made.centers.shape, bool(made.misplacement().mean() < 0.25), made.left_feet_in_step() > 0.9
    ((4, 120, 2), True, True)
    """
    made = smoothest(lambda avoid: MarchPlayer(settings, choreography, avoid=avoid), progress)
    return March(**vars(made), settings=settings)


def fitted_march(
    settings: MarchSettings, choreography: Choreography, *, fit_speed: bool, fit_street: bool
) -> MarchSettings:
    """Adapt the speed and the street of a march to the takes and the tempo.

    Parameters
    ----------
    settings : MarchSettings
    choreography : Choreography
    fit_speed : bool
        If True, set the speed to the mean speed of the takes, or scale the speed of the built-in
        marches with the tempo.
    fit_street : bool
        If True, enlarge the street until the takes can follow its corners.
    """
    music = settings.loaded_music(choreography.meter, settings.seconds_on_street)
    slowest, fastest = pace(choreography, music.bpm)
    if fit_speed:
        # Strides keep their length, so the speed is proportional to the tempo.
        pace_now = settings.formation.pace
        scaled = pace_now if settings.tempo_bpm else pace_now * music.bpm / CADENCE
        speed = 0.5 * (slowest + fastest) if settings.has_takes else scaled
        settings = replace(settings, formation=replace(settings.formation, speed=speed))
    for scale in _STREET_SCALES if fit_street else ():
        points = tuple((scale * x, scale * z) for x, z in settings.points)
        try:
            tried = replace(settings, points=points)
            tried.check_pace(slowest, fastest, spare=_SPARE)
        except InvalidInput:
            continue
        return tried
    settings.check_pace(slowest, fastest, spare=_SPARE)
    return settings


class MarchPlayer(BlockPlayer):
    """Play all soldiers in a march, who follow the street. There are no controls.

    Parameters
    ----------
    settings : MarchSettings
    choreography : Choreography
    avoid : iterable of (int, int)
        Pairs of strides of which the second must not follow the first.
    """

    def __init__(
        self,
        settings: MarchSettings,
        choreography: Choreography,
        *,
        avoid: Iterable[tuple[int, int]] = (),
    ) -> None:
        music = settings.loaded_music(choreography.meter, settings.seconds_on_street)
        super().__init__(
            marched_blocks(settings, choreography, avoid=avoid),
            choreography,
            settings.formation.ranks * settings.formation.files,
            "soldier",
            ("",),
            music=music,
            seconds=min(settings.seconds or music.seconds, settings.seconds_on_street),
        )


def marched_blocks(
    settings: MarchSettings,
    choreography: Choreography,
    *,
    avoid: Iterable[tuple[int, int]] = (),
) -> Iterator[Block]:
    """Yield the frames of all soldiers, one movement at a time, in constant memory."""
    fps, meter = choreography.fps, choreography.meter
    if len(choreography.movements[0].bodies) != 1:
        raise InvalidInput(
            "a march needs movements of one character; the choreography has several characters"
        )
    music = settings.loaded_music(meter, settings.seconds_on_street)
    seconds = min(settings.seconds or music.seconds, settings.seconds_on_street)
    frames = frame_count(seconds, None, fps)
    starts = formation(settings, np.zeros(1))[:, 0]
    player = CrowdPlayer(choreography, starts, avoid=avoid)
    player.set_speed(choreography.period * music.bpm / 60.0)
    count, graph = len(starts), choreography.graph
    rng, number = np.random.default_rng([settings.seed, 2]), -1
    centers = starts[:, :2].copy()
    drifts, yaws, rates = np.zeros((count, 2)), np.zeros(count), np.zeros(count)
    facing, last = starts[:, 2].copy(), None
    length = meter * 60.0 / music.bpm
    start = 0
    for due in movement_frames(music, choreography, frames):
        now = (start + np.arange(len(due))) / fps
        goals = formation(settings, now)
        later = formation(settings, np.array([now[0] + length]))[:, 0]
        here = PlanarTransform(centers[:, 0], centers[:, 1], facing)
        target = PlanarTransform.between(here, PlanarTransform.from_array(later)).to_array()
        target[:, 2] = (target[:, 2] + np.pi) % (2.0 * np.pi) - np.pi
        # All soldiers take the same path through the graph, so that they are in step.
        odds = graph.start if number < 0 else graph.transitions[number]
        able = np.stack([player.able(i) for i in range(count)])
        smooth = np.array([able[:, list(group)].any(axis=1).all() for group in graph.members])
        if smooth.any():  # if no likely stride is smooth, any smooth one is allowed
            odds = odds * smooth if (odds * smooth).any() else smooth.astype(np.float64)
        number = int(rng.choice(len(graph), p=odds / odds.sum()))
        weights = player.weights_for(number, target, able)

        def steer(natural: Array, headings: Array, goals: Array = goals) -> tuple[Array, Array]:
            nonlocal last, facing
            before = natural[:, 0] if last is None else last
            steps = np.diff(np.concatenate([before[:, None], natural], axis=1), axis=1)
            out, turned = marched(centers, yaws, rates, drifts, steps, headings, goals, 1.0 / fps)
            last = natural[:, -1].copy()
            facing = headings[:, -1] + turned[:, -1]
            return out, turned

        yield player.block(np.full(count, number, np.int64), weights, due, steer)
        start += len(due)
