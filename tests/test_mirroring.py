"""Motions with left and right exchanged."""

import re
from dataclasses import replace

import numpy as np
import pytest
from people import assert_same_motion, person, random_motion, turning
from rigs import RIGS, rig
from scipy.spatial.transform import Rotation

import motionloom as ml
from motionloom.errors import RoleError
from motionloom.motion import Motion, Skeleton
from motionloom.motion.mirroring import twin_joints
from motionloom.motion.rotations import quaternions as rot

MIRROR = np.array([-1.0, 1.0, 1.0])


def twin_points(skeleton):
    """For every point the point that plays its role on the other side."""
    twins = np.arange(len(skeleton.point_names))
    for role, name in skeleton.roles.items():
        other = role.replace("left_", "r_").replace("right_", "left_").replace("r_", "right_")
        twins[skeleton.point_names.index(name)] = skeleton.point(other)
    return twins


def assert_mirrored(motion, tolerance=1e-5):
    positions = motion.mirror().positions(end_sites=True)
    expected = (motion.positions(end_sites=True) * MIRROR)[:, twin_points(motion.skeleton)]
    np.testing.assert_allclose(positions, expected, atol=tolerance)


def test_a_mirrored_pose_is_what_a_mirror_shows(rng):
    assert_mirrored(random_motion(rng))


def test_mirroring_twice_changes_nothing(rng):
    motion = random_motion(rng)
    assert_same_motion(motion.mirror().mirror(), motion, 1e-5)


def with_odd_axes(skeleton, rng):
    """The same body with different axes at each joint, as recorded in the rest pose."""
    turns = Rotation.concatenate([Rotation.identity(), Rotation.random(len(skeleton) - 1, rng=rng)])
    above = np.maximum(skeleton.parents, 0)
    local = turns[above].inv() * turns
    return replace(
        skeleton,
        offsets=turns[above].inv().apply(skeleton.offsets.copy()),
        end_offsets=turns[skeleton.end_parents].inv().apply(skeleton.end_offsets.copy()),
        rest=local.as_quat(scalar_first=True),
    )


def test_twins_need_not_have_the_same_axes(rng):
    motion = random_motion(rng, skeleton=with_odd_axes(person(), rng))
    assert_mirrored(motion)
    assert_same_motion(motion.mirror().mirror(), motion, 1e-5)


LEFT_ON_Z = np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]])
LEFT_ON_Y = np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, -1]])


@pytest.mark.parametrize("turn", [LEFT_ON_Z, LEFT_ON_Y], ids=["z", "y"])
def test_a_skeleton_may_be_symmetric_about_another_plane(rng, turn):
    """Bones written sideways, as in LAFAN1, without a rest pose."""
    assert_mirrored(random_motion(rng, skeleton=person(turn=turn)))


def test_bones_of_changing_length_are_mirrored_too(rng):
    for skeleton in (person(), with_odd_axes(person(), rng)):
        segment = rng.uniform(0.8, 1.2, (6, len(skeleton), 1))
        motion = random_motion(rng, 6, skeleton=skeleton)
        motion = replace(motion, translations=skeleton.offsets * segment)
        # End sites hang on joints whose own bone, not theirs, is stretched: all points agree.
        assert_mirrored(motion)
        assert_same_motion(motion.mirror().mirror(), motion, 1e-5)


@pytest.mark.parametrize("name", RIGS)
def test_every_sided_joint_of_a_rig_has_a_twin(name):
    skeleton, _ = rig(name)
    twin = twin_joints(skeleton)
    np.testing.assert_array_equal(twin[twin], np.arange(len(skeleton)))
    for joint, other in enumerate(twin):
        if other != joint:
            assert twin[skeleton.parents[joint]] == skeleton.parents[other]
    outline = RIGS[name][1]
    middle = {re.split(" = | @0", line)[0].strip() for line in outline.splitlines()}
    alone = np.flatnonzero(twin == np.arange(len(twin)))
    assert {skeleton.names[joint] for joint in alone} <= middle


