"""Motion graphs: endless, steerable motion out of a few clips."""

from motionloom.synthesis.motiongraph.building import motion_graph
from motionloom.synthesis.motiongraph.graph import MotionGraph, Removed
from motionloom.synthesis.motiongraph.player import GraphPlayer
from motionloom.synthesis.motiongraph.transitions import Finding, Transitions

__all__ = ["Finding", "GraphPlayer", "MotionGraph", "Removed", "Transitions", "motion_graph"]
