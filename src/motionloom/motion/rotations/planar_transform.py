"""Moves along the floor: a turn about the vertical and a shift in x and z.

Where a motion was captured and which way it faced means nothing, so motions may be moved
along the floor before they are mixed. A move is three numbers ``(x, z, yaw)``: first turn by
`yaw` radians about the vertical through the origin, then shift. All functions take arrays of
moves (..., 3) and broadcast.

A floor position is written as the complex number ``z + ix``; turning by `yaw` is then a
multiplication by ``exp(i yaw)``.

References
----------
.. [1] L. Kovar, M. Gleicher, F. Pighin. Motion graphs. SIGGRAPH 2002, section 3.1: the move
   that brings two point clouds closest, in closed form.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput
from motionloom.motion import Motion
from motionloom.motion.rotations import quaternions as rot

Array = NDArray[np.float64]


def best_move(onto: ArrayLike, clouds: ArrayLike, weights: ArrayLike | None = None) -> Array:
    """The move that brings each of `clouds` closest to its counterpart.

    Parameters
    ----------
    onto, clouds : array_like, shape (..., P, 3)
        The same P points: those of one short window of motion, of two performances.
    weights : array_like, shape (P,) or (..., P), optional
        How much each point counts; default: all the same.

    Returns
    -------
    moves : ndarray, shape (..., 3)
        ``x, z, yaw``; minimises the weighted sum of squared distances.

    Examples
    --------
    >>> pose = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.5]])
    >>> elsewhere = moved_points([1.0, -2.0, 0.7], pose)
    >>> best_move(elsewhere, pose).round(6)
    array([ 1. , -2. ,  0.7])
    """
    a, b = np.asarray(onto, np.float64), np.asarray(clouds, np.float64)
    if a.shape != b.shape or a.ndim < 2 or a.shape[-1] != 3 or a.shape[-2] == 0:
        raise InvalidInput(
            f"clouds must hold the same points, shape (..., P, 3); got {a.shape} and {b.shape}"
        )
    w = np.ones(a.shape[-2]) if weights is None else np.asarray(weights, np.float64)
    if w.shape not in (a.shape[-2:-1], a.shape[:-1]):
        raise InvalidInput(f"weights must be {a.shape[-2]} numbers, one per point; got {w.shape}")
    total = w.sum(axis=-1, keepdims=True)
    if not (np.all(w >= 0.0) and np.all(total > 0.0)):
        raise InvalidInput("weights must be finite, none negative, not all zero")
    w = w / total
    floor_a, floor_b = a[..., 2] + 1j * a[..., 0], b[..., 2] + 1j * b[..., 0]
    mean_a, mean_b = np.sum(w * floor_a, axis=-1), np.sum(w * floor_b, axis=-1)
    spread = (floor_a - mean_a[..., None]) * np.conj(floor_b - mean_b[..., None])
    yaw = np.angle(np.sum(w * spread, axis=-1))
    return _packed(mean_a - np.exp(1j * yaw) * mean_b, yaw)


def composed(second: ArrayLike, first: ArrayLike) -> Array:
    """One move (..., 3) for two: `first`, then `second`.

    Examples
    --------
    >>> composed([1.0, 0.0, np.pi / 2], [0.0, 2.0, 0.0]).round(6) + 0.0
    array([3.      , 0.      , 1.570796])
    """
    second, first = np.asarray(second, np.float64), np.asarray(first, np.float64)
    turn = np.exp(1j * second[..., 2])
    return _packed(_floor(second) + turn * _floor(first), second[..., 2] + first[..., 2])


def inverse(moves: ArrayLike) -> Array:
    """The moves (..., 3) back."""
    moves = np.asarray(moves, np.float64)
    return _packed(-np.exp(-1j * moves[..., 2]) * _floor(moves), -moves[..., 2])


def moved_points(moves: ArrayLike, points: ArrayLike) -> Array:
    """Points (..., 3) after moves (..., 3)."""
    moves, points = np.asarray(moves, np.float64), np.asarray(points, np.float64)
    floor = _floor(moves) + np.exp(1j * moves[..., 2]) * (points[..., 2] + 1j * points[..., 0])
    height = np.broadcast_to(points[..., 1], floor.shape)
    return np.stack([floor.imag, height, floor.real], axis=-1)


def moved_poses(
    moves: ArrayLike, rotations: ArrayLike, root: ArrayLike
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Poses, rotations (T, J, 4) and root (T, 3), after one move (3,) or one each (T, 3)."""
    moves = np.asarray(moves, np.float64)
    turned = np.array(rotations, np.float32)
    turned[:, 0] = rot.multiply(rot.yaw(moves[..., 2]), turned[:, 0].astype(np.float64))
    return turned, moved_points(moves, root).astype(np.float32)


def to_origin(motion: Motion) -> Array:
    """The move (3,) that puts the first frame of a motion over the origin, facing +Z.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk").transform(yaw=0.5, shift=(3.0, 0.0, 1.0))
    >>> moved_points(to_origin(walk), walk.root[0])[[0, 2]].round(6) + 0.0
    array([0., 0.])
    """
    yaw = -float(motion[:1].headings()[0])
    there = moved_points([0.0, 0.0, yaw], motion.root[0])
    return np.array([-there[0], -there[2], yaw])


def twist(moves: ArrayLike) -> Array:
    """The steady motion (..., 3) that makes `moves` (..., 3) in one unit of time.

    Twists are what may be averaged: the mean of walking straight and walking a curve is
    walking a wider curve.

    Examples
    --------
    >>> quarter = np.array([1.0, 1.0, np.pi / 2])
    >>> twist(quarter).round(6), travelled(twist(quarter)).round(6)
    (array([0.      , 1.570796, 1.570796]), array([1.      , 1.      , 1.570796]))
    """
    moves = np.asarray(moves, np.float64)
    return _packed(_floor(moves) / _arc(moves[..., 2]), moves[..., 2])


def travelled(twists: ArrayLike) -> Array:
    """The moves (..., 3) that steady motions (..., 3) make in one unit of time."""
    twists = np.asarray(twists, np.float64)
    return _packed(_floor(twists) * _arc(twists[..., 2]), twists[..., 2])


def _arc(yaw: Array) -> NDArray[np.complex128]:
    """Where one gets by going ahead one unit while turning by `yaw`: (exp(i yaw) - 1) / (i yaw)."""
    half = 0.5 * yaw
    return np.sinc(half / np.pi) * np.exp(1j * half)


def _floor(moves: Array) -> NDArray[np.complex128]:
    return moves[..., 1] + 1j * moves[..., 0]


def _packed(floor: NDArray[np.complex128], yaw: Array) -> Array:
    floor, yaw = np.broadcast_arrays(floor, yaw)
    return np.stack([floor.imag, floor.real, yaw], axis=-1)
