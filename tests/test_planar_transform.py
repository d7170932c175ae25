"""Planar transforms: a group, its action on points, poses and motions, and the best fit."""

import numpy as np
import pytest
from naive import blending as naive
from scipy.optimize import minimize
from smooth_motions import smooth_motion

from motionloom.errors import InvalidInput
from motionloom.motion import PlanarTransform
from motionloom.motion.rotations.planar_transform import floor_complex


def transforms(rng, *shape):
    return PlanarTransform.from_array(rng.normal(size=(*shape, 3)))


def test_rotates_and_then_translates(rng):
    many, points = transforms(rng, 9), rng.normal(size=(9, 3))
    for first, point, moved in zip(many, points, many.apply(points), strict=True):
        expected = naive.turned(float(first.yaw), point) + [first.x, 0.0, first.z]
        np.testing.assert_allclose(moved, expected, atol=1e-12)
        np.testing.assert_allclose(first.apply(point), moved, atol=1e-12)


def test_transforms_form_a_group(rng):
    a, b, c = (transforms(rng, 5) for _ in range(3))
    np.testing.assert_allclose(((a @ b) @ c).to_array(), (a @ (b @ c)).to_array())
    np.testing.assert_allclose((a.inverse() @ a).to_array(), 0.0, atol=1e-12)
    np.testing.assert_array_equal((a @ PlanarTransform.identity()).to_array(), a.to_array())
    np.testing.assert_allclose((a @ PlanarTransform.between(a, b)).to_array(), b.to_array())
    points = rng.normal(size=(5, 3))
    np.testing.assert_allclose((a @ b).apply(points), a.apply(b.apply(points)))


def test_broadcasts_stacks_and_indexes(rng):
    first, many = transforms(rng), transforms(rng, 4, 2)
    assert (first @ many).shape == (many @ first).shape == (4, 2)
    assert first.shape == () and len(many) == 4 and many[1].shape == (2,)
    again = PlanarTransform.stack([many[k] for k in range(4)])
    np.testing.assert_array_equal(again.to_array(), many.to_array())
    np.testing.assert_array_equal(many.floor, many.z + 1j * many.x)
    np.testing.assert_allclose(np.angle(many[0].rotation), many[0].yaw)


def test_twists_lead_back_to_their_transforms(rng):
    values = rng.normal(size=(20, 3))
    values[:3, 2] = [0.0, 1e-9, -3.0]
    twists = PlanarTransform.from_array(values).twist()
    np.testing.assert_allclose(PlanarTransform.from_twist(twists).to_array(), values, atol=1e-9)
    half = PlanarTransform.from_twist(0.5 * twists)
    np.testing.assert_allclose((half @ half).to_array(), values, atol=1e-9)


def test_the_best_fit_is_the_one_that_a_search_finds(rng):
    a, b = rng.normal(size=(2, 12, 3))
    weights = rng.uniform(0.1, 1.0, 12)

    def cost(guess):
        x, z, yaw = guess
        return sum(
            w * np.sum((p - naive.turned(yaw, q) - [x, 0.0, z]) ** 2)
            for w, p, q in zip(weights, a, b, strict=True)
        )

    best = min((minimize(cost, (0, 0, yaw)) for yaw in (0, 2, 4)), key=lambda result: result.fun)
    ours = PlanarTransform.aligning(a, b, weights).to_array()
    assert cost(ours) == pytest.approx(best.fun, rel=1e-6)


def test_many_clouds_may_have_different_weights(rng):
    a, b = rng.normal(size=(2, 4, 6, 3))
    weights = rng.uniform(0.1, 1.0, (4, 6))
    each = [
        PlanarTransform.aligning(p, q, w).to_array() for p, q, w in zip(a, b, weights, strict=True)
    ]
    together = PlanarTransform.aligning(a, b, weights).to_array()
    np.testing.assert_allclose(together, each, atol=1e-12)


def test_poses_and_motions_move_with_the_whole_body(rng):
    motion = smooth_motion(rng, frames=4)
    transform = PlanarTransform(0.5, -1.0, 0.8)
    rotations, root = transform.apply_to_poses(motion.rotations, motion.root)
    expected = transform.apply(motion.positions())
    moved = type(motion)(motion.skeleton, rotations, root, 30)
    np.testing.assert_allclose(moved.positions(), expected, atol=1e-5)
    np.testing.assert_allclose(transform.apply_to_motion(motion).positions(), expected, atol=1e-5)


def test_a_motion_can_be_brought_to_the_origin(rng):
    motion = smooth_motion(rng, frames=4).transform(yaw=0.7, shift=(2.0, 0.0, 1.0))
    home = PlanarTransform.to_origin(motion).apply_to_motion(motion)
    assert abs(floor_complex(home.root)[0]) < 1e-6
    assert abs(home.headings()[0]) < 1e-5


def test_reports_invalid_input():
    aligning = PlanarTransform.aligning
    with pytest.raises(InvalidInput, match="the same shape"):
        aligning(np.zeros((3, 3)), np.zeros((4, 3)))
    with pytest.raises(InvalidInput, match="weights must be 3 numbers"):
        aligning(np.zeros((3, 3)), np.zeros((3, 3)), [1.0, 1.0])
    with pytest.raises(InvalidInput, match="at least one must be positive"):
        aligning(np.zeros((3, 3)), np.zeros((3, 3)), [0.0, 0.0, 0.0])
    with pytest.raises(InvalidInput, match=r"shape \(..., 3\) for x, z and yaw; got \(4,\)"):
        PlanarTransform.from_array(np.zeros(4))
