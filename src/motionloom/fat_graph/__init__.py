"""Fat graphs: base poses, and motions between them that are steered continuously."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from motionloom.fat_graph.base_pose_search import BasePoses as BasePoses
    from motionloom.fat_graph.base_pose_search import base_poses as base_poses
    from motionloom.fat_graph.build import fat_graph as fat_graph
    from motionloom.fat_graph.graph import FatEdge as FatEdge
    from motionloom.fat_graph.graph import FatGraph as FatGraph
    from motionloom.fat_graph.player import FatPlayer as FatPlayer
    from motionloom.fat_graph.settings import FatGraphSettings as FatGraphSettings

# Public name -> module. Loaded on first use: the command line imports `settings` at every start.
_HOMES = {
    "BasePoses": "base_pose_search",
    "FatEdge": "graph",
    "FatGraph": "graph",
    "FatGraphSettings": "settings",
    "FatPlayer": "player",
    "base_poses": "base_pose_search",
    "fat_graph": "build",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
