"""Other libraries as methods: aeon, dtaidistance, tslearn and stumpy.

    pip install aeon dtaidistance tslearn stumpy
    python -m retrieval_bench run exercises methods/rivals.py:aeon_dtw DATA

All compare the poses of `retrieval_bench.poses.pose_rows`. Clips are resampled to 64 frames where a
library requires equal lengths, and to at most 128 otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from baselines import FPS, FRAMES, Array, Manifest, by_matrix, by_segments, valleys
from retrieval_bench.poses import pose_rows, resampled
from retrieval_bench.rankings import MOST_SEGMENTS

BAND = 0.1
_LONGEST = 128  # frames
_HALF_SECOND = 15  # frames
_LENGTHS = (0.8, 1.0, 1.25)  # of windows, relative to the query


def aeon_dtw(manifest: Manifest) -> dict[str, list]:
    """Rank clips by aeon's multivariate DTW with a band of 10 %."""
    from aeon.distances import dtw_pairwise_distance

    return by_matrix(manifest, dtw_pairwise_distance(_series(manifest), window=BAND))


def aeon_msm(manifest: Manifest) -> dict[str, list]:
    """Rank clips by aeon's move-split-merge distance with a band of 10 %."""
    from aeon.distances import msm_pairwise_distance

    return by_matrix(manifest, msm_pairwise_distance(_series(manifest), window=BAND))


def dtai_dtw(manifest: Manifest) -> dict[str, list]:
    """Rank clips by dtaidistance's dependent DTW in C, with a band of 10 %."""
    from dtaidistance import dtw_ndim

    series = np.ascontiguousarray(_series(manifest).transpose(0, 2, 1))
    far = dtw_ndim.distance_matrix_fast(list(series), window=round(BAND * FRAMES))
    return by_matrix(manifest, np.asarray(far))


def tslearn_dtw(manifest: Manifest) -> dict[str, list]:
    """Rank clips by tslearn's DTW of clips of their own length, with a band of 12 frames."""
    from tslearn.metrics import cdist_dtw
    from tslearn.utils import to_time_series_dataset

    clips = to_time_series_dataset(_own_lengths(manifest))
    far = cdist_dtw(clips, global_constraint="sakoe_chiba", sakoe_chiba_radius=12)
    return by_matrix(manifest, far)


def stumpy_mpdist(manifest: Manifest) -> dict[str, list]:
    """Rank clips by stumpy's MPdist of half a second, averaged over the columns."""
    import stumpy

    rng = np.random.default_rng(0)
    clips = [
        (rows if len(rows) >= 2 * _HALF_SECOND else resampled(rows, 2 * _HALF_SECOND))
        + 1e-6 * rng.normal(size=(max(len(rows), 2 * _HALF_SECOND), 15))  # no constant column
        for rows in _own_lengths(manifest)
    ]
    far = np.zeros((len(clips), len(clips)))
    for i, a in enumerate(clips):
        for j, b in enumerate(clips[:i]):
            each = [stumpy.mpdist(a[:, d].copy(), b[:, d].copy(), _HALF_SECOND) for d in range(15)]
            far[i, j] = far[j, i] = np.mean(each)
    return by_matrix(manifest, far)


def stumpy_mass(manifest: Manifest) -> dict[str, list]:
    """Rank windows by stumpy's z-normalized MASS, added over the columns."""
    import stumpy

    def windows(query: Mapping[str, Any], read) -> list[tuple]:
        asked = _asked(query, read)
        out: list[tuple] = []
        for file in query["searched"]:
            rows = read(file)
            if len(rows) >= len(asked):
                each = [
                    stumpy.mass(asked[:, d].copy(), rows[:, d].copy()) ** 2
                    for d in range(asked.shape[1])
                    if asked[:, d].std() > 1e-6
                ]
                far = np.where(np.isfinite(each), each, 2.0 * len(asked)).sum(axis=0)
                out += valleys(file, far, len(asked))
        return out

    return by_segments(manifest, windows)


def dtai_subsequences(manifest: Manifest) -> dict[str, list]:
    """Rank segments by dtaidistance's subsequence alignment: ends of any length."""
    from dtaidistance.subsequence.dtw import subsequence_alignment

    def windows(query: Mapping[str, Any], read) -> list[tuple]:
        asked = _asked(query, read)
        out: list[tuple] = []
        for file in query["searched"]:
            alignment = subsequence_alignment(asked, read(file), use_c=True)
            matches = alignment.kbest_matches(k=200, minlength=max(2, len(asked) // 2), overlap=0)
            for match in matches:
                start, end = match.segment
                if end > start:
                    out.append((file, start / FPS, (end + 1) / FPS, float(match.distance)))
        return out

    return by_segments(manifest, windows)


def aeon_windows(manifest: Manifest) -> dict[str, list]:
    """Rank windows of three lengths by aeon's DTW with a band of 10 %."""
    from aeon.distances import dtw_pairwise_distance

    def windows(query: Mapping[str, Any], read) -> list[tuple]:
        asked = _asked(query, read)
        wanted = resampled(asked, FRAMES // 2).T
        out: list[tuple] = []
        for file in query["searched"]:
            rows = read(file)
            for share in _LENGTHS:
                length = max(4, round(share * len(asked)))
                step = max(1, length // 16)
                starts = np.arange(0, len(rows) - length + 1, step)
                if len(starts):
                    parts = np.array([resampled(rows[a : a + length], FRAMES // 2).T
                                      for a in starts])  # fmt: skip
                    far = dtw_pairwise_distance(wanted[None], parts, window=BAND)[0]
                    out += [
                        (file, a / FPS, (a + length) / FPS, float(d))
                        for a, d in zip(starts.tolist(), far, strict=True)
                    ]
        return _apart(out)

    return by_segments(manifest, windows)


def _apart(segments: list[tuple]) -> list[tuple]:
    """Return segments that overlap no nearer one by more than half of their length."""
    kept: list[tuple] = []
    places: dict[str, list[tuple[float, float]]] = {}  # of kept segments, by file
    for each in sorted(segments, key=lambda segment: segment[3]):
        file, start, end = each[:3]
        others = np.array(places.get(file, ())).reshape(-1, 2)
        shared = np.minimum(others[:, 1], end) - np.maximum(others[:, 0], start)
        if (shared < 0.5 * (end - start)).all():
            kept.append(each)
            places.setdefault(file, []).append((start, end))
        if len(kept) == MOST_SEGMENTS:  # more do not count
            break
    return kept


def _asked(query: Mapping[str, Any], read) -> Array:
    asked: Array = read(query["file"])[query["start_frame"] : query["end_frame"]]
    return asked


def _series(manifest: Manifest) -> Array:
    rows = [resampled(pose_rows(manifest["folder"], clip), FRAMES).T for clip in manifest["clips"]]
    return np.ascontiguousarray(rows)


def _own_lengths(manifest: Manifest) -> list[Array]:
    """Return clips at 30 frames per second, at most `_LONGEST` frames long."""
    out = []
    for clip in manifest["clips"]:
        rows = pose_rows(manifest["folder"], clip)
        out.append(resampled(rows, min(_LONGEST, max(2, round(len(rows) * FPS / clip["fps"])))))
    return out
