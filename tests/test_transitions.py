"""From one motion into another."""

import numpy as np
import pytest
from naive import blending as naive
from naive import motion_graph as naive_graph

import motionloom as ml
from motionloom.blending.transitions import Window, aligning_transform, ease_weights, transition
from motionloom.errors import InvalidInput
from motionloom.motion import Motion
from motionloom.motion.diagnostics.quality import joint_accelerations
from motionloom.motion.feet.contacts import FOOT_PARTS
from motionloom.motion.rotations import quaternions as rot


def window(motion, start, frames, *, contacts=True):
    part = slice(start, start + frames)
    masks = None
    if contacts:
        planted = motion.contacts()
        masks = np.stack([planted[name] for name in FOOT_PARTS], axis=1)[part]
    return Window(motion.rotations[part], motion.root[part], masks)


@pytest.fixture(scope="module")
def walk():
    return ml.demo.clip("walk")


def joined(motion, other, at, to, frames):
    """`motion` up to `at`, a transition, and `other` from `to` on, as it plays."""
    crossing = transition(motion.skeleton, window(motion, at, frames), window(other, to, frames))
    rest = crossing.transform.apply_to_poses(
        other.rotations[to + frames :], other.root[to + frames :]
    )
    return Motion(
        motion.skeleton,
        np.concatenate([motion.rotations[:at], crossing.rotations, rest[0]]),
        np.concatenate([motion.root[:at], crossing.root, rest[1]]),
        motion.fps,
    )


def test_a_transition_into_the_same_motion_changes_nothing(walk):
    moved = walk.transform(yaw=1.2, shift=(3.0, 0.0, -1.0))
    for contacts in (True, False):
        a, b = window(walk, 20, 12, contacts=contacts), window(moved, 20, 12, contacts=contacts)
        crossing = transition(walk.skeleton, a, b)
        np.testing.assert_allclose(crossing.root, a.root, atol=1e-4)
        assert np.max(rot.angle_between(crossing.rotations, a.rotations)) < 2e-3
        back = crossing.transform.apply_to_poses(moved.rotations, moved.root)[1]
        np.testing.assert_allclose(back, walk.root, atol=1e-4)


def test_differences_of_the_root_are_blended_as_in_the_dissertation(walk):
    """Equation 4.7; without alignment, the second motion keeps its heading."""
    other = ml.demo.clip("walk_fast", performer=0).transform(yaw=0.8, shift=(5.0, 0.0, 2.0))
    a, b = window(walk, 30, 10), window(other, 8, 10)
    crossing = transition(walk.skeleton, a, b, root_path="differences")
    expected = naive_graph.root_path(a.root[:, [0, 2]].tolist(), b.root[:, [0, 2]].tolist())
    np.testing.assert_allclose(crossing.root[:, [0, 2]], expected, atol=1e-5)
    assert np.max(rot.angle_between(crossing.rotations[-1], b.rotations[-1])) < 2e-3
    assert crossing.transform.yaw == 0.0
    last = crossing.transform.apply_to_poses(b.rotations, b.root)[1][-1]
    np.testing.assert_allclose(crossing.root[-1], last, atol=1e-5)
    aligned = transition(walk.skeleton, a, b)
    assert abs(aligned.transform.yaw) > 0.5


def test_a_transition_ends_in_the_second_motion_and_continues_it(walk):
    other = ml.demo.clip("walk_fast", performer=0)
    a, b = window(walk, 30, 10), window(other, 8, 10)
    crossing = transition(walk.skeleton, a, b)
    rotations, root = crossing.transform.apply_to_poses(b.rotations, b.root)
    np.testing.assert_allclose(crossing.root[-1], root[-1], atol=1e-5)
    assert np.max(rot.angle_between(crossing.rotations[-1], rotations[-1])) < 1e-3
    assert crossing.shares[-1] == 1.0 and crossing.seam == 4


@pytest.mark.parametrize("contacts", [True, False])
def test_the_best_alignment_matches_the_definition(walk, contacts):
    a, b = window(walk, 30, 6, contacts=contacts), window(walk, 9, 6, contacts=contacts)
    x, z, yaw = aligning_transform(walk.skeleton, a, b).to_array()
    parts = [Motion(walk.skeleton, w.rotations, w.root, 30).positions() for w in (a, b)]
    weights = np.ones(parts[0].shape[:2])
    if contacts:
        joints = walk.skeleton.points(["left_ankle", "left_foot", "right_ankle", "right_foot"])
        for k, joint in enumerate(joints):
            weights[a.contacts[:, k] & b.contacts[:, k], joint] = 20.0

    def cost(x, z, yaw):
        moved = np.array([[naive.turned(yaw, p) + [x, 0, z] for p in pose] for pose in parts[1]])
        return float(np.sum(weights[..., None] * (parts[0] - moved) ** 2))

    best = cost(x, z, yaw)
    for step in ((1e-3, 0, 0), (0, 1e-3, 0), (0, 0, 1e-3)):
        for sign in (1.0, -1.0):
            assert cost(x + sign * step[0], z + sign * step[1], yaw + sign * step[2]) > best


def test_a_foot_that_stands_in_both_stays_where_it_is(walk):
    """Two steps of one walk, a stride apart: the supporting foot does not slide."""
    contacts = walk.contacts()
    (s0, e0), (s1, e1) = contacts.intervals("left_ball")[1:3]
    frames = min(e0 - s0, e1 - s1)
    a, b = window(walk, s0, frames), window(walk, s1, frames)
    crossing = transition(walk.skeleton, a, b)
    made = Motion(walk.skeleton, crossing.rotations, crossing.root, walk.fps)
    ball = made.role_positions(["left_foot"])[:, 0]
    captured = np.ptp(walk[s0 : s0 + frames].role_positions(["left_foot"])[:, 0], axis=0)
    assert np.linalg.norm(np.ptp(ball, axis=0)[[0, 2]]) < np.linalg.norm(captured[[0, 2]]) + 0.01


def test_speeds_do_not_jump_at_either_end(walk):
    other = ml.demo.clip("walk_fast", performer=0)
    made = joined(walk, other, 30, 8, 12)
    most = max(joint_accelerations(walk).max(), joint_accelerations(other).max())
    assert joint_accelerations(made)[25:50].max() < 1.5 * most


def test_velocities_are_blended_in_the_air(walk):
    """Without contacts the root takes neither motion's place, but both their speeds."""
    a, b = window(walk, 30, 10, contacts=False), window(walk, 30, 10, contacts=False)
    faster = b.root * np.float32([1.0, 1.0, 1.5])
    crossing = transition(walk.skeleton, a, Window(b.rotations, faster))
    steps = np.diff(crossing.root[:, 2]) / np.diff(a.root[:, 2])
    assert steps[0] == pytest.approx(1.0, abs=0.06) and steps[-1] == pytest.approx(1.5, abs=0.06)
    assert np.all(np.diff(steps) > -1e-3)


def test_weights_ease_from_one_to_the_other():
    shares = ease_weights(20)
    assert shares[0] < 0.01 and shares[-1] == 1.0
    assert np.all(np.diff(shares) > 0.0) and np.diff(shares)[[0, -1]].max() < 0.03


def test_invalid_windows_are_rejected(walk):
    with pytest.raises(InvalidInput, match="same length and at least one frame; got 5 and 6"):
        transition(walk.skeleton, window(walk, 0, 5), window(walk, 0, 6))
