"""Undo and redo: labels, imports, removed and renamed takes, beats, artifacts."""

from __future__ import annotations

import shutil
import sqlite3

import numpy as np
import pytest
from commands import ran

import motionloom as ml
from motionloom.errors import LibraryError
from motionloom.store.history import REMEMBERED
from motionloom.store.records import text_digest


@pytest.fixture
def lib(tmp_path):
    made = ml.Library.create(tmp_path / "takes.loom")
    for name in ("walk", "jog"):
        made.add_motion(ml.demo.clip(name)[:60], name=name, labels=[name])
    made.labels.add("walk:10-20", "part")
    return made


@pytest.fixture
def files(tmp_path):
    folder = tmp_path / "files"
    for name in ("walk_fast", "kick_front_high_right"):
        ml.demo.clip(name)[:60].save(folder / f"{name}.bvh")
    return folder


def frames_on_disk(lib) -> int:
    return len(list((lib.path / "frames").iterdir()))


def changed(lib, what, files):
    """One change of each kind."""
    if what == "label":
        lib.labels["walk"] = ["calm", "slow"]
    elif what == "segment label":
        lib.labels.remove("walk:10-20", "part")
    elif what == "import":
        assert lib.add(files, workers=1).added == 2
    elif what == "replace":
        lib.add_motion(ml.demo.clip("jog")[:30], name="walk", replace=True)
    elif what == "remove":
        lib.remove("walk", "jog")
    elif what == "rename":
        lib.rename("walk", "calm walk")
    elif what == "beats":
        lib.beats.edit("jog", times=[0.1, 0.6, 1.1])


KINDS = ["label", "segment label", "import", "replace", "remove", "rename", "beats"]


def everything(lib) -> tuple:
    frames = {name: lib[name].rotations.tobytes() for name in lib}
    segments = {name: lib.labels.segments(name) for name in lib}
    return lib.store.digest(), frames, segments, lib.beats.manual()


@pytest.mark.parametrize("what", KINDS)
def test_every_change_is_undone_and_redone_also_by_another_process(lib, files, what):
    before = everything(lib)
    changed(lib, what, files)
    after = everything(lib)
    assert after != before
    lib.close()
    assert ml.Library(lib.path).undo().undone
    assert everything(lib) == before
    assert lib.verify().problems == () and frames_on_disk(lib) == len(lib)
    lib.redo()
    assert everything(lib) == after
    lib.undo()
    assert everything(lib) == before
    assert lib.verify().problems == ()


def test_changes_are_undone_one_after_the_other_and_redone_in_order(lib, files):
    states = [everything(lib)]
    for what in KINDS[:3]:
        changed(lib, what, files)
        states.append(everything(lib))
    for state in reversed(states[:-1]):
        lib.undo()
        assert everything(lib) == state
    for state in states[1:]:
        lib.redo()
        assert everything(lib) == state
    lib.undo()
    lib.labels["jog"] = ["new"]  # from here on there is another future
    with pytest.raises(LibraryError, match="there is nothing to redo"):
        lib.redo()


def test_several_writes_are_one_change(lib):
    with lib.store.change("label"):
        lib.labels["walk"] = ["a"]
        lib.labels["jog"] = ["b"]
        lib.labels["walk"] = ["c"]
    assert str(lib.history()[0]) == "label jog, walk"
    lib.undo()
    assert lib.labels["walk"] == ("walk",) and lib.labels["jog"] == ("jog",)


def test_a_change_that_fails_midway_has_no_effect(lib):
    history = lib.history()
    with pytest.raises(LibraryError, match="no motion 'nobody'"), lib.store.change("label"):
        lib.labels["walk"] = ["a"]
        lib.beats.set("walk", bpm=100)
        lib.add_motion(ml.demo.clip("jog"), name="added")
        lib.labels["nobody"] = ["a"]
    assert lib.labels["walk"] == ("walk",) and not lib.beats.manual() and "added" not in lib
    assert lib.history() == history
    lib.labels["walk"] = ["b"]  # the next writer finds the files that are left over
    assert lib.verify().problems == () and "trash" in lib.verify().notes[0]
    frames = (path.name.split(".")[0] for path in (lib.path / "frames").iterdir())
    assert sorted(frames) == list(lib.names)


def test_labels_that_stay_the_same_are_not_a_change(lib):
    count = len(lib.history())
    lib.labels["walk"] = ["walk"]
    assert len(lib.history()) == count


def test_an_emptied_trash_ends_the_history(lib):
    lib.remove("walk")
    assert lib.store.empty_trash() == 1 and lib.history() == []
    with pytest.raises(LibraryError, match="there is nothing to undo"):
        lib.undo()


def test_frames_that_are_gone_are_named(lib):
    before = everything(lib)
    lib.remove("walk")
    shutil.rmtree(lib.path / "trash")
    with pytest.raises(LibraryError, match="the frames of 'walk' are not in the trash anymore"):
        lib.undo()
    assert lib.names == ("jog",) and before != everything(lib)


