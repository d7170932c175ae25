"""A motion: its parts, kinematics and heading, and motions derived from it."""

import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from naive import kinematics as naive
from people import assert_same_motion, person, random_motion, standing, turning

import motionloom as ml
from motionloom.errors import InvalidInput, RoleError
from motionloom.motion import Motion, Skeleton, concatenate
from motionloom.motion.rotations import quaternions as rot

# --- size and parts -----------------------------------------------------------------------


def test_a_motion_knows_its_size():
    motion = standing(45, name="wait")
    assert len(motion) == 45
    assert motion.duration == 1.5
    assert motion.fps == 30.0
    assert motion.repairs == ()
    assert repr(motion) == "Motion('wait', 45 frames at 30 fps = 1.50 s, 21 joints)"
    assert repr(standing(1)).startswith("Motion(1 frames")


def test_arrays_are_kept_as_single_precision():
    motion = standing(3, translations=np.zeros((3, 21, 3)))
    assert motion.rotations.dtype == motion.root.dtype == motion.translations.dtype == np.float32


def test_nothing_can_be_changed():
    motion = standing(3, translations=np.zeros((3, 21, 3)))
    with pytest.raises(FrozenInstanceError):
        motion.fps = 60.0
    for array in (motion.rotations, motion.root, motion.translations):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_arrays_given_stay_writable_for_their_owner():
    root = np.zeros((1, 3), np.float32)
    Motion(person(), standing().rotations, root, 30)
    root[0] = 1.0


def test_slices_share_memory(rng):
    motion = random_motion(rng, 20, translations=np.zeros((20, 21, 3)))
    for part in (motion[5:15], motion[:], motion[::2], motion[-3:], motion[4]):
        assert np.shares_memory(part.rotations, motion.rotations)
        assert np.shares_memory(part.root, motion.root)
        assert np.shares_memory(part.translations, motion.translations)
        assert part.skeleton is motion.skeleton


def test_frames_are_cut_half_open(rng):
    motion = random_motion(rng, 20)
    assert len(motion[5:15]) == 10
    np.testing.assert_array_equal(motion[5:15].root, motion.root[5:15])
    np.testing.assert_array_equal(motion[-1].root, motion.root[19:])
    np.testing.assert_array_equal(motion[np.int64(3)].root, motion.root[3:4])
    assert len(motion[15:5]) == 0
    assert len(motion[18:100]) == 2


def test_every_second_frame_runs_at_half_the_rate(rng):
    motion = random_motion(rng, 20)
    half = motion[::2]
    assert half.fps == 15.0
    assert half.duration == motion.duration


def test_frames_can_be_iterated(rng):
    motion = random_motion(rng, 4)
    assert [len(frame) for frame in motion] == [1, 1, 1, 1]


@pytest.mark.parametrize("frame", [20, -21, 1000])
def test_frames_outside_are_an_index_error(rng, frame):
    with pytest.raises(
        IndexError, match=f"frame {frame} is out of range: this motion has 20 frames"
    ):
        random_motion(rng, 20)[frame]


@pytest.mark.parametrize(
    ("cut", "message"),
    [
        (slice(None, None, -1), "cannot be sliced backwards; the step must be positive"),
        ("5:10", "indexed with a frame number or a slice; got '5:10'"),
        ((1, 2), r"indexed with a frame number or a slice; got \(1, 2\)"),
        (1.5, "indexed with a frame number or a slice; got 1.5"),
    ],
)
def test_odd_cuts_are_refused(rng, cut, message):
    with pytest.raises(InvalidInput, match=message):
        random_motion(rng, 20)[cut]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rotations": np.zeros((3, 21, 3))}, r"\(frames, 21, 4\); got \(3, 21, 3\)"),
        ({"rotations": np.zeros((3, 20, 4))}, r"rotations must have shape \(frames, 21, 4\)"),
        ({"root": np.zeros((3, 2))}, r"root must have shape \(frames, 3\); got \(3, 2\)"),
        ({"root": np.zeros((2, 3))}, "root must have one row per frame; got 2 rows for 3 frames"),
        ({"translations": np.zeros((2, 21, 3))}, "translations must have one row per frame; got 2"),
        ({"translations": np.zeros((3, 1, 3))}, r"translations must have shape \(frames, 21, 3\)"),
        ({"fps": 0}, "fps must be positive; got 0"),
        ({"fps": -30}, "fps must be positive; got -30"),
        ({"fps": np.nan}, "fps must be positive; got nan"),
        ({"fps": np.inf}, "fps must be positive; got inf"),
    ],
)
def test_reports_invalid_input(change, message):
    with pytest.raises(InvalidInput, match=message):
        replace(standing(3), **change)


