"""Lower bounds of distances from the trends of windows."""

import numpy as np
import pytest

import motionloom as ml
from motionloom.errors import InvalidInput
from motionloom.features.frame_distances import frame_distance
from motionloom.features.matrix import DistanceMatrix, prepared_frames
from motionloom.search.match_web.near_cells import TrendMatrix, window_trends

NAMES = ("walk", "jog", "kick_front_high_right")


@pytest.mark.parametrize(
    ("fps", "distance"), [(30.0, "pc11"), (60.0, "pc11"), (25.0, "pc11"), (30.0, "pc1")]
)
def test_distances_of_trends_are_almost_those_of_windows_and_never_larger(fps, distance):
    # At 25 frames per second the poses of a window lie between frames.
    frames = [prepared_frames(ml.demo.clip(name, fps=fps), distance) for name in NAMES]
    exact = DistanceMatrix(frames[0], frames)
    trends = TrendMatrix(window_trends(frames[0]), [window_trends(frame) for frame in frames])
    assert trends.shape == exact.shape
    for stride in (1, 3):
        np.testing.assert_array_equal(trends.sampled_starts(stride), exact.sampled_starts(stride))
        wanted = exact.sampled(stride)
        bounds = trends.lower_bounds(stride)
        apart = wanted > 0.02  # nearer, single precision is seen
        assert bounds.max() > 0.2
        assert np.all(bounds <= wanted + 5e-4)
        assert np.all(bounds[apart] <= (1.0 + 5e-4) * wanted[apart])
        share = bounds[apart] / wanted[apart]
        assert np.median(share) > 0.97 and share.min() > 0.45


@pytest.mark.parametrize("fps", [30.0, 25.0])
def test_chosen_cells_are_those_of_the_whole_matrix(rng, fps):
    # At 25 frames per second the poses of a window lie between frames: cell by cell.
    frames = [prepared_frames(ml.demo.clip(name, fps=fps)) for name in NAMES]
    matrix = TrendMatrix(window_trends(frames[0]), [window_trends(frame) for frame in frames])
    for stride in (1, 3):
        every = DistanceMatrix(frames[0], frames).sampled(stride)
        where = (rng.uniform(size=every.shape) < 0.05).astype(np.uint8)
        where[:, -3:] = 1
        where[: len(where) // 2, : every.shape[1] // 4] = 0
        some = matrix.sampled(stride, where=where)
        np.testing.assert_allclose(some[where > 0] ** 2, every[where > 0] ** 2, atol=1e-12)


def test_parts_have_the_windows_of_the_whole():
    walk = window_trends(prepared_frames(ml.demo.clip("walk")))
    whole = TrendMatrix(walk, [walk]).lower_bounds(1)
    part = TrendMatrix(walk.part(5, 20), [walk.part(7, 30)]).lower_bounds(1)
    np.testing.assert_allclose(part, whole[5:20, 7:30], atol=5e-4)
    assert TrendMatrix(walk.part(0, 0), [walk]).lower_bounds(3).shape == (0, -(-len(walk) // 3))


def test_a_missing_point_spoils_only_windows_around_it():
    frames = prepared_frames(ml.demo.clip("walk"))
    frames.points[40, 3] = np.nan
    bounds = TrendMatrix(window_trends(frames), [window_trends(frames)]).lower_bounds(1)
    spoilt = np.isnan(bounds).all(axis=1)
    assert spoilt.sum() == 11 and not np.isnan(bounds[~spoilt][:, ~spoilt]).any()


def test_invalid_input_is_reported():
    walk = ml.demo.clip("walk")
    with pytest.raises(
        InvalidInput, match=r"window trends need a point-cloud distance \(pc1 to pc11\); got e15"
    ):
        window_trends(prepared_frames(walk, frame_distance("e15")))
    trends = window_trends(prepared_frames(walk))
    with pytest.raises(InvalidInput, match=r"where must be uint8 with shape .*; got bool with"):
        TrendMatrix(trends, [trends]).sampled(1, where=np.ones((2, 2), np.bool_))
