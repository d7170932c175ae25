"""Fingers keep their pose on hands with other names, axes and rest poses."""

from dataclasses import replace

import numpy as np
import pytest

import motionloom as ml
from motionloom.motion import Motion, Skeleton
from motionloom.motion.roles.fingers import FINGERS, finger_roles
from motionloom.motion.rotations import quaternions as rot

MIXAMO = "{Side}Hand{Finger}{n}"
UNREAL = "{finger}_0{n}_{s}"
BIPED = "Bip01 {S} Finger{number}{digit}"


def with_hands(skeleton, names=MIXAMO, *, curl=0.0, joints=3):
    """The built-in skeleton with fingers, which rest bent by `curl` radians at each joint."""
    own, parents, offsets = list(skeleton.names), list(skeleton.parents), list(skeleton.offsets)
    rest = list(skeleton.rest_rotations.astype(float))
    for side, sign in (("left", 1.0), ("right", -1.0)):
        wrist = skeleton.joint(skeleton.roles[f"{side}_wrist"])
        for k, finger in enumerate(FINGERS):
            parent = wrist
            for n in range(1, joints + 1):
                own.append(
                    names.format(
                        Side=side.capitalize(), Finger=finger.capitalize(), finger=finger, n=n,
                        s=side[0], S=side[0].upper(), number=k, digit="" if n == 1 else n - 1,
                    )
                )  # fmt: skip
                parents.append(parent)
                out = [sign * 0.08, 0.0, 0.03 - 0.02 * k] if n == 1 else [sign * 0.03, 0.0, 0.0]
                offsets.append(out)
                rest.append(rot.from_axis_angle([0.0, 0.0, -sign], curl))
                parent = len(own) - 1
    return Skeleton(
        own, parents, offsets, skeleton.end_names, skeleton.end_parents, skeleton.end_offsets,
        rest=rest,
    )  # fmt: skip


def playing(names=MIXAMO):
    """The walk with fingers that bend by up to a radian per joint, each at its own pace."""
    walk = ml.demo.clip("walk")
    skeleton = with_hands(walk.skeleton, names)
    rotations = np.tile(rot.IDENTITY, (len(walk), len(skeleton), 1))
    rotations[:, : len(walk.skeleton)] = walk.rotations
    for k, (role, joint) in enumerate(finger_roles(skeleton).items()):
        sign = -1.0 if role.startswith("left") else 1.0
        bend = 0.5 - 0.5 * np.cos(np.arange(len(walk)) / (10.0 + k))
        axis = [0.1 * np.sin(k), 0.0, sign]
        rotations[:, joint] = rot.from_axis_angle(axis / np.linalg.norm(axis), bend)
    return Motion(skeleton, rotations, walk.root, walk.fps, name="playing")


def finger_bones(motion):
    """Directions (T, 3) of finger bones relative to the wrist's rotation, by role."""
    skeleton = motion.skeleton
    places = motion.positions().astype(float)
    turned = motion.global_rotations().astype(float)
    bones = {}
    for role, joint in finger_roles(skeleton).items():
        children = np.flatnonzero(skeleton.parents == joint)
        if len(children):
            wrist = skeleton.joint(skeleton.roles[f"{role.split('_')[0]}_wrist"])
            bone = rot.rotate(
                rot.inverse(turned[:, wrist]), places[:, children[0]] - places[:, joint]
            )
            bones[role] = bone / np.linalg.norm(bone, axis=1, keepdims=True)
    return bones


@pytest.mark.parametrize("names", [MIXAMO, UNREAL, BIPED])
def test_fingers_have_roles_in_every_naming_scheme(names):
    roles = finger_roles(with_hands(ml.demo.clip("walk").skeleton, names))
    assert len(roles) == 30
    expected = names.format(
        Side="Right", Finger="Ring", finger="ring", n=2, s="r", S="R", number=3, digit=1
    )
    skeleton = with_hands(ml.demo.clip("walk").skeleton, names)
    assert skeleton.names[roles["right_ring_2"]] == expected


def test_hands_with_one_finger_have_no_finger_roles():
    assert finger_roles(ml.demo.clip("walk").skeleton) == {}


@pytest.mark.parametrize(("names", "curl"), [(UNREAL, 0.0), (MIXAMO, 0.3), (BIPED, 0.3)])
def test_retargeted_fingers_point_the_same_way(names, curl):
    source = playing()
    target = with_hands(ml.demo.PERFORMERS[2].skeleton, names, curl=curl)
    moved = source.retarget(target)
    there, here = finger_bones(source), finger_bones(moved)
    assert len(here) == 20
    for role in here:
        apart = np.degrees(np.arccos(np.clip(np.sum(there[role] * here[role], axis=1), -1, 1)))
        assert apart.max() < 1.0, role


def test_mirrored_fingers_change_hands():
    source = playing(BIPED)
    mirrored = source.mirror()
    there, here = finger_bones(source), finger_bones(mirrored)
    for role in there:
        side, rest = role.split("_", 1)
        other = f"{'right' if side == 'left' else 'left'}_{rest}"
        np.testing.assert_allclose(here[other], there[role] * [-1.0, 1.0, 1.0], atol=1e-3)


def test_fingers_are_written_and_read_again(tmp_path):
    source = playing()
    source.save(tmp_path / "playing.bvh")
    again = ml.load(tmp_path / "playing.bvh")
    there, here = finger_bones(source), finger_bones(again)
    for role in there:
        np.testing.assert_allclose(here[role], there[role], atol=1e-3)


def test_a_target_without_fingers_is_retargeted_as_before():
    source = playing()
    bare = replace(ml.demo.PERFORMERS[2].skeleton)
    plain = ml.demo.clip("walk").retarget(bare)
    np.testing.assert_allclose(source.retarget(bare).positions(), plain.positions(), atol=1e-3)
