"""EMD signatures of clips, one per joint, and nearest clips by the Earth Mover's Distance.

The rotation curve of a joint is reduced to its Douglas-Peucker points. Each is a point in four
dimensions, three angles in degrees and the time in frames, and its mass is the share of frames
that it stands for. The distance of two clips is the sum over the joints of their weights times
the Earth Mover's Distance of their signatures.

**Whole turns.** Two curves that differ by whole turns of an angle describe the same rotations. The
distance of two signatures is the least over all such turns of one of them, which is a metric,
because turning moves all points alike. Turned by a multiple of 360 degrees, a signature is at least
360 degrees from itself; so where the distance is 180 degrees or less, no turn makes it smaller, and
none is tried.

**Lower bound.** Moving mass moves it along each axis at least as far as the projections of the
signatures on that axis are apart; in one dimension that is the mean difference of their
quantiles. The root of the sum of squares over the four axes is no more than the distance of
the signatures, because a mean of lengths is no less than the length of the mean. Quantiles are
stored as means over a few parts of the mass, which can only lower the bound.

**Search.** Clips are visited in the order of the bound, and the search ends where the bound
exceeds the k-th best distance; a distance is abandoned as soon as the joints computed and the
bounds of the others exceed it. The answer is that of computing all distances. A metric index
would not help: on 3,000 pieces of CMU takes the best of 24 pivot clips rules out 30 % of all,
the bound used here 88 %, and nearly all that it leaves are left by the pivots too. So there is
no tree.

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

PARTS = 8  # of the mass, for the bound: more parts hardly raise it
_AXES = 4
TURN = 360.0  # degrees
_SLACK = 1e-12  # rounding of a sum over joints


@dataclass(frozen=True, eq=False)
class EmdSignatures:
    """EMD signatures of C clips with J joints each.

    Attributes
    ----------
    points : ndarray, shape (N, 4)
        Three angles in degrees, and the time in frames times the time's weight.
    mass : ndarray, shape (N,)
        The mass of each signature adds up to 1.
    starts : ndarray of int64, shape (C * J + 1,)
        Signature of joint j of clip c: points from ``starts[c * J + j]`` to the next start.
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
    ) -> EmdSignatures:
        """Signatures of rotation curves.

        Parameters
        ----------
        curves : array_like, shape (C, T, J, 3)
            Degrees. All numbers finite.
        threshold : float
            Tolerance of Douglas-Peucker, in degrees.
        time_weight : float
            Degrees that one frame counts for in the ground distance.
        perpendicular : bool
            As in `motionloom.features.curves.kept_frames`.
        """
        points, mass, counts = _signatures(
            np.ascontiguousarray(curves, dtype=np.float64),
            float(threshold),
            float(time_weight),
            perpendicular,
        )
        starts = offsets_of(counts)
        quantiles = _quantiles(points, mass, starts).reshape(*curves.shape[::2], _AXES, PARTS)
        return cls(points, mass, starts, quantiles)

    def __len__(self) -> int:
        return len(self.quantiles)

    def take(self, clips: NDArray[np.int64]) -> EmdSignatures:
        """The signatures of some clips."""
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
    """Distance of two clips, or inf as soon as it must exceed `limit`.

    `bounds` (J,) are lower bounds of the weighted distances of the joints; joints are visited
    in this order, largest first. Angles are compared up to multiples of `turn`.
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
    return each.sum()  # in a fixed order, because float sums depend on it


@kernel
def turned_distance(points_a, mass_a, points_b, mass_b, turn):
    """Distance of two signatures at the best whole turns of the three angles.

    The masses of each signature add up to 1. `turn` is 360 degrees; infinite for no turns.
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
        # Turns beside the nearest ones, all of which are tried unless their means are too far.
        x, y, z = (code + 13) % 27 // 9 - 1, (code + 13) % 9 // 3 - 1, (code + 13) % 3 - 1
        shift = turn * (nearest + np.array([x, y, z]))
        apart = means[3] ** 2 + np.sum((means[:3] - shift) ** 2)
        if np.sqrt(apart) < best:
            turned[:, :3] = points_b[:, :3] + shift
            best = min(best, signature_distance(points_a, mass_a, turned, mass_b))
    return best


