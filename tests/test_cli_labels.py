"""``motionloom find`` and ``motionloom label``."""

import csv
import json

import pytest
from click.testing import CliRunner
from commands import run

import motionloom as ml
from motionloom.cli import app
from motionloom.errors import InvalidInput, LibraryError


@pytest.fixture
def lib(tmp_path):
    library = ml.Library.create(tmp_path / "takes.loom")
    walk = ml.demo.clip("walk")[:40]
    library.add_motion(walk, name="walk", labels=["locomotion"])
    library.add_motion(walk, name="walking_fast", labels=["locomotion", "quick"])
    library.add_motion(walk, name="sidewalk")
    return library


def test_whole_words_come_before_parts_of_words(lib):
    results = lib.find("walk").motions
    assert results[0] == "walk" and set(results) == {"walk", "sidewalk", "walking_fast"}
    assert lib.find("WALK quick").motions[0] == "walking_fast"
    assert len(lib.find("somersault")) == 0 and lib.find("smurf").unknown == {"smurf": ""}


def test_an_empty_description_is_refused(lib):
    with pytest.raises(InvalidInput, match="text must contain at least one word"):
        lib.find("  ")


def test_find_prints_json_and_nothing_else(lib):
    results = json.loads(run("find", lib.path, "locomotion", "--json").stdout)
    assert [(each["motion"], each["labels"]) for each in results][:2] == [
        ("walk", ["locomotion"]),
        ("walking_fast", ["locomotion", "quick"]),
    ]
    assert {"start_frame", "end_frame", "start", "end", "score", "text", "words"} <= set(results[0])


def test_labels_are_added_and_removed(lib):
    assert run("label", lib.path, "sidewalk", "street", "city").exit_code == 0
    assert set(lib.labels["sidewalk"]) == {"street", "city"}
    done = run("label", lib.path, "sidewalk", "city", "--remove", "--json")
    assert json.loads(done.stdout) == {
        "motion": "sidewalk", "labels": ["street"], "segments": [],
    }  # fmt: skip
    assert lib.labels["sidewalk"] == ("street",)


def test_a_label_for_a_motion_that_does_not_exist_is_refused(lib):
    with pytest.raises(LibraryError, match="jog"):
        CliRunner().invoke(app, ["label", str(lib.path), "jog", "x"], catch_exceptions=False)


def test_a_motion_of_the_library_is_retargeted(lib):
    smaller = lib["walk"].skeleton.scaled(0.5)
    assert lib["walk"].retarget(smaller).skeleton.key == smaller.key


def test_formulas_in_labels_are_text_for_spreadsheets(tmp_path):
    """And come back as they were."""
    texts = ["=cmd|' /C calc'!A0", "+1", "-2 degrees", "@x", "'=quoted", "'plain", "walk"]
    with ml.Library.create(tmp_path / "takes.loom") as lib:
        lib.add_motion(ml.demo.clip("walk")[:20], name="walk")
        lib.labels["walk"] = texts
        lib.labels.write(tmp_path / "labels.csv")
        cells = [row[3] for row in csv.reader((tmp_path / "labels.csv").open(newline=""))]
        assert not [cell for cell in cells if cell[0] in "=+-@"]
        lib.labels["walk"] = []
        lib.labels.read(tmp_path / "labels.csv")
        assert sorted(lib.labels["walk"]) == sorted(texts)
