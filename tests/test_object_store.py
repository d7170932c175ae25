"""Frames and derived arrays in an object store: the same as in a folder, whatever is lost."""

import json
import shutil
import subprocess
import sys
import threading
from functools import cache as cache_calls
from functools import partial
from pathlib import Path
from urllib.parse import urlparse

import numpy as np
import pytest
from click.testing import CliRunner
from cluster_tasks import catalogue_of

import motionloom as ml
from motionloom import parallel
from motionloom.cli import app
from motionloom.configuration import trust_settings
from motionloom.errors import InvalidInput, LibraryError, MissingExtra
from motionloom.parallel import completed, executor, on_cluster
from motionloom.search.index.neighbors import open_index
from motionloom.search.match_web import build as web_tasks
from motionloom.search.match_web.store import WebStore
from motionloom.store.remote.cache import Cache, local_cache
from motionloom.store.remote.folder import between, joined
from motionloom.store.remote.object_store import (
    ObjectStore,
    ObjectStoreError,
    Piece,
    normal_address,
)

NAMES = ("jog", "kick_front_high_right", "kick_front_low_right", "punch_high_left", "walk")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A cache of this test's own, and every memory store empty."""
    monkeypatch.setenv("MOTIONLOOM_CACHE", str(tmp_path / "cache"))
    from fsspec.implementations.memory import MemoryFileSystem

    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]
    return tmp_path / "cache"


def objects(address):
    store = ObjectStore(normal_address(address))
    return [name for folder in ("frames", "derived") for name in store.names(folder)]


def overwrite(store, name, content):
    """Change an object behind the back of its store."""
    from fsspec.core import url_to_fs

    files, root = url_to_fs(store.address)
    files.pipe_file(f"{root}/{name}", content)


@cache_calls
def clip(name):
    return ml.demo.clip(name)[:80]


def library_at(path, *, store=None):
    library = ml.Library.create(path, store=store)
    for name in NAMES:
        library.add_motion(clip(name), name=name, labels=[name.split("_")[0]])
    return library


@pytest.fixture
def pair(tmp_path):
    """One library in a folder, and the same in a store."""
    return library_at(tmp_path / "here.loom"), library_at(
        tmp_path / "there.loom", store="memory://takes"
    )


@pytest.fixture
def small_tasks(monkeypatch):
    """Every motion, every row of a web is a task of its own."""
    monkeypatch.setattr(web_tasks, "MAX_TASK_CELLS", 1)
    monkeypatch.setattr("motionloom.store.artifacts.row_table.MIN_POOL_FRAMES", 0)
    monkeypatch.setattr("motionloom.store.artifacts.row_table.BATCH_FRAMES", 1)


# --- the same -------------------------------------------------------------------------------


def test_motions_come_back_from_the_store_as_they_were(pair, tmp_path, cache):
    here, there = pair
    assert not cache.exists()
    assert not list((tmp_path / "there.loom" / "frames").iterdir())
    for name in NAMES:
        assert np.array_equal(here[name].rotations, there[name].rotations)
        assert not there[name].rotations.flags.owndata  # memory-mapped
    assert here.store.digest() == there.store.digest()
    assert there.store.damage() == []
    there.remove("walk")
    assert len(objects("memory://takes")) == len(NAMES) - 1


def test_a_folder_is_imported_into_a_store_and_again_without_harm(tmp_path, cache):
    for name in NAMES[:3]:
        clip(name)[:60].save(tmp_path / "takes" / f"{name}.bvh")
    command = ["import", str(tmp_path / "takes.loom"), str(tmp_path / "takes"), "--workers", "1"]
    first = CliRunner().invoke(app, [*command, "--store", "memory://bucket/takes"])
    assert first.exit_code == 0, first.output
    assert "store    memory:///bucket/takes" in first.output
    kept = objects("memory://bucket/takes")
    again = CliRunner().invoke(app, command)
    assert "added    0" in again.output
    assert "skipped  3 unchanged" in again.output
    assert objects("memory://bucket/takes") == kept
    store = ObjectStore("memory:///bucket/takes")
    store.remove([kept[0]])  # lost
    store.put(b"half a motion", "frames/kick.npy")  # left by a killed import
    with ml.Library(tmp_path / "takes.loom").store.writing():
        mark = (tmp_path / "takes.loom" / "lock").read_bytes()
    (tmp_path / "takes.loom" / "lock").write_bytes(mark)
    third = CliRunner().invoke(app, command)
    assert "added    1" in third.output
    assert len(objects("memory://bucket/takes")) == 3
    assert ml.Library(tmp_path / "takes.loom").store.damage() == []


