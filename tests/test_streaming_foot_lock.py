"""Streaming foot lock: feet held block by block, as players do."""

from dataclasses import replace

import numpy as np
import pytest

import motionloom as ml
from motionloom.errors import InvalidInput, RoleError
from motionloom.motion import Motion
from motionloom.motion.diagnostics.quality import foot_slide, joint_accelerations
from motionloom.motion.feet.streaming import StreamingFootLock
from motionloom.motion.kinematics.two_bone import bend_for_goal, bend_two_bone, solve_two_bone
from motionloom.motion.rotations import quaternions as rot


def standing(motion):
    contacts = motion.contacts()
    return contacts.standing_parts()


def with_longer_way(motion, factor):
    """The same steps over a way of another length: every foot slides."""
    root = motion.root.copy()
    root[:, [0, 2]] = root[0, [0, 2]] + factor * (root[:, [0, 2]] - root[0, [0, 2]])
    return replace(motion, root=root)


def planted(motion, feet, blocks=None, **options):
    foot_lock = StreamingFootLock(motion.skeleton, motion.fps, **options)
    cuts = [0, len(motion)] if blocks is None else [*range(0, len(motion), blocks), len(motion)]
    parts = [
        foot_lock.lock(motion.rotations[a:b], motion.root[a:b], feet[a:b])
        for a, b in zip(cuts, cuts[1:], strict=False)
    ]
    rotations, root = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return replace(motion, rotations=rotations, root=root)


@pytest.mark.parametrize("factor", [0.85, 1.15])
def test_feet_that_slid_by_centimeters_stand(factor):
    walk = ml.demo.clip("walk")
    slid = with_longer_way(walk, factor)
    contacts = walk.contacts()
    locked = planted(slid, standing(walk))
    assert foot_slide(slid, contacts).per_contact_m > 0.05
    assert foot_slide(locked, contacts).worst_m < 0.003
    assert joint_accelerations(locked).max() < 1.2 * joint_accelerations(walk).max()


def test_a_foot_that_does_not_slide_is_unchanged():
    walk = ml.demo.clip("walk")
    locked = planted(walk, standing(walk))
    assert np.abs(locked.positions() - walk.positions()).max() < 0.002


def test_a_motion_without_contacts_is_the_same_to_the_bit():
    walk = ml.demo.clip("walk")
    locked = planted(walk, np.zeros((len(walk), 4), bool))
    np.testing.assert_array_equal(locked.rotations, walk.rotations)
    np.testing.assert_array_equal(locked.root, walk.root)


def test_blocks_of_any_size_give_the_same_frames():
    walk = with_longer_way(ml.demo.clip("walk"), 0.9)
    feet = standing(ml.demo.clip("walk"))
    whole = planted(walk, feet)
    for blocks in (1, 7):
        pieces = planted(walk, feet, blocks)
        np.testing.assert_array_equal(pieces.rotations, whole.rotations)
        np.testing.assert_array_equal(pieces.root, whole.root)


def test_bones_keep_their_length_and_rotations_stay_unit():
    walk = with_longer_way(ml.demo.clip("walk"), 1.3)
    locked = planted(walk, standing(ml.demo.clip("walk")))
    assert np.abs(np.linalg.norm(locked.rotations, axis=-1) - 1.0).max() < 1e-5


def test_no_ball_goes_below_a_floor_that_is_given():
    walk = ml.demo.clip("walk")
    sunk = replace(walk, root=walk.root - np.float32([0, 0.03, 0]))
    feet = np.zeros((len(walk), 4), bool)
    floor = float(walk.role_positions(["left_foot", "right_foot"])[..., 1].min())
    locked = planted(sunk, feet, floor=floor)
    lowest = locked.role_positions(["left_foot", "right_foot"])[..., 1].min()
    assert sunk.role_positions(["left_foot", "right_foot"])[..., 1].min() < floor - 0.02
    assert lowest > floor - 0.003


def test_a_foot_carried_away_is_released():
    walk = ml.demo.clip("walk")
    root = walk.root + np.linspace(0, 6, len(walk), dtype=np.float32)[:, None] * [1, 0, 0]
    away = replace(walk, root=root.astype(np.float32))
    locked = planted(away, np.ones((len(walk), 4), bool))
    far = np.abs(locked.positions() - away.positions()).max()
    assert np.isfinite(locked.rotations).all() and far < 0.8


