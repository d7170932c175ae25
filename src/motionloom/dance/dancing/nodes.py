"""Nodes of a movement transition graph, prepared for blending.

The movements of a node are aligned beat by beat, so frame k of one corresponds to frame k of all
others. Poses, travel and turn are blended with the same weights.

`travel_weights` finds the blend of movements in a node that comes closest to the desired travel, by
non-negative least squares (Lawson and Hanson 1974, with the normal equations of Bro and De Jong
1997). Movements far from the desired travel are penalized, because a blend of a long step forward
and a long step back would be a short step with low hips and straight legs. Both dances and crowds
use these weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.blending.poses import ClipPoses, blend_poses
from motionloom.dance.movements import Movement
from motionloom.errors import InvalidInput, RoleError
from motionloom.kernels import kernel
from motionloom.motion import Motion, Source
from motionloom.motion.feet.contacts import FOOT_PARTS
from motionloom.motion.kinematics.body import hips_path
from motionloom.motion.rotations.planar_transform import PlanarTransform
from motionloom.parametric.parameter_space import CardinalBasis

Array = NDArray[np.float64]

WILLING = 0.5  # a node that misses the travel by this many meters is a third as likely


@dataclass(frozen=True, eq=False)
class DanceNode:
    """Node of a transition graph: n movements of F frames each, danced by C characters.

    Attributes
    ----------
    movements : tuple of Movement
    clips : tuple of ClipPoses
        Poses of each character in all n movements.
    transforms : ndarray, shape (F, n, 3)
        Position of the leader's root on the floor, ``x, z, yaw``.
    twists : ndarray, shape (F - 1, n, 3)
        Changes of the transforms between consecutive frames.
    contacts : ndarray of bool, shape (C, n, F, 4)
        Contacts of the foot parts.
    """

    movements: tuple[Movement, ...]
    clips: tuple[ClipPoses, ...]
    transforms: Array
    twists: Array
    contacts: NDArray[np.bool_]

    @classmethod
    def of(cls, movements: Sequence[Movement]) -> DanceNode:
        """Build a node from movements that share meter, beat period and skeleton."""
        frames = len(movements[0].motion)
        every = np.arange(frames, dtype=np.float64)
        leaders = [movement.motion for movement in movements]
        transforms = np.stack([_places(leader) for leader in leaders], axis=1)
        together = np.tile(every[:, None], (1, len(movements)))
        clips = tuple(
            ClipPoses.of(list(bodies)).in_one_hemisphere(together, -transforms[..., 2])
            for bodies in zip(*(movement.bodies for movement in movements), strict=True)
        )
        contacts = np.array(
            [
                [_standing(body) for body in bodies]
                for bodies in zip(*(movement.bodies for movement in movements), strict=True)
            ]
        )
        places = PlanarTransform.from_array(transforms)
        steps = PlanarTransform.between(places[:-1], places[1:])
        return cls(tuple(movements), clips, transforms, steps.twist(), contacts)

    def __len__(self) -> int:
        return len(self.movements)

    @property
    def frames(self) -> int:
        """Number of frames of each movement."""
        return len(self.transforms)

    @cached_property
    def travel(self) -> Array:
        """Travel (n, 3) of each movement from its start to its end: x, z, turn."""
        places = PlanarTransform.from_array(self.transforms[[0, -1]])
        return PlanarTransform.between(places[0], places[1]).to_array()

    @cached_property
    def cardinal(self) -> CardinalBasis | None:
        """Interpolation of weights by travel, or None if two movements have the same travel."""
        gaps = np.linalg.norm(self.travel[:, None] - self.travel[None], axis=-1)
        alike = len(self) < 2 or gaps[np.triu_indices(len(self), 1)].min() < 1e-6
        return None if alike else CardinalBasis.of(self.travel)

    def weights_for(
        self,
        travel: Array,
        *,
        method: str = "least_squares",
        among: NDArray[np.bool_] | None = None,
    ) -> Array:
        """Return blend weights (A, n) for desired travels (A, 2) or (A, 3).

        Parameters
        ----------
        travel : ndarray, shape (A, 2) or (A, 3)
            Columns ``x, z`` or ``x, z, turn``.
        method : {"least_squares", "cardinal"}
            ``"least_squares"`` uses non-negative least squares (see `travel_weights`).
            ``"cardinal"`` uses the cardinal basis functions of the paper, which may be negative,
            for the nearest travel within reach.
        among : ndarray of bool, shape (n,), optional
            Mask of movements that may have a weight; at least one must be True. If some are
            excluded, the method is always least squares.
        """
        if among is not None and not among.all():
            rows = np.zeros((len(travel), len(self)))
            rows[:, among] = travel_weights(self.travel[among, : travel.shape[1]], travel)
            return rows
        weights = travel_weights(self.travel[:, : travel.shape[1]], travel)
        if method == "least_squares" or self.cardinal is None:
            return weights
        basis = self.cardinal
        return np.stack([basis.weights_for(within) for within in weights @ self.travel])

    def suits(self, travel: Array) -> float:
        """Return a score from 0 to 1 for how well the best movement matches a travel (3,)."""
        misses = np.linalg.norm((self.travel - travel)[:, :2], axis=1)
        return float(np.exp(-misses.min() / WILLING))

    def places(self, weights: Array, start: Array) -> Array:
        """Return the paths (..., F, 3) of leaders for weights (..., n) and starts (..., 3)."""
        steps = PlanarTransform.from_twist(np.einsum("fnc,...n->...fc", self.twists, weights))
        out = np.empty((*start.shape[:-1], self.frames, 3))
        out[..., 0, :] = start
        out[..., 1:, 2] = start[..., None, 2] + np.cumsum(steps.yaw, axis=-1)
        # Floor positions are z + ix; a step is rotated by the heading of the leader before it.
        turned = steps.floor * np.exp(1j * out[..., :-1, 2])
        floor = np.cumsum(turned, axis=-1)
        out[..., 1:, 0] = start[..., None, 0] + floor.imag
        out[..., 1:, 1] = start[..., None, 1] + floor.real
        return out

    def poses(
        self, weights: Array, frames: Array, places: Array
    ) -> list[tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_]]]:
        """Return the blended rotations, root and contacts of every character at `frames` (T,)."""
        active = np.flatnonzero(weights)
        shares = weights[active]
        at = between(self.transforms[:, active], frames)
        times = np.repeat(frames[:, None], len(active), axis=1)
        nearest = np.rint(frames).astype(np.int64)
        out = []
        for clips, contacts in zip(self.clips, self.contacts, strict=True):
            rotations, root = blend_poses(clips, active, shares, times, transforms=at, place=places)
            stands = np.einsum("n,nfp->fp", shares, contacts[active][:, nearest])
            out.append((rotations, root, stands > 0.5))
        return out

    def sources(self, weights: Array, frames: Array, start: int, body: int = 0) -> list[Source]:
        """Return the source frames of one character in a blend that plays from frame `start`."""
        sources = []
        for movement, weight in zip(self.movements, weights, strict=True):
            if weight > 0.0:
                first, last = (float(frame) for frame in movement.source_frames(frames[[0, -1]]))
                name, end = movement.source[body], start + len(frames)
                sources.append(Source(name, first, last + 1.0, start, end, float(weight)))
        return sources


def between(rows: Array, frames: Array) -> Array:
    """Interpolate rows (F, ...) at fractional frames (T,); the result has shape (T, ...).

    Examples
    --------
    >>> between(np.array([[0.0, 1.0], [10.0, 3.0]]), np.array([0.0, 0.5]))
    array([[0., 1.],
           [5., 2.]])
    """
    # np.clip looks up the limits of integers, which takes longer than the interpolation of a frame.
    before = np.minimum(np.maximum(frames.astype(np.int64), 0), len(rows) - 2)
    part = (frames - before).reshape(-1, *[1] * (rows.ndim - 1))
    start = rows[before]
    return np.asarray(start + part * (rows[before + 1] - start))


def _places(leader: Motion) -> Array:
    hips = hips_path(leader).astype(np.float64)
    return np.column_stack([hips[:, 0], hips[:, 2], leader.headings()])


def _standing(body: Motion) -> NDArray[np.bool_]:
    try:
        contacts = body.contacts()
    except RoleError:
        return np.zeros((len(body), len(FOOT_PARTS)), bool)
    return contacts.standing_parts()


_TRIFLE = 0.02  # smaller weights are set to zero
FAR_COST = 0.1  # cost of the mean squared distance of the movements, relative to the squared error
_WHOLE = 10.0  # meters: weight of the constraint that the blend weights sum to 1
_ENOUGH = 1e-10  # smaller relative gains are rounding errors


def travel_weights(travels: ArrayLike, wanted: ArrayLike) -> Array:
    """Return sparse non-negative blend weights (A, n) with travels near the desired ones.

    Minimizes the squared error of the blended travel plus `FAR_COST` times the weighted mean
    squared distance of the single travels from the desired one.

    Parameters
    ----------
    travels : array_like, shape (n, D)
        Travel of each movement from its start to its end: ``x, z``, or ``x, z, turn``.
    wanted : array_like, shape (A, D)

    Examples
    --------
    >>> travel_weights([[0.0, 1.0], [0.0, 2.0], [1.0, 1.0]], [[0.0, 1.5]]).round(2)
    array([[0.5, 0.5, 0. ]])
    """
    there = np.ascontiguousarray(np.atleast_2d(np.asarray(travels, np.float64)))
    targets = np.ascontiguousarray(np.atleast_2d(np.asarray(wanted, np.float64)))
    if there.shape[1] != targets.shape[1] or not len(there):
        raise InvalidInput(
            "travels and wanted must have the same number of columns, and travels must have at "
            "least one row; got "
            f"shapes {there.shape} and {targets.shape}"
        )
    weights = np.zeros((len(targets), len(there)))
    _weigh(there, targets, weights)
    return weights


@kernel
def _weigh(travel, targets, weights):
    """Kernel of `travel_weights`: movements (n, D), targets (A, D); fills weights (A, n)."""
    # With sum(x) = 1, the error of a blend is sum_i x_i (travel_i - target), so its square is a
    # quadratic form of the Gram matrix of the offsets. The constraint is an extra row of size
    # `_WHOLE`: much larger than the offsets, but far from the limit of float64.
    count, columns = travel.shape
    products, away, pull = np.empty((count, count)), np.empty((count, columns)), np.empty(count)
    for a in range(len(targets)):
        for i in range(count):
            for c in range(columns):
                away[i, c] = travel[i, c] - targets[a, c]
        for i in range(count):
            for j in range(count):
                dot = 0.0
                for c in range(columns):
                    dot += away[i, c] * away[j, c]
                products[i, j] = dot + _WHOLE**2
                if i == j:
                    # `dot` is now the squared distance between movement i and the target.
                    pull[i] = _WHOLE**2 - 0.5 * FAR_COST * dot
        _solve(products, pull, weights[a])
        whole = weights[a].sum()
        for i in range(count):
            if weights[a, i] < _TRIFLE * whole:
                weights[a, i] = 0.0
        weights[a] /= weights[a].sum()


@kernel
def _solve(products, pull, x):
    """Minimize ``x @ products @ x / 2 - pull @ x`` over x >= 0; fills `x` (n,).

    `products` (n, n) is positive semidefinite, `pull` has shape (n,).
    """
    # Lawson and Hanson's active set: free the variable with the largest gain (the negative
    # gradient), solve for the free ones without bounds, and step back to the bounds if some became
    # negative. The objective falls in every round, so no set returns; the limit on the rounds is
    # for rounding.
    count = len(x)
    free = np.zeros(count, np.bool_)
    x[:] = 0.0
    gain = pull.copy()
    for _ in range(3 * count):
        best, most = -1, _ENOUGH * _WHOLE**2
        for i in range(count):
            if not free[i] and gain[i] > most:
                best, most = i, gain[i]
        if best < 0:
            return
        free[best] = True
        while True:
            rows = np.flatnonzero(free)
            s = _positive(products, pull, rows)
            if s.min() > 0.0:
                x[:] = 0.0
                for i in range(len(rows)):
                    x[rows[i]] = s[i]
                break
            # Step until the first weight becomes zero; that weight leaves the free set.
            step = 1.0
            for i in range(len(rows)):
                if s[i] <= 0.0:
                    step = min(step, x[rows[i]] / (x[rows[i]] - s[i]))
            for i in range(len(rows)):
                x[rows[i]] += step * (s[i] - x[rows[i]])
                if x[rows[i]] <= 1e-14 and s[i] <= 0.0:
                    x[rows[i]] = 0.0
                    free[rows[i]] = False
        for i in range(count):
            gain[i] = pull[i]
            for j in range(count):
                gain[i] -= products[i, j] * x[j]


@kernel
def _positive(matrix, values, rows):
    """Solve ``matrix[rows, rows] @ s = values[rows]`` for s (m,) by Cholesky factorization."""
    # Two movements with the same travel make the matrix singular: pivots are kept above zero.
    size = len(rows)
    low, s = np.zeros((size, size)), np.empty(size)
    for i in range(size):
        for j in range(i + 1):
            left = matrix[rows[i], rows[j]]
            for k in range(j):
                left -= low[i, k] * low[j, k]
            low[i, j] = np.sqrt(max(left, 1e-18)) if i == j else left / low[j, j]
    for i in range(size):
        s[i] = values[rows[i]]
        for k in range(i):
            s[i] -= low[i, k] * s[k]
        s[i] /= low[i, i]
    for i in range(size - 1, -1, -1):
        for k in range(i + 1, size):
            s[i] -= low[k, i] * s[k]
        s[i] /= low[i, i]
    return s
