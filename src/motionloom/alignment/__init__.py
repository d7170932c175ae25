"""Time alignments on a grid of frame distances: dynamic time warping and its paths."""

from motionloom.alignment.dtw import STEPS, Alignment, subsequence_alignment, warp

__all__ = ["STEPS", "Alignment", "subsequence_alignment", "warp"]
