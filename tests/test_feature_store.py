"""Features kept with a library: built once, brought up to date, shared."""

from __future__ import annotations

import numpy as np
import pytest

import motionloom as ml
from motionloom.distance import frame_features


@pytest.fixture(scope="module")
def clips():
    return {
        "kick": ml.demo.clip("kick_front_high_right"),
        "walk": ml.demo.clip("walk"),
        "wave": ml.demo.clip("walk", performer=1),
    }


@pytest.fixture
def lib(tmp_path, clips):
    lib = ml.Library.create(tmp_path / "takes.loom")
    for name in ("walk", "kick"):
        lib.add_motion(clips[name], name=name)
    return lib


def test_rows_are_those_of_the_motions_in_order_of_their_names(lib, clips):
    features = lib.features("e15")
    assert features.names == ("kick", "walk")
    assert features.starts.tolist() == [0, len(clips["kick"]), len(features)]
    for name in features.names:
        rows = features.rows[features.motion_rows(name)]
        np.testing.assert_array_equal(rows, frame_features(clips[name], "e15"))


def test_a_second_call_opens_what_the_first_has_built(lib, monkeypatch):
    first = lib.features("e15")
    monkeypatch.setattr("motionloom.distance.feature_store.build_rows", None)
    again = ml.Library(lib.path).features("e15")
    assert again.folder == first.folder
    assert isinstance(again.rows, np.memmap)
    np.testing.assert_array_equal(again.rows, first.rows)
