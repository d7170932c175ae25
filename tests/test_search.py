"""Searching a library: queries of all kinds, filters, messages."""

from dataclasses import replace

import numpy as np
import pytest
from small_takes import small_motion

import motionloom as ml
from motionloom.errors import InvalidInput, LibraryError, RoleError
from motionloom.features import DISTANCES
from motionloom.search import INDEXES, METHODS, LazyGraph, Match, Matches
from motionloom.search.query import Query
from motionloom.settings import described

KICK = "kick_front_high_right"


@pytest.fixture(scope="module")
def lib(tmp_path_factory):
    """Kicks, walks and punches of four performers, and a take with many actions."""
    lib = ml.Library.create(tmp_path_factory.mktemp("search") / "takes.loom")
    for action in (KICK, "walk", "punch_mid_right"):
        for performer in range(3):
            motion = ml.demo.clip(action, performer=performer)
            lib.add_motion(motion, labels=[action.split("_")[0]])
    lib.add_motion(ml.demo.clip("take_strikes"), labels=["take"])
    return lib


@pytest.mark.parametrize("method", ["dtw", "lazy"])
@pytest.mark.parametrize("features", ["e15", "e30x3", "pca8"])
def test_a_segment_finds_itself_first_and_at_no_distance(lib, method, features):
    best = lib.search(f"{KICK}_p1:12-40", method=METHODS[method](features=features), max=5)[0]
    assert (best.motion, best.start_frame, best.end_frame) == (f"{KICK}_p1", 12, 40)
    assert best.distance < 1e-6 and best.tier == 1 and best.label == "kick"
    assert best.start == pytest.approx(0.4) and best.end == pytest.approx(4 / 3)
    np.testing.assert_array_equal(best.alignment[:, 1] - best.alignment[:, 0], 12)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_keeps_what_all_of_them_promise(lib, method):
    """One row per method: query first, sorted, within the limits."""
    lib.webs.build(label=["kick", "punch"])
    query, command = f"{KICK}_p1", {"method": method, "label": ["kick", "punch"]}
    hits = lib.search(query, max=4, **command)
    if "k" in described(METHODS[method]):
        command["method"] = METHODS[method](k=400)
    assert 1 <= len(hits) <= 4 and hits.query == query and hits.unit
    assert (hits[0].motion, hits[0].start_frame, hits[0].end_frame) == (query, 0, len(lib[query]))
    assert hits[0].distance < 1e-6 and {hit.label for hit in hits} <= {"kick", "punch"}
    gaps = [hit.distance for hit in hits]
    assert gaps == sorted(gaps)
    for hit in hits:
        frames = hit.alignment[:, 1]
        assert (frames[0], frames[-1] + 1) == (hit.start_frame, hit.end_frame)
        assert hit.alignment[:, 0].max() < len(lib[query])
    away = lib.search(query, exclude_query=True, **command)
    assert not any(hit.motion == query and hit.distance < 1e-6 for hit in away)
    family = lib.family(
        query, max=3, expansion=ml.Expansion(join_distance=hits[-1].distance + 1e-6), **command
    )
    assert family.nodes[0].text == f"{query}:0-{len(lib[query])}" and len(family) <= 4


def test_kicks_find_kicks(lib):
    hits = lib.search(f"{KICK}_p0", label=["kick", "walk", "punch"], max=3)
    assert [hit.label for hit in hits] == ["kick"] * 3
    assert [hit.distance for hit in hits] == sorted(hit.distance for hit in hits)


@pytest.mark.parametrize("name", sorted(DISTANCES))
def test_dtw_takes_any_frame_distance_by_name(lib, name):
    best = lib.search(
        f"{KICK}_p0:10-40", only=[f"{KICK}_p0", "walk_p0"], max=2, method=ml.Dtw(features=name)
    )[0]
    assert best.text == f"{KICK}_p0:10-40"
    assert best.distance < 1e-3


