"""Crowds: many characters that move to one piece of music without colliding.

Couples waltz around a ballroom, soldiers march along a street in formation, dancers fill a dance
floor. Movements come from a choreography (`motionloom.dance`) and begin on the same downbeats;
social forces and formations steer the agents, and predicted contacts of discs keep them apart.
After Kim, Park and Shin 2003, section 6.2.
"""

from motionloom.lazy_names import lazy_names

# Public name -> module.
_HOMES = {
    "Ballroom": "ballroom",
    "BallroomPlayer": "ballroom",
    "BallroomSettings": "settings",
    "CrowdMotion": "crowd_player",
    "DanceFloor": "dance_floor",
    "DanceFloorPlayer": "dance_floor",
    "DanceFloorSettings": "settings",
    "March": "march",
    "MarchPlayer": "march",
    "MarchSettings": "settings",
    "couple_steps": "couples",
    "cut_at_beats": "built_in",
    "found_couples": "couples",
    "load_crowd_settings": "settings",
    "marching_steps": "strides",
}
__all__ = sorted(_HOMES)
__getattr__ = lazy_names(__name__, _HOMES)
