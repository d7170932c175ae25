"""Settings classes of the verbs of `Library`, for forms and requests."""

from motionloom.crowd.settings import (
    DEFAULT_TEMPO,
    BallroomSettings,
    DanceFloorSettings,
    MarchSettings,
)
from motionloom.motion_graph.settings import GraphSettings, WalkSettings
from motionloom.parametric.settings import ParametrizeSettings, SynthesisSettings
from motionloom.rhythm.settings import BeatSettings, ChoreographySettings, DanceSettings
from motionloom.search.settings import (
    LAZY_K,
    Dtw,
    FamilySettings,
    LazyGraph,
    MatchWeb,
    SearchSettings,
)
from motionloom.search.settings import METHODS as SEARCH_METHODS

__all__ = [
    "DEFAULT_TEMPO",
    "LAZY_K",
    "SEARCH_METHODS",
    "BallroomSettings",
    "BeatSettings",
    "ChoreographySettings",
    "DanceFloorSettings",
    "DanceSettings",
    "Dtw",
    "FamilySettings",
    "GraphSettings",
    "LazyGraph",
    "MarchSettings",
    "MatchWeb",
    "ParametrizeSettings",
    "SearchSettings",
    "SynthesisSettings",
    "WalkSettings",
]
