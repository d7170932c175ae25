"""Douglas-Peucker, the Earth Mover's Distance, banded DTW, uniform scaling: the kernels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import clips as naive

import motionloom as ml
from motionloom.alignment.banded_dtw import (
    band_reach,
    banded_dtw,
    banded_matrix,
    dtw_matrix,
    dtw_nearest,
    keogh_bounds,
)
from motionloom.alignment.uniform_scaling import scaled_distance, scaling_nearest
from motionloom.errors import InvalidInput
from motionloom.features.curves import (
    CURVE_JOINTS,
    CURVE_PARENTS,
    JOINT_IMPORTANCE,
    kept_frames,
    masses,
    rotation_curves,
    unwrapped,
)
from motionloom.features.earth_mover import earth_mover_distance, transport_cost
from motionloom.motion.rotations import quaternions as rot
from motionloom.search.clips.vectors import even_rows


def walk_curves(rng, count, length, width, step=3.0):
    return np.cumsum(rng.normal(scale=step, size=(count, length, width)), axis=1)


# --- rotation curves ------------------------------------------------------------------------


def test_curves_are_the_rotations_and_have_no_jumps():
    kick = ml.demo.clip("kick_front_high_right")
    curves = rotation_curves(kick)
    assert curves.shape == (len(kick), len(CURVE_JOINTS), 3)
    there = np.isfinite(curves).all(axis=(0, 2))
    assert there.sum() >= 15
    assert np.abs(np.diff(curves[:, there], axis=0)).max() < 60.0
    # The elbow's curve, turned back into rotations, bends it by the same angle.
    angles = curves[:, CURVE_JOINTS.index("right_knee")]
    again = rot.from_euler(np.radians(angles), "ZYX")
    bend = np.degrees(rot.angle_between(again, np.array([1.0, 0, 0, 0])))
    knee, ankle = kick.role_positions(["right_knee", "right_ankle"]).transpose(1, 0, 2)
    hip = kick.role_positions(["right_hip"])[:, 0]
    thigh, shin = knee - hip, ankle - knee
    cosine = np.einsum("tc,tc->t", thigh, shin) / (
        np.linalg.norm(thigh, axis=1) * np.linalg.norm(shin, axis=1)
    )
    straight = np.degrees(np.arccos(np.clip(cosine, -1, 1)))
    assert np.corrcoef(bend, straight)[0, 1] > 0.99


def test_curves_do_not_know_where_the_body_stands_and_faces():
    walk = ml.demo.clip("walk")
    a, b = rotation_curves(walk), rotation_curves(walk.transform(yaw=2.0, shift=(3, 0, 1)))
    assert np.nanmax(np.abs(a - b)) < 0.01


@pytest.mark.parametrize("order", ["ZYX"])
def test_unwrapping_keeps_the_rotation_and_takes_the_shorter_way(rng, order):
    turning = np.linspace(0.0, 1490.0, 400)[:, None] * [1.0, 0.3, -0.7]
    principal = np.degrees(rot.to_euler(rot.from_euler(np.radians(turning), order), order))
    smooth = unwrapped(principal)
    assert np.abs(np.diff(smooth, axis=0)).max() < 10.0 < np.abs(np.diff(principal, axis=0)).max()
    same = rot.angle_between(
        rot.from_euler(np.radians(smooth), order), rot.from_euler(np.radians(turning), order)
    )
    assert same.max() < 1e-6


def test_every_joint_has_a_parent_before_it_and_arms_outweigh_fingers():
    seen = {""}
    for joint, parent in CURVE_PARENTS.items():
        assert parent in seen
        seen.add(joint)
    assert JOINT_IMPORTANCE["left_shoulder"] > JOINT_IMPORTANCE["left_hand"] > 0.0
    assert set(JOINT_IMPORTANCE) == set(CURVE_JOINTS)


def test_missing_joints_have_no_curve_and_unknown_ones_are_named():
    with pytest.raises(InvalidInput, match="no curve is called 'tail'; the curves are hips, spine"):
        rotation_curves(ml.demo.clip("walk"), ("tail",))
    with pytest.raises(InvalidInput, match=r"angles must have shape \(T, 3\)"):
        unwrapped([1.0, 2.0])


# --- Douglas-Peucker ------------------------------------------------------------------------


@given(
    st.integers(0, 10_000),
    st.integers(1, 60),
    st.integers(1, 3),
    st.floats(0.0, 20.0),
    st.booleans(),
)
def test_kept_frames_are_those_of_the_recursion(seed, length, width, threshold, perpendicular):
    rng = np.random.default_rng(seed)
    curve = np.cumsum(rng.normal(scale=4.0, size=(length, width)), axis=0)
    kept = kept_frames(curve, threshold=threshold, perpendicular=perpendicular)
    assert kept.tolist() == naive.douglas_peucker(curve.tolist(), threshold, perpendicular)
    mass = masses(kept, length)
    assert mass == pytest.approx(naive.frames_stood_for(kept.tolist(), length))
    assert mass.sum() == pytest.approx(length)
    after = masses(kept, length, following=True)
    assert after == pytest.approx(naive.frames_up_to_the_next(kept.tolist(), length))


def test_lines_through_kept_frames_are_nowhere_farther_than_the_threshold(rng):
    curve = walk_curves(rng, 1, 300, 3)[0]
    kept = kept_frames(curve, threshold=10.0)
    line = np.stack([np.interp(np.arange(300), kept, curve[kept, k]) for k in range(3)], axis=1)
    assert np.linalg.norm(curve - line, axis=1).max() <= 10.0
    assert 2 < len(kept) < 150


def test_a_long_curve_needs_no_deep_stack():
    curve = np.zeros((5_000, 1))
    curve[1::2] = 100.0
    assert len(kept_frames(curve, threshold=1.0)) == 5_000


def test_a_still_curve_keeps_its_ends_and_a_frame_alone_itself():
    assert kept_frames(np.zeros((50, 3))).tolist() == [0, 49]
    assert kept_frames(np.zeros((1, 3))).tolist() == [0]
    assert masses([0], 1).tolist() == [1.0]


@pytest.mark.parametrize(
    ("curve", "threshold", "message"),
    [
        (np.zeros((0, 3)), 1.0, r"curve must have shape \(T, D\)"),
        ([[0.0], [np.nan]], 1.0, "only finite numbers; frame 1 does not"),
        ([[0.0], [1.0]], -1.0, "threshold must not be negative; got -1.0"),
    ],
)
def test_a_curve_that_cannot_be_split_is_reported(curve, threshold, message):
    with pytest.raises(InvalidInput, match=message):
        kept_frames(curve, threshold=threshold)


# --- the Earth Mover's Distance -------------------------------------------------------------


def signatures(rng, kind):
    n, m = rng.integers(1, 14, 2)
    a, b = rng.random(n) + 0.01, rng.random(m) + 0.01
    if kind == "halves":
        a, b = rng.integers(1, 8, n) / 2.0, rng.integers(1, 8, m) / 2.0
    points_a, points_b = rng.normal(size=(n, 4)), rng.normal(size=(m, 4))
    if kind == "grid":
        points_a, points_b = np.rint(points_a), np.rint(points_b)
    if kind == "one place":
        points_a[:] = points_a[0]
    return points_a, a, points_b, b * a.sum() / b.sum()


@pytest.mark.parametrize("kind", ["any", "halves", "grid", "one place"])
def test_the_least_work_is_that_of_the_linear_program(rng, kind):
    for _ in range(25):
        points_a, a, points_b, b = signatures(rng, kind)
        costs = np.linalg.norm(points_a[:, None] - points_b, axis=2)
        least = naive.transport(costs.tolist(), a.tolist(), b.tolist())
        assert transport_cost(costs, a, b) == pytest.approx(least, abs=1e-9 * a.sum())
        result = earth_mover_distance(points_a, a, points_b, b)
        assert result == pytest.approx(least / a.sum(), abs=1e-9)


def test_the_distance_is_a_metric(rng):
    sets = [(rng.normal(size=(n, 4)), np.full(n, 1.0 / n)) for n in (3, 8, 5, 1, 8)]
    gap = lambda i, j: earth_mover_distance(*sets[i], *sets[j])  # noqa: E731
    for i in range(5):
        assert gap(i, i) == pytest.approx(0.0, abs=1e-12)
        for j in range(5):
            assert gap(i, j) == pytest.approx(gap(j, i), abs=1e-12)
            for k in range(5):
                assert gap(i, k) <= gap(i, j) + gap(j, k) + 1e-12


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0.0]], [1.0], [[0.0]], [2.0]), "same total mass; got 1 and 2"),
        (([[0.0]], [1.0], [[0.0]], [0.0]), "mass_b must be positive"),
        (([[np.nan]], [1.0], [[0.0]], [1.0]), "points_a must contain only finite numbers"),
        (([[0.0], [1.0]], [1.0], [[0.0]], [1.0]), r"points_a must have shape \(1, D\)"),
        (([[0.0, 1.0]], [1.0], [[0.0]], [1.0]), "same number of columns; got 2 and 1"),
        (([[0.0]], [], [[0.0]], [1.0]), "mass_a must be one-dimensional"),
    ],
)
def test_signatures_that_cannot_be_compared_are_reported(arguments, message):
    with pytest.raises(InvalidInput, match=message):
        earth_mover_distance(*arguments)


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ([[1.0]], r"costs must have shape \(2, 1\)"),
        ([[1.0], [-1.0]], "costs must be finite and non"),
    ],
)
def test_costs_that_cannot_be_transported_are_reported(costs, message):
    with pytest.raises(InvalidInput, match=message):
        transport_cost(costs, [1.0, 1.0], [2.0])


# --- banded DTW -----------------------------------------------------------------------------


@given(st.integers(0, 10_000), st.integers(1, 18), st.integers(1, 18), st.floats(0.0, 1.0))
def test_banded_dtw_is_the_best_of_all_paths_in_the_band(seed, n, m, band):
    rng = np.random.default_rng(seed)
    width = int(rng.integers(1, 7))
    a, b = rng.normal(size=(n, width)), rng.normal(size=(m, width))
    reach = band_reach(n, m, band)
    truth = naive.banded_dtw(a.tolist(), b.tolist(), reach)
    assert banded_dtw(a, b, band=band) == pytest.approx(truth, rel=1e-5)


def test_the_band_of_a_grid_is_the_band(rng):
    for n, m in ((9, 9), (5, 12), (12, 5), (1, 4), (4, 1)):
        matrix = banded_matrix(np.ones((n, m)), band=0.2)
        reach = band_reach(n, m, 0.2)
        for i in range(n):
            for j in range(m):
                assert np.isfinite(matrix[i, j]) == naive.in_band(i, j, n, m, reach)


def test_the_matrix_holds_each_pair(rng):
    rows = walk_curves(rng, 6, 20, 5)
    rows[4, 3, 2] = np.nan
    result = dtw_matrix(rows)
    for i in (0, 1, 2, 3, 5):
        for j in (0, 1, 2, 3, 5):
            assert result[i, j] == pytest.approx(banded_dtw(rows[i], rows[j]), rel=1e-6, abs=1e-12)
    assert np.isnan(result[4]).all() and np.isnan(result[:, 4]).all()


@pytest.mark.parametrize("k", [1, 5, 60])
def test_pruning_never_changes_the_nearest(rng, k):
    rows = walk_curves(rng, 60, 32, 5)
    rows[7] = rows[3]  # equals: the first of them comes first
    rows[9, 0, 0] = np.nan
    pruned = computed = 0
    for query in (rows[3], walk_curves(rng, 1, 32, 5)[0], rows[20] + rng.normal(size=(32, 5))):
        truth = np.array([banded_dtw(query, clip) for clip in rows])
        quick, slow = (dtw_nearest(query, rows, k=k, prune=p) for p in (True, False))
        assert (
            quick.clips.tolist()
            == slow.clips.tolist()
            == np.argsort(truth, kind="stable")[: min(k, 59)].tolist()
        )
        assert np.array_equal(quick.distances, slow.distances)
        assert quick.distances == pytest.approx(truth[quick.clips], rel=1e-6)
        assert np.all(keogh_bounds(query, np.delete(rows, 9, 0)) <= np.delete(truth, 9) * 1.00001)
        pruned, computed = pruned + 59 - quick.computed, computed + quick.computed
    assert (pruned > 0) == (k < 59) and computed > 0


@pytest.mark.parametrize("k", [1, 4, 40])
def test_offsets_are_added_to_the_distances(rng, k):
    rows, offsets = walk_curves(rng, 40, 32, 5), rng.uniform(0.0, 20.0, 40)
    query = walk_curves(rng, 1, 32, 5)[0]
    truth = offsets + [banded_dtw(query, clip) for clip in rows]
    quick, slow = (dtw_nearest(query, rows, k=k, offsets=offsets, prune=p) for p in (True, False))
    order = np.argsort(truth, kind="stable")[:k].tolist()
    assert quick.clips.tolist() == slow.clips.tolist() == order
    assert quick.distances == pytest.approx(truth[order], rel=1e-6)
    assert (quick.computed < slow.computed) == (k < 40)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: banded_dtw([[0.0]], [[0.0, 1.0]]), "the same number of features; got 1 and 2"),
        (lambda: banded_dtw(np.zeros((0, 1)), [[0.0]]), r"a must have shape \(T, D\)"),
        (lambda: banded_dtw([[0.0]], [[0.0]], band=-1), "band must not be negative; got -1"),
        (lambda: dtw_matrix([[0.0]]), r"clips must have shape \(C, T, D\)"),
        (
            lambda: dtw_nearest([[0.0]], [[[0.0], [1.0]]], k=1),
            r"the same shape as the clips, \(2, 1\)",
        ),
        (lambda: dtw_nearest([[0.0]], [[[0.0]]], k=0), "k must be at least 1; got 0"),
        (lambda: scaled_distance([[0.0]], [[0.0]], factor=0.5), "factor must be at least 1"),
        (
            lambda: scaled_distance([[0.0]], [[0.0, 1.0]]),
            "the same number of features; got 1 and 2",
        ),
        (lambda: scaling_nearest([[0.0]], [[0.0]], [0, 1], k=0), "k must be at least 1; got 0"),
        (lambda: scaling_nearest([[0.0]], [[0.0, 1.0]], [0, 1], k=1), "features; got 1 and 2"),
        (
            lambda: scaling_nearest([[0.0]], [[0.0]], [0, 2], k=1),
            "starts must increase from 0 to the number of rows, 1",
        ),
        (
            lambda: scaling_nearest([[0.0]], [[0.0]], [0, 0, 1], k=1),
            "with at least one row per clip",
        ),
        (lambda: even_rows([[0.0]], 0), "count must be at least 1; got 0"),
        (lambda: even_rows([], 3), r"rows must have shape \(T, ...\)"),
    ],
)
def test_wrong_input_is_reported(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()


# --- uniform scaling ------------------------------------------------------------------------


@given(
    st.integers(0, 10_000),
    st.integers(1, 16),
    st.integers(1, 30),
    st.floats(1.0, 2.0),
    st.booleans(),
)
def test_scaled_distance_is_the_best_of_all_lengths(seed, n, m, factor, stretch_only):
    rng = np.random.default_rng(seed)
    query, clip = rng.normal(size=(n, 3)), rng.normal(size=(m, 3))
    truth = naive.scaled_distance(query.tolist(), clip.tolist(), factor, stretch_only)
    result = scaled_distance(query, clip, factor=factor, stretch_only=stretch_only)
    assert result == pytest.approx(truth)


def test_only_stretching_never_compares_a_shorter_beginning():
    query, quick = np.arange(12.0)[:, None], np.arange(0.0, 12.0, 1.2)[:, None]
    both = scaled_distance(query, quick, factor=1.2)
    longer = np.concatenate([quick, np.full((10, 1), 50.0)])
    assert scaled_distance(query, longer, factor=1.2) == pytest.approx(both)
    assert scaled_distance(query, longer, factor=1.2, stretch_only=True) > 10.0 * both


def test_some_clips_can_be_excluded(rng):
    rows = rng.normal(size=(60, 3))
    starts = np.arange(0, 61, 10)
    every = scaling_nearest(rows[:10], rows, starts, k=6)
    usable = np.ones(6, dtype=bool)
    usable[every.clips[0]] = False
    for prune in (True, False):
        nearest = scaling_nearest(rows[:10], rows, starts, k=6, usable=usable, prune=prune)
        assert nearest.clips.tolist() == every.clips[1:].tolist()


@pytest.mark.parametrize("k", [1, 4])
def test_envelopes_never_change_the_nearest(rng, k):
    lengths = rng.integers(5, 40, 50)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    rows = np.concatenate([walk_curves(rng, 1, m, 4)[0] for m in lengths])
    rows[starts[6]] = np.nan
    pruned = 0
    for c in (0, 11, 30):
        query = rows[starts[c] : starts[c + 1]][:24] + rng.normal(size=4)
        parts = [rows[a:b] for a, b in zip(starts[:-1], starts[1:], strict=True)]
        truth = np.array(
            [np.inf if np.isnan(p).any() else scaled_distance(query, p) for p in parts]
        )
        quick, slow = (scaling_nearest(query, rows, starts, k=k, prune=p) for p in (True, False))
        assert quick.clips.tolist() == slow.clips.tolist() == np.argsort(truth)[:k].tolist()
        assert np.array_equal(quick.distances, slow.distances)
        assert quick.distances == pytest.approx(truth[quick.clips])
        pruned += 49 - quick.computed
    assert pruned > 0


def test_missing_values_have_no_distance(rng):
    whole, holed = rng.normal(size=(2, 12, 3))
    holed[5] = np.nan
    for measure in (scaled_distance, banded_dtw):
        assert np.isfinite(measure(whole, whole))
        assert np.isnan(measure(whole, holed)) and np.isnan(measure(holed, whole))
    assert len(scaling_nearest(holed, whole, [0, 12], k=1).clips) == 0


def test_a_clip_slowed_evenly_is_found_again(rng):
    query = walk_curves(rng, 1, 40, 3)[0]
    slow = even_rows(query, 46)
    assert scaled_distance(query, slow) < 0.35 * scaled_distance(query, slow, factor=1.0)
