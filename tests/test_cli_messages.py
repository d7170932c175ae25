"""Messages on the command line say what to set; tables are complete."""

import json
import re
from dataclasses import replace

import pytest
from commands import ran
from rich.table import Table

import motionloom as ml
from motionloom.cli.terminal import print_table


def run(*words, code=0):
    done = ran(*words)
    assert done.returncode == code, done.stderr
    return done


def markers(path):
    """A file with markers of the legs only, which give no body."""
    walk = ml.demo.clip("walk")
    roles = [f"{side}_{part}" for side in ("left", "right") for part in ("knee", "ankle", "toe")]
    labels = ["LKNE", "LANK", "LTOE", "RKNE", "RANK", "RTOE"]
    return ml.Markers(labels, walk.role_positions(roles), walk.fps).save(path)


def test_a_cut_file_names_the_option_that_reads_it(tmp_path):
    path = ml.demo.clip("walk").save(tmp_path / "walk.bvh")
    path.write_text(path.read_text()[:-300])
    failed = run("info", path, code=2)
    assert "set partial" in failed.stderr
    assert "partial=" not in failed.stderr
    assert "frames" in run("info", path, "--partial").stdout


@pytest.mark.parametrize("command", [("convert",), ("show", "-o", "walk.png")])
def test_every_command_says_what_to_give(tmp_path, command):
    path = ml.demo.clip("walk").save(tmp_path / "walk.bvh")
    path.write_text(re.sub("Frame Time: .*", "Frame Time: fast", path.read_text()))
    verb, *options = command
    target = [tmp_path / "new.bvh"] if verb == "convert" else options
    printed = ran(verb, path, *target, cwd=tmp_path).stderr
    assert "set the rate with fps\n" in printed
    assert "set the rate with fps\n" in ran("info", path).stderr


def test_warnings_in_json_say_what_to_give(tmp_path):
    small = ml.demo.clip("walk")
    path = replace(small, skeleton=small.skeleton.scaled(0.37), root=0.37 * small.root).save(
        tmp_path / "walk.bvh", unit="m"
    )
    for command in ("info", "doctor"):
        printed = json.loads(run(command, path, "--json").stdout)["warnings"]
        assert any("Set unit to change it" in text for text in printed), printed


def test_points_without_labels_name_the_option_that_reads_them(tmp_path):
    path = ml.Markers(["*1", "*2"], [[[0, 1, 0], [1, 1, 0]]] * 5, 60.0).save(tmp_path / "a.c3d")
    failed = run("info", path, code=2)
    assert "set unlabeled" in failed.stderr
    assert "2 markers" in run("info", path, "--unlabeled").stdout


def test_files_of_markers_are_described(tmp_path):
    path = markers(tmp_path / "walk.c3d")
    printed = run("info", path).stdout
    assert "up z" in printed
    facts = json.loads(run("info", path, "--json").stdout)
    assert facts["fps"] == 30.0
    assert facts["missing_share"] == 0.0
    assert "LKNE" in facts["markers"]


@pytest.mark.parametrize("suffix", ["blend"])
def test_formats_without_a_reader_name_a_way_out(tmp_path, suffix):
    path = tmp_path / f"walk.{suffix}"
    path.write_bytes(b"BLENDER")
    for command in (("info", path), ("import", tmp_path / "a.loom", path)):
        printed = run(*command, code=2).stderr
        assert "Convert the file to GLB with Blender:\nblender -b " in printed
        assert f"export_scene.gltf(filepath='{tmp_path}/walk.glb')" in printed


def test_files_that_an_import_skips_are_reported(tmp_path):
    takes = tmp_path / "takes"
    takes.mkdir()
    walk = ml.demo.clip("walk")
    markers(takes / "a.c3d")
    markers(takes / "b.c3d")
    printed = run("import", tmp_path / "no.loom", takes, code=2).stderr
    assert "no motion files" in printed
    assert "2 .c3d files: markers without a skeleton" in printed
    walk.save(takes / "walk.bvh")
    (takes / "c.BLEND").write_bytes(b"")
    printed = run("import", tmp_path / "a.loom", takes).stderr
    assert "skipped  2 .c3d files: markers without a skeleton; convert them to motions" in printed
    assert "skipped  1 .blend file: not supported; convert to GLB" in printed
    facts = json.loads(run("import", tmp_path / "a.loom", takes, "--json").stdout)
    assert facts["left_out"] == {".c3d": 2, ".blend": 1}