def test_a_query_may_be_a_motion_or_a_file_of_another_rate_and_skeleton(lib, tmp_path):
    clip = ml.demo.clip(KICK, performer=1, fps=120.0)[48:160]
    by_motion = lib.search(clip, max=1)[0]
    assert (by_motion.motion, by_motion.start_frame, by_motion.end_frame) == (f"{KICK}_p1", 12, 40)
    assert by_motion.distance < 0.01
    assert by_motion.alignment[:, 0].max() >= 108  # frames of the query as given
    path = clip.save(tmp_path / "kick.bvh")
    by_file = lib.search(path, max=1)[0]
    assert by_file.motion == f"{KICK}_p1" and abs(by_file.start_frame - 12) <= 1
    part = lib.search(f"{path}:0s-0.5s", max=1)[0]
    assert part.motion == f"{KICK}_p1" and part.end_frame <= 29


def test_a_query_of_nearly_the_same_rate_is_not_shifted(lib):
    """29.97 and 30 fps count as one, for the last frames of a long query too."""
    take = lib["take_strikes_p0"]
    near = replace(take, fps=29.97)
    start = len(take) - 120
    for features in ("e15", "pc1"):
        chosen = {
            "only": "take_strikes_p0",
            "max": 1,
            "method": ml.Dtw(features=features, rank="distance"),
        }
        own = lib.search(f"take_strikes_p0:{start}-{start + 40}", **chosen)[0]
        other = lib.search(Query("near", near, start, start + 40, None), **chosen)[0]
        assert (other.start_frame, other.end_frame) == (own.start_frame, own.end_frame)
        assert other.distance < 1e-3


def test_seconds_are_frames_over_the_rate(lib):
    frames = lib.search(f"{KICK}_p0:15-45", max=3).to_json()
    assert lib.search(f"{KICK}_p0:0.5s-1.5s", max=3).to_json() == frames


def test_matches_are_in_frames_of_the_motion_as_stored(tmp_path):
    lib = ml.Library.create(tmp_path / "rates.loom")
    for fps in (30.0, 60.0, 120.0):
        lib.add_motion(ml.demo.clip(KICK, fps=fps), name=f"kick_{fps:g}")
    hits = {hit.motion: hit for hit in lib.search("kick_30:12-42")}
    assert (hits["kick_30"].start_frame, hits["kick_30"].end_frame) == (12, 42)
    assert abs(hits["kick_120"].start_frame - 48) <= 4
    assert abs(hits["kick_120"].end_frame - 168) <= 4
    for hit in hits.values():
        fps = lib.store.entry(hit.motion).fps
        assert hit.start == hit.start_frame / fps and hit.end == hit.end_frame / fps
        assert hit.alignment[:, 1].max() < hit.end_frame
        assert hit.distance < 0.02


def test_filters_choose_the_motions(lib):
    query = f"{KICK}_p0:10-40"
    assert {hit.label for hit in lib.search(query, label="walk")} == {"walk"}
    assert {hit.motion for hit in lib.search(query, only="walk_p1")} == {"walk_p1"}
    assert {hit.motion for hit in lib.search(query, only="walk_p*")} >= {"walk_p0", "walk_p1"}
    hits = lib.search(query, exclude=[f"{KICK}_p0", "take_strikes_p0"])
    assert f"{KICK}_p0" not in {hit.motion for hit in hits}
    assert len(hits) > 0
    lazy = lib.search(query, label="walk", method=ml.LazyGraph(k=500, steps="classic"))
    assert {hit.label for hit in lazy} <= {"walk"}


def test_the_frames_of_the_query_can_be_excluded(lib):
    query = f"{KICK}_p0:10-40"
    for method in ("dtw", "lazy"):
        chosen = ml.LazyGraph(k=500) if method == "lazy" else method
        for hit in lib.search(query, method=chosen, exclude_query=True):
            assert hit.motion != f"{KICK}_p0" or hit.start_frame >= 30 or hit.end_frame <= 20
    for hits in lib.neighbors(query, k=3, exclude_query=True):
        assert len(hits) == 3
        assert all(h.motion != f"{KICK}_p0" or not 10 <= h.start_frame < 40 for h in hits)


