"""A motion graph, walked while it is watched: started here, read as every player is."""

from __future__ import annotations

from typing import Any

from motionloom.errors import InvalidInput
from motionloom.studio.graphs import GraphSettings, graph_of
from motionloom.studio.live_message import Answer, seed
from motionloom.studio.moving import bones
from motionloom.studio.window import Window


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
