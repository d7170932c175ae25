"""Search methods. Each one is a settings class that also implements the search.

Modules in this folder must be fast to import, because the command line builds its options from
them.
"""

from motionloom.search.methods.method import METHODS, Method, register_method
from motionloom.search.methods.segments import (
    Dtw,
    FeatureChoice,
    FeatureOptions,
    LazyGraph,
    MatchWeb,
    NeighborOptions,
    PoseOptions,
    SegmentOptions,
    WebOptions,
)

from motionloom.search.methods.clips import (  # isort: skip  # the order of the table
    AngleDtw,
    ClipDtw,
    ClipMethod,
    ClipStatistics,
    Emd,
    JointRelativeDtw,
    PointCloudDtw,
    PoseDtw,
    UniformScaling,
    clip_methods,
)

__all__ = [
    "METHODS",
    "AngleDtw",
    "ClipDtw",
    "ClipMethod",
    "ClipStatistics",
    "Dtw",
    "Emd",
    "FeatureChoice",
    "FeatureOptions",
    "JointRelativeDtw",
    "LazyGraph",
    "MatchWeb",
    "Method",
    "NeighborOptions",
    "PointCloudDtw",
    "PoseDtw",
    "PoseOptions",
    "SegmentOptions",
    "UniformScaling",
    "WebOptions",
    "clip_methods",
    "register_method",
]
