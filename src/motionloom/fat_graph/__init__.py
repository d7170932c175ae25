"""Fat graphs: base poses, and motions between them that are steered continuously."""

from motionloom.fat_graph.base_poses import BasePoses, base_poses
from motionloom.fat_graph.build import FatGraphSettings, fat_graph
from motionloom.fat_graph.graph import FatEdge, FatGraph
from motionloom.fat_graph.player import FatPlayer

__all__ = [
    "BasePoses",
    "FatEdge",
    "FatGraph",
    "FatGraphSettings",
    "FatPlayer",
    "base_poses",
    "fat_graph",
]
