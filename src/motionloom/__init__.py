"""Find, cut, blend and recombine motion capture, and set it to music.

>>> import motionloom as ml
>>> m = ml.demo.clip("walk")
>>> m.fps
30.0
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from motionloom.lazy_names import imported_on_use

__version__ = "0.3.0"

if TYPE_CHECKING:
    from motionloom import demo as demo
    from motionloom.blending import blend as blend
    from motionloom.dance.motion_beats.beats import beats as beats
    from motionloom.errors import InvalidInput as InvalidInput
    from motionloom.errors import LibraryError as LibraryError
    from motionloom.errors import MotionFormatError as MotionFormatError
    from motionloom.errors import MotionloomError as MotionloomError
    from motionloom.errors import RoleError as RoleError
    from motionloom.evaluation.check_method import check_method as check_method
    from motionloom.formats import load as load
    from motionloom.formats import load_markers as load_markers
    from motionloom.formats import save as save
    from motionloom.formats.settings import FormatOptions as FormatOptions
    from motionloom.formats.settings import GameSettings as GameSettings
    from motionloom.library import Library as Library
    from motionloom.library.settings import AngleDtw as AngleDtw
    from motionloom.library.settings import Ballfloor as Ballfloor
    from motionloom.library.settings import BallroomSettings as BallroomSettings
    from motionloom.library.settings import BeatCleaning as BeatCleaning
    from motionloom.library.settings import BeatSettings as BeatSettings
    from motionloom.library.settings import BlendRules as BlendRules
    from motionloom.library.settings import BlendSettings as BlendSettings
    from motionloom.library.settings import ChoreographySettings as ChoreographySettings
    from motionloom.library.settings import ClipDtw as ClipDtw
    from motionloom.library.settings import ClipMethod as ClipMethod
    from motionloom.library.settings import ClipStatistics as ClipStatistics
    from motionloom.library.settings import ClockSettings as ClockSettings
    from motionloom.library.settings import ClusterSettings as ClusterSettings
    from motionloom.library.settings import CrowdMovements as CrowdMovements
    from motionloom.library.settings import DanceFloorSettings as DanceFloorSettings
    from motionloom.library.settings import DanceSettings as DanceSettings
    from motionloom.library.settings import Dtw as Dtw
    from motionloom.library.settings import Emd as Emd
    from motionloom.library.settings import EvaluateSettings as EvaluateSettings
    from motionloom.library.settings import ExampleRules as ExampleRules
    from motionloom.library.settings import Expansion as Expansion
    from motionloom.library.settings import FamilySettings as FamilySettings
    from motionloom.library.settings import FatGraphSettings as FatGraphSettings
    from motionloom.library.settings import Feedback as Feedback
    from motionloom.library.settings import FindSettings as FindSettings
    from motionloom.library.settings import Formation as Formation
    from motionloom.library.settings import GraphSettings as GraphSettings
    from motionloom.library.settings import GroupingSettings as GroupingSettings
    from motionloom.library.settings import ImportSettings as ImportSettings
    from motionloom.library.settings import JointRelativeDtw as JointRelativeDtw
    from motionloom.library.settings import LazyGraph as LazyGraph
    from motionloom.library.settings import LikelihoodSettings as LikelihoodSettings
    from motionloom.library.settings import MarchSettings as MarchSettings
    from motionloom.library.settings import MatchingSettings as MatchingSettings
    from motionloom.library.settings import MatchingWalkSettings as MatchingWalkSettings
    from motionloom.library.settings import MatchingWeights as MatchingWeights
    from motionloom.library.settings import MatchWeb as MatchWeb
    from motionloom.library.settings import Method as Method
    from motionloom.library.settings import Minima as Minima
    from motionloom.library.settings import MovementSettings as MovementSettings
    from motionloom.library.settings import NeighborSettings as NeighborSettings
    from motionloom.library.settings import ParametrizeSettings as ParametrizeSettings
    from motionloom.library.settings import PathSettings as PathSettings
    from motionloom.library.settings import PointCloudDtw as PointCloudDtw
    from motionloom.library.settings import PoseDtw as PoseDtw
    from motionloom.library.settings import PoseOptions as PoseOptions
    from motionloom.library.settings import ReconstructionRules as ReconstructionRules
    from motionloom.library.settings import ReconstructSettings as ReconstructSettings
    from motionloom.library.settings import SearchSettings as SearchSettings
    from motionloom.library.settings import Sectors as Sectors
    from motionloom.library.settings import StudySettings as StudySettings
    from motionloom.library.settings import SynthesisSettings as SynthesisSettings
    from motionloom.library.settings import TrainingSet as TrainingSet
    from motionloom.library.settings import TransitionRules as TransitionRules
    from motionloom.library.settings import UniformScaling as UniformScaling
    from motionloom.library.settings import WalkSettings as WalkSettings
    from motionloom.library.settings import WebOptions as WebOptions
    from motionloom.library.settings import WebSettings as WebSettings
    from motionloom.library.settings import register_method as register_method
    from motionloom.motion import Markers as Markers
    from motionloom.motion import Motion as Motion
    from motionloom.motion import Skeleton as Skeleton
    from motionloom.motion import concatenate as concatenate
    from motionloom.motion.retargeting.retarget import retarget as retarget
    from motionloom.motion.scene import Scene as Scene
    from motionloom.motion.segment import Segment as Segment
    from motionloom.parametric import parameters as parameters
    from motionloom.parametric.parameters import at as at
    from motionloom.search import Family as Family
    from motionloom.search import Match as Match
    from motionloom.studio.notebook import view as view

__getattr__, __dir__ = imported_on_use(__name__)
