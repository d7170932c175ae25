"""What a library knows about the poses of one performer: features, neighbours, local models."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from motionloom.distance import FeatureSet, feature_set
from motionloom.distance.body_frame import leg_scale
from motionloom.distance.feature_store import library_features
from motionloom.errors import InvalidInput, RoleError
from motionloom.library.shelf import Shelf
from motionloom.motion import Skeleton
from motionloom.motion import rotations as rot
from motionloom.search.filters import chosen_motions
from motionloom.search.neighbours import open_index
from motionloom.synthesis.reconstruction.local_model import LocalModel, local_model
from motionloom.synthesis.reconstruction.marker_frame import MarkerFrame
from motionloom.synthesis.reconstruction.neighbour_poses import NeighbourPoses

Array = NDArray[np.float64]

NEIGHBOURS = 512
"""Poses in a local model. On 86_01 of CMU, 1024 were no better and slower."""

# Neighbours may be so much further than the true ones; the paper found that it does not matter.
_EPSILON = 0.5
_LIMIT_MOTIONS, _LIMIT_POSES = 120, 6000
_LIMIT_SLACK = 0.1  # radians beyond what was seen
_TIP_POSES = 16  # nearest poses whose mean sets joints that carry nothing


class Prior:
    """Poses of a library, on the performer's skeleton, found by tracked points or by poses.

    Parameters
    ----------
    library : Shelf
    skeleton : Skeleton
        The performer's, J joints.
    roles : tuple of str
        The tracked joints to search by.
    features : str or FeatureSet
        What neighbours are found by.
    neighbours : int
    within, only, without : optional
        Which motions count; as in `Library.search`.
    """

    def __init__(
        self,
        library: Shelf,
        skeleton: Skeleton,
        roles: tuple[str, ...],
        *,
        features: str | FeatureSet = "e15",
        neighbours: int = NEIGHBOURS,
        within: str | Iterable[str] | None = None,
        only: str | Iterable[str] | None = None,
        without: str | Iterable[str] | None = None,
    ) -> None:
        if neighbours < 8:
            raise InvalidInput(f"neighbours must be at least 8; got {neighbours}")
        self.skeleton = skeleton
        self.tracked = tuple(role for role in roles if role != "hips")
        chosen = feature_set(features, scale_free=True)
        self.seeks_markers = _is_places(chosen) and set(chosen.roles) <= set(self.tracked)
        self.by_pose = None if self.seeks_markers or _is_e15(chosen) else chosen
        by_marker = chosen if self.seeks_markers else _tracked_set(self.tracked)
        self.searched = by_marker.roles
        self._scale = leg_scale(skeleton)
        self._marker = _Table(library, by_marker, within, only, without)
        self._pose = (
            None if self.by_pose is None else _Table(library, self.by_pose, within, only, without)
        )
        self._poses = NeighbourPoses(library, self._marker.features, skeleton)
        if self._pose is not None and not np.array_equal(
            self._pose.features.starts, self._marker.features.starts
        ):
            raise RoleError(f"not every motion has the joints that {chosen.name} needs")
        self.frame = MarkerFrame.fit(self._marker.features.rows, has_hips="hips" in roles)
        self.count = min(neighbours, self._marker.allowed_count)
        self.joints, self.tips = _turning(skeleton)

    def near_markers(self, rows: Array, *, radius: float = np.inf):
        """Rows and distances in metres (Q, K) of the neighbours of tracked points (Q, 3 P)."""
        return self._marker.nearest(rows * self._scale, self.count, radius)

    def row_distance(self, a: Array, b: Array) -> float:
        """Distance of two rows of tracked points (3 P,), in metres as `near_markers` has them."""
        scale = self._marker.features.feature_set.scale * self._scale
        return float(scale * np.linalg.norm(a - b))

    def near_poses(self, motion):
        """The same for the frames of a motion, in the features asked for."""
        if self._pose is None or self.by_pose is None:
            raise InvalidInput("neighbours are found by markers here")
        rows = self._pose.features.feature_set.prepare(motion)
        return self._pose.nearest(rows, self.count, np.inf)

    def model(self, rows: NDArray[np.int64], distances: Array) -> tuple[LocalModel, Array]:
        """Local model of one frame's neighbours (K,), and all joints at their mean (J, 4)."""
        poses = self._poses(rows)
        middle = max(float(np.median(distances)), 1e-9)
        weights = np.exp(-0.5 * (distances / middle) ** 2)
        model = local_model(poses[:, self.joints], weights)
        pose = np.empty((len(self.skeleton), 4))
        pose[self.joints] = model.mean
        near = poses[:_TIP_POSES, self.tips].astype(np.float64)
        near *= np.where(np.sum(near * near[:1], axis=-1, keepdims=True) < 0.0, -1.0, 1.0)
        pose[self.tips] = rot.normalize(np.einsum("k,kjc->jc", weights[:_TIP_POSES], near))
        return model, pose

    def fetch(self, rows: NDArray[np.int64]) -> None:
        """Get the poses of many rows at once."""
        self._poses.places(rows)

    def limits(self) -> tuple[Array, Array]:
        """Least and greatest rotation vectors (A, 3) of the joints that turn, as seen."""
        features = self._marker.features
        motions = np.unique(np.linspace(0, len(features.names) - 1, _LIMIT_MOTIONS).astype(int))
        spans = [(int(features.starts[m]), int(features.starts[m + 1])) for m in motions]
        step = max(1, sum(end - start for start, end in spans) // _LIMIT_POSES)
        rows = np.concatenate([np.arange(start, end, step) for start, end in spans])
        vectors = rot.log(self._poses(rows)[:, self.joints].astype(np.float64))
        low, high = np.nanpercentile(vectors, [0.1, 99.9], axis=0)
        return low - _LIMIT_SLACK, high + _LIMIT_SLACK


class _Table:
    """Features of a library, their index, and which rows count."""

    def __init__(self, library: Shelf, features: FeatureSet, within, only, without) -> None:
        self.features = library_features(library, features, scale_free=True)
        self._index = open_index(library, self.features)
        motions = chosen_motions(
            library, self.features.names, within=within, only=only, without=without
        )
        counts = np.diff(self.features.starts)
        self._allowed = None if motions is None else np.repeat(motions, counts)
        self.allowed_count = int(counts.sum() if motions is None else counts[motions].sum())

    def nearest(
        self, rows: NDArray, count: int, radius: float, *, epsilon: float = _EPSILON
    ) -> tuple[NDArray[np.int64], Array]:
        scale = self.features.feature_set.scale
        _, found, distances = self._index.nearest(
            rows.astype(np.float32),
            self.features.rows,
            k=count,
            radius=radius / scale,
            epsilon=epsilon,
            allowed=self._allowed,
        )
        if len(found) == count * len(rows):
            return found.reshape(-1, count), scale * distances.reshape(-1, count)
        if epsilon > 0.0 or np.isfinite(radius):  # a short cut missed some: look everywhere
            return self.nearest(rows, count, np.inf, epsilon=0.0)
        raise InvalidInput("a frame has no neighbours: the markers hold values that are not finite")


def _is_places(features: FeatureSet) -> bool:
    """Whether a set is places of joints in one frame, as the body stands and faces."""
    plain = features.samples == 1 and features.components is None and features.frame_rows is None
    return plain and features.normalize == "heading"


def _is_e15(features: FeatureSet) -> bool:
    return features.name == "e15"


def _tracked_set(roles: tuple[str, ...]) -> FeatureSet:
    """Places of the tracked joints; `e15` where it is the same."""
    e15 = feature_set("e15", scale_free=True)
    if set(roles) == set(e15.roles):
        return e15
    digest = hashlib.blake2b(" ".join(roles).encode(), digest_size=4).hexdigest()
    return FeatureSet(f"tracked-{digest}", roles, scale_free=True)


def _turning(skeleton: Skeleton) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Joints that carry another joint somewhere, the root first; and the tips."""
    carries = np.zeros(len(skeleton), bool)
    for joint, parent in enumerate(skeleton.parents):
        if parent >= 0 and np.linalg.norm(skeleton.offsets[joint]) > 1e-6:
            above = int(parent)
            # A joint at its parent's very place turns with it; all above carry.
            while above >= 0:
                carries[above] = True
                above = int(skeleton.parents[above])
    carries[0] = True
    return np.flatnonzero(carries).astype(np.int64), np.flatnonzero(~carries).astype(np.int64)
