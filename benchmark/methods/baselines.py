"""Plain baselines in NumPy, and the shortest examples of methods.

python -m retrieval_bench run exercises methods/baselines.py:mean_pose DATA
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from retrieval_bench.poses import joints, pose_rows, resampled

Array = NDArray[np.float64]
Manifest = Mapping[str, Any]
FRAMES = 64  # of a resampled clip


def chance(manifest: Manifest) -> dict[str, list]:
    """Rank items in a random order; for segments, random windows of the query's length."""
    rng = np.random.default_rng(0)
    names = [clip["name"] for clip in manifest["clips"]]
    if manifest["track"] != "segments":
        queries = [each["name"] for each in manifest["queries"]]
        return {query: [names[k] for k in rng.permutation(len(names))] for query in queries}

    def windows(query: Mapping[str, Any], read: Callable[[str], Array]) -> list[tuple]:
        out = []
        for file in query["searched"]:
            count, length = len(read(file)), query["end_frame"] - query["start_frame"]
            starts = np.arange(0, max(1, count - length), max(1, length // 2))
            out += [(file, a / FPS, (a + length) / FPS, rng.random()) for a in starts]
        return out

    return by_segments(manifest, windows)


def duration(manifest: Manifest) -> dict[str, list]:
    """Rank clips by the difference of their durations."""
    return by_vectors(manifest, lambda clip, rows: np.array([np.log(clip["frames"] / clip["fps"])]))


def mean_pose(manifest: Manifest) -> dict[str, list]:
    """Rank clips by the mean and the standard deviation of their poses."""
    return by_vectors(
        manifest, lambda clip, rows: np.concatenate([rows.mean(axis=0), rows.std(axis=0)])
    )


def euclidean(manifest: Manifest) -> dict[str, list]:
    """Rank clips by the distance of their poses, resampled to 64 frames."""
    return by_vectors(manifest, lambda clip, rows: resampled(rows, FRAMES).ravel())


def sliding(manifest: Manifest) -> dict[str, list]:
    """Rank windows of the query's length by the distance of their poses."""

    def windows(query: Mapping[str, Any], read: Callable[[str], Array]) -> list[tuple]:
        asked = read(query["file"])[query["start_frame"] : query["end_frame"]]
        out: list[tuple] = []
        for file in query["searched"]:
            rows = read(file)
            if len(rows) >= len(asked):
                spans = np.lib.stride_tricks.sliding_window_view(rows, len(asked), axis=0)
                far = np.array([((span.T - asked) ** 2).mean() for span in spans])
                out += valleys(file, far, len(asked))
        return out

    return by_segments(manifest, windows)


FPS = 30.0  # of all files with marked segments


def by_vectors(
    manifest: Manifest, vector: Callable[[Mapping[str, Any], Array], Array]
) -> dict[str, list]:
    """Rank clips by the Euclidean distance of one vector per clip."""
    vectors = np.array([
        vector(clip, pose_rows(manifest["folder"], clip)) for clip in manifest["clips"]
    ])  # fmt: skip
    return by_matrix(manifest, np.linalg.norm(vectors[:, None] - vectors[None], axis=2))


def by_matrix(manifest: Manifest, distances: Array) -> dict[str, list]:
    """Rank clips by a matrix of distances, in the order of the manifest."""
    names = [clip["name"] for clip in manifest["clips"]]
    return {
        name: [(other, row[k]) for k, other in enumerate(names) if k != q]
        for q, (name, row) in enumerate(zip(names, distances, strict=True))
    }


def by_segments(
    manifest: Manifest,
    search: Callable[[Mapping[str, Any], Callable[[str], Array]], list[tuple]],
) -> dict[str, list]:
    """Rank segments by a function of a query and of a reader of poses by file."""
    kept: dict[str, Array] = {}

    def read(file: str) -> Array:
        if file not in kept:
            kept[file] = pose_rows(manifest["folder"], {"file": file})
        return kept[file]

    out = {}
    for query in manifest["queries"]:
        segments = sorted(search(query, read), key=lambda segment: segment[3])
        out[query["name"]] = segments[:1000]
    return out


def valleys(file: str, far: Array, length: int) -> list[tuple]:
    """Return (file, start, end, far) of windows that overlap no nearer one by half."""
    out, free = [], np.ones(len(far), bool)
    for start in np.argsort(far, kind="stable"):
        if free[start]:
            free[max(0, start - length // 2) : start + length // 2 + 1] = False
            out.append((file, start / FPS, (start + length) / FPS, float(far[start])))
    return out


__all__ = ["chance", "duration", "euclidean", "joints", "mean_pose", "sliding"]
