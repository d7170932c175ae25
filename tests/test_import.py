"""Importing files into a library, and files that are skipped."""

from __future__ import annotations

import os
import random
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest
from small_takes import contents, needs_fork, write_take

from motionloom import Library, LibraryError, load
from motionloom.errors import InvalidInput
from motionloom.store.ingest import task as intake


def test_a_folder_comes_in_with_names_and_labels(takes, lib):
    report = lib.add(takes, labels="folder")
    assert (report.added, report.skipped, report.failed) == (12, 0, ())
    assert report.frames == lib.store.frames == 480 and report.seconds == pytest.approx(16.0)
    assert lib.names[0] == "kick_002" and lib.labels["kick_002"] == ("kick",)
    assert lib.labels.motions("walk") == ("walk_000", "walk_004", "walk_008")
    again = lib["walk_004"]
    file = takes / "walk/walk_004.bvh"
    np.testing.assert_array_equal(again.positions(), load(file).positions())
    assert again.origin.path == str(file) and again.origin.unit_m == load(file).origin.unit_m


def test_unchanged_files_are_skipped_and_changed_ones_replaced(takes, lib):
    lib.add(takes, labels="folder")
    first = contents(lib.path)
    report = lib.add(takes, labels="folder")
    assert (report.added, report.skipped, report.frames) == (0, 12, 0)
    assert contents(lib.path) == first
    os.utime(takes / "run/run_001.bvh")  # touched, not changed
    write_take(takes / "sit/sit_003.bvh", seed=77, frames=50)
    write_take(takes / "sit/sit_new.bvh", seed=78)
    report = lib.add(takes)
    assert (report.added, report.replaced, report.skipped) == (2, 1, 11)
    assert len(lib["sit_003"]) == 50 and lib.labels["sit_003"] == ("sit",)
    assert len(contents(lib.path)) == len(first) + 1
    assert lib.add(takes, force=True).added == 13


def test_a_motion_whose_frames_were_lost_is_read_again(takes, lib):
    lib.add(takes)
    before = contents(lib.path)
    (lib.path / "frames" / lib.store.entry("run_001").file).unlink()
    cut = lib.path / "frames" / lib.store.entry("run_005").file
    cut.write_bytes(cut.read_bytes()[:-100])
    report = lib.add(takes)
    assert (report.added, report.skipped) == (2, 10)
    assert contents(lib.path) == before


def test_the_stored_data_does_not_depend_on_order_or_processes(takes, tmp_path):
    write_take(takes / "run/walk_000.bvh", seed=50)  # a name that occurs twice
    (takes / "run/bad.bvh").write_text("HIERARCHY")
    files = sorted(takes.rglob("*.bvh"))
    libraries = []
    for number, workers in enumerate([1, 2, 1, 2]):
        paths = [takes] if number == 0 else random.Random(number).sample(files, len(files))
        lib = Library.create(tmp_path / f"{number}.loom")
        report = lib.add(*paths, labels="folder", workers=workers)
        assert report.added == 13 and len(report.failed) == 1
        libraries.append(lib)
    assert len({lib.store.digest() for lib in libraries}) == 1
    assert all(contents(lib.path) == contents(libraries[0].path) for lib in libraries)


def test_bad_files_are_reported_and_the_rest_goes_on(takes, lib, monkeypatch):
    bad = takes / "bad"
    bad.mkdir()
    (bad / "empty.bvh").write_bytes(b"")
    text = (takes / "walk/walk_000.bvh").read_text()
    (bad / "short.bvh").write_text(text.replace("CHANNELS 3", "CHANNELS three", 1))
    (bad / "gone.bvh").symlink_to(bad / "nowhere")
    (bad / "huge.bvh").write_text("huge")
    (bad / "odd.bvh").write_text("odd")
    monkeypatch.setattr(intake, "load_takes", _one(_load_with_accidents))
    report = lib.add(takes, workers=2)
    assert report.added == 12
    reasons = {Path(failure.file).name: failure.reason for failure in report.failed}
    assert list(reasons) == ["empty.bvh", "gone.bvh", "huge.bvh", "odd.bvh", "short.bvh"]
    assert reasons["gone.bvh"] == "No such file or directory"
    assert reasons["huge.bvh"] == "the file is too large for the memory of this machine"
    assert reasons["odd.bvh"] == "unexpected ZeroDivisionError: division by zero"
    assert reasons["short.bvh"].startswith("line 9: ")
    assert str(bad) not in reasons["empty.bvh"]


def _one(read):
    """Read files with one take."""
    return lambda path, **options: iter([("", read(path, **options))])


def _load_with_accidents(path, **options):
    if path.endswith("huge.bvh"):
        raise MemoryError
    if path.endswith("odd.bvh"):
        return 1 / 0
    return load(path, **options)


@needs_fork
def test_a_file_that_kills_its_worker_is_one_failure(takes, lib, monkeypatch):
    monkeypatch.setattr(intake, "load_takes", _one(_load_or_die))
    report = lib.add(takes, workers=2)
    assert report.added == 11
    (failure,) = report.failed
    assert failure.file.endswith("kick_006.bvh") and "died twice" in failure.reason


def _load_or_die(path, **options):
    if path.endswith("kick_006.bvh"):
        os.kill(os.getpid(), signal.SIGKILL)
    return load(path, **options)


