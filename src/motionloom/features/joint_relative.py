"""The joint relative distance (Tang, Leung, Komura and Shum 2008).

A pose is described by the distances between its joints, so location and heading do not matter. The
joint-pair weights come from a study of human judgment. A pair and its mirror image share one weight
and count half each:

    ``y(p, q) = sum of w_ij f_ij(p, q)``,
    ``f_ij = 1/2 (|D(p_i, p_j) - D(q_i, q_j)| + the same for the mirrored pair)``

A frame is therefore a vector of weighted joint distances, and the distance between two frames is
the city-block (L1) distance of their vectors.

References
----------
.. [1] J. K. T. Tang, H. Leung, T. Komura, H. P. H. Shum. Emulating human perception of motion
   similarity. Computer Animation and Virtual Worlds, 2008.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput
from motionloom.features.euclidean import matching_tables
from motionloom.kernels import kernel
from motionloom.motion import Motion, Skeleton
from motionloom.motion.roles.assignment import ROLES

Pair = tuple[str, str]

PUBLISHED_WEIGHTS: dict[Pair, float] = {
    ("right_knee", "head"): 40.006395,
    ("right_knee", "neck"): 37.954929,
    ("right_foot", "left_collar"): 26.680455,
    ("right_ankle", "spine"): 24.165646,
    ("right_foot", "head_top"): 22.823449,
    ("right_ankle", "neck"): 20.229034,
    ("neck", "left_elbow"): 20.210250,
    ("hips", "right_ankle"): 20.059475,
    ("right_foot", "neck"): 19.725673,
    ("right_foot", "head"): 18.535401,
    ("right_knee", "head_top"): 14.617462,
    ("right_knee", "spine"): 14.162427,
    ("right_ankle", "left_collar"): 13.616902,
    ("right_foot", "left_wrist"): 12.864232,
    ("right_ankle", "left_wrist"): 12.019233,
    ("right_toe", "head_top"): 11.589273,
    ("right_toe", "spine"): 10.903691,
    ("right_foot", "left_elbow"): 10.392072,
    ("hips", "right_knee"): 10.265179,
    ("left_collar", "right_elbow"): 10.146129,
    ("left_collar", "left_elbow"): 9.838014,
    ("right_ankle", "left_shoulder"): 9.368392,
    ("hips", "head_top"): 9.311758,
    ("right_knee", "left_foot"): 8.980815,
    ("right_foot", "right_collar"): 8.620271,
    ("right_toe", "right_elbow"): 8.520379,
    ("right_knee", "left_ankle"): 8.332012,
    ("right_toe", "right_wrist"): 8.327948,
    ("head_top", "left_collar"): 7.899120,
    ("right_toe", "right_shoulder"): 7.867494,
}
"""The thirty largest weights of the study, each for a pair of joints and its mirror image."""


def mirrored(pair: Pair) -> Pair:
    """Return the mirror image of a joint pair.

    Examples
    --------
    >>> mirrored(("right_knee", "head")), mirrored(("hips", "head_top"))
    (('left_knee', 'head'), ('hips', 'head_top'))
    """
    return (_other_side(pair[0]), _other_side(pair[1]))


def symmetric_pairs(roles: Iterable[str] = ROLES) -> tuple[Pair, ...]:
    """Return all joint pairs, omitting the mirror image of each pair.

    Parameters
    ----------
    roles : iterable of str
        The joints to pair. A joint may be listed without its mirror image.

    Examples
    --------
    >>> symmetric_pairs(["hips", "left_knee", "right_knee"])
    (('hips', 'left_knee'), ('left_knee', 'right_knee'))
    """
    joints = list(roles)
    kept: dict[frozenset[str], Pair] = {}
    for first in range(len(joints)):
        for second in range(first + 1, len(joints)):
            pair = (joints[first], joints[second])
            if frozenset(mirrored(pair)) not in kept:
                kept[frozenset(pair)] = pair
    return tuple(kept.values())


def joint_distances(motion: Motion, pairs: Iterable[Pair]) -> NDArray[np.float64]:
    """Return the distance between the joints of each pair, in meters, shape (T, len(pairs)).

    Columns of pairs whose joints the skeleton lacks are NaN.
    """
    pairs = list(pairs)
    roles = motion.skeleton.roles
    there = [k for k, pair in enumerate(pairs) if pair[0] in roles and pair[1] in roles]
    out = np.full((len(motion), len(pairs)), np.nan)
    if there:
        first = motion.role_positions([pairs[k][0] for k in there]).astype(np.float64)
        second = motion.role_positions([pairs[k][1] for k in there])
        out[:, there] = np.linalg.norm(first - second, axis=-1)
    return out


@dataclass(frozen=True)
class JointRelativeDistance:
    """Weighted differences of the distances between joints, as a frame distance.

    Parameters
    ----------
    name : str
    weights : mapping of pairs of roles to float
        Weight of each pair, which also applies to its mirror image.

    Notes
    -----
    Pairs with joints that one of the two skeletons lacks are skipped; `missing` lists them.
    Distances are weighted sums of meters. For example, if all joint distances differ by one
    centimeter, the distance with all thirty published weights is 4.6.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk")
    >>> jrd = JointRelativeDistance()
    >>> matrix = jrd.matrix(jrd.prepare(walk), jrd.prepare(walk.transform(yaw=1.0)))
    >>> bool(matrix.diagonal().max() < 0.01), bool(matrix.max() > 10.0)
    (True, True)
    """

    name: str = "jrd"
    weights: Mapping[Pair, float] | None = None
    unit: str = "weighted m"

    def __post_init__(self) -> None:
        given = PUBLISHED_WEIGHTS if self.weights is None else dict(self.weights)
        seen: dict[frozenset[str], Pair] = {}
        for pair, weight in given.items():
            if len(pair) != 2 or pair[0] == pair[1] or not set(pair) <= set(ROLES):
                raise InvalidInput(
                    f"the keys of weights must be pairs of two joint roles; got {pair!r}. The "
                    f"roles are {', '.join(ROLES)}"
                )
            if not np.isfinite(weight) or weight < 0.0:
                raise InvalidInput(f"the weight of {pair} must not be negative; got {weight}")
            for image in (pair, mirrored(pair)):
                listed = seen.setdefault(frozenset(image), pair)
                if listed != pair:
                    raise InvalidInput(
                        f"weights must contain either a pair or its mirror image, not both; got "
                        f"{listed} and {pair}"
                    )
        if not seen:
            raise InvalidInput("weights must contain at least one pair of joints; got none")
        object.__setattr__(self, "weights", given)

    def __hash__(self) -> int:
        return hash((self.name, *sorted(self._weights.items())))

    @property
    def _weights(self) -> Mapping[Pair, float]:
        assert self.weights is not None
        return self.weights

    def missing(self, skeleton: Skeleton) -> tuple[Pair, ...]:
        """Return the pairs that are skipped because the skeleton lacks one of the joints."""
        roles = skeleton.roles
        return tuple(
            pair
            for pair in self._weights
            if not all(role in roles for role in (*pair, *mirrored(pair)))
        )

    def prepare(self, motion: Motion) -> NDArray[np.float32]:
        """Return the weighted joint distances, shape (T, D); columns of missing pairs are NaN.

        Raises
        ------
        RoleError
            If the skeleton has none of the pairs.
        """
        left_out = set(self.missing(motion.skeleton))
        if len(left_out) == len(self._weights):
            needed = {role for pair in left_out for role in (*pair, *mirrored(pair))}
            motion.skeleton.role_assignment.require([r for r in ROLES if r in needed])
        columns, weights = [], []
        for pair, weight in self._weights.items():
            images = {frozenset(image): image for image in (pair, mirrored(pair))}
            for image in images.values():
                columns.append(image)
                weights.append(weight / len(images) if pair not in left_out else np.nan)
        return (joint_distances(motion, columns) * weights).astype(np.float32)

    def matrix(self, a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
        """Return the distances (M, N) between prepared frames (M, D) and (N, D)."""
        rows_a, rows_b = np.asarray(a, dtype=np.float32), np.asarray(b, dtype=np.float32)
        there = _columns_there(rows_a) & _columns_there(rows_b)
        if not there.any():
            return np.full((len(rows_a), len(rows_b)), np.nan)
        if not there.all():
            rows_a, rows_b = rows_a[:, there], rows_b[:, there]
        return cityblock_matrix(rows_a, rows_b).astype(np.float64)


def _columns_there(rows: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Return a mask of the columns that have a value in at least one frame, shape (D,)."""
    if len(rows) == 0:
        return np.ones(rows.shape[1], dtype=bool)
    return ~np.isnan(rows[0]) | ~np.isnan(rows).all(axis=0)


