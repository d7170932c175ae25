"""Feature sets: their values, and the properties on which they must not depend."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from naive import distance as naive
from people import person
from plain_motions import snake

import motionloom as ml
from motionloom.errors import InvalidInput, RoleError
from motionloom.features import FEATURES, Basis, FeatureSet, feature_set, frame_features
from motionloom.features import register_features as register
from motionloom.features.body_frame import body_positions, leg_scale
from motionloom.features.principal_components import Moments, fit_basis
from motionloom.motion.rotations import quaternions as rot

GEOMETRIC = [name for name in FEATURES if not name.startswith("pca")]
TURN = {"yaw": 2.2, "shift": (4.0, 0.0, -7.0)}


@pytest.fixture(scope="module")
def kick():
    return ml.demo.clip("kick_front_high_right")


@pytest.fixture(scope="module")
def basis():
    motions = [ml.demo.clip("walk"), ml.demo.clip("kick_front_high_right", performer=1)]
    return fit_basis(Moments.of(np.concatenate([FEATURES["pca25"].pose_rows(m) for m in motions])))


def rows_of(motion, name, basis, **options):
    needs = FEATURES[name].components is not None
    return frame_features(motion, name, basis=basis if needs else None, **options)


def sided(role):
    if role.startswith("left_"):
        return role.replace("left_", "right_")
    return role.replace("right_", "left_")


@pytest.mark.parametrize("name", GEOMETRIC)
def test_rows_are_joint_positions_seen_from_the_body(name, kick):
    features = FEATURES[name]
    place = {role: kick.role_positions([role])[:, 0].astype(float) for role in kick.skeleton.roles}
    poses = []
    for t in range(len(kick)):
        sides = [
            place[f"{side}_{part}"][t] for part in ("hip", "shoulder") for side in ("left", "right")
        ]
        points = [place[role][t] for role in features.roles]
        poses.append(naive.body_frame(points, place["hips"][t], naive.heading(*sides)))
    half = features.window_seconds / 2
    times = np.linspace(-half, half, features.samples)
    rows = frame_features(kick, name)
    assert rows.dtype == np.float32
    assert rows.shape == (len(kick), features.dimension)
    for t in range(0, len(kick), 7):
        expected = [naive.at_time(poses, t, kick.fps, time).ravel() for time in times]
        np.testing.assert_allclose(rows[t], np.concatenate(expected), atol=2e-6)


@pytest.mark.parametrize("name", FEATURES)
def test_distances_are_root_mean_squares_in_meters(name, kick, basis):
    features = feature_set(name, basis=basis)
    rows = rows_of(kick, name, basis)
    expected = features.scale * np.linalg.norm(rows[3].astype(float) - rows[40].astype(float))
    assert features.matrix(rows, rows)[3, 40] == pytest.approx(expected, abs=1e-6)
    if features.components is None:
        points = [rows[t].reshape(-1, 3) for t in (3, 40)]
        assert expected == pytest.approx(naive.root_mean_square(*points), rel=1e-5)


@pytest.mark.parametrize("name", FEATURES)
@pytest.mark.parametrize("normalize", ["heading", "full"])
def test_location_and_heading_make_no_difference(name, normalize, kick, basis):
    here = rows_of(kick, name, basis, normalize=normalize)
    there = rows_of(kick.transform(**TURN), name, basis, normalize=normalize)
    np.testing.assert_allclose(there, here, atol=2e-5)


def test_height_makes_a_difference_unless_the_whole_root_is_removed(kick):
    raised = kick.transform(shift=(0.0, 0.25, 0.0))
    lift = frame_features(raised, "e15") - frame_features(kick, "e15")
    np.testing.assert_allclose(lift.reshape(-1, 5, 3), np.tile([0, 0.25, 0], (len(kick), 5, 1)),
                               atol=1e-5)  # fmt: skip
    same = frame_features(raised, "e15", normalize="full")
    np.testing.assert_allclose(same, frame_features(kick, "e15", normalize="full"), atol=1e-5)


def test_full_normalization_removes_any_rotation_of_the_root(kick, rng):
    q = rng.normal(size=4)
    turned = kick.rotations.astype(np.float64)
    turned[:, 0] = rot.multiply(q / np.linalg.norm(q), turned[:, 0])
    tumbled = replace(kick, rotations=turned)
    full = frame_features(kick, "e39", normalize="full")
    np.testing.assert_allclose(frame_features(tumbled, "e39", normalize="full"), full, atol=1e-5)
    assert np.abs(frame_features(tumbled, "e39") - frame_features(kick, "e39")).max() > 0.1


def test_full_normalization_does_not_depend_on_how_a_file_turns_its_axes(kick):
    q = rot.from_axis_angle([0.0, 1.0, 0.0], 1.1)
    # The same poses by a skeleton whose root is at rest in another direction.
    rest = np.tile([1.0, 0, 0, 0], (len(kick.skeleton), 1))
    rest[0] = q
    other = replace(kick, skeleton=replace(kick.skeleton, rest=rest))
    rows = frame_features(other, "e39", normalize="full")
    np.testing.assert_allclose(rows, frame_features(kick, "e39", normalize="full"), atol=1e-5)


def test_full_removes_position_and_orientation_of_the_root(kick):
    rows = frame_features(kick, "e30", normalize="full")
    np.testing.assert_allclose(rows, naive_rows(kick, "e30"), atol=1e-5)


@pytest.mark.cmu
@pytest.mark.parametrize("take", ["01/01_01", "35/35_01", "86/86_01"])
def test_on_captured_takes_the_root_is_that_of_the_file(cmu30, take):
    folder, name = take.split("/")
    motion = ml.load(cmu30 / folder.zfill(3) / f"{name}.bvh")[:200]
    rows = frame_features(motion, "e15", normalize="full")
    np.testing.assert_allclose(rows, naive_rows(motion, "e15"), atol=2e-5)


def naive_rows(motion, name):
    places = motion.role_positions(FEATURES[name].roles).astype(float)
    hips = motion.role_positions(["hips"])[:, 0].astype(float)
    turns = motion.global_rotations()[:, 0].astype(float)
    poses = [naive.root_frame(*frame) for frame in zip(places, hips, turns, strict=True)]
    return np.reshape(poses, (len(motion), -1))


@pytest.mark.parametrize("name", GEOMETRIC)
@pytest.mark.parametrize("normalize", ["heading", "full"])
def test_the_mirror_image_has_left_and_right_exchanged(name, normalize, kick):
    skeleton = person()
    motion = kick.retarget(skeleton)  # exactly as wide on the left as on the right
    features = FEATURES[name]
    order = [features.roles.index(sided(role)) for role in features.roles]
    rows = frame_features(motion, name, normalize=normalize)
    shape = (len(rows), features.samples, len(features.roles), 3)
    expected = rows.reshape(shape)[:, :, order] * [-1.0, 1.0, 1.0]
    mirrored = frame_features(motion.mirror(), name, normalize=normalize)
    np.testing.assert_allclose(mirrored.reshape(shape), expected, atol=2e-5)


@pytest.mark.parametrize("name", FEATURES)
def test_scale_free_features_do_not_depend_on_the_size_of_the_performer(name, kick, basis):
    grown = replace(kick, skeleton=kick.skeleton.scaled(1.3), root=1.3 * kick.root)
    rows = rows_of(kick, name, basis, scale_free=True)
    np.testing.assert_allclose(rows_of(grown, name, basis, scale_free=True), rows, atol=2e-5)
    assert np.abs(rows_of(grown, name, basis) - rows_of(kick, name, basis)).max() > 0.1


def test_scale_free_features_stay_meters(kick):
    factor = leg_scale(kick.skeleton)
    rows = frame_features(kick, "e30", scale_free=True)
    np.testing.assert_allclose(rows, factor * frame_features(kick, "e30"), atol=1e-6)


@pytest.mark.parametrize("name", ["e15x3", "e15x5", "e39x3"])
def test_windows_last_equally_long_at_all_frame_rates(name):
    slow = ml.demo.clip("walk", fps=60)
    fast = ml.demo.clip("walk", fps=120)
    frames = np.arange(20, len(slow) - 20)
    difference = frame_features(fast, name)[2 * frames] - frame_features(slow, name)[frames]
    assert np.abs(difference).max() < 0.003


def test_a_window_distinguishes_forward_from_backward_and_a_pose_does_not(kick):
    backward = replace(kick, rotations=kick.rotations[::-1], root=kick.root[::-1])
    there, back = frame_features(kick, "e15"), frame_features(backward, "e15")
    np.testing.assert_allclose(there, back[::-1], atol=1e-6)
    there, back = frame_features(kick, "e15x3"), frame_features(backward, "e15x3")
    assert np.abs(there - back[::-1]).max() > 0.2


@pytest.mark.parametrize("name", FEATURES)
def test_one_frame_has_one_row(name, kick, basis):
    row = rows_of(kick[10], name, basis)
    assert row.shape == (1, FEATURES[name].dimension)
    assert np.isfinite(row).all()
    assert rows_of(kick[:0], name, basis).shape == (0, FEATURES[name].dimension)


@pytest.mark.parametrize("name", FEATURES)
@pytest.mark.parametrize("normalize", ["heading", "full"])
def test_a_missing_frame_affects_only_rows_that_depend_on_it(name, normalize, kick, basis):
    root = kick.root.copy()
    root[30] = np.nan
    rows = rows_of(replace(kick, root=root), name, basis, normalize=normalize)
    missing = np.flatnonzero(np.isnan(rows).any(axis=1))
    reach = 5 if FEATURES[name].samples > 1 else 0  # 0.15 s at 30 fps touch 5 frames
    assert missing.min() == 30 - reach
    assert missing.max() == 30 + reach
    sound = np.setdiff1d(np.arange(len(kick)), missing)
    np.testing.assert_array_equal(
        rows[sound], rows_of(kick, name, basis, normalize=normalize)[sound]
    )


def test_a_body_lying_exactly_on_its_side_gets_finite_rows(kick):
    # The line from right to left is vertical: there is no heading, and none is made up.
    tipped = kick.rest_pose()
    turned = tipped.rotations.astype(np.float64)
    turned[:, 0] = rot.from_axis_angle([0.0, 0.0, 1.0], np.pi / 2)
    assert np.isfinite(frame_features(replace(tipped, rotations=turned), "e39")).all()
    point = replace(kick.skeleton, offsets=0.0 * kick.skeleton.offsets)
    point = point.with_roles(kick.skeleton.roles)
    assert np.isfinite(frame_features(replace(kick, skeleton=point), "e39")).all()


def test_principal_components_are_those_of_all_poses(rng):
    rows = rng.normal(size=(200, 6)) @ rng.normal(size=(6, 6)) + 5.0
    halves = Moments.of(rows[:80]) + Moments.of(rows[80:])
    basis = fit_basis(halves)
    expected = naive.principal_components(rows, 3)
    np.testing.assert_allclose(np.abs(basis.project(rows, 3)), np.abs(expected), atol=1e-8)
    np.testing.assert_allclose(basis.directions @ basis.directions.T, np.eye(6), atol=1e-12)
    assert basis.explained(6) == pytest.approx(1.0)
    largest = np.argmax(np.abs(basis.directions), axis=1)
    assert (basis.directions[np.arange(6), largest] > 0.0).all()  # one sign, everywhere


def test_frames_with_missing_values_are_excluded_from_the_components(rng):
    rows = rng.normal(size=(50, 4))
    holed = np.insert(rows, 20, np.nan, axis=0)
    assert Moments.of(holed).count == 50
    assert fit_basis(Moments.of(holed)).digest == fit_basis(Moments.of(rows)).digest


def test_more_components_come_closer_to_the_distance_of_whole_poses(kick, basis):
    whole = FeatureSet("whole", FEATURES["pca8"].roles)
    exact = whole.matrix(whole.prepare(kick), whole.prepare(kick))
    before = np.zeros_like(exact)
    for name in ("pca8", "pca16", "pca25"):
        features = feature_set(name, basis=basis)
        matrix = features.matrix(features.prepare(kick), features.prepare(kick))
        assert (matrix <= exact + 1e-6).all()
        assert (matrix >= before - 1e-6).all()
        before = matrix
    assert np.abs(before - exact).max() < 0.02


def test_a_custom_feature_set_takes_one_line(kick):
    legs = register(FeatureSet("legs", ("left_knee", "right_knee", "left_ankle", "right_ankle")))
    try:
        rows = frame_features(kick, "legs")
        places = body_positions(kick, legs.roles).reshape(len(kick), -1)
        np.testing.assert_allclose(rows, places, atol=1e-6)
        with pytest.raises(InvalidInput, match="already a different feature set called 'legs'"):
            register(FeatureSet("legs", ("head",)))
        register(FeatureSet("legs", ("head",)), replace=True)
        assert frame_features(kick, "legs").shape[1] == 3
    finally:
        del FEATURES["legs"]


def _hip_height(motion):
    return motion.role_positions(["hips"])[:, 0, 1:2]


def test_a_set_may_have_custom_features(kick):
    height = FeatureSet("height", (), frame_rows=_hip_height, size=1, samples=3, window_seconds=0.2)
    rows = frame_features(kick, height)
    assert rows.shape == (len(kick), 3)
    np.testing.assert_allclose(rows[:, 1], kick.role_positions(["hips"])[:, 0, 1])
    wrong = replace(height, size=2)
    with pytest.raises(InvalidInput, match=r"frame_rows must return shape \(\d+, 2\); got"):
        frame_features(kick, wrong)


@pytest.mark.parametrize("name", GEOMETRIC)
def test_a_skeleton_without_a_needed_joint_is_reported(name):
    with pytest.raises(RoleError, match="no joint has the role left_wrist"):
        frame_features(snake(), name)


def test_scale_free_needs_legs(kick):
    flat = replace(kick.skeleton, offsets=0.0 * kick.skeleton.offsets)
    flat = flat.with_roles(kick.skeleton.roles)
    with pytest.raises(InvalidInput, match="scale_free requires the length of the legs"):
        frame_features(replace(kick, skeleton=flat), "e15", scale_free=True)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: frame_features(m, "e16"), "no feature set is called 'e16'; did you mean e15"),
        (lambda m: frame_features(m, "zzz"), "available: e15, e30"),
        (
            lambda m: frame_features(m, "pca8"),
            r"requires principal components.*lib.features\('pca8'",
        ),
        (lambda m: frame_features(m, "e15", normalize="half"), "normalize must be one of heading"),
        (lambda m: FeatureSet("a b", ("head",)), "letters, digits, - and _; got 'a b'"),
        (lambda m: FeatureSet("none", ()), "must have roles or frame_rows; got neither"),
        (lambda m: FeatureSet("x", ("head",), samples=3), "more than one sample requires a window"),
        (lambda m: FeatureSet("x", ("head",), samples=0), "samples must be at least 1"),
        (lambda m: FeatureSet("x", ("head",), components=4), r"components must be between 1 and 3"),
        (
            lambda m: FeatureSet("x", (), frame_rows=_hip_height),
            "size must be set to the number of",
        ),
        (lambda m: fit_basis(Moments.of(np.zeros((1, 3)))), "at least 2 frames.*got 1"),
        (
            lambda m: Basis(np.zeros(3), np.eye(3), np.ones(3)).project(np.zeros((2, 4)), 1),
            r"rows must have shape \(frames, 3\)",
        ),
    ],
)
def test_reports_invalid_input(call, message, kick):
    with pytest.raises(InvalidInput, match=message):
        call(kick)
