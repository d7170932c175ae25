"""How far two whole clips are apart: the measures, by name, behind one door.

=============== ==================================================================== =======
``dtw-clip``    banded DTW of poses, travel and length: the best there is here       metres
``emd``         Earth Mover's Distance of rotation curves (Tam et al. 2007)          degrees
``dtw-angles``  banded DTW of rotation curves                                        degrees
``scaling``     uniform scaling of rotation curves (Keogh et al. 2004)               degrees
``dtw-e15``     banded DTW of poses alone                                            metres
``dtw-pc11``    banded DTW of point clouds                                           metres
``dtw-jrd``     banded DTW of joint relative distances                               its own
=============== ==================================================================== =======

A measure turns a clip into rows of numbers, and compares rows. Rows have columns for each of
its *joints*; those that a skeleton lacks hold no numbers, and clips are compared by the joints
that all of them have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from motionloom.alignment.banded_dtw import (
    BAND,
    Nearest,
    banded_matrix,
    dtw_matrix_rows,
    dtw_nearest,
)
from motionloom.alignment.dtw import accumulated, warp
from motionloom.alignment.uniform_scaling import FACTOR, scaled_lengths, scaling_nearest
from motionloom.distance.clip_features import POSE_ROLES, clip_summary, even_rows, pose_rows
from motionloom.distance.curves import (
    CURVE_JOINTS,
    JOINT_IMPORTANCE,
    THRESHOLD,
    curve_joints,
    rotation_curves,
)
from motionloom.distance.frame_distances import FrameDistance, frame_distance
from motionloom.errors import InvalidInput, RoleError
from motionloom.motion import Motion, Skeleton
from motionloom.motion.resampling import resampled_length
from motionloom.search.clips.clip import ClipMeasure, Clips
from motionloom.search.clips.emd_signature import EmdSignatures, emd_matrix_rows, emd_nearest

PAPER_ROWS = 128  # Tam et al. 2007, section 4
GIST_ROWS = 64
_SCALING_RATE = 120.0  # of CMU's takes; the query is the first 128 frames
_LEGS = ("hips", "left_hip", "left_ankle", "right_hip", "right_ankle")


@dataclass(frozen=True)
class DtwMeasure:
    """Banded DTW of rows of numbers: root mean square over rows and points."""

    name: str
    about: str
    kind: str  # "summary", "poses" or "angles"
    count: int
    unit: str = "m"
    band: float = BAND
    symmetric: ClassVar[bool] = True

    @property
    def joints(self) -> tuple[str, ...]:  # noqa: D102
        return CURVE_JOINTS if self.kind == "angles" else POSE_ROLES

    def joints_of(self, skeleton: Skeleton) -> tuple[str, ...]:  # noqa: D102
        if self.kind == "angles":
            return _curves_of(skeleton)
        skeleton.role_assignment.require(_LEGS if self.kind == "summary" else ("hips",))
        return _some(tuple(role for role in POSE_ROLES if role in skeleton.roles), POSE_ROLES)

    def length(self, frames: int, fps: float) -> int:  # noqa: D102
        return self.count

    def clip_rows(self, motion: Motion) -> NDArray[np.float64]:  # noqa: D102
        if self.kind == "summary":
            return clip_summary(motion, self.count)
        rows = _curve_rows(motion) if self.kind == "angles" else pose_rows(motion)
        return even_rows(rows, self.count)

    def columns(self, joints: tuple[str, ...], width: int) -> NDArray[np.int64]:  # noqa: D102
        always = np.arange(3 * len(self.joints), width)  # travel and length
        return np.concatenate([_columns(self.joints, joints), always])

    def matrix_rows(self, clips: Clips, first: int, last: int) -> NDArray[np.float64]:  # noqa: D102
        return self._scale(clips) * dtw_matrix_rows(clips.stack, first, last, band=self.band)

    def nearest(self, query, clips: Clips, *, k: int, prune: bool = True) -> Nearest:  # noqa: D102
        found = dtw_nearest(
            query, clips.stack, k=k, band=self.band, usable=clips.whole, prune=prune
        )
        return Nearest(found.clips, self._scale(clips) * found.distances, found.computed)

    def path(self, query, clip) -> NDArray[np.int64]:  # noqa: D102
        gaps = query[:, None, :].astype(np.float64) - clip[None]
        return warp(banded_matrix((gaps**2).sum(axis=2), band=self.band)).path

    def _scale(self, clips: Clips) -> float:
        return float(1.0 / np.sqrt(self.count * len(clips.joints)))


class CurveMeasure:
    """What measures of rotation curves that pair no frames have in common."""

    def joints_of(self, skeleton: Skeleton) -> tuple[str, ...]:  # noqa: D102
        return _curves_of(skeleton)

    def columns(self, joints: tuple[str, ...], width: int) -> NDArray[np.int64]:  # noqa: D102
        return _columns(CURVE_JOINTS, joints)

    def path(self, query, clip) -> NDArray[np.int64]:
        """Both from start to end at even speeds."""
        count = max(len(query), len(clip))
        ends = [np.rint(np.linspace(0, len(rows) - 1, count)) for rows in (query, clip)]
        return np.stack(ends, axis=1).astype(np.int64)


@dataclass(frozen=True)
class EmdMeasure(CurveMeasure):
    """Earth Mover's Distance of Douglas-Peucker points: weighted mean over the joints."""

    name: str = "emd"
    about: str = "Earth Mover's Distance of rotation curves (Tam et al. 2007)"
    unit: str = "degrees"
    threshold: float = THRESHOLD
    time_weight: float = 1.0
    joints: tuple[str, ...] = CURVE_JOINTS
    symmetric: ClassVar[bool] = True

    def length(self, frames: int, fps: float) -> int:  # noqa: D102
        return PAPER_ROWS

    def clip_rows(self, motion: Motion) -> NDArray[np.float64]:  # noqa: D102
        return even_rows(_curve_rows(motion), PAPER_ROWS)

    def matrix_rows(self, clips: Clips, first: int, last: int) -> NDArray[np.float64]:  # noqa: D102
        there = np.flatnonzero(clips.whole)
        own = there[(there >= first) & (there < last)]
        low = int(np.searchsorted(there, first))  # heaps are those of the clips without gaps
        heaps, weights = self.heaps(clips), self.weights(clips.joints)
        out = np.full((last - first, len(clips)), np.nan)
        out[np.ix_(own - first, there)] = emd_matrix_rows(heaps, weights, low, low + len(own))
        return out

    def nearest(self, query, clips: Clips, *, k: int, prune: bool = True) -> Nearest:  # noqa: D102
        there = np.flatnonzero(clips.whole)
        weights = self.weights(clips.joints)
        one = self._heaps_of(np.asarray(query, dtype=np.float64)[None])
        found = emd_nearest(one, self.heaps(clips), weights, k=k, prune=prune)
        return Nearest(there[found.clips], found.distances, found.computed)

    def heaps(self, clips: Clips) -> EmdSignatures:
        """EmdSignatures of the clips without missing values, made once."""
        if "heaps" not in clips.made:
            clips.made["heaps"] = self._heaps_of(clips.stack[clips.whole])
        return clips.made["heaps"]

    def weights(self, joints: tuple[str, ...]) -> NDArray[np.float64]:
        """Weights of joints, 1 in all."""
        weights = np.array([JOINT_IMPORTANCE[joint] for joint in joints])
        return weights / weights.sum()

    def _heaps_of(self, stack: NDArray) -> EmdSignatures:
        curves = stack.reshape(*stack.shape[:2], -1, 3)
        return EmdSignatures.of(curves, threshold=self.threshold, time_weight=self.time_weight)


