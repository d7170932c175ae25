"""glTF: the way out and back."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from gltf_files import SKELETON, apart, random_motion
from naive.gltf import NaiveGltf

import motionloom as ml
from motionloom.errors import MotionFormatError
from motionloom.formats import gltf
from motionloom.motion.rotations import quaternions as rot


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


def test_the_animation_of_a_single_motion_has_its_name(tmp_path, rng):
    pytest.importorskip("pygltflib", reason="pygltflib is not installed")
    kick = random_motion(rng, name="kick")
    assert NaiveGltf(kick.save(tmp_path / "a.glb")).gltf.animations[0].name == "kick"
    ml.save([kick, kick], tmp_path / "two.glb")
    assert NaiveGltf(tmp_path / "two.glb").gltf.animations[0].name == "motion"


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
        center = bone.reshape(-1, 3).mean(axis=0)
        a, b, c = (bone - center).transpose(1, 0, 2)
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


def test_one_frame_keeps_its_rate(tmp_path, rng):
    again = ml.load(random_motion(rng, frames=1, fps=120.0).save(tmp_path / "a.glb"))
    assert (len(again), again.fps) == (1, 120.0)


def test_several_characters_in_one_file(tmp_path, rng):
    anna = random_motion(rng, name="Anna")
    bob = random_motion(rng, frames=20, fps=30.0, name="Bob")
    gltf.write([anna, bob], tmp_path / "both.glb")
    first = ml.load(tmp_path / "both.glb")
    assert apart(first, anna) < 1e-5
    assert "the first of 2 skins, 'Anna', was read; the others are Bob" in first.origin.warnings[0]
    for which in ("Bob", 1):
        second = ml.load(tmp_path / "both.glb", skeleton=which)
        assert (second.name, second.fps, len(second)) == ("Bob", 30.0, 20)
        assert apart(second, bob) < 1e-5
    with pytest.raises(MotionFormatError, match="no skin 'Eve'. The file has Anna, Bob"):
        ml.load(tmp_path / "both.glb", skeleton="Eve")


def test_characters_of_one_skeleton_share_static_data(tmp_path, rng):
    crowd = [random_motion(rng, name=f"c{k}") for k in range(20)]
    gltf.write(crowd, tmp_path / "crowd.gltf")
    document = json.loads((tmp_path / "crowd.gltf").read_text())
    sticks = [node for node in document["nodes"] if "mesh" in node]
    assert len(sticks) == len({node["skin"] for node in sticks}) == 20
    assert len(document["meshes"]) == 7  # one per color
    vertices = [mesh["primitives"][0]["attributes"] for mesh in document["meshes"]]
    assert all(attributes == vertices[0] for attributes in vertices)
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
        again = ml.load(tmp_path / "small.glb", skeleton=motion.name)
        assert (len(again), again.fps) == (300, 60.0)
        assert apart(again, motion) < 3e-4


@pytest.mark.cmu
def test_a_real_take_comes_back_within_a_tenth_of_a_millimeter(tmp_path, cmu_raw):
    motion = ml.load(cmu_raw / "16_15.bvh")
    assert apart(motion, ml.load(motion.save(tmp_path / "a.glb"))) < 1e-5
