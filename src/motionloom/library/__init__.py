"""`Library`, a store of motions with a method for every task, and its result types.

The command line and the studio import only from here and from `motionloom.library.settings`, never
from lower layers.
"""

from typing import TYPE_CHECKING

from motionloom.lazy_names import imported_on_use

if TYPE_CHECKING:
    from motionloom.blending.player import FrameBlock as FrameBlock
    from motionloom.blending.player import Player as Player
    from motionloom.crowd.ballroom import Ballroom as Ballroom
    from motionloom.crowd.crowd_player import CrowdMotion as CrowdMotion
    from motionloom.crowd.march import March as March
    from motionloom.dance.beat_clock import TempoClock as TempoClock
    from motionloom.dance.choreography import Choreography as Choreography
    from motionloom.dance.dancing.dance import Dance as Dance
    from motionloom.dance.dancing.dance_player import DancePlayer as DancePlayer
    from motionloom.dance.motion_beats.beats import Beats as Beats
    from motionloom.dance.motion_beats.beats import beats as beats
    from motionloom.dance.music import AUDIO_SUFFIXES as AUDIO_SUFFIXES
    from motionloom.dance.music import MIDI_SUFFIXES as MIDI_SUFFIXES
    from motionloom.dance.music import Music as Music
    from motionloom.dance.music import load_music as load_music
    from motionloom.dance.music import tune as tune
    from motionloom.dance.music import write_sound as write_sound
    from motionloom.fat_graph.graph import FatGraph as FatGraph
    from motionloom.features import DISTANCES as DISTANCES
    from motionloom.features import FEATURES as FEATURES
    from motionloom.library.comparison import Comparison as Comparison
    from motionloom.library.crowd_plan import CrowdPlan as CrowdPlan
    from motionloom.library.fronts import evaluate_sentences as evaluate_sentences
    from motionloom.library.fronts import family_sweep as family_sweep
    from motionloom.library.fronts import phrase_options as phrase_options
    from motionloom.library.fronts import prepare_film_search as prepare_film_search
    from motionloom.library.fronts import prepare_search as prepare_search
    from motionloom.library.fronts import segment_query as segment_query
    from motionloom.library.library import Library as Library
    from motionloom.library.library import trust_library as trust_library
    from motionloom.motion.feet.gait import gait_segments as gait_segments
    from motionloom.motion_graph.edits import EditedGraph as EditedGraph
    from motionloom.motion_graph.graph import MotionGraph as MotionGraph
    from motionloom.motion_graph.graph import named_frame as named_frame
    from motionloom.motion_matching.database import MatchingDatabase as MatchingDatabase
    from motionloom.motion_matching.exports import check_format as check_format
    from motionloom.motion_matching.steering_courses import course_path as course_path
    from motionloom.parametric.armature_reach import AimedMotion as AimedMotion
    from motionloom.parametric.armature_reach import ArmatureReach as ArmatureReach
    from motionloom.parametric.armature_reach import facing_as_rest as facing_as_rest
    from motionloom.parametric.armature_reach import on_whole_frame as on_whole_frame
    from motionloom.parametric.parameter_text import ParameterKind as ParameterKind
    from motionloom.parametric.parameter_text import parameter as parameter
    from motionloom.parametric.parametric_motion import ParametricMotion as ParametricMotion
    from motionloom.parametric.parametric_motion import SynthesisResult as SynthesisResult
    from motionloom.search.match import Match as Match
    from motionloom.search.match import Matches as Matches
    from motionloom.search.match_graph.members import Family as Family
    from motionloom.search.match_web.store import LeftToBuild as LeftToBuild
    from motionloom.store.catalogue_file import is_library as is_library
    from motionloom.store.history import Change as Change
    from motionloom.store.ingest.importing import ImportReport as ImportReport
    from motionloom.store.ingest.labels import labeling as labeling
    from motionloom.store.ingest.sources import assign_names as assign_names
    from motionloom.store.ingest.sources import find_sources as find_sources
    from motionloom.store.ingest.sources import is_companion as is_companion
    from motionloom.store.ingest.sources import left_out as left_out
    from motionloom.store.ingest.sources import left_out_lines as left_out_lines
    from motionloom.store.lock import writer_lock as writer_lock
    from motionloom.text.captions import Event as Event
    from motionloom.text.clusters import Cluster as Cluster
    from motionloom.text.scripts.candidates import PhraseOptions as PhraseOptions
    from motionloom.text.scripts.plan import PlannedPhrase as PlannedPhrase
    from motionloom.text.scripts.rehearsal import ActedScript as ActedScript
    from motionloom.text.text_search import TextMatch as TextMatch
    from motionloom.text.text_search import TextMatches as TextMatches

__getattr__, __dir__ = imported_on_use(__name__)
