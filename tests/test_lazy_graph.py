"""The lazy neighborhood graph against exact DTW."""

import numpy as np
import pytest
from naive.lazy_graph import shortest_paths
from test_dtw import walks

from motionloom.search.candidates import Limits
from motionloom.search.index.bucket_index import BucketIndex
from motionloom.search.subsequence.dtw import dtw_matches
from motionloom.search.subsequence.lazy_graph import lazy_matches


def summary(result):
    return [(f.start, f.end, round(f.distance, 6), f.path.tolist()) for f in result]


@pytest.mark.parametrize("steps", ["slope", "classic"])
def test_with_every_frame_a_neighbor_it_is_dtw(rng, steps):
    """The paper's claim, on forty small libraries: the same paths, all of them."""
    for _ in range(40):
        rows, starts = walks(rng, rng.integers(1, 60, size=6))
        length = int(rng.integers(2, 14))
        first = int(rng.integers(0, max(1, len(rows) - length)))
        query = rows[first : first + length] + 0.05
        near = BucketIndex.build(rows).nearest(query, rows, k=len(rows))
        graph = lazy_matches(*near, starts, steps=steps)
        assert summary(graph) == summary(dtw_matches(query, rows, starts, steps=steps))


@pytest.mark.parametrize("steps", ["slope", "classic"])
def test_a_dtw_path_inside_the_neighborhood_is_found(rng, steps):
    rows, starts = walks(rng, [400, 300, 500])
    query = rows[350:380]
    offsets, nearest, gaps = BucketIndex.build(rows).nearest(query, rows, k=60)
    inside = [set(nearest[offsets[i] : offsets[i + 1]].tolist()) for i in range(len(query))]
    graph = {(f.start, f.end): f for f in lazy_matches(offsets, nearest, gaps, starts, steps=steps)}
    seen = 0
    for match in dtw_matches(query, rows, starts, steps=steps, limits=Limits(max_matches=5)):
        if all(row in inside[frame] for frame, row in match.path.tolist()):
            same = graph[match.start, match.end]
            np.testing.assert_array_equal(same.path, match.path)
            assert same.distance == pytest.approx(match.distance)
            seen += 1
    assert seen >= 1


PAPER = {"steps": "classic", "per_cell": False}


def graph_of_the_paper(rng, frames=160, length=9, k=25):
    """Neighbors of a query in one motion, and the naive answer: end frame to cost and path."""
    rows, starts = walks(rng, [frames])
    query = rows[40 : 40 + length] + 0.05 * rng.normal(size=(length, rows.shape[1])).astype("f4")
    offsets, nearest, gaps = near = BucketIndex.build(rows).nearest(query, rows, k=k)
    parts = [slice(a, b) for a, b in zip(offsets[:-1], offsets[1:], strict=True)]
    naive = shortest_paths(
        [dict(zip(nearest[p].tolist(), gaps[p].tolist(), strict=True)) for p in parts]
    )
    return near, starts, naive


def test_every_path_is_that_of_the_paper(rng):
    """With overlaps of any size: each end of the naive graph, its cost, and the order."""
    for _ in range(20):
        near, starts, naive = graph_of_the_paper(rng)
        matches = lazy_matches(*near, starts, **PAPER, limits=Limits(max_overlap=1.0))
        assert {f.end - 1 for f in matches} == set(naive)
        for f in matches:
            cost, path = naive[f.end - 1]
            assert f.distance * len(f.path) == pytest.approx(cost)
            assert [tuple(cell) for cell in f.path.tolist()] == list(path)
        costs = [naive[f.end - 1][0] for f in matches]
        assert costs == sorted(costs)


def test_each_departure_from_the_paper_changes_the_answer(rng):
    """Suppression, slopes, mean costs and bridges; without all of them it is the paper's."""
    changed = dict.fromkeys(["suppressed", "slope", "mean", "bridge"], 0)
    for _ in range(20):
        near, starts, naive = graph_of_the_paper(rng)
        every = Limits(max_overlap=1.0)
        paper = [f.end for f in lazy_matches(*near, starts, **PAPER, limits=every)]
        best = min(naive, key=lambda end: naive[end][0]) + 1
        assert paper[0] == best
        few = [f.end for f in lazy_matches(*near, starts, **PAPER)]
        assert few[0] == best and set(few) <= set(paper)
        changed["suppressed"] += len(few) < len(paper)
        sloped = lazy_matches(*near, starts, per_cell=False, limits=every)
        changed["slope"] += {f.end for f in sloped} != set(paper)
        mean = lazy_matches(*near, starts, steps="classic", limits=every)
        assert {f.end for f in mean} == set(paper)
        changed["mean"] += [f.end for f in mean] != paper
        bridged = lazy_matches(*near, starts, **PAPER, bridge=8, limits=every)
        assert {f.end for f in bridged} >= set(paper)
        changed["bridge"] += len(bridged) > len(paper)
    assert min(changed.values()) >= 10


