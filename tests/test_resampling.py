"""Motions at another rate."""

from dataclasses import replace

import numpy as np
import pytest
from people import assert_same_motion, random_motion, standing, turning

from motionloom.errors import InvalidInput


def test_the_same_rate_changes_nothing(rng):
    motion = random_motion(rng)
    same = motion.resample(30.0)
    np.testing.assert_array_equal(same.rotations, motion.rotations)
    np.testing.assert_array_equal(same.root, motion.root)


@pytest.mark.parametrize("frames", [1, 4, 5, 100, 101, 103])
def test_a_quarter_of_the_rate_is_every_fourth_frame_to_the_bit(rng, frames):
    motion = random_motion(rng, frames, fps=120.0, translations=rng.normal(size=(frames, 21, 3)))
    slow = motion.resample(30)
    assert slow.fps == 30.0
    np.testing.assert_array_equal(slow.rotations, motion.rotations[::4])
    np.testing.assert_array_equal(slow.root, motion.root[::4])
    np.testing.assert_array_equal(slow.translations, motion.translations[::4])


@pytest.mark.parametrize("fps", [24.0, 25.0, 29.97, 59.94, 60.0, 100.0, 120.0, 7.0])
def test_constant_speeds_stay_constant_at_any_rate(fps):
    times = np.arange(91) / 30.0
    motion = turning(1.3 * times)
    root = motion.root.copy()
    root[:, 2] = 0.8 * times
    result = replace(motion, root=root).resample(fps)
    new = np.arange(len(result)) / fps
    assert 3.0 - 1.0 / fps < new[-1] <= 3.0 + 1e-6
    np.testing.assert_allclose(result.headings(), 1.3 * new, atol=1e-5)
    np.testing.assert_allclose(result.root[:, 2], 0.8 * new, atol=1e-6)


def test_up_and_down_again_is_the_original(rng):
    motion = random_motion(rng, 40)
    again = motion.resample(90).resample(30)
    np.testing.assert_array_equal(again.rotations, motion.rotations)
    np.testing.assert_array_equal(again.root, motion.root)


def test_resampled_rotations_take_the_shorter_way_and_stay_unit(rng):
    motion = random_motion(rng, 40)
    flipped = replace(motion, rotations=motion.rotations * rng.choice([-1.0, 1.0], (40, 21, 1)))
    assert_same_motion(flipped.resample(77), motion.resample(77), 1e-5)
    np.testing.assert_allclose(
        np.linalg.norm(flipped.resample(77).rotations, axis=-1), 1.0, atol=1e-6
    )


def test_bones_of_changing_length_are_resampled_too():
    motion = standing(3)
    moved = np.tile(motion.skeleton.offsets, (3, 1, 1)) * np.array([1.0, 2.0, 3.0])[:, None, None]
    output = replace(motion, translations=moved).resample(60)
    np.testing.assert_allclose(output.translations[1], motion.skeleton.offsets * 1.5, atol=1e-6)


@pytest.mark.parametrize("fps", [0, -1, np.nan, np.inf])
def test_impossible_rates_are_refused(fps):
    with pytest.raises(InvalidInput, match="fps must be positive; got"):
        standing(3).resample(fps)
