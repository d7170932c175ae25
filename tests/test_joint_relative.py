"""Joint relative distance: its definition, its kernel, its weights."""

from __future__ import annotations

import numpy as np
import pytest
from naive import joint_relative as naive
from scipy.spatial.distance import cdist

import motionloom as ml
from motionloom.errors import InvalidInput, MotionFormatError
from motionloom.features import DISTANCES, distance_matrix
from motionloom.features.joint_relative import (
    PUBLISHED_WEIGHTS,
    JointRelativeDistance,
    cityblock_matrix,
    mirrored,
    symmetric_pairs,
)
from motionloom.features.joint_weights import (
    TaggedPoses,
    area_under_curve,
    held_out_auc,
    learn_weights,
    learned_weights,
    load_weights,
    pair_features,
    save_weights,
)


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


def test_pairs_of_missing_joints_are_skipped_and_listed(kick, walk):
    bare = without(walk, "head_top", "left_collar")
    jrd = DISTANCES["jrd"]
    missing = jrd.missing(bare.skeleton)
    assert len(missing) == 10
    assert all({"head_top", "left_collar"} & {*pair, *mirrored(pair)} for pair in missing)
    assert jrd.missing(kick.skeleton) == ()
    expected = naive.distance(pose(kick, 5), pose(bare, 9), PUBLISHED_WEIGHTS)
    assert distance_matrix(kick, bare, "jrd")[5, 9] == pytest.approx(expected, rel=1e-5)
    assert distance_matrix(bare, kick, "jrd")[9, 5] == pytest.approx(expected, rel=1e-5)


def test_mirrored_poses_are_distinguished_only_by_asymmetric_pairs(walk):
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
        ({("hips", "head"): -1.0}, "must not be negative; got -1"),
        ({("hips", "left_knee"): 1.0, ("right_knee", "hips"): 2.0}, "a pair or its mirror image"),
    ],
)
def test_reports_errors_in_weights(weights, message):
    with pytest.raises(InvalidInput, match=message):
        JointRelativeDistance("x", weights)


# --- the kernel -----------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 700, 59), (33, 9, 8), (4, 1030, 7), (0, 3, 2)])
def test_city_block_distances_are_scipys(rng, shape):
    a, b = rng.normal(size=(shape[0], shape[2])), rng.normal(size=(shape[1], shape[2]))
    np.testing.assert_allclose(
        cityblock_matrix(a, b), cdist(a, b, "cityblock"), rtol=2e-5, atol=1e-5
    )


def test_a_missing_value_affects_only_its_row_and_column(rng):
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
def test_reports_errors_in_rows(a, b, message):
    with pytest.raises(InvalidInput, match=message):
        cityblock_matrix(a, b)


# --- learning the weights -------------------------------------------------------------------


def test_every_pair_occurs_once_with_its_mirror_image():
    pairs = symmetric_pairs()
    assert len({frozenset(pair) for pair in pairs}) == len(pairs)
    both = {frozenset(item) for pair in pairs for item in (pair, mirrored(pair))}
    assert len(both) == 26 * 25 // 2
    assert {frozenset(p) for p in PUBLISHED_WEIGHTS} <= both


def test_features_of_pairs_match_the_definition(kick, walk):
    pairs = [("right_knee", "head"), ("hips", "head_top"), ("left_wrist", "right_foot")]
    row = pair_features([(kick[30], walk[4])], pairs)[0]
    p, q = pose(kick, 30), pose(walk, 4)
    assert row == pytest.approx([naive.feature(p, q, *pair) for pair in pairs], abs=1e-6)


def drawn_poses(rng, count):
    clips = [ml.demo.clip(name) for name in ("take_dances", "take_reaches", "take_strikes")]
    draw = lambda: clips[rng.integers(3)][int(rng.integers(300))]  # noqa: E731
    return [(draw(), draw()) for _ in range(count)]


PAIRS = [("hips", "left_knee"), ("head", "left_wrist"), ("neck", "left_ankle")]


@pytest.mark.slow
def test_learned_weights_have_the_least_squared_error(rng):
    poses = drawn_poses(rng, 400)
    rows = pair_features(poses, PAIRS)
    tags = rows[:, 1] < np.median(rows[:, 1])
    weights = learn_weights(poses, tags, pairs=PAIRS, method="tang")
    assert list(weights.values()) == sorted(weights.values(), reverse=True)
    solved = np.linalg.lstsq(rows, np.where(tags, 1.0, -1.0), rcond=None)[0]
    assert [weights[pair] for pair in PAIRS] == pytest.approx(np.abs(solved))
    naively = naive.learned([row.tolist() for row in rows], tags.tolist())
    assert [weights[pair] for pair in PAIRS] == pytest.approx(naively)


