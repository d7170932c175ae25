"""Pictures of webs, and the command that draws them."""

import json

import numpy as np
import pytest
from commands import run

import motionloom as ml
from motionloom.errors import InvalidInput
from motionloom.plots.distance_matrix import MATCH, match_web_figure, write_match_web


@pytest.fixture(scope="module")
def kicks(tmp_path_factory):
    lib = ml.Library.create(tmp_path_factory.mktemp("pictures") / "kicks.loom")
    for name in ("kick_front_mid_right_p0", "kick_side_high_right_p1"):
        lib.add_motion(ml.demo.clip(name))
    return lib


def test_draws_grid_region_paths_and_matches(kicks):
    whole = kicks.compare(*kicks.names)
    web = whole.web()
    part = kicks.compare(f"{kicks.names[0]}:10-60", kicks.names[1])
    hits = part.sequences(web, max_distance=0.3)
    assert len(hits) == 1
    assert 0 <= hits[0].start < hits[0].end <= web.shape[1]
    assert hits[0].path[0, 0] == 0 and hits[0].path[-1, 0] == 49
    figure = match_web_figure(whole.matrix(), web, names=("a", "b"), query=part.rows, matches=hits)
    left, right = figure.axes
    assert len(left.images) == 2 and len(right.images) == 1
    layer = np.asarray(left.images[1].get_array())
    assert 0.02 < (layer[..., 3] == 1.0).mean() < 0.2  # minima
    assert [line.get_color() for line in right.lines] == [MATCH]
    chains = right.collections[1].get_segments()
    assert len(chains) == web.chain_count
    assert right.get_title().endswith("1 match")


def test_a_motion_with_itself_omits_trivial_matches(kicks):
    name = kicks.names[0]
    pair = kicks.compare(f"{name}:10-60", name)
    web = pair.web()
    assert all(each.start != 10 for each in pair.sequences(web, max_distance=1.0))
    assert (web.cells[:, 0] != web.cells[:, 1]).all()


def test_the_command_draws_and_reports(kicks, tmp_path):
    result = run(
        "web", kicks.path, *kicks.names, "-o", tmp_path / "web.png", "--query", "10-60",
        "--max-distance", 0.3, "--json",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert facts["chains"] > 0 and len(facts["matches"]) == 1
    assert (tmp_path / "web.png").read_bytes().startswith(b"\x89PNG")
    result = run("web", kicks.path, *kicks.names, "-o", tmp_path / "web.svg")
    assert result.exit_code == 0 and "saved a picture of" in result.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["kick_front_mid_right_p0", "kick_side_high_right_p1"], "needs an output file"),
        (["build", "-o", "x.png"], "are for the web of two motions"),
        (["draw"], "expects the word build or the names of two motions"),
        (["kick_front_mid_right_p0", "nobody", "-o", "x.png"], "no motion 'nobody'"),
        (
            ["kick_front_mid_right_p0", "kick_side_high_right_p1", "-o", "x.gif"],
            "suffix must be one of .png",
        ),
        (
            [
                "kick_front_mid_right_p0",
                "kick_side_high_right_p1",
                "-o",
                "x.png",
                "--query",
                "5-9999",
            ],
            "range must lie within",
        ),
    ],
)
def test_mistakes_are_explained(kicks, words, message):
    result = run("web", kicks.path, *words)
    assert result.exit_code != 0
    assert message in str(result.exception)


def test_grid_and_web_must_fit(kicks, tmp_path):
    pair = kicks.compare(*kicks.names)
    with pytest.raises(InvalidInput, match="must have the same shape"):
        write_match_web(pair.matrix()[1:], pair.web(), tmp_path / "web.png")
