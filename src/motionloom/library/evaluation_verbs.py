"""Verbs of a library that score: clip measures on labels, rank correlations of distances.

The settings classes in `motionloom.evaluation.settings` hold the defaults, the checks and one
sentence on every argument.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from motionloom.parallel import Progress
from motionloom.store import Store

if TYPE_CHECKING:
    from motionloom.evaluation.clips import Evaluation
    from motionloom.evaluation.rank_correlation import Study
    from motionloom.features import FrameDistance
    from motionloom.settings import Settings


class EvaluationVerbs(Store):
    """Verbs that score."""

    def evaluate(
        self,
        *,
        labels: str | Path | Mapping[str, str] | None = None,
        methods: Sequence[str | Settings] | None = None,
        label_column: str | None = None,
        covariance_weight: float | None = None,
        spectrum_weight: float | None = None,
        trend_weight: float | None = None,
        length_weight: float | None = None,
        turn_weight: float | None = None,
        joint_spread: bool | None = None,
        curve_threshold: float | None = None,
        line_distance: Literal["time", "perpendicular"] | None = None,
        time_weight: float | None = None,
        clip_frames: int | None = None,
        joint_weights: str | Mapping[str, float] | None = None,
        whole_turns: bool | None = None,
        band: float | None = None,
        scale_factor: float | None = None,
        stretch_only: bool | None = None,
        preset: Literal["tz07"] | None = None,
        workers: int | None = None,
        progress: Progress | None = None,
    ) -> Evaluation:
        """Retrieval quality of clip measures on the labelled motions of this library.

        Parameters
        ----------
        labels : path or mapping, optional
            A CSV file with columns ``clip`` and ``label``, or a mapping from name to label.
            Default: the labels of the library.
        methods : sequence of str or Settings, optional
            Names in `motionloom.search.clips.measures.CLIP_MEASURES`, and ``dtw`` for
            ``dtw-angles``; or settings such as ``Emd(time_weight=0.0)``, named as in
            ``emd:time_weight=0.0``. Default: ``statistics``, ``dtw-clip``, ``emd``,
            ``dtw``, ``scaling``, ``dtw-e15``.
        label_column : str, optional
            Column of the CSV file that holds the label. Default ``label``.
        covariance_weight, spectrum_weight, trend_weight, length_weight, turn_weight, joint_spread,
        curve_threshold, line_distance, time_weight, clip_frames, joint_weights, whole_turns, band,
        scale_factor, stretch_only
            As in `search`: each is given to those of the methods that have it.
        preset : {"tz07"}, optional
            Methods and settings of Tam et al. 2007.
        workers : int, optional
            Processes. Default: one per core, fewer for little work.
        progress : callable, optional
            Called with 1 after each method.

        Returns
        -------
        evaluation : Evaluation
            ``methods[name].mean_average_precision`` and so on; ``best``; ``to_json()``.

        Examples
        --------
        >>> report = lib.evaluate(methods=["dtw-e15"])
        >>> sorted(report.methods)
        ['dtw-e15']
        """
        from motionloom.evaluation.clips import evaluate_clips
        from motionloom.evaluation.settings import EvaluateSettings

        chosen = None if methods is None else tuple(methods)
        settings = EvaluateSettings.from_arguments(locals(), methods=chosen)
        return evaluate_clips(self, settings, workers=workers, progress=progress)

    def study(
        self,
        *,
        measures: Sequence[str | FrameDistance] | None = None,
        clips: int = 76,
        seconds: float = 3.0,
        queries: int = 1024,
        neighbours: int = 256,
        ranked: int = 8,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> Study:
        """Rank correlations between feature sets and frame distances on this library.

        Parameters
        ----------
        measures : sequence of str or FrameDistance, optional
            Default: all that are registered.
        clips : int
            Number of clips, drawn at random from all motions cut into pieces.
        seconds : float
            Approximate length of a clip.
        queries : int
            Number of random frames whose neighbours are ranked.
        neighbours, ranked : int
            Number of nearest frames, and of nearest clips, that are ranked.
        seed : int
            Random seed of the draws.
        progress : callable, optional
            Called with the number of steps done, of ``2 * len(measures) + 1`` in all.

        Returns
        -------
        study : Study
            ``measures``, ``poses`` and ``segments`` (K, K), ``save_csv(path)``.

        Examples
        --------
        >>> study = lib.study(measures=["e15", "pc1"], clips=4, seconds=1.0, queries=20)
        >>> study.poses.shape
        (2, 2)
        """
        from motionloom.evaluation.rank_correlation import rank_correlations
        from motionloom.evaluation.settings import StudySettings

        chosen = None if measures is None else tuple(measures)
        settings = StudySettings.from_arguments(locals(), measures=chosen)
        return rank_correlations(self, settings, progress=progress)
