"""Tables of positions: CSV and Parquet."""

from __future__ import annotations

import csv
import sys

import numpy as np
import pytest

import motionloom as ml
from motionloom.errors import InvalidInput, MissingExtra, MotionFormatError
from motionloom.motion import rotations as rot

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


def test_csv_holds_every_point_of_every_frame(motion, tmp_path):
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


def test_parquet_holds_the_same(motion, markers, tmp_path):
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


def test_tables_are_not_read(motion, tmp_path):
    path = motion[:3].save(tmp_path / "a.csv")
    with pytest.raises(MotionFormatError, match="written, not read: suffix '.csv'; one of .bvh"):
        ml.load(path)


def test_says_what_is_wrong(motion, tmp_path):
    with pytest.raises(InvalidInput, match="decimals must be 0 to 17; got -1"):
        motion.save(tmp_path / "a.csv", decimals=-1)
    with pytest.raises(InvalidInput, match="writing CSV takes no option 'unit'; it takes decimals"):
        motion.save(tmp_path / "a.csv", unit="cm")