@pytest.mark.parametrize("kind", ["e15", "pca25"])
def test_features_are_the_same_and_existing_rows_are_not_recomputed(pair, kind, small_tasks, cache):
    here, there = pair
    for library in pair:
        library.features(kind, workers=1)
    shutil.rmtree(cache)
    assert np.array_equal(here.features(kind).rows, there.features(kind).rows)
    done = []
    for library in pair:
        library.remove("jog")
        library.add_motion(ml.demo.clip("walk_left")[:70], name="a walk")
        rows = library.features("e15", workers=1, progress=done.append).rows
        done.append(np.array(rows))
    assert np.array_equal(done[-1], [item for item in done if isinstance(item, np.ndarray)][0])
    made = sum(item for item in done if isinstance(item, int))
    assert made == (2 if kind == "e15" else 2 * len(NAMES))


def test_earlier_objects_go_when_nothing_consists_of_them(pair, small_tasks):
    _, there = pair
    there.features("e15", workers=1)
    before = set(objects("memory://takes"))
    store = there.store.files
    stem = next(name for name in before if name.startswith("derived")).rsplit("/", 1)[0]
    store.put(b"a killed build", f"{stem}/rows.npy")
    there.remove("walk")
    there.features("e15", workers=1)
    expected = set(objects("memory://takes"))
    assert not any("rows" in name and store.local(name).read_bytes() == b"a killed build"
                   for name in expected)  # fmt: skip
    assert len([n for n in expected if "rows" in n]) == 1 + len(NAMES) - 1  # a header, and one each


def test_webs_are_the_same_bytes_and_searches_find_the_same(pair, small_tasks, cache):
    here, there = pair
    WebStore(here.store).build(workers=1)
    report = WebStore(there.store).build(workers=1)
    assert (report.built, report.pairs) == (15, 15)
    assert report.bytes == WebStore(here.store).files.size()
    wanted = {path.name: path.read_bytes() for path in WebStore(here.store).folder.glob("*.web")}
    files = there.store.catalogue.artifact_files(WebStore(there.store).folder.name)
    shutil.rmtree(cache)
    assert {
        name: there.store.files.local(pieces[0].name).read_bytes() for name, pieces in files.items()
    } == wanted
    query = "kick_front_high_right:10-40"
    hits = [
        [(m.motion, m.start_frame, m.end_frame, m.distance) for m in matches]
        for matches in (lib.search(query, method="web") for lib in pair)
    ]
    assert hits[0] == hits[1] != []
    assert WebStore(there.store).missing() == 0
    there.remove("walk")
    assert WebStore(there.store).build(workers=1).built == 0
    assert len(there.store.catalogue.artifact_files(WebStore(there.store).folder.name)) < len(files)


def test_shards_are_fetched_one_by_one_and_answer_the_same(pair, cache):
    here, there = pair
    features = [lib.features("e15") for lib in pair]
    open_index(there.store, features[1], "shards", shards=4)
    shutil.rmtree(cache)
    index = open_index(there.store, features[1], "shards", shards=4)
    assert sum(path.stat().st_size for path in cache.rglob("*") if path.is_file()) < 1000
    single = open_index(here.store, features[0])
    queries = np.array(features[0].rows[20:60])
    for a, b in zip(
        index.nearest(queries, features[1].rows, k=16),
        single.nearest(queries, features[0].rows, k=16),
        strict=True,
    ):
        assert np.array_equal(a, b)


