"""Settings classes of the verbs of `Library`, for commands, forms and requests."""

from motionloom.crowd.settings import (
    DEFAULT_TEMPO,
    BallroomSettings,
    DanceFloorSettings,
    MarchSettings,
)
from motionloom.dance.settings import (
    RHYTHMIC,
    TUNE,
    BeatSettings,
    ChoreographySettings,
    DanceSettings,
)
from motionloom.fat_graph.settings import FatGraphSettings
from motionloom.motion_graph.settings import GraphSettings, WalkSettings
from motionloom.motion_matching.settings import MatchingSettings, MatchingWalkSettings
from motionloom.parametric.settings import ParametrizeSettings, SynthesisSettings
from motionloom.reconstruction.settings import ReconstructSettings
from motionloom.search.methods import METHODS as SEARCH_METHODS
from motionloom.search.methods import Dtw, LazyGraph, MatchWeb
from motionloom.search.methods.segments import LAZY_K
from motionloom.search.settings import (
    FAMILY_DISTANCE,
    JOIN_DISTANCE,
    FamilySettings,
    SearchSettings,
    WebSettings,
)
from motionloom.store.settings import ImportSettings
from motionloom.text.settings import ClusterSettings, FindSettings

__all__ = [
    "BallroomSettings",
    "BeatSettings",
    "ChoreographySettings",
    "ClusterSettings",
    "DEFAULT_TEMPO",
    "DanceFloorSettings",
    "DanceSettings",
    "Dtw",
    "FAMILY_DISTANCE",
    "FamilySettings",
    "FatGraphSettings",
    "FindSettings",
    "GraphSettings",
    "ImportSettings",
    "JOIN_DISTANCE",
    "LAZY_K",
    "LazyGraph",
    "MarchSettings",
    "MatchWeb",
    "MatchingSettings",
    "MatchingWalkSettings",
    "ParametrizeSettings",
    "RHYTHMIC",
    "ReconstructSettings",
    "SEARCH_METHODS",
    "SearchSettings",
    "SynthesisSettings",
    "TUNE",
    "WalkSettings",
    "WebSettings",
]
