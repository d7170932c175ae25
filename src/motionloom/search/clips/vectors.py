"""Feature vectors of whole clips, and the protocol for measures that compare them.

Features are poses and travel, resampled from start to end:

``poses``
    Wrists, ankles and head in the body frame (see `motionloom.features.body_frame`).
``travel``
    Velocity of the hips in the body frame: left, up and forward.
``length``
    Logarithm of the duration, so twice as long counts as much as half as long.
``spread``
    Logarithm of how far each pose coordinate spreads over the clip, regardless of order. Describes
    which joints move, and in which direction.

Every clip is resampled to the same number of frames regardless of its duration, so a fast and a
slow performance differ only in `length` and `travel`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.alignment.banded_dtw import Nearest, banded_matrix
from motionloom.alignment.dtw import warp
from motionloom.errors import InvalidInput, RoleError
from motionloom.features.body_frame import body_positions, leg_scale
from motionloom.features.feature_sets import FEATURES
from motionloom.motion import Motion, Skeleton
from motionloom.motion.kinematics.body import facing
from motionloom.motion.rotations.planar_transform import floor_complex

POSE_ROLES: tuple[str, ...] = FEATURES["e15"].roles
LEGS = ("hips", "left_hip", "left_ankle", "right_hip", "right_ankle")  # needed for size and facing
RATE = 30.0  # frames per second at which velocities are computed

# Chosen by a grid search on 222 CMU clips in five groups; see docs/evidence/whole-clips.md.
TRAVEL_SECONDS = (1.0, 4.0, 1.0)  # left, up, forward: meters per meter per second
LENGTH_METERS = 1.0  # meters per factor e of length

# On held-out sets (docs/evidence/evaluation.md), 0.5 to 1.5 meters and 1 to 5 cm score about the
# same.
SPREAD_METERS = 1.0  # meters per factor e of spread
STILL_METERS = 0.02  # spread of a joint that does not move; smaller movements are noise
_CLIPS_AT_ONCE = 4096


@dataclass(frozen=True, eq=False)
class ClipVectors:
    """Feature vectors of many clips, with columns for the joints that all clips share.

    Attributes
    ----------
    rows : ndarray of float32, shape (N, D)
    starts : ndarray of int64, shape (C + 1,)
        Clip c has vectors ``starts[c]`` to ``starts[c + 1]``.
    joints : tuple of str
        Compared joints.
    """

    rows: NDArray[np.float32]
    starts: NDArray[np.int64]
    joints: tuple[str, ...]
    made: dict = field(default_factory=dict, repr=False)  # values that a measure caches

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def stack(self) -> NDArray[np.float32]:
        """Return the feature vectors of clips of equal length, shape (C, T, D)."""
        return self.rows.reshape(len(self), -1, self.rows.shape[1])

    @property
    def whole(self) -> NDArray[np.bool_]:
        """Return a mask of the clips without missing values, shape (C,)."""
        if "whole" not in self.made:
            bad = ~np.isfinite(self.rows.sum(axis=1, dtype=np.float64))
            self.made["whole"] = ~np.logical_or.reduceat(bad, self.starts[:-1])
        return self.made["whole"]


def mirrored(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Complete a symmetric matrix of which only the lower triangle is filled.

    Examples
    --------
    >>> mirrored(np.array([[0.0, np.nan], [3.0, 0.0]])).tolist()
    [[0.0, 3.0], [3.0, 0.0]]
    """
    upper = np.triu(np.ones(rows.shape, dtype=bool), 1)
    return np.where(upper, rows.T, rows)


