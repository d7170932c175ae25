"""Distance measures for whole clips, by name.

=============== ================================================================ ===============
``statistics``  covariance, spectrum and trend of poses and travel, length, turn log units
``dtw-clip``    banded DTW of poses, travel and length, and spread of joints     meters
``emd``         Earth Mover's Distance of rotation curves (Tam et al. 2007)      degrees
``dtw-angles``  banded DTW of rotation curves                                    degrees
``scaling``     uniform scaling of rotation curves (Keogh et al. 2004)           degrees
``dtw-e15``     banded DTW of poses alone                                        meters
``dtw-pc11``    banded DTW of point clouds                                       meters
``dtw-jrd``     banded DTW of joint relative distances                           weighted meters
=============== ================================================================ ===============

A measure turns clips into feature vectors and compares the vectors. Each of the measure's *joints*
has its own columns. Columns of joints that a skeleton lacks are NaN, and clips are compared only by
the joints that all of them have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from motionloom.alignment.banded_dtw import (
    BAND,
    Nearest,
    banded_dtw,
    banded_matrix,
    dtw_matrix_rows,
    dtw_nearest,
)
from motionloom.alignment.dtw import accumulated, warp
from motionloom.alignment.uniform_scaling import FACTOR, scaled_lengths, scaling_nearest
from motionloom.errors import InvalidInput
from motionloom.features.curves import (
    CURVE_JOINTS,
    THRESHOLD,
    curve_joints,
    joint_weights,
    rotation_curves,
    whole_turns,
)
from motionloom.features.frame_distances import FrameDistance, distance_key, frame_distance
from motionloom.motion import Motion, Skeleton
from motionloom.motion.resampling import resampled_length
from motionloom.search.clips.emd_signature import EmdSignatures, emd_matrix_rows, emd_nearest
from motionloom.search.clips.vectors import (
    LEGS,
    POSE_ROLES,
    ClipMeasure,
    ClipVectors,
    banded_path,
    clip_summary,
    enough_joints,
    even_rows,
    joint_columns,
    joint_spreads,
    mirrored,
    pose_joints,
    pose_rows,
    spread_distances,
)
from motionloom.search.methods import clip_methods

JointWeights = str | tuple[tuple[str, float], ...]


def clip_distances(measure: ClipMeasure, clips: ClipVectors) -> NDArray[np.float64]:
    """Return the distances between all pairs of clips, NaN for clips with gaps."""
    rows = measure.matrix_rows(clips, 0, len(clips))
    return mirrored(rows) if measure.symmetric else rows


PAPER_ROWS = 128  # Tam et al. 2007, section 4
GIST_ROWS = 64
_SCALING_RATE = 120.0  # frame rate of the CMU takes; the query is the first 128 frames


@dataclass(frozen=True)
class DtwMeasure:
    """Banded DTW of feature vectors, measured as root mean square over frames and points.

    With `spread`, the distance also includes how differently the joints spread in the two clips.
    """

    name: str
    about: str
    kind: str  # "summary" or "poses"
    count: int
    unit: str = "m"
    band: float = BAND
    spread: bool = False
    symmetric: ClassVar[bool] = True

    joints: ClassVar[tuple[str, ...]] = POSE_ROLES

    @property
    def key(self) -> dict[str, Any]:  # noqa: D102
        return {"kind": self.kind, "count": self.count}

    def joints_of(self, skeleton: Skeleton) -> tuple[str, ...]:  # noqa: D102
        return pose_joints(skeleton, LEGS if self.kind == "summary" else ("hips",))

    def length(self, frames: int, fps: float) -> int:  # noqa: D102
        return self.count

    def clip_rows(self, motion: Motion) -> NDArray[np.float64]:  # noqa: D102
        if self.kind == "summary":
            return clip_summary(motion, self.count)
        return even_rows(pose_rows(motion), self.count)

    def columns(self, joints: tuple[str, ...], width: int) -> NDArray[np.int64]:  # noqa: D102
        always = np.arange(3 * len(self.joints), width)  # travel and length
        return np.concatenate([joint_columns(self.joints, joints), always])

    def matrix_rows(self, clips: ClipVectors, first: int, last: int) -> NDArray[np.float64]:  # noqa: D102
        out = self._scale(clips) * dtw_matrix_rows(clips.stack, first, last, band=self.band)
        if self.spread:
            spreads = self._spreads(clips)
            for row, own in zip(out, spreads[first:last], strict=True):
                row += spread_distances(own, spreads)
        return out

    def nearest(  # noqa: D102
        self, query, clips: ClipVectors, *, k: int, prune: bool = True, factors=None
    ) -> Nearest:
        scale, offsets = self._scale(clips), None
        if self.spread:
            own = joint_spreads(np.asarray(query)[None, :, : 3 * len(clips.joints)])[0]
            offsets = spread_distances(own, self._spreads(clips)) / scale
        near = dtw_nearest(
            query, clips.stack, k=k, band=self.band, usable=clips.whole, offsets=offsets,
            factors=factors, prune=prune,
        )  # fmt: skip
        return Nearest(near.clips, scale * near.distances, near.computed)

    def _spreads(self, clips: ClipVectors) -> NDArray[np.float64]:
        """Return the joint spreads of each clip, computed once."""
        if "spreads" not in clips.made:
            clips.made["spreads"] = joint_spreads(clips.stack[:, :, : 3 * len(clips.joints)])
        return clips.made["spreads"]

    def path(self, query, clip) -> NDArray[np.int64]:  # noqa: D102
        return banded_path(query, clip, self.band)

    def _scale(self, clips: ClipVectors) -> float:
        return float(1.0 / np.sqrt(self.count * len(clips.joints)))


class CurveMeasure:
    """Base class of the measures that compare rotation curves.

    Its `path` serves the measures that do not align frames.
    """

    joints: ClassVar[tuple[str, ...]] = CURVE_JOINTS
    joint_weights: JointWeights
    frames: int = PAPER_ROWS

    def length(self, frames: int, fps: float) -> int:  # noqa: D102
        return self.frames

    def clip_rows(self, motion: Motion) -> NDArray[np.float64]:  # noqa: D102
        return even_rows(_curve_rows(motion), self.frames)

    def weights(self, joints: tuple[str, ...]) -> NDArray[np.float64]:
        """Return the joint weights, which add up to 1."""
        given = self.joint_weights
        each = joint_weights(given if isinstance(given, str) else dict(given))
        weights = np.array([each[joint] for joint in joints])
        if not weights.any():
            raise InvalidInput("joint_weights must be positive for at least one compared joint")
        return weights / weights.sum()

    def joints_of(self, skeleton: Skeleton) -> tuple[str, ...]:  # noqa: D102
        skeleton.role_assignment.require(("hips",))
        return enough_joints(curve_joints(skeleton), CURVE_JOINTS)

    def columns(self, joints: tuple[str, ...], width: int) -> NDArray[np.int64]:  # noqa: D102
        return joint_columns(CURVE_JOINTS, joints)

    def path(self, query, clip) -> NDArray[np.int64]:
        """Return an alignment that plays both clips from start to end at constant speed."""
        count = max(len(query), len(clip))
        ends = [np.rint(np.linspace(0, len(rows) - 1, count)) for rows in (query, clip)]
        return np.stack(ends, axis=1).astype(np.int64)


@dataclass(frozen=True)
class AngleDtwMeasure(CurveMeasure):
    """Banded DTW of rotation curves, measured as weighted root mean square over frames and joints.

    Whole turns are first added to each curve so that the means are as close as possible.
    """

    name: str = "dtw-angles"
    about: str = "banded DTW of rotation curves"
    unit: str = "degrees"
    frames: int = PAPER_ROWS
    band: float = BAND
    joint_weights: JointWeights = "importance"
    whole_turns: bool = True
    symmetric: ClassVar[bool] = True

    @property
    def key(self) -> dict[str, Any]:  # noqa: D102
        return {"frames": self.frames}

    def matrix_rows(self, clips: ClipVectors, first: int, last: int) -> NDArray[np.float64]:  # noqa: D102
        curves = self._weighted(clips)
        stack = curves.rows.reshape(clips.stack.shape)
        out = dtw_matrix_rows(stack, first, last, band=self.band)
        for i in range(first, last):
            turns = curves.turns(curves.means[i])
            turned = np.asarray(turns.any(axis=1))[:i]
            for j in np.flatnonzero(turned & np.isfinite(out[i - first, :i])):
                other = stack[j] + turns[j].astype(np.float32)
                out[i - first, j] = banded_dtw(stack[i], other, band=self.band)
        return self._scale * out

    def nearest(  # noqa: D102
        self, query, clips: ClipVectors, *, k: int, prune: bool = True, factors=None
    ) -> Nearest:
        curves = self._weighted(clips)

        def search(turned, usable):
            stack = curves.rows.reshape(clips.stack.shape)
            return dtw_nearest(
                turned, stack, k=k, band=self.band, usable=usable, factors=factors, prune=prune
            )

        return curves.nearest(query, clips.whole, search, k=k, scale=self._scale)

    def path(self, query, clip) -> NDArray[np.int64]:  # noqa: D102
        if self.whole_turns:
            clip = clip + whole_turns(query.mean(axis=0), clip.mean(axis=0))
        return banded_path(query, clip, self.band)

    @property
    def _scale(self) -> float:
        return float(1.0 / np.sqrt(self.frames))

    def _weighted(self, clips: ClipVectors) -> _WeightedCurves:
        return _WeightedCurves.of(clips, self.weights(clips.joints), self.frames, self.whole_turns)


@dataclass(frozen=True, eq=False)
class _WeightedCurves:
    """Rotation curves of clips, with each column scaled by the square root of its joint weight.

    Attributes
    ----------
    rows : ndarray of float32, shape (N, D)
    means : ndarray, shape (C, D)
        Column means over the compared frames, in degrees.
    roots : ndarray, shape (D,)
    """

    rows: NDArray[np.float32]
    means: NDArray[np.float64]
    roots: NDArray[np.float32]
    frames: int
    whole_turns: bool

    @classmethod
    def of(
        cls, clips: ClipVectors, weights: NDArray[np.float64], frames: int, whole_turns: bool
    ) -> _WeightedCurves:
        """Return the curves of the first `frames` frames of each clip, computed only once."""
        key = ("weighted", weights.tobytes(), frames, whole_turns)
        if key not in clips.made:
            roots = np.repeat(np.sqrt(weights), 3).astype(np.float32)
            parts = zip(clips.starts[:-1], clips.starts[1:], strict=True)
            means = [clips.rows[a : min(a + frames, b)].mean(axis=0) for a, b in parts]
            clips.made[key] = cls(
                clips.rows * roots, np.nan_to_num(np.array(means)), roots, frames, whole_turns
            )
        return clips.made[key]

    def turns(self, means: NDArray) -> NDArray[np.float64]:
        """Return the weighted whole turns to add to a query with these means, shape (C, D)."""
        return self.whole_turns * whole_turns(means, self.means) * self.roots

    def nearest(
        self,
        query: NDArray,
        usable: NDArray[np.bool_],
        search: Callable[[NDArray, NDArray[np.bool_]], Nearest],
        *,
        k: int,
        scale: float,
    ) -> Nearest:
        """Return the clips nearest to a query (T, D) in degrees.

        `search` is called with the weighted and turned query, once for each group of clips that
        need the same whole turns. Almost all clips need none.
        """
        turns = self.turns(query[: self.frames].mean(axis=0))
        kinds, which = np.unique(turns[usable], axis=0, return_inverse=True)
        numbers = np.flatnonzero(usable)
        parts = []
        for kind, turn in enumerate(kinds):
            mask = np.zeros(len(usable), dtype=bool)
            mask[numbers[which.ravel() == kind]] = True
            turned = np.asarray(query, np.float32) * self.roots - turn.astype(np.float32)
            parts.append(search(turned, mask))
        clips = np.concatenate([each.clips for each in parts] or [np.zeros(0, np.int64)])
        distances = np.concatenate([each.distances for each in parts] or [np.zeros(0)])
        best = np.lexsort((clips, distances))[:k]
        computed = sum(each.computed for each in parts)
        return Nearest(clips[best], scale * distances[best], computed)


@dataclass(frozen=True)
class EmdMeasure(CurveMeasure):
    """Earth Mover's Distance of Douglas-Peucker points, as a weighted mean over the joints."""

    name: str = "emd"
    about: str = "Earth Mover's Distance of rotation curves (Tam et al. 2007)"
    unit: str = "degrees"
    threshold: float = THRESHOLD
    time_weight: float = 1.0
    frames: int = PAPER_ROWS
    line_distance: Literal["time", "perpendicular"] = "time"
    point_mass: Literal["nearest", "following"] = "nearest"
    joint_weights: JointWeights = "importance"
    whole_turns: bool = True
    symmetric: ClassVar[bool] = True

    @property
    def key(self) -> dict[str, Any]:  # noqa: D102
        return {"frames": self.frames}

    @property
    def signature_key(self) -> dict[str, Any]:
        """Options that affect the signatures but not the feature vectors."""
        return {
            "threshold": self.threshold,
            "time_weight": self.time_weight,
            "line_distance": self.line_distance,
            **({"point_mass": self.point_mass} if self.point_mass != "nearest" else {}),
        }

    def matrix_rows(self, clips: ClipVectors, first: int, last: int) -> NDArray[np.float64]:  # noqa: D102
        there = np.flatnonzero(clips.whole)
        own = there[(there >= first) & (there < last)]
        low = int(np.searchsorted(there, first))  # clips with gaps have no signatures
        signatures, weights = self.signatures(clips), self.weights(clips.joints)
        out = np.full((last - first, len(clips)), np.nan)
        out[np.ix_(own - first, there)] = emd_matrix_rows(
            signatures, weights, low, low + len(own), whole_turns=self.whole_turns
        )
        return out

    def nearest(  # noqa: D102
        self, query, clips: ClipVectors, *, k: int, prune: bool = True, factors=None
    ) -> Nearest:
        there = np.flatnonzero(clips.whole)
        weights = self.weights(clips.joints)
        signature = self._signatures_of(np.asarray(query, dtype=np.float64)[None])
        nearest = emd_nearest(
            signature,
            self.signatures(clips),
            weights,
            k=k,
            whole_turns=self.whole_turns,
            prune=prune,
            factors=None if factors is None else factors[there],
        )
        return Nearest(there[nearest.clips], nearest.distances, nearest.computed)

    def signatures(self, clips: ClipVectors) -> EmdSignatures:
        """Return the signatures of the clips without missing values, computed once."""
        if "signatures" not in clips.made:
            clips.made["signatures"] = self._signatures_of(clips.stack[clips.whole])
        return clips.made["signatures"]

    def _signatures_of(self, stack: NDArray) -> EmdSignatures:
        curves = stack.reshape(*stack.shape[:2], -1, 3)
        return EmdSignatures.of(
            curves,
            threshold=self.threshold,
            time_weight=self.time_weight,
            perpendicular=self.line_distance == "perpendicular",
            following=self.point_mass == "following",
        )


