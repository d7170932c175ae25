"""Time alignment: dynamic time warping, valid regions, monotone paths and timewarps."""

from motionloom.alignment.dtw import STEPS, Alignment, corresponding, subsequence_alignment, warp
from motionloom.alignment.timewarp import Timewarp
from motionloom.alignment.valid_region import (
    ALPHA,
    MAX_SLOPE,
    align_in_region,
    clear_alignment,
    matrix_minima,
    valid_region,
)

__all__ = [
    "ALPHA",
    "MAX_SLOPE",
    "STEPS",
    "Alignment",
    "Timewarp",
    "align_in_region",
    "clear_alignment",
    "corresponding",
    "matrix_minima",
    "subsequence_alignment",
    "valid_region",
    "warp",
]
