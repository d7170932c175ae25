"""Conventions that four programs expect of a file."""

from dataclasses import replace

import numpy as np
import pytest

import motionloom as ml
from motionloom.errors import InvalidInput
from motionloom.formats.presets import (
    PRESETS,
    add_ground_root,
    apply_preset,
    preset_named,
    rename_joints,
)


@pytest.fixture(scope="module")
def away():
    """A walk far from the origin, turned, and above the floor."""
    return ml.demo.clip("walk").transform(yaw=2.0, shift=(5.0, 0.7, -3.0))


def lows(motion):
    return motion.role_positions(["left_toe", "right_toe"])[:, :, 1].min(axis=1)


@pytest.mark.parametrize("name", PRESETS)
def test_a_prepared_take_starts_on_the_floor_over_the_origin_facing_forward(away, name):
    ready = apply_preset(away, name)
    hips = ready.role_positions(["hips"])[0, 0]
    assert np.abs(hips[[0, 2]]).max() < 1e-5
    assert abs(ready.headings()[0]) < 1e-5
    assert np.abs(np.percentile(lows(ready), 5.0)) < 1e-4


@pytest.mark.parametrize("name", PRESETS)
def test_a_prepared_take_moves_as_before(away, name):
    roles = ["head", "left_wrist", "right_ankle", "left_toe"]
    before, after = away.role_positions(roles), apply_preset(away, name).role_positions(roles)
    # Distances between points say nothing of place and heading, which may change.
    spread = lambda p: np.linalg.norm(p[:, :, None] - p[:, None], axis=-1)  # noqa: E731
    assert np.abs(spread(after) - spread(before)).max() < 1e-4
    way = lambda p: np.linalg.norm(np.diff(p, axis=0), axis=-1)  # noqa: E731
    assert np.abs(way(after) - way(before)).max() < 1e-4


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("blender", {"Hips"}),
        ("unreal", {"root", "pelvis", "thigh_l", "calf_r", "upperarm_l", "ball_r"}),
        ("unity", {"Hips", "LeftUpperLeg", "RightLowerArm", "LeftFoot"}),
        ("maya", {"Hips", "LeftUpLeg", "RightForeArm", "LeftToeBase"}),
    ],
)
def test_joints_have_the_names_of_the_program(away, name, names):
    skeleton = apply_preset(away, name).skeleton
    assert names <= set(skeleton.names) or name == "blender"
    assert set(skeleton.roles) == set(away.skeleton.roles)
    if name == "blender":
        assert skeleton.names == away.skeleton.names


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("suffix", [".bvh", ".glb"])
def test_a_prepared_take_survives_its_file(away, tmp_path, name, suffix):
    ready, expected = apply_preset(away, name), preset_named(name)
    options = {"unit": expected.unit, "up": expected.up} if suffix == ".bvh" else {}
    again = ml.load(ready.save(tmp_path / f"walk{suffix}", **options))
    roles = ["hips", "head", "left_toe", "right_wrist"]
    assert np.abs(again.role_positions(roles) - ready.role_positions(roles)).max() < 2e-4
    assert again.origin.warnings == () or name == "unreal"  # its pelvis carries the height


def test_the_ground_root_stays_on_the_floor_and_turns_with_the_body(away):
    walk = add_ground_root(away)
    assert np.abs(walk.root[:, 1]).max() == 0.0
    assert walk.skeleton.parents[1] == 0
    assert np.abs(walk.rotations[:, 0, [1, 3]]).max() < 1e-6  # about the vertical only
    assert np.abs(walk.positions()[:, 1:] - away.positions()).max() < 1e-5


def test_a_skeleton_with_a_ground_root_keeps_its_own(away):
    once = add_ground_root(away)
    assert add_ground_root(once) is once


def test_a_joint_without_a_role_does_not_steal_a_name(away):
    skeleton = away.skeleton
    roles = {role: name for role, name in skeleton.roles.items() if role != "left_elbow"}
    plain = skeleton.roles["left_elbow"]
    bare = replace(away, skeleton=replace(skeleton, role_map=roles, names=skeleton.names))
    changed = rename_joints(bare, {"head": plain}).skeleton
    assert changed.roles["head"] == plain
    assert len(set(changed.point_names)) == len(changed.point_names)


def test_a_joint_of_two_roles_gets_one_name(away):
    roles = dict(away.skeleton.roles)
    roles["chest"] = roles["spine"]
    shared = replace(away, skeleton=replace(away.skeleton, role_map=roles))
    assert rename_joints(shared, {"spine": "a", "chest": "b"}).skeleton.roles["chest"] == "a"


def test_reports_invalid_input(away):
    with pytest.raises(InvalidInput, match="preset must be one of blender, unreal.*got 'poser'"):
        preset_named("poser")
    with pytest.raises(InvalidInput, match="has no frames"):
        apply_preset(away[:0], "blender")