def test_only_so_many_changes_are_remembered(lib):
    for number in range(REMEMBERED + 5):
        lib.labels["walk"] = [f"l{number}"]
    assert len(lib.history()) == REMEMBERED
    rows = lib.store.catalogue.rows("SELECT count(*) FROM history_motions")
    assert rows == [(REMEMBERED,)]


def test_the_skeleton_of_a_removed_take_comes_back(lib):
    joints = list(lib["walk"].skeleton.names)
    lib.remove("walk", "jog")
    lib.undo()
    assert list(ml.Library(lib.path)["walk"].skeleton.names) == joints


def test_a_renamed_take_keeps_labels_and_beats_and_is_not_imported_twice(lib, files):
    lib.add(files, workers=1)
    lib.labels.add("walk_fast:5-25", "part")
    lib.beats.set(["walk_fast", "jog"], bpm=100.0)
    lib.rename("walk_fast", "fast one")
    assert [str(part) for part, _ in lib.labels.segments("fast one")] == ["fast one:5-25"]
    assert lib.beats.manual()["fast one"].partners == ("jog",)
    assert lib.beats.manual()["jog"].partners == ("fast one",)
    assert lib.add(files, workers=1).added == 0 and "walk_fast" not in lib
    with pytest.raises(LibraryError, match="there is already a motion called 'jog'"):
        lib.rename("fast one", "jog")
    lib.undo()
    assert lib.beats.manual()["walk_fast"].bpm == 100.0 and "fast one" not in lib


def test_artifacts_that_were_saved_or_deleted_come_back(lib):
    def saved():
        return lib.artifacts.load("parametric", "kick").about["number"]

    for number in (1, 2):
        with lib.store.change("save parametric motion kick"):
            lib.artifacts.save("parametric", "kick", {"number": number}, {"x": np.eye(2)})
    assert str(lib.undo()) == "save parametric motion kick" and saved() == 1
    assert lib.redo() and saved() == 2
    del lib.parametric["kick"]
    assert tuple(lib.parametric) == ()
    lib.undo()
    assert saved() == 2
    lib.undo()
    lib.undo()
    assert lib.artifacts.names("parametric") == ()


def test_a_library_with_an_object_store_undoes_too(tmp_path):
    lib = ml.Library.create(tmp_path / "takes.loom", store=f"file://{tmp_path}/objects")
    lib.add_motion(ml.demo.clip("walk")[:40], name="walk", labels=["calm"])
    lib.remove("walk")
    lib.undo()
    assert len(lib["walk"]) == 40 and lib.labels["walk"] == ("calm",)
    lib.undo()
    assert lib.names == ()


@pytest.mark.parametrize(
    ("image", "message"),
    [
        ("[[1]]", "the history is damaged: the data of a motion cannot be read"),
        ('[["walk","../x","","","","{}",5,30.0,"",""],[],[]]', "which is not a plain name"),
        ("nothing", "the history is damaged"),
    ],
)
def test_a_history_from_elsewhere_is_checked(lib, image, message):
    lib.remove("walk")
    lib.close()
    with sqlite3.connect(lib.path / "catalogue.sqlite") as connection:
        connection.create_function("digest", -1, lambda *row: text_digest(repr(row)))
        connection.execute("UPDATE history_motions SET image = ?", (image,))
        connection.execute(
            "UPDATE history_motions SET checksum = digest(number, name, skeleton, image)"
        )
    with pytest.raises(LibraryError, match=message):
        ml.Library(lib.path).undo()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE history_motions SET image = replace(image, 'walk', 'talk')",
        "UPDATE history SET what = 'import'",
        "UPDATE history_artifacts SET stem = 'beats.other'",
    ],
)
def test_a_damaged_history_is_noticed_and_not_used(lib, damage):
    with lib.store.change("mixed"):
        lib.labels["walk"] = ["calm"]
        lib.beats.set("walk", bpm=100)
    lib.close()
    with sqlite3.connect(lib.path / "catalogue.sqlite") as connection:
        connection.execute(damage)
    (problem,) = lib.verify().problems
    assert "the history of" in problem and "wrong checksum" in problem
    with pytest.raises(LibraryError, match="the history is damaged; run motionloom verify"):
        lib.undo()
    assert lib.labels["walk"] == ("calm",)
    assert "the history was cleared" in lib.verify(repair=True).repaired[0]
    assert lib.verify().problems == () and not lib.history()


def test_the_command_lists_undoes_and_redoes(lib):
    lib.labels["walk"] = ["calm"]
    said = ran("undo", str(lib.path), "--list").stdout
    assert said.splitlines()[0].split() == ["undo", "label", "walk"]
    assert "undone   label walk" in ran("undo", str(lib.path)).stderr
    assert lib.labels["walk"] == ("walk",)
    assert "redone   label walk" in ran("undo", str(lib.path), "--redo").stderr
    assert lib.labels["walk"] == ("calm",)
    lib.store.empty_trash()
    failed = ran("undo", str(lib.path))
    assert failed.returncode == 2 and "there is nothing to undo" in failed.stderr
