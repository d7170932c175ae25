"""Distances of frames: feature sets, frame distances, distance matrices, library features.

A *feature set* turns a frame into a feature vector; its distance is Euclidean, and searches and
indexes work on it. A *frame distance* computes the distances between the frames of two motions.
Every feature set is a frame distance.
"""

from motionloom.features.feature_sets import (
    FEATURES,
    FeatureSet,
    feature_set,
    frame_features,
    register_features,
)
from motionloom.features.feature_table import (
    LibraryFeatures,
    library_features,
    principal_components,
)
from motionloom.features.frame_distances import (
    DISTANCES,
    FrameDistance,
    distance_matrix,
    frame_distance,
    register_distance,
)
from motionloom.features.point_cloud import PointCloud, point_cloud_distances
from motionloom.features.principal_components import Basis

__all__ = [
    "DISTANCES",
    "FEATURES",
    "Basis",
    "FeatureSet",
    "FrameDistance",
    "LibraryFeatures",
    "PointCloud",
    "distance_matrix",
    "feature_set",
    "frame_distance",
    "frame_features",
    "library_features",
    "point_cloud_distances",
    "principal_components",
    "register_distance",
    "register_features",
]
