"""Joints above the hips: composed into them when a file is read, written back where needed."""

import json
from dataclasses import replace

import numpy as np
import pytest
from carriers import KINDS, under_a_carrier
from rigs import RIGS, rig

import motionloom as ml
from motionloom.blending.examples import conform
from motionloom.formats.presets import apply_preset, convert
from motionloom.motion.kinematics.root_carrier import Carrier, body_root, hips_as_root, with_carrier
from motionloom.motion.rotations import quaternions as rot
from motionloom.store.records import origin_json


@pytest.fixture(scope="module")
def walk():
    return ml.demo.clip("walk_left")


def same_body(result, wanted, atol=1e-5):
    assert result.skeleton.names == wanted.skeleton.names
    np.testing.assert_allclose(
        result.positions(end_sites=True), wanted.positions(end_sites=True), atol=atol
    )


@pytest.mark.parametrize("props", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_hips_become_the_root(walk, kind, props):
    carried = under_a_carrier(walk, kind, props=props)
    assert body_root(carried.skeleton) == 1
    body = hips_as_root(carried)
    same_body(body, walk)
    assert body.translations is None
    assert body.skeleton.roles == walk.skeleton.roles
    turned = rot.angle_between(body.global_rotations(), walk.global_rotations())
    assert turned.max() < 1e-3
    carrier = body.origin.carrier
    assert carrier.names == ("Reference",)
    assert carrier.moves == (kind in ("traveling", "rigid"))
    assert carrier.left_out == (("Camera", "ik_target") if props else ())


@pytest.mark.parametrize("kind", KINDS)
def test_the_carrier_is_restored_at_its_old_position(walk, kind):
    carried = under_a_carrier(walk, kind)
    again = with_carrier(hips_as_root(carried))
    same_body(again, carried)
    assert again.origin.carrier is None
    part = with_carrier(hips_as_root(carried)[20:60])
    same_body(part, carried[20:60])
    faster = with_carrier(hips_as_root(carried).resample(60.0))
    assert np.abs(faster.positions()[::2] - carried.positions()).max() < 1e-5


@pytest.mark.parametrize("upper", KINDS)
@pytest.mark.parametrize("lower", KINDS)
def test_a_chain_of_carriers(walk, upper, lower, tmp_path):
    """Blender's exports of Unreal's rig: ``Armature`` above ``root`` above the pelvis."""
    carried = under_a_carrier(under_a_carrier(walk, lower, name="root"), upper, name="Armature")
    body = hips_as_root(carried)
    same_body(body, walk, atol=2e-5)
    assert body.origin.carrier.names == ("Armature", "root")
    same_body(with_carrier(body), carried, atol=3e-5)
    read = ml.load(carried.save(tmp_path / "one.bvh", unit="m"), unit="m")
    np.testing.assert_allclose(read.positions(), walk.positions(), atol=4e-5)
    again = ml.load(read.save(tmp_path / "two.bvh"), keep_carrier=True, unit="m")
    np.testing.assert_allclose(again.positions(), carried.positions(), atol=8e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("up", ["y", "z"])
def test_up_axis_unit_and_t_pose_below_a_carrier(walk, kind, up, tmp_path):
    carried = under_a_carrier(walk, kind)
    file = carried.save(tmp_path / "a.bvh", unit="cm", up=up, rest_frame=kind == "fixed")
    read = ml.load(file)
    assert (read.origin.up, read.origin.unit_m) == (up, 0.01)
    assert (read.origin.tpose_frame == 0) == (kind == "fixed")
    np.testing.assert_allclose(read.positions(), walk.positions(), atol=1e-4)
    hips, head = read.rest_pose().role_positions(["hips", "head"])[0]
    assert head[1] - hips[1] > 0.4


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("suffix", [".glb", ".gltf"])
def test_a_carrier_in_gltf(walk, kind, suffix, tmp_path):
    carried = under_a_carrier(walk, kind, props=True)
    read = ml.load(carried.save(tmp_path / f"a{suffix}"))
    assert read.skeleton.names == walk.skeleton.names
    np.testing.assert_allclose(read.positions(), walk.positions(), atol=1e-4)
    assert read.origin.carrier.left_out == ("Camera", "ik_target")
    again = ml.load(read.save(tmp_path / f"b{suffix}"), keep_carrier=True)
    assert again.skeleton.names[:2] == ("Reference", "Hips")
    np.testing.assert_allclose(again.positions(), carried.positions()[:, :-2], atol=2e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_a_carrier_survives_a_file_and_its_skeleton_is_that_of_the_body(walk, kind, tmp_path):
    carried = under_a_carrier(walk, kind)
    read = ml.load(carried.save(tmp_path / "one.bvh", unit="m"), unit="m")
    assert read.skeleton.names == walk.skeleton.names
    np.testing.assert_allclose(read.positions(), walk.positions(), atol=2e-5)
    again = ml.load(read.save(tmp_path / "two.bvh"), keep_carrier=True, unit="m")
    np.testing.assert_allclose(again.positions(), carried.positions(), atol=4e-5)
    elsewhere = under_a_carrier(walk.transform(shift=(2.0, 0.0, 1.0))[5:], kind)
    other = ml.load(elsewhere.save(tmp_path / "three.bvh", unit="m"), unit="m")
    assert other.skeleton.key == read.skeleton.key
    assert other.skeleton is read.skeleton


def test_an_upright_rest_pose_below_a_tilted_carrier(walk):
    """Blender's armatures turn a body that rests along z; the rest pose must also stand."""
    lying = rot.between([0.0, 1.0, 0.0], [0.0, 0.0, 1.0])
    body = walk.skeleton
    flat = replace(body, offsets=rot.rotate(lying, body.offsets),
                   end_offsets=rot.rotate(lying, body.end_offsets))  # fmt: skip
    turns = walk.rotations.astype(float)
    turns = rot.multiply(rot.multiply(lying, turns), rot.inverse(lying))
    turns[:, 0] = rot.multiply(rot.inverse(lying), turns[:, 0])  # stands in the motion
    upright = replace(walk, skeleton=flat, rotations=turns)
    np.testing.assert_allclose(upright.positions(), walk.positions(), atol=1e-4)
    rested = hips_as_root(under_a_carrier(upright, "tilted")).rest_pose()
    hips, head = rested.role_positions(["hips", "head"])[0]
    assert head[1] - hips[1] > 0.4


def test_a_library_remembers_the_carrier(walk, tmp_path):
    for kind in KINDS:
        under_a_carrier(walk, kind).save(tmp_path / f"{kind}.bvh", unit="m")
    with ml.Library.create(tmp_path / "takes.loom") as lib:
        lib.add(tmp_path, unit="m")
        assert len({entry.skeleton for entry in lib.entries()}) == 1
        for kind in KINDS:
            carrier = lib[kind].origin.carrier
            assert carrier.names == ("Reference",)
            assert carrier.moves == (kind in ("traveling", "rigid"))
            again = ml.load(lib[kind].save(tmp_path / "out" / f"{kind}.bvh"), keep_carrier=True)
            assert again.skeleton.names[0] == "Reference"
            wanted = under_a_carrier(walk, kind).positions()
            # The path of a carrier is not stored: it is placed below the hips again.
            np.testing.assert_allclose(again.positions(), wanted, atol=1e-3)


def test_a_carrier_as_json():
    carrier = Carrier(("a", "b"), True, ((0.0,) * 7, (1.0,) * 7), left_out=("camera",))
    assert Carrier.from_json(json.loads(json.dumps(carrier.to_json()))) == carrier
    origin = ml.demo.clip("walk").origin
    assert json.loads(origin_json(origin))["carrier"] is None


def test_other_formats_and_retargeting_drop_the_carrier(walk, tmp_path):
    read = ml.load(under_a_carrier(walk, "fixed").save(tmp_path / "a.bvh"))
    glb = ml.load(read.save(tmp_path / "a.glb"), keep_carrier=True)
    assert "Reference" not in glb.skeleton.names
    child = read.retarget(walk.skeleton.scaled(0.8))
    assert child.origin.carrier is None


def test_retargeting_onto_a_file_adds_its_carrier(walk):
    rig = hips_as_root(under_a_carrier(walk, "fixed"))
    made = convert(ml.demo.clip("walk"), onto=rig)
    assert made.skeleton.names[:2] == ("Reference", "Hips")
    assert np.ptp(made.positions()[:, 0], axis=0).max() < 1e-5


def test_the_unreal_preset_keeps_a_root_that_travels_on_the_floor(walk):
    carried = under_a_carrier(walk.starting_at_origin(), "traveling")
    carried = replace(carried, root=carried.root + [0.1, 0.0, 0.0])  # beside the body
    made = apply_preset(hips_as_root(carried), "unreal")
    assert made.skeleton.names[:2] == ("root", "pelvis")
    beside = made.positions()[:, 0] - made.positions()[:, 1]
    expected = carried.positions()[:, 0] - carried.positions()[:, 1]
    np.testing.assert_allclose(
        np.linalg.norm(beside[:, [0, 2]], axis=1),
        np.linalg.norm(expected[:, [0, 2]], axis=1), atol=1e-4,
    )  # fmt: skip


@pytest.mark.parametrize("preset", ["blender", "unity", "maya"])
def test_other_presets_keep_root_motion_and_drop_stationary_joints(walk, preset):
    for kind in KINDS:
        made = apply_preset(under_a_carrier(walk.starting_at_origin(), kind), preset)
        names = made.skeleton.names
        assert names[: 1 + (kind == "traveling")] == (
            ("Reference", "Hips") if kind == "traveling" else ("Hips",)
        )


def test_a_figure_without_hips_or_with_more_points_outside_them_is_unchanged(walk):
    plain = ml.Skeleton(["a", "b"], [-1, 0], [[0, 0, 0], [0, 1, 0]])
    assert body_root(plain) == 0
    still = ml.Motion(plain, np.tile([1.0, 0, 0, 0], (3, 2, 1)), np.zeros((3, 3)), 30)
    assert hips_as_root(still) is still
    assert hips_as_root(walk) is walk
    crowd = ml.Skeleton(
        ["world", "hips", *(f"prop{k}" for k in range(9))],
        [-1, 0, *[0] * 9], np.zeros((11, 3)), role_map={"hips": "hips"},
    )  # fmt: skip
    assert body_root(crowd) == 0


def test_ik_targets_are_not_limbs_but_detached_feet_are():
    names = ["root", "pelvis", "spine_01", "head", "thigh_l", "calf_l", "thigh_r", "calf_r"]
    parents = [-1, 0, 1, 2, 1, 4, 1, 6]
    for beside, root in (
        (["ik_foot_root", "ik_foot_l", "ik_hand_gun", "camera_arm"], 1),
        (["foot_l", "foot_r"], 0),
    ):
        count = len(beside)
        rig = ml.Skeleton(
            [*names, *beside], [*parents, *[0] * count], np.ones((len(names) + count, 3)),
            role_map={"hips": "pelvis", "head": "head"},
        )  # fmt: skip
        assert body_root(rig) == root, beside


@pytest.mark.parametrize("name", RIGS)
def test_roles_of_every_rig_survive(name):
    """The names above the hips may have helped to find the roles of the others."""
    skeleton, _ = rig(name)
    motion = ml.Motion(
        skeleton, np.tile([1.0, 0, 0, 0], (2, len(skeleton), 1)), np.zeros((2, 3)), 30
    )
    body = hips_as_root(motion)
    assert body.skeleton.roles == skeleton.roles
    assert body_root(body.skeleton) == 0


def noisy(motion, seed):
    """The motion with bones as another take's file would round them, by up to 0.01 mm."""
    rng = np.random.default_rng(seed)
    offsets = motion.skeleton.offsets + rng.uniform(-1e-5, 1e-5, motion.skeleton.offsets.shape)
    return replace(motion, skeleton=replace(motion.skeleton, offsets=offsets))


@pytest.mark.parametrize("workers", [1, 2])
def test_a_library_has_one_skeleton_per_performer(tmp_path, workers):
    performers = [ml.demo.clip("walk", performer=k) for k in (0, 2)]
    for take in range(4):
        for number, walk in enumerate(performers):
            take_of = noisy(walk[take : 40 + take], 10 * take + number)
            under_a_carrier(take_of, "fixed").save(tmp_path / f"p{number}_{take}.bvh")
    keys = []
    for number in range(2):
        with ml.Library.create(tmp_path / f"{number}.loom") as lib:
            lib.add(tmp_path, workers=workers)
            keys.append({entry.name: entry.skeleton for entry in lib.entries()})
            assert len(lib) == 8
            assert len(set(keys[0].values())) == 2
            for name in lib.names:
                exact = ml.load(tmp_path / f"{name}.bvh")
                np.testing.assert_allclose(lib[name].positions(), exact.positions(), atol=2e-4)
            lib.add_motion(noisy(ml.load(tmp_path / "p1_2.bvh"), 99), name="more")
            assert lib.store.entry("more").skeleton == lib.store.entry("p1_0").skeleton
    assert keys[0] == keys[1]


def test_takes_of_one_body_are_not_retargeted(monkeypatch):
    """Files that are not in a library keep the rounding of their bones."""
    takes = [noisy(ml.demo.clip(name), seed) for seed, name in enumerate(("walk", "walk_left"))]
    assert takes[0].skeleton.key != takes[1].skeleton.key
    monkeypatch.setattr(
        "motionloom.motion.retargeting.retarget.retarget",
        lambda *_, **__: pytest.fail("retargeted"),
    )
    first, second = conform(takes)
    assert second.skeleton is first.skeleton
    np.testing.assert_array_equal(second.rotations, takes[1].rotations)
    assert len(ml.concatenate(takes)) == len(takes[0]) + len(takes[1])


def test_an_import_reports_which_joints_were_composed_into_the_hips(walk, tmp_path):
    for number, kind in enumerate(KINDS[:2]):
        under_a_carrier(walk, kind).save(tmp_path / f"{number}.bvh", unit="m")
    walk.save(tmp_path / "plain.bvh", unit="m")
    with ml.Library.create(tmp_path / "takes.loom") as lib:
        assert lib.add(tmp_path, unit="m").carriers == {"Reference": 2}


def test_importing_again_gives_the_takes_of_an_old_library_one_skeleton(tmp_path, monkeypatch):
    for take in range(3):
        noisy(ml.demo.clip("walk")[take : 40 + take], take).save(tmp_path / f"{take}.bvh")
    with ml.Library.create(tmp_path / "old.loom") as lib:
        with monkeypatch.context() as old:
            old.setattr(ml.Skeleton, "is_same_body", lambda self, other: self.key == other.key)
            lib.add(tmp_path)
        assert len({entry.skeleton for entry in lib.entries()}) == 3
        assert lib.add(tmp_path).skipped == 3
        lib.add(tmp_path, force=True)
        assert len({entry.skeleton for entry in lib.entries()}) == 1
