"""Labels that come with an import: from folders, names, tables and mappings."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_takes import write_take

from motionloom.errors import InvalidInput


def test_labels_from_nested_folders(tmp_path, lib):
    write_take(tmp_path / "takes/kick/high/a.bvh", seed=1)
    write_take(tmp_path / "takes/b.bvh", seed=2)
    lib.add(tmp_path / "takes", labels="folder")
    assert lib.labels["a"] == ("high", "kick") and lib.labels["b"] == ("takes",)


def test_labels_from_file_names(takes, lib):
    lib.add(takes, labels=r"pattern:^(?P<label>[a-z]+)_\d*(?P<label_number>\d)$")
    assert lib.labels["walk_004"] == ("4", "walk")
    lib.add(takes, labels=r"pattern:/(w[a-z]+)/")
    assert lib.labels["walk_004"] == ("walk",)
    assert lib.labels["run_001"] == ("1", "run")  # the second rule said nothing about it


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_labels_from_a_table(takes, lib, tmp_path, encoding, delimiter):
    rows = [
        ["Label", "Clip", "who"],
        ["go", "walk_000.bvh", "Zoë"],
        ["go", "walk/walk_004.BVH", ""],
        ["fast", "takes\\run\\run_001", "Max"],
        ["far", "run_001", ""],
        ["none", "elsewhere", ""],
        ["wrong folder", "run/walk_008", ""],
    ]
    table = tmp_path / "labels.csv"
    table.write_bytes("\r\n".join(map(delimiter.join, rows)).encode(encoding))
    report = lib.add(takes, labels=table)
    assert report.unmatched_labels == ("elsewhere", "run/walk_008")
    assert lib.labels.counts() == {"far": 1, "fast": 1, "go": 2}
    assert lib.labels["run_001"] == ("far", "fast")
    lib.add(takes, labels=str(table), label_columns=["label", "WHO"])
    assert lib.labels["walk_000"] == ("Zoë", "go")


def test_labels_from_a_mapping_and_from_several_rules(takes, lib):
    report = lib.add(takes, labels=["folder", {"walk_000": "first", "run_001": ["a", "b"]}])
    assert lib.labels["walk_000"] == ("first", "walk")
    assert lib.labels["run_001"] == ("a", "b", "run")
    assert report.unmatched_labels == ()


@pytest.mark.parametrize(
    ("labels", "columns", "message"),
    [
        ("folders", None, "labels must be 'folder', 'pattern:REGEX' or an existing CSV file"),
        ("pattern:(", None, "is not a regular expression"),
        ("pattern:abc", None, "needs a group for the label"),
        ("odd.csv", None, "expected a column called file, .* found a, b"),
        ("empty.csv", None, "found nothing"),
        ("good.csv", "kind", "no column 'kind' .*--label-column.*the columns are file, label"),
    ],
)
def test_invalid_labels_are_reported(takes, lib, monkeypatch, labels, columns, message):
    monkeypatch.chdir(takes)
    Path("odd.csv").write_text("a,b\n1,2\n")
    Path("empty.csv").write_text("")
    Path("good.csv").write_text("file,label\nwalk_000,x\n")
    with pytest.raises(InvalidInput, match=message):
        lib.add(takes, labels=labels, label_columns=columns)
    assert len(lib) == 0
