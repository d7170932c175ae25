"""Join distances that choose themselves, edges that members hang on, and families that are cut."""

import json

import numpy as np
import pytest
from commands import ran
from naive.match_graph import cut_off, family_size

import motionloom as ml
from motionloom.errors import InvalidInput
from motionloom.library import family_sweep
from motionloom.plots.match_graph import write_sweep
from motionloom.search import Edge, FamilySettings, Match, Node, grow_family
from motionloom.search.match_graph.members import with_cut_edges
from motionloom.search.match_graph.sweep import LimitSweep, best_plateau, limit_sweep

NO_PAIRS = np.empty((0, 2), np.int64)


def random_graph(rng, count, more):
    """A connected graph: edges (a, b, cost), none twice."""
    edges = {}
    for b in range(1, count):
        edges[int(rng.integers(b)), b] = float(rng.uniform(0.01, 0.2))
    for _ in range(more):
        a, b = sorted(int(n) for n in rng.choice(count, 2, replace=False))
        edges.setdefault((a, b), float(rng.uniform(0.01, 0.2)))
    return [(a, b, cost) for (a, b), cost in edges.items()]


def finder(edges, limit=np.inf):
    """The matches of a node of a graph, whose nodes are whole motions."""

    def find(node):
        own = int(node.motion[1:])
        for a, b, cost in edges:
            if own in (a, b) and cost <= limit:
                other = b if own == a else a
                pairs = np.column_stack([np.arange(10), np.arange(10)])
                yield Match(f"m{other}", 0, 10, 0.0, 1.0, cost, alignment=pairs)

    return find


@pytest.mark.parametrize(("count", "more"), [(2, 0), (12, 3), (30, 8), (30, 60)])
def test_cut_edges_are_those_whose_removal_splits_the_graph(rng, count, more):
    edges = random_graph(rng, count, more)
    marked = with_cut_edges(count, [Edge(a, b, cost, NO_PAIRS) for a, b, cost in edges])
    assert [edge.cuts_off for edge in marked] == cut_off(count, edges)


@pytest.mark.parametrize(("count", "more"), [(2, 0), (12, 3), (40, 30)])
def test_one_sweep_gives_the_families_of_all_limits(rng, count, more):
    edges = random_graph(rng, count, more)
    query = Node("m0", 0, 10, 0)
    sweep = limit_sweep(query, "m0", finder(edges), largest=0.25, complete=True)
    tried = np.linspace(0.0, 0.25, 26)
    assert sweep.sizes(tried).tolist() == [family_size(count, edges, limit) for limit in tried]
    for limit in (0.05, 0.1, 0.15):  # and those that are grown at a limit
        family = grow_family(query, "m0", finder(edges, limit))
        assert len(family.nodes) - 1 == sweep.sizes([limit])[0]


def test_the_sweep_ends_once_the_plateau_is_clear():
    # Four members near the query; then one that brings in fifty.
    edges = [(0, k, 0.05 + 0.005 * k) for k in range(1, 5)] + [(0, 5, 0.16)]
    edges += [(5, k, 0.02) for k in range(6, 56)]
    query = Node("m0", 0, 10, 0)
    short, long = (
        limit_sweep(query, "m0", finder(edges), largest=0.25, complete=complete)
        for complete in (False, True)
    )
    assert short.plateau == long.plateau == (0.07, 0.16)
    assert short.proposed == pytest.approx(np.sqrt(0.07 * 0.16))
    assert len(short.limits) == 5 and short.ended
    assert len(long.limits) == 55 and not long.ended
    assert long.to_json()["sizes"][-2:] == [4, 55]


def test_plateaus_near_the_usual_distance_are_preferred():
    assert best_plateau([0.02, 0.03, 0.1, 0.15], 0.16) == (0.03, 0.1)
    assert best_plateau([0.01, 0.03, 0.08, 0.16, 0.17], 0.25) == (0.08, 0.16)
    assert best_plateau([1.0, 3.0, 8.0], np.inf, in_meters=False) == (1.0, 3.0)
    assert best_plateau([], 0.25, fallback=0.08) == (0.08, 0.08)
    assert best_plateau([0.3], 0.25, fallback=0.08) == (0.08, 0.08)


