"""Whole clips: measures, the index, search, and handling of unusual clips."""

import itertools
import math

import numpy as np
import pytest
from fewer_joints import without_joints
from naive import clips as naive

import motionloom as ml
from motionloom.errors import InvalidInput, RoleError
from motionloom.features.curves import CURVE_JOINTS
from motionloom.features.earth_mover import signature_distance
from motionloom.search.clips.emd_signature import (
    EmdSignatures,
    emd_nearest,
    joint_bounds,
    limited_distance,
    turned_distance,
)
from motionloom.search.clips.measures import ClipVectors, clip_measure
from motionloom.search.clips.measures import clip_distances as distances_of
from motionloom.search.clips.retrieval import clip_table
from motionloom.search.clips.vectors import clip_summary, travel_rows
from motionloom.search.methods import (
    METHODS,
    AngleDtw,
    ClipDtw,
    ClipStatistics,
    Emd,
    UniformScaling,
    clip_methods,
)

ACTIONS = ("walk", "kick_front_high_right", "jump_up", "punch_mid_right")
CLIP_MEASURES = tuple(clip_methods())
QUICK = [name for name in CLIP_MEASURES if name != "dtw-pc11"]


@pytest.fixture(scope="module")
def lib(tmp_path_factory):
    lib = ml.Library.create(tmp_path_factory.mktemp("clips") / "clips.loom")
    for action in ACTIONS:
        for performer in range(3):
            motion = ml.demo.clip(action, performer=performer)
            lib.add_motion(motion, labels=[action.split("_")[0]])
    return lib


def curves_of(rng, count, joints=4, length=40):
    return np.cumsum(rng.normal(scale=6.0, size=(count, length, joints, 3)), axis=1)


def joint_distance(signatures, clip, other, joint):
    """Earth Mover's Distance of one joint of two clips."""
    joints = signatures.quantiles.shape[1]
    a, b = (slice(*signatures.starts[c * joints + joint :][:2]) for c in (clip, other))
    return signature_distance(
        signatures.points[a], signatures.mass[a], signatures.points[b], signatures.mass[b]
    )


def clip_distances(signatures, clip, weights):
    """Distances of one clip to all, none of them given up."""
    own = (signatures.points, signatures.mass, signatures.starts)
    nothing = np.zeros(len(weights))
    every = range(len(signatures))
    return np.array(
        [limited_distance(*own, clip, *own, c, weights, nothing, np.inf, 360.0) for c in every]
    )


# --- statistics -----------------------------------------------------------------------------


def test_statistics_are_those_of_their_definition(lib):
    table = clip_table(lib.store, ClipStatistics(alignment_weight=0.0).measure())
    result = distances_of(table.measure, table.clips)
    some = [0, 4, 10]
    starts = table.clips.starts
    plain = [naive.clip_statistics(table.clips.rows[starts[c] : starts[c + 1]]) for c in some]
    for i, a in zip(some, plain, strict=True):
        for j, b in zip(some, plain, strict=True):
            assert result[i, j] == pytest.approx(naive.statistics_distance(a, b), abs=1e-6)


def test_each_weight_counts_and_none_is_refused(lib):
    parts = ["covariance", "spectrum", "trend", "length", "turn", "travel", "alignment"]
    whole = distances_of(
        clip_measure("statistics"), clip_table(lib.store, clip_measure("statistics")).clips
    )
    total = np.zeros_like(whole)
    for part, weight in zip(parts, (1.0, 1.0, 1.0, 0.2, 0.1, 0.3, 0.4), strict=True):
        alone = {f"{other}_weight": weight if other == part else 0.0 for other in parts}
        measure = ClipStatistics(**alone).measure()
        first = distances_of(measure, clip_table(lib.store, measure).clips)
        assert first.max() > 0.0
        total += first
    assert total == pytest.approx(whole, abs=1e-9)
    with pytest.raises(InvalidInput, match="at least one of covariance_weight.* must be above 0"):
        ClipStatistics(**{f"{part}_weight": 0.0 for part in parts})


