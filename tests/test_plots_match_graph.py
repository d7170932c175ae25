"""Pictures of match graphs: layout and drawing."""

import numpy as np
import pytest

import motionloom as ml
from motionloom.errors import InvalidInput
from motionloom.plots.match_graph import graph_layout, match_graph_figure, write_match_graph
from motionloom.search import Match, Node, grow_family


@pytest.mark.parametrize("count", [1, 2, 40])
def test_boxes_do_not_overlap(count):
    rng = np.random.default_rng(count)
    points = rng.normal(size=(count, 5))
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    places = graph_layout(distances, (1.5, 2.0))
    gaps = np.abs(places[:, None] - places)
    apart = (gaps[..., 0] > 1.49) | (gaps[..., 1] > 1.98)
    assert apart[~np.eye(count, dtype=bool)].all()
    assert places[0].tolist() == [0.0, 0.0]


def test_nodes_in_one_place_are_distinguished():
    places = graph_layout(np.zeros((6, 6)), (1.0, 1.0))
    gaps = np.abs(places[:, None] - places).max(axis=2)
    assert gaps[~np.eye(6, dtype=bool)].min() > 0.98


def test_far_nodes_are_drawn_far():
    chain = 0.1 * np.abs(np.subtract.outer(np.arange(12.0), np.arange(12.0)))
    places = graph_layout(chain, (1.0, 1.0))
    drawn = np.linalg.norm(places[:, None] - places, axis=2)
    assert np.corrcoef(drawn.ravel(), chain.ravel())[0, 1] > 0.95


def kicks():
    clips = [ml.demo.clip(f"kick_front_{height}_right") for height in ("low", "mid", "high")]
    names = [clip.name for clip in clips]
    path = np.array([[0, 0], [60, 60]])

    def find(node):
        k = names.index(node.motion)
        near = [j for j in (k - 1, k + 1) if 0 <= j < 3]
        return [
            Match(names[j], 0, len(clips[j]), 0.0, len(clips[j]) / 30, 0.05, alignment=path)
            for j in near
        ]

    return grow_family(Node(names[0], 0, len(clips[0]), 0), "low kick", find), clips


def test_every_node_has_a_figure_and_every_edge_its_cost(tmp_path):
    family, clips = kicks()
    figure = match_graph_figure(family, clips)
    words = [text.get_text() for text in figure.axes[0].texts]
    assert words.count("0.050") == 2 and words.count("query") == 1
    assert [clip.name in words for clip in clips] == [True] * 3
    heading = " ".join(text.get_text() for text in figure.texts)
    assert "2 matches, 2 edges" in heading and "tier 2" in heading
    assert write_match_graph(family, clips, tmp_path / "g.svg").read_text().count("<svg") == 1


def test_mistakes_are_explained(tmp_path):
    family, clips = kicks()
    with pytest.raises(InvalidInput, match="one clip for each of the 3 nodes .*; got 2"):
        match_graph_figure(family, clips[:2])
    with pytest.raises(InvalidInput, match="suffix must be one of .png, .svg, .pdf"):
        write_match_graph(family, clips, tmp_path / "graph.gif")
