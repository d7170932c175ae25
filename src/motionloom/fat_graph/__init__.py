"""Fat graphs: base poses connected by motions with continuously steerable direction and speed."""

from typing import TYPE_CHECKING

from motionloom.lazy_names import imported_on_use

if TYPE_CHECKING:
    from motionloom.fat_graph.base_pose_search import BasePoses as BasePoses
    from motionloom.fat_graph.base_pose_search import base_poses as base_poses
    from motionloom.fat_graph.build import fat_graph as fat_graph
    from motionloom.fat_graph.fat_graph_player import FatPlayer as FatPlayer
    from motionloom.fat_graph.graph import FatEdge as FatEdge
    from motionloom.fat_graph.graph import FatGraph as FatGraph
    from motionloom.fat_graph.settings import FatGraphSettings as FatGraphSettings

__getattr__, __dir__ = imported_on_use(__name__)
