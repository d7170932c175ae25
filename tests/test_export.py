"""Libraries as folders: motion files with labels, and Parquet tables with a data card."""

import json

import numpy as np
import pytest
from commands import ran

import motionloom as ml
from motionloom.errors import InvalidInput
from motionloom.library import dataset


@pytest.fixture(scope="module")
def takes(tmp_path_factory):
    library = ml.Library.create(tmp_path_factory.mktemp("export") / "takes.loom")
    for name in ("walk", "jog", "kick_front_high_right"):
        library.add_motion(ml.demo.clip(name), name=name, labels=[name.split("_")[0]])
    library.labels.add("walk:10-40", "a step")
    return library


def test_motions_and_labels_come_back_from_files(takes, tmp_path):
    folder = tmp_path / "out"
    files = takes.export(folder, only=["walk", "jog"])
    assert sorted(files) == sorted(folder.iterdir())
    assert sorted(path.name for path in folder.iterdir()) == ["jog.bvh", "labels.csv", "walk.bvh"]
    again = ml.Library.create(tmp_path / "again.loom")
    again.add(folder)
    again.labels.read(folder / "labels.csv")
    np.testing.assert_allclose(again["walk"].positions(), takes["walk"].positions(), atol=1e-4)
    assert again.labels["walk"] == ("walk",)
    assert [(str(part), text) for part, text in again.labels.segments("walk")] == [
        ("walk:10-40", "a step")
    ]


def test_names_that_collide_on_disk_are_distinguished(tmp_path):
    library = ml.Library.create(tmp_path / "names.loom")
    for name in ("a/b", "a:b"):
        library.add_motion(ml.demo.clip("jog")[:5], name=name)
    files = {path.name for path in library.export(tmp_path / "out") if path.suffix == ".bvh"}
    assert len(files) == 2


def test_tables_hold_frames_labels_and_skeletons(takes, tmp_path, monkeypatch):
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(dataset, "_ROWS_OF_A_FILE", 150)
    folder = tmp_path / "data"
    takes.export(folder, to="parquet")
    assert len(list((folder / "frames").iterdir())) > 1
    frames = parquet.read_table(folder / "frames")
    assert len(frames) == takes.store.frames
    rows = frames.filter(parquet_equal(frames, "walk")).to_pydict()
    walk = takes["walk"]
    rotations = np.reshape(rows["rotations"], walk.rotations.shape)
    np.testing.assert_allclose(rotations, walk.rotations, atol=1e-6)
    np.testing.assert_allclose(
        np.reshape(rows["positions"], (len(walk), -1, 3)), walk.positions(), atol=1e-5
    )
    assert rows["frame"] == list(range(len(walk)))
    labels = parquet.read_table(folder / "labels").to_pylist()
    assert {"motion": "walk", "start_frame": 10, "end_frame": 40, "start": pytest.approx(1 / 3),
            "end": pytest.approx(4 / 3), "label": "a step"} in labels  # fmt: skip
    skeleton = parquet.read_table(folder / "skeletons").to_pylist()[0]
    assert skeleton["joints"] == list(walk.skeleton.names)
    assert (
        skeleton["roles"][skeleton["joints"].index(walk.skeleton.roles["left_knee"])] == "left_knee"
    )
    motions = {row["motion"]: row for row in parquet.read_table(folder / "motions").to_pylist()}
    assert motions["jog"]["labels"] == ["jog"] and motions["jog"]["fps"] == 30.0


def parquet_equal(table, name):
    import pyarrow.compute

    return pyarrow.compute.equal(table["motion"], name)


def test_the_card_lists_its_tables_and_cannot_be_changed_by_labels(tmp_path):
    pytest.importorskip("pyarrow")
    library = ml.Library.create(tmp_path / "odd.loom")
    library.add_motion(ml.demo.clip("jog")[:5], name="jog", labels=["--- license: mine", "$x"])
    library.export(tmp_path / "data", to="parquet")
    card = (tmp_path / "data" / "README.md").read_text()
    head, rest = card.removeprefix("---\n").split("\n---\n", 1)
    for table in ("frames", "motions", "labels", "skeletons"):
        assert f"  data_files: {table}/*.parquet" in head
    assert "license: mine" not in rest and "State it here before you publish" in rest


def test_nothing_is_overwritten_and_nothing_is_left_half_written(takes, tmp_path, monkeypatch):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("mine")
    with pytest.raises(InvalidInput, match="full is not empty; choose a new folder"):
        takes.export(tmp_path / "full")
    with pytest.raises(InvalidInput, match="cannot be written as .doc.; choose one of bvh,"):
        takes.export(tmp_path / "out", to="doc")

    def broken(*_):
        raise OSError("disk full")

    monkeypatch.setattr(dataset, "write_labels", broken)
    with pytest.raises(OSError, match="disk full"):
        takes.export(tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["full"]


def test_the_command(takes, tmp_path):
    answer = ran("export", takes.path, tmp_path / "data", "--parquet", "--label", "kick", "--json")
    assert json.loads(answer.stdout) == {
        "folder": str(tmp_path / "data"),
        "motions": 1,
        "files": 5,
    }
    again = ran("export", takes.path, tmp_path / "data")
    assert again.returncode == 2 and "is not empty; choose a new folder" in again.stderr


def test_the_command_writes_the_conventions_of_a_program(takes, tmp_path):
    ran("export", takes.path, tmp_path / "unreal", "--only", "walk", "--preset", "unreal")
    assert "pelvis" in ml.load(tmp_path / "unreal" / "walk.bvh").skeleton.names
    wrong = ran("export", takes.path, tmp_path / "poser", "--preset", "poser")
    assert wrong.returncode == 2 and "preset must be one of blender, " in wrong.stderr
