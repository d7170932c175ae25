"""Two-bone inverse kinematics against a search, against forward kinematics, and its limits."""

from __future__ import annotations

import numpy as np
import pytest
from naive.inverse_kinematics import middle_joint

from motionloom.errors import InvalidInput
from motionloom.motion.kinematics.forward import joint_positions
from motionloom.motion.kinematics.two_bone import soft_reach, swing_direction, two_bone_pose
from motionloom.motion.rotations import quaternions as rot

THIGH, SHIN = np.array([0.0, -0.42, 0.0]), np.array([0.0, -0.40, 0.0])
LEG = {"upper_bone": THIGH, "lower_bone": SHIN, "hinge": [1.0, 0.0, 0.0]}


def _targets(rng, count, *, nearest=0.1, furthest=0.8):
    """Random hips, targets within reach, poles that are not along the leg."""
    start = rng.normal(size=(count, 3))
    way = rng.normal(size=(count, 3))
    way /= np.linalg.norm(way, axis=1, keepdims=True)
    target = start + rng.uniform(nearest, furthest, size=(count, 1)) * way
    pole = np.cross(way, rng.normal(size=(count, 3))) + 0.3 * way
    return start, target, pole


@pytest.mark.slow
def test_matches_a_search_over_all_places_of_the_middle_joint(rng):
    start, target, pole = _targets(rng, 12)
    pose = two_bone_pose(start, target, pole, **LEG, softness=0.01)
    for k in range(len(start)):
        knee = middle_joint(start[k], target[k], pole[k], 0.42, 0.40)
        assert np.linalg.norm(pose.middle[k] - knee) < 5e-4


def test_forward_kinematics_of_the_rotations_ends_on_the_target(rng):
    start, target, pole = _targets(rng, 200)
    pose = two_bone_pose(start, target, pole, **LEG)
    local = rot.multiply(rot.inverse(pose.upper), pose.lower)
    rotations = np.stack([pose.upper, local], axis=1)
    places = joint_positions(
        rotations, start, [-1, 0], [[0, 0, 0], THIGH], end_parents=[1], end_offsets=[SHIN]
    )
    assert pose.reached.all()
    assert np.abs(places[:, 1] - pose.middle).max() < 2e-6
    assert np.abs(places[:, 2] - target).max() < 2e-6


def test_the_middle_joint_is_a_hinge_that_bends_one_way(rng):
    start, target, pole = _targets(rng, 200)
    pose = two_bone_pose(start, target, pole, **LEG)
    local = rot.log(rot.multiply(rot.inverse(pose.upper), pose.lower))
    assert np.abs(local[:, 1:]).max() < 1e-6  # about the hinge and nothing else
    assert local[:, 0].min() > 0.0
    assert np.allclose(local[:, 0], pose.bend, atol=1e-6)


def test_bones_may_differ_from_frame_to_frame(rng):
    start, target, pole = _targets(rng, 50, nearest=0.2, furthest=0.5)
    lower = np.stack([rng.uniform(0.25, 0.35, 50), rng.uniform(-0.1, 0.1, 50), np.zeros(50)], 1)
    pose = two_bone_pose(
        start, target, pole, upper_bone=[0.3, 0, 0], lower_bone=lower, hinge=[0, -1, 0]
    )
    elbow = start + rot.rotate(pose.upper, np.array([0.3, 0, 0]))
    assert np.abs(elbow + rot.rotate(pose.lower, lower) - target).max() < 1e-9


def test_a_leg_pulled_beyond_its_reach_straightens_without_a_jerk():
    distance = np.linspace(0.70, 1.0, 3001)
    hip = np.zeros((len(distance), 3))
    target = hip - distance[:, None] * [0.0, 1.0, 0.0]
    pose = two_bone_pose(hip, target, [[0.0, 0.0, 1.0]], **LEG, softness=0.02)
    step = distance[1] - distance[0]
    assert pose.bend.min() > 0.0
    assert np.all(np.diff(pose.bend) < 0.0)
    # A hard limit's knee speeds up without bound as the leg straightens; ours does not.
    assert np.abs(np.diff(pose.bend) / step).max() < 15.0
    assert pose.reached[distance < 0.98 * 0.82].all()
    assert not pose.reached[distance > 0.99].any()


def test_soft_reach_is_exact_inside_and_never_longer_than_the_limb():
    command = np.linspace(0.0, 3.0, 500)
    given = soft_reach(command, 1.0, softness=0.1)
    assert np.array_equal(given[command <= 0.9], command[command <= 0.9])
    assert given.max() <= 1.0
    assert np.all(np.diff(given) >= 0.0)
    assert np.array_equal(soft_reach(command, 1.0, softness=0.0), np.minimum(command, 1.0))
    each = soft_reach([0.95, 0.95], 1.0, softness=[0.0, 0.1])
    assert each[0] == 0.95
    assert each[1] < 0.95


def test_a_target_on_the_joint_itself_still_gives_finite_rotations():
    pose = two_bone_pose([[0, 1, 0]], [[0, 1, 0]], [[0, 0, 1]], **LEG)
    assert np.isfinite(pose.upper).all()
    assert np.isfinite(pose.lower).all()


def test_a_pole_follows_its_limb():
    forward = swing_direction([0, -1, 0], [[0, -1, 0], [0, 0, 1], [1, 0, 0]], [0, 0, 1])
    assert np.allclose(forward, [[0, 0, 1], [0, 1, 0], [0, 0, 1]], atol=1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"start": [[0.0, 1.0]]}, r"start must have shape \(T, 3\) or \(3,\); got \(1, 2\)"),
        ({"upper_bone": [0.0, 0.0, 0.0]}, "must not have zero length"),
        ({"softness": 1.0}, r"softness must lie in \[0, 1\); got 1.0"),
    ],
)
def test_reports_invalid_input(change, message):
    given = {"start": [[0, 1, 0]], "target": [[0, 0.4, 0]], "pole": [[0, 0, 1]], **LEG}
    given |= change
    start, target, pole = (given.pop(name) for name in ("start", "target", "pole"))
    with pytest.raises(InvalidInput, match=message):
        two_bone_pose(start, target, pole, **given)
