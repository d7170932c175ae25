"""Blender puts the joints where motionloom has them. Needs a Python with bpy:

MOTIONLOOM_BLENDER=/path/to/python/with/bpy pytest tests/test_blender.py
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from waiting import LIMIT

import motionloom as ml

SCRIPT = Path(__file__).with_name("blender_positions.py")
FRAMES = (0, 7, 31, 50)


@pytest.fixture(scope="module")
def blender():
    python = os.environ.get("MOTIONLOOM_BLENDER")
    if not python and importlib.util.find_spec("bpy") is None:
        pytest.skip("no Blender here (set MOTIONLOOM_BLENDER to a Python that has bpy)")

    def positions(path, fps, output):
        words = [python or sys.executable, str(SCRIPT), str(path), str(fps), str(output)]
        subprocess.run([*words, *map(str, FRAMES)], check=True, capture_output=True, timeout=LIMIT)
        return json.loads(output.read_text())

    return positions


@pytest.mark.parametrize("suffix", [".glb", ".gltf", ".usdc", ".bvh"])
def test_blender_agrees_within_a_tenth_of_a_millimeter(blender, tmp_path, suffix):
    walk = ml.demo.clip("walk")
    options = {"unit": "m"} if suffix == ".bvh" else {}  # Blender takes BVH units as meters
    path = walk.save(tmp_path / f"walk{suffix}", **options)
    shown = blender(path, walk.fps, tmp_path / "found.json")
    wanted = walk.positions()[list(FRAMES)]
    for joint, name in enumerate(walk.skeleton.names):
        apart = np.linalg.norm(np.array(shown[name]) - wanted[:, joint], axis=1)
        assert apart.max() < 1e-4, name
