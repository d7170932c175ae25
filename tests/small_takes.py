"""Small BVH files and motions for tests of the library and the import."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from motionloom.motion import Motion, Skeleton

needs_fork = pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux")

HEADER = """HIERARCHY
ROOT Hips
{
  OFFSET 0 0 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Yrotation Xrotation
  JOINT Chest
  {
    OFFSET 0 60 0
    CHANNELS 3 Zrotation Yrotation Xrotation
    End Site
    {
      OFFSET 0 30 0
    }
  }
  JOINT Knee
  {
    OFFSET 0 -45 0
    CHANNELS 3 Zrotation Yrotation Xrotation
    End Site
    {
      OFFSET 0 -45 0
    }
  }
}
MOTION
"""


def write_take(path: Path, *, seed: int = 0, frames: int = 40, fps: float = 30.0) -> Path:
    """A swaying skeleton of three joints; different values for every seed."""
    rng = np.random.default_rng(seed)
    sway = np.cumsum(rng.normal(size=(frames, 12)), axis=0)
    sway[:, 1] = 90.0 + 0.01 * sway[:, 1]
    rows = "\n".join(" ".join(f"{value:.4f}" for value in row) for row in sway)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{HEADER}Frames: {frames}\nFrame Time: {1 / fps:.7f}\n{rows}\n")
    return path


def write_takes(folder: Path, count: int, *, frames: int = 40) -> Path:
    """`count` takes in four folders below `folder`."""
    for number in range(count):
        group = ("walk", "run", "kick", "sit")[number % 4]
        write_take(folder / group / f"{group}_{number:03d}.bvh", seed=number, frames=frames)
    return folder


def small_motion(seed: int = 0, *, frames: int = 20, stretching: bool = False, **options) -> Motion:
    """A random motion of three joints; with `stretching` its bones change length."""
    rng = np.random.default_rng(seed)
    skeleton = Skeleton(
        ["hips", "chest", "knee"],
        [-1, 0, 0],
        [[0, 0, 0], [0, 0.6, 0], [0.1, -0.45, 1 / 3]],
        end_names=["head"],
        end_parents=[1],
        end_offsets=[[0, 0.3, 0]],
        rest=[[1, 0, 0, 0], [0.6, 0.8, 0, 0], [1, 0, 0, 0]],
    )
    rotations = rng.normal(size=(frames, 3, 4))
    rotations /= np.linalg.norm(rotations, axis=-1, keepdims=True)
    moved = rng.normal(size=(frames, 3, 3)) if stretching else None
    root = rng.normal(size=(frames, 3))
    return Motion(skeleton, rotations, root, 30.0, translations=moved, **options)


def contents(library: Path) -> dict[str, bytes]:
    """All files of a library but the catalogue, and its rows but identifier and history."""
    import sqlite3

    loaded = {file.name: file.read_bytes() for file in (library / "frames").iterdir()}
    connection = sqlite3.connect(library / "catalogue.sqlite")
    for (table,) in connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'history%'"
    ).fetchall():
        rows = sorted(connection.execute(f"SELECT * FROM {table}").fetchall())
        loaded[f"table {table}"] = repr([row for row in rows if row[0] not in ("id", "")]).encode()
    connection.close()
    return loaded
