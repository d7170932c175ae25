"""A parametric motion, dragged: a target goes in, the whole blend comes out."""

from __future__ import annotations

import time
from typing import Any

from motionloom.errors import InvalidInput
from motionloom.studio.live_message import Answer
from motionloom.studio.moving import points
from motionloom.studio.routes.parametric import reachable
from motionloom.studio.window import Window
from motionloom.synthesis.weight_refinement import TOLERANCE


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
