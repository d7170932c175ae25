"""Joint relative distance: its definition, its kernel, its weights."""

from __future__ import annotations

import numpy as np
import pytest
from naive import joint_relative as naive
from scipy.spatial.distance import cdist

import motionloom as ml
from motionloom.distance import DISTANCES, distance_matrix
from motionloom.distance.joint_relative import (
    PUBLISHED_WEIGHTS,
    JointRelativeDistance,
    cityblock_matrix,
    mirrored,
    symmetric_pairs,
)
from motionloom.distance.joint_weights import (
    learn_weights,
    load_weights,
    pair_features,
    save_weights,
)
from motionloom.errors import InvalidInput, MotionFormatError


@pytest.fixture(scope="module")
def kick():
    return ml.demo.clip("kick_front_high_right")


@pytest.fixture(scope="module")
def walk():
    return ml.demo.clip("walk", performer=1)


def pose(motion, frame):
    """Place of every role in one frame."""
    roles = list(motion.skeleton.roles)
    return dict(zip(roles, motion.role_positions(roles)[frame].astype(float), strict=True))


def without(motion, *roles):
    """The same motion on a skeleton that lacks some roles."""
    from dataclasses import replace

    return replace(motion, skeleton=motion.skeleton.with_roles(dict.fromkeys(roles)))


# --- the distance ---------------------------------------------------------------------------


def test_matches_the_definition(kick, walk):
    matrix = distance_matrix(kick, walk, "jrd")
    for i, j in ((0, 0), (20, 11), (33, 40)):
        expected = naive.distance(pose(kick, i), pose(walk, j), PUBLISHED_WEIGHTS)
        assert matrix[i, j] == pytest.approx(expected, rel=1e-5)


def test_the_table_has_the_thirty_published_weights():
    weights = list(PUBLISHED_WEIGHTS.values())
    assert len(weights) == 30
    assert weights == sorted(weights, reverse=True)
    assert sum(weights) == pytest.approx(458.033510, abs=1e-6)
    assert PUBLISHED_WEIGHTS["right_foot", "left_wrist"] == 12.864232


def test_pairs_of_missing_joints_are_left_out_and_named(kick, walk):
    bare = without(walk, "head_top", "left_collar")
    jrd = DISTANCES["jrd"]
    missing = jrd.missing(bare.skeleton)
    assert len(missing) == 10
    assert all({"head_top", "left_collar"} & {*pair, *mirrored(pair)} for pair in missing)
    assert jrd.missing(kick.skeleton) == ()
    expected = naive.distance(pose(kick, 5), pose(bare, 9), PUBLISHED_WEIGHTS)
    assert distance_matrix(kick, bare, "jrd")[5, 9] == pytest.approx(expected, rel=1e-5)
    assert distance_matrix(bare, kick, "jrd")[9, 5] == pytest.approx(expected, rel=1e-5)


def test_mirrored_poses_are_distinguished_only_by_what_is_not_symmetric(walk):
    matrix = distance_matrix(walk, walk.mirror(), "jrd")
    assert matrix.diagonal().max() > 1.0


@pytest.mark.cmu
def test_matches_the_definition_on_captured_motion(cmu30):
    a, b = (ml.load(cmu30 / place) for place in ("007/07_01.bvh", "009/09_01.bvh"))
    matrix = distance_matrix(a, b, "jrd")
    for i, j in ((3, 8), (50, 20)):
        expected = naive.distance(pose(a, i), pose(b, j), PUBLISHED_WEIGHTS)
        assert matrix[i, j] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({}, "at least one pair"),
        ({("hips", "tail"): 1.0}, "pairs of two joint roles; got"),
        ({("hips", "hips"): 1.0}, "pairs of two joint roles"),
        ({("hips", "head"): -1.0}, "must be zero or more; got -1"),
        ({("hips", "left_knee"): 1.0, ("right_knee", "hips"): 2.0}, "a pair or its mirror image"),
    ],
)
def test_says_what_is_wrong_with_weights(weights, message):
    with pytest.raises(InvalidInput, match=message):
        JointRelativeDistance("x", weights)


# --- the kernel -----------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 700, 59), (33, 9, 8), (4, 1030, 7), (0, 3, 2)])
def test_city_block_distances_are_scipys(rng, shape):
    a, b = rng.normal(size=(shape[0], shape[2])), rng.normal(size=(shape[1], shape[2]))
    np.testing.assert_allclose(
        cityblock_matrix(a, b), cdist(a, b, "cityblock"), rtol=2e-5, atol=1e-5
    )


