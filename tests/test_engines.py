"""Exports to game engines, read by Blender's importers and by Godot itself.

They need MOTIONLOOM_BLENDER (a Python that has bpy) and MOTIONLOOM_GODOT (Godot 4.3 or newer).
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
from motionloom.formats.settings import GameSettings

SCRIPT = Path(__file__).with_name("blender_takes.py")
NAMES = ("walk_p0", "walk_left_p0", "kick_front_high_right_p0")
BLENDER = os.environ.get("MOTIONLOOM_BLENDER", "").split(os.pathsep)[0]
if not BLENDER and importlib.util.find_spec("bpy") is not None:
    BLENDER = sys.executable
GODOT = os.environ.get("MOTIONLOOM_GODOT", "")
LARGEST = 0.0001  # meters

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def lib(tmp_path_factory):
    library = ml.Library.create(tmp_path_factory.mktemp("engines") / "takes.loom")
    for name in NAMES:
        library.add_motion(ml.demo.clip(name))
    return library


@pytest.mark.skipif(not BLENDER, reason="set MOTIONLOOM_BLENDER to a Python that has bpy")
@pytest.mark.parametrize("own", [False, True])
def test_blender_reads_every_export_by_name_within_a_tenth_of_a_millimeter(lib, tmp_path, own):
    options, body = {}, None
    if own:
        hero = ml.demo.clip("walk", performer=2)[:2].save(tmp_path / "hero.glb")
        options, body = {"character": str(hero)}, ml.load(hero)
    tasks = []
    frames = {name: list(range(0, len(lib[name]), 9)) for name in NAMES}
    for engine, file in (("godot", "motion/takes.glb"), ("unreal", "takes.fbx")):
        lib.export(tmp_path / engine, to=engine, game=GameSettings(**options))
        task = {"file": str(tmp_path / engine / file), "fps": 30.0, "frames": frames}
        tasks += [task, {**task, "importer": "new"}] if file.endswith("fbx") else [task]
    (tmp_path / "tasks.json").write_text(json.dumps(tasks))
    words = [BLENDER, str(SCRIPT), str(tmp_path / "tasks.json"), str(tmp_path / "scenes.json")]
    subprocess.run(words, check=True, capture_output=True, timeout=LIMIT)
    for scene in json.loads((tmp_path / "scenes.json").read_text()):
        assert scene["figures"] == 1
        assert {name.split("|")[-1] for name in scene["actions"]} == set(NAMES)
        for name in NAMES:
            source = lib[name] if body is None else lib[name].retarget(body)
            places = source.positions()
            for frame, row in zip(frames[name], scene["places"][name], strict=True):
                got = np.array([row[joint] for joint in source.skeleton.names])
                assert np.linalg.norm(got - places[frame], axis=1).max() < LARGEST


@pytest.mark.skipif(not GODOT, reason="set MOTIONLOOM_GODOT to Godot 4.3 or newer")
@pytest.mark.parametrize("own", [False, True])
def test_godot_opens_and_plays_the_project(lib, tmp_path, own):
    folder = tmp_path / "project"
    options = {}
    if own:
        hero = ml.demo.clip("walk", performer=2)[:2].save(tmp_path / "hero.glb")
        options = {"character": str(hero)}
    database = lib.motion_matching(only="walk*")
    database.export(folder, "godot", **options)
    base = [GODOT, "--headless", "--path", str(folder)]
    opened = subprocess.run([*base, "--import"], capture_output=True, text=True, timeout=LIMIT)
    assert "SCRIPT ERROR" not in opened.stderr and "Parse Error" not in opened.stderr
    words = [*base, "--script", "check.gd"]
    played = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT)
    assert "SCRIPT ERROR" not in played.stderr and played.returncode == 0, played.stderr
    report = json.loads(played.stdout.strip().splitlines()[-1])
    assert report["takes"] >= 2 and report["rows"] > 200 and report["footsteps"] > 10
    assert report["traveled_m"] > 10.0 and report["velocity_error_m_s"] < 0.6
