"""Families: matches become queries; duplicates, tiers, distances."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest

import motionloom as ml
from motionloom.alignment import align_in_region, valid_region
from motionloom.errors import InvalidInput, MissingExtra
from motionloom.features import distance_matrix
from motionloom.search import Match, Node, grow_family
from motionloom.search.match_graph.family import ClearCorrespondence
from motionloom.search.query import as_query

FPS = 30.0


def hit(motion, start, end, distance=0.1):
    path = np.array([[0, start], [1, end - 1]])
    return Match(motion, start, end, start / FPS, end / FPS, distance, alignment=path)


def grown(answers, **options):
    """A family from a table: motion of the node -> matches."""
    return grow_family(
        Node("q", 0, 100, 0), "q:0-100", lambda node: answers.get(node.motion, []), **options
    )


def test_matches_become_queries_until_nothing_new_appears():
    answers = {
        "q": [hit("q", 0, 100, 0.0), hit("a", 0, 100, 0.1)],
        "a": [hit("q", 0, 100, 0.1), hit("b", 0, 100, 0.1)],
        "b": [hit("c", 0, 100, 0.1), hit("a", 0, 100, 0.1)],
    }
    family = grown(answers)
    assert [(node.motion, node.tier) for node in family.nodes] == [
        ("q", 0), ("a", 1), ("b", 2), ("c", 3),
    ]  # fmt: skip
    np.testing.assert_allclose(family.distance_to_query(), [0.0, 0.1, 0.2, 0.3])
    assert len(family.edges) == 3
    assert [match.tier for match in family.matches] == [1, 2, 3]
    assert [match.distance for match in family.matches] == pytest.approx([0.1, 0.2, 0.3])
    assert [node.motion for node in grown(answers, tiers=1).nodes] == ["q", "a"]
    assert [node.motion for node in grown(answers, tiers=2).nodes] == ["q", "a", "b"]
    assert len(grown(answers, max_nodes=2).nodes) == 3


def test_the_distance_is_that_of_the_shortest_path():
    family = grown(
        {
            "q": [hit("a", 0, 100, 0.1), hit("b", 0, 100, 0.5)],
            "a": [hit("b", 0, 100, 0.2)],
        }
    )
    np.testing.assert_allclose(family.distance_to_query(), [0.0, 0.1, 0.3])


@pytest.mark.parametrize(
    ("start", "end", "nodes", "edges"),
    [
        (0, 100, 2, 2),  # the same again: an edge, no node
        (10, 110, 2, 2),  # shares 90 %: the same
        (21, 121, 2, 1),  # between 20 and 80 %: dropped
        (79, 179, 2, 1),
        (81, 181, 3, 2),  # shares 19 %: new
        (300, 400, 3, 2),
    ],
)
def test_overlap_decides_which_matches_are_new(start, end, nodes, edges):
    family = grow_family(
        Node("q", 0, 100, 0),
        "q",
        lambda node: {
            "q:0-100": [hit("a", 0, 100), hit("x", 0, 100)],
            "x:0-100": [hit("a", start, end)],
        }.get(node.text, []),
    )
    assert len(family.nodes) == nodes + 1
    assert len(family.edges) == edges + 1


def test_ranges_of_duplicates_are_averaged():
    answers = {"q": [hit("a", 100, 200), hit("b", 0, 100)], "b": [hit("a", 110, 206)]}
    family = grown(answers, average_ranges=True)
    assert family.nodes[1].text == "a:105-203"
    match = next(match for match in family.matches if match.motion == "a")
    assert (match.start_frame, match.end_frame) == (105, 203)
    assert match.start == pytest.approx(105 / FPS)


@pytest.mark.parametrize("start", [20, 50, 79])
def test_all_that_the_query_finds_are_nodes(start):
    """The rule on overlaps is for later queries; cyclic motions overlap themselves."""
    family = grown({"q": [hit("a", 0, 100), hit("a", start, start + 100)]})
    assert [node.start_frame for node in family.nodes] == [0, 0, start]


def test_alignments_fit_the_ranges_that_nodes_have_in_the_end():
    along = np.column_stack([np.arange(100), np.arange(100, 200)])
    first = replace(hit("a", 100, 200), alignment=along)
    answers = {"q": [first, hit("b", 0, 100)], "b": [hit("a", 110, 206)]}
    family = grown(answers, average_ranges=True)
    edge = family.edges[0]
    a, b = family.nodes[edge.a], family.nodes[edge.b]
    assert (a.text, b.text) == ("q:0-100", "a:105-203")
    assert edge.alignment[0].tolist() == [0, 0]
    assert edge.alignment[-1].tolist() == [99, 97]
    inner = edge.alignment[(edge.alignment[:, 0] > 5) & (edge.alignment[:, 0] < 99)]
    np.testing.assert_array_equal(inner[:, 1] + 105, inner[:, 0] + 100)
    assert (np.diff(edge.alignment, axis=0) >= 0).all()


def test_far_members_are_aligned_by_way_of_near_ones():
    def warped(name, power):
        frames = np.arange(100)
        to = np.rint(99 * (frames / 99) ** power).astype(int)
        return replace(hit(name, 0, 100), alignment=np.column_stack([frames, to]))

    family = grown({"q": [warped("a", 1.5)], "a": [warped("b", 1.5)]})
    far = next(match for match in family.matches if match.motion == "b")
    assert family.path_to_query(2) == (0, 1, 2)
    frames = far.alignment[:, 0]
    np.testing.assert_allclose(far.alignment[:, 1], 99 * (frames / 99) ** 2.25, atol=2.0)
    with pytest.raises(InvalidInput, match="node must be 0 to 2; got 3"):
        family.path_to_query(3)


def test_the_graph_goes_to_networkx_and_graphml(tmp_path):
    networkx = pytest.importorskip("networkx")
    family = grown({"q": [hit("a", 0, 100, 0.1)], "a": [hit("b", 7, 90, 0.2)]})
    graph = family.to_networkx()
    ways = networkx.single_source_dijkstra_path_length(graph, 0)
    np.testing.assert_allclose([ways[n] for n in range(3)], family.distance_to_query())
    path = family.write_graphml(tmp_path / "family.graphml")
    back = networkx.read_graphml(path, node_type=int)
    assert back.nodes[2] == {
        "motion": "b", "start_frame": 7, "end_frame": 90, "tier": 2,
        "distance_to_query": pytest.approx(0.3),
    }  # fmt: skip
    assert json.loads(back.edges[0, 1]["alignment"]) == family.edges[0].alignment.tolist()
    assert back.edges[1, 2]["weight"] == 0.2


def test_without_networkx_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(MissingExtra, match=r"motionloom\[graphs\]"):
        grown({}).to_networkx()


def test_the_query_stays_as_it_was_given():
    family = grown({"q": [hit("a", 0, 100)], "a": [hit("q", 4, 104)]})
    assert family.nodes[0].text == "q:0-100"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"same": 0.1, "apart": 0.5}, "0 <= apart <= same <= 1"),
        ({"tiers": 0}, "tiers must be at least 1"),
    ],
)
def test_invalid_input_is_reported(options, message):
    with pytest.raises(InvalidInput, match=message):
        grown({}, **options)


def test_ranges_stay_as_found_or_are_averaged_as_in_the_paper():
    answers = {
        "q": [hit("a", 0, 100, 0.1), hit("b", 0, 100, 0.1)],
        "a": [hit("q", 8, 108, 0.1), hit("b", 4, 104, 0.1)],
    }
    assert [node.text for node in grown(answers).nodes] == ["q:0-100", "a:0-100", "b:0-100"]
    moved = grown(answers, average_ranges=True)
    assert [node.text for node in moved.nodes] == ["q:4-104", "a:0-100", "b:2-102"]


def test_members_have_a_length_near_that_of_the_query():
    # hit() counts 30 frames to the second
    answers = {"q": [hit("a", 0, 100), hit("b", 0, 49), hit("c", 0, 201)], "a": [hit("d", 0, 40)]}
    kept = grown(answers, seconds=(50 / 30, 200 / 30))
    assert [node.motion for node in kept.nodes] == ["q", "a"]
    assert len(grown(answers).nodes) == 5


def test_a_short_match_inside_a_member_is_neither_that_member_nor_a_new_one():
    answers = {"q": [hit("a", 0, 100), hit("b", 0, 100)], "b": [hit("a", 30, 80)]}
    family = grown(answers)
    assert [(edge.a, edge.b) for edge in family.edges] == [(0, 1), (0, 2)]
    assert [node.text for node in family.nodes] == ["q:0-100", "a:0-100", "b:0-100"]


def test_squared_costs_favor_many_small_steps():
    answers = {
        "q": [hit("a", 0, 100, 0.3), hit("b", 0, 100, 0.5)],
        "a": [hit("b", 0, 100, 0.3)],
    }
    np.testing.assert_allclose(grown(answers).distance_to_query(), [0.0, 0.3, 0.5])
    family = grown(answers, squares=True)
    np.testing.assert_allclose(family.distance_to_query(), [0.0, 0.3, 0.18**0.5])
    assert family.path_to_query(2) == (0, 1, 2)
    assert [match.distance for match in family.matches] == pytest.approx([0.3, 0.18**0.5])


def test_members_that_do_not_correspond_clearly_are_excluded_or_marked():
    answers = {
        "q": [hit("a", 0, 100, 0.1), hit("b", 0, 100, 0.1)],
        "a": [hit("c", 0, 100, 0.1), hit("b", 0, 100, 0.1)],
        "b": [hit("a", 0, 100, 0.1)],
    }

    def is_clear(node, match):
        return (node.motion, match.motion) not in {("q", "b"), ("a", "c"), ("b", "a")}

    family = grown(answers, is_clear=is_clear)
    assert [node.motion for node in family.nodes] == ["q", "a", "b"]
    assert [(edge.a, edge.b) for edge in family.edges] == [(0, 1), (1, 2)]
    assert not family.unclear
    every = grown(answers, is_clear=is_clear, keep_unclear=True)
    assert [node.motion for node in every.nodes] == ["q", "a", "b", "c"]
    assert [(edge.a, edge.b) for edge in every.unclear] == [(0, 2), (1, 3)]
    assert [edge["clear"] for edge in every.to_json()["edges"]].count(False) == 2


@pytest.fixture(scope="module")
def kicks(tmp_path_factory):
    lib = ml.Library.create(tmp_path_factory.mktemp("family") / "kicks.loom")
    for height in ("low", "mid", "high"):
        for performer in (0, 1):
            lib.add_motion(ml.demo.clip(f"kick_front_{height}_right", performer=performer))
    lib.add_motion(ml.demo.clip("walk"))
    return lib


@pytest.mark.parametrize("method", ["dtw", "lazy"])
def test_a_family_of_kicks(kicks, method):
    chosen = ml.LazyGraph(k=2000) if method == "lazy" else method
    near = kicks.search("kick_front_high_right_p0", method=chosen, max_distance=0.1)
    family = kicks.family(
        "kick_front_high_right_p0", method=chosen, expansion=ml.Expansion(join_distance=0.1)
    )
    assert family.nodes[0].tier == 0
    assert len(family.nodes) >= len(near) > 1
    assert not any(node.motion.startswith("walk") for node in family.nodes)
    shape = family.to_json()
    assert set(shape) == {"query", "join_distance", "nodes", "edges"}
    assert shape["nodes"][0]["distance_to_query"] == 0.0
    assert all(
        {"a", "b", "cost", "clear", "cuts_off", "alignment"} == set(edge) for edge in shape["edges"]
    )


def test_more_tiers_reach_farther(kicks):
    matches = kicks.search("kick_front_high_right_p0", max_distance=0.06)
    more = kicks.search(
        "kick_front_high_right_p0", max_distance=0.06, expansion=ml.Expansion(tiers="all")
    )
    assert {match.tier for match in matches} == {1}
    assert {match.motion for match in matches} - {"kick_front_high_right_p0"} <= {
        match.motion for match in more
    }
    assert max(match.tier for match in more) >= 1


def test_member_lengths_bound_the_members(kicks):
    query = "kick_front_high_right_p0:10-40"
    usual, equal = (
        kicks.family(query, expansion=ml.Expansion(member_lengths=lengths, join_distance=0.12))
        for lengths in ((0.5, 2.0), (1.0, 1.0))
    )
    for family, (low, high) in ((usual, (15, 60)), (equal, (30, 30))):
        frames = [node.end_frame - node.start_frame for node in family.nodes]
        assert all(low <= count <= high for count in frames)
    assert len(equal.nodes) < len(usual.nodes)


@pytest.mark.parametrize("method", ["dtw", "lazy"])
def test_more_tiers_never_find_less(kicks, method):
    """Also without a limit of the distance: members first by their path, then the others."""
    query = "kick_front_high_right_p0:10-40"
    matches, more = (
        kicks.search(query, method=method, max=None, expansion=ml.Expansion(tiers=tiers))
        for tiers in (1, "all")
    )
    assert more[0].text == query
    assert [match.distance for match in more] == sorted(match.distance for match in more)
    for match in matches:
        assert any(
            match.motion == other.motion
            and min(match.end_frame, other.end_frame) - max(match.start_frame, other.start_frame)
            > 0.4 * (match.end_frame - match.start_frame)
            for other in more
        )


def test_a_query_from_outside_is_a_node_of_its_own(kicks):
    clip = ml.demo.clip("kick_front_high_right", performer=0)
    family = kicks.family(clip, expansion=ml.Expansion(join_distance=0.1))
    assert family.nodes[0].motion not in kicks.names
    assert any(node.motion == "kick_front_high_right_p0" for node in family.nodes[1:])


def test_families_satisfy_the_second_criterion(kicks):
    """By default, edges without an alignment in the valid region are excluded."""
    usual, every = (
        kicks.family(
            "kick_front_high_right_p0:10-60",
            max=30,
            expansion=ml.Expansion(join_distance=0.35, clear=clear),
        )
        for clear in (True, False)
    )
    assert not usual.unclear and every.unclear
    assert len(usual.edges) < len(every.edges)
    check = ClearCorrespondence(kicks.store, as_query(kicks.store, every.nodes[0].text))
    for edge in every.unclear:  # the ranges of members have moved a little since
        a, b = (every.nodes[n] for n in (edge.a, edge.b))
        if b.tier > 0:
            matrix = distance_matrix(
                *(kicks[n.motion][n.start_frame : n.end_frame] for n in (a, b))
            )
            result = align_in_region(matrix, valid_region(matrix))
            assert result is None or not check(a, hit(b.motion, b.start_frame, b.end_frame))