def test_every_index_gives_the_same(lib):
    query = f"{KICK}_p2:10-30"
    results = [
        [[(h.text, h.distance) for h in row] for row in lib.neighbors(query, k=25, index=index)]
        for index in INDEXES
    ]
    assert all(result == results[0] for result in results)
    assert results[0][0][0] == (f"{KICK}_p2:10-11", 0.0)
    near = lib.neighbors(query, radius=0.1, label="kick")
    assert all(h.distance <= 0.1 and h.label == "kick" for row in near for h in row)
    graphs = [
        lib.search(query, method=ml.LazyGraph(index=index, k=300)).to_json() for index in INDEXES
    ]
    assert all(result == graphs[0] for result in graphs)


def test_the_preset_of_the_paper_is_its_graph(lib):
    query = f"{KICK}_p0:10-40"
    options = {"features": "e15", "normalize": "heading", "steps": "classic", "bridge": 0}
    paper = lib.search(query, ml.SearchSettings.kt10()).to_json()
    assert paper == lib.search(query, method=ml.LazyGraph(rank="sum", **options)).to_json()
    assert paper != lib.search(query, method="lazy").to_json()

    def near(settings=None, **options):
        return [[hit.text for hit in frame] for frame in lib.neighbors(query, settings, **options)]

    paper, full = ml.NeighborSettings.kt10, ml.PoseOptions(normalize="full")
    assert near(paper()) == near(k=256)
    assert near(paper(k=3)) == near(paper(), k=3) == near(k=3) != near(k=3, poses=full)


@pytest.mark.parametrize("bridge", [0, None])
def test_lazy_ranks_by_the_mean_or_by_the_sum_of_a_path(lib, bridge):
    options = {"k": 400, "steps": "classic", "bridge": bridge}
    differ = 0
    for start in range(0, 400, 50):
        query = f"take_strikes_p0:{start}-{start + 30}"
        mean, total = (
            lib.search(query, method=ml.LazyGraph(rank=rank, **options), max=None)
            for rank in ("distance", "sum")
        )
        assert {hit.text for hit in mean} == {hit.text for hit in total}
        sums = [hit.distance * len(hit.alignment) for hit in total]
        assert sums == pytest.approx(sorted(sums))
        assert [hit.distance for hit in mean] == sorted(hit.distance for hit in mean)
        differ += [hit.text for hit in mean] != [hit.text for hit in total]
    assert differ >= 1


def test_lazy_with_all_neighbors_is_dtw(lib):
    query, every = f"{KICK}_p0:10-40", sum(len(lib[name]) for name in lib.names)
    lazy = lib.search(query, method=ml.LazyGraph(k=every, bridge=0, rank="distance")).to_json()
    exact = lib.search(
        query, method=ml.Dtw(weights="equal", rank="distance", speed_seconds=0.0)
    ).to_json()
    assert [{**hit, "distance": 0} for hit in lazy] == [{**hit, "distance": 0} for hit in exact]
    np.testing.assert_allclose([h["distance"] for h in lazy], [h["distance"] for h in exact])


def test_lazy_ranks_by_movement_as_dtw_does(lib):
    """The second pass finds the same matches near the paths of the graph."""
    query = "take_strikes_p0:60-95"
    here = {"only": "take_strikes_p0", "max": None}
    exact = lib.search(query, **here).to_json()
    assert lib.search(query, method="lazy", **here).to_json() == exact
    assert lib.search(query, method=ml.LazyGraph(rank="distance"), **here).to_json() != exact
    assert ml.LazyGraph().for_families().rank == "distance"
    assert ml.LazyGraph(rank="sum").for_families().rank == "sum"


def test_joints_count_equally_unless_asked(lib):
    usual = lib.search(f"{KICK}_p0:10-40").to_json()
    assert usual == lib.search(f"{KICK}_p0:10-40", method=ml.Dtw(weights="equal")).to_json()
    assert usual != lib.search(f"{KICK}_p0:10-40", method=ml.Dtw(weights="moving")).to_json()
    family = lib.family(f"{KICK}_p0:10-40").to_json()
    assert family == lib.family(f"{KICK}_p0:10-40", method=ml.Dtw(weights="moving")).to_json()