def test_motions_travel_between_processes(rng):
    motion = random_motion(rng, 5, name="a")
    again = pickle.loads(pickle.dumps(motion))
    np.testing.assert_array_equal(again.rotations, motion.rotations)
    assert again.name == "a"
    assert not again.rotations.flags.writeable


# --- kinematics ---------------------------------------------------------------------------


def test_positions_are_those_of_the_tree(rng):
    motion = random_motion(rng, 3)
    skeleton = motion.skeleton
    positions = motion.positions(end_sites=True)
    assert positions.shape == (3, 26, 3)
    for point in range(26):
        expected = naive.point_position(
            2, point, skeleton.point_parents, skeleton.point_offsets, motion.rotations, motion.root
        )
        np.testing.assert_allclose(positions[2, point], expected, atol=1e-5)
    np.testing.assert_array_equal(motion.positions(), positions[:, :21])


def test_roles_have_positions():
    motion = standing(2)
    roles = motion.role_positions(["left_knee", "left_toe"])
    np.testing.assert_allclose(roles, [[[0.10, 0.49, 0.0], [0.10, 0.02, 0.18]]] * 2, atol=1e-6)
    with pytest.raises(RoleError, match="there is no role 'tail'"):
        motion.role_positions(["tail"])


def test_translations_move_the_bones():
    motion = standing(2)
    longer = np.tile(motion.skeleton.offsets * 2.0, (2, 1, 1))
    stretched = replace(motion, translations=longer)
    thigh = ["left_hip", "left_knee"]
    bone = np.diff(motion.role_positions(thigh), axis=1)
    np.testing.assert_allclose(
        np.diff(stretched.role_positions(thigh), axis=1), 2 * bone, atol=1e-6
    )


def test_world_rotations_multiply_down_the_tree(rng):
    motion = random_motion(rng, 2)
    result = motion.global_rotations()
    wrist = motion.skeleton.point("left_wrist")
    expected = naive.global_matrix(1, wrist, motion.skeleton.parents, motion.rotations)
    np.testing.assert_allclose(rot.to_matrix(result[1, wrist]), expected, atol=1e-5)


def test_velocities_of_a_straight_walk():
    motion = standing(31, fps=30.0)
    root = motion.root.copy()
    root[:, 2] = 1.5 * np.arange(31) / 30.0
    walk = replace(motion, root=root)
    np.testing.assert_allclose(
        walk.velocities(), np.broadcast_to([0, 0, 1.5], (31, 21, 3)), atol=1e-4
    )
    assert walk.velocities(end_sites=True).shape == (31, 26, 3)


def test_velocities_of_a_turn():
    """On a circle of radius r at w rad/s a point moves at r w, along the tangent."""
    motion = turning(2.0 * np.arange(121) / 120.0, fps=120.0)
    hand = motion.skeleton.point("left_wrist")
    speed = np.linalg.norm(motion.velocities()[1:-1, hand], axis=-1)
    np.testing.assert_allclose(speed, 0.71 * 2.0, rtol=1e-3)
    np.testing.assert_allclose(motion.velocities()[1, hand], [0, 0, -1.42], atol=0.03)


def test_angular_velocities_of_a_turn():
    motion = turning(np.linspace(0.0, 8.0, 121), fps=60.0)  # 4 rad/s, past half a turn
    result = motion.angular_velocities()
    np.testing.assert_allclose(result[:, 0], np.broadcast_to([0, 4.0, 0], (121, 3)), atol=1e-3)
    np.testing.assert_allclose(result[:, 1:], 0.0, atol=1e-9)


def test_angular_velocities_do_not_depend_on_signs(rng):
    motion = random_motion(rng, 30)
    flipped = motion.rotations * rng.choice([-1.0, 1.0], (30, 21, 1))
    np.testing.assert_allclose(
        replace(motion, rotations=flipped).angular_velocities(),
        motion.angular_velocities(),
        atol=1e-9,
    )


def test_angular_velocities_are_the_mean_of_both_sides():
    motion = turning([0.0, 0.1, 0.4], fps=10.0)
    np.testing.assert_allclose(motion.angular_velocities()[:, 0, 1], [1.0, 2.0, 3.0], atol=1e-4)


