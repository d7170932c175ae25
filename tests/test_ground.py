"""Moves along the floor: a group, and the best of them."""

import numpy as np
import pytest
from naive import blending as naive
from scipy.optimize import minimize
from smooth_motions import smooth_motion

from motionloom.errors import InvalidInput
from motionloom.motion.rotations import planar_transform as ground


def test_a_move_turns_and_then_shifts(rng):
    moves, points = rng.normal(size=(9, 3)), rng.normal(size=(9, 3))
    for move, point, moved in zip(moves, points, ground.moved_points(moves, points), strict=True):
        expected = naive.turned(move[2], point) + [move[0], 0.0, move[1]]
        np.testing.assert_allclose(moved, expected, atol=1e-12)


def test_moves_form_a_group(rng):
    a, b, c = rng.normal(size=(3, 5, 3))
    np.testing.assert_allclose(
        ground.composed(ground.composed(a, b), c), ground.composed(a, ground.composed(b, c))
    )
    np.testing.assert_allclose(ground.composed(ground.inverse(a), a), 0.0, atol=1e-12)
    points = rng.normal(size=(5, 3))
    np.testing.assert_allclose(
        ground.moved_points(ground.composed(a, b), points),
        ground.moved_points(a, ground.moved_points(b, points)),
    )


def test_twists_travel_back_to_their_moves(rng):
    moves = rng.normal(size=(20, 3))
    moves[:3, 2] = [0.0, 1e-9, -3.0]
    np.testing.assert_allclose(ground.travelled(ground.twist(moves)), moves, atol=1e-9)
    half = ground.travelled(0.5 * ground.twist(moves))
    np.testing.assert_allclose(ground.composed(half, half), moves, atol=1e-9)


def test_finds_the_best_move_that_a_search_finds(rng):
    a, b = rng.normal(size=(2, 12, 3))
    weights = rng.uniform(0.1, 1.0, 12)

    def cost(guess):
        x, z, yaw = guess
        return sum(
            w * np.sum((p - naive.turned(yaw, q) - [x, 0.0, z]) ** 2)
            for w, p, q in zip(weights, a, b, strict=True)
        )

    best = min((minimize(cost, (0, 0, yaw)) for yaw in (0, 2, 4)), key=lambda found: found.fun)
    ours = ground.best_move(a, b, weights)
    assert cost(ours) == pytest.approx(best.fun, rel=1e-6)


def test_many_clouds_have_weights_of_their_own(rng):
    a, b = rng.normal(size=(2, 4, 6, 3))
    weights = rng.uniform(0.1, 1.0, (4, 6))
    each = [ground.best_move(p, q, w) for p, q, w in zip(a, b, weights, strict=True)]
    np.testing.assert_allclose(ground.best_move(a, b, weights), each, atol=1e-12)


def test_moves_poses_with_the_whole_body(rng):
    motion = smooth_motion(rng, frames=4)
    move = np.array([0.5, -1.0, 0.8])
    rotations, root = ground.moved_poses(move, motion.rotations, motion.root)
    moved = type(motion)(motion.skeleton, rotations, root, 30)
    np.testing.assert_allclose(
        moved.positions(), ground.moved_points(move, motion.positions()), atol=1e-5
    )


def test_says_what_is_wrong():
    with pytest.raises(InvalidInput, match="same points"):
        ground.best_move(np.zeros((3, 3)), np.zeros((4, 3)))
    with pytest.raises(InvalidInput, match="weights must be 3 numbers"):
        ground.best_move(np.zeros((3, 3)), np.zeros((3, 3)), [1.0, 1.0])
    with pytest.raises(InvalidInput, match="not all zero"):
        ground.best_move(np.zeros((3, 3)), np.zeros((3, 3)), [0.0, 0.0, 0.0])
