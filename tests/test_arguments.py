"""Folders and libraries as arguments: their motions, and the output paths."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import motionloom as ml
from motionloom.cli import app
from motionloom.cli.arguments import check_targets, is_library, motion_from, motions_in
from motionloom.errors import InvalidInput, MotionloomError
from motionloom.formats.settings import LoadSettings


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with two motions, one below the other, and much that is none."""
    place = tmp_path_factory.mktemp("takes")
    (place / "more").mkdir()
    (place / ".trash").mkdir()
    walk = ml.demo.clip("walk")[:40]
    walk.save(place / "walk.1.bvh")
    walk.save(place / "more" / "walk.2.bvh")
    walk.save(place / ".trash" / "old.bvh")
    (place / "._walk.bvh").write_bytes(b"\0\5\26\7")  # what macOS leaves on foreign disks
    (place / "notes.txt").write_text("no motion")
    return place


@pytest.fixture(scope="module")
def library(place, tmp_path_factory):
    path = tmp_path_factory.mktemp("library") / "takes.loom"
    with ml.Library.create(path) as library:
        library.add(place)
    return path


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)


def test_hidden_files_are_passed_over_and_names_keep_their_dots(place):
    motions, failed = motions_in(place)
    assert motions == [
        (str(place / "more" / "walk.2.bvh"), "more/walk.2"),
        (str(place / "walk.1.bvh"), "walk.1"),
    ]
    assert failed == []


def test_output_of_an_earlier_run_is_skipped(place):
    assert [stem for _, stem in motions_in(place, exclude=place / "more")[0]] == ["walk.1"]
    assert len(motions_in(place, exclude=place)[0]) == 2


def test_a_library_gives_its_motions(library):
    assert is_library(library) and not is_library(library.parent)
    assert motions_in(library)[0] == [(f"{library}:{n}", n) for n in ("walk.1", "walk.2")]


@pytest.mark.parametrize(
    ("words", "written"),
    [
        (("convert", "FROM", "OUT"), 2),
        (("clean", "FROM", "-o", "OUT"), 2),
        (("doctor", "FROM", "--fix", "OUT"), 2),
    ],
)
@pytest.mark.parametrize("kind", ["folder", "library"])
def test_every_command_for_many_motions_finds_the_same(
    place, library, tmp_path, words, written, kind
):
    source = place if kind == "folder" else library
    places = {"FROM": source, "OUT": tmp_path / "out"}
    done = run(*(places.get(word, word) for word in words), "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["failed"] == []
    names = sorted(path.name for path in (tmp_path / "out").rglob("*.bvh"))
    assert names == ["walk.1.bvh", "walk.2.bvh"]


@pytest.mark.parametrize(
    "words",
    [
        ("convert", "FILE", "FILE"),
        ("clean", "FILE", "-o", "FILE"),
        ("doctor", "FILE", "--fix", "FILE"),
    ],
)
def test_no_command_writes_over_what_it_reads(place, tmp_path, words):
    file = tmp_path / "walk.bvh"
    file.write_bytes((place / "walk.1.bvh").read_bytes())
    with pytest.raises(InvalidInput, match="would overwrite an input file; choose another output"):
        run(*(file if word == "FILE" else word for word in words))
    assert file.read_bytes() == (place / "walk.1.bvh").read_bytes()


def test_two_sources_never_become_one_file(tmp_path):
    with pytest.raises(InvalidInput, match=r"a\.bvh and a\.amc would both be written to .*a\.glb"):
        check_targets([("a.bvh", tmp_path / "a.glb"), ("a.amc", tmp_path / "a.glb")])


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("LIB", {}, "takes.loom is a library; name one of its motions, as in .*takes.loom:NAME"),
        ("LIB:nobody", {}, "no motion 'nobody'"),
        (
            "LIB:walk.1",
            {"unit": "cm"},
            "--unit can be used only with files; walk.1 was already read when",
        ),
        ("nowhere.loom", {}, "nowhere.loom: no such library"),
        ("nowhere.loom:walk", {}, "nowhere.loom: no such library"),
    ],
)
def test_an_invalid_name_is_explained(library, text, options, message):
    with pytest.raises(MotionloomError, match=message):
        motion_from(text.replace("LIB", str(library)), LoadSettings(**options))
