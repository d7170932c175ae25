"""Poses of a library as the performer would take them, fetched frame by frame.

Where the performer's skeleton has the same joints as a motion's, joint angles are taken as
they are; otherwise the motion is turned onto the performer's skeleton first (see
`motionloom.motion.retargeting`). What was fetched is kept: neighbours of one frame are mostly
those of the frame before.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from motionloom.distance import LibraryFeatures
from motionloom.library.shelf import Shelf
from motionloom.motion import Motion, Skeleton
from motionloom.motion import rotations as rot
from motionloom.motion.heading import facing
from motionloom.motion.retargeting import turned_onto

_MOST_KEPT = 400_000  # poses; some 200 MB for 31 joints


class NeighbourPoses:
    """Local rotations on one skeleton for rows of a library's features.

    Parameters
    ----------
    library : Shelf
    features : LibraryFeatures
        Whose rows are asked for.
    skeleton : Skeleton
        The performer's, J joints.
    """

    def __init__(self, library: Shelf, features: LibraryFeatures, skeleton: Skeleton) -> None:
        self._library = library
        self._features = features
        self._skeleton = skeleton
        self._same: dict[str, bool] = {}
        self._motions: dict[int, tuple[NDArray[np.float32], NDArray[np.float32]]] = {}
        self._place = np.full(len(features), -1, np.int32)
        self._kept = np.empty((4096, len(skeleton), 4), np.float32)
        self._count = 0

    def __call__(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Rotations ``wxyz`` of `rows`, shape (*rows.shape, J, 4); every body faces +Z."""
        places = self.places(rows)  # may put another array in the place of what is kept
        return self._kept[places]

    def places(self, rows: NDArray[np.int64]) -> NDArray[np.int32]:
        """Where `rows` lie in what is kept, fetching what is not there yet."""
        place = self._place[rows]
        if (place < 0).any():
            new = np.unique(rows[place < 0])
            if self._count + len(new) > _MOST_KEPT:  # begin anew; these rows are all wanted
                self._place[:] = -1
                self._count = 0
                new = np.unique(rows)
            self._fetch(new)
            place = self._place[rows]
        return place

    def _fetch(self, rows: NDArray[np.int64]) -> None:
        end = self._count + len(rows)
        if end > len(self._kept):
            grown = np.empty((max(end, 2 * len(self._kept)), *self._kept.shape[1:]), np.float32)
            grown[: self._count] = self._kept[: self._count]
            self._kept = grown
        starts = self._features.starts
        whose = np.searchsorted(starts, rows, side="right") - 1
        for m in np.unique(whose):
            mine = np.flatnonzero(whose == m)
            rotations, root = self._motion(int(m))
            frames = self._stored_frames(int(m), rows[mine] - starts[m])
            out = self._kept[self._count + mine[0] : self._count + mine[-1] + 1]
            out[:] = rotations[frames]
            out[:, 0] = root[frames]
        self._place[rows] = np.arange(self._count, end)
        self._count = end

    def _stored_frames(self, m: int, index: NDArray[np.int64]) -> NDArray[np.int64]:
        last = int(self._features.frames[m]) - 1
        step = self._features.stored_frame(m, 1000) / 1000.0
        return np.minimum(np.rint(index * step).astype(np.int64), last)

    def _motion(self, m: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        if m not in self._motions:
            motion = self._library[self._features.names[m]]
            turn = rot.yaw(-np.angle(facing(motion)))
            if not self._has_same_joints(motion):
                motion = turned_onto(motion, self._skeleton)
            root = rot.multiply(turn, motion.rotations[:, 0].astype(np.float64))
            self._motions[m] = (motion.rotations, root.astype(np.float32))
        return self._motions[m]

    def _has_same_joints(self, motion: Motion) -> bool:
        key = motion.skeleton.key
        if key not in self._same:
            self._same[key] = same_joints(motion.skeleton, self._skeleton)
        return self._same[key]


def same_joints(a: Skeleton, b: Skeleton) -> bool:
    """Whether two skeletons have the same joints in the same tree with the same rest pose."""
    if a.names != b.names or not np.array_equal(a.parents, b.parents):
        return False
    if (a.rest is None) != (b.rest is None):
        return False
    return a.rest is None or b.rest is None or bool(np.allclose(a.rest, b.rest, atol=1e-4))