@kernel
def joint_bounds(quantiles, clip, weights, turn):
    """Lower bounds of the weighted distances, joint by joint, of a clip (J, 4, P) to all.

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
    """Mean difference of the quantiles of one angle at the best whole turn."""
    nearest = np.rint(np.mean(a - b) / turn)
    for beside in range(-1, 2):
        apart = min(apart, np.mean(np.abs(a - b - turn * (nearest + beside))))
    return apart


@kernel
def _signatures(curves, threshold, time_weight, perpendicular):
    """Points (N, 4), masses (N,) and numbers of points (C * J,) of curves (C, T, J, 3).

    The mass of a point is its share of the frames: those nearer to it than to its neighbors, with
    half a frame beyond the first and the last, so that the masses add up to 1.
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
                points[at, :3] = curve[kept[n]]
                points[at, 3] = time_weight * kept[n]
                mass[at] = (after - before) / frames
                at += 1
    return points[:at].copy(), mass[:at].copy(), counts


@kernel
def _quantiles(points, mass, starts):
    """Means of the coordinates over `PARTS` equal parts of the mass, sorted, (S, 4, PARTS).

    Points are poured into the parts in the order of a coordinate; one that does not fit is split.
    The last part takes what rounding leaves.
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


_BOUND_SLACK = 1e-9  # of a bound: sums in another order are rounded differently


def emd_matrix_rows(
    signatures: EmdSignatures,
    weights: NDArray[np.float64],
    first: int,
    last: int,
    *,
    whole_turns: bool = True,
) -> NDArray[np.float64]:
    """Distances from clips `first` to `last` to all before them, NaN beyond the diagonal."""
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
) -> Nearest:
    """The `k` clips nearest to the single clip of `query`.

    Parameters
    ----------
    query, signatures : EmdSignatures
    weights : ndarray, shape (J,)
        Weights of the joints.
    k : int
    whole_turns : bool
        Compare angles up to whole turns.
    prune : bool
        Use the bounds; without them every distance is computed, with the same result.
    """
    if k < 1:
        raise InvalidInput(f"k must be at least 1; got {k}")
    turn = _turn(whole_turns)
    bounds = joint_bounds(signatures.quantiles, query.quantiles[0], weights, turn)
    bounds *= 1.0 - _BOUND_SLACK
    if not prune:
        bounds[:] = 0.0
    totals = bounds.sum(axis=1)
    order = np.argsort(totals, kind="stable")
    found, gaps, computed = _nearest(
        query.points, query.mass, query.starts,
        signatures.points, signatures.mass, signatures.starts, weights, bounds, totals, order,
        min(k, len(order)), turn,
    )  # fmt: skip
    best = np.lexsort((found, gaps))
    return Nearest(found[best], gaps[best], int(computed))


def _turn(whole_turns: bool) -> float:
    return TURN if whole_turns else float("inf")


@kernel
def _matrix_rows(points, mass, starts, weights, count, first, last, turn):
    """Distances from clips `first` to `last` to those before them, (last - first, count)."""
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
    points_a, mass_a, starts_a, points, mass, starts, weights, bounds, totals, order, k, turn
):
    """The `k` nearest clips, their distances, and the number of distances begun.

    Points (N, 4), masses (N,) and starts (C * J + 1,) of the query (`_a`) and of the clips;
    `bounds` (C, J), their sums `totals` (C,) and `order` (C,), in which sums rise: the first sum
    above the k-th distance ends the search.
    """
    found = np.full(k, -1)
    gaps = np.full(k, np.inf)
    computed = 0
    for c in order:
        worst = farthest(found, gaps)
        limit = gaps[worst]
        if totals[c] > limit:
            break
        computed += 1
        gap = limited_distance(
            points_a, mass_a, starts_a, 0, points, mass, starts, c, weights, bounds[c], limit, turn
        )
        if gap < limit or (gap == limit and c < found[worst]):
            found[worst], gaps[worst] = c, gap
    return found, gaps, computed