def test_a_skeleton_without_sides_cannot_be_mirrored():
    stick = Skeleton(["a", "b"], [-1, 0], [[0, 0, 0], [0, 1, 0]])
    motion = Motion(stick, np.tile(rot.IDENTITY, (1, 2, 1)), np.zeros((1, 3)), 30)
    with pytest.raises(RoleError, match="cannot mirror: no left and right joints found among a, b"):
        motion.mirror()


def test_walking_to_the_left_becomes_walking_to_the_right():
    motion = turning(np.linspace(0.0, 1.0, 10))
    np.testing.assert_allclose(motion.mirror().headings(), -motion.headings(), atol=1e-5)


@pytest.fixture(scope="module")
def takes(cmu30):
    files = sorted(cmu30.glob("*/*.bvh"))[::300]
    return [ml.load(path)[:90] for path in files]


@pytest.mark.cmu
def test_cmu_takes_are_mirrored(takes):
    """CMU's left and right legs differ by up to some centimeters, so do the mirrored points."""
    for take in takes:
        assert_same_motion(take.mirror().mirror(), take, 1e-4)
        twins = twin_points(take.skeleton)
        mirrored = take.mirror().positions(end_sites=True)
        expected = (take.positions(end_sites=True) * MIRROR)[:, twins]
        played = take.skeleton.points(list(take.skeleton.roles))
        offsets = take.skeleton.point_offsets
        lopsided = np.linalg.norm(offsets[twins] * MIRROR - offsets, axis=1)[played].sum()
        error = np.linalg.norm(mirrored - expected, axis=-1)[:, played]
        assert error.max() <= lopsided + 1e-4
        assert np.median(error) < 0.05


def bones_along_x():
    """A rig whose rest pose no body can take: bones along x, those of the right side backwards."""
    legs = [("hip", 0.1), ("knee", 0.4), ("ankle", 0.4), ("foot", 0.15)]
    arms = [("collar", 0.1), ("shoulder", 0.1), ("elbow", 0.25), ("wrist", 0.25)]
    names, parents, offsets = ["hips", "spine", "chest", "neck", "head"], [-1, 0, 1, 2, 3], []
    offsets += [[0, 0, 0], [0.15, 0, 0], [0.1, 0, 0], [0.15, 0, 0], [0.1, 0, 0]]
    for side, sign in (("left", 1.0), ("right", -1.0)):
        for chain, parent in ((legs, 0), (arms, 2)):
            for k, (part, length) in enumerate(chain):
                names.append(f"{side}_{part}")
                parents.append(parent if k == 0 else len(names) - 2)
                offsets.append([0.05, 0.0, 0.1 * sign] if k == 0 else [sign * length, 0, 0])
    return Skeleton(names, parents, offsets, role_map={name: name for name in names})


def test_axes_of_the_right_side_may_be_mirrored_themselves(rng):
    skeleton = bones_along_x()
    # Both knees and elbows bend about +y of their own axes.
    bend = rot.from_axis_angle([0.0, 1.0, 0.0], rng.uniform(0.3, 1.0, (20, len(skeleton))))
    for name in ("right_hip", "right_collar"):  # turned over, as their bones point back
        joint = skeleton.names.index(name)
        bend[:, joint] = rot.multiply([0.0, 0.0, 0.0, 1.0], bend[:, joint])
    motion = Motion(skeleton, bend, rng.normal(size=(20, 3)), 30.0)
    assert_mirrored(motion)
    knee = skeleton.names.index("left_knee")
    own, other = motion.rotations[:, knee], motion.mirror().rotations[:, knee]
    assert np.all(np.sum(own * other, axis=1) > 0.9)  # it still bends the way knees do


@pytest.mark.cmu
def test_bandai_takes_are_mirrored(bandai):
    take = ml.load(sorted(bandai.glob("walk-turn-left_*.bvh"))[0])
    twin = twin_joints(take.skeleton)
    expected = take.positions()[:, twin] * MIRROR
    np.testing.assert_allclose(take.mirror().positions(), expected, atol=1e-3)