class ClipMeasure(Protocol):
    """Protocol for a clip measure."""

    @property
    def name(self) -> str:
        """Name of the measure."""

    @property
    def unit(self) -> str:
        """Unit of the distances."""

    @property
    def about(self) -> str:
        """Short description of the measure."""

    @property
    def joints(self) -> tuple[str, ...]:
        """Joints that the measure can compare."""

    @property
    def key(self) -> Mapping[str, Any]:
        """Options of the measure that affect `clip_rows`, as plain values."""

    def joints_of(self, skeleton: Skeleton) -> tuple[str, ...]:
        """Return the `joints` that a skeleton has.

        Raises `RoleError` if the skeleton cannot be compared.
        """

    def length(self, frames: int, fps: float) -> int:
        """Return the number of feature vectors for a clip."""

    def clip_rows(self, motion: Motion) -> NDArray[np.float64]:
        """Return the feature vectors of a clip, (length, width), with NaN for missing joints."""

    def columns(self, joints: tuple[str, ...], width: int) -> NDArray[np.int64]:
        """Return which of the `width` columns belong to `joints`."""

    @property
    def symmetric(self) -> bool:
        """True if distances are symmetric."""

    def matrix_rows(self, clips: ClipVectors, first: int, last: int) -> NDArray[np.float64]:
        """Return the distances between clips `first` to `last` (rows) and all clips (columns).

        Values are NaN for clips with gaps and, if distances are symmetric, beyond the diagonal.
        """

    def nearest(self, query: NDArray, clips: ClipVectors, *, k: int, prune: bool = True) -> Nearest:
        """Return the `k` clips nearest to the clip with feature vectors `query`.

        A measure may also accept `factors` (C,), by which the distances are multiplied before they
        are compared. Otherwise, a search that corrects for hubs computes all distances.
        """

    def path(self, query: NDArray, clip: NDArray) -> NDArray[np.int64]:
        """Return the alignment of the feature vectors of two clips, as pairs (L, 2)."""


def banded_path(query: NDArray, clip: NDArray, band: float) -> NDArray[np.int64]:
    """Align feature vectors (T, D) and (S, D) by banded DTW; return pairs (L, 2)."""
    gaps = query[:, None, :].astype(np.float64) - clip[None]
    return warp(banded_matrix((gaps**2).sum(axis=2), band=band)).path


def enough_joints(available: tuple[str, ...], wanted: tuple[str, ...]) -> tuple[str, ...]:
    """Return the `available` joints unchanged.

    Raises `RoleError` if fewer than half of the wanted joints are available.
    """
    if 2 * len(available) < len(wanted):
        raise RoleError(
            f"has only {len(available)} of the {len(wanted)} compared joints, fewer than half of "
            f"{', '.join(wanted)}"
        )
    return available


def pose_joints(skeleton: Skeleton, required: tuple[str, ...]) -> tuple[str, ...]:
    """Return the `POSE_ROLES` a skeleton has; raise `RoleError` if it lacks a required one."""
    skeleton.role_assignment.require(required)
    return enough_joints(tuple(role for role in POSE_ROLES if role in skeleton.roles), POSE_ROLES)


def joint_columns(joints: tuple[str, ...], some: tuple[str, ...]) -> NDArray[np.int64]:
    """Return the indices of the columns that belong to some joints, three per joint.

    Examples
    --------
    >>> joint_columns(("head", "left_wrist"), ("left_wrist",)).tolist()
    [3, 4, 5]
    """
    numbers = np.array([joints.index(joint) for joint in some], dtype=np.int64)
    return (3 * numbers[:, None] + np.arange(3)).ravel()


def pose_rows(motion: Motion, *, scale_free: bool = False) -> NDArray[np.float64]:
    """Return the positions of `POSE_ROLES` in the body frame, in meters, shape (T, 15).

    Values are NaN where the skeleton lacks a role.
    """
    out = np.full((len(motion), len(POSE_ROLES), 3), np.nan)
    there = [k for k, role in enumerate(POSE_ROLES) if role in motion.skeleton.roles]
    if there:
        roles = [POSE_ROLES[k] for k in there]
        out[:, there] = body_positions(motion, roles, scale_free=scale_free)
    return out.reshape(len(motion), 3 * len(POSE_ROLES))