def test_repeated_slower_and_larger_is_still_near_and_a_turn_is_not(tmp_path):
    lib = ml.Library.create(tmp_path / "styles.loom")
    for name in ("walk", "walk_left", "walk_right", "jump_up", "kick_front_mid_left"):
        lib.add_motion(ml.demo.clip(name, performer=1))
    walk = ml.demo.clip("walk")
    half = walk[: len(walk) // 2]
    assert lib.search(half, method=ml.ClipStatistics(k=1))[0].motion == "walk_p1"
    slow = ml.Motion(walk.skeleton, walk.rotations, walk.root, walk.fps / 1.4)
    assert lib.search(slow, method=ml.ClipStatistics(k=1))[0].motion.startswith("walk")
    left = lib.search(ml.demo.clip("walk_left"), method=ml.ClipStatistics(k=5))
    names = [hit.motion for hit in left]
    assert names.index("walk_left_p1") < names.index("walk_right_p1")


def test_damaged_statistics_are_computed_again(tmp_path):
    lib = ml.Library.create(tmp_path / "damaged.loom")
    for name in ("walk", "jump_up"):
        lib.add_motion(ml.demo.clip(name))
    before = [hit.distance for hit in lib.search("walk_p0", method="statistics")]
    (file,) = lib.path.rglob("statistics.npy")
    np.save(file, np.zeros((2, 3)))
    after = ml.Library(lib.path).search("walk_p0", method="statistics")
    assert [hit.distance for hit in after] == before


# --- measures -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CLIP_MEASURES)
def test_the_matrix_and_the_nearest_agree(lib, name):
    measure = clip_measure(name)
    table = clip_table(lib.store, measure)
    distances = distances_of(measure, table.clips)
    assert distances.shape == (12, 12)
    assert np.abs(np.diag(distances)).max() < 1e-6
    assert (distances >= 0.0).all()
    for q in (0, 5, 11):
        query = table.clips.rows[table.clips.starts[q] : table.clips.starts[q + 1]]
        for prune in (True, False):
            nearest = measure.nearest(query, table.clips, k=4, prune=prune)
            assert nearest.clips.tolist() == np.argsort(distances[q], kind="stable")[:4].tolist()
            assert nearest.distances == pytest.approx(distances[q, nearest.clips], abs=1e-6)


@pytest.mark.parametrize("name", CLIP_MEASURES)
def test_search_finds_the_clip_itself_and_then_its_like(lib, name):
    hits = lib.search("jump_up_p1", method=METHODS[name](k=3))
    assert len(hits) == 3
    assert hits[0].motion == "jump_up_p1" and hits[0].distance < 1e-6
    alike = 2 if name == "dtw-jrd" else 3  # it hardly sees that the feet leave the floor
    assert [hit.label for hit in hits][:alike] == ["jump"] * alike
    for hit in hits:
        frames = len(lib[hit.motion])
        assert (hit.start_frame, hit.end_frame) == (0, frames)
        assert hit.end == pytest.approx(frames / 30.0)
        assert hit.alignment[0].tolist() == [0, 0]
        assert hit.alignment[-1].tolist() == [len(lib["jump_up_p1"]) - 1, frames - 1]
        assert (np.diff(hit.alignment, axis=0) >= 0).all()


def test_options_select_the_searched_clips(lib):
    assert len(lib.search("walk_p0", method="dtw-clip")) == 12
    assert len(lib.search("walk_p0", method="dtw-clip", max=5)) == 5
    away = lib.search("walk_p0", exclude_query=True, method=ml.Emd(k=20))
    assert len(away) == 11 and away[0].label == "walk"
    kicks = lib.search("walk_p0", method="emd", label="kick")
    assert {hit.label for hit in kicks} == {"kick"}
    near = lib.search("walk_p0", method="dtw-clip", max_distance=0.5)
    assert 1 <= len(near) < 12 and all(hit.distance <= 0.5 for hit in near)
    part = lib.search("walk_p0:5-60", method=ml.ClipDtw(k=2))
    assert part[0].label == "walk"


@pytest.mark.parametrize("name", QUICK)
def test_rate_place_and_facing_do_not_matter(lib, name):
    elsewhere = ml.demo.clip("kick_front_high_right", performer=1, fps=120.0)
    moved = elsewhere.transform(yaw=2.0, shift=(4.0, 0.0, 1.0))
    hits = lib.search(moved, method=METHODS[name](k=2))
    assert hits[0].motion == "kick_front_high_right_p1"
    assert hits[0].distance < 0.35 * hits[1].distance


def test_the_summary_ignores_the_rate_and_has_length_and_speed():
    walk = ml.demo.clip("walk", performer=0)
    rows = clip_summary(walk, 64)
    again = clip_summary(walk.resample(120), 64)
    assert np.abs(rows - again)[:, :15].max() < 0.02
    assert rows[0, -1] == pytest.approx(np.log(walk.duration))
    speed = np.linalg.norm(np.diff(walk.root[[0, -1]][:, [0, 2]], axis=0)) / walk.duration
    assert travel_rows(walk)[:, 2].mean() == pytest.approx(speed, rel=0.1)


def test_the_spread_of_the_joints_is_added(lib):
    """`dtw-clip` with and without: the difference, by its definition."""
    with_spread, without = (
        distances_of(measure, clip_table(lib.store, measure).clips)
        for measure in (ClipDtw().measure(), ClipDtw(joint_spread=False).measure())
    )
    poses = [clip_summary(lib[name], 64)[:, :15] for name in lib.names]
    spreads = [[math.log(np.std(column) + 0.02) for column in rows.T] for rows in poses]
    for a, own in enumerate(spreads):
        for b, other in enumerate(spreads):
            squares = [(x - y) ** 2 for x, y in zip(own, other, strict=True)]
            added = math.sqrt(sum(squares) / len(squares))
            assert with_spread[a, b] - without[a, b] == pytest.approx(added, abs=1e-4)
    assert with_spread.max() > without.max()


def test_rows_are_kept_with_the_library_and_follow_it(tmp_path):
    lib = ml.Library.create(tmp_path / "some.loom")
    lib.add_motion(ml.demo.clip("walk"), name="walk")
    assert [hit.motion for hit in lib.search("walk", method="emd")] == ["walk"]
    lib.add_motion(ml.demo.clip("jump_up"), name="jump")
    assert [hit.motion for hit in lib.search("walk", method="emd")] == ["walk", "jump"]
    assert len(list((lib.path / "derived").glob("clip-signatures.*"))) == 1


# --- the bound ------------------------------------------------------------------------------


def test_the_bound_is_never_above_the_distance(rng):
    signatures = EmdSignatures.of(curves_of(rng, 12), threshold=8.0)
    weights = np.array([0.4, 0.3, 0.2, 0.1])
    for q in range(4):
        bounds = joint_bounds(signatures.quantiles, signatures.quantiles[q], weights, 360.0)
        truth = clip_distances(signatures, q, weights)
        each = np.array(
            [[joint_distance(signatures, q, c, j) for j in range(4)] for c in range(12)]
        )
        assert (bounds <= each * weights + 1e-9).all()
        assert truth == pytest.approx(each @ weights)
        assert np.median(bounds.sum(axis=1)[1:] / np.maximum(truth[1:], 1e-9)) > 0.5


@pytest.mark.parametrize("k", [1, 3, 50])
def test_the_index_never_changes_an_answer(rng, k):
    curves = curves_of(rng, 40)
    curves[7] = curves[3]
    curves[20:30] = curves[20] + rng.normal(scale=2.0, size=(10, 40, 4, 3))
    signatures = EmdSignatures.of(curves)
    weights = np.full(4, 0.25)
    saved = 0
    for q in (3, 7, 22, 39):
        first = signatures.take(np.array([q]))
        truth = clip_distances(signatures, q, weights)
        quick, slow = (emd_nearest(first, signatures, weights, k=k, prune=p) for p in (True, False))
        expected = np.argsort(truth, kind="stable")[:k]
        assert quick.clips.tolist() == slow.clips.tolist() == expected.tolist()
        assert np.array_equal(quick.distances, slow.distances)
        saved += 40 - quick.computed
    assert (saved > 0) == (k < 40)


def test_masses_balance_whatever_the_motion(rng):
    curves = curves_of(rng, 3)
    curves[1] = 25.0  # stands still
    signatures = EmdSignatures.of(curves)
    joints = signatures.quantiles.shape[1]
    sums = np.add.reduceat(signatures.mass, signatures.starts[:-1]).reshape(3, joints)
    assert sums == pytest.approx(1.0)
    assert np.diff(signatures.starts).reshape(3, joints)[1].tolist() == [2] * joints
    weights = np.full(joints, 1.0 / joints)
    still = signatures.take(np.array([1]))
    assert clip_distances(still, 0, weights).tolist() == [0.0]


def turning(rng, start):
    """A clip of one joint whose first angle starts there, and sways."""
    sway = 20.0 * np.sin(np.linspace(0.0, 6.0, 128)) + rng.normal(scale=0.01, size=128)
    curve = np.zeros((128, 3))
    curve[:, 0] = start + sway
    return curve


@pytest.mark.parametrize("method", [Emd, AngleDtw, UniformScaling])
def test_angles_on_both_sides_of_half_a_turn_are_near(rng, method):
    curves = np.stack([turning(rng, start) for start in (179.8, -179.8, 120.0)])
    clips = ClipVectors(
        curves.reshape(-1, 3).astype(np.float32), np.arange(0, 385, 128), ("left_elbow",)
    )
    for whole_turns, near in ((True, 0.5), (False, None)):
        measure = method(whole_turns=whole_turns).measure()
        distances = distances_of(measure, clips)
        nearest = [measure.nearest(curves[0], clips, k=3, prune=p) for p in (True, False)]
        for item in nearest:
            assert item.distances == pytest.approx(distances[0, item.clips], abs=1e-4)
        if near is None:
            assert distances[0, 1] > 350.0 and nearest[0].clips.tolist() == [0, 2, 1]
        else:
            assert distances[0, 1] < near < distances[0, 2]
            assert not measure.symmetric or distances[0, 2] == pytest.approx(distances[2, 0])
            assert nearest[0].clips.tolist() == nearest[1].clips.tolist() == [0, 1, 2]


def test_whole_turns_are_the_best_of_all(rng):
    for _ in range(30):
        a, b = (np.cumsum(rng.normal(scale=30.0, size=(6, 4)), axis=0) for _ in "ab")
        b[:, :3] += 360.0 * rng.integers(-2, 3, 3) + rng.uniform(-180.0, 180.0, 3)
        mass = np.full(6, 1.0 / 6.0)
        every = itertools.product(range(-4, 5), repeat=3)
        turned = [b + 360.0 * np.array([*turns, 0]) for turns in every]
        best = min(signature_distance(a, mass, item, mass) for item in turned)
        assert turned_distance(a, mass, b, mass, 360.0) == pytest.approx(best)
        plain = signature_distance(a, mass, b, mass)
        assert turned_distance(a, mass, b, mass, np.inf) == plain


@pytest.mark.parametrize("following", [True, False])
@pytest.mark.parametrize("perpendicular", [True, False])
def test_the_energy_is_that_of_the_paper(rng, perpendicular, following):
    curves = curves_of(rng, 3, joints=2, length=24)
    made = EmdSignatures.of(curves, perpendicular=perpendicular, following=following)
    represented = naive.frames_up_to_the_next if following else naive.frames_stood_for
    weights = np.array([0.7, 0.3])
    for other in (1, 2):
        first, two = (curves[c].transpose(1, 0, 2).tolist() for c in (0, other))
        truth = naive.energy(first, two, weights, 10.0, perpendicular, represented)
        assert clip_distances(made, 0, weights)[other] == pytest.approx(truth)


def test_time_counts_by_its_weight(rng):
    curves = np.zeros((2, 40, 1, 3))
    curves[0, :10], curves[1, 30:] = 50.0, 50.0  # the same, at another time
    near, far = (
        clip_distances(signatures, 0, np.ones(1))[1]
        for signatures in (EmdSignatures.of(curves, time_weight=w) for w in (0.0, 1.0))
    )
    assert near < 3.0 < far


# --- options --------------------------------------------------------------------------------


def test_joints_are_weighted_alike_by_all_measures_of_curves(lib):
    for name in ("emd", "dtw-angles", "scaling"):
        usual, equal, legs = (
            [
                hit.distance
                for hit in lib.search("walk_p0", method=METHODS[name](joint_weights=weights))
            ]
            for weights in ("importance", "equal", {"left_shoulder": 0.0, "right_shoulder": 0.0})
        )
        assert usual != equal and usual != legs
        text = "left_shoulder=0,right_shoulder=0.0"
        again = lib.search("walk_p0", method=METHODS[name](joint_weights=text))
        assert [hit.distance for hit in again] == legs
        measure = METHODS[name](joint_weights="equal").measure()
        assert measure.weights(("left_hand", "left_elbow")).tolist() == [0.5, 0.5]
        measure = METHODS[name]().measure()
        assert measure.weights(("left_hand", "left_elbow")) == pytest.approx([1 / 11, 10 / 11])


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("emd", {"curve_threshold": 2.0}),
        ("emd", {"line_distance": "perpendicular"}),
        ("emd", {"point_mass": "following"}),
        ("emd", {"time_weight": 0.0}),
        ("emd", {"clip_frames": 32}),
        ("dtw-angles", {"clip_frames": 32}),
        ("dtw-angles", {"band": 0.5}),
        ("scaling", {"scale_factor": 1.0}),
        ("scaling", {"stretch_only": True}),
    ],
    ids=str,
)
def test_every_option_of_a_measure_can_be_set(lib, method, options):
    usual = lib.search("kick_front_high_right_p0", method=method)
    other = lib.search("kick_front_high_right_p0", method=METHODS[method](**options))
    distances = {hit.motion: hit.distance for hit in usual}
    assert any(hit.distance != distances[hit.motion] for hit in other)
    scores = lib.evaluate(methods=[METHODS[method](**options)], workers=1).methods
    result = next(iter(scores.values())).distances
    row = dict(zip(lib.evaluate(methods=[method]).clips, result[0], strict=True))
    query = next(iter(row))
    again = lib.search(query, method=METHODS[method](**options))
    assert [row[hit.motion] for hit in again] == pytest.approx(
        [hit.distance for hit in again], abs=1e-4
    )


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ("heavy", "joint_weights must be importance, equal or JOINT=WEIGHT"),
        ("left_ear=1", "no curve is called 'left_ear'; the curves are hips"),
        ("left_hand=much", "the weight of left_hand must be a number; got 'much'"),
        ({"left_hand": -1.0}, "joint_weights must not be negative"),
        (dict.fromkeys(CURVE_JOINTS, 0.0), "at least one must be positive"),
    ],
)
def test_weights_that_cannot_be_used_are_reported(lib, weights, message):
    with pytest.raises(InvalidInput, match=message):
        lib.search("walk_p0", method=ml.Emd(joint_weights=weights))


