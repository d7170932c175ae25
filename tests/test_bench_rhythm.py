"""Benchmark of beat trackers: rivals, errors, missing rivals."""

import numpy as np
import pytest

from benchmarks import Settings, rhythm
from benchmarks.takes import measured_rhythms
from benchmarks.timing import Missing
from motionloom.demo.dances import beat_study


def quiet(text):
    pass


def test_kinematic_beats_are_where_the_body_is_slowest():
    motion, truth = beat_study("regular", seconds=10.0)
    detected = rhythm.kinematic_beats(motion)
    off = [np.min(np.abs(detected - beat)) for beat in truth[1:-1]]
    assert np.median(off) < 1.0 / 30.0


def test_rows_hold_both_errors_and_missing_rivals_keep_theirs():
    motion, truth = beat_study("regular", seconds=10.0)
    note = rhythm.beat_errors([(motion, np.array(truth))], "motionloom")
    assert note.startswith("error 0.") and note.endswith("100 % within one, F-measure 1.00")
    rows = rhythm.tracker_rows(
        "a dance", [motion], lambda name: f"error of {name}", Missing("librosa", "not installed"),
        Settings(rounds=1), quiet,
    )  # fmt: skip
    assert "theirs: error of kinematic beats (AIST++); ours: error of motionloom" in rows[0].note
    assert rows[1].rival == "librosa" and rows[1].ratio is None


def test_one_row_reports_how_fast_frames_are_danced():
    (row,) = rhythm.playback_rows(Settings(rounds=1), quiet)
    assert row.ours_s > 0.0 and row.ratio is None
    assert "frames per second of one core" in row.note


def test_without_the_data_set_there_are_no_measured_rhythms(tmp_path):
    assert measured_rhythms(Settings(data=tmp_path), log=quiet) == []


@pytest.mark.cmu
def test_measured_periods_are_reproduced(cmu_data):
    measured = rhythm.measured_takes(Settings(data=cmu_data), quiet)
    assert rhythm.period_errors(measured, "motionloom") == "5 of 5 periods within 2 %"