def test_angular_velocities_are_in_the_parents_frame():
    """Turning about the parent's axis while already turned about another."""
    motion = standing(3, fps=10.0)
    rotations = motion.rotations.copy()
    start = rot.from_axis_angle([1, 0, 0], 1.0)
    rotations[:, 4] = rot.multiply(rot.from_axis_angle([0, 0, 1], [0.0, 0.1, 0.2]), start)
    result = replace(motion, rotations=rotations).angular_velocities()
    np.testing.assert_allclose(result[:, 4], np.broadcast_to([0, 0, 1.0], (3, 3)), atol=1e-4)


@pytest.mark.parametrize("frames", [0, 1])
def test_short_motions_stand_still(frames):
    motion = standing(3)[:frames]
    assert motion.positions().shape == (frames, 21, 3)
    assert motion.headings().shape == (frames,)
    assert not motion.velocities().any()
    assert not motion.angular_velocities().any()
    assert motion.velocities().shape == motion.angular_velocities().shape == (frames, 21, 3)
    for same in (motion.resample(60), motion.mirror(), motion.without_heading()):
        assert len(same) == frames


# --- heading ------------------------------------------------------------------------------


def test_zero_faces_plus_z_and_a_quarter_left_is_half_pi():
    assert standing().headings()[0] == pytest.approx(0.0, abs=1e-6)
    left = turning([np.pi / 2])
    assert left.headings()[0] == pytest.approx(np.pi / 2, abs=1e-6)
    toes = left.role_positions(["left_ankle", "left_toe"])[0]
    assert (toes[1] - toes[0])[0] > 0.1  # toes point to +X, where the left hand was


def test_headings_follow_turns_without_jumps():
    angles = np.linspace(-1.0, 12.0, 200)
    np.testing.assert_allclose(turning(angles).headings(), angles, atol=1e-5)


def test_headings_come_from_hips_and_shoulders_not_the_root():
    """A root with odd axes: the body still faces +Z."""
    skeleton = person()
    odd = rot.from_axis_angle([1, 2, 3], 2.0)
    offsets = skeleton.offsets.copy()
    children = skeleton.parents == 0
    offsets[children] = rot.rotate(rot.inverse(odd), offsets[children])
    motion = standing(1, skeleton=replace(skeleton, offsets=offsets))
    rotations = motion.rotations.astype(float)
    rotations[:, 0] = odd
    rotations[:, children] = rot.inverse(odd)
    assert replace(motion, rotations=rotations).headings()[0] == pytest.approx(0.0, abs=1e-5)


def test_without_roles_the_heading_follows_the_root():
    stick = Skeleton(["a", "b"], [-1, 0], [[0, 0, 0], [0, 1, 0]])
    q = np.tile(rot.IDENTITY, (50, 2, 1))
    angles = np.linspace(0.0, 9.0, 50)
    q[:, 0] = rot.yaw(angles)
    np.testing.assert_allclose(
        Motion(stick, q, np.zeros((50, 3)), 30).headings(), angles, atol=1e-5
    )


# --- new motions --------------------------------------------------------------------------


def test_transform_turns_then_shifts(rng):
    motion = random_motion(rng)
    moved = motion.transform(yaw=0.7, shift=(1.0, 2.0, 3.0))
    expected = rot.rotate(rot.yaw(0.7), motion.positions()) + [1.0, 2.0, 3.0]
    np.testing.assert_allclose(moved.positions(), expected, atol=1e-5)
    np.testing.assert_array_equal(moved.rotations[:, 1:], motion.rotations[:, 1:])
    np.testing.assert_allclose(moved.headings() - motion.headings(), 0.7, atol=1e-4)


def test_transforms_undo_each_other(rng):
    motion = random_motion(rng)
    there = motion.transform(yaw=1.2).transform(shift=(1, 0, -2))
    assert_same_motion(there.transform(shift=(-1, 0, 2)).transform(yaw=-1.2), motion)


def test_without_heading_stands_over_the_origin_and_faces_plus_z(rng):
    motion = turning(np.linspace(0, 5, 40)).transform(shift=(3, 0, 4))
    still = motion.without_heading()
    np.testing.assert_allclose(still.headings(), 0.0, atol=1e-5)
    np.testing.assert_array_equal(still.root[:, [0, 2]], 0.0)
    np.testing.assert_array_equal(still.root[:, 1], motion.root[:, 1])
    np.testing.assert_allclose(
        still.positions(), np.tile(standing().positions(), (40, 1, 1)), atol=1e-5
    )


