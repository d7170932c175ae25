"""``motionloom clean`` as a user meets it."""

import json
from dataclasses import replace
from functools import partial

import pytest
from commands import invoked
from test_clean_feet import skating

import motionloom as ml
from motionloom.cli.command import command
from motionloom.cli.library.clean import clean
from motionloom.errors import InvalidInput

run = partial(invoked, command("clean", clean))
FEET = ("--repairs", "feet")


@pytest.fixture(scope="module")
def takes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clean") / "takes"
    (folder / "slow").mkdir(parents=True)
    skating(ml.demo.clip("walk")).save(folder / "walk.bvh")
    skating(ml.demo.clip("walk_slow")).save(folder / "slow" / "walk_slow.bvh")
    return folder


def test_a_file_is_cleaned_and_its_slide_printed(takes, tmp_path):
    done = run(takes / "walk.bvh", "-o", tmp_path / "clean.bvh", *FEET)
    assert done.exit_code == 0
    assert "cm" in done.stdout
    assert "walk" in done.stdout
    cleaned, source = ml.load(tmp_path / "clean.bvh"), ml.load(takes / "walk.bvh")
    assert len(cleaned) == len(source)
    assert not (cleaned.root == source.root).all()


def test_json_holds_the_slide_before_and_after(takes, tmp_path):
    done = run(takes / "walk.bvh", "-o", tmp_path / "clean.bvh", "--json", *FEET)
    facts = json.loads(done.stdout)
    (row,) = facts["motions"]
    assert facts["failed"] == []
    assert row["slide_before_cm"] > 1.5
    assert row["slide_after_cm"] < 0.2 * row["slide_before_cm"]
    assert row["file"] == str(tmp_path / "clean.bvh")
    assert facts["slide_after_cm"] == row["slide_after_cm"]


def test_a_folder_keeps_its_shape(takes, tmp_path):
    done = run(takes, "-o", tmp_path / "out", "--json")
    facts = json.loads(done.stdout)
    assert [row["motion"] for row in facts["motions"]] == ["walk_slow", "walk"]
    assert (tmp_path / "out" / "walk.bvh").exists()
    assert (tmp_path / "out" / "slow" / "walk_slow.bvh").exists()
    text = run(takes, "-o", tmp_path / "out").stdout
    assert "mean" in text


def test_a_bad_file_does_not_stop_a_folder(takes, tmp_path):
    mixed = tmp_path / "mixed"
    mixed.mkdir()
    (mixed / "bad.bvh").write_text("HIERARCHY\n")
    (mixed / "walk.bvh").write_bytes((takes / "walk.bvh").read_bytes())
    done = run(mixed, "-o", tmp_path / "out", "--json")
    facts = json.loads(done.stdout)
    assert done.exit_code == 1
    assert len(facts["motions"]) == 1
    assert facts["failed"][0]["file"].endswith("bad.bvh")
    assert not (tmp_path / "out" / "bad.bvh").exists()


def test_thresholds_reach_the_detector(takes, tmp_path):
    strict = run(takes / "walk.bvh", "-o", tmp_path / "a.bvh", "--slow", "0.001", "--json")
    assert json.loads(strict.stdout)["motions"][0]["contacts"] < 5


def test_wrong_input_is_reported(takes, tmp_path):
    with pytest.raises(InvalidInput, match="would overwrite an input file"):
        run(takes / "walk.bvh", "-o", takes / "walk.bvh")
    with pytest.raises(InvalidInput, match="so the output must also be a folder"):
        run(takes, "-o", tmp_path / "x.bvh")
    with pytest.raises(InvalidInput, match="would overwrite an input file"):
        run(takes, "-o", takes)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidInput, match="no motion files"):
        run(tmp_path / "empty", "-o", tmp_path / "out")
    with pytest.raises(InvalidInput, match="slow must be positive"):
        run(takes / "walk.bvh", "-o", tmp_path / "b.bvh", "--slow", "-1")


def test_none_found_is_never_zero(takes, tmp_path):
    walk = ml.load(takes / "walk.bvh")
    stays = walk.root.copy()
    stays[:, [0, 2]] = stays[0, [0, 2]]
    replace(walk, root=stays).save(tmp_path / "in_place.bvh")  # a walk on a treadmill
    done = run(tmp_path / "in_place.bvh", "-o", tmp_path / "out.bvh")
    assert "none found" in done.stdout and "0.00 cm" not in done.stdout
    facts = json.loads(run(tmp_path / "in_place.bvh", "-o", tmp_path / "a.bvh", "--json").stdout)
    (row,) = facts["motions"]
    assert row["contacts"] == 0
    assert (row["slide_before_cm"], row["slide_after_cm"], row["speed_after_cm_s"]) == (None,) * 3
    assert facts["slide_before_cm"] is None


def test_skating_contacts_are_counted_and_can_be_left_alone(takes, tmp_path):
    walk = ml.load(takes / "walk.bvh")
    far = walk.root.copy()
    far[:, [0, 2]] *= 1.4
    replace(walk, root=far).save(tmp_path / "far.bvh")
    done = run(tmp_path / "far.bvh", "-o", tmp_path / "out.bvh", "--json", *FEET)
    (row,) = json.loads(done.stdout)["motions"]
    assert row["skating_contacts"] > 5
    assert row["speed_before_cm_s"] > 20.0 and row["speed_after_cm_s"] < 3.0
    left = run(tmp_path / "far.bvh", "-o", tmp_path / "b.bvh", "--skate", "0", "--json")
    assert json.loads(left.stdout)["motions"][0]["skating_contacts"] == 0