def test_every_derived_kind_works_in_a_store(pair):
    here, there = pair
    for library in pair:
        WebStore(library.store).build(workers=1)
    query = "kick_front_high_right:10-40"
    for method in ("lazy", "emd"):
        matches = [
            [(m.motion, m.distance) for m in lib.search(query, method=method)] for lib in pair
        ]
        assert matches[0] == matches[1] != []
    graphs = [lib.motion_graph(only=["walk", "jog"], per_minute=60) for lib in pair]
    assert np.array_equal(graphs[0].transitions.source, graphs[1].transitions.source)


# --- on a cluster ---------------------------------------------------------------------------


def test_workers_read_and_write_the_store_and_never_the_catalogue(
    dask_cluster, tmp_path, small_tasks, monkeypatch
):
    for name in NAMES[2:]:
        clip(name)[:60].save(tmp_path / "takes" / f"{name}.bvh")
    here = ml.Library.create(tmp_path / "here.loom")
    there = ml.Library.create(tmp_path / "there.loom", store=f"file://{tmp_path}/store")
    here.add(tmp_path / "takes", workers=1)
    WebStore(here.store).build(workers=1)
    with on_cluster(dask_cluster.scheduler_address):
        assert there.add(tmp_path / "takes", workers=2).added == 3
        WebStore(there.store).build(workers=2)
        rows = there.features("e15", workers=2).rows
        index = open_index(there.store, there.features("e15"), "shards", shards=3)
        nearest = index.nearest(np.array(rows[5:15]), rows, k=4)
        with executor() as pool:
            work = partial(catalogue_of, library=there)
            answers = {done.result for done in completed(work, range(4), pool)}
    assert {frames for _, frames in answers} == {60}
    assert not any(Path(place).is_relative_to(tmp_path) for place, _ in answers), answers
    assert here.store.digest() == there.store.digest()
    assert np.array_equal(here.features("e15").rows, rows)
    single = open_index(here.store, here.features("e15"))
    wanted = single.nearest(np.array(rows[5:15]), here.features("e15").rows, k=4)
    assert all(np.array_equal(a, b) for a, b in zip(nearest, wanted, strict=True))
    files = there.store.catalogue.artifact_files(WebStore(there.store).folder.name)
    assert {
        name: there.store.files.local(pieces[0].name).read_bytes() for name, pieces in files.items()
    } == {path.name: path.read_bytes() for path in WebStore(here.store).folder.glob("*.web")}


# --- what may go wrong ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "error", "message"),
    [
        ("carrier://pigeon/post", InvalidInput, r"must be an address such as s3://.*carrier"),
        ("memory://", InvalidInput, "an object store needs a prefix"),
        (
            "file:///proc/nowhere/at/all",
            ObjectStoreError,
            "/proc/nowhere/at/all: this address does not exist",
        ),
        ("abfs://takes/here", MissingExtra, "abfs://takes/here: .*adlfs"),
    ],
)
def test_an_address_that_leads_nowhere_is_reported_and_no_library_is_left(
    tmp_path, monkeypatch, address, error, message
):
    monkeypatch.setitem(sys.modules, "adlfs", None)
    with pytest.raises(error, match=message):
        ml.Library.create(tmp_path / "takes.loom", store=address)
    with pytest.raises(LibraryError, match="no such library|interrupted|has no catalogue"):
        ml.Library(tmp_path / "takes.loom")
    assert ml.Library.create(tmp_path / "takes.loom").names == ()


def test_fsspec_is_named_when_it_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(MissingExtra, match=r"pip install 'motionloom\[cloud\]'"):
        ml.Library.create(tmp_path / "takes.loom", store="s3://bucket/takes")


def test_a_store_is_that_of_one_library(tmp_path, pair):
    with pytest.raises(ObjectStoreError, match="belongs to another library; choose another prefix"):
        ml.Library.create(tmp_path / "other.loom", store="memory://takes")
    assert ml.Library.create(pair[1].path, store="memory://takes", exist_ok=True).names == NAMES
    with pytest.raises(LibraryError, match="are in memory:///takes, not in memory:///elsewhere"):
        ml.Library.create(pair[1].path, store="memory://elsewhere", exist_ok=True)
    with pytest.raises(LibraryError, match="are in its own folder, not in memory:///elsewhere"):
        ml.Library.create(pair[0].path, store="memory://elsewhere", exist_ok=True)


