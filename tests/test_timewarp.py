"""Timewarps: strictly increasing, smooth, exactly invertible."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import timewarp as naive

from motionloom.alignment import Timewarp, corresponding, warp
from motionloom.errors import InvalidInput

GAPS = st.lists(st.floats(0.05, 20.0), min_size=1, max_size=8)


@st.composite
def points(draw):
    gaps = draw(GAPS)
    rises = draw(st.lists(st.floats(0.05, 20.0), min_size=len(gaps), max_size=len(gaps)))
    x0, y0 = draw(st.floats(-50, 50)), draw(st.floats(-50, 50))
    return x0 + np.cumsum([0.0, *gaps]), y0 + np.cumsum([0.0, *rises])


def staircase(rng, frames=60):
    """An alignment by dynamic programming between a signal and itself, warped."""
    true = Timewarp([0, 0.3 * frames, 0.7 * frames, frames], [0, 25, 38, 1.1 * frames])
    fine = np.arange(0, int(true(frames)) + 1)
    signal = np.cumsum(rng.normal(size=(len(fine) + 30, 4)), axis=0)
    signal = np.array([np.convolve(s, np.hanning(9) / 4, "same") for s in signal.T]).T
    first = np.array([np.interp(true(np.arange(frames + 1)), np.arange(len(s)), s)
                      for s in signal.T]).T  # fmt: skip
    grid = np.linalg.norm(first[:, None] - signal[None, : len(fine)], axis=-1)
    return warp(grid).path, true


def test_is_the_curve_of_the_definition(rng):
    x, y = np.cumsum(rng.uniform(0.5, 3.0, 8)), np.cumsum(rng.uniform(0.2, 4.0, 8))
    d = rng.uniform(0.2, 3.0, 8)
    curve = Timewarp(x, y, d)
    times = rng.uniform(x[0], x[-1], 50)
    expected = [naive.rational_quadratic(t, x, y, d) for t in times]
    np.testing.assert_allclose(curve(times), expected, rtol=1e-12)
    back = [naive.solved(v, curve, x[0], x[-1]) for v in expected]
    np.testing.assert_allclose(curve.inverse()(expected), back, atol=1e-9)


@given(points())
def test_passes_through_its_points_and_never_stands_still(pair):
    x, y = pair
    curve = Timewarp(x, y)
    np.testing.assert_allclose(curve(x), y, atol=1e-9)
    fine = np.linspace(x[0] - 3.0, x[-1] + 3.0, 301)
    assert np.all(np.diff(curve(fine)) > 0.0) and np.all(curve.speed(fine) > 0.0)


@given(points())
def test_a_warp_and_its_inverse_cancel(pair):
    x, y = pair
    curve = Timewarp(x, y)
    times = np.linspace(x[0] - 2.0, x[-1] + 2.0, 101)
    size = max(1.0, float(np.max(np.abs(curve.inverse().speed(curve(times))))))
    np.testing.assert_allclose(curve.inverse()(curve(times)), times, atol=1e-8 * size)
    assert curve.inverse().domain == pytest.approx((y[0], y[-1]))


def test_warps_are_composed(rng):
    first = Timewarp([0, 10, 30], [0, 20, 40])
    two = Timewarp([0, 5, 40], [3, 9, 20])
    times = rng.uniform(-2.0, 32.0, (4, 5))
    both = first.then(two)
    np.testing.assert_array_equal(both(times), two(first(times)))
    np.testing.assert_allclose(both.speed(times), two.speed(first(times)) * first.speed(times))
    np.testing.assert_allclose(both.inverse()(both(times)), times, atol=1e-9)
    assert repr(both) == "Timewarp(0..30 -> 3..20)"


def test_speed_is_the_derivative_and_has_no_jumps(rng):
    curve = Timewarp([0, 7, 9, 20], [0, 3, 9, 15])
    times = np.linspace(-1.0, 21.0, 400)
    by_difference = (curve(times + 1e-6) - curve(times - 1e-6)) / 2e-6
    np.testing.assert_allclose(curve.speed(times), by_difference, rtol=1e-4)
    knots = np.array([0.0, 7.0, 9.0, 20.0])
    np.testing.assert_allclose(curve.speed(knots - 1e-9), curve.speed(knots + 1e-9), rtol=1e-6)


def test_follows_an_alignment_smoothly(rng):
    path, true = staircase(rng)
    fitted = Timewarp.along(path)
    times = np.arange(61.0)
    assert fitted(0.0) == path[0, 1] and fitted(path[-1, 0]) == pytest.approx(path[-1, 1])
    assert np.max(np.abs(fitted(times) - true(times))) < 1.5
    speeds = fitted.speed(np.linspace(0, 60, 500))
    # The polyline's bound holds at the knots and at most a third more in between.
    assert 0.2 < speeds.min() and speeds.max() < 4.0


def test_an_alignment_that_stands_still_is_still_strictly_increasing():
    stuck = [[k, 0] for k in range(20)] + [[20, k] for k in range(1, 30)]
    fitted = Timewarp.along(stuck)
    assert fitted(0.0) == 0.0 and fitted(20.0) == pytest.approx(29.0)
    assert np.all(fitted.speed(np.linspace(0, 20, 100)) > 0.2)


def test_very_different_lengths_are_allowed():
    fitted = Timewarp.along([[k, 10 * k] for k in range(30)], steepest=2.0)
    np.testing.assert_allclose(fitted([0, 15, 29]), [0, 150, 290], atol=1.0)


def test_a_staircase_leads_to_the_middle_of_the_paired_frames(rng):
    path = warp(rng.random((12, 17))).path
    times = np.linspace(-1.0, 13.0, 57)
    middles = [np.mean([b for a, b in path if a == frame]) for frame in range(12)]
    expected = np.interp(times, range(12), middles)
    np.testing.assert_allclose(corresponding(path, times), expected, rtol=1e-12)
    assert corresponding(path[:1], [0, 5]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Timewarp([0, 1], [0, 0]), "values must be finite and strictly increasing"),
        (lambda: Timewarp([0, 1, 1], [0, 1, 2]), "times must be .* value 2 is not"),
        (lambda: Timewarp([0], [0]), "times must be one-dimensional"),
        (lambda: Timewarp([0, 1], [0, 1, 2]), "the same length; got 2 and 3"),
        (lambda: Timewarp([0, 1], [0, 1], [1, 0]), "slopes must be 2 positive"),
        (lambda: Timewarp([0, np.nan], [0, 1]), "times must be finite"),
        (lambda: Timewarp.along([[0, 0]]), "end at a later frame"),
        (lambda: Timewarp.along(np.zeros((0, 2))), "got nothing to nothing"),
        (lambda: Timewarp.along([[0, 0], [3, 0]]), "end at a later frame"),
        (lambda: Timewarp.along([[0, 0], [3, 2], [2, 4], [5, 5]]), "must not decrease"),
        (lambda: Timewarp.along([0, 1]), "shape"),
        (lambda: Timewarp.along([[0, 0], [3, 2]], steepest=1.0), "steepest must be above 1"),
    ],
)
def test_reports_invalid_input(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()
