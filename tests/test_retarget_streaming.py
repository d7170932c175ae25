"""Frames retargeted as they are made: the same, whatever their blocks, and near the whole."""

import numpy as np
import pytest

import motionloom as ml
from motionloom.errors import RoleError
from motionloom.motion.retargeting.retarget import StreamRetargeter

WALK = ml.demo.clip("walk")[:60]
OTHER = ml.demo.clip("jog", performer=2)[:20]


def test_blocks_do_not_matter():
    stream = StreamRetargeter(WALK, OTHER)
    rotations, root = stream.frames(WALK.rotations, WALK.root)
    parts = [
        stream.frames(WALK.rotations[k : k + 7], WALK.root[k : k + 7]) for k in range(0, 60, 7)
    ]
    np.testing.assert_allclose(np.concatenate([part[1] for part in parts]), root, atol=1e-6)
    turned = np.concatenate([part[0] for part in parts])
    np.testing.assert_allclose(np.abs((turned * rotations).sum(axis=-1)), 1.0, atol=1e-5)


def test_frames_are_near_those_of_the_whole_motion():
    whole = WALK.retarget(OTHER)
    rotations, root = StreamRetargeter(WALK, OTHER).frames(WALK.rotations, WALK.root)
    moved = ml.Motion(OTHER.skeleton, rotations, root, WALK.fps)
    off = np.linalg.norm(moved.positions() - whole.positions(), axis=-1)
    assert off.mean() < 0.005 and off.max() < 0.03  # feet are locked in the whole


def test_the_path_is_scaled_by_the_legs():
    stream = StreamRetargeter(WALK, WALK.retarget(WALK.skeleton.scaled(0.5)))
    _, root = stream.frames(WALK.rotations, WALK.root)
    assert stream.scale == pytest.approx(0.5)
    np.testing.assert_allclose(root[:, [0, 2]], 0.5 * WALK.root[:, [0, 2]], atol=0.01)


def test_a_skeleton_without_legs_is_refused():
    arm = ml.Skeleton(["shoulder", "hand"], [-1, 0], [[0, 0, 0], [0.3, 0, 0]])
    still = ml.Motion(arm, np.tile([1.0, 0, 0, 0], (3, 2, 1)), np.zeros((3, 3)), 30.0)
    with pytest.raises(RoleError, match="cannot retarget"):
        StreamRetargeter(WALK, still)
