"""Motion graphs: endless, steerable motion from a few clips."""

from typing import TYPE_CHECKING

from motionloom.lazy_names import imported_on_use

if TYPE_CHECKING:
    from motionloom.motion_graph.build import motion_graph as motion_graph
    from motionloom.motion_graph.edits import EditedGraph as EditedGraph
    from motionloom.motion_graph.graph import MotionGraph as MotionGraph
    from motionloom.motion_graph.graph import Removed as Removed
    from motionloom.motion_graph.settings import GraphSettings as GraphSettings
    from motionloom.motion_graph.settings import Minima as Minima
    from motionloom.motion_graph.settings import Sectors as Sectors
    from motionloom.motion_graph.settings import TransitionSettings as TransitionSettings
    from motionloom.motion_graph.settings import WalkSettings as WalkSettings
    from motionloom.motion_graph.transitions.transitions import Transitions as Transitions
    from motionloom.motion_graph.walks.graph_player import GraphPlayer as GraphPlayer

__getattr__, __dir__ = imported_on_use(__name__)