def test_a_missing_value_spoils_its_own_row_and_column(rng):
    a, b = rng.normal(size=(4, 9)), rng.normal(size=(6, 9))
    a[2, 8], b[1, 3] = np.nan, np.nan
    spoiled = np.isnan(cityblock_matrix(a, b))
    expected = np.zeros((4, 6), bool)
    expected[2], expected[:, 1] = True, True
    np.testing.assert_array_equal(spoiled, expected)


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        (np.zeros((2, 3)), np.zeros((2, 4)), "equal numbers of features; got 3 and 4"),
        (np.zeros(3), np.zeros((2, 3)), "a must have shape"),
    ],
)
def test_says_what_is_wrong_with_rows(a, b, message):
    with pytest.raises(InvalidInput, match=message):
        cityblock_matrix(a, b)


# --- learning the weights -------------------------------------------------------------------


def test_every_pair_is_there_once_with_its_mirror_image():
    pairs = symmetric_pairs()
    assert len({frozenset(pair) for pair in pairs}) == len(pairs)
    both = {frozenset(one) for pair in pairs for one in (pair, mirrored(pair))}
    assert len(both) == 26 * 25 // 2
    assert {frozenset(p) for p in PUBLISHED_WEIGHTS} <= both


def test_features_of_pairs_match_the_definition(kick, walk):
    pairs = [("right_knee", "head"), ("hips", "head_top"), ("left_wrist", "right_foot")]
    row = pair_features([(kick[30], walk[4])], pairs)[0]
    p, q = pose(kick, 30), pose(walk, 4)
    assert row == pytest.approx([naive.feature(p, q, *pair) for pair in pairs], abs=1e-6)


def test_learned_weights_have_the_least_squared_error(rng):
    clips = [
        ml.demo.clip("take_dances"),
        ml.demo.clip("take_reaches"),
        ml.demo.clip("take_strikes"),
    ]
    draw = lambda: clips[rng.integers(3)][int(rng.integers(300))]  # noqa: E731
    poses = [(draw(), draw()) for _ in range(400)]
    pairs = [("hips", "left_knee"), ("head", "left_wrist"), ("neck", "left_ankle")]
    rows = pair_features(poses, pairs)
    tags = rows[:, 1] < np.median(rows[:, 1])
    weights = learn_weights(poses, tags, pairs=pairs)
    assert list(weights.values()) == sorted(weights.values(), reverse=True)
    solved = np.linalg.lstsq(rows, np.where(tags, 1.0, -1.0), rcond=None)[0]
    assert [weights[pair] for pair in pairs] == pytest.approx(np.abs(solved))


def test_learned_weights_are_kept_in_a_file(tmp_path, kick, walk):
    weights = {("hips", "left_knee"): 2.0, ("neck", "head"): 0.5}
    save_weights(weights, tmp_path / "weights.json")
    distance = load_weights(tmp_path / "weights.json")
    expected = naive.distance(pose(kick, 3), pose(walk, 7), weights)
    assert distance_matrix(kick, walk, distance)[3, 7] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("not json", "expected a list of"),
        ('[["hips", "head"]]', "expected a list of"),
        ('[["hips", "tail", 1]]', "pairs of two joint roles"),
    ],
)
def test_says_what_is_wrong_with_a_file_of_weights(tmp_path, text, message):
    (tmp_path / "w.json").write_text(text)
    with pytest.raises(MotionFormatError, match=f"w.json: .*{message}"):
        load_weights(tmp_path / "w.json")


def test_says_what_learning_needs(walk):
    two = [(walk[0], walk[9]), (walk[3], walk[5])]
    with pytest.raises(InvalidInput, match="both similar and dissimilar.*2 similar of 2"):
        learn_weights(two, [True, True])
    with pytest.raises(InvalidInput, match=r"similar must have shape \(2,\)"):
        learn_weights(two, [True])
    with pytest.raises(InvalidInput, match="got no pairs"):
        learn_weights([], [])
    with pytest.raises(InvalidInput, match="top must be at least 1"):
        learn_weights(two, [True, False], top=0)
    with pytest.raises(InvalidInput, match="no pair of joints is there in all poses"):
        learn_weights(two, [True, False], pairs=[("tail", "hips")])
