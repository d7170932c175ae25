"""Fat graphs: base poses, and motions between them that are steered continuously."""

from typing import TYPE_CHECKING

from motionloom.lazy_names import lazy_names

if TYPE_CHECKING:
    from motionloom.fat_graph.base_pose_search import BasePoses as BasePoses
    from motionloom.fat_graph.base_pose_search import base_poses as base_poses
    from motionloom.fat_graph.build import fat_graph as fat_graph
    from motionloom.fat_graph.fat_graph_player import FatPlayer as FatPlayer
    from motionloom.fat_graph.graph import FatEdge as FatEdge
    from motionloom.fat_graph.graph import FatGraph as FatGraph
    from motionloom.fat_graph.settings import FatGraphSettings as FatGraphSettings

# Public name -> module.
_HOMES = {
    "BasePoses": "base_pose_search",
    "FatEdge": "graph",
    "FatGraph": "graph",
    "FatGraphSettings": "settings",
    "FatPlayer": "fat_graph_player",
    "base_poses": "base_pose_search",
    "fat_graph": "build",
}
__all__ = sorted(_HOMES)
__getattr__ = lazy_names(__name__, _HOMES)