@dataclass(frozen=True)
class ScalingMeasure(CurveMeasure):
    """Uniform scaling of the first 128 frames at 120 fps, measured as weighted root mean square.

    Whole turns are first added to each curve so that the means are as close as possible.
    """

    name: str = "scaling"
    about: str = "uniform scaling of rotation curves (Keogh et al. 2004)"
    unit: str = "degrees"
    factor: float = FACTOR
    stretch_only: bool = False
    joint_weights: JointWeights = "importance"
    whole_turns: bool = True
    symmetric: ClassVar[bool] = False

    @property
    def key(self) -> dict[str, Any]:  # noqa: D102
        return {"factor": self.factor}

    def length(self, frames: int, fps: float) -> int:  # noqa: D102
        most = scaled_lengths(PAPER_ROWS, 10 * PAPER_ROWS, self.factor)[1]
        return min(most, resampled_length(frames, fps, _SCALING_RATE))

    def clip_rows(self, motion: Motion) -> NDArray[np.float64]:  # noqa: D102
        count = self.length(len(motion), motion.fps)
        start = motion[: int(np.ceil(count / _SCALING_RATE * motion.fps)) + 2]
        return _curve_rows(start.resample(_SCALING_RATE))[:count]

    def matrix_rows(self, clips: ClipVectors, first: int, last: int) -> NDArray[np.float64]:  # noqa: D102
        out = np.full((last - first, len(clips)), np.nan)
        for c in first + np.flatnonzero(clips.whole[first:last]):
            query = clips.rows[clips.starts[c] : clips.starts[c + 1]]
            nearest = self.nearest(query, clips, k=len(clips), prune=False)
            out[c - first, nearest.clips] = nearest.distances
        return out

    def nearest(self, query, clips: ClipVectors, *, k: int, prune: bool = True) -> Nearest:  # noqa: D102
        query = query[:PAPER_ROWS]
        curves = _WeightedCurves.of(clips, self.weights(clips.joints), PAPER_ROWS, self.whole_turns)

        def search(turned, usable):
            return scaling_nearest(
                turned, curves.rows, clips.starts, k=k, factor=self.factor,
                stretch_only=self.stretch_only, usable=usable, prune=prune,
            )  # fmt: skip

        scale = float(1.0 / np.sqrt(len(query)))
        return curves.nearest(query, clips.whole, search, k=k, scale=scale)


