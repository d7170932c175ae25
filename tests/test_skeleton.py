import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

import motionloom as ml
from motionloom.errors import InvalidInput, RoleError
from motionloom.motion import Skeleton
from motionloom.motion.rotations import quaternions as rot

LEG = dict(
    names=["Hips", "LeftUpLeg", "LeftLeg"],
    parents=[-1, 0, 1],
    offsets=[[0, 0, 0], [0.1, 0, 0], [0, -0.4, 0]],
    end_names=["toe"],
    end_parents=[2],
    end_offsets=[[0, -0.4, 0.1]],
)


def leg(**changes):
    return Skeleton(**{**LEG, **changes})


def test_points_are_joints_then_end_sites():
    skeleton = leg()
    assert len(skeleton) == 3
    assert skeleton.point_names == ("Hips", "LeftUpLeg", "LeftLeg", "toe")
    np.testing.assert_array_equal(skeleton.point_parents, [-1, 0, 1, 2])
    np.testing.assert_array_equal(skeleton.point_offsets[3], [0, -0.4, 0.1])
    assert repr(skeleton) == "Skeleton(3 joints, 1 end sites)"


def test_points_are_found_by_role_and_joints_by_name():
    skeleton = leg()
    assert skeleton.point("left_knee") == 2
    np.testing.assert_array_equal(skeleton.points(["left_knee", "hips"]), [2, 0])
    assert skeleton.joint("LeftUpLeg") == 1
    with pytest.raises(
        RoleError, match="no joint is called 'Head'; the joints are: Hips, LeftUpLeg"
    ):
        skeleton.joint("Head")
    with pytest.raises(RoleError, match="no joint has the role head"):
        skeleton.points(["hips", "head"])


def test_nothing_can_be_changed():
    skeleton = leg(rest=np.tile([1.0, 0, 0, 0], (3, 1)))
    with pytest.raises(FrozenInstanceError):
        skeleton.names = ()
    for array in (skeleton.parents, skeleton.offsets, skeleton.end_parents, skeleton.end_offsets,
                  skeleton.rest):  # fmt: skip
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_input_arrays_may_change_afterward():
    offsets = np.array(LEG["offsets"], dtype=float)
    roles = {"hips": "Hips"}
    skeleton = leg(offsets=offsets, role_map=roles)
    offsets[:] = 9.0
    roles.clear()
    assert skeleton.offsets.max() == 0.1
    assert skeleton.role_map == {"hips": "Hips"}


def test_equal_skeletons_have_equal_keys():
    assert leg().key == leg().key
    assert leg(role_map={"hips": "Hips"}).key == leg(role_map={"hips": "Hips"}).key


@pytest.mark.parametrize(
    "change",
    [
        {"names": ["Hips", "LeftUpLeg", "LeftShin"]},
        {"parents": [-1, 0, 0]},
        {"offsets": [[0, 0, 0], [0.1, 0, 0], [0, -0.41, 0]]},
        {"end_names": ["tip"]},
        {"end_parents": [1]},
        {"end_offsets": [[0, 0, 0.1]]},
        {"end_names": [], "end_parents": [], "end_offsets": np.zeros((0, 3))},
        {"rest": np.tile([1.0, 0, 0, 0], (3, 1))},
        {"role_map": {"hips": "LeftLeg"}},
        {"role_map": {"hips": None}},
    ],
)
def test_different_skeletons_have_different_keys(change):
    assert leg(**change).key != leg().key


def test_a_joint_and_an_end_site_are_distinguished_in_the_key():
    """All zeros, so that the arrays of both run to the same bytes."""
    two = Skeleton(["a", "b"], [-1, 0], np.zeros((2, 3)),
                   end_names=["c"], end_parents=[0], end_offsets=np.zeros((1, 3)))  # fmt: skip
    three = Skeleton(["a", "b", "c"], [-1, 0, 0], np.zeros((3, 3)))
    assert two.key != three.key


