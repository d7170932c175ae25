"""The kinds of live requests, as plain data: name -> function of window and message.

A function returns ``(meta, arrays)``: what goes into the head of the answer, and its arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from motionloom.studio.live_dance import read_dance, start_dance
from motionloom.studio.live_graph import start_walk
from motionloom.studio.live_message import Answer, frame_count
from motionloom.studio.live_parametric import reach
from motionloom.studio.moving import points
from motionloom.studio.window import Window


def ping(window: Window, message: dict[str, Any]) -> Answer:
    """Nothing but an answer, to see whether the server is there and how long a round takes."""
    return {}, {}


def read_player(window: Window, message: dict[str, Any]) -> Answer:
    """The next frames of a player, after steering it: ``player, count, controls``."""
    player = window.player(message.get("player"))
    count = frame_count(message)
    controls = message.get("controls") or {}
    if controls:
        player.steer(**controls)
    stretch = player.read(count)
    positions = points(player.skeleton, stretch.rotations, stretch.root)
    meta = {
        "start": stretch.start,
        "frames": len(stretch),
        "seams": list(stretch.seams),
        "sources": [source.as_dict() for source in stretch.sources],
    }
    return meta, {"positions": positions, "contacts": np.asarray(stretch.contacts)}


def close_player(window: Window, message: dict[str, Any]) -> Answer:
    """End a player: ``player``."""
    window.drop(message.get("player"))
    return {}, {}


KINDS: dict[str, Callable[[Window, dict[str, Any]], Answer]] = {
    "ping": ping,
    "player/read": read_player,
    "player/close": close_player,
    "dance/start": start_dance,
    "dance/read": read_dance,
    "graph/start": start_walk,
    "parametric/reach": reach,
}
