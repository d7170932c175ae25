"""Crowds: many who move to one piece of music and keep out of each other's way.

Couples waltz around a ballroom, soldiers march along a street in formation. Everybody's
movements come from a movement transition graph (`motionloom.synthesis.rhythm`) and begin on
the same downbeats; forces and formations say where they go, and moving discs, whose contacts
are foreseen, that nobody runs into anything. After Kim, Park and Shin 2003, section 6.2.
"""

from motionloom.synthesis.crowd.ballroom import Ballroom, ballroom
from motionloom.synthesis.crowd.known_beats import cut_at_beats
from motionloom.synthesis.crowd.march import March, march
from motionloom.synthesis.crowd.own_couples import couple_steps, found_couples
from motionloom.synthesis.crowd.own_marches import marching_steps
from motionloom.synthesis.crowd.scene import BallroomScene, MarchScene
from motionloom.synthesis.crowd.scene_file import load_scene

__all__ = [
    "Ballroom",
    "BallroomScene",
    "March",
    "MarchScene",
    "ballroom",
    "couple_steps",
    "cut_at_beats",
    "found_couples",
    "load_scene",
    "march",
    "marching_steps",
]