@dataclass(frozen=True)
class FrameDistanceMeasure:
    """Banded DTW with a frame distance, measured as the mean over the cells of the path."""

    name: str
    distance_name: str
    about: str
    count: int = GIST_ROWS
    band: float = BAND
    joints: tuple[str, ...] = ()
    symmetric: ClassVar[bool] = True

    @property
    def key(self) -> dict[str, Any]:  # noqa: D102
        return {"distance": distance_key(self._distance), "count": self.count}

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

    def matrix_rows(self, clips: ClipVectors, first: int, last: int) -> NDArray[np.float64]:  # noqa: D102
        out = np.full((last - first, len(clips)), np.nan)
        there = np.flatnonzero(clips.whole)
        for i in there[(there >= first) & (there < last)]:
            for j in there[there <= i]:
                out[i - first, j] = self._between(clips.stack[i], clips.stack[j])
        return out

    def nearest(self, query, clips: ClipVectors, *, k: int, prune: bool = True) -> Nearest:  # noqa: D102
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


def pose_dtw() -> DtwMeasure:
    """Create a measure for banded DTW of poses alone."""
    return DtwMeasure("dtw-e15", "banded DTW of poses alone", "poses", GIST_ROWS)


def pose_and_travel_dtw(*, spread: bool = True) -> DtwMeasure:
    """Create a measure for banded DTW of poses, travel, length and, by default, joint spread."""
    about = "DTW of poses, travel and length; spread of joints"
    return DtwMeasure("dtw-clip", about, "summary", GIST_ROWS, spread=spread)


def clip_measure(name: str) -> ClipMeasure:
    """Return the measure with default options for the named search method.

    Examples
    --------
    >>> clip_measure("emd").unit
    'degrees'
    """
    methods = clip_methods()
    if name not in methods:
        raise InvalidInput(f"unknown clip measure {name!r}; choose one of {', '.join(methods)}")
    return methods[name]().measure()


def _curve_rows(motion: Motion) -> NDArray[np.float64]:
    return rotation_curves(motion).reshape(len(motion), 3 * len(CURVE_JOINTS))
