"""glTF of other programs: trees, curves, buffers."""

from __future__ import annotations

import json

import numpy as np
import pytest
from gltf_files import SKELETON, TWO, Builder, quarter, random_motion

import motionloom as ml
from motionloom.errors import MotionFormatError
from motionloom.motion.rotations import quaternions as rot


def test_nodes_above_the_root_are_part_of_its_path(tmp_path):
    nodes = [
        {"name": "scene", "rotation": quarter(0), "scale": [0.01] * 3, "children": [1]},
        {"name": "dummy", "translation": [0, 100, 0], "children": [2]},
        {"name": "a", "translation": [50, 0, 0], "children": [3]},
        {"name": "b", "translation": [0, 200, 0]},
    ]
    file = Builder(nodes, [2, 3]).curve(2, "rotation", [0, 1], [[0, 0, 0, 1], quarter(0)])
    motion = ml.load(file.write(tmp_path / "a.gltf"), fps=10)
    assert motion.skeleton.names == ("a", "b")
    assert len(motion) == 11
    # Turned by a quarter about x: the file's y is the world's z.
    np.testing.assert_allclose(motion.root[0], [0.5, 0, 1], atol=1e-6)
    np.testing.assert_allclose(motion.positions()[0, 1], [0.5, 0, 3], atol=1e-6)
    np.testing.assert_allclose(motion.positions()[10, 1], [0.5, -2, 1], atol=1e-6)


def test_an_animated_node_above_the_root_moves_it(tmp_path):
    nodes = [{"name": "mover", "children": [1]}, {"name": "a", "children": [2]},
             {"name": "b", "translation": [0, 1, 0]}]  # fmt: skip
    file = Builder(nodes, [1, 2])
    file.curve(0, "translation", [0, 1], [[0, 0, 0], [3, 0, 0]])
    file.curve(1, "rotation", [0, 1], [[0, 0, 0, 1], quarter(2)])
    motion = ml.load(file.write(tmp_path / "a.gltf"), fps=10)
    np.testing.assert_allclose(motion.root[:, 0], np.linspace(0, 3, 11), atol=1e-6)
    np.testing.assert_allclose(motion.positions()[10, 1], [2, 0, 0], atol=1e-6)


def test_curves_of_all_kinds(tmp_path):
    file = Builder(TWO, [0, 1])
    file.curve(0, "translation", [0, 1, 2], [[0, 0, 0], [1, 0, 0], [5, 0, 0]], "STEP")
    tangents = [[0, 0, 0], [0, 1, 0], [0, 0, 0]] + [[0, 0, 0], [0, 2, 0], [0, 0, 0]]
    file.curve(1, "translation", [0, 2], tangents, "CUBICSPLINE")
    motion = ml.load(file.write(tmp_path / "a.gltf"), fps=4)
    assert len(motion) == 9
    assert motion.root[:, 0].tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 5]
    s = np.arange(9) / 8
    wanted = 1 + 3 * s**2 - 2 * s**3  # flat at both ends
    np.testing.assert_allclose(motion.translations[:, 1, 1], wanted, atol=1e-6)


@pytest.mark.parametrize("late", [1 / 24, 0.03, 0.75])
def test_time_begins_at_zero_before_the_first_key(tmp_path, late):
    """Frame k is at k / fps, as in three.js; the pose of the first key holds until its time."""
    times = late + np.arange(25) / 24
    path = [[float(t - late), 1.0, 0.0] for t in times]
    file = Builder(TWO, [0, 1]).curve(0, "translation", times.tolist(), path)
    file.curve(1, "rotation", [late + 0.5, late + 1.0], [[0, 0, 0, 1], quarter(2)])
    motion = ml.load(file.write(tmp_path / "a.gltf"))
    assert motion.fps == 24.0
    assert len(motion) == int((late + 1.0) * 24 + 0.02) + 1
    wanted = np.clip(np.arange(len(motion)) / 24 - late, 0.0, 1.0)
    np.testing.assert_allclose(motion.root[:, 0], wanted, atol=2e-6)
    turned = rot.angle_between(motion.rotations[:, 1], rot.IDENTITY)
    np.testing.assert_allclose(turned, np.clip(wanted - 0.5, 0, None) * np.pi, atol=2e-3)
    output = any("the first key is at 0.75 s" in text for text in motion.origin.warnings)
    assert output == (late == 0.75)


def test_cubic_rotations_stay_rotations(tmp_path):
    keys = []
    for q in ([0, 0, 0, 1], quarter(1)):
        keys += [[0, 0, 0, 0], q, [0, 0, 0, 0]]
    file = Builder(TWO, [0, 1]).curve(0, "rotation", [0, 1], keys, "CUBICSPLINE")
    motion = ml.load(file.write(tmp_path / "a.gltf"), fps=10)
    np.testing.assert_allclose(np.linalg.norm(motion.rotations, axis=-1), 1.0, atol=1e-6)
    angle = rot.angle_between(motion.rotations[5, 0], rot.IDENTITY)
    assert angle == pytest.approx(np.pi / 4, abs=1e-6)


