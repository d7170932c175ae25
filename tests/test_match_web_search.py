"""Searching the webs of a library: one tier, families, external queries, missing webs."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import motionloom as ml
from motionloom.cli import app
from motionloom.errors import InvalidInput, LibraryError
from motionloom.search.match_web.search import library_web
from motionloom.search.match_web.store import WebStore

NAMES = [
    *(f"kick_front_{height}_right_p{who}" for height in ("low", "mid", "high") for who in (0, 1)),
    "kick_side_mid_right_p0", "punch_mid_right_p0", "punch_high_right_p0", "walk_p0",
    "walk_left_p1",
]  # fmt: skip
QUERY = "kick_front_mid_right_p0:10-62"
BY_WEB = ml.MatchWeb(rank="distance")  # without the second pass


@pytest.fixture(scope="module")
def lib(tmp_path_factory):
    lib = ml.Library.create(tmp_path_factory.mktemp("webs") / "takes.loom")
    for name in NAMES:
        performed = ml.demo.annotated(name)
        lib.add_motion(performed.motion)
        lib.labels[name] = [performed.truth.action]
    WebStore(lib.store).build(workers=1)
    return lib


def test_the_query_comes_first_then_the_nearest(lib):
    hits = lib.search(QUERY, method="web", max_distance=0.1)
    assert (hits[0].text, hits[0].distance) == (QUERY, 0.0)
    assert len(hits) > 3
    gaps = [hit.distance for hit in hits]
    assert gaps == sorted(gaps) and gaps[-1] <= 0.1
    assert {hit.motion[:4] for hit in hits} == {"kick"}
    assert {hit.label for hit in hits} == {"kick"}


def test_paths_beyond_the_limit_of_an_index_are_in_no_match(lib):
    """The index of near paths gives the matches of the index of all paths, which is larger."""
    for name in (NAMES[0], "walk_p0"):
        sizes = []
        for largest in ((0.05, 0.1), (0.05, 0.1, None)):
            fresh = ml.Library(lib.path)
            # A search without a limit comes first, so the others also use its index.
            every = [fresh.search(f"{name}:5-40", method=BY_WEB, max=None, max_distance=limit)
                     for limit in largest[::-1]]  # fmt: skip
            matches = {(hit.text, hit.distance) for hits in every for hit in hits}
            near = {match for match in matches if match[1] <= 0.1}
            sizes.append((near, len(library_web(fresh.store).index(name, 5, 40, 0.1).cells)))
        assert sizes[0][0] == sizes[1][0] and len(near) > 1
        assert sizes[0][1] < 0.7 * sizes[1][1]


def test_alignments_pair_the_frames_of_query_and_match(lib):
    for hit in lib.search(QUERY, method=BY_WEB, max_distance=0.1):
        assert hit.alignment[0].tolist() == [0, hit.start_frame]
        assert hit.alignment[-1].tolist() == [51, hit.end_frame - 1]
        steps = np.diff(hit.alignment, axis=0)
        assert ((steps >= 0) & (steps <= 1)).all()


def test_finds_what_dtw_finds(lib):
    """The same kicks, at nearly the same place; the measures of distance differ."""
    web = {hit.motion: hit for hit in lib.search(QUERY, method="web", max_distance=0.12)}
    method = ml.Dtw(features="pc11", weights="equal")
    options = {"max_distance": 0.12, "method": method, "only": list(web)}
    exact = {hit.motion: hit for hit in lib.search(QUERY, **options)}
    assert set(web) <= set(exact)
    for name, hit in web.items():
        shared = min(hit.end, exact[name].end) - max(hit.start, exact[name].start)
        assert shared > 0.7 * (hit.end - hit.start)


def test_the_threshold_moves_without_building_anything(lib):
    counts = [len(lib.search(QUERY, method="web", max_distance=e)) for e in (0.0, 0.04, 0.08, 0.15)]
    assert counts[0] == 1 and counts == sorted(counts) and counts[-1] > counts[1]
    assert len(lib.search(QUERY, method="web", max_distance=0.0, exclude_query=True)) == 0


def test_more_steps_reach_farther(lib):
    matches = lib.search(QUERY, method="web", max_distance=0.08)
    family = lib.family(QUERY, method="web", expansion=ml.Expansion(join_distance=0.08))
    assert {hit.motion for hit in matches} < {node.motion for node in family.nodes}
    assert {node.motion[:4] for node in family.nodes} == {"kick"}
    assert max(node.tier for node in family.nodes) > 1
    edges = {(edge.a, edge.b): edge.cost for edge in family.edges}
    assert max(edges.values()) <= 0.08
    more = lib.search(QUERY, method="web", expansion=ml.Expansion(join_distance=0.08, tiers="all"))
    assert {QUERY, *(hit.text for hit in family.matches)} <= {hit.text for hit in more}
    near = lib.search(
        QUERY,
        method="web",
        max_distance=0.1,
        expansion=ml.Expansion(join_distance=0.08, tiers="all"),
    )
    assert {hit.text for hit in near} >= {hit.text for hit in more if hit.distance <= 0.1}


def test_only_selected_motions_are_searched(lib):
    hits = lib.search("punch_mid_right_p0:8-50", method="web", label="punch", max_distance=0.5)
    assert {hit.motion for hit in hits} == {"punch_mid_right_p0", "punch_high_right_p0"}
    hits = lib.search(QUERY, method="web", exclude="kick_front_mid_right_p0", max_distance=0.1)
    assert "kick_front_mid_right_p0" not in {hit.motion for hit in hits} and len(hits)
    assert len(lib.search(QUERY, method="web", max=2, max_distance=0.2)) == 2


def test_a_query_from_outside_gets_its_web_on_the_spot(lib):
    clip = ml.demo.clip("kick_front_mid_right", seed=7)
    hits = lib.search(clip[10:62], method="web", max_distance=0.1)
    assert hits[0].motion == "kick_front_mid_right_p0"
    assert len(hits) > 2 and {hit.motion[:4] for hit in hits} == {"kick"}
    family = lib.family(clip[10:62], method="web", expansion=ml.Expansion(join_distance=0.1))
    assert len(family.nodes) > 4 and family.nodes[0].motion not in lib.names
    twice = lib.search(clip.resample(60)[20:124], method="web", max_distance=0.1)
    assert twice[0].motion == hits[0].motion
    assert abs(twice[0].start_frame - hits[0].start_frame) <= 2


def test_motions_of_another_rate_are_searched_in_their_own_frames(tmp_path):
    lib = ml.Library.create(tmp_path / "rates.loom")
    for name, fps in (("kick_front_mid_right_p0", 30.0), ("kick_front_high_right_p0", 60.0)):
        lib.add_motion(ml.demo.clip(name, fps=fps))
    WebStore(lib.store).build(workers=1)
    hit = lib.search(QUERY, method="web", max_distance=0.2)[1]
    assert hit.motion == "kick_front_high_right_p0"
    assert 70 < hit.end_frame - hit.start_frame < 140
    assert hit.end == pytest.approx(hit.end_frame / 60.0)
    back = lib.search(
        f"{hit.motion}:{hit.start_frame}-{hit.end_frame}", method="web", max_distance=0.2
    )[1]
    assert abs(back.start_frame - 10) <= 6


def test_a_motion_that_was_added_is_found_once_its_webs_are_built(tmp_path):
    lib = ml.Library.create(tmp_path / "grow.loom")
    lib.add_motion(ml.demo.clip("kick_front_mid_right_p0"))
    WebStore(lib.store).build(workers=1)
    assert len(lib.search(QUERY, method="web")) == 1
    lib.add_motion(ml.demo.clip("kick_front_mid_right_p1"))
    with pytest.raises(LibraryError, match="has no web with 1 of 2 motions; build it with"):
        lib.search(QUERY, method="web", max_distance=0.2)
    WebStore(lib.store).build(workers=1)
    assert len(lib.search(QUERY, method="web", max_distance=0.2)) == 2


def test_a_query_longer_than_any_motion_finds_itself_at_most(lib):
    assert [hit.motion for hit in lib.search("walk_p0", method="web")] == ["walk_p0"]
    long = ml.demo.clip("walk_p0").resample(15)
    stretched = ml.Motion(long.skeleton, long.rotations, long.root, 5.0)
    assert len(lib.search(stretched, method="web", max_distance=10.0)) == 0


@pytest.mark.parametrize(
    ("query", "options", "message"),
    [
        (QUERY, {"label": "kick_"}, "no motion is labeled 'kick_'"),
        (QUERY, {"max_distance": -1.0}, "max_distance must be at least 0"),
        ("walk_p0:5-6", {}, "at least two frames"),
        (QUERY, {"distance": "nothing"}, "nothing"),
    ],
)
def test_invalid_input_is_reported(lib, query, options, message):
    with pytest.raises((InvalidInput, LibraryError), match=message):
        lib.search(query, ml.SearchSettings.of({"method": "web", **options}))


@pytest.mark.slow  # kernels are compiled for another slope
def test_all_options_of_the_web_can_be_set(tmp_path):
    """In Python and on the command line; another option, another web."""
    lib = ml.Library.create(tmp_path / "few.loom")
    for name in NAMES[:3]:
        lib.add_motion(ml.demo.clip(name))
    options = {
        "alpha": 0.3, "max_slope": 2, "chain_seconds": 0.3, "bridge_seconds": 1.5, "squares": True,
        "rules": "paper",
    }  # fmt: skip
    lib.webs.build(workers=1)
    usual = lib.search(QUERY, method="web", max_distance=0.2)
    with pytest.raises(LibraryError, match=r"with these options; .* --alpha 0.3 --max-slope 2"):
        lib.search(QUERY, method=ml.MatchWeb(**options))
    words = ["--alpha", "0.3", "--max-slope", "2", "--chain-seconds", "0.3", "--bridge-seconds",
             "1.5", "--squares", "--rules", "paper"]  # fmt: skip
    done = CliRunner().invoke(app, ["web", str(lib.path), "build", *words, "--json"])
    assert done.exit_code == 0 and json.loads(done.stdout)["built"] == 6
    hits = lib.search(QUERY, method=ml.MatchWeb(**options), max_distance=0.2)
    assert {hit.motion for hit in usual} == set(NAMES[:3])
    assert len({hit.motion for hit in hits}) > 1
    assert [hit.distance for hit in hits] != [hit.distance for hit in usual]
    for hit in hits:  # no frame corresponds to more than two
        for side in hit.alignment.T:
            assert np.unique(side, return_counts=True)[1].max() <= 2
    more = ["search", str(lib.path), QUERY, "--method", "web", "--max-distance", "0.2", *words]
    shown = CliRunner().invoke(app, [*more, "--json"])
    assert len(json.loads(shown.stdout)) == len(hits)


def test_the_preset_of_the_paper_is_a_web_of_its_own(lib):
    with pytest.raises(LibraryError, match="motionloom web .* --squares --rules paper"):
        lib.search(QUERY, ml.SearchSettings.kg04())
    lib.webs.build(ml.WebSettings.kg04(), workers=1)
    family = lib.family(QUERY, ml.FamilySettings.kg04(join_distance=0.1))
    assert family.squares and {node.motion[:4] for node in family.nodes} == {"kick"}
    paper = ml.SearchSettings.kg04(join_distance=0.1, exclude_query=True)
    texts = {hit.text for hit in lib.search(QUERY, paper)}
    assert texts >= {hit.text for hit in family.matches} and len(texts) >= 5
    costs = {frozenset((edge.a, edge.b)): edge.cost for edge in family.edges}
    for number, distance in enumerate(family.distance_to_query()):
        path = family.path_to_query(number)
        steps = [costs[frozenset(pair)] for pair in zip(path, path[1:], strict=False)]
        assert distance == pytest.approx(sum(step**2 for step in steps) ** 0.5, abs=1e-6)
    few = lib.search(QUERY, ml.SearchSettings.of({"tiers": 2}, start=paper))
    assert len(few) <= len(texts)


def test_a_library_without_webs_says_how_to_build_them(tmp_path):
    lib = ml.Library.create(tmp_path / "bare.loom")
    lib.add_motion(ml.demo.clip("walk_p0"))
    for verb in (lib.search, lib.family):
        with pytest.raises(LibraryError, match="motionloom web .*bare.loom build"):
            verb("walk_p0:10-40", method="web")


def test_the_commands_search_the_web(lib):
    words = [str(lib.path), QUERY, "--method", "web", "--json"]
    rows = CliRunner().invoke(app, ["search", *words, "--tiers", "all", "--max-distance", "0.1"])
    assert rows.exit_code == 0, rows.output
    graph = CliRunner().invoke(app, ["family", *words, "--join-distance", "0.1"])
    nodes = json.loads(graph.stdout)["nodes"]
    assert len(nodes) == len(json.loads(rows.stdout)) > 5
