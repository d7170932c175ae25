"""Dance: motion beats, movements between beats, choreographies and dances.

Based on Kim, Park and Shin, "Rhythmic-Motion Synthesis Based on Motion-Beat Analysis" (2003).
"""

from typing import TYPE_CHECKING

from motionloom.lazy_names import imported_on_use

if TYPE_CHECKING:
    from motionloom.dance.choreography import Choreography as Choreography
    from motionloom.dance.choreography import for_music as for_music
    from motionloom.dance.choreography_file import load_choreography as load_choreography
    from motionloom.dance.dancing.dance import Dance as Dance
    from motionloom.dance.motion_beats.beats import Beats as Beats
    from motionloom.dance.motion_beats.beats import beats as beats
    from motionloom.dance.movements import Movement as Movement
    from motionloom.dance.music import load_music as load_music
    from motionloom.dance.settings import BeatSettings as BeatSettings
    from motionloom.dance.settings import ChoreographySettings as ChoreographySettings
    from motionloom.dance.settings import DanceSettings as DanceSettings
    from motionloom.dance.transitions.movement_graph import TransitionGraph as TransitionGraph
    from motionloom.dance.transitions.movement_graph import load_graph as load_graph

__getattr__, __dir__ = imported_on_use(__name__)
