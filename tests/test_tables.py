"""Tables of positions: CSV and Parquet."""

from __future__ import annotations

import csv
import sys

import numpy as np
import pytest

import motionloom as ml
from motionloom.errors import InvalidInput, MissingExtra, MotionFormatError
from motionloom.motion.rotations import quaternions as rot

SKELETON = ml.Skeleton(
    ["hips", "a,knee"], [-1, 0], [[0, 0, 0], [0, -0.4, 0]], ["toe"], [1], [[0, -0.4, 0.1]]
)


@pytest.fixture
def motion(rng):
    turns = rot.exp(rng.normal(size=(5000, 2, 3)))
    return ml.Motion(SKELETON, turns, rng.normal(size=(5000, 3)), 120.0)


@pytest.fixture
def markers(rng):
    positions = rng.normal(size=(6, 2, 3))
    positions[2:4, 1] = np.nan
    return ml.Markers(["nan", "Ö"], positions, 50.0)


def rows_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def test_csv_contains_every_point_of_every_frame(motion, tmp_path):
    head, *rows = rows_of(motion.save(tmp_path / "a.csv"))
    assert head == ["frame", "time", "hips.x", "hips.y", "hips.z", "a,knee.x", "a,knee.y",
                    "a,knee.z", "toe.x", "toe.y", "toe.z"]  # fmt: skip
    values = np.array(rows, dtype=float)
    assert values[:, 0].tolist() == list(range(5000))
    np.testing.assert_allclose(values[:, 1], np.arange(5000) / 120, rtol=1e-8)
    wanted = motion.positions(end_sites=True).reshape(5000, -1)
    np.testing.assert_allclose(values[:, 2:], wanted, atol=1e-6)
    assert "-0.000000" not in (tmp_path / "a.csv").read_text()


def test_gaps_are_empty_cells(markers, tmp_path):
    head, *rows = rows_of(markers.save(tmp_path / "a.csv", decimals=3))
    assert head[2:] == ["nan.x", "nan.y", "nan.z", "Ö.x", "Ö.y", "Ö.z"]
    assert [row[5:] == ["", "", ""] for row in rows] == [False, False, True, True, False, False]
    assert rows[0][2] == f"{markers.positions[0, 0, 0]:.3f}"


def test_parquet_contains_the_same_values(motion, markers, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="the extra parquet is not installed")
    table = parquet.read_table(motion.save(tmp_path / "a.parquet"))
    assert table.column_names[:3] == ["frame", "time", "hips.x"]
    wanted = motion.positions(end_sites=True)
    np.testing.assert_array_equal(table["toe.z"].to_numpy(), wanted[:, 2, 2])
    gaps = parquet.read_table(markers.save(tmp_path / "b.parquet"))
    assert gaps["Ö.x"].null_count == 2
    assert gaps["time"].to_pylist() == [0, 0.02, 0.04, 0.06, 0.08, 0.1]


def test_a_missing_extra_is_named_and_nothing_written(motion, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"pip install 'motionloom\[parquet\]'"):
        motion.save(tmp_path / "a.parquet")
    assert not list(tmp_path.iterdir())


def test_a_table_comes_back_as_markers_with_its_gaps(markers, tmp_path):
    again = ml.load_markers(markers.save(tmp_path / "a.csv"))
    assert again.labels == markers.labels
    assert again.fps == markers.fps
    np.testing.assert_array_equal(again.present, markers.present)
    np.testing.assert_allclose(again.positions, markers.positions, atol=1e-6)


def test_a_table_of_another_tool_is_read_by_its_column_names(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("note,head_X,head_Y,head_Z\nstart,0,1700,\nend,0,1700,10\n")
    head = ml.load_markers(path, unit="mm", fps=50)["head"]
    assert np.isnan(head[0, 2]) and head[1].tolist() == [0.0, 1.7, 0.01]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the table is empty"),
        ("a,b\n1,2\n", "columns must be called LABEL.x, LABEL.y, LABEL.z; got 'a', 'b'"),
        (
            "h.x,h.y,h.z\n1,2,3\n1,2,3\n",
            "the frame rate is unknown. Set fps, or add a column 'time'",
        ),
        ("time,h.x,h.y,h.z\n0,1,2,3\n1,1,2\n", "a.csv:3: expected 4 cells, one per column; got 3"),
        ("time,h.x,h.y,h.z\n0,1,2,3\n1,1,x,3\n", "a.csv:3: column 'h.y': 'x' is not a number"),
        ("time,h.x,h.y,h.z\n0,1,2,3\n1,1,2,3\n9,1,2,3\n", "times must increase evenly"),
        ("time,h.x,h.y,h.z\n", "the table has no rows"),
    ],
)
def test_reports_errors_in_a_table(tmp_path, text, message):
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(MotionFormatError, match=message):
        ml.load_markers(path)


def test_reports_invalid_input(motion, tmp_path):
    with pytest.raises(InvalidInput, match="decimals must be 0 to 17; got -1"):
        motion.save(tmp_path / "a.csv", decimals=-1)
    with pytest.raises(
        InvalidInput, match="writing CSV has no option 'unit'; its options are decimals"
    ):
        motion.save(tmp_path / "a.csv", unit="cm")


@pytest.mark.parametrize("columns", [3000, 30_000])
def test_empty_lines_do_not_reserve_space(tmp_path, columns):
    """A table of 33 kB with many columns and empty lines reserved 0.7 GB."""
    import tracemalloc

    path = tmp_path / "a.csv"
    path.write_text("a.x,a.y,a.z" + "," * columns + "\n" * 3000)
    tracemalloc.start()
    with pytest.raises(MotionFormatError, match="cells, one per column|may have 20000 columns"):
        ml.load_markers(path, fps=30)
    assert tracemalloc.get_traced_memory()[1] < 2e7
    tracemalloc.stop()
