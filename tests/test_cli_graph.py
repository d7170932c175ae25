"""The commands graph and walk: their output, files and errors."""

from __future__ import annotations

import csv
import json

import pytest
from click.testing import CliRunner

import motionloom as ml
from motionloom.cli import app
from motionloom.errors import MotionloomError

QUALITY = {"foot_slide_m", "floor_penetration_m", "seam_acceleration_ratio"}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    lib = ml.Library.create(tmp_path_factory.mktemp("graph") / "walks.loom")
    for name in ("walk", "walk_left", "walk_right"):
        label = "turn" if name != "walk" else "straight"
        lib.add_motion(ml.demo.clip(name), name=name, labels=["walk", label])
    lib.add_motion(ml.demo.clip("kick_front_high_right"), name="kick", labels=["kick"])
    return lib.path


def run(*words, code=0):
    result = CliRunner().invoke(app, [str(word) for word in words])
    if code == 0:
        assert result.exit_code == 0, result.output + repr(result.exception)
        return result
    assert isinstance(result.exception, MotionloomError), result.output
    return str(result.exception)


def test_build_info_picture_and_export_use_the_same_graph(place, tmp_path):
    built = json.loads(run("graph", place, "build", "--label", "walk", "--json").stdout)
    keys = {"motions", "frames", "transitions", "nodes", "edges", "removed"}
    assert keys | {"transitions_per_minute"} <= set(built)
    assert built["transitions"] > 0
    answer = json.loads(run("graph", place, "info", "--json").stdout)
    assert answer == built
    text = run("graph", place, "info").stdout
    assert f"{built['transitions']} transitions" in text
    assert len(text.splitlines()) <= 30
    counts = [int(line.split("│")[-2]) for line in text.splitlines() if line.startswith("│")]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > 0
    run("graph", place, "picture", "-o", tmp_path / "all.png")
    run("graph", place, "picture", "-o", tmp_path / "two.png", "--pair", "walk,walk_left")
    assert all((tmp_path / f"{name}.png").stat().st_size > 5000 for name in ("all", "two"))
    run("graph", place, "export", "-o", tmp_path / "walks.mogra")
    assert (tmp_path / "walks.mogra").read_text().startswith("Transitions: ")
    run("graph", place, "export", "-o", tmp_path / "walks.json")
    listed = json.loads((tmp_path / "walks.json").read_text())["list"]
    assert len(listed) == built["transitions"]


def test_info_builds_nothing_and_reports_missing_graphs(tmp_path, monkeypatch):
    lib = ml.Library.create(tmp_path / "walks.loom")
    for name in ("walk", "walk_left", "walk_right"):
        lib.add_motion(ml.demo.clip(name), name=name)
    frames = sum(len(lib[name]) for name in lib.names)
    with monkeypatch.context() as patch:
        patch.setattr("motionloom.motion_graph.artifact.motion_graph", None)
        answer = json.loads(run("graph", lib.path, "info", "--json").stdout)
        assert (answer["motions"], answer["frames"], answer["transitions"]) == (3, frames, None)
        text = run("graph", lib.path, "info", "--only", "walk,walk_left").stdout
        assert text.startswith("2 motions, ") and "3 pairs of motions" in text
        candidate = "walk:30,walk_left:42"
        text = run("graph", lib.path, "remove", "--transition", candidate).stdout
        assert "built" in text and "1 transition removed" in text
    lib.motion_graph(only=["walk", "walk_left"])
    answer = json.loads(run("graph", lib.path, "info", "--only", "walk,walk_left", "--json").stdout)
    assert answer["motions"] == 2 and answer["transitions"] > 0


def test_a_walk_is_written_with_its_quality_and_its_log(place, tmp_path):
    run("graph", place, "build", "--label", "walk")
    out = tmp_path / "walk.bvh"
    words = ("walk", place, "--seconds", 20, "--seed", 1, "-o", out)
    answer = json.loads(run(*words, "--log", tmp_path / "log.csv", "--json").stdout)
    assert (answer["frames"], answer["fps"], answer["file"]) == (600, 30.0, str(out))
    assert set(answer["quality"]) >= QUALITY
    assert answer["quality"]["seam_acceleration_ratio"] < 1.5
    assert answer["quality"]["foot_slide_m"] < 0.015
    assert {source["motion"] for source in answer["sources"]} <= {"walk", "walk_left", "walk_right"}
    assert len(ml.load(out)) == 600
    with (tmp_path / "log.csv").open() as file:
        assert len(list(csv.DictReader(file))) == answer["transitions"]
    first = out.read_bytes()
    run(*words)
    assert out.read_bytes() == first


def test_a_walk_follows_a_path_file_and_other_goals(place, tmp_path):
    run("graph", place, "build", "--label", "walk")
    (tmp_path / "path.csv").write_text("x,z\n0,0\n0,3\n0.3,6\n")
    answer = json.loads(
        run(
            "walk", place, "--path", tmp_path / "path.csv", "-o", tmp_path / "p.bvh", "--json"
        ).stdout
    )
    end = ml.load(tmp_path / "p.bvh").root[-1]
    assert answer["frames"] > 60 and abs(end[2] - 6.0) < 1.0
    run("walk", place, "--goal", "0,6", "--seconds", 6, "-o", tmp_path / "g.glb")
    assert (tmp_path / "g.glb").stat().st_size > 5000
    run("walk", place, "--timeline", "turn:3", "--timeline", "straight:3", "-o", tmp_path / "l.bvh")
    assert len(ml.load(tmp_path / "l.bvh")) == 180


