"""Rhythm: when bodies keep time, what they do between beats, and what may follow what.

After Kim, Park and Shin, "Rhythmic-Motion Synthesis Based on Motion-Beat Analysis" (2003).
"""

from motionloom.synthesis.rhythm.choreography import Choreography, choreography, for_music
from motionloom.synthesis.rhythm.choreography_file import load_choreography
from motionloom.synthesis.rhythm.motion_beats import Beats, beats
from motionloom.synthesis.rhythm.movements import Movement
from motionloom.synthesis.rhythm.transition_graph import TransitionGraph, load_graph

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
