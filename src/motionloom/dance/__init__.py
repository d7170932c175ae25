"""Dance: motion beats, movements between beats, choreographies and dances.

After Kim, Park and Shin, "Rhythmic-Motion Synthesis Based on Motion-Beat Analysis" (2003).
"""

from motionloom.lazy_names import lazy_names

# Public name -> module.
_HOMES = {
    "BeatSettings": "settings",
    "Beats": "motion_beats.beats",
    "Choreography": "choreography",
    "ChoreographySettings": "settings",
    "Dance": "dancing.dance",
    "DanceSettings": "settings",
    "Movement": "movements",
    "TransitionGraph": "transitions.movement_graph",
    "beats": "motion_beats.beats",
    "for_music": "choreography",
    "load_choreography": "choreography_file",
    "load_graph": "transitions.movement_graph",
    "load_music": "music",
}
__all__ = sorted(_HOMES)
__getattr__ = lazy_names(__name__, _HOMES)