def test_speeds_settle_when_an_action_begins(lib):
    """Only the paths differ: the same matches in the same order, at the same distances."""
    plain = lib.search(f"{KICK}_p0", max=6, method=ml.Dtw(rank="distance", speed_seconds=0.0))
    refined = lib.search(f"{KICK}_p0", max=6, method=ml.Dtw(rank="distance"))
    assert [hit.motion for hit in refined] == [hit.motion for hit in plain]
    assert [hit.distance for hit in refined] == [hit.distance for hit in plain]
    assert (refined[0].start_frame, refined[0].end_frame) == (0, len(lib[f"{KICK}_p0"]))
    assert [hit.text for hit in refined] != [hit.text for hit in plain]
    for hit in refined:
        assert (hit.alignment[0, 1], hit.alignment[-1, 1] + 1) == (hit.start_frame, hit.end_frame)


def test_an_index_follows_the_library(tmp_path):
    lib = ml.Library.create(tmp_path / "growing.loom")
    lib.add_motion(ml.demo.clip("walk"), name="walk")
    assert {h.motion for h in lib.search("walk:0-20", method=ml.LazyGraph(k=100))} == {"walk"}
    lib.add_motion(ml.demo.clip("walk"), name="again")
    names = {h.motion for h in lib.search("walk:0-20", method=ml.LazyGraph(k=200))}
    assert names == {"walk", "again"}
    lib.remove("walk")
    assert {h.motion for h in lib.search("again:0-20", method=ml.LazyGraph(k=100))} == {"again"}
    kept = [folder for folder in (tmp_path / "growing.loom" / "derived").glob("bucket.*")]
    assert len(kept) == 1


@pytest.mark.parametrize(
    ("method", "file"),
    [
        ("lazy", "bucket.*/low.npy"),
        ("emd", "clip-signatures.*/mass.npy"),
        ("emd", "clips-emd.*/*.npy"),
    ],
)
def test_a_damaged_index_is_rebuilt(tmp_path, method, file):
    lib = ml.Library.create(tmp_path / "takes.loom")
    for name in ("walk", "jog"):
        lib.add_motion(ml.demo.clip(name), name=name)
    answer = lib.search("walk", method=method).to_json()
    for path in (lib.path / "derived").glob(file):
        path.write_bytes(path.read_bytes()[:40])
    assert ml.Library(lib.path).search("walk", method=method).to_json() == answer


def test_matches_are_a_sequence(lib):
    hits = lib.search(f"{KICK}_p0:10-40", max=4)
    assert len(hits) == 4 and len(hits[1:3]) == 2 and hits[-1] is list(hits)[3]
    assert hits.query == f"{KICK}_p0:10-40"
    keys = {"motion", "start_frame", "end_frame", "start", "end", "distance", "tier", "label"}
    assert set(hits.to_json()[0]) == keys | {"mirrored"}
    assert "<table>" in hits._repr_html_()
    odd = Matches([Match("<b>walk & co</b>", 0, 30, 0.0, 1.0, 0.02)])
    assert "&lt;b&gt;walk &amp; co&lt;/b&gt;" in odd._repr_html_()


