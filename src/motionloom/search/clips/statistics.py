"""Clip distance based on statistics that are independent of style, speed and repetitions.

A clip is converted to rows at 30 frames per second: wrists, ankles and head in the body frame,
scaled to one body size (`motionloom.features.body_frame`), the velocity of the hips (left, up,
forward), and the turning speed of the body. Five statistics of the rows are compared, each by the
root mean square of its differences. The distance is their weighted sum:

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

None of the weights were fitted to the labels of a library. docs/evidence/evaluation.md explains how
they were chosen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from motionloom.alignment.banded_dtw import BAND, Nearest
from motionloom.motion import Motion, Skeleton
from motionloom.motion.kinematics.body import facing
from motionloom.motion.resampling import resampled_length
from motionloom.search.clips.vectors import (
    LEGS,
    POSE_ROLES,
    RATE,
    ClipVectors,
    banded_path,
    even_rows,
    joint_columns,
    pose_joints,
    pose_rows,
    travel_rows,
)

TRAVEL_SECONDS = 0.2  # meters per (meter per second) of travel or (radian per second) of turning
STILL_METERS = 0.02  # smaller movements count as noise in covariances
QUIET_METERS = 0.01  # smaller movements count as noise in amplitudes
OCTAVES = (0.0, 0.3, 0.6, 1.2, 2.4, 4.8, np.inf)  # Hz
COSINES = 4
TURN_RADIANS = 1.5  # larger turns saturate
_ALIGNED = 64  # number of frames in the returned alignment
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
    return np.concatenate(
        [
            _covariance(rows),
            _spectrum(rows),
            _trend(rows),
            [np.log(len(rows) / RATE), np.tanh(turned / TURN_RADIANS)],
        ]
    )


def statistic_sizes(width: int) -> tuple[int, ...]:
    """Return the number of values in each statistic for rows with `width` columns."""
    return (width + 1) * (width + 2) // 2, (len(OCTAVES) - 1) * width, COSINES * width, 1, 1


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
    even = even_rows(rows, _ALIGNED)
    even -= even.mean(axis=0)
    even /= np.sqrt(np.mean(even**2)) + QUIET_METERS
    at = (np.arange(_ALIGNED) + 0.5) / _ALIGNED
    cosines = np.sqrt(2.0) * np.cos(np.pi * np.arange(1, COSINES + 1)[:, None] * at)
    return (cosines @ even / _ALIGNED).ravel()


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
    """Weighted sum of the differences in the five statistics that this module describes."""

    name: str = "statistics"
    about: str = "covariance, spectrum and trend of poses and travel; length and turn"
    unit: str = "log units"
    covariance_weight: float = 1.0
    spectrum_weight: float = 1.0
    trend_weight: float = 1.0
    length_weight: float = 0.2
    turn_weight: float = 0.1
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
        out = [self._distances(own[c], clips) for c in range(first, last)]
        return np.array(out).reshape(last - first, len(clips))

    def nearest(self, query, clips: ClipVectors, *, k: int, prune: bool = True) -> Nearest:  # noqa: D102
        there = np.flatnonzero(clips.whole)
        gaps = self._distances(clip_statistics(query), clips)[there]
        order = np.lexsort((there, gaps))[:k]
        return Nearest(there[order], gaps[order], len(there))

    def path(self, query, clip) -> NDArray[np.int64]:  # noqa: D102
        poses = slice(0, -_TRAVEL)
        query, clip = np.asarray(query, float), np.asarray(clip, float)
        pairs = banded_path(
            even_rows(query[:, poses], _ALIGNED), even_rows(clip[:, poses], _ALIGNED), BAND
        )
        per_row = (np.array([len(query), len(clip)]) - 1) / (_ALIGNED - 1)
        return np.rint(pairs * per_row).astype(np.int64)

    def statistics(self, clips: ClipVectors) -> NDArray[np.float64]:
        """Return the cached statistics of each clip; NaN for clips with missing values."""
        if "statistics" not in clips.made:
            out = np.full((len(clips), sum(statistic_sizes(clips.rows.shape[1]))), np.nan)
            for c in np.flatnonzero(clips.whole):
                out[c] = clip_statistics(clips.rows[clips.starts[c] : clips.starts[c + 1]])
            clips.made["statistics"] = out
        return clips.made["statistics"]

    def _distances(self, own: NDArray, clips: ClipVectors) -> NDArray[np.float64]:
        weights = (
            self.covariance_weight,
            self.spectrum_weight,
            self.trend_weight,
            self.length_weight,
            self.turn_weight,
        )
        return statistic_distances(own, self.statistics(clips), clips.rows.shape[1], weights)
