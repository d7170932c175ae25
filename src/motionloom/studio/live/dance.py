"""Dancing live: after the pointer, at the tempo of a slider."""

from __future__ import annotations

from typing import Any

import numpy as np

from motionloom.errors import InvalidInput
from motionloom.rhythm.dance_player import DancePlayer
from motionloom.rhythm.music.beat_clock import TempoClock
from motionloom.studio.live.message import Answer, frame_count, number, seed
from motionloom.studio.live.window import Window
from motionloom.studio.motion_response import bones, points
from motionloom.studio.routes.dance import choreography_of


class CountingClock(TempoClock):
    """A tempo clock that remembers what it counted last, so that the page can tick along."""

    counted = np.empty(0)

    def beats_at(self, first_frame: int, count: int, fps: float):
        """Position of frames in beats; see `TempoClock`."""
        self.counted = super().beats_at(first_frame, count, fps)
        return self.counted


def start_dance(window: Window, message: dict[str, Any]) -> Answer:
    """Begin: ``choreography, tempo, seed`` -> number of the player, its characters."""
    steps = choreography_of(window.workshop, str(message.get("choreography")))
    clock = CountingClock(number(message, "tempo", 60.0 / steps.period))
    player = DancePlayer(steps, clock, seed=seed(message))
    characters = [bones(skeleton) for skeleton in player.skeletons]
    return {
        "player": window.keep(player),
        "fps": player.fps,
        "meter": steps.meter,
        "characters": characters,
    }, {}


def read_dance(window: Window, message: dict[str, Any]) -> Answer:
    """The next frames of all characters: ``player, count, target, tempo``.

    Besides ``positions_K`` and ``contacts_K``, ``beats`` (n,) is where in the music each is.
    """
    player = window.player(message.get("player"))
    if not isinstance(player, DancePlayer):
        raise InvalidInput(f"player {message.get('player')!r} does not dance")
    count = frame_count(message)
    if "target" in message:
        player.steer(target=message["target"])
    if "tempo" in message:
        player.steer(tempo=number(message, "tempo", 120.0))
    stretches = player.read_all(count)
    arrays: dict[str, Any] = {}
    for body, (stretch, skeleton) in enumerate(zip(stretches, player.skeletons, strict=True)):
        arrays[f"positions_{body}"] = points(skeleton, stretch.rotations, stretch.root)
        arrays[f"contacts_{body}"] = stretch.contacts
    if isinstance(player.clock, CountingClock):
        arrays["beats"] = player.clock.counted
    nodes = [player.choreography.graph.names[k] for k in player.path[-3:]]
    return {"start": stretches[0].start, "frames": count, "nodes": nodes}, arrays
