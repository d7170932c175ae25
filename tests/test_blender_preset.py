"""Motion in Blender after ``--preset blender``. Needs a Python with bpy:

MOTIONLOOM_BLENDER=/path/to/python/with/bpy pytest tests/test_blender_preset.py
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
from motionloom.formats.presets import apply_preset, preset_named

SCRIPT = Path(__file__).with_name("blender_positions.py")


@pytest.fixture(scope="module")
def blender(tmp_path_factory):
    python = os.environ.get("MOTIONLOOM_BLENDER")
    if not python and importlib.util.find_spec("bpy") is None:
        pytest.skip("no Blender here (set MOTIONLOOM_BLENDER to a Python that has bpy)")
    output = tmp_path_factory.mktemp("blender") / "found.json"

    def positions(path, fps):
        """Bone heads in the first frame, Blender's z up turned to y up: -Y becomes +Z."""
        words = [python or sys.executable, str(SCRIPT), str(path), str(fps), str(output), "0"]
        subprocess.run(words, check=True, capture_output=True, timeout=LIMIT)
        return {name: np.array(place[0]) for name, place in json.loads(output.read_text()).items()}

    return positions


def shown(motion, suffix, blender, folder):
    ready = apply_preset(motion, "blender")
    options = {"unit": preset_named("blender").unit, "up": "y"} if suffix == ".bvh" else {}
    results = blender(ready.save(folder / f"take{suffix}", **options), ready.fps)
    return {role: results[name] for role, name in ready.skeleton.roles.items() if name in results}


def check(places, height):
    across = places["left_hip"] - places["right_hip"]
    forward = np.cross(across, [0.0, 1.0, 0.0])
    assert forward[2] > 0.95 * np.linalg.norm(forward)  # -Y in Blender
    assert abs(min(places["left_foot"][1], places["right_foot"][1])) < 0.1
    assert places["hips"][1] > places["left_knee"][1] > places["left_ankle"][1]
    assert 1.4 <= height <= 2.1
    assert 0.75 * height < places["head"][1] < height  # the base of the skull


@pytest.mark.parametrize("suffix", [".bvh", ".glb"])
def test_the_built_in_walk_stands_upright_and_faces_minus_y(blender, tmp_path, suffix):
    from motionloom.motion.kinematics.body import body_height

    away = ml.demo.clip("walk").transform(yaw=2.0, shift=(4.0, 0.5, 3.0))
    check(shown(away, suffix, blender, tmp_path), body_height(away.skeleton))


@pytest.mark.cmu
@pytest.mark.parametrize("suffix", [".bvh", ".glb"])
@pytest.mark.parametrize("take", ["35_01", "16_15", "86_01", "60_03", "91_19"])
def test_cmu_takes_stand_upright_and_face_minus_y(blender, tmp_path, cmu_raw, take, suffix):
    from motionloom.motion.kinematics.body import body_height

    motion = ml.load(next(cmu_raw.rglob(f"{take}.bvh")))[:120]
    check(shown(motion, suffix, blender, tmp_path), body_height(motion.skeleton))
