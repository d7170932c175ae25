"""A library written by release 0.2: it opens, keeps everything, and gives the same results.

``golden/make_library.py`` documents its content and how it was created.
"""

import hashlib
import json
import sqlite3
import zipfile
from dataclasses import astuple
from pathlib import Path

import pytest
from golden.make_library import QUERY, hits, outline, rows

import motionloom as ml
from motionloom.motion_graph.settings import GraphSettings, TransitionRules
from motionloom.store.catalogue_file import FORMAT
from motionloom.store.upgrade import graph_settings

GOLDEN = Path(__file__).parent / "golden"
# Rebuilt; everything else is kept.
BUILT = {"derived/clips-dtw-clip", "derived/captions", "derived/text-index",
         "derived/bucket", "derived/faults"}  # fmt: skip


@pytest.fixture
def place(tmp_path):
    with zipfile.ZipFile(GOLDEN / "library-0.2.zip") as packed:
        packed.extractall(tmp_path)
    return tmp_path / "library.loom"


@pytest.fixture(scope="module")
def golden():
    return json.loads((GOLDEN / "library-0.2.json").read_text(encoding="utf-8"))


def test_all_answers_are_those_of_release_0_2_and_nothing_slow_is_rebuilt(place, golden):
    before = files(place)
    with ml.Library(place) as lib:
        assert lib.webs.build(label="kick").built == 0
        first, results = files(place), answers(lib)
    assert results.keys() == golden.keys()
    for question, answer in golden.items():
        same(results[question], answer, question)
    kinds = {name.split(".")[0] for name in files(place).keys() - before.keys()}
    assert {kind for kind in kinds if kind.startswith("derived/")} == {
        *BUILT, "derived/graph-settings",
    }  # fmt: skip
    assert {name.split(".")[0] for name in files(place).keys() - first.keys()} == BUILT
    with ml.Library(place) as lib:
        assert lib.verify().problems == ()
        second = files(place)
        answers(lib)
    assert files(place) == second


def test_it_is_upgraded_when_it_is_opened_and_says_so(place, caplog):
    ml.Library(place).close()
    assert "upgraded to the library format of motionloom 0.3" in caplog.text
    with ml.Library(place) as lib:
        assert lib.store.catalogue.format == FORMAT
        assert not lib.artifacts.names("motion-graph-settings")
    assert caplog.text.count("upgraded to") == 1


def test_changes_that_release_0_2_made_can_be_undone_and_redone(place, golden):
    with ml.Library(place) as lib:
        labels = lib.labels["groove"]
        assert str(lib.redo()) == "label groove"
        assert lib.labels["groove"] == ("dance", "fast")
        undone = [str(lib.undo()) for _ in range(2)]
        assert undone == ["label groove", "label groove"] and lib.labels["groove"] == ("dance",)
        assert labels == ("dance", "slow")
        assert str(lib.undo()).startswith("beats") and not lib.beats.manual()
        assert "choreography" in str(lib.undo()) and not lib.choreographies
        assert "lock" in str(lib.undo()) and "remove" in str(lib.undo())
        assert not lib.graphs.edits.removed and not lib.graphs.edits.locked
        assert "right_ankle@12" in repr(lib.parametric["kick"])
        assert "parametric" in str(lib.undo())
        assert "right_ankle@10" in repr(lib.parametric["kick"])
        for _ in range(6):
            lib.redo()
        same(answers(lib)["parametric"], golden["parametric"], "parametric")
        assert lib.labels["groove"] == ("dance", "slow")


def test_motions_can_be_added_to_it(place):
    with ml.Library(place) as lib:
        lib.add_motion(ml.demo.clip("kick_front_mid_right_p3"), name="another", labels=["kick"])
        assert "another" in {match.motion for match in lib.search(QUERY)}
        assert lib.webs.build(label="kick").built == 3
        lib.undo()
        assert "another" not in lib.names