def test_members_reached_only_through_a_wrong_member_go_with_it():
    edges = [(0, 1, 0.1), (1, 2, 0.1), (2, 3, 0.1), (0, 4, 0.1), (4, 1, 0.1)]
    family = grow_family(Node("m0", 0, 10, 0), "m0", finder(edges))
    number = {node.motion: k for k, node in enumerate(family.nodes)}
    assert [edge.cuts_off for edge in family.cut_edges] == [2, 1]
    names = {node.motion for node in family.without([number["m2"]]).nodes}
    assert names == {"m0", "m1", "m4"}  # m3 hung on m2
    cut = family.without([number["m1"]])
    assert {node.motion for node in cut.nodes} == {"m0", "m4"}
    assert {match.motion for match in cut.matches} == {"m4"}
    with pytest.raises(InvalidInput, match=r"node must be 1 to 4 \(0 is the query\); got 0"):
        family.without([0])


@pytest.fixture(scope="module")
def lib(tmp_path_factory):
    lib = ml.Library.create(tmp_path_factory.mktemp("sweep") / "kicks.loom")
    for height in ("low", "mid", "high"):
        for performer in (0, 1):
            lib.add_motion(ml.demo.clip(f"kick_front_{height}_right", performer=performer))
    lib.add_motion(ml.demo.clip("walk"))
    lib.add_motion(ml.demo.clip("punch_mid_left"))
    return lib


QUERY = "kick_front_mid_right_p0"


def test_a_family_chooses_its_join_distance(lib):
    family = lib.family(QUERY)
    low, high = family.sweep.plateau
    assert low <= family.join_distance <= high
    assert {node.motion for node in family.nodes} == {n for n in lib.names if "kick" in n}
    again = lib.family(QUERY, expansion=ml.Expansion(join_distance=family.join_distance))
    assert again.sweep is None
    assert [node.text for node in again.nodes] == [node.text for node in family.nodes]
    swept = family_sweep(lib, QUERY, FamilySettings(max=7))
    assert swept.plateau == pytest.approx(family.sweep.plateau)


def test_a_family_has_a_join_distance_and_no_max_distance(lib):
    assert lib.family(QUERY, expansion=ml.Expansion(join_distance=0.05)).join_distance == 0.05
    assert FamilySettings.of({"join_distance": 0.05}).expansion.join_distance == 0.05
    with pytest.raises(InvalidInput, match="FamilySettings has no max_distance"):
        lib.family(QUERY, max_distance=0.05)
    with pytest.raises(InvalidInput, match="FamilySettings has no sharpness"):
        lib.family(QUERY, sharpness=1)


def test_verdicts_on_members(lib):
    family = lib.family(QUERY)
    wrong = family.matches[0]
    less = lib.family(QUERY, feedback=ml.Feedback(reject=wrong))
    assert not any(node.text == wrong.text for node in less.nodes)
    small = lib.family(QUERY, expansion=ml.Expansion(join_distance=0.001))
    assert len(small.nodes) == 1
    far = lib.family(
        QUERY,
        expansion=ml.Expansion(join_distance=0.001),
        feedback=ml.Feedback(accept=[wrong.text]),
    )
    assert [node.motion for node in far.nodes] == [QUERY, wrong.motion]
    assert far.edges[0].cost > 0.001


def test_the_command_reports_the_limit_and_draws_the_sizes(lib, tmp_path):
    picture = tmp_path / "sweep.png"
    result = ran("family", lib.path, QUERY, "--sweep", picture, "--max", 7)
    assert "join distance 0." in result.stderr and "--join-distance" in result.stderr
    assert picture.read_bytes().startswith(b"\x89PNG")
    report = json.loads(ran("family", lib.path, QUERY, "--json").stdout)
    assert report["sweep"]["proposed"] == pytest.approx(report["join_distance"])
    assert all("cuts_off" in edge for edge in report["edges"])
    given = json.loads(ran("family", lib.path, QUERY, "--join-distance", 0.05, "--json").stdout)
    assert given["join_distance"] == 0.05 and "sweep" not in given


def test_an_empty_sweep_is_drawn(tmp_path):
    sweep = LimitSweep.of("kick", [], [], 0.25, fallback=0.08)
    assert sweep.proposed == 0.08
    assert write_sweep(sweep, tmp_path / "empty.png", used=0.1).stat().st_size > 1000
