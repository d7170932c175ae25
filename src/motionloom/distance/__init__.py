"""How far apart two frames are: feature sets, frame distances, and features of a library.

A *feature set* makes a frame a row of numbers; its distance is Euclidean, and what searches
and indexes work on. A *frame distance* is anything that can tell how far the frames of two
motions are apart. Every feature set is one.
"""

from motionloom.distance.features import (
    FEATURES,
    FeatureSet,
    feature_set,
    frame_features,
    register_features,
)
from motionloom.distance.feature_store import LibraryFeatures, library_features
from motionloom.distance.principal import Basis

__all__ = [
    "FEATURES",
    "Basis",
    "FeatureSet",
    "LibraryFeatures",
    "feature_set",
    "frame_features",
    "library_features",
    "register_features",
]
