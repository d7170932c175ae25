"""How motions are mixed: registration, blending, transitions, and playing what comes of it."""

from motionloom.blending.blend import Blend
from motionloom.blending.blend_player import BlendPlayer
from motionloom.blending.player import FrameBlock, Player, Pose
from motionloom.blending.registration import Registration, register
from motionloom.blending.transitions import Transition, Window, transition

__all__ = [
    "Blend",
    "BlendPlayer",
    "Player",
    "Pose",
    "Registration",
    "FrameBlock",
    "Transition",
    "Window",
    "register",
    "transition",
]
