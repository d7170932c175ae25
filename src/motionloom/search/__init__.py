"""Where something alike happens: nearest frames, subsequence DTW, the lazy graph, families."""

from motionloom.search.index.neighbours import INDEXES, Neighbours, neighbours, open_index
from motionloom.search.match import Match, Matches
from motionloom.search.match_graph.family import grow_family
from motionloom.search.match_graph.graph import Edge, Family, Node
from motionloom.search.methods import METHODS, library_family, search
from motionloom.search.row_search import nearest_frames
from motionloom.search.settings import Options

__all__ = [
    "INDEXES",
    "METHODS",
    "Edge",
    "Family",
    "Match",
    "Matches",
    "Neighbours",
    "Node",
    "Options",
    "grow_family",
    "library_family",
    "nearest_frames",
    "neighbours",
    "open_index",
    "search",
]