def test_a_motion_without_frames_is_a_failure(tmp_path, lib, monkeypatch):
    monkeypatch.setattr(intake, "load_takes", _one(lambda path: load(path)[:0]))
    (failure,) = lib.add(write_take(tmp_path / "none.bvh")).failed
    assert failure.reason == "the file has no frames" and len(lib) == 0


def test_a_file_that_changes_while_it_is_read_is_a_failure(tmp_path, lib, monkeypatch):
    def load_and_change(path, **options):
        motion = load(path, **options)
        write_take(Path(path), seed=5, frames=99)
        return motion

    monkeypatch.setattr(intake, "load_takes", _one(load_and_change))
    (failure,) = lib.add(write_take(tmp_path / "m.bvh")).failed
    assert failure.reason == "the file changed while it was being read; import it again"


def test_a_library_can_be_kept_at_one_rate(tmp_path):
    write_take(tmp_path / "slow/a.bvh", fps=30, frames=61)
    write_take(tmp_path / "fast/b.bvh", fps=120, frames=241)
    lib = Library.create(tmp_path / "l.loom", fps=60)
    assert lib.add(tmp_path / "slow", tmp_path / "fast").frames == 2 * 121
    assert {lib[name].fps for name in lib} == {60.0}
    with pytest.raises(LibraryError, match="a frame rate of 60 fps, not 30; import without a rate"):
        lib.add(tmp_path / "slow", fps=30)
    mixed = Library.create(tmp_path / "mixed.loom")
    mixed.add(tmp_path / "slow")
    mixed.add(tmp_path / "slow", fps=30)  # nothing in it would have to change
    assert mixed.store.fps == 30.0
    other = Library.create(tmp_path / "other.loom")
    other.add(tmp_path / "fast")
    with pytest.raises(LibraryError, match="contains motions at 120 fps, .* resampled to 30"):
        other.add(tmp_path / "slow", fps=30)


def test_a_file_with_other_reader_options_counts_as_changed(takes, lib):
    lib.add(takes)
    report = lib.add(takes, unit="mm")
    assert (report.added, report.replaced) == (12, 12)
    assert lib["walk_000"].origin.unit_m == 0.001
    with pytest.raises(InvalidInput, match="parsec"):
        lib.add(takes, unit="parsec")
    with pytest.raises(InvalidInput, match="up must be one of y, .*; got 'down'"):
        lib.add(takes, up="down")


def test_a_changed_companion_makes_its_takes_new(tmp_path):
    for name in ("01_01.amc", "01_02.amc", "02_01.amc", "01.asf", "02.asf", "x.gltf", "x.bin"):
        (tmp_path / name).write_text(name)
    before = {file.name: intake.content_hash(str(file)) for file in tmp_path.iterdir()}
    (tmp_path / "01.asf").write_text("another skeleton")
    (tmp_path / "x.bin").write_text("another buffer")
    after = {file.name: intake.content_hash(str(file)) for file in tmp_path.iterdir()}
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"01_01.amc", "01_02.amc", "01.asf", "x.gltf", "x.bin"}


def test_invalid_paths_are_reported(tmp_path, lib):
    with pytest.raises(InvalidInput, match="add needs at least one file or folder"):
        lib.add()
    with pytest.raises(InvalidInput, match="nowhere: no such file or folder"):
        lib.add(tmp_path / "nowhere")
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(InvalidInput, match=r"\.txt files contain no motion; expected one of \.bvh"):
        lib.add(tmp_path / "notes.txt")
    (tmp_path / "bare").mkdir()
    with pytest.raises(InvalidInput, match=r"bare: no motion files \(expected \.bvh"):
        lib.add(tmp_path / "bare")


def test_a_library_moves_with_its_folder(takes, lib, tmp_path):
    lib.add(takes)
    digest = lib.store.digest()
    lib.close()
    shutil.move(lib.path, tmp_path / "elsewhere.loom")
    moved = Library(tmp_path / "elsewhere.loom")
    assert moved.store.digest() == digest and moved.add(takes).skipped == 12


# --- real data --------------------------------------------------------------------------


@pytest.mark.cmu
def test_cmu_clips_come_in_with_their_labels(cmu_clips, cmu_data, tmp_path):
    lib = Library.create(tmp_path / "clips.loom")
    report = lib.add(cmu_clips, labels=cmu_data / "cmu-clips-labels.csv")
    assert (report.added, report.failed, report.unmatched_labels) == (115, (), ())
    counts = {"climb": 10, "jump": 31, "run": 26, "swordplay": 10, "walk": 38}
    assert lib.labels.counts() == counts
    assert lib.store.damage() == []


@pytest.mark.cmu
def test_cmu_takes_get_the_descriptions_of_the_data_set(cmu30, cmu_data, tmp_path):
    subjects = sorted(cmu30.iterdir())[:2]
    lib = Library.create(tmp_path / "takes.loom")
    table = cmu_data / "cmu30-metadata.csv"
    report = lib.add(*subjects, labels=table, label_columns=["description", "category"])
    assert report.added == len(lib) and not report.failed
    assert "playground - climb" in lib.labels["01_02"]
    assert len(report.unmatched_labels) == 2425 - len(lib)
