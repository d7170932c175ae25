"""Dynamic time warping: on matrices, and over many motions in one pass."""

import numpy as np
import pytest
from naive import alignment as naive

from motionloom.alignment import STEPS, subsequence_alignment, warp
from motionloom.errors import InvalidInput
from motionloom.search.candidates import Limits
from motionloom.search.subsequence.dtw import dtw_matches, moving_weights
from motionloom.search.subsequence.end_costs import end_costs


def walks(rng, lengths, size=3):
    """Random walks, one after the other: rows and starts."""
    rows = [np.cumsum(rng.normal(size=(length, size)), axis=0) for length in lengths]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return np.concatenate(rows).astype(np.float32), starts


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("subsequence", [True, False])
def test_paths_are_those_of_the_definition(rng, steps, subsequence):
    for _ in range(15):
        matrix = rng.uniform(size=rng.integers(2, 9, size=2))
        end = matrix.shape[1] - 1
        cost, path = naive.best_path(matrix.tolist(), steps=steps, end=end, subsequence=subsequence)
        if subsequence:
            alignment = subsequence_alignment(matrix, steps=steps, end=end)
        else:
            alignment = warp(matrix, steps=steps)
        assert alignment.cost == pytest.approx(cost)
        np.testing.assert_array_equal(alignment.path, path)


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("lengths", [[30], [5, 1, 2, 12, 3, 1, 20], [1, 1, 1]])
def test_one_pass_gives_the_costs_of_the_definition(rng, steps, lengths):
    rows, starts = walks(rng, lengths)
    query = rows[:4] + 0.1
    motions = [rows[a:b] for a, b in zip(starts[:-1], starts[1:], strict=True)]
    expected = naive.end_costs(query, motions, steps=steps)
    np.testing.assert_allclose(end_costs(query, rows, starts, steps=steps), expected, rtol=1e-4)


@pytest.mark.parametrize("steps", STEPS)
def test_borders_of_motions_and_of_tiles_do_not_matter(rng, steps):
    """Every motion alone, and all in one pass with borders near those of the tiles."""
    lengths = [975, 2, 975, 1, 974, 1, 1, 1951, 3, 400]
    rows, starts = walks(rng, lengths)
    query = rows[3000:3020]
    together = end_costs(query, rows, starts, steps=steps)
    for first, last in zip(starts[:-1], starts[1:], strict=True):
        alone = end_costs(query, rows[first:last], np.array([0, last - first]), steps=steps)
        np.testing.assert_allclose(together[first:last], alone, rtol=1e-4, atol=1e-3)


def test_a_segment_finds_itself_at_no_distance_far_from_the_origin(rng):
    rows, starts = walks(rng, [300, 400, 200], size=15)
    rows += 1000.0  # large squares: what float32 products get wrong
    result = dtw_matches(rows[420:470], rows, starts, limits=Limits(max_matches=3))
    assert (result[0].start, result[0].end) == (420, 470)
    assert result[0].distance < 1e-6
    np.testing.assert_array_equal(result[0].path[:, 1], np.arange(420, 470))


def test_matches_do_not_overlap_and_come_in_order(rng):
    rows, starts = walks(rng, [500, 700, 3])
    result = dtw_matches(rows[100:140], rows, starts, limits=Limits(max_overlap=0.0))
    assert len(result) > 8
    assert [f.distance for f in result] == sorted(f.distance for f in result)
    ranges = sorted((f.start, f.end) for f in result)
    assert all(a[1] <= b[0] for a, b in zip(ranges[:-1], ranges[1:], strict=True))
    for match in result:
        assert 20 <= match.end - match.start <= 80  # half to twice the query's length
        m = np.searchsorted(starts, match.start, side="right") - 1
        assert match.end <= starts[m + 1]
        assert match.path[0, 0] == 0 and match.path[-1, 0] == 39 and len(match.path) == 40


def test_distance_is_the_mean_over_the_path(rng):
    rows, starts = walks(rng, [200])
    query = rows[20:40]
    for match in dtw_matches(query, rows, starts, limits=Limits(max_matches=5)):
        gaps = query[match.path[:, 0]].astype(float) - rows[match.path[:, 1]]
        assert match.distance == pytest.approx(np.linalg.norm(gaps, axis=1).mean())


def test_the_best_match_has_the_lowest_cost_of_all_ends(rng):
    rows, starts = walks(rng, [150, 90])
    query = rng.normal(size=(12, 3)).astype(np.float32)
    costs = end_costs(query, rows, starts)
    best = dtw_matches(query, rows, starts)[0]
    assert best.distance * 12 == pytest.approx(costs.min(), rel=1e-5)


