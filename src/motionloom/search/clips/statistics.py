"""Clip distance based on statistics that are independent of style, speed and repetitions.

A clip is converted to rows at 30 frames per second: wrists, ankles and head in the body frame,
scaled to one body size (`motionloom.features.body_frame`), the velocity of the hips (left, up,
forward), and the turning speed of the body. Six statistics of the rows are compared, each by the
root mean square of its differences. The distance is their weighted sum, plus a seventh term:

``covariance``
    Logarithm of the matrix of second moments of the rows. A column of ones is added so that it also
    includes the mean pose. Describes which joints move together and around which pose, regardless
    of when.
``spectrum``
    Logarithm of the amplitude of each column, per octave of frequency. Describes how fast each
    joint moves.
``trend``
    The first four cosine coefficients of each column over the clip, divided by the extent of the
    movement. Describes the order of events, at any speed and size.
``length``
    Logarithm of the duration.
``turn``
    How far the body turns from start to end, to the left or to the right. Turns beyond a right
    angle all count about the same.
``travel``
    Mean velocity of the hips to the left and forward, relative to where the body faces, with its
    sign: distinguishes walking forward, backward and sideways. Slow speeds count in proportion;
    above 0.3 meters per second, twice the speed counts about the same everywhere.
``alignment``
    The distance ``dtw-clip``, in meters: banded DTW of poses, travel and length, and the spread of
    each joint. It compares clips that show one action from start to end more precisely.

None of the weights were fitted to the labels of a library. docs/evidence/evaluation.md explains how
they were chosen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from motionloom.alignment.banded_dtw import BAND, Nearest, dtw_matrix_rows, dtw_nearest
from motionloom.motion import Motion, Skeleton
from motionloom.motion.kinematics.body import facing
from motionloom.motion.resampling import resampled_length
from motionloom.search.clips import vectors
from motionloom.search.clips.vectors import (
    LEGS,
    LENGTH_METERS,
    POSE_ROLES,
    RATE,
    STILL_METERS,
    ClipVectors,
    banded_path,
    even_rows,
    joint_columns,
    joint_spreads,
    pose_joints,
    pose_rows,
    spread_distances,
    travel_rows,
)

TRAVEL_SECONDS = 0.2  # meters per (meter per second) of travel or (radian per second) of turning
QUIET_METERS = 0.01  # smaller movements count as noise in amplitudes
OCTAVES = (0.0, 0.3, 0.6, 1.2, 2.4, 4.8, np.inf)  # Hz
COSINES = 4
TURN_RADIANS = 1.5  # larger turns saturate
SLOW_METERS = 0.3  # per second; faster travel counts on a logarithmic scale
ALIGNED = 64  # number of frames that are aligned
_SPECTRUM_ROWS = 128  # shorter clips are padded
_TRAVEL = 4  # columns of travel and turning


def statistic_rows(motion: Motion) -> NDArray[np.float64]:
    """Return poses, hip velocity and turning of a clip at 30 Hz, shape (T, 19), in meters.

    Examples
    --------
    >>> import motionloom as ml
    >>> statistic_rows(ml.demo.clip("walk")).shape[1]
    19
    """
    motion = motion.resample(RATE)
    turning = np.zeros(len(motion))
    if len(motion) > 1:
        turning = np.gradient(np.unwrap(np.angle(facing(motion)))) * RATE
    travel = np.column_stack([travel_rows(motion, scale_free=True), turning])
    return np.concatenate([pose_rows(motion, scale_free=True), TRAVEL_SECONDS * travel], axis=1)


def clip_statistics(rows: NDArray) -> NDArray[np.float64]:
    """Return all statistics of a clip's rows (T, D), concatenated.

    Examples
    --------
    >>> import motionloom as ml
    >>> rows = statistic_rows(ml.demo.clip("walk"))
    >>> clip_statistics(rows).shape == (sum(statistic_sizes(19)),)
    True
    """
    rows = np.asarray(rows, dtype=np.float64)
    turned = float(np.sum(rows[:, -1])) / (TRAVEL_SECONDS * RATE)
    velocity = rows[:, [-_TRAVEL, -_TRAVEL + 2]].mean(axis=0) / TRAVEL_SECONDS  # left, forward
    return np.concatenate(
        [
            _covariance(rows),
            _spectrum(rows),
            _trend(rows),
            [np.log(len(rows) / RATE), np.tanh(turned / TURN_RADIANS)],
            np.arcsinh(velocity / SLOW_METERS),
        ]
    )


def statistic_sizes(width: int) -> tuple[int, ...]:
    """Return the number of values in each statistic for rows with `width` columns."""
    return (width + 1) * (width + 2) // 2, (len(OCTAVES) - 1) * width, COSINES * width, 1, 1, 2


def aligned_rows(rows: NDArray) -> NDArray[np.float64]:
    """Return the values that ``alignment`` compares, from a clip's rows (T, D), shape (64, D).

    They are those of `motionloom.search.clips.vectors.clip_summary`: poses, travel and length.
    """
    rows = np.asarray(rows, dtype=np.float64)
    travel = rows[:, -_TRAVEL:-1] * (np.array(vectors.TRAVEL_SECONDS) / TRAVEL_SECONDS)
    length = np.full((len(rows), 1), LENGTH_METERS * np.log(len(rows) / RATE))
    return even_rows(np.concatenate([rows[:, :-_TRAVEL], travel, length], axis=1), ALIGNED)


def _covariance(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the lower triangle of the matrix logarithm of the second moments.

    Elements off the diagonal are multiplied by the square root of two, because each occurs twice.
    """
    width = rows.shape[1]
    extended = np.column_stack([rows, np.ones(len(rows))])
    moments = extended.T @ extended / len(rows)
    moments[np.arange(width), np.arange(width)] += STILL_METERS**2
    values, vectors = np.linalg.eigh(moments)
    logarithm = (vectors * np.log(np.maximum(values, 1e-12))) @ vectors.T
    i, j = np.tril_indices(width + 1)
    return logarithm[i, j] * np.where(i == j, 1.0, np.sqrt(2.0))