def test_a_released_foot_is_held_again_near_its_path():
    still = ml.demo.clip("walk")[40:41]
    carried = np.concatenate([np.zeros(10), np.linspace(0.0, 0.6, 15), np.full(60, 0.6)])
    root = still.root + carried[:, None] * [1.0, 0.0, 0.0]
    away = replace(still, rotations=np.repeat(still.rotations, len(root), axis=0), root=root)
    foot_lock = StreamingFootLock(away.skeleton, away.fps)
    phases = []
    for n in range(len(away)):
        foot_lock.lock(away.rotations[n : n + 1], away.root[n : n + 1], np.ones((1, 4), bool))
        phases.append(foot_lock._state[0, 1, 9])
    assert 2.0 in phases and phases[-1] == 1.0


def test_a_heel_is_held_where_it_is_seen_and_no_foot_is_left_far_behind():
    still = ml.demo.clip("walk")[40:41]
    carried = np.concatenate(
        [np.zeros(5), np.cumsum(np.full(3, 0.1)), np.cumsum(np.full(12, 0.1)) + 0.3]
    )
    carried = np.concatenate([carried, np.full(20, carried[-1])])
    root = still.root + carried[:, None] * [1.0, 0.0, 0.0]
    run = replace(still, rotations=np.repeat(still.rotations, len(root), axis=0), root=root)
    feet = np.zeros((len(run), 4), bool)
    feet[:8, 1] = True  # the left ball, until the body leaves it behind at 3 m/s
    feet[22:, 0] = True  # then the left heel
    locked = planted(run, feet)
    ankle = locked.role_positions(["left_ankle"])[:, 0, 0].astype(np.float64)
    own = run.role_positions(["left_ankle"])[:, 0, 0].astype(np.float64)
    assert np.abs(ankle - own).max() < 0.45
    assert np.abs(np.diff(ankle, n=2)).max() < 0.12


def test_a_foot_that_rises_is_not_held():
    walk = ml.demo.clip("walk")[40:60]
    up = replace(walk, root=walk.root + np.linspace(0.0, 1.0, 20)[:, None] * [0.0, 1.0, 0.0])
    foot_lock = StreamingFootLock(up.skeleton, up.fps)
    foot_lock.lock(up.rotations, up.root, np.ones((20, 4), bool))
    assert not np.any(foot_lock._state[0, :4, 9] == 1.0)


def test_a_heel_held_alone_stays():
    walk = with_longer_way(ml.demo.clip("walk"), 1.15)
    feet = standing(ml.demo.clip("walk"))
    feet[:, [1, 3]] = False  # balls are free
    locked = planted(walk, feet)
    heels = locked.role_positions(["left_ankle"])[:, 0][:, [0, 2]]
    steps = np.linalg.norm(np.diff(heels, axis=0), axis=1)
    both = feet[1:, 0] & feet[:-1, 0]
    assert np.median(steps[both]) < 0.001


def test_a_foot_held_far_from_its_path_returns_gently():
    """The pull adds to the acceleration of the swing: it is at most 10 m/s^2."""
    clip = ml.demo.clip("walk")
    still = replace(
        clip,
        rotations=np.repeat(clip.rotations[20:21], 60, axis=0),
        root=np.repeat(clip.root[20:21], 60, axis=0),
    )
    root = still.root.copy()
    root[:20, 2] += np.linspace(0.2, 0.0, 20, dtype=np.float32)  # the feet slide by 0.2 m
    feet = np.zeros((60, 4), bool)
    feet[:20] = True
    locked = planted(replace(still, root=root), feet)
    balls = locked.role_positions(["left_foot", "right_foot"])
    pull = np.linalg.norm(np.diff(balls, n=2, axis=0), axis=-1) * clip.fps**2
    assert 5.0 < pull.max() < 10.0  # 15.3 without the limit
    back = np.linalg.norm(balls[-1] - balls[0], axis=-1)
    np.testing.assert_allclose(back, 0.2, atol=0.01)  # on their paths again


def test_a_reset_starts_over():
    walk = with_longer_way(ml.demo.clip("walk"), 0.9)
    feet = standing(ml.demo.clip("walk"))
    foot_lock = StreamingFootLock(walk.skeleton, walk.fps)
    first = foot_lock.lock(walk.rotations, walk.root, feet)[0]
    foot_lock.reset()
    np.testing.assert_array_equal(foot_lock.lock(walk.rotations, walk.root, feet)[0], first)


def test_arrays_that_do_not_fit_are_refused():
    walk = ml.demo.clip("walk")
    foot_lock = StreamingFootLock(walk.skeleton, walk.fps)
    with pytest.raises(InvalidInput, match=r"rotations must have shape \(frames, 21, 4\)"):
        foot_lock.lock(walk.rotations[:, :5], walk.root, standing(walk))
    with pytest.raises(InvalidInput, match="root and contacts must have shapes"):
        foot_lock.lock(walk.rotations, walk.root[:-1], standing(walk))


