"""Webs kept with a library: each pair once, added to, gone on with."""

import json
import shutil

import numpy as np
import pytest
from click.testing import CliRunner

import motionloom as ml
from motionloom.cli import app
from motionloom.errors import InvalidInput, LibraryError, RoleError
from motionloom.features.matrix import prepared_frames
from motionloom.search.match_web import build as web_tasks
from motionloom.search.match_web.build import motion_web
from motionloom.search.match_web.store import WebStore
from motionloom.search.match_web.web import WebLimits
from motionloom.store.artifacts.collection import RemoteCollection

NAMES = ("walk", "kick_front_high_right", "kick_front_low_right")


def add(library, *names):
    for name in names:
        label = name.split("_")[0]
        library.add_motion(ml.demo.clip(name)[:70], name=name, labels=[label], replace=True)


@pytest.fixture
def library(tmp_path):
    library = ml.Library.create(tmp_path / "takes.loom")
    add(library, *NAMES)
    return library


def files(store):
    return {path.name: path.stat().st_mtime_ns for path in store.folder.glob("*.web")}


def test_every_pair_has_its_web(library):
    store = WebStore(library.store)
    assert store.missing() == 6
    report = store.build(workers=1)
    assert (report.motions, report.pairs, report.built, report.left_out) == (3, 6, 6, {})
    assert report.bytes == sum(path.stat().st_size for path in store.folder.glob("*.web"))
    assert store.missing() == 0
    frames = {name: prepared_frames(library[name]) for name in NAMES}
    for a in NAMES:
        for b in NAMES:
            web = store.web(a, b)
            assert web.shape == (len(frames[a]), len(frames[b]))
            if a < b:
                wanted = motion_web(frames[a], [frames[b]], rate=30.0)
                assert np.array_equal(web.cells, wanted.cells)
                assert np.array_equal(store.web(b, a).cells, wanted.cells[:, ::-1])
    walk = store.web("walk", "walk")
    once = motion_web(frames["walk"], [frames["walk"]], rate=30.0, itself=0)
    assert walk.chain_count == 2 * once.chain_count > 0  # both sides of the diagonal


def test_pieces_are_the_webs_on_one_timeline(library):
    store = WebStore(library.store)
    store.build(workers=1)
    timeline = store.timeline()
    assert timeline.names == tuple(sorted(NAMES))
    seen = 0
    for row, column, web in store.pieces():
        m = int(np.searchsorted(timeline.starts, row, side="right")) - 1
        heads = web.cells[web.offsets[: web.chain_count]] + [row, column]
        others = np.searchsorted(timeline.starts, heads[:, 1], side="right") - 1
        for k in np.unique(others):
            pair = store.web(timeline.names[m], timeline.names[k])
            wanted = pair.cells[pair.offsets[: pair.chain_count]]
            mine = heads[others == k] - [timeline.starts[m], timeline.starts[k]]
            count = len(wanted) // 2 if k == m else len(wanted)
            assert np.array_equal(mine, wanted[:count])
            seen += 1
    assert seen >= 3


def test_a_motion_that_is_added_costs_its_own_pairs(library):
    store = WebStore(library.store)
    store.build(workers=1)
    before = files(store)
    add(library, "jog")
    assert store.missing() == 4
    report = store.build(workers=1)
    assert (report.pairs, report.built) == (10, 4)
    after = files(store)
    assert before.items() <= after.items() and len(after) == len(before) + 1
    assert store.web("walk", "jog").shape == (70, len(library["jog"]))


def test_a_motion_that_changes_or_goes_takes_its_webs_along(library):
    store = WebStore(library.store)
    store.build(workers=1)
    library.add_motion(ml.demo.clip("walk")[:50], name="walk", replace=True)
    assert store.missing() == 3
    with pytest.raises(LibraryError, match="there is no web between 'walk' and 'walk'"):
        store.web("walk", "walk")
    store.build(workers=1)
    assert store.web("walk", "walk").shape == (50, 50)
    library.remove("walk")
    assert store.missing() == 0
    assert sum(len(web.cells) for _, _, web in store.pieces()) > 0
    store.build(workers=1)
    rows = {name.split("-")[0] for name in files(store)}
    assert web_tasks.web_key(library.store.entry(NAMES[1])) in rows


