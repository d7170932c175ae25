"""Rhythm: when bodies keep time, what they do between beats, and what may follow what.

After Kim, Park and Shin, "Rhythmic-Motion Synthesis Based on Motion-Beat Analysis" (2003).
"""

from motionloom.rhythm.beats.motion_beats import Beats, beats
from motionloom.rhythm.choreography import Choreography, choreography, for_music
from motionloom.rhythm.choreography_file import load_choreography
from motionloom.rhythm.movements import Movement
from motionloom.rhythm.transition_graph import TransitionGraph, load_graph

__all__ = [
    "Beats",
    "Choreography",
    "Movement",
    "TransitionGraph",
    "beats",
    "choreography",
    "for_music",
    "load_choreography",
    "load_graph",
]
