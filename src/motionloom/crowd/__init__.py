"""Crowds: many characters that move to one piece of music without colliding.

Couples waltz around a ballroom, soldiers march along a street in formation, and dancers fill a
dance floor. Movements come from a choreography (`motionloom.dance`) and start on the same
downbeats. Social forces and formations steer the agents. Each agent occupies a disc, and contacts
between discs are predicted to keep agents apart. Based on Kim, Park and Shin 2003, section 6.2.
"""

from typing import TYPE_CHECKING

from motionloom.lazy_names import imported_on_use

if TYPE_CHECKING:
    from motionloom.crowd.ballroom import Ballroom as Ballroom
    from motionloom.crowd.ballroom import BallroomPlayer as BallroomPlayer
    from motionloom.crowd.built_in import cut_at_beats as cut_at_beats
    from motionloom.crowd.couples import couple_steps as couple_steps
    from motionloom.crowd.couples import found_couples as found_couples
    from motionloom.crowd.crowd_player import CrowdMotion as CrowdMotion
    from motionloom.crowd.dance_floor import DanceFloor as DanceFloor
    from motionloom.crowd.dance_floor import DanceFloorPlayer as DanceFloorPlayer
    from motionloom.crowd.march import March as March
    from motionloom.crowd.march import MarchPlayer as MarchPlayer
    from motionloom.crowd.settings import BallroomSettings as BallroomSettings
    from motionloom.crowd.settings import DanceFloorSettings as DanceFloorSettings
    from motionloom.crowd.settings import MarchSettings as MarchSettings
    from motionloom.crowd.settings import load_crowd_settings as load_crowd_settings
    from motionloom.crowd.strides import marching_steps as marching_steps

__getattr__, __dir__ = imported_on_use(__name__)
