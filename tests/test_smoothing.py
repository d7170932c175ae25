"""Smoothing without SciPy's filters."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter1d
from scipy.signal import savgol_filter

from motionloom.motion.smoothing import gaussian_smooth, second_derivative


@pytest.mark.parametrize("shape", [(1,), (2,), (50,), (7, 3), (200, 4, 3)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
def test_smoothing_equals_that_of_scipy(shape, dtype):
    for width in (0.0, 0.1, 0.6, 3.0, 40.0):
        rng = np.random.default_rng(2004)
        values = rng.normal(size=shape).astype(dtype)
        if dtype == np.complex128:  # positions on the floor
            values += 1j * rng.normal(size=shape)
        smoothed = gaussian_smooth(values, width)
        if width * 4 + 0.5 < 1:
            np.testing.assert_array_equal(smoothed, values)
        else:
            expected = gaussian_filter1d(values, width, axis=0, mode="nearest")
            tolerance = 1e-6 if dtype == np.float32 else 1e-15
            np.testing.assert_allclose(smoothed, expected, rtol=tolerance)
        assert smoothed.dtype == dtype
        assert smoothed is not values


@pytest.mark.parametrize("window", [5, 7, 13])
def test_second_derivative_equals_that_of_scipy(window, rng):
    values = rng.normal(size=(40, 3))
    curve = second_derivative(values, window, 0.02)
    half = window // 2
    expected = savgol_filter(values, window, 3, deriv=2, delta=0.02, axis=0)
    np.testing.assert_allclose(curve[half:-half], expected[half:-half], rtol=1e-9, atol=1e-9)
    assert np.isnan(curve[:half]).all()
    assert np.isnan(curve[-half:]).all()


def test_complex_values_are_smoothed_in_both_parts(rng):
    """Headings are smoothed as complex numbers of length one."""
    values = np.exp(1j * rng.normal(size=(40, 2)))
    smoothed = gaussian_smooth(values, 1.3)
    assert smoothed.dtype == np.complex128
    np.testing.assert_array_equal(smoothed.real, gaussian_smooth(values.real, 1.3))
    np.testing.assert_array_equal(smoothed.imag, gaussian_smooth(values.imag, 1.3))