def test_skipping_hopeless_tiles_changes_no_match(rng):
    """Enough rows that tiles are given up; all costs against those below the limit."""
    rows, starts = walks(rng, rng.integers(200, 900, size=120), size=4)
    for first, length in ((10_000, 20), (30_000, 60)):
        query = rows[first : first + length]
        everything = end_costs(query, rows, starts)
        some = end_costs(query, rows, starts, enough=12)
        kept = np.isfinite(some)
        assert 12 <= kept.sum() < 0.9 * np.isfinite(everything).sum()
        np.testing.assert_array_equal(some[kept], everything[kept])
        assert everything[~kept].min() > np.sort(everything)[11]
        a = dtw_matches(query, rows, starts, limits=Limits(max_matches=5))
        b = dtw_matches(query, rows, starts)[:5]
        assert [(f.start, f.end) for f in a] == [(f.start, f.end) for f in b]


def test_limits_are_respected(rng):
    rows, starts = walks(rng, [400, 400])
    query = rows[50:80]
    everything = dtw_matches(query, rows, starts)
    near = everything[len(everything) // 2].distance
    assert len(dtw_matches(query, rows, starts, limits=Limits(max_matches=3))) == 3
    assert all(
        f.distance <= near
        for f in dtw_matches(query, rows, starts, limits=Limits(max_distance=near))
    )
    same = dtw_matches(query, rows, starts, limits=Limits(durations=(0.9, 1.1)))
    assert same and all(27 <= f.end - f.start <= 33 for f in same)
    other = dtw_matches(query, rows, starts, allowed=np.array([False, True]))
    assert other and all(f.start >= 400 for f in other)
    away = dtw_matches(query, rows, starts, limits=Limits(occupied=[(50, 80)]))
    assert away[0].distance > 0.0


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("subsequence", [True, False])
def test_paths_lead_around_cells_without_values(rng, steps, subsequence):
    matrix = rng.random((6, 9))
    matrix[:, 0] = matrix[2, 4] = matrix[3, 2] = np.nan
    if not subsequence:
        matrix[0, 0] = 0.5
    alignment = (subsequence_alignment if subsequence else warp)(matrix, steps=steps)
    high = np.where(np.isnan(matrix), np.inf, matrix).tolist()
    ends = range(matrix.shape[1]) if subsequence else [matrix.shape[1] - 1]
    paths = [naive.best_path(high, steps=steps, end=e, subsequence=subsequence) for e in ends]
    assert alignment.cost == pytest.approx(min(cost for cost, _ in paths))
    assert np.isfinite(matrix[tuple(alignment.path.T)]).all() and len(alignment.path)


@pytest.mark.parametrize("steps", STEPS)
def test_a_missing_frame_is_far_from_everything(rng, steps):
    rows, starts = walks(rng, [60, 60])
    rows[70:75] = np.nan
    result = dtw_matches(rows[20:35], rows, starts, steps=steps)
    assert result[0].distance == 0.0
    assert not any(np.isin(f.path[:, 1], np.arange(70, 75)).any() for f in result)


def test_weights_emphasize_moving_joints():
    query = np.zeros((10, 6), np.float32)
    query[:, 0] = np.arange(10)
    weights = moving_weights(query)
    assert weights[0] == weights[2] > 5 * weights[3]
    assert np.mean(weights**2) == pytest.approx(1.0)
    assert (moving_weights(np.ones((5, 7), np.float32)) == 1.0).all()


def test_weighted_costs_are_those_of_weighted_rows(rng):
    rows, starts = walks(rng, [80, 50], size=6)
    weights = rng.uniform(0.1, 2.0, size=6).astype(np.float32)
    direct = end_costs(rows[3:9] * weights, rows * weights, starts)
    weighted = end_costs(rows[3:9], rows, starts, weights=weights)
    np.testing.assert_allclose(weighted, direct, rtol=1e-4, atol=0.01)
    a = dtw_matches(rows[3:9], rows, starts, weights=weights)
    b = dtw_matches(rows[3:9] * weights, rows * weights, starts)
    assert [(f.start, f.end) for f in a] == [(f.start, f.end) for f in b]


def test_no_path_where_the_motion_is_too_short():
    assert subsequence_alignment(np.ones((9, 2)), steps="slope").cost == np.inf
    assert warp(np.ones((2, 9)), steps="slope").path.shape == (0, 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: warp(np.ones((0, 3))), "matrix must have at least one row and one column"),
        (lambda: warp(np.ones(3)), "matrix must have at least one row and one column"),
        (lambda: warp(np.ones((2, 3)), steps="wild"), "steps must be one of slope, classic"),
        (lambda: subsequence_alignment(np.ones((2, 3)), end=3), r"a column of the matrix, 0\.\.2"),
    ],
)
def test_reports_invalid_input(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()
