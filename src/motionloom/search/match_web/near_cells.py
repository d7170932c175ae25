"""Near cells of a match web: where frames of two motions are near neighbours.

In a large library most cells of the distance matrices belong to nothing: motions that have nothing
in common. So poses are compared first, by feature vectors at the rate of the coarsest level: one
small matrix product per pair of motions, a twentieth of the cost of the distances of point clouds.
The matrix is cut into tiles of half a second. A tile with a pair of near poses is *near*, and so
are the six tiles that a path may come from and go to; all other cells are left out, and the
distance matrix, minima, chains, valid region and bridges are computed in near tiles only.

Matches with a mean distance of up to 0.1 m have a pair of poses within `POSES` almost everywhere;
docs/scale.md says how many of them are found, and how that was counted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import RoleError
from motionloom.kernels import kernel
from motionloom.motion import Motion

POSES = 0.18  # metres: distance of near poses, in the feature set e15
TILE = 5  # frames of the coarsest level, about 10 per second


def near_poses(motion: Motion) -> NDArray[np.float32] | None:
    """Feature vectors by which near frames are found, in metres, shape (T, 15).

    None if the skeleton lacks a joint that they need: all cells count as near then.
    """
    from motionloom.distance.features import FEATURES

    features = FEATURES["e15"]
    try:
        return (features.prepare(motion) * features.scale).astype(np.float32)
    except RoleError:
        return None


def near_cells(
    a: NDArray[np.float32] | None,
    others: Sequence[NDArray[np.float32] | None],
    lengths: tuple[int, Sequence[int]],
    stride: int,
    *,
    radius: float = POSES,
) -> NDArray[np.uint8]:
    """Cells of a distance matrix at a reduced rate in tiles with near poses.

    Parameters
    ----------
    a, others : ndarray, shapes (M, D), (N, D)
        Poses of the motion of the rows and of those of the columns, as from `near_poses`.
    lengths : (int, sequence of int)
        Frames of the motions.
    stride : int
        Every so many frames of each motion are used.
    radius : float
        Distance of near poses.

    Returns
    -------
    near : ndarray of uint8
        1 in near tiles, else 0; columns as in `DistanceMatrix.sampled`.

    Examples
    --------
    >>> pose = np.arange(60, dtype=np.float32)[:, None]
    >>> near = near_cells(pose, [pose], (60, [60]), 3)
    >>> near.shape, int(near[0, 0]), int(near[0, 19])
    ((20, 20), 1, 0)
    """
    rows = -(-lengths[0] // stride)
    parts = [np.ones((rows, 0), np.uint8)]
    for other, length in zip(others, lengths[1], strict=True):
        if a is None or other is None:
            parts.append(np.ones((rows, -(-length // stride)), np.uint8))
            continue
        products = a[::stride] @ other[::stride].T
        parts.append(_near_tiles(products, _squares(a, stride), _squares(other, stride), radius))
    return np.concatenate(parts, axis=1)


def _squares(poses: NDArray[np.float32], stride: int) -> NDArray[np.float32]:
    return np.einsum("md,md->m", poses[::stride], poses[::stride])


@kernel
def _near_tiles(products, squares_a, squares_b, radius):
    n_rows, n_columns = products.shape
    height, width = (n_rows + TILE - 1) // TILE, (n_columns + TILE - 1) // TILE
    hit = np.zeros((height + 2, width + 2), np.uint8)  # with a margin
    for i in range(n_rows):
        own = squares_a[i] - np.float32(radius * radius)
        line = products[i]
        marks = hit[i // TILE + 1]
        for c in range(width):
            least = np.float32(np.inf)
            for j in range(c * TILE, min(c * TILE + TILE, n_columns)):
                value = squares_b[j] - np.float32(2.0) * line[j]
                least = value if value < least else least
            if least + own <= 0.0:
                marks[c + 1] = 1
    out = np.zeros((n_rows, n_columns), np.uint8)
    for r in range(1, height + 1):
        for c in range(1, width + 1):
            if (
                hit[r, c]
                or hit[r - 1, c]
                or hit[r + 1, c]
                or hit[r, c - 1]
                or hit[r, c + 1]
                or hit[r - 1, c - 1]
                or hit[r + 1, c + 1]
            ):
                out[(r - 1) * TILE : r * TILE, (c - 1) * TILE : c * TILE] = 1
    return out
