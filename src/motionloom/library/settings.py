"""Settings classes of the verbs of `Library`, for commands, forms and requests."""

from motionloom.blending.settings import BlendSettings
from motionloom.crowd.settings import (
    DEFAULT_TEMPO,
    Ballfloor,
    BallroomSettings,
    CrowdMovements,
    DanceFloorSettings,
    Formation,
    MarchSettings,
)
from motionloom.dance.settings import (
    RHYTHMIC,
    TUNE,
    BeatSettings,
    ChoreographySettings,
    DanceSettings,
    GroupingSettings,
    LikelihoodSettings,
    MovementSettings,
)
from motionloom.evaluation.settings import EvaluateSettings, StudySettings
from motionloom.fat_graph.settings import FatGraphSettings
from motionloom.motion_graph.settings import (
    GraphSettings,
    Minima,
    Sectors,
    TransitionRules,
    WalkSettings,
)
from motionloom.motion_matching.settings import (
    MatchingSettings,
    MatchingWalkSettings,
    MatchingWeights,
)
from motionloom.parametric.settings import ParametrizeSettings, SynthesisSettings
from motionloom.reconstruction.settings import ReconstructSettings
from motionloom.search.methods import (
    METHODS,
    AngleDtw,
    ClipDtw,
    ClipMethod,
    ClipStatistics,
    Dtw,
    Emd,
    JointRelativeDtw,
    LazyGraph,
    MatchWeb,
    Method,
    PointCloudDtw,
    PoseDtw,
    UniformScaling,
    WebOptions,
    register_method,
)
from motionloom.search.methods.segments import LAZY_K
from motionloom.search.settings import (
    FAMILY_DISTANCE,
    Expansion,
    FamilySettings,
    Feedback,
    NeighbourSettings,
    SearchSettings,
    WebSettings,
)
from motionloom.store.settings import ImportSettings
from motionloom.text.settings import ClusterSettings, FindSettings

__all__ = [
    "BlendSettings",
    "DEFAULT_TEMPO",
    "BallroomSettings",
    "Ballfloor",
    "CrowdMovements",
    "DanceFloorSettings",
    "Formation",
    "MarchSettings",
    "RHYTHMIC",
    "TUNE",
    "BeatSettings",
    "ChoreographySettings",
    "DanceSettings",
    "GroupingSettings",
    "LikelihoodSettings",
    "MovementSettings",
    "EvaluateSettings",
    "StudySettings",
    "FatGraphSettings",
    "GraphSettings",
    "Minima",
    "Sectors",
    "TransitionRules",
    "WalkSettings",
    "MatchingSettings",
    "MatchingWalkSettings",
    "MatchingWeights",
    "ParametrizeSettings",
    "SynthesisSettings",
    "ReconstructSettings",
    "METHODS",
    "AngleDtw",
    "ClipDtw",
    "ClipMethod",
    "ClipStatistics",
    "Dtw",
    "Emd",
    "JointRelativeDtw",
    "LazyGraph",
    "MatchWeb",
    "Method",
    "PointCloudDtw",
    "PoseDtw",
    "UniformScaling",
    "WebOptions",
    "register_method",
    "LAZY_K",
    "FAMILY_DISTANCE",
    "Expansion",
    "FamilySettings",
    "Feedback",
    "NeighbourSettings",
    "SearchSettings",
    "WebSettings",
    "ImportSettings",
    "ClusterSettings",
    "FindSettings",
]
