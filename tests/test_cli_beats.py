"""``motionloom beats`` and ``motionloom movements``."""

import json

import numpy as np
import pytest
from commands import run

import motionloom as ml
from motionloom.errors import InvalidInput
from motionloom.plots.rhythm import beats_figure, write_beats, write_transition_graph


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rhythm")
    lib = ml.Library.create(folder / "dances.loom")
    for seed in (0, 1):
        motion = ml.demo.clip("dance_groove", seed=seed)
        lib.add_motion(motion, name=f"groove_{seed}", labels=["groove"])
    lib.add_motion(ml.demo.clip("sit_stand"), name="sit")
    for part in ml.demo.couple():
        lib.add_motion(part.motion, name=part.name)
    return folder


def test_beats_as_json_and_picture(place, tmp_path):
    done = run("beats", f"{place}/dances.loom:groove_0", "-o", tmp_path / "b.png", "--json")
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    assert {"beats", "period", "phase", "bpm", "confidence", "alternatives"} <= set(answer)
    assert answer["bpm"] * answer["period"] == pytest.approx(60.0)
    assert 0.0 <= answer["phase"] < answer["period"]
    assert np.all(np.diff(answer["beats"]) > 0.0)
    assert (tmp_path / "b.png").stat().st_size > 5000


def test_a_couple_and_a_motion_without_rhythm(place):
    both = run("beats", f"{place}/dances.loom:waltz_leader_p0",
               f"{place}/dances.loom:waltz_follower_p1")  # fmt: skip
    assert both.exit_code == 0 and "beats, one every" in both.stdout
    none = run("beats", f"{place}/dances.loom:sit")
    assert none.exit_code == 0 and "no rhythm: confidence 0." in none.stdout
    assert "best estimate" in none.stderr and "relative strength" in none.stderr


def test_graphs_are_built_edited_and_drawn(place, tmp_path):
    lib, first, second = place / "dances.loom", tmp_path / "a.json", tmp_path / "b.json"
    done = run("movements", lib, "--label", "groove", "--meter", 4, "-o", first, "-o",
               tmp_path / "a.png", "-o", tmp_path / "a.graphml", "--json")  # fmt: skip
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    assert answer["meter"] == 4 and answer["dead_ends"] == []
    edge = answer["edges"][0]
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps([{"rename": {"m2": "spin"}}]))
    way = f"{edge['from']}:{edge['to']}"
    done = run("movements", lib, "--graph", first, "--weigh", f"{way}:3", "--add", f"{way}:0.5",
               "--rules", rules, "-o", second)  # fmt: skip
    assert done.exit_code == 0, done.output
    edited = json.loads(second.read_text())
    assert edited["nodes"][1]["name"] == "spin"
    assert len(edited["cuts"]) == answer["movements"]
    done = run("movements", lib, "--graph", first, "--remove", way, "-o", second)
    assert len(json.loads(second.read_text())["edges"]) == len(answer["edges"]) - 1
    assert (tmp_path / "a.png").stat().st_size > 5000
    couple = run("movements", lib, "--takes", "waltz_leader_p0+waltz_follower_p1", "--json")
    assert json.loads(couple.stdout)["meter"] == 3


def test_errors_are_one_line(place, tmp_path):
    lib = place / "dances.loom"
    wrong = run("movements", lib, "--label", "groove", "--meter", 4, "--add", "m1-m2")
    assert isinstance(wrong.exception, InvalidInput)
    assert "a transition must be written as FROM:TO:LIKELIHOOD" in str(wrong.exception)
    wrong = run("beats", f"{lib}:groove_0", "-o", tmp_path / "b.txt")
    assert "the suffix must be one of .png" in str(wrong.exception)
    wrong = run("movements", lib, "--takes", "sit")
    assert "no take has a rhythm" in str(wrong.exception)
    wrong = run("movements", lib, "--label", "groove", "--meter", 99)
    assert "a movement of 99 beats needs 100 beats" in str(wrong.exception)
    assert not list(tmp_path.iterdir())


def test_pictures_of_motions_without_beats(tmp_path):
    pose = ml.demo.clip("walk")[:1]
    still = ml.concatenate([pose] * 90)
    sheet = beats_figure(still, ml.beats(still), title="still")
    assert "no rhythm to speak of" in sheet.axes[0].get_title(loc="left")
    assert write_beats(still, ml.beats(still), tmp_path / "still.svg").exists()
    with pytest.raises(InvalidInput, match="the suffix must be one of .png"):
        write_transition_graph(None, tmp_path / "g.gif")