def test_transitions_of_a_file_are_imported(place, tmp_path):
    built = json.loads(run("graph", place, "build", "--label", "walk", "--json").stdout)
    file = tmp_path / "walks.mogra"
    run("graph", place, "export", "-o", file)
    words = ("graph", place, "import", file, "--label", "walk", "--window", "directed")
    answer = json.loads(run(*words, "--json").stdout)
    assert answer["transitions"] == built["transitions"]
    assert json.loads(run("graph", place, "info", "--json").stdout)["transitions"] > 0
    run("walk", place, "--seconds", 2, "-o", tmp_path / "w.bvh")  # the graph imported
    text = run("graph", place, "import", file, "--label", "walk").output
    assert "0: walk" in text
    file.write_text(file.read_text().replace("Transitions: ", "Transitions: 9", 1))
    text = run("graph", place, "import", file, "--label", "walk").output
    assert "the header announces" in text
    assert "needs a FILE" in run("graph", place, "import", code=2)
    assert "needs a FILE" in run("graph", place, "info", file, code=2)
    gone = run("graph", place, "import", tmp_path / "gone.mogra", code=2)
    assert "gone.mogra: No such file" in gone


def test_a_preset_builds_the_graph_of_the_dissertation(place):
    words = ("graph", place, "build", "--label", "walk", "--preset", "kr14")
    answer = json.loads(run(*words, "--json").stdout)
    assert answer["threshold"] == 15.0 and answer["transitions"] > 0
    again = ml.Library(place).graphs.settings
    assert (again.rules.window, again.rules.blend_seconds) == ("kr14", 1.0)
    assert again == ml.GraphSettings.kr14(label=("walk",))
    assert again.sector_seconds == pytest.approx(50 / 30)
    same = ml.Library(place).motion_graph(ml.GraphSettings.kr14(label="walk"))
    assert len(same) == answer["transitions"]


def test_weights_are_learned_from_tags_and_used(place, tmp_path):
    rows = ["a,b,similar"]
    rows += [f"walk:{k},walk:{k + 1},1" for k in range(15)]
    rows += [f"walk:{k},kick:{k + 20},0" for k in range(15)]
    (tmp_path / "tags.csv").write_text("\n".join(rows))
    weights = tmp_path / "weights.json"
    words = ("graph", place, "learn", "--tags", tmp_path / "tags.csv", "--max-weights", 12)
    answer = json.loads(run(*words, "-o", weights, "--json").stdout)
    assert answer["tagged"] == 30 and 1 <= len(answer["weights"]) <= 12
    assert answer["auc"] is None and answer["equal_auc"] is None  # two motions: none can be dropped
    text = run(*words, "-o", tmp_path / "other.json", "--learn-method", "tang")
    assert "12 weights from 30 tagged pairs" in text.output
    assert "too few motions have tagged poses" in text.output
    built = run("graph", place, "build", "--label", "walk", "--distance", weights, "--json")
    assert json.loads(built.stdout)["transitions"] > 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("graph", "LIB", "paint"), "action must be one of build, info"),
        (("graph", "LIB", "picture"), "graph picture needs -o FILE"),
        (("graph", "LIB", "export", "-o", "x.txt"), "graph export writes files ending in .mogra"),
        (("graph", "LIB", "picture", "-o", "x.png", "--pair", "walk"), "must name two motions"),
        (("graph", "LIB", "build", "--distance", "magic"), "no distance is called 'magic'"),
        (("graph", "LIB", "build", "--label", "swim"), "no motion is labeled 'swim'"),
        (("graph", "LIB", "build", "--only", "kick", "--max-distance", "1e-9"), "no transitions"),
        (("graph", "LIB", "learn", "-o", "x.json"), "needs --tags FILE"),
        (("walk", "LIB", "-o", "x.bvh"), "needs a duration"),
        (("walk", "LIB", "-o", "x.doc", "--seconds", "3"), "cannot write motion to x.doc"),
        (("walk", "LIB", "-o", "x.bvh", "--goal", "1"), "goal must be X,Z"),
        (
            ("walk", "LIB", "-o", "x.bvh", "--goal", "1,2"),
            "to a goal needs a duration, such as --sec",
        ),
        (("walk", "LIB", "-o", "x.bvh", "--timeline", "a", "--timeline", "b"), "LABEL:SECONDS"),
        (("walk", "LIB", "-o", "x.bvh", "--timeline", "a:b"), "LABEL:SECONDS"),
        (("walk", "LIB", "-o", "x.bvh", "--seconds", "3", "--start", "swim:3"), "no motion"),
        (("walk", "LIB/nowhere", "-o", "x.bvh", "--seconds", "3"), "no such library"),
    ],
)
def test_invalid_options_are_rejected(place, words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("graph", place, "build", "--label", "walk")
    assert message in run(*(word.replace("LIB", str(place)) for word in words), code=2)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b,similar\nwalk:3,walk:4,maybe\n", "tags.csv:2: expected NAME:FRAME"),
        ("walk:3,walk,1\n", "tags.csv:1: expected NAME:FRAME; got 'walk'"),
        ("walk:3,walk:9999,1\n", "walk has .* frames; got frame 9999"),
        ("walk:3,walk:4,1\n", "both similar and dissimilar"),
    ],
)
def test_invalid_tags_are_rejected(place, tmp_path, text, message):
    import re

    (tmp_path / "tags.csv").write_text(text)
    words = ("graph", place, "learn", "--tags", tmp_path / "tags.csv", "-o", tmp_path / "w.json")
    assert re.search(message, run(*words, code=2))


def test_errors_in_path_files_name_the_line(place, tmp_path):
    (tmp_path / "path.csv").write_text("x,z\n0,0\n0,here\n")
    words = ("walk", place, "--path", tmp_path / "path.csv", "-o", tmp_path / "x.bvh")
    assert "path.csv:3: expected x, z in meters" in run(*words, code=2)
