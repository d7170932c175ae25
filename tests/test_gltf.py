"""glTF: the way out and back, foreign files, curves, damage."""

from __future__ import annotations

import base64
import json
import struct
import tempfile
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from naive.gltf import NaiveGltf

import motionloom as ml
from motionloom.errors import InvalidInput, MotionFormatError
from motionloom.formats import gltf
from motionloom.motion import rotations as rot

NAMES = ["Hips", "Spine", "Head", "LeftUpLeg", "LeftLeg", "LeftFoot", "RightUpLeg", "RightLeg",
         "RightFoot"]  # fmt: skip
PARENTS = [-1, 0, 1, 0, 3, 4, 0, 6, 7]
OFFSETS = [[0, 0, 0], [0, 0.2, 0], [0, 0.45, 0], [0.1, -0.05, 0], [0, -0.42, 0], [0, -0.43, 0],
           [-0.1, -0.05, 0], [0, -0.42, 0], [0, -0.43, 0]]  # fmt: skip
SKELETON = ml.Skeleton(
    NAMES, PARENTS, OFFSETS, ["top", "ltoe", "rtoe"], [2, 5, 8],
    [[0, 0.2, 0], [0, -0.08, 0.15], [0, -0.08, 0.15]],
)  # fmt: skip


def random_motion(rng, frames=40, fps=60.0, skeleton=SKELETON, name="dance"):
    turns = np.cumsum(rng.normal(scale=0.06, size=(frames, len(skeleton), 3)), axis=0)
    root = np.cumsum(rng.normal(scale=0.01, size=(frames, 3)), axis=0) + [0, 0.95, 0]
    return ml.Motion(skeleton, rot.exp(turns), root, fps, name)


def apart(a, b):
    return np.linalg.norm(a.positions(end_sites=True) - b.positions(end_sites=True), axis=-1).max()


@pytest.mark.parametrize("suffix", [".glb", ".gltf"])
def test_pygltflib_finds_every_joint_where_we_put_it(tmp_path, rng, suffix):
    pytest.importorskip("pygltflib", reason="pygltflib is not installed")
    motion = random_motion(rng)
    read = NaiveGltf(motion.save(tmp_path / f"a{suffix}"))
    assert [read.gltf.nodes[j].name for j in read.gltf.skins[0].joints] == [
        *SKELETON.names,
        *SKELETON.end_names,
    ]
    np.testing.assert_allclose(read.key_times(0), np.arange(40) / 60, atol=1e-6)
    wanted = motion.positions(end_sites=True)
    for key in (0, 17, 39):
        assert np.abs(read.joint_positions(key) - wanted[key]).max() < 1e-5


def test_sticks_reach_from_joint_to_joint(tmp_path, rng):
    pytest.importorskip("pygltflib", reason="pygltflib is not installed")
    rest = rot.exp(rng.normal(scale=0.4, size=(9, 3)))
    motion = random_motion(rng, skeleton=replace(SKELETON, rest=rest))
    read = NaiveGltf(motion.save(tmp_path / "a.glb"))
    vertices = read.skinned_vertices(21)
    points = motion.positions(end_sites=True)[21]
    for point in points:  # every joint and tip is a corner of some stick
        assert np.linalg.norm(vertices - point, axis=1).min() < 1e-5
    bones = vertices.reshape(-1, 24, 3)
    assert len(bones) == 11  # one per joint and end site with a parent
    # Triangles look outward: the volume they enclose is positive.
    for bone in bones.reshape(-1, 8, 3, 3):
        centre = bone.reshape(-1, 3).mean(axis=0)
        a, b, c = (bone - centre).transpose(1, 0, 2)
        assert (np.einsum("ij,ij->i", np.cross(a, b), c) > 0).all()


@pytest.mark.parametrize("suffix", [".glb", ".gltf"])
@pytest.mark.parametrize("fps", [24.0, 29.97, 30.0, 60.0, 120.0, 47.3])
def test_comes_back(tmp_path, rng, suffix, fps):
    motion = random_motion(rng, fps=fps)
    again = ml.load(motion.save(tmp_path / f"dance{suffix}"))
    assert again.fps == pytest.approx(fps, rel=1e-5)
    assert (again.name, len(again)) == ("dance", 40)
    assert again.skeleton.names == SKELETON.names
    assert again.skeleton.end_names == SKELETON.end_names
    assert again.skeleton.rest is None
    assert apart(motion, again) < 1e-5
    assert not again.repairs and not again.origin.warnings


