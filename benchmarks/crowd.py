"""``python -m benchmarks crowd``: frames per second of a ballroom and a march.

The rival is one `DancePlayer` per agent with the same choreography, without steering and without
collision avoidance. Rows with a growing number of couples on an open field show how the cost
scales.
"""

from __future__ import annotations

import time
from collections import deque
from functools import partial
from typing import Any

from benchmarks import Settings
from benchmarks.rivals import Package
from benchmarks.timing import Contestant, Log, Result, compare
from motionloom.crowd.ballroom import danced_blocks
from motionloom.crowd.built_in import march_steps, waltz_steps
from motionloom.crowd.march import marched_blocks
from motionloom.crowd.settings import STREET, Ballfloor, BallroomSettings, MarchSettings
from motionloom.dance.beat_clock import MusicClock
from motionloom.dance.choreography import Choreography
from motionloom.dance.dancing.dance_player import DancePlayer

SUMMARY = "ballroom and march: frames per second, and cost by number of agents"
PACKAGES: tuple[Package, ...] = ()

_SECONDS = 10.0


def run(settings: Settings, log: Log) -> dict[str, Any]:
    """Return the results and a description of the data."""
    waltz, steps = waltz_steps(), march_steps()
    timed: dict[str, Any] = {"tempo_bpm": 90.0, "seconds": _SECONDS, "seed": settings.seed}
    ball = BallroomSettings(couples=20, **timed)
    parade = MarchSettings(points=STREET, **{**timed, "tempo_bpm": 96.0})
    calls: dict[str, partial[None]] = {
        "20 couples in a ballroom": partial(_all, danced_blocks, ball, waltz),
        "40 soldiers on a street": partial(_all, marched_blocks, parade, steps),
    }
    for count in (50, 100, 200, 500):
        scene = BallroomSettings(couples=count, floor=Ballfloor(room=None), **timed)
        calls[f"{count} couples on an open field"] = partial(_all, danced_blocks, scene, waltz)
    results: list[Result] = []
    for what, call in calls.items():
        _, scene, steps_of = call.args
        if isinstance(scene, BallroomSettings):
            agents = scene.couples
        else:
            agents = scene.formation.ranks * scene.formation.files
        each = Contestant(
            "one player per agent, no steering", partial(_players, agents, scene, steps_of)
        )
        ours = Contestant("motionloom", call, note=_rate(call, waltz.fps))
        results += compare(
            what, ours, [each], rounds=min(settings.rounds, 3), budget_s=settings.budget_s, log=log
        )
    return {
        "data": f"the built-in waltz and marches, {_SECONDS:g} s at {waltz.fps:g} Hz",
        "credit": "",
        "results": [row.as_dict() for row in results],
    }


def _all(blocks, scene, choreography) -> None:
    deque(blocks(scene, choreography), maxlen=0)


def _players(count: int, scene, choreography: Choreography) -> None:
    clock = MusicClock(scene.loaded_music(choreography.meter))
    for seed in range(count):
        player = DancePlayer(choreography, clock, seed=seed)
        player.read_all(round(_SECONDS * player.fps))


def _rate(call, fps: float) -> str:
    """Frames of the whole crowd per second of processor time, after a first run that compiles."""
    call()
    start = time.process_time()
    call()
    return f"{_SECONDS * fps / (time.process_time() - start):.0f} frames/s"
