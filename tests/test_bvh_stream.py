"""BVH written in pieces is BVH written at once."""

import numpy as np
import pytest

import motionloom as ml
from motionloom.errors import InvalidInput
from motionloom.formats.bvh.writer import bvh_stream


def test_blocks_give_the_same_file_as_the_whole(tmp_path):
    dance = ml.demo.clip("take_dances")[:400]
    dance.save(tmp_path / "whole.bvh")
    with bvh_stream(tmp_path / "pieces.bvh", dance.skeleton, frames=400, fps=dance.fps) as out:
        for start in range(0, 400, 37):
            out.write(dance.rotations[start : start + 37], dance.root[start : start + 37])
    whole, pieces = (ml.load(tmp_path / f"{name}.bvh") for name in ("whole", "pieces"))
    np.testing.assert_allclose(pieces.positions(), whole.positions(), atol=1e-5)
    text = (tmp_path / "pieces.bvh").read_text().splitlines()
    values = np.array([line.split() for line in text[-400:]], float)
    assert np.abs(np.diff(values[:, 3:], axis=0)).max() <= 180.0  # no jump of a whole turn


def test_a_wrong_number_of_frames_leaves_no_file(tmp_path):
    walk = ml.demo.clip("walk")
    with (
        pytest.raises(InvalidInput, match="expected 40 frames, but 10 were written"),
        bvh_stream(tmp_path / "walk.bvh", walk.skeleton, frames=40, fps=30) as out,
    ):
        out.write(walk.rotations[:10], walk.root[:10])
    assert list(tmp_path.iterdir()) == []


def test_reports_unsupported_output(tmp_path):
    walk = ml.demo.clip("walk")
    with (
        pytest.raises(InvalidInput, match="at least one frame"),
        bvh_stream(tmp_path / "walk.bvh", walk.skeleton, frames=0, fps=30),
    ):
        pass
    spoiled = np.array(walk.root)
    spoiled[3] = np.nan
    with (
        pytest.raises(InvalidInput, match="frames starting at 0 contain NaN"),
        bvh_stream(tmp_path / "walk.bvh", walk.skeleton, frames=len(walk), fps=30) as out,
    ):
        out.write(walk.rotations, spoiled)