@pytest.mark.parametrize("where", ["Catalogue.upgrade", "Catalogue._put_checks"])
def test_an_interrupted_upgrade_is_repeated(place, golden, monkeypatch, where):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(f"motionloom.store.catalogue.{where}", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ml.Library(place)
    with sqlite3.connect(place / "catalogue.sqlite") as connection:
        assert connection.execute("SELECT value FROM meta WHERE key = 'format'").fetchall() == [
            ("2",)
        ]
        assert list(place.glob("derived/motion-graph-settings.last.*"))
    with ml.Library(place) as lib:
        assert lib.store.catalogue.format == FORMAT
        same(answers(lib), golden, "answers")


def test_a_lost_catalogue_costs_only_labels_and_history(place, golden):
    (place / "catalogue.sqlite").write_bytes(b"")
    assert ml.Library.recover(place) == 5
    with ml.Library(place) as lib:
        assert list(lib.parametric) == golden["parametric"]["names"]
        assert lib.graphs.settings.max_distance == golden["graph settings"]["max_distance"]
        assert lib.beats.manual()["groove"].bpm == golden["beats"][0]


def test_a_read_only_library_names_the_command_to_run(place, monkeypatch):
    def refused(*_, **__):
        raise ml.LibraryError(f"{place}: cannot write to this library: Read-only file system")

    monkeypatch.setattr("motionloom.store.store.writer_lock", refused)
    with pytest.raises(
        ml.LibraryError, match=r"written by motionloom 0\.2 .*Run `motionloom verify"
    ):
        ml.Library(place)


def test_the_frame_index_in_an_object_store_is_removed_and_rebuilt_when_needed(tmp_path):
    with ml.Library.create(tmp_path / "l.loom", store="memory:///upgraded") as lib:
        lib.add_motion(ml.demo.clip("walk"), name="walk")
        matches = lib.search("walk:10-40", method="lazy").to_json()
        objects = set(lib.store.files.names("derived"))
        old_index = {name for name in objects if name.startswith("derived/bucket.")}
        assert old_index and old_index < objects
        with sqlite3.connect(lib.path / "catalogue.sqlite") as connection:
            connection.execute("UPDATE stored SET folder = 'blocks.' || substr(folder, 8) "
                               "WHERE folder GLOB 'bucket.*'")  # fmt: skip
        lib.store.catalogue.set_meta("format", "2")
    with ml.Library(tmp_path / "l.loom") as lib:
        assert not {"blocks", "bucket"} & kinds(lib)
        assert set(lib.store.files.names("derived")) == objects - old_index
        assert lib.search("walk:10-40", method="lazy").to_json() == matches
        assert "bucket" in kinds(lib)
        rebuilt = set(lib.store.files.names("derived")) - (objects - old_index)
        assert len(rebuilt) == len(old_index)


def kinds(library):
    return {name.partition(".")[0] for name in library.store.catalogue.artifact_folders()}


def test_older_libraries_are_refused(place):
    with sqlite3.connect(place / "catalogue.sqlite") as connection:
        connection.execute("UPDATE meta SET value = '1' WHERE key = 'format'")
    with pytest.raises(ml.LibraryError, match=r"before 0\.2 \(format 1\); import its motions"):
        ml.Library(place)


def test_saved_settings_of_graphs_get_the_names_of_today():
    old = {"threshold": 0.5, "footing": False, "weights": "w.json", "within": ["a"],
           "without": ["b"], "per_minute": 3.0}  # fmt: skip
    assert graph_settings(old) == {
        "max_distance": 0.5, "rules": {"match_feet": False}, "distance": "w.json", "label": ["a"],
        "exclude": ["b"], "per_minute": 3.0,
    }  # fmt: skip
    assert GraphSettings.from_json(graph_settings(old)).rules == TransitionRules(match_feet=False)


def test_saved_settings_of_graphs_with_a_preset_are_those_of_the_preset():
    paper = GraphSettings.kr14()
    assert GraphSettings.from_json(graph_settings({"preset": "kr14"})) == paper
    old = {"preset": "kr14", "method": "sectors", "threshold": 20.0, "footing": True}
    assert GraphSettings.from_json(graph_settings(old)) == GraphSettings.kr14(
        max_distance=20.0, match_feet=True
    )
    assert GraphSettings.from_json(
        graph_settings({"preset": "kr14", "method": "minima"})
    ) == GraphSettings.kr14(method="minima")


# --- answers ---------------------------------------------------------------------------------


def answers(lib) -> dict:
    """Answers of the library, by question, as in ``golden/make_library.py``."""
    kick = lib.parametric["kick"]
    target = [float(value) for value in kick.accessible[1]]
    settings, edits = lib.graphs.settings, lib.graphs.edits
    given = lib.beats.manual()["groove"]
    return {
        "labels": {name: list(lib.labels[name]) for name in lib.names},
        "segments": [[str(part), label] for part, label in lib.labels.segments("walk_0")],
        "features": rows(lib.features("e15").rows),
        **{f"search {method}": hits(lib.search(QUERY, method=method))
           for method in ("dtw", "dtw-clip")},
        # Release 0.2 had no second pass for these methods.
        "search lazy": hits(lib.search(QUERY, method=ml.LazyGraph(rank="distance"))),
        "search web": hits(
            lib.search(QUERY, method=ml.MatchWeb(rank="distance"), label="kick")
        ),
        "find": [match.motion for match in lib.find("kick") if match.sources],
        "parametric": {
            "names": list(lib.parametric),
            "examples": list(kick.examples),
            "accessible": rows(kick.accessible),
            "target": target,
            "motion": outline(kick(target)),
        },
        "graph settings": {
            "label": list(settings.label), "max_distance": settings.max_distance,
            "match_feet": settings.rules.match_feet,
        },
        "graph": len(lib.graphs.edited(settings).graph),
        "edits": {"removed": [list(astuple(edit)) for edit in edits.removed],
                  "locked": [list(astuple(edit)) for edit in edits.locked]},
        "choreography": lib.choreographies["groove"].as_dict()["cuts"],
        "beats": [given.bpm, given.first_beat],
        "history": [[str(change), change.undone] for change in lib.history()],
    }  # fmt: skip


def same(answer, golden, where: str) -> None:
    """The same but for rounding: answers may come from another processor."""
    if isinstance(golden, dict):
        assert answer.keys() == golden.keys(), where
        for key, value in golden.items():
            same(answer[key], value, f"{where}, {key}")
    elif isinstance(golden, list):
        assert len(answer) == len(golden), where
        for number, value in enumerate(golden):
            same(answer[number], value, f"{where}, {number}")
    elif isinstance(golden, float):
        assert answer == pytest.approx(golden, abs=1e-3, rel=1e-3), where
    else:
        assert answer == golden, where


def files(place: Path) -> dict:
    """Digests of all files of a library."""
    return {
        file.relative_to(place).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in place.rglob("*")
        if file.is_file() and file.name != "queue"  # of the writer lock
    }
