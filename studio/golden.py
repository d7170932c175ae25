"""Record what the Python player plays, for the tests of the run-time in TypeScript.

``python golden.py FOLDER [SECONDS [FILE ...]]`` writes a controller, the controls of some seconds
of random steering, and the frames and poses that Python plays: the golden trace. The takes are
those of the built-in demo, or motion files.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import motionloom as ml
from motionloom.motion_matching import MatchingSettings, matching_database
from motionloom.motion_matching.exports.controller_file import pack_controller

_SEED = 7
_CLIPS = ("walk", "walk_left", "walk_right", "jog")


def steering(frames: int, fps: float, tags: tuple[str, ...]) -> dict[int, dict[str, Any]]:
    """Return random changes of the controls: a velocity every second or so, sometimes others."""
    rng = np.random.default_rng(_SEED)
    changes: dict[int, dict[str, Any]] = {}
    frame = 10
    while frame < frames:
        angle, speed = rng.uniform(-np.pi, np.pi), rng.choice([0.0, 0.8, 1.3, 1.3, 2.0, 3.0])
        controls: dict[str, Any] = {
            "velocity": [float(speed * np.sin(angle)), float(speed * np.cos(angle))]
        }
        other = rng.integers(0, 12)
        if other == 0:
            controls["facing"] = float(rng.uniform(-np.pi, np.pi))
        elif other == 1:
            controls["facing"] = None
        elif other in (2, 3):
            controls["strafe"] = bool(other == 2)
        elif other in (4, 5):
            controls["gait"] = None if other == 4 else str(rng.choice(tags))
        changes[frame] = controls
        frame += int(rng.integers(round(0.2 * fps), round(2.5 * fps)))
    return changes


def record(folder: Path, seconds: float, paths: list[str]) -> None:
    """Write the golden trace to a folder."""
    takes = [ml.load(path) for path in paths] or [ml.demo.clip(kind) for kind in _CLIPS]
    database = matching_database(takes, MatchingSettings())
    packed, rounded = pack_controller(database, database.ranges, [], "golden trace")
    count = round(seconds * rounded.fps)
    changes = steering(count, rounded.fps, rounded.tags)
    player = rounded.player(dynamics="sprung")
    frames = np.empty(count, "<i4")
    poses = np.empty((count, len(rounded.skeleton) * 4 + 3), "<f4")
    for n in range(count):
        player.steer(**changes.get(n, {}))
        block = player.read(1)
        frames[n] = player._frame
        poses[n] = np.concatenate([block.rotations.ravel(), block.root.ravel()])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "controller.bin").write_bytes(packed)
    (folder / "frames.bin").write_bytes(frames.tobytes())
    (folder / "poses.bin").write_bytes(poses.tobytes())
    about = {"count": count, "jumps": player.jumps, "frames": len(rounded), "changes": changes}
    (folder / "trace.json").write_text(json.dumps(about), encoding="utf-8")


if __name__ == "__main__":
    given = sys.argv[1:]
    record(Path(given[0]), float(given[1]) if len(given) > 1 else 20.0, given[2:])