def test_a_copy_can_be_read_and_not_written_and_a_move_changes_nothing(tmp_path, pair):
    _, there = pair
    there.close()
    shutil.copytree(there.path, tmp_path / "copy.loom")
    copy = ml.Library(tmp_path / "copy.loom")
    assert len(copy["walk"]) == 80
    for write in (lambda: copy.remove("walk"), lambda: WebStore(copy.store).build(workers=1)):
        with pytest.raises(LibraryError, match="is a read-only replica"):
            write()
    copy.close()
    shutil.rmtree(copy.path)
    there.path.rename(tmp_path / "moved.loom")
    moved = ml.Library(tmp_path / "moved.loom")
    moved.remove("walk")
    assert len(objects("memory://takes")) == len(NAMES) - 1


def test_an_object_that_is_shorter_than_it_was_is_reported(cache):
    store = ObjectStore("memory:///cut")
    whole = store.put(b"twelve bytes", "derived/rows.npy")
    overwrite(store, whole.name, b"seven b")
    message = r"memory:///cut/derived/rows-.*: damaged: expected 12 bytes at offset 0, found 7"
    with pytest.raises(LibraryError, match=message):
        store.assembled([whole], ".npy")


@pytest.mark.parametrize("place", [0, 100_000, 262_143, 262_144, 600_000, 699_999])
def test_a_flipped_byte_in_an_object_is_noticed_by_every_read_of_its_block(cache, rng, place):
    store = ObjectStore("memory:///flipped")
    content = rng.bytes(700_000)
    whole = store.put(content, "derived/rows.npy")
    damaged = bytearray(content)
    damaged[place] ^= 0x10
    overwrite(store, whole.name, bytes(damaged))
    block = place // 262_144
    for first, last in ((0, 700_000), (5, 12), (262_000, 262_200), (300_000, 600_000)):
        pieces = between([whole], first, last)
        if first // 262_144 <= block <= (last - 1) // 262_144:
            with pytest.raises(
                LibraryError, match=rf"damaged: the block at byte {block << 18} has"
            ):
                store.assembled(pieces, ".raw")
        else:
            assert store.assembled(pieces, ".raw").read_bytes() == content[first:last]