def test_a_build_that_is_stopped_goes_on(library, monkeypatch):
    store = WebStore(library.store)
    built = web_tasks.motion_web
    calls = []

    def stops(*args, **options):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return built(*args, **options)

    monkeypatch.setattr(web_tasks, "motion_web", stops)
    with pytest.raises(KeyboardInterrupt):
        store.build(workers=1)
    assert len(files(store)) == 2
    others = {path.name for path in store.folder.iterdir() if path.suffix != ".web"}
    assert others == {"lock", "queue"}
    kept = files(store)
    report = store.build(workers=1)
    assert 0 < report.built < 6
    assert kept.items() <= files(store).items()
    fresh = WebStore(library.store, limits=WebLimits(bridge_seconds=2.0))
    assert fresh.missing() == 0


def test_only_a_category_then_the_rest(library):
    store = WebStore(library.store)
    assert store.build(label="kick", workers=1).built == 3
    assert store.missing() == 3
    assert store.build(workers=1).built == 3
    assert store.build(only=["walk"], workers=1).built == 0


def test_workers_make_the_same_files(library, tmp_path, monkeypatch):
    alone = WebStore(library.store)
    alone.build(workers=1)
    names = {path.name: path.read_bytes() for path in alone.folder.glob("*.web")}
    shutil.rmtree(alone.folder)
    monkeypatch.setattr(web_tasks, "MAX_TASK_CELLS", 1)
    WebStore(library.store).build(workers=2)
    assert names == {path.name: path.read_bytes() for path in alone.folder.glob("*.web")}


def test_webs_with_other_options_coexist(library):
    store, coarse = WebStore(library.store), WebStore(library.store, "pc1")
    assert store.folder != coarse.folder
    assert WebStore(library.store, limits=WebLimits(alpha=0.2)).folder != store.folder


def test_motions_of_a_single_frame_are_skipped_by_name(library):
    library.add_motion(library[library.names[0]][:1], name="still")
    report = library.webs.build(workers=1)
    assert report.motions == 3
    assert report.left_out == {"still": "has only one frame, but a web needs at least two"}


def test_motions_without_the_joints_are_skipped(library):
    skeleton = ml.Skeleton(["hips", "spine"], [-1, 0], [[0, 0, 0], [0, 0.3, 0]])
    still = np.tile([1.0, 0, 0, 0], (40, 2, 1))
    library.add_motion(ml.Motion(skeleton, still, np.zeros((40, 3)), fps=30), name="stick")
    report = WebStore(library.store).build(workers=1)
    assert report.motions == 3 and list(report.left_out) == ["stick"]
    with pytest.raises(
        RoleError, match="no motion has all joints that pc11 needs; for example, stick"
    ):
        WebStore(library.store).build(only=["stick"])


def test_damage_and_emptiness_are_reported(library, tmp_path):
    store = WebStore(library.store)
    store.build(workers=1)
    for path in store.folder.glob("*.web"):
        path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(
        LibraryError, match=r"\.web: damaged web: .*\. Remove this file and rebuild the web"
    ):
        WebStore(library.store).web("walk", "walk")
    with pytest.raises(LibraryError, match="the library is empty"):
        WebStore(ml.Library.create(tmp_path / "none.loom").store).build()
    with pytest.raises(InvalidInput, match="no motion is labeled 'swim'"):
        store.build(label="swim")


def test_the_command_builds(library):
    done = CliRunner().invoke(app, ["web", str(library.path), "build", "--label", "kick"])
    assert done.exit_code == 0, done.output
    assert "2 motions, 3 pairs, 3 of them built" in done.output
    done = CliRunner().invoke(app, ["web", str(library.path), "build", "--json"])
    report = json.loads(done.stdout)
    assert (report["pairs"], report["built"], report["left_out"]) == (6, 3, {})


def test_workers_write_to_a_store_without_listing_it():
    webs = RemoteCollection(files=None, folder="web.0")
    with pytest.raises(LibraryError, match="workers only write files"):
        webs.names()