@dataclass(frozen=True)
class ScalingMeasure(CurveMeasure):
    """Uniform scaling of the first 128 frames at 120 Hz: root mean square over the joints."""

    name: str = "scaling"
    about: str = "uniform scaling of rotation curves (Keogh et al. 2004)"
    unit: str = "degrees"
    factor: float = FACTOR
    joints: tuple[str, ...] = CURVE_JOINTS
    symmetric: ClassVar[bool] = False

    def length(self, frames: int, fps: float) -> int:  # noqa: D102
        most = scaled_lengths(PAPER_ROWS, 10 * PAPER_ROWS, self.factor)[1]
        return min(most, resampled_length(frames, fps, _SCALING_RATE))

    def clip_rows(self, motion: Motion) -> NDArray[np.float64]:  # noqa: D102
        count = self.length(len(motion), motion.fps)
        start = motion[: int(np.ceil(count / _SCALING_RATE * motion.fps)) + 2]
        return _curve_rows(start.resample(_SCALING_RATE))[:count]

    def matrix_rows(self, clips: Clips, first: int, last: int) -> NDArray[np.float64]:  # noqa: D102
        out = np.full((last - first, len(clips)), np.nan)
        for c in first + np.flatnonzero(clips.whole[first:last]):
            query = clips.rows[clips.starts[c] : clips.starts[c + 1]]
            found = self.nearest(query, clips, k=len(clips), prune=False)
            out[c - first, found.clips] = found.distances
        return out

    def nearest(self, query, clips: Clips, *, k: int, prune: bool = True) -> Nearest:  # noqa: D102
        query = query[:PAPER_ROWS]
        found = scaling_nearest(
            query, clips.rows, clips.starts, k=k, factor=self.factor, prune=prune
        )
        scale = 1.0 / np.sqrt(len(query) * len(clips.joints))
        return Nearest(found.clips, scale * found.distances, found.computed)