def test_a_flipped_byte_in_rows_and_webs_of_a_store_is_noticed_and_repaired(
    pair, cache, small_tasks
):
    here, there = pair
    wanted = np.array(here.features("e15").rows)
    there.features("e15")
    WebStore(there.store).build(workers=1)
    rows = [name for name in objects("memory://takes") if "rows" in name]
    web = next(name for name in objects("memory://takes") if name.endswith(".web"))
    from fsspec.core import url_to_fs

    files, root = url_to_fs("memory://takes")
    for name in (*rows, web):
        content = bytearray(files.cat_file(f"{root}/{name}"))
        content[len(content) // 2] ^= 1
        overwrite(there.store.files, name, bytes(content))
    problems = there.store.damage()
    assert len(problems) == 2 and all("wrong checksum" in text for text in problems)
    assert len(there.verify(repair=True).repaired) == 2
    shutil.rmtree(cache)
    assert np.array_equal(there.features("e15").rows, wanted)  # rebuilt
    assert WebStore(there.store).build(workers=1).built > 0
    assert list(WebStore(there.store).pieces()) and there.store.damage() == []


def test_pieces_without_checksums_are_read_as_before(cache):
    from motionloom.store.remote.folder import as_pieces

    store = ObjectStore("memory:///earlier")
    whole = store.put(b"twelve bytes", "derived/rows.npy")
    (bare,) = as_pieces([[whole.name, 0, 12]])
    assert bare.sums == () and store.assembled([bare], ".npy").read_bytes() == b"twelve bytes"
    assert as_pieces(json.loads(json.dumps([whole]))) == (whole,)


def test_lost_and_damaged_objects_are_rebuilt_or_reported(pair, cache, small_tasks):
    here, there = pair
    wanted = np.array(here.features("e15").rows)
    there.features("e15")
    WebStore(there.store).build(workers=1)
    for name in objects("memory://takes"):
        if "rows" in name:
            there.store.files.remove([name])
    shutil.rmtree(cache)
    assert np.array_equal(there.features("e15").rows, wanted)
    web = next(name for name in objects("memory://takes") if name.endswith(".web"))
    overwrite(there.store.files, web, b"no web")
    shutil.rmtree(cache)
    with pytest.raises(LibraryError, match="The file was removed and must be rebuilt"):
        list(WebStore(there.store).pieces())
    assert WebStore(there.store).build(workers=1).built > 0
    assert list(WebStore(there.store).pieces())
    frames = next(name for name in objects("memory://takes") if "frames/walk" in name)
    there.store.files.remove([frames])
    with pytest.raises(LibraryError, match=r"memory:///takes/frames/walk.*are missing; import"):
        there["walk"]
    assert ["its frames are missing" in text for text in there.store.damage()] == [True]


def test_a_damaged_local_copy_is_fetched_again(pair, cache):
    _, there = pair
    wanted = np.array(there.features("e15").rows)
    before = objects("memory://takes")
    for path in cache.rglob("*.npy"):
        path.write_bytes(b"damaged")
    assert np.array_equal(there.features("e15").rows, wanted)
    assert objects("memory://takes") == before


def test_an_unreachable_store_is_reported_in_one_line_and_finished_work_is_safe(
    pair, monkeypatch, small_tasks
):
    from fsspec.implementations.memory import MemoryFileSystem

    _, there = pair

    def away(*_, **__):
        raise TimeoutError("timed out\nafter a while")

    written = []

    def few(self, path, value, **kwargs):
        if len(written) == 2:
            away()
        written.append(path)
        return MemoryFileSystem.__mro__[1].pipe_file(self, path, value, **kwargs)

    store = WebStore(there.store)
    with monkeypatch.context() as broken:
        broken.setattr(MemoryFileSystem, "pipe_file", few)
        with pytest.raises(LibraryError, match=r"cannot be written to: timed out\. Finished webs"):
            store.build(workers=1)
        assert 0 < store.missing() < 15
        with pytest.raises(
            ObjectStoreError, match="memory:///takes: the object store cannot be written to"
        ):
            there.add_motion(ml.demo.clip("walk_left"), name="another")
    monkeypatch.setattr(MemoryFileSystem, "find", away)
    with pytest.raises(ObjectStoreError, match="the object store cannot be read: timed out"):
        store.build(workers=1)
    monkeypatch.undo()
    assert store.build(workers=1).built > 0
    assert WebStore(there.store).missing() == 0


def test_two_clients_of_one_store_both_succeed(tmp_path, small_tasks):
    library_at(tmp_path / "takes.loom", store=f"file://{tmp_path}/store").close()
    reports = []

    def build():
        reports.append(WebStore(ml.Library(tmp_path / "takes.loom").store).build(workers=1).built)

    both = [threading.Thread(target=build) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert sorted(reports) == [0, 15]


# --- the cache ------------------------------------------------------------------------------


def test_the_cache_keeps_the_most_recently_used_files_within_its_limit(tmp_path):
    import os

    cache = Cache(tmp_path / "cache", limit=5000)
    for number in range(9):
        path = cache.file(f"{number}", lambda path: path.write_bytes(bytes(1000)))
        os.utime(path, (number, number))
        if number == 4:
            cache.file("0", lambda path: path.write_text("fetched again"))  # used now
    stored = sum(path.stat().st_size for path in (tmp_path / "cache").rglob("*") if path.is_file())
    assert stored <= 5000
    assert cache.file("0", lambda path: path.write_text("again")).read_bytes() == bytes(1000)
    assert cache.file("1", lambda path: path.write_text("again")).read_text() == "again"


def test_a_cache_without_room_is_reported(tmp_path, monkeypatch):
    def full(path):
        raise OSError(28, "No space left on device")

    cache = Cache(tmp_path, limit=1e9)
    with pytest.raises(
        LibraryError, match="No space left on device; set MOTIONLOOM_CACHE to another folder"
    ):
        cache.file("key", full)
    assert not list(tmp_path.rglob("*.*"))
    monkeypatch.setenv("MOTIONLOOM_CACHE_GB", "plenty")
    with pytest.raises(InvalidInput, match="must be a positive number of gigabytes; got 'plenty'"):
        local_cache()


def test_the_settings_file_says_where_copies_are_kept(tmp_path, monkeypatch):
    monkeypatch.delenv("MOTIONLOOM_CACHE")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "motionloom.toml").write_text('[store]\ncache = "copies"\ncache_gb = 0.5\n')
    trust_settings(tmp_path / "motionloom.toml")
    assert (local_cache().folder, local_cache().limit) == (tmp_path / "copies", 5e8)
    (tmp_path / "motionloom.toml").write_text("store = 3\n")
    trust_settings(tmp_path / "motionloom.toml")
    monkeypatch.setenv("MOTIONLOOM_CACHE_GB", "1")
    with pytest.raises(
        InvalidInput, match=r"store must be a table that starts with \[store\]; got 3"
    ):
        local_cache()


def test_pieces_are_cut_and_joined_to_the_byte(rng):
    whole = [Piece("a", 0, 7), Piece("a", 7, 3), Piece("b", 2, 5), Piece("c", 0, 1)]
    content = {name: rng.bytes(20) for name in "abc"}

    def read(pieces):
        return b"".join(content[name][start : start + length] for name, start, length, _ in pieces)

    assert joined(whole) == (Piece("a", 0, 10), *whole[2:])
    for first in range(17):
        for last in range(first, 17):
            assert read(between(whole, first, last)) == read(whole)[first:last]


# --- a real object store --------------------------------------------------------------------


@pytest.fixture
def bucket(monkeypatch):
    """An S3 server on this machine, with one bucket."""
    pytest.importorskip("s3fs")
    pytest.importorskip("moto.server")
    for name, value in {
        "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-p0"], stderr=subprocess.PIPE, text=True
    )
    line = next(line for line in server.stderr if "Running on" in line)
    address = line.split("Running on ")[1].strip()
    threading.Thread(target=server.stderr.read, daemon=True).start()
    monkeypatch.setenv("FSSPEC_S3_ENDPOINT_URL", address)
    monkeypatch.setenv("AWS_ENDPOINT_URL", address)
    import fsspec.config
    import s3fs

    fsspec.config.conf.setdefault("s3", {})["endpoint_url"] = address
    s3fs.S3FileSystem(endpoint_url=address).mkdir("takes")
    yield f"s3://takes/{urlparse(address).port}"
    fsspec.config.conf.pop("s3")
    server.kill()
    server.wait()


