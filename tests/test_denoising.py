"""Noise, gaps and outliers in trajectories of points."""

import numpy as np
import pytest
from naive.denoising import most_likely_path
from scipy.linalg import solveh_banded

import motionloom as ml
from motionloom.errors import InvalidInput
from motionloom.motion.denoising import _bands, _uncertainty, denoise_positions, noise_of


@pytest.fixture(scope="module")
def jog():
    return ml.demo.clip("jog")


def _points(motion):
    return motion.positions().astype(np.float64)


def test_the_path_is_the_solution_of_the_least_squares_problem(rng):
    path = np.cumsum(rng.normal(size=(40, 3)), axis=0)
    weights = rng.uniform(0.2, 1.0, 40)
    change = rng.uniform(0.1, 3.0, 38)
    bands = _bands(weights / 0.25, change, np.zeros(40, bool), 5.0)
    fast = solveh_banded(bands, path * (weights / 0.25)[:, None])
    np.testing.assert_allclose(fast, most_likely_path(path, weights, 0.5, change), atol=1e-6)


@pytest.mark.parametrize("ratio", [1e-4, 1e-2, 1.0, 100.0])
def test_the_uncertainty_is_that_of_the_posterior_distribution(ratio):
    # In the middle of a long take, from the inverse of the matrix.
    frames, variance = 400, 0.3
    differences = np.diff(np.eye(frames), n=2, axis=0)
    matrix = np.eye(frames) / variance + differences.T @ differences / (ratio * variance)
    row = differences[frames // 2]
    expected = row @ np.linalg.inv(matrix) @ row
    assert _uncertainty(np.array([ratio * variance]), variance)[0] == pytest.approx(
        expected, rel=0.01
    )


@pytest.mark.parametrize("noise", [0.003, 0.01, 0.03])
def test_noise_is_estimated_in_spite_of_the_motion(jog, rng, noise):
    points = _points(jog)
    seen = points + rng.normal(0.0, noise, points.shape)
    estimates = [noise_of(seen[:, k]) for k in range(seen.shape[1])]
    assert np.median(estimates) == pytest.approx(noise, rel=0.15)


def test_paths_without_noise_are_not_changed(jog):
    points = _points(jog)
    result = denoise_positions(points, fps=jog.fps)
    assert np.array_equal(result.positions, points)
    assert not result.outliers.any() and not result.smoothed.any()


def test_gaps_and_spikes_in_a_clean_path_are_replaced_and_the_rest_is_kept(jog, rng):
    points = _points(jog)
    seen = points.copy()
    seen[20:25, 3] = np.nan
    seen[40, 5] += [0.3, 0.0, 0.2]
    result = denoise_positions(seen, fps=jog.fps)
    assert result.filled[20:25, 3].all() and result.filled.sum() == 5
    assert result.outliers[40, 5] and result.outliers.sum() == 1
    touched = result.filled | result.outliers
    assert np.array_equal(result.positions[~touched], points[~touched])
    assert np.linalg.norm(result.positions - points, axis=2).max() < 0.02


def test_noise_gaps_and_outliers_together_are_repaired(jog, rng):
    points = _points(jog)
    seen = points + rng.normal(0.0, 0.01, points.shape)
    wild = rng.random(seen.shape[:2]) < 0.02
    seen[wild] += rng.choice([-0.3, 0.3], (wild.sum(), 3))
    seen[rng.random(seen.shape[:2]) < 0.1] = np.nan
    result = denoise_positions(seen, fps=jog.fps)
    error = np.linalg.norm(result.positions - points, axis=2)
    present = wild & np.isfinite(seen[:, :, 0])
    assert error.mean() < 0.012  # 16 mm with noise alone
    assert result.outliers[present].mean() > 0.9


def test_a_low_confidence_counts_less_and_none_counts_as_a_gap(jog, rng):
    points = _points(jog)
    seen = points + rng.normal(0.0, 0.004, points.shape)
    confidence = np.ones(seen.shape[:2])
    confidence[::3, 2] = 0.2
    seen[::3, 2] = points[::3, 2] + rng.normal(0.0, 0.04, seen[::3, 2].shape)
    confidence[10:12, 4] = 0.0
    trusted = denoise_positions(seen, fps=jog.fps, confidence=confidence)
    blind = denoise_positions(seen, fps=jog.fps)
    errors = [np.linalg.norm(r.positions - points, axis=2)[:, 2].mean() for r in (trusted, blind)]
    assert errors[0] < errors[1]
    assert trusted.filled[10:12, 4].all()


def test_a_long_gap_at_the_end_does_not_run_away(jog):
    seen = _points(jog)
    seen[-60:, 7] = np.nan
    result = denoise_positions(seen, fps=jog.fps).positions
    assert np.linalg.norm(result[-1, 7] - seen[-61, 7]) < 1.0


def test_short_and_empty_paths_are_filled_as_far_as_possible():
    seen = np.full((4, 2, 3), np.nan)
    seen[1, 0], seen[3, 0] = 1.0, 3.0
    result = denoise_positions(seen, fps=30.0)
    np.testing.assert_allclose(result.positions[:, 0, 0], [1.0, 1.0, 2.0, 3.0])
    assert np.isnan(result.positions[:, 1]).all()


@pytest.mark.parametrize(
    ("shape", "confidence", "message"),
    [((4, 3), None, r"shape \(frames, points, 3\); got \(4, 3\)"),
     ((4, 2, 3), (4, 3), r"confidence must have shape \(4, 2\)")],
)  # fmt: skip
def test_wrong_shapes_are_refused(shape, confidence, message):
    given = None if confidence is None else np.ones(confidence)
    with pytest.raises(InvalidInput, match=message):
        denoise_positions(np.zeros(shape), fps=30.0, confidence=given)