def test_long_takes_keep_time(tmp_path, rng):
    """Key times are single precision: after ten minutes a frame is a few ten microseconds off."""
    skeleton = ml.Skeleton(["a"], [-1], [[0, 0, 0]])
    motion = random_motion(rng, frames=40_000, fps=59.94, skeleton=skeleton)
    again = ml.load(motion.save(tmp_path / "a.glb"))
    assert (again.fps, len(again)) == (59.94, 40_000)
    np.testing.assert_array_equal(again.root, motion.root)


def test_rest_pose_and_moving_bones_come_back(tmp_path, rng):
    rest = rot.exp(rng.normal(scale=0.4, size=(9, 3)))
    motion = random_motion(rng, skeleton=replace(SKELETON, rest=rest))
    moved = SKELETON.offsets + rng.normal(scale=0.01, size=(40, 9, 3))
    moved[:, 0] = 0.0
    motion = replace(motion, translations=moved)
    again = ml.load(motion.save(tmp_path / "a.glb"))
    assert apart(motion, again) < 1e-5
    assert rot.angle_between(again.skeleton.rest, rest).max() < 1e-6


def test_one_frame_keeps_its_rate(tmp_path, rng):
    again = ml.load(random_motion(rng, frames=1, fps=120.0).save(tmp_path / "a.glb"))
    assert (len(again), again.fps) == (1, 120.0)


def test_several_characters_in_one_file(tmp_path, rng):
    anna = random_motion(rng, name="Anna")
    bob = random_motion(rng, frames=20, fps=30.0, name="Bob")
    gltf.write([anna, bob], tmp_path / "both.glb")
    first = ml.load(tmp_path / "both.glb")
    assert apart(first, anna) < 1e-5
    assert "the first of 2 skins, 'Anna', is read; the others are Bob" in first.origin.warnings[0]
    for which in ("Bob", 1):
        second = ml.load(tmp_path / "both.glb", skin=which)
        assert (second.name, second.fps, len(second)) == ("Bob", 30.0, 20)
        assert apart(second, bob) < 1e-5
    with pytest.raises(MotionFormatError, match="no skin 'Eve'; there is Anna, Bob"):
        ml.load(tmp_path / "both.glb", skin="Eve")


def test_characters_of_one_skeleton_share_what_does_not_move(tmp_path, rng):
    crowd = [random_motion(rng, name=f"c{k}") for k in range(20)]
    gltf.write(crowd, tmp_path / "crowd.gltf")
    document = json.loads((tmp_path / "crowd.gltf").read_text())
    sticks = [node for node in document["nodes"] if "mesh" in node]
    assert len(sticks) == len({node["skin"] for node in sticks}) == 20
    assert len(document["meshes"]) == 7  # one per colour
    vertices = [mesh["primitives"][0]["attributes"] for mesh in document["meshes"]]
    assert all(one == vertices[0] for one in vertices)
    assert len({skin["inverseBindMatrices"] for skin in document["skins"]}) == 1
    # Curves, one accessor of times, the sticks and the skin.
    assert len(document["accessors"]) == 20 * (len(SKELETON) + 1) + 1 + 4 + 1
    other = replace(SKELETON, offsets=1.1 * SKELETON.offsets)
    gltf.write([crowd[0], random_motion(rng, skeleton=other)], tmp_path / "two.gltf")
    document = json.loads((tmp_path / "two.gltf").read_text())
    assert len({skin["inverseBindMatrices"] for skin in document["skins"]}) == 2


def test_compact_files_are_half_as_large_and_as_good(tmp_path, rng):
    crowd = [random_motion(rng, frames=300, name=f"c{k}") for k in range(4)]
    still = np.array(crowd[1].rotations)
    still[:, 4] = still[0, 4]
    crowd[1] = replace(crowd[1], rotations=still)
    gltf.write(crowd, tmp_path / "full.glb")
    gltf.write(crowd, tmp_path / "small.glb", compact=True)
    sizes = [(tmp_path / name).stat().st_size for name in ("small.glb", "full.glb")]
    assert sizes[0] < 0.62 * sizes[1]
    for motion in crowd:
        again = ml.load(tmp_path / "small.glb", skin=motion.name)
        assert (len(again), again.fps) == (300, 60.0)
        assert apart(again, motion) < 3e-4


