"""Motion graphs: endless, steerable motion out of a few clips."""

from motionloom.motion_graph.build import motion_graph
from motionloom.motion_graph.graph import MotionGraph, Removed
from motionloom.motion_graph.player import GraphPlayer
from motionloom.motion_graph.transitions import Transitions, TransitionSettings

__all__ = [
    "TransitionSettings",
    "GraphPlayer",
    "MotionGraph",
    "Removed",
    "Transitions",
    "motion_graph",
]