@dataclass(frozen=True)
class FrameDistanceMeasure:
    """Banded DTW by a frame distance: mean over the cells of the path."""

    name: str
    distance_name: str
    about: str
    count: int = GIST_ROWS
    band: float = BAND
    joints: tuple[str, ...] = ()
    symmetric: ClassVar[bool] = True

    @property
    def unit(self) -> str:  # noqa: D102
        return self._distance.unit

    @property
    def _distance(self) -> FrameDistance:
        return frame_distance(self.distance_name)

    def joints_of(self, skeleton: Skeleton) -> tuple[str, ...]:  # noqa: D102
        still = np.tile([1.0, 0.0, 0.0, 0.0], (2, len(skeleton), 1))
        self._distance.prepare(Motion(skeleton, still, np.zeros((2, 3)), 30.0))
        return ()

    def length(self, frames: int, fps: float) -> int:  # noqa: D102
        return self.count

    def clip_rows(self, motion: Motion) -> NDArray[np.float64]:  # noqa: D102
        rows = self._distance.prepare(motion)
        return rows[np.rint(np.linspace(0, len(rows) - 1, self.count)).astype(np.int64)]

    def columns(self, joints: tuple[str, ...], width: int) -> NDArray[np.int64]:  # noqa: D102
        return np.arange(width)

    def matrix_rows(self, clips: Clips, first: int, last: int) -> NDArray[np.float64]:  # noqa: D102
        out = np.full((last - first, len(clips)), np.nan)
        there = np.flatnonzero(clips.whole)
        for i in there[(there >= first) & (there < last)]:
            for j in there[there <= i]:
                out[i - first, j] = self._between(clips.stack[i], clips.stack[j])
        return out

    def nearest(self, query, clips: Clips, *, k: int, prune: bool = True) -> Nearest:  # noqa: D102
        there = np.flatnonzero(clips.whole)
        gaps = np.array([self._between(query, clips.stack[c]) for c in there])
        order = np.lexsort((there, gaps))[:k]
        return Nearest(there[order], gaps[order], len(there))

    def path(self, query, clip) -> NDArray[np.int64]:  # noqa: D102
        return warp(banded_matrix(self._distance.matrix(query, clip), band=self.band)).path

    def _between(self, a: NDArray, b: NDArray) -> float:
        matrix = banded_matrix(self._distance.matrix(a, b), band=self.band)
        costs, _ = accumulated(matrix, steps="classic", subsequence=False)
        return float(costs[-1, -1] / self.count)


CLIP_MEASURES: dict[str, ClipMeasure] = {
    measure.name: measure
    for measure in (
        DtwMeasure("dtw-clip", "banded DTW of poses, travel and length", "summary", GIST_ROWS),
        EmdMeasure(),
        DtwMeasure("dtw-angles", "banded DTW of rotation curves", "angles", PAPER_ROWS, "degrees"),
        ScalingMeasure(),
        DtwMeasure("dtw-e15", "banded DTW of poses alone", "poses", GIST_ROWS),
        FrameDistanceMeasure("dtw-pc11", "pc11", "banded DTW of point clouds"),
        FrameDistanceMeasure("dtw-jrd", "jrd", "banded DTW of joint relative distances"),
    )
}
"""Measures of whole clips by name."""


def clip_measure(name: str) -> ClipMeasure:
    """The measure of that name.

    Examples
    --------
    >>> clip_measure("emd").unit
    'degrees'
    """
    if name not in CLIP_MEASURES:
        raise InvalidInput(
            f"no measure of clips is called {name!r}; there are {', '.join(CLIP_MEASURES)}"
        )
    return CLIP_MEASURES[name]


def _curve_rows(motion: Motion) -> NDArray[np.float64]:
    return rotation_curves(motion).reshape(len(motion), 3 * len(CURVE_JOINTS))


def _curves_of(skeleton: Skeleton) -> tuple[str, ...]:
    skeleton.role_assignment.require(("hips",))
    return _some(curve_joints(skeleton), CURVE_JOINTS)


def _some(found: tuple[str, ...], wanted: tuple[str, ...]) -> tuple[str, ...]:
    if 2 * len(found) < len(wanted):
        raise RoleError(
            f"has {len(found)} of the {len(wanted)} joints that are compared, fewer than half; "
            f"there are {', '.join(wanted)}"
        )
    return found


def _columns(joints: tuple[str, ...], some: tuple[str, ...]) -> NDArray[np.int64]:
    numbers = np.array([joints.index(joint) for joint in some], dtype=np.int64)
    return (3 * numbers[:, None] + np.arange(3)).ravel()
