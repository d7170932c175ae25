"""Frame comparison: feature sets, frame distances, distance matrices and library features.

A *feature set* turns a frame into a feature vector. Feature vectors are compared with the Euclidean
distance, and searches and indexes are built on them. A *frame distance* computes the distances
between the frames of two motions. Every feature set is also a frame distance.
"""

from typing import TYPE_CHECKING

from motionloom.lazy_names import imported_on_use

if TYPE_CHECKING:
    from motionloom.features.feature_sets import FEATURES as FEATURES
    from motionloom.features.feature_sets import FeatureSet as FeatureSet
    from motionloom.features.feature_sets import feature_set as feature_set
    from motionloom.features.feature_sets import frame_features as frame_features
    from motionloom.features.feature_sets import register_features as register_features
    from motionloom.features.feature_table import LibraryFeatures as LibraryFeatures
    from motionloom.features.feature_table import library_features as library_features
    from motionloom.features.frame_distances import DISTANCES as DISTANCES
    from motionloom.features.frame_distances import FrameDistance as FrameDistance
    from motionloom.features.frame_distances import distance_matrix as distance_matrix
    from motionloom.features.frame_distances import frame_distance as frame_distance
    from motionloom.features.frame_distances import register_distance as register_distance
    from motionloom.features.point_cloud import PointCloud as PointCloud
    from motionloom.features.point_cloud import point_cloud_distances as point_cloud_distances
    from motionloom.features.principal_components import Basis as Basis

__getattr__, __dir__ = imported_on_use(__name__)
