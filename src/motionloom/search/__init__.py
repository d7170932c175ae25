"""Search: subsequence DTW, lazy graph, match web, whole clips; nearest frames; families."""

from typing import TYPE_CHECKING

from motionloom.lazy_names import lazy_names

if TYPE_CHECKING:
    from motionloom.search.index.neighbours import INDEXES as INDEXES
    from motionloom.search.index.neighbours import Neighbours as Neighbours
    from motionloom.search.index.neighbours import nearest_frames as nearest_frames
    from motionloom.search.index.neighbours import neighbours as neighbours
    from motionloom.search.index.neighbours import open_index as open_index
    from motionloom.search.match import Match as Match
    from motionloom.search.match import Matches as Matches
    from motionloom.search.match_graph.family import grow_family as grow_family
    from motionloom.search.match_graph.members import Edge as Edge
    from motionloom.search.match_graph.members import Family as Family
    from motionloom.search.match_graph.members import Node as Node
    from motionloom.search.methods import library_family as library_family
    from motionloom.search.methods import search as search
    from motionloom.search.settings import METHODS as METHODS
    from motionloom.search.settings import Dtw as Dtw
    from motionloom.search.settings import FamilySettings as FamilySettings
    from motionloom.search.settings import LazyGraph as LazyGraph
    from motionloom.search.settings import MatchWeb as MatchWeb
    from motionloom.search.settings import NeighbourSettings as NeighbourSettings
    from motionloom.search.settings import SearchSettings as SearchSettings
    from motionloom.search.settings import WebSettings as WebSettings

# Public name -> module.
_HOMES = {
    "Dtw": "settings",
    "Edge": "match_graph.members",
    "Family": "match_graph.members",
    "FamilySettings": "settings",
    "INDEXES": "index.neighbours",
    "LazyGraph": "settings",
    "METHODS": "settings",
    "Match": "match",
    "MatchWeb": "settings",
    "Matches": "match",
    "NeighbourSettings": "settings",
    "Neighbours": "index.neighbours",
    "Node": "match_graph.members",
    "SearchSettings": "settings",
    "WebSettings": "settings",
    "grow_family": "match_graph.family",
    "library_family": "methods",
    "nearest_frames": "index.neighbours",
    "neighbours": "index.neighbours",
    "open_index": "index.neighbours",
    "search": "methods",
}
__all__ = sorted(_HOMES)
__getattr__ = lazy_names(__name__, _HOMES)
