"""``python -m benchmarks crowd``: frames per second of a whole ballroom and a whole march.

Beside it the same choreography with one `DancePlayer` each, read by itself, which neither steers
nor keeps clear of anybody. Rows of more and more couples on an open field show how the cost
grows.
"""

from __future__ import annotations

import time
from collections import deque
from functools import partial
from typing import Any

from benchmarks import Settings
from benchmarks.measuring import Contestant, Result, Say, compare
from benchmarks.rivals import Package
from motionloom.crowd.ballroom import danced_blocks
from motionloom.crowd.built_in import march_steps, waltz_steps
from motionloom.crowd.march import marched_blocks
from motionloom.crowd.settings import STREET, BallroomSettings, MarchSettings
from motionloom.rhythm.choreography import Choreography
from motionloom.rhythm.dance_player import DancePlayer
from motionloom.rhythm.music.beat_clock import MusicClock

SUMMARY = "a ballroom and a march, whole frames per second; how the cost grows with agents"
PACKAGES: tuple[Package, ...] = ()

_SECONDS = 10.0


def run(settings: Settings, say: Say) -> dict[str, Any]:
    """Rows of the bench, and what it ran on."""
    waltz, steps = waltz_steps(), march_steps()
    timed: dict[str, Any] = {"tempo_bpm": 90.0, "seconds": _SECONDS, "seed": settings.seed}
    ball = BallroomSettings(couples=20, **timed)
    parade = MarchSettings(points=STREET, **{**timed, "tempo_bpm": 96.0})
    calls: dict[str, partial[None]] = {
        "20 couples in a ballroom": partial(_all, danced_blocks, ball, waltz),
        "40 soldiers on a street": partial(_all, marched_blocks, parade, steps),
    }
    for count in (50, 100, 200, 500):
        scene = BallroomSettings(couples=count, room=None, **timed)
        calls[f"{count} couples on an open field"] = partial(_all, danced_blocks, scene, waltz)
    results: list[Result] = []
    for what, call in calls.items():
        _, scene, steps_of = call.args
        agents = scene.couples if isinstance(scene, BallroomSettings) else scene.ranks * scene.files
        each = Contestant("a player each, unsteered", partial(_players, agents, scene, steps_of))
        ours = Contestant("motionloom", call, note=_rate(call, waltz.fps))
        results += compare(
            what, ours, [each], rounds=min(settings.rounds, 3), budget_s=settings.budget_s, say=say
        )
    return {
        "data": f"the built-in waltz and marches, {_SECONDS:g} s at {waltz.fps:g} frames a second",
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
    """Whole frames per second of processor time; once before, so that all is compiled."""
    call()
    start = time.process_time()
    call()
    return f"{_SECONDS * fps / (time.process_time() - start):.0f} frames/s"