def _other_side(role: str) -> str:
    if role.startswith("left_"):
        return "right_" + role.removeprefix("left_")
    if role.startswith("right_"):
        return "left_" + role.removeprefix("right_")
    return role


_TILE = 512  # cells of a row computed together: nine such rows fit into a 32 KB cache


def cityblock_matrix(a: ArrayLike, b: ArrayLike) -> NDArray[np.float32]:
    """Return the sum of absolute differences between every row of `a` and every row of `b`.

    Parameters
    ----------
    a, b : array_like, shapes (M, D), (N, D)
        Converted to single precision.

    Returns
    -------
    distances : ndarray of float32, shape (M, N)
        Rows with a missing (NaN) value have distance NaN to every other row.

    Examples
    --------
    >>> cityblock_matrix([[0.0, 1.0]], [[3.0, 5.0], [0.0, 1.0]])
    array([[7., 0.]], dtype=float32)
    """
    rows_a, rows_b = matching_tables(a, b, np.float32)
    return _matrix(np.ascontiguousarray(rows_a), np.ascontiguousarray(rows_b.T))


@kernel
def _matrix(a, columns):
    """Compute distances (M, N) from rows (M, D) and columns (D, N); NaN stays NaN.

    The speed is limited by loads and stores rather than by arithmetic. Therefore, `b` is transposed
    so that a column applies to many cells at once, and each pass adds eight columns to a tile that
    stays in the first-level cache.
    """
    count, size = a.shape
    width = columns.shape[1]
    out = np.zeros((count, width), dtype=np.float32)
    whole = size - size % 8
    for first in range(0, width, _TILE):
        last = min(first + _TILE, width)
        for i in range(count):
            row = out[i, first:last]
            for d in range(0, whole, 8):
                a0, a1, a2, a3 = a[i, d], a[i, d + 1], a[i, d + 2], a[i, d + 3]
                a4, a5, a6, a7 = a[i, d + 4], a[i, d + 5], a[i, d + 6], a[i, d + 7]
                b0, b1 = columns[d, first:last], columns[d + 1, first:last]
                b2, b3 = columns[d + 2, first:last], columns[d + 3, first:last]
                b4, b5 = columns[d + 4, first:last], columns[d + 5, first:last]
                b6, b7 = columns[d + 6, first:last], columns[d + 7, first:last]
                for j in range(last - first):
                    row[j] += (
                        abs(a0 - b0[j]) + abs(a1 - b1[j]) + abs(a2 - b2[j]) + abs(a3 - b3[j])
                    ) + (abs(a4 - b4[j]) + abs(a5 - b5[j]) + abs(a6 - b6[j]) + abs(a7 - b7[j]))
            for d in range(whole, size):
                value, column = a[i, d], columns[d, first:last]
                for j in range(last - first):
                    row[j] += abs(value - column[j])
    return out
