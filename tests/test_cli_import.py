"""``motionloom import`` as a user meets it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest
from commands import finished, ran
from small_takes import needs_fork, write_takes
from waiting import wait_until

from motionloom import Library


def run(*words, run=finished) -> tuple[int, str, str]:
    done = run(*words)
    return done.returncode, done.stdout, done.stderr


def test_the_command_prints_json_and_nothing_else(takes, tmp_path):
    code, out, err = run("import", tmp_path / "l.loom", takes, "--labels", "folder", "--json")
    report = json.loads(out)
    assert code == 0, err  # progress may be on standard error where the machine is slow
    assert {"added", "skipped", "failed", "frames", "seconds"} <= set(report)
    assert (report["added"], report["skipped"], report["failed"]) == (12, 0, [])
    assert report["frames"] == 480 and report["seconds"] == pytest.approx(16.0)
    assert report["library"]["motions"] == 12


def test_the_command_lists_bad_files_and_ends_with_code_1(takes, tmp_path):
    (takes / "bad.bvh").write_text("HIERARCHY\nROOT")
    code, out, err = run("import", tmp_path / "l.loom", takes, "--fps", "15")
    assert (code, out) == (1, "")
    assert f"failed   {takes / 'bad.bvh'}: " in err
    assert "added    12 (240 frames)" in err and "failed   1\n" in err
    code, out, _ = run("import", tmp_path / "l.loom", takes, "--json", run=ran)
    assert code == 1 and json.loads(out)["skipped"] == 12
    (failure,) = json.loads(out)["failed"]
    assert failure["file"] == str(takes / "bad.bvh") and failure["reason"]


def test_a_missing_extra_is_named_once(takes, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ufbx", None)
    folder = tmp_path / "delivery"
    folder.mkdir()
    for name in ("a.fbx", "b.fbx"):
        (folder / name).write_bytes(b"Kaydara FBX Binary  ")
    (folder / "c.bvh").write_text("HIERARCHY\nROOT")
    code, _, err = run("import", tmp_path / "l.loom", folder, run=ran)
    assert code == 1 and err.count("pip install 'motionloom[fbx]'") == 1
    assert "failed   2 files: reading FBX files needs ufbx" in err
    assert f"failed   {folder / 'c.bvh'}: " in err


def test_the_command_says_that_times_of_a_table_are_ignored(takes, tmp_path):
    table, place = tmp_path / "labels.csv", tmp_path / "l.loom"
    name = min(takes.rglob("*.bvh")).stem
    table.write_text(f"motion,start,end,label\n{name},,,walk\n{name},0.2,0.4,step\n")
    _, _, err = run("import", place, takes, "--labels", table, run=ran)
    assert f"times in 1 row of {table} were ignored" in err
    assert f"run motionloom label {place} --import {table}" in err
    assert run("label", place, "--import", table, run=ran)[0] == 0
    ((part, text),) = Library(place).labels.segments(name)
    assert text == "step" and len(part) > 0


def test_the_command_refuses_wrong_input_with_code_2(takes, tmp_path):
    (tmp_path / "bare").mkdir()
    for path, message in [("nowhere", "no such file or folder"), ("bare", "no motion files")]:
        code, _, err = run("import", tmp_path / "l.loom", tmp_path / path, run=ran)
        assert code == 2 and message in err and "Traceback" not in err
        assert not (tmp_path / "l.loom").exists()
    code, _, err = run("import", tmp_path / "l.loom", takes, "--labels", "missing.csv", run=ran)
    assert code == 2 and "an existing CSV file" in err
    assert not (tmp_path / "l.loom").exists()
    code, _, err = run("import", tmp_path / "bare" / ".." / "takes", takes, run=ran)
    assert code == 2 and "contains other files" in err


@needs_fork
def test_ctrl_c_ends_the_command_with_code_130_and_a_whole_library(tmp_path):
    takes = write_takes(tmp_path / "takes", 60)
    # Every row is committed at once, and from the 30th file on workers read without end.
    script = (
        "import sys, threading\n"
        "from pathlib import Path\n"
        "from motionloom.store.ingest import importing, task\n"
        "load, frames = task.load_takes, Path(sys.argv[2]) / 'frames'\n"
        "def held(file, **options):\n"
        "    if len(list(frames.glob('*.npy'))) >= 30: threading.Event().wait()\n"
        "    return load(file, **options)\n"
        "task.load_takes, importing.BATCH_ROWS = held, 1\n"
        "from motionloom.cli import main\n"
        "main()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, "import", tmp_path / "l.loom", takes, "--workers", "2"],
        stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # also in the background
    )  # fmt: skip
    library = tmp_path / "l.loom"
    wait_until(
        lambda: len(list(library.glob("frames/*.npy"))) > 5 and len(Library(library)) > 5,
        "some takes are imported",
    )
    os.killpg(process.pid, signal.SIGINT)  # what a terminal does: to every process of the group
    _, err = process.communicate()
    assert process.returncode == 130 and "Traceback" not in err
    lib = Library(library)
    assert 5 < len(lib) < 60 and lib.store.damage() == []
    report = lib.add(takes)
    assert report.added + report.skipped == 60 and report.skipped >= 1
