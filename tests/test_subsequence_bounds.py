"""Subsequence DTW by lower bounds: the results of the full pass, to the last bit."""

import numpy as np
import pytest
from naive import alignment as naive

import motionloom as ml
from motionloom.parallel import on_cluster
from motionloom.search.candidates import Limits
from motionloom.search.subsequence import dtw
from motionloom.search.subsequence.dtw import BoxedTable, dtw_matches, motion_parts
from motionloom.search.subsequence.end_costs import end_costs
from motionloom.search.subsequence.lower_bounds import BoundedPass
from motionloom.search.subsequence.run_boxes import LEVELS, STRIDE, RunBoxes, first_blocks


def wandering(rng, lengths, size=6):
    """Motions that pass the same poses again and again, at other speeds; rows and starts."""
    poses = np.cumsum(rng.normal(size=(400, size)), axis=0)
    rows = []
    for length in lengths:
        at = np.cumsum(rng.uniform(0.4, 1.7, size=length)) + rng.uniform(0, 300)
        at = np.abs((at + 399) % 798 - 399)  # back and forth
        low = np.minimum(at.astype(int), 398)
        part = (at - low)[:, None]
        rows.append((1 - part) * poses[low] + part * poses[low + 1])
        rows[-1] += 0.3 * rng.normal(size=size) + 0.05 * rng.normal(size=(length, size))
    return np.concatenate(rows).astype(np.float32), np.concatenate([[0], np.cumsum(lengths)])


@pytest.fixture
def library(rng):
    lengths = [700, 3, 1, 45, 900, 1200, 64, 65, 33, 32, 31, 2000, 250]
    rows, starts = wandering(rng, lengths)
    rows[[1500, 1501, 2600]] = np.nan
    rows[2700, 2] = np.nan
    return rows, starts


def assert_same(result, expected):
    assert len(result) == len(expected)
    for item, other in zip(result, expected, strict=True):
        assert (item.start, item.end, item.distance) == (other.start, other.end, other.distance)
        np.testing.assert_array_equal(item.path, other.path)


