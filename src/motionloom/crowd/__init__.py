"""Crowds: many who move to one piece of music and keep out of each other's way.

Couples waltz around a ballroom, soldiers march along a street in formation. Everybody's
movements come from a movement transition graph (`motionloom.rhythm`) and begin on
the same downbeats; forces and formations say where they go, and moving discs, whose contacts
are foreseen, that nobody runs into anything. After Kim, Park and Shin 2003, section 6.2.
"""

from motionloom.crowd.ballroom import Ballroom, ballroom
from motionloom.crowd.built_in import cut_at_beats
from motionloom.crowd.couples import couple_steps, found_couples
from motionloom.crowd.march import March, march
from motionloom.crowd.settings import BallroomSettings, MarchSettings
from motionloom.crowd.settings_file import load_crowd_settings
from motionloom.crowd.strides import marching_steps

__all__ = [
    "Ballroom",
    "BallroomSettings",
    "March",
    "MarchSettings",
    "ballroom",
    "couple_steps",
    "cut_at_beats",
    "found_couples",
    "load_crowd_settings",
    "march",
    "marching_steps",
]
