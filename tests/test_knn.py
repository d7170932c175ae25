"""Nearest neighbors: every index gives the answer of the definition."""

import numpy as np
import pytest
from naive import neighbors as naive

from motionloom.errors import InvalidInput
from motionloom.search.index.bucket_index import BucketIndex
from motionloom.search.index.neighbors import KDTree

INDEXES = [BucketIndex, KDTree]


def motions(rng, count, size):
    """Rows that move smoothly, with a second copy of some, as real libraries have."""
    rows = np.cumsum(0.1 * rng.normal(size=(count, size)), axis=0).astype(np.float32)
    return np.concatenate([rows, rows[: count // 3]])


def answers(index, queries, rows, **options):
    offsets, nearest, distances = index.nearest(queries, rows, **options)
    return [
        list(zip(distances[a:b].tolist(), nearest[a:b].tolist(), strict=True))
        for a, b in zip(offsets[:-1], offsets[1:], strict=True)
    ]


@pytest.mark.parametrize("kind", INDEXES)
@pytest.mark.parametrize("size", [2, 15, 45])
@pytest.mark.parametrize("k", [1, 16, 100])
def test_neighbors_are_those_of_the_definition(rng, kind, size, k):
    rows = motions(rng, 700, size)
    queries = rows[200:220] + 0.01
    for query, got in zip(queries, answers(kind.build(rows), queries, rows, k=k), strict=True):
        expected = naive.nearest(query, rows, k)
        assert [row for _, row in got] == [row for _, row in expected]
        np.testing.assert_allclose([d for d, _ in got], [d for d, _ in expected], atol=1e-12)


@pytest.mark.parametrize("kind", INDEXES)
def test_neighbors_within_a_radius(rng, kind):
    rows = motions(rng, 500, 6)
    index = kind.build(rows)
    for k in (5, len(rows)):
        got = answers(index, rows[100:140:7], rows, k=k, radius=0.8)
        for query, result in zip(rows[100:140:7], got, strict=True):
            expected = naive.nearest(query, rows, k, radius=0.8)
            assert [row for _, row in result] == [row for _, row in expected]


@pytest.mark.parametrize("size", [1, 6, 45])
def test_counts_are_those_of_the_definition(rng, size):
    rows = motions(rng, 500, size)
    rows[7] = np.nan
    index = BucketIndex.build(rows)
    near, far = np.quantile(np.linalg.norm(rows[::9] - rows[40], axis=1), [0.02, 0.9])
    queries = rows[20:80:3].copy()
    queries[4] = np.inf
    for radius in (0.0, float(near), float(far), np.inf):
        expected = [len(naive.nearest(query, rows, len(rows), radius)) for query in queries]
        expected[4] = 0
        assert index.counts(queries, rows, radius=radius).tolist() == expected
    empty = BucketIndex.build(rows[7:8])
    assert empty.counts(queries, rows, radius=1.0).tolist() == [0] * len(queries)


@pytest.mark.parametrize("kind", INDEXES)
def test_only_allowed_rows_are_found(rng, kind):
    rows = motions(rng, 400, 5)
    allowed = rng.uniform(size=len(rows)) < 0.1
    got = answers(kind.build(rows), rows[50:60], rows, k=12, allowed=allowed)
    for query, result in zip(rows[50:60], got, strict=True):
        expected = naive.nearest(query, rows, 12, allowed=allowed)
        assert [row for _, row in result] == [row for _, row in expected]


@pytest.mark.parametrize("kind", INDEXES)
def test_hundreds_of_equal_rows_are_found_in_order(kind):
    rows = np.zeros((900, 4), np.float32)
    rows[::2] = 1.0
    got = answers(kind.build(rows), rows[:3], rows, k=70)
    assert [row for _, row in got[0]] == list(range(0, 140, 2))
    assert [row for _, row in got[1]] == list(range(1, 141, 2))


@pytest.mark.parametrize("kind", INDEXES)
def test_missing_frames_are_nobody_s_neighbors(rng, kind):
    rows = motions(rng, 300, 4)
    rows[10:40] = np.nan
    got = answers(kind.build(rows), rows[[5, 20, 41]], rows, k=len(rows))
    result = {row for _, row in got[0]}
    assert result == set(range(len(rows))) - set(range(10, 40))
    assert got[1] == []
    assert len(got[2]) == len(result)


@pytest.mark.parametrize("kind", INDEXES)
@pytest.mark.parametrize("count", [1, 63, 64, 65, 1025])
def test_any_number_of_rows(rng, kind, count):
    rows = rng.normal(size=(count, 3)).astype(np.float32)
    got = answers(kind.build(rows), rows[:2], rows, k=5)
    assert [row for _, row in got[0]] == [row for _, row in naive.nearest(rows[0], rows, 5)]


def test_both_indexes_agree_to_the_bit(rng):
    rows = motions(rng, 5000, 15)
    queries = rows[1000:1090]
    blocks = BucketIndex.build(rows).nearest(queries, rows, k=256)
    tree = KDTree.build(rows).nearest(queries, rows, k=256)
    np.testing.assert_array_equal(blocks[1], tree[1])
    np.testing.assert_allclose(blocks[2], tree[2], rtol=1e-15)


def test_frames_far_apart_are_found_like_frames_in_a_row(rng):
    rows = motions(rng, 2000, 8)
    queries = rows[rng.permutation(len(rows))[:40]]
    index = BucketIndex.build(rows)
    together = answers(index, queries, rows, k=20)
    alone = [answers(index, query[None], rows, k=20)[0] for query in queries]
    assert together == alone


def test_an_approximate_answer_is_as_near_as_it_promises(rng):
    rows = motions(rng, 3000, 12)
    index = BucketIndex.build(rows)
    exact = answers(index, rows[400:430], rows, k=20)
    rough = answers(index, rows[400:430], rows, k=20, epsilon=0.5)
    for near, result in zip(exact, rough, strict=True):
        assert len(result) == 20
        assert result[-1][0] <= 1.5 * near[-1][0] + 1e-6
    very_rough = answers(index, rows[400:430], rows, k=20, epsilon=5.0)
    assert very_rough != exact  # it does give up something, or it would not save time


def test_approximate_answers_for_frames_in_a_row(rng):
    rows = motions(rng, 6000, 12)
    rows[500:2500:40] = np.nan
    allowed = rng.uniform(size=len(rows)) < 0.7
    queries = motions(rng, 60, 12)[:60] + rows[1001]
    index = BucketIndex.build(rows)
    exact = answers(index, queries, rows, k=20, allowed=allowed)
    rough = answers(index, queries, rows, k=20, allowed=allowed, epsilon=3.0)
    for near, result in zip(exact, rough, strict=True):
        numbers = [row for _, row in result]
        assert len(set(numbers)) == 20 and allowed[numbers].all()
        assert np.isfinite(rows[numbers]).all() and result == sorted(result)
        assert result[-1][0] <= 4.0 * near[-1][0]


def test_an_approximate_answer_is_never_short(rng):
    around = rng.normal(size=(2000, 3)).astype(np.float32)
    around *= 10.0 / np.linalg.norm(around, axis=1, keepdims=True)
    queries = np.cumsum(0.01 * rng.normal(size=(30, 3)), axis=0).astype(np.float32)
    exact = answers(BucketIndex.build(around), queries, around, k=16)
    rough = answers(BucketIndex.build(around), queries, around, k=16, epsilon=3.0)
    for near, result in zip(exact, rough, strict=True):
        assert len(result) == 16 and result[-1][0] <= 4.0 * near[-1][0]


def test_an_index_is_the_same_after_it_was_stored(rng, tmp_path):
    rows = motions(rng, 400, 7)
    index = BucketIndex.build(rows)
    index.save(tmp_path)
    opened = BucketIndex.open(tmp_path)
    assert answers(opened, rows[:9], rows, k=9) == answers(index, rows[:9], rows, k=9)
    assert isinstance(opened.blocks, np.memmap)


def by_definition(query, rows, k):
    """Numbers of the k nearest rows, ties by number, in double precision."""
    gaps = np.sqrt(np.sum((rows.astype(np.float64) - query.astype(np.float64)) ** 2, axis=1))
    order = np.lexsort([np.arange(len(rows)), gaps])[:k]
    return list(zip(gaps[order].tolist(), order.tolist(), strict=True))


def assert_same(index, queries, rows, k):
    for query, got in zip(queries, answers(index, queries, rows, k=k), strict=True):
        expected = by_definition(query, rows, k)
        assert [row for _, row in got] == [row for _, row in expected]
        np.testing.assert_allclose([d for d, _ in got], [d for d, _ in expected], rtol=1e-12)


@pytest.mark.parametrize("count", [2048, 2049, 66_000])  # 32 buckets, 33, and 32 nodes of 32
@pytest.mark.parametrize("k", [1, 300])
def test_trees_of_two_to_four_levels(rng, count, k):
    rows = rng.normal(size=(count, 9)).astype(np.float32)
    assert_same(BucketIndex.build(rows), rows[rng.integers(0, count, 5)] + 0.1, rows, k)


def test_queries_in_any_order_and_frame_by_frame_agree_to_the_bit(rng):
    rows = motions(rng, 6000, 15)
    index = BucketIndex.build(rows)
    queries = rows[2000:2060]
    mixed = rng.permutation(len(queries))
    for k in (1, 16, 256):
        in_order = answers(index, queries, rows, k=k)
        assert in_order == [answers(index, query[None], rows, k=k)[0] for query in queries]
        assert answers(index, queries[mixed], rows, k=k) == [in_order[i] for i in mixed]


@pytest.mark.parametrize("away", [10.0, 1e4, 1e8, 1e20])
def test_queries_far_outside_the_library(rng, away):
    rows = motions(rng, 1500, 15)
    direction = rng.normal(size=15)
    query = (away * direction / np.linalg.norm(direction)).astype(np.float32)
    assert_same(BucketIndex.build(rows), query[None], rows, 20)


@pytest.mark.parametrize("scale", [1e-40, 1e-30, 1e-6, 1e6, 1e15])
def test_tiny_and_huge_coordinates(rng, scale):
    rows = (scale * rng.normal(size=(1000, 5))).astype(np.float32)
    assert_same(BucketIndex.build(rows), rows[:4], rows, 10)


def test_a_broken_frame_spoils_no_other(rng):
    rows = motions(rng, 3000, 15)
    rows[77] = 1e6  # codes of its bucket and of the nodes above have steps of kilometers
    rows[:, 4] = 0.25
    assert_same(BucketIndex.build(rows), rows[[5, 77, 2000]], rows, 30)


def test_more_equal_rows_than_there_is_room_for(rng):
    rows = np.repeat(rng.normal(size=(3, 6)).astype(np.float32), 4000, axis=0)
    for k in (1, 16, 5000):
        assert_same(BucketIndex.build(rows), rows[[0, 4000, 9000]], rows, k)


@pytest.mark.parametrize("count", [0, 1, 5])
def test_more_neighbors_than_rows(rng, count):
    rows = rng.normal(size=(count, 4)).astype(np.float32)
    queries = rng.normal(size=(2, 4)).astype(np.float32)
    assert_same(BucketIndex.build(rows), queries, rows, 50)


def test_vectors_that_do_not_fit_the_index_are_refused(rng):
    rows = motions(rng, 300, 6)
    index = BucketIndex.build(rows)
    with pytest.raises(InvalidInput, match=r"queries must have shape \(n, 6\); got \(2, 5\)"):
        index.nearest(rows[:2, :5], rows, k=3)
    with pytest.raises(
        InvalidInput, match="rows must have at least 400 rows, as many as were indexed; got 9"
    ):
        index.nearest(rows[:2], rows[:9], k=3)
    with pytest.raises(InvalidInput, match="allowed must have at least 400 rows"):
        index.nearest(rows[:2], rows, k=3, allowed=np.ones(399, bool))


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("blocks", lambda a: a[:-1], "blocks must be float32 with"),
        ("blocks", lambda a: a.view(np.int32), "blocks must be float32 with"),
        ("rows", lambda a: a[:-64], "must be float32 with"),
        ("rows", lambda a: a.astype(np.int32), "rows must be int64 with"),
        ("rows", lambda a: a - 1, "rows must contain non-negative numbers; got -1"),
        ("errors", lambda a: a[1:], "errors must be float32 with"),
        ("axes", lambda a: a[:, 1:], r"axes must be float64 with shape \(7, 7\)"),
        ("center", lambda a: a[1:], "must"),
    ],
)
def test_a_damaged_index_is_refused_when_it_is_opened(rng, tmp_path, name, damage, message):
    BucketIndex.build(motions(rng, 400, 7)).save(tmp_path)
    path = tmp_path / f"{name}.npy"
    np.save(path, damage(np.load(path)))
    with pytest.raises(ValueError, match=message):
        BucketIndex.open(tmp_path)


def test_a_truncated_index_is_refused(rng, tmp_path):
    BucketIndex.build(motions(rng, 400, 7)).save(tmp_path)
    path = tmp_path / "blocks.npy"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match="blocks.npy: damaged: shape .* needs 5760 bytes"):
        BucketIndex.open(tmp_path)