def test_scaling_moves_offsets_and_end_sites():
    big = leg().scaled(2.0)
    np.testing.assert_allclose(big.point_offsets, 2.0 * leg().point_offsets)
    assert big.roles == leg().roles


def test_skeletons_travel_between_processes():
    skeleton = leg(role_map={"head": "LeftLeg"})
    _ = skeleton.roles
    again = pickle.loads(pickle.dumps(skeleton))
    assert again.key == skeleton.key
    assert again.roles == skeleton.roles
    assert not again.offsets.flags.writeable


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"names": [], "parents": [], "offsets": np.zeros((0, 3))},
            "names must contain at least one joint",
        ),
        ({"names": ["a", "b", "a"]}, "point names must be unique; 'a' occurs twice"),
        ({"end_names": ["Hips"]}, "point names must be unique; 'Hips' occurs twice"),
        ({"parents": [-1, 0]}, r"parents must have shape \(3,\); got \(2,\)"),
        (
            {"parents": [-1, 2, 1]},
            "a parent must come before its child; joint 1 .'LeftUpLeg'. has parent 2",
        ),
        (
            {"parents": [-1, 0, -1]},
            "parents must be -1 for joint 0 .the root. and for no other joint",
        ),
        ({"parents": [0, 0, 1]}, "parents must be -1 for joint 0"),
        ({"offsets": np.zeros((3, 2))}, r"offsets must have shape \(3, 3\); got \(3, 2\)"),
        ({"offsets": np.full((3, 3), np.nan)}, "offsets must contain only finite numbers"),
        ({"end_offsets": [[0, 0, np.inf]]}, "end_offsets must contain only finite numbers"),
        ({"end_parents": [3]}, r"end_parents must lie in 0\.\.2; got \[3\]"),
        ({"end_parents": [-1]}, r"end_parents must lie in 0\.\.2"),
        ({"end_parents": [0, 1]}, r"end_parents must have shape \(1,\)"),
        ({"rest": np.zeros((2, 4))}, r"rest must have shape \(3, 4\)"),
    ],
)
def test_reports_invalid_input(change, message):
    with pytest.raises(InvalidInput, match=message):
        leg(**change)


def test_one_body_in_files_with_other_rounding():
    skeleton = ml.demo.clip("walk").skeleton
    rng = np.random.default_rng(3)

    def rounded(unit, digits):
        noise = rng.uniform(-0.5, 0.5, skeleton.offsets.shape) * unit / 10**digits
        rows = np.round((skeleton.offsets + noise) / unit, digits) * unit
        return replace(skeleton, offsets=rows)

    for unit, digits in ((0.01, 2), (0.01, 6), (1.0, 4)):
        assert skeleton.is_same_body(rounded(unit, digits))
    longer = skeleton.offsets.copy()
    longer[skeleton.joint("LeftLeg")] *= 1.005  # 2 mm of a thigh
    assert not skeleton.is_same_body(replace(skeleton, offsets=longer))
    assert skeleton.is_same_body(replace(skeleton, offsets=longer), tolerance=0.003)


def test_small_differences_of_many_bones_add_up():
    skeleton = ml.demo.clip("walk").skeleton
    away = skeleton.offsets + [0.0, 0.0003, 0.0]
    assert np.linalg.norm(away - skeleton.offsets, axis=1).max() < 0.001
    assert not skeleton.is_same_body(replace(skeleton, offsets=away))


def test_other_names_roles_trees_or_rest_poses_are_other_bodies():
    skeleton = ml.demo.clip("walk").skeleton
    turned = skeleton.rest_rotations.copy()
    turned[3] = rot.normalize([1.0, 0.0, 0.01, 0.0])
    for other in (
        replace(skeleton, names=("Pelvis", *skeleton.names[1:])),
        skeleton.with_roles({"head": "Neck"}),
        replace(skeleton, rest=turned),
        replace(skeleton, parents=np.concatenate([skeleton.parents[:-1], [0]])),
    ):
        assert not skeleton.is_same_body(other)
    assert skeleton.is_same_body(replace(skeleton, rest=skeleton.rest_rotations))