def test_starting_at_origin_moves_the_whole(rng):
    motion = turning(np.linspace(2.0, 3.0, 10)).transform(yaw=0.5, shift=(3, 0, 4))
    moved = motion.starting_at_origin()
    np.testing.assert_allclose(moved.root[0], [0.0, 0.95, 0.0], atol=1e-6)
    np.testing.assert_allclose(moved.headings(), np.linspace(0.0, 1.0, 10), atol=1e-5)
    between = np.linalg.norm(np.diff(motion.positions(), axis=0), axis=-1)
    np.testing.assert_allclose(
        np.linalg.norm(np.diff(moved.positions(), axis=0), axis=-1), between, atol=1e-5
    )


def test_concatenation_puts_frames_one_after_the_other(rng):
    a, b = random_motion(rng, 5, name="a"), random_motion(rng, 7, name="b")
    both = a + b
    assert len(both) == 12
    assert both.name == "a"
    np.testing.assert_array_equal(both.root, np.concatenate([a.root, b.root]))
    np.testing.assert_array_equal(concatenate([a, b, a])[12:].rotations, a.rotations)
    np.testing.assert_array_equal(concatenate([a]).rotations, a.rotations)


def test_equal_skeletons_need_not_be_the_same_object(rng):
    assert (
        len(random_motion(rng, 2, skeleton=person()) + random_motion(rng, 3, skeleton=person()))
        == 5
    )


def test_concatenation_with_translations_on_one_side_keeps_bone_lengths(rng):
    plain = standing(2)
    stretched = replace(plain, translations=np.tile(plain.skeleton.offsets * 1.1, (2, 1, 1)))
    both = concatenate([plain, stretched])
    np.testing.assert_allclose(both[:2].positions(), plain.positions(), atol=1e-6)
    np.testing.assert_allclose(both[2:].positions(), stretched.positions(), atol=1e-6)


def test_motions_that_do_not_fit_are_not_concatenated(rng):
    with pytest.raises(InvalidInput, match="concatenate needs at least one motion; got none"):
        concatenate([])
    with pytest.raises(InvalidInput, match=r"must share one skeleton.*Retarget one onto the other"):
        concatenate([standing(), standing(skeleton=person().scaled(1.1))])
    with pytest.raises(
        InvalidInput, match=r"got 30 and 60 fps. Resample first: motion.resample\(30\)"
    ):
        concatenate([standing(fps=30), standing(fps=60)])


def test_the_rest_pose_stands_on_the_floor():
    pose = standing(5, name="wait").rest_pose()
    assert (len(pose), pose.name) == (1, "wait (rest)")
    places = pose.positions(end_sites=True)[0]
    assert places[:, 1].min() == pytest.approx(0.0, abs=1e-6)
    np.testing.assert_allclose(places[0], [0, 0.93, 0], atol=1e-6)


def test_the_rest_pose_is_the_skeletons_where_it_has_one():
    bent = np.tile(rot.IDENTITY, (21, 1))
    bent[0] = rot.from_axis_angle([1, 0, 0], np.pi / 2)  # lying on the belly
    pose = standing(skeleton=replace(person(), rest=bent)).rest_pose()
    np.testing.assert_allclose(pose.rotations[0], bent, atol=1e-6)
    assert np.ptp(pose.positions(end_sites=True)[0, :, 1]) < 0.3


# --- real data ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def takes(cmu30):
    files = sorted(cmu30.glob("*/*.bvh"))[::300]
    return [ml.load(path)[:90] for path in files]


@pytest.mark.cmu
def test_cmu_positions_match_the_recursion(takes):
    for take in takes[:4]:
        frame = len(take) // 2
        skeleton = take.skeleton
        expected = [
            naive.point_position(
                frame,
                point,
                skeleton.point_parents,
                skeleton.point_offsets,
                take.rotations,
                take.root,
            )
            for point in range(len(skeleton.point_names))
        ]
        np.testing.assert_allclose(take.positions(end_sites=True)[frame], expected, atol=1e-5)


@pytest.mark.cmu
def test_cmu_walks_face_the_way_they_go(cmu30):
    """Subject 7 walks forward: heading and the path's direction agree."""
    take = ml.load(next(cmu30.glob("*/07_01.bvh")))
    way = np.diff(take.root[:, [0, 2]], axis=0).sum(axis=0)
    assert np.cos(np.arctan2(*way) - take.headings().mean()) > 0.95