def test_packed_rotations(tmp_path):
    values = np.rint(np.array([[0, 0, 0, 1], quarter(1)]) * 32767)
    file = Builder(TWO, [0, 1]).curve(
        0, "rotation", [0, 1], values, component=5122, dtype="<i2", normalized=True
    )
    motion = ml.load(file.write(tmp_path / "a.gltf"), fps=10)
    angle = rot.angle_between(motion.rotations[-1, 0], rot.IDENTITY)
    assert angle == pytest.approx(np.pi / 2, abs=1e-3)


def test_the_rate_is_that_of_the_keys(tmp_path):
    def rate(times):
        values = np.zeros((len(times), 3))
        file = Builder(TWO, [0, 1]).curve(0, "translation", times, values)
        return ml.load(file.write(tmp_path / "a.gltf")).fps

    assert rate(np.arange(50) / 24) == 24.0
    assert rate(5.0 + np.arange(50) / 120) == 120.0
    assert rate(np.delete(np.arange(50) / 60, [7, 20, 21])) == 60.0
    assert rate([0.0, 3.0]) == 30.0  # keys far apart do not define a frame rate


def test_joints_in_any_order_and_nodes_between(tmp_path):
    nodes = [{"name": "tip", "translation": [0, 1, 0]},
             {"name": "between", "translation": [0, 1, 0], "children": [0]},
             {"name": "base", "children": [1]}]  # fmt: skip
    file = Builder(nodes, [0, 2]).curve(2, "rotation", [0, 1], [[0, 0, 0, 1], quarter(2)])
    motion = ml.load(file.write(tmp_path / "a.gltf"))
    assert motion.skeleton.names == ("base", "between", "tip")
    np.testing.assert_allclose(motion.positions()[-1, 2], [-2, 0, 0], atol=1e-6)


def test_a_matrix_is_decomposed(tmp_path):
    nodes = [{"name": "a", "children": [1]},
             {"name": "b", "matrix": [0, 0, -2, 0, 0, 2, 0, 0, 2, 0, 0, 0, 0, 1, 0, 1],
              "children": [2]},
             {"name": "c", "translation": [0, 0, 1]}]  # fmt: skip
    file = Builder(nodes, [0, 1, 2]).curve(0, "translation", [0, 1], [[0, 0, 0], [0, 0, 0]])
    motion = ml.load(file.write(tmp_path / "a.gltf"))
    np.testing.assert_allclose(motion.positions()[0], [[0, 0, 0], [0, 1, 0], [2, 1, 0]], atol=1e-6)


def test_without_a_skin_the_moved_nodes_are_the_skeleton(tmp_path):
    file = Builder(TWO).curve(0, "rotation", [0, 1], [[0, 0, 0, 1]] * 2)
    file.curve(1, "rotation", [0, 1], [[0, 0, 0, 1]] * 2)
    motion = ml.load(file.write(tmp_path / "a.gltf"))
    assert motion.skeleton.names == ("a", "b")
    assert "no skin" in motion.repairs[0]


def test_without_an_animation_there_is_the_rest_pose(tmp_path):
    file = Builder(TWO, [0, 1])
    del file.document["animations"]
    motion = ml.load(file.write(tmp_path / "a.gltf"))
    assert len(motion) == 1
    assert "one frame in its rest pose" in motion.origin.warnings[0]


def test_a_giant_causes_a_warning(tmp_path, rng):
    big = random_motion(rng, skeleton=SKELETON.scaled(100.0))
    path = big.save(tmp_path / "a.glb")
    assert "m tall. If that is wrong, set the option unit" in ml.load(path).origin.warnings[0]
    assert not ml.load(path, unit="cm").origin.warnings


def test_buffers_are_only_read_from_the_folder_of_the_file(tmp_path):
    folder = tmp_path / "inner"
    folder.mkdir()
    file = Builder(TWO, [0, 1]).curve(0, "translation", [0, 1], np.zeros((2, 3)))
    path = file.write(folder / "a.gltf")
    (folder / "data file.bin").write_bytes(file.data)
    (tmp_path / "out.bin").write_bytes(file.data)

    def with_uri(uri):
        file.document["buffers"][0]["uri"] = uri
        path.write_text(json.dumps(file.document))
        return path

    assert len(ml.load(with_uri("data%20file.bin"))) == 31
    for uri in ("../out.bin", "missing.bin", str(tmp_path / "out.bin"), "."):
        with pytest.raises(MotionFormatError, match="buffer 0 should be in .* in the same folder"):
            ml.load(with_uri(uri))
    with pytest.raises(MotionFormatError, match="only files in the same folder are read"):
        ml.load(with_uri("https://example.org/a.bin"))
    with pytest.raises(MotionFormatError, match="buffer 0 is not valid base64"):
        ml.load(with_uri("data:;base64,???"))