@pytest.mark.parametrize("columns", ["40", "80", "300"])
def test_tables_are_never_cut(capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    table = Table()
    for name in ("motion", "frames", "distance", "label"):
        table.add_column(name, justify="right" if name == "distance" else "left")
    label = "walk on uneven terrain, turn left, stop and look around twice"
    table.add_row("subject_0042_take_0017_retargeted", "120-240", "0.1234", label)
    print_table(table)
    out = capsys.readouterr().out
    assert "…" not in out
    assert "120-240" in out
    assert "0.1234" in out
    assert label in out  # standard output is not a terminal: one line


def test_tables_fold_on_a_narrow_terminal(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "50")
    table = Table()
    table.add_column("motion")
    table.add_column("label")
    name, label = "subject_0042_take_0017_retargeted", "walk_on_uneven_terrain_and_turn_left"
    table.add_row(name, label)
    print_table(table)
    out = capsys.readouterr().out
    assert "…" not in out
    letters = [c for c in out if c.isalnum() or c == "_"]
    assert all("".join(letters).count(c) >= (name + label).count(c) for c in set(name + label))


def test_folders_and_lists_of_files_are_checked_alike(tmp_path):
    walk = ml.demo.clip("walk")
    files = [walk.save(tmp_path / f"{name}.bvh") for name in ("a", "b")]
    assert "2 files, 2 healthy" in run("doctor", *files).stdout
    markers(tmp_path / "c.c3d")
    for words in (("doctor", tmp_path), ("convert", tmp_path, tmp_path / "out", "--to", "glb")):
        printed = run(*words).stderr
        assert "skipped 1 .c3d file: markers without a skeleton" in printed
    printed = run("doctor", tmp_path / "a.bvh", tmp_path / "none.bvh", code=1)
    assert "none.bvh" in printed.stderr and "1 file, 1 healthy" in printed.stdout
    run("doctor", *files, "--fix", tmp_path / "fixed")
    assert {file.name for file in (tmp_path / "fixed").iterdir()} == {"a.bvh", "b.bvh"}


def test_the_output_of_a_conversion_may_be_an_option(tmp_path):
    walk = ml.demo.clip("walk").save(tmp_path / "walk.bvh")
    run("convert", walk, "-o", tmp_path / "walk.glb")
    assert ml.load(tmp_path / "walk.glb").fps == 30.0
    printed = run("convert", markers(tmp_path / "walk.c3d"), tmp_path / "no.bvh", code=2).stderr
    assert "To turn markers into a motion, use motionloom reconstruct" in printed


def test_names_that_are_labels_or_folders_are_explained(tmp_path):
    takes = tmp_path / "walking"
    takes.mkdir()
    ml.demo.clip("walk").save(takes / "a.bvh")
    library = tmp_path / "a.loom"
    run("import", library, takes, "--labels", "folder")
    printed = run("info", f"{library}:walking", code=2).stderr
    assert "no motion 'walking'; this is a label of a" in printed
    printed = run("info", f"{takes}:a", code=2).stderr
    assert "is a folder, not a library; name a file in it, or import it" in printed
    run("label", library, "a:10-30", "first step")
    assert "a:10-30  first step" in run("find", library, "step").stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--bpm", "120"), "the motion does not follow this tempo"),
        (("--bpm", "120", "--first-beat", "0.2"), "feet do not land on these beats"),
        (("--bpm", "98.8"), ""),
    ],
)
def test_a_manual_tempo_that_does_not_fit_is_reported(tmp_path, options, message):
    groove = ml.demo.clip("dance_groove").save(tmp_path / "groove.bvh")
    printed = run("beats", groove, *options).stderr
    assert ("warning:" in printed) == bool(message) and message in printed


def test_a_library_after_its_files_gets_a_hint(tmp_path):
    (tmp_path / "raw").mkdir()
    done = ran("import", tmp_path / "raw", tmp_path / "takes.loom")
    assert "the library comes first: motionloom import" in done.stderr and done.returncode == 2