def test_motions_with_the_same_frames_share_their_webs(tmp_path, library):
    """As found in captured takes; webs are those of motions that differ in name alone."""
    copied = ml.Library.create(tmp_path / "copies.loom")
    walk, kick = library["walk"], library[NAMES[1]]
    for name, motion in (("a", walk), ("b", kick), ("c", walk), ("d", walk)):
        copied.add_motion(motion, name=name)
    store = WebStore(copied.store)
    assert store.missing() == 4  # a-a, a-b, b-b, and a with its copies
    report = store.build(workers=1)
    assert (report.pairs, report.built) == (10, 4) and store.missing() == 0
    assert not web_tasks._held
    frames = {name: prepared_frames(copied[name]) for name in "abcd"}
    pieces = {(row, column): web for row, column, web in store.pieces()}
    starts = dict(zip("abcd", store.timeline().starts.tolist(), strict=False))
    assert len(pieces) == 10
    for a in "abcd":
        for b in "abcd":
            result = store.web(a, b)
            if a == b:
                continue
            wanted = motion_web(frames[min(a, b)], [frames[max(a, b)]], rate=30.0)
            wanted = wanted if a < b else wanted.transposed()
            if {a, b} > {"b"}:
                wanted = motion_web(frames["a"], [frames["b"]], rate=30.0)
                wanted = wanted if b == "b" else wanted.transposed()
            else:
                assert (result.cells[:, 0] == result.cells[:, 1]).any()  # the same at the same time
            assert set(map(tuple, result.cells.tolist())) == set(map(tuple, wanted.cells.tolist()))
            assert (starts[min(a, b)], starts[max(a, b)]) in pieces or "b" in (a, b)
    hits = copied.search("c:10-50", method="web", max_distance=0.05)
    assert {hit.motion for hit in hits} >= {"a", "c", "d"}
    assert all(hit.distance == 0.0 for hit in hits if hit.start_frame == 10)
    copied.remove("a")  # another stands for its frames
    assert WebStore(copied.store).missing() == 0
    assert {hit.motion for hit in copied.search("c:10-50", method="web", max_distance=0.05)} >= {
        "c", "d",
    }  # fmt: skip


def test_a_search_opens_the_webs_of_its_motion(library, monkeypatch):
    """And, of long motions, those of frames around the query; the answers are the same."""
    from motionloom.search.match_web import search as web_search

    library.webs.build(workers=1)
    queries = [f"{name}:{first}-{first + 25}" for name in NAMES for first in (0, 20, 40)]
    options = {"method": "web", "max": None, "max_distance": 0.3}
    wanted = [[(hit.text, hit.distance) for hit in library.search(q, **options)] for q in queries]
    assert sum(map(len, wanted)) > 2 * len(queries)
    opened = []
    read = WebStore._block
    monkeypatch.setattr(
        WebStore, "_block", lambda self, *which: opened.append(1) or read(self, *which)
    )
    monkeypatch.setattr(web_search, "_FRAMES_TOGETHER", 16)
    monkeypatch.setattr(web_search, "MOST_CELLS", 0)
    again = ml.Library(library.path)
    matches = [[(hit.text, hit.distance) for hit in again.search(q, **options)] for q in queries]
    assert matches == wanted
    assert len(opened) == len(NAMES) * len(queries)  # of six pairs, those of one motion each


def test_growing_a_family_opens_each_web_once(library, monkeypatch):
    """Although every member is a query, at any distance and again later."""
    library.webs.build(workers=1)
    again = ml.Library(library.path)
    opened = []
    read = WebStore._block
    monkeypatch.setattr(
        WebStore, "_block", lambda self, *which: opened.append(1) or read(self, *which)
    )
    for limit in (0.2, 0.05, 0.25):
        expansion = ml.Expansion(join_distance=limit)
        settings = ml.FamilySettings(method="web", expansion=expansion)
        family = again.family(f"{NAMES[1]}:5-40", settings)
    assert {node.motion for node in family.nodes} == set(NAMES[1:])
    assert len(opened) == 2 * len(NAMES)  # each of the two kicks with every motion
