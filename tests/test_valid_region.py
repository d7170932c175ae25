"""Minima of a matrix, the valid region, and alignments within it."""

import numpy as np
import pytest
from naive import alignment as naive

import motionloom as ml
from motionloom.alignment import align_in_region, matrix_minima, valid_region
from motionloom.errors import InvalidInput
from motionloom.features import distance_matrix


@pytest.fixture(scope="module")
def kicks():
    """Distances of two kicks of the built-in corpus."""
    high, low = ml.demo.clip("kick_front_high_right"), ml.demo.clip("kick_front_low_right")
    return distance_matrix(high.resample(10), low.resample(10), "pc11")


def matrices(rng):
    yield rng.random((7, 9))
    yield rng.integers(0, 4, (8, 8)).astype(float)  # plateaus, ties and zeros
    smooth = np.cumsum(np.cumsum(rng.normal(size=(12, 11)), axis=0), axis=1)
    yield smooth - smooth.min()
    holed = rng.random((9, 6))
    holed[3, 2:5] = np.nan
    yield holed


def cells(mask):
    return set(zip(*(where.tolist() for where in np.nonzero(mask)), strict=True))


@pytest.mark.parametrize("alpha", [0.0, 0.15, 2.0])
@pytest.mark.parametrize("edges", [True, False])
def test_minima_and_region_are_those_of_the_paper(rng, kicks, alpha, edges):
    """Of squared distances, and of their roots; with and without minima at the ends of lines."""
    for matrix in [*matrices(rng), kicks]:
        minima = matrix_minima(matrix, edges=edges)
        in_row, in_column = naive.local_minima(matrix.tolist(), ends=edges)
        assert cells(minima & 1) == in_row
        assert cells(minima & 2) == in_column
        region = valid_region(matrix, alpha=alpha, minima=minima, squared=True)
        assert cells(region) == naive.valid_region(matrix.tolist(), in_row, in_column, alpha)
        of_roots = valid_region(np.sqrt(matrix), alpha=alpha, minima=minima)
        # Rounding of the root decides between equal numbers only.
        assert np.array_equal(of_roots, region) or not np.all(np.diff(np.sort(matrix.ravel())))
        if not edges:
            assert np.array_equal(valid_region(matrix, alpha=alpha, squared=True), region)


def test_adjacent_motions_do_not_affect_each_other(rng):
    parts = [rng.random((9, n)) for n in (5, 1, 7)]
    together, starts = np.hstack(parts), [0, 5, 6, 13]
    assert np.array_equal(
        matrix_minima(together, starts=starts), np.hstack([matrix_minima(part) for part in parts])
    )
    assert np.array_equal(
        valid_region(together, starts=starts), np.hstack([valid_region(part) for part in parts])
    )


@pytest.mark.parametrize("max_slope", [1, 2, 3])
def test_the_alignment_has_the_lowest_cost_of_all(rng, kicks, max_slope):
    for matrix in [*matrices(rng), kicks]:
        for share in (1.0, 0.8):
            allowed = rng.random(matrix.shape) < share
            last = (matrix.shape[0] - 1, matrix.shape[1] - 1)
            for start, end in [((0, 0), last), ((1, 2), (5, 4)), ((2, 0), (2, 2))]:
                ours = align_in_region(matrix, allowed, start=start, end=end, max_slope=max_slope)
                cost, path = naive.time_alignment(
                    matrix.tolist(), allowed.tolist(), start=start, end=end, max_slope=max_slope
                )
                if not len(path):
                    assert ours is None
                    continue
                assert ours.cost == pytest.approx(cost)
                assert np.nansum(matrix[tuple(ours.path.T)]) == pytest.approx(cost)
                assert allowed[tuple(ours.path.T)].all()


def test_two_kicks_correspond_within_the_valid_region(kicks):
    region = valid_region(kicks)
    assert 0.05 < region.mean() < 0.6
    order = sorted(cells(region), key=sum)
    ends = [(a, b) for a in order[:10] for b in order[-10:]]
    alignment = [align_in_region(kicks, region, start=a, end=b) for a, b in ends]
    longest = max(len(item.path) for item in alignment if item is not None)
    assert longest > 0.7 * min(kicks.shape)


def test_no_path_means_not_similar():
    wall = np.ones((5, 5), bool)
    wall[:, 2] = False
    assert align_in_region(np.ones((5, 5)), wall) is None
    assert align_in_region(np.ones((2, 7)), max_slope=3) is None
    assert align_in_region(np.ones((3, 7)), max_slope=3) is not None
    assert align_in_region(np.ones((5, 5)), start=(3, 0), end=(2, 4)) is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"region": np.ones((2, 3), bool)}, r"region must have the matrix's shape \(3, 3\)"),
        ({"max_slope": 0}, "max_slope must be at least 1; got 0"),
        ({"start": (3, 0)}, r"start must be a cell of the matrix of shape \(3, 3\); got \(3, 0\)"),
        ({"end": (0, -1)}, "end must be a cell"),
    ],
)
def test_reports_invalid_input(options, message):
    with pytest.raises(InvalidInput, match=message):
        align_in_region(np.ones((3, 3)), **options)


def test_region_reports_invalid_input():
    with pytest.raises(InvalidInput, match="alpha must not be negative; got -1"):
        valid_region(np.ones((3, 3)), alpha=-1)
    with pytest.raises(
        InvalidInput, match="starts must increase from 0 to the number of columns, 3"
    ):
        matrix_minima(np.ones((3, 3)), starts=[0, 2])
