"""An index in shards gives the answers of the single one, to the last bit."""

import numpy as np
import pytest

import motionloom as ml
from motionloom.errors import InvalidInput, LibraryError
from motionloom.parallel import on_cluster
from motionloom.search.index.bucket_index import BucketIndex
from motionloom.search.index.neighbors import neighbors, open_index
from motionloom.search.index.shards import Shards, merged


@pytest.fixture
def rows(rng):
    """Rows that move smoothly, some twice, some missing."""
    rows = np.cumsum(0.1 * rng.normal(size=(3000, 15)), axis=0).astype(np.float32)
    rows = np.concatenate([rows, rows[:1200]])
    rows[[17, 2000, 2001]] = np.nan
    return rows


@pytest.fixture
def table(rows, tmp_path):
    (tmp_path / "table").mkdir()
    np.save(tmp_path / "table" / "rows.npy", rows)
    return tmp_path / "table"


def assert_same(got, wanted):
    for a, b in zip(got, wanted, strict=True):
        assert a.dtype == b.dtype
        assert np.array_equal(a, b)


@pytest.mark.parametrize("shards", [1, 4, 7])
@pytest.mark.parametrize("options", [{"k": 1}, {"k": 16}, {"k": 4200, "radius": 0.9}])
def test_shards_answer_as_the_single_index(rows, table, tmp_path, rng, shards, options):
    Shards.build(tmp_path, table, shards=shards, workers=1)
    sharded, single = Shards.open(tmp_path, table), BucketIndex.build(rows)
    queries = np.concatenate([rows[100:140], rows[2990:3010] + np.float32(0.01)])
    assert_same(sharded.nearest(queries, rows, **options), single.nearest(queries, rows, **options))
    allowed = rng.uniform(size=len(rows)) < 0.05
    allowed[:1100] = False  # a whole shard that may not be found
    assert_same(
        sharded.nearest(queries, rows, allowed=allowed, **options),
        single.nearest(queries, rows, allowed=allowed, **options),
    )


def test_shards_on_a_cluster_answer_as_the_single_index(dask_cluster, tmp_path):
    library = ml.Library.create(tmp_path / "takes.loom")
    for performer in range(4):
        library.add_motion(ml.demo.clip("walk", performer=performer))
    features = library.features("e15")
    queries = features.rows[:40]
    single = neighbors(queries, features, open_index(library.store, features), k=16)
    with on_cluster(dask_cluster.scheduler_address):
        index = open_index(library.store, features, "shards", shards=4)
        sharded = neighbors(queries, features, index, k=16)
    assert len(index.starts) == 5
    for name in ("offsets", "rows", "distances"):
        assert np.array_equal(getattr(sharded, name), getattr(single, name)), name


def test_a_shard_that_is_missing_is_reported(table, tmp_path):
    Shards.build(tmp_path, table, shards=2, workers=1)
    (tmp_path / "1").rename(tmp_path / "gone")
    with pytest.raises(LibraryError, match="damaged: shard 1 is missing"):
        Shards.open(tmp_path, table)
    with pytest.raises(InvalidInput, match="shards must be at least 1; got 0"):
        Shards.build(tmp_path, table, shards=0)


def test_nothing_found_in_any_shard_is_nothing():
    offsets, rows, distances = merged([], 3, 5)
    assert offsets.tolist() == [0, 0, 0, 0]
    assert len(rows) == len(distances) == 0
