"""A match graph as the page draws it: places for the nodes, and which edges matter."""

from __future__ import annotations

from typing import Any

import numpy as np

from motionloom.plots.match_graph import TIER_COLOURS, family_distances, graph_layout
from motionloom.search import Family
from motionloom.search.match_graph.graph import cheapest_paths
from motionloom.studio.search_settings import corresponding_frames

BOX = (1.0, 1.2)  # room of a node; the page scales it
WIDER = 1.6  # pages are wide, and so are names


def family_answer(family: Family, fps: float) -> dict[str, Any]:
    """Nodes with places and frames aligned with the query's, edges, and the colours of tiers."""
    # Roots: far members come nearer, and figures can be larger; near ones stay the nearest.
    places = graph_layout(np.sqrt(family_distances(family)), BOX) * (WIDER, 1.0)
    before = cheapest_paths(len(family.nodes), family.edges)[1]
    ways = {(int(before[n]), n) for n in range(1, len(family.nodes))}
    plain = family.to_json()
    query = family.nodes[0]
    frames = corresponding_frames(family.matches, query.end_frame - query.start_frame)
    by_text = {match.text: row.tolist() for match, row in zip(family.matches, frames, strict=True)}
    by_text[query.text] = list(range(query.start_frame, query.end_frame))
    labels = {match.text: match.label for match in family.matches}
    for node, place, held in zip(plain["nodes"], places, family.nodes, strict=True):
        node["place"] = [round(float(x), 4) for x in place]
        node["frames"] = by_text[held.text]
        node["label"] = labels.get(held.text)
    edges = [
        {
            "a": edge.a,
            "b": edge.b,
            "cost": float(edge.cost),
            "way": bool({(edge.a, edge.b), (edge.b, edge.a)} & ways),
        }
        for edge in family.edges
    ]
    return {
        "query": family.query,
        "fps": fps,
        "unit": family.matches.unit,
        "nodes": plain["nodes"],
        "edges": edges,
        "box": (WIDER * BOX[0], BOX[1]),
        "tier_colours": TIER_COLOURS,
    }