def travel_rows(motion: Motion, *, scale_free: bool = False) -> NDArray[np.float64]:
    """Return the hip velocity (left, up, forward) in meters per second, shape (T, 3).

    Examples
    --------
    >>> import motionloom as ml
    >>> ahead = travel_rows(ml.demo.clip("walk"))[:, 2]
    >>> bool(0.5 < np.median(ahead) < 2.0)
    True
    """
    hips = motion.role_positions(["hips"])[:, 0].astype(np.float64)
    if len(hips) < 2:
        return np.zeros((len(hips), 3))
    speed = np.gradient(hips, axis=0) * motion.fps
    floor = floor_complex(speed) * facing(motion).conj()
    scale = leg_scale(motion.skeleton) if scale_free else 1.0
    return scale * np.stack([floor.imag, speed[:, 1], floor.real], axis=-1)


def clip_summary(motion: Motion, count: int) -> NDArray[np.float64]:
    """Return the poses, travel and length of a clip resampled to `count` frames, (count, 19).

    All performers are scaled to the same size. All values are in meters: velocities are multiplied
    by `TRAVEL_SECONDS`, and a duration that is longer by a factor of e adds `LENGTH_METERS`.

    Examples
    --------
    >>> import motionloom as ml
    >>> clip_summary(ml.demo.clip("walk"), 64).shape
    (64, 19)
    """
    seconds = len(motion) / motion.fps
    motion = motion.resample(RATE)
    rows = np.concatenate(
        [
            pose_rows(motion, scale_free=True),
            travel_rows(motion, scale_free=True) * TRAVEL_SECONDS,
            np.full((len(motion), 1), LENGTH_METERS * np.log(seconds)),
        ],
        axis=1,
    )
    return even_rows(rows, count)


def joint_spreads(poses: NDArray) -> NDArray[np.float64]:
    """Return the logarithm of each coordinate's standard deviation over each clip.

    Parameters
    ----------
    poses : ndarray, shape (C, T, D)

    Returns
    -------
    spreads : ndarray, shape (C, D)

    Examples
    --------
    >>> bool(joint_spreads(np.array([[[0.0], [2.0]]]))[0, 0] == np.log(1.0 + STILL_METERS))
    True
    """
    parts = [
        np.asarray(poses[at : at + _CLIPS_AT_ONCE], np.float64).std(axis=1)
        for at in range(0, len(poses), _CLIPS_AT_ONCE)
    ]
    return np.log(np.concatenate(parts) + STILL_METERS)


def spread_distances(own: NDArray, spreads: NDArray) -> NDArray[np.float64]:
    """Return RMS differences in meters between the spreads of a query (D,) and clips (C, D)."""
    return SPREAD_METERS * np.sqrt(np.mean((spreads - own) ** 2, axis=1))


def even_rows(rows: ArrayLike, count: int) -> NDArray[np.float64]:
    """Resample values to `count` evenly spaced steps by linear interpolation.

    Examples
    --------
    >>> even_rows([[0.0], [1.0], [4.0]], 5)[:, 0].tolist()
    [0.0, 0.5, 1.0, 2.5, 4.0]
    """
    rows = np.asarray(rows, dtype=np.float64)
    if rows.ndim < 2 or not len(rows):
        raise InvalidInput(f"rows must have shape (T, ...) with T at least 1; got {rows.shape}")
    if count < 1:
        raise InvalidInput(f"count must be at least 1; got {count}")
    at = np.linspace(0.0, len(rows) - 1.0, count)
    before = np.minimum(at.astype(np.int64), max(0, len(rows) - 2))
    after = np.minimum(before + 1, len(rows) - 1)
    share = (at - before).reshape(-1, *[1] * (rows.ndim - 1))
    # A sample that falls exactly on a frame is not affected by missing values in the next frame.
    return np.where(share == 0.0, rows[before], (1.0 - share) * rows[before] + share * rows[after])