@pytest.mark.cmu
def test_a_real_take_comes_back_within_a_tenth_of_a_millimetre(tmp_path, cmu_raw):
    motion = ml.load(cmu_raw / "16_15.bvh")
    assert apart(motion, ml.load(motion.save(tmp_path / "a.glb"))) < 1e-5


# --- foreign files ---------------------------------------------------------------------------


class Builder:
    """A glTF document by hand."""

    def __init__(self, nodes, skin_joints=None):
        self.data = b""
        self.document = {
            "asset": {"version": "2.0"},
            "nodes": nodes,
            "accessors": [],
            "bufferViews": [],
            "animations": [{"name": "a", "channels": [], "samplers": []}],
        }
        if skin_joints is not None:
            self.document["skins"] = [{"joints": skin_joints}]

    def accessor(self, values, kind, component=5126, dtype="<f4", **more):
        raw = np.asarray(values).astype(dtype).tobytes()
        view = {"buffer": 0, "byteOffset": len(self.data), "byteLength": len(raw)}
        self.document["bufferViews"].append(view)
        self.data += raw + b"\0" * (-len(raw) % 4)
        count = len(values)
        number = len(self.document["bufferViews"]) - 1
        self.document["accessors"].append(
            {"bufferView": number, "componentType": component, "count": count, "type": kind, **more}
        )
        return number

    def curve(self, node, path, times, values, how="LINEAR", **accessor):
        animation = self.document["animations"][0]
        kind = "VEC4" if path == "rotation" else "VEC3"
        sampler = {
            "input": self.accessor(times, "SCALAR"),
            "output": self.accessor(values, kind, **accessor),
            "interpolation": how,
        }
        animation["samplers"].append(sampler)
        channel = {"sampler": len(animation["samplers"]) - 1}
        channel["target"] = {"node": node, "path": path}
        animation["channels"].append(channel)
        return self

    def write(self, path):
        uri = "data:application/octet-stream;base64," + base64.b64encode(self.data).decode()
        self.document["buffers"] = [{"byteLength": len(self.data), "uri": uri}]
        path.write_text(json.dumps(self.document))
        return path


def quarter(axis):
    return [*(np.eye(3)[axis] * np.sin(np.pi / 4)), np.cos(np.pi / 4)]


TWO = [{"name": "a", "children": [1]}, {"name": "b", "translation": [0, 1, 0]}]


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
    assert rate([0.0, 3.0]) == 30.0  # keys far apart are no frame rate


def test_joints_in_any_order_and_nodes_between(tmp_path):
    nodes = [{"name": "tip", "translation": [0, 1, 0]},
             {"name": "between", "translation": [0, 1, 0], "children": [0]},
             {"name": "base", "children": [1]}]  # fmt: skip
    file = Builder(nodes, [0, 2]).curve(2, "rotation", [0, 1], [[0, 0, 0, 1], quarter(2)])
    motion = ml.load(file.write(tmp_path / "a.gltf"))
    assert motion.skeleton.names == ("base", "between", "tip")
    np.testing.assert_allclose(motion.positions()[-1, 2], [-2, 0, 0], atol=1e-6)


def test_a_matrix_is_taken_apart(tmp_path):
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


def test_a_giant_is_doubted(tmp_path, rng):
    big = random_motion(rng, skeleton=SKELETON.scaled(100.0))
    path = big.save(tmp_path / "a.glb")
    assert "m tall; if that is wrong, give unit=" in ml.load(path).origin.warnings[0]
    assert not ml.load(path, unit="cm").origin.warnings


def test_buffers_lie_beside_the_file_and_nowhere_else(tmp_path):
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
        with pytest.raises(MotionFormatError, match="buffer 0 should be in .* beside the file"):
            ml.load(with_uri(uri))
    with pytest.raises(MotionFormatError, match="only files beside this one are read"):
        ml.load(with_uri("https://example.org/a.bin"))
    with pytest.raises(MotionFormatError, match="buffer 0 is no valid base64"):
        ml.load(with_uri("data:;base64,???"))


# --- damage ----------------------------------------------------------------------------------