@pytest.mark.parametrize("length", [1, 2, 3, 7, 30, 90])
def test_costs_up_to_the_threshold_are_those_of_the_full_pass(library, rng, length):
    rows, starts = library
    boxes = RunBoxes.build(rows, starts)
    weights = rng.uniform(0.2, 2.0, size=rows.shape[1]).astype(np.float32)
    for first in (10, 800, 3000):
        query = rows[first : first + length] + np.float32(0.1)
        full = end_costs(query, rows, starts, weights=weights)
        # Thresholds that nothing, little, half and everything is below.
        for part in (0.0, 0.01, 0.5, 1.0):
            threshold = float(np.quantile(full[np.isfinite(full)], part))
            search = BoundedPass(query, rows, starts, boxes, weights=weights, reach=length // 4)
            result = search.costs(threshold)
            sparse = np.full(len(rows), np.inf, np.float32)
            for (_, low, high), at in zip(result.spans, result.offsets, strict=False):
                sparse[low:high] = result.costs[at : at + high - low]
            assert (np.diff(result.spans[:, 1]) > 0).all()
            np.testing.assert_array_equal(sparse, np.where(full <= threshold, full, np.inf))


def test_bounds_are_below_the_costs_of_the_definition(rng):
    """No span of a level lacks an alignment that costs as little as the threshold."""
    rows, starts = wandering(rng, [60, 9, 130], size=3)
    boxes = RunBoxes.build(rows, starts)
    query = rows[40:52]
    motions = [rows[a:b] for a, b in zip(starts[:-1], starts[1:], strict=True)]
    costs = np.asarray(naive.end_costs(query, motions, steps="slope"))
    for threshold in np.quantile(costs[np.isfinite(costs)], [0.02, 0.2, 0.6]):
        search = BoundedPass(query, rows, starts, boxes)
        for level in range(-1, LEVELS):
            spans, _ = search._surviving(level, search._motions, threshold)
            inside = np.zeros(len(rows), bool)
            for _, low, high in spans:
                inside[low:high] = True
            assert inside[costs <= threshold].all(), level


def test_boxes_bound_the_frames_that_groups_reach(library):
    rows, starts = library
    boxes = RunBoxes.build(rows, starts)
    for level, codes in enumerate(boxes.codes):
        stride = STRIDE << level
        blocks = first_blocks(starts, stride)
        for m, (first, last) in enumerate(zip(starts[:-1], starts[1:], strict=True)):
            for b in range(blocks[m], blocks[m + 1]):
                begin = first + (b - blocks[m]) * stride
                frames = rows[begin : min(begin + 2 * stride - 2, last)].astype(float)
                frames = frames[np.isfinite(frames).all(axis=1)]
                low, high = boxes.low + boxes.step.astype(float) * codes[b]
                assert (low <= frames + 1e-6).all() and (frames <= high + 1e-6).all()
                assert len(frames) or (low > high).all()


@pytest.mark.parametrize("limits", [
    Limits(max_matches=5),
    Limits(max_matches=20, max_overlap=0.5),
    Limits(max_matches=3, max_overlap=1.0),
    Limits(max_matches=1000),
    Limits(max_distance=1.2),
    Limits(max_matches=4, max_distance=0.9, occupied=[(750, 790)]),
    Limits(max_matches=10, durations=(0.9, 1.1)),
])  # fmt: skip
def test_matches_are_those_of_the_full_pass(library, limits):
    rows, starts = library
    boxes = RunBoxes.build(rows, starts)
    allowed = np.ones(len(starts) - 1, bool)
    allowed[5] = False
    for mask in (None, allowed):
        for first in (750, 4800):
            query = rows[first : first + 40]
            expected = dtw_matches(query, rows, starts, allowed=mask, limits=limits)
            matches = dtw_matches(query, rows, starts, allowed=mask, limits=limits, bounds=boxes)
            assert_same(matches, expected)


def test_little_is_aligned_where_there_are_near_matches(rng):
    rows, starts = wandering(rng, [2000] * 20)
    search = BoundedPass(rows[500:560], rows, starts, RunBoxes.build(rows, starts))
    result = search.costs(wanted=10)
    assert np.isfinite(result.costs).sum() >= 10
    assert result.frames < 0.2 * len(rows)


def standing(rng, count, length=600, size=6):
    """Performers who stand, each in a stance of its own, and sway slowly; rows and starts."""
    sway = np.zeros((count, length, size))
    for t in range(1, length):
        sway[:, t] = 0.95 * sway[:, t - 1] + 0.3 * rng.uniform(-0.5, 0.5, size=(count, size))
    rows = rng.normal(size=(count, 1, size)) + sway
    return rows.reshape(-1, size).astype(np.float32), np.arange(count + 1) * length


@pytest.mark.parametrize("length", [45, 90])
def test_still_queries_have_the_matches_of_the_full_pass(rng, length):
    rows, starts = standing(rng, 60)
    boxes = RunBoxes.build(rows, starts)
    limits = Limits(max_matches=10, max_overlap=0.5)
    for first in (100, 7_300, 20_000, 31_000):
        query = rows[first : first + length]
        weights = dtw.moving_weights(query)
        expected = dtw_matches(query, rows, starts, weights=weights, limits=limits)
        matches = dtw_matches(query, rows, starts, weights=weights, limits=limits, bounds=boxes)
        assert_same(matches, expected)


def test_a_still_query_is_not_compared_with_one_nearest_pose_all_the_time():
    rows = np.ones((400, 3), np.float32)
    rows[200:202] = 0.0  # what no alignment of the query can stay at
    starts, query = np.array([0, 400]), np.zeros((90, 3), np.float32)
    cost = float(end_costs(query, rows, starts).min())
    assert cost > 85 * np.sqrt(3.0)
    search = BoundedPass(query, rows, starts, RunBoxes.build(rows, starts))
    for level, part in ((1, 0.28), (0, 0.65), (-1, 0.8)):
        assert not len(search._surviving(level, search._motions, part * cost)[0]), level


def test_the_slowest_alignments_are_within_the_bounds(rng):
    """Two query frames per library frame: as many groups as possible begin in each block."""
    rows, starts = standing(rng, 8)
    rows += rng.normal(size=rows.shape).astype(np.float32)  # no other alignment has such a low cost
    boxes = RunBoxes.build(rows, starts)
    for first in range(1_300, 1_340):
        query = np.repeat(rows[first : first + 46], 2, axis=0)[1:-1]
        full = end_costs(query, rows, starts)
        end = first + 45
        assert np.argmin(full) == end and full[end] < 0.1
        search = BoundedPass(query, rows, starts, boxes)
        result = search.costs(1.0)
        assert result.costs.min() == full[end]
        for level in range(-1, LEVELS):
            spans, _ = search._surviving(level, search._motions, 1.0)
            assert any(low <= first and end < high for _, low, high in spans), level


def test_classic_steps_and_unlimited_searches_take_the_full_pass(library):
    rows, starts = library
    boxes = RunBoxes.build(rows, starts)
    query = rows[750:770]
    for options in ({"steps": "classic", "limits": Limits(max_matches=3)}, {}):
        assert_same(
            dtw_matches(query, rows, starts, bounds=boxes, **options),
            dtw_matches(query, rows, starts, **options),
        )


def test_workers_with_a_part_each_give_one_answer(library, tmp_path, dask_cluster):
    rows, starts = library
    (tmp_path / "table").mkdir()
    np.save(tmp_path / "table" / "rows.npy", rows)
    (tmp_path / "boxes").mkdir()
    RunBoxes.build(rows, starts, folder=tmp_path / "boxes")
    table = BoxedTable(tmp_path / "table", tmp_path / "boxes", starts)
    limits, query = Limits(max_matches=12, max_overlap=0.5), rows[750:790]
    expected = dtw_matches(query, rows, starts, limits=limits)
    with on_cluster(dask_cluster.scheduler_address):
        matches = dtw_matches(query, rows, starts, limits=limits, bounds=table)
    assert_same(matches, expected)
    assert sum(last - first for first, last in motion_parts(starts, 4)) == len(starts) - 1


def test_a_library_is_searched_by_bounds_from_a_size_on(tmp_path, monkeypatch):
    lib = ml.Library.create(tmp_path / "takes.loom")
    for name in ("walk", "jog", "kick_front_high_right"):
        for performer in range(2):
            lib.add_motion(ml.demo.clip(name, performer=performer))
    expected = lib.search("kick_front_high_right_p0", max=3)
    monkeypatch.setattr(dtw, "BOUNDED_ROWS", 100)
    matches = lib.search("kick_front_high_right_p0", max=3)
    assert [vars_of(match) for match in matches] == [vars_of(match) for match in expected]
    (folder,) = (lib.path / "derived").glob("boxes.*")
    again = ml.Library(lib.path).search("kick_front_high_right_p0", max=3)
    assert [vars_of(match) for match in again] == [vars_of(match) for match in expected]
    starts = lib.features("e15").starts
    np.save(folder / "codes1.npy", np.zeros((2, 2, 15), np.uint16))
    with pytest.raises(ValueError, match=r"codes1 must be uint16 with shape \(\d+, 2, 15\); got"):
        RunBoxes.open(folder, starts, 15)
    again = ml.Library(lib.path).search("kick_front_high_right_p0", max=3)  # rebuilt
    assert [vars_of(match) for match in again] == [vars_of(match) for match in expected]
    np.save(folder / "range.npy", np.zeros(3))
    with pytest.raises(
        ValueError, match=r"range must be float32 with shape \(2, 15\); got float64"
    ):
        RunBoxes.open(folder, starts, 15)


def vars_of(match):
    return match.motion, match.start_frame, match.end_frame, match.distance