@pytest.mark.parametrize(
    ("query", "options", "error", "message"),
    [
        (f"{KICK}_p0:10-11", {}, InvalidInput, "at least two frames; got 1"),
        (f"{KICK}_p0:10-9999", {}, InvalidInput, "range must lie within the motion's .* frames"),
        (f"{KICK}_p0:30-10", {}, InvalidInput, "got 30 to 10"),
        (f"{KICK}_p0:1.5-3", {}, InvalidInput, "frames must be whole numbers"),
        ("nothing:1-20", {}, LibraryError, "no motion 'nothing'"),
        ("walk_p0", {"method": "magic"}, InvalidInput, "method must be one of dtw, lazy"),
        ("walk_p0", {"features": "e16"}, InvalidInput, "no distance is called 'e16'; did you"),
        ("walk_p0", {"method": "lazy", "k": 0}, InvalidInput, "k must be at least 1; got 0"),
        ("walk_p0", {"k": 3}, InvalidInput, "k is not an option of method dtw, whose options are "
        "features"),
        ("walk_p0", {"method": "web", "features": "e15"}, InvalidInput, "features is not an"),
        ("walk_p0", {"method": "lazy", "radius": -0.1}, InvalidInput, "radius must be at least 0"),
        ("walk_p0", {"method": "lazy", "radius": float("nan")}, InvalidInput, "radius must be at"),
        ("walk_p0", {"max": 0}, InvalidInput, "max must be at least 1"),
        ("walk_p0", {"max_distance": -1.0}, InvalidInput, "max_distance must be at least 0"),
        ("walk_p0", {"steps": "wild"}, InvalidInput, "steps must be one of"),
        ("walk_p0", {"weights": "heavy"}, InvalidInput, "weights must be one of moving, equal"),
        ("walk_p0", {"max_overlap": 1.5}, InvalidInput, "max_overlap must be at most 1"),
        ("walk_p0", {"durations": (2.0, 1.0)}, InvalidInput, "a minimum and a maximum ratio"),
        ("walk_p0", {"rank": "length"}, InvalidInput, "rank must be one of movement, distance"),
        ("walk_p0", {"speed_seconds": -1.0}, InvalidInput, "speed_seconds must be at least 0"),
        ("walk_p0", {"method": "lazy", "bridge": -1}, InvalidInput, "bridge must be at least 0"),
        ("walk_p0", {"tiers": 0}, InvalidInput, "tiers must be an integer of at least 1"),
        ("walk_p0", {"tiers": "few"}, InvalidInput, "tiers must be an integer of at least 1"),
        ("walk_p0", {"tiers": 1.5}, InvalidInput, "tiers must be .*; got 1.5"),
        ("x" * 300, {}, LibraryError, "no motion 'xxx"),
        ("walk_p0", {"label": "walks"}, InvalidInput, "labeled 'walks'; did you mean walk"),
        ("walk_p0", {"only": "walk_p9"}, LibraryError, "no motion 'walk_p9'"),
        ("walk_p0", {"only": "walk_p0", "exclude": "walk_p0"}, InvalidInput, "select no motions"),
        ("walk_p0", {"apart": 0.9}, InvalidInput, "not exceed same; got apart=0.9 and same=0.8"),
        ("walk_p0", {"method": "lazy", "index": "oak"}, InvalidInput, "index must be one of"),
        ("walk_p0", {"method": "lazy", "epsilon": -1.0}, InvalidInput, "epsilon must be at"),
        ("walk_p0", {"method": "lazy", "epsilon": float("nan")}, InvalidInput, "0; got nan"),
        ("walk_p0", {"method": "lazy", "features": "pc1"}, InvalidInput, "lazy needs a feature"),
    ],
)  # fmt: skip
def test_invalid_input_is_reported(lib, query, options, error, message):
    with pytest.raises(error, match=message):
        lib.search(query, ml.SearchSettings.of(options))


def test_a_method_may_be_given_as_settings(lib):
    query = f"{KICK}_p0:10-40"
    by_name = lib.search(query, max=3, method=ml.LazyGraph(k=64))
    assert lib.search(query, method=LazyGraph(k=64), max=3).to_json() == by_name.to_json()
    with pytest.raises(
        InvalidInput, match=r"k is an option of LazyGraph, so write method=LazyGraph"
    ):
        lib.search(query, method=LazyGraph(), k=64)


def test_tiers_may_be_written_out(lib):
    query = f"{KICK}_p0:10-40"
    assert (
        lib.search(query, max=3, expansion=ml.Expansion(tiers="1")).to_json()
        == lib.search(query, max=3).to_json()
    )


def test_a_query_without_a_needed_joint_is_refused(lib):
    with pytest.raises(RoleError, match="wrist"):
        lib.search(small_motion(frames=20))


def test_a_short_query_of_a_high_rate_is_refused(lib):
    with pytest.raises(InvalidInput, match="at least two frames at 30 fps"):
        lib.search(ml.demo.clip("walk", fps=120.0)[:3])


@pytest.mark.parametrize("method", ["dtw", "lazy"])
def test_an_empty_library_says_so(tmp_path, method):
    lib = ml.Library.create(tmp_path / "empty.loom")
    with pytest.raises(LibraryError, match="the library is empty"):
        lib.search(ml.demo.clip("walk"), method=method)
    with pytest.raises(LibraryError, match="the library is empty"):
        lib.neighbors(ml.demo.clip("walk"))