# --- odd clips ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CLIP_MEASURES)
def test_a_clip_of_one_frame_is_a_pose_held_and_no_query(tmp_path, name):
    lib = ml.Library.create(tmp_path / "odd.loom")
    walk = ml.demo.clip("walk")
    lib.add_motion(walk, name="walk")
    lib.add_motion(walk[:1], name="frame")
    hits = lib.search("walk", method=name)
    assert [hit.motion for hit in hits] == ["walk", "frame"]
    assert np.isfinite(hits[1].distance) and hits[1].distance > 0.0
    assert hits[1].alignment[:, 1].max() == 0
    with pytest.raises(InvalidInput, match="at least two frames; got 1"):
        lib.search("frame", method=name)


@pytest.mark.parametrize("name", CLIP_MEASURES)
def test_a_clip_that_stands_still_is_compared_like_any(tmp_path, name):
    lib = ml.Library.create(tmp_path / "odd.loom")
    walk = ml.demo.clip("walk")
    rest = walk.rest_pose()
    still = ml.Motion(
        walk.skeleton, np.repeat(rest.rotations, 40, 0), np.repeat(rest.root, 40, 0), 30.0
    )
    lib.add_motion(walk, name="walk")
    lib.add_motion(still, name="still")
    hits = lib.search("still", method=name)
    assert [hit.motion for hit in hits] == ["still", "walk"]
    assert hits[0].distance == pytest.approx(0.0, abs=1e-6) and np.isfinite(hits[1].distance)


