"""glTF that is damaged, or was made to do damage."""

from __future__ import annotations

import json
import struct
import tempfile
from functools import cache

import numpy as np
import pytest
from gltf_files import SKELETON, TWO, Builder, quarter, random_motion
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import motionloom as ml
from motionloom.errors import InvalidInput, MotionFormatError
from motionloom.formats import gltf


def changed(change):
    file = Builder([dict(node) for node in TWO], [0, 1])
    file.curve(0, "rotation", [0, 1], [[0, 0, 0, 1], quarter(2)])
    change(file.document)
    return file


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.pop("asset"), "not a glTF file, because it has no asset"),
        (
            lambda d: d["asset"].update(version="1.0"),
            "only glTF version 2.0 is supported; this file has version '1.0'",
        ),
        (
            lambda d: d["skins"][0].update(joints=[0, 7]),
            "index 7 is not valid, because the file has 2 nodes",
        ),
        (lambda d: d["skins"][0].update(joints=[]), "a skin must have at least one joint"),
        (lambda d: d["nodes"][1].update(children=[0]), "node . is its own ancestor"),
        (lambda d: d["nodes"].append({"children": [1]}), "node 1 has two parents"),
        (lambda d: d["nodes"][0].update(children=[]), "no common root"),
        (lambda d: d["nodes"][1].update(translation=[1, 2]), "translation must be 3 numbers"),
        (lambda d: d["nodes"][1].update(rotation=[0] * 4), "node 1 is the zero quaternion"),
        (lambda d: d["nodes"][1].update(scale=[1, -1, 1]), "node 1 is mirrored"),
        (lambda d: d["nodes"][1].update(translation=[1e9, 0, 0]), "farther than 1e.07 units away"),
        (lambda d: d["accessors"][0].update(count=10**9), "accessor 0 reaches beyond its view"),
        (lambda d: d["accessors"][0].update(count=-1), "count must be a number"),
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
            "with 2 keys needs 6 values; found 2",
        ),
        (
            lambda d: d.update(extensionsRequired=["EXT_meshopt_compression"]),
            "compressed with EXT_meshopt_compression",
        ),
        (lambda d: (d.pop("skins"), d.pop("animations")), "neither a skin nor an animation"),
    ],
)
def test_reports_invalid_input(tmp_path, change, message):
    path = changed(change).write(tmp_path / "a.gltf")
    with pytest.raises(MotionFormatError, match=message) as caught:
        ml.load(path)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([1.0, 0.5], "times of a rotation curve do not increase"),
        ([0.0, float("nan")], "not finite"),
        ([0.0, 1e9], "would have 3e.10 frames"),
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
        (b"glTF", "truncated within its header"),
        (b"glTF" + struct.pack("<IIII", 1, 20, 0, 0), "this file has version 1"),
        (b"glTF" + struct.pack("<IIII", 2, 2000, 0, 0), "the file is truncated"),
        (b"glTF" + struct.pack("<IIII", 2, 20, 0, 0), "no JSON chunk"),
        (b"[" * 100_000, "JSON cannot be read"),
        (b"\xff\xfe\x00", "JSON cannot be read"),
        (b"9" * 10_000, "JSON cannot be read"),
    ],
)
def test_reports_errors_in_the_container(tmp_path, data, message):
    path = tmp_path / "a.glb"
    path.write_bytes(data)
    with pytest.raises(MotionFormatError, match=message):
        ml.load(path)


def test_a_very_deep_tree_is_refused_quickly(tmp_path):
    nodes = [{"children": [k + 1]} for k in range(90_000)] + [{"name": "a"}]
    file = Builder(nodes, list(range(0, 90_001, 10))).curve(
        0, "translation", [0, 1], np.zeros((2, 3))
    )
    with pytest.raises(MotionFormatError, match="joints; the limit is"):
        ml.load(file.write(tmp_path / "a.gltf"))
    file.document["skins"][0]["joints"] = [90_000]
    with pytest.raises(MotionFormatError, match="the root has 90000 nodes above it"):
        ml.load(file.write(tmp_path / "a.gltf"))


def test_one_accessor_used_a_thousand_times_is_refused(tmp_path):
    nodes = [{"children": [k + 1]} for k in range(2000)] + [{}]
    file = Builder(nodes, list(range(2001)))
    file.curve(0, "translation", np.arange(9000), np.zeros((9000, 3)))
    animation = file.document["animations"][0]
    animation["channels"] = [
        {"sampler": 0, "target": {"node": k, "path": "translation"}} for k in range(2001)
    ]
    with pytest.raises(MotionFormatError, match="the same data too often"):
        ml.load(file.write(tmp_path / "a.gltf"))


def test_an_empty_scene_is_not_written(tmp_path):
    with pytest.raises(
        InvalidInput, match="at least one motion, and each motion at least one frame"
    ):
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


@pytest.mark.slow
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