@pytest.mark.slow
def test_a_bucket_holds_a_library_for_a_real_cluster(bucket, tmp_path, small_tasks, monkeypatch):
    from motionloom.parallel import local_cluster

    here = library_at(tmp_path / "here.loom")
    there = library_at(tmp_path / "there.loom", store=bucket)
    with local_cluster(2) as cluster, on_cluster(cluster.scheduler_address):
        report = WebStore(there.store).build(workers=2)
        rows = there.features("e15", workers=2).rows
        index = open_index(there.store, there.features("e15"), "shards", shards=3)
        nearest = index.nearest(np.array(rows[5:15]), rows, k=4)
    WebStore(here.store).build(workers=1)
    assert report.built == 15
    assert np.array_equal(here.features("e15").rows, rows)
    wanted = open_index(here.store, here.features("e15")).nearest(np.array(rows[5:15]), rows, k=4)
    assert all(np.array_equal(a, b) for a, b in zip(nearest, wanted, strict=True))
    files = there.store.catalogue.artifact_files(WebStore(there.store).folder.name)
    assert {
        name: there.store.files.local(pieces[0].name).read_bytes() for name, pieces in files.items()
    } == {path.name: path.read_bytes() for path in WebStore(here.store).folder.glob("*.web")}
    with pytest.raises(ObjectStoreError, match="this address does not exist|cannot be"):
        ml.Library.create(tmp_path / "nowhere.loom", store="s3://no-such-bucket/takes")
    with parallel.executor(1):
        assert there.store.damage() == []
