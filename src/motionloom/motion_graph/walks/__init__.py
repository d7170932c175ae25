"""Walks through a motion graph: planning, playing and rating routes."""