@pytest.mark.parametrize("name", ["emd", "dtw-angles", "scaling", "dtw-clip", "dtw-e15"])
def test_clips_of_different_skeletons_are_compared_by_shared_joints(tmp_path, name):
    lib = ml.Library.create(tmp_path / "odd.loom")
    kick = ml.demo.clip("kick_front_high_right")
    lib.add_motion(kick, name="kick")
    lib.add_motion(ml.demo.clip("walk"), name="walk")
    lib.add_motion(without_joints(kick, "left_elbow"), name="armless")
    table = clip_table(lib.store, clip_measure(name))
    lost = "left_elbow" if clip_measure(name).unit == "degrees" else "left_wrist"
    assert lost not in table.clips.joints and len(table.clips.joints) >= 4
    assert table.joints_missing[lost] == ("armless",)
    hits = lib.search("kick", method=name)
    assert [hit.motion for hit in hits] == ["armless", "kick", "walk"] or hits[0].distance < 1e-6
    assert hits[1].distance == pytest.approx(0.0, abs=0.02 * hits[2].distance)
    fewer = lib.search(without_joints(kick, "right_elbow"), method=name)
    assert {fewer[0].motion, fewer[1].motion} == {"kick", "armless"}
    assert fewer[0].distance == pytest.approx(0.0, abs=0.02 * fewer[2].distance)