def test_a_skeleton_without_legs_is_refused():
    stick = ml.Skeleton(["Hips", "Spine"], [-1, 0], [[0, 0, 0], [0, 0.5, 0]])
    with pytest.raises(RoleError, match="left_hip"):
        StreamingFootLock(stick, 30.0)


@pytest.mark.cmu
@pytest.mark.parametrize("take", ["35/35_01", "16/16_35"])
def test_captured_walks_and_jogs_stand_after_locking(cmu30, take):
    subject, name = take.split("/")
    motion = ml.load(next(cmu30.glob(f"*{subject}/{name}.bvh")))
    contacts = motion.contacts()
    locked = planted(with_longer_way(motion, 0.9), standing(motion))
    assert foot_slide(locked, contacts).per_contact_m < 0.005
    assert joint_accelerations(locked).max() < 1.2 * joint_accelerations(motion).max()


@pytest.mark.parametrize("toes", [(0.0, -1.0, 0.2), (0.0, -0.6, -0.8), (0.0, 0.3, -0.95)])
def test_a_bent_knee_stays_where_it_is_wherever_the_toes_point(toes):
    hip, knee, ankle = np.array([[0.0, 0.9, 0.0], [0.0, 0.55, 0.25], [0.0, 0.35, -0.15]])
    ahead = np.array(toes) / np.linalg.norm(toes)
    upper, lower = np.zeros(4), np.zeros(4)
    goal = ankle + [0.01, 0.0, 0.01]
    arrived = solve_two_bone(hip, knee, ankle, goal, ahead, upper, lower)
    np.testing.assert_allclose(arrived, goal, atol=1e-6)
    bent = hip + rot.rotate(upper, knee - hip)
    assert np.linalg.norm(bent - knee) < 0.03
    np.testing.assert_allclose(bent + rot.rotate(lower, ankle - knee), arrived, atol=1e-6)


def test_a_knee_bent_for_its_goal_arrives_there(rng):
    hip, knee, ankle = np.array([0.0, 0.9, 0.0]), np.array([0.0, 0.47, 0.05]), np.zeros(3)
    upper, lower = np.zeros(4), np.zeros(4)
    for _ in range(20):
        goal = ankle + rng.normal(0.0, 0.03, 3) + [0.0, 0.15, 0.0]
        more, bend = bend_for_goal(hip, knee, ankle, goal)
        ahead = np.array([0.0, 0.0, 1.0])
        arrived = bend_two_bone(hip, knee, ankle, goal, ahead, more, upper, lower)
        np.testing.assert_allclose(arrived, goal, atol=1e-6)
        other = [np.zeros(4), np.zeros(4)]
        solve_two_bone(hip, knee, ankle, goal, ahead, *other)
        for ours, theirs in zip((upper, lower), other, strict=True):
            np.testing.assert_allclose(abs(ours @ theirs), 1.0, atol=1e-4)
        assert bend >= 0.0


def test_a_straight_knee_does_not_jerk_when_the_other_foot_is_held():
    """The free leg of a walk whose root lags behind: a straight knee bent at once would jerk."""
    walk = ml.demo.clip("walk")
    standing = walk.contacts().standing_parts()
    slow = walk.root * [1.0, 1.0, 0.93]
    rotations, root = StreamingFootLock(walk.skeleton, walk.fps).lock(
        walk.rotations, slow, standing
    )
    locked = Motion(walk.skeleton, rotations, root, walk.fps)
    knees = [
        np.linalg.norm(
            np.diff(item.role_positions(["left_knee", "right_knee"]), n=2, axis=0), axis=2
        )
        for item in (walk, locked)
    ]
    assert knees[1].max() < 1.7 * knees[0].max()


def test_a_rebased_lock_holds_feet_where_they_were():
    walk = ml.demo.clip("walk")
    standing = walk.contacts().standing_parts()
    slow = walk.root * np.float32([1.0, 1.0, 0.9])
    lock, shift, frames = StreamingFootLock(walk.skeleton, walk.fps), np.zeros(3), []
    for k in range(len(walk)):
        pose = lock.lock(walk.rotations[k : k + 1], slow[k : k + 1] + shift, standing[k : k + 1])
        frames.append(pose)
        shift = shift + lock.rebase()[0]
    made = Motion(
        walk.skeleton,
        np.concatenate([frame[0] for frame in frames]),
        np.concatenate([frame[1] for frame in frames]),
        walk.fps,
    )
    assert foot_slide(made, walk.contacts()).per_contact_m < 0.01
    # The root goes where the feet carry it: farther than the frames that were given.
    assert np.ptp(made.root[:, 2]) > 1.02 * np.ptp(slow[:, 2])
