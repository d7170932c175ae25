"""FBX files in Blender: joints, rotations, skins and root motion. Needs a Python with bpy:

MOTIONLOOM_BLENDER=/path/to/python/with/bpy pytest -m "" tests/test_blender_fbx.py
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
from motionloom.character import body_mesh
from motionloom.formats.presets import apply_preset, preset_named
from motionloom.motion.rotations import quaternions as rot

SCRIPT = Path(__file__).with_name("blender_fbx.py")
PRESETS = ("unreal", "unity", "maya", "motionbuilder", "mixamo", "blender")
TAKES = 50
FRAMES = 8  # of a take: the first, the last, and some between
Z_TO_Y_UP = rot.from_axis_angle([1.0, 0.0, 0.0], -np.pi / 2)
BLENDER = os.environ.get("MOTIONLOOM_BLENDER", "").split(os.pathsep)[0]
if not BLENDER and importlib.util.find_spec("bpy") is not None:
    BLENDER = sys.executable

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not BLENDER, reason="no Blender here (set MOTIONLOOM_BLENDER to a Python that has bpy)"
    ),
]


def in_blender(tasks, folder):
    """Read files in Blender: names, heads (F, B, 3) and turns (F, B, 4), y up; vertices."""
    (folder / "tasks.json").write_text(json.dumps(tasks))
    words = [BLENDER, str(SCRIPT), str(folder / "tasks.json"), str(folder / "found.npz")]
    subprocess.run(words, check=True, capture_output=True, timeout=LIMIT)
    with np.load(folder / "found.npz") as arrays:
        for number in range(len(tasks)):
            yield (
                [str(name) for name in arrays[f"names_{number}"]],
                rot.rotate(Z_TO_Y_UP, arrays[f"heads_{number}"]),
                rot.multiply(Z_TO_Y_UP, arrays[f"turns_{number}"]),
                rot.rotate(Z_TO_Y_UP, arrays[f"vertices_{number}"])
                if f"vertices_{number}" in arrays
                else None,
            )


def task(motion, path, preset, *, importer="scene", **options):
    """A file of a motion, to be read by Blender in some frames."""
    wanted = preset_named(preset)
    motion.save(path, unit=wanted.unit, up=wanted.up, mesh="low")
    frames = sorted({round(frame) for frame in np.linspace(0, len(motion) - 1, FRAMES)})
    return {"file": str(path), "fps": motion.fps, "frames": frames, "importer": importer, **options}


def apart(motion, frames, names, heads, turns):
    """Greatest distance of a joint in mm, and greatest difference of a rotation in degrees."""
    bones = [names.index(name) for name in motion.skeleton.names]
    away = np.linalg.norm(heads[:, bones] - motion.positions()[frames], axis=-1).max()
    theirs, ours = turns[:, bones], motion.global_rotations()[frames].astype(float)
    # Blender's bones have other axes, so rotations are relative to the first frame.
    theirs, ours = (rot.multiply(each, rot.inverse(each[:1])) for each in (theirs, ours))
    return 1e3 * away, np.degrees(rot.angle_between(theirs, ours).max())


@pytest.mark.cmu
@pytest.mark.parametrize("preset", PRESETS)
def test_captured_takes_are_where_motionloom_has_them(tmp_path, cmu30, preset):
    files = sorted(cmu30.rglob("*.bvh"))
    tasks, motions = [], []
    for file in (files[k] for k in np.linspace(0, len(files) - 1, TAKES).astype(int)):
        motion = apply_preset(ml.load(file)[:2000], preset)
        motions.append(motion)
        tasks.append(task(motion, tmp_path / f"{file.stem}.fbx", preset))
    seen = in_blender(tasks, tmp_path)
    worst = [
        apart(motion, given["frames"], *results[:3])
        for motion, given, results in zip(motions, tasks, seen, strict=True)
    ]
    print(preset, "mm, degrees:", np.max(worst, axis=0))
    assert np.max(worst) < 0.01


@pytest.mark.parametrize("importer", ["scene", "wm"])
def test_a_walk_is_read_by_both_importers(tmp_path, importer):
    walk = apply_preset(ml.demo.clip("walk"), "maya")
    given = task(walk, tmp_path / "walk.fbx", "maya", importer=importer)
    try:
        (results,) = in_blender([given], tmp_path)
    except subprocess.CalledProcessError as error:
        if importer == "wm" and b"fbx_import" in error.stderr:
            pytest.skip("this Blender has one importer of FBX")
        raise
    assert max(apart(walk, given["frames"], *results[:3])) < 0.01


def test_the_body_deforms_as_its_bones_move(tmp_path):
    walk = ml.demo.clip("walk")
    given = task(walk, tmp_path / "walk.fbx", "maya", vertices=True)
    ((names, heads, _, vertices),) = in_blender([given], tmp_path)
    body = body_mesh(walk.skeleton, detail="low", example=walk)
    assert vertices.shape[1] == len(body.vertices)
    ours = np.array([body.posed(walk, frame) for frame in given["frames"]])
    assert np.linalg.norm(vertices - ours, axis=-1).max() < 2e-4  # meters
    moved = np.linalg.norm(vertices - vertices[:1], axis=-1).max(axis=0)
    assert moved.min() > 1.0  # all of it walks along
    # A vertex is a mean of where its joints carry it, so it is not farther from the mean of those
    # joints than it is from each of them in the bind pose.
    points = [names.index(name) for name in walk.skeleton.point_names]
    center = np.einsum("vk,fvkc->fvc", body.weights, heads[:, points][:, body.joints])
    bound = np.linalg.norm(body.vertices[:, None] - body.bind[body.joints, :3, 3], axis=-1)
    allowed = np.sum(body.weights * bound, axis=1)
    assert (np.linalg.norm(vertices - center, axis=-1) < allowed + 1e-4).all()


def test_the_root_bone_carries_the_motion_on_the_floor(tmp_path):
    walk = apply_preset(ml.demo.clip("walk"), "unreal")
    given = task(walk, tmp_path / "walk.fbx", "unreal")
    ((names, heads, _, _),) = in_blender([given], tmp_path)
    root, hips = heads[:, names.index("root")], heads[:, names.index("pelvis")]
    assert np.abs(root[:, 1]).max() < 1e-4  # on the floor
    assert np.linalg.norm(root[-1] - root[0]) > 2.0
    assert np.linalg.norm((hips - root)[:, [0, 2]], axis=1).max() < 0.05  # below the hips