def changed(change):
    file = Builder([dict(node) for node in TWO], [0, 1])
    file.curve(0, "rotation", [0, 1], [[0, 0, 0, 1], quarter(2)])
    change(file.document)
    return file


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.pop("asset"), "no glTF file: it has no asset"),
        (lambda d: d["asset"].update(version="1.0"), "glTF version '1.0'; only 2.0"),
        (lambda d: d["skins"][0].update(joints=[0, 7]), "no number 7 among the 2 nodes"),
        (lambda d: d["skins"][0].update(joints=[]), "a skin must have joints"),
        (lambda d: d["nodes"][1].update(children=[0]), "node . is its own ancestor"),
        (lambda d: d["nodes"].append({"children": [1]}), "node 1 has two parents"),
        (lambda d: d["nodes"][0].update(children=[]), "no common root"),
        (lambda d: d["nodes"][1].update(translation=[1, 2]), "translation must be 3 numbers"),
        (lambda d: d["nodes"][1].update(rotation=[0] * 4), "node 1 is the zero quaternion"),
        (lambda d: d["nodes"][1].update(scale=[1, -1, 1]), "node 1 is mirrored"),
        (lambda d: d["nodes"][1].update(translation=[1e9, 0, 0]), "farther than 1e.07 units away"),
        (lambda d: d["accessors"][0].update(count=10**9), "accessor 0 reaches beyond its view"),
        (lambda d: d["accessors"][0].update(count=-1), "count must be a size"),
        (lambda d: d["bufferViews"][0].update(byteLength=10**9), "beyond its buffer"),
        (lambda d: d["accessors"][0].update(type="VEC3"), "accessor 0 must be SCALAR"),
        (lambda d: d["accessors"][0].update(componentType=7), "unknown component type 7"),
        (lambda d: d["accessors"][0].update(sparse={}), "accessor 0 is sparse"),
        (lambda d: d["animations"][0].pop("samplers"), "must have channels and samplers"),
        (lambda d: d["animations"][0]["channels"][0].pop("target"), "has no target"),
        (lambda d: d["animations"][0]["samplers"][0].update(input=1), "must be SCALAR"),
        (
            lambda d: d["animations"][0]["samplers"][0].update(interpolation="MAGIC"),
            "LINEAR, STEP or CUBICSPLINE, found 'MAGIC'",
        ),
        (
            lambda d: d["animations"][0]["samplers"][0].update(interpolation="CUBICSPLINE"),
            "2 times and 2 values",
        ),
        (
            lambda d: d.update(extensionsRequired=["EXT_meshopt_compression"]),
            "compressed with EXT_meshopt_compression",
        ),
        (lambda d: (d.pop("skins"), d.pop("animations")), "neither a skin nor an animation"),
    ],
)
def test_says_what_is_wrong(tmp_path, change, message):
    path = changed(change).write(tmp_path / "a.gltf")
    with pytest.raises(MotionFormatError, match=message) as caught:
        ml.load(path)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([1.0, 0.5], "times of a rotation do not rise"),
        ([0.0, float("nan")], "not finite"),
        ([0.0, 1e9], "would be 3e.10 frames long"),
    ],
)
def test_times_must_make_sense(tmp_path, times, message):
    file = Builder(TWO, [0, 1]).curve(0, "rotation", times, [[0, 0, 0, 1]] * 2)
    with pytest.raises(MotionFormatError, match=message):
        ml.load(file.write(tmp_path / "a.gltf"))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "JSON cannot be read"),
        (b"glTF", "breaks off in its header"),
        (b"glTF" + struct.pack("<IIII", 1, 20, 0, 0), "GLB version 1"),
        (b"glTF" + struct.pack("<IIII", 2, 2000, 0, 0), "it was cut off"),
        (b"glTF" + struct.pack("<IIII", 2, 20, 0, 0), "no JSON chunk"),
        (b"[" * 100_000, "JSON cannot be read"),
        (b"\xff\xfe\x00", "JSON cannot be read"),
        (b"9" * 10_000, "JSON cannot be read"),
    ],
)
def test_says_what_is_wrong_with_the_container(tmp_path, data, message):
    path = tmp_path / "a.glb"
    path.write_bytes(data)
    with pytest.raises(MotionFormatError, match=message):
        ml.load(path)