def _spectrum(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithm of each column's root mean square within each octave."""
    count = len(rows)
    window = np.hanning(count + 2)[1:-1, None]
    window /= np.sqrt(np.mean(window**2))
    padded = max(_SPECTRUM_ROWS, count)
    power = np.abs(np.fft.rfft((rows - rows.mean(axis=0)) * window, n=padded, axis=0)) ** 2
    power *= 2.0 / (count * padded)
    octave = np.searchsorted(OCTAVES, np.fft.rfftfreq(padded, 1.0 / RATE), side="right") - 1
    sums = np.zeros((len(OCTAVES) - 1, rows.shape[1]))
    np.add.at(sums, octave, power)
    return np.log(np.sqrt(sums) + QUIET_METERS).ravel()


def _trend(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the first cosine coefficients of each column, relative to the overall extent."""
    even = even_rows(rows, ALIGNED)
    even -= even.mean(axis=0)
    even /= np.sqrt(np.mean(even**2)) + QUIET_METERS
    at = (np.arange(ALIGNED) + 0.5) / ALIGNED
    cosines = np.sqrt(2.0) * np.cos(np.pi * np.arange(1, COSINES + 1)[:, None] * at)
    return (cosines @ even / ALIGNED).ravel()


def statistic_distances(
    own: NDArray, others: NDArray, width: int, weights: tuple[float, ...]
) -> NDArray[np.float64]:
    """Return the distances (C,) between the statistics of one clip (S,) and of C clips (C, S)."""
    out = np.zeros(len(others))
    at = 0
    for size, weight in zip(statistic_sizes(width), weights, strict=True):
        if weight:
            gaps = others[:, at : at + size] - own[at : at + size]
            out += weight * np.sqrt(np.einsum("cs,cs->c", gaps, gaps) / size)
        at += size
    return out


@dataclass(frozen=True)
class StatisticsMeasure:
    """Weighted sum of the differences in the statistics that this module describes."""

    name: str = "statistics"
    about: str = "statistics of poses and travel, and their alignment"
    unit: str = "log units"
    covariance_weight: float = 1.0
    spectrum_weight: float = 1.0
    trend_weight: float = 1.0
    length_weight: float = 0.2
    turn_weight: float = 0.1
    travel_weight: float = 0.3
    alignment_weight: float = 0.4
    symmetric: ClassVar[bool] = True

    joints: ClassVar[tuple[str, ...]] = POSE_ROLES
    key: ClassVar[dict[str, Any]] = {}

    def joints_of(self, skeleton: Skeleton) -> tuple[str, ...]:  # noqa: D102
        return pose_joints(skeleton, LEGS)

    def length(self, frames: int, fps: float) -> int:  # noqa: D102
        return resampled_length(frames, fps, RATE)

    def clip_rows(self, motion: Motion) -> NDArray[np.float64]:  # noqa: D102
        return statistic_rows(motion)

    def columns(self, joints: tuple[str, ...], width: int) -> NDArray[np.int64]:  # noqa: D102
        return np.concatenate(
            [joint_columns(self.joints, joints), np.arange(width - _TRAVEL, width)]
        )

    def matrix_rows(self, clips: ClipVectors, first: int, last: int) -> NDArray[np.float64]:  # noqa: D102
        own = self.statistics(clips)
        out = np.array([self._distances(own[c], clips) for c in range(first, last)])
        out = out.reshape(last - first, len(clips))
        if self.alignment_weight:
            aligned = self.aligned(clips)
            spreads = self.spreads(clips)
            apart = self._scale(clips) * dtw_matrix_rows(aligned, first, last, band=BAND)
            for row, spread in zip(apart, spreads[first:last], strict=True):
                row += spread_distances(spread, spreads)
            out += self.alignment_weight * apart
        return out

    def nearest(  # noqa: D102
        self, query, clips: ClipVectors, *, k: int, prune: bool = True, factors=None
    ) -> Nearest:
        there = np.flatnonzero(clips.whole)
        gaps = self._distances(clip_statistics(query), clips)
        if not self.alignment_weight:
            gaps = gaps if factors is None else factors * gaps
            order = np.lexsort((there, gaps[there]))[:k]
            return Nearest(there[order], gaps[there][order], len(there))
        aligned = aligned_rows(query).astype(np.float32)
        spread = joint_spreads(aligned[None, :, : 3 * len(clips.joints)])[0]
        # The alignment is computed only if the statistics do not rule the clip out.
        scale = self.alignment_weight * self._scale(clips)
        offsets = gaps + self.alignment_weight * spread_distances(spread, self.spreads(clips))
        near = dtw_nearest(
            aligned, self.aligned(clips), k=k, band=BAND, usable=clips.whole,
            offsets=offsets / scale, factors=factors, prune=prune,
        )  # fmt: skip
        return Nearest(near.clips, scale * near.distances, near.computed)

    def path(self, query, clip) -> NDArray[np.int64]:  # noqa: D102
        poses = slice(0, -_TRAVEL)
        query, clip = np.asarray(query, float), np.asarray(clip, float)
        pairs = banded_path(
            even_rows(query[:, poses], ALIGNED), even_rows(clip[:, poses], ALIGNED), BAND
        )
        per_row = (np.array([len(query), len(clip)]) - 1) / (ALIGNED - 1)
        return np.rint(pairs * per_row).astype(np.int64)

    def statistics(self, clips: ClipVectors) -> NDArray[np.float64]:
        """Return the cached statistics of each clip; NaN for clips with missing values."""
        if "statistics" not in clips.made:
            out = np.full((len(clips), sum(statistic_sizes(clips.rows.shape[1]))), np.nan)
            for c in np.flatnonzero(clips.whole):
                out[c] = clip_statistics(clips.rows[clips.starts[c] : clips.starts[c + 1]])
            clips.made["statistics"] = out
        return clips.made["statistics"]

    def aligned(self, clips: ClipVectors) -> NDArray[np.float32]:
        """Return the cached `aligned_rows` of each clip, shape (C, 64, D)."""
        if "aligned" not in clips.made:
            parts = zip(clips.starts[:-1], clips.starts[1:], strict=True)
            rows = [aligned_rows(clips.rows[a:b]) for a, b in parts]
            clips.made["aligned"] = np.array(rows, dtype=np.float32)
        return clips.made["aligned"]

    def spreads(self, clips: ClipVectors) -> NDArray[np.float64]:
        """Return the cached `joint_spreads` of each clip."""
        if "spreads" not in clips.made:
            clips.made["spreads"] = joint_spreads(
                self.aligned(clips)[:, :, : 3 * len(clips.joints)]
            )
        return clips.made["spreads"]

    def _scale(self, clips: ClipVectors) -> float:
        return float(1.0 / np.sqrt(ALIGNED * len(clips.joints)))

    def _distances(self, own: NDArray, clips: ClipVectors) -> NDArray[np.float64]:
        weights = (
            self.covariance_weight,
            self.spectrum_weight,
            self.trend_weight,
            self.length_weight,
            self.turn_weight,
            self.travel_weight,
        )
        return statistic_distances(own, self.statistics(clips), clips.rows.shape[1], weights)
