"""Nearest neighbours: every index gives the answer of the definition."""

import numpy as np
import pytest
from naive import neighbours as naive

from motionloom.search.index.bucket_index import BucketIndex
from motionloom.search.index.neighbours import KDTree

INDEXES = [BucketIndex, KDTree]


def motions(rng, count, size):
    """Rows that move smoothly, with a second copy of some, as real libraries have."""
    rows = np.cumsum(0.1 * rng.normal(size=(count, size)), axis=0).astype(np.float32)
    return np.concatenate([rows, rows[: count // 3]])


def answers(index, queries, rows, **options):
    offsets, found, distances = index.nearest(queries, rows, **options)
    return [
        list(zip(distances[a:b].tolist(), found[a:b].tolist(), strict=True))
        for a, b in zip(offsets[:-1], offsets[1:], strict=True)
    ]


@pytest.mark.parametrize("kind", INDEXES)
@pytest.mark.parametrize("size", [2, 15, 45])
@pytest.mark.parametrize("k", [1, 16, 100])
def test_neighbours_are_those_of_the_definition(rng, kind, size, k):
    rows = motions(rng, 700, size)
    queries = rows[200:220] + 0.01
    for query, got in zip(queries, answers(kind.build(rows), queries, rows, k=k), strict=True):
        expected = naive.nearest(query, rows, k)
        assert [row for _, row in got] == [row for _, row in expected]
        np.testing.assert_allclose([d for d, _ in got], [d for d, _ in expected], atol=1e-12)


@pytest.mark.parametrize("kind", INDEXES)
def test_neighbours_within_a_radius(rng, kind):
    rows = motions(rng, 500, 6)
    index = kind.build(rows)
    for k in (5, len(rows)):
        got = answers(index, rows[100:140:7], rows, k=k, radius=0.8)
        for query, found in zip(rows[100:140:7], got, strict=True):
            expected = naive.nearest(query, rows, k, radius=0.8)
            assert [row for _, row in found] == [row for _, row in expected]


@pytest.mark.parametrize("kind", INDEXES)
def test_only_allowed_rows_are_found(rng, kind):
    rows = motions(rng, 400, 5)
    allowed = rng.uniform(size=len(rows)) < 0.1
    got = answers(kind.build(rows), rows[50:60], rows, k=12, allowed=allowed)
    for query, found in zip(rows[50:60], got, strict=True):
        expected = naive.nearest(query, rows, 12, allowed=allowed)
        assert [row for _, row in found] == [row for _, row in expected]


@pytest.mark.parametrize("kind", INDEXES)
def test_hundreds_of_equal_rows_are_found_in_order(kind):
    rows = np.zeros((900, 4), np.float32)
    rows[::2] = 1.0
    got = answers(kind.build(rows), rows[:3], rows, k=70)
    assert [row for _, row in got[0]] == list(range(0, 140, 2))
    assert [row for _, row in got[1]] == list(range(1, 141, 2))


@pytest.mark.parametrize("kind", INDEXES)
def test_missing_frames_are_nobody_s_neighbours(rng, kind):
    rows = motions(rng, 300, 4)
    rows[10:40] = np.nan
    got = answers(kind.build(rows), rows[[5, 20, 41]], rows, k=len(rows))
    found = {row for _, row in got[0]}
    assert found == set(range(len(rows))) - set(range(10, 40))
    assert got[1] == []
    assert len(got[2]) == len(found)


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
    for near, found in zip(exact, rough, strict=True):
        assert len(found) == 20
        assert found[-1][0] <= 1.5 * near[-1][0] + 1e-6
    very_rough = answers(index, rows[400:430], rows, k=20, epsilon=5.0)
    assert very_rough != exact  # it does give up something, or it would not save time


def test_an_approximate_answer_is_never_short(rng):
    around = rng.normal(size=(2000, 3)).astype(np.float32)
    around *= 10.0 / np.linalg.norm(around, axis=1, keepdims=True)
    queries = np.cumsum(0.01 * rng.normal(size=(30, 3)), axis=0).astype(np.float32)
    exact = answers(BucketIndex.build(around), queries, around, k=16)
    rough = answers(BucketIndex.build(around), queries, around, k=16, epsilon=3.0)
    for near, found in zip(exact, rough, strict=True):
        assert len(found) == 16 and found[-1][0] <= 4.0 * near[-1][0]


def test_an_index_is_the_same_after_it_was_stored(rng, tmp_path):
    rows = motions(rng, 400, 7)
    index = BucketIndex.build(rows)
    index.save(tmp_path)
    opened = BucketIndex.open(tmp_path)
    assert answers(opened, rows[:9], rows, k=9) == answers(index, rows[:9], rows, k=9)
    assert isinstance(opened.values, np.memmap)
