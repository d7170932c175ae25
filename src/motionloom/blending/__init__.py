"""Blending: registration, weighted blends, transitions, inertialization, and players."""

from motionloom.blending.blends import Blend, BlendPlayer, blend
from motionloom.blending.player import FrameBlock, Player, Pose
from motionloom.blending.registration import Registration, register
from motionloom.blending.settings import BlendSettings
from motionloom.blending.transitions import Transition, Window, transition

__all__ = [
    "Blend",
    "BlendPlayer",
    "BlendSettings",
    "Player",
    "Pose",
    "Registration",
    "FrameBlock",
    "Transition",
    "Window",
    "blend",
    "register",
    "transition",
]
