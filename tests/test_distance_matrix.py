"""Distance matrices, block by block."""

from itertools import product

import numpy as np
import pytest

import motionloom as ml
from benchmarks.rivals.cell_by_cell import cell_by_cell
from motionloom.alignment import matrix_minima
from motionloom.errors import InvalidInput
from motionloom.features import PointCloud, distance_matrix
from motionloom.features.matrix import DistanceMatrix, prepared_frames


@pytest.fixture(scope="module")
def clips():
    return [ml.demo.clip(name) for name in ("walk", "kick_front_high_right", "jog")]


@pytest.mark.parametrize("distance", ["pc1", "pc11", "e15", "quat", PointCloud("pc5", samples=5)])
@pytest.mark.parametrize("fps", [30.0, 60.0, 24.0])  # at 24 windows fall between frames
def test_blocks_match_distances_of_whole_windows(clips, distance, fps):
    a, *others = (clip[:50].resample(fps) for clip in clips)
    matrix = DistanceMatrix(
        prepared_frames(a, distance), [prepared_frames(b, distance) for b in others]
    )
    wanted = np.hstack([distance_matrix(a, b, distance) for b in others])
    assert matrix.shape == wanted.shape
    assert np.allclose(matrix.block(), wanted, atol=1e-7, rtol=1e-9)
    part = matrix.block(slice(3, 20), slice(10, len(others[0]) + 9))
    assert np.allclose(part, wanted[3:20, 10 : len(others[0]) + 9], atol=1e-7, rtol=1e-9)


WIDE = PointCloud("wide", samples=601)
SOME = [("pc11", 60.0, 3), ("e15", 120.0, 6), ("pc1", 30.0, 1)]
SAMPLED = [
    pytest.param(*case, marks=[] if case[1] == 24.0 or case in SOME else [pytest.mark.slow])
    for case in product(["pc1", "pc11", "e15", WIDE], [30.0, 60.0, 120.0, 24.0], [1, 3, 6])
]


@pytest.mark.parametrize(("distance", "fps", "stride"), SAMPLED)
def test_a_sampled_matrix_has_every_nth_cell(clips, distance, fps, stride):
    frames = [prepared_frames(clip[:50].resample(fps), distance) for clip in clips]
    matrix = DistanceMatrix(frames[0], frames)
    starts, places = matrix.sampled_starts(stride), matrix.starts
    columns = [np.arange(places[k], places[k + 1], stride) for k in range(len(frames))]
    wanted = matrix.block()[::stride][:, np.concatenate(columns)]
    assert starts.tolist() == np.cumsum([0, *(len(some) for some in columns)]).tolist()
    # Squares are compared: where motions are equal, their rounding is all there is.
    assert np.allclose(matrix.sampled(stride) ** 2, wanted**2, atol=1e-12)
    where = np.zeros(wanted.shape, np.uint8)
    where[2:5, 3:9] = where[-1, -1] = where[-1, 0] = where[0, -1] = 1
    some = matrix.sampled(stride, where=where)
    assert np.allclose(some[where > 0] ** 2, wanted[where > 0] ** 2, atol=1e-12)


def test_tiles_of_a_sampled_matrix_fit_together(rng):
    walk = ml.demo.clip("walk", fps=60.0)
    long = ml.concatenate([walk] * 3) if len(walk) < 600 else walk
    frames = [prepared_frames(long), prepared_frames(walk)]
    matrix = DistanceMatrix(frames[0], frames)
    assert max(matrix.shape) > 1024
    where = (rng.random(matrix.shape) < 0.01).astype(np.uint8)
    distances = matrix.sampled(1, where=where)[where > 0]
    assert np.allclose(distances**2, matrix.block()[where > 0] ** 2, atol=1e-12)


def test_cells_match_a_simple_loop(clips):
    a, b = clips[0][:40], clips[1][:30]
    matrix = DistanceMatrix(prepared_frames(a), [prepared_frames(b)]).block()
    assert np.allclose(matrix, cell_by_cell(a, b, PointCloud("pc11", samples=11)), atol=1e-9)


def test_memory_can_be_reused(clips):
    walk, kick = (prepared_frames(clip) for clip in clips[:2])
    matrix = DistanceMatrix(walk, [kick])
    room = np.full((20, 30), np.inf)
    assert matrix.block(slice(0, 20), slice(0, 30), out=room) is room
    assert np.array_equal(room, matrix.block(slice(0, 20), slice(0, 30)))
    with pytest.raises(InvalidInput, match=r"out must be float64 with shape \(20, 31\)"):
        matrix.block(slice(0, 20), slice(0, 31), out=room)


def minima_of(motions, tile):
    first, *others = (prepared_frames(motion) for motion in motions)
    matrix = DistanceMatrix(first, others, tile=tile)
    return matrix_minima(matrix.block(), starts=matrix.starts)


def test_two_tile_sizes_give_the_same_minima(clips):
    assert np.array_equal(minima_of(clips, 512), minima_of(clips, 37))


@pytest.mark.cmu
def test_two_tile_sizes_give_the_same_minima_of_captured_takes(cmu30):
    takes = [ml.load(path) for path in sorted(cmu30.glob("*/13_*.bvh"))[:3]]
    small, large = minima_of(takes, 64), minima_of(takes, 1000)
    assert small.size > 100_000 and np.count_nonzero(small) > 1000
    assert np.array_equal(small, large)


def test_location_and_heading_do_not_matter(clips):
    walk = clips[0]
    away = walk.transform(yaw=2.0, shift=(300.0, 0.0, -500.0))
    matrix = DistanceMatrix(prepared_frames(walk), [prepared_frames(away)]).block()
    assert np.allclose(matrix, distance_matrix(walk, walk), atol=1e-4)


def test_a_missing_point_affects_only_its_windows(clips):
    walk = clips[0][:60]
    rotations = walk.rotations.copy()
    rotations[30] = np.nan
    holed = ml.Motion(walk.skeleton, rotations, walk.root, fps=walk.fps)
    matrix = DistanceMatrix(prepared_frames(walk), [prepared_frames(holed)]).block()
    assert np.isnan(matrix[:, 25:36]).all()
    assert not np.isnan(matrix[:, :25]).any() and not np.isnan(matrix[:, 36:]).any()


def test_reports_invalid_input(clips):
    walk, kick = clips[:2]
    with pytest.raises(InvalidInput, match="tile must be at least 1; got 0"):
        DistanceMatrix(prepared_frames(walk), [prepared_frames(kick)], tile=0)
    with pytest.raises(
        InvalidInput, match="same distance and the same rate; got distances pc11 and e15"
    ):
        DistanceMatrix(prepared_frames(walk), [prepared_frames(kick, "e15")])
    with pytest.raises(InvalidInput, match=r"where must be uint8 with shape \(2, 3\); got bool"):
        matrix = DistanceMatrix(prepared_frames(walk[:4]), [prepared_frames(kick[:5])])
        matrix.sampled(2, where=np.ones((2, 3), bool))
    with pytest.raises(InvalidInput, match="steps of 1 and 2 frames"):
        DistanceMatrix(prepared_frames(walk), [prepared_frames(kick.resample(60))])
