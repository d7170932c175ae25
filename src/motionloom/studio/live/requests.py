"""The kinds of live requests, as plain data: name -> function of window and message.

A function returns ``(meta, arrays)``: what goes into the head of the answer, and its arrays.

Reading live requests: what every kind of them looks for in a message.

A motion graph, walked while it is watched: started here, read as every player is.

A parametric motion, dragged: a target goes in, the whole blend comes out.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from motionloom.errors import InvalidInput
from motionloom.parametric.weight_refinement import TOLERANCE
from motionloom.studio.graphs import GraphSettings, graph_of
from motionloom.studio.live.dance import read_dance, start_dance
from motionloom.studio.live.message import Answer, frame_count, seed
from motionloom.studio.live.window import Window
from motionloom.studio.motion_response import bones, points
from motionloom.studio.routes.parametric import reachable

# What goes into the head of the answer, and its arrays.


def start_walk(window: Window, message: dict[str, Any]) -> Answer:
    """Begin an endless walk: ``graph`` (its settings), ``seed``, ``start`` (NAME:FRAME or null).

    The head has ``player``, for ``player/read`` with controls ``transition`` and
    ``automatic``, and the body: ``fps``, joints, parents, roles.
    """
    start = message.get("start")
    if start is not None and not isinstance(start, str):
        raise InvalidInput(f"start must be NAME:FRAME; got {start!r}")
    graph = graph_of(window.workshop, GraphSettings.of(message.get("graph") or {})).graph
    player = graph.player(seed(message), start=start)
    return {"player": window.keep(player), "fps": graph.fps, **bones(graph.skeleton)}, {}


def reach(window: Window, message: dict[str, Any]) -> Answer:
    """The motion for a target: ``name, target``.

    The head has ``reached`` (d,), ``off`` (how far that is from the target), ``outside`` (the
    target is out of reach, and what came is the nearest), ``keys`` (the frame at which each
    parameter is measured, or null) and ``milliseconds`` of this server; the arrays
    ``positions`` (T, P, 3), ``contacts`` (T, 4) and ``weights`` (N,).
    """
    begun = time.perf_counter()
    name, target = message.get("name"), message.get("target")
    if not isinstance(name, str):
        raise InvalidInput(f"name must be that of a parametric motion; got {name!r}")
    if not isinstance(target, list) or any(type(x) not in (int, float) for x in target):
        raise InvalidInput(f"target must be a list of numbers; got {target!r}")
    asked = reachable(window.workshop, name)
    found = asked.reach(target)
    motion = found.motion
    with asked.lock:
        standing = asked.motion.contacts(found.weights).standing_parts()
    positions = points(motion.skeleton, motion.rotations, motion.root)
    meta = {
        "frames": len(motion),
        "reached": found.reached.tolist(),
        "off": found.error,
        "outside": found.error > TOLERANCE,
        "keys": list(found.frames),
        "milliseconds": round(1e3 * (time.perf_counter() - begun), 2),
    }
    return meta, {"positions": positions, "contacts": standing, "weights": found.weights}


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
