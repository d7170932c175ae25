"""`Library`: a store of motions with every verb as a method, and the types that verbs return.

The command line and the studio import from here and from `motionloom.library.settings`, and from
nothing beneath.
"""

from typing import TYPE_CHECKING

from motionloom.lazy_names import lazy_names

if TYPE_CHECKING:
    from motionloom.blending.player import FrameBlock, Player
    from motionloom.crowd.ballroom import Ballroom
    from motionloom.crowd.crowd_player import CrowdMotion
    from motionloom.crowd.march import March
    from motionloom.dance.beat_clock import TempoClock
    from motionloom.dance.choreography import Choreography
    from motionloom.dance.dancing.dance import Dance
    from motionloom.dance.dancing.dance_player import DancePlayer
    from motionloom.dance.motion_beats.beats import Beats, beats
    from motionloom.dance.music import (
        AUDIO_SUFFIXES,
        MIDI_SUFFIXES,
        Music,
        load_music,
        tune,
        write_sound,
    )
    from motionloom.fat_graph.graph import FatGraph
    from motionloom.library.comparison import Comparison
    from motionloom.library.crowd_plan import CrowdPlan
    from motionloom.library.library import Library, trust_library
    from motionloom.motion_graph.edits import EditedGraph
    from motionloom.motion_graph.graph import MotionGraph
    from motionloom.motion_matching.database import MatchingDatabase
    from motionloom.parametric.parameter_text import ParameterKind, parameter
    from motionloom.parametric.parametric_motion import ParametricMotion, SynthesisResult
    from motionloom.search.match import Match, Matches
    from motionloom.search.match_graph.members import Family
    from motionloom.search.match_web.store import LeftToBuild
    from motionloom.store.catalogue_file import is_library
    from motionloom.store.history import Change
    from motionloom.store.ingest.importing import ImportReport
    from motionloom.store.ingest.sources import (
        assign_names,
        find_sources,
        is_companion,
        left_out,
        left_out_lines,
    )
    from motionloom.store.lock import writer_lock
    from motionloom.text.captions import Event
    from motionloom.text.clusters import Cluster
    from motionloom.text.scripts.candidates import PhraseOptions
    from motionloom.text.scripts.plan import PlannedPhrase
    from motionloom.text.scripts.rehearsal import ActedScript
    from motionloom.text.text_search import TextMatch, TextMatches

# Module -> names; loaded on first use, so that the help of a command imports nothing heavy.
_NAMES = {
    "text.scripts.candidates": ("PhraseOptions",),
    "text.scripts.rehearsal": ("ActedScript",),
    "text.scripts.plan": ("PlannedPhrase",),
    "blending.player": (
        "FrameBlock",
        "Player",
    ),
    "crowd.ballroom": ("Ballroom",),
    "crowd.march": ("March",),
    "crowd.crowd_player": ("CrowdMotion",),
    "library.comparison": ("Comparison",),
    "library.crowd_plan": ("CrowdPlan",),
    "library.library": ("Library", "trust_library"),
    "fat_graph.graph": ("FatGraph",),
    "motion_graph.edits": ("EditedGraph",),
    "motion_graph.graph": ("MotionGraph",),
    "motion_matching.database": ("MatchingDatabase",),
    "parametric.parameter_text": (
        "ParameterKind",
        "parameter",
    ),
    "parametric.parametric_motion": (
        "ParametricMotion",
        "SynthesisResult",
    ),
    "dance.choreography": ("Choreography",),
    "dance.dancing.dance": ("Dance",),
    "dance.dancing.dance_player": ("DancePlayer",),
    "dance.motion_beats.beats": (
        "Beats",
        "beats",
    ),
    "dance.beat_clock": ("TempoClock",),
    "dance.music": (
        "AUDIO_SUFFIXES",
        "MIDI_SUFFIXES",
        "Music",
        "load_music",
        "tune",
        "write_sound",
    ),
    "search.match": (
        "Match",
        "Matches",
    ),
    "search.match_graph.members": ("Family",),
    "search.match_web.store": ("LeftToBuild",),
    "store.catalogue_file": ("is_library",),
    "store.history": ("Change",),
    "text.clusters": ("Cluster",),
    "store.ingest.importing": ("ImportReport",),
    "store.ingest.sources": (
        "assign_names",
        "find_sources",
        "is_companion",
        "left_out",
        "left_out_lines",
    ),
    "store.lock": ("writer_lock",),
    "text.captions": ("Event",),
    "text.text_search": (
        "TextMatches",
        "TextMatch",
    ),
}
_HOMES = {name: f".{module}" for module, names in _NAMES.items() for name in names}

__all__ = [
    "AUDIO_SUFFIXES",
    "ActedScript",
    "Ballroom",
    "Beats",
    "Change",
    "Choreography",
    "Cluster",
    "Comparison",
    "CrowdMotion",
    "CrowdPlan",
    "Dance",
    "DancePlayer",
    "EditedGraph",
    "Event",
    "Family",
    "TextMatches",
    "TextMatch",
    "FrameBlock",
    "ImportReport",
    "LeftToBuild",
    "Library",
    "MIDI_SUFFIXES",
    "March",
    "Match",
    "Matches",
    "MatchingDatabase",
    "FatGraph",
    "MotionGraph",
    "Music",
    "ParameterKind",
    "ParametricMotion",
    "PhraseOptions",
    "PlannedPhrase",
    "Player",
    "SynthesisResult",
    "TempoClock",
    "assign_names",
    "beats",
    "find_sources",
    "is_companion",
    "left_out",
    "left_out_lines",
    "is_library",
    "load_music",
    "parameter",
    "tune",
    "trust_library",
    "write_sound",
    "writer_lock",
]
__getattr__ = lazy_names(__name__, _HOMES)
