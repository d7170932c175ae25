"""How motions are mixed: registration, blending, transitions, and playing what comes of it."""

from motionloom.blend.blend_player import BlendPlayer
from motionloom.blend.blending import Blend
from motionloom.blend.player import Player, Pose, Stretch
from motionloom.blend.registration import Registration, register
from motionloom.blend.transitions import Transition, Window, transition

__all__ = [
    "Blend",
    "BlendPlayer",
    "Player",
    "Pose",
    "Registration",
    "Stretch",
    "Transition",
    "Window",
    "register",
    "transition",
]