@pytest.mark.parametrize("name", ["emd", "dtw-clip", "dtw-pc11"])
def test_a_skeleton_with_too_few_joints_is_excluded_with_the_reason(tmp_path, name):
    lib = ml.Library.create(tmp_path / "odd.loom")
    walk = ml.demo.clip("walk")
    chain = ml.Skeleton(["a", "b"], [-1, 0], [[0, 0, 0], [0, 0.4, 0]])
    rope = ml.Motion(chain, np.tile([1.0, 0, 0, 0], (30, 2, 1)), np.zeros((30, 3)), 30.0)
    lib.add_motion(walk, name="walk")
    lib.add_motion(rope, name="rope")
    assert [hit.motion for hit in lib.search("walk", method=name)] == ["walk"]
    assert clip_table(lib.store, clip_measure(name)).left_out["rope"]
    with pytest.raises(RoleError, match="hips|joint"):
        lib.search(rope, method=name)
    alone = ml.Library.create(tmp_path / "alone.loom")
    alone.add_motion(rope, name="rope")
    with pytest.raises(RoleError, match=f"motions can be compared by {name}; for example, rope: "):
        alone.search(walk, method=name)


@pytest.mark.parametrize("name", CLIP_MEASURES)
def test_missing_values_are_refused_in_a_query_and_passed_over_in_a_library(tmp_path, name):
    lib = ml.Library.create(tmp_path / "odd.loom")
    walk = ml.demo.clip("walk")
    root = np.array(walk.root)
    root[20] = np.nan
    rotations = np.array(walk.rotations)
    rotations[20] = np.nan
    gap = ml.Motion(walk.skeleton, rotations, root, walk.fps, name="gap")
    lib.add_motion(walk, name="walk")
    lib.add_motion(gap, name="gap")
    hits = lib.search("walk", method=name)
    assert [hit.motion for hit in hits] == ["walk"]
    with pytest.raises(InvalidInput, match="gap: the clip has missing values and cannot be"):
        lib.search(gap, method=name)


def test_a_wrong_name_is_answered_with_those_there_are(lib):
    with pytest.raises(InvalidInput, match="unknown clip measure 'emdd'; choose one of stat"):
        clip_measure("emdd")
    with pytest.raises(InvalidInput, match="method must be one of .*dtw-clip, emd"):
        lib.search("walk_p0", method="emdd")
    with pytest.raises(InvalidInput, match="select no motions"):
        lib.search("walk_p0", method="emd", only="walk_p0", exclude="walk_p0")
