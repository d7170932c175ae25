"""Rhythm: motion beats, movements between beats, choreographies and dances.

After Kim, Park and Shin, "Rhythmic-Motion Synthesis Based on Motion-Beat Analysis" (2003).
"""

from importlib import import_module

# Public name -> module. Loaded on first use: the command line imports `settings` at every start.
_HOMES = {
    "BeatSettings": "settings",
    "Beats": "motion_beats.beats",
    "Choreography": "choreography",
    "ChoreographySettings": "settings",
    "Dance": "dance",
    "DanceSettings": "settings",
    "Movement": "movements",
    "TransitionGraph": "transition_graph",
    "beats": "motion_beats.beats",
    "for_music": "choreography",
    "load_choreography": "choreography_file",
    "load_graph": "transition_graph",
    "load_music": "music.music",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
