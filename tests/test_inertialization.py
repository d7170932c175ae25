"""Seams that nobody sees: what differs fades."""

import numpy as np
import pytest

import motionloom as ml
from motionloom.blending.inertialization import Inertializer
from motionloom.motion.rotations import quaternions as rot


def stitched(first, second, blocks=(1000,)):
    """Frames of two motions, one after the other, read in blocks of some sizes."""
    inertializer = Inertializer(len(first.skeleton), first.fps)
    parts = []
    for motion in (first, second):
        if motion is second:
            inertializer.seam(second.rotations[:3], second.root[:3])
        at, k = 0, 0
        while at < len(motion):
            size = blocks[k % len(blocks)]
            parts.append(
                inertializer.apply(motion.rotations[at : at + size], motion.root[at : at + size])
            )
            at, k = at + size, k + 1
    rotations, root = (np.concatenate(piece) for piece in zip(*parts, strict=True))
    return ml.Motion(first.skeleton, rotations, root, first.fps)


@pytest.fixture(scope="module")
def halves():
    walk = ml.demo.clip("walk")
    other = ml.demo.clip("walk_fast")
    shift = walk.root[60] - other.root[20]
    return walk[:60], other[20:80].transform(shift=(shift[0], 0.0, shift[2]))


def test_a_motion_that_continues_unchanged_is_not_modified():
    walk = ml.demo.clip("walk")
    made = stitched(walk[:60], walk[60:])
    gap = np.abs(made.positions() - walk.positions())
    assert gap[:60].max() < 1e-6 and gap.max() < 0.06 and gap.mean() < 0.002


def test_pose_and_velocity_are_continuous_at_the_seam(halves):
    first, second = halves
    made, cut = stitched(*halves), first + second
    steps = np.linalg.norm(np.diff(made.positions(), n=2, axis=0), axis=-1).max(axis=1)
    torn = np.linalg.norm(np.diff(cut.positions(), n=2, axis=0), axis=-1).max(axis=1)
    usual = max(np.linalg.norm(np.diff(m.positions(), n=2, axis=0), axis=-1).max() for m in halves)
    assert torn[56:62].max() > 3.0 * usual
    assert steps[56:62].max() < 1.2 * usual


def test_the_offset_of_a_seam_fades_to_zero(halves):
    first, second = halves
    made = stitched(first, second)
    away = rot.angle_between(made.rotations[60 + 45 :], second.rotations[45:])
    assert np.abs(away).max() < 1e-3
    assert np.abs(made.root[60 + 45 :] - second.root[45:]).max() < 1e-3


def test_blocks_of_any_size_give_the_same_frames(halves):
    whole, pieces = stitched(*halves), stitched(*halves, blocks=(1, 3, 7))
    assert np.abs(whole.positions() - pieces.positions()).max() < 1e-4


def test_a_first_motion_has_no_seam():
    walk = ml.demo.clip("walk")
    inertializer = Inertializer(len(walk.skeleton), walk.fps)
    inertializer.seam(walk.rotations[:3], walk.root[:3])
    rotations, _ = inertializer.apply(walk.rotations, walk.root)
    np.testing.assert_array_equal(rotations, walk.rotations)
    assert len(inertializer.apply(walk.rotations[:0], walk.root[:0])[0]) == 0
