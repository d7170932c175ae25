"""Rankings of whole clips by other libraries, for ``motionloom evaluate --outside``.

    motionloom evaluate --sets exercises,sword-shield --data DATA --outside \\
        benchmarks.rivals.clip_rankings:aeon_dtw,benchmarks.rivals.clip_rankings:stumpy_mpdist

Both libraries compare arrays. They receive the poses that ``dtw-e15`` compares: wrists, ankles and
head in the body frame. ``python -m benchmarks clips --install-rivals`` installs aeon.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.rivals import Package, open_cache
from motionloom.formats import load
from motionloom.search.clips.vectors import RATE, even_rows, pose_rows

_FRAMES = 64
_WINDOW = 15  # rows of a subsequence, half a second
_BAND = 0.1
_PACKAGES = [
    Package(name, name)
    for name in (
        "aeon", "stumpy", "scikit-learn", "joblib", "cloudpickle", "narwhals", "pandas",
        "deprecated", "wrapt",
    )
]  # fmt: skip


def aeon_dtw(manifest: Mapping[str, Any]) -> dict[str, list[str]]:
    """Rank clips by aeon's multivariate DTW with a 10 % band, of 64 frames."""
    open_cache(_PACKAGES)
    pairwise = import_module("aeon.distances").dtw_pairwise_distance
    series = np.array([even_rows(rows, _FRAMES).T for rows in _poses(manifest)])
    return _ranking(manifest, pairwise(np.ascontiguousarray(series), window=_BAND))


def aeon_msm(manifest: Mapping[str, Any]) -> dict[str, list[str]]:
    """Rank clips by aeon's move-split-merge distance of 64 frames."""
    open_cache(_PACKAGES)
    pairwise = import_module("aeon.distances").msm_pairwise_distance
    series = np.array([even_rows(rows, _FRAMES).T for rows in _poses(manifest)])
    return _ranking(manifest, pairwise(np.ascontiguousarray(series), window=_BAND))


def stumpy_mpdist(manifest: Mapping[str, Any]) -> dict[str, list[str]]:
    """Rank clips by stumpy's MPdist of half-second subsequences, averaged over the columns."""
    open_cache(_PACKAGES)
    mpdist: Callable = import_module("stumpy").mpdist
    rng = np.random.default_rng(0)
    clips = []
    for rows in _poses(manifest):
        if len(rows) < 2 * _WINDOW:  # too short for MPdist
            rows = even_rows(rows, 2 * _WINDOW)
        clips.append(rows + 1e-6 * rng.normal(size=rows.shape))  # a constant has no z-score
    far = np.zeros((len(clips), len(clips)))
    for i, a in enumerate(clips):
        for j, b in enumerate(clips[:i]):
            each = [mpdist(a[:, d].copy(), b[:, d].copy(), _WINDOW) for d in range(a.shape[1])]
            far[i, j] = far[j, i] = float(np.mean(each))
    return _ranking(manifest, far)


def _poses(manifest: Mapping[str, Any]) -> list[NDArray[np.float64]]:
    folder = Path(manifest["folder"])
    clips = (load(folder / clip["file"]).resample(RATE) for clip in manifest["clips"])
    return [np.nan_to_num(pose_rows(clip, scale_free=True)) for clip in clips]


def _ranking(manifest: Mapping[str, Any], distances: NDArray) -> dict[str, list[str]]:
    names: Sequence[str] = [clip["name"] for clip in manifest["clips"]]
    return {
        name: [names[c] for c in np.argsort(row, kind="stable") if c != q]
        for q, (name, row) in enumerate(zip(names, distances, strict=True))
    }