def test_non_negative_weights_have_the_least_squared_error_with_an_intercept(rng):
    poses = drawn_poses(rng, 300)
    rows = pair_features(poses, PAIRS)
    tags = rows[:, 1] < np.median(rows[:, 1])
    weights = learn_weights(poses, tags, pairs=PAIRS)
    assert list(weights)[0] == PAIRS[1] and min(weights.values()) > 0.0
    result = np.array([weights.get(pair, 0.0) for pair in PAIRS])
    wanted = np.where(tags, 0.0, 1.0)

    def error(w):
        rest = wanted - rows @ w
        return float(np.sum((rest - rest.mean()) ** 2))

    for k in range(3):
        for step in (-0.01, 0.01):
            other = result.copy()
            other[k] = max(0.0, other[k] + step)
            assert error(result) <= error(other) + 1e-9


def test_area_under_the_curve_is_the_share_of_pairs_in_order(rng):
    distances, tags = rng.normal(size=40).round(1), rng.random(40) < 0.4
    near, far = distances[tags], distances[~tags]
    share = np.mean([1.0 if a < b else 0.5 if a == b else 0.0 for a in near for b in far])
    assert area_under_curve(distances, tags) == pytest.approx(share)


@pytest.mark.slow
def test_weights_are_judged_on_motions_that_they_were_not_learned_from(rng):
    """Similar poses agree in one joint distance; the others are drawn at random."""
    clips = {name: ml.demo.clip(name) for name in ("take_dances", "take_reaches", "take_strikes")}
    clips |= {f"{name}_p1": ml.demo.clip(name, performer=1) for name in tuple(clips)}
    poses, motions = [], []
    for _ in range(400):
        (a, first), (b, two) = (list(clips.items())[k] for k in rng.integers(len(clips), size=2))
        motions.append((a, b))
        poses.append((first[int(rng.integers(300))], two[int(rng.integers(300))]))
    wrist = pair_features(poses, [("head", "left_wrist")])[:, 0]
    tagged = TaggedPoses(poses, (wrist < np.median(wrist)).tolist(), motions)
    best, equal = held_out_auc(tagged, folds=3)
    paper, _ = held_out_auc(tagged, method="tang", folds=3)
    assert best > 0.9 > equal and best > paper
    learned = learned_weights(tagged, top=5)
    assert len(learned.weights) <= 5 and learned.tagged == 400 and learned.method == "nnls"
    assert learned.auc > learned.equal_auc
    alone = TaggedPoses(poses, tagged.similar, [("one", "one")] * 400)
    assert held_out_auc(alone) == (None, None)


def test_learned_weights_are_saved_to_a_file(tmp_path, kick, walk):
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
def test_reports_errors_in_a_file_of_weights(tmp_path, text, message):
    (tmp_path / "w.json").write_text(text)
    with pytest.raises(MotionFormatError, match=f"w.json: .*{message}"):
        load_weights(tmp_path / "w.json")


def test_learning_reports_missing_input(walk):
    two = [(walk[0], walk[9]), (walk[3], walk[5])]
    with pytest.raises(InvalidInput, match="both similar and dissimilar.*2 similar of 2"):
        learn_weights(two, [True, True])
    with pytest.raises(InvalidInput, match=r"similar must have shape \(2,\)"):
        learn_weights(two, [True])
    with pytest.raises(InvalidInput, match="got no pairs"):
        learn_weights([], [])
    with pytest.raises(InvalidInput, match="top must be at least 1"):
        learn_weights(two, [True, False], top=0)
    with pytest.raises(InvalidInput, match="method must be one of nnls, tang; got 'magic'"):
        learn_weights(two, [True, False], method="magic")
    with pytest.raises(InvalidInput, match="no weight is positive"):
        learn_weights([(walk[0], walk[9]), (walk[3], walk[3])], [True, False])
    with pytest.raises(
        InvalidInput, match="no pair of joints exists in the skeletons of all poses"
    ):
        learn_weights(two, [True, False], pairs=[("tail", "hips")])
