"""The lazy neighborhood graph of Krüger et al. (2010), section 4.1, as a graph.

Frames of the database are numbered in sequence; the text does not say that paths end where a clip
ends, so there is one clip here.
"""

import math


def shortest_paths(neighbors):
    """Cost and path of the best path to every neighbor of the last query frame.

    `neighbors[i]` maps the frames near query frame i to their distances. An edge costs the
    distance of the node that it points at; a source is joined to the neighbors of the first
    query frame. The graph is acyclic: nodes are visited by query frame, then by frame.
    """
    best = {}
    for i, near in enumerate(neighbors):
        for frame in sorted(near):
            before = [(i - 1, frame - 1), (i, frame - 1), (i - 1, frame)]
            ways = [best[node] for node in before if node in best]
            if i == 0:
                ways.append((0.0, ()))
            cost, path = min(ways, default=(math.inf, ()), key=lambda way: way[0])
            if cost < math.inf:
                best[i, frame] = (cost + near[frame], (*path, (i, frame)))
    last = len(neighbors) - 1
    return {frame: best[last, frame] for frame in neighbors[last] if (last, frame) in best}
