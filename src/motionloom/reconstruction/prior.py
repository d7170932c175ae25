"""Prior: library poses near a performer's markers, converted to the performer's skeleton.

If the performer's skeleton and that of a motion have the same joints, joint angles are used
unchanged. Otherwise, the motion is retargeted first (`motionloom.motion.retargeting.retarget`).
Poses are cached, because most neighbors of a frame are also neighbors of the previous frame.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput, RoleError
from motionloom.features import FeatureSet, LibraryFeatures, feature_set
from motionloom.features.body_frame import leg_scale
from motionloom.features.feature_table import library_features
from motionloom.motion import Motion, Skeleton
from motionloom.motion.kinematics.body import facing
from motionloom.motion.retargeting.transfer import transfer_rotations
from motionloom.motion.rotations import quaternions as rot
from motionloom.ragged import row_of
from motionloom.reconstruction.heading import MarkerFrame
from motionloom.reconstruction.local_model import LocalModel, local_model
from motionloom.reconstruction.settings import ReconstructSettings
from motionloom.search.filters import chosen_mask
from motionloom.search.index.neighbors import open_index
from motionloom.store.store import Store

_CACHE_SIZE = 400_000  # poses; about 200 MB for 31 joints


class NeighborPoses:
    """Local rotations of library poses on one skeleton, looked up by row of the library's features.

    Parameters
    ----------
    library : Store
    features : LibraryFeatures
    skeleton : Skeleton
        Skeleton of the performer, with J joints.
    """

    def __init__(self, library: Store, features: LibraryFeatures, skeleton: Skeleton) -> None:
        self._library = library
        self._features = features
        self._skeleton = skeleton
        self._same: dict[str, bool] = {}
        self._motions: dict[int, tuple[NDArray[np.float32], NDArray[np.float32]]] = {}
        self._place = np.full(len(features), -1, np.int32)
        self._kept = np.empty((4096, len(skeleton), 4), np.float32)
        self._count = 0

    def __call__(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the rotations ``wxyz`` (*rows.shape, J, 4) of `rows`, with bodies facing +Z."""
        places = self.places(rows)  # may replace the cache
        return self._kept[places]

    def places(self, rows: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the indices of `rows` in the cache, after fetching missing poses."""
        place = self._place[rows]
        if (place < 0).any():
            new = np.unique(rows[place < 0])
            if self._count + len(new) > _CACHE_SIZE:  # cache is full: start over
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
        whose = row_of(starts, rows)
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
                motion = transfer_rotations(motion, self._skeleton)
            root = rot.multiply(turn, motion.rotations[:, 0].astype(np.float64))
            self._motions[m] = (motion.rotations, root.astype(np.float32))
        return self._motions[m]

    def _has_same_joints(self, motion: Motion) -> bool:
        key = motion.skeleton.key
        if key not in self._same:
            self._same[key] = same_joints(motion.skeleton, self._skeleton)
        return self._same[key]


def same_joints(a: Skeleton, b: Skeleton) -> bool:
    """Return whether two skeletons have the same joints, hierarchy and rest pose."""
    if a.names != b.names or not np.array_equal(a.parents, b.parents):
        return False
    if (a.rest is None) != (b.rest is None):
        return False
    return a.rest is None or b.rest is None or bool(np.allclose(a.rest, b.rest, atol=1e-4))


Array = NDArray[np.float64]

# Relative error of the neighbor search. According to the paper, this error does not matter.
_EPSILON = 0.5
_LIMIT_MOTIONS, _LIMIT_POSES = 120, 6000
_LIMIT_SLACK = 0.1  # radians allowed beyond the observed range
_TIP_POSES = 16  # number of nearest poses that are averaged for joints without children


class Prior:
    """Library poses on the performer's skeleton, which can be searched by markers or by poses.

    Parameters
    ----------
    library : Store
    skeleton : Skeleton
        Skeleton of the performer, with J joints.
    roles : tuple of str
        Roles of the markers used in the search.
    settings : ReconstructSettings
        Features to compare, number of neighbors, and motions to use.
    """

    def __init__(
        self,
        library: Store,
        skeleton: Skeleton,
        roles: tuple[str, ...],
        settings: ReconstructSettings,
    ) -> None:
        self.skeleton = skeleton
        self.tracked = tuple(role for role in roles if role != "hips")
        chosen = feature_set(settings.features, scale_free=True)
        self.seeks_markers = _is_places(chosen) and set(chosen.roles) <= set(self.tracked)
        self.by_pose = None if self.seeks_markers or _is_e15(chosen) else chosen
        by_marker = chosen if self.seeks_markers else _tracked_set(self.tracked)
        self.searched = by_marker.roles
        self._scale = leg_scale(skeleton)
        self._marker = _Table(library, by_marker, settings)
        self._pose = None if self.by_pose is None else _Table(library, self.by_pose, settings)
        self._poses = NeighborPoses(library, self._marker.features, skeleton)
        if self._pose is not None and not np.array_equal(
            self._pose.features.starts, self._marker.features.starts
        ):
            raise RoleError(
                f"some motions lack joints that {chosen.name} needs; use other features"
            )
        self.frame = MarkerFrame.fit(self._marker.features.rows, has_hips="hips" in roles)
        self.count = min(settings.neighbors, self._marker.allowed_count)
        self.joints, self.tips = _turning(skeleton)

    def near_markers(self, rows: Array, *, count: int | None = None, radius: float = np.inf):
        """Return rows and distances in meters (Q, K) of the poses nearest to markers (Q, 3 P)."""
        count = self.count if count is None else min(count, self.count)
        return self._marker.nearest(rows * self._scale, count, radius)

    def row_distance(self, a: Array, b: Array) -> float:
        """Return the distance between two marker rows (3 P,) in meters; see `near_markers`."""
        scale = self._marker.features.feature_set.scale * self._scale
        return float(scale * np.linalg.norm(a - b))

    def near_poses(self, motion):
        """Return the rows and distances of the nearest poses for each frame of a motion."""
        if self._pose is None or self.by_pose is None:
            raise InvalidInput("this prior can search only by markers, not by poses")
        rows = self._pose.features.feature_set.prepare(motion)
        return self._pose.nearest(rows, self.count, np.inf)

    def model(
        self, rows: NDArray[np.int64], distances: Array, *, near_weights: bool = True
    ) -> tuple[LocalModel, Array]:
        """Return the local model of neighbors (K,), and the mean rotations (J, 4) of all joints.

        With `near_weights`, neighbors are weighted by a Gaussian of their distance. Otherwise, all
        have the same weight.
        """
        poses = self._poses(rows)
        middle = max(float(np.median(distances)), 1e-9)
        weights = np.exp(-0.5 * (distances / middle) ** 2)
        if not near_weights:
            weights = np.ones(len(distances))
        model = local_model(poses[:, self.joints], weights)
        pose = np.empty((len(self.skeleton), 4))
        pose[self.joints] = model.mean
        near = poses[:_TIP_POSES, self.tips].astype(np.float64)
        near *= np.where(np.sum(near * near[:1], axis=-1, keepdims=True) < 0.0, -1.0, 1.0)
        pose[self.tips] = rot.normalize(np.einsum("k,kjc->jc", weights[:_TIP_POSES], near))
        return model, pose

    def fetch(self, rows: NDArray[np.int64]) -> None:
        """Cache the poses of many rows at once."""
        self._poses.places(rows)

    def limits(self) -> tuple[Array, Array]:
        """Return the minimum and maximum rotation vectors (A, 3) of the joints in the library."""
        features = self._marker.features
        motions = np.unique(np.linspace(0, len(features.names) - 1, _LIMIT_MOTIONS).astype(int))
        spans = [(int(features.starts[m]), int(features.starts[m + 1])) for m in motions]
        step = max(1, sum(end - start for start, end in spans) // _LIMIT_POSES)
        rows = np.concatenate([np.arange(start, end, step) for start, end in spans])
        vectors = rot.log(self._poses(rows)[:, self.joints].astype(np.float64))
        low, high = np.nanpercentile(vectors, [0.1, 99.9], axis=0)
        return low - _LIMIT_SLACK, high + _LIMIT_SLACK

    def no_limits(self) -> tuple[Array, Array]:
        """Return infinite joint limits, which no joint reaches."""
        wide = np.full((len(self.joints), 3), np.inf)
        return -wide, wide


class _Table:
    """A library's features, their index, and a mask of the allowed rows."""

    def __init__(self, library: Store, features: FeatureSet, settings: ReconstructSettings) -> None:
        self.features = library_features(library, features, scale_free=True)
        self._index = open_index(library, self.features)
        motions = chosen_mask(
            library,
            self.features.names,
            label=settings.label,
            only=settings.only,
            exclude=settings.exclude,
        )
        counts = np.diff(self.features.starts)
        self._allowed = None if motions is None else np.repeat(motions, counts)
        self.allowed_count = int(counts.sum() if motions is None else counts[motions].sum())

    def nearest(
        self, rows: NDArray, count: int, radius: float, *, epsilon: float = _EPSILON
    ) -> tuple[NDArray[np.int64], Array]:
        scale = self.features.feature_set.scale
        _, near, distances = self._index.nearest(
            rows.astype(np.float32),
            self.features.rows,
            k=count,
            radius=radius / scale,
            epsilon=epsilon,
            allowed=self._allowed,
        )
        if len(near) == count * len(rows):
            return near.reshape(-1, count), scale * distances.reshape(-1, count)
        if epsilon > 0.0 or np.isfinite(radius):  # too few neighbors: search exactly
            return self.nearest(rows, count, np.inf, epsilon=0.0)
        raise InvalidInput("markers must be finite, but some values are missing or infinite")


def _is_places(features: FeatureSet) -> bool:
    """Return whether a feature set contains only joint positions of one frame, without heading."""
    plain = features.samples == 1 and features.components is None and features.frame_rows is None
    return plain and features.normalize == "heading"


def _is_e15(features: FeatureSet) -> bool:
    return features.name == "e15"


def _tracked_set(roles: tuple[str, ...]) -> FeatureSet:
    """Return the feature set of the tracked joint positions, or `e15` if it is the same set."""
    e15 = feature_set("e15", scale_free=True)
    if set(roles) == set(e15.roles):
        return e15
    digest = hashlib.blake2b(" ".join(roles).encode(), digest_size=4).hexdigest()
    return FeatureSet(f"tracked-{digest}", roles, scale_free=True)


def _turning(skeleton: Skeleton) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the joints that move other joints, starting with the root, and all other joints."""
    carries = np.zeros(len(skeleton), bool)
    for joint, parent in enumerate(skeleton.parents):
        if parent >= 0 and np.linalg.norm(skeleton.offsets[joint]) > 1e-6:
            above = int(parent)
            # A joint at the position of its parent rotates with it; all ancestors carry it.
            while above >= 0:
                carries[above] = True
                above = int(skeleton.parents[above])
    carries[0] = True
    return np.flatnonzero(carries).astype(np.int64), np.flatnonzero(~carries).astype(np.int64)
