"""EMD signatures of clips, and search for the nearest clips by Earth Mover's Distance (EMD).

A clip has one signature per joint. The joint's rotation curve is reduced to its Douglas-Peucker
points. Each point has four coordinates, three angles in degrees and the time in frames, and its
mass is the fraction of frames that it represents. The distance between two clips is the weighted
sum, over the joints, of the Earth Mover's Distances between their signatures.

**Whole turns.** Two curves that differ by whole turns of an angle describe the same rotations. The
distance between two signatures is therefore the minimum over all whole turns of one of them. This
is a metric, because a turn moves all points equally. A signature turned by a multiple of 360
degrees is at least 360 degrees from itself. A distance of 180 degrees or less therefore cannot be
reduced by a turn, and no turns are tried.

**Lower bound.** Along each axis, mass must travel at least the distance between the projections of
the two signatures; in one dimension this is the mean difference of their quantiles. The root of the
sum of squares over the four axes does not exceed the distance between the signatures, because the
mean of lengths is at least the length of the mean. Quantiles are stored as means over a few parts
of the mass, which can only lower the bound.

**Search.** Clips are visited in order of their bound, and the search ends when the bound exceeds
the k-th best distance. A distance is abandoned as soon as the computed joints plus the bounds of
the remaining joints exceed it. The result is identical to computing all distances. A metric index
would not help: on 3,000 pieces of CMU takes, the best of 24 pivot clips rules out 30 % of all
clips, whereas the bound used here rules out 88 %, and the pivots rule out almost none of the
remaining 12 %. For this reason, the clips are not stored in a tree.

References
----------
.. [1] G. Tam, Q. Zheng, M. Corbyn, R. Lau. Motion retrieval based on energy morphing.
   ISM 2007.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.alignment.banded_dtw import Nearest, farthest
from motionloom.errors import InvalidInput
from motionloom.features.curves import THRESHOLD, split
from motionloom.features.earth_mover import signature_distance
from motionloom.kernels import kernel
from motionloom.ragged import offsets_of

PARTS = 8  # parts of the mass in the lower bound; more parts hardly raise the bound
_AXES = 4
TURN = 360.0  # degrees
_SLACK = 1e-12  # relative rounding error of a sum over joints


@dataclass(frozen=True, eq=False)
class EmdSignatures:
    """EMD signatures of C clips with J joints each.

    Attributes
    ----------
    points : ndarray, shape (N, 4)
        Three angles in degrees, and the time in frames multiplied by `time_weight`.
    mass : ndarray, shape (N,)
        Masses of the points; they add up to 1 for each signature.
    starts : ndarray of int64, shape (C * J + 1,)
        The signature of joint j of clip c consists of the points from ``starts[c * J + j]`` to the
        next start.
    quantiles : ndarray, shape (C, J, 4, PARTS)
        Means of the coordinates over equal parts of the mass, sorted.
    """

    points: NDArray[np.float64]
    mass: NDArray[np.float64]
    starts: NDArray[np.int64]
    quantiles: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        curves: NDArray,
        *,
        threshold: float = THRESHOLD,
        time_weight: float = 1.0,
        perpendicular: bool = False,
        following: bool = False,
    ) -> EmdSignatures:
        """Compute the signatures of rotation curves.

        Parameters
        ----------
        curves : array_like, shape (C, T, J, 3)
            Joint angles in degrees; all values must be finite.
        threshold : float
            Douglas-Peucker tolerance, in degrees.
        time_weight : float
            Weight of time in the ground distance, in degrees per frame.
        perpendicular : bool
            As in `motionloom.features.curves.kept_frames`.
        following : bool
            As in `motionloom.features.curves.masses`.
        """
        points, mass, counts = _signatures(
            np.ascontiguousarray(curves, dtype=np.float64),
            float(threshold),
            float(time_weight),
            perpendicular,
            following,
        )
        starts = offsets_of(counts)
        quantiles = _quantiles(points, mass, starts).reshape(*curves.shape[::2], _AXES, PARTS)
        return cls(points, mass, starts, quantiles)

    def __len__(self) -> int:
        return len(self.quantiles)

    def take(self, clips: NDArray[np.int64]) -> EmdSignatures:
        """Return the signatures of the clips with these indices."""
        joints = self.quantiles.shape[1]
        numbers = (np.asarray(clips)[:, None] * joints + np.arange(joints)).ravel()
        counts = np.diff(self.starts)[numbers]
        starts = offsets_of(counts)
        rows = np.repeat(self.starts[numbers] - starts[:-1], counts) + np.arange(starts[-1])
        return EmdSignatures(self.points[rows], self.mass[rows], starts, self.quantiles[clips])


@kernel
def limited_distance(
    points_a, mass_a, starts_a, a, points_b, mass_b, starts_b, b, weights, bounds, limit, turn
):
    """Return the distance between two clips, or inf as soon as it must exceed `limit`.

    `bounds` (J,) are lower bounds of the weighted joint distances. Joints are visited in order of
    decreasing bound. Angles are compared up to multiples of `turn`.
    """
    joints = len(weights)
    each = np.zeros(joints)
    expected = bounds.sum()
    for joint in np.argsort(-bounds):
        i, j = a * joints + joint, b * joints + joint
        p, q = starts_a[i], starts_a[i + 1]
        r, s = starts_b[j], starts_b[j + 1]
        each[joint] = weights[joint] * turned_distance(
            points_a[p:q], mass_a[p:q], points_b[r:s], mass_b[r:s], turn
        )
        expected += each[joint] - bounds[joint]
        if expected * (1.0 - _SLACK) > limit:
            return np.inf
    return each.sum()  # summed in a fixed order, because the order affects rounding


@kernel
def turned_distance(points_a, mass_a, points_b, mass_b, turn):
    """Return the distance between two signatures, minimized over full turns of the three angles.

    The masses of each signature add up to 1. `turn` is 360 degrees, or infinite to disable turns.
    """
    best = signature_distance(points_a, mass_a, points_b, mass_b)
    if best <= 0.5 * turn:
        return best
    means = np.zeros(_AXES)
    for n in range(len(mass_a)):
        means += mass_a[n] * points_a[n]
    for n in range(len(mass_b)):
        means -= mass_b[n] * points_b[n]
    nearest = np.rint(means[:3] / turn)
    turned = points_b.copy()
    for code in range(27):
        # Turns adjacent to the nearest ones; each is tried unless the means are too far apart.
        x, y, z = (code + 13) % 27 // 9 - 1, (code + 13) % 9 // 3 - 1, (code + 13) % 3 - 1
        shift = turn * (nearest + np.array([x, y, z]))
        apart = means[3] ** 2 + np.sum((means[:3] - shift) ** 2)
        if np.sqrt(apart) < best:
            turned[:, :3] = points_b[:, :3] + shift
            best = min(best, signature_distance(points_a, mass_a, turned, mass_b))
    return best


@kernel
def joint_bounds(quantiles, clip, weights, turn):
    """Return lower bounds on weighted joint distances between a clip (J, 4, P) and all clips.

    Angles are compared up to multiples of `turn`.
    """
    count, joints, axes, parts = quantiles.shape
    out = np.empty((count, joints))
    for c in range(count):
        for j in range(joints):
            square = 0.0
            for k in range(axes):
                apart = 0.0
                for p in range(parts):
                    apart += abs(quantiles[c, j, k, p] - clip[j, k, p])
                apart /= parts
                if k < 3 and apart > 0.5 * turn:
                    apart = _turned_apart(quantiles[c, j, k], clip[j, k], apart, turn)
                square += apart**2
            out[c, j] = weights[j] * np.sqrt(square)
    return out


@kernel
def _turned_apart(a, b, apart, turn):
    """Return the mean quantile difference of an angle, minimized over full turns."""
    nearest = np.rint(np.mean(a - b) / turn)
    for step in range(-1, 2):
        apart = min(apart, np.mean(np.abs(a - b - turn * (nearest + step))))
    return apart


@kernel
def _signatures(curves, threshold, time_weight, perpendicular, following):
    """Return points (N, 4), masses (N,) and point counts (C * J,) of curves (C, T, J, 3).

    The mass of a point is the fraction of frames that are nearer to it than to its neighbors. Half
    a frame is added before the first and after the last point, so the masses add up to 1. With
    `following`, it is the fraction of frames from the point up to the next one.
    """
    clips, frames, joints, _ = curves.shape
    room = clips * joints * min(frames, 16)
    points, mass = np.empty((room, _AXES)), np.empty(room)
    counts = np.empty(clips * joints, np.int64)
    at = 0
    for c in range(clips):
        for j in range(joints):
            curve = np.ascontiguousarray(curves[c, :, j])
            kept = np.flatnonzero(split(curve, threshold, perpendicular))
            counts[c * joints + j] = len(kept)
            if at + len(kept) > room:
                room = 2 * room + len(kept)
                more_points, more_mass = np.empty((room, _AXES)), np.empty(room)
                more_points[:at], more_mass[:at] = points[:at], mass[:at]
                points, mass = more_points, more_mass
            for n in range(len(kept)):
                before = -0.5 if n == 0 else 0.5 * (kept[n - 1] + kept[n])
                after = frames - 0.5 if n == len(kept) - 1 else 0.5 * (kept[n] + kept[n + 1])
                if following:
                    before = 1.0 * kept[n]
                    after = 1.0 * frames if n == len(kept) - 1 else 1.0 * kept[n + 1]
                points[at, :3] = curve[kept[n]]
                points[at, 3] = time_weight * kept[n]
                mass[at] = (after - before) / frames
                at += 1
    return points[:at].copy(), mass[:at].copy(), counts


@kernel
def _quantiles(points, mass, starts):
    """Return sorted coordinate means over `PARTS` equal parts of the mass, (S, 4, PARTS).

    Points are sorted by a coordinate and assigned to the parts in this order. A point that does not
    fit into a part is split. The last part takes the remainder caused by rounding.
    """
    count = len(starts) - 1
    out = np.zeros((count, _AXES, PARTS))
    for h in range(count):
        first, last = starts[h], starts[h + 1]
        for k in range(_AXES):
            order = np.argsort(points[first:last, k])
            part, room = 0, 1.0 / PARTS
            for n in order:
                left = mass[first + n]
                while left > 0.0:
                    used = min(left, room) if part < PARTS - 1 else left
                    out[h, k, part] += used * PARTS * points[first + n, k]
                    left -= used
                    room -= used
                    if room <= 1e-15 and part < PARTS - 1:
                        part, room = part + 1, 1.0 / PARTS
    return out


_BOUND_SLACK = 1e-9  # tolerance of a bound: sums in another order are rounded differently


def emd_matrix_rows(
    signatures: EmdSignatures,
    weights: NDArray[np.float64],
    first: int,
    last: int,
    *,
    whole_turns: bool = True,
) -> NDArray[np.float64]:
    """Return the distances between clips `first` to `last` and earlier clips, otherwise NaN."""
    return _matrix_rows(
        signatures.points, signatures.mass, signatures.starts, weights, len(signatures),
        first, last, _turn(whole_turns),
    )  # fmt: skip


def emd_nearest(
    query: EmdSignatures,
    signatures: EmdSignatures,
    weights: NDArray[np.float64],
    *,
    k: int,
    whole_turns: bool = True,
    prune: bool = True,
    factors: NDArray[np.float64] | None = None,
) -> Nearest:
    """Return the `k` clips nearest to the single clip in `query`.

    Parameters
    ----------
    query, signatures : EmdSignatures
    weights : ndarray, shape (J,)
        Weights of the joints.
    k : int
    whole_turns : bool
        Treat angles that differ by whole turns as equal.
    prune : bool
        Skip clips by their lower bounds. If False, every distance is computed. The result is the
        same either way.
    factors : ndarray, shape (C,), optional
        Positive values by which the distances are multiplied. Default: one.
    """
    if k < 1:
        raise InvalidInput(f"k must be at least 1; got {k}")
    turn = _turn(whole_turns)
    bounds = joint_bounds(signatures.quantiles, query.quantiles[0], weights, turn)
    bounds *= 1.0 - _BOUND_SLACK
    if not prune:
        bounds[:] = 0.0
    factors = np.ones(len(bounds)) if factors is None else np.ascontiguousarray(factors)
    totals = factors * bounds.sum(axis=1)
    order = np.argsort(totals, kind="stable")
    nearest, gaps, computed = _nearest(
        query.points, query.mass, query.starts,
        signatures.points, signatures.mass, signatures.starts, weights, bounds, totals, order,
        factors, min(k, len(order)), turn,
    )  # fmt: skip
    best = np.lexsort((nearest, gaps))
    return Nearest(nearest[best], gaps[best], int(computed))


def _turn(whole_turns: bool) -> float:
    return TURN if whole_turns else float("inf")


@kernel
def _matrix_rows(points, mass, starts, weights, count, first, last, turn):
    """Compute the distances between clips `first` to `last` and all earlier clips.

    The result has shape (last - first, count).
    """
    out = np.full((last - first, count), np.nan)
    nothing = np.zeros(len(weights))
    for a in range(first, last):
        for b in range(a):
            out[a - first, b] = limited_distance(
                points, mass, starts, a, points, mass, starts, b, weights, nothing, np.inf, turn
            )
        out[a - first, a] = 0.0
    return out


@kernel
def _nearest(
    points_a, mass_a, starts_a, points, mass, starts, weights, bounds, totals, order, factors, k,
    turn,
):  # fmt: skip
    """Return the `k` nearest clips, their distances, and how many distances were started.

    The query (`_a`) and the clips are given as points (N, 4), masses (N,) and starts (C * J + 1,).
    `bounds` has shape (C, J), their sums times `factors` are `totals` (C,). `order` (C,) sorts the
    clips by increasing total, so the search ends at the first total above the k-th distance.
    """
    nearest = np.full(k, -1)
    gaps = np.full(k, np.inf)
    computed = 0
    for c in order:
        worst = farthest(nearest, gaps)
        limit = gaps[worst]
        if totals[c] > limit:
            break
        computed += 1
        factor = factors[c]
        most = limit / factor * (1.0 + _SLACK)
        gap = factor * limited_distance(
            points_a, mass_a, starts_a, 0, points, mass, starts, c, weights, bounds[c], most, turn
        )
        if gap < limit or (gap == limit and c < nearest[worst]):
            nearest[worst], gaps[worst] = c, gap
    return nearest, gaps, computed
