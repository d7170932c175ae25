"""Motion search: subsequence DTW, lazy graph, match web, whole clips, nearest frames, families."""

from typing import TYPE_CHECKING

from motionloom.lazy_names import imported_on_use

if TYPE_CHECKING:
    from motionloom.search.index.neighbors import INDEXES as INDEXES
    from motionloom.search.index.neighbors import Neighbors as Neighbors
    from motionloom.search.index.neighbors import nearest_frames as nearest_frames
    from motionloom.search.index.neighbors import neighbors as neighbors
    from motionloom.search.index.neighbors import open_index as open_index
    from motionloom.search.match import Match as Match
    from motionloom.search.match import Matches as Matches
    from motionloom.search.match_graph.family import grow_family as grow_family
    from motionloom.search.match_graph.growth import library_family as library_family
    from motionloom.search.match_graph.members import Edge as Edge
    from motionloom.search.match_graph.members import Family as Family
    from motionloom.search.match_graph.members import Node as Node
    from motionloom.search.methods import METHODS as METHODS
    from motionloom.search.methods import Dtw as Dtw
    from motionloom.search.methods import LazyGraph as LazyGraph
    from motionloom.search.methods import MatchWeb as MatchWeb
    from motionloom.search.retrieval import search as search
    from motionloom.search.settings import FamilySettings as FamilySettings
    from motionloom.search.settings import NeighborSettings as NeighborSettings
    from motionloom.search.settings import SearchSettings as SearchSettings
    from motionloom.search.settings import WebSettings as WebSettings

__getattr__, __dir__ = imported_on_use(__name__)