def test_edges_are_those_of_the_paper():
    """Diagonal, horizontal, vertical; nothing else continues a path."""
    starts = np.array([0, 100])
    offsets = np.array([0, 1, 2])
    for row, joined in ((11, True), (10, True), (12, False), (9, False)):
        rows, gaps = np.array([10, row]), np.array([0.5, 0.25])
        matches = lazy_matches(offsets, rows, gaps, starts, steps="classic")
        assert len(matches) == joined
    vertical = lazy_matches(
        np.array([0, 1, 3]),
        np.array([10, 11, 12]),
        np.array([0.1, 0.3, 0.0]),
        starts,
        steps="classic",
    )
    assert [f.path.tolist() for f in vertical] == [[[0, 10], [1, 11]]]


def test_paths_stay_within_a_motion():
    offsets, rows, gaps = np.array([0, 1, 2]), np.array([9, 10]), np.zeros(2)
    assert lazy_matches(offsets, rows, gaps, np.array([0, 20]))
    assert not lazy_matches(offsets, rows, gaps, np.array([0, 10, 20]))


def test_rank_by_sum_or_by_cell():
    starts = np.array([0, 100])
    # A long path of low-cost cells, and a short path of cells with a higher cost.
    rows = np.array([10, 50, 10, 11, 51])
    gaps = np.array([0.1, 0.13, 0.1, 0.02, 0.13])
    offsets = np.array([0, 2, 5])
    by_sum = lazy_matches(offsets, rows, gaps, starts, steps="classic", per_cell=False)
    by_cell = lazy_matches(offsets, rows, gaps, starts, steps="classic")
    assert [f.start for f in by_sum] == [f.start for f in by_cell] == [10, 50]
    assert by_sum[0].distance == pytest.approx(0.06)


def test_a_bridge_skips_frames_that_are_not_neighbors(rng):
    starts = np.array([0, 300])
    rows = [[20], [21], [90], [90], [24], [25]]  # two frames in which row 22, 23 are missing
    offsets = np.arange(7)
    result, gaps = np.concatenate(rows), np.array([0.1, 0.1, 0.4, 0.5, 0.1, 0.1])
    assert not lazy_matches(offsets, result, gaps, starts)
    assert not lazy_matches(offsets, result, gaps, starts, bridge=1)
    over = lazy_matches(offsets, result, gaps, starts, bridge=2)
    assert [(f.start, f.end) for f in over] == [(20, 26)]
    np.testing.assert_array_equal(over[0].path[:, 1], np.arange(20, 26))
    assert over[0].distance == pytest.approx((0.4 + 0.4 + 0.5) / 6)


def test_bridges_at_the_ends_stay_within_the_motion():
    offsets, rows, gaps = np.array([0, 1, 2, 3]), np.array([70, 1, 70]), np.full(3, 0.1)
    matches = lazy_matches(offsets, rows, gaps, np.array([0, 50, 100]), bridge=1)
    assert (0, 3) in [(f.start, f.end) for f in matches]
    assert not [
        f
        for f in lazy_matches(offsets, rows, gaps, np.array([0, 1, 50, 100]), bridge=1)
        if f.start < 50
    ]


def test_limits_are_kept(rng):
    rows, starts = walks(rng, [300, 300])
    near = BucketIndex.build(rows).nearest(rows[50:70], rows, k=600)
    everything = lazy_matches(*near, starts)
    assert len(lazy_matches(*near, starts, limits=Limits(max_matches=2))) == 2
    limit = everything[3].distance
    assert len(lazy_matches(*near, starts, limits=Limits(max_distance=limit))) >= 4
    assert all(
        f.distance <= limit for f in lazy_matches(*near, starts, limits=Limits(max_distance=limit))
    )
    short = lazy_matches(*near, starts, limits=Limits(durations=(0.9, 1.1)))
    assert short and all(18 <= f.end - f.start <= 22 for f in short)
    assert lazy_matches(*near, starts, limits=Limits(occupied=[(50, 70)]))[0].distance > 0.0
