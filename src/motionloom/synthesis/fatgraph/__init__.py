"""Fat graphs: base poses, and between them motions that are steered continuously."""

from motionloom.synthesis.fatgraph.base_poses import BasePoses, base_poses
from motionloom.synthesis.fatgraph.building import fat_graph
from motionloom.synthesis.fatgraph.graph import FatEdge, FatGraph
from motionloom.synthesis.fatgraph.player import FatPlayer

__all__ = ["BasePoses", "FatEdge", "FatGraph", "FatPlayer", "base_poses", "fat_graph"]
