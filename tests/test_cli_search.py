"""``motionloom search`` and ``motionloom family``."""

import json
import re
import sys

import pytest
from commands import run

import motionloom as ml
from motionloom.cli import main

KICK = "kick_front_high_right"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    lib = ml.Library.create(tmp_path_factory.mktemp("cli") / "takes.loom")
    for action in (KICK, "walk"):
        for performer in (0, 1):
            motion = ml.demo.clip(action, performer=performer)
            lib.add_motion(motion, labels=[action.split("_")[0]])
    return str(lib.path)


def found(*words):
    result = run(*words, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_search_prints_a_table(place):
    result = run("search", place, f"{KICK}_p0:10-40")
    assert result.exit_code == 0
    assert "10-40" in result.stdout and f"{KICK}_p1" in result.stdout


def test_counts_and_units_are_reported(place):
    single = run("search", place, f"{KICK}_p0:10-40", "--max", 1).stdout
    assert f"1 match of {KICK}_p0:10-40" in single and "distances in m" in single
    two = run("search", place, f"{KICK}_p0", "--max", 2, "--method", "emd").stdout
    assert f"2 matches of {KICK}_p0" in two and "distances in degrees" in two
    assert ml.Library(place).search(f"{KICK}_p0", method="scaling")[:1].unit == "degrees"


def test_defaults_can_be_switched_off(place):
    words = ("search", place, f"{KICK}_p0", "--method", "dtw-clip")
    shown = [row["distance"] for row in found(*words, "--no-joint-spread")]
    lib = ml.Library(place)
    off = lib.search(f"{KICK}_p0", method=ml.ClipDtw(joint_spread=False))
    assert shown == pytest.approx([hit.distance for hit in off])
    assert shown != pytest.approx([row["distance"] for row in found(*words)])


def test_the_help_shows_what_an_option_may_be():
    text = run("search", "--help-all").stdout
    for words in ("--index bucket|kdtree|shards", "--rank movement|distance", "[0.5,2]"):
        assert words in text
    lazy = run("search", "--method", "lazy", "--help").stdout
    assert "--rank movement|distance|sum" in lazy and "--alpha" not in lazy


def test_a_small_family_says_what_to_try(place):
    small = run("family", place, f"{KICK}_p0:10-40", "--join-distance", 0.01)
    assert re.search(r"\b1 node\b.*\b0 edges\b", small.stderr)
    assert re.search(r"--join-distance 0\.015\b.*\b0\.02\b", small.stderr)
    large = run("family", place, f"{KICK}_p0:10-40", "--join-distance", 0.5)
    assert re.search(r"\b\d+ nodes\b", large.stderr) and "--max-distance" not in large.stderr


def test_search_as_json_is_the_contract(place):
    rows = found("search", place, f"{KICK}_p0:10-40", "--max", 3)
    assert len(rows) == 3
    assert set(rows[0]) >= {
        "motion", "start_frame", "end_frame", "start", "end", "distance", "tier", "label",
    }  # fmt: skip
    assert rows[0]["distance"] == 0.0 and rows[0]["label"] == "kick"
    assert [row["distance"] for row in rows] == sorted(row["distance"] for row in rows)
    lib = ml.Library(place)
    assert rows == json.loads(json.dumps(lib.search(f"{KICK}_p0:10-40", max=3).to_json()))


def test_options_reach_the_search(place):
    query = f"{KICK}_p0:10-40"
    lazy = found("search", place, query, "--method", "lazy", "--features", "e30", "--k", 300)
    assert lazy[0]["motion"] == f"{KICK}_p0"
    walks = found("search", place, query, "--label", "walk")
    assert {row["label"] for row in walks} == {"walk"}
    assert found("search", place, query, "--label", "walk") == walks
    only = found("search", place, query, "--only", f"walk_p0,{KICK}_p1", "--weights", "equal")
    assert {row["motion"] for row in only} == {"walk_p0", f"{KICK}_p1"}
    others = found("search", place, query, "--exclude", f"{KICK}_p0", "--steps", "classic")
    assert f"{KICK}_p0" not in {row["motion"] for row in others}
    assert others == found("search", place, query, "--exclude", f"{KICK}_p0", "--steps", "classic")
    near = found("search", place, query, "--max-distance", 0.05)
    assert all(row["distance"] <= 0.05 for row in near)
    away = found("search", place, query, "--exclude-query")
    assert away[0]["distance"] > 0.0
    tiers = found("search", place, query, "--tiers", "all", "--max-distance", 0.12)
    assert {row["tier"] for row in tiers} >= {1}


def test_matches_are_exported_drawn_and_put_on_a_page(place, tmp_path):
    result = run(
        "search", place, f"{KICK}_p0:10-40", "--max", 2, "--export", tmp_path / "clips",
        "--sheet", tmp_path / "sheet.html", "--strip", tmp_path / "strip.png", "--json",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)
    clips = sorted((tmp_path / "clips").iterdir())
    assert [clip.suffix for clip in clips] == [".bvh", ".bvh"]
    for row, clip in zip(rows, clips, strict=True):
        motion = ml.load(clip)
        assert len(motion) == row["end_frame"] - row["start_frame"]
        assert row["motion"] in clip.name
    page = (tmp_path / "sheet.html").read_text(encoding="utf-8")
    assert page.count("<article") == 2 and f"{KICK}_p0:10-40" in page
    assert (tmp_path / "strip.png").read_bytes().startswith(b"\x89PNG")


def test_lengths_of_members_are_an_option(place):
    query = f"{KICK}_p0:10-40"
    nodes = found("family", place, query, "--join-distance", 0.3, "--member-lengths", "0.95,1.05")
    lengths = [node["end_frame"] - node["start_frame"] for node in nodes["nodes"]]
    assert len(lengths) > 1
    assert all(0.95 * 30 <= length <= 1.05 * 30 for length in lengths)
    hits = found("search", place, query, "--durations", "0.9,1.1")
    assert all(27 <= hit["end_frame"] - hit["start_frame"] <= 33 for hit in hits)
    wrong = run("family", place, query, "--member-lengths", "half")
    assert wrong.exit_code != 0
    assert "must be a list of numbers separated by commas; got 'half'" in str(wrong.exception)


def test_family_as_json_is_the_contract(place):
    graph = found("family", place, f"{KICK}_p0:10-40", "--join-distance", 0.12)
    assert set(graph) == {"query", "join_distance", "nodes", "edges"}
    assert graph["nodes"][0]["tier"] == 0
    assert {"motion", "start_frame", "end_frame", "distance_to_query", "tier"} == set(
        graph["nodes"][0]
    )
    assert len(graph["edges"]) >= len(graph["nodes"]) - 1 >= 1
    result = run("family", place, f"{KICK}_p0:10-40")
    assert result.exit_code == 0 and " edge" in result.output


def test_family_is_drawn_and_written_for_other_programs(place, tmp_path):
    result = run(
        "family", place, f"{KICK}_p0:10-40", "--join-distance", 0.12, "--same", 0.7, "--apart", 0.3,
        "-o", tmp_path / "graph.png", "--graphml", tmp_path / "graph.graphml", "--json",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    graph = json.loads(result.stdout)
    assert (tmp_path / "graph.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "graph.graphml").read_text().count("<node ") == len(graph["nodes"])
    for edge in graph["edges"]:
        ends = [graph["nodes"][edge[side]] for side in "ab"]
        lengths = [node["end_frame"] - node["start_frame"] for node in ends]
        assert edge["alignment"][0] == [0, 0]
        assert edge["alignment"][-1] == [length - 1 for length in lengths]
    wrong = run("family", place, "walk_p0", "-o", tmp_path / "graph.txt")
    assert "suffix must be one of .png" in str(wrong.exception)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([f"{KICK}_p0:10-11"], "at least two frames"),
        ([f"{KICK}_p0:0-99999"], "range must lie within"),
        (["walk_p0", "--method", "lazy", "--k", "0"], "k must be at least 1"),
        (["walk_p0", "--k", "5"], "k is not an option of method dtw"),
        (["walk_p0", "--method", "lazy", "--radius", "-1"], "radius must be at least 0"),
        (
            ["walk_p0", "--tiers", "some"],
            "tiers must be an integer of at least 1, or all",
        ),
        (["walk_p0", "--weights", "odd"], "weights must be one of moving, equal"),
        (["walk_p0", "--sheet", "page.txt"], "suffix must be one of .html"),
        (["walk_p0", "--strip", "strip.txt"], "suffix must be one of .png, .pdf"),
        (["walk_p0", "--label", "nothing"], "no motion is labeled 'nothing'"),
    ],
)
def test_bad_input_is_reported_in_one_line(place, words, message):
    result = run("search", place, *words)
    assert result.exit_code != 0
    assert message in f"{result.exception} {result.output}"


@pytest.mark.parametrize("command", ["search", "family"])
def test_bad_input_ends_with_code_2_and_no_traceback(place, tmp_path, command, monkeypatch, capsys):
    empty = tmp_path / "empty.loom"
    ml.Library.create(empty)
    for words in ([place, "nobody:0-10"], [str(empty), "walk:0-10"]):
        monkeypatch.setattr(sys, "argv", ["motionloom", command, *words])
        with pytest.raises(SystemExit) as stop:
            main()
        assert stop.value.code == 2
        answer = capsys.readouterr().err
        assert answer.startswith("motionloom: ") and answer.count("\n") == 1
