"""Frame distances: each against its definition, and what none of them may depend on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from naive import distance as naive
from people import person
from plain_motions import snake

import motionloom as ml
from motionloom.errors import InvalidInput, RoleError
from motionloom.features import (
    DISTANCES,
    FEATURES,
    FrameDistance,
    PointCloud,
    distance_matrix,
    frame_distance,
    point_cloud_distances,
    register_distance,
)
from motionloom.features.euclidean import euclidean_matrix
from motionloom.features.joint_angles import (
    JOINT_PARENTS,
    JOINTS,
    LEE_WEIGHTS,
    WANG_WEIGHTS,
    EulerDistance,
    TransitionCost,
    joint_rotations,
)
from motionloom.motion.rotations import quaternions as rot

ALL = [*DISTANCES, *(name for name in FEATURES if not name.startswith("pca"))]
TURN = {"yaw": -1.9, "shift": (-3.0, 0.0, 6.0)}


@pytest.fixture(scope="module")
def kick():
    return ml.demo.clip("kick_front_high_right")


@pytest.fixture(scope="module")
def walk():
    return ml.demo.clip("walk", performer=1)


def joints_of(motion):
    """Joint index of every role compared by angles."""
    return {role: int(motion.skeleton.points([role])[0]) for role in JOINTS}


def naive_turns(motion, frame):
    """Rotation of every joint from the one above it, as scipy has it, by role."""
    skeleton = motion.skeleton
    rest = np.tile([1.0, 0, 0, 0], (len(skeleton), 1)) if skeleton.rest is None else skeleton.rest
    local = motion.rotations[frame].astype(float)
    world = {
        role: naive.from_rest(local, rest, skeleton.parents, joint)
        for role, joint in joints_of(motion).items()
    }
    turns = {role: world[above].inv() * world[role] for role, above in JOINT_PARENTS.items()}
    place = {
        role: motion.role_positions([role])[frame, 0].astype(float)
        for role in ("left_hip", "right_hip", "left_shoulder", "right_shoulder")
    }
    angle = naive.heading(*place.values())
    ahead = naive.Rotation.from_euler("Y", angle)
    return {"hips": ahead.inv() * world["hips"], **turns}, ahead, world["hips"]


# --- the definitions ------------------------------------------------------------------------


@pytest.mark.parametrize("points", [1, 2, 31])
def test_point_clouds_match_the_definition(rng, points):
    a = rng.normal(size=(3, points, 3))
    b = rng.normal(size=(2, points, 3))
    weights = rng.uniform(0.1, 1.0, size=points)
    expected = [[naive.point_cloud_distance(p, q, weights) for q in b] for p in a]
    actual = point_cloud_distances(a, b, weights=weights)
    np.testing.assert_allclose(actual, expected, atol=1e-5)


@pytest.mark.parametrize("fps", [30.0, 50.0])
@pytest.mark.parametrize("name", ["pc1", "pc11"])
def test_windows_of_poses_match_the_definition(name, fps, kick, walk):
    distance = DISTANCES[name]
    kick = kick.resample(fps)
    half = distance.samples // 2
    times = [k / 30.0 for k in range(-half, half + 1)]
    weights = np.array([half + 1 - abs(k) for k in range(-half, half + 1)], dtype=float)
    weights /= weights.sum()
    matrix = distance_matrix(kick, walk, name)
    for i, j in ((0, 0), (20, 11), (len(kick) - 1, 37)):
        p, w = naive.window_cloud(
            kick.role_positions(distance.roles).astype(float), i, fps, times, weights
        )
        q, _ = naive.window_cloud(
            walk.role_positions(distance.roles).astype(float), j, walk.fps, times, weights
        )
        assert matrix[i, j] == pytest.approx(naive.point_cloud_distance(p, q, w), abs=1e-5)


def test_joint_angles_match_the_definition(kick, walk):
    quat, euler = distance_matrix(kick, walk, "quat"), distance_matrix(kick, walk, "euler")
    for i, j in ((0, 0), (25, 14), (50, 40)):
        a, b = (list(naive_turns(m, t)[0].values()) for m, t in ((kick, i), (walk, j)))
        assert quat[i, j] == pytest.approx(naive.quaternion_distance(a, b), abs=1e-5)
        assert euler[i, j] == pytest.approx(naive.euler_distance(a, b, "ZYX"), abs=1e-4)


@pytest.mark.parametrize(("name", "weights"), [("lee", LEE_WEIGHTS), ("wb", WANG_WEIGHTS)])
def test_transition_costs_match_the_definition(name, weights, kick, walk):
    def state(motion, t):
        before, here, after = (naive_turns(motion, t + k) for k in (-1, 0, 1))
        fps = motion.fps
        spins = {
            joint: naive.angular_velocity(before[0][joint], here[0][joint], after[0][joint], fps)
            for joint in weights
        }
        ahead = here[1]
        spins["hips"] = ahead.inv().apply(naive.angular_velocity(before[2], here[2], after[2], fps))
        hips = motion.role_positions(["hips"])[:, 0].astype(float)
        velocity = ahead.inv().apply((hips[t + 1] - hips[t - 1]) * fps / 2.0)
        return {"height": hips[t, 1], "velocity": velocity, "turns": here[0], "spins": spins}

    matrix = distance_matrix(kick, walk, name)
    for i, j in ((1, 1), (25, 14), (50, 40)):
        expected = naive.transition_cost(state(kick, i), state(walk, j), weights, 0.01)
        assert matrix[i, j] == pytest.approx(expected, rel=1e-3, abs=1e-4)


def test_a_difference_of_one_joint_is_its_angle(kick):
    rest = kick.rest_pose()
    bent = rest.rotations.astype(np.float64)
    angle = 0.4
    knee = int(rest.skeleton.points(["left_knee"])[0])
    bent[:, knee] = rot.multiply(bent[:, knee], rot.from_axis_angle([1.0, 0.0, 0.0], angle))
    bent = replace(rest, rotations=bent)
    chord = 2.0 * np.sin(angle / 2.0) / np.sqrt(len(JOINTS))
    assert distance_matrix(rest, bent, "quat")[0, 0] == pytest.approx(chord, abs=1e-5)
    assert distance_matrix(rest, bent, "euler")[0, 0] == pytest.approx(chord, abs=1e-5)
    assert distance_matrix(rest, bent, "lee")[0, 0] == pytest.approx(angle**2, abs=1e-5)
    assert distance_matrix(rest, bent, "wb")[0, 0] == pytest.approx(0.0901 * angle**2, abs=1e-5)


def test_more_joints_in_a_chain_and_other_axes_make_no_difference_to_angles(kick):
    # Every joint's axes turned at random, at rest and in motion alike: the same poses.
    rng = np.random.default_rng(5)
    skeleton, count = kick.skeleton, len(kick.skeleton)
    axes = rng.normal(size=(count, 4))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    axes[0] = [1.0, 0, 0, 0]
    above = axes[np.maximum(skeleton.parents, 0)]
    rest = np.tile([1.0, 0, 0, 0], (count, 1)) if skeleton.rest is None else skeleton.rest
    turned = replace(
        skeleton,
        offsets=rot.rotate(rot.inverse(above), skeleton.offsets),
        end_offsets=rot.rotate(rot.inverse(axes[skeleton.end_parents]), skeleton.end_offsets),
        rest=rot.multiply(rot.inverse(above), rot.multiply(rest, axes)),
        role_map=skeleton.roles,
    )
    rotations = rot.multiply(rot.inverse(above), rot.multiply(kick.rotations.astype(float), axes))
    same = replace(kick, skeleton=turned, rotations=rotations)
    np.testing.assert_allclose(same.positions(), kick.positions(), atol=1e-5)
    for name in ("quat", "euler", "lee", "wb"):
        np.testing.assert_allclose(distance_matrix(kick, same, name).diagonal(), 0.0, atol=1e-4)


# --- what must not matter, for all of them --------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_location_and_heading_make_no_difference(name, kick, walk):
    matrix = distance_matrix(kick, walk, name)
    moved = distance_matrix(kick.transform(**TURN), walk, name)
    np.testing.assert_allclose(moved, matrix, rtol=1e-3, atol=1e-3)
    assert matrix.std() > 0.01


@pytest.mark.parametrize("name", ALL)
def test_a_frame_is_nearest_to_itself(name, kick):
    matrix = distance_matrix(kick, kick, name)
    np.testing.assert_allclose(matrix.diagonal(), 0.0, atol=1e-6)
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-6)
    assert (matrix >= 0.0).all()


@pytest.mark.parametrize("name", ALL)
def test_mirror_images_are_as_far_apart_as_the_motions(name, kick, walk):
    body = person()
    a, b = kick.retarget(body), walk.retarget(body)
    matrix = distance_matrix(a, b, name)
    mirrored = distance_matrix(a.mirror(), b.mirror(), name)
    np.testing.assert_allclose(mirrored, matrix, rtol=2e-3, atol=2e-3)
    assert np.abs(distance_matrix(a, b.mirror(), name) - matrix).max() > 0.01


@pytest.mark.parametrize("name", ALL)
def test_one_frame_against_one_frame(name, kick, walk):
    matrix = distance_matrix(kick[10], walk[3], name)
    assert matrix.shape == (1, 1)
    assert matrix[0, 0] > 0.0
    assert distance_matrix(kick[:0], walk, name).shape == (0, len(walk))
    assert distance_matrix(kick, walk[:0], name).shape == (len(kick), 0)


@pytest.mark.parametrize("name", ALL)
def test_a_missing_frame_affects_only_its_neighborhood(name, kick, walk):
    root = kick.root.copy()
    root[30] = np.nan
    rotations = kick.rotations.copy()
    rotations[30] = np.nan
    holed = replace(kick, root=root, rotations=rotations)
    matrix = distance_matrix(holed, walk, name)
    missing = np.isnan(matrix)
    assert missing[30].all()
    far = np.abs(np.arange(len(kick)) - 30) > 5
    assert not missing[far].any()
    np.testing.assert_allclose(
        matrix[far], distance_matrix(kick, walk, name)[far], rtol=1e-6, atol=1e-6
    )


@pytest.mark.parametrize("name", ALL)
def test_skeletons_without_a_needed_joint_are_reported(name):
    with pytest.raises(RoleError, match="no joint has the role"):
        distance_matrix(snake(), snake(), name)


@pytest.mark.parametrize("name", ALL)
def test_frame_rates_agree(name):
    slow, fast = ml.demo.clip("walk", fps=60), ml.demo.clip("walk", fps=120)
    kick = ml.demo.clip("kick_front_high_right", fps=60)
    frames = np.arange(20, len(slow) - 20)
    matrix = distance_matrix(slow, kick, name)[frames]
    again = distance_matrix(fast, kick, name)[2 * frames]
    assert np.abs(matrix - again).max() < 0.03 * matrix.max()


@pytest.mark.cmu
@pytest.mark.parametrize("name", ALL)
def test_captured_motion_gives_sound_distances(name, cmu30):
    a = ml.load(cmu30 / "086" / "86_01.bvh")[:200]
    b = ml.load(cmu30 / "002" / "02_01.bvh")[:200]
    matrix = distance_matrix(a, b, name)
    assert np.isfinite(matrix).all()
    np.testing.assert_allclose(distance_matrix(a, a, name).diagonal(), 0.0, atol=1e-6)


# --- parts ----------------------------------------------------------------------------------


def test_point_clouds_keep_height_and_handedness(rng):
    a = rng.normal(size=(1, 31, 3))
    assert point_cloud_distances(a, a + [0.0, 0.5, 0.0]) == pytest.approx(0.5)
    assert point_cloud_distances(a, a * [-1.0, 1.0, 1.0]) > 0.1


def test_scale_free_point_clouds_do_not_depend_on_the_size_of_the_performer(kick):
    grown = replace(kick, skeleton=kick.skeleton.scaled(1.3), root=1.3 * kick.root)
    cloud = PointCloud("sizeless", samples=5, scale_free=True)
    assert distance_matrix(kick, grown, cloud).diagonal().max() < 1e-5
    assert distance_matrix(kick, grown, "pc1").diagonal().min() > 0.05


def test_euclidean_grids_match_the_definition(rng):
    a, b = rng.normal(size=(7, 4)) + 1000.0, rng.normal(size=(5, 4)) + 1000.0
    b[2, 1] = np.nan
    expected = np.linalg.norm(a[:, None] - b[None], axis=-1)
    np.testing.assert_allclose(euclidean_matrix(a, b), expected, atol=1e-9)
    # Equal rows have zero distance even far from the origin.
    np.testing.assert_allclose(euclidean_matrix(a, a).diagonal(), 0.0, atol=2e-7)


def test_the_rest_pose_has_no_rotation(kick):
    np.testing.assert_allclose(
        joint_rotations(kick.rest_pose()), np.tile([1.0, 0, 0, 0], (1, len(JOINTS), 1)), atol=1e-6
    )


def re_expressed(motion, rest, axes):
    """The same movement on a rig that rests in another pose and has other joint axes.

    `rest` and `axes` are local and world rotations by joint name. In a rig whose joint axes
    are turned by A (world, at every joint), offsets become ``A^-1 offset`` and local rotations
    ``A_parent^-1 local A``.
    """
    skeleton = motion.skeleton
    turn = {name: axes.get(name, rot.IDENTITY) for name in skeleton.names}
    ends = skeleton.end_offsets.copy()
    offsets, local = skeleton.offsets.copy(), motion.rotations.astype(float)
    still = np.tile(rot.IDENTITY, (len(skeleton), 1)) if skeleton.rest is None else skeleton.rest
    still = still.astype(float)
    for j, name in enumerate(skeleton.names):
        if name in rest:
            still[j] = rot.multiply(rest[name], still[j])
    for j, name in enumerate(skeleton.names):
        parent = skeleton.parents[j]
        above = turn[skeleton.names[parent]] if parent >= 0 else rot.IDENTITY
        offsets[j] = rot.rotate(rot.inverse(above), skeleton.offsets[j])
        local[:, j] = rot.multiply(rot.inverse(above), rot.multiply(local[:, j], turn[name]))
        still[j] = rot.multiply(rot.inverse(above), rot.multiply(still[j], turn[name]))
    for e, parent in enumerate(skeleton.end_parents):
        ends[e] = rot.rotate(rot.inverse(turn[skeleton.names[parent]]), skeleton.end_offsets[e])
    rig = replace(skeleton, offsets=offsets, end_offsets=ends, rest=still)
    return replace(motion, skeleton=rig, rotations=local.astype(np.float32))


@pytest.mark.parametrize("measure", ["quat", "euler", "lee", "wb"])
def test_rest_pose_and_joint_axes_do_not_matter(kick, rng, measure):
    names = {role: kick.skeleton.names[joint] for role, joint in joints_of(kick).items()}
    about_z = lambda degrees: rot.from_axis_angle([0.0, 0.0, 1.0], np.radians(degrees))  # noqa: E731
    rest = {
        names["left_shoulder"]: about_z(-60.0), names["right_shoulder"]: about_z(60.0),
        names["left_hip"]: about_z(20.0), names["right_hip"]: about_z(-20.0),
        names["left_ankle"]: about_z(-20.0), names["right_ankle"]: about_z(20.0),  # feet flat
        names["hips"]: rot.yaw(0.7),
    }  # fmt: skip
    axes = {name: rot.normalize(rng.normal(size=4)) for name in kick.skeleton.names}
    other = re_expressed(kick, rest, axes)
    np.testing.assert_allclose(other.positions(), kick.positions(), atol=1e-5)
    apart = np.abs(other.rest_pose().positions() - kick.rest_pose().positions()).max()
    assert apart > 0.3
    matrix = distance_matrix(kick, other, measure)
    assert matrix.diagonal().max() < 1e-2 < np.median(matrix)


def test_squared_angles_are_right_to_the_last_digits(rng):
    # From no turn at all to half a turn, where the polynomial is least exact.
    angles = np.concatenate([[0.0, 1e-9, 1e-6, np.pi], rng.uniform(0.0, np.pi, size=700)])
    cost = TransitionCost("knee", {"left_knee": 1.0})
    rows = np.zeros((len(angles), 4 + 1 + 6))
    rows[:, :4] = rot.from_axis_angle([0.6, 0.0, 0.8], angles)
    np.testing.assert_allclose(cost.matrix(rows[:1], rows)[0], angles**2, atol=1e-10)
    np.testing.assert_allclose(cost.matrix(rows, -rows[:1])[:, 0], angles**2, atol=1e-10)


# --- names ----------------------------------------------------------------------------------


class HipHeight:
    """A toy distance: how much higher the hips are."""

    name, unit = "hip-height", "m"

    def prepare(self, motion):
        return motion.role_positions(["hips"])[:, 0, 1:2]

    def matrix(self, a, b):
        return np.abs(a - b.T)


def test_a_custom_distance_works_by_name(kick):
    register_distance(HipHeight())
    try:
        height = kick.role_positions(["hips"])[:, 0, 1]
        np.testing.assert_allclose(
            distance_matrix(kick, kick, "hip-height"), np.abs(height[:, None] - height), atol=1e-6
        )
        register_distance(HipHeight())  # once more, as when a notebook's cell is run again
        other = EulerDistance(name="hip-height")
        with pytest.raises(InvalidInput, match="already a different distance called 'hip-height'"):
            register_distance(other)
        assert frame_distance("hip-height") is not other
        assert register_distance(other, replace=True) is frame_distance("hip-height")
    finally:
        del DISTANCES["hip-height"]


@pytest.mark.parametrize("name", [*DISTANCES, *FEATURES])
def test_everything_registered_follows_the_protocol(name):
    assert isinstance(frame_distance(name), FrameDistance)
    assert frame_distance(name).name == name


FOUR = np.zeros((1, 4, 3))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: point_cloud_distances(FOUR[0], FOUR), r"a must have shape \(n, points, 3\)"),
        (lambda: point_cloud_distances(FOUR, FOUR[:, :3]), "same number of points; got 4 and 3"),
        (lambda: point_cloud_distances(FOUR, FOUR, weights=[1.0]), r"shape \(4,\), one per point"),
        (lambda: point_cloud_distances(FOUR, FOUR, weights=[1, -1, 1, 1]), "non-negative"),
        (lambda: PointCloud("even", samples=4), "samples must be odd and positive; got 4"),
        (lambda: PointCloud("still", step_seconds=0.0), "step_seconds must be positive"),
        (
            lambda: TransitionCost("none", {}),
            "weights must contain at least one joint, and all weights must be positive",
        ),
        (lambda: frame_distance("pc12"), "no distance is called 'pc12'; did you mean pc1"),
        (lambda: frame_distance(3), "must be a name or have name, unit, prepare and matrix; got 3"),
        (
            lambda: register_distance(EulerDistance(name="e15")),
            "already a different distance called 'e15'",
        ),
        (lambda: register_distance(object()), "has no name"),
        (lambda: euclidean_matrix([[0.0]], [[0.0, 1.0]]), "equal numbers of features; got 1 and 2"),
        (lambda: euclidean_matrix([0.0], [[0.0]]), r"a must have shape \(frames, features\)"),
    ],
)
def test_reports_invalid_input(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()
