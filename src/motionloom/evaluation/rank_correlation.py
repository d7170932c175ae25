"""Rank correlations between feature sets and frame distances.

See Krüger et al. (2010), figure 2. Two measures agree if they order neighbors in the same way, so
agreement is measured with Spearman's rank correlation. Only near neighbors count, because the
ranking of distant frames does not matter to a search.

For *poses*, one measure finds the nearest neighbors of many random frames. Their distances by that
measure are then correlated with their distances by another measure. For *segments*, the same is
done with the few nearest clips of each clip, compared by dynamic time warping.

The matrices are not symmetric, because the result depends on the measure that selects the
neighbors.

References
----------
.. [1] B. Krüger, J. Tautges, A. Weber, A. Zinke. Fast local and global similarity searches
   in large motion capture databases. SCA 2010, section 3.3.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from motionloom.alignment import warp
from motionloom.errors import InvalidInput, RoleError
from motionloom.evaluation.settings import SHORTEST_SECONDS, StudySettings
from motionloom.features import (
    DISTANCES,
    FEATURES,
    FeatureSet,
    FrameDistance,
    feature_set,
    frame_distance,
)
from motionloom.features.feature_table import principal_components
from motionloom.files import atomic_write
from motionloom.motion import Motion, Segment
from motionloom.parallel import Progress
from motionloom.ragged import offsets_of
from motionloom.store.store import Store

Array = NDArray[np.float64]

RATE = 30.0
_MARGIN_SECONDS = 0.5  # of motion around a clip, for measures that use windows
_BLOCK = 128  # query frames at a time
_FEWEST_CLIPS = 4


@dataclass(frozen=True, eq=False)
class Study:
    """Rank correlations between measures.

    Attributes
    ----------
    measures : tuple of str, length K
    poses, segments : ndarray, shape (K, K)
        Mean correlation, from -1 to 1, between the row's measure and the column's measure, over the
        nearest neighbors according to the row's measure.
    clips : tuple of Segment
        The compared clips.
    frames : int
        Total number of frames in all clips.
    queries, neighbors, ranked : int
        Number of query frames, of nearest frames per query, and of nearest clips per clip.
    seed : int
    """

    measures: tuple[str, ...]
    poses: Array
    segments: Array
    clips: tuple[Segment, ...]
    frames: int
    queries: int
    neighbors: int
    ranked: int
    seed: int

    def save_csv(self, path: str | Path) -> Path:
        """Write one line per pair: poses or segments, measure, other measure, correlation."""
        with atomic_write(path) as scratch, open(scratch, "w", newline="", encoding="utf-8") as out:
            table = csv.writer(out)
            table.writerow(["compared", "neighbors_by", "ranked_by", "spearman"])
            for kind, values in (("poses", self.poses), ("segments", self.segments)):
                for i, first in enumerate(self.measures):
                    for j, second in enumerate(self.measures):
                        table.writerow([kind, first, second, f"{values[i, j]:.4f}"])
        return Path(path)


def rank_correlations(
    library: Store, settings: StudySettings, *, progress: Progress | None = None
) -> Study:
    """Compute rank correlations between feature sets and frame distances; see `Library.study`."""
    step = progress if progress is not None else lambda count: None
    rng = np.random.default_rng(settings.seed)
    chosen = _measures(library, _names(settings))
    segments, rows = prepared_segments(library, chosen, settings.clips, settings.seconds, rng)
    step(1)
    lengths = np.array([len(clip) for clip in rows[0]])
    tables = [np.concatenate(clip_rows) for clip_rows in rows]
    frames = int(lengths.sum())
    queries = np.sort(rng.choice(frames, size=min(settings.queries, frames), replace=False))
    neighbors = min(settings.neighbors, frames - 1)
    poses = pose_correlations(chosen, tables, queries, neighbors)
    step(len(chosen))
    warped = []
    for measure, table in zip(chosen, tables, strict=True):
        warped.append(warped_distances(measure, table, lengths))
        step(1)
    ranked = min(settings.ranked, len(segments) - 1)
    return Study(
        measures=tuple(measure.name for measure in chosen),
        poses=poses,
        segments=_correlations(warped, ranked),
        clips=tuple(segments),
        frames=frames,
        queries=len(queries),
        neighbors=neighbors,
        ranked=ranked,
        seed=settings.seed,
    )


def step_count(settings: StudySettings) -> int:
    """Return the number of steps that `rank_correlations` reports to `progress`."""
    return 2 * len(_names(settings)) + 1


def _names(settings: StudySettings) -> Sequence[str | FrameDistance]:
    return (*FEATURES, *DISTANCES) if settings.measures is None else settings.measures


# --- clips ------------------------------------------------------------------------------------


def _measures(library: Store, wanted: Sequence[str | FrameDistance]) -> list[FrameDistance]:
    measures: list[FrameDistance] = []
    for name in wanted:
        measure = frame_distance(name)
        if isinstance(measure, FeatureSet) and measure.components and measure.basis is None:
            measure = feature_set(measure, basis=principal_components(library, measure))
        measures.append(measure)
    if len(measures) < 2:
        raise InvalidInput(f"a comparison requires at least two measures; got {len(measures)}")
    return measures


def prepared_segments(
    library: Store, measures: Sequence[FrameDistance], clips: int, seconds: float, rng
) -> tuple[list[Segment], list[list[NDArray]]]:
    """Draw random segments, and prepare the frames of each segment for each measure."""
    everything = _segments(library, seconds)
    drawn: list[Segment] = []
    rows: list[list[NDArray]] = [[] for _ in measures]
    for k in rng.permutation(len(everything)):
        if len(drawn) == clips:
            break
        try:
            prepared = segment_features(library[everything[k].motion], everything[k], measures)
        except RoleError:
            continue  # the skeleton lacks these joints
        if not all(np.isfinite(frames).all() for frames in prepared):
            continue
        drawn.append(everything[k])
        for collected, frames in zip(rows, prepared, strict=True):
            collected.append(frames)
    if len(drawn) < _FEWEST_CLIPS:
        raise InvalidInput(
            f"{library.path}: a comparison requires at least {_FEWEST_CLIPS} clips of {seconds:g} "
            f"s; got {len(drawn)}"
        )
    return drawn, rows


def _segments(library: Store, seconds: float) -> list[Segment]:
    """Cut all motions into equal segments of about `seconds`, ordered by name."""
    segments = []
    for entry in library.entries():
        if entry.seconds < SHORTEST_SECONDS:
            continue
        parts = max(1, round(entry.seconds / seconds))
        edges = np.linspace(0, entry.frames, parts + 1).round().astype(int)
        segments += [
            Segment(entry.name, int(a), int(b)) for a, b in zip(edges, edges[1:], strict=False)
        ]
    return segments


def segment_features(
    motion: Motion, segment: Segment, measures: Sequence[FrameDistance]
) -> list[NDArray]:
    """Prepare the frames of a segment for each measure, at the common rate."""
    margin = round(_MARGIN_SECONDS * motion.fps)
    start = max(0, segment.start_frame - margin)
    part = motion[start : segment.end_frame + margin].resample(RATE)
    first = round((segment.start_frame - start) * RATE / motion.fps)
    count = max(1, round((segment.end_frame - segment.start_frame) * RATE / motion.fps))
    return [measure.prepare(part)[first : first + count] for measure in measures]


# --- correlations ---------------------------------------------------------------------------


def pose_correlations(
    measures: Sequence[FrameDistance], tables: Sequence[NDArray], queries: NDArray, neighbors: int
) -> Array:
    """Return rank correlations (K, K), comparing query frames with all other frames."""
    total = np.zeros((len(measures), len(measures)))
    for start in range(0, len(queries), _BLOCK):
        block = queries[start : start + _BLOCK]
        matrices = [
            _without_self(measure.matrix(table[block], table), block)
            for measure, table in zip(measures, tables, strict=True)
        ]
        total += len(block) * mean_correlations(matrices, neighbors)
    return total / len(queries)


def _without_self(matrix: Array, frames: NDArray) -> Array:
    matrix[np.arange(len(frames)), frames] = np.inf
    return matrix


def _correlations(distances: Sequence[Array], few: int) -> Array:
    """Return the correlations between square distance matrices over the `few` nearest items."""
    everyone = np.arange(len(distances[0]))
    return mean_correlations([_without_self(d.copy(), everyone) for d in distances], few)


def mean_correlations(matrices: Sequence[Array], neighbors: int) -> Array:
    """Return Spearman correlations over the nearest items of each row, averaged over the rows.

    Entry (a, b) correlates distances by a with distances by b, for the nearest items by a.
    """
    out = np.empty((len(matrices), len(matrices)))
    for a, by in enumerate(matrices):
        near = np.argpartition(by, neighbors - 1, axis=1)[:, :neighbors]
        ranks = [_centered_ranks(np.take_along_axis(matrix, near, axis=1)) for matrix in matrices]
        for b in range(len(matrices)):
            out[a, b] = np.mean(np.sum(ranks[a] * ranks[b], axis=1))
    return out


def _centered_ranks(values: Array) -> Array:
    """Return ranks within rows (M, K), scaled so that dot products are Spearman correlations."""
    from scipy.stats import rankdata

    ranks = rankdata(values, axis=1)
    ranks -= ranks.mean(axis=1, keepdims=True)
    length = np.linalg.norm(ranks, axis=1, keepdims=True)
    return ranks / np.where(
        length > 0.0, length, 1.0
    )  # if all are equal, there is no order and no correlation


def warped_distances(measure: FrameDistance, table: NDArray, lengths: NDArray) -> Array:
    """Return the DTW costs between all pairs of clips that `table` concatenates."""
    offsets = offsets_of(lengths)
    count = len(lengths)
    out = np.zeros((count, count))
    for i in range(count - 1):
        clip = table[offsets[i] : offsets[i + 1]]
        matrix = measure.matrix(clip, table[offsets[i + 1] :])
        for j in range(i + 1, count):
            columns = slice(offsets[j] - offsets[i + 1], offsets[j + 1] - offsets[i + 1])
            out[i, j] = out[j, i] = warp(matrix[:, columns]).cost
    return out