def test_a_very_deep_tree_is_refused_quickly(tmp_path):
    nodes = [{"children": [k + 1]} for k in range(90_000)] + [{"name": "a"}]
    file = Builder(nodes, list(range(0, 90_001, 10))).curve(
        0, "translation", [0, 1], np.zeros((2, 3))
    )
    with pytest.raises(MotionFormatError, match="joints are more than motionloom reads"):
        ml.load(file.write(tmp_path / "a.gltf"))
    file.document["skins"][0]["joints"] = [90_000]
    with pytest.raises(MotionFormatError, match="hangs 90000 nodes deep"):
        ml.load(file.write(tmp_path / "a.gltf"))


def test_one_accessor_used_a_thousand_times_is_refused(tmp_path):
    nodes = [{"children": [k + 1]} for k in range(2000)] + [{}]
    file = Builder(nodes, list(range(2001)))
    file.curve(0, "translation", np.arange(9000), np.zeros((9000, 3)))
    animation = file.document["animations"][0]
    animation["channels"] = [
        {"sampler": 0, "target": {"node": k, "path": "translation"}} for k in range(2001)
    ]
    with pytest.raises(MotionFormatError, match="the same data over and over"):
        ml.load(file.write(tmp_path / "a.gltf"))


def test_nothing_is_written_of_nothing(tmp_path):
    with pytest.raises(InvalidInput, match="at least one motion, and each at least one frame"):
        gltf.write([], tmp_path / "a.glb")
    motion = ml.Motion(SKELETON, np.zeros((0, 9, 4)), np.zeros((0, 3)), 30)
    with pytest.raises(InvalidInput, match="at least one frame"):
        motion.save(tmp_path / "a.glb")
    assert not list(tmp_path.iterdir())


def _mutated(draw, value, depth=0):
    """A JSON value with one part of it replaced by nonsense."""
    nonsense = st.sampled_from(
        [
            None,
            True,
            -1,
            0,
            1,
            7,
            10**12,
            1e300,
            float("nan"),
            "x",
            "",
            [],
            {},
            [[]],
            [0, 1],
            {"a": 1},
        ]
    )
    if (
        depth > 6
        or not isinstance(value, (dict, list))
        or not value
        or draw(st.integers(0, 9)) == 0
    ):
        return draw(nonsense)
    if isinstance(value, dict):
        key = draw(st.sampled_from(sorted(value)))
        if draw(st.integers(0, 9)) == 0:
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: _mutated(draw, value[key], depth + 1)}
    index = draw(st.integers(0, len(value) - 1))
    return [*value[:index], _mutated(draw, value[index], depth + 1), *value[index + 1 :]]


FUZZ = settings(
    max_examples=300, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip


@FUZZ
@given(data=st.data())
def test_mutated_documents_are_read_or_refused(tmp_path, data):
    file = changed(lambda d: None)
    path = file.write(tmp_path / "a.gltf")
    document = file.document
    for _ in range(data.draw(st.integers(1, 3))):
        document = _mutated(data.draw, document)
    path.write_text(json.dumps(document))
    _read_or_refused(path)


@FUZZ
@given(data=st.data())
def test_mutated_bytes_are_read_or_refused(tmp_path, data):
    path = tmp_path / "a.glb"
    raw = bytearray(whole_glb())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, 40) | st.integers(0, len(raw) - 1))
        kind = data.draw(st.sampled_from(["set", "set", "delete", "cut"]))
        if kind == "set" and place < len(raw):
            raw[place] = data.draw(st.integers(0, 255))
        elif kind == "delete":
            del raw[place : place + 7]
        elif kind == "cut":
            del raw[max(place, 20) :]
    path.write_bytes(raw)
    _read_or_refused(path)


@cache
def whole_glb():
    with tempfile.TemporaryDirectory() as folder:
        motion = random_motion(np.random.default_rng(1), frames=2)
        return motion.save(f"{folder}/a.glb").read_bytes()


def _read_or_refused(path):
    try:
        motion = ml.load(path)
    except MotionFormatError as error:
        assert str(error).startswith(str(path))
        assert len(str(error)) < 500 + len(str(path))
    else:
        assert motion.rotations.shape == (len(motion), len(motion.skeleton), 4)
        assert np.isfinite(motion.rotations).all()
        assert np.isfinite(motion.positions(end_sites=True)).all()
    assert [file.name for file in path.parent.iterdir()] == [path.name]
